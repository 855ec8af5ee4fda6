// Records that take the calls of bundled programs. The numbered names are behaviours that the
// official class has tests of its own for.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import {
  createClient,
  createEngine,
  tensor,
  type Engine,
  type Programs,
  type Tensor,
  type TensorOf,
  type TestSuite,
} from "sconce";
import { failure, file } from "../setup/failure.js";
import { readCases } from "../setup/reference.js";

let engine: Engine;
beforeEach(async () => (engine = await createEngine()));
afterEach(() => engine.dispose());

const both: Programs = { encode: file("encdec.encode"), decode: file("encdec.decode") };
const COUNTED: Tensor = tensor(Float32Array.of(1, 2, 3));
const ANSWER = readCases("linear")[0]!.outputs[0] as TensorOf<"float32">;
const ZEROS: Tensor = { ...ANSWER, data: new Float32Array(ANSWER.data.length) };

/** A program with three calls: of known outputs, and of those that a run gives. */
function bundled(): [Uint8Array, TestSuite[]] {
  const { inputs } = readCases("linear")[0]!;
  const testCases = [{ inputs }, { inputs, expectedOutputs: [ZEROS] }, { inputs }];
  const { buffer } = engine.lower(file("linear"));
  const bytes = engine.bundle(buffer, [{ methodName: "forward", testCases }]);
  return [bytes, engine.load(bytes).testSuites()];
}

test("2: calls of a bundled program are restored as they are", () => {
  const [bytes, [suite]] = bundled();
  const edge = engine.toEdge(file("linear"));
  const record = edge.createEtrecord();
  record.addEdgeDialectProgram(edge);
  record.addExecutorchProgram(edge.toExecutorch(), bytes);
  const expected = suite!.testCases.map(({ expectedOutputs }) => expectedOutputs);
  assert.equal(expected.length, 3);
  assert.deepEqual(expected[1], [ZEROS]);
  assert.notDeepEqual(expected[0], expected[1]);
  for (const one of [record, engine.parseEtrecord(record.bytes())]) {
    assert.deepEqual(one.referenceOutputs(), { forward: expected });
    assert.deepEqual(one.representativeInputs(), suite!.testCases[0]!.inputs);
    assert.deepEqual(one.maps(), record.maps());
  }
});

test("2, 10: several methods keep their outputs, and only forward gives inputs", () => {
  const { buffer, etrecord } = engine.lower(both, { etrecord: true });
  const suites = ["encode", "decode"].map((methodName) => {
    const { inputs } = readCases(`encdec.${methodName}`)[0]!;
    return { methodName, testCases: [{ inputs }] };
  });
  const bytes = engine.bundle(buffer, suites);
  etrecord.updateRepresentativeInputs([1]);
  etrecord.updateReferenceOutputs(bytes);
  etrecord.updateRepresentativeInputs(bytes);
  const expected = engine
    .load(bytes)
    .testSuites()
    .map(({ methodName, testCases }) => [methodName, [testCases[0]!.expectedOutputs]]);
  assert.equal(expected.length, 2);
  assert.deepEqual(etrecord.referenceOutputs(), Object.fromEntries(expected));
  assert.equal(etrecord.representativeInputs(), null);
});

test("8: a bundled program is refused where there is a part of it, and adds all or nothing", () => {
  const [bytes] = bundled();
  const edge = engine.toEdge(file("linear"));
  const program = edge.toExecutorch();
  const record = edge.createEtrecord();
  record.updateReferenceOutputs(bytes);
  assert.equal(failure(() => record.addExecutorchProgram(program, bytes)).code, "state");
  assert.equal(record.maps().debugHandleMap, null);
  assert.equal(record.representativeInputs(), null);
  const other = edge.createEtrecord();
  assert.equal(failure(() => other.addExecutorchProgram(program, program.buffer)).code, "state");
  assert.equal(failure(() => other.addExecutorchProgram(program, 7 as never)).code, "argument");
  assert.equal(other.maps().debugHandleMap, null);
  other.addExecutorchProgram(program, bytes);
  assert.equal(failure(() => other.addExecutorchProgram(program, bytes)).code, "state");
});

test("10: a bundled program replaces inputs and outputs, and is replaced", () => {
  const [bytes, [suite]] = bundled();
  const { etrecord } = engine.lower(file("linear"), { etrecord: true });
  etrecord.updateReferenceOutputs([[COUNTED]]);
  etrecord.updateReferenceOutputs(bytes);
  etrecord.updateRepresentativeInputs([7]);
  etrecord.updateRepresentativeInputs(bytes);
  const parsed = engine.parseEtrecord(etrecord.bytes());
  for (const record of [etrecord, parsed]) {
    assert.deepEqual(record.representativeInputs(), suite!.testCases[0]!.inputs);
    assert.equal(record.referenceOutputs()!["forward"]!.length, 3);
  }
  etrecord.updateReferenceOutputs([[COUNTED]]);
  assert.deepEqual(etrecord.referenceOutputs(), { forward: [[COUNTED]] });
});

test("10: bundled programs that lack what is wanted are errors that say what", () => {
  const { buffer, etrecord } = engine.lower(file("linear"), { etrecord: true });
  const before = etrecord.inspect();
  const { inputs } = readCases("linear")[0]!;
  const silent = engine.bundle(buffer, [
    { methodName: "forward", testCases: [{ inputs }, { inputs, expectedOutputs: null }] },
  ]);
  const empty = engine.bundle(buffer, [{ methodName: "forward", testCases: [] }]);
  const wrong: [() => void, string, RegExp][] = [
    [() => etrecord.updateReferenceOutputs(silent), "argument", /case 1 of method 'forward'/],
    [() => etrecord.updateRepresentativeInputs(empty), "argument", /'forward' has no cases/],
    [() => etrecord.updateReferenceOutputs(buffer), "state", /no test suites/],
    [() => etrecord.updateRepresentativeInputs(Uint8Array.of(1, 2)), "truncated", /./],
  ];
  for (const [call, code, message] of wrong) {
    const error = failure(call);
    assert.equal(error.code, code);
    assert.match(error.message, message);
  }
  assert.deepEqual(etrecord.inspect(), before);
  assert.equal(etrecord.referenceOutputs(), null);
  etrecord.updateReferenceOutputs(empty);
  assert.deepEqual(etrecord.referenceOutputs(), { forward: [] });
  etrecord.updateRepresentativeInputs(silent);
  assert.deepEqual(etrecord.representativeInputs(), inputs);
});

test("a client's records take bundled programs, too", async () => {
  const [bytes, [suite]] = bundled();
  const client = await createClient();
  try {
    const lowered = await client.lower(file("linear"), { etrecord: true });
    const record = await lowered.getEtrecord();
    await record.updateReferenceOutputs(bytes);
    const expected = suite!.testCases.map(({ expectedOutputs }) => expectedOutputs);
    assert.deepEqual(await record.referenceOutputs(), { forward: expected });
    const edge = await client.toEdge(file("linear"));
    const made = await edge.createEtrecord();
    await made.addExecutorchProgram(await edge.toExecutorch(), bytes);
    assert.deepEqual(await made.referenceOutputs(), { forward: expected });
    assert.deepEqual(await made.representativeInputs(), suite!.testCases[0]!.inputs);
  } finally {
    client.terminate();
  }
});
