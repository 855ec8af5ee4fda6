// Operators that a backend wants whole: which are kept, and what becomes of those it does not take.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { createEngine, type Engine } from "sconce";
import { check, registered, works } from "./demo_engine.js";
import { failure, file } from "../setup/failure.js";

let engine: Engine;
beforeEach(async () => (engine = await createEngine()));
afterEach(() => engine.dispose());

test("operators that a backend wants are kept whole, and no others", () => {
  const opsIn = (edge: ReturnType<Engine["toEdge"]>): string[] =>
    edge
      .delegation()
      ["forward"]!.nodes.filter((n) => n.delegate !== null)
      .map((n) => n.op);
  const id = registered(engine, {});
  const kept = engine.toEdgeTransformAndLower(file("mlp"), { partitioner: id });
  assert.equal(opsIn(kept).filter((op) => op === "aten::linear").length, 3);
  const lowered = kept.toExecutorch();
  check(engine.load(lowered.buffer), "mlp");
  assert.deepEqual(
    lowered.inspect().stages.map(({ stage }) => stage),
    ["source", "edge", "edge", "executorch"],
  );
  // Wanted, and then not taken: decomposed, with the kernels of this build.
  const fickle = registered(engine, {
    keeps: () => true,
    supports: (node) => node.op === "aten::linear" && node.inputs.includes("x"),
  });
  const once = engine.toEdgeTransformAndLower(file("mlp"), { partitioner: fickle });
  assert.deepEqual(opsIn(once), ["aten::linear"]);
  assert.ok(
    once
      .exportedProgram()
      .nodes()
      .every(({ op }) => op !== "aten::linear"),
  );
  check(engine.load(once.toExecutorch().buffer), "mlp");
  const never = registered(engine, { keeps: () => true, supports: () => "nothing" });
  for (const name of ["tinyformer", "cond", "lstm", "cnn"]) {
    const expanded = engine.toEdgeTransformAndLower(file(name), { partitioner: never });
    assert.deepEqual(opsIn(expanded), []);
    check(engine.load(expanded.toExecutorch().buffer), name);
  }
  // Only one of two methods has a backend that wants it.
  const two = engine.toEdgeTransformAndLower(
    { prefill: file("mlp"), decode: file("mlp") },
    { partitioner: { decode: id }, transformPasses: { decode: ["dce"] } },
  );
  assert.doesNotMatch(two.exportedProgram("prefill").text(), /linear/);
  assert.match(two.exportedProgram("decode").text(), /executorch_call_delegate/);
  const all = engine.lower(file("mlp"), { partitioner: [id, "null"] });
  assert.ok(all.delegation()["forward"]!.nodes.every(({ delegate }) => delegate !== null));
  check(engine.load(all.buffer), "mlp");
});

test("what 'keeps' throws ends the call", () => {
  const mine = new Error("mine");
  const id = registered(engine, {
    keeps: () => {
      throw mine;
    },
  });
  const error = failure(() => engine.toEdgeTransformAndLower(file("mlp"), { partitioner: id }));
  assert.equal(error.cause, mine);
  const vague = registered(engine, { keeps: () => 1 as never });
  const unclear = failure(() =>
    engine.toEdgeTransformAndLower(file("mlp"), { partitioner: vague }),
  );
  assert.equal(unclear.code, "delegate");
  assert.match(
    unclear.message,
    /'keeps' of .* must return true or false for \w+ of method 'forward'/,
  );
  for (const [options, code] of [
    [{ partitioner: "nobody" }, "not_found"],
    [{ partitioner: { absent: "null" } }, "not_found"],
    [{ transformPasses: ["none"] }, "not_found"],
    [{ transformPasses: { absent: ["dce"] } }, "not_found"],
    [{ partitioners: "null" }, "option"],
    [{ partitioner: () => "null" }, "argument"],
  ] as const)
    assert.equal(
      failure(() => engine.toEdgeTransformAndLower(file("mlp"), options as object)).code,
      code,
    );
  works(engine);
});
