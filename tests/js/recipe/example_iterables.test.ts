// Example calls that are made when there is need for them: iterables, async ones and generators, in
// the engine and across a worker.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { tensor, type ExportOptions, type InputTuple } from "sconce";
import { withBoth } from "../setup/both.js";
import { modelPath } from "../setup/reference.js";
import { rejected } from "../setup/rejected.js";

const recipe = "xnnpack_pt2e_int8_static_per_channel";
const mlp = readFileSync(modelPath("mlp.pt2"));
const { engine, client } = await withBoth();

const call = (fill: number): InputTuple => [tensor(new Float32Array(64).fill(fill), [4, 16])];

/** Calls one by one, with a note of what was asked for and whether the end was announced. */
function watched(count: number): {
  calls: AsyncGenerator<InputTuple>;
  seen: { asked: number; isClosed: boolean };
} {
  const seen = { asked: 0, isClosed: false };
  async function* calls(): AsyncGenerator<InputTuple> {
    try {
      for (let i = 0; i < count; i++) {
        seen.asked++;
        yield call(i - 2);
        await Promise.resolve();
      }
    } finally {
      seen.isClosed = true;
    }
  }
  return { calls: calls(), seen };
}

async function exported(exampleInputs: ExportOptions["exampleInputs"]): Promise<unknown> {
  const session = await engine.export(mlp, {
    recipe,
    exampleInputs: exampleInputs!,
    sensitivity: true,
  });
  const made = { pte: session.getPteBuffer(), report: session.quantizationReport() };
  session.dispose();
  return made;
}

const list = (count: number): InputTuple[] => Array.from({ length: count }, (_, i) => call(i - 2));

test("a generator gives the program and the report that a list of its calls gives", async () => {
  for (const count of [1, 2, 3, 7]) {
    const { calls, seen } = watched(count);
    assert.deepEqual(await exported(calls), await exported(list(count)), `${count}`);
    assert.deepEqual(seen, { asked: count, isClosed: true });
  }
});

test("iterables are taken by method, and a set may be gone through again", async () => {
  const calls = new Set(list(4));
  const options = { recipe, exampleInputs: { forward: calls } };
  const session = await engine.export(mlp, options);
  const first = session.getPteBuffer();
  await session.run();
  assert.deepEqual(session.getPteBuffer(), first);
  assert.equal(session.quantizationReport()!.methods["forward"]!.calibrationBatches, 4);
  session.dispose();
});

test("progress counts the calls of an iterable that tells how many there are", async () => {
  const totals = async (exampleInputs: Iterable<InputTuple>): Promise<Set<number>> => {
    const seen = new Set<number>();
    const onProgress: ExportOptions["onProgress"] = ({ phase, total }) => {
      if (phase === "calibrate") seen.add(total);
    };
    (await engine.export(mlp, { recipe, exampleInputs, onProgress })).dispose();
    return seen;
  };
  const calls = list(5);
  const counted = { length: 5, [Symbol.iterator]: () => calls.values() };
  for (const given of [calls, new Set(calls), counted])
    assert.deepEqual(await totals(given), new Set([5]));
  assert.deepEqual(await totals(calls.values()), new Set([0]));
});

test("one array that is filled again for each call is as good as new ones", async () => {
  const data = new Float32Array(64);
  function* refilled(): Generator<InputTuple> {
    for (let i = 0; i < 5; i++) {
      data.fill(i - 2);
      yield [tensor(data, [4, 16])];
    }
  }
  assert.deepEqual(await exported(refilled()), await exported(list(5)));
});

test("calls are asked for one after the other, and no more of them after a failure", async () => {
  const seen = { most: 0, isClosed: false };
  function* calls(): Generator<InputTuple> {
    try {
      for (let i = 0; i < 100; i++) {
        seen.most = i;
        yield i === 5 ? [tensor([1, 2])] : call(i);
      }
    } finally {
      seen.isClosed = true;
    }
  }
  const error = await rejected(() => engine.export(mlp, { recipe, exampleInputs: calls() }));
  assert.equal(error.code, "input");
  assert.match(
    error.message,
    /call 5 of the example inputs of method 'forward' is a float32 tensor/,
  );
  assert.deepEqual(seen, { most: 5, isClosed: true });
});

test("only two calls are read where nothing calibrates", async () => {
  const { calls, seen } = watched(50);
  const session = await engine.export(mlp, { recipe: "portable", exampleInputs: calls });
  assert.deepEqual(session.getExampleInput(), call(-2));
  assert.deepEqual(seen, { asked: 2, isClosed: true });
  session.dispose();
});

test("an iterator is good for one run, and that is said", async () => {
  const session = engine.createExportSession(mlp, { recipe, exampleInputs: watched(3).calls });
  await session.run();
  const error = await rejected(() => session.run());
  assert.equal(error.code, "state");
  assert.match(error.message, /an iterator that another run has used up/);
  assert.match(error.hint, /Symbol\.asyncIterator/);
  session.dispose();
});

test("a tensor in the place of the calls, and a call in that of the list, are told how it is written", async () => {
  const [x] = call(1);
  for (const exampleInputs of [x, [x], { forward: x }] as never[]) {
    const error = await rejected(() => engine.export(mlp, { recipe, exampleInputs }));
    assert.equal(error.code, "argument");
    assert.match(error.message, /'exampleInputs' of method 'forward' must be a list of calls/);
    assert.match(error.hint, /\[\[x\]\] is one call with one input/);
  }
});

test("an iterable that waits for ever ends with the signal", async () => {
  const controller = new AbortController();
  async function* waiting(): AsyncGenerator<InputTuple> {
    yield call(1);
    yield call(2);
    controller.abort();
    await new Promise(() => undefined);
  }
  const options = { recipe, exampleInputs: waiting(), signal: controller.signal };
  assert.equal((await rejected(() => engine.export(mlp, options))).code, "cancelled");
});

// --- Across a worker ---------------------------------------------------------------------------------

test("a worker asks for the calls of a generator one by one", async () => {
  const { calls, seen } = watched(6);
  const session = await client.export(mlp, { recipe, exampleInputs: { forward: calls } });
  const here = await engine.export(mlp, { recipe, exampleInputs: list(6) });
  assert.deepEqual(await session.getPteBuffer(), here.getPteBuffer());
  assert.deepEqual(seen, { asked: 6, isClosed: true });
  here.dispose();
  await session.dispose();
});

test("what a generator throws is what its call throws, here and across a worker", async () => {
  const boom = new RangeError("no such photo");
  function* failing(): Generator<InputTuple> {
    yield call(1);
    yield call(2);
    yield call(3);
    throw boom;
  }
  for (const host of [engine, client]) {
    const made = host.export(mlp, { recipe, exampleInputs: failing() });
    await assert.rejects(Promise.resolve(made), (error) => error === boom);
  }
});

test("a call that fails in the worker before it runs asks for nothing", async () => {
  const { calls, seen } = watched(9);
  const error = await rejected(() =>
    client.export(mlp, { recipe, exampleInputs: { forwrd: calls } }),
  );
  assert.equal(error.code, "not_found");
  assert.match(error.hint, /Did you mean 'forward'\?/);
  assert.equal(seen.asked, 0);
});
