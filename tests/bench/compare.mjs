// One model on several engines, on one thread, in Node or in a page: outputs must be equal first,
// then runs alternate. A run is the whole call: numbers in from JavaScript, numbers out. Each engine
// gets them in the layout it works in, and has folded, fused and packed before.
import { alternate, median, minimum, relativeDifference, round } from "./measure.mjs";
import { tfjsProgram, toNhwc } from "./tfjs.mjs";

const EQUAL = 1e-4; // of the largest output

const sines = (shape) => {
  const count = shape.reduce((a, b) => a * b, 1);
  return {
    dtype: "float32",
    shape,
    data: Float32Array.from({ length: count }, (_, i) => Math.sin(i * 0.37)),
  };
};
const words = (count, of) => ({
  dtype: "int64",
  shape: [1, count],
  data: BigInt64Array.from({ length: count }, (_, i) => BigInt((i * 7919) % of)),
});

// Which other engines run the model. Quantized programs round halves where XNNPACK does, not where
// the portable kernels do, and what falls to another quantum goes on through random weights: only a
// delegate compares with another.
export const MODELS = {
  mobilenet_v2: { input: sines([1, 3, 224, 224]), peers: ["ort_web", "tfjs_wasm"] },
  "face-rfb320": { input: sines([1, 3, 240, 320]), peers: ["ort_web", "tfjs_wasm"] },
  mobilenet_v2_int8: { input: sines([1, 3, 224, 224]), peers: [], rounds_otherwise: true },
  minilm: { input: words(128, 30522), peers: ["ort_web"] },
};

// --- Engines -------------------------------------------------------------------------------------

// Each of these makes a function of no arguments that runs the model once and returns its outputs.

/** A .pte in an engine of its own, whose memory nothing else has grown. */
async function sconceRun({ createEngine, tensor }, pte, { data, shape }) {
  const engine = await createEngine();
  const input = tensor(data, shape);
  const begin = performance.now();
  const program = engine.load(pte);
  const run = () => program.run("forward", [input]).map((output) => output.data);
  run(); // a method is loaded, and its weights packed, when it is first run
  const first_result_ms = round(performance.now() - begin);
  const heap_mb = round(program.inspect().heapBytes / 1e6);
  return { run, row: { first_result_ms, heap_mb, pte_mb: round(pte.length / 1e6) } };
}

/** `ort` is onnxruntime-web; `onnx` a path or bytes. */
export async function ortRun(ort, onnx, { dtype, data, shape }) {
  ort.env.wasm.numThreads = 1;
  const options = { executionProviders: ["wasm"], logSeverityLevel: 3 };
  const session = await ort.InferenceSession.create(onnx, options);
  const [name] = session.inputNames;
  return async () => {
    const outputs = await session.run({ [name]: new ort.Tensor(dtype, data, shape) });
    return session.outputNames.map((output) => outputs[output].data);
  };
}

/** `tf` is tfjs, `wasm` its wasm backend: SIMD, one thread. `graph` and `weights` are what dump_graph.py wrote. */
export async function tfjsRun(tf, wasm, graph, weights, { data, shape }) {
  tf.env().set("WASM_HAS_MULTITHREAD_SUPPORT", false);
  wasm.setThreadsCount(1);
  if (!(await tf.setBackend("wasm"))) throw new Error("tfjs has no wasm backend here");
  if (!(await tf.env().getAsync("WASM_HAS_SIMD_SUPPORT"))) throw new Error("tfjs finds no SIMD");
  const program = tfjsProgram(tf, graph, weights);
  const picture = toNhwc(data, shape);
  return () => program.run(picture);
}

// --- In turns ------------------------------------------------------------------------------------

function checkEqual(name, peer, expected, outputs) {
  const differences = expected.map((o, i) => relativeDifference(o, outputs[i]));
  if (!differences.every((difference) => difference < EQUAL))
    throw new Error(`${name}: outputs of ${peer} are not ours: ${differences}`);
  return Number(Math.max(...differences).toPrecision(2));
}

/** The peers that can run the model, and what the others say; wrong outputs end everything. */
async function runnable(name, makers, expected) {
  const runs = {};
  const row = {};
  for (const [peer, make] of Object.entries(makers)) {
    let outputs;
    try {
      const run = await make();
      outputs = await run();
      runs[peer] = run;
    } catch (error) {
      row[`${peer}_cannot`] = error.message;
      continue;
    }
    row[`${peer}_difference`] = checkEqual(name, peer, expected, outputs);
  }
  return { runs, row };
}

/**
 * One row: `programs` are the .pte `delegated` and `portable`, `makers` what makes a run of each
 * peer. Ratios are of the delegated program's time: above 1 means that it is faster.
 */
export async function compare(sconce, name, programs, makers) {
  const { input, rounds_otherwise } = MODELS[name];
  const portable = await sconceRun(sconce, programs.portable, input);
  const delegated = await sconceRun(sconce, programs.delegated, input);
  const expected = delegated.run();
  if (!rounds_otherwise) checkEqual(name, "the portable kernels", expected, portable.run());
  const { runs, row } = await runnable(name, makers, expected);
  const tasks = [delegated.run, portable.run, ...Object.values(runs)];
  const [ours, kernels, ...theirs] = await alternate(tasks, 40, 10);
  const rows = { delegated_ms: round(minimum(ours)), sconce_ms: round(minimum(kernels)) };
  rows.sconce_ratio = round(minimum(kernels) / minimum(ours));
  Object.keys(runs).forEach((peer, i) => {
    rows[`${peer}_ms`] = round(minimum(theirs[i]));
    rows[`${peer}_ratio`] = round(minimum(theirs[i]) / minimum(ours));
    rows[`${peer}_median_ratio`] = round(median(theirs[i]) / median(ours));
  });
  for (const run of Object.values(runs)) await run.close?.();
  const stored = (of, { row: numbers }) =>
    Object.fromEntries(Object.entries(numbers).map(([key, value]) => [`${of}${key}`, value]));
  return { ...rows, ...stored("delegated_", delegated), ...stored("portable_", portable), ...row };
}

/** How many times as fast 8 bits are as floats. */
export function addRatios(rows) {
  const { mobilenet_v2_int8: int8, mobilenet_v2: float } = rows;
  int8.float32_ratio = round(float.delegated_ms / int8.delegated_ms);
  return rows;
}

// --- The story -----------------------------------------------------------------------------------

/** What native llama2.c-style code reaches on this model on a machine of the kind we use. */
const NATIVE_TOKENS_PER_S = 2400;

/** Tells the golden story on each program, `tell` is examples/stories.mjs's. */
export async function compareStories({ createEngine }, tell, programs, golden, peers = {}) {
  const tellers = {};
  for (const [name, pte] of Object.entries(programs)) {
    const program = (await createEngine()).load(pte);
    tellers[name] = async () => {
      const tokens = [];
      for await (const token of tell(program, golden.length)) tokens.push(token);
      if (tokens.join() !== golden.join()) throw new Error("the story is not the golden one");
    };
  }
  for (const [name, step] of Object.entries(peers))
    tellers[name] = async () => {
      for (let i = 1; i < golden.length; i++) await step();
    };
  const slices = await alternate(Object.values(tellers), 12, 2);
  const perSecond = (ms) => round((golden.length - 1) / (ms / 1000));
  const rows = {};
  Object.keys(tellers).forEach((name, i) => {
    rows[name] = {
      tokens_per_s: perSecond(minimum(slices[i])),
      median_tokens_per_s: perSecond(median(slices[i])),
      ...(programs[name] && { golden_tokens: golden.length, pte_bytes: programs[name].length }),
      llama2c_native_reference: NATIVE_TOKENS_PER_S,
    };
  });
  return rows;
}
