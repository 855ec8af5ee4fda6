// The engine: everything Sconce does, synchronously and on this thread. Each call works in a
// job of its own, so that disposing what it returned frees all that it took.
import { checkTable, ENGINE_OPTIONS } from "./base/check.js";
import { checkSuites } from "./program/bundle.js";
import { open } from "./lower/compile.js";
import { isOpened } from "./lower/manager.js";
import { checkPrograms, inflatePrograms } from "./lower/open.js";
import { ENGINE } from "./builds.js";
import type { AddressOf } from "./loader.js";
import { Core } from "./module/core.js";
import { inJob, type Job } from "./module/job.js";
import { CoreOwner } from "./module/core_owner.js";
import { prepareHost } from "./base/host.js";
import { openInspector } from "./record/inspector.js";
import { loadProgram } from "./program/loaded.js";
import { WholeProgram } from "./program/program.js";
import { isPlannerWord } from "./call/options.js";
import { checkOptions } from "./call/protocol.js";
import { parseRecord } from "./record/record.js";
import { makeSession } from "./recipe/session.js";
import { showAs } from "./base/shown.js";
import { LIBRARY } from "./pass/library.js";
import type {
  BundleOptions,
  CallOptions,
  CompilationReport,
  EdgeProgramManager,
  Engine,
  EngineOptions,
  ETRecord,
  ExecutorchProgramManager,
  ExportOptions,
  GivenTestSuite,
  ExportSession,
  Inspector,
  InspectorFiles,
  InspectorOptions,
  LoadOptions,
  LowerOptions,
  Meta,
  ModuleUrl,
  OpenedPrograms,
  OwnPartitioner,
  PartitionFunction,
  PassFunction,
  PlanMemory,
  Program,
  Programs,
  Source,
  ToEdgeOptions,
  TransformAndLowerOptions,
} from "./types/index.js";

class SyncEngine extends CoreOwner implements Engine {
  readonly [Symbol.toStringTag] = "Engine";
  private tables: Meta | undefined;

  constructor(core: Core) {
    super(core);
    for (const { name, pass } of LIBRARY) core.passes.add(pass, name, () => false);
  }

  /** Works in a fresh job, which stays open only if the work succeeds and keeps it. */
  private inJob<T>(body: (job: Job) => T, keep: boolean): T {
    return inJob(this.core, body, keep);
  }

  meta(): Meta {
    if (this.tables) return this.tables;
    const tables = this.inJob(
      (job) => JSON.parse(job.textOf((raw, s) => raw.meta(s))) as Meta,
      false,
    );
    for (const { name, summary } of LIBRARY)
      tables.passes.push({ name, summary, stage: "edge", named: true });
    return (this.tables = tables);
  }

  bundle(
    program: Source,
    suites: readonly GivenTestSuite[],
    options: BundleOptions = {},
  ): Uint8Array<ArrayBuffer> {
    checkOptions("Engine", "bundle", options);
    const checked = checkSuites(suites);
    const loaded = this.loaded(program, options, "bundle");
    try {
      return loaded.bundle(checked, options);
    } finally {
      loaded.dispose();
    }
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

  createExportSession(programs: Programs | OpenedPrograms, options: ExportOptions): ExportSession {
    return this.session("createExportSession", programs, options);
  }

  async export(
    programs: Programs | OpenedPrograms,
    options: ExportOptions,
  ): Promise<ExportSession> {
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
    programs: Programs | OpenedPrograms,
    options: ExportOptions | undefined,
  ): ExportSession {
    // Without options there is no recipe either, and the error of that lists them.
    const given = options === undefined ? ({} as ExportOptions) : options;
    checkOptions("Engine", call, given ?? null);
    if (!isOpened(programs)) checkPrograms(programs);
    return makeSession(this, programs, given);
  }

  inflate(programs: Programs): Promise<Programs> {
    return inflatePrograms(this.core, programs);
  }

  inspect(programs: Programs): CompilationReport {
    const opened = this.opened(programs, {});
    try {
      return opened.inspect();
    } finally {
      opened.dispose();
    }
  }

  load(pte: Source, options: LoadOptions = {}): Program {
    checkOptions("Engine", "load", options);
    return this.loaded(pte, options, "load");
  }

  private loaded(pte: Source, options: LoadOptions, call: "load" | "bundle"): WholeProgram {
    return this.inJob((job) => {
      const program = loadProgram(job, pte, options, WholeProgram, call);
      job.own(program);
      return program;
    }, true);
  }

  inspector(files: InspectorFiles, options: InspectorOptions = {}): Inspector {
    checkOptions("Engine", "inspector", options);
    return this.inJob((job) => openInspector(job, files, options), true);
  }

  parseEtrecord(source: Source): ETRecord {
    return this.inJob((job) => parseRecord(this.core, job, source), true);
  }

  private readonly isPass = (name: string): boolean =>
    this.meta().passes.some((own) => own.name === name);

  private readonly isBackend = (name: string): boolean =>
    this.meta().backends.some((own) => own.name === name || own.id === name);

  registerPass(pass: PassFunction, name?: string): void {
    this.core.passes.add(pass, name, this.isPass);
  }

  importPasses(module: ModuleUrl): Promise<string[]> {
    return this.core.passes.import(module, this.isPass);
  }

  registerPartitioner(partitioner: PartitionFunction | OwnPartitioner, name?: string): void {
    this.core.partitioners.add(partitioner, name, this.isBackend);
  }

  importPartitioners(module: ModuleUrl): Promise<string[]> {
    return this.core.partitioners.import(module, this.isBackend);
  }

  registerMemoryPlanner(planner: PlanMemory, name?: string): void {
    this.core.planners.add(planner, name, isPlannerWord);
  }

  importMemoryPlanners(module: ModuleUrl): Promise<string[]> {
    return this.core.planners.import(module, isPlannerWord);
  }

  override dispose(): void {
    this.tables = undefined;
    super.dispose();
  }
}

showAs(SyncEngine.prototype, "Engine", (engine) => engine.summary());

/** Makes an engine, with the module that the options have or one of those at these addresses. */
export async function makeEngine(
  options: EngineOptions,
  of: AddressOf | undefined,
): Promise<Engine> {
  checkTable("createEngine()", options, ENGINE_OPTIONS);
  await prepareHost();
  return new SyncEngine(await Core.create(options, { build: ENGINE, of }));
}
