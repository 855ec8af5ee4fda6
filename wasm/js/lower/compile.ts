// Lowering: the managers of opened and of edge programs, on one job that keeps every program it
// makes. An edge manager and the managers made from it share the job, which closes when the last of
// them is disposed.
import { jsonFor, mustBe } from "../base/check.js";
import { packConstant } from "../call/constant.js";
import type { Job } from "../module/job.js";
import { ExecutorchManager } from "./emitted.js";
import { SconceError } from "../base/errors.js";
import {
  ViewingManager,
  completed,
  copied,
  generate,
  inspectCompilation,
  type Names,
  type Recorded,
} from "./manager.js";
import { listPrograms, openProgram } from "./open.js";
import { optionsJson, PLANNER_WORDS } from "../call/options.js";
import { partitionersJson } from "./partition.js";
import { programCall } from "./program_call.js";
import { HostFunctions } from "../pass/run.js";
import { passEntries } from "../pass/lists.js";
import { namesOfFiles, weightFiles } from "./weight_files.js";
import { checkOptions } from "../call/protocol.js";
import { readInputs, readValues } from "../record/record.js";
import type { Callable } from "./callable.js";
import type {
  CallOptions,
  CompilationReport,
  CompileSpec,
  EdgeProgramManager,
  ExecutorchBackendConfig,
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

/** Opened programs, on a job of the engine. */
export class OpenedManager extends ViewingManager implements OpenedPrograms {
  constructor(job: Job, program: number, methods: readonly string[]) {
    super("OpenedPrograms", job, program, { methods, configMethods: [] });
  }

  override callable(): Callable {
    const edge = this.decompose({});
    try {
      return edge.callable();
    } finally {
      edge.dispose();
    }
  }

  /** With all programs that were made of these, also by a call that failed later. */
  override inspect(): CompilationReport {
    const all = inspectCompilation(this.job);
    return { ...all, diagnostics: all.stages.flatMap(({ diagnostics }) => diagnostics) };
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
    const host = new HostFunctions(this.job);
    const what = "'transformPasses'";
    const passes = passEntries(what, transformPasses, host, (method) =>
      this.exportedProgram(method),
    );
    const texts = [
      jsonFor(what, passes),
      partitionersJson(partitioner, "'partitioner'", {
        host,
        passesOf: (id) => this.job.core.backends.passesOf(id),
      }),
      optionsJson("toEdge", compileConfig),
      optionsJson("toBackend", options),
    ];
    return this.edgeOf(
      host.options(options),
      texts,
      (raw, s, t, out) =>
        raw.compile_to_edge_transform_and_lower(
          s,
          this.program,
          ...(t as [number, number, number, number, number, number, number, number]),
          out,
        ),
      host,
    );
  }

  private edgeOf(
    options: ToEdgeOptions,
    texts: readonly string[],
    body: Parameters<typeof programCall>[3],
    host?: HostFunctions,
  ): EdgeManager {
    const { job } = this;
    const constants = packed(options);
    return job.hold(() => {
      const recorded = generate(job, options);
      for (const constant of constants) addConstant(job, options, constant);
      const program = programCall(job, options, texts, body);
      const { split } = options.compileConfig ?? {};
      const methods = split ? Object.keys(split) : this.names.methods;
      const names = { methods, configMethods: constants.map(({ name }) => name) };
      return new EdgeManager(job.retain(), program, namesAfter(names, host), recorded);
    });
  }
}

/** A constant method as the core takes it. */
interface PackedConstant {
  readonly name: string;
  readonly json: string;
  readonly bytes: Uint8Array;
}

function packed({ constantMethods = {} }: ToEdgeOptions): PackedConstant[] {
  return Object.entries(constantMethods).map(([name, value]) => {
    mustBe("name", "a constant method's name", name);
    return { name, ...packConstant(`what constant method '${name}' returns`, value) };
  });
}

/** Gives the core a constant method for the lowering that begins next. */
function addConstant(job: Job, options: CallOptions, { name, json, bytes }: PackedConstant): void {
  const { memory } = job.core;
  memory.withTexts([name, json], (n, nBytes, v, vBytes) =>
    memory.with(bytes.length + 1, (data) => {
      memory.bytes(data, bytes.length).set(bytes);
      job.call(options, (raw, s) =>
        raw.compile_constant_method(s, n!, nBytes!, v!, vBytes!, data, bytes.length),
      );
    }),
  );
}

/** The names of methods, with the constant methods that passes have added. */
const namesAfter = (names: Names, host?: HostFunctions): Names => ({
  ...names,
  configMethods: [...names.configMethods, ...(host?.configMethods ?? [])],
});

class EdgeManager extends ViewingManager implements EdgeProgramManager {
  constructor(job: Job, program: number, names: Names, recorded: Recorded | undefined) {
    super("EdgeProgramManager", job, program, names, recorded);
  }

  /** The next manager, with a record of its own. */
  private next(job: Job, program: number, host: HostFunctions): EdgeManager {
    const names = namesAfter(this.names, host);
    const { recorded } = this;
    return new EdgeManager(job.retain(), program, names, recorded && copied(job, recorded));
  }

  override callable(): Callable {
    const lowered = this.emit({}, false);
    try {
      return lowered.callable();
    } finally {
      lowered.dispose();
    }
  }

  transform(passes: Passes): EdgeProgramManager {
    const { job } = this;
    const host = new HostFunctions(job);
    const what = "the passes of transform()";
    return job.hold(() => this.next(job, this.transformed(what, passes, host), host));
  }

  /** The number of the program that passes make. */
  private transformed(
    what: string,
    passes: Passes,
    host: HostFunctions,
    { signal, onProgress }: CallOptions = {},
  ): number {
    const entries = passEntries(what, passes, host, (method) => this.exportedProgram(method));
    const watched = { ...(signal && { signal }), ...(onProgress && { onProgress }) };
    return programCall(
      this.job,
      host.options(watched),
      ["", jsonFor(what, entries)],
      (raw, s, t, out) => raw.compile_transform(s, this.program, t[0]!, t[1]!, t[2]!, t[3]!, out),
    );
  }

  toBackend(
    given: Partitioners,
    second?: ToBackendOptions | string,
    compileSpecs?: readonly CompileSpec[],
  ): EdgeProgramManager {
    const options = typeof second === "string" ? {} : (second ?? {});
    checkOptions("EdgeProgramManager", "toBackend", options);
    const isWhole = typeof second === "string" || compileSpecs !== undefined;
    const { job } = this;
    const host = new HostFunctions(job);
    const json = partitionersJson(
      isWhole ? wholeOf(given, second, compileSpecs) : given,
      "toBackend()",
      { host },
    );
    return job.hold(() => {
      const program = programCall(
        job,
        host.options(options),
        [json, optionsJson("toBackend", options)],
        (raw, s, texts, out) =>
          raw.compile_to_backend(s, this.program, texts[0]!, texts[1]!, texts[2]!, texts[3]!, out),
      );
      return this.next(job, program, host);
    });
  }

  toExecutorch(config: ExecutorchBackendConfig & CallOptions = {}): ExecutorchProgramManager {
    checkOptions("EdgeProgramManager", "toExecutorch", config);
    return this.emit(config, false);
  }

  /** With `consume` the graph itself is emitted, not a copy of it, and can no longer be looked at. */
  emit(config: ExecutorchBackendConfig & CallOptions, consume: boolean): ExecutorchManager {
    const { job } = this;
    const { passes } = config;
    return job.hold(() => {
      const host = new HostFunctions(job);
      if (!passes) return this.emitProgram(this.program, config, consume, host);
      const edge = this.transformed("'passes' of toExecutorch()", passes, host, config);
      try {
        return this.emitProgram(edge, config, true, host);
      } finally {
        job.drop(edge);
      }
    });
  }

  /** Emits this manager's program, or the one that `passes` made of it. */
  private emitProgram(
    edge: number,
    config: ExecutorchBackendConfig & CallOptions,
    consume: boolean,
    passes: HostFunctions,
  ): ExecutorchManager {
    const { job, names, recorded } = this;
    const host = new HostFunctions(job);
    const files = weightFiles(job, edge, config.externalConstants);
    const json = optionsJson("toExecutorch", config, {
      consume,
      external_constants: files,
      memory_planning: host.planners(config.memoryPlanning, PLANNER_WORDS),
    });
    const first = job.enter({}, (raw, s) => raw.output_count(s));
    const program = programCall(job, host.options(config), [json], (raw, s, texts, out) =>
      raw.compile_to_executorch(s, edge, texts[0]!, texts[1]!, out),
    );
    const complete = recorded && completed(job, recorded, program);
    const all = namesAfter(names, passes);
    return new ExecutorchManager(job.retain(), program, all, first, complete, namesOfFiles(files));
  }
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
