// The command line as other tools call it: exit codes, files, and what goes to which stream.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { modelPath, samplePath } from "./reference.js";

const cli = fileURLToPath(new URL("../../../dist/cli.js", import.meta.url));
let folder = "";
before(() => (folder = mkdtempSync(join(tmpdir(), "sconce-cli-"))));
after(() => rmSync(folder, { recursive: true, force: true }));

interface Result {
  status: number | null;
  stdout: string;
  stderr: string;
}

function sconce(...args: string[]): Result {
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, ...args], {
    cwd: folder,
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}

/** A .npy file's header text and data. */
function readNpy(name: string): { header: string; data: Buffer } {
  const bytes = readFileSync(join(folder, name));
  const end = 10 + bytes.readUInt16LE(8);
  return { header: bytes.subarray(10, end).toString("latin1"), data: bytes.subarray(end) };
}

test("no command, an unknown one and bad options are wrong usage", () => {
  for (const args of [
    [],
    ["frobnicate"],
    ["lower"],
    ["lower", "a.pt2"],
    ["lower", "--nope", "a.pt2", "-o", "a.pte"],
    ["lower", "--method", "x", "-o", "a.pte"],
    ["lower", "a.pt2", "--method", "m=a.pt2", "-o", "a.pte"],
    ["lower", "a.pt2", "-o", "a.pte", "--memory-planning", "psychic"],
    ["run"],
    ["run", "a.pte", "b.pte"],
    ["inspect"],
  ]) {
    const { status, stdout, stderr } = sconce(...args);
    assert.equal(status, 2, args.join(" "));
    assert.equal(stdout, "");
    assert.notEqual(stderr, "");
  }
});

test("help teaches and succeeds", () => {
  for (const args of [["--help"], ["lower", "--help"], ["run", "--help"], ["inspect", "-h"]]) {
    const { status, stdout } = sconce(...args);
    assert.equal(status, 0);
    assert.match(stdout, /sconce (lower|run|inspect)/);
  }
});

test("a failed lowering exits with 1, says why, and leaves no file", () => {
  writeFileSync(join(folder, "broken.pt2"), "PK\u0003\u0004 but not really");
  const { status, stdout, stderr } = sconce("lower", "broken.pt2", "-o", "broken.pte");
  assert.deepEqual([status, stdout], [1, ""]);
  assert.match(stderr, /broken\.pt2: \w+: /);
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.includes(".pte")),
    [],
  );
});

test("several files are lowered each on its own, and a failure does not stop the rest", () => {
  const files = [modelPath("linear.pt2"), join(folder, "missing.pt2"), modelPath("mlp.pt2")];
  const { status, stderr } = sconce("lower", ...files, "-o", "several/");
  assert.equal(status, 1);
  assert.match(stderr, /missing\.pt2/);
  assert.deepEqual(readdirSync(join(folder, "several")).sort(), ["linear.pte", "mlp.pte"]);
});

test("weights go to a .ptd named after its program", () => {
  const files = [modelPath("linear.pt2"), modelPath("mlp.pt2")];
  assert.equal(sconce("lower", ...files, "--external-constants", "-o", "split/").status, 0);
  const names = ["linear.ptd", "linear.pte", "mlp.ptd", "mlp.pte"];
  assert.deepEqual(readdirSync(join(folder, "split")).sort(), names);
  const run = sconce("run", "split/mlp.pte", "--data", "split/mlp.ptd", "--input", "ones");
  assert.equal(run.status, 0, run.stderr);
});

test("a model is never overwritten by what is made of it", () => {
  const bytes = readFileSync(modelPath("linear.pt2"));
  writeFileSync(join(folder, "self.pt2"), bytes);
  assert.equal(sconce("lower", "self.pt2", "-o", "self.pt2").status, 2);
  assert.equal(sconce("lower", "--method", "m=self.pt2", "-o", "./self.pt2").status, 2);
  assert.deepEqual(readFileSync(join(folder, "self.pt2")), bytes);
});

test("methods and constants become one program", () => {
  const methods = ["prefill", "decode"].flatMap((m) => [
    "--method",
    `${m}=${samplePath(`stories260k.${m}.pt2`)}`,
  ]);
  const lowered = sconce(
    "lower",
    ...methods,
    "--constant",
    "get_max_seq_len=256",
    "--constant",
    "scale=1.0",
    "--constant",
    "name=tiny",
    "--share-state",
    "-o",
    "story.pte",
  );
  assert.equal(lowered.status, 0, lowered.stderr);
  const report = JSON.parse(sconce("inspect", "story.pte", "--json").stdout) as {
    methods: { name: string; outputs: { kind: string }[] }[];
  };
  const kinds = Object.fromEntries(report.methods.map((m) => [m.name, m.outputs[0]!.kind]));
  assert.deepEqual(kinds, {
    decode: "tensor",
    prefill: "tensor",
    get_max_seq_len: "int",
    scale: "double",
    name: "string",
  });
  const run = sconce("run", "story.pte", "--method", "get_max_seq_len", "--out", "constant");
  assert.match(run.stdout, /output_0: 256/);
  assert.equal(readNpy("constant/output_0.npy").data.readBigInt64LE(), 256n);
  assert.equal(sconce("run", "story.pte", "--method", "nope").status, 1);
});

test("inputs come from files, numbers and fillers; outputs go to .npy files", () => {
  assert.equal(sconce("lower", modelPath("add_mul.pt2"), "-o", "add.pte").status, 0);
  assert.equal(sconce("run", "add.pte", "--input", "ones", "--out", "ones").status, 0);
  const { header, data } = readNpy("ones/output_0.npy");
  assert.match(header, /'descr': '<f4', 'fortran_order': False, 'shape': \(2, 3\)/);
  assert.equal(data.length, 24);
  // What was written can be read back as an input.
  const again = sconce(
    "run",
    "add.pte",
    "--input",
    "ones/output_0.npy",
    "--input",
    "zeros",
    "--out",
    "again",
  );
  assert.equal(again.status, 0, again.stderr);
  assert.ok(existsSync(join(folder, "again/output_0.npy")));
  const wrong = sconce("run", "add.pte", "--input", "ones/output_0.npy");
  assert.equal(wrong.status, 1);
  assert.match(wrong.stderr, /takes 2 inputs/);
});

test("fillers give the same numbers for the same seed", () => {
  sconce("lower", modelPath("linear.pt2"), "-o", "linear.pte");
  const output = (seed: number): string => {
    assert.equal(
      sconce("run", "linear.pte", "--input", `random:${seed}`, "--out", `r${seed}`).status,
      0,
    );
    return readNpy(`r${seed}/output_0.npy`).data.toString("hex");
  };
  assert.equal(output(1), output(1));
  assert.notEqual(output(1), output(2));
});

test("bfloat16 is written as V2 and read back", () => {
  sconce("lower", modelPath("linear_bf16.pt2"), "-o", "bf16.pte");
  assert.equal(sconce("run", "bf16.pte", "--input", "random:3", "--out", "bf16").status, 0);
  assert.match(readNpy("bf16/output_0.npy").header, /'descr': '\|V2'/);
});

test("calls run in order with state kept", () => {
  sconce("lower", modelPath("counter_buffer.pt2"), "-o", "counter.pte");
  const call = (out: string): object => ({ method: "forward", inputs: ["ones"], out });
  writeFileSync(join(folder, "calls.json"), JSON.stringify([call("c0"), call("c1"), call("c2")]));
  const { status, stderr } = sconce("run", "counter.pte", "--calls", "calls.json");
  assert.equal(status, 0, stderr);
  const counts = ["c0", "c1", "c2"].map((name) =>
    Number(readNpy(`${name}/output_1.npy`).data.readBigInt64LE()),
  );
  assert.deepEqual([counts[1]! - counts[0]!, counts[2]! - counts[1]!], [1, 1]);
});

test("a call that fails takes the files of those before it with it", () => {
  sconce("lower", modelPath("counter_buffer.pt2"), "-o", "counter.pte");
  const calls = [
    { method: "forward", inputs: ["ones"], out: "f0" },
    { method: "forward", inputs: ["missing.npy"], out: "f1" },
  ];
  writeFileSync(join(folder, "failing.json"), JSON.stringify(calls));
  assert.equal(sconce("run", "counter.pte", "--calls", "failing.json").status, 1);
  assert.deepEqual(readdirSync(join(folder, "f0")), []);
  assert.ok(!existsSync(join(folder, "f1")));
});

test("inspect tells what is in both kinds of files", () => {
  const pt2 = JSON.parse(sconce("inspect", modelPath("mlp.pt2"), "--json").stdout) as {
    kind: string;
    stages: { methods: { name: string; ops: Record<string, number> }[] }[];
  };
  assert.equal(pt2.kind, "pt2");
  assert.equal(pt2.stages[0]!.methods[0]!.ops["aten::linear"], 3);
  assert.match(sconce("inspect", modelPath("mlp.pt2")).stdout, /method forward/);
  sconce("lower", modelPath("mlp.pt2"), "-o", "mlp.pte");
  assert.match(sconce("inspect", "mlp.pte").stdout, /aten::addmm\.out/);
  writeFileSync(join(folder, "note.txt"), "hello, this is no model at all");
  assert.equal(sconce("inspect", "note.txt").status, 1);
});
