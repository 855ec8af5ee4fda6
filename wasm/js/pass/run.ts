// Passes, partitioners and memory planners of the user's own in the middle of a call of the core, which
// knows them by number.
import { badArgument, isObject, isPlain, isText, jsonFor, KINDS } from "../base/check.js";
import { messageOf, SconceError } from "../base/errors.js";
import { oneOf } from "../base/nearest.js";
import { BUILT_IN_PASSES } from "../border/passes.gen.js";
import type { HostOptions } from "../module/core.js";
import type { Job } from "../module/job.js";
import type {
  OwnPartitioner,
  PartitionFunction,
  Pass,
  PassFunction,
  PassProgram,
  PlanMemory,
  PlanRequest,
} from "../types/index.js";
import { passProgram } from "./program.js";
import type { Added, Changed, PassCore, RawMethod } from "./raw.js";

/** The core's side of one pass that runs; `added` receives the names of new constant methods. */
function coreOf(job: Job, added: string[]): PassCore {
  const { core } = job;
  const text = (body: Parameters<Job["fromPass"]>[0]): string => {
    job.fromPass(body);
    return core.text(job.handle);
  };
  const change = (json: string): Changed =>
    core.memory.withTexts([json], (at, bytes) =>
      JSON.parse(text((raw, s) => raw.edit_change(s, at!, bytes!))),
    ) as Changed;
  return {
    method: () => JSON.parse(text((raw, s) => raw.edit_method(s))) as RawMethod,
    change: (what) => change(JSON.stringify(what)),
    addConstantMethod: (name, json) => {
      change(`{"do":"constantMethod","name":${JSON.stringify(name)},"value":${json}}`);
      added.push(name);
    },
    text: () => text((raw, s) => raw.edit_text(s)),
    constant: (input, bytes) =>
      core.memory.with(bytes, (at) => {
        job.fromPass((raw, s) => raw.edit_read_constant(s, input, at, bytes));
        return core.memory.copy(at, bytes);
      }),
    addConstant: (what, data) =>
      core.memory.with(data.byteLength, (at) => {
        core.memory.bytes(at, data.byteLength).set(data);
        return core.memory.withTexts([JSON.stringify(what)], (json, bytes) =>
          JSON.parse(
            text((raw, s) => raw.edit_add_constant(s, json!, bytes!, at, data.byteLength)),
          ),
        ) as Added;
      }),
  };
}

/** The error of a pass or a partitioner, with its name and the method. */
function failed(name: string, method: string, error: unknown): SconceError {
  if (error instanceof SconceError) {
    const { code, message, hint, diagnostics } = error.ofMethod(method);
    const placed = diagnostics.map((d) => ({
      ...d,
      pass: d.pass === "" ? name : d.pass,
      ...(d.severity === "error" && { message: `${name}: ${d.message}` }),
    }));
    const named = new SconceError(code, `${name} on method '${method}': ${message}`, hint, placed);
    named.cause = error;
    return named;
  }
  const thrown = new SconceError(
    "argument",
    `${name} threw on method '${method}': ${messageOf(error)}`,
    "Correct the function: the `cause` of this error is what it threw.",
  ).ofMethod(method);
  thrown.cause = error;
  return thrown;
}

/** The body of a call of the core's: the program is there until it returns. */
function withProgram(job: Job, added: string[], body: (program: PassProgram) => void): void {
  const { program, end } = passProgram(coreOf(job, added));
  try {
    body(program);
  } finally {
    end();
  }
}

/**
 * Throws for the results of async functions and of generators: the program is gone by the time that their
 * bodies run on, or begin to run.
 */
export function refuseUnfinished(what: string, result: unknown): void {
  if (!isObject(result)) return;
  const isPromise = KINDS.function.test(result["then"]);
  if (!isPromise && !KINDS.function.test(result["next"])) return;
  if (isPromise) void Promise.resolve(result).catch(() => undefined);
  throw new SconceError(
    "argument",
    `${what} returned ${isPromise ? "a promise" : "a generator"}, which is not awaited`,
    "Use a plain function: its work is done when it returns.",
  );
}

function runPass(job: Job, pass: PassFunction, name: string, added: string[]): void {
  withProgram(job, added, (program) => {
    const result: unknown = pass(program);
    refuseUnfinished("a pass", result);
  });
  job.core.memory.withTexts([name], (text, bytes) =>
    job.fromPass((core, s) => core.edit_end_pass(s, text!, bytes!)),
  );
}

/** Gives the core what `ask` makes of a partitioner's result. */
function runPartitioner(
  job: Job,
  { partition }: OwnPartitioner,
  toRounds: (result: unknown, program: PassProgram) => object[],
): void {
  withProgram(job, [], (program) => {
    const result: unknown = partition(program);
    refuseUnfinished("a partitioner", result);
    const json = jsonFor("the result of a partitioner", toRounds(result, program));
    job.core.memory.withTexts([json], (text, bytes) =>
      job.fromPass((core, s) => core.edit_partition(s, text!, bytes!)),
    );
  });
}

/** The offsets of a plan as the core reads them: what is no exact number has no place in its JSON. */
function offsetsJson(offsets: unknown): string {
  const accepts = "a list of offsets in bytes, one for each item";
  refuseUnfinished("a memory planner", offsets);
  if (!Array.isArray(offsets) && !ArrayBuffer.isView(offsets))
    throw badArgument("the result of a memory planner", accepts, offsets);
  const list = Array.from(offsets as unknown as ArrayLike<unknown>, (offset, i) => {
    if (Number.isSafeInteger(offset) && Number(offset) >= 0) return Number(offset);
    throw badArgument(`offset ${i} of a memory planner`, "a whole number, 0 or more", offset);
  });
  return JSON.stringify(list);
}

function runPlanner(job: Job, plan: PlanMemory): void {
  job.fromPass((core, s) => core.plan_request(s));
  const request = JSON.parse(job.core.text(job.handle)) as PlanRequest;
  const json = offsetsJson(plan(request));
  job.core.memory.withTexts([json], (text, bytes) =>
    job.fromPass((core, s) => core.plan_answer(s, text!, bytes!)),
  );
}

/** Passes as the core takes them: its own by name, functions by number. */
export type PassEntries = (string | number)[];

/** The functions that one call of the core may run. */
export class HostFunctions {
  private readonly rows: { name: string; run: () => void }[] = [];
  /** The names of the constant methods that passes have added. */
  readonly configMethods: string[] = [];

  constructor(private readonly job: Job) {}

  /**
   * The list as the core takes it. Names of passes that were registered stand for these. The core has a
   * list of its own of the passes that run before decomposition.
   */
  entries(list: readonly Pass[], isEarly = false): PassEntries {
    return list.map((given, i) => {
      const pass = typeof given === "string" ? this.job.core.passes.get(given) : given;
      if (!pass) return isEarly ? (given as string) : this.builtIn(given as string);
      const name = typeof given === "string" ? given : pass.name || `pass ${i + 1}`;
      return (
        this.rows.push({ name, run: () => runPass(this.job, pass, name, this.configMethods) }) - 1
      );
    });
  }

  /** The name of a pass of the core; some of these only the core itself may run, as it says then. */
  private builtIn(name: string): string {
    if (!isText(name) || BUILT_IN_PASSES.some((pass) => pass.name === name)) return name;
    const offered = BUILT_IN_PASSES.filter(({ isOffered }) => isOffered).map((pass) => pass.name);
    const known = [...offered, ...this.job.core.passes.names()];
    throw new SconceError("not_found", `there is no pass '${name}'`, oneOf(name, known));
  }

  /** Memory planners as the core takes them: its own by name, functions by number. */
  planners(given: unknown, words: readonly string[]): unknown {
    if (isPlain(given))
      return Object.fromEntries(
        Object.entries(given).map(([method, one]) => [method, this.planner(one, words)]),
      );
    return given === undefined ? undefined : this.planner(given, words);
  }

  private planner(given: unknown, words: readonly string[]): string | number {
    if (typeof given === "string" && words.includes(given)) return given;
    const plan = typeof given === "string" ? this.job.core.planners.get(given) : given;
    if (typeof plan !== "function")
      throw new SconceError(
        "option",
        `'memoryPlanning' must be ${words.map((word) => `"${word}"`).join(", ")} or a planner of your own, not '${String(given)}'`,
        "Give a function, or the name that registerMemoryPlanner() gave it.",
      );
    const name = typeof given === "string" ? given : plan.name || "a memory planner";
    return this.rows.push({ name, run: () => runPlanner(this.job, plan as PlanMemory) }) - 1;
  }

  /** The partitioner that was registered under that name. */
  partitioner(name: string): PartitionFunction | OwnPartitioner | undefined {
    return this.job.core.partitioners.get(name);
  }

  /** The number of a partitioner; `toRounds` checks its result, and makes it what the core reads. */
  addPartitioner(
    partitioner: OwnPartitioner,
    name: string,
    toRounds: (result: unknown, program: PassProgram) => object[],
  ): number {
    return this.rows.push({ name, run: () => runPartitioner(this.job, partitioner, toRounds) }) - 1;
  }

  /** The number of a function that reads a method. */
  addReader(name: string, read: (program: PassProgram) => void): number {
    return this.rows.push({ name, run: () => withProgram(this.job, [], read) }) - 1;
  }

  /** The options of a call, with what the core needs to run them. */
  options<O extends HostOptions>(options: O): O & HostOptions {
    if (this.rows.length === 0) return options;
    return {
      ...options,
      runPass: (number, method) => {
        const { name, run } = this.rows[number]!;
        try {
          run();
        } catch (error) {
          throw failed(name, method, error);
        }
      },
    };
  }
}
