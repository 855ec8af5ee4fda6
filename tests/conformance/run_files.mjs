// Runs what a JSON file lists, one file after the other, each method with its inputs in turn, and
// prints as JSON what came of each.
//   {pte, ptds, calls: [{method, inputs}]} -> {outputs: one list per call}, or {failed: what was said}
import { readFileSync } from "node:fs";
import { createEngine } from "../../dist/index.js";
import { fromValue, toValue } from "./values.mjs";

const engine = await createEngine();
function run({ pte, ptds = [], calls }) {
  const program = engine.load(readFileSync(pte), { dataFiles: ptds.map((path) => ({ path })) });
  try {
    return calls.map(({ method, inputs }) =>
      program.run(method, inputs.map(toValue)).map(fromValue),
    );
  } finally {
    program.dispose();
  }
}

function attempt(job) {
  try {
    return { outputs: run(job) };
  } catch (error) {
    return { failed: `${error.message} ${error.hint ?? ""}` };
  }
}

const jobs = JSON.parse(readFileSync(process.argv[2], "utf8"));
process.stdout.write(JSON.stringify(jobs.map(attempt)));
