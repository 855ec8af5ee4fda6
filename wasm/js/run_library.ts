// All that running models takes besides an engine or a runtime; re-exports only.
export { SconceError, SconcePanic, type ErrorJson } from "./base/errors.js";
export { fetchSource, openUrl } from "./source/fetch_source.js";
export { cachedFiles, forgetFiles } from "./source/cache.js";
export { tensor, type TensorMaker } from "./tensor/tensor.js";
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
