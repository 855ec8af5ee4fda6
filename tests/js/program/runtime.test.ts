// Runtimes: modules that run programs and lower none. They give an engine's bits, or say that an engine is
// needed.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import {
  createEngine,
  SconceError,
  type Backend,
  type Engine,
  type PassFunction,
  type Value,
} from "sconce";
import {
  createRuntime,
  createRuntimeClient,
  tensor,
  type Runtime,
  type RuntimeOptions,
} from "sconce/run";
import demo from "../setup/demo_backend.js";
import { difference, modelPath, readCases, SINGLE, testsPath } from "../setup/reference.js";

const dist = dirname(fileURLToPath(import.meta.resolve("sconce")));

let engine: Engine;
let runtime: Runtime;
before(async () => {
  // One flavour for both, so that results are equal to the bit.
  const options = { threads: 1, deterministic: true };
  engine = await createEngine(options);
  runtime = await createRuntime(options);
});
after(() => {
  engine.dispose();
  runtime.dispose();
});

function lower(name: string, partitioner?: string): Uint8Array<ArrayBuffer> {
  const file = { path: modelPath(`${name}.pt2`) };
  const lowered = engine.lower(file, partitioner === undefined ? {} : { partitioner });
  try {
    return lowered.buffer;
  } finally {
    lowered.dispose();
  }
}

/** Runs all recorded calls, in an engine and in a runtime. */
function checkAlike(pte: Uint8Array, name: string): void {
  const [here, there] = [runtime.load(pte), engine.load(pte)];
  for (const { inputs } of readCases(name))
    assert.deepEqual(here.run("forward", inputs), there.run("forward", inputs), name);
  here.reset();
  there.reset();
  const [{ inputs } = { inputs: [] as Value[] }] = readCases(name);
  assert.deepEqual(here.run("forward", inputs), there.run("forward", inputs), name);
  assert.deepEqual(here.inspect().methods, there.inspect().methods);
  here.dispose();
  there.dispose();
}

for (const name of SINGLE) {
  test(`${name} gives in a runtime what it gives in an engine`, () => {
    checkAlike(lower(name), name);
    checkAlike(lower(name, "xnnpack"), name);
  });
}

test("files of the official exporter run in a runtime", () => {
  const folder = testsPath("data/pte");
  const names = readdirSync(folder).filter((name) => name.endsWith(".pte"));
  assert.ok(names.length > 3);
  for (const name of names) {
    const pte = readFileSync(join(folder, name));
    const program = runtime.load(pte);
    const whole = engine.load(pte);
    assert.deepEqual(program.inspect().methods, whole.inspect().methods);
    program.dispose();
    whole.dispose();
  }
});

test("an operator that runtimes leave out is named, with the way to run it", () => {
  const rare: PassFunction = ({ graph }) => {
    for (const node of graph.find("aten::tanh")) {
      const other = graph.insertBefore(node, "aten::erfinv", [node.args[0]!]);
      node.replaceAllUsesWith(other);
      graph.erase(node);
    }
  };
  const lowered = engine.lower(
    { path: modelPath("mlp.pt2") },
    { transformPasses: [rare], target: "sconce" },
  );
  const pte = lowered.buffer;
  lowered.dispose();
  const { inputs } = readCases("mlp")[0]!;
  assert.throws(
    () => runtime.load(pte).run("forward", inputs),
    (error: SconceError) => {
      assert.equal(error.code, "operator_missing");
      assert.match(error.message, /aten::erfinv/);
      assert.match(error.hint ?? "", /createEngine\(\)/);
      return true;
    },
  );
  assert.equal(engine.load(pte).run("forward", inputs).length, 1);
});

test("a runtime refuses what is to be lowered", () => {
  assert.throws(
    () => runtime.load({ path: modelPath("mlp.pt2") }),
    (error: SconceError) => /pt2.*lower\(\)/.test(error.hint ?? ""),
  );
});

test("bundled programs verify in a runtime, and their dumps open in an inspector", () => {
  const { inputs } = readCases("cnn")[0]!;
  const bundled = engine.bundle(lower("cnn", "xnnpack"), [
    { methodName: "forward", testCases: [{ inputs }] },
  ]);
  const program = runtime.load(bundled);
  assert.equal(program.testSuites().length, 1);
  const [verdict] = program.verify({ events: true });
  assert.ok(verdict!.outputs.every(({ isClose }) => isClose));
  const { etdump, events } = program.etdump();
  assert.ok(events > 0);
  const inspector = engine.inspector({ etdump });
  assert.ok(inspector.ops().length > 0);
  inspector.dispose();
  program.dispose();
});

test("a backend of the caller's own runs in a runtime", () => {
  const backend = { ...(demo as Backend), id: "RuntimeDemo" };
  engine.registerBackend(backend);
  runtime.registerBackend(backend);
  assert.throws(() => runtime.registerBackend(backend), { code: "argument" });
  const pte = lower("mlp", "RuntimeDemo");
  const program = runtime.load(pte);
  for (const { inputs, outputs } of readCases("mlp")) {
    const results = program.run("forward", inputs);
    outputs.forEach((expected, i) => assert.equal(difference(results[i], expected), ""));
  }
  program.dispose();
});

test("a client has a runtime in a worker, with threads", async () => {
  const pte = lower("cnn", "xnnpack");
  const client = await createRuntimeClient({ threads: 2 });
  const { threads, binary } = await client.capabilities();
  assert.equal(threads, 2);
  assert.match(binary, /threads$/);
  const program = await client.load(pte);
  for (const { inputs, outputs } of readCases("cnn")) {
    const results = await program.run("forward", inputs);
    outputs.forEach((expected, i) => assert.equal(difference(results[i], expected), ""));
  }
  assert.equal("lower" in client, false);
  await assert.rejects(client.load(new Uint8Array(9)), SconceError);
  client.terminate();
});

test("each flavour of the runtime is smaller than half of the whole", async () => {
  for (const name of ["", "relaxed", "threads", "relaxed-threads"]) {
    const [own, whole] = [`run${name && `-${name}`}.wasm`, `${name || "sconce"}.wasm`];
    const [small, large] = [own, whole].map((file) => readFileSync(join(dist, file)));
    assert.ok(small!.length < large!.length / 2, own);
  }
});

test("a module is taken for what it is", async () => {
  const wasm = (name: string): RuntimeOptions => ({ wasm: readFileSync(join(dist, name)) });
  await assert.rejects(createEngine(wasm("run.wasm")), (error: SconceError) => {
    assert.match(error.message, /only runs programs/);
    assert.match(error.hint ?? "", /createRuntime\(\)/);
    return true;
  });
  // The whole runs programs, too.
  const whole = await createRuntime(wasm("sconce.wasm"));
  const program = whole.load(lower("add_mul"));
  assert.equal(program.run("forward", readCases("add_mul")[0]!.inputs).length, 1);
  whole.dispose();
  await assert.rejects(createRuntime({ threads: 0 }), { code: "option" });
  assert.throws(() => runtime.load(new Uint8Array(0)), SconceError);
  assert.equal(tensor([1, 2]).shape.length, 1);
});
