// The figures of the project, measured again. A table a part, or one JSON document.
//   npm run bench -- [--json] [--quick] [--threads N] [PART...]
//   lower     lowering time and the memory it takes at most
//   grow      the same, with the steps of an LSTM and with the bytes of weights
//   quantize  calibrating, quantizing and lowering, in runs of the float program, and its memory
//   infer     MobileNetV2, the face detector, int8 MobileNetV2 and an encoder like MiniLM, portable
//             and delegated, against onnxruntime-web, tfjs-backend-wasm and the official runtime
//             natively, on the same weights. Outputs of all are within 1e-4 of the largest of the
//             delegated program's, in 8 bits too: onnxruntime has the same bytes, scales and zero
//             points (qdq.py). Only the portable kernels may be further off in 8 bits
//             (compare.mjs says why). There is no int8 in tfjs: its convolutions and matrix
//             products take float32 alone
//   int8      MobileNetV2 and the face detector in floats and in 8 bits, against onnxruntime-web in
//             both. MobileNetV2's bytes are the same on both sides; of the detector each has what its
//             own tool makes, calibrated on the photograph (ort_int8.py), and finds the face in it.
//             CPU times are medians, to go by on a busy machine; dB tell, an output each, the signal
//             over what 8 bits add to the floats
//   story     tokens a second, against the same three. Each tells the golden story, token by token
//             the same, each time. onnxruntime-web has the KV caches as inputs and outputs, tfjs as
//             tensors that stay in its memory
//   efficiency  the share of the machine's peak that convolutions and products of networks reach, those
//             below 60 % by name, and what takes the rest of the time
//   plans     planned bytes and .pte bytes against the official exporter's
//   sizes     what a visitor downloads
//   page      from navigation to the first result
//   startup   a page that a bundler has built, against onnxruntime-web: the bytes of scripts and modules
//             that it asks for, the time until the library is ready, and until the first result
//   server    servers under load: a pool, an engine on the main thread, one client and two
//   rounds    the memory of a process over 200 rounds, with dispose() and without
//   hostile   files cut short and files changed
//   soak      10,000 runs, or --seconds of them, in engines and clients with random numbers of threads,
//             cancelled and ended at random: nothing hangs, and results are the same bits
// Inference, 8 bits and the story take one thread, or --threads N, and so does onnxruntime-web; tfjs and
// the official runtime always take one.
// With --quick, parts start once: a round with the smallest model, held to the same outputs. Times of
// one round say little, and only --json shows them. Tests run it: --tested js names the parts that
// `npm test -- js` starts.
// With --browser, inference, 8 bits, the story and the soak run in Chromium instead of this Node, without
// the official runtime; without parts, these four alone. With --against DIR, the dist folder of another
// checkout, only lowering, inference and the story, with both builds in turns.
// Fuzzers run on their own: npm run fuzz -- --seconds 600.
import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { StepFailed, script } from "../../tools/steps.mjs";
import { against } from "./against.mjs";
import { efficiency } from "./efficiency.mjs";
import { infer, story } from "./inference.mjs";
import { int8 } from "./integers.mjs";
import { grow, lower } from "./lowering.mjs";
import { quantize } from "./quantizing.mjs";
import { round } from "./measure.mjs";
import { hostile, page, plans, sizes } from "./shipped.mjs";
import { rounds } from "./rounds.mjs";
import { server } from "./server.mjs";
import { soak } from "./soak.mjs";
import { startup } from "./startup.mjs";

// For each part the one of tools/test.mjs that starts it: official tools, other engines and packages
// from npm are left to the parts that set them up.
const PARTS = {
  lower: { measure: lower, tested: "js" },
  grow: { measure: grow, tested: "js" },
  quantize: { measure: quantize, tested: "js" },
  infer: { measure: infer, tested: "conformance" },
  int8: { measure: int8, tested: "conformance" },
  story: { measure: story, tested: "conformance" },
  efficiency: { measure: efficiency, tested: "conformance" },
  plans: { measure: plans, tested: "conformance" },
  sizes: { measure: sizes, tested: "js" },
  page: { measure: page, tested: "web" },
  startup: { measure: startup, tested: "bundlers" },
  server: { measure: server, tested: "js" },
  rounds: { measure: rounds, tested: "js" },
  hostile: { measure: hostile, tested: "js" },
  soak: { measure: soak, tested: "web" },
};

const IN_BROWSER = ["infer", "int8", "story", "soak"];

const load = () => Number(loadavg()[0].toFixed(2));

/** The parts to run: each by its title with the options that it takes. */
function chosen(values, positionals) {
  const { against: dist, browser, tested } = values;
  if (dist) return { against: [({ quick }) => against(dist, quick), values] };
  const all = browser ? IN_BROWSER : Object.keys(PARTS);
  const isTested = (name) => !tested || PARTS[name].tested === tested;
  const names = (positionals.length ? positionals : all).filter(isTested);
  const runs = Object.fromEntries(names.map((name) => [name, [PARTS[name].measure, values]]));
  // Tests start the other forms, too: pages, and a build next to itself.
  for (const name of tested ? names.filter((one) => IN_BROWSER.includes(one)) : [])
    runs[`${name} --browser`] = [PARTS[name].measure, { ...values, browser: true }];
  if (tested === "js") runs["--against dist"] = [({ quick }) => against("dist", quick), values];
  return runs;
}

function check({ browser, tested, threads }, names) {
  if (!(Number.isInteger(threads) && threads > 0))
    throw new StepFailed("--threads takes a whole number, 1 or more");
  const unknown = names.filter((name) => !(name in PARTS));
  if (unknown.length) {
    throw new StepFailed(
      `there is no part '${unknown}'; the parts are: ${Object.keys(PARTS).join(", ")}`,
    );
  }
  if (browser && !names.every((name) => IN_BROWSER.includes(name)))
    throw new StepFailed(`with --browser the parts are: ${IN_BROWSER.join(", ")}`);
  const places = new Set(Object.values(PARTS).map((part) => part.tested));
  if (tested && !places.has(tested))
    throw new StepFailed(`no part is tested by '${tested}', only by: ${[...places].join(", ")}`);
}

await script(async (args) => {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      json: { type: "boolean" },
      quick: { type: "boolean" },
      tested: { type: "string" },
      against: { type: "string" },
      browser: { type: "boolean" },
      seconds: { type: "string" },
      threads: { type: "string", default: "1" },
    },
  });
  values.threads = Number(values.threads);
  check(values, positionals);
  const [{ model }, ...others] = cpus();
  const results = { node: process.version, machine: `${1 + others.length} x ${model}`, load: {} };
  const runs = chosen(values, positionals);
  for (const [name, [measure, options]] of Object.entries(runs)) {
    results.load[name] = load();
    const begin = performance.now();
    results[name] = await part(() => measure(options));
    if (values.quick) console.error(`${name}: ${round((performance.now() - begin) / 1000)} s`);
    if (values.json || values.quick) continue;
    console.log(`\n${name} (load before: ${results.load[name]})`);
    const { tables = { [""]: results[name] } } = results[name];
    for (const [title, table] of Object.entries(tables)) {
      if (title) console.log(title);
      console.table(table);
    }
  }
  if (values.json) console.log(JSON.stringify(results, null, 2));
  if (values.quick) summarize(results, Object.keys(runs));
});

/** Failures with their reasons, and the closing line, which tools/test.mjs reads. */
function summarize(results, names) {
  const failed = names.filter((name) => results[name].failed);
  for (const name of failed) console.error(`bench ${name} failed: ${results[name].failed}`);
  console.error(`${names.length - failed.length} parts started, ${failed.length} failed`);
}

/** A part's rows; one that fails says why in its place, and the rest go on. */
async function part(measure) {
  try {
    return await measure();
  } catch (error) {
    process.exitCode = 1;
    if (!(error instanceof StepFailed)) console.error(error);
    return { failed: error.message };
  }
}
