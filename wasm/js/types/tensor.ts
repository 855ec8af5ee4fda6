// The types of tensors: the array for each dtype, tensors that narrow by dtype, and the wider forms
// that calls take.
/** Element types, by PyTorch's names. */
export type DType =
  | "uint8"
  | "int8"
  | "int16"
  | "int32"
  | "int64"
  | "float16"
  | "float32"
  | "float64"
  | "bool"
  | "bfloat16"
  | "uint16"
  | "uint32"
  | "uint64"
  | "complex32"
  | "complex64"
  | "complex128"
  | "float8_e5m2"
  | "float8_e4m3fn"
  | "float8_e5m2fnuz"
  | "float8_e4m3fnuz";

/** The array type of each dtype's elements. */
export interface TensorArrays<Memory extends ArrayBufferLike = ArrayBuffer> {
  uint8: Uint8Array<Memory>;
  int8: Int8Array<Memory>;
  int16: Int16Array<Memory>;
  int32: Int32Array<Memory>;
  int64: BigInt64Array<Memory>;
  uint16: Uint16Array<Memory>;
  uint32: Uint32Array<Memory>;
  uint64: BigUint64Array<Memory>;
  float32: Float32Array<Memory>;
  float64: Float64Array<Memory>;
  /** 0 and 1. */
  bool: Uint8Array<Memory>;
  /** The 16 bits of each number, also on hosts with Float16Array. `toNumbers` decodes them. */
  float16: Uint16Array<Memory>;
  /** The 16 bits of each number. */
  bfloat16: Uint16Array<Memory>;
  /** The real and the imaginary part in turn, as float16 bits. */
  complex32: Uint16Array<Memory>;
  /** The real and the imaginary part in turn. */
  complex64: Float32Array<Memory>;
  /** The real and the imaginary part in turn. */
  complex128: Float64Array<Memory>;
  /** The 8 bits of each number. */
  float8_e5m2: Uint8Array<Memory>;
  float8_e4m3fn: Uint8Array<Memory>;
  float8_e5m2fnuz: Uint8Array<Memory>;
  float8_e4m3fnuz: Uint8Array<Memory>;
}

/** The array of any tensor. */
export type TensorData = TensorArrays[DType];

/** The fields of a tensor of one dtype. */
interface TensorFields<D extends DType> {
  readonly dtype: D;
  /** Sizes, outermost first; empty for a single number. */
  readonly shape: readonly number[];
  /** The elements in row-major order. A complex element is two numbers. */
  readonly data: TensorArrays[D];
  /**
   * For outputs only, the physical order of dimensions that the program declares, outermost first.
   */
  readonly dimOrder?: readonly number[];
}

/**
 * A tensor of a dtype, or of one of several dtypes.
 * @example
 * const logits: TensorOf<"float32"> = tensor([1, 2, 3]);
 */
export type TensorOf<D extends DType> = { [K in D]: TensorFields<K> }[D];

/**
 * A dense tensor. Elements are in row-major order, whatever layout the program declares. The dtype
 * decides the type of `data`.
 * @example
 * if (output.dtype === "float32") output.data; // a Float32Array
 */
export type Tensor = TensorOf<DType>;

/** A Float16Array, which newer hosts have and older declarations of JavaScript lack. */
export interface HalfArray {
  readonly [Symbol.toStringTag]: "Float16Array";
  readonly BYTES_PER_ELEMENT: number;
  readonly buffer: ArrayBufferLike;
  readonly byteOffset: number;
  readonly byteLength: number;
  readonly length: number;
  [index: number]: number;
}

/** Other arrays whose memory has the form of a dtype's elements. */
interface OtherArrays {
  uint8: Uint8ClampedArray;
  float16: HalfArray;
  complex32: HalfArray;
}

/** The arrays that calls take for a dtype; their memory may be shared. */
export type InputArrays = {
  [D in DType]:
    TensorArrays<ArrayBufferLike>[D] | (D extends keyof OtherArrays ? OtherArrays[D] : never);
};

/**
 * A tensor as calls take it: a `Tensor`, or one whose data is a Float16Array, a Uint8ClampedArray
 * or in shared memory.
 */
export type InputTensor = {
  [D in DType]: {
    readonly dtype: D;
    readonly shape: readonly number[];
    readonly data: InputArrays[D];
    readonly dimOrder?: readonly number[];
  };
}[DType];

/** A complex number. The imaginary part is 0 if it is left out. */
export interface Complex {
  readonly re: number;
  readonly im?: number;
}

/** One element of a tensor in a list. */
export type TensorElement = number | bigint | boolean | Complex;

/** Elements row by row, to any depth. */
export type NestedList<T = TensorElement> = readonly (T | NestedList<T>)[];

/** An output of a method. An integer that a number cannot hold exactly is a bigint. */
export type Value = Tensor | number | bigint | boolean | string | null;

/** An input of a method. */
export type InputValue = InputTensor | number | bigint | boolean | string | null;
