// The public types of numeric gaps: how far a run's values are from those of a program of the record.
import type { CallOptions } from "./call_options.js";
import type { InspectorNode, LoggedValue } from "./logged.js";
import type { DType } from "./tensor.js";

/** How far a value is from its reference. `snr` is in decibels, infinite where they are equal. */
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
  /** The value of the record's program. */
  reference: LoggedValue;
  /** The value that was logged. */
  found: LoggedValue;
  /** How far the two are apart. */
  gap: Gap;
  /** By `distance` of the options; null where `preprocess` has left it out. Only with that option. */
  distance?: number | null;
}

/** An event whose values could be compared with the reference. */
export interface GapRow {
  /** The method that ran. */
  method: string;
  /** The place of the block among those of `events()`. */
  block: number;
  /** The place of the event in the block. */
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
  /** One of each output that could be compared. */
  outputs: GapOutput[];
}

/** A method that a report of gaps is of. */
export interface GapMethod {
  /** The name of the method. */
  method: string;
  /** The inputs of the reference: the record's representative ones, or else the method's examples. */
  inputs: "representative" | "example";
  /** The origin of the outputs that its own were compared with. */
  outputsFrom: "recorded" | "computed" | "none";
}

/** How far a run's values are from those of a program of the record. */
export interface GapReport {
  /** The stage whose values are the reference. */
  reference: string;
  /** One at least; several where none was named and the dump has values of several. */
  methods: GapMethod[];
  /** The events that were compared, in the order of the dump. */
  rows: GapRow[];
  /** Gaps of the program's outputs from the record's reference outputs, or else from the stage's own. */
  outputs: {
    method: string;
    block: number;
    output: number;
    reference: LoggedValue;
    found: LoggedValue;
    gap: Gap | null;
  }[];
  /** Values that were logged and are not compared, and why. */
  skipped: { method: string; block: number; event: number; name: string; reason: string }[];
}

/** The elements of a result and of its reference. */
export interface GapPair {
  /** Places in the report: of the row, and of the output in it. */
  readonly row: number;
  /** The place of the output in the row. */
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
  /** Row-major, of any dtype as doubles. */
  readonly reference: Float64Array;
  /** The elements that were logged, in the same order. */
  readonly found: Float64Array;
}

/** Options of `Inspector.numericGap`. */
export interface GapOptions extends CallOptions {
  /** By default the inspector's, or else each that the dump has values of. */
  method?: string;
  /** "exported_program", "edge_dialect_exported_program" (the default) or an extra stage of the record. */
  reference?: string;
  /** All elements come with the values, as `data`. */
  values?: boolean;
  /** A measure of your own: `distance` of each output. Called here, also for a worker's inspector. */
  distance?: (reference: Float64Array, found: Float64Array, pair: GapPair) => number;
  /**
   * Gives the pairs that `distance` gets instead of those that were logged: pairs with other elements,
   * or fewer pairs. Each is one of those given, or a copy of it with other elements. `gap` is always
   * that of the logged values.
   */
  preprocess?: (pairs: GapPair[]) => GapPair[];
}
