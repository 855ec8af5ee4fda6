// The public types of the inspector: what a run did (.etdp), what was lowered (.etrecord), and how the
// two belong together. All of it is plain data.
import type { CallOptions, Disposable, DType, Source } from "./types.js";
import type { MethodSummary, NodeRow } from "./types_report.js";

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
   * A moment in the target scale, of ticks that a delegate has told with its event `name`, for backends
   * whose clock is another one. Called for the start and the end of each of their events; what comes
   * out less than the start, or is no number, leaves the event without a time. By default these ticks
   * are like all others. Functions do not reach a worker: of the engine's inspector only.
   */
  delegateTime?: (name: string, ticks: number) => number;
  /**
   * Reads the metadata of a delegate's event as a plain object: `delegateMetadata` of the event.
   * Functions do not reach a worker: of the engine's inspector only.
   */
  delegateMetadata?: (metadata: Uint8Array, name: string) => Record<string, unknown>;
}

/** Why a block is of the method that it is said to be of. */
export type MethodChoice =
  /** The caller has said so. */
  | "asked"
  /** The record has no other one. */
  | "only"
  /** No other one of the record has these instructions. */
  | "matched"
  /** There is no record, or nothing tells: `InspectorReport.warnings` says what to do. */
  | "unknown";

/** A node of the graph that events are associated with. */
export interface InspectorNode {
  /** Its name in the graph. */
  name: string;
  /** Its operator. */
  op: string;
  /** The debug handle, by which events refer to it. */
  handle: number;
  /** The user's own line: "model.py:12 in forward: return self.fc(x)"; empty where it is unknown. */
  source: string;
  /** The whole traceback, as it was recorded at export. */
  stackTrace: string;
  /** The modules that it is in, outermost first. */
  modules: { path: string; class: string }[];
}

/** A value that was logged, or one to compare it with. */
export interface LoggedValue {
  /** The kind of the value; only a "tensor" has a dtype and a shape. */
  kind: "none" | "int" | "bool" | "double" | "tensor" | "string";
  /** The element type of a tensor. */
  dtype?: DType;
  /** The sizes of a tensor, outermost first. */
  shape?: number[];
  /** The smallest element that is a number; null where there is none, or the bytes are not at hand. */
  min: number | null;
  /** The largest element, as for `min`. */
  max: number | null;
  /** The mean of the elements, as for `min`. */
  mean: number | null;
  /** The number of elements that are NaN. */
  nans: number;
  /** The number of elements that are infinite. */
  infinities: number;
  /** The bytes are at hand. */
  hasData: boolean;
  /** The first elements in row-major order, 16 at most. */
  first: number[];
  /** All of them, of gaps that were asked for with `values`; empty where they are not at hand. */
  data?: Float64Array;
}

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
  /** Its start in the first run, in the target scale from the first start in the dump; null: none. */
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
  /** The number of the test case that ran; -1: none. */
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
 * time of an event of several nodes by how many of these they have; what is in no module, or of no
 * node that is known, counts for the root (""), so that totals add up.
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

/** A result of a row beside its reference. */
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
  /** Is the difference beyond the noise; null where that cannot be told. */
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

/** A graph that a record holds: a stage of a method. */
export interface RecordStage {
  /** "exported_program", "edge_dialect_exported_program", or the name of an extra one. */
  stage: string;
  /** The method. */
  method: string;
  /** The number of nodes. */
  nodes: number;
  /** The inputs of the graph: those of the user, weights and state. */
  inputs: MethodSummary["inputs"];
  /** The outputs of the graph. */
  outputs: MethodSummary["outputs"];
  /** Calls per operator. */
  ops: Record<string, number>;
  /** Whether the record has the values of the weights. */
  hasWeights: boolean;
}

/** A node of a stage, with where it comes from. */
export interface StageNode extends NodeRow {
  /** The whole Python traceback, as it was recorded at export; empty where there is none. */
  stackTrace: string;
}

/** A line of what has become of a graph: nodes that correspond stand side by side. */
export interface StageDiffRow {
  /** Whether the node is the same in both, differs, or is in one of them only. */
  kind: "same" | "changed" | "removed" | "added";
  /** In the first stage; null for what was added. */
  a: StageNode | null;
  /** The node in the second stage; null for one that was removed. */
  b: StageNode | null;
}

/** Two stages of a method side by side. */
export interface StageDiff {
  /** The method. */
  method: string;
  /** The first stage. */
  from: string;
  /** The second stage. */
  to: string;
  /** The number of nodes that are the same. */
  same: number;
  /** The number of nodes that differ. */
  changed: number;
  /** The number of nodes that only the first stage has. */
  removed: number;
  /** The number of nodes that only the second stage has. */
  added: number;
  /** All nodes of both, in order. */
  rows: StageDiffRow[];
}

/** The work of an instruction of a program. */
export interface PlannedWork {
  /** As the file spells it ("aten::add.out"), of delegates the backend; empty for moves and jumps. */
  op: string;
  /** Names in the record's edge program, by debug handle; none without a record. */
  nodes: string[];
  /** The user's own line, or empty. */
  source: string;
}

/** A tensor in planned memory, and what its first writer computes. */
export interface PlannedValue extends PlannedWork {
  /** Its number in the file. */
  value: number;
  /**
   * The writer: an instruction ("value"; without a `writer` it holds nothing in particular), the
   * caller ("input"), an earlier run or the file ("state"), or nobody. A "view" shows bytes of another
   * value, and no instruction names a value that is "unused".
   */
  kind: "value" | "input" | "state" | "view" | "unused";
  /** Whether the method returns it. */
  isOutput: boolean;
  /** The memory id. */
  memory: number;
  /** Its first byte in the memory. */
  offset: number;
  /** Its size in bytes. */
  bytes: number;
  /** Its element type. */
  dtype: DType;
  /** Upper bounds where it is dynamic. */
  shape: number[];
  /** Whether its shape is known only when the method runs. */
  isDynamic: boolean;
  /** The first and the last instruction that name it; null where none does. */
  first: number | null;
  /** The last instruction that names it, as for `first`. */
  last: number | null;
  /**
   * From when to when what it holds matters, views and loops around it included: until then nobody
   * else may be there. Null for what is unused.
   */
  from: number | null;
  /** The instruction until which it matters, as for `from`. */
  until: number | null;
  /** The first instruction that writes it. */
  writer: number | null;
  /** The value that a view shows. */
  base: number | null;
}

/** The places of a method's values, and their times. Instructions count through all of its chains. */
export interface MemoryPlan {
  /** The method. */
  method: string;
  /** The memories that the method asks for, with their sizes in bytes. */
  memories: { id: number; bytes: number }[];
  /** The first of the instructions with the most bytes in use; null where nothing is planned. */
  peak: ({ instruction: number; bytes: number } & PlannedWork) | null;
  /** Bytes in use by instruction, each byte once: views add none. */
  live: number[];
  /** In the order of the file. */
  values: PlannedValue[];
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
  } | null;
  /** Things that could not be associated, and what to do about it. */
  warnings: string[];
}

/** A dump and a record, opened. */
export interface Inspector extends Disposable {
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
   * an error with the code "corrupt". What a move has handed on counts until the move only.
   */
  memory(): MemoryPlan[];
  /**
   * How far logged values are from those of the record's program, which runs for this on the inputs
   * of the record. Fails with the code "state" where the dump or the record lacks something.
   */
  numericGap(options?: GapOptions): GapReport;
  /** This dump (a) beside another one (b), which without a record of its own is one of this record. */
  compare(files: InspectorFiles, options?: InspectorOptions): DumpComparison;
  /** Nodes of a stage of the record. */
  nodes(stage: string, method?: string): StageNode[];
  /** The IR of a stage as text. */
  text(stage: string, method?: string): string;
  /** How one stage of the record became another. */
  diff(from: string, to: string, method?: string): StageDiff;
}
