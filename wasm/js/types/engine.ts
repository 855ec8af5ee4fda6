// The type of the engine, and its options.
import type { Backend, OwnPartitioner, PartitionFunction } from "./backend.js";
import type { BundleOptions, GivenTestSuite } from "./bundled.js";
import type { LoadOptions } from "./call.js";
import type { CallOptions } from "./call_options.js";
import type { HostResponse, HostUrl, WasmModule } from "./host.js";
import type { Inspector, InspectorFiles, InspectorOptions } from "./inspector.js";
import type {
  LowerOptions,
  Programs,
  ToEdgeOptions,
  TransformAndLowerOptions,
} from "./lowering.js";
import type { EdgeProgramManager, ExecutorchProgramManager, OpenedPrograms } from "./managers.js";
import type { Meta } from "./meta.js";
import type { PlanMemory } from "../border/planner.js";
import type { PassFunction } from "./pass.js";
import type { Program } from "./program.js";
import type { ETRecord } from "./record.js";
import type { CompilationReport } from "./report.js";
import type { Resource } from "./resource.js";
import type { ExportOptions, ExportSession } from "./session.js";
import type { Source, UrlRef } from "./source.js";

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
   * Opens .pt2 files, decomposes them, runs passes and hands parts to backends. It first asks the
   * backends of a method which operators they want whole: a linear layer instead of a product and a
   * sum. `toEdge` followed by `toBackend` does not ask. Operators that end up in no part are
   * decomposed after all. Passes that partitioners wish for (`transformForPreDecomposition`) run
   * before that.
   */
  toEdgeTransformAndLower(
    programs: Programs,
    options?: TransformAndLowerOptions,
  ): EdgeProgramManager;
  /**
   * Lowers .pt2 files to a .pte in one call. It does what `toEdge` and `toExecutorch` do, or with a
   * partitioner `toEdgeTransformAndLower` and `toExecutorch`.
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
   * there. In a client's session, `run` takes the signal and the listener.
   */
  createExportSession(programs: Programs, options: ExportOptions): ExportSession;
  /**
   * The same programs with compressed archives inflated, for hosts without node:zlib (pages without
   * a worker, edge functions), where `open` and its kin fail with the code "compressed". The client
   * does it by itself. Sources that take time to read are read, as by `fetchSource`.
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
   * run from the program's first state. Inputs and results that do not fit the program are refused.
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
  importBackend(module: ModuleUrl): Promise<string>;
  /**
   * Gives a pass of your own a name, for as long as the engine lives. Every list of passes then takes the
   * name. Fails with the code "argument" when the name is that of another pass.
   * @example
   * engine.registerPass(function eraseDead({ graph }) {
   *   graph.eraseDead();
   * });
   * engine.lower("model.pt2", { transformPasses: ["eraseDead"] });
   */
  registerPass(pass: PassFunction, name?: string): void;
  /**
   * Registers every function that a module exports, under the name that it is exported by. This is the way
   * for the client, whose engine lives in a worker: the module is imported there. Gives the names.
   * @example
   * await client.importPasses({ url: new URL("./passes.mjs", import.meta.url).href });
   */
  importPasses(module: ModuleUrl): Promise<string[]>;
  /**
   * Gives a partitioner of your own a name, for as long as the engine lives. The name then stands for it
   * wherever a backend's name can stand. Fails with the code "argument" when the name is taken.
   * @example
   * engine.registerPartitioner(function firstLinear({ graph }) {
   *   const nodes = graph.find("aten::addmm").slice(0, 1);
   *   return { tags: [{ tag: "first", backend: "xnnpack", nodes }] };
   * });
   * engine.lower("model.pt2", { partitioner: "firstLinear" });
   */
  registerPartitioner(partitioner: PartitionFunction | OwnPartitioner, name?: string): void;
  /**
   * Registers every object with a function `partition` that a module exports, under the name that it is
   * exported by: the way for the client, whose engine lives in a worker. Gives the names.
   * @example
   * await client.importPartitioners({ url: new URL("./partitioners.mjs", import.meta.url).href });
   */
  importPartitioners(module: ModuleUrl): Promise<string[]>;
  /**
   * Gives a memory planner of your own a name, for as long as the engine lives. The option
   * `memoryPlanning` then takes the name. Fails with the code "argument" when the name is taken.
   * @example
   * engine.registerMemoryPlanner(function inLine({ alignment, items }) {
   *   let end = 0;
   *   return items.map(({ bytes }) => {
   *     const offset = Math.ceil(end / alignment) * alignment;
   *     end = offset + bytes;
   *     return offset;
   *   });
   * });
   * engine.lower("model.pt2", { memoryPlanning: "inLine" });
   */
  registerMemoryPlanner(planner: PlanMemory, name?: string): void;
  /**
   * Registers every function that a module exports as a memory planner, under the name that it is
   * exported by: the way for the client, whose engine lives in a worker. Gives the names.
   * @example
   * await client.importMemoryPlanners({ url: new URL("./planners.mjs", import.meta.url).href });
   */
  importMemoryPlanners(module: ModuleUrl): Promise<string[]>;
}

/** The address of a JavaScript module. */
export type ModuleUrl = string | HostUrl | Pick<UrlRef, "url">;

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
  /** Default: sconce.wasm in the folder of this script. */
  wasm?: WasmSource;
  /** Hears the engine's notes, which are neither results nor errors. By default no note is logged. */
  onLog?: (severity: "note" | "warning" | "error", text: string) => void;
}
