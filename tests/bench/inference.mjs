// How fast programs run, on one thread, next to other engines with the same weights (compare.mjs):
// in this Node, with the official runtime, which is native, or in Chromium (browser.mjs).
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createEngine, tensor } from "sconce";
import { tell } from "../../examples/stories.mjs";
import { inRoot } from "../../tools/steps.mjs";
import { inBrowser } from "./browser.mjs";
import { MODELS, addRatios, compare, compareStories } from "./compare.mjs";
import { ortRun, ortStory, teller, tfjsRun, tfjsStory, withThreads } from "./engines.mjs";
import { some } from "./measure.mjs";
import { officialRun, officialTell } from "./official.mjs";
import {
  STORY,
  STORY_OPTIONS,
  cached,
  peers,
  prepareModels,
  preparePeers,
  sample,
} from "./prepare.mjs";

export const FILES = {
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
  mobilenet_v2_int8: {
    pt2: cached("mobilenet_v2_int8.pt2"),
    onnx: cached("mobilenet_v2_int8.onnx"),
  },
  minilm: {
    pt2: cached("minilm.pt2"),
    onnx: cached("minilm.onnx"),
    graph: cached("minilm"),
  },
};
const STORY_FILES = { onnx: cached("stories260k.onnx"), graph: cached("stories260k") };

/** The .pte of a program, for the portable kernels and delegated to XNNPACK. */
export async function lowerBoth(programs, options = {}) {
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

export async function loadOrt(threads) {
  const path = join(peers, "onnxruntime-web/dist/ort.node.min.mjs");
  const ort = await import(pathToFileURL(path).href);
  ort.env.wasm.numThreads = threads;
  return ort;
}

/** The first choice of tfjs's makers. */
function tfjsParts({ graph }) {
  const load = createRequire(`${peers}/`);
  return [
    load("@tensorflow/tfjs-core"),
    load("@tensorflow/tfjs-backend-wasm"),
    JSON.parse(readFileSync(`${graph}.calls.json`, "utf8")),
    new Uint8Array(readFileSync(`${graph}.calls.bin`)).buffer,
  ];
}

const PEERS = {
  ort_web: async (files, input, threads) => ortRun(await loadOrt(threads), files.onnx, input),
  tfjs_wasm: (files, input) => tfjsRun(...tfjsParts(files), input),
};

async function inferHere(name, programs, quick, threads) {
  const { input, peers: others } = MODELS[name];
  const makers = Object.fromEntries(
    others.map((peer) => [peer, () => PEERS[peer](FILES[name], input, threads)]),
  );
  makers.official_native = () => officialRun(programs.delegated, "forward", [input]);
  const ours = withThreads({ createEngine, tensor }, threads);
  return compare(ours, name, programs, makers, quick);
}

// --- Parts ---------------------------------------------------------------------------------------

/** With `browser` in Chromium, without the official runtime. */
export async function infer({ browser, quick, threads }) {
  prepareModels("face-rfb320.calls.json");
  if (!quick) {
    prepareModels("mobilenet_v2.onnx", "mobilenet_v2.calls.json", "mobilenet_v2.pt2");
    prepareModels("mobilenet_v2_int8.pt2", "mobilenet_v2_int8.onnx");
    prepareModels("minilm.pt2", "minilm.onnx", "minilm.calls.json");
  }
  preparePeers();
  const rows = {};
  for (const name of Object.keys(some(quick, MODELS, "face-rfb320"))) {
    const programs = await lowerBoth({ path: FILES[name].pt2 });
    rows[name] = browser
      ? await inBrowser("infer", { name, quick, threads }, { ...programs, ...FILES[name] })
      : await inferHere(name, programs, quick, threads);
  }
  return addRatios(rows);
}

export async function story({ browser, quick, threads }) {
  prepareModels("stories260k.onnx", "stories260k.calls.json");
  preparePeers();
  const golden = JSON.parse(readFileSync(sample("stories260k.golden.json"), "utf8")).tokens;
  const programs = await lowerBoth(STORY, STORY_OPTIONS);
  if (browser)
    return inBrowser("story", { golden, quick, threads }, { ...programs, ...STORY_FILES });
  const count = golden.length;
  const makers = {
    ort_web: async () =>
      teller(tell, await ortStory(await loadOrt(threads), STORY_FILES.onnx), count),
    tfjs_wasm: async () => teller(tell, await tfjsStory(...tfjsParts(STORY_FILES)), count),
    official_native: () => officialTell(programs.delegated, "decode", count),
  };
  return compareStories(
    withThreads({ createEngine }, threads),
    tell,
    programs,
    golden,
    makers,
    quick,
  );
}
