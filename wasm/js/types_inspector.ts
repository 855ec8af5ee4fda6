// The public types of the inspector: what a run did (.etdp), what was lowered (.etrecord), and how the
// two belong together. All of it is plain data.
import type { CallOptions, Disposable, DType, Source } from "./types.js";
import type { MethodSummary, NodeRow } from "./types_report.js";

/** What an inspector looks at: a dump, a record, a program, or several of them. */
export interface InspectorFiles {
  /** What a runtime with event tracing has written: an .etdp. */
  readonly etdump?: Source;
  /** What the exporter has kept of the program's stages: an .etrecord. */
  readonly etrecord?: Source;
  /** The values that the dump's events point to. */
  readonly debugBuffer?: Source;
  /** The program itself, for its memory plan: a .pte or a .bpte. Its data files are not needed. */
  readonly program?: Source;
}

/** "cycles" only go with "cycles". */
export type TimeScale = "ns" | "us" | "ms" | "s" | "cycles";

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
   * What the metadata of a delegate's event says, as a plain object: `delegateMetadata` of the event.
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
  /** There is no record, or nothing tells: `InspectorReport.warnings` says what to do. */
  | "unknown";

/** A node of the graph that events are associated with. */
export interface InspectorNode {
  name: string;
  op: string;
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
  kind: "none" | "int" | "bool" | "double" | "tensor" | "string";
  dtype?: DType;
  shape?: number[];
  /** Of elements that are numbers; null where there is none, or the bytes are not at hand. */
  min: number | null;
  max: number | null;
  mean: number | null;
  nans: number;
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
  raw: number[];
  p10: number;
  p50: number;
  p90: number;
  avg: number;
  min: number;
  max: number;
}

/** Something that happens once in each run of a block. */
export interface InspectorEvent {
  name: string;
  /** The instruction's place in the file; the chain is -1 outside of instructions. */
  chain: number;
  instruction: number;
  /** Null where only values were logged. */
  perf: PerfData | null;
  /** Times that it happens in each run: more than once in loops, whose times are added up. */
  calls: number;
  /** Of the first run, in the target scale from the first start in the dump; null where it has none. */
  start: number | null;
  /** The event of the same block around it; null for the outermost ones. */
  parent: number | null;
  isDelegated: boolean;
  /** What the backend calls it. */
  delegateId: string | number | null;
  /** The backend, of delegates' events and calls. */
  backend: string | null;
  /** Bytes that the backend has added, as text where they are UTF-8 and else in hexadecimal digits. */
  metadata: string | null;
  /** `metadata` is what the backend has written, not its digits. */
  isMetadataText: boolean;
  /** What `delegateMetadata` of the inspector has made of it; null without one or without metadata. */
  delegateMetadata: Record<string, unknown> | null;
  handles: number[];
  /** Operators of the graph that it stands for, each once. */
  ops: string[];
  nodes: InspectorNode[];
  values: LoggedValue[];
  /** Only wraps another event of the instruction (`OPERATOR_CALL`): tables leave it out. */
  isWrapper: boolean;
}

/** Runs that did the same. */
export interface EventBlock {
  /** "Default" for loading, "Execute" for running. */
  name: string;
  method: string | null;
  choice: MethodChoice;
  runs: number;
  /** Places of the runs in the dump. */
  runIndices: number[];
  bundledInputIndex: number;
  /** Of what the block does at its outermost level, in each run. */
  total: PerfData | null;
  events: InspectorEvent[];
  /** What the program returned. */
  outputs: LoggedValue[];
  allocations: { allocator: string; count: number; bytes: number }[];
}

/**
 * Time by operator or by module, of one block. Times are averages over its runs. Modules share the
 * time of an event of several nodes by how many of these they have; what is in no module, or of no
 * node that is known, counts for the root (""), so that totals add up.
 */
export interface InspectorTotal {
  block: number;
  /** An operator ("aten.addmm.default"), or a module's path. */
  name: string;
  /** Modules: the class. */
  class: string;
  events: number;
  time: number;
  /** Of the time of all operators of the block. */
  share: number;
  /** Modules: without the modules inside of it. */
  self: number;
  /** The part of it that backends have spent. */
  delegated: number;
}

/** One event of one run, nested by instruction and by time. */
export interface TimelineSpan {
  run: number;
  block: number;
  event: number;
  name: string;
  ops: string[];
  backend: string | null;
  /** In the target scale, from the first start in the dump. */
  start: number;
  duration: number;
  /** 0 for the outermost. */
  depth: number;
}

export interface Timeline {
  scale: TimeScale;
  spans: TimelineSpan[];
  /** Events that have a length and no place: backends that only measure. */
  unplaced: number;
}

export interface DelegationTotals {
  method: string;
  delegatedSubgraphs: number;
  delegatedNodes: number;
  nonDelegatedNodes: number;
  /** By operator, sorted by name. */
  rows: { op: string; delegated: number; nonDelegated: number }[];
  delegates: { instruction: number; backend: string; handles: number[]; nodes: string[] }[];
}

/** How far a value is from its reference. `snr` is in decibels, infinite where they are equal. */
export interface Gap {
  snr: number;
  mse: number;
  l1: number;
  cosine: number;
  max: number;
}
export type GapMetric = keyof Gap;

/** A result of a row beside its reference. */
export interface GapOutput {
  reference: LoggedValue;
  found: LoggedValue;
  gap: Gap;
  /** By `distance` of the options; null where `preprocess` has left it out. Only with that option. */
  distance?: number | null;
}

export interface GapRow {
  method: string;
  block: number;
  event: number;
  aotHandles: number[];
  aotOps: string[];
  runtimeHandles: number[];
  runtimeOps: string[];
  nodes: InspectorNode[];
  /** One of each output that could be compared. */
  outputs: GapOutput[];
}

/** A method that a report of gaps is of. */
export interface GapMethod {
  method: string;
  /** What the reference ran on: the record's representative inputs, or else the method's examples. */
  inputs: "representative" | "example";
  /** What its outputs were compared with. */
  outputsFrom: "recorded" | "computed" | "none";
}

export interface GapReport {
  /** The stage whose values are the reference. */
  reference: string;
  /** One at least; several where none was named and the dump has values of several. */
  methods: GapMethod[];
  rows: GapRow[];
  /** Of the program's outputs: against the record's reference outputs, or else the stage's own. */
  outputs: {
    method: string;
    block: number;
    output: number;
    reference: LoggedValue;
    found: LoggedValue;
    gap: Gap | null;
  }[];
  /** What was logged and is not compared, and why. */
  skipped: { method: string; block: number; event: number; name: string; reason: string }[];
}

/** The elements of a result and of its reference. */
export interface GapPair {
  /** Places in the report: of the row, and of the output in it. */
  readonly row: number;
  readonly output: number;
  readonly method: string;
  readonly aotHandles: readonly number[];
  readonly runtimeHandles: readonly number[];
  /** Of what was logged; null and none for single numbers. */
  readonly dtype: DType | null;
  readonly shape: readonly number[];
  /** Row-major, of any dtype as doubles. */
  readonly reference: Float64Array;
  readonly found: Float64Array;
}

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
   * What `distance` gets instead of the values as they were logged, of which `gap` always is: pairs
   * with other elements, or fewer pairs. Each that is returned is one of those given, or a copy of it
   * with other elements.
   */
  preprocess?: (pairs: GapPair[]) => GapPair[];
}

/** What one of two dumps did of a row. */
export interface ComparedSide {
  block: number;
  /** Events of the block that belong here: several kernels on one side may be one delegate on the other. */
  events: number[];
  names: string[];
  /** Of all of them together, run by run. */
  perf: PerfData;
}

/** A row of two dumps side by side. */
export interface ComparedEvent {
  /** Null where it is not known. */
  method: string | null;
  name: string;
  /** What the two were aligned by. */
  by: "handles" | "name";
  handles: number[];
  ops: string[];
  source: string;
  a: ComparedSide | null;
  b: ComparedSide | null;
  /** Of averages, b - a, and b / a; null where one of them is missing or is 0. */
  difference: number | null;
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
  runsA: number;
  runsB: number;
  total: ComparedEvent;
}

export interface DumpComparison {
  scale: TimeScale;
  /** Of either dump, which they begin with: "a: ..."; also which methods only one of them ran. */
  warnings: string[];
  /** All that both have run, one at least; or the one that was asked for. */
  methods: ComparedMethod[];
  /** Of all methods, by the size of the difference, largest first. */
  rows: ComparedEvent[];
}

/** A graph that a record holds: a stage of a method. */
export interface RecordStage {
  /** "exported_program", "edge_dialect_exported_program", or the name of an extra one. */
  stage: string;
  method: string;
  nodes: number;
  inputs: MethodSummary["inputs"];
  outputs: MethodSummary["outputs"];
  /** Calls per operator. */
  ops: Record<string, number>;
  hasWeights: boolean;
}

export interface StageNode extends NodeRow {
  stackTrace: string;
}

/** A line of what has become of a graph: nodes that correspond stand side by side. */
export interface StageDiffRow {
  kind: "same" | "changed" | "removed" | "added";
  /** In the first stage; null for what was added. */
  a: StageNode | null;
  b: StageNode | null;
}

export interface StageDiff {
  method: string;
  from: string;
  to: string;
  same: number;
  changed: number;
  removed: number;
  added: number;
  rows: StageDiffRow[];
}

/** What an instruction of a program computes. */
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
   * Who writes it: an instruction ("value"; without a `writer` it holds nothing in particular), the caller ("input"), an earlier run or the file
   * ("state"), or nobody: a "view" shows bytes of another value, and what is "unused" is named by no
   * instruction.
   */
  kind: "value" | "input" | "state" | "view" | "unused";
  isOutput: boolean;
  /** The memory id. */
  memory: number;
  offset: number;
  bytes: number;
  dtype: DType;
  /** Upper bounds where it is dynamic. */
  shape: number[];
  isDynamic: boolean;
  /** The first and the last instruction that name it; null where none does. */
  first: number | null;
  last: number | null;
  /**
   * From when to when what it holds matters, views and loops around it included: until then nobody
   * else may be there. Null for what is unused.
   */
  from: number | null;
  until: number | null;
  /** The first instruction that writes it. */
  writer: number | null;
  /** Of a view: the value that it shows. */
  base: number | null;
}

/** Where the values of a method lie, and when. Instructions count through all of its chains. */
export interface MemoryPlan {
  method: string;
  memories: { id: number; bytes: number }[];
  /** The first of the instructions with the most bytes in use; null where nothing is planned. */
  peak: ({ instruction: number; bytes: number } & PlannedWork) | null;
  /** Bytes in use by instruction, each byte once: views add none. */
  live: number[];
  /** In the order of the file. */
  values: PlannedValue[];
}

export interface InspectorReport {
  sourceTimeScale: TimeScale;
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
  /** What could not be associated, and what to do about it. */
  warnings: string[];
}

/** A dump and a record, opened. */
export interface Inspector extends Disposable {
  report(): InspectorReport;
  events(): EventBlock[];
  /** Totals by operator, of all blocks, longest first. */
  ops(): InspectorTotal[];
  /** Totals by module; each holds those inside of it. */
  modules(): InspectorTotal[];
  timeline(): Timeline;
  /** The timeline for Perfetto and chrome://tracing, as the text of a JSON file. */
  trace(): string;
  delegation(): DelegationTotals[];
  /**
   * The memory plan of each method of the program. Two values that overlap while both are in use are
   * an error with the code "corrupt". What a move has handed on counts until the move only.
   */
  memory(): MemoryPlan[];
  numericGap(options?: GapOptions): GapReport;
  /** This dump (a) beside another one (b), which without a record of its own is one of this record. */
  compare(files: InspectorFiles, options?: InspectorOptions): DumpComparison;
  /** Nodes of a stage of the record. */
  nodes(stage: string, method?: string): StageNode[];
  /** The IR of a stage as text. */
  text(stage: string, method?: string): string;
  diff(from: string, to: string, method?: string): StageDiff;
}
