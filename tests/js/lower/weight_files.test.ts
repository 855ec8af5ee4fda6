// Weights in files that programs share, by rules and by functions, and by the command.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  createClient,
  createEngine,
  tensor,
  type Engine,
  type ExecutorchProgramManager,
  type ExternalConstants,
  type Tensor,
} from "sconce";
import { folder, sconce } from "../setup/command.js";
import { failure, file } from "../setup/failure.js";
import { modelPath } from "../setup/reference.js";

let engine: Engine;
before(async () => (engine = await createEngine()));
after(() => engine.dispose());

const input = (): Tensor =>
  tensor(
    Array.from({ length: 64 }, (_, i) => Math.sin(i)),
    [4, 16],
  );

const lower = (
  externalConstants: ExternalConstants | undefined,
  backend?: string,
): ExecutorchProgramManager => {
  const edge = engine.toEdge(file("mlp"));
  const given = backend ? edge.toBackend(backend) : edge;
  return given.toExecutorch(externalConstants === undefined ? {} : { externalConstants });
};

const filesOf = (program: ExecutorchProgramManager): string[] =>
  program.dataFiles.map(({ name }) => name);

/** The keys of the weights outside, by the file that has them. */
function keysOf(program: ExecutorchProgramManager): string[][] {
  const loaded = engine.load(program);
  const { externalData } = loaded.inspect().methods[0]!;
  loaded.dispose();
  return program.dataFiles.map((_, i) =>
    externalData.filter(({ dataFile }) => dataFile === i).map(({ key }) => key),
  );
}

for (const backend of [undefined, "xnnpack"])
  test(`files are chosen by rules and by functions alike${backend ? `, with ${backend}` : ""}`, () => {
    const expected = engine.load(lower(undefined, backend)).run("forward", [input()]);
    const byRule = lower({ "fc1.*": "first", "*.bias": null, "*": "rest" }, backend);
    const byFunction = lower((name) => {
      if (name.startsWith("fc1.")) return "first";
      return name.endsWith(".bias") ? null : "rest";
    }, backend);
    for (const program of [byRule, byFunction]) {
      assert.deepEqual(filesOf(program), ["first.ptd", "rest.ptd"]);
      assert.ok(program.dataFiles.every(({ isShared }) => isShared));
      assert.deepEqual(engine.load(program).run("forward", [input()]), expected);
    }
    assert.deepEqual(byRule.buffer, byFunction.buffer);
    for (const name of filesOf(byRule))
      assert.deepEqual(byRule.dataFile(name), byFunction.dataFile(name));
    if (!backend)
      assert.deepEqual(keysOf(byRule), [
        ["fc1.weight", "fc1.bias"].sort().reverse(),
        keysOf(byRule)[1],
      ]);
  });

test("a function sees each weight once, with its type and size", () => {
  const seen: unknown[] = [];
  const both = engine.toEdge({ a: file("mlp"), b: file("mlp") }).toBackend({ a: "xnnpack" });
  both.toExecutorch({
    externalConstants: (name, weight) => {
      seen.push([name, weight.dtype, weight.shape, weight.bytes, weight.methods]);
      return undefined;
    },
  });
  assert.deepEqual(seen.slice(0, 2), [
    ["fc1.weight", "float32", [32, 16], 2048, ["a", "b"]],
    ["fc1.bias", "float32", [32], 128, ["a", "b"]],
  ]);
  assert.equal(seen.length, 5);
});

test("keys are the weights' own names, and one file is as before", () => {
  const program = lower(true);
  assert.deepEqual(
    program.dataFiles.map(({ isShared }) => isShared),
    [undefined],
  );
  assert.deepEqual(keysOf(program)[0]!.sort(), [
    "fc1.bias",
    "fc1.weight",
    "fc2.bias",
    "fc2.weight",
    "fc3.weight",
  ]);
  assert.deepEqual(filesOf(lower(false)), []);
  assert.deepEqual(filesOf(lower({ "*": null })), []);
});

test("patterns that no weight fits are warned of", () => {
  const { diagnostics } = lower({ "fc9.*": "x", "fc1.*": "y" }).inspect();
  assert.deepEqual(
    diagnostics.filter(({ code }) => code === "not_found").map(({ message }) => message),
    ["external_constants has the pattern 'fc9.*', but no weight has such a name"],
  );
  assert.deepEqual(lower((name) => (name === "fc1.bias" ? "x" : null)).inspect().diagnostics, []);
});

test("what cannot be the name of a file is refused", () => {
  for (const wrong of ["a/b", "..", "", "a\nb", 3]) {
    const error = failure(() => lower(() => wrong as string));
    assert.match(
      error.message,
      /'externalConstants' gives for weight 'fc1.weight' must be the name/,
    );
    assert.throws(
      () => lower({ "*": wrong as string }),
      /'externalConstants' of toExecutorch\(\) must be/,
    );
  }
  assert.throws(
    () => lower("all" as never),
    /'externalConstants' of toExecutorch\(\) must be true, false, files/,
  );
  const thrown = failure(() =>
    lower(() => {
      throw new Error("no idea");
    }),
  );
  assert.match(thrown.message, /no idea/);
});

test("different weights of one name stay apart inside, and are refused in a file", () => {
  const two = engine.toEdge({ a: file("quantized_cnn"), b: file("quantized_mlp") });
  assert.ok(two.toExecutorch().size > 0);
  const error = failure(() => two.toExecutorch({ externalConstants: { "*": "all" } }));
  assert.match(
    error.message,
    /methods 'a' and 'b' have different weights that are called '\w+', of \d+ and \d+ bytes, and file 'all'/,
  );
  assert.deepEqual(filesOf(two.toExecutorch({ externalConstants: { "_*": null, "*": "all" } })), [
    "all.ptd",
  ]);
});

test("a worker takes rules", async () => {
  const client = await createClient();
  const edge = await client.toEdge(file("mlp"));
  const program = await edge.toExecutorch({ externalConstants: { "fc1.*": "first" } });
  assert.deepEqual(
    (await program.dataFiles).map(({ name }) => name),
    ["first.ptd"],
  );
  await client.dispose();
});

test("the command writes shared files under their own names, and says when they change", () => {
  const mlp = modelPath("mlp.pt2");
  const path = (name: string): string => join(folder, name);
  const rules = ["--external-constants", "fc1.*=first", "--external-constants", "*.bias="];
  const one = sconce("lower", mlp, "-o", "one.pte", ...rules);
  assert.equal(one.status, 0, one.stderr);
  assert.match(one.stdout, /one\.pte: .*first\.ptd: /);
  assert.ok(existsSync(path("first.ptd")) && !existsSync(path("one.ptd")));
  const before = readFileSync(path("first.ptd"));
  const two = sconce("lower", mlp, "-o", "two.pte", ...rules);
  assert.equal(two.stderr, "");
  assert.deepEqual(readFileSync(path("first.ptd")), before);
  const other = sconce("lower", mlp, "-o", "three.pte", "--external-constants", "*=first");
  assert.match(other.stderr, /note: .*first\.ptd had other weights before/);
  const bare = sconce("lower", "--external-constants", mlp, "-o", "bare.pte");
  assert.equal(bare.status, 0, bare.stderr);
  assert.ok(existsSync(path("bare.ptd")));
  for (const wrong of [["=a"], ["fc1.*=a/b"], ["a=x", "a=y"]]) {
    const flags = wrong.flatMap((value) => ["--external-constants", value]);
    const refused = sconce("lower", mlp, "-o", "wrong.pte", ...flags);
    assert.equal(refused.status, 2, refused.stdout);
    assert.match(refused.stderr, /--external-constants/);
  }
});
