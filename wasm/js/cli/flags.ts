// The flags that options.def gives the command: for the parser, for the help, and as options.
import {
  accepts,
  anyOf,
  isCount,
  isTaken,
  optionsOf,
  type Bounds,
  type Option,
} from "../options.js";
import { UsageError } from "./common.js";

const INDENT = 27;
const WIDTH = 100;

type Call = Option["call"];

const flagged = (calls: readonly Call[]): readonly Option[] =>
  calls.flatMap(optionsOf).filter(({ flag }) => flag !== "");

interface Flag {
  type: "boolean" | "string";
  multiple: boolean;
}

/** For the parser of node:util. */
export function flagsOf(...calls: Call[]): Record<string, Flag> {
  return Object.fromEntries(
    flagged(calls).map(({ flag, kind }) => [
      flag,
      { type: kind === "bool" ? "boolean" : "string", multiple: kind === "bounds" },
    ]),
  );
}

/** NAME=N, once or more, as largest values by name. Names may hold a "=", numbers do not. */
function boundsOf(flag: string, given: readonly string[]): Bounds {
  const names = new Set<string>();
  const entries = given.map((text): [string, { max: number }] => {
    const [, name = "", max = ""] = /^(.+)=([^=]*)$/su.exec(text) ?? [];
    if (!/^[0-9]+$/.test(max) || !isCount(Number(max)))
      throw new UsageError(`--${flag} takes NAME=N with N a positive whole number, not '${text}'`);
    if (names.has(name)) throw new UsageError(`--${flag} ${name} is given twice`);
    names.add(name);
    return [name, { max: Number(max) }];
  });
  return Object.fromEntries(entries);
}

/** What a flag stands for: one without a value is for what is not the default. */
function valueOf(option: Option, given: unknown): unknown {
  if (option.kind === "bool") return !option.default;
  if (option.kind === "bounds") return boundsOf(option.flag, given as readonly string[]);
  return option.kind === "choice" ? given : Number(given);
}

/** The options of parsed arguments, by name. */
export function chosenBy(
  values: Readonly<Record<string, unknown>>,
  ...calls: Call[]
): Record<string, unknown> {
  const given = flagged(calls).filter(({ flag }) => values[flag] !== undefined);
  return Object.fromEntries(
    given.map((option) => {
      const text = values[option.flag];
      const value = valueOf(option, text);
      if (isTaken(option, value)) return [option.name, value];
      const wanted = option.kind === "choice" ? anyOf(option.words) : accepts(option);
      throw new UsageError(`--${option.flag} is ${wanted}, not '${String(text)}'`);
    }),
  );
}

function wrapped(text: string): string {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = `${lines.at(-1)} ${word}`.trimStart();
    if (INDENT + line.length <= WIDTH) lines[lines.length - 1] = line;
    else lines.push(word);
  }
  return lines.join(`\n${" ".repeat(INDENT)}`);
}

/** What the help says of a flag. */
function described(option: Option): string {
  const text = option.sentence.replace(/^./, (c) => c.toLowerCase()).replace(/\.$/, "");
  if (option.kind === "bool") return option.default ? `not: ${text}` : text;
  if (option.kind === "bounds") return `${text}; may be repeated`;
  const isDefault = (word: unknown): string => (word === option.default ? " (default)" : "");
  return option.kind === "choice"
    ? `${option.words.map((word) => word + isDefault(word)).join(", ")}: ${text}`
    : `${text}; ${option.default} by default`;
}

/** Lines of the help, one or more for each flag. */
export function flagHelp(...calls: Call[]): string {
  const name = ({ flag, kind }: Option): string =>
    `  --${flag}${{ bool: "", choice: " HOW", count: " N", whole: " N", power: " N", bounds: " NAME=N" }[kind]}`;
  return flagged(calls)
    .map((option) => `${name(option).padEnd(INDENT - 1)} ${wrapped(described(option))}\n`)
    .join("");
}
