// The public entry; re-exports only.
export { createEngine } from "./engine.js";
export { createClient, type Client, type ClientOptions } from "./client.js";
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
export { SconceError, SconcePanic } from "./errors.js";
export { fetchSource, openUrl } from "./fetch_source.js";
export { cachedFiles, forgetFiles } from "./source/cache.js";
export { tensor, toNumbers } from "./tensor.js";
export type * from "./types.js";
