// Training a loaded program: its gradients and parameters by name, and optimizers.
import { badArgument, isPlain } from "../base/check.js";
import { Disposing } from "../base/dispose.js";
import { disposed, SconceError } from "../base/errors.js";
import { readValue } from "./read_value.js";
import type { DTypeTable } from "./dtype_table.js";
import type { Job } from "../module/job.js";
import { bytesOf } from "../tensor/bytes.js";
import type { InputTensor, SgdOptimizer, SgdOptions, Tensor } from "../types/index.js";

/** Followed by a method's name: the constant method with the names of its parameters. */
const NAMES = "__et_training_fqn_";

interface Trainer {
  readonly number: number;
  /** Outputs of the method before the gradients. */
  readonly results: number;
  readonly parameters: readonly string[];
}

/** The method that is meant: the only one that can be trained, where none is given. */
export function trainedMethod(methods: readonly string[], given: string | undefined): string {
  if (given !== undefined) return given;
  const found = methods.filter((name) => name.startsWith(NAMES)).map((n) => n.slice(NAMES.length));
  if (found.length === 1) return found[0]!;
  if (found.length === 0)
    throw new SconceError(
      "not_found",
      "no method of the program computes gradients of parameters",
      "Export a graph of loss and gradients with torch.export.experimental._export_forward_backward.",
    );
  throw new SconceError(
    "argument",
    `the program has ${found.length} methods that can be trained`,
    `Say which: ${found.slice(0, 32).join(", ")}.`,
  );
}

/** The trainers of a program, by method. */
export class Training {
  private readonly trainers = new Map<string, Trainer>();

  constructor(private readonly dtypes: DTypeTable) {}

  /** Fails with the code "not_found" if the method has no gradients. */
  of(job: Job, method: string): Trainer {
    const known = this.trainers.get(method);
    if (known) return known;
    const { memory } = job.core;
    const trainer = memory.with(8, (out) =>
      memory.withTexts([method], (text, bytes) => {
        const json = job.textOf((raw, s) => raw.train_open(s, text!, bytes!, out));
        return { ...(JSON.parse(json) as Omit<Trainer, "number">), number: memory.number(out) };
      }),
    );
    this.trainers.set(method, trainer);
    return trainer;
  }

  /** The parameters, or the kept gradients, by qualified name. */
  tensors(job: Job, method: string, isGradient: boolean): Record<string, Tensor> {
    const { number, parameters } = this.of(job, method);
    const read = (index: number): Tensor =>
      readValue(job, this.dtypes, (raw, s, out) =>
        raw.train_tensor(s, number, index, isGradient ? 1 : 0, out),
      ) as Tensor;
    return Object.fromEntries(parameters.map((name, index) => [name, read(index)]));
  }

  /** Replaces parameters, all or none. */
  set(job: Job, method: string, given: Readonly<Record<string, InputTensor>>): void {
    const trainer = this.of(job, method);
    const { memory } = job.core;
    for (const [index, bytes] of replaced(trainer, this.tensors(job, method, false), given))
      memory.with(bytes.length + 1, (at) => {
        memory.bytes(at, bytes.length).set(bytes);
        job.call({}, (raw, s) => raw.train_set(s, trainer.number, index, at, bytes.length));
      });
  }
}

/** The index and the bytes of each parameter that a caller gave, checked. */
function replaced(
  { parameters }: Trainer,
  before: Readonly<Record<string, Tensor>>,
  given: Readonly<Record<string, InputTensor>>,
): [index: number, bytes: Uint8Array][] {
  if (!isPlain(given))
    throw badArgument("the parameters of setNamedParameters()", "tensors by name", given);
  return Object.entries(given).map(([name, value]) => {
    const what = `parameter '${name}' of setNamedParameters()`;
    const index = parameters.indexOf(name);
    if (index < 0)
      throw new SconceError(
        "argument",
        `the method trains no parameter '${name}'`,
        `Use one of: ${parameters.slice(0, 32).join(", ")}.`,
      );
    const bytes = bytesOf(value, what);
    const { dtype, shape } = before[name]!;
    if (value.dtype !== dtype || String(value.shape) !== String(shape))
      throw badArgument(what, `a tensor of ${dtype} with the shape [${shape.join(", ")}]`, value);
    return [index, bytes];
  });
}

function numberOf(
  options: SgdOptions,
  name: "lr" | "momentum" | "dampening" | "weightDecay",
): number {
  const value: unknown = options[name] ?? (name === "lr" ? undefined : 0);
  const isLeast = name === "dampening" || Number(value) >= 0;
  if (Number.isFinite(value) && isLeast) return value as number;
  const accepts = name === "dampening" ? "a finite number" : "a finite number, 0 or more";
  throw badArgument(`'${name}' of sgd()`, accepts, value);
}

/** An optimizer in the module, for as long as the program that `job` gives is there. */
export class Sgd extends Disposing implements SgdOptimizer {
  readonly [Symbol.toStringTag] = "SgdOptimizer";
  private isOpen = true;

  private constructor(
    private readonly job: () => Job | undefined,
    private readonly number: number,
  ) {
    super();
  }

  static of(job: () => Job | undefined, trainer: number, options: SgdOptions): Sgd {
    const numbers = (["lr", "momentum", "dampening", "weightDecay"] as const).map((name) =>
      numberOf(options, name),
    ) as [number, number, number, number];
    if (options.nesterov === true && (numbers[1] === 0 || numbers[2] !== 0))
      throw new SconceError(
        "argument",
        "'nesterov' of sgd() needs a momentum above 0, and a dampening of 0",
        "Give a momentum, as torch.optim.SGD demands, or leave nesterov out.",
      );
    const open = job()!;
    const { memory } = open.core;
    const number = memory.with(8, (out) => {
      open.call({}, (raw, s) =>
        raw.train_sgd(s, trainer, ...numbers, options.nesterov === true ? 1 : 0, out),
      );
      return memory.number(out);
    });
    return new Sgd(job, number);
  }

  step(): void {
    const job = this.job();
    if (!job || !this.isOpen) throw disposed("SgdOptimizer");
    job.call({}, (raw, s) => raw.train_step(s, this.number));
  }

  dispose(): void {
    const job = this.job();
    if (job && this.isOpen) job.enter({}, (raw, s) => raw.train_close(s, this.number));
    this.isOpen = false;
  }
}
