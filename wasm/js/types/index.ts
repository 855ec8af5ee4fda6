// The public types. Names follow ExecuTorch's export API (toEdge, toExecutorch, method, buffer), so
// that what people know carries over. Two implementations share them: the engine, synchronous and
// on the caller's thread, and the client, the same calls answered by a worker as promises.
/// <reference lib="esnext.disposable" preserve="true" />

import type { StatusCode } from "../border/abi.gen.js";
import type { HostAbortSignal, HostBlob, HostResponse, HostUrl, WasmModule } from "./host.js";
import type {
  BackendConfig,
  CompileConfig,
  ExecutorchConfig,
  LoadConfig,
} from "../border/options.gen.js";
import type { LocalMember } from "../call/protocol.js";
import type { Phase } from "../border/steps.gen.js";
import type {
  Backend,
  CompileSpec,
  Delegation,
  Partitioners,
  ToBackendOptions,
  Verification,
} from "./backend.js";
import type {
  BundleOptions,
  CaseVerdict,
  GivenTestSuite,
  TestSuite,
  VerifyOptions,
} from "./bundled.js";
import type { ProgramCall } from "./call.js";
import type { EventDump } from "./events.js";
import type { Inspector, InspectorFiles, InspectorOptions } from "./inspector.js";
import type { Meta } from "./meta.js";
import type { ETRecord, RecordValue } from "./record.js";
import type { CompilationReport, NodeRow, ProgramReport } from "./report.js";
import type { ExportOptions, ExportSession } from "./session.js";
import type { Sink, Source, UrlRef } from "./source.js";
import type { Value } from "./tensor.js";

export type * from "./backend.js";
export type * from "./bundled.js";
export type * from "./call.js";
export type * from "./events.js";
export type * from "./image.js";
export type * from "./inspector.js";
export type * from "./meta.js";
export type * from "./record.js";
export type * from "./recipe.js";
export type * from "./report.js";
export type * from "./session.js";
export type * from "./source.js";
export type * from "./tensor.js";

/**
 * Called now and then during long work; `total` is 0 when unknown. It may use other objects of the
 * engine; a call on the one at work fails with the code "busy".
 */
export type ProgressListener = (progress: { phase: Phase; done: number; total: number }) => void;

/** Options that every long call takes. */
export interface CallOptions {
  /**
   * Cancels the call. It fails with the code "cancelled" and the name "AbortError", and its cause is the
   * signal's reason.
   *
   * A call of the engine blocks its thread: only its own listener can abort the signal meanwhile, and
   * `AbortSignal.timeout()` fires too late. A client's call is rejected at once. It stops in the worker,
   * too, unless the page has neither cross-origin isolation nor `blob:` in `connect-src` of its policy.
   * A call that waits in the queue never starts.
   */
  signal?: HostAbortSignal;
  /** Hears how far the call is. An error that it throws fails the call. */
  onProgress?: ProgressListener;
}

/**
 * A number, boolean, string, or an array of them: what a constant method returns. A whole number is an
 * integer of 64 bits (-0 is 0), and one that does not fit is refused; `{ double: 1 }` makes it a float.
 */
export type ConstantValue =
  number | bigint | boolean | string | { readonly double: number } | readonly ConstantValue[];

export type { BackendConfig, CompileConfig, ExecutorchConfig };

/** Options of `toEdge`. */
export interface ToEdgeOptions extends CallOptions {
  /** Methods without instructions, by name: `{ get_max_seq_len: 256 }`. */
  constantMethods?: Readonly<Record<string, ConstantValue>>;
  /** Largest sizes of dynamic dimensions, and how much is kept for looking at. */
  compileConfig?: CompileConfig;
  /** Keeps a record of the programs before and after (`etrecord` of the managers). */
  generateEtrecord?: boolean;
}

/** Options of `toEdgeTransformAndLower`. */
export interface TransformAndLowerOptions extends ToEdgeOptions, BackendConfig {
  /** Passes over the edge program, before parts are found. */
  transformPasses?: Passes;
  /** Chooses the parts that go to backends; none by default. */
  partitioner?: Partitioners;
}

/** Options of `lower`: those of decomposition, of delegation and of the file, in one object. */
export interface LowerOptions extends TransformAndLowerOptions, ExecutorchConfig {
  /** Also runs what was lowered beside what it would be without delegates, as `verify()` does. */
  verify?: boolean;
  /** Keeps a record (`etrecord` of what this gives); with "light" its files are without weights. */
  etrecord?: boolean | "light";
}

/**
 * Programs by method name, or a single file, whose models keep their names ("model" becomes "forward").
 * Any text is a method name but the empty one and text with NUL characters.
 */
export type Programs = Source | Readonly<Record<string, Source>>;

/** Pass names for all methods, or per method. */
export type Passes = readonly string[] | Readonly<Record<string, readonly string[]>>;

// --- Errors --------------------------------------------------------------------------------------

/** Error codes; the hint of an error says what to do about it. */
export type ErrorCode = StatusCode | "panic" | "disposed" | "busy";

/** One thing that was noticed, with where it was noticed. Unknown parts are empty strings. */
export interface Diagnostic {
  /** An "error" fails the call; a "warning" and a "note" do not. */
  severity: "note" | "warning" | "error";
  /** The kind of the problem. */
  code: ErrorCode;
  /** A sentence that says which thing is wrong. */
  message: string;
  /** A sentence that says what to do about it; starts with a verb. */
  hint: string;
  /** The method in which it was noticed. */
  method: string;
  /** The pass that noticed it. */
  pass: string;
  /** The node of the graph that it is about. */
  node: string;
  /** The operator of that node: "aten::addmm". */
  op: string;
  /** Index of the instruction that failed, when running. */
  instruction: number | null;
  /** The user's own line, "model.py:12 in forward: return self.fc(x)". */
  source: string;
  /** The Python traceback as recorded at export. */
  stackTrace: string;
}

// --- The engine ----------------------------------------------------------------------------------

/** The features of this host, and those that are in use. */
export interface Capabilities {
  /** Whether the host has WebAssembly SIMD, which Sconce needs. */
  simd: boolean;
  /** Whether the host has relaxed SIMD. */
  relaxedSimd: boolean;
  /** Whether kernels use several threads. */
  threads: boolean;
  /** The binary in use; there is one so far. */
  binary: "simd";
  /** Why not a better one; empty when it is the best. */
  reasons: string[];
}

/**
 * Anything that holds wasm memory. Use after dispose throws the code "disposed". The managers of one
 * compilation (opened, edge, executorch) share theirs, because each of them shows every program made
 * so far: it goes back when the last of them is disposed. Trying many configs on one edge manager
 * adds a program each time; `lower` from the file keeps none.
 * A callback may dispose anything: what a call under way still needs is freed when it returns.
 */
export interface Resource {
  /** Gives the memory back. A second call does nothing. */
  dispose(): void;
  /** The same, for `using`. */
  [Symbol.dispose](): void;
  /** The same, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** A program of one method, for looking at. */
export interface ExportedProgram {
  /** The name of the method. */
  readonly method: string;
  /** The IR as text. */
  text(): string;
  /** Its nodes, in the order in which they run. */
  nodes(): NodeRow[];
}

/** Files opened as methods, as PyTorch exported them: for looking at, and for lowering. */
export interface OpenedPrograms extends Resource {
  /** Names of the methods. */
  readonly methods: readonly string[];
  /** An empty record, for programs of this compilation. */
  createEtrecord(): ETRecord;
  /** The program of a method; the name may be left out for `forward` or the only method. */
  exportedProgram(method?: string): ExportedProgram;
  /** Methods, operators and sizes of all programs of this compilation. */
  inspect(): CompilationReport;
  /**
   * The inputs that a method was exported with, those by name after the others; null where the file
   * has none, or has compressed them. Of a container they are a list.
   */
  exampleInputs(method?: string): RecordValue[] | null;
  /** Decomposes and rewrites; once. What was opened can still be looked at when it fails. */
  toEdge(options?: ToEdgeOptions): EdgeProgramManager;
  /** toEdge, transform and toBackend in one, as the engine has it; once. */
  toEdgeTransformAndLower(options?: TransformAndLowerOptions): EdgeProgramManager;
  /** IR text of any version by its program number; what was opened is 0. */
  text(program: number, method?: string): string;
  /** The nodes of a method of a program by its number. */
  nodes(program: number, method: string): NodeRow[];
}

/** Methods in the edge dialect. Never changes: transform gives a new manager. */
export interface EdgeProgramManager extends Resource {
  /** Names of the methods that have instructions. */
  readonly methods: readonly string[];
  /**
   * The record that `generateEtrecord` asked for, which lives as long as this manager: what is
   * known so far.
   * Fails with the code "state" where it was not asked for.
   */
  readonly etrecord: ETRecord;
  /** The same as `etrecord`; a client has only this one. */
  getEtrecord(): ETRecord;
  /** An empty record, for programs of this compilation. */
  createEtrecord(): ETRecord;
  /** Names of the constant methods. */
  readonly configMethods: readonly string[];
  /** The edge program of a method; the name may be left out for `forward` or the only method. */
  exportedProgram(method?: string): ExportedProgram;
  /** Runs passes, in order. `Engine.meta().passes` lists their names. Gives a new manager. */
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
  /**
   * Runs the last passes, plans memory and writes the program. May be called again with another
   * config.
   */
  toExecutorch(config?: ExecutorchConfig & CallOptions): ExecutorchProgramManager;
  /** Methods, operators, sizes, passes and warnings of all programs of this compilation. */
  inspect(): CompilationReport;
  /** IR text of any version by its program number. */
  text(program: number, method?: string): string;
  /** The nodes of a method of a program by its number. */
  nodes(program: number, method: string): NodeRow[];
}

/** The emitted program: a .pte, and .ptd files when weights are external. */
export interface ExecutorchProgramManager extends Resource {
  /** Names of the methods that have instructions. */
  readonly methods: readonly string[];
  /**
   * The record that `generateEtrecord` asked for, which lives as long as this manager: complete,
   * and apart from that of the edge manager.
   * Fails with the code "state" where it was not asked for.
   */
  readonly etrecord: ETRecord;
  /** The same as `etrecord`; a client has only this one. */
  getEtrecord(): ETRecord;
  /** An empty record, for programs of this compilation. */
  createEtrecord(): ETRecord;
  /** Names of the constant methods. */
  readonly configMethods: readonly string[];
  /** Bytes of the .pte. */
  readonly size: number;
  /** The whole .pte; built on each call. Large programs go through `writeTo` or `toBlob` instead. */
  readonly buffer: Uint8Array<ArrayBuffer>;
  /** The .pte (or one of `dataFiles`) as a Blob; weights stay slices of the opened Files where the platform can. */
  toBlob(file?: string, options?: CallOptions): HostBlob;
  /** The .ptd files that belong to the .pte, with their sizes in bytes. */
  readonly dataFiles: readonly { name: string; size: number }[];
  /** One of `dataFiles`, whole. */
  dataFile(name: string): Uint8Array<ArrayBuffer>;
  /**
   * Writes the .pte, or one of `dataFiles`. A stream that fails rejects with the code "io". Once
   * cancelled, the call waits no longer for the sink, which may hold a part of the file by then; a
   * WritableStream is aborted and unlocked, other sinks are the caller's to close.
   * @example
   * const handle = await showSaveFilePicker({ suggestedName: "model.pte" });
   * await lowered.writeTo(await handle.createWritable());
   */
  writeTo(sink: Sink, file?: string, options?: CallOptions): Promise<void>;
  /** Writes in one go, for Node scripts: calls back with pieces in order. */
  writeSync(write: (chunk: Uint8Array<ArrayBuffer>) => void, file?: string): void;
  /** The program of a method; the name may be left out for `forward` or the only method. */
  exportedProgram(method?: string): ExportedProgram;
  /** What has become of each node of each method; no rows of a program that went to no backend. */
  delegation(): Delegation;
  /** The result of `lower` with the option `verify`; null where that was not asked for. */
  readonly verification: Verification | null;
  /**
   * Runs what was lowered beside what it would be without delegates. What differs by more than its
   * precision allows is a warning of `inspect()`, too, which names the delegate.
   */
  verify(options?: CallOptions): Verification;
  /** The program after the executorch passes, as text. */
  dump(): string;
  /** Methods, operators, memory plans, sizes and warnings. */
  inspect(): CompilationReport;
}

/** A loaded .pte. State (buffers that methods write) lives until `reset` or `dispose`. */
export interface Program extends Resource {
  /** Names of the methods, the constant ones included. */
  readonly methods: readonly string[];
  /** Signatures, operators, sizes and planned memory of the methods. */
  inspect(): ProgramReport;
  /**
   * The work of a backend in one of the `parts` of a method, as text: a line for each weight, input and
   * node; those of nodes begin with their number. Empty where the backend has no words for it.
   */
  partText(method: string, part: number): string;
  /**
   * Runs a method. Gives its outputs in their order, as copies that are the caller's own. Fails with
   * the code "input" if inputs are missing, unknown or do not fit, and "not_found" if there is no such
   * method. `run(inputs)` needs a program with one method, and fails with "argument" if it has several.
   *
   * @example
   * const [logits] = program.run("forward", [tokens, mask]);
   * const [same] = program.run({ tokens, mask });
   * const [length] = program.run("get_max_seq_len");
   */
  run(...call: ProgramCall): Value[];
  /**
   * Does what `run` does, and gives the outputs by the names that `inspect()` tells: the keys where
   * Python returns a dict, "output_0" and so on elsewhere.
   *
   * @example
   * const { logits } = program.runNamed({ tokens, mask });
   */
  runNamed(...call: ProgramCall): Record<string, Value>;
  /**
   * The records of runs with the option `events` since the last call, as files that the official
   * Inspector opens. Fails with the code "state" when nothing was recorded. Instructions that loading
   * merged are in it one by one, each with an equal share of the time of all.
   */
  etdump(): EventDump;
  /** Every method's mutable state back to what it was after loading. */
  reset(): void;
  /** The calls that a bundled program comes with; none of a plain one. */
  testSuites(): TestSuite[];
  /**
   * Runs the calls that a bundled program comes with, each from the program's first state, and compares.
   * Leaves the last one's state behind. Fails with the code "state" when there are none.
   */
  verify(options?: VerifyOptions): CaseVerdict[];
}

/** Everything that Sconce does, on the calling thread. `createEngine` makes one. */
export interface Engine extends Resource {
  /** The version of the module: "0.1.0". */
  readonly version: string;
  /** The features of WebAssembly that this host has, and those that are in use. */
  capabilities(): Capabilities;
  /**
   * Bytes of memory that the module has. They grow with the need and never shrink: what is disposed
   * is used again, and all of them go back with the engine.
   */
  heapBytes(): number;
  /** Tables of the module: operators, dtypes, passes, backends. The same object each time. */
  meta(): Meta;
  /** The kind of a file, by its first bytes. */
  detect(source: Source): "pt2" | "pte" | "ptd" | "bpte" | "etdump" | "etrecord" | "unknown";
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
   * is decomposed. Passes that partitioners wish for (`transformForPreDecomposition`) run before that.
   */
  toEdgeTransformAndLower(
    programs: Programs,
    options?: TransformAndLowerOptions,
  ): EdgeProgramManager;
  /**
   * From .pt2 files to a .pte in one call: toEdge, or toEdgeTransformAndLower where there is a
   * partitioner, and toExecutorch.
   * @throws SconceError with the method, the node and the line of the model where it cannot be lowered.
   * @example
   * const lowered = engine.lower({ path: "model.pt2" }, { partitioner: "xnnpack" });
   * const bytes = lowered.buffer;
   * lowered.dispose();
   * @example Several methods in one file
   * const lowered = engine.lower(
   *   { prefill: { path: "prefill.pt2" }, decode: { path: "decode.pt2" } },
   *   { constantMethods: { get_max_seq_len: 256 }, shareMutableBuffers: true },
   * );
   */
  lower(programs: Programs, options?: LowerOptions): ExecutorchProgramManager;
  /**
   * From .pt2 files to a program as a recipe says, stage by stage: quantized, with parts handed to
   * backends, emitted. The session keeps what every stage made. Compressed archives are inflated.
   * @example
   * const session = await engine.export(
   *   { path: "model.pt2" },
   *   { recipe: "xnnpack_pt2e_int8_static_per_channel", exampleInputs: [[image1], [image2]] },
   * );
   * const bytes = session.getPteBuffer();
   * session.dispose();
   */
  export(programs: Programs, options: ExportOptions): Promise<ExportSession>;
  /**
   * The same session before anything was run or read: `run()` does, once stages of one's own are
   * there. Of a client's session it is `run` that takes the signal and the listener.
   */
  createExportSession(programs: Programs, options: ExportOptions): ExportSession;
  /**
   * The same programs with compressed archives inflated, for hosts without node:zlib (pages without
   * a worker, edge functions), where `open` and its kin fail with the code "compressed". The client
   * does it by itself. What takes time to be read is read, as by `fetchSource`.
   */
  inflate(programs: Programs): Promise<Programs>;
  /** The contents of a .pt2, without lowering it. */
  inspect(programs: Programs): CompilationReport;
  /**
   * Opens a .pte, the program in a bundled one (.bpte), or what was lowered.
   * @example
   * const program = engine.load("model.pte");
   * const [output] = program.run("forward", [tensor(new Float32Array(4), [1, 4])]);
   * program.dispose();
   */
  load(pte: Source, options?: LoadOptions): Program;
  /**
   * Opens what a runtime has logged, what the exporter knew of the program, or the program itself: one
   * of these is enough. The debug buffer goes with the dump that points into it.
   * @example
   * program.run("forward", inputs, { events: true });
   * const { etdump } = program.etdump();
   * const slowest = engine.inspector({ etdump, etrecord }).ops()[0];
   */
  inspector(files: InspectorFiles, options?: InspectorOptions): Inspector;
  /** Opens an .etrecord, of the official exporter or of this library, in any layout that there was. */
  parseEtrecord(source: Source): ETRecord;
  /**
   * A bundled program (.bpte), which official tools read too: the program and calls of its methods, each
   * run from the program's first state. What the program does not take or return is refused.
   * @example
   * const bundled = engine.bundle(pte, [{ methodName: "forward", testCases: [{ inputs: [input] }] }]);
   * engine.load(bundled).verify();
   */
  bundle(
    program: Source,
    suites: readonly GivenTestSuite[],
    options?: BundleOptions,
  ): Uint8Array<ArrayBuffer>;
  /**
   * Adds a backend, for lowering and for running, for as long as the engine lives. Fails with the code
   * "argument" when its id is that of another.
   * @example
   * engine.registerBackend({
   *   id: "Tanh",
   *   supports: (node) => node.op === "aten::tanh" || "only tanh",
   *   preprocess: () => ({ processedBytes: new Uint8Array() }),
   *   init: () => null,
   *   execute: (state, [input]) => isTensor(input) ? [tensor(toNumbers(input).map(Math.tanh))] : [],
   * });
   */
  registerBackend<State>(backend: Backend<State>): void;
  /**
   * The same with the default export of a module, and the way for the client, whose engine lives in a
   * worker, where functions do not reach: the module is imported there. Gives the id.
   * @example
   * await client.importBackend({ url: new URL("./backend.mjs", import.meta.url).href });
   */
  importBackend(module: string | HostUrl | Pick<UrlRef, "url">): Promise<string>;
}

/** Options of `load`. */
export interface LoadOptions extends CallOptions, LoadConfig {
  /** The .ptd files that the program needs. A lowered program brings its own by default. */
  dataFiles?: readonly Source[];
}

/** The module: an address, its bytes, an answer of `fetch`, or a Module, as edge functions import it. */
export type WasmSource =
  | HostUrl
  | string
  | ArrayBufferView
  | ArrayBuffer
  | HostResponse
  | Promise<HostResponse>
  | WasmModule;

/** Options of `createEngine`. */
export interface EngineOptions {
  /** Default: sconce.wasm beside this script. */
  wasm?: WasmSource;
  /** Hears what the engine notes beside results and errors. Nothing is logged by default. */
  onLog?: (severity: "note" | "warning" | "error", text: string) => void;
}

// --- The client ----------------------------------------------------------------------------------

/** The same interface, answered later: what a worker offers. */
export type Remote<T> = {
  [K in Exclude<keyof T, LocalMember<T> | typeof Symbol.dispose>]: T[K] extends (
    ...args: infer A
  ) => infer R
    ? (...args: A) => Promise<RemoteResult<Awaited<R>>>
    : T[K] extends Uint8Array
      ? Promise<Uint8Array<ArrayBuffer>>
      : T[K];
};
type RemoteResult<R> = R extends Resource ? Remote<R> : R extends ExportedProgram ? Remote<R> : R;
