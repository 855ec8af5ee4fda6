// The recipe of sconce export: those of the names as one, and what its flags change of it.
import { SconceError } from "../../base/errors.js";
import { isPartitioning, isPartitionersByMethod, skipping } from "../../recipe/check.js";
import { combineRecipes } from "../../recipe/combine.js";
import { RecipeRegistry } from "../../recipe/registry.js";
import { isRecipeFile, recipeIn } from "./recipe_file.js";
import type {
  AOBaseConfig,
  CompileSpec,
  ExportRecipe,
  Partitioner,
  Partitioners,
  QuantizationRecipe,
  Quantizer,
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

function ofConfig(config: AOBaseConfig): string {
  const group = "groupSize" in config ? config.groupSize : undefined;
  return WEIGHTS[config.kind] + (group ? `, a scale per ${group}` : "");
}

/** A line that describes a recipe. */
function described({ quantizationRecipe: quantization, loweringRecipe }: ExportRecipe): string {
  const { quantizers = [], aoQuantizationConfigs = [] } = (quantization ??
    {}) as QuantizationRecipe;
  const parts = [
    ...quantizers.map(ofQuantizer),
    ...aoQuantizationConfigs.map(({ aoBaseConfig }) => ofConfig(aoBaseConfig)),
  ];
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

/** The recipe of a name, and whether it has groups. */
function named(name: string, groupSize: number | undefined): [ExportRecipe, boolean] {
  const registry = RecipeRegistry.shared;
  const hasGroups = registry.getSupportedOptions(name).includes("groupSize");
  const options = hasGroups && groupSize !== undefined ? { groupSize } : {};
  return [registry.createRecipe(name, undefined, options), hasGroups];
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
  readonly groupSize: number | undefined;
  readonly skip: readonly string[];
  readonly compile: object;
  readonly executorch: object;
}

/** The recipes of the names, as one; names that nobody knows, and conflicts, are wrong usage. */
async function combined(
  names: readonly string[],
  groupSize: number | undefined,
): Promise<[ExportRecipe, boolean]> {
  try {
    const found: [ExportRecipe, boolean][] = [];
    for (const name of names)
      found.push(isRecipeFile(name) ? [await recipeIn(name), false] : named(name, groupSize));
    return [combineRecipes(found.map(([one]) => one)), found.some(([, hasGroups]) => hasGroups)];
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
  groupSize,
  skip,
  compile,
  executorch,
}: RecipeFlags): Promise<ExportRecipe> {
  const [recipe, hasGroups] = await combined(names, groupSize);
  if (groupSize !== undefined && !hasGroups)
    throw new UsageError(
      `--group-size is for recipes with groups, and ${names.join(", ")} has none`,
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
