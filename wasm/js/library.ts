// All of the library but what makes an engine; re-exports only.
export { createClient, type Client, type ClientOptions } from "./worker/client.js";
export {
  createPool,
  type Pool,
  type PooledClient,
  type PoolOptions,
  type PoolStats,
  type UseOptions,
} from "./worker/pool.js";
export {
  coverageNote,
  coverageSentence,
  coverageWord,
  coveredOperators,
  featureSentence,
  listedCount,
  operatorPattern,
  type CoveredOperator,
} from "./lower/coverage.js";
export { combineRecipes } from "./recipe/combine.js";
export { decibelsOf } from "./recipe/quantize/report.js";
export { ExportRecipe, RecipeRegistry, XNNPackRecipeType } from "./recipe/registry.js";
export { SconceError, SconcePanic, type ErrorJson } from "./base/errors.js";
export { fetchSource, openUrl } from "./source/fetch_source.js";
export { cachedFiles, forgetFiles } from "./source/cache.js";
export { tensor, type TensorMaker } from "./tensor/tensor.js";
export { quantizeInputs, quantizeOutputs } from "./pass/quantize_io.js";
export { isGraphNode, replacePattern } from "./pass/replace.js";
export { isTensor } from "./tensor/bytes.js";
export {
  reshape,
  softmax,
  toComplex,
  toNumbers,
  topk,
  topkRows,
  type Ranked,
} from "./tensor/numbers.js";
export type * from "./types/index.js";
