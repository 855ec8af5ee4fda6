// The common part of managers: a place in a job, views of its programs, and the record.
import { mustBe } from "../base/check.js";
import type { Job } from "../module/job.js";
import { Disposing } from "../base/dispose.js";
import { disposed, SconceError } from "../base/errors.js";
import { camelKeys } from "../base/keys.js";
import { oneOf } from "../base/nearest.js";
import { HostFunctions, refuseUnfinished } from "../pass/run.js";
import { tagOf } from "../base/tags.js";
import type { Callable } from "./callable.js";
import { recordCall, RecordView } from "../record/record.js";
import { places } from "../module/place.js";
import { showAs, type Summary } from "../base/shown.js";
import type {
  CompilationReport,
  Delegation,
  ETRecord,
  ExportedConstant,
  ExportedProgram,
  Inputs,
  LowerOptions,
  NodeRow,
  OpenedPrograms,
  PassConstant,
  PassProgram,
  Tensor,
  Value,
} from "../types/index.js";

/** The report of all programs that the job has made. */
export function inspectCompilation(job: Job): CompilationReport {
  return camelKeys(JSON.parse(job.textOf((raw, s) => raw.compile_inspect(s)))) as CompilationReport;
}

/** The report of a program and of those that it was made from; the job may have others. */
function reportOf(job: Job, program: number): CompilationReport {
  const all = inspectCompilation(job);
  const chain = new Set<number>();
  for (let at = program; !chain.has(at); at = all.stages[at]!.from) chain.add(at);
  const isOwn = (row: { program: number }): boolean => chain.has(row.program);
  const stages = all.stages.filter(isOwn);
  return {
    ...all,
    stages,
    plans: all.plans.filter(isOwn),
    outputs: all.outputs.filter(isOwn),
    diagnostics: stages.flatMap(({ diagnostics }) => diagnostics),
  };
}

/** The IR of a program, or of one of its methods, as text. */
export function textOf(job: Job, program: number, method: string): string {
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

/** Calls a function with a method of a program, which it may read. */
function readMethod<T>(
  call: string,
  job: Job,
  program: number,
  method: string,
  look: (program: PassProgram) => T,
): T {
  const host = new HostFunctions(job);
  let result: T | undefined;
  const number = host.addReader(call, (found) => {
    result = look(found);
    refuseUnfinished("the function of read()", result);
  });
  job.core.memory.withTexts([method], (name, bytes) =>
    job.call(host.options({}), (raw, s) => raw.edit_read(s, program, name!, bytes!, number)),
  );
  return result as T;
}

class MethodView implements ExportedProgram {
  readonly [Symbol.toStringTag] = "ExportedProgram";
  constructor(
    private readonly job: () => Job,
    private readonly program: number,
    readonly method: string,
    /** Runs the method. */
    readonly call: (inputs: Inputs) => Value[],
  ) {}
  text(): string {
    return textOf(this.job(), this.program, this.method);
  }
  nodes(): NodeRow[] {
    return nodesOf(this.job(), this.program, this.method);
  }
  read<T>(look: (program: PassProgram) => T): T {
    mustBe("function", "the argument of read()", look);
    return this.look("read()", look);
  }
  private look<T>(call: string, look: (program: PassProgram) => T): T {
    return readMethod(call, this.job(), this.program, this.method, look);
  }
  get signature(): ExportedProgram["signature"] {
    return this.read(({ signature }) => signature);
  }
  get rangeConstraints(): ExportedProgram["rangeConstraints"] {
    return this.read(({ rangeConstraints }) => rangeConstraints);
  }
  get constants(): ExportedProgram["constants"] {
    const plain = ({ name, kind, dtype, shape }: PassConstant): ExportedConstant =>
      Object.freeze({ name, kind, dtype, shape });
    return this.read(({ constants }) => constants.map(plain));
  }
  constant(name: string): Tensor {
    mustBe("text", "the name of constant()", name);
    return this.look("constant()", ({ constants }) => {
      const found = constants.find((constant) => constant.name === name);
      if (found) return found.tensor();
      const names = constants.map((constant) => constant.name);
      throw new SconceError(
        "not_found",
        `there is no constant '${name}'`,
        names.length > 0 ? oneOf(name, names) : "The method has no constants.",
      );
    });
  }
  stateDict(): Record<string, Tensor> {
    const tensorOf = ([name, c]: [string, PassConstant]): [string, Tensor] => [name, c.tensor()];
    return this.read((found) =>
      Object.fromEntries(Object.entries(found.stateDict()).map(tensorOf)),
    );
  }
}

showAs(MethodView.prototype, "ExportedProgram", ({ method }) => ({ method }));

/** A record that a manager has, by its number, and whether it is written without weights. */
export interface Recorded {
  readonly number: number;
  readonly isLight: boolean;
}

/** The names of a program's methods. */
export interface Names {
  readonly methods: readonly string[];
  readonly configMethods: readonly string[];
}

/** The common part of all managers: a share in a job, a program in it, and its methods' names. */
export abstract class Manager extends Disposing {
  private held: Job | undefined;
  private view: RecordView | undefined;
  private loaded: Callable | undefined;

  constructor(
    /** The name of its interface, for messages. */
    private readonly kind: string,
    job: Job,
    protected readonly program: number,
    /** Names of methods, and of constant methods. */
    protected readonly names: Names,
    protected readonly recorded?: Recorded,
  ) {
    super();
    this.held = job.own(this);
    places.set(this, () => ({ job: this.job, program, kind }));
  }

  /** A list of one's own each time, so that nobody changes that of another manager. */
  get methods(): readonly string[] {
    return Object.freeze([...this.names.methods]);
  }

  get configMethods(): readonly string[] {
    return Object.freeze([...this.names.configMethods]);
  }

  /** Lowers what is left to lower, and loads the program: for calls of its methods. */
  abstract callable(): Callable;

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
    return new MethodView(
      () => this.job,
      this.program,
      name,
      (inputs) => {
        if (!this.held) throw disposed(this.kind);
        return (this.loaded ??= this.callable()).call(name, inputs);
      },
    );
  }

  inspect(): CompilationReport {
    return reportOf(this.job, this.program);
  }

  delegation(): Delegation {
    const { program } = this;
    return JSON.parse(
      this.job.textOf((raw, s) => raw.compile_delegation(s, program)),
    ) as Delegation;
  }

  /** The parts that a person wants to see of it; throws once it is disposed. */
  summary(): Summary {
    const { job, methods, configMethods } = this;
    const heapBytes = job.enter({}, () => job.core.memory.heapBytes);
    return { methods, ...(configMethods.length > 0 && { configMethods }), heapBytes };
  }

  dispose(): void {
    const { held } = this;
    this.held = undefined;
    this.loaded?.dispose();
    this.loaded = undefined;
    held?.drop(this.program);
    held?.disown(this);
  }
}

showAs(
  Manager.prototype,
  (manager) => manager[Symbol.toStringTag],
  (manager) => manager.summary(),
);

function checkPlace(call: string, program: number, method: string): void {
  mustBe("index", `the program number of ${call}()`, program);
  mustBe("text", `the method of ${call}()`, method);
}

/** A manager that shows every program of its job. */
export abstract class ViewingManager extends Manager {
  text(program: number, method = ""): string {
    checkPlace("text", program, method);
    return textOf(this.job, program, method);
  }

  nodes(program: number, method: string): NodeRow[] {
    checkPlace("nodes", program, method);
    return nodesOf(this.job, program, method);
  }
}

/** A record for the edge program that is made next, if one is wanted. */
export function generate(
  job: Job,
  { generateEtrecord, etrecord }: LowerOptions,
): Recorded | undefined {
  if (!generateEtrecord && !etrecord) return undefined;
  const number = recordCall(job, (raw, s, out) => raw.record_generate(s, out));
  return { number, isLight: etrecord === "light" };
}

/** A record of its own with what the other one knows of the programs; values are not taken along. */
export function copied(job: Job, { number, isLight }: Recorded): Recorded {
  return { number: recordCall(job, (raw, s, out) => raw.record_copy(s, number, out)), isLight };
}

/** A record of its own with what is known of an executorch program; the other one stays. */
export function completed(job: Job, { number, isLight }: Recorded, program: number): Recorded {
  return {
    number: recordCall(job, (raw, s, out) => raw.record_complete(s, number, program, out)),
    isLight,
  };
}

/** Is the value what open() gives? */
export const isOpened = (value: unknown): value is OpenedPrograms =>
  tagOf(value) === "OpenedPrograms";

/** The same object for somebody who does not own it: disposing of it has no effect. */
export function borrowed<T extends object>(owned: T): T {
  const view = Object.create(owned, { dispose: { value: () => undefined } }) as T;
  const place = places.get(owned);
  if (place) places.set(view, place);
  return view;
}
