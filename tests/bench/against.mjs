// This build and another one of the project, run in turns in one process: a ratio below 1 is slower
// than the other. The same measurements as `lower`, `infer` and `story`, without other engines.
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { tell } from "../../examples/stories.mjs";
import { StepFailed, inRoot } from "../../tools/steps.mjs";
import { alternate, median, minimum, pace, relativeDifference, round, some } from "./measure.mjs";
import { STORY, STORY_OPTIONS, cached, prepareModels, sample } from "./prepare.mjs";

const ROUNDS = 40;
const EQUAL = 1e-4; // of the largest output

const lowerings = {
  stories260k: [STORY, STORY_OPTIONS],
  "face-rfb320": [{ path: sample("face-rfb320.pt2") }, {}],
  mobilenet_v2: [{ path: cached("mobilenet_v2.pt2") }, {}],
  lstm_160: [{ path: cached("lstm_160.pt2") }, {}],
};
const inferences = {
  mobilenet_v2: [cached("mobilenet_v2.pt2"), [1, 3, 224, 224]],
  "face-rfb320": [sample("face-rfb320.pt2"), [1, 3, 240, 320]],
};

/** An engine with one thread, which is all that older builds have. */
const alone = (createEngine) => createEngine({ threads: 1 }).catch(() => createEngine());

/** The measurements of one build: a row is a function without arguments, and its answer. */
async function rowsOf({ createEngine, tensor }, quick) {
  const rows = {};
  for (const [name, [programs, options]] of Object.entries(some(quick, lowerings, "face-rfb320"))) {
    const engine = await alone(createEngine);
    rows[`lower ${name}`] = () => engine.lower(programs, options).dispose();
  }
  for (const [name, [path, shape]] of Object.entries(some(quick, inferences, "face-rfb320"))) {
    const program = await loaded(createEngine, { path });
    const count = shape.reduce((a, b) => a * b, 1);
    const data = Float32Array.from({ length: count }, (_, i) => Math.sin(i * 0.37));
    rows[`run ${name}`] = () => program.run("forward", [tensor(data, shape)]).map((o) => o.data);
  }
  const story = await loaded(createEngine, STORY, STORY_OPTIONS);
  rows["run stories260k"] = async () => {
    const tokens = [];
    for await (const token of tell(story, 200)) tokens.push(token);
    return [tokens];
  };
  return rows;
}

async function loaded(createEngine, programs, options) {
  const engine = await alone(createEngine);
  const lowered = engine.lower(programs, options);
  const program = engine.load(lowered.buffer);
  lowered.dispose();
  return program;
}

/** `dist` is the folder that the other checkout was built into. */
export async function against(dist, quick) {
  const index = join(resolve(inRoot(), dist), "index.js");
  if (!existsSync(index)) throw new StepFailed(`there is no ${index}: build that checkout first`);
  if (!quick) prepareModels("mobilenet_v2.pt2", "lstm_160.pt2");
  const ours = await rowsOf(await import("sconce"), quick);
  const theirs = await rowsOf(await import(pathToFileURL(index).href), quick);
  const table = {};
  for (const name of Object.keys(ours)) {
    const [a, b] = [(await ours[name]()) ?? [], (await theirs[name]()) ?? []];
    const differences = a.map((output, i) => relativeDifference(output, b[i]));
    if (!differences.every((difference) => difference < EQUAL))
      throw new StepFailed(`${name}: the outputs of the two differ: ${differences}`);
    const [mine, other] = await alternate([ours[name], theirs[name]], ...pace(quick, ROUNDS, 10));
    table[name] = {
      ms: round(minimum(mine)),
      other_ms: round(minimum(other)),
      ratio: round(minimum(other) / minimum(mine)),
      median_ratio: round(median(other) / median(mine)),
    };
  }
  return table;
}
