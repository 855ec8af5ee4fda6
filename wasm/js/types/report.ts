// The public types of what inspection tells, of compilations and of programs.
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
  /** "constant": an output that is not the result of a node. */
  kind: "tensor" | "int" | "float" | "bool" | "none" | "opaque" | "constant";
  /** The element type of a tensor. */
  dtype?: DType;
  /** Sizes; symbolic ones as text ("s0 + 1"). */
  shape?: (number | string)[];
}

/**
 * The purpose of an input of a graph, by the names of `torch.export`. Callers pass "user_input"
 * only.
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
 * The purpose of an output of a graph, by the names of `torch.export`. Callers get "user_output"
 * only.
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
  /** Its smallest value; null where the file has none. */
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
  /** Moments of the method's schedule, inclusive. */
  first: number;
  /** The last moment at which it is needed. */
  last: number;
  /** The number of the memory that it lies in. */
  memoryId: number;
}

/** The memory plan of a method. */
export interface MethodPlan {
  /** Number of the executorch program it belongs to. */
  program: number;
  /** The method. */
  method: string;
  /** The algorithm whose plan was the smallest, or that was asked for. */
  algorithm: "greedy" | "by_size" | "by_start" | "by_lifetime" | "naive" | "none";
  /** Bytes that the method asks for. */
  plannedBytes: number;
  /** Most bytes alive at once: no plan can be smaller. */
  liveBytes: number;
  /** Without any reuse. */
  naiveBytes: number;
  /** The number of moments in the schedule. */
  moments: number;
  /** The values, each with its place and its time. */
  items: PlanItem[];
}

/** A program that the compilation has made. */
export interface StageSummary {
  /** Number of the program, for `text` and `nodes`. */
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
}

/** A file that the compilation has made. */
export interface OutputSummary {
  /** Number of the executorch program it belongs to. */
  program: number;
  /** The name of a .ptd file; the program itself is "program.pte". */
  name: string;
  /** Its size in bytes. */
  bytes: number;
}

/** Everything that a compilation knows: programs, times, memory plans, files, warnings. */
export interface CompilationReport {
  /** The programs, in the order in which they were made. The first is the one that was opened. */
  stages: StageSummary[];
  /** Parameters, buffers and lifted constants: how many bytes the source holds. */
  constantBytes: number;
  /** Memory plans of the executorch programs. */
  plans: MethodPlan[];
  /** The files of the executorch programs. */
  outputs: OutputSummary[];
  /** Warnings of the steps that succeeded. */
  diagnostics: Diagnostic[];
  /** Bytes of memory the compiler has taken. */
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
  /** The values that it makes. */
  outputs: TensorInfo[];
  /** The last line of the user's own code that led here: "model.py:12 in forward: return self.fc(x)". */
  source: string;
  /**
   * The modules around it, outermost first, as they were recorded at export: "KEY,PATH,CLASS", with
   * semicolons between them.
   */
  module: string;
  /**
   * The number by which records and dumps refer to it. Nodes made of one exported node share it.
   * 0 until the edge program numbers its nodes.
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
  /** The backends that it names. */
  delegates: string[];
  /** The parts that backends have made; `isKnown` says whether this engine has the backend. */
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
  /** The kind of value; a number is an "int" or a "double". */
  kind: "tensor" | "int" | "double" | "bool" | "string" | "none" | "list";
  /** The element type of a tensor. */
  dtype?: DType;
  /** Upper bounds for dynamic dimensions. */
  shape?: number[];
  /** The physical order of its dimensions, outermost first. */
  dimOrder?: number[];
  /** Whether a call may have smaller sizes than `shape`. */
  dynamic?: boolean;
  /** Bytes of a tensor of that shape. */
  bytes?: number;
  /** Scalars: the value frozen at export, which inputs must repeat. */
  value?: number | boolean | string | null;
  /**
   * Outputs: the index of the input whose value after the call this is. A method that writes to its
   * inputs gives those back first, as the official exporter has it.
   */
  ofInput?: number;
}

/** The contents of a .pte, with its sizes in bytes. */
export interface ProgramReport {
  /** The methods, the constant ones included. */
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
  /** Segments that the program does not name. */
  otherBytes: number;
  /** The whole file; what those above leave over is alignment. */
  fileBytes: number;
  /** Bytes of memory that the module has taken, for everything in it. */
  heapBytes: number;
}
