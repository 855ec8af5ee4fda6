// Records share nothing: with each other, with copies, with managers.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { createEngine, type Engine, type Programs } from "sconce";
import { failure, file } from "../setup/failure.js";
import { both, ramp, seen, stages } from "./records.js";

let engine: Engine;
beforeEach(async () => (engine = await createEngine()));
afterEach(() => engine.dispose());

const KINDS: [string, () => Programs][] = [
  ["one method", () => file("cnn")],
  ["several methods", both],
];

for (const [kind, programs] of KINDS) {
  test(`the edge manager's record has no maps, ever (${kind})`, () => {
    const edge = engine.toEdge(programs(), { generateEtrecord: true });
    const before = seen(edge.etrecord);
    const transformed = edge.transform(["dce"]);
    const delegated = transformed.toBackend(["xnnpack"]);
    for (const manager of [edge, transformed, delegated]) {
      manager.toExecutorch().etrecord.updateRepresentativeInputs([1]);
      assert.deepEqual(seen(manager.etrecord), before);
      assert.equal(manager.etrecord.maps().debugHandleMap, null);
      assert.equal(manager.etrecord.representativeInputs(), null);
      assert.deepEqual(manager.etrecord.graphMap, {});
    }
  });

  test(`two programs of one edge manager have a record each (${kind})`, () => {
    const edge = engine.toEdge(programs(), { generateEtrecord: true });
    const first = edge.toExecutorch();
    const one = first.etrecord.bytes();
    const second = edge.toBackend(["xnnpack"]).toExecutorch();
    const two = second.etrecord.bytes();
    assert.notDeepEqual(second.etrecord.maps(), first.etrecord.maps());
    second.etrecord.updateReferenceOutputs([[1]]);
    second.etrecord.addExtraExportModules({ again: edge });
    assert.deepEqual(first.etrecord.bytes(), one);
    assert.notDeepEqual(second.etrecord.bytes(), two);
    first.etrecord.updateRepresentativeInputs([2]);
    first.etrecord.updateReferenceOutputs([[2]]);
    assert.deepEqual(second.etrecord.referenceOutputs(), { forward: [[1]] });
    assert.deepEqual(edge.toExecutorch().etrecord.bytes(), one);
  });

  test(`what is added to one record does not show in another (${kind})`, () => {
    const edge = engine.toEdge(programs(), { generateEtrecord: true });
    const lowered = edge.toExecutorch();
    edge.etrecord.addExtraExportModules({ late: edge });
    assert.deepEqual(lowered.etrecord.graphMap, {});
    assert.ok(Object.keys(edge.etrecord.graphMap).length > 0);
    const copy = edge.etrecord.copy();
    copy.addExtraExportModules({ later: edge });
    assert.ok(!stages(edge.etrecord).some((name) => name.startsWith("later/")));
    copy.dispose();
  });

  test(`a copy has the edge stage alone (${kind})`, () => {
    const { etrecord } = engine.lower(programs(), { etrecord: true });
    etrecord.updateReferenceOutputs([[1]]);
    const before = seen(etrecord);
    const copy = etrecord.copy();
    assert.deepEqual(stages(copy), stages(etrecord));
    assert.deepEqual(Object.values(copy.maps()), [null, null, null]);
    assert.equal(copy.referenceOutputs(), null);
    assert.equal(copy.representativeInputs(), null);
    assert.equal(failure(() => copy.bytes()).code, "state");
    copy.updateRepresentativeInputs([ramp(1)]);
    assert.deepEqual(seen(etrecord), before);
    copy.dispose();
    assert.equal(failure(() => copy.inspect()).code, "disposed");
  });

  test(`a record does not change what is lowered (${kind})`, () => {
    const plain = engine.lower(programs(), { partitioner: ["xnnpack"] }).buffer;
    const recorded = engine.lower(programs(), { partitioner: ["xnnpack"], etrecord: true });
    assert.deepEqual(recorded.buffer, plain);
  });
}

test("copies outlive their manager, and the manager's own record does not", () => {
  const lowered = engine.lower(file("mlp"), { etrecord: true });
  const { etrecord } = lowered;
  const copy = etrecord.copy();
  lowered.dispose();
  assert.equal(failure(() => etrecord.inspect()).code, "disposed");
  assert.deepEqual(copy.inspect().methods, ["forward"]);
  copy.dispose();
});

test("a lowering that fails leaves no record for the next one to fill", () => {
  const opened = engine.open(file("mlp"));
  const bad = { generateEtrecord: true, transformPasses: ["nothing"] };
  failure(() => opened.toEdgeTransformAndLower(bad));
  assert.equal(failure(() => opened.toEdge().etrecord).code, "state");
});
