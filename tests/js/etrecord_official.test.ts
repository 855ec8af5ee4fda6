// Records that others have written, or that lack something.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { fileURLToPath } from "node:url";
import { crc32, deflateRawSync } from "node:zlib";
import { createClient, createEngine, type DebugHandleMap, type Engine } from "sconce";
import { failure, file } from "./failure.js";
import { names, stages } from "./records.js";
import { readZip, writeZip, type Entry } from "./zip.js";

let engine: Engine;
beforeEach(async () => (engine = await createEngine()));
afterEach(() => engine.dispose());

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
    // The official exporter sorts methods by name.
    const sortedKeys = (map: object | null): string[] => Object.keys(map!).sort();
    assert.deepEqual(sortedKeys(delegateMap), sortedKeys(ours.maps().delegateMap));
    // Ours has no instructions that permute constants, which have the handles of what they feed.
    const handles = (map: DebugHandleMap | null): [string, number[]][] =>
      sortedKeys(map).map((method) => [
        method,
        [...new Set(Object.values(map![method]!).flat())].sort((a, b) => a - b),
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
