// Tensors as typed arrays. Which array holds which dtype is the one table that JS needs beyond what
// the core reports about itself.
import { badArgument, isObject, KINDS } from "./check.js";
import { SconceError } from "./errors.js";
import { dtypeOf, elements, flattened } from "./list.js";
import type { DType, NestedList, Tensor, TensorData, Value } from "./types.js";

type ArrayConstructor = {
  new (buffer: ArrayBuffer): TensorData;
  readonly BYTES_PER_ELEMENT: number;
};

const ARRAYS: Record<DType, ArrayConstructor> = {
  uint8: Uint8Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  float16: Uint16Array,
  float32: Float32Array,
  float64: Float64Array,
  bool: Uint8Array,
  bfloat16: Uint16Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  uint64: BigUint64Array,
  complex32: Uint8Array,
  complex64: Uint8Array,
  complex128: Uint8Array,
  float8_e5m2: Uint8Array,
  float8_e4m3fn: Uint8Array,
  float8_e5m2fnuz: Uint8Array,
  float8_e4m3fnuz: Uint8Array,
};

/** The array for a dtype over a buffer of its own: `bytes` itself when nothing else is in its buffer. */
export function dataFromBytes(dtype: DType, bytes: Uint8Array): TensorData {
  const isWhole = bytes.byteOffset === 0 && bytes.byteLength === bytes.buffer.byteLength;
  // Not bytes.slice(): Node's Buffer overrides it with a view of the same memory.
  const own = isWhole ? bytes.buffer : Uint8Array.prototype.slice.call(bytes).buffer;
  return new ARRAYS[dtype](own as ArrayBuffer);
}

/** The bytes of a well-formed tensor; `what` names it for messages. */
export function bytesOf(tensor: Tensor, what: string): Uint8Array {
  const { dtype, shape, data } = tensor;
  if (!isDType(dtype)) throw unknownDType(what, dtype);
  if (!isShape(shape)) throw badInput(`the shape of ${what}`, SHAPE, shape);
  if (!isHolding(data, dtype))
    throw badInput(`the data of ${what}, declared ${dtype},`, `a ${ARRAYS[dtype].name}`, data);
  try {
    return new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength);
  } catch {
    throw new SconceError(
      "input",
      `the data of ${what} is gone: its buffer was transferred`,
      "Make a new array, or transfer a copy of it: data.slice().",
    );
  }
}

const SHAPE = "a list of whole numbers, 0 or more";

const isDType = (dtype: unknown): dtype is DType =>
  typeof dtype === "string" && Object.hasOwn(ARRAYS, dtype);

const isShape = (shape: unknown): shape is readonly number[] =>
  Array.isArray(shape) && Array.from(shape).every(KINDS.index.test);

/** By name, because arrays of another window are none of this one's classes. */
const isHolding = (data: unknown, dtype: DType): boolean =>
  Object.prototype.toString.call(data) === `[object ${ARRAYS[dtype].name}]`;

function badInput(what: string, accepts: string, value: unknown): SconceError {
  const { message, hint } = badArgument(what, accepts, value);
  return new SconceError("input", message, hint);
}

function unknownDType(what: string, dtype: unknown): SconceError {
  return new SconceError(
    "dtype",
    `${what} has the dtype ${String(dtype)}, which does not exist`,
    `Use one of: ${Object.keys(ARRAYS).join(", ")}.`,
  );
}

/** The tensor that a list spells. */
function tensorOfList(list: NestedList, dtype: DType | undefined): Tensor {
  const flat = flattened(list);
  const found = dtype ?? dtypeOf(flat.items);
  const ArrayOf = ARRAYS[found];
  const values = elements(flat, found, ArrayOf.name);
  const data = new ArrayOf(new ArrayBuffer(values.length * ArrayOf.BYTES_PER_ELEMENT));
  values.forEach((value, index) => (data[index] = value));
  return { dtype: found, shape: flat.shape, data };
}

/**
 * A tensor from a typed array or a list. The dtype, unless given, follows from the array; lists make
 * float32, those of bigints int64, those of booleans bool. A nested list has its own shape.
 */
export function tensor(
  given: TensorData | NestedList,
  shape?: readonly number[],
  dtype?: DType,
): Tensor {
  if (dtype !== undefined && !isDType(dtype)) throw unknownDType("the tensor", dtype);
  const listed = Array.isArray(given) ? tensorOfList(given as NestedList, dtype) : undefined;
  const array = listed?.data ?? (given as TensorData);
  const found =
    listed?.dtype ??
    dtype ??
    (Object.keys(ARRAYS) as DType[]).find((name) => isHolding(array, name));
  if (!found || !isHolding(array, found)) {
    throw new SconceError(
      "dtype",
      `this array does not hold ${dtype ?? "a known dtype"}`,
      `Pass a ${dtype ? ARRAYS[dtype].name : "typed array or a list of numbers"}.`,
    );
  }
  const sizes = shape ?? listed?.shape ?? [array.length];
  if (!isShape(sizes)) throw badArgument("the shape", SHAPE, sizes);
  const count = sizes.reduce((product, size) => product * size, 1);
  if (found.startsWith("complex") || count === array.length)
    return { dtype: found, shape: [...sizes], data: array };
  throw new SconceError(
    "shape",
    `${array.length} elements do not fill the shape [${sizes.join(", ")}]`,
    "Pass as many elements as the product of the sizes.",
  );
}

export function isTensor(value: unknown): value is Tensor {
  return isObject(value) && "dtype" in value && "data" in value && "shape" in value;
}

/** A value that nobody else changes. */
export const copyOf = (value: Value): Value =>
  isTensor(value) ? { ...value, shape: [...value.shape], data: value.data.slice() } : value;

/** Elements as numbers, whatever the dtype; float16 and bfloat16 are decoded. */
export function toNumbers(t: Tensor): number[] {
  if (!isTensor(t)) throw badArgument("what toNumbers() takes", "a tensor", t);
  if (t.dtype === "float16") return Array.from(t.data as Uint16Array, halfToNumber);
  if (t.dtype === "bfloat16") return Array.from(t.data as Uint16Array, brainToNumber);
  return Array.from(t.data as ArrayLike<number | bigint>, Number);
}

function halfToNumber(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24);
}

const scratch = new DataView(new ArrayBuffer(4));
function brainToNumber(bits: number): number {
  scratch.setUint32(0, bits << 16);
  return scratch.getFloat32(0);
}
