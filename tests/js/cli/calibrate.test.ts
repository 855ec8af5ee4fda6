// Many calls from one flag, and made-up inputs of given sizes: patterns, folders, several inputs.
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { createEngine, tensor, type InputTuple } from "sconce";
import { folder, sconce } from "../setup/command.js";
import { modelPath } from "../setup/reference.js";

const load = async <T>(name: string): Promise<T> =>
  (await import(new URL(`../../../../dist/cli/${name}.js`, import.meta.url).href)) as T;
const { writeNpy } = await load<{ writeNpy(value: object): Uint8Array }>("files/npy");

const STATIC = "xnnpack_pt2e_int8_static_per_channel";
const mlp = modelPath("mlp.pt2");
const at = (name: string): string => join(folder, name);
const call = (fill: number): InputTuple => [tensor(new Float32Array(64).fill(fill), [4, 16])];

before(() => {
  for (const name of ["x", "deep/a", "deep/b", "empty", "pairs/c1", "pairs/c2", "wrong/c1"])
    mkdirSync(at(name), { recursive: true });
  // By their names 2 comes before 10, by their letters behind it.
  for (const [name, fill] of [
    ["x/n2.npy", 2],
    ["x/n10.npy", 10],
    ["x/n1.npy", 1],
    ["x/.hidden.npy", 99],
    ["deep/a/z.npy", 4],
    ["deep/b/z.npy", 5],
  ] as const)
    writeFileSync(at(name), writeNpy(call(fill)[0] as object));
  writeFileSync(at("x/notes.txt"), "no array");
});

/** The number of calls that an export with these flags tells. */
function exported(...flags: string[]): string {
  const calls = flags.flatMap((flag) => ["--calibrate", flag]);
  const { status, stdout, stderr } = sconce(
    ...["export", mlp, "--recipe", STATIC, ...calls, "-o", "made.pte"],
  );
  assert.equal(status, 0, stderr);
  return /calibrated on (\d+) calls?/.exec(stdout)![1]!;
}

test("a pattern and a folder are a call for each file", () => {
  assert.equal(exported("x/n*.npy"), "3");
  assert.equal(exported("x/n?.npy"), "2");
  assert.equal(exported("x/n[12].npy"), "2");
  assert.equal(exported("deep/*/z.npy"), "2");
  assert.equal(exported("x"), "4");
  assert.equal(exported("forward:x/n*.npy", "zeros", "deep/a/"), "5");
});

test("files come in the order that people count in", async () => {
  const { calibrationOf, methodsIn } = await load<{
    calibrationOf(
      engine: object,
      flags: string[],
      methods: object[],
    ): Record<string, Iterable<InputTuple>>;
    methodsIn(engine: object, programs: object): object[];
  }>("export/calibrate");
  const engine = await createEngine();
  const methods = methodsIn(engine, { path: mlp });
  const made = calibrationOf(engine, [at("x/n*.npy")], methods)["forward"]!;
  // They can be gone through more than once: nothing of them is kept.
  for (let i = 0; i < 2; i++)
    assert.deepEqual(
      Array.from(made, ([value]) => (value as { data: Float32Array }).data[0]),
      [1, 2, 10],
    );
  engine.dispose();
});

test("several inputs have a pattern each, and single values stand for all calls", async () => {
  const { calibrationOf, methodsIn } = await load<{
    calibrationOf(
      engine: object,
      flags: string[],
      methods: object[],
    ): Record<string, Iterable<InputTuple>>;
    methodsIn(engine: object, programs: object): object[];
  }>("export/calibrate");
  const engine = await createEngine();
  const path = modelPath("add_mul.pt2");
  const methods = methodsIn(engine, { path });
  const array = (fill: number): object => tensor(new Float32Array(6).fill(fill), [2, 3]);
  for (const [name, fill] of [
    ["pairs/a1.npy", 1],
    ["pairs/a2.npy", 2],
    ["pairs/b1.npy", 3],
    ["pairs/b2.npy", 4],
    ["pairs/c1/0.npy", 5],
    ["pairs/c1/1.npy", 6],
    ["pairs/c2/0.npy", 7],
    ["pairs/c2/1.npy", 8],
    ["wrong/c1/0.npy", 0],
  ] as const)
    writeFileSync(at(name), writeNpy(array(fill)));
  const fills = (flag: string): number[][] =>
    Array.from(calibrationOf(engine, [flag], methods)["forward"]!, (values) =>
      values.map((value) => (value as { data: Float32Array }).data[0]!),
    );
  const [a, b] = [at("pairs/a*.npy"), at("pairs/b*.npy")];
  assert.deepEqual(fills(`${a},${b}`), [
    [1, 3],
    [2, 4],
  ]);
  assert.deepEqual(fills(`${a},ones`), [
    [1, 1],
    [2, 1],
  ]);
  assert.deepEqual(fills(at("pairs")), [
    [5, 6],
    [7, 8],
  ]);
  assert.throws(() => fills(`${a},${at("pairs/b1*.npy")}`), {
    code: "input",
    message: /has 2 files for one input and 1 for another/,
  });
  assert.throws(() => fills(at("wrong")), { message: /has 1 value, and method 'forward' takes 2/ });
  engine.dispose();
});

test("what fits no file is an error, as is a file of a wrong kind among many", () => {
  const refused = (flag: string): string => {
    const args = ["export", mlp, "--recipe", STATIC, "--calibrate", flag, "-o", "no.pte"];
    const { status, stdout, stderr } = sconce(...args);
    assert.deepEqual([status, stdout], [1, ""]);
    return stderr;
  };
  assert.match(refused("y*.npy"), /--calibrate y\*\.npy: y\*\.npy fits no file/);
  assert.match(refused("empty/"), /empty\/ is a folder without \.npy files/);
  writeFileSync(at("deep/b/bad.npy"), writeNpy(tensor([1, 2])));
  assert.match(
    refused("deep/b/*.npy"),
    /of --calibrate deep\/b\/bad\.npy is a float32 tensor \[2\]/,
  );
});

test("what is exported replaces none of the files that a pattern fits", () => {
  const args = ["export", mlp, "--recipe", STATIC, "--calibrate", "x/n*.npy", "-o", "x/n10.npy"];
  const { status, stderr } = sconce(...args);
  assert.equal(status, 2);
  assert.match(stderr, /x\/n10\.npy would be overwritten/);
});

// --- Sizes -------------------------------------------------------------------------------------------

const dynamic = modelPath("mlp_dyn.pt2");

test("made-up inputs have the sizes that they are given", () => {
  sconce("lower", dynamic, "-o", "dyn.pte");
  const shapeOf = (input: string): unknown => {
    const { status, stdout, stderr } = sconce("run", "dyn.pte", "--input", input, "--json");
    assert.equal(status, 0, stderr);
    const { calls } = JSON.parse(stdout) as { calls: { outputs: { shape: number[] }[] }[] };
    return calls[0]!.outputs[0]!.shape;
  };
  assert.deepEqual(shapeOf("random:1"), [64, 10]);
  for (const input of ["random:1:3x16", "random:3x16", "zeros:3x16", "ones:3x16", "random:-2:3x16"])
    assert.deepEqual(shapeOf(input), [3, 10], input);
  for (const [input, message] of [
    [
      "random:65x16",
      /input 0: random:65x16 has 65 as size 0, which is larger than 64\n.*\[64, 16\]/,
    ],
    ["random:1:3", /input 0: random:1:3 is not of 2 dimensions/],
    ["zeros:3x17", /has 17 as size 1, which is larger than 16/],
    ["random:3x", /'random:3x' is neither a value nor a file/],
    ["random", /'random' is neither a value nor a file/],
  ] as const) {
    const { status, stderr } = sconce("run", "dyn.pte", "--input", input);
    assert.equal(status, 1, input);
    assert.match(stderr, message);
  }
});

test("so have those that calibrate, within the bounds of the method", () => {
  const run = (input: string): { status: number | null; stderr: string } =>
    sconce("export", dynamic, "--recipe", STATIC, "--calibrate", input, "-o", "dyn8.pte");
  assert.equal(run("random:1:3x16").status, 0);
  assert.equal(run("random:64x16").status, 0);
  for (const [input, message] of [
    ["random:65x16", /has 65 as size 0, which is not in \[1, 64\]\n.*\[s77, 16\]/],
    ["zeros:0x16", /has 0 as size 0, which is not in \[1, 64\]/],
    ["zeros:3x8", /has 8 as size 1, which is not in \[16, 16\]/],
    ["zeros:3", /zeros:3 is not of 2 dimensions/],
    [
      "random:1",
      /random:1 has no sizes, and input 'x' has dynamic ones\n {2}Give it sizes .* random:1:1x3/,
    ],
  ] as const) {
    const { status, stderr } = run(input);
    assert.equal(status, 1, input);
    assert.match(stderr, message);
  }
});

test("sizes of a single input do not stand for several", () => {
  sconce("lower", modelPath("add_mul.pt2"), "-o", "two.pte");
  assert.equal(sconce("run", "two.pte", "--input", "random:1").status, 0);
  assert.match(
    sconce("run", "two.pte", "--input", "random:1:2x3").stderr,
    /method 'forward' takes 2 inputs, not 1/,
  );
});
