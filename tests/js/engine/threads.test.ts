// Flavours of the module, and threads: which are chosen, that results do not depend on them, and what
// becomes of an engine whose threads break or do not come.
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test, type TestContext } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import {
  createClient,
  createEngine,
  createPool,
  SconcePanic,
  tensor,
  type Engine,
  type EngineOptions,
  type Tensor,
  type Value,
} from "sconce";
import { samplePath } from "../setup/reference.js";

const FACE = samplePath("face-rfb320.pt2");
const dist = dirname(fileURLToPath(import.meta.resolve("sconce")));
const HAS_RELAXED = parseInt(process.versions.node) >= 21;

async function engineOf(t: TestContext, options: EngineOptions): Promise<Engine> {
  const engine = await createEngine(options);
  t.after(() => engine.dispose());
  return engine;
}

const image = tensor(
  Float32Array.from({ length: 3 * 240 * 320 }, (_, i) => ((i * 7919) % 255) / 128 - 1),
  [1, 3, 240, 320],
);

const bytesOf = (values: Value[]): Uint8Array[] =>
  values.map((value) => {
    const { buffer, byteOffset, byteLength } = (value as Tensor).data;
    return new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength);
  });

/** Runs the face detector `rounds` times, with time between them in which threads may come. */
async function runFace(engine: Engine, partitioner: string | undefined, rounds: number) {
  const lowered = engine.lower(FACE, partitioner === undefined ? {} : { partitioner });
  const program = engine.load(lowered);
  const results = [];
  for (let round = 0; round < rounds; round++) {
    results.push(bytesOf(program.run("forward", [image])));
    await new Promise((resolve) => setTimeout(resolve, 40));
  }
  program.dispose();
  lowered.dispose();
  return results;
}

test("engines take the fastest flavour of the host, and say why not a faster one", async (t) => {
  const auto = (await engineOf(t, { threads: 2 })).capabilities();
  assert.equal(auto.binary, HAS_RELAXED ? "relaxed-threads" : "threads");
  assert.deepEqual(auto.reasons, HAS_RELAXED ? [] : ["this host has no relaxed SIMD"]);
  assert.deepEqual([auto.simd, auto.relaxedSimd, auto.threads], [true, HAS_RELAXED, 2]);

  const one = (await engineOf(t, { threads: 1 })).capabilities();
  assert.equal(one.binary, HAS_RELAXED ? "relaxed" : "simd");
  assert.equal(one.threads, 1);
  assert.equal(one.reasons.at(-1), "'threads' asks for one thread");

  const baseline = (await engineOf(t, { threads: 1, simd: "baseline" })).capabilities();
  assert.equal(baseline.binary, "simd");
  const same = (await engineOf(t, { threads: 2, deterministic: true })).capabilities();
  assert.equal(same.binary, "threads");
  if (HAS_RELAXED) assert.match(same.reasons.join(), /'deterministic' asks for results/);

  const client = await createClient({ threads: 2, simd: "baseline" });
  assert.equal((await client.capabilities()).binary, "threads");
  client.terminate();
});

test("events tell how many threads had a share", async (t) => {
  const threadsOf = async (threads: number, rounds: number): Promise<Set<number | null>> => {
    const engine = await engineOf(t, { threads });
    const program = engine.load(engine.lower(FACE, { partitioner: "xnnpack" }));
    const found = new Set<number | null>();
    // Threads come late, and may be late for all of a run on a machine that does other things.
    for (let round = 0; round < rounds && !found.has(2); round++) {
      program.run("forward", [image], { events: true });
      await new Promise((resolve) => setTimeout(resolve, 40));
      const blocks = engine.inspector({ etdump: program.etdump().etdump }).events();
      for (const { events } of blocks) for (const event of events) found.add(event.threads);
    }
    return found;
  };
  assert.deepEqual(await threadsOf(1, 3), new Set([null]));
  const shared = await threadsOf(2, 300);
  assert.deepEqual([...shared].sort(), [1, 2]);
});

test("a module that is given is taken as it is", async (t) => {
  for (const [file, binary] of [
    ["sconce.wasm", "simd"],
    ["threads.wasm", "threads"],
  ] as const) {
    const wasm = readFileSync(join(dist, file));
    const engine = await engineOf(t, { wasm, threads: 3 });
    const { binary: found, threads, reasons } = engine.capabilities();
    assert.deepEqual([found, threads], [binary, binary === "threads" ? 3 : 1]);
    assert.deepEqual(reasons, ["'wasm' names the module"]);
  }
});

test("a host without room for shared memory has one thread", async (t) => {
  const { Memory } = WebAssembly;
  t.after(() => (WebAssembly.Memory = Memory));
  WebAssembly.Memory = class {
    constructor() {
      throw new RangeError("could not allocate memory");
    }
  } as unknown as typeof Memory;
  const engine = await engineOf(t, { threads: 2 });
  const { binary, threads, reasons } = engine.capabilities();
  assert.deepEqual([binary, threads], [HAS_RELAXED ? "relaxed" : "simd", 1]);
  assert.match(reasons.join(), /no address space for memory that threads share/);
  engine.lower(FACE).dispose();
});

test("options of flavours are checked", async () => {
  for (const [options, message] of [
    [{ threads: 0 }, /'threads'.*"auto" or a whole number from 1 to 64/],
    [{ threads: 65 }, /'threads'/],
    [{ threads: 1.5 }, /'threads'/],
    [{ threads: "two" }, /'threads'/],
    [{ simd: "relaxed" }, /'simd' .* "auto" or "baseline"/],
    [{ deterministic: 1 }, /'deterministic'/],
  ] as const)
    await assert.rejects(createEngine(options as EngineOptions), { code: "option", message });
});

test("a package of which only sconce.wasm was taken along works, and says so", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "sconce-flavours-"));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const filter = (path: string): boolean => !/(relaxed|threads)\.wasm$|\/web$/.test(path);
  cpSync(dist, folder, { recursive: true, filter });
  const library = (await import(pathToFileURL(join(folder, "index.js")).href)) as {
    createEngine: typeof createEngine;
  };
  const engine = await library.createEngine({ threads: 2 });
  t.after(() => engine.dispose());
  const { binary, threads, reasons } = engine.capabilities();
  assert.deepEqual([binary, threads], ["simd", 1]);
  assert.match(reasons.join("\n"), /threads\.wasm could not be loaded: .* there is no .*threads/);
});

for (const partitioner of [undefined, "xnnpack"])
  test(`results are the same bits for any number of threads: ${partitioner ?? "portable"}`, async (t) => {
    const engines = [1, 2, 5].map((threads) => engineOf(t, { threads }));
    const results = [];
    for (const engine of await Promise.all(engines))
      results.push(...(await runFace(engine, partitioner, 4)));
    for (const result of results) assert.deepEqual(result, results[0]);
  });

test("the baseline gives the same bits with and without threads", async (t) => {
  const one = await engineOf(t, { threads: 1, simd: "baseline" });
  const three = await engineOf(t, { threads: 3, deterministic: true });
  const [expected] = await runFace(one, "xnnpack", 1);
  for (const result of await runFace(three, "xnnpack", 4)) assert.deepEqual(result, expected);
});

/** Changes or keeps back the first message to each thread. */
function meddle(t: TestContext, change: (message: Record<string, unknown>) => object | undefined) {
  const { postMessage } = Worker.prototype;
  t.mock.method(Worker.prototype, "postMessage", function (this: Worker, ...args: unknown[]) {
    const message = args[0] as Record<string, unknown>;
    const changed = message["type"] === "thread" ? change(message) : message;
    if (changed) postMessage.call(this, changed, args[1] as never);
  });
}

test("a thread that breaks in the middle of its work ends the engine with a panic", async (t) => {
  // Frames of functions begin below address 0, which traps.
  meddle(t, (message) => ({ ...message, stack: 16, stackBytes: 16 }));
  const engine = await engineOf(t, { threads: 2 });
  await assert.rejects(runFace(engine, "xnnpack", 50), (error: unknown) => {
    assert.ok(error instanceof SconcePanic);
    assert.match(error.message, /thread/);
    return true;
  });
  assert.throws(() => engine.lower(FACE), SconcePanic);
});

test("threads that do not come are not missed", async (t) => {
  meddle(t, () => undefined);
  const engine = await engineOf(t, { threads: 4 });
  const alone = await engineOf(t, { threads: 1 });
  assert.deepEqual(await runFace(engine, "xnnpack", 2), await runFace(alone, "xnnpack", 2));
});

test("threads end with their engine", async (t) => {
  let begun = 0;
  let ended = 0;
  meddle(t, (message) => (begun++, message));
  const { terminate } = Worker.prototype;
  t.mock.method(Worker.prototype, "terminate", function (this: Worker) {
    ended++;
    return terminate.call(this);
  });
  for (let round = 0; round < 10; round++) {
    const engine = await createEngine({ threads: 3 });
    if (round % 2) await runFace(engine, undefined, 1);
    engine.dispose();
    engine.dispose();
  }
  assert.deepEqual([begun, ended], [20, 20]);
});

test("threads start when there has been work for them", async (t) => {
  let begun = 0;
  meddle(t, (message) => (begun++, message));
  const engine = await engineOf(t, {});
  engine.lower(FACE).dispose();
  assert.equal(begun, 0);
  await runFace(engine, "xnnpack", 4);
  const { threads } = engine.capabilities();
  assert.equal(begun, threads - 1);
});

test("clients of a pool have one thread each, unless more are asked for", async () => {
  for (const [options, wanted] of [
    [{}, 1],
    [{ threads: 2 }, 2],
  ] as const) {
    const pool = await createPool({ size: 1, ...options });
    const { threads } = await pool.use((client) => client.capabilities());
    assert.equal(threads, wanted);
    await pool.dispose();
  }
});
