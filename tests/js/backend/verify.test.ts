// Running a lowered program against itself without delegates.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import {
  createClient,
  createEngine,
  type Backend,
  type Engine,
  type ProgressListener,
  type Tensor,
} from "sconce";
import demo from "../setup/demo_backend.js";
import { file } from "../setup/failure.js";
import { SINGLE } from "../setup/reference.js";

let engine: Engine;
beforeEach(async () => (engine = await createEngine()));
afterEach(() => engine.dispose());

for (const name of SINGLE) {
  test(`${name} is as it was`, () => {
    for (const partitioner of [[], ["null"], [demo.id, "null"]]) {
      if (partitioner.length > 1) engine.registerBackend(demo as Backend);
      const lowered = engine.lower(file(name), { partitioner });
      const { inputs, outputs, delegates } = lowered.verify()["forward"]!;
      assert.equal(inputs, "example");
      assert.ok(outputs.length > 0);
      assert.ok(outputs.every(({ isClose, difference }) => isClose && difference !== null));
      assert.equal(delegates.length, lowered.delegation()["forward"]!.delegates.length);
      for (const delegate of delegates)
        if ("reason" in delegate) assert.equal(delegate.reason, "it was not called");
        else assert.ok(delegate.isClose, JSON.stringify(delegate));
      assert.deepEqual(lowered.inspect().diagnostics, []);
    }
  });
}

test("a delegate that computes something else is named", () => {
  const wrong = (id: string, change: (x: number) => number): void =>
    engine.registerBackend({
      ...(demo as Backend),
      id,
      execute: (state, inputs) =>
        demo.execute(state as never, inputs).map((value) => {
          const { shape, data } = value as Tensor;
          const changed = Float32Array.from(data as Float32Array, change);
          return { dtype: "float32" as const, shape, data: changed };
        }),
    });
  wrong("Shifted", (x) => x + 0.5);
  wrong("Broken", () => NaN);
  for (const [id, difference] of [
    ["Shifted", 0.5],
    ["Broken", null],
  ] as const) {
    const lowered = engine.lower(file("mlp"), { partitioner: [id, "null"] });
    assert.equal(lowered.verification, null);
    const { outputs, delegates } = lowered.verify()["forward"]!;
    assert.ok(!outputs[0]!.isClose);
    assert.ok(delegates.some(({ backend }) => backend === id));
    for (const delegate of delegates) {
      assert.ok("isClose" in delegate);
      // Values behind NaN are NaN either way.
      const isWrong = delegate.backend === id && (id !== "Broken" || delegate === delegates[0]);
      assert.equal(delegate.isClose, !isWrong, JSON.stringify(delegate));
      if (!isWrong) continue;
      if (difference === null) assert.equal(delegate.difference, null);
      else assert.ok(Math.abs(delegate.difference! - difference) < 1e-3);
    }
    const warnings = lowered.inspect().diagnostics.filter((d) => d.severity === "warning");
    assert.ok(warnings.some(({ message }) => message.includes(`lowered_module_0`)));
    assert.ok(warnings.some(({ message }) => message.includes(id)));
  }
});

test("lowering verifies when asked to", () => {
  engine.registerBackend({
    ...(demo as Backend),
    execute: (state, inputs) =>
      demo.execute(state as never, inputs).map((value) => {
        const { shape, data } = value as Tensor;
        const changed = Float32Array.from(data as Float32Array, (x) => x + 0.5);
        return { dtype: "float32" as const, shape, data: changed };
      }),
  });
  const lowered = engine.lower(file("mlp"), { partitioner: [demo.id, "null"], verify: true });
  const { outputs, delegates } = lowered.verification!["forward"]!;
  assert.ok(!outputs[0]!.isClose);
  assert.ok(delegates.some((delegate) => "isClose" in delegate && !delegate.isClose));
  const warnings = lowered.inspect().diagnostics.filter((d) => d.severity === "warning");
  assert.ok(warnings.some(({ message }) => /lowered_module_0 .*DemoBackend/.test(message)));
  assert.equal(engine.lower(file("mlp"), { partitioner: "null" }).verification, null);
  assert.equal(engine.lower(file("mlp"), { verify: false }).verification, null);
  const portable = engine.lower(file("mlp"), { verify: true });
  assert.deepEqual(portable.verification!["forward"]!.delegates, []);
  assert.throws(() => engine.lower(file("mlp"), { verify: 1 as never }), { code: "option" });
});

test("verifying can be cancelled", () => {
  const signal = AbortSignal.abort();
  const lowered = engine.lower(file("mlp"), { partitioner: "null" });
  assert.throws(() => lowered.verify({ signal }), { code: "cancelled" });
  assert.ok(lowered.verify()["forward"]);
});

test("progress tells of delegates and methods while they are verified, and can cancel", () => {
  const programs = { a: file("mlp"), b: file("counter_buffer"), c: file("linear") };
  engine.registerBackend(demo as Backend);
  const partitioner = { a: [demo.id, "null"], c: ["null"] };
  const lowered = engine.lower(programs, { partitioner });
  const reported: [done: number, total: number][] = [];
  const stop = new AbortController();
  let at = -1;
  const listen: ProgressListener = ({ phase, done, total }) => {
    if (phase !== "verify") return;
    reported.push([done, total]);
    if (done === at) stop.abort();
  };
  const delegates = Object.values(lowered.verify({ onProgress: listen })).map(
    (method) => method.delegates.length,
  );
  const total = delegates.reduce((sum, count) => sum + count, delegates.length);
  assert.ok(total > 4);
  assert.ok(reported.every(([, of]) => of === total));
  const steps = reported.map(([done]) => done);
  assert.deepEqual([...new Set(steps)], [...steps.keys()].slice(0, total + 1));
  at = 3;
  reported.length = 0;
  const cancelled = { code: "cancelled" };
  const { signal } = stop;
  assert.throws(() => lowered.verify({ onProgress: listen, signal }), cancelled);
  assert.equal(reported.at(-1)![0], at);
  assert.ok(lowered.verify()["a"]);
});

test("several methods, state and external weights are verified", () => {
  const programs = { a: file("counter_buffer"), b: file("counter_buffer"), c: file("mlp_dyn") };
  const lowered = engine.lower(programs, {
    partitioner: { a: "null", c: "null" },
    constantMethods: { n: 3 },
    shareMutableBuffers: true,
    externalConstants: true,
  });
  const all = lowered.verify();
  assert.deepEqual(Object.keys(all), ["a", "b", "c"]);
  for (const { outputs } of Object.values(all)) assert.ok(outputs.every(({ isClose }) => isClose));
  assert.equal(all["b"]!.delegates.length, 0);
});

test("a backend that fails fails the call", () => {
  engine.registerBackend({ ...(demo as Backend), execute: () => [] });
  const lowered = engine.lower(file("mlp"), { partitioner: demo.id });
  const failure = { code: "delegate", message: /gave 0 results/ };
  assert.throws(() => lowered.verify(), failure);
  assert.throws(() => engine.lower(file("mlp"), { partitioner: demo.id, verify: true }), failure);
  assert.ok(engine.lower(file("mlp"), { partitioner: "null" }).verify()["forward"]);
});

test("a worker verifies, too", async () => {
  const client = await createClient();
  const lowered = await client.lower(file("mlp"), { partitioner: "null" });
  const { outputs } = (await lowered.verify())["forward"]!;
  assert.ok(outputs[0]!.isClose);
  assert.equal(lowered.verification, null);
  const verified = await client.lower(file("mlp"), { partitioner: "null", verify: true });
  assert.ok(verified.verification!["forward"]!.outputs[0]!.isClose);
  client.terminate();
});
