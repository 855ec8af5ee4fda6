// Recipes by name. Names and meanings are the official ones if there are any. Names of our own
// recipes say so.
import { badArgument, checkTable, isObject, KINDS, type OptionTable } from "../base/check.js";
import { SconceError } from "../base/errors.js";
import { oneOf } from "../base/nearest.js";
import { checkRecipe, EMBEDDING_BITS, GROUP_SIZE_OR_NONE } from "./check.js";
import { combineRecipes } from "./combine.js";
import type {
  AOBaseConfig,
  AOQuantizationConfig,
  BackendRecipeProvider,
  ExportRecipe as Recipe,
  Quantizer,
  RecipeOptions,
} from "../types/index.js";

type Given = Readonly<Record<string, unknown>>;

interface Row {
  readonly options?: OptionTable;
  make(options: RecipeOptions): Recipe;
}

const GROUPS = { groupSize: GROUP_SIZE_OR_NONE } as const;
const GROUP_DEFAULT = 32;

/** Options of a recipe. Most recipes have no options. */
function checkGiven(type: string, given: Given, table: OptionTable | undefined): void {
  const where = `recipe '${type}'`;
  if (table) return checkTable(where, given, table);
  const [first] = Object.keys(given).filter((key) => given[key] !== undefined);
  if (first === undefined) return;
  const hint = "Leave it out, or take a recipe that has it.";
  throw new SconceError("option", `${where} has no options, and was given '${first}'`, hint);
}

function providerOf(
  backendName: string,
  rows: Readonly<Record<string, Row>>,
): BackendRecipeProvider {
  return {
    backendName,
    getSupportedRecipes: () => Object.keys(rows),
    createRecipe(type, options) {
      if (!Object.hasOwn(rows, type)) return null;
      const row = rows[type]!;
      checkGiven(type, options, row.options);
      return { name: type, ...row.make(options) };
    },
    getSupportedOptions: (type) => Object.keys(rows[type]?.options ?? {}),
  };
}

// --- Those that there are ----------------------------------------------------------------------------

const LOWERED_BY_XNNPACK: Recipe = { loweringRecipe: { partitioners: ["xnnpack"] } };

const quantized = (isPerChannel: boolean, isDynamic: boolean): Row => {
  const quantizer: Quantizer = { kind: "xnnpack", isPerChannel, isDynamic };
  return {
    make: () => ({ quantizationRecipe: { quantizers: [quantizer] }, ...LOWERED_BY_XNNPACK }),
  };
};

const composed = (aoQuantizationConfigs: readonly AOQuantizationConfig[]): Recipe => ({
  quantizationRecipe: { aoQuantizationConfigs },
  ...LOWERED_BY_XNNPACK,
});

const converted = (aoBaseConfig: AOBaseConfig): Recipe => composed([{ aoBaseConfig }]);

/** The official names of XNNPACK's recipes. */
export const XNNPackRecipeType = {
  FP32: "xnnpack_fp32",
  PT2E_INT8_DYNAMIC_PER_CHANNEL: "xnnpack_pt2e_int8_dynamic_per_channel",
  PT2E_INT8_STATIC_PER_CHANNEL: "xnnpack_pt2e_int8_static_per_channel",
  PT2E_INT8_STATIC_PER_TENSOR: "xnnpack_pt2e_int8_static_per_tensor",
  TORCHAO_INT8_DYNAMIC_ACT_INT4_WEIGHT_PER_CHANNEL: "xnnpack_torchao_int8da_int4w_per_channel",
  TORCHAO_INT8_DYNAMIC_ACT_INT4_WEIGHT_PER_TENSOR: "xnnpack_torchao_int8da_int4w_per_tensor",
} as const;

/** Without groups a channel has one scale. */
const groupsOf = ({ groupSize = GROUP_DEFAULT }: RecipeOptions): { groupSize?: number } =>
  groupSize === 0 ? {} : { groupSize };

const DYNAMIC_INT4 = "int8_dynamic_activation_int4_weight";

const XNNPACK: Readonly<Record<string, Row>> = {
  [XNNPackRecipeType.FP32]: { make: () => LOWERED_BY_XNNPACK },
  [XNNPackRecipeType.PT2E_INT8_DYNAMIC_PER_CHANNEL]: quantized(true, true),
  [XNNPackRecipeType.PT2E_INT8_STATIC_PER_CHANNEL]: quantized(true, false),
  [XNNPackRecipeType.PT2E_INT8_STATIC_PER_TENSOR]: quantized(false, false),
  [XNNPackRecipeType.TORCHAO_INT8_DYNAMIC_ACT_INT4_WEIGHT_PER_CHANNEL]: {
    make: () => converted({ kind: DYNAMIC_INT4 }),
  },
  // The official name says tensor, and means groups.
  [XNNPackRecipeType.TORCHAO_INT8_DYNAMIC_ACT_INT4_WEIGHT_PER_TENSOR]: {
    options: GROUPS,
    make: (options) => converted({ kind: DYNAMIC_INT4, ...groupsOf(options) }),
  },
};

/** Tables of 8 bits have a scale for each row, those of 4 bits groups, as official exports have them. */
const tableOf = ({ embeddingBits = 8 }: RecipeOptions): AOBaseConfig =>
  embeddingBits === 8
    ? { kind: "int8_weight_only" }
    : { kind: "int4_weight_only", groupSize: GROUP_DEFAULT };

const SCONCE: Readonly<Record<string, Row>> = {
  sconce_llm_8da4w: {
    options: { ...GROUPS, embeddingBits: EMBEDDING_BITS },
    // Norms, attention and logits are of float32 whatever the model has.
    make: (options) => ({
      ...composed([
        { aoBaseConfig: { kind: DYNAMIC_INT4, ...groupsOf(options) }, layers: "linear" },
        { aoBaseConfig: tableOf(options), layers: "embeddings" },
      ]),
      loweringRecipe: { partitioners: ["xnnpack"], edgeCompileConfig: { float32: true } },
    }),
  },
  sconce_int8_weight_only: { make: () => converted({ kind: "int8_weight_only" }) },
  sconce_int4_weight_only: {
    options: GROUPS,
    make: (options) => converted({ kind: "int4_weight_only", ...groupsOf(options) }),
  },
  sconce_fp16_weights: { make: () => converted({ kind: "fp16_weights" }) },
};

// --- The registry ------------------------------------------------------------------------------------

const isProvider = (value: unknown): boolean =>
  isObject(value) &&
  KINDS.name.test(value["backendName"]) &&
  typeof value["getSupportedRecipes"] === "function" &&
  typeof value["createRecipe"] === "function" &&
  ["undefined", "function"].includes(typeof value["getSupportedOptions"]);

/** Recipes by name, from providers. Sessions use `shared`. */
export class RecipeRegistry {
  static readonly shared = new RecipeRegistry([
    providerOf("portable", { portable: { make: () => ({}) } }),
    providerOf("xnnpack", XNNPACK),
    providerOf("sconce", SCONCE),
  ]);
  private readonly providers = new Map<string, BackendRecipeProvider>();

  constructor(providers: readonly BackendRecipeProvider[] = []) {
    for (const provider of providers) this.registerBackendRecipeProvider(provider);
  }

  /** Adds the recipes of a backend. They replace earlier ones of that backend. */
  registerBackendRecipeProvider(provider: BackendRecipeProvider): void {
    if (!isProvider(provider))
      throw badArgument(
        "a provider of recipes",
        "{ backendName, getSupportedRecipes, createRecipe }",
        provider,
      );
    this.providers.set(provider.backendName, provider);
  }

  /** Lists the backends that have recipes. */
  listBackends(): string[] {
    return [...this.providers.keys()];
  }

  /** Lists the recipes of a backend, or of all backends. */
  getSupportedRecipes(backend?: string): string[] {
    return this.asked(backend).flatMap((provider) => [...provider.getSupportedRecipes()]);
  }

  /** Lists the options of a recipe: "groupSize" if its weights have groups, and others. */
  getSupportedOptions(type: string, backend?: string): string[] {
    const provider = this.whoHas(type, backend);
    if (!provider) throw this.unknown(type, backend);
    return [...(provider.getSupportedOptions?.(type) ?? [])];
  }

  /** Makes a recipe by its name, from that backend or from the first one that has it. */
  createRecipe(type: string, backend?: string, options: RecipeOptions = {}): Recipe {
    if (typeof type !== "string")
      throw badArgument("the type of a recipe", "the name of one", type);
    if (!KINDS.record.test(options))
      throw badArgument(`the options of recipe '${type}'`, KINDS.record.accepts, options);
    const given = { ...options } as Given;
    const recipe = this.whoHas(type, backend)?.createRecipe(type, given);
    if (!recipe) throw this.unknown(type, backend);
    checkRecipe(recipe, `recipe '${type}'`);
    return recipe;
  }

  private asked(backend: string | undefined): BackendRecipeProvider[] {
    return backend === undefined ? [...this.providers.values()] : [this.of(backend)];
  }

  private whoHas(type: string, backend: string | undefined): BackendRecipeProvider | undefined {
    return this.asked(backend).find((one) => one.getSupportedRecipes().includes(type));
  }

  private of(backend: string): BackendRecipeProvider {
    const found = this.providers.get(backend);
    if (found) return found;
    throw new SconceError(
      "not_found",
      `there are no recipes of a backend '${backend}'`,
      oneOf(backend, this.listBackends()),
    );
  }

  private unknown(type: string, backend: string | undefined): SconceError {
    const of = backend === undefined ? "" : ` of backend '${backend}'`;
    return new SconceError(
      "not_found",
      `there is no recipe '${type}'${of}`,
      oneOf(type, this.getSupportedRecipes(backend)),
    );
  }
}

/** The recipe of a name, a recipe as it is, or several as one. */
export function recipeOf(given: unknown): Recipe {
  const registry = RecipeRegistry.shared;
  if (typeof given === "string") return registry.createRecipe(given);
  if (Array.isArray(given)) return combineRecipes(given.map(recipeOf));
  if (given === undefined || given === null)
    throw new SconceError(
      "argument",
      "there is no recipe",
      `Pass { recipe: "portable" }, or another of: ${registry.getSupportedRecipes().join(", ")}.`,
    );
  checkRecipe(given);
  return given;
}

/**
 * Recipes, and functions that make them. A recipe is a plain object that says how a program is
 * exported.
 */
export type ExportRecipe = Recipe;
/** Functions that make recipes. A recipe is a plain object. */
export const ExportRecipe = {
  combine: combineRecipes,
  /** Makes the recipe of that name. */
  getRecipe: (type: string, options?: RecipeOptions): Recipe =>
    RecipeRegistry.shared.createRecipe(type, undefined, options),
} as const;
