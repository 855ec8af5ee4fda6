// The public types of export sessions: stages one after the other, and what each of them made.
import type { CompileConfig } from "./options.gen.js";
import type {
  CallOptions,
  ConstantValue,
  Disposable,
  EdgeProgramManager,
  ETRecord,
  ExecutorchProgramManager,
  ExportedProgram,
  OpenedPrograms,
  Sink,
  Value,
} from "./types.js";
import type { ExportRecipe, InputTuple, StageName } from "./types_recipe.js";

/** How far a result is from that of the float program, over all elements and calls. */
export interface QuantizationError {
  /**
   * Decibels; null where they are infinite, or there are none: nothing differs where the largest
   * difference is 0 and no element mismatches, and else all of it does. `decibelsOf` tells.
   */
  snr: number | null;
  largestDifference: number | null;
  /**
   * Elements that are NaN or infinite in one of the two, and not the same in the other. They count
   * for nothing else here.
   */
  nonFiniteMismatches?: number;
}

/** What has become of a node. The error is there where the quantized program was compared. */
export interface QuantizedNode extends Partial<QuantizationError> {
  node: string;
  op: string;
  isQuantized: boolean;
  /** It was asked to stay as it is. */
  isSkipped?: boolean;
  /** Why not. */
  reason?: string;
  /** Of a layer: its weight, which is among the ranges, too. */
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
  isWeight: boolean;
  /** Parameters are computed when the program runs: none are known here. */
  isDynamic: boolean;
  /** Of a number: 4, 8, or 16 for halves. */
  bits: number;
  /** What was seen, over all channels. */
  low?: number | null;
  high?: number | null;
  scaleCount?: number;
  scale?: number | number[] | null;
  zeroPoint?: number | number[] | null;
  axis?: number;
  /** Numbers in a row that share a scale. */
  groupSize?: number;
  /** Of a weight in the file that was opened. */
  bytesBefore?: number;
  /** Of its numbers as bits, and its scales. */
  bytesAfter?: number;
}

export interface MethodQuantizationReport {
  /** Calls of the method that ranges come from. */
  calibrationBatches: number;
  /** Of weights, other constants and state. After: as they are lowered, two weights of 4 bits a byte. */
  bytesBefore: number;
  bytesAfter: number;
  /** What else is worth saying: what `skip` names and is not there, layers in bodies of control flow. */
  notes: string[];
  /** Those of bodies last, by path: "true_graph_0/linear". */
  nodes: QuantizedNode[];
  ranges: QuantizedRange[];
  /** What the method returns, where the quantized program was compared. */
  outputs: (QuantizationError & { output: number })[];
}

/** What quantizing has done. */
export interface QuantizationReport {
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
  numTotalNodes: number;
  numDelegatedNodes: number;
  numNonDelegatedNodes: number;
  numDelegatedSubgraphs: number;
  delegationByOperator: {
    opType: string;
    occurrencesInDelegatedGraphs: number;
    occurrencesInNonDelegatedGraphs: number;
  }[];
}

/** What travels with the data of an artifact, from stage to stage. Stages may add to it. */
export interface StageContext {
  /** By method; the first call is what `getExampleInput` gives. */
  exampleInputs: Readonly<Record<string, readonly InputTuple[]>>;
  dynamicShapes: CompileConfig["dynamicShapes"];
  constantMethods: Readonly<Record<string, ConstantValue>>;
  exportRecipe: ExportRecipe;
  /** Whether quantized programs are compared with the float ones. */
  sensitivity: boolean;
  sessionName: string;
  generateEtrecord: boolean;
  /** Of the stage that made the artifact, in milliseconds. */
  durationMs?: number;
  delegationInfoByMethod?: Readonly<Record<string, DelegationInfo>>;
  quantizationReport?: QuantizationReport;
  /** Whether the recipe's edge passes have run: never twice. */
  areEdgePassesDone?: boolean;
  [key: string]: unknown;
}

/** What a stage made, and what it knew. */
export interface PipelineArtifact<T = unknown> {
  readonly data: T;
  readonly context: StageContext;
  addContext(key: string, value: unknown): void;
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
  readonly canStartPipeline: boolean;
  /** Stages that it may stand right before, beside those that name it: for a stage put between others. */
  readonly validSuccessors?: readonly StageName[];
  /**
   * The first stage gets the opened programs (`OpenedPrograms`). `call` has the signal and the
   * listener of the run, for the calls that the stage makes.
   */
  run(artifact: PipelineArtifact, call: CallOptions): PipelineArtifact | Promise<PipelineArtifact>;
}

/** Calls of a method; of several methods, by name. */
export type ExampleInputs = readonly InputTuple[] | Readonly<Record<string, readonly InputTuple[]>>;

/** What `export` takes beside the programs. */
export interface ExportOptions extends CallOptions {
  /** A recipe, the name of one, or several of them, which are combined. */
  recipe: ExportRecipe | string | readonly (ExportRecipe | string)[];
  /** The first call is the example, all of them calibrate; those of the file by default. */
  exampleInputs?: ExampleInputs;
  constantMethods?: Readonly<Record<string, ConstantValue>>;
  /** Largest values of dynamic sizes, as in `CompileConfig`, beside those of the recipe. */
  dynamicShapes?: CompileConfig["dynamicShapes"];
  generateEtrecord?: boolean;
  /**
   * Runs the quantized program beside the float one, on the first calls that it was calibrated on or
   * else the example inputs: the report then has the SNR of every node and output.
   */
  sensitivity?: boolean;
  /** Kept with the artifacts. */
  name?: string;
}

/** A stage that has run. */
export interface StageReport {
  stage: StageName;
  durationMs: number;
}

/** Where the files of a program go when there are several. */
export interface FileSinks {
  open(file: string): Sink | Promise<Sink>;
}

/**
 * Exports programs stage by stage. What stages made belongs to the session and goes with it, or when
 * it runs again. What a stage has not made yet fails with the code "state"; a method that there is
 * not with "not_found".
 */
export interface ExportSession extends Disposable {
  readonly name: string;
  /** The stages that `run` goes through. */
  readonly pipelineStages: readonly StageName[];
  /** Adds a stage, or replaces one. */
  registerStage(type: StageName, stage: Stage): void;
  getRegisteredStage(type: keyof StageData): Stage;
  getRegisteredStage(type: StageName): Stage | undefined;
  getAllRegisteredStages(): Readonly<Record<string, Stage>>;
  /** Checks all that can be told before, and runs. What an earlier run made is disposed of first. */
  run(options?: CallOptions): Promise<void>;
  /** By stage, in order; the same object for all runs. */
  getStageArtifacts(): StageArtifacts;
  /** The stages that have run, with the time each took. */
  stages(): StageReport[];
  /** The program that edge programs are made of: as it was opened, or quantized. */
  getExportedProgram(method?: string): ExportedProgram;
  getOpenedPrograms(): OpenedPrograms;
  /** Of the last stage that made edge programs. */
  getEdgeProgramManager(): EdgeProgramManager;
  getExecutorchProgramManager(): ExecutorchProgramManager;
  getPteBuffer(): Uint8Array<ArrayBuffer>;
  /**
   * Writes the .pte under the name, which gets the ending that it lacks, and .ptd files beside it.
   * Several files need `{ open(file) }`. Gives the names.
   */
  saveToPte(name: string, sink: Sink | FileSinks): Promise<string[]>;
  /** The first example call of a method. */
  getExampleInput(method?: string): Value[];
  /** Runs a method of the program, on the first example call by default. State is kept between runs. */
  runMethod(method?: string, inputs?: InputTuple): Value[];
  delegationInfo(method?: string): DelegationInfo;
  /** As text, a table for each method by name. */
  delegationText(): string;
  /** The same to `print`; on the console by default. */
  printDelegationInfo(print?: (text: string) => void): void;
  /** What the quantize stage did; null where none has run, or it had nothing to do. */
  quantizationReport(): QuantizationReport | null;
  /** The record that `generateEtrecord` asked for. */
  getEtrecord(): ETRecord;
}
