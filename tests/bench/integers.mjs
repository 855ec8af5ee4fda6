// The gain of 8 bits: programs in both kinds of numbers, and onnxruntime-web in both (int8.mjs).
import { readFileSync } from "node:fs";
import { createEngine, tensor } from "sconce";
import { inBrowser } from "./browser.mjs";
import { MODELS } from "./compare.mjs";
import { FILES, loadOrt, lowerBoth } from "./inference.mjs";
import { withThreads } from "./engines.mjs";
import { compareInt8 } from "./int8.mjs";
import { some } from "./measure.mjs";
import { FACE_INT8, cached, prepareModels, preparePeers, sample } from "./prepare.mjs";

const RECIPE = "xnnpack_pt2e_int8_static_per_channel";

/** The .pte of a program by the official recipe for 8 bits, calibrated on one input. */
async function quantized(path, { data, shape }) {
  const engine = await createEngine();
  const exampleInputs = [[tensor(data, shape)]];
  const session = await engine.export({ path }, { recipe: RECIPE, exampleInputs });
  const pte = session.getPteBuffer();
  session.dispose();
  engine.dispose();
  return pte;
}

const delegated = async ({ pt2 }) => (await lowerBoth({ path: pt2 })).delegated;

/** The photograph as the detector takes it, which ort_int8.py has calibrated on. */
function photo() {
  const { buffer } = new Uint8Array(readFileSync(cached("face-photo.f32")));
  return { ...MODELS["face-rfb320"].input, data: new Float32Array(buffer) };
}

const goldenFace = () =>
  JSON.parse(readFileSync(sample("face-photo.golden.json"), "utf8")).faces[0];

async function mobilenet() {
  const { mobilenet_v2: float, mobilenet_v2_int8: int8 } = FILES;
  return {
    files: {
      float: await delegated(float),
      int8: await delegated(int8),
      ort_float: float.onnx,
      ort_int8: int8.onnx,
    },
    input: MODELS.mobilenet_v2.input,
  };
}

async function faceDetector() {
  const { "face-rfb320": float } = FILES;
  const input = photo();
  return {
    files: {
      float: await delegated(float),
      int8: await quantized(float.pt2, input),
      ort_float: float.onnx,
      ort_int8: cached(FACE_INT8),
    },
    input,
    face: goldenFace(),
  };
}

function inPage({ files, input: { shape, data }, face }, quick, threads) {
  const argument = { names: Object.keys(files), shape, numbers: [...data], face, quick, threads };
  return inBrowser("int8", argument, files);
}

const CASES = { mobilenet_v2: mobilenet, "face-rfb320": faceDetector };

export async function int8({ browser, quick, threads }) {
  prepareModels(FACE_INT8);
  if (!quick) {
    prepareModels("mobilenet_v2.pt2", "mobilenet_v2.onnx");
    prepareModels("mobilenet_v2_int8.pt2", "mobilenet_v2_int8.onnx");
  }
  preparePeers();
  const ours = withThreads({ createEngine, tensor }, threads);
  const inNode = async ({ files, input, face }) =>
    compareInt8(ours, await loadOrt(threads), files, input, face, quick);
  const measure = browser ? inPage : inNode;
  const rows = {};
  for (const [name, make] of Object.entries(some(quick, CASES, "face-rfb320")))
    rows[name] = await measure(await make(), quick, threads);
  return rows;
}
