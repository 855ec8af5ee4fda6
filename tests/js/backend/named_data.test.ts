// Named data of backends: conflicts, tensors with their layouts in data files, and the list that parts see
// when they start.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import {
  createEngine,
  tensor,
  type Backend,
  type Engine,
  type NamedBytes,
  type Part,
  type PreprocessResult,
} from "sconce";
import { failure, file } from "../setup/failure.js";

let engine: Engine;
beforeEach(async () => (engine = await createEngine()));
afterEach(() => engine.dispose());

type Named = NonNullable<PreprocessResult["namedData"]>;

let count = 0;
/** A backend that takes nodes of one operator, and gives that data with each part. */
function giving(op: RegExp, namedData: (part: Part) => Named, more: Partial<Backend> = {}): string {
  const id = `Named${count++}`;
  engine.registerBackend({
    id,
    supports: (node) => op.test(node.op) || "another operator",
    preprocess: (part) => ({ namedData: namedData(part) }),
    init: () => null,
    execute: () => [],
    ...more,
  });
  return id;
}

const encdec = (): ReturnType<Engine["toEdge"]> =>
  engine.toEdge({ encode: file("mlp"), decode: file("mlp") });

const RELU = /gelu/;
const SOFTMAX = /softmax/;

test("a name with two contents is an error of toBackend, which names both sides", () => {
  const first = giving(RELU, () => ({ w: new Uint8Array([1, 2, 3]) }));
  const second = giving(SOFTMAX, () => ({ w: new Uint8Array([9, 9]) }));
  const { code, message, method } = failure(() =>
    encdec().toBackend({ encode: first, decode: second }),
  );
  assert.equal(code, "delegate");
  assert.equal(
    message,
    `named data 'w' has two contents: 3 bytes of backend '${first}' for lowered_module_0 of method ` +
      `'encode', and 2 bytes of backend '${second}' for lowered_module_0 of method 'decode'`,
  );
  assert.equal(method, "decode");
});

test("parts of one backend, and of an earlier toBackend, conflict as well", () => {
  const own = giving(/./, ({ name, method }) => ({ w: new TextEncoder().encode(method + name) }));
  assert.match(
    failure(() => encdec().toBackend(own)).message,
    /two contents: \d+ bytes of .*decode/,
  );
  const first = giving(RELU, () => ({ w: new Uint8Array(4) }));
  const second = giving(SOFTMAX, () => ({ w: new Uint8Array([1, 0, 0, 0]) }));
  const once = engine.toEdge(file("mlp")).toBackend(first);
  assert.match(failure(() => once.toBackend(second)).message, /4 bytes .* and 4 bytes/);
  assert.ok(once.toExecutorch().size > 0);
});

test("one content in two files or with two layouts is an error, and the same twice is allowed", () => {
  const bytes = new Uint8Array(8);
  const layout = { dtype: "float32", shape: [2] } as const;
  const cases: [Uint8Array | NamedBytes, Uint8Array | NamedBytes, RegExp | null][] = [
    [
      { bytes, externalTag: "a" },
      { bytes, externalTag: "b" },
      /has two files: 'a' of backend .* and 'b'/,
    ],
    [bytes, { bytes, externalTag: "b" }, /has two files: 'the program' of backend .* and 'b'/],
    [bytes, { bytes, tensorLayout: layout }, /has two layouts/],
    [
      { bytes, tensorLayout: layout },
      { bytes, tensorLayout: { ...layout, dtype: "int32" } },
      /two layouts/,
    ],
    [bytes, new Uint8Array(8), null],
    [{ bytes, tensorLayout: layout }, { bytes, tensorLayout: { ...layout, dimOrder: [0] } }, null],
  ];
  for (const [a, b, text] of cases) {
    const [first, second] = [giving(RELU, () => ({ w: a })), giving(SOFTMAX, () => ({ w: b }))];
    const make = (): unknown => engine.toEdge(file("mlp")).toBackend([first, second]);
    if (text) assert.match(failure(make).message, text);
    else make();
  }
});

test("layouts that do not fit are typed errors", () => {
  const bytes = new Uint8Array(24);
  const cases: [unknown, RegExp][] = [
    [{ bytes, tensorLayout: { dtype: "float32", shape: [2, 2] } }, /has 24 bytes, but .* needs 16/],
    [
      { bytes, tensorLayout: { dtype: "half", shape: [12] } },
      /the dtype in the tensorLayout of 'w'/,
    ],
    [{ bytes, tensorLayout: { dtype: "float32", shape: [-6] } }, /the shape in the tensorLayout/],
    [
      { bytes, tensorLayout: { dtype: "uint8", shape: [2 ** 31, 0] } },
      /the shape in the tensorLayout/,
    ],
    [
      { bytes, tensorLayout: { dtype: "uint8", shape: Array(17).fill(1) } },
      /the shape in the tensor/,
    ],
    [{ bytes, tensorLayout: { dtype: "float32", shape: [2, 3], dimOrder: [0] } }, /each dim of/],
    [{ bytes, tensorLayout: { dtype: "float32", shape: [2, 3], dimOrder: [1, 1] } }, /each dim of/],
    [{ bytes, tensorLayout: { dtype: "float32", shape: [2, 3], dimOrder: [1, 2] } }, /each dim of/],
    [{ bytes, tensorLayout: { dtype: "float32", shape: [6], order: [0] } }, /has 'order', which/],
    [{ bytes, tensorLayout: 6 }, /the tensorLayout of 'w' .* \{ dtype, shape \}/],
    [
      { bytes: tensor([1], [1]), tensorLayout: { dtype: "int32", shape: [1] } },
      /that of its tensor/,
    ],
    [{ dtype: "float32", shape: [3], data: new Float32Array(2) }, /has 8 bytes, but .* needs 12/],
    [{ dtype: "float99", shape: [3], data: new Float32Array(2) }, /has the dtype float99/],
    [{ bytes: [1, 2] }, /'w' in the result .* must be a Uint8Array or a tensor/],
  ];
  for (const [entry, text] of cases) {
    const id = giving(RELU, () => ({ w: entry }) as Named);
    const { code, message, hint } = failure(() => engine.toEdge(file("mlp")).toBackend(id));
    assert.equal(code, "delegate", message);
    assert.match(message, text);
    assert.notEqual(hint, "");
  }
});

test("tensors keep their layout in a data file, and start with the program", () => {
  const seen: Record<string, number> = {};
  const matrix = tensor([1, 2, 3, 4, 5, 6], [2, 3]);
  const id = giving(
    RELU,
    () => ({
      matrix: { bytes: matrix, externalTag: "weights" },
      transposed: {
        bytes: new Uint8Array(matrix.data.buffer as ArrayBuffer),
        externalTag: "weights",
        tensorLayout: { dtype: "float32", shape: [3, 2], dimOrder: [1, 0] },
      },
      plain: { bytes: new Uint8Array([7]), externalTag: "weights" },
      inside: tensor([1n], [1], "int64"),
    }),
    { init: (_, __, named) => Object.entries(named).forEach(([key, b]) => (seen[key] = b.length)) },
  );
  const lowered = engine.toEdge(file("mlp")).toBackend(id).toExecutorch();
  assert.deepEqual(
    lowered.dataFiles.map(({ name }) => name),
    ["weights.ptd"],
  );
  const program = engine.load(lowered.buffer, { dataFiles: [lowered.dataFile("weights.ptd")] });
  failure(() => program.run("forward", [tensor(new Float32Array(64), [4, 16])]));
  assert.deepEqual(seen, { inside: 8, matrix: 24, transposed: 24, plain: 1 });
  const { message } = failure(() => engine.load(lowered.buffer).run("forward", [tensor([1], [1])]));
  assert.ok(message);
});

test("all named data of a program is there while a part is started, and only then", () => {
  let kept: Readonly<Record<string, Uint8Array>> | undefined;
  const id = giving(
    /gelu|softmax/,
    ({ name }) => ({ [`of ${name}`]: new TextEncoder().encode(name) }),
    {
      init: (_, __, named) => {
        const keys = Object.keys(named);
        assert.equal(keys.length, 2);
        for (const key of keys) assert.equal(`of ${new TextDecoder().decode(named[key])}`, key);
        assert.equal(named[keys[0]!], named[keys[0]!]);
        assert.equal(kept ?? named, named);
        kept = named;
      },
    },
  );
  const lowered = engine.toEdge(file("mlp")).toBackend(id).toExecutorch();
  failure(() =>
    engine.load(lowered.buffer).run("forward", [tensor(new Float32Array(64), [4, 16])]),
  );
  assert.ok(kept);
  const { code, message } = failure(() => kept![Object.keys(kept!)[0]!]);
  assert.equal(code, "state");
  assert.match(
    message,
    /named data 'of lowered_module_0' can be read only while a delegate is started/,
  );
});

test("parts have names of their own, signatures and ranges of sizes", () => {
  const parts: Part[] = [];
  const id = giving(/addmm|sin$|add\.T/, (part) => {
    parts.push(part);
    return { [part.name]: new TextEncoder().encode(part.name) };
  });
  engine.toEdge(file("cond")).toBackend(id).toExecutorch();
  const names = parts.map(({ name }) => name);
  assert.deepEqual(names, ["true_graph_0/lowered_module_0", "false_graph_0/lowered_module_0"]);
  parts.length = 0;
  engine.toEdge(file("mlp_dyn")).toBackend(id);
  const { signature, rangeConstraints, inputs, constants, outputs } = parts[0]!;
  assert.deepEqual(rangeConstraints, { s77: { min: 1, max: 64 } });
  const kinds = [...constants.map(() => "parameter"), ...inputs.map(() => "user")];
  assert.deepEqual(
    signature.inputs.map(({ name, kind }) => [name, kind]),
    [...constants, ...inputs].map(({ name }, i) => [name, kinds[i]]),
  );
  assert.equal(signature.inputs[0]!.target, "fc1.bias");
  assert.deepEqual(signature.outputs, [{ name: outputs[0]!.name, kind: "user", target: "" }]);
});
