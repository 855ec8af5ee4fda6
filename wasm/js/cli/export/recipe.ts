// The recipe of sconce export: those of the names as one, and what its flags change of it.
import { SconceError } from "../../base/errors.js";
import { isPartitioning, isPartitionersByMethod, skipping } from "../../recipe/check.js";
import { combineRecipes } from "../../recipe/combine.js";
import { RecipeRegistry } from "../../recipe/registry.js";
import { isRecipeFile, recipeIn } from "./recipe_file.js";
import type {
  AOBaseConfig,
  AOQuantizationConfig,
  CompileSpec,
  ExportRecipe,
  Partitioner,
  Partitioners,
  QuantizationRecipe,
  Quantizer,
  RecipeOptions,
} from "../../types/index.js";
import { EXIT, UsageError } from "../usage.js";
import { printJson } from "../print/json.js";
import { isJson, say } from "../print/terminal.js";

const WEIGHTS: Record<AOBaseConfig["kind"], string> = {
  int8_dynamic_activation_int4_weight:
    "weights of linear layers in 4 bits, activations in 8 bits, by what they are in each run",
  int8_weight_only: "weights of linear layers and embeddings in 8 bits",
  int4_weight_only: "weights of linear layers and embeddings in 4 bits",
  fp16_weights: "weights of linear layers, convolutions and embeddings as halves",
};

const ofQuantizer = ({ isDynamic, isPerChannel }: Quantizer): string =>
  `8 bits, a scale per ${isPerChannel ? "channel" : "tensor"}, ` +
  (isDynamic ? "activations by what they are in each run" : "calibrated");

function ofConfig({ aoBaseConfig: config, layers }: AOQuantizationConfig): string {
  const group = "groupSize" in config ? config.groupSize : undefined;
  const words = WEIGHTS[config.kind];
  const own = layers === "embeddings" ? words.replace("linear layers and ", "") : words;
  return own + (group ? `, a scale per ${group}` : "");
}

/** A line that describes a recipe. */
function described({ quantizationRecipe: quantization, loweringRecipe }: ExportRecipe): string {
  const { quantizers = [], aoQuantizationConfigs = [] } = (quantization ??
    {}) as QuantizationRecipe;
  const parts = [...quantizers.map(ofQuantizer), ...aoQuantizationConfigs.map(ofConfig)];
  const { partitioners } = loweringRecipe ?? {};
  const where = partitioners ? `for ${JSON.stringify(partitioners).replace(/[["\]]/g, "")}` : "";
  const kept = parts.length > 0 ? parts : ["nothing is quantized"];
  return [...kept, where || "for the portable kernels"].join("; ");
}

/** All recipes there are, with what they do. */
export function listRecipes(): number {
  const registry = RecipeRegistry.shared;
  const names = registry.getSupportedRecipes();
  const width = Math.max(...names.map((name) => name.length));
  const rows = names.map((name) => ({ name, description: described(registry.createRecipe(name)) }));
  if (isJson()) printJson({ kind: "recipes", recipes: rows });
  for (const { name, description } of rows) say(`${name.padEnd(width)}  ${description}`);
  return EXIT.done;
}

/** The recipe of a name, with those of the options that it has; it strikes them off `left`. */
function named(name: string, given: RecipeOptions, left: Set<string>): ExportRecipe {
  const registry = RecipeRegistry.shared;
  const known = registry.getSupportedOptions(name);
  const own = Object.entries(given).filter(([key]) => known.includes(key));
  for (const [key] of own) left.delete(key);
  return registry.createRecipe(name, undefined, Object.fromEntries(own));
}

/** The names of all recipes. */
export const recipeNames = (): readonly string[] => RecipeRegistry.shared.getSupportedRecipes();

/** The recipe that the flags ask for. */
export interface RecipeFlags {
  /** Names of recipes, and files. */
  readonly names: readonly string[];
  readonly stages: readonly string[] | undefined;
  /** A key and a value each. */
  readonly compileSpecs: readonly CompileSpec[];
  /** Those that were given. */
  readonly options: RecipeOptions;
  readonly skip: readonly string[];
  readonly compile: object;
  readonly executorch: object;
}

/** The recipes of the names, as one; names that nobody knows, and conflicts, are wrong usage. */
async function combined(
  names: readonly string[],
  options: RecipeOptions,
  left: Set<string>,
): Promise<ExportRecipe> {
  try {
    const found: ExportRecipe[] = [];
    for (const name of names)
      found.push(isRecipeFile(name) ? await recipeIn(name) : named(name, options, left));
    return combineRecipes(found);
  } catch (error) {
    if (!(error instanceof SconceError)) throw error;
    throw new UsageError(error.message, error.hint);
  }
}

/** A partitioner with more compile specs. */
function withSpecs(given: Partitioner, specs: readonly CompileSpec[]): Partitioner {
  if (typeof given === "string") return { backend: given, compileSpecs: specs };
  if (typeof given === "object" && "backend" in given)
    return { ...given, compileSpecs: [...(given.compileSpecs ?? []), ...specs] };
  throw new UsageError(
    "--compile-spec is for backends, and a partitioner of the recipe is a function",
    "Let the function give compileSpecs with its tags.",
  );
}

const withSpecsEach = (
  given: Partitioner | readonly Partitioner[],
  specs: readonly CompileSpec[],
): readonly Partitioner[] =>
  ([given].flat() as readonly Partitioner[]).map((one) => withSpecs(one, specs));

function specified(
  given: Partitioners | undefined,
  specs: readonly CompileSpec[],
): Partitioners | undefined {
  if (specs.length === 0) return given;
  if (!isPartitioning(given))
    throw new UsageError(
      "--compile-spec is for recipes with a backend, and this one has none",
      "Name a recipe that has partitioners, or leave the flag out.",
    );
  if (!isPartitionersByMethod(given!))
    return withSpecsEach(given as Partitioner | readonly Partitioner[], specs);
  return Object.fromEntries(
    Object.entries(given).map(([method, one]) => [method, withSpecsEach(one, specs)]),
  );
}

/** One recipe of all names; flags have the last word. */
export async function recipeOf({
  names,
  stages,
  compileSpecs,
  options,
  skip,
  compile,
  executorch,
}: RecipeFlags): Promise<ExportRecipe> {
  const left = new Set(Object.keys(options));
  const recipe = await combined(names, options, left);
  if (left.has("groupSize"))
    throw new UsageError(
      `--group-size is for recipes with groups, and ${names.join(", ")} has none`,
    );
  if (left.has("embeddingBits"))
    throw new UsageError(
      `--embedding-bits is for recipes of language models, and ${names.join(", ")} is none`,
    );
  const { quantizationRecipe: quantization, loweringRecipe, executorchBackendConfig } = recipe;
  if (skip.length > 0 && quantization === undefined)
    throw new UsageError(`--skip is for recipes that quantize, and ${names.join(", ")} does not`);
  const partitioners = specified(loweringRecipe?.partitioners, compileSpecs);
  return {
    ...recipe,
    ...(stages && { pipelineStages: stages }),
    ...(quantization && { quantizationRecipe: skipping(quantization, skip) }),
    loweringRecipe: {
      ...loweringRecipe,
      ...(partitioners && { partitioners }),
      edgeCompileConfig: { ...loweringRecipe?.edgeCompileConfig, ...compile },
    },
    executorchBackendConfig: { ...executorchBackendConfig, ...executorch },
  };
}
