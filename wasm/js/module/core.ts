// One instance of the module with its host side: sources by number, progress, and the translation of
// statuses into errors. A panic or trap poisons it for good.
import type { Pointer, RawExports, RawImports } from "../border/abi.gen.js";
import { QUESTION } from "../border/question.gen.js";
import { Backends } from "../backend/backends.js";
import { Operators } from "../backend/operators.js";
import {
  busy,
  cancelled,
  disposed,
  messageOf,
  SconceError,
  SconcePanic,
  withReason,
} from "../base/errors.js";
import { camelKeys } from "../base/keys.js";
import { choose, hasRelaxedSimd } from "../flavour.js";
import { instantiate, type Origin, type Started } from "../loader.js";
import { Memory } from "../base/memory.js";
import { Registered } from "./registered.js";
import { readySource, toRandomAccess, type EngineSource } from "../source/access.js";
import { BytesSource, readExactly } from "../source/bytes.js";
import { FileSource } from "../source/file.js";
import { isInflated } from "../source/kinds.js";
import { WindowedSource } from "../source/windows.js";
import type { Phase } from "../border/steps.gen.js";
import { Team } from "../threads/team.js";
import { Undisposed } from "../base/undisposed.js";
import type {
  CallOptions,
  Capabilities,
  Diagnostic,
  EngineOptions,
  ErrorCode,
  InflatedArchive,
  ModuleFlavour,
  RandomAccess,
} from "../types/index.js";

interface Report {
  status: ErrorCode;
  diagnostics: Diagnostic[];
}

const SEVERITIES = ["note", "warning", "error"] as const;

/** The codes of what backends and operators of callers throw. */
const OF_CALLERS: ReadonlySet<string> = new Set(["delegate", "operator"]);

const CALLBACKS_MAX = 2;

/** The options of a call into the module. */
export interface HostOptions extends CallOptions {
  /** Runs a pass of the caller's own, by its number, over a method. */
  runPass?: ((number: number, method: string) => void) | undefined;
  /** Which values of delegates are recorded. */
  keepsValue?: ((id: string | number) => boolean) | undefined;
}

/** The part of a job that the engine needs. */
interface Enterable {
  /** True while a call of this job has called back and waits for the answer. */
  isWaiting: boolean;
  release(): void;
}

/** The module and what works on its memory: all that a dead engine lets go of. */
interface Instance {
  readonly raw: RawExports;
  readonly memory: Memory;
  readonly backends: Backends;
  readonly operators: Operators;
  readonly team: Team | undefined;
}

/** An instance of the module, and everything that works on its memory. */
export class Core {
  private instance: Instance | undefined;
  /** Passes of the caller's own that have names. */
  readonly passes = Registered.passes();
  /** Partitioners of the caller's own that have names. */
  readonly partitioners = Registered.partitioners();
  /** The memory planners of the caller's own, by name. */
  readonly planners = Registered.planners();
  private readonly sources = new Map<number, RandomAccess>();
  private nextSource = 1;
  private readonly phases = new Map<Pointer, Phase>();
  private options: HostOptions = {};
  /** The job of the innermost call. */
  private active: Enterable | undefined;
  /** Calls that are under way, each inside of a callback of the one before. */
  private calls = 0;
  /** Callbacks that are running, each inside a call that the one before made. */
  private callbacks = 0;
  private dead: SconceError | undefined;
  /** The error that a source threw while C was reading it: the call's real error. */
  private readError: unknown;
  /** The error that a backend or an operator threw, likewise. */
  private backendError: unknown;
  /** The error that a listener threw. It may not unwind C, so it waits until the call is over. */
  private thrown: { error: unknown } | undefined;

  private readonly undisposed = new Undisposed();
  /** Jobs by their owners: one that nobody can reach any more releases its share. */
  private readonly forgotten =
    typeof FinalizationRegistry === "undefined"
      ? undefined
      : new FinalizationRegistry<Enterable>((job) => this.releaseForgotten(job));

  /** The flavour of the module. */
  readonly flavour: ModuleFlavour;
  /** The number of threads that may work on one call. */
  readonly threads: number;
  /** The reasons against a faster flavour, and for fewer threads. */
  readonly reasons: string[];
  private readonly onLog: EngineOptions["onLog"];

  private constructor(
    { raw, module, memory: shared, flavour, reasons }: Started,
    width: number,
    { onLog, threads = "auto" }: EngineOptions,
    script: string,
  ) {
    const found = [...reasons];
    const note = (why: string): void => {
      found.push(why);
      onLog?.("note", `${why}; the engine goes on without it`);
    };
    const team =
      shared && width > 1 ? new Team(raw, module, shared, width, note, script) : undefined;
    const memory = new Memory(raw);
    const backends = new Backends(raw, memory);
    this.instance = { raw, memory, backends, operators: new Operators(raw, memory), team };
    this.flavour = flavour;
    this.threads = team ? width : 1;
    this.reasons = found;
    this.onLog = onLog;
    if (threads === "auto") return;
    team?.begin();
    if (threads > this.threads) onLog?.("note", `there is one thread: ${found.at(-1)}`);
  }

  capabilities(): Capabilities {
    const { flavour, threads, reasons } = this;
    const relaxedSimd = hasRelaxedSimd();
    return { simd: true, relaxedSimd, threads, binary: flavour, reasons: [...reasons] };
  }

  /** The instance; throws once the engine is dead and its memory is gone. */
  private get live(): Instance {
    if (!this.instance) throw this.dead ?? disposed("Engine");
    return this.instance;
  }

  get raw(): RawExports {
    return this.live.raw;
  }

  get memory(): Memory {
    return this.live.memory;
  }

  get backends(): Backends {
    return this.live.backends;
  }

  get operators(): Operators {
    return this.live.operators;
  }

  static async create(options: EngineOptions, origin: Origin): Promise<Core> {
    // The imports are needed before the instance they serve exists.
    let core: Core | undefined;
    const made = (): Core => {
      if (!core) throw new SconcePanic("the module called its host while starting");
      return core;
    };
    const imports: RawImports = {
      read: (source, offset, target, bytes) => made().read(source, offset, target, bytes),
      progress: (phase, done, total) => made().progress(phase, done, total),
      log: (severity, text, bytes) => made().log(severity, text, bytes),
      now: () => performance.now(),
      keeps_value: (id, bytes, number) => made().keepsValue(id >>> 0, bytes, number),
      backend: (number, ask, kind, delegate, json, bytes) =>
        made().askBackend(number, ask >>> 0, kind, delegate, made().memory.text(json >>> 0, bytes)),
      pass: (number, method, bytes) =>
        made().runPass(number >>> 0, made().memory.text(method >>> 0, bytes >>> 0)),
      panic: (file, line, message) => made().panic(file, line, message),
    };
    const choice = choose(options);
    const started = await instantiate(options.wasm, choice, origin, imports);
    core = new Core(started, choice.width, options, origin.build.worker);
    return core;
  }

  // --- Imports ---

  private read(id: number, offset: number, target: Pointer, bytes: number): number {
    try {
      const source = this.sources.get(id)!;
      if (source instanceof FileSource) {
        source.readInto(offset, this.memory.bytes(target >>> 0, bytes >>> 0));
      } else {
        const chunk = this.calledBack(() => readExactly(source, offset, bytes >>> 0));
        this.memory.bytes(target >>> 0, chunk.length).set(chunk);
      }
      return 0;
    } catch (error) {
      this.readError = error;
      return 1;
    }
  }

  private progress(phase: Pointer, done: number, total: number): number {
    const { signal, onProgress } = this.options;
    if (this.dead || signal?.aborted) return 1;
    if (!onProgress) return 0;
    const name = this.phaseAt(phase >>> 0);
    this.listener(() => onProgress({ phase: name, done, total }));
    return this.isDead || signal?.aborted || this.thrown ? 1 : 0;
  }

  /** The name of a phase, which stays where it is. */
  private phaseAt(address: Pointer): Phase {
    let name = this.phases.get(address);
    if (!name) this.phases.set(address, (name = this.memory.zeroTerminated(address) as Phase));
    return name;
  }

  private log(severity: number, text: Pointer, bytes: number): void {
    const message = this.memory.text(text >>> 0, bytes >>> 0);
    this.listener(() => this.onLog?.(SEVERITIES[severity] ?? "note", message));
  }

  private keepsValue(id: Pointer, bytes: number, number: number): number {
    const { keepsValue } = this.options;
    return (keepsValue?.(id === 0 ? number : this.memory.text(id, bytes)) ?? true) ? 1 : 0;
  }

  private listener(call: () => void): void {
    try {
      this.calledBack(call);
    } catch (error) {
      this.thrown ??= { error };
    }
  }

  private runPass(number: number, method: string): number {
    try {
      this.calledBack(() => this.options.runPass!(number, method));
      return 1;
    } catch (error) {
      this.thrown ??= { error };
      return 0;
    }
  }

  private askBackend(
    number: number,
    ask: Pointer,
    kind: number,
    delegate: number,
    json: string,
  ): number {
    try {
      const isOfOperator = kind === QUESTION.inferOperator || kind === QUESTION.runOperator;
      return this.calledBack(() =>
        isOfOperator
          ? this.operators.ask(number, ask, kind, json)
          : this.backends.ask(number, ask, kind, delegate, json),
      )
        ? 1
        : 0;
    } catch (error) {
      this.backendError = error;
      // The core asks these two without an answer that could fail.
      if (kind === QUESTION.keeps || kind === QUESTION.destroy) this.thrown ??= { error };
      return 0;
    }
  }

  /** Runs what callers gave while a job is in the middle of a call, which it must not enter. */
  private calledBack<T>(call: () => T): T {
    const job = this.active;
    const wasWaiting = job?.isWaiting ?? false;
    if (job) job.isWaiting = true;
    this.callbacks++;
    try {
      return call();
    } finally {
      this.callbacks--;
      if (job) job.isWaiting = wasWaiting;
    }
  }

  private panic(file: Pointer, line: number, message: Pointer): never {
    const text = (address: Pointer): string => this.memory.zeroTerminated(address >>> 0);
    throw new SconcePanic(`${text(message)} (${text(file)}:${line})`);
  }

  // --- Calls ---

  /**
   * Runs something that enters the module, for a job unless it is about to have one. Anything
   * thrown from inside but our own errors is a trap. A callback may enter again, for another job.
   */
  enter<T>(job: Enterable | undefined, options: HostOptions, body: () => T): T {
    if (this.dead) throw this.dead;
    if (options.signal?.aborted) throw cancelled(options.signal);
    const { readError, backendError, thrown } = this;
    const outer = [this.options, this.active] as const;
    this.options = options;
    this.active = job;
    this.readError = this.backendError = this.thrown = undefined;
    let result: T | undefined;
    let failed: { error: unknown } | undefined;
    this.calls++;
    try {
      result = body();
    } catch (error) {
      failed = { error: this.judged(error) };
    } finally {
      this.calls--;
    }
    const outcome = this.thrown ?? (this.isDead ? { error: this.dead } : failed);
    [this.options, this.active] = outer;
    Object.assign(this, { readError, backendError, thrown });
    this.letGoIfDead();
    if (outcome) throw outcome.error;
    if (this.calls === 0) this.instance?.team?.beginIfUseful();
    return result as T;
  }

  /** True if no call waits for a callback. */
  get isIdle(): boolean {
    return this.callbacks === 0;
  }

  /** Throws where calls are nested so deeply that the module's stack might not suffice. */
  mayEnter(): void {
    if (this.callbacks >= CALLBACKS_MAX) throw busy("the engine");
  }

  /** The error to throw; a trap or a panic poisons the engine. */
  private judged(error: unknown): unknown {
    if (error instanceof SconcePanic) this.dead = error;
    else if (error instanceof WebAssembly.RuntimeError || error instanceof RangeError)
      return (this.dead = new SconcePanic(`the engine stopped: ${error.message}`));
    return error;
  }

  /** Throws the report of a failed call. */
  check(job: Pointer, status: number): void {
    if (status === 0) return;
    this.raw.report(job, status);
    const report = camelKeys(JSON.parse(this.text(job))) as Report;
    const { diagnostics } = report;
    const cause = this.readError;
    const failed = diagnostics.find((d) => d.code === "io");
    if (cause !== undefined && failed) {
      failed.message += `: ${messageOf(cause)}`;
      if (cause instanceof SconceError) failed.hint = cause.hint;
    }
    const { backendError } = this;
    if (backendError instanceof SconceError)
      for (const d of diagnostics)
        if (OF_CALLERS.has(d.code) && d.message === backendError.message)
          d.hint = backendError.hint;
    const error = withReason(
      SconceError.fromDiagnostics(report.status, diagnostics),
      this.options.signal,
    );
    if (cause !== undefined && report.status === "io") error.cause = cause;
    if (!(backendError instanceof Error) || !OF_CALLERS.has(report.status)) throw error;
    error.cause = backendError.cause ?? backendError;
    throw backendError instanceof SconceError ? error.ofMethod(backendError.method) : error;
  }

  /** The text result of the last call. */
  text(job: Pointer): string {
    return this.memory.text(this.raw.text_data(job), this.raw.text_size(job));
  }

  // --- Sources ---

  /** A source inside a job. It stays registered, under its number, until `release`. */
  addSource(job: Pointer, source: EngineSource, what: string, registered: number[]): Pointer {
    if (isInflated(source)) return this.addInflated(job, source, what, registered);
    const access = toRandomAccess(source, what);
    const id = this.nextSource++;
    this.sources.set(id, access);
    registered.push(id);
    return this.raw.source_host(job, id, access.size, access instanceof WindowedSource ? 1 : 0);
  }

  private addInflated(
    job: Pointer,
    { archive, entries }: InflatedArchive,
    what: string,
    registered: number[],
  ): Pointer {
    const add = (source: EngineSource): Pointer => this.addSource(job, source, what, registered);
    const base = add(readySource(archive, what));
    return this.memory.withNumbers(entries.map(add), (list, count) =>
      this.memory.with(4, (out) => {
        this.check(job, this.raw.archive_inflated(job, base, list, count, out));
        return this.memory.number(out);
      }),
    );
  }

  /** A range of a registered source. */
  readSource(id: number, offset: number, length: number): Uint8Array {
    try {
      return readExactly(this.sources.get(id)!, offset, length);
    } catch (error) {
      if (error instanceof SconceError) throw error;
      throw new SconceError(
        "io",
        `cannot read ${length} bytes at offset ${offset} of the file: ${messageOf(error)}`,
        "Check that the file can be read and has not changed on disk.",
      );
    }
  }

  /**
   * Reads as many bytes as `target` has, if that needs neither the module nor the caller; false when
   * it does, or fails: the module tells what is wrong.
   */
  readInto(id: number, offset: number, target: Uint8Array): boolean {
    const source = this.sources.get(id);
    if (!(source instanceof FileSource) && !(source instanceof BytesSource)) return false;
    try {
      source.readInto(offset, target);
      return true;
    } catch {
      return false;
    }
  }

  source(id: number): RandomAccess | undefined {
    return this.sources.get(id);
  }

  release(ids: readonly number[]): void {
    for (const id of ids) {
      this.sources.get(id)?.close?.();
      this.sources.delete(id);
    }
  }

  // --- Owners ---

  /** Releases a share of the job once its owner is unreachable, unless `unwatch` comes first. */
  watch(owner: object, job: Enterable): void {
    if (!this.forgotten) return;
    this.forgotten.register(owner, job, owner);
    this.undisposed.made();
  }

  unwatch(owner: object): void {
    if (this.forgotten?.unregister(owner)) this.undisposed.gone();
  }

  /** Runs between turns, so that no call is under way. Nobody waits for it: a failure is logged. */
  private releaseForgotten(job: Enterable): void {
    this.undisposed.gone();
    try {
      job.release();
    } catch (error) {
      this.onLog?.("warning", messageOf(error));
    }
  }

  get isDead(): boolean {
    return this.dead !== undefined;
  }

  kill(): void {
    const isFirst = !this.isDead;
    this.dead ??= disposed("Engine");
    try {
      // In the middle of a call what was started may be at work.
      if (isFirst && this.callbacks === 0) this.backends.close();
    } finally {
      this.letGoIfDead();
    }
  }

  /**
   * Gives the memory and the files of a dead engine back, however many objects of it are still
   * referenced. Calls that are under way keep both: the last of them to return does it.
   */
  private letGoIfDead(): void {
    if (!this.dead || this.calls > 0) return;
    // An error that was made inside of a call keeps the module's frames until its stack is read.
    void this.dead.stack;
    this.instance?.team?.end();
    this.instance = undefined;
    for (const id of [...this.sources.keys()]) {
      try {
        this.release([id]);
      } catch (error) {
        this.onLog?.("warning", messageOf(error));
      }
    }
  }
}
