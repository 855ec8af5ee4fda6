// How fast programs run, on one thread, beside other engines with the same weights: outputs must be
// equal first, then runs alternate. A run is the whole call: numbers in from JavaScript, numbers out.
// Each engine gets them in the layout it works in, and has folded, fused and packed before.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { createEngine, tensor } from "sconce";
import { tell } from "../../examples/stories.mjs";
import { StepFailed, inRoot } from "../../tools/steps.mjs";
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

const MODELS = {
  mobilenet_v2: {
    pt2: cached("mobilenet_v2.pt2"),
    onnx: cached("mobilenet_v2.onnx"),
    graph: cached("mobilenet_v2"),
    shape: [1, 3, 224, 224],
  },
  "face-rfb320": {
    pt2: sample("face-rfb320.pt2"),
    onnx: inRoot("tests/bench/face-rfb320.onnx"),
    graph: cached("face-rfb320"),
    shape: [1, 3, 240, 320],
  },
};

// Each of these makes a function of no arguments that runs the model once and returns its outputs.

async function sconce(model, data) {
  const engine = await createEngine();
  const lowered = engine.lower({ path: model.pt2 });
  const program = engine.load(lowered.buffer);
  lowered.dispose();
  const input = tensor(data, model.shape);
  return () => program.run("forward", [input]).map((output) => output.data);
}

async function ortWeb(model, data) {
  const path = cached("node_modules/onnxruntime-web/dist/ort.node.min.mjs");
  const ort = await import(pathToFileURL(path).href);
  ort.env.wasm.numThreads = 1;
  const options = { executionProviders: ["wasm"], logSeverityLevel: 3 };
  const session = await ort.InferenceSession.create(model.onnx, options);
  const [name] = session.inputNames;
  return async () => {
    const outputs = await session.run({ [name]: new ort.Tensor("float32", data, model.shape) });
    return session.outputNames.map((output) => outputs[output].data);
  };
}

async function tfjsWasm(model, data) {
  const program = tfjsProgram(await tfjsBackend(cache), model.graph);
  const picture = toNhwc(data, model.shape);
  return () => program.run(picture);
}

const PEERS = { ort_web: ortWeb, tfjs_wasm: tfjsWasm };

/** The peers that can run the model, and what the others say; wrong outputs end everything. */
async function runnable(name, model, data, expected) {
  const runs = {};
  const row = {};
  for (const [peer, make] of Object.entries(PEERS)) {
    let outputs;
    try {
      const run = await make(model, data);
      outputs = await run();
      runs[peer] = run;
    } catch (error) {
      row[`${peer}_cannot`] = error.message;
      continue;
    }
    const differences = expected.map((o, i) => relativeDifference(o, outputs[i]));
    if (!differences.every((difference) => difference < EQUAL)) {
      throw new StepFailed(`${name}: outputs of ${peer} are not ours: ${differences}`);
    }
    row[`${peer}_difference`] = Number(Math.max(...differences).toPrecision(2));
  }
  return { runs, row };
}

export async function infer() {
  prepareModels("mobilenet_v2.onnx", "mobilenet_v2.graph.json", "mobilenet_v2.pt2");
  prepareModels("face-rfb320.graph.json");
  preparePeers();
  const rows = {};
  for (const [name, model] of Object.entries(MODELS)) {
    const count = model.shape.reduce((a, b) => a * b, 1);
    const data = Float32Array.from({ length: count }, (_, i) => Math.sin(i * 0.37));
    const run = await sconce(model, data);
    const { runs, row } = await runnable(name, model, data, run());
    const [ours, ...theirs] = await alternate([run, ...Object.values(runs)], 40, 10);
    rows[name] = { sconce_ms: round(minimum(ours)) };
    Object.keys(runs).forEach((peer, i) => {
      rows[name][`${peer}_ms`] = round(minimum(theirs[i]));
      rows[name][`${peer}_ratio`] = round(minimum(theirs[i]) / minimum(ours));
      rows[name][`${peer}_median_ratio`] = round(median(theirs[i]) / median(ours));
    });
    Object.assign(rows[name], row);
  }
  return rows;
}

/** What native llama2.c-style code reaches on this model on a machine of the kind we use. */
const NATIVE_TOKENS_PER_S = 2400;

export async function story() {
  const engine = await createEngine();
  const lowered = engine.lower(STORY, STORY_OPTIONS);
  const program = engine.load(lowered.buffer);
  const golden = JSON.parse(readFileSync(sample("stories260k.golden.json"), "utf8")).tokens;
  const tellOnce = async () => {
    const tokens = [];
    for await (const token of tell(program, golden.length)) tokens.push(token);
    if (tokens.join() !== golden.join()) throw new StepFailed("the story is not the golden one");
  };
  const [times] = await alternate([tellOnce], 12, 2);
  const perSecond = (ms) => round((golden.length - 1) / (ms / 1000));
  const row = {
    tokens_per_s: perSecond(minimum(times)),
    median_tokens_per_s: perSecond(median(times)),
    golden_tokens: golden.length,
    pte_bytes: lowered.size,
    llama2c_native_reference: NATIVE_TOKENS_PER_S,
  };
  engine.dispose();
  return { stories260k: row };
}
