// Records as files, from every writer.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, test } from "node:test";
import { createClient, createEngine, tensor, type Engine } from "sconce";
import { failure, file } from "../setup/failure.js";
import { both, names } from "./records.js";
import { modelPath } from "../setup/reference.js";

let engine: Engine;
beforeEach(async () => (engine = await createEngine()));
afterEach(() => engine.dispose());

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
