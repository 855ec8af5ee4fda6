// The results of constant methods.
import type { DType, InputTensor } from "./tensor.js";

/**
 * The result of a constant method: a number, boolean, string, tensor or dtype, or a list or dict of such
 * values. A whole number is an integer of 64 bits (-0 is 0), and one that does not fit is refused;
 * `{ double: 1 }` makes it a float. `{ dtype: "float16" }` is a dtype, which runtimes give as its number.
 *
 * Plain objects and maps are dicts, whose keys are strings. A map keeps keys such as "1" in their order,
 * and it is needed for a dict whose only key is "double" or "dtype". A tensor is copied, row-major.
 * Runs give nested values one after the other: lists in their order, dicts in that of their keys.
 */
export type ConstantValue =
  | number
  | bigint
  | boolean
  | string
  | InputTensor
  | { readonly double: number }
  | { readonly dtype: DType }
  | readonly ConstantValue[]
  | ReadonlyMap<string, ConstantValue>
  | { readonly [key: string]: ConstantValue };
