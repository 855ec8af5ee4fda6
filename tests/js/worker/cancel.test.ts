// Cancelling: the error, and that what was cancelled stops, also in a worker in the middle of a call.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { createClient, createEngine, SconceError, type Client } from "sconce";
import { modelPath, readCases, samplePath } from "../setup/reference.js";

const mlp = { path: modelPath("mlp.pt2") };
const { inputs } = readCases("mlp")[0]!;
const REASON = new Error("nobody wants it any more");

function isCancelled(error: unknown): true {
  assert.ok(error instanceof SconceError);
  assert.equal(error.code, "cancelled");
  assert.equal(error.name, "AbortError");
  assert.equal(error.cause, REASON);
  return true;
}

test("the error of a cancelled call is an AbortError with the signal's reason", async () => {
  using engine = await createEngine();
  const aborted = { signal: AbortSignal.abort(REASON) };
  assert.throws(() => engine.lower(mlp, aborted), isCancelled);
  const controller = new AbortController();
  const { signal } = controller;
  const onProgress = (): void => controller.abort(REASON);
  assert.throws(() => engine.lower(mlp, { signal, onProgress }), isCancelled);
  using lowered = engine.lower(mlp);
  await assert.rejects(
    lowered.writeTo(() => undefined, undefined, aborted),
    isCancelled,
  );
  assert.throws(() => lowered.toBlob(undefined, aborted), isCancelled);
  await assert.rejects(engine.export(mlp, { recipe: {}, ...aborted }), isCancelled);
  await using client = await createClient();
  await assert.rejects(client.lower(mlp, aborted), isCancelled);
  const later = new AbortController();
  const call = client.lower(mlp, { signal: later.signal });
  later.abort(REASON);
  await assert.rejects(call, isCancelled);
});

test("a run tells of its instructions, up to the last", async () => {
  using engine = await createEngine();
  for (const options of [{}, { partitioner: "xnnpack" }]) {
    using lowered = engine.lower({ path: samplePath("face-rfb320.pt2") }, options);
    using program = engine.load(lowered.buffer);
    const reported: { phase: string; done: number; total: number }[] = [];
    const image = { dtype: "float32", shape: [1, 3, 240, 320] } as const;
    const data = new Float32Array(3 * 240 * 320);
    program.run("forward", [{ ...image, data }], {
      onProgress: (one) => reported.push({ ...one }),
    });
    const run = reported.filter(({ phase }) => phase === "run");
    assert.ok(run.length > 50, `${run.length} times`);
    for (const [i, { done, total }] of run.entries())
      assert.ok(done <= total && done >= (run[i - 1]?.done ?? 0), `${done} of ${total}`);
    assert.equal(run.at(-1)!.done, run.at(-1)!.total);
  }
});

test("a run is cancelled between instructions, and the program runs again", async () => {
  using engine = await createEngine();
  for (const options of [{}, { partitioner: "xnnpack" }]) {
    using lowered = engine.lower(mlp, options);
    using program = engine.load(lowered.buffer);
    const whole = program.run("forward", inputs);
    const controller = new AbortController();
    let calls = 0;
    const onProgress = (): void => {
      if (++calls === 2) controller.abort(REASON);
    };
    const { signal } = controller;
    assert.throws(() => program.run("forward", inputs, { signal, onProgress }), isCancelled);
    assert.equal(calls, 2);
    assert.deepEqual(program.run("forward", inputs), whole);
  }
});

/** A client whose backend waits in calls, and what it was asked. */
async function waitingClient(t: TestContext): Promise<{
  client: Client;
  asked(): string[];
  /** Resolves once the backend was asked so often. */
  busy(count?: number): Promise<void>;
  go(): void;
  hold(): void;
}> {
  const folder = mkdtempSync(join(tmpdir(), "sconce-cancel-"));
  const client = await createClient();
  t.after(() => {
    client.terminate();
    rmSync(folder, { recursive: true, force: true });
  });
  const url = new URL("./waiting_backend.js", import.meta.url);
  url.searchParams.set("folder", folder);
  await client.importBackend({ url: url.href });
  const file = join(folder, "asked");
  const asked = (): string[] =>
    existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
  return {
    client,
    asked,
    async busy(count = 1) {
      while (asked().length < count) await new Promise((resolve) => setTimeout(resolve, 2));
    },
    go: () => writeFileSync(join(folder, "go"), ""),
    hold() {
      rmSync(join(folder, "go"), { force: true });
      rmSync(file, { force: true });
    },
  };
}

test("a lowering that is cancelled stops in the worker", async (t) => {
  const { client, asked, busy, go } = await waitingClient(t);
  const controller = new AbortController();
  const { signal } = controller;
  const call = client.lower(mlp, { partitioner: "Waiting", signal });
  await busy();
  controller.abort(REASON);
  await assert.rejects(call, isCancelled);
  go();
  assert.equal(await client.detect(mlp), "pt2");
  assert.deepEqual(asked(), ["preprocess"]);
  // The same without a signal asks for both parts.
  await (await client.lower(mlp, { partitioner: "Waiting" })).dispose();
  assert.deepEqual(asked().slice(1), ["preprocess", "preprocess"]);
});

test("a run that is cancelled stops in the worker", async (t) => {
  const { client, asked, busy, go, hold } = await waitingClient(t);
  go();
  const lowered = await client.lower(mlp, { partitioner: "Waiting" });
  const program = await client.load(await lowered.buffer);
  const whole = await program.run("forward", inputs);
  hold();
  const controller = new AbortController();
  const call = program.run("forward", inputs, { signal: controller.signal });
  await busy();
  controller.abort(REASON);
  await assert.rejects(call, isCancelled);
  go();
  assert.deepEqual(await program.run("forward", inputs), whole);
  assert.deepEqual(asked(), ["execute", "execute", "execute"]);
});

for (const isShared of [true, false])
  test(`a call that waits in the queue never starts, ${isShared ? "with" : "without"} shared memory`, async (t) => {
    const { client, asked, busy, go } = await waitingClient(t);
    const host = globalThis as { crossOriginIsolated?: boolean };
    if (!isShared) host.crossOriginIsolated = false;
    t.after(() => delete host.crossOriginIsolated);
    const options = { partitioner: "Waiting" };
    const first = client.lower(mlp, options);
    await busy();
    const controller = new AbortController();
    const { signal } = controller;
    const second = client.lower(mlp, { ...options, signal });
    const third = client.detect(mlp);
    controller.abort(REASON);
    await assert.rejects(second, isCancelled);
    go();
    await first;
    assert.equal(await third, "pt2");
    assert.deepEqual(asked(), ["preprocess", "preprocess"]);
  });

test("an error of a listener stops its call in the worker", async (t) => {
  const { client, asked, go } = await waitingClient(t);
  const onProgress = (): void => {
    throw REASON;
  };
  const { signal } = new AbortController();
  const call = client.lower(mlp, { partitioner: "Waiting", onProgress, signal });
  await assert.rejects(call, REASON);
  go();
  assert.equal(await client.detect(mlp), "pt2");
  assert.ok(asked().length <= 1, asked().join());
});
