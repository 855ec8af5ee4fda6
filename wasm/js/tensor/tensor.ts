// Tensors as callers make them: of arrays, lists, single numbers and pictures.
import { isObject } from "../base/check.js";
import {
  arraysOf,
  dataFromBytes,
  dataOver,
  dtypeOfArray,
  isDType,
  isHolding,
  isOwnArray,
  partsOf,
  write,
  zerosOf,
} from "./dtypes.js";
import { SconceError } from "../base/errors.js";
import { isSmallFloat } from "./floats.js";
import { fromImage } from "./image.js";
import { dtypeOf, elements, flattened } from "./list.js";
import { shapeFor } from "./shape.js";
import { tagOf } from "../base/tags.js";
import { unknownDType, viewOf } from "./bytes.js";
import type {
  DType,
  HalfArray,
  InputTensor,
  NestedList,
  Tensor,
  TensorData,
  TensorElement,
  TensorOf,
} from "../types/index.js";

/** Any array that holds elements; its memory may be shared. */
type AnyArray = InputTensor["data"];

/** The dtype of an array that comes without one. */
type DTypeOf<Data> = Data extends Uint8Array | Uint8ClampedArray
  ? "uint8"
  : Data extends Int8Array
    ? "int8"
    : Data extends Int16Array
      ? "int16"
      : Data extends Int32Array
        ? "int32"
        : Data extends BigInt64Array
          ? "int64"
          : Data extends Uint16Array
            ? "uint16"
            : Data extends Uint32Array
              ? "uint32"
              : Data extends BigUint64Array
                ? "uint64"
                : Data extends Float32Array
                  ? "float32"
                  : Data extends Float64Array
                    ? "float64"
                    : Data extends HalfArray
                      ? "float16"
                      : DType;

/** The types of `tensor`, which also carries `tensor.fromImage`. */
export interface TensorMaker {
  /**
   * A tensor from a typed array, a list or one number.
   *
   * The dtype follows from an array: a Uint16Array makes uint16, a Float16Array float16. Numbers make
   * float32, bigints int64 and booleans bool. A nested list has its own shape, an array is flat, and
   * one number has no dimensions. One size of `shape` may be -1: it follows from the others.
   *
   * The tensor keeps the memory of an array, not a copy. Only shared memory is copied.
   * @throws SconceError with the code "shape", "dtype" or "argument".
   * @example
   * tensor(new Float32Array(12), [3, -1]); // float32 [3, 4]
   * tensor([[1, 2], [3, 4]]); // float32 [2, 2]
   * tensor(7n); // int64 []
   */
  (value: number | NestedList<number>, shape?: readonly number[]): TensorOf<"float32">;
  (value: bigint | NestedList<bigint>, shape?: readonly number[]): TensorOf<"int64">;
  (value: boolean | NestedList<boolean>, shape?: readonly number[]): TensorOf<"bool">;
  <Data extends AnyArray>(data: Data, shape?: readonly number[]): TensorOf<DTypeOf<Data>>;
  /**
   * A tensor of a dtype. Lists and single numbers become its elements: integers exactly or not at all,
   * floats by rounding to the nearest, a tie to the even one, as PyTorch does.
   *
   * An array holds the elements as `Tensor.data` does: the bits of float16, bfloat16 and float8, the
   * real and the imaginary part of complex numbers in turn. A Float32Array or Float64Array of numbers
   * is rounded to float16, bfloat16, float8 or complex32. Lists spell a complex number as a number or
   * as `{ re, im }`.
   * @throws SconceError with the code "shape", "dtype" or "argument".
   * @example
   * tensor([1, 2.5], [2], "float16");
   * tensor([{ re: 1, im: 2 }], [1], "complex64");
   * tensor(new Float32Array([1, 2]), [1], "complex64"); // the same
   */
  <D extends DType>(
    data: AnyArray | TensorElement | NestedList,
    shape: readonly number[] | undefined,
    dtype: D,
  ): TensorOf<D>;
  (data: AnyArray | TensorElement | NestedList, shape?: readonly number[], dtype?: DType): Tensor;
  readonly fromImage: typeof fromImage;
}

interface Found {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly data: TensorData;
}

/** The tensor that a list or a single element spells. */
function ofList(given: TensorElement | NestedList, wanted: DType | undefined): Found {
  const flat = Array.isArray(given)
    ? flattened(given as NestedList)
    : { shape: [], items: [given] };
  const dtype = wanted ?? dtypeOf(flat.items);
  const data = zerosOf(dtype, flat.items.length);
  elements(flat, dtype).forEach((value, index) => (data[index] = value));
  return { dtype, shape: flat.shape, data };
}

/** An array that holds a dtype's elements, over memory that is not shared. */
function dataOf(array: AnyArray, dtype: DType): TensorData {
  const bytes = viewOf(array, "the array of tensor()");
  if (tagOf(bytes.buffer) !== "ArrayBuffer") return dataFromBytes(dtype, new Uint8Array(bytes));
  return isOwnArray(array, dtype) ? (array as TensorData) : dataOver(dtype, bytes);
}

/** The array of tensor(), as elements of the dtype. */
function ofArray(array: AnyArray, wanted: DType | undefined): Found {
  const dtype = wanted ?? dtypeOfArray(array);
  if (dtype === undefined)
    throw new SconceError(
      "dtype",
      "tensor() cannot find the dtype of this data",
      "Pass a typed array, a number, or a list of numbers.",
    );
  const isNumbers = ["Float32Array", "Float64Array"].includes(tagOf(array));
  const isRounded = isNumbers && (isSmallFloat(dtype) || dtype === "complex32");
  if (!isRounded && !isHolding(array, dtype))
    throw new SconceError(
      "dtype",
      `this array does not hold ${dtype}`,
      `Pass ${arraysOf(dtype)}, or a list: Array.from(data).`,
    );
  const parts = partsOf(dtype);
  if (array.length % parts !== 0)
    throw new SconceError(
      "shape",
      `${array.length} numbers are no whole number of ${dtype} elements`,
      "Pass the real and the imaginary part of each element.",
    );
  const shape = [array.length / parts];
  if (!isRounded) return { dtype, shape, data: dataOf(array, dtype) };
  const data = zerosOf(dtype, array.length / parts);
  write(data, dtype, array as Float32Array);
  return { dtype, shape, data };
}

const isElement = (value: unknown): value is TensorElement =>
  ["number", "bigint", "boolean"].includes(typeof value) ||
  (isObject(value) && typeof value["re"] === "number");

function makeTensor(given: unknown, shape?: readonly number[], wanted?: DType): Tensor {
  if (wanted !== undefined && !isDType(wanted)) throw unknownDType("the tensor", wanted);
  const isSpelled = Array.isArray(given) || isElement(given);
  const { dtype, data, ...found } = isSpelled
    ? ofList(given as NestedList, wanted)
    : ofArray(given as AnyArray, wanted);
  const count = data.length / partsOf(dtype);
  return { dtype, shape: [...shapeFor(shape ?? found.shape, count)], data } as Tensor;
}

export const tensor: TensorMaker = /* @__PURE__ */ Object.assign(makeTensor as TensorMaker, {
  fromImage,
});
