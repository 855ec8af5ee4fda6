// The options of lowering and loading, by the rows of core/options.def: what values each takes, and
// how they reach the core.
import { isPlain, jsonFor } from "../base/check.js";
import type { Option, OptionCall } from "../border/option.js";
import { OPTIONS } from "../border/options.gen.js";

/** Options by name, of whatever calls. */
export type Chosen = Readonly<Record<string, unknown>>;

/** The rows of the options that a call takes. */
export const optionsOf = (call: OptionCall): readonly Option[] =>
  OPTIONS.filter((option) => option.call === call);

/** The chosen options that a call takes. */
export function chosenFor(call: OptionCall, chosen: Chosen): Record<string, unknown> {
  const own = optionsOf(call).filter(({ name }) => chosen[name] !== undefined);
  return Object.fromEntries(own.map(({ name }) => [name, chosen[name]]));
}

/** The chosen options as the core reads them, with those that only the library sets. */
export function optionsJson(call: OptionCall, chosen: object = {}, hidden: object = {}): string {
  const own = optionsOf(call).map(({ key, name }) => [key, (chosen as Chosen)[name]]);
  // Keys without a value leave no trace in JSON.
  return jsonFor(`the options of ${call}()`, { ...Object.fromEntries(own), ...hidden });
}

/** Words as an English list. */
export const anyOf = (words: readonly string[]): string =>
  words.join(", ").replace(/, (?=[^,]*$)/, " or ");

/** The values of an option, as the end of "must be". */
export function accepts(option: Option): string {
  switch (option.kind) {
    case "bool":
      return "true or false";
    case "count":
      return "a positive whole number";
    case "whole":
      return "a whole number, 0 or more";
    case "power":
      return `a power of two from 1 to 2^${option.power}`;
    case "choice":
      return anyOf(option.words.map((word) => `"${word}"`));
    case "planner":
      return `${anyOf(option.words.map((word) => `"${word}"`))}, a function, or these by method`;
    case "sizes":
      return `${anyOf(option.words.map((word) => `"${word}"`))}, or these by method and { max: N } by size`;
    case "files":
      return 'true, false, files by patterns of names, { "base.*": "base" }, or a function';
    case "names":
      return "a list of names";
    case "bounds":
      return "positive whole numbers by name, { NAME: { max: N } }";
  }
}

/** True for a positive whole number. */
export const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) > 0;

const isBound = (value: unknown): boolean =>
  isPlain(value) && Object.keys(value).join() === "max" && isCount(value["max"]);

const isSizes = (words: readonly unknown[], value: unknown): boolean =>
  words.includes(value) ||
  (isPlain(value) && Object.values(value).every((item) => words.includes(item) || isBound(item)));

const isName = (value: unknown): boolean => typeof value === "string" && value !== "";

/** True if it may be a planner. Only the engine knows the names. */
const isPlanner = (value: unknown): boolean => typeof value === "function" || isName(value);

/** True if it can be the name of a file, which may not lead into another folder. */
export const isFileName = (value: unknown): value is string =>
  isName(value) && !/^\.{1,2}$|[\u0000-\u001f\u007f/\\]/.test(value as string);

const isFiles = (value: unknown): boolean =>
  isPlain(value) &&
  Object.entries(value).every(([name, file]) => name !== "" && (file === null || isFileName(file)));

/** The memory planners of the library. */
export const PLANNER_WORDS: readonly string[] = OPTIONS.flatMap((option) =>
  option.kind === "planner" ? option.words : [],
);

/** True for the name of a memory planner of the library. */
export const isPlannerWord = (name: string): boolean => PLANNER_WORDS.includes(name);

/** True if the option takes the value. */
export function isTaken(option: Option, value: unknown): boolean {
  switch (option.kind) {
    case "bool":
      return typeof value === "boolean";
    case "count":
      return isCount(value);
    case "whole":
      return value === 0 || isCount(value);
    case "power":
      return isCount(value) && value <= 2 ** option.power && Number.isInteger(Math.log2(value));
    case "choice":
      return option.words.some((word) => word === value);
    case "planner":
      return isPlanner(value) || (isPlain(value) && Object.values(value).every(isPlanner));
    case "sizes":
      return isSizes(option.words, value);
    case "files":
      return typeof value === "boolean" || typeof value === "function" || isFiles(value);
    case "names":
      return Array.isArray(value) && value.every(isName);
    case "bounds":
      return isPlain(value) && Object.values(value).every(isBound);
  }
}
