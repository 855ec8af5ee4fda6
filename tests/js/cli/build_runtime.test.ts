// sconce build-runtime: modules for certain files, built with the Emscripten of this checkout.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { createEngine, SconceError } from "sconce";
import { createRuntime } from "sconce/run";
import { cli, folder, sconce } from "../setup/command.js";
import { modelPath, readCases, testsPath } from "../setup/reference.js";

const emcc = testsPath("../tools/bin/emcc");
const dist = dirname(fileURLToPath(import.meta.resolve("sconce")));

// A build takes longer than other commands may.
const build = (...args: string[]): { status: number | null; stderr: string } =>
  spawnSync(process.execPath, [cli, ...args], { cwd: folder, encoding: "utf8", timeout: 600_000 });

test("a module for two files runs them to the bit, and names what it lacks", async () => {
  const engine = await createEngine({ threads: 1, deterministic: true });
  const pathOf = (name: string): string => join(folder, `${name}.pte`);
  const lower = (name: string, partitioner?: string): void => {
    const lowered = engine.lower(
      { path: modelPath(`${name}.pt2`) },
      partitioner === undefined ? {} : { partitioner },
    );
    writeFileSync(pathOf(name), lowered.buffer);
    lowered.dispose();
  };
  lower("mlp");
  lower("add_mul");
  lower("lstm");
  const output = join(folder, "small.wasm");
  const files = ["mlp", "add_mul"].flatMap((name) => ["--for", pathOf(name)]);
  const { status, stderr } = build("build-runtime", ...files, "-o", output, "--emcc", emcc);
  assert.equal(status, 0, stderr);

  const wasm = readFileSync(output);
  assert.ok(
    wasm.length < 0.7 * readFileSync(join(dist, "run.wasm")).length,
    `${wasm.length} bytes`,
  );
  const runtime = await createRuntime({ wasm, threads: 1 });
  for (const name of ["mlp", "add_mul"]) {
    const [small, whole] = [runtime.load(pathOf(name)), engine.load(pathOf(name))];
    for (const { inputs } of readCases(name))
      assert.deepEqual(small.run("forward", inputs), whole.run("forward", inputs), name);
  }
  assert.throws(
    () => runtime.load(pathOf("lstm")).run("forward", readCases("lstm")[0]!.inputs),
    (error: SconceError) => error.code === "operator_missing" && /aten::/.test(error.message),
  );
  lower("mlp", "xnnpack");
  assert.throws(() => runtime.load(pathOf("mlp")).run("forward", readCases("mlp")[0]!.inputs), {
    code: "delegate",
  });
  runtime.dispose();
  engine.dispose();
});

test("building says what it needs", () => {
  const pte = testsPath("data/pte/linear.xnnpack.pte");
  const run = (...args: string[]) => sconce("build-runtime", ...args);
  assert.equal(run("-o", "x.wasm").status, 2);
  assert.equal(run("--for", pte).status, 2);
  assert.equal(run(pte, "-o", "x.wasm").status, 2);
  assert.match(
    run("--for", pte, "-o", "x.wasm", "--flavour", "fast").stderr,
    /--flavour is one of simd/,
  );
  const missing = run("--for", pte, "-o", join(folder, "x.wasm"), "--emcc", "/no/such/emcc");
  assert.equal(missing.status, 1);
  assert.match(missing.stderr, /Emscripten/);
});
