// The recorded programs of tests/models: inputs and the outputs that PyTorch gave, case after case
// with state carried over. Tensors lie in NAME.ref.bin; NAME.ref.json says where.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { tensor, toNumbers, type DType, type Tensor, type TensorData, type Value } from "sconce";

/** Programs of one method. */
export const SINGLE = [
  "add_mul",
  "linear",
  "mlp",
  "mlp_dyn",
  "cnn",
  "cnn_dyn",
  "cnn_dynbatch",
  "counter_buffer",
  "input_mutation",
  "kv_cache_index_copy_frozen",
  "tinyformer",
  "weight_layouts",
  "linear_bf16",
  "linear_fp16",
  "linear_fp64",
  "pytree_io",
  "channels_last_input",
  "lstm",
  "cond",
  "masks",
  "token_map",
  "number_inputs",
  "constant_cache",
  "running_stats",
  "quantized_cnn",
  "quantized_mlp",
  "quantized_layers",
  "encdec.encode",
  "encdec.decode",
  "encdec.forward",
] as const;

interface RecordedTensor {
  dtype: DType;
  shape: number[];
  strides: number[];
  offset: number;
  nbytes: number;
}
type Recorded = RecordedTensor | { py: number | boolean | string | null };

interface Reference {
  cases: { args: Recorded[]; kwargs: Record<string, Recorded[]>; outputs: Recorded[] }[];
}

/** A file under tests. */
export const testsPath = (name: string): string =>
  fileURLToPath(new URL(`../../../../tests/${name}`, import.meta.url));
export const modelPath = (name: string): string =>
  fileURLToPath(new URL(`../../../../tests/models/${name}`, import.meta.url));
export const samplePath = (name: string): string =>
  fileURLToPath(new URL(`../../../../models/${name}`, import.meta.url));

const ARRAYS: Partial<Record<DType, new (buffer: ArrayBuffer) => TensorData>> = {
  float32: Float32Array,
  float64: Float64Array,
  float16: Uint16Array,
  bfloat16: Uint16Array,
  int64: BigInt64Array,
  int32: Int32Array,
  int16: Int16Array,
  int8: Int8Array,
  uint8: Uint8Array,
  bool: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  uint64: BigUint64Array,
};

/** A tensor of zeros in as many bytes as are asked for, whether they fill the shape or not. */
export function zeros(dtype: DType, shape: readonly number[], bytes: number): Tensor {
  const data = new (ARRAYS[dtype] ?? Uint8Array)(new ArrayBuffer(bytes));
  return { dtype, shape, data } as Tensor;
}

function toValue(recorded: Recorded, bin: Buffer): Value {
  if ("py" in recorded) return recorded.py;
  const { dtype, shape, offset, nbytes } = recorded;
  const bytes = new Uint8Array(bin.subarray(offset, offset + nbytes)).slice().buffer;
  return tensor(new ARRAYS[dtype]!(bytes), shape, dtype);
}

export interface Case {
  inputs: Value[];
  outputs: Value[];
}

export function readCases(name: string): Case[] {
  const reference = JSON.parse(readFileSync(modelPath(`${name}.ref.json`), "utf8")) as Reference;
  const bin = readFileSync(modelPath(`${name}.ref.bin`));
  return reference.cases.map(({ args, kwargs, outputs }) => ({
    inputs: [...args, ...Object.values(kwargs).flat()].map((r) => toValue(r, bin)),
    outputs: outputs.map((r) => toValue(r, bin)),
  }));
}

const TOLERANCES = JSON.parse(readFileSync(modelPath("tolerance.json"), "utf8")) as Partial<
  Record<DType, number>
>;

/** The difference between a value and its reference, in words; "" when they are equal. */
export function difference(actual: Value | undefined, expected: Value): string {
  if (expected === null || typeof expected !== "object") {
    return Object.is(Number(actual), Number(expected))
      ? ""
      : `${String(actual)} instead of ${String(expected)}`;
  }
  const got = actual as Tensor | null | undefined;
  if (!got || typeof got !== "object") return `${String(actual)} instead of a tensor`;
  if (got.dtype !== expected.dtype || got.shape.join() !== expected.shape.join()) {
    return `${got.dtype} [${got.shape.join()}] instead of ${expected.dtype} [${expected.shape.join()}]`;
  }
  const tolerance = TOLERANCES[expected.dtype] ?? 0;
  const [a, e] = [got, expected].map((one) =>
    one.dtype.endsWith("int64") ? Array.from(one.data, Number) : toNumbers(one),
  ) as [number[], number[]];
  for (let i = 0; i < e.length; i++) {
    const same =
      Object.is(a[i], e[i]) || Math.abs(a[i]! - e[i]!) <= tolerance * Math.max(1, Math.abs(e[i]!));
    if (!same) return `element ${i} is ${a[i]} instead of ${e[i]}`;
  }
  return "";
}
