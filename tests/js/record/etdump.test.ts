// Records of runs: which blocks, scopes and values a dump has, when it starts afresh, and the files
// that the command makes of it.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  createClient,
  createEngine,
  type DelegateFilter,
  type Engine,
  type LoadOptions,
  type Program,
  type RecordedEvents,
  type Tensor,
  type Value,
} from "sconce";
import { folder, sconce } from "../setup/command.js";
import { readDump, type DumpedBlock } from "../setup/etdump.js";
import { modelPath, readCases } from "../setup/reference.js";

let engine: Engine;
before(async () => {
  engine = await createEngine();
});
after(() => engine.dispose());

function lower(name: string, backend?: string): Uint8Array {
  const file = { path: modelPath(`${name}.pt2`) };
  const lowered = engine.lower(file, backend === undefined ? {} : { partitioner: backend });
  const bytes = lowered.buffer;
  lowered.dispose();
  return bytes;
}

function open(name: string, options: LoadOptions = {}, backend?: string): Program {
  return engine.load(lower(name, backend), options);
}

const inputsOf = (name: string): Value[] => readCases(name)[0]!.inputs;

/** Scopes of a block, outermost last. */
const scopes = (block: DumpedBlock): string[] =>
  block.events.flatMap(({ name, chain, instruction }) =>
    name === undefined ? [] : [`${chain}:${instruction} ${name}`],
  );

test("loading and each run are blocks, with every instruction of the file", () => {
  const program = open("mlp");
  const inputs = inputsOf("mlp");
  program.run("forward", inputs, { events: true });
  program.run("forward", inputs, { events: true });
  const dump = program.etdump();
  const [load, ...runs] = readDump(dump.etdump);
  assert.equal(load!.name, "Default");
  assert.deepEqual(scopes(load!), ["-1:0 Method::init", "-1:0 Program::load_method"]);
  assert.equal(runs.length, 2);
  assert.deepEqual(scopes(runs[0]!), scopes(runs[1]!));
  const reported = scopes(runs[0]!);
  assert.equal(reported.at(-1), "-1:0 Method::execute");
  const { instructions } = program.inspect().methods[0]!;
  for (let i = 0; i < instructions; i++)
    assert.ok(reported.includes(`0:${i} OPERATOR_CALL`), `${i}`);
  assert.match(reported[0]!, /^0:0 native_call_\w+\.out$/);
  assert.equal(dump.debugBuffer.length, 0);
  assert.deepEqual([dump.blocks, dump.values, dump.unseen, dump.omitted], [3, 0, 0, 0]);
  assert.ok(dump.clockStep > 0);
  program.dispose();
});

test("a dump starts afresh once it was fetched, and what is not recorded is not in it", () => {
  const program = open("mlp");
  const inputs = inputsOf("mlp");
  assert.throws(() => program.etdump(), { code: "state", hint: /events: true/ });
  program.run("forward", inputs, { events: true });
  program.run("forward", inputs);
  assert.equal(program.etdump().blocks, 2);
  assert.throws(() => program.etdump(), { code: "state" });
  program.run("forward", inputs, { events: false });
  assert.throws(() => program.etdump(), { code: "state" });
  program.run("forward", inputs, { events: true });
  const blocks = readDump(program.etdump().etdump);
  assert.deepEqual(
    blocks.map(({ name }) => name),
    ["Execute"],
  );
  program.dispose();
  assert.throws(() => program.etdump(), { code: "disposed" });
});

function record(name: string, events: RecordedEvents, options: LoadOptions): [Value[], Tensor[]] {
  const program = open(name, options);
  const outputs = program.run("forward", inputsOf(name), { events });
  const { etdump, debugBuffer } = program.etdump();
  const values = readDump(etdump)
    .at(-1)!
    .events.filter(({ kind }) => kind !== undefined);
  program.dispose();
  // Batch norm gives two tensors without elements, which lie nowhere.
  for (const { tensor } of values)
    assert.equal(tensor!.offset % 64, tensor!.sizes.includes(0) ? -1 : 0);
  const tensors = values.map(({ tensor, isOutput, chain }): Tensor => {
    const { sizes, offset } = tensor!;
    assert.equal(chain, isOutput ? -1 : 0);
    const numel = sizes.reduce((a, b) => a * b, 1);
    const bytes = numel ? debugBuffer.slice(offset, offset + 4 * numel) : new Uint8Array();
    return { dtype: "float32", shape: sizes, data: new Float32Array(bytes.buffer) };
  });
  return [outputs, tensors];
}

test("outputs are in the debug buffer, and intermediates with them", () => {
  for (const name of ["mlp", "cnn", "channels_last_input"]) {
    const [outputs, kept] = record(name, "outputs", {});
    assert.equal(kept.length, outputs.length);
    const same = (tensor: Tensor, i: number): void => {
      assert.deepEqual(tensor.shape, (outputs[i] as Tensor).shape);
      assert.deepEqual(tensor.data, (outputs[i] as Tensor).data);
    };
    kept.forEach(same);
    const [, all] = record(name, "intermediates", { optimize: false });
    assert.ok(all.length > outputs.length);
  }
});

test("values that loading left nowhere are counted", () => {
  const counts = [true, false].map((optimize) => {
    const program = open("cnn", { optimize });
    program.run("forward", inputsOf("cnn"), { events: "intermediates" });
    const { unseen, values } = program.etdump();
    program.dispose();
    return { unseen, values };
  });
  assert.equal(counts[1]!.unseen, 0);
  assert.ok(counts[0]!.unseen > 0);
  assert.ok(counts[0]!.values < counts[1]!.values);
});

test("nodes of delegates have their own scopes and values", () => {
  const program = open("mlp", {}, "xnnpack");
  program.run("forward", inputsOf("mlp"), { events: "intermediates" });
  const run = readDump(program.etdump().etdump).at(-1)!;
  const nodes = run.events.filter(({ delegate }) => delegate !== "");
  assert.ok(nodes.some(({ delegate, name }) => name === "" && /^\S+ #\d+$/.test(delegate)));
  assert.ok(nodes.some(({ kind }) => kind !== undefined));
  const ids = [...new Set(nodes.map(({ delegate }) => delegate))];
  for (const id of ids)
    assert.deepEqual(
      ids.filter((other) => other.includes(id)),
      [id],
    );
  // All arguments of the call are shown before it: the input and the output.
  const call = run.events.findIndex(({ name }) => name === "DELEGATE_CALL");
  const shown = run.events.slice(0, call).filter((e) => e.kind !== undefined && !e.delegate);
  assert.equal(shown.length, 2);
  program.dispose();
});

/** Ids of delegates with values, and with times. */
function idsOf(run: DumpedBlock): { values: string[]; times: string[] } {
  const of = (hasValue: boolean): string[] => {
    const events = run.events.filter((e) => (e.kind !== undefined) === hasValue);
    return [...new Set(events.map(({ delegate }) => delegate))].filter((id) => id !== "").sort();
  };
  return { values: of(true), times: of(false) };
}

test("values inside of delegates are recorded as a filter says, times always", () => {
  const program = open("mlp", {}, "xnnpack");
  const record = (delegateValues?: DelegateFilter): ReturnType<typeof idsOf> => {
    const filter = delegateValues ? { delegateValues } : {};
    program.run("forward", inputsOf("mlp"), { events: "intermediates", ...filter });
    return idsOf(readDump(program.etdump().etdump).at(-1)!);
  };
  const all = record();
  assert.ok(all.values.length > 1);
  const [first, ...others] = all.values as [string, ...string[]];
  const found = (values: string[]): typeof all => ({ values, times: all.times });
  const cases: [DelegateFilter, string[]][] = [
    [{ include: [first] }, [first]],
    [{ exclude: [first] }, others],
    // All of the id has to match.
    [{ include: [first.slice(0, -1)] }, []],
    [{ include: [`x|${first.slice(0, -1)}`] }, []],
    [{ include: ["no", /.*/] }, all.values],
    [{ include: [new RegExp(first.toUpperCase(), "ig")] }, [first]],
    [{ exclude: [/.*/] }, []],
    [{ include: [] }, []],
    [{ exclude: [] }, all.values],
    // These are texts, and no numbers.
    [{ include: [[0, 1000]] }, []],
    [{ exclude: [[0, 1000]] }, all.values],
  ];
  for (const [filter, values] of cases)
    assert.deepEqual(record(filter), found(values), JSON.stringify(filter));
  assert.deepEqual(record(), all);
  program.dispose();
});

test("filters that say nothing, or two things, are refused", () => {
  const program = open("mlp");
  const wrong = [
    {},
    { include: [], exclude: [] },
    { include: "a" },
    { includes: [] },
    [],
    { include: [5] },
    { include: [[2, 2]] },
    { include: [[3, 1]] },
    { include: [[-1, 4]] },
    { include: [[1]] },
    { include: [[0.5, 2]] },
    { include: ["("] },
    { include: ["a)|(b"] },
  ];
  for (const delegateValues of wrong)
    assert.throws(
      () =>
        program.run("forward", inputsOf("mlp"), {
          events: "intermediates",
          delegateValues: delegateValues as never,
        }),
      { code: "option", message: /delegateValues/ },
      JSON.stringify(delegateValues),
    );
  program.dispose();
});

test("numbers and texts that methods return have their place", () => {
  const program = engine.load(
    (() => {
      const constantMethods = { size: 7, rate: { double: 0.5 }, yes: true, name: "n" };
      const lowered = engine.lower({ path: modelPath("mlp.pt2") }, { constantMethods });
      const bytes = lowered.buffer;
      lowered.dispose();
      return bytes;
    })(),
  );
  const kinds = { size: 1, yes: 2, rate: 4, name: 7 };
  for (const [method, kind] of Object.entries(kinds)) {
    program.run(method, [], { events: "outputs" });
    const { etdump, omitted } = program.etdump();
    assert.deepEqual(
      readDump(etdump)
        .at(-1)!
        .events.filter((e) => e.isOutput)
        .map((e) => e.kind),
      [kind],
    );
    assert.equal(omitted, method === "name" ? 1 : 0);
  }
  program.dispose();
});

test("the number of a test case is stored", () => {
  const program = open("mlp");
  const inputs = inputsOf("mlp");
  program.run("forward", inputs, { events: true, bundledInputIndex: 5 });
  program.run("forward", inputs, { events: true });
  assert.deepEqual(
    readDump(program.etdump().etdump).map(({ index }) => index),
    [-1, 5, -1],
  );
  program.dispose();
});

test("more than the bound is refused after the run, and what was before stays", () => {
  const program = open("cnn", { eventBytesMax: 20_000 });
  const inputs = inputsOf("cnn");
  program.run("forward", inputs, { events: true });
  assert.throws(() => program.run("forward", inputs, { events: "intermediates" }), {
    code: "limit",
    message: /20000 bytes/,
    hint: /eventBytesMax/,
  });
  assert.equal(program.etdump().blocks, 2);
  program.run("forward", inputs, { events: true });
  assert.equal(program.etdump().blocks, 1);
  program.dispose();
});

test("a run that fails is in the dump up to there", () => {
  const program = open("mlp_dyn");
  assert.throws(() => program.run("forward", [], { events: true }), { code: "input" });
  assert.deepEqual(
    readDump(program.etdump().etdump).map(({ name }) => name),
    ["Default"],
  );
  const limited = open("mlp", { instructionMax: 1 });
  assert.throws(() => limited.run("forward", inputsOf("mlp"), { events: true }), {
    code: "budget",
  });
  const run = readDump(limited.etdump().etdump).at(-1)!;
  assert.equal(scopes(run).at(-1), "-1:0 Method::execute");
  program.dispose();
  limited.dispose();
});

test("other options are refused", () => {
  const program = open("mlp");
  const wrong = [{ events: "all" }, { events: 1 }, { bundledInputIndex: -1 }, { event: true }];
  for (const options of [...wrong, { bundledInputIndex: 2 ** 31 }, { bundledInputIndex: 0.5 }])
    assert.throws(() => program.run("forward", inputsOf("mlp"), options as never), {
      code: "option",
    });
  program.dispose();
});

test("the client records as the engine does", async () => {
  const client = await createClient();
  const program = await client.load(lower("mlp"), { optimize: false });
  await program.run("forward", inputsOf("mlp"), { events: "intermediates" });
  const dump = await program.etdump();
  assert.equal(dump.blocks, 2);
  assert.equal(readDump(dump.etdump).length, 2);
  assert.ok(dump.debugBuffer.length > 0);
  await assert.rejects(program.etdump(), { code: "state" });
  client.terminate();
});

// --- The command -----------------------------------------------------------------------------------

test("the command writes dumps, one block for each call and repetition", () => {
  writeFileSync(join(folder, "m.pte"), lower("mlp"));
  const run = ["run", "m.pte", "--input", "random:1", "--etdump"];
  const { status, stderr, stdout } = sconce(...run, "m.etdp", "--repeat", "3");
  assert.equal(status, 0, stderr);
  assert.match(stdout, /m\.etdp: 4 blocks, \d+ events/);
  const blocks = readDump(readFileSync(join(folder, "m.etdp")));
  assert.deepEqual(
    blocks.map(({ name, index }) => `${name} ${index}`),
    ["Default -1", "Execute -1", "Execute -1", "Execute -1"],
  );
  const values = sconce(...run, "v.etdp", "--debug-output", "v.bin", "--intermediates");
  assert.equal(values.status, 0, values.stderr);
  const buffer = readFileSync(join(folder, "v.bin"));
  const [, all] = readDump(readFileSync(join(folder, "v.etdp")));
  const tensors = all!.events.flatMap(({ tensor }) => tensor ?? []);
  const floats = tensors.map(({ sizes }) => 4 * sizes.reduce((a, b) => a * b, 1));
  assert.ok(tensors.length > 2);
  // In the file as in memory: one behind the other, each at a multiple of 64, zeros in between.
  let end = 0;
  for (const [i, { offset }] of tensors.entries()) {
    assert.equal(offset, Math.ceil(end / 64) * 64);
    assert.ok(buffer.subarray(end, offset).every((byte) => byte === 0));
    end = offset + floats[i]!;
  }
  assert.equal(buffer.length, Math.ceil(end / 64) * 64);
  assert.ok(all!.events.some(({ kind, isOutput }) => kind !== undefined && !isOutput));
});

test("calls with values are told apart by their number, times alone are not", () => {
  writeFileSync(join(folder, "m.pte"), lower("mlp"));
  const calls = [{ inputs: ["ones"] }, { inputs: ["zeros"] }];
  writeFileSync(join(folder, "calls.json"), JSON.stringify(calls));
  const run = ["run", "m.pte", "--calls", "calls.json", "--etdump", "c.etdp"];
  const indices = (...more: string[]): number[] => {
    const { status, stderr } = sconce(...run, ...more);
    assert.equal(status, 0, stderr);
    return readDump(readFileSync(join(folder, "c.etdp"))).map(({ index }) => index);
  };
  assert.deepEqual(indices(), [-1, -1, -1]);
  assert.deepEqual(indices("--debug-output", "c.bin"), [-1, 0, 1]);
});

test("flags of dumps that do not go together are wrong usage", () => {
  writeFileSync(join(folder, "m.pte"), lower("mlp"));
  const flags = [
    ["--debug-output", "x.bin"],
    ["--etdump", "x.etdp", "--intermediates"],
    ["--etdump", "x.etdp", "--debug-output", "x.etdp"],
    ["--etdump", ""],
    ["--etdump", "m.pte"],
    ["--repeat", "0"],
    ["--repeat", "two"],
  ];
  for (const more of flags) {
    const { status } = sconce("run", "m.pte", "--input", "ones", ...more);
    assert.equal(status, 2, more.join(" "));
  }
  assert.ok(!existsSync(join(folder, "x.etdp")));
});
