// Running what was lowered beside what it would be without delegates.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { createClient, createEngine, type Backend, type Engine, type Tensor } from "sconce";
import demo from "./demo_backend.js";
import { modelPath, SINGLE } from "./reference.js";

let engine: Engine;
beforeEach(async () => (engine = await createEngine()));
afterEach(() => engine.dispose());

const file = (name: string): { path: string } => ({ path: modelPath(`${name}.pt2`) });

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
    const { outputs, delegates } = lowered.verify()["forward"]!;
    assert.ok(!outputs[0]!.isClose);
    for (const delegate of delegates) {
      assert.ok("isClose" in delegate);
      // What follows NaN is NaN either way.
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
  assert.throws(() => lowered.verify(), { code: "delegate", message: /gave 0 results/ });
  assert.ok(engine.lower(file("mlp"), { partitioner: "null" }).verify()["forward"]);
});

test("a worker verifies, too", async () => {
  const client = await createClient();
  const lowered = await client.lower(file("mlp"), { partitioner: "null" });
  const { outputs } = (await lowered.verify())["forward"]!;
  assert.ok(outputs[0]!.isClose);
  client.terminate();
});
