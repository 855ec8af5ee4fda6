// Values of another realm, such as a frame, Electron, jsdom or an edge runtime has: classes of their
// own, none of which is an instance of this one's.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { createContext, runInContext } from "node:vm";
import { tensor, type Tensor } from "sconce";
import { withBoth } from "../setup/both.js";
import { file } from "../setup/failure.js";
import { modelPath } from "../setup/reference.js";

const foreign = createContext({});
const evaluate = <T>(code: string): T => runInContext(code, foreign) as T;

/** A copy of bytes in the other realm. */
function bytesThere(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const copy = evaluate<(length: number) => Uint8Array<ArrayBuffer>>("(n) => new Uint8Array(n)")(
    bytes.length,
  );
  copy.set(bytes);
  const isOfHere = (value: object, of: new () => object): boolean => value instanceof of;
  assert.ok(!isOfHere(copy, Uint8Array) && !isOfHere(copy.buffer, ArrayBuffer as never));
  return copy;
}

const pt2 = bytesThere(readFileSync(modelPath("mlp.pt2")));
const ones = tensor(new Float32Array(64).fill(1), [4, 16]);

const { engine, client } = await withBoth();

test("bytes and buffers are sources", async () => {
  for (const source of [pt2, pt2.buffer]) {
    assert.equal(engine.detect(source), "pt2");
    assert.equal(await client.detect(source), "pt2");
    engine.lower(source).dispose();
    await (await client.lower(source)).dispose();
  }
});

test("programs by method and options are plain objects", () => {
  const programs = evaluate<Record<string, Uint8Array>>("({})");
  programs["forward"] = pt2;
  const options = evaluate<object>("({ constantMethods: { get_size: 4 } })");
  assert.deepEqual(engine.lower(programs, options).configMethods, ["get_size"]);
});

test("a program takes tensors and lists, in this thread and in a worker", async () => {
  const inputs = evaluate<Tensor[]>(
    "[{ dtype: 'float32', shape: [4, 16], data: new Float32Array(64).fill(1) }]",
  );
  const { buffer } = engine.lower(pt2);
  const program = engine.load(bytesThere(buffer));
  const expected = program.run("forward", [ones]);
  assert.deepEqual(program.run("forward", inputs), expected);
  const remote = await client.load(bytesThere(buffer));
  assert.deepEqual(await remote.run("forward", inputs), expected);
});

test("a backend gives bytes, and tensors of data", () => {
  engine.registerBackend({
    id: "Foreign",
    supports: (node) => node.op === "aten::tanh",
    preprocess: () => evaluate("({ processedBytes: new Uint8Array([1, 2, 3]) })"),
    init: (processed) => Array.from(processed),
    execute: (state, [input]) => {
      assert.deepEqual(state, [1, 2, 3]);
      const { shape, data } = input as Tensor;
      const made = evaluate<(data: unknown) => Float32Array<ArrayBuffer>>(
        "(data) => Float32Array.from(data, Math.tanh)",
      )(data);
      return [{ dtype: "float32", shape, data: made }];
    },
  });
  const lowered = engine.lower(file("mlp"), { partitioner: "Foreign" });
  const [output] = engine.load(lowered.buffer).run("forward", [ones]) as [Tensor];
  const [right] = engine.load(engine.lower(file("mlp")).buffer).run("forward", [ones]) as [Tensor];
  output.data.forEach((value: number | bigint, i: number) =>
    assert.ok(Math.abs(Number(value) - Number(right.data[i])) < 1e-6),
  );
});
