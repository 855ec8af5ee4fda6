// The emitted program: the manager of an executorch program and its files.
import { mustBe } from "../base/check.js";
import type { Job } from "../module/job.js";
import { SconceError } from "../base/errors.js";
import { parseProgram, programText } from "./executorch_program.js";
import { Manager, textOf, type Names, type Recorded } from "./manager.js";
import { callable, type Callable } from "./callable.js";
import { Output } from "../module/output.js";
import { checkOptions } from "../call/protocol.js";
import type { Summary } from "../base/shown.js";
import { writeAll } from "../sink/write.js";
import type {
  CallOptions,
  DumpOptions,
  ETRecordMaps,
  ExecutorchProgram,
  DataFile,
  ExecutorchProgramManager,
  Sink,
  Verification,
} from "../types/index.js";

/** An emitted program, on a job of the engine. */
export class ExecutorchManager extends Manager implements ExecutorchProgramManager {
  verification: Verification | null = null;
  private readonly files: readonly DataFile[];

  constructor(
    job: Job,
    program: number,
    names: Names,
    /** Number of its first file among all that the job has made. */
    private readonly first: number,
    recorded: Recorded | undefined,
    /** Names of data files that the caller has given. */
    shared: ReadonlySet<string>,
  ) {
    super("ExecutorchProgramManager", job, program, names, recorded);
    const length = job.enter({}, (raw, s) => raw.output_count(s)) - first;
    this.files = Array.from({ length }, (_, i) => {
      const name = job.textOf((raw, s) => raw.output_name(s, first + i));
      const size = job.enter({}, (raw, s) => raw.output_bytes(s, first + i));
      return { name, size, ...(shared.has(name) && { isShared: true as const }) };
    });
  }

  override summary(): Summary {
    const { size, dataFiles } = this;
    return { ...super.summary(), size, ...(dataFiles.length > 0 && { dataFiles }) };
  }

  get size(): number {
    return this.files[0]!.size;
  }

  get dataFiles(): readonly DataFile[] {
    return this.files.slice(1);
  }

  get buffer(): Uint8Array<ArrayBuffer> {
    return this.output().whole();
  }

  dataFile(name: string): Uint8Array<ArrayBuffer> {
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

  writeSync(write: (chunk: Uint8Array<ArrayBuffer>) => void, file?: string): void {
    mustBe("function", "the sink of writeSync()", write);
    for (const piece of this.output(file).pieces()) write(piece);
  }

  async writeTo(sink: Sink, file?: string, options: CallOptions = {}): Promise<void> {
    if (file !== undefined) mustBe("text", "the file of writeTo(), which options follow,", file);
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

  override callable(): Callable {
    const { methods } = this.inspect().stages.at(-1)!;
    const written = methods.map(({ name, outputs }): [string, number] => [
      name,
      outputs.filter(({ role }) => role === "user_input_mutation").length,
    ]);
    return callable(this.job.core, this, new Map(written));
  }

  get executorchProgram(): ExecutorchProgram {
    const { job, program } = this;
    return parseProgram(job.textOf((raw, s) => raw.compile_executorch_json(s, program)));
  }

  private maps(): ETRecordMaps {
    const record = this.createEtrecord();
    try {
      record.addExecutorchProgram(this);
      return record.maps();
    } finally {
      record.dispose();
    }
  }

  get debugHandleMap(): ETRecordMaps["debugHandleMap"] {
    return this.maps().debugHandleMap;
  }

  get delegateMap(): ETRecordMaps["delegateMap"] {
    return this.maps().delegateMap;
  }

  dump(options: DumpOptions = {}): string {
    checkOptions("ExecutorchProgramManager", "dump", options);
    const text = textOf(this.job, this.program, "");
    return options.verbose === true ? `${text}\n${programText(this.executorchProgram)}` : text;
  }
}
