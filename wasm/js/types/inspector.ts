// The public types of the inspector: what a run did (.etdp), what was lowered (.etrecord), and how the
// two belong together. All of it is plain data.
import type { CallOptions } from "./call_options.js";
import type { GapOptions, GapReport } from "./gap.js";
import type { InspectorNode, LoggedValue } from "./logged.js";
import type { UnreadEntry } from "./record.js";
import type { Resource } from "./resource.js";
import type { Source } from "./source.js";
import type { MemoryPlan, RecordStage, StageDiff, StageNode } from "./stage.js";

/** The files that an inspector opens: a dump, a record, a program, or several of them. */
export interface InspectorFiles {
  /** A file that a runtime with event tracing has written: an .etdp. */
  readonly etdump?: Source;
  /** The record of the program's stages that the exporter has kept: an .etrecord. */
  readonly etrecord?: Source;
  /** The values that the dump's events point to. */
  readonly debugBuffer?: Source;
  /** The program itself, for its memory plan: a .pte or a .bpte. Its data files are not needed. */
  readonly program?: Source;
}

/** "cycles" only go with "cycles". */
export type TimeScale = "ns" | "us" | "ms" | "s" | "cycles";

/** Options of `Engine.inspector`. */
export interface InspectorOptions extends CallOptions {
  /** The unit of the dump's ticks; "ns" by default. */
  sourceTimeScale?: TimeScale;
  /** The unit of all times that come out; "ms" by default. */
  targetTimeScale?: TimeScale;
  /**
   * The method of the record that is meant. Dumps do not say which method a run is of; by default it is
   * the one whose instructions the run fits, if it is only one. A method that is named takes the runs
   * that may be its, also those that fit several or broke off; runs that are clearly another's stay so.
   * Gaps and comparisons are of this method, then.
   */
  method?: string;
  /**
   * A moment in the target scale, of ticks that a delegate has recorded with its event `name`, for backends
   * whose clock is another one. Called for the start and the end of each of their events; what comes
   * out less than the start, or is no number, leaves the event without a time. By default these ticks
   * are like all others. Functions do not reach a worker: of the engine's inspector only.
   */
  delegateTime?: (name: string, ticks: number) => number;
  /**
   * Reads the metadata of a delegate's event as a plain object: `delegateMetadata` of the event.
   * Functions do not reach a worker: of the engine's inspector only.
   */
  delegateMetadata?: (metadata: Uint8Array<ArrayBuffer>, name: string) => Record<string, unknown>;
}

/** Why a block is of the method that it is said to be of. */
export type MethodChoice =
  /** The caller has said so. */
  | "asked"
  /** The record has no other one. */
  | "only"
  /** No other one of the record has these instructions. */
  | "matched"
  /** There is no record, or it is unknown: `InspectorReport.warnings` says what to do. */
  | "unknown";

/** Times of one event over the runs of its block, in the target scale. */
export interface PerfData {
  /** The time of each run, in the order of the runs. */
  raw: number[];
  /** A tenth of the runs took no longer. */
  p10: number;
  /** Half of the runs took no longer. */
  p50: number;
  /** Nine tenths of the runs took no longer. */
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
  /** The name that the runtime has logged: "OPERATOR_CALL", "native_call_addmm.out". */
  name: string;
  /** The instruction's place in the file; the chain is -1 outside of instructions. */
  chain: number;
  /** The instruction in its chain. */
  instruction: number;
  /** Null where only values were logged. */
  perf: PerfData | null;
  /** Times that it happens in each run: more than once in loops, whose times are added up. */
  calls: number;
  /** Its start in the first run, in the target scale from the first start in the dump; null: it has no start. */
  start: number | null;
  /** The event of the same block around it; null for the outermost ones. */
  parent: number | null;
  /** Whether a backend logged it from inside of its part. */
  isDelegated: boolean;
  /** The name that the backend has for it. */
  delegateId: string | number | null;
  /** The backend, of delegates' events and calls. */
  backend: string | null;
  /** Bytes that the backend has added, as text where they are UTF-8 and else in hexadecimal digits. */
  metadata: string | null;
  /** `metadata` is what the backend has written, not its digits. */
  isMetadataText: boolean;
  /** The result of the inspector's `delegateMetadata`; null without one or without metadata. */
  delegateMetadata: Record<string, unknown> | null;
  /** Debug handles of the nodes that it stands for. */
  handles: number[];
  /** Operators of the graph that it stands for, each once. */
  ops: string[];
  /** The nodes that it stands for; none without a record. */
  nodes: InspectorNode[];
  /** Values that were logged with it, of the first run. */
  values: LoggedValue[];
  /** Only wraps another event of the instruction (`OPERATOR_CALL`): tables leave it out. */
  isWrapper: boolean;
}

/** Runs that did the same. */
export interface EventBlock {
  /** "Default" for loading, "Execute" for running. */
  name: string;
  /** The method that the runs are of; null where it is not known. */
  method: string | null;
  /** The reason why it is that method. */
  choice: MethodChoice;
  /** The number of runs. */
  runs: number;
  /** Places of the runs in the dump. */
  runIndices: number[];
  /** The number of the test case that ran; -1: no test case. */
  bundledInputIndex: number;
  /** Time of the outermost events of the block, in each run. */
  total: PerfData | null;
  /** Its events, in the order of the first run. */
  events: InspectorEvent[];
  /** The values that the program returned. */
  outputs: LoggedValue[];
  /** Memory that the runtime has asked for, by allocator. */
  allocations: { allocator: string; count: number; bytes: number }[];
}

/**
 * Time by operator or by module, of one block. Times are averages over its runs. Modules share the
 * time of an event with several nodes by how many of these they have. Time of no module, or of no
 * known node, counts for the root (""), so that totals add up.
 */
export interface InspectorTotal {
  /** The place of the block among those of `events()`. */
  block: number;
  /** An operator ("aten.addmm.default"), or a module's path. */
  name: string;
  /** Modules: the class. */
  class: string;
  /** The number of events. */
  events: number;
  /** The time of all of them, in the target scale. */
  time: number;
  /** Its share of the time of all operators of the block. */
  share: number;
  /** Modules: without the modules inside of it. */
  self: number;
  /** The part of it that backends have spent. */
  delegated: number;
}

/** One event of one run, nested by instruction and by time. */
export interface TimelineSpan {
  /** The place of the run in the dump. */
  run: number;
  /** The place of its block among those of `events()`. */
  block: number;
  /** The place of its event in the block. */
  event: number;
  /** The name of the event. */
  name: string;
  /** Operators of the graph that it stands for. */
  ops: string[];
  /** The backend that it belongs to; null outside of delegates. */
  backend: string | null;
  /** In the target scale, from the first start in the dump. */
  start: number;
  /** Its length, in the target scale. */
  duration: number;
  /** 0 for the outermost. */
  depth: number;
}

/** The events of all runs on a line of time. */
export interface Timeline {
  /** The unit of all times in it. */
  scale: TimeScale;
  /** The events that have a place, run by run. */
  spans: TimelineSpan[];
  /** Events that have a length and no place: backends that only measure. */
  unplaced: number;
}

/** How much of a method is in delegates. */
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

/** The events of one of two dumps that belong to a row. */
export interface ComparedSide {
  /** The place of the block among those of that dump's `events()`. */
  block: number;
  /** Events of the block that belong here: several kernels on one side may be one delegate on the other. */
  events: number[];
  /** Names of those events. */
  names: string[];
  /** Time of all of them together, run by run. */
  perf: PerfData;
}

/** A row of two dumps side by side. */
export interface ComparedEvent {
  /** Null where it is not known. */
  method: string | null;
  /** The name of the event, or of the first of them. */
  name: string;
  /** The property by which the two were aligned. */
  by: "handles" | "name";
  /** Debug handles that the two sides share; none where they were aligned by name. */
  handles: number[];
  /** Operators of the graph that it stands for. */
  ops: string[];
  /** The user's own line, or empty. */
  source: string;
  /** The first dump; null where it has no such event. */
  a: ComparedSide | null;
  /** The second dump; null where it has no such event. */
  b: ComparedSide | null;
  /** The average of b minus that of a; null where one of them is missing or is 0. */
  difference: number | null;
  /** The average of b as a share of that of a; null as for `difference`. */
  ratio: number | null;
  /**
   * Half the width of the 95 % interval of the difference (Welch), of dumps with several runs; null
   * where one has a single one.
   */
  noise: number | null;
  /** Is the difference beyond the noise; null where that is unknown. */
  isSignificant: boolean | null;
}

/** Runs of a method in both dumps; of several kinds of runs those with the most. */
export interface ComparedMethod {
  /** Null where it is not known. */
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
  /** Warnings, which begin with the dump that they are about: "a: ...". They name methods that only one ran. */
  warnings: string[];
  /** All that both have run, one at least; or the one that was asked for. */
  methods: ComparedMethod[];
  /** The rows of all methods, by the size of the difference, largest first. */
  rows: ComparedEvent[];
}

/** A summary of the files that an inspector has opened. */
export interface InspectorReport {
  /** The unit of the dump's ticks. */
  sourceTimeScale: TimeScale;
  /** The unit of all times that the inspector gives. */
  targetTimeScale: TimeScale;
  /** Null without a dump. */
  etdump: {
    version: number;
    runs: number;
    blocks: number;
    events: number;
    /** Values that were logged. */
    values: number;
    /** Bytes of the debug buffer; null without one. */
    debugBufferBytes: number | null;
  } | null;
  /** Null without a record. */
  etrecord: {
    methods: string[];
    stages: RecordStage[];
    hasHandles: boolean;
    /** Cases of reference outputs by method. */
    referenceOutputs: Record<string, number>;
    representativeInputs: number | null;
    unknownEntries: string[];
    /** Damaged entries of the file, which the record goes without. */
    unreadEntries: UnreadEntry[];
  } | null;
  /** Things that could not be associated, and what to do about it. */
  warnings: string[];
}

/** A dump and a record, opened. */
export interface Inspector extends Resource {
  /** A summary of the files, with warnings about what does not fit together. */
  report(): InspectorReport;
  /** All events, runs that did the same put together as a block. */
  events(): EventBlock[];
  /** Totals by operator, of all blocks, longest first. */
  ops(): InspectorTotal[];
  /** Totals by module; each holds those inside of it. */
  modules(): InspectorTotal[];
  /** Every event of every run, in time. */
  timeline(): Timeline;
  /** The timeline for Perfetto and chrome://tracing, as the text of a JSON file. */
  trace(): string;
  /** How much of each method is in delegates. */
  delegation(): DelegationTotals[];
  /**
   * The memory plan of each method of the program. Two values that overlap while both are in use are
   * an error with the code "corrupt". A value that a move hands on is in use until the move only.
   */
  memory(): MemoryPlan[];
  /**
   * How far logged values are from those of the record's program, which runs for this on the inputs
   * of the record. Fails with the code "state" where the dump or the record lacks something.
   */
  numericGap(options?: GapOptions): GapReport;
  /** Compares this dump (a) with another one (b), which without a record of its own is one of this record. */
  compare(files: InspectorFiles, options?: InspectorOptions): DumpComparison;
  /** Nodes of a stage of the record. */
  nodes(stage: string, method?: string): StageNode[];
  /** The IR of a stage as text. */
  text(stage: string, method?: string): string;
  /** How one stage of the record became another. */
  diff(from: string, to: string, method?: string): StageDiff;
}
