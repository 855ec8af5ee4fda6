// Names on the command line: of inputs that are given, of what inspect and run show.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { folder, sconce } from "../setup/command.js";
import { modelPath } from "../setup/reference.js";

before(() => {
  for (const name of ["add_mul", "pytree_io"])
    assert.equal(sconce("lower", modelPath(`${name}.pt2`), "-o", `${name}.pte`).status, 0);
});

/** The folder's output_0.npy after a run with these arguments. */
function outputOf(...args: string[]): string {
  const { status, stderr } = sconce("run", "add_mul.pte", "--out", "out", ...args);
  assert.equal(status, 0, stderr);
  return readFileSync(join(folder, "out/output_0.npy")).toString("hex");
}

const inputs = (...values: string[]): string[] => values.flatMap((value) => ["--input", value]);

test("inspect shows names, and says one instruction of one", () => {
  const { stdout } = sconce("inspect", "pytree_io.pte");
  assert.match(stdout, /^ {2}in {2}bs\.1: float32 \[/m);
  assert.match(stdout, /^ {2}out pair\.1\.0: float32 \[/m);
  assert.match(stdout, /^ {2}in {2}scale: double = 3$/m);
  const lowered = sconce(
    "lower",
    modelPath("linear.pt2"),
    "-o",
    "linear.pte",
    "--backend",
    "xnnpack",
  );
  assert.equal(lowered.status, 0, lowered.stderr);
  assert.match(sconce("inspect", "linear.pte").stdout, /^method forward: 1 instruction$/m);
});

test("run takes inputs by name in any order, and shows the names of outputs", () => {
  const inOrder = outputOf(...inputs("random:1", "random:2"));
  assert.equal(outputOf(...inputs("y=random:2", "x=random:1")), inOrder);
  assert.notEqual(outputOf(...inputs("x=random:2", "y=random:1")), inOrder);
  const call = (given: object): void =>
    writeFileSync(join(folder, "calls.json"), JSON.stringify([{ inputs: given, out: "called" }]));
  call({ y: "random:2", x: "random:1" });
  assert.equal(sconce("run", "add_mul.pte", "--calls", "calls.json").status, 0);
  assert.equal(readFileSync(join(folder, "called/output_0.npy")).toString("hex"), inOrder);
  // A file by name, in both.
  const file = join(folder, "out/output_0.npy");
  const one = readFileSync(file);
  const byName = outputOf(...inputs("y=ones", `x=${file}`));
  writeFileSync(file, one);
  assert.equal(byName, outputOf(...inputs(file, "ones")));
  const { stdout } = sconce(
    "run",
    "pytree_io.pte",
    ...inputs("a=ones", "bs.0=ones", "bs.1=ones", "d.x=ones", "d.y=ones"),
  );
  assert.match(stdout, /^ {2}output_0 \(sum\): float32/m);
});

test("a dump never replaces an input that was given by name", () => {
  outputOf(...inputs("ones"));
  const file = join(folder, "out/output_0.npy");
  const given = inputs("y=ones", `x=${file}`);
  const { status, stderr } = sconce("run", "add_mul.pte", "--etdump", file, ...given);
  assert.equal(status, 2, stderr);
  assert.match(stderr, /output_0\.npy would be overwritten/);
});

test("names that are wrong, missing, given twice or mixed are told", () => {
  for (const [given, code, message] of [
    [["z=ones", "x=ones"], 1, /has no input 'z'\n.* x, y/],
    [["x=ones"], 1, /takes 2 inputs, and no value was given for: y/],
    [["x=ones", "x=zeros"], 2, /gives 'x' two values/],
    [["x=ones", "ones"], 2, /--input ones has no name, and others have/],
    [["x=nowhere.npy", "y=ones"], 1, /cannot read nowhere\.npy/],
  ] as const) {
    const { status, stdout, stderr } = sconce("run", "add_mul.pte", ...inputs(...given));
    assert.deepEqual([status, stdout], [code, ""], stderr);
    assert.match(stderr, message);
  }
});
