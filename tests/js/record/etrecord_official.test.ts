// Records that others have written, or that lack something.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { fileURLToPath } from "node:url";
import { crc32, deflateRawSync } from "node:zlib";
import { createClient, createEngine, type DebugHandleMap, type Engine } from "sconce";
import { failure, file } from "../setup/failure.js";
import { names, stages } from "./records.js";
import { readZip, writeZip, type Entry } from "../setup/zip.js";

let engine: Engine;
beforeEach(async () => (engine = await createEngine()));
afterEach(() => engine.dispose());

const official = (name: string): { path: string } => ({
  path: fileURLToPath(new URL(`../../../../tests/data/etrecord/${name}.etrecord`, import.meta.url)),
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

const MAPS: Readonly<Record<string, string>> = {
  debug_handle_map: "debugHandleMap",
  delegate_map: "delegateMap",
  instruction_id_to_num_outs_map: "instructionIdToNumOutsMap",
};

/** A record of whose entries one has other contents. */
const damaged = (name: string, text: string): Uint8Array =>
  changed((entries) => [...entries.filter((e) => e.name.toString() !== name), entry(name, text)]);

for (const [what, name, text] of [
  ["a map that is not JSON", "debug_handle_map", "{"],
  ["a map that is a list", "debug_handle_map", "[]"],
  ["a handle that is text", "debug_handle_map", '{"forward": {"0": "1"}}'],
  ["an instruction that is text", "debug_handle_map", '{"forward": {"x": 1}}'],
  ["an instruction that is there twice", "debug_handle_map", '{"f": {"0": 1, "00": 2}}'],
  ["a delegate without a name", "delegate_map", '{"forward": {"0": {}}}'],
  ["results that are a list", "instruction_id_to_num_outs_map", '{"f": {"0": [1]}}'],
  ["a graph number that is text", "export_graph_id", '"x"'],
  ["outputs that are noise", "reference_outputs", "noise"],
  ["inputs that are noise", "representative_inputs", "PK\x03\x04"],
  ["an exported program that is noise", "exported_program", "{"],
  ["weights that are noise", `${EDGE}/forward_state_dict`, "noise"],
] as const)
  test(`${what} is named, and the rest is read`, () => {
    const whole = engine.lower(file("mlp"), { etrecord: true }).etrecord;
    const record = engine.parseEtrecord(damaged(name, text));
    const isEdge = name.startsWith(EDGE);
    const lost = isEdge ? `${EDGE}/forward` : name;
    const { unreadEntries, unknownEntries, exportGraphId } = record.inspect();
    assert.deepEqual(
      unreadEntries.map((unread) => unread.name),
      [lost],
    );
    assert.ok(unreadEntries[0]!.reason.length > 10, unreadEntries[0]!.reason);
    assert.deepEqual(unknownEntries, []);
    const rest = stages(whole).filter((s) => s !== lost && !s.startsWith(`${lost}/`));
    assert.deepEqual(stages(record), rest);
    for (const [map, key] of Object.entries(MAPS))
      assert.deepEqual(
        record.maps()[key as keyof ReturnType<typeof record.maps>],
        map === name ? null : whole.maps()[key as keyof ReturnType<typeof whole.maps>],
      );
    assert.equal(record.referenceOutputs(), null);
    assert.equal(exportGraphId === 0, name === "export_graph_id");
    const inspector = engine.inspector({ etrecord: damaged(name, text) });
    assert.deepEqual(inspector.report().etrecord!.unreadEntries, unreadEntries);
    if (isEdge)
      assert.match(
        failure(() => record.program(EDGE, "forward")).message,
        /no program 'edge_dialect_exported_program' of a method 'forward': its entry .* cannot be read: /,
      );
    else assert.match(record.program(EDGE, "forward").text(), /aten::addmm/);
  });

test("an official record whose extra module was changed later opens without it", () => {
  const record = engine.parseEtrecord(official("counter_extra"));
  assert.deepEqual(record.inspect().unreadEntries, [
    {
      name: "mine/forward",
      reason: "the signature and the graph have different numbers of outputs",
    },
  ]);
  assert.deepEqual(stages(record), ["exported_program/forward", `${EDGE}/forward`]);
  assert.deepEqual(record.graphMap, {});
  assert.equal(typeof record.maps().debugHandleMap!["forward"], "object");
  assert.match(
    failure(() => record.program("mine", "forward")).message,
    /'mine' of a method 'forward': its entry 'mine\/forward' cannot be read: the signature/,
  );
  const again = engine.parseEtrecord(record.bytes());
  assert.deepEqual(again.inspect().unreadEntries, []);
  assert.deepEqual(stages(again), stages(record));
});

test("a program in both layouts is one, that of the new layout", () => {
  const bytes = changed((entries) => [
    ...entries
      .filter((e) => e.name.toString().startsWith(`${EDGE}/forward`))
      .map((e) => {
        const name = Buffer.from(e.name.toString().replace(`${EDGE}/forward`, EDGE));
        return e.name.toString() === `${EDGE}/forward` ? entry(EDGE, "{") : { ...e, name };
      }),
    ...entries,
  ]);
  const record = engine.parseEtrecord(bytes);
  const { methods, unreadEntries, unknownEntries } = record.inspect();
  assert.deepEqual([methods, unreadEntries, unknownEntries], [["forward"], [], []]);
  assert.equal(stages(record).length, 2);
});

for (const length of [5000, 65000])
  test(`a method with a name of ${length} characters is read again`, () => {
    const name = "x".repeat(length);
    const made = engine.toEdge({ [name]: file("mlp") }, { generateEtrecord: true }).toExecutorch();
    const record = engine.parseEtrecord(made.etrecord!.bytes());
    assert.deepEqual(record.inspect().methods, [name]);
    assert.deepEqual(record.maps(), made.etrecord!.maps());
  });

test("a record without a graph number has the number 0", () => {
  const bytes = changed((all) => all.filter((e) => e.name.toString() !== "export_graph_id"));
  assert.equal(engine.parseEtrecord(bytes).inspect().exportGraphId, 0);
});

test("an unknown program is named with its method", () => {
  const { etrecord } = engine.lower(file("mlp"), { etrecord: true });
  const named = failure(() => etrecord.program(EDGE, "zz"));
  assert.equal(named.code, "not_found");
  assert.equal(named.message, `the record has no program '${EDGE}' of a method 'zz'`);
  assert.match(named.hint, /edge_dialect_exported_program of forward/);
  assert.equal(failure(() => etrecord.program("zz")).message, "the record has no program 'zz'");
});

test("a record without its identifier is reported as such by all who open it", () => {
  const bytes = changed((entries) => entries.filter((e) => e.name.toString() !== "ETRECORD_V0"));
  assert.equal(engine.detect(bytes), "etrecord");
  for (const open of [
    () => engine.parseEtrecord(bytes),
    () => engine.inspector({ etrecord: bytes }),
  ])
    assert.match(failure(open).message, /not an ETRecord: it has no entry ETRECORD_V0/);
});

test("old pickles of outputs are left out with a warning", () => {
  const bytes = changed((entries) => [...entries, entry("reference_outputs", "\x80\x02}.")]);
  const record = engine.parseEtrecord(bytes);
  assert.equal(record.referenceOutputs(), null);
});
