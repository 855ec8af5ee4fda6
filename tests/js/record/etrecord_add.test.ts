// Records: the rules by which something is added, and when a record is complete.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { createEngine, type Engine, type ETRecord } from "sconce";
import { failure, file } from "../setup/failure.js";
import { seen, stages } from "./records.js";

let engine: Engine;
beforeEach(async () => (engine = await createEngine()));
afterEach(() => engine.dispose());

const RESERVED = [
  "ETRECORD_V0",
  "exported_program",
  "export_graph_id",
  "edge_dialect_exported_program",
  "et_dialect_graph_module",
  "debug_handle_map",
  "delegate_map",
  "instruction_id_to_num_outs_map",
  "reference_outputs",
  "representative_inputs",
];

for (const name of RESERVED)
  test(`3: ${name} is no name of an extra stage`, () => {
    const edge = engine.toEdge(file("mlp"), { generateEtrecord: true });
    for (const taken of [name, `my_${name}_too`]) {
      const error = failure(() => edge.etrecord.addExtraExportModules({ [taken]: edge }));
      assert.equal(error.code, "argument");
      assert.ok(error.message.includes(name));
    }
    assert.deepEqual(Object.keys(edge.etrecord.graphMap), []);
  });

test("3: what is added has to be of the right kind", () => {
  const opened = engine.open(file("mlp"));
  const edge = opened.toEdge();
  const program = edge.toExecutorch();
  const record = edge.createEtrecord();
  const wrong: (() => unknown)[] = [
    () => record.addExportedProgram(edge as never),
    () => record.addEdgeDialectProgram(opened as never),
    () => record.addEdgeDialectProgram(null as never),
    () => record.addExecutorchProgram(edge as never),
    () => record.addExecutorchProgram({} as never),
    () => record.addExtraExportModules({ a: program as never }),
    () => record.addExtraExportModules([edge] as never),
    () => record.updateRepresentativeInputs(7 as never),
    () => record.updateRepresentativeInputs([{}] as never),
    () => record.updateReferenceOutputs({ forward: 7 } as never),
    () => record.addEdgeDialectProgram(engine.toEdge(file("mlp"))),
  ];
  for (const call of wrong) assert.equal(failure(call).code, "argument");
  assert.deepEqual(stages(record), []);
});

test("7: what is missing is named when it is saved", () => {
  const opened = engine.open(file("mlp"));
  const edge = opened.toEdge({ generateEtrecord: true });
  const message = (record: ETRecord): string => {
    const error = failure(() => record.bytes());
    assert.equal(error.code, "state");
    return error.message;
  };
  assert.match(message(edge.etrecord), /no data of an executorch program/);
  const record = edge.createEtrecord();
  assert.match(message(record), /no edge program and no data of an executorch program/);
  record.addExecutorchProgram(edge.toExecutorch());
  assert.match(message(record), /no edge program$/);
});

test("8: everything is added once", () => {
  const opened = engine.open(file("mlp"));
  const edge = opened.toEdge();
  const program = edge.toExecutorch();
  const record = edge.createEtrecord();
  const adding = [
    (): void => record.addExportedProgram(opened),
    (): void => record.addEdgeDialectProgram(edge),
    (): void => record.addExecutorchProgram(program),
  ];
  record.addExportedProgram(null);
  for (const add of adding) {
    add();
    const before = seen(record);
    assert.equal(failure(add).code, "state");
    assert.deepEqual(seen(record), before);
  }
});

test("8: a part of the data refuses the rest, too", () => {
  const edge = engine.toEdge(file("mlp"));
  const program = edge.toExecutorch();
  for (const fill of [
    (record: ETRecord): void => record.updateRepresentativeInputs([1]),
    (record: ETRecord): void => record.updateReferenceOutputs([[1]]),
  ]) {
    const record = edge.createEtrecord();
    fill(record);
    assert.equal(failure(() => record.addExecutorchProgram(program)).code, "state");
    assert.equal(record.maps().debugHandleMap, null);
  }
  // A file that was saved without a number of the exported graph has none.
  const parsed = engine.parseEtrecord(
    engine.toEdge(file("mlp"), { generateEtrecord: true }).toExecutorch().etrecord.bytes(),
  );
  assert.equal(failure(() => parsed.addExecutorchProgram(program)).code, "argument");
});

test("9: one after the other, then saved and parsed", () => {
  const opened = engine.open(file("cnn"));
  const edge = opened.toEdge();
  const record = edge.createEtrecord();
  record.addExportedProgram(opened);
  record.addEdgeDialectProgram(edge);
  record.addExtraExportModules({ first: opened, second: edge });
  record.addExecutorchProgram(edge.toExecutorch());
  const parsed = engine.parseEtrecord(record.bytes());
  assert.deepEqual(stages(parsed), [
    "exported_program/forward",
    "edge_dialect_exported_program/forward",
    "first/forward",
    "second/forward",
  ]);
  assert.deepEqual(Object.keys(parsed.graphMap), ["first/forward", "second/forward"]);
  assert.deepEqual(parsed.maps(), record.maps());
  assert.equal(parsed.representativeInputs(), null);
});
