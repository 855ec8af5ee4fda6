// How long lowering takes and how much memory, and how both grow with the graph and the weights.
import { readFileSync, statSync } from "node:fs";
import { createEngine } from "sconce";
import { inRoot } from "../../tools/steps.mjs";
import { alternate, median, minimum, pace, round, some } from "./measure.mjs";
import { STORY, STORY_OPTIONS, cached, prepareModels, sample } from "./prepare.mjs";

const official = JSON.parse(readFileSync(inRoot("docs/official.json"), "utf8"));

/** The module's whole memory, which only ever grows: its size is the peak of all before. */
export function peakBytes(engine) {
  const lowered = engine.lower(readFileSync(inRoot("tests/models/linear.pt2")));
  const program = engine.load(lowered.buffer);
  const { heapBytes } = program.inspect();
  program.dispose();
  lowered.dispose();
  return heapBytes;
}

/** Warm lowering, whole process excluded, and the memory that it took at most. */
export async function lower({ quick }) {
  if (!quick) prepareModels("mobilenet_v2.pt2", "lstm_160.pt2", "vit_350mb.pt2");
  const all = {
    stories260k: [STORY, STORY_OPTIONS],
    "face-rfb320": [{ path: sample("face-rfb320.pt2") }, {}],
    mobilenet_v2: [{ path: cached("mobilenet_v2.pt2") }, {}],
  };
  // All to one backend are more: what programs cost there has no official figure for each.
  const delegatedOnly = {
    lstm_160: [{ path: cached("lstm_160.pt2") }, {}],
    vit_350mb: [{ path: cached("vit_350mb.pt2") }, {}],
  };
  const jobs = some(quick, all, "face-rfb320");
  const delegated = some(quick, { ...all, ...delegatedOnly }, "face-rfb320");
  const rows = {};
  for (const [name, [programs, options]] of Object.entries(jobs)) {
    const once = (engine) => engine.lower(programs, options);
    const known = { official_ms: official.seconds[name] * 1000 };
    rows[name] = await lowerRow(once, known, pace(quick, 30, 20));
  }
  for (const [name, [programs, options]] of Object.entries(delegated)) {
    const once = (engine) => engine.lower(programs, { ...options, partitioner: "xnnpack" });
    const rounds = name === "vit_350mb" ? [3, 1] : [30, 20];
    rows[`${name}, xnnpack`] = await lowerRow(once, {}, pace(quick, ...rounds));
  }
  return rows;
}

async function lowerRow(once, known, [rounds, warmup]) {
  const engine = await createEngine();
  const [times] = await alternate([() => once(engine).dispose()], rounds, warmup);
  const peak = peakBytes(engine);
  const lowered = once(engine);
  const row = {
    ms: round(minimum(times)),
    median_ms: round(median(times)),
    ...known,
    wasm_peak_mb: round(peak / 1e6),
    constants_mb: round(lowered.inspect().constantBytes / 1e6),
  };
  engine.dispose();
  return row;
}

function growthRow(engine, path, times) {
  const lowered = engine.lower({ path });
  let written = 0;
  lowered.writeSync((chunk) => (written += chunk.length));
  const peak = peakBytes(engine);
  const [{ plannedBytes, liveBytes }] = lowered.inspect().plans;
  return {
    ms: round(minimum(times)),
    pt2_mb: round(statSync(path).size / 1e6),
    pte_mb: round(written / 1e6),
    planned_bytes: plannedBytes,
    live_bytes: liveBytes,
    wasm_peak_mb: round(peak / 1e6),
  };
}

/** Eight times the steps of an LSTM; and weights of 500 MB against weights of some bytes. */
export async function grow({ quick }) {
  const all = {
    lstm_160: cached("lstm_160.pt2"),
    lstm_1280: cached("lstm_1280.pt2"),
    linear: inRoot("tests/models/linear.pt2"),
    linear_500mb: cached("linear_500mb.pt2"),
  };
  const paths = some(quick, all, "linear");
  if (!quick) prepareModels("lstm_160.pt2", "lstm_1280.pt2", "linear_500mb.pt2");
  const names = Object.keys(paths);
  const engines = await Promise.all(names.map(() => createEngine()));
  // Slices of about the same length, so that noise hits the short and the long alike.
  const repeats = names.map((name) => (name === "lstm_1280" ? 1 : 8));
  const tasks = names.map((name, i) => () => {
    for (let k = 0; k < repeats[i]; k++) engines[i].lower({ path: paths[name] }).dispose();
  });
  const slices = await alternate(tasks, ...pace(quick, 8, 2));
  const times = slices.map((all, i) => all.map((ms) => ms / repeats[i]));
  const rows = {};
  for (const [i, name] of names.entries()) {
    rows[name] = growthRow(engines[i], paths[name], times[i]);
    engines[i].dispose();
  }
  if (rows.lstm_1280) rows.lstm_1280.times_lstm_160 = round(rows.lstm_1280.ms / rows.lstm_160.ms);
  return rows;
}
