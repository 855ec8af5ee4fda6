// Values of methods as JSON, tensors with their bytes in base64: what Python's scripts send and read.
const ARRAYS = {
  int16: Int16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  uint64: BigUint64Array,
  int8: Int8Array,
  float16: Uint16Array,
  bfloat16: Uint16Array,
  float32: Float32Array,
  float64: Float64Array,
};

export function toValue(value) {
  if (value === null || typeof value !== "object") return value;
  const { dtype, shape, data } = value;
  const bytes = new Uint8Array(Buffer.from(data, "base64"));
  return { dtype, shape, data: new (ARRAYS[dtype] ?? Uint8Array)(bytes.buffer) };
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
