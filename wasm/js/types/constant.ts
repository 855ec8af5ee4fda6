// The results of constant methods.
import type { DType, InputTensor } from "./tensor.js";

/**
 * The result of a constant method: a number, boolean, string, tensor or dtype, or a list or dict of
 * such values. A whole number is an integer of 64 bits (-0 is 0), and an error if it does not fit.
 * `{ double: 1 }` makes it a float. `{ dtype: "float16" }` is a dtype, which runtimes return as its
 * number.
 *
 * Plain objects and maps are dicts, whose keys are strings. A map keeps keys such as "1" in their
 * order. A dict whose only key is "double" or "dtype" must be a map. A tensor is copied, row-major. A
 * run returns nested values one after the other: lists in order, dicts in the order of their keys.
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
