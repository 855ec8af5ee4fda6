// The public types. Names follow ExecuTorch's export API (toEdge, toExecutorch, method, buffer), so
// that what people know carries over. Two implementations share them: the engine, synchronous and
// on the caller's thread, and the client, the same calls answered by a worker as promises.

import type { StatusCode } from "./abi.gen.js";
import type { BackendConfig, CompileConfig, ExecutorchConfig, LoadConfig } from "./options.gen.js";
import type { LocalMember } from "./protocol.js";
import type { Dialect, Phase } from "./steps.gen.js";

/** Element types, by PyTorch's names. */
export type DType =
  | "uint8"
  | "int8"
  | "int16"
  | "int32"
  | "int64"
  | "float16"
  | "float32"
  | "float64"
  | "bool"
  | "bfloat16"
  | "uint16"
  | "uint32"
  | "uint64"
  | "complex32"
  | "complex64"
  | "complex128"
  | "float8_e5m2"
  | "float8_e4m3fn"
  | "float8_e5m2fnuz"
  | "float8_e4m3fnuz";

/** Element storage. bool is Uint8Array of 0 and 1; float16 and bfloat16 are their bits in a Uint16Array; complex and float8 are raw bytes. */
export type TensorData =
  | Uint8Array
  | Int8Array
  | Int16Array
  | Int32Array
  | BigInt64Array
  | Uint16Array
  | Uint32Array
  | BigUint64Array
  | Float32Array
  | Float64Array;

/** A dense tensor: logical values in row-major order, whatever layout the program declares. */
export interface Tensor {
  readonly dtype: DType;
  /** Sizes, outermost first; empty for a scalar. */
  readonly shape: readonly number[];
  readonly data: TensorData;
  /** Outputs only: the physical order of dimensions that the program declares, outermost first. */
  readonly dimOrder?: readonly number[];
}

/** Elements row by row, to any depth. */
export type NestedList = readonly (number | bigint | boolean | NestedList)[];

/** What goes into and comes out of a method. Integers come out as bigint when a number cannot hold them exactly. */
export type Value = Tensor | number | bigint | boolean | string | null;

/**
 * Bytes that can be read at any offset. Implement it to serve a file from anywhere; `read` is called
 * synchronously and must return exactly `length` bytes. A call on the object that is reading fails with
 * the code "busy".
 */
export interface RandomAccess {
  readonly size: number;
  read(offset: number, length: number): Uint8Array;
  /** The bytes as a Blob part without reading them, where the platform can (a File slice). */
  slice?(offset: number, length: number): Blob;
  close?(): void;
}

/** A file of Node, Deno or Bun, read by descriptor in the ranges that are needed. */
export interface FileRef {
  readonly path: string;
}

/** A .pt2 whose zip entries were compressed, with what they inflate to; see `inflate`. */
export interface InflatedArchive {
  readonly archive: Source;
  readonly entries: readonly Uint8Array[];
}

/** A URL whose server answers range requests, read in the ranges that are needed; in workers only (see `openUrl`). */
export interface UrlRef {
  readonly url: string;
}

/**
 * Where a file's bytes come from. Blobs and Files are read in slices and never whole, which browsers
 * allow in workers only. A RandomAccess object works with the engine; the client takes all others.
 */
export type Source =
  Uint8Array | ArrayBuffer | Blob | FileRef | UrlRef | RandomAccess | InflatedArchive;

/** Where a written file goes: a function, or anything with a synchronous or asynchronous write. */
export type Sink =
  | ((chunk: Uint8Array) => void | Promise<void>)
  | { write(chunk: Uint8Array): unknown }
  | WritableStream<Uint8Array>;

/**
 * Called now and then during long work; `total` is 0 when unknown. It may use other objects of the
 * engine; a call on the one at work fails with the code "busy".
 */
export type ProgressListener = (progress: { phase: Phase; done: number; total: number }) => void;

export interface CallOptions {
  /** Cancels the call: it fails with the code "cancelled". */
  signal?: AbortSignal;
  onProgress?: ProgressListener;
}

/**
 * A number, boolean, string, or an array of them: what a constant method returns. A whole number is an
 * integer of 64 bits (-0 is 0), and one that does not fit is refused; `{ double: 1 }` makes it a float.
 */
export type ConstantValue =
  number | bigint | boolean | string | { readonly double: number } | readonly ConstantValue[];

export type { BackendConfig, CompileConfig, ExecutorchConfig };

export interface ToEdgeOptions extends CallOptions {
  /** Methods without instructions, by name: `{ get_max_seq_len: 256 }`. */
  constantMethods?: Readonly<Record<string, ConstantValue>>;
  compileConfig?: CompileConfig;
}

export interface TransformAndLowerOptions extends ToEdgeOptions, BackendConfig {
  /** Passes over the edge program, before parts are found. */
  transformPasses?: Passes;
  /** What goes to which backend; nothing by default. */
  partitioner?: Partitioners;
}

export interface LowerOptions extends TransformAndLowerOptions, ExecutorchConfig {}

/**
 * Programs by method name, or a single file, whose models keep their names ("model" becomes "forward").
 * Any text is a method name but the empty one and text with NUL characters.
 */
export type Programs = Source | Readonly<Record<string, Source>>;

/** Pass names for all methods, or per method. */
export type Passes = readonly string[] | Readonly<Record<string, readonly string[]>>;

// --- Delegation ----------------------------------------------------------------------------------

/** What a backend is told beside the part it gets, verbatim. Text is its bytes in UTF-8. */
export interface CompileSpec {
  readonly key: string;
  readonly value: Uint8Array | string;
}

/** Nodes of a method's own graph that go to one part, by name. */
export interface TaggedNodes {
  readonly tag: string;
  readonly nodes: readonly string[];
  /** Instead of those of the partitioner. */
  readonly compileSpecs?: readonly CompileSpec[];
}

export interface PartitionerOptions {
  /** Of a backend, the id that files have ("XnnpackBackend") or the name that people use ("xnnpack"). */
  readonly backend: string;
  readonly compileSpecs?: readonly CompileSpec[];
  /** These parts and no others; one that the backend does not take is an error. */
  readonly tags?: readonly TaggedNodes[];
  /** The whole method as one part, or an error that lists what the backend does not take of it. */
  readonly whole?: boolean;
}

/** A backend, which gets every node that it takes, in as few parts as possible; or more exactly. */
export type Partitioner = string | PartitionerOptions;

/**
 * Partitioners of all methods, or by method; methods that are not named stay as they are. Of several
 * each one gets what those before it have left.
 */
export type Partitioners =
  | Partitioner
  | readonly Partitioner[]
  | Readonly<Record<string, Partitioner | readonly Partitioner[]>>;

export interface ToBackendOptions extends CallOptions, BackendConfig {}

/** A part that a backend took over. */
export interface DelegateInfo {
  /** "lowered_module_0", as in the text of the program. */
  name: string;
  /** The id that the file names. */
  backend: string;
  /** The body that the part was cut out of, with those around it; empty: the method's own graph. */
  graph: string;
  nodes: number;
  /** Multiplications with an addition, of matrix products and convolutions. */
  macs: number;
  /** Of the tensors that its nodes read and write; dynamic sizes as in the example. */
  bytes: number;
  /** What the backend made of it. */
  processedBytes: number;
  /** Bytes that the backend keeps under names, which parts may share. */
  dataBytes: number;
}

/** What has become of a node. */
export interface DelegationRow {
  name: string;
  op: string;
  graph: string;
  /** As in `NodeRow`. */
  source: string;
  /** The name of the part that the node is in; null: it stayed outside. */
  delegate: string | null;
  /** Of the part, or that refused the node last; empty: none was asked. */
  backend: string;
  /** Why it is outside; empty when it is not. */
  reason: string;
  /** What would make the backend take it; empty when nothing is known. */
  hint: string;
  macs: number;
  bytes: number;
}

/** By method: its delegates, and every node that it had before. */
export type Delegation = Record<string, { delegates: DelegateInfo[]; nodes: DelegationRow[] }>;

/** How far a result is from what it should be. */
export interface Closeness {
  /** The largest of all elements; null where only one of two is a finite number. */
  difference: number | null;
  /** The largest magnitude of what it should be. */
  largest: number;
  /** What the precision allows: a share of `largest`, and no less than that of 1. */
  tolerance: number;
  isClose: boolean;
}

/** By method: what comes of running it with and without delegates, on the same inputs. */
export type Verification = Record<
  string,
  {
    /** Those that the file was exported with, or random ones, which are the same each time. */
    inputs: "example" | "random";
    outputs: ({ output: number } & Closeness)[];
    /** Each on the inputs that it got, beside the kernels; or the reason why that cannot be done. */
    delegates: ({ name: string; backend: string } & (Closeness | { reason: string }))[];
  }
>;

// --- Backends ------------------------------------------------------------------------------------

/** An argument of a node; floats that JSON does not have are "Infinity", "-Infinity" and "NaN". */
export type NodeArg =
  | { readonly value: string }
  /** A body of a control-flow node. */
  | { readonly graph: string }
  /** A part that another backend has. */
  | { readonly part: string }
  | number
  | boolean
  | string
  | null
  | readonly NodeArg[];

/** A node as a backend sees it. */
export interface BackendNode extends NodeRow {
  /** By parameter of the operator's schema. */
  args: Record<string, NodeArg>;
  /** By which a debug handle map means the node; 0 until the edge program numbers its nodes. */
  debugHandle: number;
}

/** A weight that belongs to a part. */
export interface PartConstant {
  /** As nodes and text name it. */
  readonly name: string;
  /** Its name in the model: "fc.weight". */
  readonly target: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** Row-major; read from the file now, and only while the part is preprocessed. */
  bytes(): Uint8Array;
}

/** Nodes of a method that a backend has taken, as a graph of their own. */
export interface Part {
  readonly method: string;
  readonly name: string;
  /** What `execute` will be called with, in order; sizes that are text are known only then. */
  readonly inputs: readonly TensorInfo[];
  /** What `execute` will have to give, in order. */
  readonly outputs: readonly TensorInfo[];
  readonly constants: readonly PartConstant[];
  nodes(): BackendNode[];
  /** The IR as text; only while the part is preprocessed. */
  text(): string;
}

/** Bytes that a backend keeps under a name. */
export interface NamedBytes {
  readonly bytes: Uint8Array;
  /** Of where they lie in the file; 16 by default. */
  readonly alignment?: number;
  /** The .ptd that they go to, without its ending; the .pte itself by default. */
  readonly externalTag?: string;
}

/** What a backend makes of a part. */
export interface PreprocessResult {
  /** What `init` gets; it may be empty. */
  readonly processedBytes: Uint8Array;
  /** The nodes (`debugHandle`) behind each thing that the backend reports on, by name or number. */
  readonly debugHandleMap?: Readonly<Record<string, readonly number[]>>;
  /** What the file holds once, however many parts give it: a name with two contents is an error. */
  readonly namedData?: Readonly<Record<string, Uint8Array | NamedBytes>>;
}

/**
 * A backend of your own. Its functions are called while another call is under way, and must have
 * done their work when they return; of the engine they may use other objects, while a call on the one
 * at work fails with the code "busy". What they throw, and what they give that is not what they
 * should, fails the call with the code "delegate", and the engine stays usable.
 */
export interface Backend<State = unknown> {
  /** What files name. A program that names it runs where it is registered. */
  readonly id: string;
  /** True for a call that is to stay whole instead of being decomposed; asked only by `toEdgeTransformAndLower`. */
  keeps?(node: BackendNode, method: string): boolean;
  /** True, or the reason why the backend does not take the node. */
  supports(node: BackendNode, method: string): boolean | string;
  /** Needed unless there is `preprocessMultimethod`. */
  preprocess?(part: Part, compileSpecs: readonly CompileSpec[]): PreprocessResult;
  /** Called once with all parts of all methods; gives as many results for each. */
  preprocessMultimethod?(
    parts: Readonly<Record<string, readonly Part[]>>,
    compileSpecs: Readonly<Record<string, readonly (readonly CompileSpec[])[]>>,
  ): Readonly<Record<string, readonly PreprocessResult[]>>;
  /** Starts one part of a loaded program. The bytes are the backend's own. */
  init(
    processedBytes: Uint8Array,
    compileSpecs: readonly CompileSpec[],
    namedData: Readonly<Record<string, Uint8Array>>,
  ): State;
  /** Inputs and outputs are in the part's order; dynamic outputs have the sizes of this call. */
  execute(state: State, inputs: readonly Value[]): readonly Value[];
  /** The program was disposed, or could not be loaded after all. */
  destroy?(state: State): void;
}

// --- What inspection tells -----------------------------------------------------------------------

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
  /** Weights outside the file, with the index in `dataFiles` where each was found; null: in none. */
  externalData: { key: string; dataFile: number | null }[];
}

export interface ProgramValueInfo {
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

// --- Errors --------------------------------------------------------------------------------------

/** Error codes; the hint of an error says what to do about it. */
export type ErrorCode = StatusCode | "panic" | "disposed" | "busy";

/** One thing that was noticed, with where it was noticed. Unknown parts are empty strings. */
export interface Diagnostic {
  severity: "note" | "warning" | "error";
  code: ErrorCode;
  message: string;
  /** What to do about it; starts with a verb. */
  hint: string;
  method: string;
  pass: string;
  node: string;
  op: string;
  /** Index of the instruction that failed, when running. */
  instruction: number | null;
  /** The user's own line, "model.py:12 in forward: return self.fc(x)". */
  source: string;
  /** The Python traceback as recorded at export. */
  stackTrace: string;
}

// --- The engine ----------------------------------------------------------------------------------

/** What this host offers and what was picked. */
export interface Capabilities {
  simd: boolean;
  relaxedSimd: boolean;
  threads: boolean;
  /** The binary in use; there is one so far. */
  binary: "simd";
  /** Why not a better one; empty when it is the best. */
  reasons: string[];
}

/** What an operator does, roughly: for grouping and colours. */
export type OpFamily =
  "matrix" | "conv" | "reduce" | "pointwise" | "shape" | "index" | "create" | "other";

export interface Meta {
  statuses: string[];
  dtypes: { code: number; name: DType; short: string; bytes: number }[];
  /** `out`: what a .pte calls; `kernel`, `official`: does this build, does the official runtime run it. */
  ops: { name: string; out: string; family: OpFamily; kernel: boolean; official: boolean }[];
  passes: { name: string; summary: string; stage: "edge" | "executorch" }[];
  /** Who can take parts of a program over, and runs them here. Files name the id. */
  backends: { name: string; id: string; summary: string }[];
}

/**
 * Anything that holds wasm memory. Use after dispose throws the code "disposed". The managers of one
 * compilation (opened, edge, executorch) share theirs, because each of them shows every program made
 * so far: it goes back when the last of them is disposed. Trying many configs on one edge manager
 * adds a program each time; `lower` from the file keeps none.
 * A callback may dispose anything: what a call under way still needs is freed when it returns.
 */
export interface Disposable {
  dispose(): void;
}

/** A program of one method, for looking at. */
export interface ExportedProgram {
  readonly method: string;
  /** The IR as text. */
  text(): string;
  nodes(): NodeRow[];
}

/** Files opened as methods, as PyTorch exported them: for looking at, and for lowering. */
export interface OpenedPrograms extends Disposable {
  readonly methods: readonly string[];
  exportedProgram(method?: string): ExportedProgram;
  inspect(): CompilationReport;
  /** Decomposes and rewrites; once. What was opened can still be looked at when it fails. */
  toEdge(options?: ToEdgeOptions): EdgeProgramManager;
  /** toEdge, transform and toBackend in one, as the engine has it; once. */
  toEdgeTransformAndLower(options?: TransformAndLowerOptions): EdgeProgramManager;
  /** IR text of any version by its program number; what was opened is 0. */
  text(program: number, method?: string): string;
  nodes(program: number, method: string): NodeRow[];
}

/** Methods in the edge dialect. Never changes: transform gives a new manager. */
export interface EdgeProgramManager extends Disposable {
  readonly methods: readonly string[];
  readonly configMethods: readonly string[];
  exportedProgram(method?: string): ExportedProgram;
  transform(passes: Passes): EdgeProgramManager;
  /**
   * Hands parts of the methods to backends, the parts of all methods at once, and gives a manager of
   * what that makes. Fails with the code "not_found" for a backend or a method that does not exist,
   * "argument" for tags that cannot be cut out, "delegate" when a backend does not do its work.
   * A method called "backend" is given a list: `{ backend: ["xnnpack"] }`.
   *
   * `toBackend(id, method?, compileSpecs)` hands over the whole of a method, or of each, as one part
   * or not at all, as `whole` of a partitioner does.
   */
  toBackend(
    partitioner: Partitioners,
    options?: ToBackendOptions | string,
    compileSpecs?: readonly CompileSpec[],
  ): EdgeProgramManager;
  /** What has become of each node of each method; no rows of a program that went to no backend. */
  delegation(): Delegation;
  toExecutorch(config?: ExecutorchConfig & CallOptions): ExecutorchProgramManager;
  inspect(): CompilationReport;
  /** IR text of any version by its program number. */
  text(program: number, method?: string): string;
  nodes(program: number, method: string): NodeRow[];
}

/** The emitted program: a .pte, and .ptd files when weights are external. */
export interface ExecutorchProgramManager extends Disposable {
  readonly methods: readonly string[];
  readonly configMethods: readonly string[];
  readonly size: number;
  /** The whole .pte; built on each call. Large programs go through `writeTo` or `toBlob` instead. */
  readonly buffer: Uint8Array;
  /** The .pte (or one of `dataFiles`) as a Blob; weights stay slices of the opened Files where the platform can. */
  toBlob(file?: string, options?: CallOptions): Blob;
  readonly dataFiles: readonly { name: string; size: number }[];
  /** One of `dataFiles`, whole. */
  dataFile(name: string): Uint8Array;
  /**
   * Writes the .pte, or one of `dataFiles`. A stream that fails rejects with the code "io". Once
   * cancelled, the call waits no longer for the sink, which may hold a part of the file by then; a
   * WritableStream is aborted and unlocked, other sinks are the caller's to close.
   */
  writeTo(sink: Sink, file?: string, options?: CallOptions): Promise<void>;
  /** Writes in one go, for Node scripts: calls back with pieces in order. */
  writeSync(write: (chunk: Uint8Array) => void, file?: string): void;
  exportedProgram(method?: string): ExportedProgram;
  /** What has become of each node of each method; no rows of a program that went to no backend. */
  delegation(): Delegation;
  /**
   * Runs what was lowered beside what it would be without delegates. What differs by more than its
   * precision allows is a warning of `inspect()`, too, which names the delegate.
   */
  verify(): Verification;
  /** The program after the executorch passes, as text. */
  dump(): string;
  inspect(): CompilationReport;
}

/** A loaded .pte. State (buffers that methods write) lives until `reset` or `dispose`. */
export interface Program extends Disposable {
  readonly methods: readonly string[];
  inspect(): ProgramReport;
  /** Runs a method with one value per flattened input. Outputs are copies, the caller's own. */
  run(method: string, inputs: readonly Value[], options?: CallOptions): Value[];
  /** Every method's mutable state back to what it was after loading. */
  reset(): void;
}

export interface Engine extends Disposable {
  readonly version: string;
  capabilities(): Capabilities;
  meta(): Meta;
  /** What a file is, from its first bytes. */
  detect(source: Source): "pt2" | "pte" | "ptd" | "unknown";
  /**
   * Opens .pt2 files and goes no further. As in PyTorch, stored weights are not checksummed: a byte
   * that flipped in one is a wrong number, not an error.
   */
  open(programs: Programs, options?: CallOptions): OpenedPrograms;
  /** Opens .pt2 files and decomposes them; the first half of lowering. */
  toEdge(programs: Programs, options?: ToEdgeOptions): EdgeProgramManager;
  /**
   * Opens .pt2 files, decomposes them, runs passes and hands parts to backends. Unlike `toEdge` and
   * `toBackend` one after the other it asks the backends of a method first which operators they want
   * whole (a linear layer instead of a product and a sum); what would not end up in a part after all
   * is decomposed. There is no transform_for_pre_decomposition: passes work on core ATen, which is
   * what decomposition makes; a backend says by `keeps` what is not to be taken apart.
   */
  toEdgeTransformAndLower(
    programs: Programs,
    options?: TransformAndLowerOptions,
  ): EdgeProgramManager;
  /** toEdge, or toEdgeTransformAndLower where there is a partitioner, and toExecutorch in one call. */
  lower(programs: Programs, options?: LowerOptions): ExecutorchProgramManager;
  /**
   * The same programs with compressed archives inflated, for hosts without node:zlib (pages without
   * a worker, edge functions), where `open` and its kin fail with the code "compressed". The client
   * does it by itself. Blobs become their bytes where they cannot be read in slices.
   */
  inflate(programs: Programs): Promise<Programs>;
  /** What is in a .pt2, without lowering it. */
  inspect(programs: Programs): CompilationReport;
  load(pte: Source, options?: LoadOptions): Program;
  /**
   * Adds a backend, for lowering and for running, for as long as the engine lives. Fails with the code
   * "argument" when its id is that of another.
   */
  registerBackend<State>(backend: Backend<State>): void;
  /**
   * The same with the default export of a module, and the way for the client, whose engine lives in a
   * worker, where functions do not reach: the module is imported there. Gives the id.
   */
  importBackend(module: UrlRef): Promise<string>;
}

export interface LoadOptions extends CallOptions, LoadConfig {
  /** The .ptd files that the program needs. */
  dataFiles?: readonly Source[];
}

/** Where the module comes from. A ready Module is what edge functions import. */
export type WasmSource =
  URL | string | BufferSource | Response | Promise<Response> | WebAssembly.Module;

export interface EngineOptions {
  /** Default: sconce.wasm beside this script. */
  wasm?: WasmSource;
  onLog?: (severity: "note" | "warning" | "error", text: string) => void;
}

// --- The client ----------------------------------------------------------------------------------

/** The same interface, answered later: what a worker offers. */
export type Remote<T> = {
  [K in Exclude<keyof T, LocalMember>]: T[K] extends (...args: infer A) => infer R
    ? (...args: A) => Promise<RemoteResult<Awaited<R>>>
    : T[K] extends Uint8Array
      ? Promise<Uint8Array>
      : T[K];
};
type RemoteResult<R> = R extends Disposable ? Remote<R> : R extends ExportedProgram ? Remote<R> : R;
