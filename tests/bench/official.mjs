// The official runtime, natively, for scale: a process that runs a method once for each line it gets.
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
  const folder = mkdtempSync(join(tmpdir(), "sconce-bench-"));
  const [file, values] = [join(folder, "program.pte"), join(folder, "inputs.json")];
  writeFileSync(file, pte);
  writeFileSync(values, JSON.stringify(inputs.map(plain)));
  const args = ["-W", "ignore", inRoot("tests/bench/official_runner.py"), file, method, values];
  const runner = spawn(officialPython(), args, { stdio: ["pipe", "pipe", "ignore"] });
  runner.stdin.on("error", () => {}); // its end is heard where answers are
  const answers = createInterface({ input: runner.stdout })[Symbol.asyncIterator]();
  const run = async () => {
    runner.stdin.write("\n");
    const { done, value } = await answers.next();
    if (done) throw new Error("the official runtime ended without an answer");
    return value === "done" ? undefined : JSON.parse(value);
  };
  run.close = () => {
    runner.stdin.end();
    rmSync(folder, { recursive: true, force: true });
  };
  return run;
}
