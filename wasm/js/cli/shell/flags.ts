// The flags that options.def gives the command: as rows of its table, and as options.
import {
  accepts,
  anyOf,
  isCount,
  isTaken,
  optionsOf,
  type Bounds,
  type Option,
} from "../../call/options.js";
import type { Flag, Flags } from "./command.js";
import { UsageError } from "../usage.js";

export type OptionCall = Option["call"];

const flagged = (calls: readonly OptionCall[]): readonly Option[] =>
  calls.flatMap(optionsOf).filter(({ flag }) => flag !== "");

const VALUES = { bool: "", choice: "HOW", count: "N", whole: "N", power: "N", bounds: "NAME=N" };

/** The help of a flag. */
function described(option: Option): string {
  const text = option.sentence.replace(/^./, (c) => c.toLowerCase()).replace(/\.$/, "");
  if (option.kind === "bool") return option.default ? `not: ${text}` : text;
  if (option.kind === "bounds") return text;
  const isDefault = (word: unknown): string => (word === option.default ? " (default)" : "");
  return option.kind === "choice"
    ? `${option.words.map((word) => word + isDefault(word)).join(", ")}: ${text}`
    : `${text}; ${option.default} by default`;
}

function flagOf(option: Option): Flag {
  const { kind } = option;
  return {
    type: kind === "bool" ? "boolean" : "string",
    multiple: kind === "bounds",
    value: VALUES[kind],
    ...(kind === "choice" && { words: option.words }),
    text: described(option),
  };
}

/** The rows of the options that the calls take. */
export const optionFlags = (calls: readonly OptionCall[]): Flags =>
  Object.fromEntries(flagged(calls).map((option) => [option.flag, flagOf(option)]));

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
  if (option.kind === "choice") return given;
  return /^[0-9]+$/.test(given as string) ? Number(given) : NaN;
}

/** The options of parsed arguments, by name. */
export function chosenBy(values: object, ...calls: OptionCall[]): Record<string, unknown> {
  const texts = values as Readonly<Record<string, unknown>>;
  const given = flagged(calls).filter(({ flag }) => texts[flag] !== undefined);
  return Object.fromEntries(
    given.map((option) => {
      const text = texts[option.flag];
      const value = valueOf(option, text);
      if (isTaken(option, value)) return [option.name, value];
      const wanted = option.kind === "choice" ? anyOf(option.words) : accepts(option);
      throw new UsageError(`--${option.flag} is ${wanted}, not '${String(text)}'`);
    }),
  );
}
