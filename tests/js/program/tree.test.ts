// The trees of a .pte, in both notations, and what becomes of damaged ones.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { createEngine, type ProgramReport } from "sconce";
import { modelPath } from "../setup/reference.js";

const load = async (file: string): Promise<unknown> =>
  import(new URL(`../../../../dist/${file}`, import.meta.url).href);
const { withNames } = (await load("program/names.js")) as {
  withNames(report: unknown): ProgramReport;
};

/** The names of as many inputs and outputs as are said, by these trees. */
function namesBy(
  inputTree: string,
  inputs: number,
  outputTree = "",
  outputs: readonly object[] = [],
): [string[], string[]] {
  const of = (count: number): object[] => Array.from({ length: count }, () => ({ kind: "tensor" }));
  const method = { name: "m", inputs: of(inputs), outputs, inputTree, outputTree };
  const [named] = withNames({ methods: [method] }).methods;
  assert.deepEqual(Object.keys(named!), ["name", "inputs", "outputs"]);
  return [named!.inputs.map(({ name }) => name), named!.outputs.map(({ name }) => name)];
}
const inputsBy = (tree: string, count: number): string[] => namesBy(tree, count)[0];
const outputsBy = (tree: string, ...outputs: object[]): string[] =>
  namesBy("", 2, tree, outputs)[1];

interface Node {
  type: string | null;
  context: string | null;
  children_spec: Node[];
}
const leaf: Node = { type: null, context: null, children_spec: [] };
const node = (type: string, context: string, ...children: Node[]): Node => ({
  type,
  context,
  children_spec: children,
});
const tuple = (...children: Node[]): Node => node("builtins.tuple", "null", ...children);
const dict = (children: Record<string, Node>): Node =>
  node("builtins.dict", JSON.stringify(Object.keys(children)), ...Object.values(children));
const text = (root: object): string => JSON.stringify([1, root]);

test("PyTorch's JSON", () => {
  const call = tuple(tuple(leaf, dict({ key: leaf, other: tuple(leaf, leaf) })), dict({ m: leaf }));
  assert.deepEqual(inputsBy(text(call), 5), ["input_0", "1.key", "1.other.0", "1.other.1", "m"]);
  const named = { ...call, forward_arg_names: ["x", "cache", "m"] };
  const names = ["x", "cache.key", "cache.other.0", "cache.other.1", "m"];
  assert.deepEqual(inputsBy(text(named), 5), names);
  // Names that are not texts are ignored.
  assert.deepEqual(inputsBy(text({ ...call, forward_arg_names: [5, "cache"] }), 5)[1], "1.key");
  const factory = { default_factory_name: "list", dict_context: ["a", "b"] };
  const odd = tuple(
    tuple(),
    dict({ d: node("collections.defaultdict", JSON.stringify(factory), leaf, leaf) }),
  );
  assert.deepEqual(inputsBy(text(odd), 2), ["d.a", "d.b"]);
  const classes = tuple(tuple(), dict({ c: node("my.Cache", '{"a": 1}', leaf, leaf) }));
  assert.deepEqual(inputsBy(text(classes), 2), ["c.0", "c.1"]);
  const numbers = tuple(tuple(), dict({ c: node("builtins.dict", "[7, 9]", leaf, leaf) }));
  assert.deepEqual(inputsBy(text(numbers), 2), ["c.0", "c.1"]);
});

test("the compact text", () => {
  assert.deepEqual(inputsBy("T2#2#0(T2#1#1($,$),D0())", 2), ["input_0", "input_1"]);
  const call = "T2#3#1(T2#1#2($,D2#1#1('a':$,'b':$)),D1#1('mask':$))";
  assert.deepEqual(inputsBy(call, 4), ["input_0", "1.a", "1.b", "mask"]);
  assert.deepEqual(outputsBy("$", {}), ["output_0"]);
  assert.deepEqual(outputsBy("D2#1#2('logits':$,4:L2#1#1($,$))", {}, {}, {}), [
    "logits",
    "output_1",
    "output_2",
  ]);
  assert.deepEqual(outputsBy("C(my.Type)1#1(N1#1(D1#1('k':$)))", {}), ["0.0.k"]);
});

test("outputs that are inputs after the call come before what is returned", () => {
  const tree = text(dict({ logits: leaf, input_1: leaf }));
  const written = (ofInput: number): object => ({ ofInput });
  assert.deepEqual(outputsBy(tree, written(0), {}, {}), ["input_0", "logits", "input_1"]);
  // A key of the model's own goes before the name of an input.
  assert.deepEqual(outputsBy(tree, written(1), {}, {}), ["output_0", "logits", "input_1"]);
  // Nothing tells what the first would be.
  assert.deepEqual(outputsBy(tree, {}, {}, {}), ["output_0", "output_1", "output_2"]);
});

test("names that are the same, or no names, become places", () => {
  const both = tuple(
    tuple(),
    dict({ "a.b": leaf, a: dict({ b: leaf }), "": leaf, "\u001b[2J": leaf }),
  );
  assert.deepEqual(inputsBy(text(both), 4), ["a.b", "input_1", "input_2", "input_3"]);
  const taken = tuple(tuple(leaf), dict({ input_0: leaf, __proto__x: leaf }));
  assert.deepEqual(inputsBy(text(taken), 3), ["input_0_", "input_0", "__proto__x"]);
  const long = dict({ ["k".repeat(300)]: leaf, ["k".repeat(256)]: leaf });
  assert.deepEqual(outputsBy(text(long), {}, {}), ["output_0", "k".repeat(256)]);
});

test("a tree that is damaged, deep, or of other values gives places", () => {
  const places = ["input_0", "input_1"];
  const deep = "[1, " + '{"type":"t","context":null,"children_spec":['.repeat(5000);
  const good = text(tuple(tuple(), dict({ a: leaf, b: leaf })));
  assert.deepEqual(inputsBy(good, 2), ["a", "b"]);
  for (const bad of [
    "",
    "[",
    "[1]",
    "[2" + good.slice(2),
    "[1, null]",
    "[1, 5]",
    "[1, {}]",
    '[1, {"children_spec": {}}]',
    deep,
    deep + "]}".repeat(5000) + "]",
    "[".repeat(1 << 20),
    good.slice(0, -1),
    good + "x",
    text(tuple(tuple(), dict({ a: leaf }))),
    text(tuple(tuple(), dict({ a: leaf, b: leaf, c: leaf }))),
    good.replace('[\\"a\\"', "[\\"),
    "T2#1#1(",
    "D1#1('a:$)",
    "D2#1#1('a':$,'b':$)x",
    "T1(".repeat(1 << 16),
    "T999999(" + "$,".repeat(1 << 16),
    "$",
  ])
    assert.deepEqual(inputsBy(bad, 2), places, bad.slice(0, 60));
});

test("whatever the bytes of a tree are, each value has a name of its own", () => {
  let state = 7;
  const random = (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    return Math.floor(((state >>> 0) / 2 ** 32) * below);
  };
  const trees = [
    text({ ...tuple(tuple(leaf, dict({ k: leaf })), dict({ m: leaf })), forward_arg_names: ["x"] }),
    "T2#2#1(T2#1#1($,D1#1('k':$)),D1#1('m':$))",
  ];
  const letters = "[]{}(),:\"'\\#$TDLNC019kx \u0000\ud800é";
  let changed = 0;
  for (let round = 0; round < 20_000; round++) {
    const letter = (): string => letters[random(letters.length)]!;
    const tree = [...trees[round % 2]!];
    for (let edits = 1 + random(3); edits > 0; edits--)
      tree.splice(random(tree.length), random(4), ...Array.from({ length: random(3) }, letter));
    const names = inputsBy(tree.join(""), 3);
    assert.equal(new Set(names).size, 3, tree.join(""));
    for (const name of names) assert.match(name, /^[^\p{Cc}\p{Cs}]{1,256}$/u);
    changed += names.some((name) => !/^input_\d$/.test(name)) ? 1 : 0;
  }
  assert.ok(changed > 1000 && changed < 19_000, `${changed} of them are trees`);
});

/** The .pte with another tree in the place of one that is as long or longer. */
function withTree(pte: Uint8Array, from: string, to: string): Uint8Array {
  const bytes = Buffer.from(pte);
  const at = bytes.indexOf(`${from}\0`, 0, "latin1");
  assert.ok(at > 0 && to.length <= from.length);
  bytes.writeUInt32LE(to.length, at - 4);
  bytes.write(`${to}\0`, at, "latin1");
  return bytes;
}

test("a .pte with the compact text, or without trees, is read and runs", async () => {
  const engine = await createEngine();
  const pte = readFileSync(modelPath("official/add_mul.pte"));
  const from = /\[1, \{[^\0]*"\[\]"[^\0]*/.exec(pte.toString("latin1"))![0];
  const x = { dtype: "float32", shape: [0], data: new Float32Array() } as const;
  for (const [to, names] of [
    ["T2#1#1(T1#1($),D1#1('y':$))", ["input_0", "y"]],
    ["", ["input_0", "input_1"]],
    ["\xff\xfe", ["input_0", "input_1"]],
  ] as const) {
    const program = engine.load(withTree(pte, from, to));
    const [{ inputs }] = program.inspect().methods as [ProgramReport["methods"][0]];
    assert.deepEqual(
      inputs.map(({ name }) => name),
      names,
    );
    const call = Object.fromEntries(
      names.map((name, i) => [name, { ...x, shape: inputs[i]!.shape! }]),
    );
    for (const [name, value] of Object.entries(call)) {
      const size = value.shape.reduce((a, b) => a * b, 1);
      call[name] = { ...value, data: new Float32Array(size) };
    }
    assert.equal(program.run(call).length, 1);
  }
  engine.dispose();
});
