// One model on several engines, on one thread, in Node or in a page: outputs must be equal first,
// then runs alternate. A run is the whole call: numbers in from JavaScript, numbers out. Each engine
// gets them in the layout it works in, and has folded, fused and packed before.
import { sconceRun, teller } from "./engines.mjs";
import { alternate, median, minimum, pace, relativeDifference, round } from "./measure.mjs";

const EQUAL = 1e-4; // of the largest output

export const sines = (shape) => {
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

// Which other engines run the model, and why one does not. The portable kernels run a quantized
// program as PyTorch does, from bytes to floats and back, where the delegate and other engines stay
// with integers: a quantum of difference here and there, which the random weights after it multiply.
// `portable_equal` bounds what that comes to; numbers that have nothing to do with each other differ
// by more than the largest.
export const MODELS = {
  mobilenet_v2: { input: sines([1, 3, 224, 224]), peers: ["ort_web", "tfjs_wasm"] },
  "face-rfb320": { input: sines([1, 3, 240, 320]), peers: ["ort_web", "tfjs_wasm"] },
  mobilenet_v2_int8: {
    input: sines([1, 3, 224, 224]),
    peers: ["ort_web"],
    cannot: { tfjs_wasm_cannot: "tfjs neither convolves nor multiplies bytes" },
    portable_equal: 0.3,
  },
  minilm: { input: words(128, 30522), peers: ["ort_web", "tfjs_wasm"] },
};

// --- In turns ------------------------------------------------------------------------------------

function checkEqual(name, peer, expected, outputs, equal = EQUAL) {
  const differences = expected.map((o, i) => relativeDifference(o, outputs[i]));
  if (!differences.every((difference) => difference < equal))
    throw new Error(`${name}: outputs of ${peer} are not ours: ${differences}`);
  return Number(Math.max(...differences).toPrecision(2));
}

/**
 * The peers that can run, what `judge` says of their outputs, and what the others say. In a quick
 * run all of them have to run.
 */
async function runnable(makers, judge, quick) {
  const [runs, judged, cannot] = [{}, {}, {}];
  for (const [peer, make] of Object.entries(makers)) {
    let outputs;
    try {
      const run = await make();
      outputs = await run();
      runs[peer] = run;
    } catch (error) {
      if (quick) throw error;
      cannot[peer] = error.message;
      continue;
    }
    judged[peer] = judge(peer, outputs); // wrong outputs end everything
  }
  return { runs, judged, cannot };
}

const named = (object, name) =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [name(key), value]));

/**
 * One row: `programs` are the .pte `delegated` and `portable`, `makers` what makes a run of each
 * peer. Ratios are of the delegated program's time: above 1 means that it is faster.
 */
export async function compare(sconce, name, programs, makers, quick) {
  const { input, cannot, portable_equal } = MODELS[name];
  const portable = await sconceRun(sconce, programs.portable, input);
  const delegated = await sconceRun(sconce, programs.delegated, input);
  const expected = await delegated.run();
  const portable_difference = checkEqual(
    name,
    "portable",
    expected,
    await portable.run(),
    portable_equal,
  );
  const judge = (peer, outputs) => checkEqual(name, peer, expected, outputs);
  const peers = await runnable(makers, judge, quick);
  const tasks = [delegated.run, portable.run, ...Object.values(peers.runs)];
  const [ours, kernels, ...theirs] = await alternate(tasks, ...pace(quick, 40, 10));
  const rows = { delegated_ms: round(minimum(ours)), sconce_ms: round(minimum(kernels)) };
  rows.sconce_ratio = round(minimum(kernels) / minimum(ours));
  Object.keys(peers.runs).forEach((peer, i) => {
    rows[`${peer}_ms`] = round(minimum(theirs[i]));
    rows[`${peer}_ratio`] = round(minimum(theirs[i]) / minimum(ours));
    rows[`${peer}_median_ratio`] = round(median(theirs[i]) / median(ours));
  });
  for (const run of Object.values(peers.runs)) await run.close?.();
  return {
    ...rows,
    ...named(delegated.row, (key) => `delegated_${key}`),
    ...named(portable.row, (key) => `portable_${key}`),
    portable_difference,
    ...named(peers.judged, (peer) => `${peer}_difference`),
    ...named(peers.cannot, (peer) => `${peer}_cannot`),
    ...cannot,
  };
}

/** How many times as fast 8 bits are as floats. */
export function addRatios(rows) {
  const { mobilenet_v2_int8: int8, mobilenet_v2: float } = rows;
  if (int8) int8.float32_ratio = round(float.delegated_ms / int8.delegated_ms);
  return rows;
}

// --- The story -----------------------------------------------------------------------------------

/**
 * The speed that native llama2.c-style code reaches on this model on a machine of the kind we use.
 */
const NATIVE_TOKENS_PER_S = 2400;

/**
 * A row for each program and each of `makers`, which make what tells a story and returns its tokens:
 * each time the golden one. Ratios are of the delegated program's time.
 */
export async function compareStories({ createEngine }, tell, programs, golden, makers, quick) {
  const check = (name, tokens) => {
    if (tokens.join() !== golden.join())
      throw new Error(`the story of ${name} is not the golden one: ${tokens}`);
  };
  const ours = {};
  for (const [name, pte] of Object.entries(programs)) {
    ours[name] = teller(tell, await (await createEngine()).load(pte), golden.length);
    check(name, await ours[name]());
  }
  const peers = await runnable(makers, check, quick);
  const runs = { ...ours, ...peers.runs };
  const tasks = Object.entries(runs).map(
    ([name, run]) =>
      async () =>
        check(name, await run()),
  );
  const times = await alternate(tasks, ...pace(quick, 12, 2));
  for (const run of Object.values(runs)) await run.close?.();
  const perSecond = (ms) => round((golden.length - 1) / (ms / 1000));
  const rows = {};
  Object.keys(runs).forEach((name, i) => {
    rows[name] = {
      tokens_per_s: perSecond(minimum(times[i])),
      median_tokens_per_s: perSecond(median(times[i])),
      ratio: round(minimum(times[i]) / minimum(times[0])),
      golden_tokens: golden.length,
      ...(programs[name] && { pte_bytes: programs[name].length }),
      llama2c_native_reference: NATIVE_TOKENS_PER_S,
    };
  });
  return { ...rows, ...named(peers.cannot, (name) => `${name}_cannot`) };
}
