// Numbers that cross from JavaScript into the module: whole and in range, or a typed error. And
// memory: running again and again takes no more of it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { createEngine, SconceError, type Engine, type Program } from "sconce";
import { difference, modelPath, readCases } from "../setup/reference.js";

function load(engine: Engine, name: string): Program {
  const lowered = engine.lower(readFileSync(modelPath(`${name}.pt2`)));
  assert.deepEqual(lowered.inspect().diagnostics, []);
  const program = engine.load(lowered.buffer);
  lowered.dispose();
  return program;
}

const withCode =
  (code: string) =>
  (error: unknown): boolean =>
    error instanceof SconceError && error.code === code;

test("sizes that are no whole numbers are refused", async () => {
  const engine = await createEngine();
  const program = load(engine, "add_mul");
  const inputs = readCases("add_mul")[0]!.inputs;
  const first = inputs[0];
  assert.ok(first !== null && typeof first === "object");
  const fraction = first.shape[0]! + 0.5;
  for (const size of [fraction, NaN, -1, 1e30, -1e30, Infinity, 2 ** 53 + 2]) {
    const wrong = { ...first, shape: first.shape.map((own, d) => (d === 0 ? size : own)) };
    assert.throws(
      () => program.run("forward", [wrong, ...inputs.slice(1)]),
      (error: Error) => withCode("input")(error) && error.message.includes(`not [${size}`),
      String(size),
    );
  }
  program.run("forward", inputs);
  engine.dispose();
});

test("a source whose size is none is refused", async () => {
  const engine = await createEngine();
  for (const size of [NaN, 0.5, -1, 1e30]) {
    const source = { size, read: (_: number, length: number) => new Uint8Array(length) };
    assert.throws(() => engine.detect(source), withCode("io"), String(size));
    assert.throws(() => engine.open(source), withCode("io"), String(size));
    assert.throws(() => engine.load(source), withCode("io"), String(size));
    assert.throws(
      () => engine.load(readFileSync(modelPath("official/mlp_ptd.pte")), { dataFiles: [source] }),
      withCode("io"),
      String(size),
    );
  }
  engine.dispose();
});

test("a program runs as written when asked to", async () => {
  const engine = await createEngine();
  const pte = readFileSync(modelPath("official/cnn.pte"));
  const { inputs, outputs } = readCases("cnn")[0]!;
  for (const optimize of [true, false]) {
    const program = engine.load(pte, { optimize });
    assert.equal(difference(program.run("forward", inputs)[0], outputs[0]!), "");
  }
  engine.dispose();
});

test("a thousand runs take no more memory than one", async () => {
  const engine = await createEngine();
  const program = load(engine, "weight_layouts");
  const { inputs } = readCases("weight_layouts")[0]!;
  program.run("forward", inputs);
  const heap = program.inspect().heapBytes;
  for (let i = 0; i < 1000; i++) program.run("forward", inputs);
  assert.equal(program.inspect().heapBytes, heap);
  engine.dispose();
});
