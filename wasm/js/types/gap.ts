// The public types of numeric gaps: the differences between a run's values and those of a program
// of the record.
import type { CallOptions } from "./call_options.js";
import type { InspectorNode, LoggedValue } from "./logged.js";
import type { DType } from "./tensor.js";

/**
 * The difference between a value and its reference. `snr` is in decibels, and infinite if the two
 * are equal.
 */
export interface Gap {
  /** The signal-to-noise ratio in decibels; larger is closer. */
  snr: number;
  /** The mean of the squared differences. */
  mse: number;
  /** The sum of the absolute differences. */
  l1: number;
  /** The cosine of the angle between the two, from -1 to 1; 1 is closest. */
  cosine: number;
  /** The largest absolute difference. */
  max: number;
}

/** The measures of a `Gap`. */
export type GapMetric = keyof Gap;

/** A result of a row and its reference. */
export interface GapOutput {
  /** The value in the record's program. */
  reference: LoggedValue;
  /** The logged value. */
  found: LoggedValue;
  /** The difference between the two. */
  gap: Gap;
  /**
   * The result of the option `distance`. Null if `preprocess` removed the pair. Only with that
   * option.
   */
  distance?: number | null;
}

/** An event whose values could be compared with the reference. */
export interface GapRow {
  /** The method that ran. */
  method: string;
  /** The index of the block in `events()`. */
  block: number;
  /** The index of the event in the block. */
  event: number;
  /** Debug handles of the nodes of the reference. */
  aotHandles: number[];
  /** Operators of those nodes. */
  aotOps: string[];
  /** Debug handles of the event. */
  runtimeHandles: number[];
  /** Operators of the event. */
  runtimeOps: string[];
  /** The nodes of the reference. */
  nodes: InspectorNode[];
  /** The outputs that could be compared. */
  outputs: GapOutput[];
}

/** A method in a report of gaps. */
export interface GapMethod {
  /** The name of the method. */
  method: string;
  /**
   * The inputs of the reference: the record's representative inputs, or else the method's examples.
   */
  inputs: "representative" | "example";
  /** The source of the outputs that the method's outputs were compared with. */
  outputsFrom: "recorded" | "computed" | "none";
}

/** The differences between a run's values and those of a program of the record. */
export interface GapReport {
  /** The stage whose values are the reference. */
  reference: string;
  /**
   * At least one method. There are several if no method was named and the dump has values of
   * several.
   */
  methods: GapMethod[];
  /** The compared events, in the order of the dump. */
  rows: GapRow[];
  /**
   * Gaps of the program's outputs. The reference is the record's reference outputs, or else the
   * stage's own.
   */
  outputs: {
    method: string;
    block: number;
    output: number;
    reference: LoggedValue;
    found: LoggedValue;
    gap: Gap | null;
  }[];
  /** Logged values that are not compared, with the reason. */
  skipped: { method: string; block: number; event: number; name: string; reason: string }[];
}

/** The elements of a result and of its reference. */
export interface GapPair {
  /** The index of the row in the report. */
  readonly row: number;
  /** The index of the output in the row. */
  readonly output: number;
  /** The method that ran. */
  readonly method: string;
  /** Debug handles of the nodes of the reference. */
  readonly aotHandles: readonly number[];
  /** Debug handles of the event. */
  readonly runtimeHandles: readonly number[];
  /** The element type of the logged value; null for a single number, which has no shape. */
  readonly dtype: DType | null;
  /** Its sizes, outermost first. */
  readonly shape: readonly number[];
  /** The elements as doubles, row-major. */
  readonly reference: Float64Array;
  /** The logged elements, in the same order. */
  readonly found: Float64Array;
}

/** Options of `Inspector.numericGap`. */
export interface GapOptions extends CallOptions {
  /** By default the inspector's method, or else each method that the dump has values of. */
  method?: string;
  /** "exported_program", "edge_dialect_exported_program" (the default) or an extra stage of the record. */
  reference?: string;
  /** Adds all elements to the values, as `data`. */
  values?: boolean;
  /**
   * A measure of your own, which becomes `distance` of each output. It is called on this thread,
   * also for a worker's inspector.
   */
  distance?: (reference: Float64Array, found: Float64Array, pair: GapPair) => number;
  /**
   * Replaces the pairs that `distance` gets: by pairs with other elements, or by fewer pairs. Each
   * must be one of the given pairs, or a copy of it with other elements. `gap` is always that of
   * the logged values.
   */
  preprocess?: (pairs: GapPair[]) => GapPair[];
}
