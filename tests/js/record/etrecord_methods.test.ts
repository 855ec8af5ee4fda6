// Records of several methods, and of stages in between.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { createEngine, type Engine } from "sconce";
import { failure, file } from "../setup/failure.js";
import { both, stages } from "./records.js";
import { readZip } from "../setup/zip.js";

let engine: Engine;
beforeEach(async () => (engine = await createEngine()));
afterEach(() => engine.dispose());

for (const partitioner of [[], ["xnnpack"]])
  test(`11: of several methods each has its program and its maps (${partitioner.join()})`, () => {
    const lowered = engine.lower(both(), { etrecord: true, partitioner });
    const parsed = engine.parseEtrecord(lowered.etrecord.bytes());
    for (const record of [lowered.etrecord, parsed]) {
      const programs = record.edgeDialectProgram as Record<string, unknown>;
      assert.deepEqual(Object.keys(programs).sort(), ["decode", "encode"]);
      for (const map of Object.values(record.maps()))
        assert.deepEqual(Object.keys(map as object), ["encode", "decode"]);
    }
    assert.deepEqual(parsed.maps(), lowered.etrecord.maps());
  });

test("11: one method reads back as a program", () => {
  const parsed = engine.parseEtrecord(
    engine.lower(file("mlp"), { etrecord: true }).etrecord.bytes(),
  );
  const edge = parsed.edgeDialectProgram as { text(): string };
  assert.equal(edge.text(), parsed.program("edge_dialect_exported_program").text());
  assert.equal(parsed.exportedProgram!.method, "forward");
});

test("11: any method's name survives, and the writer warns of those that others drop", () => {
  const lowered = engine.lower(
    { get_constants: file("mlp"), load_state_dict: file("linear") },
    { etrecord: true },
  );
  const parsed = engine.parseEtrecord(lowered.etrecord.bytes());
  assert.deepEqual(parsed.inspect().methods.sort(), ["get_constants", "load_state_dict"]);
  assert.deepEqual(parsed.inspect().unknownEntries, []);
  const warnings = lowered.inspect().diagnostics.filter(({ severity }) => severity === "warning");
  for (const name of ["get_constants", "load_state_dict"])
    assert.ok(warnings.some(({ message }) => message.includes(name)));
});

test("11: two files of one name are refused", () => {
  const { etrecord } = engine.lower(
    { a: file("mlp"), a_constants: file("linear") },
    { etrecord: true },
  );
  const error = failure(() => etrecord.bytes());
  assert.equal(error.code, "argument");
  assert.match(error.message, /a_constants/);
});

test("11: a record of one method of several is one that knows forward only", () => {
  const { etrecord } = engine.lower(both(), { etrecord: true, partitioner: ["xnnpack"] });
  const parsed = engine.parseEtrecord(etrecord.bytes({ method: "decode" }));
  assert.deepEqual(stages(parsed), [
    "exported_program/forward",
    "edge_dialect_exported_program/forward",
  ]);
  const { debugHandleMap } = etrecord.maps();
  assert.deepEqual(parsed.maps().debugHandleMap, { forward: debugHandleMap!["decode"] });
  assert.ok(parsed.representativeInputs());
  // Its nodes name those that they come from, though a record of both has no such program.
  assert.equal(etrecord.inspect().exportGraphId, 0);
  assert.equal(parsed.inspect().exportGraphId, 1);
  const edge = readZip(Buffer.from(etrecord.bytes({ method: "decode" }))).find(({ name }) =>
    /^edge_dialect_exported_program.*forward$/.test(name.toString()),
  );
  assert.match(edge!.data.toString(), /"from_node"/);
  assert.equal(failure(() => etrecord.bytes({ method: "other" })).code, "not_found");
});

test("12: edge_after_transform is there only if passes were given", () => {
  const generateEtrecord = true;
  const transformed = engine.toEdgeTransformAndLower(both(), {
    generateEtrecord,
    transformPasses: ["dce"],
    partitioner: ["xnnpack"],
  });
  assert.deepEqual(Object.keys(transformed.etrecord.graphMap), [
    "edge_after_transform/encode",
    "edge_after_transform/decode",
  ]);
  const parsed = engine.parseEtrecord(transformed.toExecutorch().etrecord.bytes());
  assert.deepEqual(Object.keys(parsed.graphMap), Object.keys(transformed.etrecord.graphMap));
  for (const options of [{}, { transformPasses: [] }, { partitioner: ["xnnpack"] }]) {
    const edge = engine.toEdgeTransformAndLower(file("mlp"), { generateEtrecord, ...options });
    assert.deepEqual(edge.etrecord.graphMap, {});
  }
});
