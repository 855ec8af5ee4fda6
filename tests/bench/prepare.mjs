// Needs of the measurements that the project does not hold: large models, made by the official
// tools, and other engines from npm. Kept in the cache folder; asked for by the parts that need it.
// SCONCE_BENCH_MODELS names another folder for models: tests give an empty one, so that making them
// is tested, too.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { StepFailed, inRoot } from "../../tools/steps.mjs";

export const cache = join(process.env.SCONCE_CACHE ?? join(homedir(), ".cache/sconce"), "bench");
export const models = process.env.SCONCE_BENCH_MODELS ?? cache;
export const cached = (name) => join(models, name);
export const peers = join(cache, "node_modules");
export const sample = (name) => inRoot("models", name);

export const STORY = {
  prefill: { path: sample("stories260k.prefill.pt2") },
  decode: { path: sample("stories260k.decode.pt2") },
};
export const STORY_OPTIONS = {
  shareMutableBuffers: true,
  constantMethods: { get_max_seq_len: 256 },
};

const ORT = "1.30.0";
const PEERS = [
  `onnxruntime-web@${ORT}`,
  "@tensorflow/tfjs-core@4.22.0",
  "@tensorflow/tfjs-backend-wasm@4.22.0",
];

// stdout is for figures.
const shown = { stdio: ["ignore", 2, 2] };

export const FACE_INT8 = "face-rfb320_int8.onnx";

let python;
export function officialPython() {
  python ??= spawnSync("bash", [inRoot("tools/official.sh")], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", 2],
  });
  if (python.status !== 0) throw new StepFailed("the official tools are out of reach");
  return python.stdout.trim();
}

/** Makes the models of which one of these files is missing in their folder. */
export function prepareModels(...files) {
  const missing = files.filter((name) => !existsSync(cached(name)));
  if (!missing.length) return;
  mkdirSync(models, { recursive: true });
  const official = officialPython();
  const onnx = ["onnx", "onnxscript"];
  if (spawnSync(official, ["-c", `import ${onnx}`]).status !== 0) {
    execFileSync(official, ["-m", "pip", "install", "-q", ...onnx], shown);
  }
  const names = missing.map((name) => name.split(".")[0]);
  const script = inRoot("tests/bench/make_models.py");
  const env = { ...process.env };
  if (missing.includes(FACE_INT8)) env.PYTHONPATH = ortPython(official);
  execFileSync(official, ["-W", "ignore", script, models, ...names], { ...shown, env });
}

/**
 * The folder of onnxruntime for Python, which quantizes for onnxruntime-web. The official
 * environment has all that it needs, and stays as it is.
 */
function ortPython(official) {
  const folder = join(cache, `python/onnxruntime-${ORT}`);
  if (existsSync(folder)) return folder;
  const made = `${folder}.new`;
  rmSync(made, { recursive: true, force: true });
  const install = ["-m", "pip", "install", "-q", "--no-deps", "--target", made];
  execFileSync(official, [...install, `onnxruntime==${ORT}`], shown);
  renameSync(made, folder);
  return folder;
}

/** Installs the other engines. */
export function preparePeers() {
  const names = PEERS.map((peer) => peer.replace(/@[^@]*$/, ""));
  if (names.every((name) => existsSync(join(peers, name)))) return;
  mkdirSync(cache, { recursive: true });
  writeFileSync(join(cache, "package.json"), '{"private": true}\n');
  const args = ["install", "--silent", "--ignore-scripts", ...PEERS];
  execFileSync("npm", args, { ...shown, cwd: cache });
}
