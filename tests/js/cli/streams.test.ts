// The command in a pipe: the standard input as a file, the standard output as one, and places where
// what is written is thrown away.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { cli, folder, sconce, type Result } from "../setup/command.js";
import { modelPath } from "../setup/reference.js";

interface Piped extends Result {
  bytes: Buffer;
}

/** Runs a script of the shell, in which sconce is the command. */
function shell(script: string): Piped {
  const sconceIs = `sconce() { "${process.execPath}" "${cli}" "$@"; }; ${script}`;
  const options = { cwd: folder, timeout: 20_000 };
  const { status, signal, stdout, stderr } = spawnSync("bash", ["-c", sconceIs], options);
  return { status, signal, stdout: stdout.toString(), stderr: stderr.toString(), bytes: stdout };
}

const bytesOf = (name: string): Buffer => readFileSync(join(folder, name));
const mlp = modelPath("mlp.pt2");
sconce("lower", mlp, "-o", "whole.pte");

test("a model comes from the standard input and the program goes to the standard output", () => {
  for (const input of ["-", "/dev/stdin"]) {
    const { status, stderr, bytes } = shell(`cat "${mlp}" | sconce lower ${input} -o - | cat`);
    assert.equal(status, 0, stderr);
    assert.deepEqual(bytes, bytesOf("whole.pte"));
    assert.match(stderr, /^standard output: .*, methods forward, lowered in /m);
  }
  const through = shell(`sconce lower - -o /dev/stdout < "${mlp}" > through.pte`);
  assert.equal(through.status, 0, through.stderr);
  assert.deepEqual(bytesOf("through.pte"), bytesOf("whole.pte"));
});

test("a method of several comes from the standard input", () => {
  const { status, stderr } = shell(
    `cat "${mlp}" | sconce lower --method a=- --method "b=${mlp}" -o two.pte`,
  );
  assert.equal(status, 0, stderr);
  assert.match(sconce("inspect", "two.pte").stdout, /method a:[^]*method b:/);
});

test("programs, arrays, calls and records come from the standard input", () => {
  const direct = sconce("run", "whole.pte", "--input", "random:1", "--out", "direct");
  assert.equal(direct.status, 0, direct.stderr);
  const lines = (text: string): string => text.replace(/^forward: .*\n/gm, "");
  const ran = shell(`cat whole.pte | sconce run - --input random:1`);
  assert.equal(lines(ran.stdout), lines(direct.stdout));
  const calls = JSON.stringify([{ inputs: ["random:1"] }]);
  const called = shell(`echo '${calls}' | sconce run whole.pte --calls -`);
  assert.equal(lines(called.stdout), lines(direct.stdout));
  assert.match(shell(`cat whole.pte | sconce inspect -`).stdout, /^executorch program: /);
  sconce("lower", modelPath("add_mul.pt2"), "-o", "add.pte");
  sconce("run", "add.pte", "--input", "random:2", "--out", "made");
  const array = shell(`cat made/output_0.npy | sconce run add.pte --input - --input zeros`);
  const file = sconce("run", "add.pte", "--input", "made/output_0.npy", "--input", "zeros");
  assert.equal(lines(array.stdout), lines(file.stdout));
});

test("the same pipe cannot be two files", () => {
  for (const args of [
    "run - --input -",
    "run whole.pte --calls - --data -",
    "inspect - --etrecord -",
  ]) {
    const { status, stderr } = shell(`cat whole.pte | sconce ${args}`);
    assert.equal(status, 2, args);
    assert.match(
      stderr,
      /is named twice, and the standard input can be read once\n {2}Name a file/,
    );
  }
});

test("reports and tables go to the standard output, and text to the standard error then", () => {
  const { status, stdout, stderr } = sconce("lower", mlp, "-o", "/dev/null", "--report", "-");
  assert.equal(status, 0, stderr);
  assert.ok("methods" in (JSON.parse(stdout) as object));
  assert.match(stderr, /^\/dev\/null: .*lowered in /m);
  const two = sconce("lower", mlp, "-o", "-", "--report", "-");
  assert.equal(two.status, 2);
  assert.match(two.stderr, /two of the files would be written to the standard output/);
  const json = sconce("lower", mlp, "-o", "-", "--json");
  assert.equal(json.status, 2);
  assert.match(json.stderr, /--json and - both write to the standard output/);
});

test("nothing is left beside /dev/null, also of programs with data files", () => {
  const before = readdirSync("/dev").length;
  for (const more of [[], ["--external-constants"], ["--etrecord", "/dev/null"]]) {
    const { status, stderr } = sconce("lower", mlp, "-o", "/dev/null", ...more);
    assert.equal(status, 0, stderr);
  }
  assert.equal(readdirSync("/dev").length, before);
  const split = sconce("lower", mlp, "-o", "-", "--external-constants");
  assert.equal(split.status, 2);
  assert.match(split.stderr, /a program with data files cannot go to the standard output/);
});

test("what fails writes nothing to the standard output", () => {
  const broken = join(folder, "broken.pt2");
  writeFileSync(broken, readFileSync(mlp).subarray(0, 3000));
  const { status, stdout } = shell(`cat broken.pt2 | sconce lower - -o -`);
  assert.deepEqual([status, stdout], [1, ""]);
  assert.ok(!existsSync(join(folder, "-")));
});

test("a reader that leaves early is no error of a program that goes there", () => {
  const { stderr } = shell(
    `{ sconce lower -q "${mlp}" -o -; echo "$?" >&2; } | head -c 1 > /dev/null`,
  );
  assert.equal(stderr, "0\n");
});

test("a terminal neither gives a model nor takes a program", () => {
  const run = (command: string): string => {
    const { stdout } = spawnSync("script", ["-qec", command, "/dev/null"], {
      cwd: folder,
      encoding: "utf8",
      timeout: 20_000,
    });
    return stdout;
  };
  const command = `"${process.execPath}" "${cli}"`;
  assert.match(run(`${command} inspect -`), /is the standard input, which is a terminal/);
  assert.match(
    run(`${command} lower "${mlp}" -o -`),
    /is the standard output, and a terminal cannot show a binary file/,
  );
});

test("more than the limit is an error, and not cut off", async () => {
  const { readAll } = (await import(
    new URL("../../../../dist/cli/files/streams.js", import.meta.url).href
  )) as { readAll(descriptor: number, most?: number): Uint8Array };
  const open = openSync(mlp, "r");
  const size = readFileSync(mlp).length;
  assert.equal(readAll(open, size).length, size);
  closeSync(open);
  const again = openSync(mlp, "r");
  assert.throws(() => readAll(again, size - 1), { code: "limit" });
  closeSync(again);
});
