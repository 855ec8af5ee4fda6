// Operators of the user's own on the command line: --import brings them, for lowering and for running.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { sconce } from "../setup/command.js";
import { testsPath } from "../setup/reference.js";

const plain = testsPath(join("data/own", "plain.pt2"));
const own = fileURLToPath(new URL("../setup/own_operators.js", import.meta.url));

test("a module brings operators to lower and to run", () => {
  const made = sconce("lower", plain, "-o", "own.pte", "--import", own);
  assert.equal(made.status, 0, made.stderr);
  assert.equal(made.stderr, "");
  const ran = sconce("run", "own.pte", "--input", "ones", "--import", own);
  assert.equal(ran.status, 0, ran.stderr);
  // ones: 2 * 0.5 + 1 + 3 - 4
  assert.match(ran.stdout, /float32 \[2, 3\] 1 1 1 1 1 1\n/);
  const seen = sconce("inspect", "own.pte");
  assert.match(seen.stdout, /mylib::scale\.out/);
});

test("without it, lowering warns, and a run says what is missing", () => {
  const made = sconce("lower", plain, "-o", "bare.pte");
  assert.equal(made.status, 0, made.stderr);
  assert.match(made.stderr, /mylib::scale is written as it is called, but has no kernel here/);
  const ran = sconce("run", "bare.pte", "--input", "ones");
  assert.notEqual(ran.status, 0);
  assert.match(ran.stderr, /mylib::scale\.out/);
  assert.match(ran.stderr, /registerOperator/);
  assert.equal(sconce("run", "bare.pte", "--input", "ones", "--import", own).status, 0);
});
