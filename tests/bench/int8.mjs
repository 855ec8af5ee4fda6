// A model in floats and in 8 bits, ours delegated and onnxruntime-web's: all four in turns on one
// thread, in Node or in a page. Results of 8 bits are compared with those of floats first.
import { toFaces } from "../../examples/faces.mjs";
import { ortRun, sconceRun } from "./engines.mjs";
import { alternate, median, minimum, onCpu, pace, relativeDifference, round } from "./measure.mjs";

const EQUAL = 1e-4; // of the largest output
const FACE = { overlap: 0.9, score: 0.01 };

/** How much louder a signal is than what 8 bits add to it. */
function decibels(expected, found) {
  let [signal, noise] = [0, 0];
  for (let i = 0; i < expected.length; i++) {
    signal += expected[i] ** 2;
    noise += (expected[i] - found[i]) ** 2;
  }
  return 10 * Math.log10(signal / noise);
}

/** The largest difference of two runs' outputs, which has to be none. */
function checkEqual(what, expected, outputs) {
  const difference = Math.max(...expected.map((o, i) => relativeDifference(o, outputs[i])));
  if (!(difference < EQUAL)) throw new Error(`${what} differ by ${difference}`);
}

/** The area that two boxes share, over the area that they cover. */
function overlap(a, b) {
  const side = (low, high) => Math.max(0, high - low);
  const area = (r) => side(r[0], r[2]) * side(r[1], r[3]);
  const common = [0, 1].map((d) => side(Math.max(a[d], b[d]), Math.min(a[d + 2], b[d + 2])));
  const shared = common[0] * common[1];
  return shared / (area(a) + area(b) - shared);
}

/** That outputs have the face that PyTorch finds, in floats, and no other. */
function checkFace(what, golden, [scores, boxes]) {
  const faces = toFaces(scores, boxes);
  const isGolden = ({ score, box }) =>
    Math.abs(score - golden.score) < FACE.score && overlap(box, golden.box) > FACE.overlap;
  if (faces.length !== 1 || !faces.every(isGolden))
    throw new Error(`${what} finds other faces: ${JSON.stringify(faces)}`);
}

/**
 * A fault in outputs ends everything. With a `face` each engine quantized on its own, and
 * all have to find it; without one both have the same bytes and scales, and their outputs are equal.
 */
function check(outputs, face) {
  checkEqual("floats of onnxruntime-web and ours", outputs.float, outputs.ort_float);
  if (face) Object.entries(outputs).forEach(([name, given]) => checkFace(name, face, given));
  else checkEqual("8 bits of onnxruntime-web and ours", outputs.int8, outputs.ort_int8);
}

/** The times of runs in turns, with ratios to those of the first; in Node their CPU time, too. */
async function timesOf(runs, quick) {
  const names = Object.keys(runs);
  const isNode = typeof process !== "undefined";
  const clocked = Object.values(runs).map((run) => (isNode ? onCpu(run) : [run]));
  const tasks = clocked.map(([task]) => task);
  const times = await alternate(tasks, ...pace(quick, 40, 10));
  const row = {};
  const add = (kind, of, all) =>
    names.forEach((name, i) => {
      row[`${name}${kind}_ms`] = round(of(all[i]));
      if (i > 0) row[`${name}${kind}_ratio`] = round(of(all[i]) / of(all[0]));
    });
  add("", minimum, times);
  add("_median", median, times);
  const cpu = clocked.map(([, all]) => all);
  if (isNode) add("_cpu", median, cpu);
  return row;
}

/**
 * One row. `files` are the .pte `float` and `int8`, delegated, and the .onnx `ort_float` and
 * `ort_int8`. Ratios are of the time of our program in 8 bits: above 1 means that it is faster.
 */
export async function compareInt8(sconce, ort, files, input, face, quick) {
  const ours = [files.float, files.int8].map((pte) => sconceRun(sconce, pte, input));
  const [float, int8] = (await Promise.all(ours)).map(({ run }) => run);
  const runs = { int8, float };
  for (const name of ["ort_int8", "ort_float"]) runs[name] = await ortRun(ort, files[name], input);
  const outputs = {};
  for (const [name, run] of Object.entries(runs)) outputs[name] = await run();
  check(outputs, face);
  const row = await timesOf(runs, quick);
  const noise = (name) => outputs.float.map((o, i) => round(decibels(o, outputs[name][i])));
  return { ...row, int8_db: noise("int8").join(), ort_int8_db: noise("ort_int8").join() };
}
