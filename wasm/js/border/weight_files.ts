// The files that weights are written to.

/** A weight of a program, for a function that chooses its file. */
export interface WeightInfo {
  /** Its element type. */
  readonly dtype: string;
  /** Its sizes, outermost first. */
  readonly shape: readonly number[];
  /** Its size in bytes. */
  readonly bytes: number;
  /** The methods that read it. */
  readonly methods: readonly string[];
}

/** Gives the file of a weight, without the suffix .ptd; null keeps the weight inside the program. */
export type ChooseFile = (name: string, weight: WeightInfo) => string | null | undefined;

/**
 * The .ptd files of weights. True is one file for all; an object has files by patterns of names, in which
 * `*` stands for any characters. The first pattern that fits counts. Weights without a file stay inside the
 * program.
 *
 * @example
 * edge.toExecutorch({ externalConstants: { "base.*": "foundation" } });
 * @example
 * edge.toExecutorch({ externalConstants: (name) => (name.includes("lora") ? null : "foundation") });
 */
export type ExternalConstants = boolean | Readonly<Record<string, string | null>> | ChooseFile;
