// Lowering: the managers of opened and of edge programs, on one job that keeps every program it
// makes. An edge manager and what comes of it share the job, which closes when the last of them is
// disposed.
import { badArgument, jsonFor, KINDS, mustBe } from "../base/check.js";
import { constantJson } from "../call/constant.js";
import type { Job } from "../module/job.js";
import { ExecutorchManager } from "./emitted.js";
import { SconceError } from "../base/errors.js";
import {
  ViewingManager,
  completed,
  generate,
  inspectCompilation,
  type Recorded,
} from "./manager.js";
import { listPrograms, openProgram } from "./open.js";
import { optionsJson } from "../call/options.js";
import { partitionersJson } from "./partition.js";
import { checkOptions } from "../call/protocol.js";
import { readInputs, readValues } from "../record/record.js";
import type {
  CallOptions,
  CompileSpec,
  EdgeProgramManager,
  ExecutorchConfig,
  ExecutorchProgramManager,
  OpenedPrograms,
  Partitioners,
  Passes,
  Programs,
  RecordValue,
  ToBackendOptions,
  ToEdgeOptions,
  TransformAndLowerOptions,
} from "../types/index.js";

export class OpenedManager extends ViewingManager implements OpenedPrograms {
  constructor(job: Job, program: number, methods: readonly string[]) {
    super("OpenedPrograms", job, program, methods, []);
  }

  exampleInputs(method?: string): RecordValue[] | null {
    const name = this.exportedProgram(method).method;
    const { job } = this;
    return job.core.memory.withTexts([name], (text, bytes) =>
      readValues(job, (raw, s, out) => raw.compile_examples(s, text!, bytes!, out), readInputs),
    );
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
      raw.compile_to_edge(s, this.program, texts[0]!, texts[1]!, out),
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
        this.program,
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
export function programCall(
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
  return new OpenedManager(job, 0, methods);
}
