// Tensors as callers make them: from arrays, lists and single numbers, of every dtype, of any realm.
import assert from "node:assert/strict";
import { test } from "node:test";
import { runInNewContext } from "node:vm";
import {
  createClient,
  createEngine,
  isTensor,
  reshape,
  SconceError,
  softmax,
  tensor,
  toComplex,
  toNumbers,
  topk,
  topkRows,
  type InputTensor,
  type Tensor,
  type TensorOf,
} from "sconce";
import { failure } from "../setup/failure.js";
import { modelPath } from "../setup/reference.js";

/** The constructor that hosts with Float16Array have. */
const Half = (globalThis as { Float16Array?: new (list: number[]) => InputTensor["data"] })
  .Float16Array;

test("single numbers have no dimensions, and a type", () => {
  const three: TensorOf<"float32"> = tensor(3);
  const seven: TensorOf<"int64"> = tensor(7n);
  const yes: TensorOf<"bool"> = tensor(true);
  const made: TensorOf<"int8"> = tensor(-3, [], "int8");
  assert.deepEqual(three, { dtype: "float32", shape: [], data: Float32Array.of(3) });
  assert.deepEqual(seven, { dtype: "int64", shape: [], data: BigInt64Array.of(7n) });
  assert.deepEqual(yes, { dtype: "bool", shape: [], data: Uint8Array.of(1) });
  assert.deepEqual(made, { dtype: "int8", shape: [], data: Int8Array.of(-3) });
  assert.deepEqual(tensor(3, [1, -1]).shape, [1, 1]);
});

test("arrays and lists have the types that follow from them", () => {
  const floats: TensorOf<"float32"> = tensor(new Float32Array(4), [2, 2]);
  const bytes: TensorOf<"uint8"> = tensor(new Uint8ClampedArray([1, 2]));
  const words: TensorOf<"uint16"> = tensor(Uint16Array.of(1));
  const list: TensorOf<"float32"> = tensor([
    [1, 2],
    [3, 4],
  ]);
  const longs: TensorOf<"int64"> = tensor([1n]);
  const flags: TensorOf<"bool"> = tensor([true, false]);
  assert.deepEqual([floats.shape, floats.data.length], [[2, 2], 4]);
  assert.deepEqual(bytes, { dtype: "uint8", shape: [2], data: Uint8Array.of(1, 2) });
  assert.deepEqual([words.dtype, list.shape, longs.dtype], ["uint16", [2, 2], "int64"]);
  assert.deepEqual(flags.data, Uint8Array.of(1, 0));
  // The union narrows, too.
  const any: Tensor = floats as Tensor;
  assert.equal(any.dtype === "float32" && any.data.subarray(1).length, 3);
});

test("one size follows from the others", () => {
  assert.deepEqual(tensor(new Float32Array(12), [3, -1]).shape, [3, 4]);
  assert.deepEqual(tensor([], [-1]).shape, [0]);
  assert.deepEqual(tensor([], [-1, 3]).shape, [0, 3]);
  assert.deepEqual(reshape(tensor([1, 2, 3, 4]), [-1, 2, 1]).shape, [2, 2, 1]);
  assert.equal(failure(() => reshape(tensor([1, 2]), [3])).code, "shape");
});

test("a reshaped tensor has the same memory and no order of dimensions", () => {
  const whole: Tensor = { ...tensor([1, 2, 3, 4], [2, 2]), dimOrder: [1, 0] };
  const flat = reshape(whole, [4]);
  assert.equal(flat.data, whole.data);
  assert.deepEqual(Object.keys(flat), ["dtype", "shape", "data"]);
});

test("complex numbers are pairs in turn", () => {
  const made: TensorOf<"complex64"> = tensor(new Float32Array([1, 2]), [1], "complex64");
  assert.deepEqual(made, { dtype: "complex64", shape: [1], data: Float32Array.of(1, 2) });
  assert.deepEqual(tensor([{ re: 1, im: 2 }]), made);
  assert.deepEqual(tensor([[3, { re: 4 }]], undefined, "complex128"), {
    dtype: "complex128",
    shape: [1, 2],
    data: Float64Array.of(3, 0, 4, 0),
  });
  const half = tensor([{ re: 1, im: -2 }], [1], "complex32");
  assert.deepEqual(half.data, Uint16Array.of(0x3c00, 0xc000));
  assert.deepEqual(toNumbers(half), [1, -2]);
  assert.deepEqual(toComplex(half), [{ re: 1, im: -2 }]);
  assert.deepEqual(tensor(Float32Array.of(1, -2), [1], "complex32"), half);
  const error = failure(() => toComplex(tensor([1])));
  assert.deepEqual([error.code, error.hint], ["dtype", "Call toNumbers()."]);
});

test("integers that no number holds are refused, not rounded", () => {
  assert.deepEqual(toNumbers(tensor([2n ** 53n - 1n])), [Number.MAX_SAFE_INTEGER]);
  for (const wide of [tensor([2n ** 53n]), tensor([2n ** 64n - 1n], [1], "uint64")]) {
    const error = failure(() => toNumbers(wide));
    assert.deepEqual([error.code, /tensor\.data/.test(error.hint)], ["numeric", true]);
  }
});

test("the data of another realm is as good as one's own", async () => {
  const foreign = runInNewContext(
    "({ dtype: 'float32', shape: [4, 16], data: new Float32Array(64).fill(1) })",
  ) as TensorOf<"float32">;
  assert.ok(!(foreign.data instanceof Float32Array));
  assert.ok(isTensor(foreign));
  assert.equal(tensor(foreign.data, [4, 16]).data, foreign.data);
  assert.deepEqual(tensor(runInNewContext("[[1n], [2n]]") as bigint[][]).shape, [2, 1]);
  assert.deepEqual(
    toNumbers(tensor(runInNewContext("Uint16Array.of(0x3c00)"), [1], "float16")),
    [1],
  );
  const engine = await createEngine();
  const bytes = engine.lower({ path: modelPath("mlp.pt2") }).buffer;
  const program = engine.load(bytes);
  const [own] = program.run("forward", [tensor(new Float32Array(64).fill(1), [4, 16])]);
  assert.deepEqual(program.run("forward", [foreign]), [own]);
  engine.dispose();
});

test("shared memory is copied by tensor(), and taken as it is by calls", () => {
  const shared = new Float32Array(new SharedArrayBuffer(8));
  const made = tensor(shared, [2]);
  shared[0] = 5;
  assert.ok(made.data.buffer instanceof ArrayBuffer);
  assert.deepEqual(made.data, new Float32Array(2));
  assert.deepEqual(toNumbers({ dtype: "float32", shape: [2], data: shared }), [5, 0]);
});

test("a Buffer of Node is bytes, without a copy of its pool", () => {
  const buffer = Buffer.from([1, 2, 3]);
  const made = tensor(buffer);
  assert.deepEqual([made.dtype, made.shape], ["uint8", [3]]);
  assert.equal(made.data.buffer, buffer.buffer);
});

test("Float16Array goes in, and bits come out", { skip: !Half }, async () => {
  const halves = new Half!([1, 2.5, -0.1]);
  const made = tensor(halves, [3]) as TensorOf<"float16">;
  assert.deepEqual(made, tensor([1, 2.5, -0.1], [3], "float16"));
  assert.equal(made.data.buffer, halves.buffer);
  assert.ok(isTensor(made));
  const given = { dtype: "float16", shape: [3], data: halves } as InputTensor;
  assert.deepEqual(toNumbers(given), toNumbers(made));
  assert.deepEqual(
    tensor(new Half!([1, 2]), [1], "complex32").data,
    Uint16Array.of(0x3c00, 0x4000),
  );
  const engine = await createEngine();
  const client = await createClient();
  const { buffer } = engine.lower({ path: modelPath("linear_fp16.pt2") });
  const program = engine.load(buffer);
  const remote = await client.load(buffer);
  const shape = program.inspect().methods[0]!.inputs[0]!.shape!;
  const count = shape.reduce((a, b) => a * b, 1);
  const numbers = Array.from({ length: count }, (_, i) => i / count);
  const input = { dtype: "float16", shape, data: new Half!(numbers) } as InputTensor;
  const expected = program.run("forward", [tensor(numbers, shape, "float16")]);
  assert.equal((expected[0] as Tensor).data.constructor, Uint16Array);
  assert.deepEqual(program.run("forward", [input]), expected);
  assert.deepEqual(await remote.run("forward", [input]), expected);
  client.terminate();
  engine.dispose();
});

test("isTensor looks at all that a tensor has", () => {
  const good = tensor([1, 2]);
  assert.ok(
    [good, tensor(1), tensor([{ re: 1 }]), tensor([1], [1], "float8_e5m2")].every(isTensor),
  );
  const bad = [
    null,
    3,
    "tensor",
    [],
    { ...good, dtype: "float" },
    { ...good, shape: [3] },
    { ...good, shape: [-2] },
    { ...good, shape: "2" },
    { ...good, data: [1, 2] },
    { ...good, data: new Float64Array(2) },
    { ...good, dtype: "constructor" },
  ];
  assert.deepEqual(bad.filter(isTensor), []);
});

test("softmax goes over the last dimension and does not overflow", () => {
  const scores = [
    [1000, 1000, 1000 - Math.log(2)],
    [0, -Infinity, 0],
  ];
  const { dtype, shape, data } = softmax(tensor(scores, undefined, "float64"));
  assert.deepEqual([dtype, shape], ["float32", [2, 3]]);
  const expected = [0.4, 0.4, 0.2, 0.5, 0, 0.5];
  expected.forEach((value, i) => assert.ok(Math.abs(data[i]! - value) < 1e-6, `${i}: ${data[i]}`));
  assert.deepEqual(softmax(tensor(5)).data, Float32Array.of(1));
  assert.deepEqual(softmax(tensor([1, 1], [2], "bfloat16")).data, Float32Array.of(0.5, 0.5));
  assert.deepEqual(softmax(tensor([], [2, 0])).shape, [2, 0]);
  assert.ok(softmax(tensor([NaN, 1])).data.every(Number.isNaN));
  assert.equal(failure(() => softmax(tensor([{ re: 1 }]))).code, "dtype");
});

test("topk gives the best of a row, topkRows those of each", () => {
  const scores = tensor([0.25, 0.5, 0.5, NaN]);
  assert.deepEqual(topk(scores, 4), [
    { index: 3, value: NaN },
    { index: 1, value: 0.5 },
    { index: 2, value: 0.5 },
    { index: 0, value: 0.25 },
  ]);
  assert.deepEqual(topk(reshape(scores, [1, 1, 4]), 0), []);
  assert.deepEqual(
    topkRows(
      tensor([
        [1n, 3n],
        [4n, 2n],
      ]),
      1,
    ),
    [[{ index: 1, value: 3 }], [{ index: 0, value: 4 }]],
  );
  const error = failure(() => topk(reshape(scores, [2, 2]), 1));
  assert.deepEqual([error.code, /topkRows/.test(error.hint)], ["shape", true]);
  for (const k of [5, -1, 1.5]) assert.equal(failure(() => topk(scores, k)).code, "argument");
});

test("helpers say what a tensor lacks", () => {
  const short = { dtype: "float32", shape: [3], data: new Float32Array(2) } as const;
  for (const call of [toNumbers, softmax, toComplex]) {
    assert.equal(failure(() => call(short)).code, "shape");
    assert.ok(failure(() => call(null as never)) instanceof SconceError);
  }
});
