// Running a .pte: values into the module, values out of it, as copies.
import { badArgument, isText, TEXT } from "../base/check.js";
import type { Job } from "../module/job.js";
import { Disposing } from "../base/dispose.js";
import { disposed, SconceError } from "../base/errors.js";
import { camelKeys } from "../base/keys.js";
import { optionsJson } from "../call/options.js";
import { checkOptions } from "../call/protocol.js";
import { checkSuiteOf, notBundled, readSuites, verifyCase } from "./suites.js";
import { chooserOf, type Chooser } from "../call/delegate_values.js";
import { withNames } from "./names.js";
import { dtypesOf, type DTypeTable } from "./dtype_table.js";
import { Output } from "../module/output.js";
import { readValue } from "./read_value.js";
import { methodNamed, orderedInputs, wholeCall, withName, type WholeCall } from "./call.js";
import { programSummary, showAs } from "../base/shown.js";
import { isLowered } from "../source/kinds.js";
import { writeAll } from "../sink/write.js";
import { bytesOf, isTensorLike } from "../tensor/bytes.js";
import type {
  CallOptions,
  CaseVerdict,
  EventDump,
  ExecutorchProgramManager,
  Inputs,
  LoadOptions,
  ProgramCall,
  ProgramReport,
  RunOptions,
  RuntimeProgram,
  Sink,
  Source,
  InputTensor,
  InputValue,
  TestSuite,
  Value,
  VerifyOptions,
} from "../types/index.js";

/** sc_event_tracer in sconce.h. */
const EVENT_TRACER = { false: 0, true: 1, outputs: 2, intermediates: 3 } as const;

function inputError(index: number, accepts: string, value: unknown): SconceError {
  const { message, hint } = badArgument(`input ${index}`, accepts, value);
  return new SconceError("input", message, hint);
}

/** A loaded .pte, on a job of a runtime or an engine. */
export class LoadedProgram extends Disposing implements RuntimeProgram {
  readonly [Symbol.toStringTag] = "Program";
  private report: ProgramReport | undefined;
  private selected = "";
  private isTracing = false;

  constructor(
    protected job: Job | undefined,
    protected readonly dtypes: DTypeTable,
  ) {
    super();
  }

  protected get open(): Job {
    if (!this.job) throw disposed("Program");
    return this.job;
  }

  inspect(): ProgramReport {
    const { open } = this;
    return { ...this.reportOf(open), heapBytes: open.core.memory.heapBytes };
  }

  protected reportOf(job: Job): ProgramReport {
    const report = (): unknown => JSON.parse(job.textOf((raw, s) => raw.run_inspect(s)));
    this.report ??= withNames(camelKeys(report()) as ProgramReport);
    return this.report;
  }

  get methods(): readonly string[] {
    return this.inspect().methods.map((m) => m.name);
  }

  choose(job: Job, method: string, options: CallOptions): void {
    if (method === this.selected) return;
    job.core.memory.withTexts([method], (name, bytes) =>
      job.call(options, (raw, s) => raw.run_select(s, name!, bytes!)),
    );
    this.selected = method;
  }

  run(...call: ProgramCall): Value[] {
    const { open } = this;
    const whole = wholeCall("run", call, () => this.reportOf(open).methods);
    return open.hold(() => this.runOn(open, whole));
  }

  runNamed(...call: ProgramCall): Record<string, Value> {
    const { open } = this;
    const whole = wholeCall("runNamed", call, () => this.reportOf(open).methods);
    const outputs = open.hold(() => this.runOn(open, whole));
    const { outputs: infos } = methodNamed(whole.method, this.reportOf(open).methods);
    return Object.fromEntries(outputs.map((value, i) => [infos[i]!.name, value]));
  }

  /** Sets what the next runs record. Gives the filter of the delegates' values. */
  private traceEvents(job: Job, options: RunOptions): Chooser | undefined {
    const { events = false, bundledInputIndex = -1, delegateValues } = options;
    const chooser = delegateValues && chooserOf(delegateValues);
    const what = EVENT_TRACER[`${events}`];
    if (what === EVENT_TRACER.false && !this.isTracing) return chooser;
    job.call({}, (raw, s) => raw.run_event_tracer(s, what, bundledInputIndex, chooser ? 1 : 0));
    this.isTracing = what !== EVENT_TRACER.false;
    return chooser;
  }

  etdump(): EventDump {
    const { open } = this;
    return open.hold(() => this.dumpOf(open));
  }

  private dumpOf(job: Job): EventDump {
    const { memory } = job.core;
    const { text, files } = memory.with(8, (out) => ({
      text: job.textOf((raw, s) => raw.run_etdump(s, out)),
      files: [memory.number(out), memory.number(out + 4)] as const,
    }));
    const counts = camelKeys(JSON.parse(text));
    const whole = (file: number): Uint8Array<ArrayBuffer> => {
      const bytes = job.enter({}, (raw, s) => raw.output_bytes(s, file));
      return new Output(() => job, file, bytes).whole();
    };
    const [etdump, debugBuffer] = files.map(whole) as [
      Uint8Array<ArrayBuffer>,
      Uint8Array<ArrayBuffer>,
    ];
    job.enter({}, (raw, s) => raw.run_etdump_free(s));
    return { etdump, debugBuffer, ...(counts as Omit<EventDump, "etdump" | "debugBuffer">) };
  }

  private runOn(job: Job, call: WholeCall): Value[] {
    this.execute(job, call);
    return this.outputs(
      job,
      job.enter({}, (raw, s) => raw.run_output_count(s)),
    );
  }

  protected outputs(job: Job, count: number): Value[] {
    return Array.from({ length: count }, (_, index) => this.output(job, index));
  }

  protected execute(job: Job, { method, inputs, options }: WholeCall): void {
    const keepsValue = this.traceEvents(job, options);
    this.give(job, method, inputs, options);
    const isWatched = options.signal !== undefined || options.onProgress !== undefined;
    job.call({ ...options, keepsValue }, (raw, s) => raw.run_execute(s, isWatched ? 1 : 0));
  }

  // --- Records and bundles ---

  /** Selects a method and copies its inputs in. */
  give(job: Job, method: string, inputs: Inputs, options: CallOptions): void {
    const info = methodNamed(method, this.reportOf(job).methods);
    this.choose(job, method, options);
    const values = orderedInputs(inputs, info);
    // By index, because a hole in the list is an input too, and a wrong one.
    for (const [index, { kind, name }] of info.inputs.entries())
      try {
        this.setInput(job, index, values[index], kind);
      } catch (error) {
        throw values === inputs ? error : withName(error, index, name);
      }
  }

  private setInput(job: Job, index: number, value: InputValue | undefined, declared: string): void {
    if (value === null) job.call({}, (raw, s) => raw.run_set_none(s, index));
    else if (typeof value === "boolean")
      job.call({}, (raw, s) => raw.run_set_bool(s, index, value ? 1 : 0));
    else if (typeof value === "string") {
      if (!isText(value)) throw inputError(index, TEXT, value);
      job.core.memory.withTexts([value], (text, bytes) =>
        job.call({}, (raw, s) => raw.run_set_string(s, index, text!, bytes!)),
      );
    } else if (isTensorLike(value)) this.setTensor(job, index, value);
    else if (typeof value === "bigint" || (declared === "int" && typeof value === "number")) {
      if (typeof value === "number" && !Number.isSafeInteger(value))
        throw inputError(index, "a whole number within 2^53, or a bigint", value);
      const bits = BigInt(value);
      if (BigInt.asIntN(64, bits) !== bits) throw inputError(index, "an integer of 64 bits", value);
      job.call({}, (raw, s) =>
        raw.run_set_int(
          s,
          index,
          Number(bits & 0xffffffffn),
          Number(BigInt.asIntN(32, bits >> 32n)),
        ),
      );
    } else if (typeof value === "number")
      job.call({}, (raw, s) => raw.run_set_double(s, index, value));
    else throw inputError(index, "a tensor, number, bigint, boolean, string or null", value);
  }

  private setTensor(job: Job, index: number, value: InputTensor): void {
    const { memory } = job.core;
    const bytes = bytesOf(value, `input ${index}`);
    const rank = value.shape.length;
    memory.with(rank * 8 + bytes.length + 8, (address) => {
      const data = address + rank * 8;
      new Float64Array(memory.bytes(address, rank * 8).buffer, address, rank).set(value.shape);
      memory.bytes(data, bytes.length).set(bytes);
      job.call({}, (raw, s) =>
        raw.run_set_tensor(
          s,
          index,
          this.dtypes.code(value.dtype),
          rank,
          address,
          data,
          bytes.length,
        ),
      );
    });
  }

  private output(job: Job, index: number): Value {
    return readValue(job, this.dtypes, (raw, s, out) => raw.run_output(s, index, out));
  }

  testSuites(): TestSuite[] {
    const { open } = this;
    return open.hold(() => readSuites(open, this.dtypes));
  }

  verify(options: VerifyOptions = {}): CaseVerdict[] {
    const { open } = this;
    checkOptions("Program", "verify", options);
    return open.hold(() => this.verifyOn(open, options));
  }

  private verifyOn(job: Job, options: VerifyOptions): CaseVerdict[] {
    const { rtol = 1e-5, atol = 1e-8, method, events = false, delegateValues, ...call } = options;
    const suites = readSuites(job, this.dtypes);
    if (suites.length === 0) throw notBundled();
    if (method !== undefined) checkSuiteOf(suites, method);
    return suites.flatMap(({ methodName, testCases }, suite) =>
      testCases.flatMap((_, testCase) => {
        if (method !== undefined && methodName !== method) return [];
        const traced = {
          events,
          bundledInputIndex: testCase,
          ...(delegateValues && { delegateValues }),
        };
        const keepsValue = this.traceEvents(job, traced);
        this.selected = "";
        const outputs = verifyCase(job, suite, testCase, { ...call, keepsValue, rtol, atol });
        return [{ methodName, testCase, outputs }];
      }),
    );
  }

  /** Runs `read` over the program as a packed file. */
  private async packed<T>(
    options: CallOptions,
    read: (output: Output) => T | Promise<T>,
  ): Promise<T> {
    const { open } = this;
    const { memory } = open.core;
    const file = memory.with(4, (out) => {
      open.call(options, (raw, s) => raw.run_save_packed(s, out));
      return memory.number(out);
    });
    const bytes = open.enter({}, (raw, s) => raw.output_bytes(s, file));
    const output = new Output(() => this.open, file, bytes);
    try {
      return await read(output);
    } finally {
      output.free();
    }
  }

  async toPackedBlob(options: CallOptions = {}): Promise<Blob> {
    checkOptions("RuntimeProgram", "toPackedBlob", options);
    return this.packed(options, (output) => output.toBlob(options));
  }

  async savePacked(sink: Sink, options: CallOptions = {}): Promise<void> {
    checkOptions("RuntimeProgram", "savePacked", options);
    return this.packed(options, (output) => writeAll(output.pieces(options), sink, options.signal));
  }

  reset(): void {
    this.open.call({}, (raw, s) => raw.run_reset(s));
  }

  dispose(): void {
    const { job } = this;
    this.job = undefined;
    job?.disown(this);
  }
}

showAs(LoadedProgram.prototype, "Program", (program) => programSummary(program.inspect()));

/** The weights that a lowered program keeps in files next to it. */
const dataOf = (lowered: ExecutorchProgramManager): Uint8Array[] =>
  lowered.dataFiles.map(({ name }) => lowered.dataFile(name));

/** Makes the object of a program that a job has opened. */
export type MakeProgram<T extends LoadedProgram> = new (job: Job, dtypes: DTypeTable) => T;

/** Opens a .pte with its .ptd files on a job that becomes the program's. */
export function loadProgram<T extends LoadedProgram>(
  job: Job,
  pte: Source,
  options: LoadOptions,
  make: MakeProgram<T>,
  call: "load" | "bundle" = "load",
): T {
  const handle = job.addSource(pte, `the program of ${call}()`);
  const given =
    options.dataFiles ?? (isLowered(pte) ? dataOf(pte as ExecutorchProgramManager) : []);
  const data = Array.from(given, (file, i) => job.addSource(file, `dataFiles[${i}] of ${call}()`));
  const { memory } = job.core;
  memory.withNumbers(data, (list, count) =>
    memory.withTexts([optionsJson("load", options)], (text, bytes) =>
      job.call(options, (raw, s) => raw.run_open(s, handle, list, count, text!, bytes!)),
    ),
  );
  return new make(job, dtypesOf(job));
}
