// How fast programs run, on one thread, beside other engines with the same weights: outputs must be
// equal first, then runs alternate. A run is the whole call: numbers in from JavaScript, numbers out.
// Each engine gets them in the layout it works in, and has folded, fused and packed before.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { createEngine, tensor } from "sconce";
import { tell } from "../../examples/stories.mjs";
import { StepFailed, inRoot } from "../../tools/steps.mjs";
import { officialRun } from "./official.mjs";
import { alternate, median, minimum, relativeDifference, round } from "./measure.mjs";
import {
  STORY,
  STORY_OPTIONS,
  cache,
  cached,
  prepareModels,
  preparePeers,
  sample,
} from "./prepare.mjs";
import { tfjsBackend, tfjsProgram, toNhwc } from "./tfjs.mjs";

const EQUAL = 1e-4; // of the largest output

const sines = (shape) => {
  const count = shape.reduce((a, b) => a * b, 1);
  return tensor(
    Float32Array.from({ length: count }, (_, i) => Math.sin(i * 0.37)),
    shape,
  );
};
const words = (count, of) =>
  tensor(
    BigInt64Array.from({ length: count }, (_, i) => BigInt((i * 7919) % of)),
    [1, count],
  );

const PICTURE = sines([1, 3, 224, 224]);

// With a `graph`, tfjs runs the model; with `onnx`, onnxruntime.
const MODELS = {
  mobilenet_v2: {
    pt2: cached("mobilenet_v2.pt2"),
    onnx: cached("mobilenet_v2.onnx"),
    graph: cached("mobilenet_v2"),
    input: PICTURE,
  },
  "face-rfb320": {
    pt2: sample("face-rfb320.pt2"),
    onnx: inRoot("tests/bench/face-rfb320.onnx"),
    graph: cached("face-rfb320"),
    input: sines([1, 3, 240, 320]),
  },
  mobilenet_v2_int8: { pt2: cached("mobilenet_v2_int8.pt2"), input: PICTURE },
  minilm: {
    pt2: cached("minilm.pt2"),
    onnx: cached("minilm.onnx"),
    input: words(128, 30522),
  },
};

// Quantized programs round halves where XNNPACK does, not where the portable kernels do, and what
// falls to another quantum goes on through random weights: only a delegate compares with another.
const ROUNDS_OTHERWISE = new Set(["mobilenet_v2_int8"]);

// Each of these makes a function of no arguments that runs the model once and returns its outputs.

/** The model on the portable kernels, or lowered to XNNPACK. */
async function sconce(model, backend) {
  const engine = await createEngine();
  const edge = engine.toEdge({ path: model.pt2 });
  const delegated = backend ? edge.toBackend(backend) : edge;
  const lowered = delegated.toExecutorch();
  const pte = lowered.buffer;
  for (const owner of new Set([edge, delegated, lowered])) owner.dispose();
  engine.dispose();
  // Lowering has grown the memory of its engine, which never shrinks: another one loads.
  const loader = await createEngine();
  const begin = performance.now();
  const program = loader.load(pte);
  const run = () => program.run("forward", [model.input]).map((output) => output.data);
  run(); // a method is loaded, and its weights packed, when it is first run
  const first_result_ms = round(performance.now() - begin);
  const heap_mb = round(program.inspect().heapBytes / 1e6);
  return { run, pte, row: { first_result_ms, heap_mb, pte_mb: round(pte.length / 1e6) } };
}

async function ortWeb({ onnx, input }) {
  const path = cached("node_modules/onnxruntime-web/dist/ort.node.min.mjs");
  const ort = await import(pathToFileURL(path).href);
  ort.env.wasm.numThreads = 1;
  const options = { executionProviders: ["wasm"], logSeverityLevel: 3 };
  const session = await ort.InferenceSession.create(onnx, options);
  const [name] = session.inputNames;
  return async () => {
    const value = new ort.Tensor(input.dtype, input.data, input.shape);
    const outputs = await session.run({ [name]: value });
    return session.outputNames.map((output) => outputs[output].data);
  };
}

async function tfjsWasm({ graph, input }) {
  const program = tfjsProgram(await tfjsBackend(cache), graph);
  const picture = toNhwc(input.data, input.shape);
  return () => program.run(picture);
}

const PEERS = {
  ort_web: { needs: "onnx", make: ortWeb },
  tfjs_wasm: { needs: "graph", make: tfjsWasm },
};

function checkEqual(name, peer, expected, outputs) {
  const differences = expected.map((o, i) => relativeDifference(o, outputs[i]));
  if (!differences.every((difference) => difference < EQUAL))
    throw new StepFailed(`${name}: outputs of ${peer} are not ours: ${differences}`);
  return Number(Math.max(...differences).toPrecision(2));
}

/** The peers that can run the model, and what the others say; wrong outputs end everything. */
async function runnable(name, model, pte, expected) {
  const runs = {};
  const row = {};
  const peers = Object.entries(PEERS).filter(([, { needs }]) => needs in model);
  const makers = [
    ...peers.map(([peer, { make }]) => [peer, () => make(model)]),
    ["official_native", () => officialRun(pte, "forward", [model.input])],
  ];
  for (const [peer, make] of makers) {
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

async function inferOne(name, model) {
  const portable = await sconce(model);
  const delegated = await sconce(model, "xnnpack");
  const expected = delegated.run();
  if (!ROUNDS_OTHERWISE.has(name))
    checkEqual(name, "the portable kernels", expected, portable.run());
  const { runs, row } = await runnable(name, model, delegated.pte, expected);
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

/** Ratios are of the delegated program's time: above 1 means that it is faster. */
export async function infer() {
  prepareModels("mobilenet_v2.onnx", "mobilenet_v2.graph.json", "mobilenet_v2.pt2");
  prepareModels("mobilenet_v2_int8.pt2", "minilm.pt2", "minilm.onnx", "face-rfb320.graph.json");
  preparePeers();
  const rows = {};
  for (const [name, model] of Object.entries(MODELS)) rows[name] = await inferOne(name, model);
  const [int8, float] = [rows.mobilenet_v2_int8, rows.mobilenet_v2];
  int8.float32_ratio = round(float.delegated_ms / int8.delegated_ms);
  return rows;
}

/** What native llama2.c-style code reaches on this model on a machine of the kind we use. */
const NATIVE_TOKENS_PER_S = 2400;

/** Tells the golden story once, on the portable kernels or delegated. */
async function teller(golden, backend) {
  const engine = await createEngine();
  const { constantMethods, ...config } = STORY_OPTIONS;
  const edge = engine.toEdge(STORY, { constantMethods });
  const lowered = (backend ? edge.toBackend(backend) : edge).toExecutorch(config);
  const program = engine.load(lowered.buffer);
  const tellOnce = async () => {
    const tokens = [];
    for await (const token of tell(program, golden.length)) tokens.push(token);
    if (tokens.join() !== golden.join()) throw new StepFailed("the story is not the golden one");
  };
  return { engine, tellOnce, bytes: lowered.size };
}

export async function story() {
  const golden = JSON.parse(readFileSync(sample("stories260k.golden.json"), "utf8")).tokens;
  const tellers = { stories260k: await teller(golden), delegated: await teller(golden, "xnnpack") };
  const slices = await alternate(
    Object.values(tellers).map(({ tellOnce }) => tellOnce),
    12,
    2,
  );
  const perSecond = (ms) => round((golden.length - 1) / (ms / 1000));
  const rows = {};
  Object.entries(tellers).forEach(([name, { engine, bytes }], i) => {
    rows[name] = {
      tokens_per_s: perSecond(minimum(slices[i])),
      median_tokens_per_s: perSecond(median(slices[i])),
      golden_tokens: golden.length,
      pte_bytes: bytes,
      llama2c_native_reference: NATIVE_TOKENS_PER_S,
    };
    engine.dispose();
  });
  return rows;
}
