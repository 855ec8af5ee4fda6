// The public types of export sessions, which run stages one after the other and keep their results.
import type { ExecutorchProgram } from "./executorch_program.js";
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

/** The difference between a result and that of the float program, over all elements and calls. */
export interface QuantizationError {
  /**
   * Decibels. Null if they are infinite or not defined. The results are then equal if the largest
   * difference is 0 and there are no mismatches. Otherwise all of the result differs. `decibelsOf`
   * gives a number.
   */
  snr: number | null;
  /** The largest absolute difference. Null if there are no elements to compare. */
  largestDifference: number | null;
  /**
   * The number of elements that are NaN or infinite in one result, and not the same in the other.
   * They count in no other figure.
   */
  nonFiniteMismatches?: number;
}

/** The error of an output. */
export interface QuantizedOutput extends QuantizationError {
  /** The index of the output. */
  output: number;
  /** For scores, which come from a linear layer: the name of its node. */
  layer?: string;
  /** The number of rows of scores. */
  rows?: number;
  /** The rows whose greatest score is another than in the float program. */
  changedRows?: number;
}

/** A node after quantizing. It has an error if the quantized program was compared. */
export interface QuantizedNode extends Partial<QuantizationError> {
  /** The name of the node. */
  node: string;
  /** Its operator. */
  op: string;
  /** True if it computes with integers, or has a quantized weight. */
  isQuantized: boolean;
  /** True if the recipe skips it. */
  isSkipped?: boolean;
  /** The reason why it is not quantized. */
  reason?: string;
  /** The weight of a layer, which is among the ranges, too. */
  weight?: QuantizedRange;
}

/**
 * Tensors that are quantized with the same parameters. Scales and zero points are a number, a list
 * for the channels of `axis`, or a list of their groups. They are null for halves, which do not
 * have them, and if all ranges together have more than 262,144 of them. The program has them all.
 */
export interface QuantizedRange {
  /** Names of nodes and inputs, or of parameters as the module has them. */
  tensors: string[];
  /** True for a weight. Other tensors are computed when the program runs. */
  isWeight: boolean;
  /** True if parameters are computed when the program runs. They are then unknown here. */
  isDynamic: boolean;
  /** The bits of a number: 4, 8, or 16 for halves. */
  bits: number;
  /** The smallest value that was observed, over all channels. */
  low?: number | null;
  /** The largest value, as for `low`. */
  high?: number | null;
  /** The number of scales: 1, the channels, or the groups. */
  scaleCount?: number;
  /** The step between two integers. */
  scale?: number | number[] | null;
  /** The integer for 0. */
  zeroPoint?: number | number[] | null;
  /** The dimension of the channels. */
  axis?: number;
  /** The number of adjacent elements that share a scale. */
  groupSize?: number;
  /** The bytes of a weight in the opened file. */
  bytesBefore?: number;
  /** Bytes of its numbers after quantizing, with its scales. */
  bytesAfter?: number;
}

/** A method after quantizing. */
export interface MethodQuantizationReport {
  /** The number of calls that were observed. */
  calibrationBatches: number;
  /**
   * Bytes of weights, other constants and state. After quantizing, two weights of 4 bits take one
   * byte.
   */
  bytesBefore: number;
  /** The same bytes after quantizing. */
  bytesAfter: number;
  /**
   * Notes, for example about names in `skip` that do not exist, or about layers in bodies of
   * control flow.
   */
  notes: string[];
  /** The nodes. Those of bodies come last, by path: "true_graph_0/linear". */
  nodes: QuantizedNode[];
  /** The quantized tensors with their parameters. */
  ranges: QuantizedRange[];
  /** The errors of the method's outputs, if the quantized program was compared. */
  outputs: QuantizedOutput[];
}

/** The result of quantizing. */
export interface QuantizationReport {
  /** By method. */
  methods: Record<string, MethodQuantizationReport>;
  /**
   * The parameters of every tensor by its name. Tensors with new parameters in each run are left
   * out.
   */
  qparams: {
    method: string;
    of: string;
    scale: number | number[] | null;
    zero_point: number | number[] | null;
  }[];
}

/** Node counts of a method. Delegated nodes are inside of parts. */
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

/** Settings and notes of an artifact, which go from stage to stage. Stages may add to them. */
export interface StageContext {
  /**
   * Calls by method. `getExampleInput` gives the first one. For an iterable, only its first two
   * calls are here.
   */
  exampleInputs: Readonly<Record<string, readonly InputTuple[]>>;
  /** All calls of methods whose calls are an iterable. Each can be iterated once. */
  exampleCalls: Readonly<Record<string, InputTuples>>;
  /** The largest values of dynamic sizes from the options. */
  dynamicShapes: CompileConfig["dynamicShapes"];
  /** Constant methods by name. */
  constantMethods: Readonly<Record<string, ConstantValue>>;
  /** The recipe of the session. */
  exportRecipe: ExportRecipe;
  /** True if quantized programs are compared with the float ones. */
  sensitivity: boolean;
  /** The name of the session, or empty. */
  sessionName: string;
  /** True if a record is kept. */
  generateEtrecord: boolean;
  /** The time of the stage that made the artifact, in milliseconds. */
  durationMs?: number;
  /** Node counts, after a stage that delegates. */
  delegationInfoByMethod?: Readonly<Record<string, DelegationInfo>>;
  /** The report, after the stage that quantizes. */
  quantizationReport?: QuantizationReport;
  /** True if the recipe's edge passes have run. They never run twice. */
  areEdgePassesDone?: boolean;
  [key: string]: unknown;
}

/** The data of a stage, with its context. */
export interface PipelineArtifact<T = unknown> {
  /**
   * The data, usually a manager: `OpenedPrograms`, `EdgeProgramManager` or
   * `ExecutorchProgramManager`.
   */
  readonly data: T;
  /** Settings of the session, and notes of the stages so far. */
  readonly context: StageContext;
  /** Adds a note for later stages. */
  addContext(key: string, value: unknown): void;
  /** A note by its name, or `fallback`. */
  getContext(key: string, fallback?: unknown): unknown;
  /** A new artifact of other data. Its context starts as a copy of this one's. */
  copyWithNewData<U>(data: U): PipelineArtifact<U>;
}

/** The data of the built-in stages. A stage that replaces one must make the same kind of data. */
export interface StageData {
  quantize: OpenedPrograms;
  to_edge_transform_and_lower: EdgeProgramManager;
  to_edge: EdgeProgramManager;
  edge_program_manager_transform: EdgeProgramManager;
  to_backend: EdgeProgramManager;
  to_executorch: ExecutorchProgramManager;
}

/** Artifacts by stage. Stages that have not run have no artifact. */
export type StageArtifacts = {
  readonly [S in keyof StageData]: PipelineArtifact<StageData[S]>;
} & Readonly<Record<string, PipelineArtifact>>;

/**
 * A step from artifact to artifact. If the data has `dispose`, the session owns it from then on.
 */
export interface Stage {
  /** The stages that may come directly before it. */
  readonly validPredecessors: readonly StageName[];
  /** True if it may be the first stage. */
  readonly canStartPipeline: boolean;
  /** More stages that may come directly after it, for a stage between others. */
  readonly validSuccessors?: readonly StageName[];
  /**
   * Runs the stage. The first stage gets the opened programs (`OpenedPrograms`). `call` has the
   * signal and the listener of the run, for the calls that the stage makes.
   */
  run(artifact: PipelineArtifact, call: CallOptions): PipelineArtifact | Promise<PipelineArtifact>;
}

/**
 * Calls of a method: a list for each, with a value for each input. If there are several methods, an
 * object by name. Calls are lists, or come from iterables, async iterables and generators. A call
 * is requested when it is needed, and at most three are in memory at once. Each run iterates over
 * the calls once. An iterator that cannot start again serves one run.
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
  /**
   * The example calls. The first is the example, and all of them calibrate. By default they are
   * those of the file.
   */
  exampleInputs?: ExampleInputs;
  /** Methods without instructions, by name, as for `toEdge`. */
  constantMethods?: Readonly<Record<string, ConstantValue>>;
  /** Largest values of dynamic sizes, as in `CompileConfig`, in addition to those of the recipe. */
  dynamicShapes?: CompileConfig["dynamicShapes"];
  /** Keeps a record, for `getEtrecord()`. */
  generateEtrecord?: boolean;
  /**
   * Runs the quantized and the float program on the first calibration calls, or else on the example
   * inputs. The report then has the SNR of every node and output.
   */
  sensitivity?: boolean;
  /** A name that is kept with the artifacts. */
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
 * Exports programs stage by stage. The session owns the results of its stages. They are disposed of
 * with it, or when it runs again. Reading a result that does not exist yet fails with the code
 * "state". An unknown method fails with "not_found".
 */
export interface ExportSession extends Resource {
  /** The name from the options, or empty. */
  readonly name: string;
  /** The stages of `run`, in order. */
  readonly pipelineStages: readonly StageName[];
  /** Adds a stage, or replaces one. */
  registerStage(type: StageName, stage: Stage): void;
  /** A stage by its name, or undefined. */
  getRegisteredStage(type: keyof StageData): Stage;
  getRegisteredStage(type: StageName): Stage | undefined;
  /** All stages by name, the built-in ones included. */
  getAllRegisteredStages(): Readonly<Record<string, Stage>>;
  /**
   * Checks everything it can before it runs, then runs the stages. The results of an earlier run
   * are disposed of first.
   */
  run(options?: CallOptions): Promise<void>;
  /** Artifacts by stage, in order. All runs use the same object. */
  getStageArtifacts(): StageArtifacts;
  /** The stages that have run, with the time each took. */
  stages(): StageReport[];
  /** The exported program that the edge program is made of: as opened, or quantized. */
  getExportedProgram(method?: string): ExportedProgram;
  /** The exported programs that edge programs are made of: as opened, or quantized. */
  getOpenedPrograms(): OpenedPrograms;
  /** The edge programs of the last stage that made any. */
  getEdgeProgramManager(): EdgeProgramManager;
  /** The program that `to_executorch` has made. */
  getExecutorchProgramManager(): ExecutorchProgramManager;
  /** That program as data: methods, values, instructions and chains. */
  getExecutorchProgram(): ExecutorchProgram;
  /** A copy of the whole .pte. */
  getPteBuffer(): Uint8Array<ArrayBuffer>;
  /**
   * Writes the .pte under a name, with its ending added if it is missing. .ptd files go to the same
   * folder. Several files need `{ open(file) }`. Gives the names.
   */
  saveToPte(name: string, sink: Sink | FileSinks): Promise<string[]>;
  /** The first example call of a method. */
  getExampleInput(method?: string): Value[];
  /**
   * Runs a method of the program, by default on the first example call. State is kept between runs.
   */
  runMethod(method?: string, inputs?: InputTuple): Value[];
  /** Node counts of a method. The name may be left out for `forward` or the only method. */
  delegationInfo(method?: string): DelegationInfo;
  /** The counts as text, with a table for each method. */
  delegationText(): string;
  /** Passes the same text to `print`, by default to the console. */
  printDelegationInfo(print?: (text: string) => void): void;
  /** The report of the quantize stage. Null if it has not run, or had no work. */
  quantizationReport(): QuantizationReport | null;
  /** The record that `generateEtrecord` requested. */
  getEtrecord(): ETRecord;
}
