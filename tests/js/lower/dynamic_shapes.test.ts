// Files whose export left sizes open: what is said of them, and largest sizes given when lowering.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createClient, createEngine, tensor, type Engine, type SconceError } from "sconce";
import { modelPath } from "../setup/reference.js";

const OPEN = { path: modelPath("../symbolic/slices.pt2") };

let engine: Engine;
before(async () => (engine = await createEngine()));
after(() => engine.dispose());

type Shapes = Readonly<Record<string, { max: number }>>;

const lower = (dynamicShapes: Shapes): Uint8Array => {
  const lowered = engine.lower(OPEN, { compileConfig: { dynamicShapes } });
  const { buffer } = lowered;
  lowered.dispose();
  return buffer;
};

function errorOf(dynamicShapes: Shapes): SconceError {
  try {
    lower(dynamicShapes);
  } catch (error) {
    return error as SconceError;
  }
  assert.fail("this was lowered");
}

test("a report says which sizes are open, and where", () => {
  const { symbols } = engine.inspect(OPEN).stages[0]!.methods[0]!;
  assert.deepEqual(symbols, [
    { name: "s33", min: 2, max: null, example: 4, size: "args_0.0", place: "args_0.0" },
    { name: "s50", min: 3, max: null, example: 10, size: "args_0.1", place: "args_0.1" },
  ]);
});

test("a size is named only where an input's dimension is just the symbol", () => {
  const symbolsOf = (path: string): unknown =>
    engine.inspect({ path: modelPath(path) }).stages[0]!.methods[0]!.symbols;
  assert.deepEqual(symbolsOf("../symbolic/triples.pt2"), [
    { name: "s65", min: 2, max: null, example: 2, size: null, place: "args_0.0" },
  ]);
  assert.deepEqual(symbolsOf("../symbolic/counted.pt2"), [
    { name: "u0", min: 1, max: null, example: null, size: null, place: "full.0" },
  ]);
});

test("the hint of an open size can be followed", () => {
  const error = errorOf({});
  assert.equal(error.code, "unbounded");
  const hints = error.diagnostics.map(({ hint }) => hint);
  assert.match(
    hints[0]!,
    /--max-size s33=N, .* compileConfig: \{ dynamicShapes: \{ s33: \{ max: N/,
  );
  assert.match(hints[1]!, /s50/);
  assert.deepEqual(
    lower({ s33: { max: 8 }, s50: { max: 20 } }),
    lower({ "args_0.0": { max: 8 }, "forward:args_0.1": { max: 20 } }),
  );
});

test("the hint of sizes that are too large can be followed", () => {
  const large = { s33: { max: 1 << 20 }, s50: { max: 1 << 20 } };
  const error = errorOf(large);
  assert.equal(error.code, "limit");
  assert.match(error.hint, /--max-size args_0\.0=N --max-size args_0\.1=N, /);
  assert.match(error.hint, /\{ "args_0\.0": \{ max: N \}, "args_0\.1": \{ max: N \} \}/);
  lower({ "args_0.0": { max: 8 }, "args_0.1": { max: 20 } });
});

test("a program holds up to its largest size and refuses more", () => {
  const program = engine.load(lower({ s33: { max: 8 }, s50: { max: 20 } }));
  const [input] = program.inspect().methods[0]!.inputs;
  assert.deepEqual([input!.shape, input!.dynamic], [[8, 20, 12], true]);
  const run = (...sizes: [number, number]): readonly number[] => {
    const count = sizes[0] * sizes[1] * 12;
    const x = tensor(
      Float32Array.from({ length: count }, (_, i) => i),
      [...sizes, 12],
    );
    const [first] = program.run("forward", [x]);
    return (first as { shape: readonly number[] }).shape;
  };
  assert.deepEqual(run(8, 20), [8, 19, 12]);
  assert.deepEqual(run(2, 3), [2, 2, 12]);
  assert.throws(() => run(9, 20), { code: "input", message: /9.*8|at most/ });
  program.dispose();
});

test("what contradicts the file is refused by name", () => {
  const all = { s33: { max: 8 }, s50: { max: 20 } };
  const cases: [Shapes, string, RegExp, RegExp][] = [
    [
      { ...all, batch: { max: 8 } },
      "not_found",
      /no dynamic size 'batch'/,
      /s33 \(args_0\.0\), s50/,
    ],
    [{ s33: { max: 1 } }, "option", /'s33' .* below the smallest that the file allows, 2/, /./],
    [{ s50: { max: 9 } }, "option", /'s50' .* below the size of the example input, 10/, /./],
    [
      { ...all, "args_0.0": { max: 9 } },
      "option",
      /'s33' = 8 and 'args_0\.0' = 9 contradict/,
      /one/,
    ],
  ];
  for (const [shapes, code, message, hint] of cases) {
    const error = errorOf(shapes);
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    assert.match(error.hint, hint);
  }
});

test("one file can be tried with one largest size after the other", () => {
  const opened = engine.open(OPEN);
  const text = opened.text(0);
  assert.throws(() => opened.toEdge({ compileConfig: { dynamicShapes: { s9: { max: 4 } } } }), {
    code: "not_found",
  });
  const shapes = { s33: { max: 8 }, s50: { max: 20 } };
  const edge = opened.toEdge({ compileConfig: { dynamicShapes: shapes } });
  assert.equal(opened.text(0), text);
  const largest = (stage: number): unknown[] =>
    edge.inspect().stages[stage]!.methods[0]!.symbols.map(({ max }) => max);
  assert.deepEqual(
    [largest(0), largest(1)],
    [
      [null, null],
      [8, 20],
    ],
  );
  for (const manager of [edge, opened]) manager.dispose();
});

test("they cross a worker", async () => {
  const client = await createClient();
  const shapes = { s33: { max: 8 }, s50: { max: 20 } };
  const lowered = await client.lower(OPEN, { compileConfig: { dynamicShapes: shapes } });
  assert.deepEqual(await lowered.buffer, lower(shapes));
  client.terminate();
});
