// Export sessions: they open programs, walk through the stages of a recipe, and keep what each of
// them made. The stages themselves are in stages.ts.
import { Artifact } from "./artifact.js";
import { badArgument, isObject, KINDS, mustBe } from "../base/check.js";
import { borrowed, isOpened } from "../lower/manager.js";
import { delegationText } from "../lower/delegation_info.js";
import { busy, cancelled, disposed, SconceError } from "../base/errors.js";
import { Disposing } from "../base/dispose.js";
import { callsByMethod, type GivenCalls } from "./example_calls.js";

import { checkOptions } from "../call/protocol.js";
import { flatValues } from "../record/record.js";
import { isQuantizing } from "./check.js";
import { recipeOf } from "./registry.js";
import { checkName, savePte } from "../sink/saving.js";
import { showAs } from "../base/shown.js";
import { checkNamed, isMade } from "./stage_input.js";
import { gatherPrograms } from "../source/gather.js";
import { checkSequence, checkWishes, stagesOf } from "./stages.js";
import { copyOf } from "../tensor/bytes.js";
import type {
  CallOptions,
  DelegationInfo,
  EdgeProgramManager,
  Engine,
  ETRecord,
  ExecutorchProgram,
  ExecutorchProgramManager,
  ExportedProgram,
  ExportOptions,
  ExportRecipe,
  ExportSession,
  FileSinks,
  InputTuple,
  OpenedPrograms,
  PipelineArtifact,
  Program,
  Programs,
  QuantizationReport,
  Sink,
  Stage,
  StageContext,
  StageArtifacts,
  StageData,
  StageName,
  StageReport,
  Value,
} from "../types/index.js";

/** The stages that a recipe needs when it names none. */
function defaultStages(recipe: ExportRecipe): StageName[] {
  const passes = recipe.loweringRecipe?.edgeManagerTransformPasses ?? [];
  return [
    ...(isQuantizing(recipe) ? ["quantize"] : []),
    "to_edge_transform_and_lower",
    ...(passes.length > 0 ? ["edge_program_manager_transform"] : []),
    "to_executorch",
  ];
}

/** Data of a stage that is given back with the session. */
interface Owned {
  dispose(): void;
}

const isOwned = (data: unknown): data is Owned =>
  isObject(data) && typeof data["dispose"] === "function";

/** Largest sizes that both the recipe and the session give must be the same. */
function checkShapes(recipe: ExportRecipe, shapes: ExportOptions["dynamicShapes"] = {}): void {
  const given = recipe.loweringRecipe?.edgeCompileConfig?.dynamicShapes ?? {};
  for (const [name, { max }] of Object.entries(shapes))
    if (Object.hasOwn(given, name) && given[name]!.max !== max)
      throw new SconceError(
        "argument",
        `dynamicShapes: '${name}' has the maximum ${max}, and ${given[name]!.max} in the recipe`,
        "Give one of the two.",
      );
}

class Session extends Disposing implements ExportSession {
  readonly [Symbol.toStringTag] = "ExportSession";
  readonly name: string;
  readonly pipelineStages: readonly StageName[];
  private readonly recipe: ExportRecipe;
  private readonly registered: Record<string, Stage>;
  /** Names of stages that the caller registered. */
  private readonly ownStages = new Set<StageName>();
  private readonly artifacts: Record<string, PipelineArtifact> = {};
  /** Objects that are disposed when the session runs again, or ends. */
  private readonly owned = new Set<Owned>();
  private opened: OpenedPrograms | undefined;
  private examples: Readonly<Record<string, readonly InputTuple[]>> = {};
  /** Calls that were given, while a run goes through them. */
  private given: Readonly<Record<string, GivenCalls>> = {};
  private loaded: Program | undefined;
  private isRunning = false;
  private isDisposed = false;

  constructor(
    private readonly engine: Engine,
    private programs: Programs | OpenedPrograms,
    private readonly options: ExportOptions,
  ) {
    super();
    this.recipe = recipeOf(options.recipe);
    checkShapes(this.recipe, options.dynamicShapes);
    this.name = options.name ?? "";
    this.pipelineStages = this.recipe.pipelineStages ?? defaultStages(this.recipe);
    this.registered = stagesOf(engine);
  }

  // --- Stages ---

  registerStage(type: StageName, stage: Stage): void {
    this.mustLive();
    mustBe("name", "the type of registerStage()", type);
    if (type === "__proto__")
      throw badArgument("the type of registerStage()", "another name", type);
    const { validPredecessors, canStartPipeline, validSuccessors = [], run } = stage ?? {};
    const isStage =
      KINDS.names.test(validPredecessors) &&
      KINDS.names.test(validSuccessors) &&
      typeof canStartPipeline === "boolean" &&
      typeof run === "function";
    if (!isStage)
      throw badArgument(
        `the stage '${type}' of registerStage()`,
        "{ validPredecessors, canStartPipeline, run }",
        stage,
      );
    this.registered[type] = stage;
    this.ownStages.add(type);
  }

  getRegisteredStage(type: keyof StageData): Stage;
  getRegisteredStage(type: StageName): Stage | undefined;
  getRegisteredStage(type: StageName): Stage | undefined {
    return Object.hasOwn(this.registered, type) ? this.registered[type] : undefined;
  }

  getAllRegisteredStages(): Readonly<Record<string, Stage>> {
    return { ...this.registered };
  }

  // --- Running ---

  async run(options: CallOptions = {}): Promise<void> {
    checkOptions("ExportSession", "run", options);
    this.mustLive();
    if (this.isRunning) throw busy("this ExportSession");
    checkSequence(this.pipelineStages, this.registered);
    checkWishes(this.recipe, this.pipelineStages, this.ownStages);
    const { signal, onProgress } = { ...this.options, ...options };
    this.isRunning = true;
    try {
      this.clear();
      await this.runStages({ ...(signal && { signal }), ...(onProgress && { onProgress }) });
      await this.closeCalls();
    } catch (error) {
      // An iterator that was left waiting closes when it goes on, if ever.
      const closed = this.closeCalls().catch(() => undefined);
      if (!signal?.aborted) await closed;
      throw error;
    } finally {
      this.isRunning = false;
      if (this.isDisposed) this.clear();
    }
  }

  private async closeCalls(): Promise<void> {
    const given = Object.values(this.given);
    this.given = {};
    for (const calls of given) await calls.close();
  }

  private async runStages(call: CallOptions): Promise<void> {
    let artifact: PipelineArtifact = await this.open(call);
    for (const name of this.pipelineStages) {
      this.mayGoOn(call);
      artifact = await this.runStage(name, artifact, call);
      this.artifacts[name] = artifact;
    }
    this.mayGoOn(call);
  }

  private mayGoOn({ signal }: CallOptions): void {
    if (signal?.aborted) throw cancelled(signal);
    this.mustLive();
  }

  private async runStage(
    name: StageName,
    artifact: PipelineArtifact,
    call: CallOptions,
  ): Promise<PipelineArtifact> {
    const begin = performance.now();
    const made: unknown = await this.registered[name]!.run(artifact, call);
    const durationMs = performance.now() - begin;
    const isArtifact =
      isObject(made) && "data" in made && typeof made["copyWithNewData"] === "function";
    if (!isArtifact)
      throw badArgument(
        `what stage '${name}' gives`,
        "an artifact, as artifact.copyWithNewData(data) makes it",
        made,
      );
    const { data, context } = made as unknown as PipelineArtifact;
    if (isOwned(data)) this.owned.add(data);
    return new Artifact(data, { ...context, durationMs });
  }

  /** The artifact that the first stage gets. */
  private async open(call: CallOptions): Promise<PipelineArtifact> {
    const opened = await this.openPrograms(call);
    this.owned.add(opened);
    this.opened = opened;
    checkNamed(this.recipe, opened.methods);
    const { methods } = opened.inspect().stages[0]!;
    this.given = await callsByMethod(this.options.exampleInputs, methods, call.signal);
    const first = Object.entries(this.given).map(([name, calls]) => [name, calls.first] as const);
    this.examples = { ...this.examplesOfFile(opened), ...Object.fromEntries(first) };
    return new Artifact(opened, this.context());
  }

  private async openPrograms(call: CallOptions): Promise<OpenedPrograms> {
    const { engine, programs } = this;
    if (isOpened(programs)) return borrowed(programs);
    // Kept for the next run: streams can be read once.
    const gathered = (this.programs = await gatherPrograms(programs, call, "the source"));
    this.mustLive();
    try {
      return engine.open(gathered, call);
    } catch (error) {
      if (!(error instanceof SconceError && error.code === "compressed")) throw error;
      return engine.open(await engine.inflate(gathered), call);
    }
  }

  /** One call each of the methods whose files have example inputs of a kind that a run takes. */
  private examplesOfFile(opened: OpenedPrograms): Record<string, InputTuple[]> {
    const found = opened.methods.map((method): [string, InputTuple[]] => {
      try {
        const inputs = opened.exampleInputs(method);
        return [method, inputs ? [flatValues(inputs)] : []];
      } catch (error) {
        // Those are only asked for when no others are given, and are missing then.
        if (error instanceof SconceError && error.code !== "disposed") return [method, []];
        throw error;
      }
    });
    return Object.fromEntries(found);
  }

  private context(): StageContext {
    const { constantMethods = {}, dynamicShapes } = this.options;
    const { generateEtrecord = false, sensitivity = false } = this.options;
    const streamed = Object.entries(this.given).flatMap(([name, { all }]) =>
      all === undefined ? [] : [[name, all] as const],
    );
    return {
      exampleInputs: this.examples,
      exampleCalls: Object.fromEntries(streamed),
      dynamicShapes,
      constantMethods,
      exportRecipe: this.recipe,
      sessionName: this.name,
      generateEtrecord,
      sensitivity,
    };
  }

  // --- Results ---

  private mustLive(): void {
    if (this.isDisposed) throw disposed("ExportSession");
  }

  /** The error of asking for what a stage makes that has not run. */
  private missing(what: string, stage = ""): SconceError {
    const runs = this.pipelineStages.join(", ");
    const among = stage ? `, with ${stage} among the stages; these are ${runs}` : "";
    return new SconceError("state", `there is ${what} yet`, `Call run() first${among}.`);
  }

  getStageArtifacts(): StageArtifacts {
    this.mustLive();
    return this.artifacts as StageArtifacts;
  }

  stages(): StageReport[] {
    this.mustLive();
    return this.done().map((stage) => ({
      stage,
      durationMs: this.artifacts[stage]!.context.durationMs!,
    }));
  }

  /** Stages that have run, in order. */
  private done(): StageName[] {
    return this.pipelineStages.filter((name) => Object.hasOwn(this.artifacts, name));
  }

  /** The data of the last stage that made such. */
  private last<T>(test: (data: unknown) => data is T): T | undefined {
    this.mustLive();
    return this.done()
      .map((name) => this.artifacts[name]!.data)
      .filter(test)
      .at(-1);
  }

  getOpenedPrograms(): OpenedPrograms {
    const quantized = this.last((data) => isMade("OpenedPrograms", data));
    const found = quantized ?? this.opened;
    if (!found) throw this.missing("no exported program");
    return borrowed(found);
  }

  getExportedProgram(method?: string): ExportedProgram {
    return this.getOpenedPrograms().exportedProgram(method);
  }

  private edge(): EdgeProgramManager {
    const found = this.last((data) => isMade("EdgeProgramManager", data));
    if (!found) throw this.missing("no edge program", "to_edge_transform_and_lower or to_edge");
    return found;
  }

  getEdgeProgramManager(): EdgeProgramManager {
    return borrowed(this.edge());
  }

  private executorch(): ExecutorchProgramManager {
    const found = this.last(
      (data): data is ExecutorchProgramManager =>
        isObject(data) && typeof data["writeTo"] === "function",
    );
    if (!found) throw this.missing("no executorch program", "to_executorch");
    return found;
  }

  getExecutorchProgramManager(): ExecutorchProgramManager {
    return borrowed(this.executorch());
  }

  getExecutorchProgram(): ExecutorchProgram {
    return this.executorch().executorchProgram;
  }

  getPteBuffer(): Uint8Array<ArrayBuffer> {
    return this.executorch().buffer;
  }

  getEtrecord(): ETRecord {
    const program = this.executorch();
    if (this.options.generateEtrecord !== true)
      throw new SconceError(
        "state",
        "this session has no record: none was asked for",
        "Pass { generateEtrecord: true } to export().",
      );
    return borrowed(program.getEtrecord());
  }

  quantizationReport(): QuantizationReport | null {
    this.mustLive();
    const last = this.done().at(-1);
    return (last && this.artifacts[last]!.context.quantizationReport) ?? null;
  }

  // --- Files ---

  async saveToPte(name: string, sink: Sink | FileSinks): Promise<string[]> {
    checkName(name);
    return savePte(this.executorch(), name, sink);
  }

  // --- Running what was made ---

  /** A method by its name, or the one that needs none. */
  private methodOf(name: string | undefined): string {
    const { methods } = this.getOpenedPrograms();
    const found = name ?? (methods.length === 1 ? methods[0]! : "forward");
    if (methods.includes(found)) return found;
    throw new SconceError(
      "not_found",
      `there is no method '${found}'`,
      `Use one of: ${methods.join(", ")}.`,
    );
  }

  private example(method: string): InputTuple {
    const first = this.examples[method]?.[0];
    if (first) return first;
    throw new SconceError(
      "not_found",
      `there are no example inputs of method '${method}'`,
      "Pass them: exampleInputs of the session.",
    ).ofMethod(method);
  }

  getExampleInput(method?: string): Value[] {
    return this.example(this.methodOf(method)).map(copyOf);
  }

  runMethod(method?: string, inputs?: InputTuple): Value[] {
    const program = this.program();
    if (method !== undefined && this.executorch().configMethods.includes(method))
      return program.run(method, inputs ?? []);
    const name = this.methodOf(method);
    return program.run(name, inputs ?? this.example(name));
  }

  private program(): Program {
    if (this.loaded) {
      this.mustLive();
      return this.loaded;
    }
    const made = this.executorch();
    const dataFiles = made.dataFiles.map(({ name }) => made.dataFile(name));
    this.loaded = this.engine.load(made.buffer, { dataFiles });
    this.owned.add(this.loaded);
    return this.loaded;
  }

  // --- Delegation ---

  private delegation(): Readonly<Record<string, DelegationInfo>> {
    this.mustLive();
    const infos = this.done().map((name) => this.artifacts[name]!.context.delegationInfoByMethod);
    const found = infos.filter((info) => info !== undefined).at(-1);
    if (found) return found;
    throw this.missing("no delegation", "to_edge_transform_and_lower or to_backend");
  }

  delegationInfo(method?: string): DelegationInfo {
    const infos = this.delegation();
    return infos[this.methodOf(method)]!;
  }

  delegationText(): string {
    return delegationText(this.delegation());
  }

  printDelegationInfo(print: (text: string) => void = console.log): void {
    mustBe("function", "what printDelegationInfo() prints with", print);
    print(this.delegationText());
  }

  // --- The end ---

  /** Back to before the first run; the later a thing was made the sooner it goes. */
  private clear(): void {
    for (const one of [...this.owned].reverse()) one.dispose();
    this.owned.clear();
    this.opened = this.loaded = undefined;
    this.examples = {};
    for (const name of Object.keys(this.artifacts)) delete this.artifacts[name];
  }

  dispose(): void {
    this.isDisposed = true;
    // Stages that are at work have what they need until they are done.
    if (!this.isRunning) this.clear();
  }
}

showAs(Session.prototype, "ExportSession", (session) => ({
  name: session.name,
  stages: session.pipelineStages,
  done: session.stages().map(({ stage }) => stage),
}));

/** A session of checked options that has not run. */
export function makeSession(
  engine: Engine,
  programs: Programs | OpenedPrograms,
  options: ExportOptions,
): ExportSession {
  return new Session(engine, programs, options);
}
