// The public types of inspection results, for compilations and programs.
import type { Dialect } from "../border/steps.gen.js";
import type { Diagnostic } from "./error.js";
import type { DType } from "./tensor.js";

/** How long a pass took. */
export interface PassTiming {
  /** The name of the pass. */
  pass: string;
  /** The method that it worked on. */
  method: string;
  /** Its time, in milliseconds. */
  ms: number;
  /** Nodes of the method after the pass. */
  nodes: number;
}

/** A value of a graph. */
export interface TensorInfo {
  /** Its name in the graph. */
  name: string;
  /** The kind of the value. A "constant" is an output that is not the result of a node. */
  kind: "tensor" | "int" | "float" | "bool" | "none" | "opaque" | "constant";
  /** The element type of a tensor. */
  dtype?: DType;
  /** Sizes. A symbolic size is text ("s0 + 1"). */
  shape?: (number | string)[];
}

/**
 * The role of an input of a graph, by the names of `torch.export`. Callers pass only "user_input".
 */
export type InputRole =
  | "user_input"
  | "parameter"
  | "buffer"
  | "constant_tensor"
  | "custom_obj"
  | "token"
  | "constant_input";

/**
 * The role of an output of a graph, by the names of `torch.export`. Callers get only "user_output".
 */
export type OutputRole =
  | "user_output"
  | "buffer_mutation"
  | "parameter_mutation"
  | "user_input_mutation"
  | "loss"
  | "gradient"
  | "input_gradient"
  | "token"
  | "trained";

/** A size, or a part of one, that is known only when the method runs. */
export interface SymbolInfo {
  /** "s77", as in the text of the program. */
  name: string;
  /** Its smallest value. Null if the file has none. */
  min: number | null;
  /**
   * Its largest value. Null if the file has none; sizes made of it then need one (`dynamicShapes`).
   */
  max: number | null;
  /** Its value in the exported example, if the file has it. */
  example: number | null;
  /**
   * The first dimension of an input that is exactly this symbol, by its name in `dynamicShapes`.
   * "tokens.1" is dimension 1 of the input tokens. Null if there is no such dimension.
   */
  size: string | null;
  /**
   * The first dimension of an input or a result that is computed from it, as a place to find it.
   * Null if there is no such dimension, and no maximum is needed.
   */
  place: string | null;
}

/** A method of a program of a compilation. */
export interface MethodSummary {
  /** Its name. */
  name: string;
  /** Its inputs with their roles; `target` is the name of a weight or buffer in the model. */
  inputs: (TensorInfo & { role: InputRole; target: string })[];
  /** Its outputs with their roles; `target` is the name of the buffer or input that is written. */
  outputs: (TensorInfo & { role: OutputRole; target: string })[];
  /** Calls per operator. */
  ops: Record<string, number>;
  /** The number of nodes. */
  nodes: number;
  /** Its dynamic sizes. */
  symbols: SymbolInfo[];
}

/** A value in planned memory. */
export interface PlanItem {
  /** Its name in the graph. */
  value: string;
  /** Its size in bytes. */
  bytes: number;
  /** Its first byte in the memory. */
  offset: number;
  /** The first moment of the method's schedule at which it is needed. */
  first: number;
  /** The last moment at which it is needed. */
  last: number;
  /** The number of its memory. */
  memoryId: number;
}

/** The memory plan of a method. */
export interface MethodPlan {
  /** The number of its executorch program. */
  program: number;
  /** The method. */
  method: string;
  /** The algorithm that was requested, or whose plan is the smallest. */
  algorithm: "greedy" | "by_size" | "by_start" | "by_lifetime" | "naive" | "none";
  /** Bytes that the method needs. */
  plannedBytes: number;
  /** The most bytes in use at once. No plan can be smaller. */
  liveBytes: number;
  /** Bytes without any reuse. */
  naiveBytes: number;
  /** The number of moments in the schedule. */
  moments: number;
  /** The values, each with its place and its moments. */
  items: PlanItem[];
}

/** A program that the compilation has made. */
export interface StageSummary {
  /** The number of the program, for `text` and `nodes`. */
  program: number;
  /** The form that the program is in. */
  stage: Dialect;
  /** The time that the stage took, in milliseconds. */
  ms: number;
  /** The part of `ms` that wrote the program; 0 for all but "executorch". */
  emitMs: number;
  /** The passes that ran, in order. */
  timings: PassTiming[];
  /** The methods of the program. */
  methods: MethodSummary[];
  /** The number of the program that it was made from; its own for an opened one. */
  from: number;
  /** Warnings of the step that made it. */
  diagnostics: Diagnostic[];
}

/** A file that the compilation has made. */
export interface OutputSummary {
  /** The number of its executorch program. */
  program: number;
  /** The name of a .ptd file; the program itself is "program.pte". */
  name: string;
  /** Its size in bytes. */
  bytes: number;
}

/** All facts about a compilation: programs, times, memory plans, files, warnings. */
export interface CompilationReport {
  /**
   * The programs in order, from the opened one to the manager's own. Programs of other managers are
   * not among them, except in the report of opened programs, which has all.
   */
  stages: StageSummary[];
  /** The bytes of parameters, buffers and lifted constants in the source. */
  constantBytes: number;
  /** Memory plans of the executorch programs. */
  plans: MethodPlan[];
  /** The files of the executorch programs. */
  outputs: OutputSummary[];
  /** Warnings of the steps that succeeded. */
  diagnostics: Diagnostic[];
  /** Bytes of memory that the compiler has taken. */
  heapBytes: number;
}

/** A node of a graph. */
export interface NodeRow {
  /** Its name in the graph. */
  name: string;
  /** Its operator: "aten::addmm". */
  op: string;
  /** Names of the values that it reads. */
  inputs: string[];
  /** The values that it computes. */
  outputs: TensorInfo[];
  /**
   * The last line of the user's own code behind it: "model.py:12 in forward: return self.fc(x)".
   */
  source: string;
  /**
   * The modules around it that the export recorded, outermost first: "KEY,PATH,CLASS", with
   * semicolons between them.
   */
  module: string;
  /**
   * The number by which records and dumps refer to it. Nodes that were made of one exported node
   * share it. It is 0 before the edge program numbers its nodes.
   */
  debugHandle: number;
}

/** A method of a .pte. */
export interface ProgramMethodInfo {
  /** Its name. */
  name: string;
  /** The flattened inputs, in the order in which `run` takes them. */
  inputs: ProgramValueInfo[];
  /** The flattened outputs, in the order in which `run` gives them. */
  outputs: ProgramValueInfo[];
  /** Planned memory per memory id. */
  plannedBytes: number[];
  /** The number of instructions. */
  instructions: number;
  /** Calls per operator. */
  ops: Record<string, number>;
  /** The backends that it uses. */
  delegates: string[];
  /** The parts of backends. `isKnown` is true if this engine has the backend. */
  parts: { backend: string; bytes: number; isKnown: boolean }[];
  /**
   * Weights outside the file, with the index in `dataFiles` where each was found. Null if no file
   * has it. Weights of parts are listed if the backend can tell without starting.
   */
  externalData: { key: string; dataFile: number | null }[];
}

/** An input or an output of a method of a .pte. */
export interface ProgramValueInfo {
  /**
   * Its name. No other input (or output) of the method has it. The name is the path to the value in
   * the arguments, or in Python's result: names, keys and indices, joined by dots, such as "mask",
   * "cache.0.key" or "1.logits". If the path has no name or key, or is longer than 256 characters,
   * the name is "input_0" or "output_0" with the index of the value. The official exporter writes
   * only keys and names of keyword arguments. An input that the method writes has its own name as
   * an output.
   */
  name: string;
  /** The kind of value; a number is an "int" or a "double". */
  kind: "tensor" | "int" | "double" | "bool" | "string" | "none" | "list";
  /** The element type of a tensor. */
  dtype?: DType;
  /** Sizes, with upper bounds for dynamic dimensions. */
  shape?: number[];
  /** The physical order of its dimensions, outermost first. */
  dimOrder?: number[];
  /** True if a call may have smaller sizes than `shape`. */
  dynamic?: boolean;
  /** Bytes of a tensor of that shape. */
  bytes?: number;
  /** For a scalar, the value that the export fixed. Inputs must repeat it. */
  value?: number | boolean | string | null;
  /**
   * For an output, the index of the input whose new value it is. A method that writes inputs
   * returns those first, as with the official exporter.
   */
  ofInput?: number;
}

/** The contents of a .pte, with its sizes in bytes. */
export interface ProgramReport {
  /** The methods, the constant ones included. */
  methods: ProgramMethodInfo[];
  /** The size of the flatbuffer with its header: methods, instructions, shapes. */
  programBytes: number;
  /** The size of the segment of weights. */
  constantBytes: number;
  /** The size of the segment of initial states. */
  mutableBytes: number;
  /** The size of the segments that backends made ahead of time. */
  delegateBytes: number;
  /** The size of the segments of named data, which backends look up. */
  namedBytes: number;
  /** The named data. */
  named: { key: string; bytes: number }[];
  /** The size of segments that the program does not name. */
  otherBytes: number;
  /** The size of the whole file. It includes alignment, which no number above counts. */
  fileBytes: number;
  /** Bytes of memory that the module has taken for all of its objects. */
  heapBytes: number;
}
