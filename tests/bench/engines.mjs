// Models on each engine, in Node or in a page: what runs a model once and returns its outputs, a
// function of no arguments, or a program that examples/stories.mjs's `tell` takes.
import { round } from "./measure.mjs";
import { forTfjs, tfjsProgram } from "./tfjs.mjs";

/**
 * The library with engines of so many threads. A page's own thread may not wait for others, so several
 * threads need a client there.
 */
export function withThreads({ createEngine, createClient, tensor }, threads) {
  const create = threads > 1 && typeof document !== "undefined" ? createClient : createEngine;
  return { createEngine: (options) => create({ threads, ...options }), tensor };
}

/** A .pte in an engine of its own, whose memory nothing else has grown. */
export async function sconceRun({ createEngine, tensor }, pte, { data, shape }) {
  const engine = await createEngine();
  const input = tensor(data, shape);
  const begin = performance.now();
  const program = await engine.load(pte);
  // Without a promise where there is none, which would be timed, too.
  const dataOf = (outputs) => outputs.map((output) => output.data);
  const run = () => {
    const outputs = program.run("forward", [input]);
    return outputs.then ? outputs.then(dataOf) : dataOf(outputs);
  };
  await run(); // a method is loaded, and its weights packed, when it is first run
  const first_result_ms = round(performance.now() - begin);
  const heap_mb = round((await program.inspect()).heapBytes / 1e6);
  return { run, row: { first_result_ms, heap_mb, pte_mb: round(pte.length / 1e6) } };
}

/** `ort` is onnxruntime-web with its number of threads; `onnx` a path or bytes. */
function ortSession(ort, onnx) {
  return ort.InferenceSession.create(onnx, { executionProviders: ["wasm"], logSeverityLevel: 3 });
}

const ortTensor = (ort, { dtype, data, shape }) => new ort.Tensor(dtype, data, shape);

export async function ortRun(ort, onnx, input) {
  const session = await ortSession(ort, onnx);
  const [name] = session.inputNames;
  return async () => {
    const outputs = await session.run({ [name]: ortTensor(ort, input) });
    return session.outputNames.map((output) => outputs[output].data);
  };
}

/** `tf` is tfjs, `wasm` its wasm backend: SIMD, one thread. `graph` and `weights` are what dump_graph.py wrote. */
async function tfjsLoad(tf, wasm, graph, weights) {
  tf.env().set("WASM_HAS_MULTITHREAD_SUPPORT", false);
  wasm.setThreadsCount(1);
  if (!(await tf.setBackend("wasm"))) throw new Error("tfjs has no wasm backend here");
  if (!(await tf.env().getAsync("WASM_HAS_SIMD_SUPPORT"))) throw new Error("tfjs finds no SIMD");
  return tfjsProgram(tf, graph, weights);
}

export async function tfjsRun(tf, wasm, graph, weights, input) {
  const program = await tfjsLoad(tf, wasm, graph, weights);
  const inputs = [forTfjs(input)];
  return () => program.run(inputs);
}

// --- The story -----------------------------------------------------------------------------------

// States are what each engine can keep: in onnxruntime-web outputs that become inputs, which it copies
// out and in (on the CPU it has no other way; giving back only the rows that are new is slower), in
// tfjs tensors in its memory.

/** `onnx` has, after tokens and their places, its states: as many outputs after the logits. */
export async function ortStory(ort, onnx) {
  const session = await ortSession(ort, onnx);
  const [tokens, places, ...kept] = session.inputNames;
  const [logits, ...next] = session.outputNames;
  let states;
  return {
    reset() {
      const empty = ({ type, shape }) => {
        const size = shape.reduce((a, b) => a * b, 1);
        return new ort.Tensor(type, new Float32Array(size), shape);
      };
      const {
        inputMetadata: [, , ...about],
      } = session;
      states = Object.fromEntries(kept.map((name, i) => [name, empty(about[i])]));
    },
    async run(method, inputs) {
      const [token, place] = inputs.map((input) => ortTensor(ort, input));
      const outputs = await session.run({ [tokens]: token, [places]: place, ...states });
      kept.forEach((name, i) => (states[name] = outputs[next[i]]));
      return [outputs[logits]];
    },
  };
}

export async function tfjsStory(tf, wasm, graph, weights) {
  const { reset, run } = await tfjsLoad(tf, wasm, graph, weights);
  return {
    reset,
    run: (method, inputs) => run(inputs.map(forTfjs)).map((data) => ({ data })),
  };
}

/** A function that tells a story of `count` tokens on what `tell` takes, and returns them. */
export const teller = (tell, program, count) => async () => {
  const tokens = [];
  for await (const token of tell(program, count)) tokens.push(token);
  return tokens;
};
