// Several recipes as one. Combining loses no setting: two recipes that set one thing must agree, or is
// an error that names both.
import { isObject } from "../base/check.js";
import { SconceError } from "../base/errors.js";
import { optionsOf } from "../call/options.js";
import { checkRecipe, HOOKS, isByMethod, isPartitionersByMethod } from "./check.js";
import type {
  InputTuples,
  ExecutorchBackendConfig,
  ExportRecipe,
  LoweringRecipe,
  Partitioner,
  Partitioners,
  Quantization,
  QuantizationRecipe,
} from "../types/index.js";

/** The value of one recipe, and its name in messages. */
interface Said<T> {
  readonly who: string;
  readonly value: T;
}

type Saids<T> = readonly Said<T>[];

const show = (value: unknown): string =>
  typeof value === "function" ? "a function" : (JSON.stringify(value) ?? "nothing");

function conflict(what: string, a: Said<unknown>, b: Said<unknown>): SconceError {
  return new SconceError(
    "argument",
    `${a.who} and ${b.who} cannot be combined: ${what} is ${show(a.value)} in one and ` +
      `${show(b.value)} in the other`,
    "Make the two agree, or leave one of them out.",
  );
}

/** Equal by value, in whatever order keys stand. */
function isSame(a: unknown, b: unknown): boolean {
  if (!isObject(a) || !isObject(b)) return Object.is(a, b);
  const keys = Object.keys(a);
  return (
    Array.isArray(a) === Array.isArray(b) &&
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isSame(a[key], b[key]))
  );
}

/** The one value of all; throws where two differ. */
function agreed<T>(what: string, said: Saids<T>): T {
  const [first] = said;
  const other = said.find(({ value }) => !isSame(value, first!.value));
  if (other) throw conflict(what, first!, other);
  return first!.value;
}

/** A member of each. */
function each<T, K extends keyof T>(said: Saids<T>, key: K): Saids<T[K]> {
  return said.map(({ who, value }) => ({ who, value: value[key] }));
}

/** The values of those recipes that have one. */
const present = <T>(said: Saids<T | undefined>): Saids<T> =>
  said.filter((one): one is Said<T> => one.value !== undefined);

/** An object without what is undefined or an empty list. */
function trimmed<T extends object>(value: { [K in keyof T]?: T[K] | undefined }): T {
  const isKept = (item: unknown): boolean =>
    item !== undefined && !(Array.isArray(item) && item.length === 0);
  return Object.fromEntries(Object.entries(value).filter(([, item]) => isKept(item))) as T;
}

const joined = <T>(said: Saids<readonly T[] | undefined>): T[] =>
  said.flatMap(({ value }) => [...(value ?? [])]);

/** A value that counts as `fallback` where nobody says it; left out where all are silent. */
function scalar<T>(what: string, said: Saids<T | undefined>, fallback: T): T | undefined {
  const found = agreed(
    what,
    said.map(({ who, value }) => ({ who, value: value ?? fallback })),
  );
  return present(said).length > 0 ? found : undefined;
}

function chained(
  functions: readonly ((method: string) => InputTuples)[],
): (method: string) => InputTuples {
  if (functions.length === 1) return functions[0]!;
  return async function* (method) {
    for (const one of functions) yield* one(method);
  };
}

function combineQuantizations(said: Saids<QuantizationRecipe>): QuantizationRecipe {
  const trainers = present(each(said, "trainFn"));
  if (trainers.length > 1) throw conflict("trainFn", trainers[0]!, trainers[1]!);
  const calibrations = present(each(said, "calibrationInputsFn")).map(({ value }) => value);
  return trimmed<QuantizationRecipe>({
    quantizers: joined(each(said, "quantizers")),
    aoQuantizationConfigs: joined(each(said, "aoQuantizationConfigs")),
    isQat: scalar("isQat", each(said, "isQat"), false),
    dynamicBatchSize: said.some(({ value }) => value.dynamicBatchSize) || undefined,
    calibrationInputsFn: calibrations.length > 0 ? chained(calibrations) : undefined,
    trainFn: trainers[0]?.value,
    ...Object.fromEntries(HOOKS.map((hook) => [hook, joined(each(said, hook))])),
  });
}

/** Throws where some are by method and others for all. */
function isAllByMethod<T>(what: string, said: Saids<T>, test: (value: T) => boolean): boolean {
  const is = ({ value }: Said<T>): boolean => test(value);
  const [map, list] = [said.find(is), said.find((one) => !is(one))];
  if (!map || !list) return map !== undefined;
  throw new SconceError(
    "argument",
    `${map.who} and ${list.who} cannot be combined: ${what} are by method in one and for all ` +
      "methods in the other",
    "Name the methods in both, or in neither.",
  );
}

/** The value of each recipe for a method, for all methods that are named. */
function byMethod<T>(said: Saids<Readonly<Record<string, T>>>): [string, Saids<T>][] {
  const methods = new Set(said.flatMap(({ value }) => Object.keys(value)));
  return [...methods].map((method) => [
    method,
    said
      .filter(({ value }) => Object.hasOwn(value, method))
      .map(({ who, value }) => ({ who, value: value[method]! })),
  ]);
}

function combineOfMethod(
  method: string,
  said: Saids<QuantizationRecipe | null>,
): QuantizationRecipe | null {
  const recipes = said.filter((one): one is Said<QuantizationRecipe> => one.value !== null);
  if (recipes.length === 0) return null;
  const left = said.find(({ value }) => value === null);
  if (left) throw conflict(`the quantization of method '${method}'`, left, recipes[0]!);
  return combineQuantizations(recipes);
}

function combineQuantization(said: Saids<Quantization>): Quantization | undefined {
  if (said.length === 0) return undefined;
  if (!isAllByMethod("quantizations", said, isByMethod)) {
    const made = combineQuantizations(said as Saids<QuantizationRecipe>);
    return Object.keys(made).length > 0 ? made : undefined;
  }
  const methods = byMethod(said as Saids<Readonly<Record<string, QuantizationRecipe | null>>>);
  return Object.fromEntries(methods.map(([name, all]) => [name, combineOfMethod(name, all)]));
}

const listed = (given: Partitioner | readonly Partitioner[]): readonly Partitioner[] =>
  Array.isArray(given) ? (given as readonly Partitioner[]) : [given as Partitioner];

type Rounds = Partitioner | readonly Partitioner[];

function combinePartitioners(said: Saids<Partitioners>): Partitioners | undefined {
  if (!isAllByMethod("partitioners", said, isPartitionersByMethod)) {
    const all = said.flatMap(({ value }) => listed(value as Rounds));
    return all.length > 0 ? all : undefined;
  }
  const methods = byMethod(said as Saids<Readonly<Record<string, Rounds>>>);
  return Object.fromEntries(
    methods.map(([name, all]) => [name, all.flatMap(({ value }) => listed(value))]),
  );
}

/** The fields in which configurations differ, what is left out being the default. */
function combineCompileConfigs(
  said: Saids<NonNullable<LoweringRecipe["edgeCompileConfig"]>>,
): LoweringRecipe["edgeCompileConfig"] {
  const [first] = said;
  if (!first) return undefined;
  for (const option of optionsOf("toEdge")) {
    const values = said.map(({ who, value }) => {
      const given = (value as Record<string, unknown>)[option.name];
      return { who, value: given ?? option.default };
    });
    agreed(`'${option.name}' of edgeCompileConfig`, values);
  }
  return structuredClone(first.value);
}

/** Unlike the official way, in which the first one wins, what the others say counts, too. */
function combineBackendConfigs(
  said: Saids<ExecutorchBackendConfig>,
): ExecutorchBackendConfig | undefined {
  if (said.length === 0) return undefined;
  const fields = byMethod(said as unknown as Saids<Readonly<Record<string, unknown>>>);
  return structuredClone(
    Object.fromEntries(
      fields.map(([name, all]) => [name, agreed(`'${name}' of executorchBackendConfig`, all)]),
    ),
  );
}

function combineLowering(said: Saids<LoweringRecipe>): LoweringRecipe | undefined {
  const made = trimmed<LoweringRecipe>({
    partitioners: combinePartitioners(present(each(said, "partitioners"))),
    edgeTransformPasses: joined(each(said, "edgeTransformPasses")),
    edgeManagerTransformPasses: joined(each(said, "edgeManagerTransformPasses")),
    edgeCompileConfig: combineCompileConfigs(present(each(said, "edgeCompileConfig"))),
  });
  return Object.keys(made).length > 0 ? made : undefined;
}

/**
 * Combines several recipes into one: the passes, partitioners and quantizers of all, in order.
 * Their `strict`, `mode`, `pipelineStages`, `sourceTransformInPlace`, `isQat` and configurations
 * must agree. A single recipe is returned as it is.
 * @throws SconceError with the code "argument" where two recipes conflict.
 */
export function combineRecipes(recipes: readonly ExportRecipe[], name?: string): ExportRecipe {
  const hint = "Pass one recipe or more.";
  if (!Array.isArray(recipes) || recipes.length === 0)
    throw new SconceError("argument", "there are no recipes to combine", hint);
  recipes.forEach((recipe, i) => checkRecipe(recipe, `recipes[${i}]`));
  if (recipes.length === 1) return recipes[0]!;
  const said = (recipes as readonly ExportRecipe[]).map((value, i) => ({
    who: value.name === undefined ? `recipes[${i}]` : `recipe '${value.name}'`,
    value,
  }));
  const names = joined(
    each(said, "name").map(({ who, value }) => ({ who, value: value ? [value] : [] })),
  );
  return trimmed<ExportRecipe>({
    name: name ?? (names.length > 0 ? names.join("_") : undefined),
    quantizationRecipe: combineQuantization(present(each(said, "quantizationRecipe"))),
    atenTransformPasses: joined(each(said, "atenTransformPasses")),
    sourceTransformInPlace: scalar(
      "sourceTransformInPlace",
      each(said, "sourceTransformInPlace"),
      false,
    ),
    loweringRecipe: combineLowering(present(each(said, "loweringRecipe"))),
    executorchBackendConfig: combineBackendConfigs(present(each(said, "executorchBackendConfig"))),
    pipelineStages: agreed("pipelineStages", each(said, "pipelineStages")),
    mode: scalar("mode", each(said, "mode"), "release"),
    strict: scalar("strict", each(said, "strict"), true),
  });
}
