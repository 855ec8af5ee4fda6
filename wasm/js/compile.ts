// Lowering: the two managers, on one job that keeps every program it makes. An edge manager and
// what comes of it share the job, which closes when the last of them is disposed.
import { badArgument, jsonFor, KINDS, mustBe } from "./check.js";
import { constantJson } from "./constant.js";
import type { Core, Job } from "./core.js";
import { disposed, SconceError } from "./errors.js";
import { inflate, inflateSync } from "./inflate.js";
import { camelKeys } from "./meta.js";
import { optionsJson } from "./options.js";
import { Output } from "./output.js";
import { partitionersJson } from "./partition.js";
import { checkOptions } from "./protocol.js";
import { places, recordCall, RecordView } from "./record.js";
import { writeAll } from "./sink.js";
import { isSource, SOURCES } from "./source.js";
import type {
  CallOptions,
  CompilationReport,
  CompileSpec,
  Delegation,
  EdgeProgramManager,
  ETRecord,
  ExecutorchConfig,
  ExecutorchProgramManager,
  ExportedProgram,
  LowerOptions,
  NodeRow,
  OpenedPrograms,
  Partitioners,
  Passes,
  Programs,
  Sink,
  Source,
  ToBackendOptions,
  ToEdgeOptions,
  TransformAndLowerOptions,
  Verification,
} from "./types.js";

const FILES = `the source of a .pt2, or sources by method name: ${SOURCES}`;

/** The programs of a call as sources by method name, "" for a single one. */
function listPrograms(programs: Programs): [string, Source][] {
  if (isSource(programs)) return [["", programs]];
  if (!KINDS.record.test(programs)) throw badArgument("the programs", FILES, programs);
  const list = Object.entries(programs);
  if (list.length === 0)
    throw new SconceError("argument", "there is no program to open", `Pass ${FILES}.`);
  for (const [method, source] of list) {
    if (!isSource(source)) throw badArgument(`the source of method '${method}'`, SOURCES, source);
    mustBe("name", "a method's name", method);
  }
  return list;
}

const isCompressed = (error: unknown): error is SconceError =>
  error instanceof SconceError && error.code === "compressed";

/**
 * Opens a file as a method of the job. What is compressed is inflated where that can be done at
 * once.
 */
function openProgram(job: Job, method: string, source: Source, options: CallOptions): void {
  const open = (file: Source): void => {
    const handle = job.addSource(file, "the programs");
    job.core.memory.withTexts([method, ""], (name, nameBytes, model, modelBytes) =>
      job.call(options, (raw, s) =>
        raw.compile_open(s, handle, name!, nameBytes!, model!, modelBytes!),
      ),
    );
  };
  try {
    open(source);
  } catch (error) {
    if (!isCompressed(error)) throw error;
    const inflated = inflateSync(job.core, source);
    if (inflated) return open(inflated);
    const hint = "Pass await engine.inflate(programs), or use the client, which does it by itself.";
    throw new SconceError("compressed", error.message, hint);
  }
}

/** Programs with compressed archives inflated. */
export async function inflatePrograms(core: Core, programs: Programs): Promise<Programs> {
  const inflated: [string, Source][] = [];
  for (const [method, source] of listPrograms(programs)) {
    const whole = await inflate(core, source).catch((error: unknown) => {
      throw error instanceof SconceError ? error.ofMethod(method) : error;
    });
    inflated.push([method, whole]);
  }
  return isSource(programs) ? inflated[0]![1] : Object.fromEntries(inflated);
}

function inspectCompilation(job: Job): CompilationReport {
  return camelKeys(JSON.parse(job.textOf((raw, s) => raw.compile_inspect(s)))) as CompilationReport;
}

function textOf(job: Job, program: number, method: string): string {
  return job.core.memory.withTexts([method], (name, bytes) =>
    job.textOf((raw, s) => raw.compile_text(s, program, name!, bytes!)),
  );
}

function nodesOf(job: Job, program: number, method: string): NodeRow[] {
  return job.core.memory.withTexts(
    [method],
    (name, bytes) =>
      JSON.parse(job.textOf((raw, s) => raw.compile_nodes(s, program, name!, bytes!))) as NodeRow[],
  );
}

class MethodView implements ExportedProgram {
  readonly [Symbol.toStringTag] = "ExportedProgram";
  constructor(
    private readonly job: () => Job,
    private readonly program: number,
    readonly method: string,
  ) {}
  text(): string {
    return textOf(this.job(), this.program, this.method);
  }
  nodes(): NodeRow[] {
    return nodesOf(this.job(), this.program, this.method);
  }
}

/** A record that a manager has, by its number, and whether it is written without weights. */
interface Recorded {
  readonly number: number;
  readonly isLight: boolean;
}

/** What both managers have: a share in a job, a program in it, and its methods' names. */
class Manager {
  private held: Job | undefined;
  private view: RecordView | undefined;

  constructor(
    /** The name of its interface, for messages. */
    private readonly kind: string,
    job: Job,
    protected readonly program: number,
    readonly methods: readonly string[],
    readonly configMethods: readonly string[],
    protected readonly recorded?: Recorded,
  ) {
    this.held = job;
    places.set(this, () => ({ job: this.job, program, kind }));
  }

  get etrecord(): ETRecord {
    const { recorded } = this;
    if (!recorded)
      throw new SconceError(
        "state",
        "this program has no record: none was asked for",
        "Pass { generateEtrecord: true } to toEdge(), or { etrecord: true } to lower().",
      );
    this.view ??= new RecordView(() => this.job, recorded.number, recorded.isLight, undefined);
    return this.view;
  }

  getEtrecord(): ETRecord {
    return this.etrecord;
  }

  createEtrecord(): ETRecord {
    const { job } = this;
    const number = recordCall(job, (raw, s, out) => raw.record_new(s, out));
    return RecordView.owned(job.retain(), number, false);
  }

  get [Symbol.toStringTag](): string {
    return this.kind;
  }

  protected get job(): Job {
    if (!this.held) throw disposed(this.kind);
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
    return new MethodView(() => this.job, this.program, name);
  }

  inspect(): CompilationReport {
    return inspectCompilation(this.job);
  }

  delegation(): Delegation {
    const { program } = this;
    return JSON.parse(
      this.job.textOf((raw, s) => raw.compile_delegation(s, program)),
    ) as Delegation;
  }

  dispose(): void {
    const { held } = this;
    this.held = undefined;
    held?.release();
  }
}

function checkPlace(call: string, program: number, method: string): void {
  mustBe("index", `the program number of ${call}()`, program);
  mustBe("text", `the method of ${call}()`, method);
}

/** A manager that shows every program of its job. */
class ViewingManager extends Manager {
  text(program: number, method = ""): string {
    checkPlace("text", program, method);
    return textOf(this.job, program, method);
  }

  nodes(program: number, method: string): NodeRow[] {
    checkPlace("nodes", program, method);
    return nodesOf(this.job, program, method);
  }
}

class OpenedManager extends ViewingManager implements OpenedPrograms {
  constructor(job: Job, methods: readonly string[]) {
    super("OpenedPrograms", job, 0, methods, []);
  }

  toEdge(options: ToEdgeOptions = {}): EdgeProgramManager {
    checkOptions("OpenedPrograms", "toEdge", options);
    return this.decompose(options);
  }

  toEdgeTransformAndLower(options: TransformAndLowerOptions = {}): EdgeProgramManager {
    checkOptions("OpenedPrograms", "toEdgeTransformAndLower", options);
    return this.transformAndLower(options);
  }

  /** toEdge of options that were checked. */
  decompose(options: ToEdgeOptions): EdgeManager {
    const json = optionsJson("toEdge", options.compileConfig);
    return this.edgeOf(options, [json], (raw, s, texts, out) =>
      raw.compile_to_edge(s, texts[0]!, texts[1]!, out),
    );
  }

  /** toEdgeTransformAndLower of options that were checked. */
  transformAndLower(options: TransformAndLowerOptions): EdgeManager {
    const { transformPasses = [], partitioner = [], compileConfig } = options;
    const steps = listPasses("'transformPasses'", transformPasses, (method) =>
      this.exportedProgram(method),
    );
    const passes = Array.isArray(transformPasses) ? transformPasses : Object.fromEntries(steps);
    const texts = [
      jsonFor("'transformPasses'", passes),
      partitionersJson(partitioner, "'partitioner'", (id) => this.job.core.backends.passesOf(id)),
      optionsJson("toEdge", compileConfig),
      optionsJson("toBackend", options),
    ];
    return this.edgeOf(options, texts, (raw, s, t, out) =>
      raw.compile_to_edge_transform_and_lower(
        s,
        ...(t as [number, number, number, number, number, number, number, number]),
        out,
      ),
    );
  }

  private edgeOf(
    options: ToEdgeOptions,
    texts: readonly string[],
    body: Parameters<typeof programCall>[3],
  ): EdgeManager {
    const { job } = this;
    return job.hold(() => {
      const names = this.addConstants(job, options);
      const recorded = generate(job, options);
      const program = programCall(job, options, texts, body);
      return new EdgeManager(job.retain(), program, this.methods, names, recorded);
    });
  }

  /** Adds the constant methods and gives their names. */
  private addConstants(job: Job, options: ToEdgeOptions): string[] {
    const constants = Object.entries(options.constantMethods ?? {});
    for (const [name, value] of constants) {
      mustBe("name", "a constant method's name", name);
      const json = constantJson(`what constant method '${name}' returns`, value);
      job.core.memory.withTexts([name, json], (n, nBytes, v, vBytes) =>
        job.call(options, (raw, s) => raw.compile_constant_method(s, n!, nBytes!, v!, vBytes!)),
      );
    }
    return constants.map(([name]) => name);
  }
}

/** A record for the edge program that is made next, if one is wanted. */
function generate(job: Job, { generateEtrecord, etrecord }: LowerOptions): Recorded | undefined {
  if (!generateEtrecord && !etrecord) return undefined;
  const number = recordCall(job, (raw, s, out) => raw.record_generate(s, out));
  return { number, isLight: etrecord === "light" };
}

class EdgeManager extends ViewingManager implements EdgeProgramManager {
  constructor(
    job: Job,
    program: number,
    methods: readonly string[],
    configMethods: readonly string[],
    recorded: Recorded | undefined,
  ) {
    super("EdgeProgramManager", job, program, methods, configMethods, recorded);
  }

  /** The next manager, with the same record. */
  private next(job: Job, program: number): EdgeManager {
    const { methods, configMethods, recorded } = this;
    return new EdgeManager(job.retain(), program, methods, configMethods, recorded);
  }

  transform(passes: Passes): EdgeProgramManager {
    const { job } = this;
    const steps = listPasses("the passes of transform()", passes, (method) =>
      this.exportedProgram(method),
    );
    return job.hold(() => {
      let program = this.program;
      for (const [method, names] of steps) {
        program = programCall(
          job,
          {},
          [method, jsonFor("the passes of transform()", names)],
          (raw, s, texts, out) =>
            raw.compile_transform(s, program, texts[0]!, texts[1]!, texts[2]!, texts[3]!, out),
        );
      }
      return this.next(job, program);
    });
  }

  toBackend(
    given: Partitioners,
    second?: ToBackendOptions | string,
    compileSpecs?: readonly CompileSpec[],
  ): EdgeProgramManager {
    const options = typeof second === "string" ? {} : (second ?? {});
    checkOptions("EdgeProgramManager", "toBackend", options);
    const isWhole = typeof second === "string" || compileSpecs !== undefined;
    const json = partitionersJson(
      isWhole ? wholeOf(given, second, compileSpecs) : given,
      "toBackend()",
    );
    const { job } = this;
    return job.hold(() => {
      const program = programCall(
        job,
        options,
        [json, optionsJson("toBackend", options)],
        (raw, s, texts, out) =>
          raw.compile_to_backend(s, this.program, texts[0]!, texts[1]!, texts[2]!, texts[3]!, out),
      );
      return this.next(job, program);
    });
  }

  toExecutorch(config: ExecutorchConfig & CallOptions = {}): ExecutorchProgramManager {
    checkOptions("EdgeProgramManager", "toExecutorch", config);
    return this.emit(config, false);
  }

  /** With `consume` the graph itself is emitted, not a copy of it, and can no longer be looked at. */
  emit(config: ExecutorchConfig & CallOptions, consume: boolean): ExecutorchManager {
    const { job } = this;
    const json = optionsJson("toExecutorch", config, { consume });
    const { methods, configMethods, recorded } = this;
    return job.hold(() => {
      const first = job.enter({}, (raw, s) => raw.output_count(s));
      const program = programCall(job, config, [json], (raw, s, texts, out) =>
        raw.compile_to_executorch(s, this.program, texts[0]!, texts[1]!, out),
      );
      const complete = recorded && completed(job, recorded, program);
      return new ExecutorchManager(job.retain(), program, methods, configMethods, first, complete);
    });
  }
}

/** A record of its own with what is known of an executorch program; the other one stays. */
function completed(job: Job, { number, isLight }: Recorded, program: number): Recorded {
  return {
    number: recordCall(job, (raw, s, out) => raw.record_complete(s, number, program, out)),
    isLight,
  };
}

/** Lists of passes by method, "" for all methods; `check` throws for a method that there is not. */
function listPasses(
  what: string,
  passes: Passes,
  check: (method: string) => void,
): [string, readonly string[]][] {
  const isList = Array.isArray(passes);
  if (!isList && !KINDS.record.test(passes))
    throw badArgument(what, "a list of names, or lists by method", passes);
  const steps: [string, readonly string[]][] = isList
    ? [["", passes as readonly string[]]]
    : Object.entries(passes as Record<string, readonly string[]>);
  for (const [method, names] of steps) {
    mustBe("names", what, names);
    if (!isList) check(method);
  }
  return steps;
}

/** The partitioners of a call that names a backend, a method and compile specs. */
function wholeOf(
  backend: Partitioners,
  method: unknown,
  compileSpecs: readonly CompileSpec[] = [],
): Partitioners {
  mustBe("text", "the backend of toBackend()", backend);
  const whole = { backend: backend as string, compileSpecs, whole: true };
  return typeof method === "string" ? { [method]: [whole] } : whole;
}

/** A call with text arguments whose result is the number of the program it made. */
function programCall(
  job: Job,
  options: CallOptions,
  texts: readonly string[],
  body: (raw: Job["core"]["raw"], s: number, texts: readonly number[], out: number) => number,
): number {
  const { memory } = job.core;
  return memory.with(8, (out) =>
    memory.withTexts(texts, (...pairs) => {
      job.call(options, (raw, s) => body(raw, s, pairs, out));
      return memory.number(out);
    }),
  );
}

class ExecutorchManager extends Manager implements ExecutorchProgramManager {
  verification: Verification | null = null;
  private readonly files: readonly { name: string; size: number }[];

  constructor(
    job: Job,
    program: number,
    methods: readonly string[],
    configMethods: readonly string[],
    /** Number of its first file among all that the job has made. */
    private readonly first: number,
    recorded: Recorded | undefined,
  ) {
    super("ExecutorchProgramManager", job, program, methods, configMethods, recorded);
    const length = job.enter({}, (raw, s) => raw.output_count(s)) - first;
    this.files = Array.from({ length }, (_, i) => ({
      name: job.textOf((raw, s) => raw.output_name(s, first + i)),
      size: job.enter({}, (raw, s) => raw.output_bytes(s, first + i)),
    }));
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
    return this.output().whole();
  }

  dataFile(name: string): Uint8Array {
    mustBe("text", "the name of dataFile()", name);
    return this.output(name).whole();
  }

  /** The program without a name. */
  private output(file?: string): Output {
    const index = file === undefined ? 0 : this.files.findIndex((f) => f.name === file);
    const found = this.files[index];
    if (found) return new Output(() => this.job, this.first + index, found.size);
    throw new SconceError(
      "not_found",
      `there is no file '${file}'`,
      `Use one of: ${this.files.map((f) => f.name).join(", ")}.`,
    );
  }

  toBlob(file?: string, options: CallOptions = {}): Blob {
    checkOptions("ExecutorchProgramManager", "toBlob", options);
    return this.output(file).toBlob(options);
  }

  writeSync(write: (chunk: Uint8Array) => void, file?: string): void {
    mustBe("function", "the sink of writeSync()", write);
    for (const piece of this.output(file).pieces()) write(piece);
  }

  async writeTo(sink: Sink, file?: string, options: CallOptions = {}): Promise<void> {
    checkOptions("ExecutorchProgramManager", "writeTo", options);
    await writeAll(this.output(file).pieces(options), sink, options.signal);
  }

  verify(options: CallOptions = {}): Verification {
    checkOptions("ExecutorchProgramManager", "verify", options);
    const { program } = this;
    return JSON.parse(
      this.job.textOf((raw, s) => raw.compile_verify(s, program), options),
    ) as Verification;
  }

  /** The same, of options that were checked; what was found stays. Lets go of it if that fails. */
  verified(options: CallOptions): this {
    const { onProgress, signal } = options;
    try {
      this.verification = this.verify({
        ...(onProgress && { onProgress }),
        ...(signal && { signal }),
      });
      return this;
    } catch (error) {
      this.dispose();
      throw error;
    }
  }

  dump(): string {
    return textOf(this.job, this.program, "");
  }
}

/** Opens files on a job that becomes what this returns. */
export function open(job: Job, programs: Programs, options: CallOptions): OpenedManager {
  for (const [method, source] of listPrograms(programs)) {
    try {
      openProgram(job, method, source, options);
    } catch (error) {
      throw error instanceof SconceError ? error.ofMethod(method) : error;
    }
  }
  const methods = inspectCompilation(job).stages[0]!.methods.map((m) => m.name);
  return new OpenedManager(job, methods);
}
