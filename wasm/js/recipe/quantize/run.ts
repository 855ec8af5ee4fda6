// Quantizes an opened program. Its observing program runs on the calls of its methods. The result
// is opened programs again, on the same job.
import { HostFunctions } from "../../pass/run.js";
import { adviceOn } from "./report.js";
import { dtypesOf } from "../../program/dtype_table.js";
import { jsonFor } from "../../base/check.js";
import type { OpenedManager } from "../../lower/compile.js";
import type { Job } from "../../module/job.js";
import { SconceError, SconcePanic } from "../../base/errors.js";
import { optionsJson } from "../../call/options.js";
import { LoadedProgram } from "../../program/loaded.js";
import type { MethodQuantization, QuantizationConfig, QuantizationHooks } from "./config.js";
import { places } from "../../module/place.js";
import { openedAgain, openedAt, transformSources } from "../source_passes.js";
import { copyOf, isTensorLike } from "../../tensor/bytes.js";
import type {
  CallOptions,
  CompileConfig,
  ExecutorchConfig,
  ExportedProgram,
  InputTuple,
  MethodQuantizationReport,
  OpenedPrograms,
  Pass,
  QuantizationReport,
  QuantizedNode,
  InputTensor,
} from "../../types/index.js";

/** The result of quantizing: the programs to lower instead of those that were opened. */
export interface Quantized {
  readonly program: OpenedPrograms;
  readonly report: QuantizationReport;
}

/** The options of quantizing programs. */
export interface QuantizeOptions extends CallOptions {
  /** The settings of lowering, for the calibrating program and for the result. */
  compileConfig?: CompileConfig;
  executorch?: ExecutorchConfig;
  /** Compares with the float program. */
  sensitivity?: boolean;
}

type Configs = Readonly<Record<string, readonly QuantizationConfig[]>>;
type Methods = Readonly<Record<string, MethodQuantization>>;

const NOTHING_COMPARED =
  "there are no example inputs, so the quantized program was not compared with the float one";

/** Calls that both programs are compared on, of each method. */
const COMPARED_CALLS = 2;

const configJson = ({
  mode,
  layers,
  perChannel,
  weightBits,
  groupSize,
  skip,
}: QuantizationConfig) => ({
  mode,
  layers,
  per_channel: perChannel,
  ...(weightBits !== 16 && { weight_bits: weightBits }),
  group_size: groupSize,
  skip: [...new Set(skip)],
});

/** The report of the core: a node's weight is the number of a range. */
interface RawReport {
  methods: Record<
    string,
    Omit<MethodQuantizationReport, "calibrationBatches" | "nodes"> & {
      batches: number;
      nodes: (Omit<QuantizedNode, "weight"> & { weight?: number })[];
    }
  >;
}

function methodReport({
  batches,
  nodes,
  ...rest
}: RawReport["methods"][string]): MethodQuantizationReport {
  const whole = nodes.map(({ weight, ...node }) =>
    weight === undefined ? node : { ...node, weight: rest.ranges[weight]! },
  );
  const notes = [...rest.notes, ...adviceOn({ nodes: whole, outputs: rest.outputs })];
  return { calibrationBatches: batches, ...rest, notes, nodes: whole };
}

const qparamsOf = ([method, { ranges }]: readonly [
  string,
  MethodQuantizationReport,
]): QuantizationReport["qparams"] =>
  ranges
    .filter(({ isDynamic }) => !isDynamic)
    .flatMap(({ tensors, scale = null, zeroPoint = null }) =>
      tensors.map((of) => ({ method, of, scale, zero_point: zeroPoint })),
    );

const hasNan = ({ dtype, data }: InputTensor): boolean =>
  (dtype === "float32" || dtype === "float64") && data.some(Number.isNaN);

/** Words for the inputs of a call that hold what is not a number, whatever a node made of it. */
function nansOf(inputs: InputTuple): string {
  const which = inputs.flatMap((value, i) =>
    isTensorLike(value) && hasNan(value) ? [`input ${i}`] : [],
  );
  return which.length > 0 ? `; NaN is in ${which.join(" and ")} of the call` : "";
}

/** The error of a failed call, with the number of the call within its method. */
function ofCall(error: unknown, index: number, inputs: InputTuple): unknown {
  if (!(error instanceof SconceError) || error instanceof SconcePanic) return error;
  const { code, message, hint, diagnostics, cause } = error;
  if (code === "cancelled") return error;
  const lead = `call ${index}: `;
  const tail = code === "numeric" ? nansOf(inputs) : "";
  const lines = diagnostics.map((d) =>
    d.severity === "error" ? { ...d, message: lead + d.message + tail } : d,
  );
  const made = new SconceError(code, lead + message + tail, hint, lines);
  if (cause !== undefined) made.cause = cause;
  return made;
}

/** One quantization under way on a job. */
class Quantizing {
  private program: LoadedProgram | undefined;
  /** Calls of each method that the running program was given. */
  private readonly asked = new Map<string, number>();
  private isComparing = false;
  /** Copies: arrays are the caller's, who may fill them again for the next call. */
  private readonly kept: Record<string, InputTuple[]> = {};

  constructor(
    private readonly job: Job,
    from: number,
    private readonly configs: Configs,
    private readonly options: QuantizeOptions,
  ) {
    const methods = Object.fromEntries(
      Object.entries(configs).map(([method, all]) => [method, all.map(configJson)]),
    );
    const texts = [
      jsonFor("the quantization", { methods }),
      optionsJson("toEdge", options.compileConfig),
      // A planner of the caller's own is for the file: what calibrates takes the default.
      optionsJson("toExecutorch", options.executorch, { memory_planning: undefined }),
    ];
    job.core.memory.withTexts(texts, (config, configBytes, edge, edgeBytes, emit, emitBytes) =>
      job.call(this.call, (raw, s) =>
        raw.quantize_begin(s, from, config!, configBytes!, edge!, edgeBytes!, emit!, emitBytes!),
      ),
    );
  }

  private get call(): CallOptions {
    const { signal, onProgress } = this.options;
    return { ...(signal && { signal }), ...(onProgress && { onProgress }) };
  }

  private get running(): LoadedProgram {
    this.program ??= new LoadedProgram(this.job, dtypesOf(this.job));
    return this.program;
  }

  private takesBatches(method: string): boolean {
    return this.job.core.memory.withTexts(
      [method],
      (name, bytes) =>
        this.job.enter({}, (raw, s) => raw.quantize_takes_batches(s, name!, bytes!)) !== 0,
    );
  }

  private batch(method: string, inputs: InputTuple): void {
    const { job, call } = this;
    const index = this.asked.get(method) ?? 0;
    this.asked.set(method, index + 1);
    try {
      job.hold(() => {
        this.running.give(job, method, inputs, call);
        job.call(call, (raw, s) => raw.quantize_batch(s));
      });
    } catch (error) {
      throw ofCall(error, index, inputs);
    }
  }

  /** The core knows which methods have anything to observe; no recipe tells. */
  async calibrate(quantization: Methods): Promise<void> {
    const methods = Object.keys(this.configs).filter((method) => this.takesBatches(method));
    const given = methods.map((method) => [method, quantization[method]!.calibration()] as const);
    const counts = given.map(([, { count }]) => count);
    const total = counts.includes(0) ? 0 : counts.reduce((sum, count) => sum + count, 0);
    const keeps = this.options.sensitivity;
    let done = 0;
    for (const [method, { calls }] of given) {
      const kept: InputTuple[] = (this.kept[method] = []);
      for await (const inputs of calls) {
        this.options.onProgress?.({ phase: "calibrate", done: done++, total });
        this.batch(method, inputs);
        if (keeps && kept.length < COMPARED_CALLS) kept.push(inputs.map(copyOf));
      }
    }
  }

  /** Runs the passes of a recipe that see observers as nodes, and have them where they leave them. */
  passObservers(
    when: "postPrepare" | "preConvert",
    prepared: OpenedManager,
    quantization: Methods,
  ): void {
    if (!hasHooks(quantization, when)) return;
    const { job } = this;
    const { memory } = job.core;
    const number = memory.with(8, (out) => {
      job.call(this.call, (raw, s) => raw.quantize_show(s, out));
      return memory.number(out);
    });
    const shown = openedAt(job, number, prepared);
    try {
      for (const method of Object.keys(this.configs)) {
        const passes = asking(quantization, when)(shown.exportedProgram(method));
        if (passes.length > 0) this.transform(method, when, passes);
      }
    } finally {
      shown.dispose();
    }
    job.call(this.call, (raw, s) => raw.quantize_hide(s, when === "postPrepare" ? 1 : 0));
    // The core has made what runs the batches anew.
    if (when === "postPrepare") this.program = undefined;
  }

  private transform(method: string, when: string, passes: readonly Pass[]): void {
    const host = new HostFunctions(this.job);
    const json = jsonFor(`${when}Passes`, host.entries(passes, true));
    this.job.core.memory.withTexts([method, json], (name, bytes, list, listBytes) =>
      this.job.call(host.options(this.call), (raw, s) =>
        raw.quantize_transform(s, name!, bytes!, list!, listBytes!),
      ),
    );
  }

  /** The number of the quantized program. */
  convert(): number {
    const { memory } = this.job.core;
    this.program = undefined;
    this.asked.clear();
    return memory.with(8, (out) => {
      this.job.call(this.call, (raw, s) => raw.quantize_convert(s, out));
      return memory.number(out);
    });
  }

  compare(examples: Readonly<Record<string, readonly InputTuple[]>>): void {
    this.job.call(this.call, (raw, s) => raw.quantize_compare(s));
    this.isComparing = true;
    const methods = Object.keys(this.configs).filter((method) => this.takesBatches(method));
    const calls = methods.flatMap((method) =>
      (this.kept[method] ?? examples[method] ?? [])
        .slice(0, COMPARED_CALLS)
        .map((inputs) => [method, inputs] as const),
    );
    calls.forEach(([method, inputs], done) => {
      this.options.onProgress?.({ phase: "compare", done, total: calls.length });
      this.batch(method, inputs);
    });
  }

  /** The core's notes on a method, and one more if it was to be compared and had no calls. */
  private notesOf(method: string, notes: readonly string[]): string[] {
    const isIdle = this.isComparing && !this.asked.has(method);
    return isIdle ? [...notes, NOTHING_COMPARED] : [...notes];
  }

  report(): QuantizationReport {
    const { methods } = JSON.parse(
      this.job.textOf((raw, s) => raw.quantize_report(s)),
    ) as RawReport;
    const rows = Object.entries(methods).map(
      ([name, one]) =>
        [name, methodReport({ ...one, notes: this.notesOf(name, one.notes) })] as const,
    );
    return { methods: Object.fromEntries(rows), qparams: rows.flatMap(qparamsOf) };
  }

  end(): void {
    this.job.enter({}, (raw, s) => raw.quantize_end(s));
  }
}

/** How each method is quantized, of the program that is. */
function configsFor(prepared: OpenedManager, quantization: Methods): Configs {
  return Object.fromEntries(
    Object.entries(quantization).map(([method, { configs }]) => [
      method,
      configs(prepared.exportedProgram(method)),
    ]),
  );
}

/** The passes that a recipe asks for at that point, by method. */
const asking =
  (quantization: Methods, when: keyof QuantizationHooks) =>
  (program: ExportedProgram): readonly Pass[] =>
    Object.hasOwn(quantization, program.method)
      ? quantization[program.method]!.hooks[when].passes(program)
      : [];

const hasHooks = (quantization: Methods, when: keyof QuantizationHooks): boolean =>
  Object.values(quantization).some(({ hooks }) => hooks[when].isAny);

/** The converted program, after the passes that follow. */
function afterwards(converted: OpenedManager, quantization: Methods): OpenedManager {
  const after = transformSources(
    converted,
    "postConvertPasses",
    asking(quantization, "postConvert"),
  );
  if (after !== converted) converted.dispose();
  return after;
}

/** Converts the calibrated program, and gives the programs to lower. */
function finished(
  quantizing: Quantizing,
  prepared: OpenedManager,
  quantization: Methods,
  compare: () => void,
): Quantized {
  const { job } = places.get(prepared)!();
  const converted = openedAt(job, quantizing.convert(), prepared);
  try {
    compare();
    const report = quantizing.report();
    return { program: afterwards(converted, quantization), report };
  } catch (error) {
    converted.dispose();
    throw error;
  }
}

async function quantizePrepared(
  prepared: OpenedManager,
  quantization: Methods,
  examples: Readonly<Record<string, readonly InputTuple[]>>,
  options: QuantizeOptions,
): Promise<Quantized> {
  const { job, program } = places.get(prepared)!();
  const configs = configsFor(prepared, quantization);
  const quantizing = new Quantizing(job, program, configs, options);
  try {
    quantizing.passObservers("postPrepare", prepared, quantization);
    await quantizing.calibrate(quantization);
    quantizing.passObservers("preConvert", prepared, quantization);
    return finished(quantizing, prepared, quantization, () => {
      if (options.sensitivity) quantizing.compare(examples);
    });
  } finally {
    quantizing.end();
  }
}

/**
 * Quantizes the methods of `quantization` in opened programs, which stay as they are; the others go
 * over unchanged. Methods in which something observes run on the calls that calibrate, each asked for
 * once, in order; the others are compared on their `examples`.
 */
export async function quantizeProgram(
  opened: OpenedPrograms,
  quantization: Methods,
  examples: Readonly<Record<string, readonly InputTuple[]>>,
  options: QuantizeOptions = {},
): Promise<Quantized> {
  const prepared = transformSources(
    opened as OpenedManager,
    "prePreparePasses",
    asking(quantization, "prePrepare"),
  );
  const held = prepared === opened ? openedAgain(prepared) : prepared;
  try {
    return await quantizePrepared(held, quantization, examples, options);
  } finally {
    held.dispose();
  }
}
