// Reads tensors as numbers, with small helpers for results of models: shapes, probabilities and the
// best classes.
import { badArgument, KINDS } from "../base/check.js";
import { isComplex, partsOf } from "./dtypes.js";
import { SconceError } from "../base/errors.js";
import { isSmallFloat, numbersOf } from "./floats.js";
import { shapeFor } from "./shape.js";
import { tagOf } from "../base/tags.js";
import { bytesOf, isTensorLike } from "./bytes.js";
import type { Complex, InputTensor, TensorOf } from "../types/index.js";

/** Throws unless a value is a well-formed tensor with as many elements as its shape says. */
function mustBeTensor(value: unknown, what: string): asserts value is InputTensor {
  if (!isTensorLike(value)) throw badArgument(`what ${what} takes`, "a tensor", value);
  bytesOf(value, `the tensor of ${what}`);
  shapeFor(value.shape, value.data.length / partsOf(value.dtype));
}

function mustBeReal(tensor: InputTensor, what: string): void {
  if (!isComplex(tensor.dtype)) return;
  const hint = "Take their magnitudes: toComplex() gives the parts.";
  throw new SconceError("dtype", `${what} does not take complex numbers`, hint);
}

function mustBeExact(value: number): void {
  if (Number.isSafeInteger(value)) return;
  throw new SconceError(
    "numeric",
    `an integer near ${value} is beyond 2^53, where numbers are not exact`,
    "Read tensor.data, which holds bigints; Array.from(tensor.data, Number) rounds them.",
  );
}

/** The elements as numbers; integers beyond 2^53 become the nearest number. */
export function roundedNumbers({ dtype, data }: InputTensor): number[] {
  const small = dtype === "complex32" ? "float16" : dtype;
  // A Float16Array holds numbers already.
  if (!isSmallFloat(small) || tagOf(data) === "Float16Array")
    return Array.from(data as ArrayLike<number | bigint>, Number);
  const numbers = numbersOf(small);
  return Array.from(data as Uint16Array, (bits) => numbers[bits]!);
}

/**
 * The elements of a tensor as numbers. Small floats (float16, bfloat16, float8) are decoded
 * exactly. A complex element becomes two numbers, the real part first; `toComplex` gives pairs.
 * @throws SconceError with the code "numeric" for integers beyond 2^53, which `tensor.data` holds.
 * @example
 * toNumbers(tensor([1, 2.5], [2], "float16")); // [1, 2.5]
 */
export function toNumbers(tensor: InputTensor): number[] {
  mustBeTensor(tensor, "toNumbers()");
  const numbers = roundedNumbers(tensor);
  const isWide = tensor.dtype === "int64" || tensor.dtype === "uint64";
  if (isWide) numbers.forEach(mustBeExact);
  return numbers;
}

/**
 * The elements of a complex tensor, as objects with two parts.
 * @throws SconceError with the code "dtype" for a tensor of another dtype.
 * @example
 * toComplex(tensor([{ re: 1, im: 2 }])); // [{ re: 1, im: 2 }]
 */
export function toComplex(tensor: InputTensor): Required<Complex>[] {
  mustBeTensor(tensor, "toComplex()");
  if (!isComplex(tensor.dtype))
    throw new SconceError(
      "dtype",
      `toComplex() takes complex numbers, not ${tensor.dtype}`,
      "Call toNumbers().",
    );
  const numbers = toNumbers(tensor);
  return Array.from({ length: numbers.length / 2 }, (_, i) => ({
    re: numbers[2 * i]!,
    im: numbers[2 * i + 1]!,
  }));
}

/**
 * The same elements in another shape. One size may be -1, and follows from the others. The data is
 * shared, not copied.
 * @throws SconceError with the code "shape" when the elements do not fill the shape.
 * @example
 * reshape(tensor([1, 2, 3, 4]), [2, -1]).shape; // [2, 2]
 */
export function reshape<T extends InputTensor>(tensor: T, shape: readonly number[]): T {
  mustBeTensor(tensor, "reshape()");
  const { dimOrder: _, ...rest } = tensor;
  const count = tensor.data.length / partsOf(tensor.dtype);
  return { ...(rest as T), shape: [...shapeFor(shape, count)] };
}

/** How long a row of a tensor is, and how many there are; a single number is a row of its own. */
function rowsOf({ shape, data }: InputTensor): { length: number; count: number } {
  const length = shape.at(-1) ?? 1;
  return { length, count: length === 0 ? 0 : data.length / length };
}

/**
 * Probabilities from a tensor of scores, over its last dimension. Large scores do not overflow. The
 * result is float32 and has the same shape.
 * @throws SconceError with the code "dtype" for complex numbers.
 * @example
 * topk(softmax(logits), 5);
 */
export function softmax(tensor: InputTensor): TensorOf<"float32"> {
  mustBeTensor(tensor, "softmax()");
  mustBeReal(tensor, "softmax()");
  const numbers = roundedNumbers(tensor);
  const data = new Float32Array(numbers.length);
  const { length, count } = rowsOf(tensor);
  for (let row = 0; row < count; row++) {
    const scores = numbers.slice(row * length, (row + 1) * length);
    const greatest = scores.reduce((a, b) => Math.max(a, b), -Infinity);
    const powers = scores.map((score) => Math.exp(score - greatest));
    const sum = powers.reduce((a, b) => a + b, 0);
    data.set(
      powers.map((power) => power / sum),
      row * length,
    );
  }
  return { dtype: "float32", shape: [...tensor.shape], data };
}

/** An element of a row: its index and its value. */
export interface Ranked {
  readonly index: number;
  readonly value: number;
}

/** NaN counts as the greatest, as in PyTorch; of equal elements the first one comes first. */
function compare(a: Ranked, b: Ranked): number {
  const [aNan, bNan] = [Number.isNaN(a.value), Number.isNaN(b.value)];
  if (aNan || bNan) return Number(bNan) - Number(aNan) || a.index - b.index;
  return b.value - a.value || a.index - b.index;
}

/**
 * The k largest elements of each row, largest first. A row is the last dimension of the tensor. The
 * dimensions before it form one list of rows.
 * @throws SconceError with the code "argument" when a row has fewer than k elements.
 * @example
 * for (const [best] of topkRows(logits, 1)) console.log(best.index);
 */
export function topkRows(tensor: InputTensor, k: number): Ranked[][] {
  mustBeTensor(tensor, "topk()");
  mustBeReal(tensor, "topk()");
  const { length, count } = rowsOf(tensor);
  if (!KINDS.index.test(k) || k > length)
    throw badArgument("k of topk()", `a whole number from 0 to ${length}`, k);
  const numbers = toNumbers(tensor);
  return Array.from({ length: count }, (_, row) =>
    numbers
      .slice(row * length, (row + 1) * length)
      .map((value, index) => ({ index, value }))
      .sort(compare)
      .slice(0, k),
  );
}

/**
 * The k largest elements of a tensor with one row, largest first. The shape may be [1000] or [1,
 * 1000], for example. `topkRows` takes several rows.
 * @throws SconceError with the code "shape" when there is more than one row, "argument" when the row
 * has fewer than k elements.
 * @example
 * topk(tensor([0.1, 0.7, 0.2]), 2); // [{ index: 1, value: 0.7 }, { index: 2, value: 0.2 }]
 */
export function topk(tensor: InputTensor, k: number): Ranked[] {
  const rows = topkRows(tensor, k);
  if (rows.length <= 1) return rows[0] ?? [];
  throw new SconceError(
    "shape",
    `topk() takes one row, and the shape [${tensor.shape.join(", ")}] has ${rows.length}`,
    "Call topkRows(), which gives a list for each row.",
  );
}
