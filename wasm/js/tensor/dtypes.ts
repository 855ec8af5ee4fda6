// Which array holds which dtype, and how a number becomes an element of it. This is the one table
// that JavaScript needs beyond the core's own report.
import { encoderOf, isSmallFloat } from "./floats.js";
import { tagOf } from "../base/tags.js";
import type { DType, TensorArrays, TensorData } from "../types/index.js";

interface ArrayConstructor {
  new (buffer: ArrayBuffer, byteOffset?: number, length?: number): TensorData;
  readonly BYTES_PER_ELEMENT: number;
}

interface Storage {
  readonly array: ArrayConstructor;
  /** Another array with the same memory. */
  readonly other?: string;
  /** Items of the array for one element: 2 for complex numbers, else 1. */
  readonly parts: 1 | 2;
}

// The first dtype of an array is the one that an array without a dtype has.
const STORAGES: Record<DType, Storage> = {
  uint8: { array: Uint8Array, other: "Uint8ClampedArray", parts: 1 },
  int8: { array: Int8Array, parts: 1 },
  int16: { array: Int16Array, parts: 1 },
  int32: { array: Int32Array, parts: 1 },
  int64: { array: BigInt64Array, parts: 1 },
  uint16: { array: Uint16Array, parts: 1 },
  uint32: { array: Uint32Array, parts: 1 },
  uint64: { array: BigUint64Array, parts: 1 },
  float32: { array: Float32Array, parts: 1 },
  float64: { array: Float64Array, parts: 1 },
  float16: { array: Uint16Array, other: "Float16Array", parts: 1 },
  bfloat16: { array: Uint16Array, parts: 1 },
  bool: { array: Uint8Array, parts: 1 },
  complex32: { array: Uint16Array, other: "Float16Array", parts: 2 },
  complex64: { array: Float32Array, parts: 2 },
  complex128: { array: Float64Array, parts: 2 },
  float8_e5m2: { array: Uint8Array, parts: 1 },
  float8_e4m3fn: { array: Uint8Array, parts: 1 },
  float8_e5m2fnuz: { array: Uint8Array, parts: 1 },
  float8_e4m3fnuz: { array: Uint8Array, parts: 1 },
};

/** The names of all dtypes. */
export const DTYPES = Object.keys(STORAGES) as readonly DType[];

/** True if `dtype` is the name of a dtype. */
export const isDType = (dtype: unknown): dtype is DType =>
  typeof dtype === "string" && Object.hasOwn(STORAGES, dtype);

/** The items of the array for one element: 2 for complex numbers, else 1. */
export const partsOf = (dtype: DType): 1 | 2 => STORAGES[dtype].parts;
/** True if elements of the dtype are complex numbers. */
export const isComplex = (dtype: DType): boolean => partsOf(dtype) === 2;

/** True if elements of the dtype are numbers with a fraction, or two of them. */
export const isFloating = (dtype: DType): boolean => /^(b?float|complex)/.test(dtype);

const INTEGERS: Partial<Record<DType, readonly [low: bigint, high: bigint]>> = {
  uint8: [0n, 255n],
  int8: [-128n, 127n],
  uint16: [0n, 65535n],
  int16: [-32768n, 32767n],
  uint32: [0n, 2n ** 32n - 1n],
  int32: [-(2n ** 31n), 2n ** 31n - 1n],
  uint64: [0n, 2n ** 64n - 1n],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
};

/** The smallest and the largest number of an integer dtype; undefined of others. */
export const rangeOf = (dtype: DType): readonly [low: bigint, high: bigint] | undefined =>
  INTEGERS[dtype];

/** The arrays of a dtype, for messages: "a Uint16Array or a Float16Array". */
export function arraysOf(dtype: DType): string {
  const { array, other } = STORAGES[dtype];
  const name = (text: string): string => `${/^[AEIO]|^U(?!int)/.test(text) ? "an" : "a"} ${text}`;
  return other ? `${name(array.name)} or ${name(other)}` : name(array.name);
}

/** Does this array, of any realm, hold elements of the dtype? */
export function isHolding(data: unknown, dtype: DType): boolean {
  const { array, other } = STORAGES[dtype];
  const tag = tagOf(data);
  return tag === array.name || tag === other;
}

/** Is this the very array that tensors of the dtype have here, and not another with its memory? */
export const isOwnArray = (data: unknown, dtype: DType): boolean =>
  tagOf(data) === STORAGES[dtype].array.name;

/** The dtype of an array that comes without one. */
export const dtypeOfArray = (data: unknown): DType | undefined =>
  DTYPES.find((dtype) => isHolding(data, dtype));

/** The array of a dtype over a buffer of its own: that of `bytes` when it holds them alone. */
export function dataFromBytes<D extends DType>(dtype: D, bytes: Uint8Array): TensorArrays[D] {
  const isWhole = bytes.byteOffset === 0 && bytes.byteLength === bytes.buffer.byteLength;
  // A new array, because the slice() of Node's Buffer is a view of the same memory.
  const own = isWhole ? bytes.buffer : new Uint8Array(bytes).buffer;
  return new STORAGES[dtype].array(own as ArrayBuffer) as TensorArrays[D];
}

/** The array of a dtype over the memory of others. */
export function dataOver(dtype: DType, { buffer, byteOffset, byteLength }: Uint8Array): TensorData {
  const { array } = STORAGES[dtype];
  return new array(buffer as ArrayBuffer, byteOffset, byteLength / array.BYTES_PER_ELEMENT);
}

/** The bytes of an element. */
export const elementBytes = (dtype: DType): number => {
  const { array, parts } = STORAGES[dtype];
  return array.BYTES_PER_ELEMENT * parts;
};

/** An array of zeros for so many elements. */
export function zerosOf<D extends DType>(dtype: D, count: number): TensorArrays[D] {
  return dataFromBytes(dtype, new Uint8Array(count * elementBytes(dtype)));
}

/** How a number becomes an item of a dtype's array. */
export function writerOf(dtype: DType): (value: number) => number | bigint {
  const { array } = STORAGES[dtype];
  if (dtype === "complex32") return encoderOf("float16");
  if (isSmallFloat(dtype)) return encoderOf(dtype);
  return array === BigInt64Array || array === BigUint64Array ? BigInt : (value) => value;
}

/** Fills an array of a dtype with numbers. */
export function write(data: TensorData, dtype: DType, numbers: ArrayLike<number>): void {
  const item = writerOf(dtype);
  for (let i = 0; i < numbers.length; i++) data[i] = item(numbers[i]!);
}
