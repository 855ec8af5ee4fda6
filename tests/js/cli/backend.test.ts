// Backends on the command line: which, what is reported of them, and files that hold their parts.
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { folder, sconce } from "../setup/command.js";
import { modelPath } from "../setup/reference.js";

const mlp = modelPath("mlp.pt2");
const demo = fileURLToPath(new URL("../setup/demo_backend.js", import.meta.url));

interface Report {
  methods: Record<
    string,
    {
      delegated: { nodes: number; ofNodes: number; macsShare: number };
      delegates: { backend: string; nodes: number; processedBytes: number; bytesShare: number }[];
      outside: { op: string; source: string; reason: string; hint: string; macsShare: number }[];
    }
  >;
  verification?: Record<
    string,
    { inputs: string; outputs: { isClose: boolean }[]; delegates: { isClose?: boolean }[] }
  >;
}
const reportOf = (name: string): Report =>
  JSON.parse(readFileSync(join(folder, name), "utf8")) as Report;

test("a model is handed to a backend, verified, reported, inspected and run", () => {
  const made = sconce(
    ...["lower", mlp, "-o", "null.pte", "--backend", "null"],
    ...["--report", "null.json", "--verify", "--target-runtime", "1.4"],
  );
  assert.equal(made.status, 0, made.stderr);
  assert.equal(made.stderr, "");
  assert.match(made.stdout, /forward: 1 delegate \(NullBackend\), 9 of 9 nodes, 100.0 % of mult/);
  assert.match(
    made.stdout,
    /: verified on example inputs: 1 output and 1 delegate as without delegates, at most \S+ apart\n$/,
  );
  const { methods, verification } = reportOf("null.json");
  const { delegated, delegates, outside } = methods["forward"]!;
  assert.deepEqual([delegated.nodes, delegated.ofNodes, delegated.macsShare], [9, 9, 1]);
  assert.deepEqual([delegates[0]!.backend, delegates[0]!.nodes], ["NullBackend", 9]);
  assert.ok(delegates[0]!.processedBytes > 0 && delegates[0]!.bytesShare === 1);
  assert.deepEqual(outside, []);
  assert.ok(verification!["forward"]!.outputs.every(({ isClose }) => isClose));
  const seen = sconce("inspect", "null.pte");
  assert.match(seen.stdout, /delegate of NullBackend, \d/);
  assert.match(seen.stdout, /data that delegates look up\n {2}[0-9a-f]{32}: \d/);
  assert.doesNotMatch(seen.stdout, /cannot run/);
  assert.equal(sconce("lower", mlp, "-o", "plain.pte").status, 0);
  const outputOf = (file: string): string =>
    sconce("run", file, "--input", "random:1").stdout.replace(/[\d.]+ ms/, "");
  assert.equal(outputOf("null.pte"), outputOf("plain.pte"));
});

test("a backend of a module lowers and runs, and nodes outside have their reasons", () => {
  const args = ["lower", mlp, "-o", "demo.pte", "--import", demo, "--backend", "DemoBackend"];
  const made = sconce(...args, "--report", "demo.json", "--verify");
  assert.equal(made.status, 0, made.stderr);
  assert.match(made.stdout, /2 delegates|3 delegates/);
  assert.match(made.stdout, /outside: \S+ \(aten::gelu\), \d+\.\d % of bytes: only arithmetic/);
  const { outside } = reportOf("demo.json").methods["forward"]!;
  assert.ok(outside.every(({ reason, source }) => reason === "only arithmetic" && source !== ""));
  assert.match(sconce("inspect", "demo.pte").stdout, /cannot run here: .*DemoBackend/);
  const alone = sconce("run", "demo.pte", "--input", "ones");
  assert.equal(alone.status, 1);
  assert.match(alone.stderr, /delegate: .*DemoBackend.*is not registered/);
  assert.match(alone.stderr, /registerBackend\(\) or --import FILE/);
  const run = sconce("run", "demo.pte", "--input", "ones", "--import", demo);
  assert.equal(run.status, 0, run.stderr);
});

test("of what was verified, lines are of what differs or could not be compared", () => {
  const shifted = join(folder, "shifted.mjs");
  writeFileSync(
    shifted,
    `import demo from ${JSON.stringify(pathToFileURL(demo).href)};
    export default { ...demo, execute: (state, inputs) => demo.execute(state, inputs).map(
      ({ shape, data }) => ({ dtype: "float32", shape, data: data.map((x) => x + 0.5) })) };`,
  );
  const args = ["--import", shifted, "--backend", "DemoBackend", "--backend", "null", "--verify"];
  const made = sconce("lower", mlp, "-o", "shifted.pte", "--report", "shifted.json", ...args);
  assert.equal(made.status, 1, made.stderr);
  assert.match(
    made.stdout,
    /verified on example inputs: 0 of 1 output and \d of \d delegates as without delegates, at/,
  );
  assert.match(made.stdout, /\n {4}output 0: \S+ apart, more than \S+\n/);
  assert.match(made.stdout, /\(DemoBackend\): 0\.5\d* apart, more than \S+\n/);
  assert.doesNotMatch(made.stdout, /\(NullBackend\): /);
  const { delegates } = reportOf("shifted.json").verification!["forward"]!;
  assert.ok(delegates.some(({ isClose }) => isClose));
  const branches = ["lower", modelPath("cond.pt2"), "-o", "cond.pte", "--backend", "null"];
  const cond = sconce(...branches, "--verify");
  assert.match(cond.stdout, /\(NullBackend\): not compared: it was not called\n/);
});

test("what passes change is not held against a program that is verified", () => {
  const model = modelPath("quantized_cnn.pt2");
  const args = ["lower", model, "-o", "border.pte", "--pass", "quantizeInputs", "--verify"];
  const delegated = sconce(...args, "--backend", "xnnpack");
  assert.equal(delegated.status, 0, delegated.stderr);
  assert.match(delegated.stdout, /forward: verified on random inputs: 1 delegate as without/);
  const plain = sconce(...args);
  assert.equal(plain.status, 0, plain.stderr);
  assert.match(plain.stdout, /not verified: its inputs are not those of the model/);
});

test("a target runtime without a backend is said to change nothing", () => {
  const args = ["lower", mlp, "-o", "target.pte", "--target-runtime", "1.4"];
  const { status, stderr } = sconce(...args);
  assert.equal(status, 0, stderr);
  assert.match(stderr, /^note: --target-runtime .* without --backend it changes nothing\n$/);
});

test("backends by method, and several one after the other", () => {
  const two = ["lower", "--method", `a=${mlp}`, "--method", `b=${mlp}`, "-o", "two.pte"];
  assert.equal(sconce(...two, "--backend", "b=null", "--report", "two.json").status, 0);
  const { a, b } = reportOf("two.json").methods;
  assert.deepEqual([a!.delegates.length, b!.delegates.length], [0, 1]);
  const mixed = ["--import", demo, "--backend", "a=DemoBackend", "--backend", "null"];
  assert.equal(sconce(...two, ...mixed, "--report", "two.json").status, 0);
  const backendsOf = (method: string): string[] => [
    ...new Set(reportOf("two.json").methods[method]!.delegates.map(({ backend }) => backend)),
  ];
  assert.deepEqual(backendsOf("a").sort(), ["DemoBackend", "NullBackend"]);
  assert.deepEqual(backendsOf("b"), ["NullBackend"]);
});

test("what is wrong with a backend is said, and leaves no file", () => {
  for (const [status, text, ...args] of [
    [1, /there is no backend 'nobody'[^]*--import FILE/, "--backend", "nobody"],
    [1, /there is no method 'decode'/, "--backend", "decode=null"],
    [2, /--backend takes NAME or METHOD=NAME/, "--backend", "decode="],
    [2, /--backend takes NAME or METHOD=NAME/, "--backend", "=null"],
    [2, /--target-runtime is/, "--backend", "null", "--target-runtime", "9.9"],
    [1, /cannot be imported/, "--import", "none.js"],
    [2, /which file the report goes to/, "--report", ""],
    [2, /would be written to none\.pte/, "--report", "none.pte"],
  ] as const) {
    const { status: found, stderr } = sconce("lower", mlp, "-o", "none.pte", ...args);
    assert.equal(found, status, stderr);
    assert.match(stderr, text);
    assert.ok(!existsSync(join(folder, "none.pte")));
  }
  const several = sconce("lower", mlp, modelPath("linear.pt2"), "-o", "s/", "--report", "r.json");
  assert.equal(several.status, 2);
});

test("inspect shows what is in the parts of a backend that has words for them", () => {
  const cnn = modelPath("cnn.pt2");
  assert.equal(sconce("lower", cnn, "-o", "seen.pte", "--backend", "xnnpack").status, 0);
  const short = sconce("inspect", "seen.pte");
  assert.match(short.stdout, /delegate of XnnpackBackend, \d.*\n {4}0 \w+ x0 -> x\d+ fp32\[/);
  assert.match(short.stdout, /Conv2d x\d+ x\d+ x\d+ -> x\d+ fp32\[2, 32, 32, 8\] \{/);
  assert.match(short.stdout, /and \d+ more lines, which --nodes shows/);
  assert.doesNotMatch(short.stdout, /constant 1 "/);
  const all = sconce("inspect", "seen.pte", "--nodes");
  assert.match(all.stdout, /constant 1 "[0-9a-f]+" \d+ bytes\n/);
  assert.doesNotMatch(all.stdout, /--nodes/);
  const { methods } = JSON.parse(sconce("inspect", "seen.pte", "--json", "--nodes").stdout) as {
    methods: { parts: { backend: string; lines: string[] }[] }[];
  };
  assert.doesNotMatch(sconce("inspect", "seen.pte", "--json").stdout, /"lines"|Conv2d/);
  const [part] = methods[0]!.parts;
  assert.equal(part!.backend, "XnnpackBackend");
  assert.ok(part!.lines.length > 4 && part!.lines.every((line) => line.trim() === line));
  assert.equal(sconce("inspect", cnn, "--nodes").status, 2);
  assert.equal(sconce("lower", mlp, "-o", "mute.pte", "--backend", "null").status, 0);
  assert.doesNotMatch(sconce("inspect", "mute.pte", "--nodes").stdout, /more lines|shown/);
});

test("weights that a part looks up in a data file are known to be needed", () => {
  const options = ["--backend", "xnnpack", "--external-constants"];
  assert.equal(sconce("lower", mlp, "-o", "apart.pte", ...options).status, 0);
  assert.match(sconce("inspect", "apart.pte").stdout, / needs [0-9a-f]+ of a \.ptd\n/);
  const found = sconce("inspect", "apart.pte", "--data", "apart.ptd");
  assert.match(found.stdout, / needs [0-9a-f]+, found in apart\.ptd\n/);
  const without = sconce("run", "apart.pte", "--input", "ones");
  assert.equal(without.status, 1);
  assert.match(without.stderr, /in a data file that was not given[^]*--data model\.ptd/);
  assert.equal(sconce("run", "apart.pte", "--data", "apart.ptd", "--input", "ones").status, 0);
  assert.equal(sconce("lower", mlp, "-o", "within.pte", "--backend", "xnnpack").status, 0);
  assert.doesNotMatch(sconce("inspect", "within.pte").stdout, / needs /);
});

test("inspect survives parts that are damaged", () => {
  const cnn = modelPath("cnn.pt2");
  assert.equal(sconce("lower", cnn, "-o", "whole.pte", "--backend", "xnnpack").status, 0);
  const bytes = readFileSync(join(folder, "whole.pte"));
  bytes[bytes.indexOf("XH00")] = 0x59;
  writeFileSync(join(folder, "damaged.pte"), bytes);
  const { status, stdout } = sconce("inspect", "damaged.pte");
  assert.equal(status, 0);
  assert.match(stdout, /cannot be shown: /);
});
