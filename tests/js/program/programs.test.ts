// Every recorded program, from its .pt2 to numbers: lowered, loaded and run by the engine, compared
// with what PyTorch gave. Then the same bytes again, because output must be reproducible.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import {
  createEngine,
  isTensor,
  tensor,
  toNumbers,
  type ConstantValue,
  type Engine,
  type ExecutorchProgramManager,
  type Program,
  type Value,
} from "sconce";
import { difference, modelPath, readCases, samplePath, SINGLE } from "../setup/reference.js";

let engine: Engine;
before(async () => {
  engine = await createEngine();
});
after(() => engine.dispose());

function checkCases(program: Program, method: string, name: string): void {
  readCases(name).forEach(({ inputs, outputs }, i) => {
    // Inputs that the program writes come back as outputs before its own.
    const all = program.run(method, inputs);
    const results = all.slice(all.length - outputs.length);

    outputs.forEach((expected, k) =>
      assert.equal(difference(results[k], expected), "", `case ${i}, output ${k}`),
    );
  });
}

for (const name of SINGLE) {
  test(`${name} gives PyTorch's numbers`, () => {
    const lowered = engine.lower({ path: modelPath(`${name}.pt2`) });
    const bytes = lowered.buffer;
    lowered.dispose();
    const program = engine.load(bytes);
    checkCases(program, "forward", name);
    program.reset();
    checkCases(program, "forward", name);
    program.dispose();
  });

  test(`${name} lowers to the same bytes twice`, () => {
    const digest = (): string => {
      const lowered = engine.lower({ path: modelPath(`${name}.pt2`) });
      const hash = createHash("sha256").update(lowered.buffer).digest("hex");
      lowered.dispose();
      return hash;
    };
    assert.equal(digest(), digest());
  });
}

test("constants folded when lowering give the very same numbers, with less to run", () => {
  const nodesOf = (lowered: ExecutorchProgramManager): number =>
    lowered.inspect().stages.at(-1)!.methods[0]!.nodes;
  for (const name of ["lstm", "tinyformer", "weight_layouts", "kv_cache_index_copy_frozen"]) {
    const file = { path: modelPath(`${name}.pt2`) };
    const plain = engine.lower(file);
    const folded = engine.lower(file, { foldConstants: true });
    assert.ok(nodesOf(folded) < nodesOf(plain), name);
    assert.ok(folded.size < plain.size + (4 << 20), name);
    assert.deepEqual(folded.inspect().diagnostics, plain.inspect().diagnostics);
    // As written: what is rewritten at load is equal within rounding only.
    const asWritten = { optimize: false };
    const programs = [plain, folded].map((lowered) => engine.load(lowered.buffer, asWritten));
    for (const { inputs } of readCases(name)) {
      const [first, second] = programs.map((program) => program.run("forward", inputs));
      assert.deepEqual(second, first, name);
    }
    const optimized = engine.load(folded.buffer);
    checkCases(optimized, "forward", name);
    for (const owner of [plain, folded, optimized, ...programs]) owner.dispose();
  }
});

test("one archive with three models becomes three methods that share weights", () => {
  const constantMethods = {
    get_vocab_size: 64,
    get_name: "encdec",
    get_scale: 0.5,
    is_bidirectional: true,
  };
  const lowered = engine.lower({ path: modelPath("encdec.package.pt2") }, { constantMethods });
  assert.deepEqual([...lowered.methods].sort(), ["decode", "encode", "forward"]);
  const single = engine.lower({ path: modelPath("encdec.forward.pt2") });
  assert.ok(
    lowered.size < single.size * 2,
    `${lowered.size} bytes for three methods, ${single.size} for one`,
  );
  const program = engine.load(lowered.buffer);
  for (const method of ["decode", "encode", "forward"])
    checkCases(program, method, `encdec.${method}`);
  for (const [name, value] of Object.entries(constantMethods))
    assert.deepEqual(program.run(name, []), [value]);
  for (const owner of [lowered, single, program]) owner.dispose();
});

test("constant methods give tensors, dtypes and what lists and dicts hold, flat", async () => {
  const table = tensor([1n, -2n, 3n, 4n], [2, 2]);
  const constantMethods = {
    limits: { low: [1, { double: 2 }], kind: { dtype: "float16" } as const, 'a "key"': {} },
    table,
    ordered: new Map<string, ConstantValue>([
      ["1", "one"],
      ["0", [true, table]],
      ["double", new Map([["double", 3]])],
    ]),
    half: tensor([1.5, -2], undefined, "float16"),
    hollow: tensor([], [0, 3], "float32"),
    empty: [],
  };
  const file = { path: modelPath("mlp.pt2") };
  const session = await engine.export(file, { recipe: {}, constantMethods });
  const manager = session.getExecutorchProgramManager();
  assert.deepEqual(manager.configMethods, Object.keys(constantMethods));
  const program = engine.load(manager.buffer);
  const plain = (values: Value[]): unknown[] =>
    values.map((value) => (isTensor(value) ? [value.dtype, value.shape, toNumbers(value)] : value));
  const wanted: Record<string, unknown[]> = {
    limits: [1, 2, 5],
    table: [["int64", [2, 2], [1, -2, 3, 4]]],
    ordered: ["one", true, ["int64", [2, 2], [1, -2, 3, 4]], 3],
    half: [["float16", [2], [1.5, -2]]],
    hollow: [["float32", [0, 3], []]],
    empty: [],
  };
  for (const [name, values] of Object.entries(wanted)) {
    assert.deepEqual(plain(program.run(name)), values, name);
    assert.deepEqual(plain(session.runMethod(name)), values, name);
  }
  const keys = Object.keys(program.runNamed("limits"));
  assert.deepEqual(keys, ["low.0", "low.1", "kind"]);
  program.dispose();
  session.dispose();
});

test("weights in a .ptd give the same numbers", () => {
  const lowered = engine.lower({ path: modelPath("mlp.pt2") }, { externalConstants: true });
  assert.equal(lowered.dataFiles.length, 1);
  const data = lowered.dataFile(lowered.dataFiles[0]!.name);
  const program = engine.load(lowered.buffer, { dataFiles: [data] });
  checkCases(program, "forward", "mlp");
  assert.throws(() => engine.load(lowered.buffer).run("forward", readCases("mlp")[0]!.inputs), {
    name: "SconceError",
  });
  program.dispose();
  lowered.dispose();
});

test("the story teller tells PyTorch's story, with its weights stored once", async () => {
  // @ts-expect-error plain JavaScript with types in comments
  const { tell } = (await import("../../../../examples/stories.mjs")) as {
    tell(p: Program, count: number): AsyncIterable<number>;
  };
  const golden = JSON.parse(readFileSync(samplePath("stories260k.golden.json"), "utf8")) as {
    tokens: number[];
  };
  const lowered = engine.lower(
    {
      prefill: { path: samplePath("stories260k.prefill.pt2") },
      decode: { path: samplePath("stories260k.decode.pt2") },
    },
    { shareMutableBuffers: true, constantMethods: { get_max_seq_len: 256 } },
  );
  assert.ok(lowered.size <= 1.25e6, `${lowered.size} bytes`);
  const program = engine.load(lowered.buffer);
  const tokens: number[] = [];
  for await (const token of tell(program, golden.tokens.length)) tokens.push(token);
  assert.deepEqual(tokens, golden.tokens);
  program.dispose();
  lowered.dispose();
});

test("programs made of one edge program do not touch each other", () => {
  const edge = engine.toEdge({ path: modelPath("mlp.pt2") });
  const first = edge.toExecutorch({ memoryPlanning: "naive" });
  const bytes = first.buffer;
  const second = edge.toExecutorch({ externalConstants: true });
  assert.deepEqual(first.buffer, bytes);
  assert.equal(first.dataFiles.length, 0);
  assert.equal(second.dataFiles.length, 1);
  assert.ok(second.dataFile(second.dataFiles[0]!.name).length > 0);
  const [plan] = first.inspect().plans;
  assert.equal(plan!.plannedBytes, plan!.naiveBytes);
  const [best] = second.inspect().plans;
  assert.ok(best!.plannedBytes < best!.naiveBytes);
  for (const owner of [edge, first, second]) owner.dispose();
});

test("refused calls take no memory that stays", () => {
  const lowered = engine.lower({ path: modelPath("mlp.pt2") });
  const program = engine.load(lowered.buffer);
  const refuse = (): void => {
    for (let i = 0; i < 2000; i++) assert.throws(() => program.run("forward", [null]));
  };
  refuse();
  const before = program.inspect().heapBytes;
  refuse();
  assert.equal(program.inspect().heapBytes, before);
  program.dispose();
  lowered.dispose();
});
