// Values of methods as JSON, tensors with their bytes in base64: what Python's scripts send and read.
import { dataFromBytes } from "../../dist/tensor/dtypes.js";

export function toValue(value) {
  if (value === null || typeof value !== "object") return value;
  const { dtype, shape, data } = value;
  const bytes = new Uint8Array(Buffer.from(data, "base64"));
  return { dtype, shape, data: dataFromBytes(dtype, bytes) };
}

/** Floats that JSON has no words for, and integers beyond its own, go as text. */
function scalar(value) {
  if (typeof value === "bigint") return { integer: String(value) };
  return typeof value === "number" && !Number.isFinite(value) ? { float: String(value) } : value;
}

export function fromValue(value) {
  if (value === null || typeof value !== "object") return scalar(value);
  const { dtype, shape, data } = value;
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return { dtype, shape, data: bytes.toString("base64") };
}
