// Work that the bench counts for convolutions and products, by the shapes in parts and in records.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { createEngine, type NodeRow } from "sconce";
import { modelPath } from "../setup/reference.js";

interface Work {
  op: string;
  operations: number;
  shapes: string;
  bits: 8 | 32;
}
interface Module {
  workOfPart(text: string): Map<number, Work>;
  workOfNodes(
    nodes: readonly Partial<NodeRow>[],
    inputs: readonly { name: string; shape: (number | string)[]; role?: string }[],
    called: number[][],
  ): (op: string, handles: number[]) => Work | undefined;
}

let work: Module;
before(async () => {
  work = (await import(
    new URL("../../../../tests/bench/work.mjs", import.meta.url).href
  )) as Module;
});

test("a part's convolutions and products, by number", () => {
  const found = work.workOfPart(`constant 1 216 bytes
x0 fp32[1, 8, 8, 3] argument 0
x1 fp32[16, 3, 3, 3] constant 1
x3 fp32[1, 3, 3, 16] constant 2
x5 qcint8[10, 1024] 10 scales along 0 constant 3
x9 fp32[2, 16, 5] argument 1
0 Conv2d x0 x1 - -> x2 fp32[1, 4, 4, 16] {1 1 1 1 3 3 2 2 1 1 1 3 16 0 0} handle 1
1 DepthwiseConv2d x2 x3 - -> x4 fp32[1, 4, 4, 16] {1 1 1 1 3 3 1 1 1 1 1 16 0 0} handle 2
2 Clamp x4 -> x6 fp32[1, 4, 4, 16] in [0.0, inf] handle 3
3 Convert x6 -> x7 qint8[1, 1024] scale 0.5 zero 0 handle 4
4 FullyConnected x7 x5 - -> x8 qint8[1, 10] scale 0.5 zero 0 handle 5
5 BatchMatrixMultiply x9 x9 -> x10 fp32[2, 16, 16] argument 2 flags 0x1 handle 6
`);
  const operations = [...found].map(([number, { operations: count }]) => [number, count]);
  assert.deepEqual(operations, [
    [0, 2 * 4 * 4 * 16 * 27],
    [1, 2 * 4 * 4 * 16 * 9],
    [4, 2 * 10 * 1024],
    [5, 2 * 2 * 16 * 16 * 5],
  ]);
  assert.deepEqual([found.get(1)!.bits, found.get(4)!.bits], [32, 8]);
  assert.equal(found.get(0)!.shapes, "1x8x8x3 by 16x3x3x3: 1x4x4x16");
});

test("nodes with one handle are taken in order, with the sizes of the call", () => {
  const tensor = (name: string, shape: (number | string)[]) =>
    ({ name, shape, kind: "tensor" }) as const;
  const node = (op: string, inputs: string[], name: string, shape: (number | string)[]) =>
    ({ op, inputs, outputs: [tensor(name, shape)], debugHandle: 7 }) as unknown as NodeRow;
  const nodes = [
    node("aten::bmm", ["a", "b"], "scores", [2, "s0", 5]),
    node("aten::_softmax", ["scores"], "seen", [2, "s0", 5]),
    node("aten::bmm", ["seen", "c"], "out", [2, "s0", 4]),
  ];
  const inputs = [
    tensor("b", [2, 4, 5]),
    { ...tensor("a", [2, "s0", 4]), role: "user_input" },
    tensor("c", [2, 5, 4]),
  ];
  const next = work.workOfNodes(nodes, inputs, [[2, 3, 4]]);
  assert.equal(next("bmm", [7])!.operations, 2 * 2 * 3 * 5 * 4);
  assert.equal(next("_softmax", [7]), undefined);
  assert.equal(next("bmm", [7])!.operations, 2 * 2 * 3 * 4 * 5);
  assert.throws(() => next("bmm", [7]), /no node for bmm/);
});

test("a program's part is as the module prints it", async () => {
  const engine = await createEngine();
  const lowered = engine.lower({ path: modelPath("mlp.pt2") }, { partitioner: "xnnpack" });
  const program = engine.load(lowered.buffer);
  const found = [...work.workOfPart(program.partText("forward", 0)).values()];
  assert.deepEqual([...new Set(found.map(({ op }) => op))], ["FullyConnected"]);
  engine.dispose();
});
