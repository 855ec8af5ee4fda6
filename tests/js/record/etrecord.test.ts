// Records: what is in one. The numbered names, here and in its sister files, are behaviours that the
// official class has tests of its own for.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import {
  createEngine,
  type EdgeProgramManager,
  type Engine,
  type ETRecord,
  type ExecutorchProgramManager,
  type Programs,
} from "sconce";
import { failure, file } from "../setup/failure.js";
import { both, stages } from "./records.js";

let engine: Engine;
beforeEach(async () => (engine = await createEngine()));
afterEach(() => engine.dispose());

for (const name of ["mlp", "cnn", "cond", "counter_buffer", "mlp_dyn", "lstm", "quantized_cnn"])
  for (const partitioner of [[], ["xnnpack"]])
    test(`1: ${name} ${partitioner.join()} comes back as it was`, () => {
      const lowered = engine.lower(file(name), { etrecord: true, partitioner });
      const bytes = lowered.etrecord.bytes();
      const parsed = engine.parseEtrecord(bytes);
      assert.equal(engine.detect(bytes), "etrecord");
      assert.deepEqual(parsed.maps(), lowered.etrecord.maps());
      assert.deepEqual(stages(parsed), stages(lowered.etrecord));
      const nodes = (record: ETRecord): string[][] =>
        record.inspect().programs.map(({ stage, method }) =>
          record
            .program(stage, method)
            .nodes()
            .map(({ op }) => op),
        );
      assert.deepEqual(nodes(parsed), nodes(lowered.etrecord));
      assert.deepEqual(parsed.representativeInputs(), lowered.etrecord.representativeInputs());
      assert.deepEqual(parsed.inspect().unknownEntries, []);
      assert.deepEqual(parsed.bytes(), bytes);
    });

test("1: keys of maps are text, and lists stand for delegates", () => {
  const { etrecord } = engine.lower(file("mlp"), { etrecord: true, partitioner: ["xnnpack"] });
  const { debugHandleMap, delegateMap, instructionIdToNumOutsMap } = etrecord.maps();
  assert.deepEqual(Object.keys(debugHandleMap!), ["forward"]);
  assert.ok(Array.isArray(debugHandleMap!["forward"]!["0"]));
  assert.equal(delegateMap!["forward"]!["0"]!.name, "XnnpackBackend");
  assert.deepEqual(instructionIdToNumOutsMap, { forward: { "0": 1 } });
});

test("4: the exported program is that of forward, or of the only method", () => {
  const exported = (programs: Programs): string[] =>
    stages(engine.toEdge(programs, { generateEtrecord: true }).etrecord).filter((name) =>
      name.startsWith("exported_program"),
    );
  assert.deepEqual(exported(file("mlp")), ["exported_program/forward"]);
  assert.deepEqual(exported({ encode: file("encdec.encode") }), ["exported_program/encode"]);
  assert.deepEqual(exported(both()), []);
  assert.deepEqual(exported({ ...(both() as object), forward: file("encdec.forward") }), [
    "exported_program/forward",
  ]);
});

test("5: without being asked for there is none", () => {
  const edge = engine.toEdge(file("mlp"));
  for (const manager of [edge, edge.toExecutorch(), engine.lower(file("mlp"))]) {
    const error = failure(() => manager.etrecord);
    assert.equal(error.code, "state");
    assert.match(error.hint, /generateEtrecord/);
    assert.equal(failure(() => manager.getEtrecord()).code, "state");
  }
});

test("5: every way of asking gives one", () => {
  const generateEtrecord = true;
  const managers: (EdgeProgramManager | ExecutorchProgramManager)[] = [
    engine.toEdge(file("mlp"), { generateEtrecord }),
    engine.open(file("mlp")).toEdge({ generateEtrecord }),
    engine.toEdgeTransformAndLower(file("mlp"), { generateEtrecord, partitioner: ["xnnpack"] }),
    engine.open(file("mlp")).toEdgeTransformAndLower({ generateEtrecord }),
    engine.lower(file("mlp"), { etrecord: true }),
    engine.lower(file("mlp"), { generateEtrecord }),
    engine.lower(file("mlp"), { etrecord: "light", partitioner: ["xnnpack"] }),
  ];
  for (const manager of managers)
    assert.deepEqual(stages(manager.etrecord), [
      "exported_program/forward",
      "edge_dialect_exported_program/forward",
    ]);
  assert.equal(
    failure(() => engine.lower(file("mlp"), { etrecord: "heavy" as never })).code,
    "option",
  );
});

test("6: with a partitioner the edge program is the one before delegation", () => {
  const record = engine.lower(file("cnn"), { etrecord: true, partitioner: ["xnnpack"] }).etrecord;
  const ops = record.program("edge_dialect_exported_program").nodes();
  assert.ok(ops.every(({ op }) => !op.includes("call_delegate")));
  assert.ok(Object.keys(record.maps().delegateMap!["forward"]!).length > 0);
  const { delegateMap } = engine.parseEtrecord(record.bytes()).maps();
  assert.deepEqual(delegateMap, record.maps().delegateMap);
});
