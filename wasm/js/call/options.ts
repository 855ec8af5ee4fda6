// The options of lowering and loading, by the rows of core/options.def: what values each takes, and
// how they reach the core.
import { isPlain, jsonFor } from "../base/check.js";
import { OPTIONS } from "../border/options.gen.js";

type OptionCall = "toEdge" | "toBackend" | "toExecutorch" | "load";

interface Row {
  readonly call: OptionCall;
  /** What the core calls it. */
  readonly key: string;
  readonly name: string;
  /** The flag of the command, without dashes; empty for none. */
  readonly flag: string;
  /** Where the page's form has it; "several" is where there are several methods. */
  readonly place: "nowhere" | "always" | "several";
  readonly label: string;
  readonly sentence: string;
}

/** Largest values by name. */
export type Bounds = Readonly<Record<string, { readonly max: number }>>;

/** One option, by what its values are. */
export type Option = Row &
  (
    | { readonly kind: "bool"; readonly default: boolean }
    | { readonly kind: "count" | "whole"; readonly default: number }
    | { readonly kind: "power"; readonly default: number; readonly power: number }
    | { readonly kind: "choice"; readonly default: string; readonly words: readonly string[] }
    | { readonly kind: "bounds"; readonly default: Bounds }
  );

/** Options by name, of whatever calls. */
export type Chosen = Readonly<Record<string, unknown>>;

export const optionsOf = (call: OptionCall): readonly Option[] =>
  OPTIONS.filter((option) => option.call === call);

/** Of all that was chosen what a call takes. */
export function chosenFor(call: OptionCall, chosen: Chosen): Record<string, unknown> {
  const own = optionsOf(call).filter(({ name }) => chosen[name] !== undefined);
  return Object.fromEntries(own.map(({ name }) => [name, chosen[name]]));
}

/** What was chosen as the core reads it, with what only the library itself asks for. */
export function optionsJson(call: OptionCall, chosen: object = {}, hidden: object = {}): string {
  const own = optionsOf(call).map(({ key, name }) => [key, (chosen as Chosen)[name]]);
  // Keys without a value leave no trace in JSON.
  return jsonFor(`the options of ${call}()`, { ...Object.fromEntries(own), ...hidden });
}

/** Words as an English list. */
export const anyOf = (words: readonly string[]): string =>
  words.join(", ").replace(/, (?=[^,]*$)/, " or ");

/** What an option takes, as the end of "must be". */
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
    case "bounds":
      return "positive whole numbers by name, { NAME: { max: N } }";
  }
}

/** Whether it is a positive whole number. */
export const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) > 0;

const isBound = (value: unknown): boolean =>
  isPlain(value) && Object.keys(value).join() === "max" && isCount(value["max"]);

/** Whether the option takes the value. */
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
    case "bounds":
      return isPlain(value) && Object.values(value).every(isBound);
  }
}
