// One exported method as several, each for its own largest size; and logits of the last position.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createEngine, tensor, type Engine, type Tensor } from "sconce";
import { failure, file } from "../setup/failure.js";

let engine: Engine;
before(async () => (engine = await createEngine()));
after(() => engine.dispose());

const rows = (count: number): Tensor =>
  tensor(
    Float32Array.from({ length: count * 16 }, (_, i) => Math.sin(i)),
    [count, 16],
  );

test("the methods of a split program take their own sizes and give the same numbers", () => {
  const whole = engine.load(engine.lower(file("mlp_dyn")));
  for (const partitioner of [undefined, "xnnpack"]) {
    const lowered = engine.lower(file("mlp_dyn"), {
      compileConfig: { split: { prefill: { max: 8 }, decode: { max: 2 } } },
      ...(partitioner && { partitioner }),
    });
    assert.deepEqual(
      lowered.inspect().methods.map(({ name }) => name),
      ["prefill", "decode"],
    );
    const program = engine.load(lowered);
    for (const [method, count] of [
      ["prefill", 8],
      ["prefill", 3],
      ["decode", 2],
    ] as const) {
      const [expected] = whole.run("forward", [rows(count)]) as [Tensor];
      const [found] = program.run(method, [rows(count)]) as [Tensor];
      assert.deepEqual(found.shape, expected.shape);
      found.data.forEach((x, i) =>
        assert.ok(Math.abs(Number(x) - Number(expected.data[i])) < 1e-5),
      );
    }
    assert.equal(failure(() => program.run("decode", [rows(3)])).code, "input");
    program.dispose();
  }
  whole.dispose();
});

test("logits of the last position are those of the whole program", () => {
  const whole = engine.load(engine.lower(file("mlp_dyn")));
  const last = engine.load(engine.lower(file("mlp_dyn"), { compileConfig: { lastLogits: true } }));
  const [all] = whole.run("forward", [rows(5)]) as [Tensor];
  const [one] = last.run("forward", [rows(5)]) as [Tensor];
  const width = all.shape[1]!;
  assert.deepEqual(one.shape, [1, width]);
  one.data.forEach((x, i) =>
    assert.ok(Math.abs(Number(x) - Number(all.data[4 * width + i])) < 1e-5),
  );
  const { code, message } = failure(() =>
    engine.lower(file("cnn"), { compileConfig: { lastLogits: true, split: { a: { max: 1 } } } }),
  );
  assert.equal(code, "option");
  assert.match(message, /^method 'forward' does not have one dynamic size among its inputs/);
  for (const program of [whole, last]) program.dispose();
});
