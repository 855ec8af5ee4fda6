// Managers that share nothing, the emitted program as data, and programs that are run for a test.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  createClient,
  createEngine,
  tensor,
  type EdgeProgramManager,
  type Engine,
  type Value,
} from "sconce";
import { failure, file } from "../setup/failure.js";
import { measured } from "../setup/memory.js";
import { difference, modelPath, readCases } from "../setup/reference.js";

let engine: Engine;
before(async () => (engine = await createEngine()));
after(() => engine.dispose());

const both = (): Record<string, { path: string }> => ({
  encode: file("encdec.encode"),
  decode: file("encdec.decode"),
});

const recorded = (): EdgeProgramManager => engine.toEdge(file("mlp"), { generateEtrecord: true });

for (const [name, make] of [
  ["transform", (edge: EdgeProgramManager) => edge.transform([])],
  ["toBackend", (edge: EdgeProgramManager) => edge.toBackend("xnnpack")],
  ["toExecutorch", (edge: EdgeProgramManager) => edge.toExecutorch()],
] as const)
  test(`${name} makes a manager with a record of its own`, () => {
    const edge = recorded();
    const made = make(edge);
    const before = Object.keys(made.etrecord.graphMap);
    edge.etrecord.addExtraExportModules({ late: edge });
    edge.etrecord.updateReferenceOutputs([[1]]);
    assert.notEqual(made.etrecord, edge.etrecord);
    assert.deepEqual(Object.keys(made.etrecord.graphMap), before);
    assert.equal(made.etrecord.referenceOutputs(), null);
  });

test("the maps of one program are not in the record of another manager", () => {
  const edge = recorded();
  const delegated = edge.toBackend("xnnpack");
  edge.etrecord.addExecutorchProgram(edge.toExecutorch());
  assert.equal(delegated.etrecord.maps().debugHandleMap, null);
  const complete = delegated.toExecutorch().etrecord.maps();
  assert.notEqual(complete.delegateMap, null);
});

test("lists of methods are new and frozen each time", () => {
  const edge = engine.toEdge(both(), { constantMethods: { size: 7 } });
  for (const manager of [edge, edge.toExecutorch(), engine.open(both())]) {
    assert.deepEqual(manager.methods, ["encode", "decode"]);
    assert.notEqual(manager.methods, manager.methods);
    assert.ok(Object.isFrozen(manager.methods));
    assert.throws(() => (manager.methods as string[]).push("more"), TypeError);
  }
  assert.deepEqual(edge.configMethods, ["size"]);
  assert.ok(Object.isFrozen(edge.configMethods));
});

test("the emitted program is data: methods, values, instructions", () => {
  const lowered = engine.lower(both(), { partitioner: { decode: "xnnpack" } });
  const { execution_plan: plans = [], named_data: named = [] } = lowered.executorchProgram;
  assert.deepEqual(
    plans.map(({ name }) => name),
    ["encode", "decode"],
  );
  assert.ok(named.length > 0);
  const [encode, decode] = plans;
  assert.equal(decode!.delegates![0]!.id, "XnnpackBackend");
  const calls = encode!.chains![0]!.instructions!;
  assert.equal(calls.length, engine.load(lowered).inspect().methods[0]!.instructions);
  assert.ok(calls.every(({ instr_args_type: kind }) => kind === "KernelCall"));
  assert.ok(encode!.values!.some(({ val_type: kind }) => kind === "Tensor"));
});

test("integers of the program that doubles cannot hold are bigints", () => {
  const large = 2n ** 53n + 1n;
  const edge = engine.toEdge(file("add_mul")).transform([
    ({ graph, addOutput }) => {
      const [input] = graph.nodes;
      addOutput(graph.insertBefore(graph.output, "aten::add.Scalar", [input!, large]));
    },
  ]);
  const values = edge.toExecutorch().executorchProgram.execution_plan![0]!.values!;
  assert.ok(values.some(({ val }) => val?.["int_val"] === large));
});

test("floats of the program keep all their digits", () => {
  const { execution_plan: plans } = engine.lower(file("quantized_cnn")).executorchProgram;
  const floats = plans![0]!
    .values!.filter(({ val_type: kind }) => kind === "Double")
    .map(({ val }) => val?.["double_val"]);
  assert.ok(floats.length > 0 && floats.every((one) => one === undefined || Number.isFinite(one)));
});

test("maps of a program are those of its record", () => {
  const lowered = recorded().toBackend("xnnpack").toExecutorch();
  const { debugHandleMap, delegateMap } = lowered.etrecord.maps();
  assert.deepEqual(lowered.debugHandleMap, debugHandleMap);
  assert.deepEqual(lowered.delegateMap, delegateMap);
});

test("a verbose dump has the instructions behind the graph", () => {
  const lowered = engine.lower(file("cond"));
  const [plain, verbose] = [lowered.dump(), lowered.dump({ verbose: true })];
  assert.ok(verbose.startsWith(plain));
  const lines = verbose.slice(plain.length);
  assert.match(lines, /^plan forward: inputs \[%0\], outputs \[%\d+\], memory \[\d+\]$/m);
  assert.match(lines, /^ {2}%0: Tensor FLOAT \[2, 4\], memory 1 at \d+$/m);
  assert.match(lines, /^ {4}\d+: aten::gt\.Scalar_out\(%\d+/m);
  assert.match(lines, /^ {4}\d+: JumpFalseCall cond_value_index \d+/m);
});

test("a program runs on the kernels: opened, lowered to edge, and emitted", () => {
  const opened = engine.open(file("mlp"));
  const edge = opened.toEdge();
  const delegated = edge.toBackend("xnnpack");
  for (const manager of [opened, edge, delegated, delegated.toExecutorch()])
    for (const { inputs, outputs } of readCases("mlp")) {
      const found: Value[] = manager.exportedProgram().call(inputs);
      assert.equal(found.length, outputs.length);
      assert.equal(difference(found[0], outputs[0]!), "");
    }
});

test("outputs of a call are the method's own, and its state begins anew each time", () => {
  const edge = engine.toEdge(file("counter_buffer"));
  const program = edge.exportedProgram();
  const [first] = readCases("counter_buffer");
  for (let i = 0; i < 2; i++) {
    const found = program.call(first!.inputs);
    assert.equal(difference(found[0], first!.outputs[0]!), "");
  }
  const written = engine.toEdge(file("input_mutation")).exportedProgram();
  const [mutation] = readCases("input_mutation");
  assert.equal(written.call(mutation!.inputs).length, mutation!.outputs.length);
});

test("programs of a record cannot be called, and say what can", () => {
  const { edgeDialectProgram } = recorded().etrecord;
  const program = edgeDialectProgram as { call(inputs: Value[]): Value[] };
  const { code, hint } = failure(() => program.call([]));
  assert.equal(code, "unsupported");
  assert.match(hint, /program of its manager/);
});

test("a client has all of it", async () => {
  const client = await createClient();
  const edge = await client.toEdge(modelPath("mlp.pt2"));
  const input = tensor(new Float32Array(64).fill(1), [4, 16]);
  const program = await edge.exportedProgram();
  const [here] = engine.toEdge(file("mlp")).exportedProgram().call([input]);
  assert.deepEqual(await program.call([input]), [here]);
  const lowered = await edge.toExecutorch();
  const { execution_plan: plans } = await lowered.executorchProgram;
  assert.equal(plans![0]!.name, "forward");
  assert.notEqual(await lowered.debugHandleMap, null);
  await client.terminate();
});

test("a session takes programs that are open, and leaves them open", async () => {
  const opened = engine.open(file("mlp"));
  const session = await engine.export(opened, { recipe: "portable" });
  const plans = session.getExecutorchProgram().execution_plan ?? [];
  assert.deepEqual(
    plans.map(({ name }) => name),
    ["forward"],
  );
  session.dispose();
  assert.deepEqual(opened.methods, ["forward"]);
  assert.ok(engine.load(opened.toEdge().toExecutorch()).methods.includes("forward"));
  opened.dispose();
});

test("an opened program can be lowered again, with other constant methods", () => {
  const opened = engine.open(file("mlp"));
  const input = opened.exampleInputs() as never;
  const [before] = opened.exportedProgram().call(input);
  const first = opened.toEdge({ constantMethods: { one: 1 } });
  assert.equal(failure(() => opened.toEdge({ constantMethods: { forward: 1 } })).code, "argument");
  const second = opened.toEdge({ constantMethods: { two: 2 } });
  assert.deepEqual([first.configMethods, second.configMethods], [["one"], ["two"]]);
  const program = engine.load(second.toExecutorch());
  assert.deepEqual([...program.methods].sort(), ["forward", "two"]);
  assert.deepEqual(opened.exportedProgram().call(input)[0], before);
  opened.dispose();
});

test("exported programs tell their signature, ranges and constants", () => {
  const edge = engine.toEdge(file("mlp_dyn"));
  const found = edge.exportedProgram();
  assert.equal(found.signature.outputs[0]!.kind, "user");
  assert.ok(Object.values(found.rangeConstraints).every(({ min }) => Number(min) >= 0));
  const { name, shape, dtype } = found.constants.find((one) => one.kind === "parameter")!;
  assert.deepEqual([found.constant(name).shape, found.constant(name).dtype], [[...shape], dtype]);
  assert.ok(Object.keys(found.stateDict()).includes(name));
  assert.equal(failure(() => found.constant("nope")).code, "not_found");
  assert.equal(
    found.read(({ graph }) => graph.nodes.length),
    found.read(({ graph }) => [...graph.nodes].length),
  );
  const changes = failure(() => found.read((p) => p.addOutput([...p.graph.nodes][3]!)));
  assert.match(changes.message, /that reads the program cannot change it/);
  edge.dispose();
});

test("a report has the stages and warnings of its own program only", () => {
  const edge = engine.toEdge(file("mlp"));
  const other = edge.transform([
    function first({ graph }) {
      graph.insertBefore(graph.output, "aten::neg", [graph.output.inputs[0]!]);
    },
  ]);
  other.toExecutorch();
  assert.deepEqual(
    edge.inspect().stages.map(({ stage }) => stage),
    ["source", "edge"],
  );
  const stages = other.inspect().stages;
  assert.deepEqual(
    stages.map(({ stage }) => stage),
    ["source", "edge", "edge"],
  );
  assert.deepEqual(
    stages.at(-1)!.timings.map(({ pass }) => pass),
    ["first"],
  );
  other.dispose();
  edge.dispose();
});

test("a failed toExecutorch() frees what its passes made", async (t) => {
  const [engine, heapBytes] = await measured(t);
  const edge = engine.toEdge(file("tinyformer"));
  const fail = (rounds: number): void => {
    for (let i = 0; i < rounds; i++)
      assert.throws(
        () =>
          edge.toExecutorch({ passes: ["noops"], memoryPlanning: () => assert.fail("no plan") }),
        /no plan/,
      );
  };
  fail(20);
  const before = heapBytes();
  fail(100);
  assert.ok(heapBytes() < before + 2e6, `${heapBytes() - before} bytes more`);
  engine.dispose();
});
