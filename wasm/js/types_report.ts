// The public types of what inspection tells, of compilations and of programs.
import type { Dialect } from "./steps.gen.js";
import type { Diagnostic, DType } from "./types.js";

export interface PassTiming {
  pass: string;
  method: string;
  ms: number;
  /** Nodes of the method after the pass. */
  nodes: number;
}

export interface TensorInfo {
  name: string;
  /** "constant": an output that is not the result of a node. */
  kind: "tensor" | "int" | "float" | "bool" | "none" | "opaque" | "constant";
  dtype?: DType;
  /** Sizes; symbolic ones as text ("s0 + 1"). */
  shape?: (number | string)[];
}

export type InputRole =
  | "user_input"
  | "parameter"
  | "buffer"
  | "constant_tensor"
  | "custom_obj"
  | "token"
  | "constant_input";

export type OutputRole =
  | "user_output"
  | "buffer_mutation"
  | "parameter_mutation"
  | "user_input_mutation"
  | "loss"
  | "gradient"
  | "token";

/** A size, or a part of one, that is known only when the method runs. */
export interface SymbolInfo {
  name: string;
  min: number | null;
  /** Null where the file has none: sizes made of it need one (`dynamicShapes`). */
  max: number | null;
  /** Its value in the example that was exported, where the file has it. */
  example: number | null;
  /**
   * The first dimension of an input that is exactly it, by the name that `dynamicShapes` takes:
   * "tokens.1" is dimension 1 of the input tokens. Null where there is none.
   */
  size: string | null;
  /**
   * The first dimension of an input or a result that is made of it, to find it by. Null where there
   * is none, and no maximum is needed.
   */
  place: string | null;
}

export interface MethodSummary {
  name: string;
  inputs: (TensorInfo & { role: InputRole; target: string })[];
  outputs: (TensorInfo & { role: OutputRole; target: string })[];
  /** Calls per operator. */
  ops: Record<string, number>;
  nodes: number;
  symbols: SymbolInfo[];
}

export interface PlanItem {
  value: string;
  bytes: number;
  offset: number;
  /** Moments of the method's schedule, inclusive. */
  first: number;
  last: number;
  memoryId: number;
}

export interface MethodPlan {
  /** Number of the executorch program it belongs to. */
  program: number;
  method: string;
  algorithm: "greedy" | "by_size" | "by_start" | "by_lifetime" | "naive" | "none";
  plannedBytes: number;
  /** Most bytes alive at once: no plan can be smaller. */
  liveBytes: number;
  /** Without any reuse. */
  naiveBytes: number;
  moments: number;
  items: PlanItem[];
}

export interface StageSummary {
  /** Number of the program, for `text` and `nodes`. */
  program: number;
  stage: Dialect;
  ms: number;
  /** The part of `ms` that wrote the program; 0 for all but "executorch". */
  emitMs: number;
  timings: PassTiming[];
  methods: MethodSummary[];
}

export interface OutputSummary {
  /** Number of the executorch program it belongs to. */
  program: number;
  name: string;
  bytes: number;
}

export interface CompilationReport {
  stages: StageSummary[];
  /** Parameters, buffers and lifted constants: how many bytes the source holds. */
  constantBytes: number;
  plans: MethodPlan[];
  outputs: OutputSummary[];
  /** Warnings of the steps that succeeded. */
  diagnostics: Diagnostic[];
  /** Bytes of memory the compiler has taken. */
  heapBytes: number;
}

export interface NodeRow {
  name: string;
  op: string;
  inputs: string[];
  outputs: TensorInfo[];
  /** The last line of the user's own code that led here: "model.py:12 in forward: return self.fc(x)". */
  source: string;
  module: string;
  /**
   * What records and dumps know the node by: nodes made of one node of the exported program share it.
   * 0 until the edge program numbers its nodes.
   */
  debugHandle: number;
}

export interface ProgramMethodInfo {
  name: string;
  inputs: ProgramValueInfo[];
  outputs: ProgramValueInfo[];
  /** Planned memory per memory id. */
  plannedBytes: number[];
  instructions: number;
  ops: Record<string, number>;
  /** The backends that it names. */
  delegates: string[];
  /** What each backend made of a part; `isKnown`: does this engine have it. */
  parts: { backend: string; bytes: number; isKnown: boolean }[];
  /**
   * Weights outside the file, with the index in `dataFiles` where each was found; null: in none.
   * Those of parts are among them when the backend can tell without starting.
   */
  externalData: { key: string; dataFile: number | null }[];
}

/** An input or an output of a method of a .pte. */
export interface ProgramValueInfo {
  /**
   * Its name, which no other input (or output) of the method has. It is the way to the value through
   * the arguments (or through what Python returns): names, keys and positions, joined by dots, such
   * as "mask", "cache.0.key" or "1.logits". A way without a name or a key is "input_0" or
   * "output_0", with the index of the value; so is one that is longer than 256 characters. The
   * official exporter writes keys and names of keyword arguments, but no names of others. An input
   * that the method writes comes back under its own name.
   */
  name: string;
  kind: "tensor" | "int" | "double" | "bool" | "string" | "none" | "list";
  dtype?: DType;
  /** Upper bounds for dynamic dimensions. */
  shape?: number[];
  dimOrder?: number[];
  dynamic?: boolean;
  bytes?: number;
  /** Scalars: the value frozen at export, which inputs must repeat. */
  value?: number | boolean | string | null;
  /**
   * Outputs: the index of the input whose value after the call this is. A method that writes to its
   * inputs gives those back first, as the official exporter has it.
   */
  ofInput?: number;
}

export interface ProgramReport {
  methods: ProgramMethodInfo[];
  /** The flatbuffer with its header: methods, instructions, shapes. */
  programBytes: number;
  /** The segment of weights. */
  constantBytes: number;
  /** The segment of initial states. */
  mutableBytes: number;
  /** Segments that backends made ahead of time. */
  delegateBytes: number;
  /** Segments of data with a name, which backends look for. */
  namedBytes: number;
  /** That data, by its names. */
  named: { key: string; bytes: number }[];
  /** Segments that nothing in the program names. */
  otherBytes: number;
  /** The whole file; what those above leave over is alignment. */
  fileBytes: number;
  heapBytes: number;
}
