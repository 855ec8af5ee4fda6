// The public types of export sessions: stages one after the other, and what each of them made.
import type { CompileConfig } from "../border/options.gen.js";
import type { CallOptions } from "./call_options.js";
import type { ExportedProgram } from "./exported_program.js";
import type { ConstantValue } from "./constant.js";

import type { EdgeProgramManager, ExecutorchProgramManager, OpenedPrograms } from "./managers.js";
import type { ExportRecipe, InputTuple, InputTuples, StageName } from "./recipe.js";
import type { ETRecord } from "./record.js";
import type { Resource } from "./resource.js";
import type { Sink } from "./source.js";
import type { Value } from "./tensor.js";

/** How far a result is from that of the float program, over all elements and calls. */
export interface QuantizationError {
  /**
   * Decibels; null where they are infinite or there is no value. If the largest difference is 0 and no
   * element mismatches, the two are equal; else all of it differs. `decibelsOf` gives the number.
   */
  snr: number | null;
  /** The largest absolute difference; null where there are no elements to compare. */
  largestDifference: number | null;
  /**
   * Elements that are NaN or infinite in one of the two, and not the same in the other. They count
   * in no other figure here.
   */
  nonFiniteMismatches?: number;
}

/** A node after quantizing. The error is there where the quantized program was compared. */
export interface QuantizedNode extends Partial<QuantizationError> {
  /** The name of the node. */
  node: string;
  /** Its operator. */
  op: string;
  /** Whether it computes with integers, or has a quantized weight. */
  isQuantized: boolean;
  /** It was asked to stay as it is. */
  isSkipped?: boolean;
  /** Why not. */
  reason?: string;
  /** The weight of a layer, which is among the ranges, too. */
  weight?: QuantizedRange;
}

/**
 * Tensors that are quantized with the same parameters. Scales and zero points are a number, or a
 * list for the channels of `axis`, or groups of these. They are null for halves, which have none,
 * and where they are too many to list: beyond 262,144 of all ranges. The program has them all.
 */
export interface QuantizedRange {
  /** Names of nodes and inputs, or of parameters as the module has them. */
  tensors: string[];
  /** Whether it is a weight; otherwise it is computed when the program runs. */
  isWeight: boolean;
  /** Parameters are computed when the program runs: they are not known here. */
  isDynamic: boolean;
  /** Bits of a number: 4, 8, or 16 for halves. */
  bits: number;
  /** The smallest value that was seen, over all channels. */
  low?: number | null;
  /** The largest value, as for `low`. */
  high?: number | null;
  /** The number of scales: 1, the channels, or the groups. */
  scaleCount?: number;
  /** The step between two integers. */
  scale?: number | number[] | null;
  /** The integer that stands for 0. */
  zeroPoint?: number | number[] | null;
  /** The dimension of the channels. */
  axis?: number;
  /** Numbers in a row that share a scale. */
  groupSize?: number;
  /** Bytes of a weight in the file that was opened. */
  bytesBefore?: number;
  /** Bytes of its numbers after quantizing, with its scales. */
  bytesAfter?: number;
}

/** A method after quantizing. */
export interface MethodQuantizationReport {
  /** Calls of the method that ranges come from. */
  calibrationBatches: number;
  /** Bytes of weights, other constants and state. After quantizing, two weights of 4 bits are a byte. */
  bytesBefore: number;
  /** The same bytes after quantizing. */
  bytesAfter: number;
  /** Notes: names in `skip` that are not there, layers in bodies of control flow. */
  notes: string[];
  /** Those of bodies last, by path: "true_graph_0/linear". */
  nodes: QuantizedNode[];
  /** The tensors that are quantized, with their parameters. */
  ranges: QuantizedRange[];
  /** Errors of the method's outputs, where the quantized program was compared. */
  outputs: (QuantizationError & { output: number })[];
}

/** The result of quantizing. */
export interface QuantizationReport {
  /** By method. */
  methods: Record<string, MethodQuantizationReport>;
  /** The parameters of every tensor by its name, but of those that have them anew in each run. */
  qparams: {
    method: string;
    of: string;
    scale: number | number[] | null;
    zero_point: number | number[] | null;
  }[];
}

/** Node counts of a method; the delegated ones are inside of parts. */
export interface DelegationInfo {
  /** All nodes. */
  numTotalNodes: number;
  /** Nodes inside of parts. */
  numDelegatedNodes: number;
  /** Nodes outside of parts. */
  numNonDelegatedNodes: number;
  /** The number of parts. */
  numDelegatedSubgraphs: number;
  /** The same for each operator. */
  delegationByOperator: {
    opType: string;
    occurrencesInDelegatedGraphs: number;
    occurrencesInNonDelegatedGraphs: number;
  }[];
}

/** Settings and notes that travel with an artifact from stage to stage. Stages may add to them. */
export interface StageContext {
  /**
   * Calls by method. `getExampleInput` gives the first. An iterable has only its first two here.
   */
  exampleInputs: Readonly<Record<string, readonly InputTuple[]>>;
  /** All calls of methods whose calls are an iterable. Each can be gone through once. */
  exampleCalls: Readonly<Record<string, InputTuples>>;
  /** The largest values of dynamic sizes that the call gave. */
  dynamicShapes: CompileConfig["dynamicShapes"];
  /** Constant methods by name. */
  constantMethods: Readonly<Record<string, ConstantValue>>;
  /** The recipe of the session. */
  exportRecipe: ExportRecipe;
  /** Whether quantized programs are compared with the float ones. */
  sensitivity: boolean;
  /** The name of the session, or empty. */
  sessionName: string;
  /** Whether a record is kept. */
  generateEtrecord: boolean;
  /** The time of the stage that made the artifact, in milliseconds. */
  durationMs?: number;
  /** Node counts, after a stage that delegates. */
  delegationInfoByMethod?: Readonly<Record<string, DelegationInfo>>;
  /** The report, after the stage that quantizes. */
  quantizationReport?: QuantizationReport;
  /** Whether the recipe's edge passes have run: never twice. */
  areEdgePassesDone?: boolean;
  [key: string]: unknown;
}

/** The data that a stage made, with its context. */
export interface PipelineArtifact<T = unknown> {
  /** A manager, as a rule: `OpenedPrograms`, `EdgeProgramManager` or `ExecutorchProgramManager`. */
  readonly data: T;
  /** Settings of the session, and notes of the stages so far. */
  readonly context: StageContext;
  /** Adds a note for the stages that follow. */
  addContext(key: string, value: unknown): void;
  /** A note by its name, or `fallback`. */
  getContext(key: string, fallback?: unknown): unknown;
  /** Other data with a context of its own that begins as this one. */
  copyWithNewData<U>(data: U): PipelineArtifact<U>;
}

/** The data that the stages of this library make. A stage that replaces one makes the same. */
export interface StageData {
  quantize: OpenedPrograms;
  to_edge_transform_and_lower: EdgeProgramManager;
  to_edge: EdgeProgramManager;
  edge_program_manager_transform: EdgeProgramManager;
  to_backend: EdgeProgramManager;
  to_executorch: ExecutorchProgramManager;
}

/** Artifacts by the stages that made them. Stages that have not run have none. */
export type StageArtifacts = {
  readonly [S in keyof StageData]: PipelineArtifact<StageData[S]>;
} & Readonly<Record<string, PipelineArtifact>>;

/** A step from artifact to artifact. Data with `dispose` belongs to the session from then on. */
export interface Stage {
  /** Stages that may stand right before it. */
  readonly validPredecessors: readonly StageName[];
  /** Whether it may be the first stage. */
  readonly canStartPipeline: boolean;
  /** More stages that it may stand right before, for a stage put between others. */
  readonly validSuccessors?: readonly StageName[];
  /**
   * The first stage gets the opened programs (`OpenedPrograms`). `call` has the signal and the
   * listener of the run, for the calls that the stage makes.
   */
  run(artifact: PipelineArtifact, call: CallOptions): PipelineArtifact | Promise<PipelineArtifact>;
}

/**
 * Calls of a method, a list for each with a value for each input; of several methods, by name. Lists,
 * or iterables and async iterables (generators, too), which are asked for a call when there is need
 * for it: no more than three are in memory at once. A run goes through them once. An iterator that
 * cannot begin anew is good for one run.
 * @example
 * async function* photos() {
 *   for (const name of names) yield [await readPhoto(name)];
 * }
 * await engine.export(file, { recipe: "xnnpack_pt2e_int8_static_per_channel", exampleInputs: photos() });
 */
export type ExampleInputs = InputTuples | Readonly<Record<string, InputTuples>>;

/** Options of `export` and `createExportSession`. */
export interface ExportOptions extends CallOptions {
  /** A recipe, the name of one, or several of them, which are combined. */
  recipe: ExportRecipe | string | readonly (ExportRecipe | string)[];
  /** The first call is the example, all of them calibrate; those of the file by default. */
  exampleInputs?: ExampleInputs;
  /** Methods without instructions, by name, as for `toEdge`. */
  constantMethods?: Readonly<Record<string, ConstantValue>>;
  /** Largest values of dynamic sizes, as in `CompileConfig`, in addition to those of the recipe. */
  dynamicShapes?: CompileConfig["dynamicShapes"];
  /** Keeps a record, for `getEtrecord()`. */
  generateEtrecord?: boolean;
  /**
   * Runs the quantized program and the float one, on the first calls that it was calibrated on or
   * else the example inputs: the report then has the SNR of every node and output.
   */
  sensitivity?: boolean;
  /** Kept with the artifacts. */
  name?: string;
}

/** A stage that has run. */
export interface StageReport {
  /** The name of the stage. */
  stage: StageName;
  /** The time that it took, in milliseconds. */
  durationMs: number;
}

/** Opens a sink for each of several files. */
export interface FileSinks {
  /** Called once for each file, with its name. */
  open(file: string): Sink | Promise<Sink>;
}

/**
 * Exports programs stage by stage. Results of stages belong to the session: they are disposed of with
 * it, or when it runs again. Reading a result that no stage has made yet fails with the code "state";
 * naming an unknown method fails with "not_found".
 */
export interface ExportSession extends Resource {
  /** The name that the options gave, or empty. */
  readonly name: string;
  /** The stages that `run` goes through. */
  readonly pipelineStages: readonly StageName[];
  /** Adds a stage, or replaces one. */
  registerStage(type: StageName, stage: Stage): void;
  /** A stage by its name; undefined where there is none. */
  getRegisteredStage(type: keyof StageData): Stage;
  getRegisteredStage(type: StageName): Stage | undefined;
  /** All stages by name, the built-in ones included. */
  getAllRegisteredStages(): Readonly<Record<string, Stage>>;
  /**
   * Checks everything it can before it runs. The results of an earlier run are disposed of first.
   */
  run(options?: CallOptions): Promise<void>;
  /** By stage, in order; the same object for all runs. */
  getStageArtifacts(): StageArtifacts;
  /** The stages that have run, with the time each took. */
  stages(): StageReport[];
  /** The program that edge programs are made of: as it was opened, or quantized. */
  getExportedProgram(method?: string): ExportedProgram;
  /** The programs that edge programs are made of: as they were opened, or quantized. */
  getOpenedPrograms(): OpenedPrograms;
  /** The edge programs of the last stage that made such. */
  getEdgeProgramManager(): EdgeProgramManager;
  /** The program that `to_executorch` has made. */
  getExecutorchProgramManager(): ExecutorchProgramManager;
  /** The whole .pte, a copy. */
  getPteBuffer(): Uint8Array<ArrayBuffer>;
  /**
   * Writes the .pte under the name, which gets the ending that it lacks, and .ptd files in the same folder.
   * Several files need `{ open(file) }`. Gives the names.
   */
  saveToPte(name: string, sink: Sink | FileSinks): Promise<string[]>;
  /** The first example call of a method. */
  getExampleInput(method?: string): Value[];
  /** Runs a method of the program, on the first example call by default. State is kept between runs. */
  runMethod(method?: string, inputs?: InputTuple): Value[];
  /** Node counts of a method; the name may be left out for `forward` or the only method. */
  delegationInfo(method?: string): DelegationInfo;
  /** As text, a table for each method by name. */
  delegationText(): string;
  /** The same to `print`; on the console by default. */
  printDelegationInfo(print?: (text: string) => void): void;
  /** The report of the quantize stage; null where none has run, or it had no work. */
  quantizationReport(): QuantizationReport | null;
  /** The record that `generateEtrecord` asked for. */
  getEtrecord(): ETRecord;
}
