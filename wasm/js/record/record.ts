// Records of a job, by number: managers own theirs, and copies and parsed ones are the caller's.
import { places } from "../module/place.js";
import { badArgument, isObject, KINDS, mustBe } from "../base/check.js";
import type { Core } from "../module/core.js";
import type { Job } from "../module/job.js";
import { Disposing } from "../base/dispose.js";
import { disposed, SconceError } from "../base/errors.js";
import { inflateSync } from "../module/inflate.js";
import { camelKeys } from "../base/keys.js";
import { Output } from "../module/output.js";
import { checkOptions } from "../call/protocol.js";
import { bundledCases, mustBeBundled } from "./cases.js";
import { showAs } from "../base/shown.js";
import { writeAll } from "../sink/write.js";
import { isTensorLike, tensorOf } from "../tensor/bytes.js";
import { RunOfBytes } from "../tensor/run_of_bytes.js";
import type {
  DType,
  ETRecord,
  ETRecordMaps,
  ETRecordReport,
  ExportedProgram,
  NodeRow,
  RecordValue,
  SaveOptions,
  Sink,
  Source,
  Value,
} from "../types/index.js";

const EXPORTED = "exported_program";
const EDGE = "edge_dialect_exported_program";
const MAPS = ["debugHandleMap", "delegateMap", "instructionIdToNumOutsMap"] as const;

/** A call that gives the number of a record. */
export function recordCall(
  job: Job,
  body: (raw: Job["core"]["raw"], s: number, out: number) => number,
): number {
  const { memory } = job.core;
  return memory.with(8, (out) => {
    job.call({}, (raw, s) => body(raw, s, out));
    return memory.number(out);
  });
}

// --- Values ---

type Written = Readonly<Record<string, unknown>>;

/** Values as JSON, with the bytes of their tensors one after the other. */
class Packing {
  private readonly tensors = new RunOfBytes();

  list(values: readonly RecordValue[], what: string): Written[] {
    return Array.from(values, (value, i) => this.value(value, `${what}[${i}]`));
  }

  private value(value: RecordValue | undefined, what: string): Written {
    if (value === null) return { none: true };
    if (typeof value === "boolean") return { bool: value };
    if (typeof value === "string") return { string: value };
    if (typeof value === "bigint" || Number.isSafeInteger(value)) return { int: String(value) };
    if (typeof value === "number") return { float: Number.isFinite(value) ? value : String(value) };
    if (Array.isArray(value)) return { list: this.list(value as readonly RecordValue[], what) };
    if (!isTensorLike(value))
      throw badArgument(what, "a tensor, number, bigint, boolean, string, null or a list", value);
    return { ...this.tensors.add(value, what) };
  }

  bytes(): Uint8Array {
    return this.tensors.bytes();
  }
}

interface Read {
  tensor?: DType;
  sizes?: number[];
  at?: number;
  bytes?: number;
  int?: string;
  float?: number | string;
  bool?: boolean;
  string?: string;
  list?: Read[];
}

function unpacked(value: Read, bytes: Uint8Array): RecordValue {
  const { tensor, sizes, at = 0, bytes: size = 0 } = value;
  if (tensor !== undefined) return tensorOf(tensor, sizes!, bytes.slice(at, at + size));
  if (value.list) return value.list.map((item) => unpacked(item, bytes));
  if (value.int !== undefined) {
    const whole = BigInt(value.int);
    return Number.isSafeInteger(Number(whole)) ? Number(whole) : whole;
  }
  if (value.float !== undefined) return Number(value.float);
  return value.bool ?? value.string ?? null;
}

/** Values that a call gives as a text with what they are, and as an output with their bytes. */
export function readValues<T>(
  job: Job,
  call: (raw: Job["core"]["raw"], s: number, out: number) => number,
  read: (json: unknown, bytes: Uint8Array) => T,
): T | null {
  const { memory } = job.core;
  return job.hold(() =>
    memory.with(8, (out) => {
      const text = job.textOf((raw, s) => call(raw, s, out));
      const output = memory.number(out);
      const size = job.enter({}, (raw, s) => raw.output_bytes(s, output));
      const file = new Output(() => job, output, size);
      try {
        const json = JSON.parse(text) as unknown;
        return json === null ? null : read(json, file.whole());
      } finally {
        file.free();
      }
    }),
  );
}

/** Inputs, as such a call gives them. */
export const readInputs = (json: unknown, bytes: Uint8Array): RecordValue[] =>
  (json as Read[]).map((value) => unpacked(value, bytes));

/** Lists of lists, such as nested arguments, as one: what a run takes. */
export const flatValues = (values: readonly RecordValue[]): Value[] =>
  values.flatMap((value) =>
    Array.isArray(value) ? flatValues(value as readonly RecordValue[]) : [value as Value],
  );

// --- Programs ---

class StageView implements ExportedProgram {
  readonly [Symbol.toStringTag] = "ExportedProgram";
  constructor(
    private readonly job: () => Job,
    private readonly record: number,
    private readonly stage: string,
    readonly method: string,
  ) {}

  private ask(name: "record_text" | "record_nodes"): string {
    const job = this.job();
    return job.core.memory.withTexts([this.stage, this.method], (stage, stageBytes, method, size) =>
      job.textOf((raw, s) => raw[name](s, this.record, stage!, stageBytes!, method!, size!)),
    );
  }

  text(): string {
    return this.ask("record_text");
  }

  nodes(): NodeRow[] {
    return JSON.parse(this.ask("record_nodes")) as NodeRow[];
  }

  private refuse(what: string): never {
    throw new SconceError(
      "unsupported",
      `a program of a record has no ${what} here`,
      "Open the file that it was exported to, and use the program of its manager.",
    ).ofMethod(this.method);
  }
  call(): never {
    return this.refuse("call()");
  }
  read(): never {
    return this.refuse("read()");
  }
  constant(): never {
    return this.refuse("constant()");
  }
  stateDict(): never {
    return this.refuse("stateDict()");
  }
  get signature(): never {
    return this.refuse("signature");
  }
  get rangeConstraints(): never {
    return this.refuse("rangeConstraints");
  }
  get constants(): never {
    return this.refuse("constants");
  }
}

showAs(StageView.prototype, "ExportedProgram", ({ method }) => ({ method }));

// --- The record ---

/** A record whose job is somebody's: `release` is called once the caller lets go of it. */
export class RecordView extends Disposing implements ETRecord {
  readonly [Symbol.toStringTag] = "ETRecord";

  constructor(
    private readonly owner: () => Job,
    private readonly number: number,
    private readonly isLight: boolean,
    private release: (() => void) | undefined,
  ) {
    super();
  }

  /** One that keeps its job until it is disposed. */
  static owned(job: Job, number: number, isLight: boolean): RecordView {
    let held: Job | undefined = job;
    const view: RecordView = new RecordView(
      () => {
        if (!held) throw disposed("ETRecord");
        return held;
      },
      number,
      isLight,
      () => {
        held = undefined;
        job.disown(view);
      },
    );
    job.own(view);
    return view;
  }

  private get job(): Job {
    return this.owner();
  }

  inspect(): ETRecordReport {
    return camelKeys(
      JSON.parse(this.job.textOf((raw, s) => raw.record_inspect(s, this.number))),
    ) as ETRecordReport;
  }

  maps(): ETRecordMaps {
    const { job, number } = this;
    const texts = MAPS.map((name, map): [string, unknown] => [
      name,
      JSON.parse(job.textOf((raw, s) => raw.record_map(s, number, map))),
    ]);
    return Object.fromEntries(texts) as unknown as ETRecordMaps;
  }

  private view(stage: string, method: string): ExportedProgram {
    return new StageView(() => this.job, this.number, stage, method);
  }

  program(stage: string, method?: string): ExportedProgram {
    mustBe("text", "the stage of program()", stage);
    if (method !== undefined) mustBe("text", "the method of program()", method);
    const { programs, unreadEntries } = this.inspect();
    const found = programs.filter(
      (p) => p.stage === stage && (method === undefined || p.method === method),
    );
    if (found.length === 1) return this.view(stage, found[0]!.method);
    const of = method === undefined ? "" : ` of a method '${method}'`;
    const unread = unreadEntries.find(
      ({ name }) => name === stage || name === `${stage}/${method}`,
    );
    const why = unread ? `: its entry '${unread.name}' cannot be read: ${unread.reason}` : "";
    throw new SconceError(
      "not_found",
      found.length
        ? `'${stage}' has several methods`
        : `the record has no program '${stage}'${of}${why}`,
      `Use one of: ${programs.map((p) => `${p.stage} of ${p.method}`).join(", ")}.`,
    );
  }

  get exportedProgram(): ExportedProgram | null {
    const found = this.inspect().programs.find(({ stage }) => stage === EXPORTED);
    return found ? this.view(EXPORTED, found.method) : null;
  }

  get edgeDialectProgram(): ETRecord["edgeDialectProgram"] {
    const { methods } = this.inspect();
    if (methods.length === 0) return null;
    const views = methods.map((method): [string, ExportedProgram] => [
      method,
      this.view(EDGE, method),
    ]);
    return views.length === 1 ? views[0]![1] : Object.fromEntries(views);
  }

  get graphMap(): ETRecord["graphMap"] {
    const further = this.inspect().programs.filter(
      ({ stage }) => stage !== EXPORTED && stage !== EDGE,
    );
    return Object.fromEntries(
      further.map(({ stage, method }) => [`${stage}/${method}`, this.view(stage, method)]),
    );
  }

  // --- Inputs and outputs ---

  private values<T>(
    ask: (raw: Job["core"]["raw"], s: number, out: number) => number,
    read: (json: unknown, bytes: Uint8Array) => T,
  ): T | null {
    return readValues(this.job, ask, read);
  }

  representativeInputs(): RecordValue[] | null {
    const { number } = this;
    return this.values((raw, s, out) => raw.record_values(s, number, 0, out), readInputs);
  }

  exampleInputs(method: string): RecordValue[] | null {
    mustBe("text", "the method of exampleInputs()", method);
    const { number } = this;
    return this.job.core.memory.withTexts([method], (name, bytes) =>
      this.values((raw, s, out) => raw.record_examples(s, number, name!, bytes!, out), readInputs),
    );
  }

  referenceOutputs(): Record<string, RecordValue[]> | null {
    const { number } = this;
    return this.values(
      (raw, s, out) => raw.record_values(s, number, 1, out),
      (json, bytes) =>
        Object.fromEntries(
          Object.entries(json as Record<string, Read[]>).map(([method, cases]) => [
            method,
            cases.map((value) => unpacked(value, bytes)),
          ]),
        ),
    );
  }

  private update(json: object, packing: Packing): void {
    const { job, number } = this;
    const { memory } = job.core;
    const bytes = packing.bytes();
    memory.withTexts([JSON.stringify(json)], (text, textBytes) =>
      memory.with(bytes.length + 1, (data) => {
        memory.bytes(data, bytes.length).set(bytes);
        job.call({}, (raw, s) =>
          raw.record_update(s, number, text!, textBytes!, data, bytes.length),
        );
      }),
    );
  }

  updateRepresentativeInputs(given: readonly RecordValue[] | Source | null): void {
    const packing = new Packing();
    const bundled = bundledCases(this.job.core, given);
    const inputs = bundled
      ? bundled.representativeInputs()
      : (given as readonly RecordValue[] | null);
    if (inputs !== null) mustBe("list", "what updateRepresentativeInputs() takes", inputs);
    this.update({ representative_inputs: inputs && packing.list(inputs, "inputs") }, packing);
  }

  updateReferenceOutputs(given: Parameters<ETRecord["updateReferenceOutputs"]>[0]): void {
    const packing = new Packing();
    const outputs = bundledCases(this.job.core, given)?.referenceOutputs() ?? given;
    const byMethod = Array.isArray(outputs)
      ? { forward: outputs as readonly RecordValue[] }
      : outputs;
    if (byMethod !== null && !KINDS.record.test(byMethod))
      throw badArgument(
        "what updateReferenceOutputs() takes",
        "cases by method, or a list",
        outputs,
      );
    const written =
      byMethod &&
      Object.fromEntries(
        Object.entries(byMethod as Record<string, readonly RecordValue[]>).map(
          ([method, cases]) => {
            mustBe("list", `the cases of method '${method}'`, cases);
            return [method, packing.list(cases, `outputs.${method}`)];
          },
        ),
      );
    this.update({ reference_outputs: written }, packing);
  }

  // --- Programs ---

  private placeOf(call: string, kinds: readonly string[], manager: unknown): number {
    const place = isObject(manager) ? places.get(manager)?.() : undefined;
    if (!place || !kinds.includes(place.kind))
      throw badArgument(`what ${call}() takes`, kinds.join(" or "), manager);
    if (place.job === this.job) return place.program;
    throw new SconceError(
      "argument",
      `${call}() was given a program of another compilation than the record`,
      "Add programs that come from the same open(), toEdge() or lower() as the record.",
    );
  }

  addExportedProgram(programs: unknown): void {
    if (programs === null) return;
    const program = this.placeOf("addExportedProgram", ["OpenedPrograms"], programs);
    this.job.call({}, (raw, s) => raw.record_add_exported_program(s, this.number, program));
  }

  addEdgeDialectProgram(edge: unknown): void {
    const program = this.placeOf("addEdgeDialectProgram", ["EdgeProgramManager"], edge);
    this.job.call({}, (raw, s) => raw.record_add_edge_dialect_program(s, this.number, program));
  }

  addExecutorchProgram(executorch: unknown, bundled?: unknown): void {
    const call = "addExecutorchProgram";
    const program = this.placeOf(call, ["ExecutorchProgramManager"], executorch);
    const cases =
      bundled === undefined
        ? undefined
        : mustBeBundled(this.job.core, `the bundle of ${call}()`, bundled);
    const outputs = cases?.referenceOutputs();
    const inputs = cases?.representativeInputs();
    this.job.call({}, (raw, s) => raw.record_add_executorch_program(s, this.number, program));
    if (outputs) this.updateReferenceOutputs(outputs);
    if (inputs) this.updateRepresentativeInputs(inputs);
  }

  addExtraExportModules(modules: Readonly<Record<string, unknown>>): void {
    mustBe("record", "what addExtraExportModules() takes", modules);
    const kinds = ["OpenedPrograms", "EdgeProgramManager"];
    for (const [name, manager] of Object.entries(modules)) {
      const program = this.placeOf("addExtraExportModules", kinds, manager);
      this.job.core.memory.withTexts([name], (text, bytes) =>
        this.job.call({}, (raw, s) =>
          raw.record_add_extra_export_module(s, this.number, text!, bytes!, program),
        ),
      );
    }
  }

  copy(): ETRecord {
    const { job, number } = this;
    const copy = recordCall(job, (raw, s, out) => raw.record_copy(s, number, out));
    return RecordView.owned(job.retain(), copy, this.isLight);
  }

  // --- The file ---

  private file(call: "save" | "toBlob" | "bytes", options: SaveOptions): Output {
    checkOptions("ETRecord", call, options);
    const { job, number } = this;
    const { memory } = job.core;
    const { light = this.isLight, method } = options;
    const json = JSON.stringify({ light, ...(method !== undefined && { method }) });
    return memory.with(8, (out) =>
      memory.withTexts([json], (text, bytes) => {
        job.call(options, (raw, s) => raw.record_save(s, number, text!, bytes!, out));
        const output = memory.number(out);
        const size = job.enter({}, (raw, s) => raw.output_bytes(s, output));
        return new Output(() => this.job, output, size);
      }),
    );
  }

  async save(sink: Sink, options: SaveOptions = {}): Promise<void> {
    const file = this.file("save", options);
    try {
      await writeAll(file.pieces(options), sink, options.signal);
    } finally {
      file.free();
    }
  }

  toBlob(options: SaveOptions = {}): Blob {
    const file = this.file("toBlob", options);
    try {
      return file.toBlob(options);
    } finally {
      file.free();
    }
  }

  bytes(options: SaveOptions = {}): Uint8Array<ArrayBuffer> {
    const file = this.file("bytes", options);
    try {
      return file.whole();
    } finally {
      file.free();
    }
  }

  /** Those that a manager owns go with it. */
  dispose(): void {
    const { release } = this;
    this.release = undefined;
    release?.();
  }
}

/** Opens a record on a job that becomes its own. */
export function parseRecord(core: Core, job: Job, source: Source): ETRecord {
  const open = (file: Source): number => {
    const handle = job.addSource(file, "the record");
    return recordCall(job, (raw, s, out) => raw.record_open(s, handle, out));
  };
  try {
    return RecordView.owned(job, open(source), false);
  } catch (error) {
    if (!(error instanceof SconceError && error.code === "compressed")) throw error;
    const inflated = inflateSync(core, source);
    if (inflated) return RecordView.owned(job, open(inflated), false);
    const hint = "Pass await engine.inflate(record), or use the client, which does it by itself.";
    throw new SconceError("compressed", error.message, hint);
  }
}

showAs(RecordView.prototype, "ETRecord", (record) => {
  const { methods, programs } = record.inspect();
  return { methods, programs: programs.map(({ stage, method }) => `${stage}/${method}`) };
});
