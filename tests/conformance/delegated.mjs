// Does what a JSON file lists, one job after the other, and prints as JSON what came of each: lowers
// programs to a backend and writes the files, and runs files, each method with its inputs in turn.
//   lower: {methods: {NAME: PATH}, backend, edge, config, pte} -> {delegation, ptds}
//   run:   {pte, ptds, calls: [{method, inputs}]} -> {outputs: one list per call}
// Either may be missing of a job; what fails gives {failed: what was said}. `edge` and `config` are
// options of toEdge and toExecutorch.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
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

/** The programs of the job in their file; what became of each node, and where weights went. */
function lower({ methods, backend, edge: options = {}, config = {}, pte }) {
  const paths = Object.entries(methods).map(([name, path]) => [name, { path }]);
  const edge = engine.toEdge(Object.fromEntries(paths), options);
  const delegated = backend ? edge.toBackend(backend) : edge;
  const lowered = delegated.toExecutorch(config);
  writeFileSync(pte, lowered.buffer);
  for (const { name } of lowered.dataFiles)
    writeFileSync(join(dirname(pte), name), lowered.dataFile(name));
  const told = { delegation: lowered.delegation(), ptds: lowered.dataFiles.map((f) => f.name) };
  for (const owner of new Set([edge, delegated, lowered])) owner.dispose();
  return told;
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

function attempt(work, job) {
  if (!job) return undefined;
  try {
    return work(job);
  } catch (error) {
    return { failed: `${error.message} ${error.hint ?? ""}` };
  }
}

const jobs = JSON.parse(readFileSync(process.argv[2], "utf8"));
const done = jobs.map((job) => ({
  lowered: attempt(lower, job.lower),
  outputs: attempt(run, job.run),
}));
process.stdout.write(JSON.stringify(done));
