// Runs the files that a JSON file lists, one after the other, each method with its inputs in turn.
// Prints the results as JSON:
//   {pte, ptds, calls: [{method, inputs}]} -> {outputs: one list per call}, or {failed: what was said}
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
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

/** The answers of the jobs that a file lists, as JSON. */
export function runFiles(listing) {
  return JSON.stringify(JSON.parse(readFileSync(listing, "utf8")).map(attempt));
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  process.stdout.write(runFiles(process.argv[2]));
