// Checks of recipes, and the settings of one method in them.
import { checkTable, isPlain, KINDS, type Kind } from "../base/check.js";
import { rowsOf } from "../call/protocol.js";
import { isPartitioner } from "../lower/partition.js";
import { isPassList } from "../pass/lists.js";
import type {
  ExportRecipe,
  Partitioner,
  Partitioners,
  Quantization,
  QuantizationRecipe,
} from "../types/index.js";

const listOf = (accepts: string, test: (item: unknown) => boolean): Kind => ({
  accepts,
  test: (value) => Array.isArray(value) && Array.from(value).every(test),
});
const isPasses = (item: unknown): boolean =>
  isPassList(item) || (isPlain(item) && Object.values(item).every(isPassList));
const RESOLVERS = listOf(
  "a list of functions that give passes, or of lists of passes",
  (item) => typeof item === "function" || isPasses(item),
);
const wordOf = (...words: string[]): Kind => ({
  accepts: words.map((word) => `"${word}"`).join(" or "),
  test: (value) => words.includes(value as string),
});
const STAGES: Kind = {
  accepts: "a list of stages that is not empty",
  test: (value) => KINDS.names.test(value) && (value as unknown[]).length > 0,
};

/** No layer has as many inputs, and the core takes no more. */
const GROUP_SIZE_MAX = 2 ** 20;

/** Elements that share a scale: what XNNPACK takes. */
const GROUP_SIZE: Kind = {
  accepts: `a multiple of 32 up to ${GROUP_SIZE_MAX}`,
  test: (value) =>
    typeof value === "number" && value > 0 && value <= GROUP_SIZE_MAX && value % 32 === 0,
};

/** The same, or none of them: a scale per channel. */
export const GROUP_SIZE_OR_NONE: Kind = {
  accepts: `${GROUP_SIZE.accepts}, or 0 for a scale per channel`,
  test: (value) => value === 0 || GROUP_SIZE.test(value),
};

/** Bits of a table of embeddings. */
export const EMBEDDING_BITS: Kind = {
  accepts: "4 or 8",
  test: (value) => value === 4 || value === 8,
};

const QUANTIZER = {
  kind: wordOf("xnnpack"),
  isPerChannel: "flag",
  isDynamic: "flag",
  skip: "names",
} as const;
const AO_CONFIG = {
  aoBaseConfig: "record",
  layers: wordOf("linear", "embeddings"),
  filterFn: "function",
  skip: "names",
} as const;
const AO_KINDS = [
  "int8_dynamic_activation_int4_weight",
  "int8_weight_only",
  "int4_weight_only",
  "fp16_weights",
];
const GROUPED = AO_KINDS.filter((kind) => kind !== "fp16_weights");

/** The functions of a quantization that ask for passes. */
export const HOOKS = [
  "prePreparePasses",
  "postPreparePasses",
  "preConvertPasses",
  "postConvertPasses",
] as const;
/** One of them. */
export type Hook = (typeof HOOKS)[number];

const QUANTIZATION = {
  quantizers: "list",
  aoQuantizationConfigs: "list",
  isQat: "flag",
  dynamicBatchSize: "flag",
  calibrationInputsFn: "function",
  trainFn: "function",
  ...Object.fromEntries(HOOKS.map((hook) => [hook, RESOLVERS])),
} as const;

const PARTITIONERS: Kind = {
  accepts: "a backend's id or name, { backend }, a function, a list of these, or these by method",
  test: (value) => isPartitioner(value) || Array.isArray(value) || isPlain(value),
};

const LOWERING = {
  partitioners: PARTITIONERS,
  edgeTransformPasses: RESOLVERS,
  edgeManagerTransformPasses: RESOLVERS,
  edgeCompileConfig: rowsOf("toEdge"),
} as const;

const RECIPE = {
  name: "text",
  quantizationRecipe: "record",
  atenTransformPasses: RESOLVERS,
  sourceTransformInPlace: "flag",
  loweringRecipe: LOWERING,
  executorchBackendConfig: { passes: "any", ...rowsOf("toExecutorch") },
  pipelineStages: STAGES,
  mode: wordOf("debug", "release"),
  strict: "flag",
} as const;

/**
 * True if quantization is by method. Then every value is a recipe or null. A value with a recipe's
 * own key is a recipe, even a wrong one: no method can have that name.
 */
export function isByMethod(
  given: Quantization,
): given is Readonly<Record<string, QuantizationRecipe | null>> {
  const entries = Object.entries(given as Record<string, unknown>);
  const isMethod = ([name, value]: [string, unknown]): boolean =>
    !Object.hasOwn(QUANTIZATION, name) && (value === null || isPlain(value));
  return entries.length > 0 && entries.every(isMethod);
}

function checkAo(where: string, config: unknown): void {
  checkTable(where, config, AO_CONFIG);
  const { aoBaseConfig: base } = config as { aoBaseConfig: { kind: string } };
  const isGrouped = GROUPED.includes(base?.kind);
  checkTable(`'aoBaseConfig' of ${where}`, base ?? null, {
    kind: wordOf(...AO_KINDS),
    ...(isGrouped && { groupSize: GROUP_SIZE_OR_NONE }),
  });
}

function checkQuantizer(where: string, quantizer: unknown): void {
  checkTable(where, quantizer ?? null, QUANTIZER);
  checkTable(where, { kind: (quantizer as { kind?: unknown }).kind ?? null }, QUANTIZER);
}

function checkQuantization(where: string, recipe: QuantizationRecipe): void {
  checkTable(where, recipe, QUANTIZATION);
  recipe.quantizers?.forEach((one, i) => checkQuantizer(`quantizers[${i}] of ${where}`, one));
  recipe.aoQuantizationConfigs?.forEach((one, i) =>
    checkAo(`aoQuantizationConfigs[${i}] of ${where}`, one),
  );
}

/** Throws unless it is a recipe, down to its tables. */
export function checkRecipe(recipe: unknown, what = "the recipe"): asserts recipe is ExportRecipe {
  checkTable(what, recipe ?? null, RECIPE);
  const { quantizationRecipe: quantization } = recipe as ExportRecipe;
  if (quantization === undefined) return;
  const where = `the quantization of ${what}`;
  if (!isByMethod(quantization)) return checkQuantization(where, quantization);
  for (const [method, one] of Object.entries(quantization))
    if (one) checkQuantization(`${where} for method '${method}'`, one);
}

/** How a method is quantized; undefined where it is not. */
export function quantizationOf(
  given: Quantization | undefined,
  method: string,
): QuantizationRecipe | undefined {
  if (given === undefined || !isByMethod(given)) return given;
  return (Object.hasOwn(given, method) && given[method]) || undefined;
}

/** True if partitioners are by method. */
export const isPartitionersByMethod = (
  given: Partitioners,
): given is Readonly<Record<string, Partitioner | readonly Partitioner[]>> =>
  isPlain(given) && !isPartitioner(given);

/** True if any method has a partitioner. */
export function isPartitioning(given: Partitioners | undefined): boolean {
  if (given === undefined) return false;
  const all: readonly unknown[] = isPartitionersByMethod(given) ? Object.values(given) : [given];
  return all.some((one) => !Array.isArray(one) || one.length > 0);
}

/** True if a recipe quantizes anything. */
export function isQuantizing({ quantizationRecipe: given }: ExportRecipe): boolean {
  if (given === undefined) return false;
  return isByMethod(given) ? Object.values(given).some((one) => one !== null) : true;
}

/** Quantization that leaves more as it is. */
export function skipping(given: Quantization, skip: readonly string[]): Quantization {
  if (isByMethod(given))
    return Object.fromEntries(
      Object.entries(given).map(([name, one]) => [
        name,
        one && (skipping(one, skip) as QuantizationRecipe),
      ]),
    );
  const more = <T extends { readonly skip?: readonly string[] }>(list: readonly T[]): T[] =>
    list.map((one) => ({ ...one, skip: [...(one.skip ?? []), ...skip] }));
  return {
    ...given,
    ...(given.quantizers && { quantizers: more(given.quantizers) }),
    ...(given.aoQuantizationConfigs && {
      aoQuantizationConfigs: more(given.aoQuantizationConfigs),
    }),
  };
}
