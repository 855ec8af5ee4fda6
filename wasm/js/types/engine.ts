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
import type { OwnOperator } from "./operator.js";
import type { Program } from "./program.js";
import type { ETRecord } from "./record.js";
import type { CompilationReport } from "./report.js";
import type { Resource } from "./resource.js";
import type { ExportOptions, ExportSession } from "./session.js";
import type { Source, UrlRef } from "./source.js";

/**
 * A build of the module, from the same sources: the baseline ("simd", sconce.wasm), and those with
 * relaxed SIMD, with threads, or with both.
 */
export type ModuleFlavour = "simd" | "relaxed" | "threads" | "relaxed-threads";

/** The features of this host, and those that are in use. */
export interface Capabilities {
  /** True if the host has WebAssembly SIMD, which Sconce needs. */
  simd: boolean;
  /** True if the host has relaxed SIMD. */
  relaxedSimd: boolean;
  /** The number of threads that may work on one call, the engine's own included. */
  threads: number;
  /** The flavour in use. */
  binary: ModuleFlavour;
  /** The reasons why no faster flavour is used. Empty if it is the fastest. */
  reasons: string[];
}

/** All functions of Sconce, on the calling thread. `createEngine` makes an engine. */
export interface Engine extends Resource {
  /** The version of the module: "0.1.0". */
  readonly version: string;
  /** The features of WebAssembly that this host has, and those that are in use. */
  capabilities(): Capabilities;
  /**
   * The bytes of memory that the module has. The memory grows when it must, and never shrinks.
   * Memory of disposed objects is used again. All of it is freed with the engine.
   */
  heapBytes(): number;
  /**
   * The tables of the module: operators, dtypes, passes, backends. Each call gives the same object.
   */
  meta(): Meta;
  /** The kind of a file, by its first bytes. */
  detect(
    source: Source,
  ): "pt2" | "pte" | "ptd" | "bpte" | "packed" | "etdump" | "etrecord" | "unknown";
  /**
   * Opens .pt2 files without lowering them. Stored weights are not checked, as in PyTorch: a
   * flipped byte gives a wrong number, not an error.
   */
  open(programs: Programs, options?: CallOptions): OpenedPrograms;
  /** Opens .pt2 files and decomposes them. This is the first half of lowering. */
  toEdge(programs: Programs, options?: ToEdgeOptions): EdgeProgramManager;
  /**
   * Opens .pt2 files, decomposes them, runs passes, and gives parts to backends. First it asks the
   * backends of each method which operators they want whole, for example a linear layer instead of
   * a product and a sum. `toEdge` followed by `toBackend` does not ask. Operators that end up in no
   * part are decomposed after all. Before that, it runs the passes that partitioners request
   * (`transformForPreDecomposition`).
   */
  toEdgeTransformAndLower(
    programs: Programs,
    options?: TransformAndLowerOptions,
  ): EdgeProgramManager;
  /**
   * Lowers .pt2 files to a .pte in one call: `toEdge` and `toExecutorch`, or with a partitioner
   * `toEdgeTransformAndLower` and `toExecutorch`.
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
   * Makes a program from .pt2 files by a recipe, stage by stage: it can quantize, give parts to
   * backends, and emit. The session keeps the result of every stage. Compressed archives are
   * inflated. Programs that `open` gave stay the caller's own; a client's session takes files.
   * @example
   * const session = await engine.export(
   *   { path: "model.pt2" },
   *   { recipe: "xnnpack_pt2e_int8_static_per_channel", exampleInputs: [[image1], [image2]] },
   * );
   * const bytes = session.getPteBuffer();
   * session.dispose();
   */
  export(programs: Programs | OpenedPrograms, options: ExportOptions): Promise<ExportSession>;
  /**
   * Makes the same session without running or reading. Register stages of your own, then call
   * `run()`. In a client's session, `run` takes the signal and the listener.
   */
  createExportSession(programs: Programs | OpenedPrograms, options: ExportOptions): ExportSession;
  /**
   * Inflates compressed archives. Hosts without node:zlib need it (pages without a worker, edge
   * functions): there `open` and the other calls fail with the code "compressed". The client calls
   * it by itself. It also reads sources that take time, as `fetchSource` does.
   */
  inflate(programs: Programs): Promise<Programs>;
  /** Describes the contents of a .pt2 without lowering it. */
  inspect(programs: Programs): CompilationReport;
  /**
   * Opens a .pte, the program in a bundled one (.bpte), or a lowered program.
   * @example
   * const program = engine.load("model.pte");
   * const [output] = program.run("forward", [tensor(new Float32Array(4), [1, 4])]);
   * program.dispose();
   */
  load(pte: Source, options?: LoadOptions): Program;
  /**
   * Opens a dump of a run, a record of the exporter, or a program. One of these is enough. A debug
   * buffer belongs to the dump that refers to it.
   * @example
   * program.run("forward", inputs, { events: true });
   * const { etdump } = program.etdump();
   * const slowest = engine.inspector({ etdump, etrecord }).ops()[0];
   */
  inspector(files: InspectorFiles, options?: InspectorOptions): Inspector;
  /**
   * Opens an .etrecord of the official exporter or of this library, in any layout that has existed.
   */
  parseEtrecord(source: Source): ETRecord;
  /**
   * Makes a bundled program (.bpte), which official tools read, too. It contains the program and
   * calls of its methods. Each call runs from the program's first state. Inputs and results that do
   * not fit the program are refused.
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
   * Adds a backend for lowering and running, as long as the engine lives. Fails with the code
   * "argument" if another backend has its id.
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
   * Imports a module and registers its default export as a backend. Use it with the client, whose
   * engine lives in a worker that functions do not reach. Gives the id.
   * @example
   * await client.importBackend({ url: new URL("./backend.mjs", import.meta.url).href });
   */
  importBackend(module: ModuleUrl): Promise<string>;
  /**
   * Adds an operator of your own, as long as the engine lives: lowering keeps its calls whole, and
   * programs call its kernel. Register it before the program is loaded, and its schema before a
   * `.pt2` is opened. Fails with the code "argument" if the schema is wrong or its name is taken.
   * @example
   * engine.registerOperator({
   *   schema: "mylib::double(Tensor x) -> Tensor",
   *   infer: ({ x }) => (isTensor(x) ? [x.shape] : []),
   *   run({ x }, [out]) {
   *     if (isTensor(x) && out) toNumbers(x).forEach((value, i) => (out.data[i] = 2 * value));
   *   },
   * });
   */
  registerOperator(operator: OwnOperator): void;
  /**
   * Imports a module and registers every exported object with a `schema` as an operator. Use it with
   * the client, whose engine lives in a worker that functions do not reach. Gives the schemas.
   * @example
   * await client.importOperators({ url: new URL("./operators.mjs", import.meta.url).href });
   */
  importOperators(module: ModuleUrl): Promise<string[]>;
  /**
   * Names a pass of your own, as long as the engine lives. Every list of passes then takes the
   * name. Fails with the code "argument" if another pass has it.
   * @example
   * engine.registerPass(function eraseDead({ graph }) {
   *   graph.eraseDead();
   * });
   * engine.lower("model.pt2", { transformPasses: ["eraseDead"] });
   */
  registerPass(pass: PassFunction, name?: string): void;
  /**
   * Imports a module and registers every function that it exports as a pass, under its exported
   * name. Use it with the client, whose engine lives in a worker. Gives the names.
   * @example
   * await client.importPasses({ url: new URL("./passes.mjs", import.meta.url).href });
   */
  importPasses(module: ModuleUrl): Promise<string[]>;
  /**
   * Names a partitioner of your own, as long as the engine lives. The name may then be used
   * wherever a backend's name may be. Fails with the code "argument" if the name is taken.
   * @example
   * engine.registerPartitioner(function firstLinear({ graph }) {
   *   const nodes = graph.find("aten::addmm").slice(0, 1);
   *   return { tags: [{ tag: "first", backend: "xnnpack", nodes }] };
   * });
   * engine.lower("model.pt2", { partitioner: "firstLinear" });
   */
  registerPartitioner(partitioner: PartitionFunction | OwnPartitioner, name?: string): void;
  /**
   * Imports a module and registers every exported object with a function `partition` as a
   * partitioner, under its exported name. Use it with the client, whose engine lives in a worker.
   * Gives the names.
   * @example
   * await client.importPartitioners({ url: new URL("./partitioners.mjs", import.meta.url).href });
   */
  importPartitioners(module: ModuleUrl): Promise<string[]>;
  /**
   * Names a memory planner of your own, as long as the engine lives. The option `memoryPlanning`
   * then takes the name. Fails with the code "argument" if the name is taken.
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
   * Imports a module and registers every exported function as a memory planner, under its exported
   * name. Use it with the client, whose engine lives in a worker. Gives the names.
   * @example
   * await client.importMemoryPlanners({ url: new URL("./planners.mjs", import.meta.url).href });
   */
  importMemoryPlanners(module: ModuleUrl): Promise<string[]>;
}

/** The address of a JavaScript module. */
export type ModuleUrl = string | HostUrl | Pick<UrlRef, "url">;

/**
 * The module: an address, its bytes, a Response of `fetch`, or a Module, as edge functions import
 * it.
 */
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
  /**
   * The module. By default it is the fastest flavour for this host, in the folder of this script:
   * sconce.wasm, relaxed.wasm, threads.wasm or relaxed-threads.wasm.
   */
  wasm?: WasmSource;
  /**
   * The number of threads that may work on one call, the engine's own included. "auto", the default,
   * is half of the machine's threads, at most 8, and at least 2 if there are 2. They start when
   * programs have had work for them. Pages need cross-origin isolation and `createClient`. A host
   * that cannot use threads has one, and `capabilities` gives the reason.
   */
  threads?: "auto" | number;
  /**
   * "auto", the default, uses relaxed SIMD where the host has it. Floats are then rounded less often,
   * so that last digits differ from those of the "baseline".
   */
  simd?: "auto" | "baseline";
  /** True for results that are the same on every host, to the bit. It chooses the baseline. */
  deterministic?: boolean;
  /**
   * Receives the engine's notes, which are neither results nor errors. By default they are dropped.
   */
  onLog?: (severity: "note" | "warning" | "error", text: string) => void;
}
