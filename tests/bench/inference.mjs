// How fast programs run, on one thread, beside other engines with the same weights (compare.mjs):
// in this Node, with the official runtime beside them natively, or in Chromium (browser.mjs).
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { createEngine, tensor } from "sconce";
import { tell } from "../../examples/stories.mjs";
import { inRoot } from "../../tools/steps.mjs";
import { inBrowser } from "./browser.mjs";
import { MODELS, addRatios, compare, compareStories, ortRun, tfjsRun } from "./compare.mjs";
import { officialRun } from "./official.mjs";
import {
  STORY,
  STORY_OPTIONS,
  cache,
  cached,
  prepareModels,
  preparePeers,
  sample,
} from "./prepare.mjs";

const FILES = {
  mobilenet_v2: {
    pt2: cached("mobilenet_v2.pt2"),
    onnx: cached("mobilenet_v2.onnx"),
    graph: cached("mobilenet_v2"),
  },
  "face-rfb320": {
    pt2: sample("face-rfb320.pt2"),
    onnx: inRoot("tests/bench/face-rfb320.onnx"),
    graph: cached("face-rfb320"),
  },
  mobilenet_v2_int8: { pt2: cached("mobilenet_v2_int8.pt2") },
  minilm: { pt2: cached("minilm.pt2"), onnx: cached("minilm.onnx") },
};

/** The .pte of a program, for the portable kernels and delegated to XNNPACK. */
async function lowerBoth(programs, options = {}) {
  const engine = await createEngine();
  const pte = (more) => {
    const lowered = engine.lower(programs, { ...options, ...more });
    const { buffer } = lowered;
    lowered.dispose();
    return buffer;
  };
  const both = { delegated: pte({ partitioner: "xnnpack" }), portable: pte({}) };
  engine.dispose();
  return both;
}

// --- In Node -------------------------------------------------------------------------------------

async function ortWeb({ onnx }, input) {
  const path = cached("node_modules/onnxruntime-web/dist/ort.node.min.mjs");
  return ortRun(await import(pathToFileURL(path).href), onnx, input);
}

async function tfjsWasm({ graph }, input) {
  const load = createRequire(`${cache}/package.json`);
  const tf = load("@tensorflow/tfjs-core");
  const wasm = load("@tensorflow/tfjs-backend-wasm");
  const steps = JSON.parse(readFileSync(`${graph}.graph.json`, "utf8"));
  const weights = new Uint8Array(readFileSync(`${graph}.graph.bin`)).buffer;
  return tfjsRun(tf, wasm, steps, weights, input);
}

const PEERS = { ort_web: ortWeb, tfjs_wasm: tfjsWasm };

async function inferHere(name, programs) {
  const { input, peers } = MODELS[name];
  const makers = Object.fromEntries(
    peers.map((peer) => [peer, () => PEERS[peer](FILES[name], input)]),
  );
  makers.official_native = () => officialRun(programs.delegated, "forward", [input]);
  return compare({ createEngine, tensor }, name, programs, makers);
}

// --- Parts ---------------------------------------------------------------------------------------

/** With `browser` in Chromium, without the official runtime. */
export async function infer({ browser }) {
  prepareModels("mobilenet_v2.onnx", "mobilenet_v2.graph.json", "mobilenet_v2.pt2");
  prepareModels("mobilenet_v2_int8.pt2", "minilm.pt2", "minilm.onnx", "face-rfb320.graph.json");
  preparePeers();
  const rows = {};
  for (const name of Object.keys(MODELS)) {
    const programs = await lowerBoth({ path: FILES[name].pt2 });
    rows[name] = browser
      ? await inBrowser("infer", { name }, { ...programs, ...FILES[name] })
      : await inferHere(name, programs);
  }
  return addRatios(rows);
}

export async function story({ browser }) {
  const golden = JSON.parse(readFileSync(sample("stories260k.golden.json"), "utf8")).tokens;
  const programs = await lowerBoth(STORY, STORY_OPTIONS);
  if (browser) return inBrowser("story", { golden }, programs);
  // One step over and over: that the official runtime tells the golden story, conformance shows.
  const step = await officialRun(programs.delegated, "decode", [
    { dtype: "int64", shape: [1, 1], data: [golden[1]] },
    { dtype: "int64", shape: [1], data: [golden.length] },
  ]);
  try {
    return await compareStories({ createEngine }, tell, programs, golden, {
      official_native: step,
    });
  } finally {
    step.close();
  }
}
