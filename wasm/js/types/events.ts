// The types of recorded runs. ETDumps are ExecuTorch's files about the events of a run.
import type { CallOptions } from "./call_options.js";

/**
 * The values that a run records, in addition to the time of every instruction. `true` records no
 * values. "outputs" records the results of the method, "intermediates" also those of every
 * instruction.
 *
 * Loading may merge instructions, such as a convolution and the relu after it. They are measured
 * together. The dump lists them one after the other, each with an equal share of the time. Their
 * sum is measured, the shares are not.
 *
 * Loading also computes some instructions ahead and leaves others out. Values that no longer exist
 * cannot be recorded; `unseen` of the dump counts them. To record all values, load the program with
 * `{ optimize: false }`. It then runs every instruction of the file. That is slower, and results
 * are equal within rounding.
 */
export type RecordedEvents = boolean | "outputs" | "intermediates";

/**
 * Ids of delegates' events: a regular expression, or its text, that matches the whole id. Or a
 * range of numbers: the first one, and the one after the last.
 */
export type DelegateIds = string | RegExp | readonly [first: number, end: number];

/**
 * The values of delegates that are recorded: only some, or all but some. Times are always recorded.
 */
export type DelegateFilter =
  | { readonly include: readonly DelegateIds[]; readonly exclude?: undefined }
  | { readonly exclude: readonly DelegateIds[]; readonly include?: undefined };

/** Options of `Program.run()`. */
export interface RunOptions extends CallOptions {
  /**
   * Records the run for `etdump()`, and also the loading of the method if this call loads it.
   * Records add up until `etdump()`. If they grow beyond `eventBytesMax` of `load()`, the run does
   * its work and then fails with the code "limit". The dump has the runs before it, and not this
   * one.
   */
  events?: RecordedEvents;
  /**
   * Chooses among the values inside of delegates for "intermediates". By default all are recorded.
   */
  delegateValues?: DelegateFilter;
  /**
   * The number of the test case in a bundled program that the inputs come from. It is recorded with
   * the run. The official Inspector takes runs of one method and one number for repetitions. It
   * refuses values that differ between them, and a NaN differs from itself. So give runs on
   * different inputs different numbers if values are recorded.
   */
  bundledInputIndex?: number;
}

/** The events since the last `etdump()`. */
export interface EventDump {
  /** The ETDump (.etdp): blocks of events, one for each method that was loaded and for each run. */
  readonly etdump: Uint8Array<ArrayBuffer>;
  /**
   * The bytes of tensors that the dump refers to, row-major, each at a multiple of 64. Empty if no
   * values were recorded. The Inspector takes it as a file of its own.
   */
  readonly debugBuffer: Uint8Array<ArrayBuffer>;
  /** The number of blocks in the dump. */
  readonly blocks: number;
  /** The number of events in all blocks. */
  readonly events: number;
  /** The number of values among the events. */
  readonly values: number;
  /**
   * Instructions whose results do not exist, because loading merged them into others; see
   * `RecordedEvents`.
   */
  readonly unseen: number;
  /**
   * Values that an ETDump cannot store, which are `Null` in it: text, and tensors of complex
   * numbers, float8 or uint64.
   */
  readonly omitted: number;
  /**
   * Tensors in a wider dtype, because readers do not know theirs: bfloat16 as float32, uint32 as
   * int64.
   */
  readonly widened: number;
  /**
   * Instructions that ended before the clock moved. Their time reads 0, although they took time:
   * performance.now() is coarse in browsers. Run several times and use sums, or isolate the page.
   */
  readonly instants: number;
  /** The smallest step of the clock that was seen, in nanoseconds. All times are nanoseconds. */
  readonly clockStep: number;
}
