// The shape of the rows that options.gen.ts has: options of lowering and loading.

/** The calls that take options of the core. */
export type OptionCall = "toEdge" | "toBackend" | "toExecutorch" | "load";

interface Row {
  readonly call: OptionCall;
  /** Its name in the core. */
  readonly key: string;
  readonly name: string;
  /** The flag of the command, without dashes; empty for none. */
  readonly flag: string;
  /** When the page's form shows it; "several": where the program has several methods. */
  readonly place: "nowhere" | "always" | "several";
  readonly label: string;
  readonly sentence: string;
}

/** Largest values by name. */
export type Bounds = Readonly<Record<string, { readonly max: number }>>;

/** How sizes are evaluated: by one word, or by words for methods and largest values for sizes. */
export type PlannedSizes<Word extends string> =
  Word | Readonly<Record<string, Word | { readonly max: number }>>;

/** One option, by what its values are. */
export type Option = Row &
  (
    | { readonly kind: "bool" | "files"; readonly default: boolean }
    | { readonly kind: "count" | "whole"; readonly default: number }
    | { readonly kind: "power"; readonly default: number; readonly power: number }
    | {
        readonly kind: "choice" | "planner" | "sizes";
        readonly default: string;
        readonly words: readonly string[];
      }
    | { readonly kind: "names"; readonly default: readonly string[] }
    | { readonly kind: "bounds"; readonly default: Bounds }
  );
