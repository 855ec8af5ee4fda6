// Arguments that callers pass wrongly: engine and client answer with the same typed error, which names the
// argument and what it takes, and both work on.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import {
  createClient,
  createEngine,
  openUrl,
  SconceError,
  SconcePanic,
  tensor,
  toNumbers,
} from "sconce";
import { withBoth } from "../setup/both.js";
import { difference, modelPath, readCases } from "../setup/reference.js";

/** An object whose methods take anything: the caller that no type checker stops. */
type Loose = Record<string, (...args: unknown[]) => unknown>;
type Wrong = [
  call: (host: Loose) => unknown,
  code: string,
  message: RegExp,
  hint?: RegExp | undefined,
];

const mlp = { path: modelPath("mlp.pt2") };
const { engine, client } = await withBoth();

async function expectError([call, code, message, hint]: Wrong, host: unknown): Promise<void> {
  let error: unknown;
  try {
    await call(host as Loose);
  } catch (caught) {
    error = caught;
  }
  assert.ok(error instanceof SconceError, `${String(call)}: ${String(error)}`);
  assert.ok(!(error instanceof SconcePanic), error.message);
  assert.deepEqual([error.code, message.test(error.message)], [code, true], error.message);
  assert.match(error.hint, hint ?? /^[A-Z]/, error.message);
  assert.doesNotMatch(error.hint + error.message, /limits\./);
}

async function onBoth(wrong: readonly Wrong[]): Promise<void> {
  for (const row of wrong) for (const host of [engine, client]) await expectError(row, host);
}

const PATH = /\{ path \}/;

test("sources and programs that are none", () =>
  onBoth([
    [(h) => h["lower"]!(null), "argument", /^the programs must be .* not null$/, PATH],
    [(h) => h["lower"]!(), "argument", /programs .* not undefined/, PATH],
    [(h) => h["lower"]!(5), "argument", /programs .* not 5/, PATH],
    [(h) => h["open"]!("model.pt2"), "io", /cannot open model\.pt2/],
    [(h) => h["inspect"]!([]), "argument", /programs .* not \[\]/, PATH],
    [(h) => h["toEdge"]!({}), "argument", /no program/, PATH],
    [(h) => h["lower"]!({ forward: null }), "argument", /method 'forward' .* not null/, PATH],
    [(h) => h["lower"]!({ forward: "a.pt2" }), "io", /cannot open a\.pt2/],
    [(h) => h["lower"]!({ "": mlp }), "argument", /a method's name .* not the string ""/],
    [(h) => h["lower"]!({ "a\0b": mlp }), "argument", /a method's name .* not the string/],
    [(h) => h["load"]!(), "argument", /program of load\(\) .* not undefined/, PATH],
    [(h) => h["load"]!(mlp, { dataFiles: [null] }), "argument", /dataFiles\[0\] .* not null/, PATH],
    [(h) => h["detect"]!(null), "argument", /source of detect\(\) .* not null/, PATH],
    [(h) => h["detect"]!(new Float32Array(4)), "argument", /class Float32Array/, PATH],
  ]));

test("options that do not exist, or not like this", () =>
  onBoth([
    [(h) => h["lower"]!(mlp, null), "argument", /options of lower\(\) .* not null/],
    [(h) => h["lower"]!(mlp, 5), "argument", /options of lower\(\) .* not 5/],
    [
      (h) => h["lower"]!(mlp, AbortSignal.abort()),
      "argument",
      /a plain object, not an object of class AbortSignal/,
      /^Pass \{ signal \}/,
    ],
    [(h) => h["lower"]!(mlp, new Date()), "argument", /a plain object, .* class Date/],
    [(h) => h["lower"]!(new Map([["forward", mlp]])), "argument", /programs .* class Map/],
    [
      (h) => h["lower"]!(mlp, { constantMethods: new Map([["a", 1]]) }),
      "option",
      /'constantMethods' of lower\(\) must be a plain object, not an object of class Map/,
    ],
    [(h) => h["lower"]!(mlp, { compileConfig: new Date() }), "argument", /compileConfig .* Date/],
    [
      (h) => h["lower"]!(mlp, { shareMutableBuffer: true }),
      "option",
      /^lower\(\) has no option 'shareMutableBuffer'$/,
      /^Did you mean 'shareMutableBuffers'/,
    ],
    [(h) => h["lower"]!(mlp, { xyzzy: 1 }), "option", /'xyzzy'/, /^Use one of: signal, /],
    [
      (h) => h["lower"]!(mlp, { onprogress: () => 1 }),
      "option",
      /'onprogress'/,
      /^Did you mean 'onProgress'/,
    ],
    [(h) => h["open"]!(mlp, { memoryPlanning: "best" }), "option", /open\(\) has no option/],
    [(h) => h["toEdge"]!(mlp, { externalConstants: true }), "option", /toEdge\(\) has no option/],
    [
      (h) => h["toEdge"]!(mlp, { compileConfig: { snapshot: true } }),
      "option",
      /compileConfig of toEdge\(\) has no option 'snapshot'/,
      /^Did you mean 'snapshots'/,
    ],
    ...[5, ["s77=8"], { s77: 8 }, { s77: {} }, { s77: { max: 0 } }, { s77: { max: 1.5 } }].map(
      (dynamicShapes): Wrong => [
        (h) => h["lower"]!(mlp, { compileConfig: { dynamicShapes } }),
        "option",
        /^'dynamicShapes' of compileConfig of lower\(\) must be positive whole numbers by name/,
        /^Pass .* \{ NAME: \{ max: N \} \}\.$/,
      ],
    ),
    [
      (h) => h["toEdge"]!(mlp, { compileConfig: { dynamicShapes: { s77: { max: 8, min: 2 } } } }),
      "option",
      /'dynamicShapes' of compileConfig of toEdge\(\)/,
    ],
    [
      (h) => h["load"]!(mlp, { datafiles: [] }),
      "option",
      /'datafiles'/,
      /^Did you mean 'dataFiles'/,
    ],
    [(h) => h["load"]!(mlp, { dataFiles: 5 }), "option", /'dataFiles' .* a list, not 5/],
    [(h) => h["load"]!(mlp, { instructionMax: -1 }), "option", /'instructionMax' .* not -1/],
    [(h) => h["lower"]!(mlp, { signal: 5 }), "option", /'signal' .* an AbortSignal, not 5/],
    [(h) => h["lower"]!(mlp, { onProgress: 5 }), "option", /'onProgress' .* a function, not 5/],
    [(h) => h["lower"]!(mlp, { memoryPlanning: "psychic" }), "option", /"best", "greedy"/],
    [(h) => h["lower"]!(mlp, { segmentAlignment: "128" }), "option", /'segmentAlignment'/],
    [
      (h) => h["lower"]!(mlp, { segmentAlignment: 3 }),
      "option",
      /'segmentAlignment' of lower\(\) .* not 3/,
      /a power of two from 1 to 2\^24/,
    ],
    [(h) => h["lower"]!(mlp, { constantTensorAlignment: 2 ** 25 }), "option", /'constantTensor/],
    [(h) => h["lower"]!(mlp, { externalConstants: "yes" }), "option", /true, false, files by/],
  ]));

test("constant methods that cannot answer", async () => {
  const cyclic: unknown[] = [];
  cyclic.push(cyclic);
  const answer = (value: unknown): Wrong[0] => {
    return (h) => h["lower"]!(mlp, { constantMethods: { get: value } });
  };
  await onBoth([
    [answer(null), "argument", /'get' .* not null/],
    [answer({ a: null }), "argument", /'get' .* not null/],
    [answer({ double: "1" }), "argument", /'get' .* not \{"double":"1"\}/],
    [answer({ dtype: "float17" }), "argument", /'get' .* not \{"dtype":"float17"\}/],
    [answer(new Map([[1, 1]])), "argument", /a key of .* 'get' .* must be a string, not 1/],
    [answer({ "\ud800": 1 }), "argument", /'get' .* unpaired surrogates/],
    [answer(new Date(0)), "argument", /'get' .* not an object of class Date/],
    [
      answer({ dtype: "float32", shape: [2], data: [1] }),
      "input",
      /'get' returns, declared float32/,
    ],
    [answer(cyclic), "argument", /nested deeper/],
    [answer({ a: { b: cyclic } }), "argument", /nested deeper/],
    [answer("\ud800"), "argument", /'get' .* unpaired surrogates/],
    [answer([1, , 3]), "argument", /'get' .* not undefined/],
    [answer(2 ** 64), "argument", /18446744073709551616 .* 64 bits/],
    [answer(1e22), "argument", /64 bits/],
    [answer([1n << 63n]), "argument", /64 bits/],
    [(h) => h["lower"]!(mlp, { constantMethods: { "": 1 } }), "argument", /method's name/],
    [(h) => h["lower"]!(mlp, { constantMethods: 5 }), "option", /'constantMethods'/],
  ]);
});

test("text that UTF-8 cannot hold is named, and not replaced", () => {
  const half = "\ud800x";
  const partitioner = (one: unknown): Wrong[0] => {
    return (h) => h["lower"]!(mlp, { partitioner: one });
  };
  const specs = (key: string, value: string): object => {
    return { backend: "null", compileSpecs: [{ key, value }] };
  };
  const named = /a string in .* unpaired surrogates, not the string "\\ud800x"/;
  return onBoth([
    [partitioner(half), "argument", named],
    [partitioner({ forward: [half] }), "argument", named],
    [partitioner(specs(half, "")), "argument", named],
    [partitioner(specs("\\ud800", half)), "argument", named],
    [partitioner({ backend: "null", tags: [{ tag: half, nodes: [] }] }), "argument", named],
    [partitioner({ backend: "null", tags: [{ tag: "t", nodes: [half] }] }), "argument", named],
    [(h) => h["lower"]!(mlp, { transformPasses: [half] }), "argument", named],
    [
      (h) => h["lower"]!(mlp, { compileConfig: { dynamicShapes: { [half]: { max: 3 } } } }),
      "argument",
      named,
    ],
    // Written out, it is text like any other.
    [partitioner("\\ud800"), "not_found", /no backend '\\ud800'/],
  ]);
});

test("constants give what they say", () => {
  const constantMethods = {
    whole: 5,
    big: 2n ** 63n - 1n,
    large: 2 ** 60,
    minusZero: -0,
    minusZeroDouble: { double: -0 },
    double: { double: 3 },
    infinite: { double: Infinity },
  };
  const lowered = engine.lower(mlp, { constantMethods });
  const program = engine.load(lowered.buffer);
  const answers = Object.keys(constantMethods).map((name) => program.run(name, [])[0]);
  const whole = [5, 2n ** 63n - 1n, 2n ** 60n, 0, -0, 3, Infinity];
  assert.deepEqual(answers.map(String), whole.map(String));
  assert.ok(Object.is(answers[4], -0));
  const kinds = program.inspect().methods.map((m) => [m.name, m.outputs[0]!.kind]);
  const { large, double } = Object.fromEntries(kinds) as Record<string, string>;
  assert.deepEqual([large, double], ["int", "double"]);
  program.dispose();
  lowered.dispose();
});

test("any text but the empty one names a method", () => {
  const names = ["prefill", "with space", "näme", "__proto__", "signal", "1"];
  const programs = Object.fromEntries(names.map((name) => [name, mlp]));
  const lowered = engine.lower(programs);
  assert.deepEqual([...lowered.methods].sort(), [...names].sort());
  const program = engine.load(lowered.buffer);
  const { inputs, outputs } = readCases("mlp")[0]!;
  for (const name of names) assert.equal(difference(program.run(name, inputs)[0], outputs[0]!), "");
  program.dispose();
  lowered.dispose();
});

test("a method named like an option is a method", async () => {
  const lowered = await client.lower({ signal: mlp });
  assert.deepEqual([...lowered.methods], ["signal"]);
  await lowered.dispose();
});

test("managers are asked for what they do not have", async () => {
  for (const host of [engine, client]) {
    const edge = await host.toEdge(mlp);
    const made = await edge.toExecutorch();
    for (const row of [
      [(m) => m["transform"]!(5), "argument", /passes of transform\(\) .* not 5/],
      [(m) => m["transform"]!([1]), "argument", /passes of transform\(\)/],
      [(m) => m["transform"]!(["dce", ,]), "argument", /passes of transform\(\)/],
      [(m) => m["transform"]!({ nope: ["dce"] }), "not_found", /'nope'/],
      [(m) => m["transform"]!(["nope"]), "not_found", /'nope'/],
      [(m) => m["text"]!("abc"), "argument", /program number of text\(\) .* "abc"/],
      [(m) => m["nodes"]!(0), "argument", /method of nodes\(\) .* not undefined/],
      [(m) => m["exportedProgram"]!(5), "not_found", /'5'/],
      [(m) => m["toExecutorch"]!({ snapshots: true }), "option", /'snapshots'/],
    ] as Wrong[])
      await expectError(row, edge);
    for (const row of [
      [(m) => m["dataFile"]!(), "argument", /name of dataFile\(\) .* not undefined/],
      [(m) => m["dataFile"]!("nope.ptd"), "not_found", /'nope.ptd'/],
      [(m) => m["writeTo"]!(null), "argument", /the sink .* not null/],
      [(m) => m["writeTo"]!(() => 1, "nope.ptd"), "not_found", /'nope.ptd'/],
    ] as Wrong[])
      await expectError(row, made);
    await Promise.all([edge.dispose(), made.dispose()]);
  }
});

test("inputs that are not what they say", async () => {
  const bytes = engine.lower(mlp).buffer;
  const data = new Float32Array(64);
  const shape = [4, 16];
  const rows: [unknown, RegExp, RegExp?][] = [
    [undefined, /input 0 must be a tensor, .* not undefined/],
    [data, /input 0 must be a tensor, .* class Float32Array/],
    [1n << 64n, /input 0 must be an integer of 64 bits/],
    [{ dtype: "float32", shape: 5, data }, /shape of input 0 .* not 5/],
    [{ dtype: "float32", shape: [-4, 16], data }, /shape of input 0/],
    [
      { dtype: "float32", shape, data: [1, 2] },
      /data of input 0, declared float32, .* not \[1, 2\]/,
    ],
    [{ dtype: "int64", shape, data }, /declared int64, .* a BigInt64Array, not .* Float32Array/],
    [{ dtype: "float16", shape, data }, /declared float16, .* a Uint16Array/, /Uint16Array/],
    [{ dtype: "bfloat16", shape, data }, /declared bfloat16, .* a Uint16Array/],
    [{ dtype: "bool", shape, data }, /declared bool, .* a Uint8Array/],
    [{ dtype: "float32", shape, data: new Int32Array(64) }, /a Float32Array, not .* Int32Array/],
    [{ dtype: "float32", shape, data: new Float32Array(3) }, /input 0/],
    [new Date(), /input 0 .* class Date/],
    ["\ud800", /input 0 .* unpaired surrogates/],
  ];
  for (const host of [engine, client]) {
    const program = await host.load(bytes);
    for (const [value, message, hint] of rows)
      await expectError([(p) => p["run"]!("forward", [value]), "input", message, hint], program);
    // A hole must not stand for what the call before passed.
    await program.run("forward", readCases("mlp")[0]!.inputs);
    const hole = (p: Loose): unknown => p["run"]!("forward", new Array(1));
    await expectError([hole, "input", /input 0 .* not undefined/], program);
    for (const row of [
      [(p) => p["run"]!(), "argument", /method of run\(\) .* not undefined/],
      [(p) => p["run"]!("forward", 5), "argument", /inputs of run\(\) must be a list .*, not 5/],
      [(p) => p["run"]!("forward", [], { singal: 1 }), "option", /'singal'/, /'signal'/],
      [
        (p) => p["run"]!("forward", [{ dtype: "f", shape, data }]),
        "dtype",
        /input 0 .* 'f'|dtype f/,
      ],
    ] as Wrong[])
      await expectError(row, program);
    const { inputs, outputs } = readCases("mlp")[0]!;
    assert.equal(difference((await program.run("forward", inputs))[0], outputs[0]!), "");
    await program.dispose();
  }
});

test("an input that no memory holds is refused, and everything else goes on", async () => {
  const bytes = engine.lower(mlp).buffer;
  for (const size of [3.9e9, 2 ** 32 - 8]) {
    // Shared memory, which reaches the worker without a copy.
    const data = new Uint8Array(new SharedArrayBuffer(size));
    const inputs = [{ dtype: "uint8", shape: [size], data }];
    for (const host of [engine, client]) {
      const program = await host.load(bytes);
      const wrong = (p: Loose): unknown => p["run"]!("forward", inputs);
      await expectError([wrong, "out_of_memory", /no memory for \d+ bytes/], program);
      const { inputs: fitting, outputs } = readCases("mlp")[0]!;
      assert.equal(difference((await program.run("forward", fitting))[0], outputs[0]!), "");
      await program.dispose();
    }
  }
});

test("modules that are none", async () => {
  const { Response } = globalThis;
  const empty = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0);
  for (const wasm of [
    new Uint8Array(8),
    empty,
    await WebAssembly.compile(empty),
    "/no/such/sconce.wasm",
    new URL("file:///no/such/sconce.wasm"),
    "http://",
  ]) {
    const wrong: Wrong = [() => createEngine({ wasm }), "io", /could not be loaded/, /sconce.wasm/];
    await expectError(wrong, undefined);
    await expectError([() => createClient({ wasm }), "io", /could not be loaded/], undefined);
  }
  const missing = new Response("gone", { status: 404 });
  await expectError([() => createEngine({ wasm: missing }), "io", /answered 404/], undefined);
  await expectError(
    [() => createClient({ wasm: missing }), "argument", /class Response/],
    undefined,
  );
  for (const create of [createEngine, createClient] as unknown as Loose["x"][]) {
    await expectError([() => create!({ wasm: 5 }), "argument", /'wasm' .* not 5/], undefined);
    await expectError([() => create!({ wams: 5 }), "option", /'wams'/, /'wasm'/], undefined);
    await expectError([() => create!({ onLog: 5 }), "option", /'onLog'/], undefined);
    await expectError([() => create!(null), "argument", /not null/], undefined);
  }
});

test("lists make tensors", () => {
  const made = (...args: Parameters<typeof tensor>): unknown[] => {
    const { dtype, shape, data } = tensor(...args);
    return [dtype, shape, data];
  };
  assert.deepEqual(
    made([
      [1, 2, 3],
      [4, 5, 6],
    ]),
    ["float32", [2, 3], Float32Array.of(1, 2, 3, 4, 5, 6)],
  );
  assert.deepEqual(made([1, 2, 3, 4], [2, 2]), ["float32", [2, 2], Float32Array.of(1, 2, 3, 4)]);
  assert.deepEqual(made([]), ["float32", [0], new Float32Array(0)]);
  assert.deepEqual(made([[], []]), ["float32", [2, 0], new Float32Array(0)]);
  assert.deepEqual(made([[1n], [-2n]]), ["int64", [2, 1], BigInt64Array.of(1n, -2n)]);
  assert.deepEqual(made([true, false]), ["bool", [2], Uint8Array.of(1, 0)]);
  assert.deepEqual(made([[255], [0]], undefined, "uint8"), [
    "uint8",
    [2, 1],
    Uint8Array.of(255, 0),
  ]);
  assert.deepEqual(made([2 ** 53 - 1], [1], "int64"), [
    "int64",
    [1],
    BigInt64Array.of(9007199254740991n),
  ]);
  assert.deepEqual(made([NaN, -0], [2], "float64"), ["float64", [2], Float64Array.of(NaN, -0)]);
});

test("lists that make none", async () => {
  const make = tensor as Loose["x"];
  const cyclic: unknown[] = [];
  cyclic.push(cyclic);
  const rows: [unknown[], string, RegExp, RegExp?][] = [
    [[["a"]], "argument", /element \[0\] of tensor\(\) must be a number, not the string "a"/],
    [[[1, , 3]], "argument", /element \[1\] .* not undefined/],
    [
      [
        [
          [1, 2],
          [3, "4"],
        ],
      ],
      "argument",
      /element \[1\]\[1\] .* the string "4"/,
    ],
    [[[1n, 2]], "argument", /element \[0\] .* not 1n/],
    [[[null]], "argument", /not null/],
    [[[[1, 2], [3]]], "shape", /ragged: \[1\] is not a list of 2/, /equally long/],
    [[[[1, 2], , [3, 4]]], "shape", /ragged: \[1\] is not/],
    [[[1, [2]]], "shape", /ragged: \[1\] is not an element/],
    [[[[1], 2]], "shape", /ragged: \[1\] is not a list of 1/],
    [[cyclic], "shape", /nested deeper than 16/],
    [[[[1, 2]], [3]], "shape", /2 elements do not fill/],
    [[[256], [1], "uint8"], "argument", /from 0 to 255, not 256/],
    [[[1.5], [1], "int32"], "argument", /a whole number .* not 1.5/],
    [[[-1], [1], "uint32"], "argument", /from 0 to 4294967295, not -1/],
    [[[2 ** 53], [1], "int64"], "argument", /as a bigint .* not 9007199254740992/],
    [[[2n ** 63n], [1], "int64"], "argument", /not 9223372036854775808n/],
    [[[2], [1], "bool"], "argument", /true, false, 1 or 0, not 2/],
    [[["1"], [1], "float16"], "argument", /element \[0\] .* a number, not the string "1"/],
    [[[1n], [1], "float8_e5m2"], "argument", /a number, not 1n/],
    [[[{ re: 1, im: "2" }]], "argument", /a number or \{ re, im \}, not \{"re":1,"im":"2"\}/],
    [[[{ im: 2 }], [1], "complex64"], "argument", /\{ re, im \}/],
    [
      [
        [1, 2, 3],
        [2, -1],
      ],
      "shape",
      /no size in the place of -1/,
      /a multiple of 2/,
    ],
    [[[], [0, -1]], "shape", /the shape \[0, -1\] hold 0/, /instead of -1/],
    [[[1], [-1, -1]], "argument", /the shape .* one of them -1/],
    [[[1], [-2]], "argument", /the shape/],
    [[3, [2]], "shape", /1 elements do not fill the shape \[2\]/],
    [[new Float32Array(3), [1], "complex64"], "shape", /no whole number of complex64 elements/],
    [[new Float64Array(2), [1], "complex64"], "dtype", /complex64/, /a Float32Array/],
    [[new Int32Array(1), [1], "float16"], "dtype", /float16/, /a Uint16Array or a Float16Array/],
    [[new DataView(new ArrayBuffer(4))], "dtype", /cannot find the dtype/],
    [["1"], "dtype", /cannot find the dtype/],
    [[new Float32Array(1), [,]], "argument", /the shape/],
  ];
  for (const [args, code, message, hint] of rows)
    await expectError([() => make!(...args), code, message, hint], undefined);
});

test("arrays whose memory was transferred", async () => {
  const gone = (): Float32Array => {
    const data = new Float32Array(64);
    structuredClone(data.buffer, { transfer: [data.buffer] });
    return data;
  };
  const program = engine.load(engine.lower(mlp).buffer);
  const inputs = [{ dtype: "float32", shape: [4, 16], data: gone() }];
  const run = (): unknown => program.run("forward", inputs as never);
  await expectError([run, "input", /data of input 0 is gone/, /copy/], undefined);
  await expectError([(h) => h["detect"]!(gone().buffer), "argument", /detect\(\) is gone/], engine);
  program.dispose();
});

test("of several files the broken one is named", async () => {
  for (const host of [engine, client]) {
    for (const broken of [new Uint8Array(100), { path: "/no/such/file.pt2" }]) {
      for (const call of ["open", "toEdge", "lower", "inspect"] as const) {
        const error = await (async () => host[call]({ first: mlp, second: broken }))().catch(
          (e: unknown) => e,
        );
        assert.ok(error instanceof SconceError, String(error));
        assert.deepEqual([error.method, error.diagnostics[0]!.method], ["second", "second"]);
      }
    }
  }
});

test("helpers that are given something else", async () => {
  const data = Float32Array.of(1, 2);
  for (const row of [
    [() => (tensor as Loose["x"])!(null), "dtype", /cannot find the dtype/, /a list of numbers/],
    [() => (tensor as Loose["x"])!(data, 2), "argument", /the shape .* not 2/],
    [() => (tensor as Loose["x"])!(data, [2], "float"), "dtype", /dtype float/],
    [() => (tensor as Loose["x"])!(data, [2], "int64"), "dtype", /int64/, /BigInt64Array/],
    [() => (toNumbers as unknown as Loose["x"])!(null), "argument", /a tensor, not null/],
    [() => openUrl("::"), "argument", /a URL/],
    [() => openUrl("http://127.0.0.1:1/x.pt2"), "io", /cannot be loaded/],
    [() => openUrl("http://127.0.0.1:1/", AbortSignal.abort()), "cancelled", /cancelled/],
  ] as Wrong[])
    await expectError(row, undefined);
});

test("a client says what it takes instead of objects with methods", async () => {
  const bytes = readFileSync(mlp.path);
  class Reader {
    size = bytes.length;
    read(offset: number, length: number): Uint8Array {
      return bytes.subarray(offset, offset + length);
    }
  }
  const own = { size: bytes.length, read: (at: number, n: number) => bytes.subarray(at, at + n) };
  for (const source of [new Reader(), own]) {
    const hint = /^Pass .*Uint8Array.*\{ url \}/;
    for (const call of [
      () => client.lower(source),
      () => client.lower({ forward: source }),
      () => client.load(new Uint8Array(8), { dataFiles: [source] }),
    ])
      await expectError([call, "argument", /got an object with functions/, hint], undefined);
    const lowered = engine.lower(source);
    lowered.dispose();
  }
  const wrong: Wrong = [(h) => h["detect"]!({ path: Symbol("x") }), "argument", /reach the worker/];
  await expectError(wrong, client);
});

test("what a source throws is the cause, and in the message", () => {
  const bytes = readFileSync(mlp.path);
  const reads = (read: (offset: number, length: number) => unknown): unknown =>
    ({ size: bytes.length, read }) as unknown;
  const fire = new RangeError("the disk is on fire");
  const attempt = (source: unknown): unknown => {
    try {
      return engine.lower(source as Uint8Array);
    } catch (error) {
      return error;
    }
  };
  const thrown = attempt(
    reads(() => {
      throw fire;
    }),
  );
  assert.ok(thrown instanceof SconceError);
  assert.deepEqual([thrown.code, thrown.cause], ["io", fire]);
  assert.match(thrown.message, /: the disk is on fire$/);
  for (const [read, message] of [
    [() => new Uint8Array(3), /read\(\) returned 3 bytes instead of/],
    [async () => new Uint8Array(8), /read\(\) returns must be a Uint8Array, synchronously/],
  ] as const) {
    const error = attempt(reads(read));
    assert.ok(error instanceof SconceError && error.code === "io", String(error));
    assert.match(error.message, message);
  }
  for (const size of ["8", 8n, undefined])
    assert.throws(() => engine.detect({ size, read: () => bytes } as never), { code: "argument" });
  assert.equal(engine.detect(bytes), "pt2");
});

test("what a listener throws fails its call and leaves the engine whole", async () => {
  const mine = new RangeError("mine");
  const onProgress = (): void => {
    throw mine;
  };
  assert.throws(() => engine.lower(mlp, { onProgress }), mine);
  const logging = await createEngine({ onLog: onProgress });
  assert.throws(() => logging.lower(new Uint8Array(100)), mine);
  for (const host of [engine, logging]) host.lower(mlp).dispose();
  logging.dispose();
});

test("what was disposed says so", async () => {
  const other = await createEngine();
  const edge = other.toEdge(mlp);
  const made = edge.toExecutorch();
  const program = other.load(made.buffer);
  const exported = edge.exportedProgram();
  const gone = (name: string): RegExp => new RegExp(`^this ${name} was disposed$`);
  for (const owner of [edge, made, program]) owner.dispose();
  await expectError([() => edge.inspect(), "disposed", gone("EdgeProgramManager")], undefined);
  await expectError([() => exported.text(), "disposed", gone("EdgeProgramManager")], undefined);
  await expectError([() => made.buffer, "disposed", gone("ExecutorchProgramManager")], undefined);
  await expectError([() => program.run("forward", []), "disposed", gone("Program")], undefined);
  const kept = other.load(engine.lower(mlp).buffer);
  other.dispose();
  await expectError([() => other.lower(mlp), "disposed", gone("Engine")], undefined);
  await expectError([() => kept.inspect(), "disposed", gone("Engine")], undefined);
  kept.dispose();
  const remote = await client.toEdge(mlp);
  await remote.dispose();
  await remote.dispose();
  await expectError([() => remote.inspect(), "disposed", gone("EdgeProgramManager")], undefined);
});

test("a client that was ended says so, without talk of defects", async () => {
  const other = await createClient();
  await other.dispose();
  const error = await other.meta().catch((e: unknown) => e);
  assert.ok(error instanceof SconcePanic);
  assert.deepEqual([error.code, error.message], ["disposed", "the worker was ended"]);
  assert.match(error.hint, /createClient/);
});

test("no hint names a limit that no option sets", () => {
  const text = readFileSync(new URL("../../../../src/base/status.def", import.meta.url), "utf8");
  assert.doesNotMatch(text, /limits\./);
});
