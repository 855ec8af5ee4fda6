// One instance of the module with its host side: sources by number, progress, and the translation of
// statuses into errors. A panic or trap poisons it for good.
import type { Pointer, RawExports, RawImports } from "./abi.gen.js";
import { SconceError, SconcePanic } from "./errors.js";
import { instantiate } from "./loader.js";
import { Memory } from "./memory.js";
import { toRandomAccess } from "./source.js";
import type {
  CallOptions,
  Diagnostic,
  EngineOptions,
  ErrorCode,
  RandomAccess,
  Source,
  WasmSource,
} from "./types.js";

interface RawDiagnostic extends Omit<Diagnostic, "stackTrace"> {
  stack_trace: string;
}

const SEVERITIES = ["note", "warning", "error"] as const;

export class Core {
  readonly raw: RawExports;
  readonly memory: Memory;
  private readonly sources = new Map<number, RandomAccess>();
  private nextSource = 1;
  private options: CallOptions = {};
  private dead: SconcePanic | undefined;
  /** What a source threw while C was reading it: the call's real error. */
  private readError: unknown;

  private constructor(
    raw: RawExports,
    private readonly onLog: EngineOptions["onLog"],
  ) {
    this.raw = raw;
    this.memory = new Memory(raw);
  }

  static async create(wasm: WasmSource, options: EngineOptions): Promise<Core> {
    // The imports are needed before the instance they serve exists.
    let core: Core | undefined;
    const self = (): Core => {
      if (!core) throw new SconcePanic("the module called its host while starting");
      return core;
    };
    const imports: RawImports = {
      read: (source, offset, target, bytes) => self().read(source, offset, target, bytes),
      progress: (phase, done, total) => self().progress(phase, done, total),
      log: (severity, text, bytes) => self().log(severity, text, bytes),
      now: () => performance.now(),
      panic: (file, line, message) => self().panic(file, line, message),
    };
    core = new Core(await instantiate(wasm, imports), options.onLog);
    return core;
  }

  // --- Imports ---

  private read(id: number, offset: number, target: Pointer, bytes: number): number {
    try {
      const chunk = this.sources.get(id)?.read(offset, bytes >>> 0);
      if (!chunk || chunk.length !== bytes >>> 0) return 1;
      this.memory.bytes(target >>> 0, chunk.length).set(chunk);
      return 0;
    } catch (error) {
      this.readError = error;
      return 1;
    }
  }

  private progress(phase: Pointer, done: number, total: number): number {
    if (this.options.signal?.aborted) return 1;
    this.options.onProgress?.({ phase: this.memory.zeroTerminated(phase >>> 0), done, total });
    return this.options.signal?.aborted ? 1 : 0;
  }

  private log(severity: number, text: Pointer, bytes: number): void {
    this.onLog?.(SEVERITIES[severity] ?? "note", this.memory.text(text >>> 0, bytes >>> 0));
  }

  private panic(file: Pointer, line: number, message: Pointer): never {
    const text = (address: Pointer): string => this.memory.zeroTerminated(address >>> 0);
    throw new SconcePanic(`${text(message)} (${text(file)}:${line})`);
  }

  // --- Calls ---

  /** Runs something that enters the module. Anything thrown from inside but our own errors is a trap. */
  enter<T>(options: CallOptions, body: () => T): T {
    if (this.dead) throw this.dead;
    if (options.signal?.aborted)
      throw new SconceError("cancelled", "the call was cancelled", "Start again when ready.");
    const outer = this.options;
    this.options = options;
    try {
      return body();
    } catch (error) {
      if (error instanceof SconcePanic) this.dead = error;
      else if (error instanceof WebAssembly.RuntimeError || error instanceof RangeError) {
        this.dead = new SconcePanic(`the engine stopped: ${error.message}`);
        throw this.dead;
      }
      throw error;
    } finally {
      this.options = outer;
    }
  }

  /** Throws the report of a failed call. */
  check(session: Pointer, status: number): void {
    if (status === 0) return;
    this.raw.report(session, status);
    const report = JSON.parse(this.text(session)) as {
      status: ErrorCode;
      diagnostics: RawDiagnostic[];
    };
    const cause = this.readError;
    this.readError = undefined;
    const diagnostics = report.diagnostics.map(({ stack_trace, ...rest }) => ({
      ...rest,
      stackTrace: stack_trace,
    }));
    const error = SconceError.fromDiagnostics(report.status, diagnostics);
    if (cause !== undefined) error.cause = cause;
    throw error;
  }

  /** The text result of the last call. */
  text(session: Pointer): string {
    return this.memory.text(this.raw.text_data(session), this.raw.text_size(session));
  }

  // --- Sources ---

  /** A source inside a session. It stays registered, under its number, until `release`. */
  addSource(session: Pointer, source: Source, registered: number[]): Pointer {
    const access = toRandomAccess(source);
    const id = this.nextSource++;
    this.sources.set(id, access);
    registered.push(id);
    return this.raw.source_host(session, id, access.size);
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

  kill(): void {
    this.dead ??= new SconcePanic("the engine was disposed", "disposed");
  }
}

/** A session with the sources it reads. Closed once its last owner has let go. */
export class Session {
  readonly handle: Pointer;
  readonly sources: number[] = [];
  private owners = 1;

  constructor(readonly core: Core) {
    this.handle = core.enter({}, () => core.raw.session_open());
    if (this.handle === 0) throw new SconcePanic("no memory for a session", "out_of_memory");
  }

  retain(): this {
    this.owners++;
    return this;
  }

  release(): void {
    if (--this.owners > 0) return;
    this.core.release(this.sources);
    try {
      this.core.enter({}, () => this.core.raw.session_close(this.handle));
    } catch (error) {
      // A dead engine's memory goes with it.
      if (!(error instanceof SconcePanic)) throw error;
    }
  }

  /** A call that returns a status; throws its report when it fails. */
  call(options: CallOptions, body: (raw: RawExports, session: Pointer) => number): void {
    this.core.enter(options, () => this.core.check(this.handle, body(this.core.raw, this.handle)));
  }

  /** The same for calls with a text result. */
  textOf(body: (raw: RawExports, session: Pointer) => number): string {
    return this.core.enter({}, () => {
      this.core.check(this.handle, body(this.core.raw, this.handle));
      return this.core.text(this.handle);
    });
  }

  addSource(source: Source): Pointer {
    return this.core.enter({}, () => this.core.addSource(this.handle, source, this.sources));
  }
}
