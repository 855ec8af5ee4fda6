// Records: the inputs and outputs that they hold.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { createEngine, type Engine, type Tensor } from "sconce";
import { file } from "../setup/failure.js";
import { ramp } from "./records.js";

let engine: Engine;
beforeEach(async () => (engine = await createEngine()));
afterEach(() => engine.dispose());

test("10: inputs and outputs are replaced, and survive a file", () => {
  const { etrecord } = engine.lower(file("mlp"), { etrecord: true });
  const inputs = [ramp(4), 7, 1.5, true, "text", null, [ramp(2), [-3, 2n ** 60n]]];
  etrecord.updateRepresentativeInputs([ramp(9)]);
  etrecord.updateRepresentativeInputs(inputs);
  const halves: Tensor = { dtype: "bfloat16", shape: [1, 2], data: Uint16Array.of(1, 2) };
  etrecord.updateReferenceOutputs([[ramp(3)], [halves, 2]]);
  assert.deepEqual(etrecord.referenceOutputs(), { forward: [[ramp(3)], [halves, 2]] });
  const byMethod = { forward: [[ramp(2)]], other: [[ramp(1), ramp(0)]] };
  etrecord.updateReferenceOutputs(byMethod);
  const parsed = engine.parseEtrecord(etrecord.bytes());
  for (const record of [etrecord, parsed]) {
    assert.deepEqual(record.representativeInputs(), inputs);
    assert.deepEqual(record.referenceOutputs(), byMethod);
  }
  etrecord.updateRepresentativeInputs(null);
  etrecord.updateReferenceOutputs(null);
  assert.equal(etrecord.representativeInputs(), null);
  assert.equal(engine.parseEtrecord(etrecord.bytes()).referenceOutputs(), null);
});

test("10: the inputs are those of the file unless others are given", () => {
  const { etrecord } = engine.lower(file("mlp"), { etrecord: true });
  const [input] = etrecord.representativeInputs() as Tensor[];
  assert.equal(input!.dtype, "float32");
  const pte = engine.load(engine.lower(file("mlp")).buffer);
  assert.deepEqual(input!.shape, pte.inspect().methods[0]!.inputs[0]!.shape);
  const { etrecord: light } = engine.lower(file("mlp"), { etrecord: "light" });
  assert.deepEqual(light.representativeInputs(), [input]);
});
