// The public types of recipes: how programs are exported, as plain data. Names are those of the
// official dataclasses in camel case, and so are their meanings; what is called there is a function
// here.
import type { CompileConfig } from "../border/options.gen.js";
import type { Partitioners } from "./backend.js";
import type { ExportedProgram } from "./exported_program.js";
import type { ExecutorchBackendConfig } from "./lowering.js";
import type { Pass, Passes } from "./pass.js";
import type { EdgeProgramManager } from "./managers.js";
import type { NodeRow } from "./report.js";
import type { InputValue } from "./tensor.js";

/** The stages that there are, by the official names. */
export type StageType =
  | "source_transform"
  | "quantize"
  | "torch_export"
  | "to_edge_transform_and_lower"
  | "to_edge"
  | "edge_program_manager_transform"
  | "to_backend"
  | "to_executorch";

/** One of those, or a stage of one's own. */
export type StageName = StageType | (string & {});

/** One value per flattened input of a method: one call of it. */
export type InputTuple = readonly InputValue[];

/** Calls one after the other; what is read from somewhere else may come later. */
export type InputTuples = Iterable<InputTuple> | AsyncIterable<InputTuple>;

/** Asked for the passes of each method, with the program as it then is; without a list, no pass runs. */
export type PassFinder = (
  method: string,
  program: ExportedProgram,
) => readonly Pass[] | null | undefined | void;

/**
 * Passes of a recipe: a function that is asked for them, or the passes themselves, for all methods or by
 * method. Names of passes are data, which may be sent to a worker or stand in a file.
 */
export type ResolvePasses = PassFinder | Passes;

/** Asked once for passes over the edge programs: of all methods, or by method; or no pass runs. */
export type ManagerPassFinder = (manager: EdgeProgramManager) => Passes | null | undefined | void;

/** A function that is asked for passes over the edge programs, or these passes themselves. */
export type ResolveManagerPasses = ManagerPassFinder | Passes;

/** XNNPACKQuantizer with a symmetric configuration: 8 bits, weights from -127 to 127. */
export interface Quantizer {
  /** XNNPACK's quantizer is the only one. */
  readonly kind: "xnnpack";
  /** A scale for each output channel of a weight. */
  readonly isPerChannel?: boolean;
  /**
   * Activations are quantized in every run by what they then are. Only weights that are computed, or
   * inputs, are calibrated.
   */
  readonly isDynamic?: boolean;
  /**
   * Parts that stay as they are: nodes, modules (with all in them) and operators by name; "*" is any text,
   * and "=conv2d" the node of that name alone.
   */
  readonly skip?: readonly string[];
}

/**
 * Weights in few bits, without calibration. The first is what torchao's `quantize_` does, and of linear
 * layers alone, as there; the integers of the next two are those of linear layers and embeddings;
 * halves are those of convolutions, too.
 */
export type AOBaseConfig =
  /** Weights of 4 bits, activations of 8 per token (8da4w). */
  | { readonly kind: "int8_dynamic_activation_int4_weight"; readonly groupSize?: number }
  | { readonly kind: "int8_weight_only"; readonly groupSize?: number }
  | { readonly kind: "int4_weight_only"; readonly groupSize?: number }
  | { readonly kind: "fp16_weights" };

/** A configuration and what it is for. Without `groupSize`, or with 0, scales are per output channel. */
export interface AOQuantizationConfig {
  /** The form that the weights take. */
  readonly aoBaseConfig: AOBaseConfig;
  /**
   * Asked about every call in the program, with the path of its module ("layers.0.fc1"). False leaves
   * the call as it is.
   */
  readonly filterFn?: (node: NodeRow, fqn: string) => boolean;
  /** As of a `Quantizer`. */
  readonly skip?: readonly string[];
}

/** How weights and activations become integers. */
export interface QuantizationRecipe {
  /** Each quantizes what those before it have left. */
  readonly quantizers?: readonly Quantizer[];
  /** One at most, for what the quantizers leave. */
  readonly aoQuantizationConfigs?: readonly AOQuantizationConfig[];
  /** Training is Python's: the stage refuses it, and says how. */
  readonly isQat?: boolean;
  /** Calibration inputs may have other sizes of dimension 0, which the program must have left open. */
  readonly dynamicBatchSize?: boolean;
  /** Calibration inputs of a method, instead of all example inputs. */
  readonly calibrationInputsFn?: (method: string) => InputTuples;
  /** Training is Python's, as for `isQat`. */
  readonly trainFn?: (...values: never) => unknown;
  /** Passes over the program as it was exported, of those that run before decomposition. */
  readonly prePreparePasses?: readonly ResolvePasses[];
  /**
   * Passes before calibration. Each value that is observed has a call of `sconce::observer(value, number)`
   * behind it; who reads the call reads a quantized value later. Observers of one number share a scale. A
   * pass may erase and move them, and change the graph around them.
   */
  readonly postPreparePasses?: readonly ResolvePasses[];
  /** Passes after calibration, as `postPreparePasses`; a number keeps what it has observed. */
  readonly preConvertPasses?: readonly ResolvePasses[];
  /** Passes over the quantized program. */
  readonly postConvertPasses?: readonly ResolvePasses[];
}

/** One recipe for all methods, or by method; null and methods that are not named stay as they are. */
export type Quantization = QuantizationRecipe | Readonly<Record<string, QuantizationRecipe | null>>;

/** The part of a recipe that lowering follows. */
export interface LoweringRecipe {
  /** For all methods, or by method; methods that are not named stay with the portable kernels. */
  readonly partitioners?: Partitioners;
  /** Passes over the edge program of each method, before parts are found; asked once of each. */
  readonly edgeTransformPasses?: readonly ResolvePasses[];
  /** Passes over all edge programs, after that; `edge_program_manager_transform` runs them. */
  readonly edgeManagerTransformPasses?: readonly ResolveManagerPasses[];
  /** Options of decomposition. */
  readonly edgeCompileConfig?: CompileConfig;
}

/** How a program is exported. Recipes are data: they can be written down, combined and changed. */
export interface ExportRecipe {
  /** Its name, for reports. */
  readonly name?: string;
  /** How the program is quantized; by default it is not. */
  readonly quantizationRecipe?: Quantization;
  /**
   * Passes before decomposition, asked for each method with the program as those before them left it. They
   * have run when edge passes are asked for.
   */
  readonly atenTransformPasses?: readonly ResolvePasses[];
  /** Kept for recipes that are shared with Python. Here no stage changes a program in place. */
  readonly sourceTransformInPlace?: boolean;
  /** Partitioners and passes; the portable kernels by default. */
  readonly loweringRecipe?: LoweringRecipe;
  /** Options of the file: memory planning, external weights and so on. */
  readonly executorchBackendConfig?: ExecutorchBackendConfig;
  /** The stages in their order; those that the recipe needs by default. */
  readonly pipelineStages?: readonly StageName[];
  /** Kept for whoever reads it, as officially. */
  readonly mode?: "debug" | "release";
  /** How Python exports; here programs are exported already. */
  readonly strict?: boolean;
}

/** Options of recipes that are made by name. */
export interface RecipeOptions {
  /** Elements of a weight that share a scale: a multiple of 32 up to 2 ** 20, 32 if not given; 0: the channel. */
  readonly groupSize?: number;
}

/** Makes the recipes of a backend. */
export interface BackendRecipeProvider {
  /** The backend that the recipes are for. */
  readonly backendName: string;
  /** Names of its recipes. */
  getSupportedRecipes(): readonly string[];
  /** The recipe, or null for a name that is not supported. */
  createRecipe(type: string, options: Readonly<Record<string, unknown>>): ExportRecipe | null;
  /** Names of the options that `createRecipe` takes for it; none, if there is no such function. */
  getSupportedOptions?(type: string): readonly string[];
}
