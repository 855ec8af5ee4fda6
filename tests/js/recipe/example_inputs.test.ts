// The inputs that programs were exported with, as their files hold them.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { createClient, createEngine, type Engine, type RecordValue, type Tensor } from "sconce";
import { failure, file } from "../setup/failure.js";
import { modelPath, readCases } from "../setup/reference.js";
import { withoutExamples } from "../setup/zip.js";

let engine: Engine;
before(async () => (engine = await createEngine()));
after(() => engine.dispose());

const plain = (value: RecordValue): unknown => {
  const { dtype, shape, data } = value as Tensor;
  return { dtype, shape, data };
};

for (const name of ["mlp", "cnn", "linear_bf16", "channels_last_input", "mlp_dyn"])
  test(`${name} tells the inputs that it was exported with`, () => {
    const opened = engine.open(file(name));
    const found = opened.exampleInputs()!;
    assert.deepEqual(found.map(plain), readCases(name)[0]!.inputs.map(plain));
    assert.deepEqual(opened.exampleInputs("forward"), found);
    opened.dispose();
  });

test("they are told of each method, also after it was lowered, and of no other", () => {
  const opened = engine.open({ a: file("mlp"), b: file("cnn") });
  const shapes = (method: string): unknown =>
    opened.exampleInputs(method)!.map((value) => (value as Tensor).shape);
  const before = [shapes("a"), shapes("b")];
  assert.notDeepEqual(before[0], before[1]);
  const edge = opened.toEdge();
  assert.deepEqual([shapes("a"), shapes("b")], before);
  assert.equal(failure(() => opened.exampleInputs("c")).code, "not_found");
  assert.equal(failure(() => opened.exampleInputs()).code, "not_found");
  edge.dispose();
  opened.dispose();
  assert.equal(failure(() => opened.exampleInputs("a")).code, "disposed");
});

test("a file without example inputs has none", () => {
  const opened = engine.open(withoutExamples("mlp"));
  assert.equal(opened.exampleInputs(), null);
  opened.dispose();
});

test("a worker tells them, and keeps no copy that could vanish", async () => {
  const client = await createClient();
  const opened = await client.open(readFileSync(modelPath("mlp.pt2")));
  for (let i = 0; i < 2; i++)
    assert.deepEqual(
      (await opened.exampleInputs())!.map(plain),
      readCases("mlp")[0]!.inputs.map(plain),
    );
  client.terminate();
});
