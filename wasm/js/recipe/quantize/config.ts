// Recipes as configurations of the quantizer, in the form that the core takes.
import { SconceError } from "../../base/errors.js";
import type {
  AOBaseConfig,
  AOQuantizationConfig,
  ExportedProgram,
  InputTuples,
  NodeRow,
  Pass,
  QuantizationRecipe,
  Quantizer,
} from "../../types/index.js";

/** One way to quantize, as the core takes it (sc_quant_config). */
export interface QuantizationConfig {
  readonly mode: "static" | "dynamic" | "weight_only" | "dynamic_int4" | "half_weights";
  /** The layers that a quantization of weights alone takes. */
  readonly layers: "all" | "linear" | "embeddings";
  readonly perChannel: boolean;
  readonly weightBits: 4 | 8 | 16;
  /** 0: a scale per channel. */
  readonly groupSize: number;
  /** Names of nodes, modules and operators that stay as they are; "*" is any text, "=" one node. */
  readonly skip: readonly string[];
}

/** Passes that are asked for at one point, of the program as it then is. */
export interface QuantizationHook {
  /** True if there is a function to ask. */
  readonly isAny: boolean;
  readonly passes: (program: ExportedProgram) => readonly Pass[];
}

/** The points of a quantization at which a recipe may run passes. */
export type QuantizationHooks = Readonly<
  Record<"prePrepare" | "postPrepare" | "preConvert" | "postConvert", QuantizationHook>
>;

/** Calls of a method, and how many there are; 0 where that shows only in the end. */
export interface Counted {
  readonly calls: InputTuples;
  readonly count: number;
}

/** The quantization of one method. */
export interface MethodQuantization {
  /** Quantizers of the program; each one gets what those before it leave. */
  readonly configs: (program: ExportedProgram) => readonly QuantizationConfig[];
  readonly hooks: QuantizationHooks;
  /** The calls that calibrate, each checked. Asked for once, and only where there is a use for them. */
  readonly calibration: () => Counted;
}

// --- From recipes ------------------------------------------------------------------------------------

const ofQuantizer = (given: Quantizer): QuantizationConfig => ({
  mode: given.isDynamic ? "dynamic" : "static",
  layers: "all",
  perChannel: given.isPerChannel ?? false,
  weightBits: 8,
  groupSize: 0,
  skip: given.skip ?? [],
});

const AO: Record<AOBaseConfig["kind"], Pick<QuantizationConfig, "mode" | "weightBits">> = {
  int8_dynamic_activation_int4_weight: { mode: "dynamic_int4", weightBits: 4 },
  int8_weight_only: { mode: "weight_only", weightBits: 8 },
  int4_weight_only: { mode: "weight_only", weightBits: 4 },
  fp16_weights: { mode: "half_weights", weightBits: 16 },
};

/** The path of the innermost module in "KEY,PATH,CLASS;KEY,PATH,CLASS"; "" is the model itself. */
function pathOf(moduleStack: string): string {
  const [, path = ""] = moduleStack.slice(moduleStack.lastIndexOf(";") + 1).split(",");
  return path.replace(/^L\['self'\]\.?/, "");
}

/** Nodes that the filter does not take, by name. */
function unwanted({ filterFn }: AOQuantizationConfig, nodes: () => NodeRow[]): string[] {
  if (!filterFn) return [];
  return nodes()
    .filter((node) => !filterFn(node, pathOf(node.module)))
    .map(({ name }) => `=${name}`);
}

const ofAo = (given: AOQuantizationConfig, nodes: () => NodeRow[]): QuantizationConfig => ({
  ...AO[given.aoBaseConfig.kind],
  layers: given.layers ?? "all",
  perChannel: true,
  groupSize: "groupSize" in given.aoBaseConfig ? (given.aoBaseConfig.groupSize ?? 0) : 0,
  skip: [...(given.skip ?? []), ...unwanted(given, nodes)],
});

function refused(code: "argument" | "unsupported", why: string, hint: string): SconceError {
  return new SconceError(code, why, hint);
}

const QAT_HINT =
  "Train it in Python (prepare_qat_pt2e, your training loop, convert_pt2e), export what comes of " +
  "that, and leave isQat out.";

function checkWhole(recipe: QuantizationRecipe): void {
  const { quantizers = [], aoQuantizationConfigs = [], isQat, trainFn } = recipe;
  if (trainFn && !isQat)
    throw refused("argument", "trainFn has no effect without isQat", "Leave trainFn out.");
  if (isQat) throw refused("unsupported", "an exported program cannot be trained", QAT_HINT);
  if (quantizers.length + aoQuantizationConfigs.length === 0)
    throw refused(
      "argument",
      "there is no quantizer, and no aoQuantizationConfig",
      "Pass one, or leave the quantization of this method out.",
    );
}

/**
 * Checks what a recipe asks of a method.
 * @throws SconceError with the code "argument" or "unsupported".
 */
export function checkAsked(recipe: QuantizationRecipe, method: string): void {
  try {
    checkWhole(recipe);
  } catch (error) {
    throw (error as SconceError).ofMethod(method);
  }
}

/** The configurations of a recipe: quantizers in their order, then weights alone for the rest. */
export function configsOf(
  { quantizers = [], aoQuantizationConfigs = [] }: QuantizationRecipe,
  program: ExportedProgram,
): QuantizationConfig[] {
  return [
    ...quantizers.map(ofQuantizer),
    ...aoQuantizationConfigs.map((one) => ofAo(one, () => program.nodes())),
  ];
}

/** True if all ranges of activations come from calls. */
export const isCalibrated = (recipe: QuantizationRecipe): boolean =>
  (recipe.quantizers ?? []).some(({ isDynamic }) => !isDynamic);

/** True if some may. Dynamic recipes also calibrate a weight that is computed, or an input. */
export const mayCalibrate = ({ quantizers = [] }: QuantizationRecipe): boolean =>
  quantizers.length > 0;
