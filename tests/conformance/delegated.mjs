// Runs what a JSON file lists, one file after the other, each method with its inputs in turn, and
// prints as JSON what came of each.
//   {pte, ptds, calls: [{method, inputs}]} -> {outputs: one list per call}, or {failed: what was said}
import { readFileSync } from "node:fs";
import { createEngine } from "../../dist/index.js";

const engine = await createEngine();
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

function toValue(value) {
  if (value === null || typeof value !== "object") return value;
  const { dtype, shape, data } = value;
  const bytes = new Uint8Array(Buffer.from(data, "base64"));
  return { dtype, shape, data: new (ARRAYS[dtype] ?? Uint8Array)(bytes.buffer) };
}

function fromValue(value) {
  if (value === null || typeof value !== "object") return value;
  const { dtype, shape, data } = value;
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return { dtype, shape, data: bytes.toString("base64") };
}

function run({ pte, ptds = [], calls }) {
  const program = engine.load(readFileSync(pte), { dataFiles: ptds.map((path) => ({ path })) });
  try {
    return calls.map(({ method, inputs }) =>
      program.run(method, inputs.map(toValue)).map(fromValue),
    );
  } finally {
    program.dispose();
  }
}

function attempt(job) {
  try {
    return { outputs: run(job) };
  } catch (error) {
    return { failed: `${error.message} ${error.hint ?? ""}` };
  }
}

const jobs = JSON.parse(readFileSync(process.argv[2], "utf8"));
process.stdout.write(JSON.stringify(jobs.map(attempt)));
