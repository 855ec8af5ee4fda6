// Bundled programs: written, read and verified, through the engine, the client and the command.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  createClient,
  createEngine,
  tensor,
  type Engine,
  type Tensor,
  type TensorOf,
  type TestSuite,
  type Value,
} from "sconce";
import { folder, sconce } from "../setup/command.js";
import { readDump } from "../setup/etdump.js";
import { modelPath, readCases } from "../setup/reference.js";

let engine: Engine;
before(async () => {
  engine = await createEngine();
});
after(() => engine.dispose());

function lower(name: string): Uint8Array {
  const lowered = engine.lower({ path: modelPath(`${name}.pt2`) });
  const bytes = lowered.buffer;
  lowered.dispose();
  return bytes;
}

const inputsOf = (name: string): Value[] => readCases(name)[0]!.inputs;
const suite = (
  inputs: readonly Value[],
  expectedOutputs?: readonly Value[] | null,
): TestSuite[] => [
  {
    methodName: "forward",
    testCases: [expectedOutputs === undefined ? { inputs } : { inputs, expectedOutputs }],
  },
];

test("what was bundled reads back, and verifies with itself", () => {
  for (const name of ["mlp", "cnn", "channels_last_input", "counter_buffer", "linear_bf16"]) {
    const inputs = inputsOf(name);
    const bytes = engine.bundle(lower(name), suite(inputs));
    assert.equal(engine.detect(bytes), "bpte");
    const program = engine.load(bytes);
    const suites = program.testSuites();
    assert.deepEqual(
      suites.map(({ methodName, testCases }) => [methodName, testCases.length]),
      [["forward", 1]],
    );
    const [testCase] = suites[0]!.testCases;
    testCase!.inputs.forEach((value, i) => {
      const { dtype, shape, data } = inputs[i] as Tensor;
      assert.deepEqual(value, { dtype, shape, data });
    });
    for (let i = 0; i < 2; i++) {
      const [verdict] = program.verify({ rtol: 0, atol: 0 });
      assert.equal(verdict!.outputs.length, testCase!.expectedOutputs!.length);
      for (const output of verdict!.outputs) {
        assert.ok(output.isClose, name);
        assert.equal(output.maxAbsolute, 0);
      }
    }
    assert.deepEqual(engine.bundle(bytes, suites), bytes);
    program.dispose();
  }
});

/** Two methods, of the one name behind the other. */
function lowerTwo(): Uint8Array {
  const lowered = engine.lower({
    zeta: { path: modelPath("mlp.pt2") },
    alpha: { path: modelPath("linear.pt2") },
  });
  const bytes = lowered.buffer;
  lowered.dispose();
  return bytes;
}

/** Suites of both, and how many cases each has. */
const two = (): TestSuite[] => [
  {
    methodName: "zeta",
    testCases: readCases("mlp").flatMap(({ inputs }) => [{ inputs }, { inputs }]),
  },
  { methodName: "alpha", testCases: [{ inputs: inputsOf("linear") }] },
];

const counts = (suites: readonly TestSuite[]): [string, number][] =>
  suites.map(({ methodName, testCases }) => [methodName, testCases.length]);

test("keys that suites and cases do not have are refused, and the known ones named", () => {
  const inputs = inputsOf("mlp");
  const cases: [object, RegExp][] = [
    [
      { methodName: "forward", testCases: [{ inputs, expected: [] }] },
      /case 0 of method 'forward' has 'expected', which is not one of: inputs, expectedOutputs$/,
    ],
    [
      { methodName: "forward", testCases: [], cases: [] },
      /suites\[0\] of bundle\(\) has 'cases', which is not one of: methodName, testCases$/,
    ],
  ];
  for (const [given, message] of cases)
    assert.throws(() => engine.bundle(lower("mlp"), [given as TestSuite]), {
      name: "SconceError",
      code: "argument",
      message,
    });
});

test("suites are sorted by their methods, as the official writer does", () => {
  const pte = lowerTwo();
  const bytes = engine.bundle(pte, two());
  assert.deepEqual(engine.bundle(pte, two().reverse()), bytes);
  const program = engine.load(bytes);
  const suites = program.testSuites();
  assert.deepEqual(counts(suites), [
    ["alpha", 1],
    ["zeta", two()[0]!.testCases.length],
  ]);
  assert.deepEqual(
    program.verify().map(({ methodName, testCase }) => `${methodName} ${testCase}`),
    suites.flatMap(({ methodName, testCases }) => testCases.map((_, i) => `${methodName} ${i}`)),
  );
  program.dispose();
});

test("only the cases of the method that is named are run", () => {
  const program = engine.load(engine.bundle(lowerTwo(), two()));
  const verdicts = program.verify({ method: "alpha", events: true });
  assert.deepEqual(
    verdicts.map(({ methodName, outputs }) => [methodName, outputs.every((o) => o.isClose)]),
    [["alpha", true]],
  );
  // One method was loaded, and ran once.
  assert.deepEqual(
    readDump(program.etdump().etdump).map(({ name, index }) => `${name} ${index}`),
    ["Default -1", "Execute 0"],
  );
  assert.throws(() => program.verify({ method: "beta" }), {
    code: "not_found",
    message: /no cases of method 'beta'/,
    hint: /alpha, zeta/,
  });
  program.dispose();
});

test("what is expected and is no tensor is refused, as the official writer does", () => {
  const constantMethods = { size: 7 };
  const lowered = engine.lower({ path: modelPath("mlp.pt2") }, { constantMethods });
  const suites = (expected: Value): TestSuite[] => [
    { methodName: "size", testCases: [{ inputs: [], expectedOutputs: [expected] }] },
  ];
  assert.throws(() => engine.bundle(lowered.buffer, suites(7)), {
    code: "unsupported",
    message: /expected output 0 of case 0 of method 'size' is not a tensor/,
  });
  assert.throws(() => engine.bundle(lowered.buffer, suites(tensor([7]))), { code: "input" });
  lowered.dispose();
});

test("a program and what is in it are one argument, which must be there", () => {
  const suites = suite(inputsOf("mlp"));
  const refused = (what: RegExp, ...given: readonly unknown[]): void =>
    assert.throws(() => (engine.bundle as (...all: readonly unknown[]) => unknown)(...given), {
      code: "argument",
      message: what,
    });
  const missing = /^the program of bundle\(\) must be .* not undefined$/;
  refused(missing, undefined, suites);
  refused(/^the program of bundle\(\) must be .* not null$/, null, suites);
  refused(/^the suites of bundle\(\) must be .* not undefined$/, undefined, undefined);
  refused(/^the suites of bundle\(\) must be /);
  const pte = lower("mlp");
  refused(/^the program of bundle\(\) must be /, [pte, pte], suites);
  refused(/^dataFiles\[0\] of bundle\(\) must be /, pte, suites, { dataFiles: [7] });
  const lowered = engine.lower({ path: modelPath("mlp.pt2") });
  refused(/^the program of bundle\(\) must be /, { program: lowered, buffer: pte }, suites);
  lowered.dispose();
  assert.throws(() => engine.load(undefined as never), {
    message: /^the program of load\(\) must be /,
  });
});

test("a bundled program is its program, whose bytes are in it as they are", () => {
  const pte = lower("mlp");
  const bytes = engine.bundle(pte, suite(inputsOf("mlp")));
  const at = bytes.length - pte.length;
  assert.equal(at % 32, 0);
  assert.deepEqual(bytes.slice(at), pte);
  const [plain, bundled] = [engine.load(pte), engine.load(bytes)];
  assert.deepEqual(bundled.run("forward", inputsOf("mlp")), plain.run("forward", inputsOf("mlp")));
  assert.deepEqual(plain.testSuites(), []);
  assert.throws(() => plain.verify(), { code: "state" });
  plain.dispose();
  bundled.dispose();
});

test("differences are told, and tolerances decide", () => {
  const pte = lower("mlp");
  const program = engine.load(pte);
  const inputs = inputsOf("mlp");
  const [right] = program.run("forward", inputs) as [TensorOf<"float32">];
  program.dispose();
  const data = Float32Array.from(right.data);
  data[7]! += 0.25;
  const wrong = { dtype: right.dtype, shape: right.shape, data };
  const bundle = engine.load(engine.bundle(pte, suite(inputs, [wrong])));
  const [output] = bundle.verify()[0]!.outputs;
  assert.deepEqual([output!.isClose, output!.mismatches, output!.worst], [false, 1, 7]);
  assert.ok(Math.abs(output!.maxAbsolute! - 0.25) < 1e-6);
  assert.ok(bundle.verify({ atol: 0.3 })[0]!.outputs[0]!.isClose);
  data[7] = NaN;
  const odd = engine.load(engine.bundle(pte, suite(inputs, [wrong])));
  assert.deepEqual(odd.verify({ atol: 1 })[0]!.outputs[0]!.maxAbsolute, null);
  assert.equal(odd.verify({ atol: 1 })[0]!.outputs[0]!.isClose, false);
  bundle.dispose();
  odd.dispose();
});

test("cases without expectations are run and not compared", () => {
  const program = engine.load(engine.bundle(lower("mlp"), suite(inputsOf("mlp"), null)));
  assert.equal(program.testSuites()[0]!.testCases[0]!.expectedOutputs, null);
  assert.deepEqual(program.verify(), [{ methodName: "forward", testCase: 0, outputs: [] }]);
  program.dispose();
});

test("what a method does not take or return is refused by method and case", () => {
  const pte = lower("mlp");
  const [x] = inputsOf("mlp") as [Tensor];
  const refused = (suites: unknown, error: { code: string; message: RegExp }): void => {
    assert.throws(() => engine.bundle(pte, suites as TestSuite[]), error);
  };
  const ints = { ...x, dtype: "int32", data: new Int32Array(x.data.length) } as Tensor;
  const small = tensor([[1, 2]]);
  refused(suite([x], [x, x]), { code: "input", message: /case 0 of method 'forward' has 2/ });
  refused(suite([], null), { code: "input", message: /case 0 of method 'forward' has 0 inputs/ });
  refused(suite([ints], null), { code: "dtype", message: /input 0 of case 0.*int32.*float32/ });
  refused(suite([small], null), {
    code: "shape",
    message: /input 0 of case 0 of method 'forward'/,
  });
  refused(suite([3], null), { code: "input", message: /input 0 of case 0.*kind/ });
  refused(suite(["x"], null), { code: "argument", message: /input 0 of case 0/ });
  refused(suite([x], [ints]), { code: "dtype", message: /expected output 0 of case 0/ });
  refused(suite([ints]), { code: "input", message: /case 0 of method 'forward'/ });
  refused([{ methodName: "no", testCases: [{ inputs: [], expectedOutputs: null }] }], {
    code: "not_found",
    message: /'no'/,
  });
  const twice = suite([x], null)[0];
  refused([twice, twice], { code: "argument", message: /two test suites/ });
  refused([{ methodName: "forward" }], { code: "argument", message: /testCases/ });
  refused("no", { code: "argument", message: /suites/ });
});

test("what is damaged is refused", () => {
  const bytes = engine.bundle(lower("mlp"), suite(inputsOf("mlp")));
  for (let at = 0; at < 200; at++) {
    const copy = bytes.slice(0, at < 100 ? at * 7 : bytes.length);
    if (at >= 100) copy[at - 92] = copy[at - 92]! ^ 0x41;
    try {
      const program = engine.load(copy);
      program.testSuites();
      program.dispose();
    } catch (error) {
      assert.equal((error as Error).name, "SconceError");
    }
  }
});

test("runs of test cases are recorded with their numbers", () => {
  const inputs = inputsOf("mlp");
  const suites: TestSuite[] = [{ methodName: "forward", testCases: [{ inputs }, { inputs }] }];
  const program = engine.load(engine.bundle(lower("mlp"), suites));
  program.verify({ events: true });
  const blocks = readDump(program.etdump().etdump);
  assert.deepEqual(
    blocks.map(({ name, index }) => `${name} ${index}`),
    ["Default -1", "Execute 0", "Execute 1"],
  );
  program.dispose();
});

test("the client bundles and verifies as the engine does", async () => {
  const client = await createClient();
  const pte = lower("mlp");
  const bytes = await client.bundle(pte, suite(inputsOf("mlp")));
  assert.deepEqual(bytes, engine.bundle(pte, suite(inputsOf("mlp"))));
  const program = await client.load(bytes);
  assert.equal((await program.testSuites()).length, 1);
  assert.ok((await program.verify())[0]!.outputs[0]!.isClose);
  client.terminate();
});

test("the command bundles, runs and verifies", () => {
  writeFileSync(join(folder, "m.pte"), lower("mlp"));
  const write = (calls: unknown): void =>
    writeFileSync(join(folder, "calls.json"), JSON.stringify(calls));
  write([{ inputs: ["random:1"] }, { inputs: ["zeros"] }]);
  const bundle = ["bundle", "m.pte", "--calls", "calls.json", "-o", "m.bpte"];
  const made = sconce(...bundle);
  assert.deepEqual([made.status, made.stdout], [0, "forward: 2 cases\n"], made.stderr);
  const verified = sconce("run", "m.bpte", "--verify");
  assert.equal(verified.status, 0, verified.stderr);
  assert.match(verified.stdout, /^forward, case 0: output_0: ok.*\n.*\n2 cases as expected\n$/);
  assert.equal(sconce("run", "m.bpte", "--input", "random:1", "--out", "out").status, 0);
  assert.equal(sconce("inspect", "m.bpte").status, 0);
  write([{ inputs: ["zeros"], expected: ["out/output_0.npy"] }]);
  assert.equal(sconce(...bundle).status, 0);
  const wrong = sconce("run", "m.bpte", "--verify");
  assert.equal(wrong.status, 1);
  assert.match(wrong.stdout, /differ, off by at most/);
  assert.match(wrong.stderr, /1 of 1 case differ/);
  assert.equal(sconce("run", "m.bpte", "--verify", "--atol", "100").status, 0);
  assert.ok(readFileSync(join(folder, "m.bpte")).length > 0);
});

test("flags of bundles that do not go together are wrong usage", () => {
  writeFileSync(join(folder, "m.pte"), lower("mlp"));
  writeFileSync(join(folder, "calls.json"), '[{"inputs": ["ones"]}]');
  for (const args of [
    ["bundle", "m.pte", "-o", "x.bpte"],
    ["bundle", "m.pte", "--calls", "calls.json"],
    ["bundle", "m.pte", "--calls", "calls.json", "-o", "m.pte"],
    ["run", "m.pte", "--rtol", "1", "--input", "ones"],
    ["run", "m.pte", "--verify", "--rtol", "-1"],
    ["run", "m.pte", "--verify", "--input", "ones"],
  ])
    assert.equal(sconce(...args).status, 2, args.join(" "));
  assert.equal(sconce("run", "m.pte", "--verify").status, 1);
  assert.ok(!existsSync(join(folder, "x.bpte")));
});
