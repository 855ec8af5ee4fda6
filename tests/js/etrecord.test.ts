// Records: what is kept of a lowering, when, and what comes back from a file. The numbered names are
// behaviours that the official class has tests of its own for.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { fileURLToPath } from "node:url";
import { crc32, deflateRawSync } from "node:zlib";
import {
  createClient,
  createEngine,
  tensor,
  type DebugHandleMap,
  type EdgeProgramManager,
  type Engine,
  type ETRecord,
  type ExecutorchProgramManager,
  type Programs,
  type Tensor,
} from "sconce";
import { sconce } from "./command.js";
import { failure, file } from "./failure.js";
import { modelPath } from "./reference.js";
import { readZip, writeZip, type Entry } from "./zip.js";

let engine: Engine;
beforeEach(async () => (engine = await createEngine()));
afterEach(() => engine.dispose());

const both = (): Programs => ({ encode: file("encdec.encode"), decode: file("encdec.decode") });

/** All that a record says, without its inputs and outputs. */
const seen = (record: ETRecord): object => {
  const { diagnostics: _, ...report } = record.inspect();
  const texts = report.programs.map(({ stage, method }) => record.program(stage, method).text());
  return { report, texts, maps: record.maps() };
};

function stages(record: ETRecord): string[] {
  return record.inspect().programs.map(({ stage, method }) => `${stage}/${method}`);
}

const names = (bytes: Uint8Array): string[] =>
  readZip(Buffer.from(bytes)).map(({ name }) => name.toString());

// --- 1 to 6: what is in a record -----------------------------------------------------------------

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

// --- 3, 7, 8, 9: rules of adding -----------------------------------------------------------------

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

// --- 2, 10: inputs and outputs -------------------------------------------------------------------

const ramp = (count: number): Tensor => tensor(Float32Array.from({ length: count }, (_, i) => i));

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

// --- 11, 12: several methods, stages -------------------------------------------------------------

for (const partitioner of [[], ["xnnpack"]])
  test(`11: of several methods each has its program and its maps (${partitioner.join()})`, () => {
    const lowered = engine.lower(both(), { etrecord: true, partitioner });
    const parsed = engine.parseEtrecord(lowered.etrecord.bytes());
    for (const record of [lowered.etrecord, parsed]) {
      const programs = record.edgeDialectProgram as Record<string, unknown>;
      assert.deepEqual(Object.keys(programs).sort(), ["decode", "encode"]);
      for (const map of Object.values(record.maps()))
        assert.deepEqual(Object.keys(map as object), ["decode", "encode"]);
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

// --- Nothing is shared ---------------------------------------------------------------------------

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

// --- Files ---------------------------------------------------------------------------------------

test("the layout is the one for several methods", () => {
  const bytes = engine.lower(file("mlp"), { etrecord: true }).etrecord.bytes();
  const four = (base: string): string[] =>
    ["", "_state_dict", "_constants", "_example_inputs"].map((suffix) => base + suffix);
  assert.deepEqual(names(bytes), [
    "ETRECORD_V0",
    ...four("exported_program"),
    ...four("edge_dialect_exported_program/forward"),
    "debug_handle_map",
    "delegate_map",
    "instruction_id_to_num_outs_map",
    "representative_inputs",
    "export_graph_id",
  ]);
});

test("a light record has no weights, and says so", () => {
  const { etrecord } = engine.lower(file("cnn"), { etrecord: "light" });
  const light = etrecord.bytes();
  const full = etrecord.bytes({ light: false });
  assert.ok(light.length < full.length - 10_000);
  const weights = (bytes: Uint8Array): boolean[] =>
    engine
      .parseEtrecord(bytes)
      .inspect()
      .programs.map(({ hasWeights }) => hasWeights);
  assert.deepEqual(weights(light), [false, false]);
  assert.deepEqual(weights(full), [true, true]);
  assert.deepEqual(engine.parseEtrecord(light).maps(), etrecord.maps());
  assert.deepEqual(engine.parseEtrecord(light).bytes(), light);
});

test("bytes, blobs and sinks get the same file", async () => {
  const { etrecord } = engine.lower(file("cnn"), { etrecord: true, partitioner: ["xnnpack"] });
  const bytes = etrecord.bytes();
  assert.deepEqual(new Uint8Array(await etrecord.toBlob().arrayBuffer()), bytes);
  const pieces: Uint8Array[] = [];
  await etrecord.save((piece) => void pieces.push(piece));
  assert.deepEqual(new Uint8Array(Buffer.concat(pieces)), bytes);
});

test("the same lowering gives the same file", () => {
  const once = (): Uint8Array =>
    engine.lower(both(), { etrecord: true, partitioner: ["xnnpack"] }).etrecord.bytes();
  assert.deepEqual(once(), once());
});

test("what is read and written again and again takes no more memory", async () => {
  const lowered = engine.lower(file("cnn"), { etrecord: true });
  const { etrecord } = lowered;
  const large = tensor(new Float32Array(150_000));
  const calls = {
    bytes: () => etrecord.bytes(),
    toBlob: () => etrecord.toBlob(),
    save: () => etrecord.save(new WritableStream()),
    inputs: () => etrecord.representativeInputs(),
    updateRepresentativeInputs: () => etrecord.updateRepresentativeInputs([large]),
    updateReferenceOutputs: () => etrecord.updateReferenceOutputs([[large]]),
    outputs: () => etrecord.referenceOutputs(),
  };
  for (const [name, call] of Object.entries(calls)) {
    for (let i = 0; i < 5; i++) await call();
    const before = lowered.inspect().heapBytes;
    for (let i = 0; i < 100; i++) await call();
    assert.equal(lowered.inspect().heapBytes, before, name);
  }
});

test("what is no record is refused", () => {
  const pt2 = readFileSync(modelPath("mlp.pt2"));
  assert.equal(failure(() => engine.parseEtrecord(pt2)).code, "format");
  assert.match(failure(() => engine.parseEtrecord(pt2)).message, /ETRECORD_V0/);
  for (const bytes of [new Uint8Array(0), new Uint8Array(100), pt2.subarray(0, 500)])
    assert.equal(failure(() => engine.parseEtrecord(bytes)).code, "truncated");
  assert.equal(engine.detect(pt2), "pt2");
});

// --- What others have written, or left out -------------------------------------------------------

const official = (name: string): { path: string } => ({
  path: fileURLToPath(new URL(`../../../tests/data/etrecord/${name}.etrecord`, import.meta.url)),
});

for (const [name, model, partitioner] of [
  ["mlp", { forward: file("mlp") }, []],
  ["mlp.xnnpack", { forward: file("mlp") }, ["xnnpack"]],
  [
    "encdec",
    Object.fromEntries(
      ["encode", "decode", "forward"].map((method) => [method, file(`encdec.${method}`)]),
    ),
    [],
  ],
] as const)
  test(`an official record opens, and says what ours does: ${name}`, () => {
    const theirs = engine.parseEtrecord(official(name));
    const ours = engine.lower(model, { etrecord: true, partitioner }).etrecord;
    assert.equal(engine.detect(official(name)), "etrecord");
    const { methods, programs, unknownEntries } = theirs.inspect();
    assert.deepEqual([...methods].sort(), [...ours.inspect().methods].sort());
    assert.deepEqual(unknownEntries, []);
    assert.ok(programs.every(({ hasWeights }) => hasWeights));
    assert.deepEqual(
      programs.map(({ stage, method }) => `${stage}/${method}`).sort(),
      stages(ours).sort(),
    );
    const { debugHandleMap, delegateMap, instructionIdToNumOutsMap } = theirs.maps();
    assert.deepEqual(instructionIdToNumOutsMap, ours.maps().instructionIdToNumOutsMap);
    assert.deepEqual(Object.keys(delegateMap!), Object.keys(ours.maps().delegateMap!));
    // Ours has no instructions that permute constants, which have the handles of what they feed.
    const handles = (map: DebugHandleMap | null): [string, number[]][] =>
      Object.entries(map!).map(([method, rows]) => [
        method,
        [...new Set(Object.values(rows).flat())].sort((a, b) => a - b),
      ]);
    assert.deepEqual(handles(debugHandleMap), handles(ours.maps().debugHandleMap));
    const again = engine.parseEtrecord(theirs.bytes());
    assert.deepEqual(again.maps(), theirs.maps());
    assert.deepEqual(stages(again), stages(theirs));
  });

type Edit = (entries: Entry[]) => Entry[];

/** A record with its entries changed. */
function changed(edit: Edit): Uint8Array {
  const { etrecord } = engine.lower(file("mlp"), { etrecord: true });
  return writeZip(edit(readZip(Buffer.from(etrecord.bytes()))));
}

const entry = (name: string, text: string): Entry => {
  const data = Buffer.from(text, "latin1");
  return { name: Buffer.from(name), crc: crc32(data), method: 0, size: data.length, data };
};

const EDGE = "edge_dialect_exported_program";

test("the flat layout of one method is read", () => {
  const bytes = changed((entries) =>
    entries.map((e) => ({
      ...e,
      name: Buffer.from(e.name.toString().replace(`${EDGE}/forward`, EDGE)),
    })),
  );
  assert.ok(names(bytes).includes(`${EDGE}_state_dict`));
  const flat = engine.parseEtrecord(bytes);
  const whole = engine.lower(file("mlp"), { etrecord: true }).etrecord;
  assert.deepEqual(stages(flat), stages(whole));
  assert.deepEqual(flat.bytes(), whole.bytes());
});

test("compressed entries, in any order, are read", async () => {
  const bytes = changed((entries) =>
    entries.map((e) => ({ ...e, method: 8, data: deflateRawSync(e.data) })).reverse(),
  );
  const whole = engine.lower(file("mlp"), { etrecord: true }).etrecord;
  assert.deepEqual(engine.parseEtrecord(bytes).maps(), whole.maps());
  const client = await createClient();
  try {
    const parsed = await client.parseEtrecord(bytes);
    assert.deepEqual(await parsed.maps(), whole.maps());
  } finally {
    client.terminate();
  }
});

test("what is not known is listed, and what is missing is no error", () => {
  const bytes = changed((entries) => [
    ...entries.filter(
      ({ name }) => !/_state_dict|_constants|_example_inputs|_map$/.test(name.toString()),
    ),
    entry("delegate_info", "{}"),
    entry("webtool/meta_constants", ""),
    entry("folder/", ""),
  ]);
  const record = engine.parseEtrecord(bytes);
  assert.deepEqual(record.inspect().unknownEntries, ["delegate_info", "webtool/meta_constants"]);
  assert.ok(record.inspect().programs.every(({ hasWeights }) => !hasWeights));
  assert.deepEqual(Object.values(record.maps()), [null, null, null]);
  assert.equal(failure(() => record.bytes()).code, "state");
});

for (const [what, name, text, code] of [
  ["a map that is not JSON", "debug_handle_map", "{", "truncated"],
  ["a map that is a list", "debug_handle_map", "[]", "corrupt"],
  ["a handle that is text", "debug_handle_map", '{"forward": {"0": "1"}}', "corrupt"],
  ["an instruction that is text", "debug_handle_map", '{"forward": {"x": 1}}', "corrupt"],
  ["an instruction that is there twice", "debug_handle_map", '{"f": {"0": 1, "00": 2}}', "corrupt"],
  ["a delegate without a name", "delegate_map", '{"forward": {"0": {}}}', "corrupt"],
  ["results that are a list", "instruction_id_to_num_outs_map", '{"f": {"0": [1]}}', "corrupt"],
  ["a graph number that is text", "export_graph_id", '"x"', "corrupt"],
] as const)
  test(`${what} is refused`, () => {
    const bytes = changed((entries) => [
      ...entries.filter((e) => e.name.toString() !== name),
      entry(name, text),
    ]);
    const error = failure(() => engine.parseEtrecord(bytes));
    assert.ok(error.code === code || (code === "truncated" && error.code === "format"), error.code);
  });

test("old pickles of outputs are left out with a warning", () => {
  const bytes = changed((entries) => [...entries, entry("reference_outputs", "\x80\x02}.")]);
  const record = engine.parseEtrecord(bytes);
  assert.equal(record.referenceOutputs(), null);
});

test("a client's records are those of the engine", async () => {
  const client = await createClient();
  try {
    const opened = await client.open(new Uint8Array(readFileSync(modelPath("mlp.pt2"))));
    const edge = await opened.toEdge({ generateEtrecord: true });
    const program = await edge.toExecutorch();
    const record = await program.getEtrecord();
    const bytes = await record.bytes();
    assert.deepEqual(bytes, engine.lower(file("mlp"), { etrecord: true }).etrecord.bytes());
    const made = await edge.createEtrecord();
    await made.addExportedProgram(opened);
    await made.addEdgeDialectProgram(edge);
    await made.addExtraExportModules({ again: edge });
    await made.addExecutorchProgram(program);
    const pieces: Uint8Array[] = [];
    await made.save((piece) => void pieces.push(piece), { light: true });
    const parsed = await client.parseEtrecord(new Uint8Array(Buffer.concat(pieces)));
    assert.deepEqual((await parsed.inspect()).programs.at(-1)!.stage, "again");
    const again = await parsed.program("again");
    assert.equal(await again.text(), await (await edge.exportedProgram()).text());
    await assert.rejects(made.addEdgeDialectProgram({} as never), { code: "argument" });
  } finally {
    client.terminate();
  }
});

// --- The command ---------------------------------------------------------------------------------

test("the command writes records beside the program", () => {
  const folder = mkdtempSync(join(tmpdir(), "sconce-record-"));
  try {
    const at = (name: string): string => join(folder, name);
    const methods = ["encode", "decode"].flatMap((method) => [
      "--method",
      `${method}=${modelPath(`encdec.${method}.pt2`)}`,
    ]);
    const { status, stderr } = sconce(
      "lower",
      ...methods,
      "-o",
      at("both.pte"),
      "--etrecord",
      at("both.etrecord"),
      "--etrecord-per-method",
      at("each"),
    );
    assert.equal(status, 0, stderr);
    const all = engine.parseEtrecord(readFileSync(at("both.etrecord")));
    assert.deepEqual(all.inspect().methods, ["encode", "decode"]);
    for (const method of ["encode", "decode"]) {
      const one = engine.parseEtrecord({ path: at(`each/${method}.etrecord`) });
      assert.deepEqual(one.inspect().methods, ["forward"]);
    }
    const light = sconce(
      "lower",
      modelPath("cnn.pt2"),
      "-o",
      at("cnn.pte"),
      "--etrecord",
      at("cnn.etrecord"),
      "--etrecord-light",
    );
    assert.equal(light.status, 0, light.stderr);
    const { programs } = engine.parseEtrecord({ path: at("cnn.etrecord") }).inspect();
    assert.ok(programs.every(({ hasWeights }) => !hasWeights));
    const wrong = [
      ["--etrecord-light"],
      ["--etrecord", "-"],
      ["--etrecord", modelPath("cnn.pt2")],
      ["--etrecord", at("x.pte")],
      ["--etrecord-per-method", ""],
    ];
    for (const args of wrong) {
      const failed = sconce("lower", modelPath("cnn.pt2"), "-o", at("x.pte"), ...args);
      assert.equal(failed.status, 2, args.join(" "));
      assert.ok(!existsSync(at("x.pte")));
    }
    writeFileSync(at("empty"), "");
  } finally {
    rmSync(folder, { recursive: true });
  }
});
