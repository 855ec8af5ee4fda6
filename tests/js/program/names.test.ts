// Names of inputs and outputs: in reports, in calls, in what calls give; here and through a worker.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { SconceError, tensor, type Program, type ProgramMethodInfo, type Value } from "sconce";
import { withBoth } from "../setup/both.js";
import { difference, modelPath, readCases } from "../setup/reference.js";
import { edited } from "../setup/zip.js";

const { engine, client } = await withBoth();

const pt2 = (name: string): { path: string } => ({ path: modelPath(`${name}.pt2`) });
const official = (name: string): Uint8Array => readFileSync(modelPath(`official/${name}.pte`));
const lower = (name: string): Uint8Array => engine.lower(pt2(name)).buffer;

type Names = [inputs: string[], outputs: string[]];
const namesOf = ({ inputs, outputs }: ProgramMethodInfo): Names => [
  inputs.map(({ name }) => name),
  outputs.map(({ name }) => name),
];
const methodsOf = (program: Program): Record<string, Names> =>
  Object.fromEntries(program.inspect().methods.map((method) => [method.name, namesOf(method)]));

const PYTREE: Names = [
  ["a", "bs.0", "bs.1", "d.x", "d.y", "flag", "opt", "scale"],
  ["sum", "pair.0", "pair.1.0", "none", "k", "a"],
];

test("a lowered program has the names of the model's arguments and the keys of its dicts", () => {
  const rows: [string, Names][] = [
    ["add_mul", [["x", "y"], ["output_0"]]],
    ["masks", [["x", "mask", "rows"], [0, 1, 2, 3, 4].map((i) => `output_${i}`)]],
    // An input that is written comes back under its name.
    [
      "input_mutation",
      [
        ["x", "y"],
        ["x", "output_1"],
      ],
    ],
    ["pytree_io", PYTREE],
  ];
  for (const [name, names] of rows)
    assert.deepEqual(methodsOf(engine.load(lower(name))), { forward: names }, name);
});

test("a file of the official exporter has the names that are in it, and places for the others", () => {
  const rows: [string, Names][] = [
    ["add_mul", [["input_0", "input_1"], ["output_0"]]],
    [
      "input_mutation",
      [
        ["input_0", "input_1"],
        ["input_0", "output_1"],
      ],
    ],
    [
      "pytree_io",
      [["input_0", "input_1", "input_2", "2.x", "2.y", ...PYTREE[0].slice(5)], PYTREE[1]],
    ],
  ];
  for (const [name, names] of rows)
    assert.deepEqual(methodsOf(engine.load(official(name))), { forward: names }, name);
});

test("files without the names of arguments have those of their values", () => {
  const names = /"forward_arg_names": (\[[^\]]*\])/g;
  const without = (name: string, value: string): Uint8Array =>
    edited(`${name}.pt2`, (model) => {
      assert.match(model, names);
      return model.replace(names, `"forward_arg_names": ${value}`);
    });
  const inputsOf = (file: Uint8Array): string[] =>
    methodsOf(engine.load(engine.lower(file).buffer))["forward"]![0];
  assert.deepEqual(inputsOf(without("masks", "null")), ["x", "mask", "rows"]);
  assert.deepEqual(inputsOf(without("masks", '[5, "mask", "rows"]')), [
    "input_0",
    "input_1",
    "input_2",
  ]);
  // The file has no names for arguments that hold several values. Keyword arguments have theirs.
  const nested = ["input_0", "input_1", "input_2", "2.x", "2.y", "flag", "opt", "scale"];
  assert.deepEqual(inputsOf(without("pytree_io", "null")), nested);
});

test("names outlive quantization and backends", async () => {
  const names = { forward: [["x"], ["output_0"]] };
  for (const recipe of ["xnnpack_fp32", "xnnpack_pt2e_int8_dynamic_per_channel"]) {
    const session = await engine.export(pt2("mlp"), { recipe });
    assert.deepEqual(methodsOf(engine.load(session.getPteBuffer())), names, recipe);
    session.dispose();
  }
});

test("methods keep the order in which they were given, and names of their own", () => {
  const files = { encode: pt2("encdec.encode"), decode: pt2("encdec.decode") };
  const constantMethods = { get_max_seq_len: 256, eos: 2 };
  const orders = [files, Object.fromEntries(Object.entries(files).reverse())];
  for (const methods of orders) {
    const program = engine.load(engine.lower(methods, { constantMethods }).buffer);
    assert.deepEqual(program.methods, [...Object.keys(methods), "get_max_seq_len", "eos"]);
    assert.deepEqual(methodsOf(program), {
      encode: [["ids"], ["output_0"]],
      decode: [["tok", "ctx"], ["output_0"]],
      get_max_seq_len: [[], ["output_0"]],
      eos: [[], ["output_0"]],
    });
    for (const name of ["encode", "decode"])
      for (const { inputs, outputs } of readCases(`encdec.${name}`))
        assert.equal(difference(program.run(name, inputs)[0], outputs[0]!), "");
  }
});

/** The inputs of a case by name, the last first. */
const byName = (names: readonly string[], inputs: readonly Value[]): Record<string, Value> =>
  Object.fromEntries(names.map((name, i): [string, Value] => [name, inputs[i]!]).reverse());

test("inputs by name are what inputs in order are, and outputs come by name", async () => {
  for (const bytes of [lower("pytree_io"), official("pytree_io")])
    for (const host of [engine, client]) {
      const program = await host.load(bytes);
      const [info] = (await program.inspect()).methods;
      const [names, outputNames] = namesOf(info!);
      for (const { inputs, outputs } of readCases("pytree_io")) {
        const named = byName(names, inputs);
        const results = [
          await program.run("forward", named),
          await program.run(named),
          await program.run(inputs),
          Object.values(await program.runNamed("forward", named)),
          Object.values(await program.runNamed(inputs, {})),
        ];
        for (const result of results)
          outputs.forEach((wanted, i) => assert.equal(difference(result[i], wanted), ""));
        assert.deepEqual(Object.keys(await program.runNamed(named)), outputNames);
      }
      await program.dispose();
    }
});

test("inputs that export has fixed may be left out by name", () => {
  const program = engine.load(lower("pytree_io"));
  const [{ inputs, outputs }] = readCases("pytree_io") as [ReturnType<typeof readCases>[0]];
  const { flag, opt, scale, ...others } = byName(PYTREE[0], inputs);
  assert.deepEqual([flag, opt, scale], [true, null, 3]);
  const { sum } = program.runNamed(others);
  assert.equal(difference(sum, outputs[0]!), "");
  assert.throws(() => program.run({ ...others, scale: 4 }), { code: "input" });
});

test("a method without inputs needs none", async () => {
  const constantMethods = { get_max_seq_len: 256 };
  const bytes = engine.lower(pt2("mlp"), { constantMethods }).buffer;
  for (const host of [engine, client]) {
    const program = await host.load(bytes);
    assert.deepEqual(await program.run("get_max_seq_len"), [256]);
    assert.deepEqual(await program.run("get_max_seq_len", {}), [256]);
    assert.deepEqual(await program.runNamed("get_max_seq_len"), { output_0: 256 });
    await program.dispose();
  }
});

test("options follow the inputs, with a method or without", async () => {
  const { inputs } = readCases("mlp")[0]!;
  const bytes = lower("mlp");
  for (const host of [engine, client]) {
    const program = await host.load(bytes);
    await program.run(inputs, { events: true });
    await program.runNamed("forward", { x: inputs[0]! }, { events: true });
    assert.ok((await program.etdump()).events > 0);
    const phases: string[] = [];
    await program.run(inputs, { onProgress: ({ phase }) => phases.push(phase) });
    await assert.rejects(async () => program.run(inputs, { singal: 1 } as object), {
      code: "option",
      message: "run() has no option 'singal'",
    });
    const signal = AbortSignal.abort();
    await assert.rejects(async () => program.run({ x: inputs[0]! }, { signal }), {
      code: "cancelled",
    });
    await program.dispose();
  }
});

test("a wrong call by name says what is wrong and what there is", async () => {
  const x = tensor(new Float32Array(6), [2, 3]);
  const { inputs } = readCases("masks")[0]!;
  const [first, mask, rows] = inputs as [Value, Value, Value];
  const good = { x: first, mask, rows };
  const table: [call: unknown[], code: string, message: RegExp, hint: RegExp][] = [
    [[{ ...good, maks: mask }], "input", /no input 'maks'/, /'mask'.* x, mask, rows/],
    [[{ x: first, rows }], "input", /takes 3 inputs, and no value .* mask$/, /inspect\(\)/],
    [[{ x: first }], "input", /no value was given for: mask, rows$/, /inspect\(\)/],
    [[{ ...good, mask: undefined }], "input", /no value was given for: mask/, /./],
    [[{ ...good, mask: 5 }], "input", /^input 'mask' is a float/, /./],
    [[{ ...good, mask: new Date() }], "input", /^input 'mask' must be/, /./],
    [[[first, mask, 5]], "input", /^input 2 is a float/, /./],
    [[[first]], "input", /takes 3 inputs, not 1$/, /in this order: x, mask, rows\.$/],
    [[x], "argument", /inputs of run\(\) .* not a tensor/, /Pass it in a list/],
    [["forward", x], "argument", /inputs of run\(\) .* not a tensor/, /Pass it in a list/],
    [["forward", 5], "argument", /inputs of run\(\) .* not 5/, /a list .*, or an object/],
    [["forwad", good], "not_found", /no method 'forwad'/, /'forward'/],
    [[5], "argument", /method of run\(\) .* not 5/, /./],
    [[], "argument", /method of run\(\) .* not undefined/, /./],
    // Keys of an object's class are no inputs.
    [[{ ...good, toString: 1 }], "input", /no input 'toString'/, /./],
  ];
  for (const host of [engine, client]) {
    const program = (await host.load(lower("masks"))) as unknown as {
      run(...call: unknown[]): unknown;
      dispose(): unknown;
    };
    for (const [call, code, message, hint] of table)
      await assert.rejects(
        async () => program.run(...call),
        (error) => {
          assert.ok(error instanceof SconceError, String(error));
          assert.equal(error.code, code, error.message);
          assert.match(error.message, message);
          assert.match(error.hint, hint);
          return true;
        },
      );
    await program.dispose();
  }
});

test("without a method several methods are an error that lists them", () => {
  const files = { encode: pt2("encdec.encode"), decode: pt2("encdec.decode") };
  const program = engine.load(engine.lower(files).buffer);
  const [{ inputs }] = readCases("encdec.encode") as [ReturnType<typeof readCases>[0]];
  assert.throws(() => program.run(inputs), {
    code: "argument",
    message: "run() was given no method, and the program has 2",
    hint: "Say which, before the inputs: encode, decode.",
  });
});

test("an input may be called like the members of a tensor", () => {
  const program = engine.load(lower("masks"));
  const call = { dtype: tensor([1]), shape: tensor([1]), data: tensor([1]) };
  assert.throws(() => program.run(call), { code: "input", message: /no input 'dtype'/ });
});

test("test cases of a bundle take inputs by name", async () => {
  const { inputs } = readCases("masks")[0]!;
  const named = byName(["x", "mask", "rows"], inputs);
  const bytes = lower("masks");
  const plain = engine.bundle(bytes, [{ methodName: "forward", testCases: [{ inputs }] }]);
  const suites = [{ methodName: "forward", testCases: [{ inputs: named }] }];
  assert.deepEqual(engine.bundle(bytes, suites), plain);
  assert.deepEqual(await client.bundle(bytes, suites), plain);
  const wrong = [{ methodName: "forward", testCases: [{ inputs: { ...named, y: 1 } }] }];
  assert.throws(() => engine.bundle(bytes, wrong), {
    code: "input",
    message: "case 0 of method 'forward': method 'forward' has no input 'y'",
  });
});
