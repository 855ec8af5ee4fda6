// Lowers and runs what it is asked to on standard input, a line of JSON each, and answers with a line:
//   {pt2, pte, calls: one list of inputs per call} -> {outputs: one list per call, warned}, or
//   {stage, code, op, message} of what was said instead. With `pte` the program is kept there.
import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { createEngine } from "../../dist/index.js";
import { fromValue, toValue } from "./values.mjs";

let engine = await createEngine();

function lowered({ pt2, pte }) {
  const manager = engine.lower({ path: pt2 });
  try {
    const warned = manager.inspect().diagnostics?.filter((d) => d.severity === "warning") ?? [];
    const { buffer } = manager;
    if (pte) writeFileSync(pte, buffer);
    return { buffer, warned: warned.map(({ op, message }) => ({ op, message })) };
  } finally {
    manager.dispose();
  }
}

function run(program, calls) {
  try {
    return calls.map((inputs) => program.run("forward", inputs.map(toValue)).map(fromValue));
  } finally {
    program.dispose();
  }
}

async function answer(job) {
  let stage = "lower";
  try {
    const { buffer, warned } = lowered(job);
    stage = "load";
    const program = engine.load(buffer);
    stage = "run";
    return { outputs: run(program, job.calls), warned };
  } catch (error) {
    const { code = "panic", op = "", message, hint = "" } = error;
    // An engine that broke is of no use to the next program.
    if (code === "panic") engine = await createEngine();
    return { stage, code, op, message: `${message} ${hint}`.trim() };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await answer(JSON.parse(line)))}\n`);
}
