// Pools: requests take turns in order, nothing of one outlives it, and workers that broke or grew are
// replaced.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";
import { test, type TestContext } from "node:test";
import { Worker } from "node:worker_threads";
import { createPool, SconceError, SconcePanic, type Pool, type PooledClient } from "sconce";
import type { PoolOptions } from "sconce";
import { difference, modelPath, readCases, samplePath } from "../setup/reference.js";

const MLP: Uint8Array = readFileSync(modelPath("mlp.pt2"));
const FACE: Uint8Array = readFileSync(samplePath("face-rfb320.pt2"));
const { inputs, outputs } = readCases("mlp")[0]!;

async function poolOf(t: TestContext, options: PoolOptions): Promise<Pool> {
  const pool = await createPool(options);
  t.after(() => pool.dispose());
  return pool;
}

async function until(test: () => boolean): Promise<void> {
  while (!test()) await turn();
}

/** A promise, and what resolves it. */
function gate(): { opened: Promise<void>; open(): void } {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open: () => open() };
}

async function runMlp(client: PooledClient): Promise<void> {
  const lowered = await client.lower(MLP);
  const program = await client.load(await lowered.buffer);
  assert.equal(difference((await program.run("forward", inputs))[0], outputs[0]!), "");
}

test("many requests share few workers and one compiled module", async (t) => {
  const compile = t.mock.method(WebAssembly, "compile");
  const modules: unknown[] = [];
  const script = new URL("worker.js", import.meta.resolve("sconce"));
  const worker = (): Worker => {
    const made = new Worker(script);
    const send = made.postMessage.bind(made) as (message: object) => void;
    made.postMessage = (message: { type: string; options?: { wasm?: unknown } }) => {
      if (message.type === "start") modules.push(message.options!.wasm);
      send(message);
    };
    return made;
  };
  const pool = await poolOf(t, { size: 2, worker });
  await Promise.all(Array.from({ length: 20 }, () => pool.use(runMlp)));
  await until(() => pool.stats().active === 0);
  const stats = { size: 2, workers: 2, active: 0, waiting: 0, ended: 20, refused: 0, replaced: 0 };
  assert.deepEqual(pool.stats(), stats);
  assert.equal(compile.mock.callCount(), 1);
  assert.equal(modules.length, 2);
  assert.ok(modules[0] instanceof WebAssembly.Module);
  assert.equal(modules[1], modules[0]);
});

test("requests get clients in the order in which they come", async (t) => {
  const pool = await poolOf(t, { size: 1 });
  const order: number[] = [];
  await Promise.all(
    Array.from({ length: 8 }, (_, i) =>
      pool.use(async (client) => {
        order.push(i);
        await client.detect(MLP);
        order.push(i);
      }),
    ),
  );
  assert.deepEqual(order, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]);
});

test("a request beyond the queue is refused at once, and the others are served", async (t) => {
  const pool = await poolOf(t, { size: 1, maxQueue: 2 });
  const { opened, open } = gate();
  const served = [0, 1, 2].map(() => pool.use(() => opened));
  const error: unknown = await pool.use(() => opened).catch((e: unknown) => e);
  assert.ok(error instanceof SconceError);
  assert.equal(error.code, "busy");
  assert.match(error.hint, /503/);
  const { active, waiting, refused } = pool.stats();
  assert.deepEqual({ active, waiting, refused }, { active: 1, waiting: 2, refused: 1 });
  open();
  await Promise.all(served);
  await pool.use(runMlp);
});

test("objects of a request are disposed at its end, and its client is of no use any more", async (t) => {
  const pool = await poolOf(t, { size: 1 });
  let kept: PooledClient | undefined;
  const [lowered, program] = await pool.use(async (client) => {
    kept = client;
    const made = await client.lower(MLP);
    return [made, await client.load(await made.buffer)] as const;
  });
  for (const call of [
    () => lowered.buffer,
    () => program.run("forward", inputs),
    () => kept!.lower(MLP),
  ])
    await assert.rejects(call, { code: "disposed" });
  // The module gives their memory to the next, 30 times.
  const heap = await pool.use((client) => client.heapBytes());
  for (let round = 0; round < 30; round++)
    await pool.use(async (client) => void (await client.lower(FACE)));
  const after = await pool.use((client) => client.heapBytes());
  assert.ok(after < heap + 3 * FACE.length, `${after} after ${heap}`);
});

test("a request that fails leaves its client to the next", async (t) => {
  const pool = await poolOf(t, { size: 1 });
  const mine = new Error("mine");
  await assert.rejects(
    pool.use(() => Promise.reject(mine)),
    mine,
  );
  await assert.rejects(
    pool.use((client) => client.lower(MLP.subarray(0, 100))),
    { code: "truncated" },
  );
  await pool.use(runMlp);
  assert.equal(pool.stats().replaced, 0);
});

test("a worker that ends is replaced", async (t) => {
  const workers: Worker[] = [];
  const script = new URL("worker.js", import.meta.resolve("sconce"));
  const worker = (): Worker => {
    const made = new Worker(script);
    workers.push(made);
    return made;
  };
  const pool = await poolOf(t, { size: 1, worker });
  const broken = pool.use(async (client) => {
    await client.detect(MLP);
    await workers[0]!.terminate();
    return client.detect(MLP);
  });
  await assert.rejects(broken, SconcePanic);
  await pool.use(runMlp);
  // One that ends while nobody has it is found out by the next request.
  await until(() => pool.stats().active === 0);
  await workers[1]!.terminate();
  await pool.use(runMlp);
  assert.equal(workers.length, 3);
  assert.equal(pool.stats().replaced, 2);
});

test("a worker that has grown too large is replaced", async (t) => {
  const pool = await poolOf(t, { size: 1, maxHeapBytes: 24 << 20 });
  await pool.use(runMlp);
  await until(() => pool.stats().active === 0);
  assert.equal(pool.stats().replaced, 0);
  const heap = await pool.use(async (client) => {
    const made = [];
    while ((await client.heapBytes()) <= 24 << 20) made.push(await client.lower(FACE));
    return client.heapBytes();
  });
  assert.ok(heap > 24 << 20);
  assert.ok((await pool.use((client) => client.heapBytes())) < 24 << 20);
  assert.equal(pool.stats().replaced, 1);
});

test("a signal cancels the wait, and the calls of a request", async (t) => {
  const pool = await poolOf(t, { size: 1 });
  const { opened, open } = gate();
  const first = pool.use(() => opened);
  const reason = new Error("gone");
  const waiting = new AbortController();
  let isBegun = false;
  const second = pool.use(() => void (isBegun = true), { signal: waiting.signal });
  waiting.abort(reason);
  await assert.rejects(second, { name: "AbortError", code: "cancelled", cause: reason });
  assert.equal(pool.stats().waiting, 0);
  open();
  await first;
  const working = new AbortController();
  const third = pool.use(
    async (client) => {
      const call = client.lower(FACE);
      working.abort(reason);
      await assert.rejects(client.lower(MLP), { name: "AbortError" });
      return call;
    },
    { signal: working.signal },
  );
  await assert.rejects(third, { name: "AbortError", code: "cancelled", cause: reason });
  const early = pool.use(runMlp, { signal: AbortSignal.abort(reason) });
  await assert.rejects(early, { code: "cancelled", cause: reason });
  assert.equal(isBegun, false);
  await pool.use(runMlp);
});

test("a call that a request leaves behind is cancelled at its end", async (t) => {
  const pool = await poolOf(t, { size: 1 });
  let left: Promise<unknown> | undefined;
  await pool.use((client) => {
    left = assert.rejects(client.lower(FACE), { code: "disposed" });
  });
  await left;
  await pool.use(runMlp);
});

test("each worker is prepared once", async (t) => {
  const url = new URL("../setup/demo_backend.js", import.meta.url).href;
  let times = 0;
  const prepare = (client: PooledClient): Promise<string> => {
    times++;
    return client.importBackend({ url });
  };
  const pool = await poolOf(t, { size: 2, prepare });
  const lower = (client: PooledClient): Promise<number> =>
    client.lower(MLP, { partitioner: "DemoBackend" }).then(({ size }) => size);
  const sizes = await Promise.all([1, 2, 3, 4, 5, 6].map(() => pool.use(lower)));
  assert.equal(new Set(sizes).size, 1);
  assert.equal(times, 2);
  const failing = createPool({ size: 1, prepare: () => Promise.reject(new Error("not ready")) });
  await assert.rejects(failing, /not ready/);
});

test("a disposed pool ends its workers and refuses requests", async () => {
  const pool = await createPool({ size: 1 });
  const under = pool.use((client) => client.lower(FACE));
  const waits = pool.use(runMlp);
  await pool.dispose();
  await assert.rejects(under, { code: "disposed" });
  await assert.rejects(waits, { code: "disposed" });
  await assert.rejects(pool.use(runMlp), { code: "disposed" });
  assert.equal(pool.stats().workers, 0);
  await pool.dispose();
  {
    await using scoped = await createPool({ size: 1 });
    await scoped.use(runMlp);
  }
});

test("wrong options are refused, and a worker that does not start is told", async () => {
  for (const [options, message] of [
    [{ size: 0 }, /'size' of createPool\(\) must be a whole number from 1 to 64/],
    [{ size: 1.5 }, /'size'/],
    [{ maxQueue: -1 }, /'maxQueue'/],
    [{ maxQueue: NaN }, /'maxQueue'/],
    [{ maxQeue: 1 }, /no option 'maxQeue'/],
    [{ prepare: 1 }, /'prepare'/],
  ] as const)
    await assert.rejects(createPool(options as PoolOptions), { code: "option", message });
  await assert.rejects(createPool({ wasm: new Uint8Array(8) }), { code: "io" });
  const worker = (): Worker => new Worker("process.exit(3)", { eval: true });
  await assert.rejects(createPool({ worker }), { code: "io", message: /ended with the code 3/ });
  await using pool = await createPool({ size: 1 });
  await assert.rejects(pool.use(1 as never), { code: "argument" });
  await assert.rejects(
    pool.use(() => 1, { signl: 1 } as never),
    { code: "option" },
  );
});
