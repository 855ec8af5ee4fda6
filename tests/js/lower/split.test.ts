// One exported method as several, each for its own largest size; and logits of the last position.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createEngine, ExportRecipe, tensor, toNumbers, type Engine, type Tensor } from "sconce";
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
    assert.deepEqual(lowered.methods, ["prefill", "decode"]);
    assert.ok(lowered.delegation()["decode"]);
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
  const whole = engine.load(engine.lower(file("linear")));
  const last = engine.load(engine.lower(file("linear"), { compileConfig: { lastLogits: true } }));
  const [all] = whole.run("forward", [rows(4)]) as [Tensor];
  const [one] = last.run("forward", [rows(4)]) as [Tensor];
  assert.deepEqual(one.shape, [1, 8]);
  one.data.forEach((x, i) => assert.ok(Math.abs(Number(x) - Number(all.data[3 * 8 + i])) < 1e-5));
  const softmax = failure(() =>
    engine.lower(file("mlp_dyn"), { compileConfig: { lastLogits: true } }),
  );
  assert.equal(softmax.code, "unsupported");
  assert.match(softmax.message, /^the first output of method 'forward' is not \[.., positions/);
  const { code, message } = failure(() =>
    engine.lower(file("linear"), { compileConfig: { split: { a: { max: 1 } } } }),
  );
  assert.equal(code, "option");
  assert.match(message, /^method 'forward' does not have one dynamic size among its inputs/);
  for (const program of [whole, last]) program.dispose();
});

test("a model in halves computes in float32 if that is asked for", async () => {
  const whole = engine.load(engine.lower(file("linear_bf16")));
  const wide = engine.load(engine.lower(file("linear_bf16"), { compileConfig: { float32: true } }));
  const values = Float32Array.from({ length: 4 * 16 }, (_, i) => Math.round(8 * Math.sin(i)) / 8);
  const [halves] = whole.run("forward", [tensor(Array.from(values), [4, 16], "bfloat16")]) as [
    Tensor,
  ];
  const [found] = wide.run("forward", [tensor(values, [4, 16])]) as [Tensor];
  assert.equal(halves.dtype, "bfloat16");
  assert.equal(found.dtype, "float32");
  const expected = toNumbers(halves);
  found.data.forEach((x, i) =>
    assert.ok(Math.abs(Number(x) - expected[i]!) <= 2 ** -7 * Math.max(1, Math.abs(expected[i]!))),
  );
  const recipe = ExportRecipe.getRecipe("sconce_llm_8da4w", { groupSize: 0 });
  const session = await engine.export(file("linear_bf16"), { recipe });
  const quantized = engine.load(session.getExecutorchProgramManager().buffer);
  assert.deepEqual(
    quantized
      .inspect()
      .methods[0]!.outputs.map((output) => output.kind === "tensor" && output.dtype),
    ["float32"],
  );
});
