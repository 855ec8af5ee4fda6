// The types of recorded runs: ETDumps, ExecuTorch's own files about the events of a run.
import type { CallOptions } from "./call_options.js";

/**
 * The values that a run records, in addition to the time that every instruction took: no values (`true`), those that
 * the method returned ("outputs"), or those that every instruction has written, too ("intermediates").
 *
 * Instructions that loading merged into one, as a convolution and the relu behind it, are measured
 * together. In the dump they stand one after the other, each with an equal share of the time: their sum
 * is what was measured, how it divides among them is not known.
 *
 * Loading merges instructions, computes some ahead and leaves others out, and values that it left
 * nowhere cannot be recorded; `unseen` of the dump counts them. To have all of them, load the program
 * with `{ optimize: false }`: it runs what the file says then, slower, with results within rounding.
 */
export type RecordedEvents = boolean | "outputs" | "intermediates";

/**
 * Ids of what delegates do: those that a regular expression matches as a whole, given as such or as its
 * text, or numbers from the first up to, and without, the second.
 */
export type DelegateIds = string | RegExp | readonly [first: number, end: number];

/** Which values of delegates are recorded: only some, or all but some. Times always are. */
export type DelegateFilter =
  | { readonly include: readonly DelegateIds[]; readonly exclude?: undefined }
  | { readonly exclude: readonly DelegateIds[]; readonly include?: undefined };

/** Options of `Program.run()`. */
export interface RunOptions extends CallOptions {
  /**
   * Records the run, and loading the method if this is what loads it, for `etdump()`. Recordings
   * add up until then. If the recording grows beyond `eventBytesMax` of `load()`, the run does its
   * work and then fails with the code "limit". The dump has the runs before it, and not this one.
   */
  events?: RecordedEvents;
  /** Chooses among the values inside of delegates that "intermediates" records; all by default. */
  delegateValues?: DelegateFilter;
  /**
   * The number of the test case of a bundled program that the inputs are; recorded with the run. The
   * official Inspector takes runs of one method and one number for repetitions, and refuses values that
   * differ between them, as NaN does from itself: number runs on different inputs when values are recorded.
   */
  bundledInputIndex?: number;
}

/** The events since the last time they were asked for. */
export interface EventDump {
  /** The ETDump (.etdp): blocks of events, one for each method that was loaded and for each run. */
  readonly etdump: Uint8Array<ArrayBuffer>;
  /**
   * The bytes of tensors that the dump refers to, row-major, each at a multiple of 64; empty when no
   * values were recorded. The Inspector takes it as a file of its own.
   */
  readonly debugBuffer: Uint8Array<ArrayBuffer>;
  /** The number of blocks in the dump. */
  readonly blocks: number;
  /** The number of events in all blocks. */
  readonly events: number;
  /** Values among the events. */
  readonly values: number;
  /** Instructions that loading merged into others, so that what they compute is nowhere; see `RecordedEvents`. */
  readonly unseen: number;
  /**
   * Values that an ETDump has no place for, which are `Null` in it: text, and tensors of complex
   * numbers, float8 or uint64.
   */
  readonly omitted: number;
  /** Tensors in a wider dtype, because readers lack theirs: bfloat16 as float32, uint32 as int64. */
  readonly widened: number;
  /**
   * Instructions that ended before the clock moved. Their time reads 0 and is not: browsers let
   * performance.now() make coarse steps. Run several times and look at sums, or isolate the page.
   */
  readonly instants: number;
  /** The smallest step that the clock was seen to make, in nanoseconds, the unit of all times. */
  readonly clockStep: number;
}
