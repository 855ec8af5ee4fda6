// The command writes records next to programs.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { createEngine, type Engine } from "sconce";
import { sconce } from "../setup/command.js";
import { failure } from "../setup/failure.js";
import { modelPath } from "../setup/reference.js";

let engine: Engine;
beforeEach(async () => (engine = await createEngine()));
afterEach(() => engine.dispose());

test("the command writes records beside the program", () => {
  const folder = mkdtempSync(join(tmpdir(), "sconce-record-"));
  try {
    const at = (name: string): string => join(folder, name);
    const methods = ["encode", "decode"].flatMap((method) => [
      "--method",
      `${method}=${modelPath(`encdec.${method}.pt2`)}`,
    ]);
    const { status, stderr } = sconce(
      "lower",
      ...methods,
      "-o",
      at("both.pte"),
      "--etrecord",
      at("both.etrecord"),
      "--etrecord-per-method",
      at("each"),
    );
    assert.equal(status, 0, stderr);
    const all = engine.parseEtrecord(readFileSync(at("both.etrecord")));
    assert.deepEqual(all.inspect().methods, ["encode", "decode"]);
    for (const method of ["encode", "decode"]) {
      const one = engine.parseEtrecord({ path: at(`each/${method}.etrecord`) });
      assert.deepEqual(one.inspect().methods, ["forward"]);
    }
    for (const name of ["both.etrecord", "each/encode.etrecord"]) {
      const example = ["--input", "example", "--etrecord", at(name)];
      const ran = sconce("run", at("both.pte"), "--method", "encode", ...example);
      assert.equal(ran.status, 0, ran.stderr);
      assert.match(ran.stdout, /output_0/);
    }
    assert.ok(all.exampleInputs("decode")!.length > 0);
    assert.equal(failure(() => all.exampleInputs("none")).code, "not_found");
    const light = sconce(
      "lower",
      modelPath("cnn.pt2"),
      "-o",
      at("cnn.pte"),
      "--etrecord",
      at("cnn.etrecord"),
      "--etrecord-light",
    );
    assert.equal(light.status, 0, light.stderr);
    const { programs } = engine.parseEtrecord({ path: at("cnn.etrecord") }).inspect();
    assert.ok(programs.every(({ hasWeights }) => !hasWeights));
    const wrong = [
      ["--etrecord-light"],
      ["--etrecord", modelPath("cnn.pt2")],
      ["--etrecord", at("x.pte")],
      ["--etrecord-per-method", ""],
    ];
    for (const args of wrong) {
      const failed = sconce("lower", modelPath("cnn.pt2"), "-o", at("x.pte"), ...args);
      assert.equal(failed.status, 2, args.join(" "));
      assert.ok(!existsSync(at("x.pte")));
    }
    writeFileSync(at("empty"), "");
  } finally {
    rmSync(folder, { recursive: true });
  }
});
