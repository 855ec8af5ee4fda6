// The public types of recipes, which say as plain data how programs are exported. Names and
// meanings are those of the official dataclasses, in camel case. Members that are called there are
// functions here.
import type { CompileConfig } from "../border/options.gen.js";
import type { Partitioners } from "./backend.js";
import type { ExportedProgram } from "./exported_program.js";
import type { ExecutorchBackendConfig } from "./lowering.js";
import type { Pass, Passes } from "./pass.js";
import type { EdgeProgramManager } from "./managers.js";
import type { NodeRow } from "./report.js";
import type { InputValue } from "./tensor.js";

/** The built-in stages, by the official names. */
export type StageType =
  | "source_transform"
  | "quantize"
  | "torch_export"
  | "to_edge_transform_and_lower"
  | "to_edge"
  | "edge_program_manager_transform"
  | "to_backend"
  | "to_executorch";

/** A built-in stage, or a stage of your own. */
export type StageName = StageType | (string & {});

/** One call of a method: a value for each flattened input. */
export type InputTuple = readonly InputValue[];

/** Calls in order. An asynchronous iterable reads them from elsewhere. */
export type InputTuples = Iterable<InputTuple> | AsyncIterable<InputTuple>;

/**
 * Gives the passes of a method. It gets the program in its current state. Without a list, no pass
 * runs.
 */
export type PassFinder = (
  method: string,
  program: ExportedProgram,
) => readonly Pass[] | null | undefined | void;

/**
 * Passes of a recipe: a function that gives them, or the passes themselves, for all methods or by
 * method. Names of passes are data, so they can be sent to a worker or stored in a file.
 */
export type ResolvePasses = PassFinder | Passes;

/**
 * Gives passes over the edge programs, for all methods or by method. It is called once. Without a
 * result, no pass runs.
 */
export type ManagerPassFinder = (manager: EdgeProgramManager) => Passes | null | undefined | void;

/** Passes over the edge programs, or a function that gives them. */
export type ResolveManagerPasses = ManagerPassFinder | Passes;

/** XNNPACKQuantizer with a symmetric configuration: 8 bits, weights from -127 to 127. */
export interface Quantizer {
  /** XNNPACK's quantizer is the only one. */
  readonly kind: "xnnpack";
  /** True for one scale for each output channel of a weight. */
  readonly isPerChannel?: boolean;
  /**
   * True to quantize activations in every run by their current values. Then only weights that are
   * computed, or inputs, are calibrated.
   */
  readonly isDynamic?: boolean;
  /**
   * Parts that stay as they are: nodes, modules with their contents, and operators, by name. "*" is
   * any text. "=conv2d" is only the node of that name.
   */
  readonly skip?: readonly string[];
}

/**
 * Weights in few bits, without calibration. The first kind does what torchao's `quantize_` does,
 * and like that it takes only linear layers. The next two take integers for linear layers and
 * embeddings. Halves also take convolutions.
 */
export type AOBaseConfig =
  /** Weights of 4 bits, activations of 8 bits per token (8da4w). */
  | { readonly kind: "int8_dynamic_activation_int4_weight"; readonly groupSize?: number }
  | { readonly kind: "int8_weight_only"; readonly groupSize?: number }
  | { readonly kind: "int4_weight_only"; readonly groupSize?: number }
  | { readonly kind: "fp16_weights" };

/**
 * A form for weights and the layers that get it. Without `groupSize`, or with 0, scales are per
 * output channel.
 */
export interface AOQuantizationConfig {
  /** The form of the weights. */
  readonly aoBaseConfig: AOBaseConfig;
  /** The kind of layers that get it; all kinds that the form knows by default. */
  readonly layers?: "linear" | "embeddings";
  /**
   * Called for every call in the program with the path of its module ("layers.0.fc1"). False leaves
   * the call as it is.
   */
  readonly filterFn?: (node: NodeRow, fqn: string) => boolean;
  /** As in `Quantizer`. */
  readonly skip?: readonly string[];
}

/** How weights and activations become integers. */
export interface QuantizationRecipe {
  /** Quantizers in order. Each works on the nodes that the earlier ones did not take. */
  readonly quantizers?: readonly Quantizer[];
  /** In order. Each takes nodes that the quantizers and the earlier ones did not take. */
  readonly aoQuantizationConfigs?: readonly AOQuantizationConfig[];
  /** Training is done in Python. The stage refuses this, and says how to do it there. */
  readonly isQat?: boolean;
  /**
   * Calibration inputs may have other sizes of dimension 0. The exported program must have that
   * dimension dynamic.
   */
  readonly dynamicBatchSize?: boolean;
  /** Gives the calibration inputs of a method, instead of all example inputs. */
  readonly calibrationInputsFn?: (method: string) => InputTuples;
  /** Belongs to `isQat`, and is refused like it. */
  readonly trainFn?: (...values: never) => unknown;
  /** Passes over the exported program. They must be able to run before decomposition. */
  readonly prePreparePasses?: readonly ResolvePasses[];
  /**
   * Passes before calibration. Each observed value has a call of `sconce::observer(value, number)`
   * after it. A node that reads this call will read a quantized value. Observers of one number
   * share a scale. A pass may erase and move them, and change the graph around them.
   */
  readonly postPreparePasses?: readonly ResolvePasses[];
  /** Passes after calibration, as for `postPreparePasses`. A number keeps its observations. */
  readonly preConvertPasses?: readonly ResolvePasses[];
  /** Passes over the quantized program. */
  readonly postConvertPasses?: readonly ResolvePasses[];
}

/**
 * One recipe for all methods, or by method. Methods that are null or not named stay as they are.
 */
export type Quantization = QuantizationRecipe | Readonly<Record<string, QuantizationRecipe | null>>;

/** The part of a recipe for lowering. */
export interface LoweringRecipe {
  /**
   * Partitioners for all methods, or by method. Methods that are not named use the portable
   * kernels.
   */
  readonly partitioners?: Partitioners;
  /**
   * Passes over the edge program of each method, before parts are found. Each function is called
   * once for each method.
   */
  readonly edgeTransformPasses?: readonly ResolvePasses[];
  /**
   * Passes over all edge programs, run after these by the stage `edge_program_manager_transform`.
   */
  readonly edgeManagerTransformPasses?: readonly ResolveManagerPasses[];
  /** Options of decomposition. */
  readonly edgeCompileConfig?: CompileConfig;
}

/** How a program is exported. Recipes are data: they can be written down, combined and changed. */
export interface ExportRecipe {
  /** Its name, for reports. */
  readonly name?: string;
  /** How the program is quantized. By default it is not quantized. */
  readonly quantizationRecipe?: Quantization;
  /**
   * Passes before decomposition. A function is called for each method, with the program after the
   * passes before it. They all run before edge passes are requested.
   */
  readonly atenTransformPasses?: readonly ResolvePasses[];
  /** Kept for recipes that are shared with Python. No stage here changes a program in place. */
  readonly sourceTransformInPlace?: boolean;
  /** Partitioners and passes; the portable kernels by default. */
  readonly loweringRecipe?: LoweringRecipe;
  /** Options of the file: memory planning, external weights and so on. */
  readonly executorchBackendConfig?: ExecutorchBackendConfig;
  /** The stages in order. By default they are those that the recipe needs. */
  readonly pipelineStages?: readonly StageName[];
  /** Kept for other readers of the recipe, as officially. */
  readonly mode?: "debug" | "release";
  /**
   * Kept for recipes that are shared with Python, where it chooses how to export. Programs here are
   * exported already.
   */
  readonly strict?: boolean;
}

/** Options of recipes that are made by name. */
export interface RecipeOptions {
  /**
   * The number of elements of a weight that share a scale: a multiple of 32 up to 2 ** 20; 32 by
   * default. 0: all elements of the channel.
   */
  readonly groupSize?: number;
  /** The bits of tables of embeddings; 8 by default, with a scale for each row. 4: groups of 32. */
  readonly embeddingBits?: 4 | 8;
}

/** Makes the recipes of a backend. */
export interface BackendRecipeProvider {
  /** The backend that the recipes are for. */
  readonly backendName: string;
  /** Names of its recipes. */
  getSupportedRecipes(): readonly string[];
  /** The recipe, or null for a name that is not supported. */
  createRecipe(type: string, options: Readonly<Record<string, unknown>>): ExportRecipe | null;
  /**
   * The names of the options that `createRecipe` takes for this recipe. Without this function there
   * are none.
   */
  getSupportedOptions?(type: string): readonly string[];
}
