// What browser.mjs has measured in a page. Files are those that it serves.
import { createEngine, tensor } from "sconce";
import { tell } from "../../examples/stories.mjs";
import { MODELS, compare, compareStories, ortRun, tfjsRun } from "./compare.mjs";

async function fetched(name) {
  const response = await fetch(`/files/${name}`);
  if (!response.ok) throw new Error(`${name}: the server answered ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
}

const programs = async () => ({
  delegated: await fetched("delegated"),
  portable: await fetched("portable"),
});

async function ortWeb(input) {
  const ort = await import("/peers/onnxruntime-web/dist/ort.wasm.min.mjs");
  ort.env.wasm.wasmPaths = `${location.origin}/peers/onnxruntime-web/dist/`;
  return ortRun(ort, await fetched("onnx"), input);
}

async function tfjsWasm(input) {
  const { tf } = globalThis;
  tf.wasm.setWasmPaths("/peers/@tensorflow/tfjs-backend-wasm/dist/");
  const graph = JSON.parse(new TextDecoder().decode(await fetched("graph.json")));
  return tfjsRun(tf, tf.wasm, graph, (await fetched("graph.bin")).buffer, input);
}

const PEERS = { ort_web: ortWeb, tfjs_wasm: tfjsWasm };

export async function infer({ name }) {
  const { input, peers } = MODELS[name];
  const makers = Object.fromEntries(peers.map((peer) => [peer, () => PEERS[peer](input)]));
  return compare({ createEngine, tensor }, name, await programs(), makers);
}

export async function story({ golden }) {
  return compareStories({ createEngine }, tell, await programs(), golden);
}
