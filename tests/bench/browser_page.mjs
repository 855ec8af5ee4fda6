// The part of browser.mjs that runs in a page. It reads the files that browser.mjs serves.
import { createClient, createEngine, tensor } from "sconce";
import { tell } from "../../examples/stories.mjs";
import { MODELS, compare, compareStories } from "./compare.mjs";
import { compareInt8 } from "./int8.mjs";
import { ortRun, ortStory, teller, tfjsRun, tfjsStory, withThreads } from "./engines.mjs";
import { soak as work } from "./soak_work.mjs";

async function fetched(name) {
  const response = await fetch(`/files/${name}`);
  if (!response.ok) throw new Error(`${name}: the server answered ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
}

const programs = async () => ({
  delegated: await fetched("delegated"),
  portable: await fetched("portable"),
});

async function loadOrt(threads) {
  const ort = await import("/peers/onnxruntime-web/dist/ort.wasm.min.mjs");
  ort.env.wasm.numThreads = threads;
  ort.env.wasm.wasmPaths = `${location.origin}/peers/onnxruntime-web/dist/`;
  return ort;
}

const ortParts = async (threads) => [await loadOrt(threads), await fetched("onnx")];

async function tfjsParts() {
  const { tf } = globalThis;
  tf.wasm.setWasmPaths("/peers/@tensorflow/tfjs-backend-wasm/dist/");
  const graph = JSON.parse(new TextDecoder().decode(await fetched("calls.json")));
  return [tf, tf.wasm, graph, (await fetched("calls.bin")).buffer];
}

const PEERS = {
  ort_web: async (input, threads) => ortRun(...(await ortParts(threads)), input),
  tfjs_wasm: async (input) => tfjsRun(...(await tfjsParts()), input),
};

const ours = (threads) => withThreads({ createClient, createEngine, tensor }, threads);

export async function infer({ name, quick, threads }) {
  const { input, peers } = MODELS[name];
  const makers = Object.fromEntries(peers.map((peer) => [peer, () => PEERS[peer](input, threads)]));
  return compare(ours(threads), name, await programs(), makers, quick);
}

/** `numbers` are the input's. */
export async function int8({ names, shape, numbers, face, quick, threads }) {
  const files = {};
  for (const name of names) files[name] = await fetched(name);
  const input = { dtype: "float32", shape, data: Float32Array.from(numbers) };
  return compareInt8(ours(threads), await loadOrt(threads), files, input, face, quick);
}

export async function story({ golden, quick, threads }) {
  const count = golden.length;
  const makers = {
    ort_web: async () => teller(tell, await ortStory(...(await ortParts(threads))), count),
    tfjs_wasm: async () => teller(tell, await tfjsStory(...(await tfjsParts())), count),
  };
  return compareStories(ours(threads), tell, await programs(), golden, makers, quick);
}

export async function soak(limits) {
  const { delegated, portable } = await programs();
  const input = tensor(new Float32Array(3 * 240 * 320).fill(0.25), [1, 3, 240, 320]);
  const given = { ptes: [delegated, portable], pt2: await fetched("pt2"), input };
  return work({ createClient, tensor }, given, limits);
}
