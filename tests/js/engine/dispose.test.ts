// Giving things back by the standard's `using`, in the engine and through the client.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { createClient, createEngine, type Resource } from "sconce";
import { modelPath, readCases } from "../setup/reference.js";

const mlp = { path: modelPath("mlp.pt2") };
const { inputs } = readCases("mlp")[0]!;

test("`using` disposes of objects at the end of their scope", async () => {
  using engine = await createEngine();
  const kept: Resource[] = [];
  {
    using opened = engine.open(mlp);
    using edge = opened.toEdge({ generateEtrecord: true });
    using lowered = edge.toExecutorch();
    using record = lowered.getEtrecord().copy();
    using program = engine.load(lowered.buffer);
    using inspector = engine.inspector({ program: lowered.buffer });
    using session = engine.createExportSession(mlp, { recipe: {} });
    assert.equal(program.run("forward", inputs).length, 1);
    assert.ok(record.inspect().programs.length > 0);
    kept.push(opened, edge, lowered, record, program, inspector, session);
    for (const one of kept) assert.doesNotThrow(() => useOf(one));
  }
  for (const one of kept) assert.throws(() => useOf(one), { code: "disposed" });
});

/** A call that fails once the object is disposed. */
function useOf(one: Resource): unknown {
  const members = one as unknown as Record<string, () => unknown>;
  return members[["inspect", "report", "stages"].find((name) => name in one)!]!();
}

test("an engine that a scope holds is disposed at its end", async () => {
  let kept;
  {
    await using engine = await createEngine();
    kept = engine;
    assert.equal(engine.detect(mlp), "pt2");
  }
  assert.throws(() => kept.detect(mlp), { code: "disposed" });
});

test("a scope does not dispose of objects that belong to a session", async () => {
  using engine = await createEngine();
  using session = await engine.export(mlp, { recipe: {} });
  {
    using shown = session.getExecutorchProgramManager();
    assert.ok(shown.size > 0);
  }
  assert.ok(session.getExecutorchProgramManager().inspect().outputs.length > 0);
});

test("objects of a client and the client itself are disposed by `await using`", async () => {
  const bytes = readFileSync(mlp.path);
  let program, client;
  {
    await using own = await createClient();
    client = own;
    {
      await using lowered = await own.lower(bytes);
      await using loaded = await own.load(await lowered.buffer);
      program = loaded;
      assert.equal((await loaded.run("forward", inputs)).length, 1);
    }
    await assert.rejects(program.inspect(), { code: "disposed" });
    assert.equal(await own.detect(bytes), "pt2");
  }
  await assert.rejects(client.detect(bytes), { code: "disposed" });
});

test("objects of a client have no synchronous member: giving them back takes a message", async () => {
  await using client = await createClient();
  assert.equal(Symbol.dispose in client, false);
  // @ts-expect-error: `using` of an object of a client does not compile.
  void client[Symbol.dispose];
});
