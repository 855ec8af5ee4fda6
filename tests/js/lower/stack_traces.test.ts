// The stack traces of instructions in a file: written on request, read when a run fails.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  createEngine,
  tensor,
  type Engine,
  type ExecutorchProgramManager,
  type StackFrame,
} from "sconce";
import { folder, sconce } from "../setup/command.js";
import { failure, file } from "../setup/failure.js";

let engine: Engine;
before(async () => (engine = await createEngine()));
after(() => engine.dispose());

/** The frames of each instruction of the first method; null if the file has no traces. */
function traces({ executorchProgram }: ExecutorchProgramManager): (readonly StackFrame[])[] | null {
  const [chain] = executorchProgram.execution_plan![0]!.chains!;
  if (!chain!.stacktrace) return null;
  assert.equal(chain!.stacktrace.length, chain!.instructions!.length);
  return chain!.stacktrace.map(({ items }) => items!);
}

/** The frames that Python's text has. */
const framesOf = (text: string): StackFrame[] =>
  [...text.matchAll(/File "(.*?)", line (\d+), in (.*?)\n([^\n]*)/g)].map(
    ([, filename, lineno, name, context]) => ({
      filename: filename!,
      lineno: Number(lineno),
      name: name!,
      context: context!.trim(),
    }),
  );

test("instructions have the stack traces of their nodes", () => {
  for (const name of ["tinyformer", "encdec.encode"]) {
    const lowered = engine.toEdge(file(name)).toExecutorch({ emitStacktrace: true });
    const known = new Set<string>();
    const edge = engine.toEdge(file(name));
    edge.transform([
      ({ graph }) => {
        for (const { meta } of graph.nodes)
          known.add(JSON.stringify(framesOf(meta.stackTrace ?? "")));
      },
    ]);
    const written = traces(lowered)!;
    assert.ok(written.some((frames) => frames.length > 0));
    for (const frames of written)
      assert.ok(frames.length === 0 || known.has(JSON.stringify(frames)), name);
  }
});

test("jumps have none, and the bodies of branches have their own", () => {
  const written = traces(engine.lower(file("cond"), { emitStacktrace: true }))!;
  assert.ok(written.some((frames) => frames.length === 0));
  assert.ok(written.flat().some(({ context }) => context.includes("sin")));
});

test("delegates and their neighbours have them, too", () => {
  const lowered = engine.lower(file("cnn"), { partitioner: "xnnpack", emitStacktrace: true });
  assert.ok(traces(lowered)!.length > 0);
});

test("a file has no stack traces by default", () => {
  assert.equal(traces(engine.lower(file("tinyformer"))), null);
});

test("an error of a run names the line of the model", () => {
  const wrong = (emitStacktrace: boolean): string => {
    const lowered = engine.lower(file("tinyformer"), { emitStacktrace });
    const program = engine.load(lowered.buffer);
    const { shape } = program.inspect().methods[0]!.inputs[0]!;
    const ids = tensor(new BigInt64Array(shape!.reduce((a, b) => a * b)).fill(999n), shape!);
    const { code, source } = failure(() => program.run("forward", [ids]));
    assert.equal(code, "index");
    return source;
  };
  assert.equal(wrong(false), "");
  assert.match(wrong(true), /^\w+\.py:\d+ in forward: .*emb/);
});

test("the command writes them with --emit-stacktrace", () => {
  const { path } = file("tinyformer");
  assert.equal(sconce("lower", path, "--emit-stacktrace", "-o", "traced.pte").status, 0);
  const lowered = engine.lower(file("tinyformer"), { emitStacktrace: true });
  assert.deepEqual(readFileSync(join(folder, "traced.pte")), Buffer.from(lowered.buffer));
});
