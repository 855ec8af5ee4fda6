// The engine: everything Sconce does, synchronously and on this thread. Each call works in a
// job of its own, so that disposing what it returned frees all that it took.
import { badArgument, checkTable, ENGINE_OPTIONS, isObject } from "./check.js";
import { checkSuites } from "./bundle.js";
import { open } from "./compile.js";
import { checkPrograms, inflatePrograms } from "./open.js";
import { Core, Job } from "./core.js";
import { messageOf, SconceError } from "./errors.js";
import { prepareHost } from "./host.js";
import { openInspector } from "./inspector.js";
import { dtypeTable, loadProgram, type DTypeTable } from "./program.js";
import { checkOptions } from "./protocol.js";
import { parseRecord } from "./record.js";
import { makeSession } from "./session.js";
import { absoluteUrl } from "./source/address.js";
import { isPlace } from "./source/kinds.js";
import type {
  Backend,
  BundleOptions,
  CallOptions,
  Capabilities,
  CompilationReport,
  EdgeProgramManager,
  Engine,
  EngineOptions,
  ETRecord,
  ExecutorchProgramManager,
  ExportOptions,
  ExportSession,
  Inspector,
  InspectorFiles,
  InspectorOptions,
  LoadOptions,
  LowerOptions,
  Meta,
  OpenedPrograms,
  Program,
  Programs,
  Source,
  TestSuite,
  ToEdgeOptions,
  TransformAndLowerOptions,
} from "./types.js";

class SyncEngine implements Engine {
  readonly [Symbol.toStringTag] = "Engine";
  readonly version: string;
  private tables: Meta | undefined;

  constructor(
    private readonly core: Core,
    private readonly found: Capabilities,
  ) {
    this.version = core.memory.zeroTerminated(core.raw.version());
  }

  /** Works in a fresh job, which stays open only if the work succeeds and keeps it. */
  private inJob<T>(body: (job: Job) => T, keep: boolean): T {
    const job = new Job(this.core);
    let done = false;
    try {
      const result = body(job);
      done = true;
      return result;
    } finally {
      if (!done || !keep) job.release();
    }
  }

  capabilities(): Capabilities {
    return { ...this.found, reasons: [...this.found.reasons] };
  }

  meta(): Meta {
    this.tables ??= this.inJob(
      (job) => JSON.parse(job.textOf((raw, s) => raw.meta(s))) as Meta,
      false,
    );
    return this.tables;
  }

  private get dtypes(): DTypeTable {
    return dtypeTable(this.meta());
  }

  bundle(program: Source, suites: readonly TestSuite[], options: BundleOptions = {}): Uint8Array {
    checkOptions("Engine", "bundle", options);
    const checked = checkSuites(suites);
    return this.inJob(
      (job) => loadProgram(job, program, options, this.dtypes, "bundle").bundle(checked, options),
      false,
    );
  }

  detect(source: Source): ReturnType<Engine["detect"]> {
    return this.inJob((job) => {
      const handle = job.addSource(source, "the source of detect()");
      return job.textOf((raw, s) => raw.detect(s, handle)) as ReturnType<Engine["detect"]>;
    }, false);
  }

  private opened(programs: Programs, options: CallOptions): ReturnType<typeof open> {
    return this.inJob((job) => open(job, programs, options), true);
  }

  private decomposed(
    programs: Programs,
    options: TransformAndLowerOptions,
  ): ReturnType<ReturnType<typeof open>["decompose"]> {
    const opened = this.opened(programs, options);
    const { partitioner, transformPasses } = options;
    try {
      return partitioner === undefined && transformPasses === undefined
        ? opened.decompose(options)
        : opened.transformAndLower(options);
    } finally {
      opened.dispose();
    }
  }

  open(programs: Programs, options: CallOptions = {}): OpenedPrograms {
    checkOptions("Engine", "open", options);
    return this.opened(programs, options);
  }

  toEdge(programs: Programs, options: ToEdgeOptions = {}): EdgeProgramManager {
    checkOptions("Engine", "toEdge", options);
    return this.decomposed(programs, options);
  }

  toEdgeTransformAndLower(
    programs: Programs,
    options: TransformAndLowerOptions = {},
  ): EdgeProgramManager {
    checkOptions("Engine", "toEdgeTransformAndLower", options);
    return this.decomposed(programs, options);
  }

  lower(programs: Programs, options: LowerOptions = {}): ExecutorchProgramManager {
    checkOptions("Engine", "lower", options);
    const edge = this.decomposed(programs, options);
    try {
      const lowered = edge.emit(options, true);
      return options.verify ? lowered.verified(options) : lowered;
    } finally {
      edge.dispose();
    }
  }

  createExportSession(programs: Programs, options: ExportOptions): ExportSession {
    return this.session("createExportSession", programs, options);
  }

  async export(programs: Programs, options: ExportOptions): Promise<ExportSession> {
    const session = this.session("export", programs, options);
    try {
      await session.run();
      return session;
    } catch (error) {
      session.dispose();
      throw error;
    }
  }

  private session(
    call: "export" | "createExportSession",
    programs: Programs,
    options: ExportOptions,
  ): ExportSession {
    checkOptions("Engine", call, options ?? null);
    checkPrograms(programs);
    return makeSession(this, programs, options);
  }

  inflate(programs: Programs): Promise<Programs> {
    return inflatePrograms(this.core, programs);
  }

  inspect(programs: Programs): CompilationReport {
    return this.inJob((job) => open(job, programs, {}).inspect(), false);
  }

  load(pte: Source, options: LoadOptions = {}): Program {
    checkOptions("Engine", "load", options);
    return this.inJob((job) => loadProgram(job, pte, options, this.dtypes), true);
  }

  inspector(files: InspectorFiles, options: InspectorOptions = {}): Inspector {
    checkOptions("Engine", "inspector", options);
    return this.inJob((job) => openInspector(job, files, options), true);
  }

  parseEtrecord(source: Source): ETRecord {
    return this.inJob((job) => parseRecord(this.core, job, source), true);
  }

  registerBackend<State>(backend: Backend<State>): void {
    const { backends, memory } = this.core;
    backends.add(backend as Backend, (number) =>
      this.inJob(
        (job) =>
          memory.withTexts([backend.id], (id, bytes) =>
            job.call({}, (raw, s) =>
              raw.backend_register(s, id!, bytes!, number, backend.keeps ? 1 : 0),
            ),
          ),
        false,
      ),
    );
  }

  async importBackend(module: Parameters<Engine["importBackend"]>[0]): Promise<string> {
    const url: unknown = isPlace(module) ? module : isObject(module) && module.url;
    if (!isPlace(url))
      throw badArgument("the module of importBackend()", "a URL, or { url }", module);
    const address = absoluteUrl(String(url));
    let found: unknown;
    try {
      ({ default: found } = (await import(/* @vite-ignore */ address)) as { default?: unknown });
    } catch (error) {
      const failed = new SconceError(
        "io",
        `the backend ${address} cannot be imported: ${messageOf(error)}`,
        "Pass the URL of a JavaScript module whose default export is a backend.",
      );
      failed.cause = error;
      throw failed;
    }
    this.registerBackend(found as Backend);
    return (found as Backend).id;
  }

  dispose(): void {
    this.core.kill();
  }
}

// A module of one function that holds one relaxed-SIMD instruction: valid only where those exist.
const RELAXED_PROBE = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 15, 1, 13, 0, 65, 1, 253, 15,
  65, 2, 253, 15, 253, 128, 2, 11,
]);

function probe(): Capabilities {
  const relaxed = WebAssembly.validate(RELAXED_PROBE);
  const isolated = (globalThis as { crossOriginIsolated?: boolean }).crossOriginIsolated === true;
  const reasons = ["this build has one thread"];
  if (!isolated)
    reasons.push("the page is not cross-origin isolated, so threads could not be used");
  return { simd: true, relaxedSimd: relaxed, threads: false, binary: "simd", reasons };
}

/**
 * Makes an engine on this thread. In a page, prefer the client, which keeps the page responsive.
 * @throws SconceError with the code "io" when the module cannot be loaded.
 */
export async function createEngine(options: EngineOptions = {}): Promise<Engine> {
  checkTable("createEngine()", options, ENGINE_OPTIONS);
  await prepareHost();
  const wasm = options.wasm ?? new URL("./sconce.wasm", import.meta.url);
  return new SyncEngine(await Core.create(wasm, options), probe());
}
