// The public entry; re-exports only.
export { createEngine } from "./engine.js";
export { createClient, type Client, type ClientOptions } from "./client.js";
export {
  createPool,
  type Pool,
  type PooledClient,
  type PoolOptions,
  type PoolStats,
  type UseOptions,
} from "./pool.js";
export {
  coverageNote,
  coverageSentence,
  coverageWord,
  coveredOperators,
  featureSentence,
  listedCount,
  operatorPattern,
  type CoveredOperator,
} from "./coverage.js";
export { combineRecipes } from "./recipe_combine.js";
export { decibelsOf } from "./quantization_report.js";
export { ExportRecipe, RecipeRegistry, XNNPackRecipeType } from "./registry.js";
export { SconceError, SconcePanic, type ErrorJson } from "./errors.js";
export { fetchSource, openUrl } from "./fetch_source.js";
export { cachedFiles, forgetFiles } from "./source/cache.js";
export { tensor, type TensorMaker } from "./tensor.js";
export { isTensor } from "./tensor_bytes.js";
export {
  reshape,
  softmax,
  toComplex,
  toNumbers,
  topk,
  topkRows,
  type Ranked,
} from "./tensor_numbers.js";
export type * from "./types.js";
