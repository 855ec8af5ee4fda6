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
export { quantizeInputs, quantizeOutputs } from "./pass/quantize_io.js";
export { isGraphNode, replacePattern } from "./pass/replace.js";
export * from "./run_library.js";
