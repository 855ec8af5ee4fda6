// Tensors as callers pass them: recognised among other values, read as bytes, and made of bytes.
import { badArgument, isObject } from "../base/check.js";
import {
  arraysOf,
  dataFromBytes,
  DTYPES,
  isDType,
  isHolding,
  isOwnArray,
  partsOf,
} from "./dtypes.js";
import { SconceError } from "../base/errors.js";
import { countOf, isShape, SHAPE } from "./shape.js";
import type { DType, InputTensor, InputValue, Tensor, Value } from "../types/index.js";

function badInput(what: string, accepts: string, value: unknown): SconceError {
  const { message, hint } = badArgument(what, accepts, value);
  return new SconceError("input", message, hint);
}

/** The error of a dtype that there is not. */
export function unknownDType(what: string, dtype: unknown): SconceError {
  return new SconceError(
    "dtype",
    `${what} has the dtype ${String(dtype)}, which does not exist`,
    `Use one of: ${DTYPES.join(", ")}.`,
  );
}

/** The bytes of a well-formed tensor; `what` names it for messages. */
export function bytesOf(tensor: InputTensor, what: string): Uint8Array<ArrayBuffer> {
  const { dtype, shape, data } = tensor;
  if (!isDType(dtype)) throw unknownDType(what, dtype);
  if (!isShape(shape)) throw badInput(`the shape of ${what}`, SHAPE, shape);
  if (!isHolding(data, dtype))
    throw badInput(`the data of ${what}, declared ${dtype},`, arraysOf(dtype), data);
  return viewOf(data, `the data of ${what}`);
}

/** The memory of an array as bytes. */
export function viewOf(data: InputTensor["data"], what: string): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength);
  } catch {
    throw new SconceError(
      "input",
      `${what} is gone: its buffer was transferred`,
      "Make a new array, or transfer a copy of it: data.slice().",
    );
  }
}

/** Does the value look like a tensor? Its fields are not looked at: `bytesOf` does that. */
export function isTensorLike(value: unknown): value is InputTensor {
  return isObject(value) && "dtype" in value && "data" in value && "shape" in value;
}

/**
 * Is the value a well-formed `Tensor`? Its data has to be the array of its dtype and to fill its shape;
 * it may come from another realm. The dtype then tells which array it is.
 * @example
 * const [output] = program.run("forward", [input]);
 * if (isTensor(output) && output.dtype === "float32") console.log(output.data[0]);
 */
export function isTensor(value: unknown): value is Tensor {
  if (!isTensorLike(value) || !isDType(value.dtype) || !isShape(value.shape)) return false;
  return (
    isOwnArray(value.data, value.dtype) &&
    value.data.length === countOf(value.shape) * partsOf(value.dtype)
  );
}

/** The tensor of these bytes. */
export const tensorOf = (dtype: DType, shape: readonly number[], bytes: Uint8Array): Tensor =>
  ({ dtype, shape, data: dataFromBytes(dtype, bytes) }) as Tensor;

/** A tensor that nobody else changes, as this library makes them. */
function copyOfTensor(given: InputTensor): Tensor {
  const { dtype, shape, dimOrder } = given;
  const copy = tensorOf(dtype, [...shape], new Uint8Array(bytesOf(given, "a tensor")));
  return dimOrder ? { ...copy, dimOrder } : copy;
}

/** A value that nobody else changes. */
export const copyOf = (value: InputValue): Value =>
  isTensorLike(value) ? copyOfTensor(value) : value;
