// The flags that options.def gives the command: as rows of its table, and as options.
import { accepts, anyOf, isCount, isFileName, isTaken, optionsOf } from "../../call/options.js";
import type { Bounds, Option, OptionCall } from "../../border/option.js";
import type { Flag, Flags } from "./flag.js";
import { readByMethod } from "./by_method.js";
import { UsageError } from "../usage.js";

const flagged = (calls: readonly OptionCall[]): readonly Option[] =>
  calls.flatMap(optionsOf).filter(({ flag }) => flag !== "");

const VALUES = {
  bool: "",
  files: "PATTERN=FILE",
  choice: "HOW",
  planner: "HOW",
  sizes: "HOW",
  count: "N",
  whole: "N",
  power: "N",
  names: "NAME",
  bounds: "NAME=N",
};

/** The other forms of a value that is one of some words. */
const FORMS = {
  choice: "",
  planner: ". Or a function of --import by its name. METHOD=HOW is for one method",
  sizes: ": NAME=N. METHOD=HOW is for one method",
};

const REPEATED: ReadonlySet<Option["kind"]> = new Set([
  "bounds",
  "files",
  "names",
  "planner",
  "sizes",
]);

/** The help of a flag. */
function described(option: Option): string {
  const text = option.sentence.replace(/^./, (c) => c.toLowerCase()).replace(/\.$/, "");
  if (option.kind === "bool") return option.default ? `not: ${text}` : text;
  if (option.kind === "bounds" || option.kind === "files" || option.kind === "names") return text;
  const isDefault = (word: unknown): string => (word === option.default ? " (default)" : "");
  if (option.kind !== "choice" && option.kind !== "planner" && option.kind !== "sizes")
    return `${text}; ${option.default} by default`;
  const words = option.words.map((word) => word + isDefault(word)).join(", ");
  return `${words}: ${text}${FORMS[option.kind]}`;
}

function flagOf(option: Option): Flag {
  const { kind } = option;
  return {
    type: kind === "bool" ? "boolean" : "string",
    multiple: REPEATED.has(kind),
    value: VALUES[kind],
    ...(kind === "files" && { optional: true }),
    ...(kind === "choice" && { words: option.words }),
    ...((kind === "planner" || kind === "sizes") && { suggests: () => option.words }),
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

/** HOW, or METHOD=HOW once or more, as a planner or planners by method. */
function plannersOf(flag: string, given: readonly string[]): unknown {
  const pairs = readByMethod(flag, given);
  const [first] = pairs;
  if (pairs.length === 1 && first![0] === "") return first![1];
  const methods = new Set(pairs.map(([method]) => method));
  if (methods.has("") || methods.size < pairs.length)
    throw new UsageError(`--${flag} is given once, or once for each method as METHOD=HOW`);
  return Object.fromEntries(pairs);
}

/** HOW, or NAME=N and METHOD=HOW once or more. A method may be called 8, but HOW is no number. */
function sizesOf(flag: string, given: readonly string[]): unknown {
  const isPair = (text: string): boolean => text.includes("=");
  if (given.length === 1 && !isPair(given[0]!)) return given[0];
  if (!given.every(isPair))
    throw new UsageError(`--${flag} is given once as HOW, or as METHOD=HOW and NAME=N`);
  const bounds = given.filter((text) => /=[0-9]+$/.test(text));
  const methods = readByMethod(
    flag,
    given.filter((text) => !bounds.includes(text)),
  );
  const all = { ...boundsOf(flag, bounds), ...Object.fromEntries(methods) };
  if (Object.keys(all).length < given.length)
    throw new UsageError(`--${flag} names one size twice`);
  return all;
}

/** PATTERN=FILE once or more, in order; PATTERN= keeps weights inside. Without any, true. */
function filesOf(flag: string, given: readonly string[]): boolean | Record<string, string | null> {
  if (given.length === 1 && given[0] === "") return true;
  const files: Record<string, string | null> = {};
  for (const text of given) {
    const at = text.lastIndexOf("=");
    const [pattern, file] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)];
    if (pattern === "" || (file !== "" && !isFileName(file)))
      throw new UsageError(
        `--${flag} takes PATTERN=FILE, with the name of a file without a folder, not '${text}'`,
      );
    if (Object.hasOwn(files, pattern)) throw new UsageError(`--${flag} ${pattern} is given twice`);
    files[pattern] = file === "" ? null : file;
  }
  return files;
}

/** The value of a flag. A flag without a value stands for the opposite of the default. */
function valueOf(option: Option, given: unknown): unknown {
  if (option.kind === "bool") return !option.default;
  if (option.kind === "files") return filesOf(option.flag, given as readonly string[]);
  if (option.kind === "bounds") return boundsOf(option.flag, given as readonly string[]);
  if (option.kind === "planner") return plannersOf(option.flag, given as readonly string[]);
  if (option.kind === "sizes") return sizesOf(option.flag, given as readonly string[]);
  if (option.kind === "choice" || option.kind === "names") return given;
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
