// Memory that nobody gives back: what is unreachable is collected, and a disposed engine holds nothing.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test, type TestContext } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createEngine, type Engine } from "sconce";
import { measured } from "../setup/memory.js";
import { modelPath, readCases, samplePath } from "../setup/reference.js";

setFlagsFromString("--expose-gc");
const gc = runInNewContext("gc") as () => void;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const mlp = { path: modelPath("mlp.pt2") };
const { inputs } = readCases("mlp")[0]!;
const FACE: Uint8Array = readFileSync(samplePath("face-rfb320.pt2"));

/** Collects until the test holds, at most so often; finalizers run between the turns. */
async function collected(test: () => boolean): Promise<boolean> {
  for (let attempt = 0; attempt < 30; attempt++) {
    await turn();
    // Before the test: what a WeakRef gives is kept until the turn is over.
    gc();
    await turn();
    if (test()) return true;
  }
  return false;
}

/** Every kind of object that keeps memory, none of them disposed. */
async function forgetAll(engine: Engine): Promise<void> {
  const opened = engine.open(mlp);
  const edge = opened.toEdge({ generateEtrecord: true });
  const lowered = edge.toExecutorch();
  lowered.createEtrecord();
  lowered.getEtrecord().copy();
  const { buffer } = lowered;
  engine.load(buffer).run("forward", inputs);
  engine.inspector({ program: buffer });
  engine.parseEtrecord(lowered.getEtrecord().bytes());
  await engine.export(mlp, { recipe: {} });
  engine.createExportSession(mlp, { recipe: {} });
}

test("memory stays flat over 200 rounds without dispose", async (t) => {
  const [engine, heapBytes] = await measured(t);
  let after = 0;
  for (let round = 0; round < 200; round++) {
    await forgetAll(engine);
    gc();
    await turn();
    if (round === 40) after = heapBytes();
  }
  assert.equal(heapBytes(), after);
  engine.dispose();
});

test("objects that are kept need memory each: the test above can fail", async (t) => {
  const [engine, heapBytes] = await measured(t);
  const kept = [engine.lower(FACE)];
  const before = heapBytes();
  for (let round = 0; round < 10; round++) kept.push(engine.lower(FACE));
  assert.ok(heapBytes() > before + (1 << 20));
  engine.dispose();
});

test("a source is closed once what reads it is unreachable", async () => {
  const engine = await createEngine();
  const bytes = readFileSync(mlp.path);
  let closed = 0;
  const forget = (): void =>
    void engine.open({
      size: bytes.length,
      read: (offset, length) => bytes.subarray(offset, offset + length),
      close: () => void closed++,
    });
  forget();
  assert.equal(closed, 0);
  assert.ok(await collected(() => closed > 0));
  assert.equal(closed, 1);
  engine.dispose();
});

test("an object lives on while another one shows it", async () => {
  const engine = await createEngine();
  const shown = ((): ReturnType<Engine["open"]> => engine.open(mlp))().exportedProgram();
  const record = engine.toEdge(mlp, { generateEtrecord: true }).etrecord;
  for (let round = 0; round < 10; round++) {
    gc();
    await turn();
  }
  assert.match(shown.text(), /linear/);
  assert.ok(record.inspect().programs.length > 0);
  engine.dispose();
});

test("a program that was disposed is not released again when it is collected", async () => {
  const engine = await createEngine();
  const opened = engine.open(mlp);
  const edge = opened.toEdge();
  ((): void => {
    for (let round = 0; round < 20; round++) edge.transform([]).dispose();
  })();
  for (let round = 0; round < 10; round++) {
    gc();
    await turn();
  }
  assert.ok(edge.toExecutorch().size > 0);
  engine.dispose();
});

test("an error of a backend is logged when a forgotten program ends", async () => {
  const logged: string[] = [];
  const engine = await createEngine({ onLog: (_, text) => logged.push(text) });
  engine.registerBackend({
    id: "mine",
    supports: () => true,
    preprocess: () => ({ processedBytes: new Uint8Array(8) }),
    init: () => null,
    execute: () => [],
    destroy: () => {
      throw new Error("destroyed badly");
    },
  });
  const { buffer } = engine.lower(mlp, { partitioner: { backend: "mine" } });
  const forget = (): void => {
    const program = engine.load(buffer);
    assert.throws(() => program.run("forward", inputs), { code: "delegate" });
  };
  forget();
  assert.ok(await collected(() => logged.some((text) => text.includes("destroyed badly"))));
  engine.dispose();
});

/** The memory of the engine that is made next, as long as anything refers to it. */
async function memoryOf(t: TestContext): Promise<[Engine, WeakRef<WebAssembly.Memory>]> {
  const { instantiate } = WebAssembly;
  let memory: WeakRef<WebAssembly.Memory> | undefined;
  WebAssembly.instantiate = (async (module: WebAssembly.Module, imports: WebAssembly.Imports) => {
    const instance = await instantiate(module, imports);
    // A module with threads has its memory from its host.
    const all = [...Object.values(instance.exports), ...Object.values(imports["env"] ?? {})];
    const found = all.find((one) => one instanceof WebAssembly.Memory);
    memory = new WeakRef(found as WebAssembly.Memory);
    return instance;
  }) as typeof instantiate;
  t.after(() => (WebAssembly.instantiate = instantiate));
  return [await createEngine(), memory!];
}

test("a disposed engine lets its memory go while it and its objects are referenced", async (t) => {
  const [engine, memory] = await memoryOf(t);
  const opened = engine.open(mlp);
  const program = engine.load(engine.lower(mlp).buffer);
  assert.equal(await collected(() => memory.deref() === undefined), false);
  engine.dispose();
  assert.ok(await collected(() => memory.deref() === undefined));
  for (const call of [
    () => engine.lower(mlp),
    () => engine.meta(),
    () => opened.inspect(),
    () => program.inspect(),
    () => program.run("forward", inputs),
  ])
    assert.throws(call, { code: "disposed" });
  for (const one of [opened, program, engine]) one.dispose();
});

test("an engine that is disposed by a callback lets its memory go when the call returns", async (t) => {
  const [engine, memory] = await memoryOf(t);
  const kept = engine.open(mlp);
  const stop = (): void => engine.dispose();
  assert.throws(() => engine.lower(mlp, { onProgress: stop }), { code: "disposed" });
  assert.ok(await collected(() => memory.deref() === undefined));
  kept.dispose();
});

test("a disposed engine closes the files that its objects read", async () => {
  const engine = await createEngine();
  const bytes = readFileSync(mlp.path);
  let closed = 0;
  const opened = engine.open({
    size: bytes.length,
    read: (offset, length) => bytes.subarray(offset, offset + length),
    close: () => void closed++,
  });
  engine.dispose();
  assert.equal(closed, 1);
  opened.dispose();
  assert.equal(closed, 1);
});
