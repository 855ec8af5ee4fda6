// The official runtime, natively, for scale: a process that runs a method once, or
// tells a story, for each line it gets.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { inRoot } from "../../tools/steps.mjs";
import { officialPython } from "./prepare.mjs";

const plain = ({ dtype, shape, data }) => ({ dtype, shape, data: Array.from(data, Number) });

/** A function that runs the method once; `close` ends the process. The first run gives outputs. */
export async function officialRun(pte, method, inputs) {
  return startRunner(pte, ["run", method], inputs.map(plain));
}

/** A function that tells a story of `count` tokens with the method, and returns them. */
export async function officialTell(pte, method, count) {
  return startRunner(pte, ["tell", method], count);
}

/** A function that has official_runner.py do once what `words` say, and returns its answer. */
function startRunner(pte, words, given) {
  const folder = mkdtempSync(join(tmpdir(), "sconce-bench-"));
  const [file, values] = [join(folder, "program.pte"), join(folder, "given.json")];
  writeFileSync(file, pte);
  writeFileSync(values, JSON.stringify(given));
  const script = inRoot("tests/bench/official_runner.py");
  const args = ["-W", "ignore", script, file, ...words, values];
  const runner = spawn(officialPython(), args, { stdio: ["pipe", "pipe", "ignore"] });
  runner.stdin.on("error", () => {}); // its end is heard where answers are
  const answers = createInterface({ input: runner.stdout })[Symbol.asyncIterator]();
  const run = async () => {
    runner.stdin.write("\n");
    const { done, value } = await answers.next();
    if (done) throw new Error("the official runtime ended without an answer");
    return JSON.parse(value);
  };
  run.close = () => {
    runner.stdin.end();
    rmSync(folder, { recursive: true, force: true });
  };
  return run;
}
