// Callbacks that use the engine that called them: they may dispose and call anything, and the call
// that they interrupt still ends well.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, test } from "node:test";
import { createEngine, SconceError, SconcePanic, type Engine, type RandomAccess } from "sconce";
import { difference, modelPath, readCases } from "../setup/reference.js";

const mlp = { path: modelPath("mlp.pt2") };
const mlpBytes: Uint8Array = readFileSync(mlp.path);
let engine: Engine;
beforeEach(async () => (engine = await createEngine()));
afterEach(() => engine.dispose());

/** A source that calls `callback` whenever it is read. */
const calling = (callback: () => void, bytes = mlpBytes): RandomAccess => ({
  size: bytes.length,
  read: (offset, length) => {
    callback();
    return bytes.subarray(offset, offset + length);
  },
});

const once = (callback: () => void): (() => void) => {
  let isDone = false;
  return () => {
    if (!isDone) callback();
    isDone = true;
  };
};

const codeOf = (call: () => unknown): string => {
  try {
    call();
    return "none";
  } catch (error) {
    assert.ok(error instanceof SconceError && !(error instanceof SconcePanic), String(error));
    return error.code;
  }
};

function works(host: Engine): void {
  const lowered = host.lower(mlp);
  const program = host.load(lowered.buffer);
  const { inputs, outputs } = readCases("mlp")[0]!;
  assert.equal(difference(program.run("forward", inputs)[0], outputs[0]!), "");
  for (const owner of [program, lowered]) owner.dispose();
}

test("what is disposed while it works is freed afterwards", () => {
  const opened = engine.open(mlp);
  const edge = opened.toEdge({ onProgress: () => opened.dispose() });
  assert.equal(
    codeOf(() => opened.inspect()),
    "disposed",
  );
  const made = edge.toExecutorch({ onProgress: () => edge.dispose() });
  assert.equal(
    codeOf(() => edge.inspect()),
    "disposed",
  );
  const { inputs, outputs } = readCases("mlp")[0]!;
  let callback = (): void => undefined;
  const program = engine.load(calling(() => callback(), made.buffer));
  callback = () => program.dispose();
  const [output] = program.run("forward", inputs);
  assert.equal(difference(output, outputs[0]!), "");
  assert.equal(
    codeOf(() => program.inspect()),
    "disposed",
  );
  made.dispose();
  works(engine);
});

test("and so it is when a source disposes it", () => {
  let dispose = (): void => undefined;
  const made = engine.lower(calling(() => dispose()));
  dispose = () => made.dispose();
  assert.equal(
    codeOf(() => made.buffer),
    "disposed",
  );
  let closed = 0;
  const source = { ...calling(() => undefined), close: () => (closed++, opened.dispose()) };
  const opened = engine.open(source);
  opened.dispose();
  assert.equal(closed, 1);
  works(engine);
});

test("an object in the middle of a call is busy", () => {
  const codes = new Set<string>();
  const opened = engine.open(mlp);
  const edge = opened.toEdge({
    onProgress: () => {
      codes.add(codeOf(() => opened.inspect()));
      codes.add(codeOf(() => opened.toEdge()));
      codes.add(codeOf(() => opened.text(0)));
    },
  });
  assert.deepEqual([...codes], ["busy"]);
  const made = edge.toExecutorch();
  const { inputs } = readCases("mlp")[0]!;
  let callback = (): void => undefined;
  const program = engine.load(calling(() => callback(), made.buffer));
  codes.clear();
  callback = () => {
    codes.add(codeOf(() => program.run("forward", inputs)));
    codes.add(codeOf(() => program.reset()));
  };
  program.run("forward", inputs);
  assert.deepEqual([...codes], ["busy"]);
  for (const owner of [opened, edge, made, program]) owner.dispose();
  works(engine);
});

test("other objects of the engine work meanwhile", () => {
  engine.lower(mlp, { onProgress: once(() => works(engine)) }).dispose();
  engine.lower(calling(once(() => works(engine)))).dispose();
  const mine = new Error("mine");
  const failing = (): never => {
    throw mine;
  };
  const nested = (): void => engine.lower(mlp, { onProgress: failing }).dispose();
  const made = engine.lower(mlp, { onProgress: once(() => assert.throws(nested, mine)) });
  made.dispose();
  const endless = (): void => engine.lower(mlp, { onProgress: endless }).dispose();
  assert.equal(codeOf(endless), "busy");
  works(engine);
});

test("an engine that is disposed while it works stops", async () => {
  const stop = (): void => engine.dispose();
  for (const call of [
    () => engine.lower(mlp, { onProgress: stop }),
    () => engine.lower(calling(stop)),
    () => engine.detect(calling(stop)),
  ]) {
    engine = await createEngine();
    assert.equal(codeOf(call), "disposed");
    assert.equal(
      codeOf(() => engine.lower(mlp)),
      "disposed",
    );
  }
});
