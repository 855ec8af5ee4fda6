// Lowering: the two managers, on one session that keeps every program it makes. An edge manager and
// what comes of it share the session, which closes when the last of them is disposed.
import type { Session } from "./core.js";
import { SconceError } from "./errors.js";
import { camelKeys } from "./meta.js";
import { isSource } from "./source.js";
import type {
  CallOptions,
  CompilationReport,
  ConstantValue,
  EdgeProgramManager,
  ExecutorchConfig,
  ExecutorchProgramManager,
  ExportedProgram,
  NodeRow,
  OpenedPrograms,
  Passes,
  Programs,
  Sink,
  Source,
  ToEdgeOptions,
} from "./types.js";

const CHUNK_BYTES_MAX = 1 << 20;
const CHUNK_KIND = { bytes: 0, extent: 1, zeros: 2 } as const;

function disposed(what: string): SconceError {
  return new SconceError(
    "disposed",
    `this ${what} was disposed`,
    "Make it again, or dispose it later.",
  );
}

/** JSON of an options object under the core's names. */
function optionsJson(options: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(
    Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)),
  );
}

function constantJson(value: ConstantValue): string {
  if (value === null || value === undefined) {
    throw new SconceError(
      "argument",
      `a constant method cannot answer ${String(value)}`,
      "Use a number, true, false, a string, or a list of them.",
    );
  }
  if (Array.isArray(value)) return `[${value.map(constantJson).join(",")}]`;
  if (typeof value === "bigint") return String(value);
  const double =
    typeof value === "number" && !Number.isInteger(value)
      ? value
      : typeof value === "object" && "double" in value
        ? value.double
        : undefined;
  if (double !== undefined) {
    const text = String(double);
    return /[.eEIN]/.test(text) ? text : `${text}.0`;
  }
  return JSON.stringify(value);
}

/** Opens files as methods of a fresh session. */
function openPrograms(session: Session, programs: Programs, options: CallOptions): void {
  const list: [string, Source][] = isSource(programs)
    ? [["", programs]]
    : Object.entries(programs ?? {});
  if (list.length === 0) {
    throw new SconceError(
      "argument",
      "there is no program to open",
      "Pass the source of a .pt2, or sources by method name.",
    );
  }
  for (const [method, source] of list) {
    const handle = session.addSource(source);
    session.core.memory.withTexts([method, ""], (name, nameBytes, model, modelBytes) =>
      session.call(options, (raw, s) =>
        raw.compile_open(s, handle, name!, nameBytes!, model!, modelBytes!),
      ),
    );
  }
}

function inspectCompilation(session: Session): CompilationReport {
  return camelKeys(
    JSON.parse(session.textOf((raw, s) => raw.compile_inspect(s))),
  ) as CompilationReport;
}

function textOf(session: Session, program: number, method: string): string {
  return session.core.memory.withTexts([method], (name, bytes) =>
    session.textOf((raw, s) => raw.compile_text(s, program, name!, bytes!)),
  );
}

function nodesOf(session: Session, program: number, method: string): NodeRow[] {
  return session.core.memory.withTexts(
    [method],
    (name, bytes) =>
      JSON.parse(
        session.textOf((raw, s) => raw.compile_nodes(s, program, name!, bytes!)),
      ) as NodeRow[],
  );
}

class MethodView implements ExportedProgram {
  constructor(
    private readonly session: () => Session,
    private readonly program: number,
    readonly method: string,
  ) {}
  text(): string {
    return textOf(this.session(), this.program, this.method);
  }
  nodes(): NodeRow[] {
    return nodesOf(this.session(), this.program, this.method);
  }
}

/** What both managers have: a share in a session, a program in it, and its methods' names. */
class Manager {
  private held: Session | undefined;

  constructor(
    session: Session,
    protected readonly program: number,
    readonly methods: readonly string[],
    readonly configMethods: readonly string[],
  ) {
    this.held = session;
  }

  protected get session(): Session {
    if (!this.held) throw disposed("program");
    return this.held;
  }

  exportedProgram(method?: string): ExportedProgram {
    const name = method ?? (this.methods.length === 1 ? this.methods[0]! : "forward");
    if (!this.methods.includes(name)) {
      throw new SconceError(
        "not_found",
        `there is no method '${name}'`,
        `Use one of: ${this.methods.join(", ")}.`,
      );
    }
    return new MethodView(() => this.session, this.program, name);
  }

  inspect(): CompilationReport {
    return inspectCompilation(this.session);
  }

  dispose(): void {
    this.held?.release();
    this.held = undefined;
  }
}

/** A manager that shows every program of its session. */
class ViewingManager extends Manager {
  text(program: number, method = ""): string {
    return textOf(this.session, program, method);
  }

  nodes(program: number, method: string): NodeRow[] {
    return nodesOf(this.session, program, method);
  }
}

class OpenedManager extends ViewingManager implements OpenedPrograms {
  toEdge(options: ToEdgeOptions = {}): EdgeProgramManager {
    const { session } = this;
    const constants = Object.entries(options.constantMethods ?? {});
    for (const [name, value] of constants) {
      session.core.memory.withTexts([name, constantJson(value)], (n, nBytes, v, vBytes) =>
        session.call(options, (raw, s) => raw.compile_constant_method(s, n!, nBytes!, v!, vBytes!)),
      );
    }
    const json = optionsJson({ snapshots: options.compileConfig?.snapshots });
    const program = programCall(session, options, [json], (raw, s, texts, out) =>
      raw.compile_to_edge(s, texts[0]!, texts[1]!, out),
    );
    const names = constants.map(([name]) => name);
    return new EdgeManager(session.retain(), program, this.methods, names);
  }
}

class EdgeManager extends ViewingManager implements EdgeProgramManager {
  transform(passes: Passes): EdgeProgramManager {
    const { session } = this;
    const steps: [string, readonly string[]][] = Array.isArray(passes)
      ? [["", passes as readonly string[]]]
      : Object.entries(passes as Record<string, readonly string[]>);
    let program = this.program;
    for (const [method, names] of steps) {
      program = programCall(session, {}, [method, JSON.stringify(names)], (raw, s, texts, out) =>
        raw.compile_transform(s, program, texts[0]!, texts[1]!, texts[2]!, texts[3]!, out),
      );
    }
    return new EdgeManager(session.retain(), program, this.methods, this.configMethods);
  }

  toExecutorch(config: ExecutorchConfig & CallOptions = {}): ExecutorchProgramManager {
    return this.emit(config, false);
  }

  /** With `consume` the graph itself is emitted, not a copy of it, and cannot be looked at any more. */
  emit(config: ExecutorchConfig & CallOptions, consume: boolean): ExecutorchProgramManager {
    const { session } = this;
    const json = optionsJson({
      consume,
      share_mutable_buffers: config.shareMutableBuffers,
      external_constants: config.externalConstants,
      segment_alignment: config.segmentAlignment,
      constant_tensor_alignment: config.constantTensorAlignment,
      alloc_graph_input: config.allocGraphInput,
      alloc_graph_output: config.allocGraphOutput,
      memory_planning: config.memoryPlanning,
    });
    const first = session.core.enter({}, () => session.core.raw.output_count(session.handle));
    const program = programCall(session, config, [json], (raw, s, texts, out) =>
      raw.compile_to_executorch(s, this.program, texts[0]!, texts[1]!, out),
    );
    const { methods, configMethods } = this;
    return new ExecutorchManager(session.retain(), program, methods, configMethods, first);
  }
}

/** toExecutorch of a manager that nobody will use again: half the memory of the graph. */
export function consumeEdge(
  edge: EdgeProgramManager,
  config: ExecutorchConfig & CallOptions,
): ExecutorchProgramManager {
  return (edge as EdgeManager).emit(config, true);
}

/** A call with text arguments whose result is the number of the program it made. */
function programCall(
  session: Session,
  options: CallOptions,
  texts: readonly string[],
  body: (raw: Session["core"]["raw"], s: number, texts: readonly number[], out: number) => number,
): number {
  const { memory } = session.core;
  return memory.with(8, (out) =>
    memory.withTexts(texts, (...pairs) => {
      session.call(options, (raw, s) => body(raw, s, pairs, out));
      return new DataView(memory.bytes(out, 4).buffer).getUint32(out, true);
    }),
  );
}

interface Chunk {
  kind: number;
  address: number;
  source: number;
  offset: number;
  size: number;
}

class ExecutorchManager extends Manager implements ExecutorchProgramManager {
  private readonly files: readonly { name: string; size: number }[];

  constructor(
    session: Session,
    program: number,
    methods: readonly string[],
    configMethods: readonly string[],
    /** Number of its first file among all that the session has made. */
    private readonly first: number,
  ) {
    super(session, program, methods, configMethods);
    this.files = session.core.enter({}, () => {
      const { raw } = session.core;
      const length = raw.output_count(session.handle) - first;
      return Array.from({ length }, (_, i) => ({
        name: session.textOf((r, s) => r.output_name(s, first + i)),
        size: raw.output_bytes(session.handle, first + i),
      }));
    });
  }

  override inspect(): CompilationReport {
    const report = super.inspect();
    const own = ({ program }: { program: number }): boolean => program === this.program;
    return { ...report, plans: report.plans.filter(own), outputs: report.outputs.filter(own) };
  }

  get size(): number {
    return this.files[0]!.size;
  }

  get dataFiles(): readonly { name: string; size: number }[] {
    return this.files.slice(1);
  }

  get buffer(): Uint8Array {
    return this.whole(0);
  }

  dataFile(name: string): Uint8Array {
    return this.whole(this.indexOf(name));
  }

  private indexOf(file: string | undefined): number {
    const index = file === undefined ? 0 : this.files.findIndex((f) => f.name === file);
    if (index >= 0) return index;
    throw new SconceError(
      "not_found",
      `there is no file '${file}'`,
      `Use one of: ${this.files.map((f) => f.name).join(", ")}.`,
    );
  }

  private *chunks(file: number): Generator<Chunk> {
    const { session } = this;
    const { raw, memory } = session.core;
    const count = session.core.enter({}, () =>
      raw.output_chunk_count(session.handle, this.first + file),
    );
    for (let i = 0; i < count; i++) {
      yield memory.with(40, (five) => {
        session.call({}, (r, s) => r.output_chunk(s, this.first + file, i, five));
        const [kind, address, source, offset, size] = memory.numbers(five, 5) as [
          number,
          number,
          number,
          number,
          number,
        ];
        return { kind, address, source, offset, size };
      });
    }
  }

  /** Pieces of at most a megabyte, in order. Each is the receiver's own. */
  private *pieces(file: number): Generator<Uint8Array> {
    const { memory } = this.session.core;
    let index = 0;
    for (const chunk of this.chunks(file)) {
      for (let at = 0; at < chunk.size; at += CHUNK_BYTES_MAX) {
        const bytes = Math.min(CHUNK_BYTES_MAX, chunk.size - at);
        if (chunk.kind === CHUNK_KIND.zeros) yield new Uint8Array(bytes);
        else if (chunk.kind === CHUNK_KIND.bytes) yield memory.copy(chunk.address + at, bytes);
        else {
          yield memory.with(bytes, (target) => {
            this.session.call({}, (raw, s) =>
              raw.output_read(s, this.first + file, index, at, target, bytes),
            );
            return memory.copy(target, bytes);
          });
        }
      }
      index++;
    }
  }

  private whole(file: number): Uint8Array {
    const all = new Uint8Array(this.files[file]!.size);
    let at = 0;
    for (const piece of this.pieces(file)) {
      all.set(piece, at);
      at += piece.length;
    }
    return all;
  }

  toBlob(): Blob {
    const parts: BlobPart[] = [];
    let index = 0;
    for (const chunk of this.chunks(0)) {
      const slice =
        chunk.kind === CHUNK_KIND.extent && chunk.source !== 0
          ? this.session.core.source(chunk.source)?.slice?.(chunk.offset, chunk.size)
          : undefined;
      parts.push(slice ?? (this.chunkBytes(index, chunk) as BlobPart));
      index++;
    }
    return new Blob(parts, { type: "application/octet-stream" });
  }

  private chunkBytes(index: number, chunk: Chunk): Uint8Array {
    const { memory } = this.session.core;
    if (chunk.kind === CHUNK_KIND.zeros) return new Uint8Array(chunk.size);
    if (chunk.kind === CHUNK_KIND.bytes) return memory.copy(chunk.address, chunk.size);
    const all = new Uint8Array(chunk.size);
    for (let at = 0; at < chunk.size; at += CHUNK_BYTES_MAX) {
      const bytes = Math.min(CHUNK_BYTES_MAX, chunk.size - at);
      memory.with(bytes, (target) => {
        this.session.call({}, (raw, s) => raw.output_read(s, this.first, index, at, target, bytes));
        all.set(memory.bytes(target, bytes), at);
      });
    }
    return all;
  }

  writeSync(write: (chunk: Uint8Array) => void, file?: string): void {
    for (const piece of this.pieces(this.indexOf(file))) write(piece);
  }

  async writeTo(sink: Sink): Promise<void> {
    if (typeof sink === "function") {
      for (const piece of this.pieces(0)) await sink(piece);
    } else if ("getWriter" in sink) {
      const writer = sink.getWriter();
      try {
        for (const piece of this.pieces(0)) await writer.write(piece);
        await writer.close();
      } catch (error) {
        await writer.abort(error);
        throw error;
      } finally {
        writer.releaseLock();
      }
    } else {
      for (const piece of this.pieces(0)) await sink.write(piece);
    }
  }

  dump(): string {
    return textOf(this.session, this.program, "");
  }
}

/** Opens files on a session that becomes what this returns. */
export function open(session: Session, programs: Programs, options: CallOptions): OpenedPrograms {
  openPrograms(session, programs, options);
  const methods = inspectCompilation(session).stages[0]!.methods.map((m) => m.name);
  return new OpenedManager(session, 0, methods, []);
}
