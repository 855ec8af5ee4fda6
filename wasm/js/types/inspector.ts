// The public types of the inspector. It combines what a run did (.etdp) with what was lowered
// (.etrecord). All of it is plain data.
import type { CallOptions } from "./call_options.js";
import type { GapOptions, GapReport } from "./gap.js";
import type { InspectorNode, LoggedValue } from "./logged.js";
import type { UnreadEntry } from "./record.js";
import type { Resource } from "./resource.js";
import type { Source } from "./source.js";
import type { MemoryPlan, RecordStage, StageDiff, StageNode } from "./stage.js";

/** The files that an inspector opens: a dump, a record, a program, or several of these. */
export interface InspectorFiles {
  /** The file of a runtime with event tracing: an .etdp. */
  readonly etdump?: Source;
  /** The exporter's record of the program's stages: an .etrecord. */
  readonly etrecord?: Source;
  /** The values that the dump's events refer to. */
  readonly debugBuffer?: Source;
  /** The program itself, for its memory plan: a .pte or a .bpte. Its data files are not needed. */
  readonly program?: Source;
}

/** A unit of time. "cycles" can only be combined with "cycles". */
export type TimeScale = "ns" | "us" | "ms" | "s" | "cycles";

/** Options of `Engine.inspector`. */
export interface InspectorOptions extends CallOptions {
  /** The unit of the dump's ticks; "ns" by default. */
  sourceTimeScale?: TimeScale;
  /** The unit of all resulting times; "ms" by default. */
  targetTimeScale?: TimeScale;
  /**
   * The method of the record that the dump is of. Dumps do not name the method of a run. By default
   * it is the one method whose instructions the run fits. If you name a method, it gets all runs
   * that may be its own, even those that fit several methods or broke off. Runs that are clearly of
   * another method are not changed. Gaps and comparisons are then of this method.
   */
  method?: string;
  /**
   * Converts ticks of a delegate to the target scale, for backends with a clock of their own.
   * `name` is the event's name. It is called for the start and the end of each such event. If a
   * result is not a number, or the end is before the start, the event has no time. By default these
   * ticks are like all others. Functions do not reach a worker, so only the engine's inspector
   * takes this.
   */
  delegateTime?: (name: string, ticks: number) => number;
  /**
   * Reads the metadata of a delegate's event as a plain object, for `delegateMetadata` of the
   * event. Functions do not reach a worker, so only the engine's inspector takes this.
   */
  delegateMetadata?: (metadata: Uint8Array<ArrayBuffer>, name: string) => Record<string, unknown>;
}

/** The reason for the method of a block. */
export type MethodChoice =
  /** The caller named it. */
  | "asked"
  /** The record has no other method. */
  | "only"
  /** No other method of the record has these instructions. */
  | "matched"
  /** There is no record, or the method is unknown. `InspectorReport.warnings` says what to do. */
  | "unknown";

/** The times of one event over the runs of its block, in the target scale. */
export interface PerfData {
  /** The time in each run, in the order of the runs. */
  raw: number[];
  /** A tenth of the runs took at most this long. */
  p10: number;
  /** Half of the runs took at most this long. */
  p50: number;
  /** Nine tenths of the runs took at most this long. */
  p90: number;
  /** The mean. */
  avg: number;
  /** The shortest run. */
  min: number;
  /** The longest run. */
  max: number;
}

/** Something that happens once in each run of a block. */
export interface InspectorEvent {
  /** The name that the runtime logged: "OPERATOR_CALL", "native_call_addmm.out". */
  name: string;
  /** The chain of the instruction in the file; -1 outside of instructions. */
  chain: number;
  /** The index of the instruction in its chain. */
  instruction: number;
  /** The times. Null if only values were logged. */
  perf: PerfData | null;
  /**
   * How often it happens in each run. In a loop that is more than once, and the times are added up.
   */
  calls: number;
  /**
   * How many threads had a share in one call, at most. Null in dumps of engines with one thread, and
   * of other runtimes.
   */
  threads: number | null;
  /**
   * Its start in the first run, in the target scale, counted from the first start in the dump. Null
   * if it has no start.
   */
  start: number | null;
  /** The event of the same block around it; null for the outermost ones. */
  parent: number | null;
  /** True if a backend logged it from inside of its part. */
  isDelegated: boolean;
  /** The backend's name for it. */
  delegateId: string | number | null;
  /** The backend of a delegate's event or call. */
  backend: string | null;
  /** Bytes that the backend added: as text if they are UTF-8, else as hexadecimal digits. */
  metadata: string | null;
  /** True if `metadata` is text, not digits. */
  isMetadataText: boolean;
  /**
   * The result of the inspector's `delegateMetadata`. Null without that option or without metadata.
   */
  delegateMetadata: Record<string, unknown> | null;
  /** The debug handles of its nodes. */
  handles: number[];
  /** The operators of its nodes, each once. */
  ops: string[];
  /** Its nodes. Empty without a record. */
  nodes: InspectorNode[];
  /** The values that were logged with it in the first run. */
  values: LoggedValue[];
  /**
   * True if it only wraps another event of the instruction (`OPERATOR_CALL`). Tables leave it out.
   */
  isWrapper: boolean;
}

/** Runs with the same events. */
export interface EventBlock {
  /** "Default" for loading, "Execute" for running. */
  name: string;
  /** The method of the runs. Null if it is unknown. */
  method: string | null;
  /** The reason why it is that method. */
  choice: MethodChoice;
  /** The number of runs. */
  runs: number;
  /** The indices of the runs in the dump. */
  runIndices: number[];
  /** The number of the test case that ran; -1 if there is no case. */
  bundledInputIndex: number;
  /** The time of the outermost events of the block in each run. */
  total: PerfData | null;
  /** Its events, in the order of the first run. */
  events: InspectorEvent[];
  /** The results of the program. */
  outputs: LoggedValue[];
  /** Memory that the runtime requested, by allocator. */
  allocations: { allocator: string; count: number; bytes: number }[];
}

/**
 * Time by operator or by module, in one block. Times are averages over its runs. If an event has
 * several nodes, each module gets a share of its time by the number of its nodes. Time of no
 * module, or of no known node, counts for the root (""), so that totals add up.
 */
export interface InspectorTotal {
  /** The index of the block in `events()`. */
  block: number;
  /** An operator ("aten.addmm.default"), or a module's path. */
  name: string;
  /** For a module its class. */
  class: string;
  /** The number of events. */
  events: number;
  /** The total time of these events, in the target scale. */
  time: number;
  /** Its share of the time of all operators in the block. */
  share: number;
  /** For a module the time outside of the modules in it. */
  self: number;
  /** The part of the time that backends took. */
  delegated: number;
}

/** One event of one run, nested by instruction and by time. */
export interface TimelineSpan {
  /** The index of the run in the dump. */
  run: number;
  /** The index of its block in `events()`. */
  block: number;
  /** The index of its event in the block. */
  event: number;
  /** The name of the event. */
  name: string;
  /** The operators of its nodes. */
  ops: string[];
  /** Its backend. Null outside of delegates. */
  backend: string | null;
  /** Its start in the target scale, counted from the first start in the dump. */
  start: number;
  /** Its length, in the target scale. */
  duration: number;
  /** 0 for the outermost. */
  depth: number;
}

/** The events of all runs on a time axis. */
export interface Timeline {
  /** The unit of all times in it. */
  scale: TimeScale;
  /** The events with a start, run by run. */
  spans: TimelineSpan[];
  /**
   * The number of events with a length but without a start. Backends that only measure log such
   * events.
   */
  unplaced: number;
}

/** The delegated share of a method. */
export interface DelegationTotals {
  /** The method. */
  method: string;
  /** The number of delegates. */
  delegatedSubgraphs: number;
  /** The number of nodes inside of delegates. */
  delegatedNodes: number;
  /** The number of nodes outside of delegates. */
  nonDelegatedNodes: number;
  /** By operator, sorted by name. */
  rows: { op: string; delegated: number; nonDelegated: number }[];
  /** Each delegate, with the instruction that calls it and the nodes in it. */
  delegates: { instruction: number; backend: string; handles: number[]; nodes: string[] }[];
}

/** The events of one of two dumps in a row. */
export interface ComparedSide {
  /** The index of the block in that dump's `events()`. */
  block: number;
  /**
   * Indices of events of the block. Several kernels of one side may be one delegate of the other.
   */
  events: number[];
  /** Names of those events. */
  names: string[];
  /** Their total time, run by run. */
  perf: PerfData;
}

/** A row of two dumps side by side. */
export interface ComparedEvent {
  /** Null if the method is unknown. */
  method: string | null;
  /** The name of the event, or of the first one. */
  name: string;
  /** The property by which the two sides were matched. */
  by: "handles" | "name";
  /** Debug handles of both sides. Empty if they were matched by name. */
  handles: number[];
  /** The operators of its nodes. */
  ops: string[];
  /** The user's own line, or empty. */
  source: string;
  /** The first dump. Null if it has no such event. */
  a: ComparedSide | null;
  /** The second dump. Null if it has no such event. */
  b: ComparedSide | null;
  /** The average of b minus that of a. Null if one of them is missing or is 0. */
  difference: number | null;
  /** The average of b as a share of that of a; null as for `difference`. */
  ratio: number | null;
  /**
   * Half the width of the 95 % interval of the difference (Welch). Null if one dump has a single
   * run.
   */
  noise: number | null;
  /** True if the difference is larger than the noise. Null if the noise is unknown. */
  isSignificant: boolean | null;
}

/** The runs of a method in both dumps. If there are several kinds of runs, those with the most. */
export interface ComparedMethod {
  /** Null if the method is unknown. */
  method: string | null;
  /** The number of runs in the first dump. */
  runsA: number;
  /** The number of runs in the second dump. */
  runsB: number;
  /** The whole method, side by side. */
  total: ComparedEvent;
}

/** Two dumps side by side. */
export interface DumpComparison {
  /** The unit of all times in it. */
  scale: TimeScale;
  /**
   * Warnings. Each begins with the dump that it is about: "a: ...". They name methods that only one
   * dump has.
   */
  warnings: string[];
  /** At least one: all methods that both dumps have runs of, or the one that was named. */
  methods: ComparedMethod[];
  /** The rows of all methods. The largest difference comes first. */
  rows: ComparedEvent[];
}

/** A summary of the files that an inspector has opened. */
export interface InspectorReport {
  /** The unit of the dump's ticks. */
  sourceTimeScale: TimeScale;
  /** The unit of all times that the inspector gives. */
  targetTimeScale: TimeScale;
  /** The dump. Null without one. */
  etdump: {
    version: number;
    runs: number;
    blocks: number;
    events: number;
    /** The number of logged values. */
    values: number;
    /** Bytes of the debug buffer; null without one. */
    debugBufferBytes: number | null;
  } | null;
  /** The record. Null without one. */
  etrecord: {
    methods: string[];
    stages: RecordStage[];
    hasHandles: boolean;
    /** The number of cases of reference outputs, by method. */
    referenceOutputs: Record<string, number>;
    representativeInputs: number | null;
    unknownEntries: string[];
    /** Damaged entries of the file. The record has no content of them. */
    unreadEntries: UnreadEntry[];
  } | null;
  /** Facts of the two files that do not fit together, with what to do about it. */
  warnings: string[];
}

/** A dump and a record, opened. */
export interface Inspector extends Resource {
  /** A summary of the files, with warnings about facts that do not fit together. */
  report(): InspectorReport;
  /** All events. Runs with the same events are one block. */
  events(): EventBlock[];
  /** Totals by operator, over all blocks, longest first. */
  ops(): InspectorTotal[];
  /** Totals by module. Each includes the modules inside of it. */
  modules(): InspectorTotal[];
  /** Every event of every run with its time. */
  timeline(): Timeline;
  /** The timeline for Perfetto and chrome://tracing, as the text of a JSON file. */
  trace(): string;
  /** The delegated share of each method. */
  delegation(): DelegationTotals[];
  /**
   * The memory plan of each method of the program. If two values overlap while both are in use,
   * this fails with the code "corrupt". A value that a move instruction hands on is in use until
   * that move.
   */
  memory(): MemoryPlan[];
  /**
   * The differences between logged values and those of the record's program. For this, that program
   * runs on the record's inputs. Fails with the code "state" if the dump or the record lacks
   * something.
   */
  numericGap(options?: GapOptions): GapReport;
  /**
   * Compares this dump (a) with another one (b). If `files` has no record, b uses this inspector's
   * record.
   */
  compare(files: InspectorFiles, options?: InspectorOptions): DumpComparison;
  /** Nodes of a stage of the record. */
  nodes(stage: string, method?: string): StageNode[];
  /** The IR of a stage as text. */
  text(stage: string, method?: string): string;
  /** The changes from one stage of the record to another. */
  diff(from: string, to: string, method?: string): StageDiff;
}
