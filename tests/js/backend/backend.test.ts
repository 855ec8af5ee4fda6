// Backends that callers write: what they are asked, what they may answer, and that the engine
// survives what they do wrong.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import {
  createClient,
  createEngine,
  SconceError,
  tensor,
  toNumbers,
  type Backend,
  type Engine,
  type InputValue,
  type Part,
  type Program,
  type Tensor,
  type TensorOf,
  type Value,
} from "sconce";
import demo, { living, plan } from "../setup/demo_backend.js";
import * as demonstrated from "./demo_engine.js";
import { check } from "./demo_engine.js";
import { failure, file } from "../setup/failure.js";
import { difference, readCases, SINGLE } from "../setup/reference.js";

let engine: Engine;
beforeEach(async () => (engine = await createEngine()));
afterEach(() => engine.dispose());

const registered = (change: Partial<Backend>): string => demonstrated.registered(engine, change);
const loaded = (name: string, backend: string, method = ""): Program =>
  demonstrated.loaded(engine, name, backend, method);
const works = (): void => demonstrated.works(engine);

for (const name of SINGLE) {
  test(`${name} with what the demonstration backend takes`, () => {
    const before = living.count;
    const program = loaded(name, registered({}));
    check(program, name);
    program.dispose();
    assert.equal(living.count, before);
  });
}

test("each node outside has the reason that the backend gave", () => {
  const id = registered({});
  const edge = engine.toEdge(file("mlp"));
  const { delegates, nodes } = edge.toBackend(id).delegation()["forward"]!;
  assert.ok(delegates.length > 0 && delegates.every(({ backend }) => backend === id));
  const outside = nodes.filter((n) => n.delegate === null);
  assert.deepEqual(
    outside.map(({ op, reason }) => [op, reason]),
    [
      ["aten::gelu", "only arithmetic"],
      ["aten::_softmax", "only arithmetic"],
    ],
  );
});

test("all parts of all methods come at once, and shared weights are stored once", () => {
  const calls: string[] = [];
  const id = registered({
    preprocessMultimethod(parts, specs) {
      calls.push(Object.keys(parts).join());
      return Object.fromEntries(
        Object.entries(parts).map(([method, list]) => [
          method,
          list.map((part, i) => {
            assert.equal(part.method, method);
            assert.deepEqual(
              specs[method]![i]!.map(({ key }) => key),
              [method],
            );
            const made = plan(part);
            const processedBytes = new TextEncoder().encode(JSON.stringify(made.plan));
            return { processedBytes, namedData: made.namedData };
          }),
        ]),
      );
    },
  });
  const edge = engine.toEdge({ prefill: file("mlp"), decode: file("mlp") });
  const withSpec = (
    key: string,
  ): { backend: string; compileSpecs: { key: string; value: string }[] } => ({
    backend: id,
    compileSpecs: [{ key, value: "v" }],
  });
  const both = edge.toBackend({ prefill: withSpec("prefill"), decode: withSpec("decode") });
  assert.deepEqual(calls, ["prefill,decode"]);
  const lowered = both.toExecutorch();
  const one = edge.toBackend({ prefill: withSpec("prefill") }).toExecutorch();
  const program = engine.load(lowered.buffer);
  check(program, "mlp", "prefill");
  check(program, "mlp", "decode");
  assert.equal(program.inspect().namedBytes, engine.load(one.buffer).inspect().namedBytes);
});

test("a part tells all about itself, for as long as it is preprocessed", () => {
  let kept: Part | undefined;
  const id = registered({
    preprocess(part, specs) {
      if (kept) return demo.preprocess!(part, specs);
      kept = part;
      assert.equal(part.method, "forward");
      assert.match(part.text(), /aten::addmm/);
      assert.ok(part.nodes().every(({ debugHandle }) => debugHandle > 0));
      const weight = part.constants.find(({ name }) => name === "p_fc1_weight")!;
      assert.match(weight.target, /fc1.weight$/);
      assert.deepEqual([weight.dtype, weight.shape], ["float32", [32, 16]]);
      assert.equal(weight.bytes().length, 32 * 16 * 4);
      engine.registerBackend(demo as Backend);
      return demo.preprocess!(part, specs);
    },
  });
  loaded("mlp", id).dispose();
  assert.equal(failure(() => kept!.text()).code, "state");
  assert.equal(failure(() => kept!.constants[0]!.bytes()).code, "state");
});

test("what is no backend is not registered", () => {
  engine.registerBackend(demo as Backend);
  for (const [backend, text] of [
    [demo, /a backend 'DemoBackend' is registered already/],
    [{ ...demo, id: "null" }, /a backend 'null' is registered already/],
    [{ ...demo, id: "NullBackend" }, /is registered already/],
    [{ ...demo, id: "" }, /the id of a backend must be/],
    [{ ...demo, id: "x".repeat(300) }, /1 to 255 bytes/],
    [{ ...demo, id: "a", execute: undefined }, /'execute' of backend 'a' must be a function/],
    [{ ...demo, id: "b", preprocess: undefined }, /'preprocess' of backend 'b'/],
    [{ ...demo, id: "c", destroy: 3 }, /'destroy' of backend 'c' must be a function/],
    [
      { ...demo, id: "d", suports: () => true },
      /backend 'd' has 'suports', which is not one of: id/,
    ],
    [{ ...demo, id: "e", helper: 3 }, /backend 'e' has 'helper'/],
    [null, /must be a backend/],
  ] as const) {
    const { code, message } = failure(() => engine.registerBackend(backend as unknown as Backend));
    assert.equal(code, "argument", message);
    assert.match(message, text);
  }
  works();
});

test("an object of a class has members of its own", () => {
  class Own {
    id = "Own";
    calls = 0;
    preprocess = demo.preprocess!;
    init = demo.init;
    execute = demo.execute;
    supports(): string {
      this.calls++;
      return "nothing";
    }
  }
  const own = new Own();
  engine.registerBackend(own as unknown as Backend);
  loaded("mlp", "Own").dispose();
  assert.ok(own.calls > 0);
});

/** Each function of a backend that is to answer at once, made to promise what never comes. */
const refusing = async (): Promise<never> => {
  await Promise.resolve();
  throw new Error("rejected");
};
const PROMISING: Record<string, unknown>[] = [
  ...["supports", "preprocess", "preprocessMultimethod", "init", "execute", "destroy"].map(
    (name) => ({ [name]: refusing }),
  ),
  { execute: () => [refusing()] },
  { preprocess: () => ({ processedBytes: refusing() }) },
  { preprocess: () => ({ processedBytes: new Uint8Array(1), namedData: { w: refusing() } }) },
  {
    preprocessMultimethod: (parts: Record<string, Part[]>) =>
      Object.fromEntries(Object.entries(parts).map(([name, list]) => [name, list.map(refusing)])),
  },
];

test("what a refused promise is rejected with does not end the process", async () => {
  const loose: unknown[] = [];
  const note = (reason: unknown): void => void loose.push(reason);
  process.on("unhandledRejection", note);
  try {
    for (const change of PROMISING) {
      const error = failure(() => {
        const program = loaded("add_mul", registered(change as Partial<Backend>));
        program.run("forward", readCases("add_mul")[0]!.inputs);
        program.dispose();
      });
      const [name] = Object.keys(change);
      assert.equal(error.code, "delegate");
      assert.match(error.message, new RegExp(`'${name}' of backend '\\S+' returned a promise`));
      await new Promise((resolve) => setImmediate(resolve));
    }
  } finally {
    process.off("unhandledRejection", note);
  }
  assert.deepEqual(loose, []);
  works();
});

test("what is in a state is the backend's own", () => {
  const state = Array.from({ length: 300_000 }, (_, i) => (i ? i : Promise.resolve(i)));
  const execute = (found: unknown, inputs: Value[]): Value[] => {
    assert.equal(found, state);
    return [inputs[0]!];
  };
  const backend = registered({ init: () => state, execute } as unknown as Partial<Backend>);
  const program = loaded("add_mul", backend);
  program.run("forward", readCases("add_mul")[0]!.inputs);
  program.dispose();
});

test("what goes wrong ahead of time is a typed error that says where", () => {
  const thrown = new Error("mine");
  const throwing = (): never => {
    throw thrown;
  };
  const cases: [Partial<Backend>, RegExp][] = [
    [{ supports: throwing }, /'supports' of backend '\S+' threw for method 'prefill': mine/],
    [{ supports: () => 7 as never }, /must return true, a reason or/],
    [
      { preprocess: () => ({ processedBytes: new Uint8Array(), debugHandlesMap: {} }) as never },
      /has 'debugHandlesMap', which is not one of: processedBytes, namedData, debugHandleMap/,
    ],
    [
      {
        preprocess: () =>
          ({
            processedBytes: new Uint8Array(),
            namedData: { k: { bytes: new Uint8Array(), align: 4 } },
          }) as never,
      },
      /'k' in the result of 'preprocess' of backend .* has 'align', which is not one of: bytes, alignment, externalTag, tensorLayout/,
    ],
    [
      { preprocess: throwing },
      /'preprocess' of backend '\S+' threw for lowered_module_0 of method 'prefill': mine/,
    ],
    [
      { preprocess: () => undefined as never },
      /the result of 'preprocess' .* for lowered_module_0 of method 'prefill'/,
    ],
    [{ preprocess: () => ({ processedBytes: "x" }) as never }, /processedBytes .* Uint8Array/],
    [{ preprocess: (async () => undefined) as never }, /returned a promise/],
    [
      { preprocess: () => ({ processedBytes: new Uint8Array(), namedData: { k: 1 } }) as never },
      /'k'/,
    ],
    [
      {
        preprocess: () => ({ processedBytes: new Uint8Array(), namedData: { k: null } }) as never,
      },
      /'k' in the result of 'preprocess' of backend .* must be bytes/,
    ],
    [
      {
        preprocess: () => ({ processedBytes: new Uint8Array(), debugHandleMap: { 1: [999] } }),
      },
      /maps to debug handle 999, which no node of lowered_module_0 of method 'prefill' has/,
    ],
    [{ preprocessMultimethod: throwing }, /'preprocessMultimethod' of backend '\S+' threw: mine/],
    [
      { preprocessMultimethod: () => ({ prefill: [] }) },
      /returned 0 results for method 'prefill', which has 2 parts/,
    ],
    [
      {
        preprocessMultimethod: ({ prefill, decode }) => ({
          prefill: prefill!.map(() => ({ processedBytes: new Uint8Array() })),
          ...(decode && {}),
        }),
      },
      /returned 0 results for method 'decode', which has 2 parts/,
    ],
    [
      { preprocessMultimethod: () => ({ other: [{ processedBytes: new Uint8Array() }] }) },
      /returned 1 result for method 'other', which has 0 parts/,
    ],
    [
      { preprocessMultimethod: () => ({ other: [] }) },
      /returned 0 results for method 'other', which has 0 parts/,
    ],
    [
      { preprocessMultimethod: () => null as never },
      /returned 0 results for method 'prefill', which has 2 parts/,
    ],
    [
      { preprocessMultimethod: () => ({ prefill: 5 }) as never },
      /returned no list of results for method 'prefill', which has 2 parts/,
    ],
  ];
  const edge = engine.toEdge({ prefill: file("mlp"), decode: file("mlp") });
  for (const [change, text] of cases) {
    const id = registered(change);
    const error = failure(() => edge.toBackend(id));
    assert.equal(error.code, "delegate", error.message);
    assert.match(error.message, text);
    assert.notEqual(error.hint, "");
    const named = /method '(\w+)'/.exec(error.message);
    assert.equal(error.method, named ? named[1] : "");
    if (error.message.includes("mine")) assert.equal(error.cause, thrown);
  }
  const refusing = (): never => {
    throw new SconceError("unsupported", "no", "Use a relu.");
  };
  for (const [change, hint] of [
    [{ supports: throwing }, /`cause` of this error/],
    [{ supports: refusing }, /^Use a relu\.$/],
    [{ supports: () => 7 as never }, /^Return true, or a string with the reason, from supports/],
    [
      { preprocess: () => undefined as never },
      /^Return \{ processedBytes: Uint8Array \} from prep/,
    ],
    [{ preprocess: () => new Uint8Array(1) as never }, /^Return \{ processedBytes: Uint8Array \}/],
    [{ preprocessMultimethod: () => ({}) }, /^Return \{ METHOD: \[/],
  ] as const)
    assert.match(failure(() => edge.toBackend(registered(change))).hint, hint);
  const conflict = registered({
    preprocess: (part) => ({
      processedBytes: new Uint8Array(),
      namedData: { same: new TextEncoder().encode(part.method) },
    }),
  });
  const clash = failure(() => edge.toBackend(conflict));
  assert.equal(clash.code, "delegate");
  assert.match(clash.message, /named data 'same' has two contents: 7 bytes of backend 'Backend/);
  works();
});

test("the data file that a backend names stays in its folder", () => {
  const edge = engine.toEdge(file("mlp"));
  const lowered = (externalTag: string): ReturnType<typeof edge.toExecutorch> => {
    const id = registered({
      preprocess: () => ({
        processedBytes: new Uint8Array(),
        namedData: { weights: { bytes: new Uint8Array(8), externalTag } },
      }),
    });
    return edge.toBackend(id).toExecutorch();
  };
  for (const tag of ["", ".", "..", "../esc", "/esc", "a\\b", "a\nb", "\0", "\ud800"]) {
    const error = failure(() => lowered(tag));
    assert.equal(error.code, "delegate", tag);
    assert.match(error.message, /externalTag of 'weights' .* must be the name of a file/);
    assert.equal(error.method, "forward");
  }
  assert.deepEqual(
    lowered("a..b").dataFiles.map(({ name }) => name),
    ["a..b.ptd"],
  );
});

test("what goes wrong at run time is a typed error that says where", () => {
  const { inputs } = readCases("add_mul")[0]!;
  const first = inputs[0] as TensorOf<"float32">;
  const cases: [Partial<Backend>, RegExp][] = [
    [
      {
        execute: () => {
          throw new RangeError("mine");
        },
      },
      /'execute' of backend '\S+' threw for part 0 of method 'forward': mine/,
    ],
    [{ execute: () => [] }, /gave 0 results for a part of method 'forward', which has 1 output$/],
    [{ execute: () => [first, first] }, /gave 2 results .* which has 1 output$/],
    [
      { execute: () => undefined as never },
      /gave no list of results .* method 'forward', which has 1 output$/,
    ],
    [{ execute: (async () => []) as never }, /returned a promise/],
    [{ execute: () => [3] }, /the kind int as output 0 .* declares tensor/],
    [{ execute: () => ["text"] }, /wrong output 0 of 1 for part 0 of method 'forward'/],
    [{ execute: () => [{ ...first, shape: [6] }] }, /the shape \[6\] .* declares \[2, 3\]/],
    [
      { execute: () => [{ ...first, data: new Float32Array(5) }] },
      /a tensor of 20 bytes as output 0 .* 'forward', which declares 24/,
    ],
    [
      { execute: () => [{ dtype: "int32", shape: [2, 3], data: new Int32Array(6) }] },
      /a tensor of int32 .* declares float32/,
    ],
  ];
  for (const [change, text] of cases) {
    const program = loaded("add_mul", registered(change));
    const error = failure(() => program.run("forward", inputs));
    assert.equal(error.code, "delegate", error.message);
    assert.match(error.message, text);
    program.dispose();
  }
  const failing = registered({
    init: () => {
      throw new Error("mine");
    },
  });
  const program = loaded("add_mul", failing);
  assert.match(failure(() => program.run("forward", inputs)).message, /'init' of backend .*mine/);
  const ending = registered({
    destroy: () => {
      throw new Error("mine");
    },
  });
  const last = loaded("add_mul", ending);
  last.run("forward", inputs);
  assert.match(failure(() => last.dispose()).message, /'destroy' of backend .*mine/);
  works();
});

test("a program that is running is busy, and others of the engine run meanwhile", () => {
  const { inputs } = readCases("add_mul")[0]!;
  const other = loaded("mlp", registered({}));
  let own: Program | undefined;
  const codes: string[] = [];
  const id = registered({
    execute(state, values): readonly InputValue[] {
      codes.push(failure(() => own!.run("forward", inputs)).code);
      check(other, "mlp");
      return demo.execute(state as never, values);
    },
  });
  own = loaded("add_mul", id);
  check(own, "add_mul");
  assert.ok(codes.length > 0 && codes.every((code) => code === "busy"));
});

test("dynamic outputs have the sizes of the call, and no more than the bound", () => {
  const id = registered({});
  check(loaded("mlp_dyn", id), "mlp_dyn");
  const wide = registered({
    execute: (state, inputs) =>
      demo.execute(state as never, inputs).map((value) => {
        const { shape } = value as Tensor;
        return {
          dtype: "float32" as const,
          shape: [4096, shape[1]!],
          data: new Float32Array(4096 * shape[1]!),
        };
      }),
  });
  const program = loaded("mlp_dyn", wide);
  const { inputs } = readCases("mlp_dyn")[0]!;
  const { code, message } = failure(() => program.run("forward", inputs));
  assert.equal(code, "delegate");
  assert.match(message, /gave the shape \[\d+, \d+\] as output 0 .* smaller sizes/);
});

test("a file whose backend nobody has registered says so", async () => {
  const edge = engine.toEdge(file("mlp"));
  const bytes = edge.toBackend(registered({})).toExecutorch().buffer;
  const stranger = await createEngine();
  const program = stranger.load(bytes);
  const { inputs } = readCases("mlp")[0]!;
  const { code, message } = failure(() => program.run("forward", inputs));
  assert.equal(code, "delegate");
  assert.match(message, /which is not registered/);
  stranger.dispose();
});

test("the bytes in the file are those that preprocess gave, with nothing before them", () => {
  const text = "the bytes of this backend";
  const seen: string[] = [];
  const id = registered({
    preprocess: () => ({ processedBytes: new TextEncoder().encode(text) }),
    init: (bytes) => void seen.push(new TextDecoder().decode(bytes)),
  });
  const lowered = engine.toEdge(file("mlp")).toBackend(id).toExecutorch();
  const parts = lowered.delegation();
  const { delegates } = Object.values(parts)[0]!;
  assert.ok(delegates.every(({ processedBytes }) => processedBytes === text.length));
  failure(() => engine.load(lowered.buffer).run("forward", readCases("mlp")[0]!.inputs));
  assert.ok(seen.length > 0 && seen.every((found) => found === text));
});

test("a backend may give no bytes at all", () => {
  const sizes: number[] = [];
  const id = registered({
    preprocess: () => ({}),
    init: (bytes) => void sizes.push(bytes.length),
  });
  const { buffer } = engine.toEdge(file("mlp")).toBackend(id).toExecutorch();
  failure(() => engine.load(buffer).run("forward", readCases("mlp")[0]!.inputs));
  assert.deepEqual([...new Set(sizes)], [0]);
});

test("an official program runs with a backend of its id", () => {
  const got: string[] = [];
  engine.registerBackend({
    id: "BackendWithCompilerDemo",
    supports: () => "nothing is lowered to it here",
    preprocess: () => ({}),
    init: (bytes) => void got.push(new TextDecoder().decode(bytes)),
    // Its bytes say "aten.mm" and "aten.add"; the program takes the sine of that.
    execute: (_, inputs) => {
      const [a, x, b] = inputs.map((input) => toNumbers(input as Tensor)) as number[][];
      const cell = (r: number, c: number): number =>
        a![2 * r]! * x![c]! + a![2 * r + 1]! * x![2 + c]! + b![2 * r + c]!;
      return [tensor([cell(0, 0), cell(0, 1), cell(1, 0), cell(1, 1)], [2, 2])];
    },
  });
  const program = engine.load({ path: "tests/backends/official_demo.pte" });
  const square = (...numbers: number[]): Tensor => tensor(numbers, [2, 2]);
  const [result] = program.run([square(1, 2, 3, 4), square(1, 0, 1, 1), square(1, 1, 0, 0)]);
  assert.match(got.join(), /aten\.mm.*aten\.add/);
  const expected = [4, 3, 7, 4].map(Math.sin);
  toNumbers(result as Tensor).forEach((x, i) => assert.ok(Math.abs(x - expected[i]!) < 1e-6));
});

test("a thousand runs take no more memory than one, and what was started is ended", () => {
  const before = living.count;
  const program = loaded("add_mul", registered({}));
  const { inputs } = readCases("add_mul")[0]!;
  program.run("forward", inputs);
  const heap = program.inspect().heapBytes;
  for (let i = 0; i < 1000; i++) program.run("forward", inputs);
  assert.equal(program.inspect().heapBytes, heap);
  assert.ok(living.count > before);
  engine.dispose();
  assert.equal(living.count, before);
});

test("a worker imports its backends", async () => {
  const logged: string[] = [];
  const client = await createClient({ onLog: (_, text) => logged.push(text) });
  const url = new URL("../setup/demo_backend.js", import.meta.url).href;
  assert.equal(await client.importBackend({ url }), "DemoBackend");
  await assert.rejects(client.importBackend({ url }), { code: "argument" });
  await assert.rejects(client.importBackend({ url: `${url}.none.js` }), { code: "io" });
  const tail = "const give = () => { throw new Error('mine'); };";
  const source = `import demo from "${url}"; ${tail} export default { ...demo, id: "Ends", destroy: give };`;
  await client.importBackend({ url: `data:text/javascript,${encodeURIComponent(source)}` });
  const ended = await client.lower(file("mlp"), { partitioner: "Ends" });
  const started = await client.load(await ended.buffer);
  await started.run("forward", readCases("mlp")[0]!.inputs);
  await started.dispose();
  await client.meta();
  assert.match(logged.join(), /'destroy' of backend 'Ends' threw.*mine/);
  const late =
    `import demo from "${url}"; ` +
    `export default { ...demo, id: "Late", preprocess: async () => { throw new Error("rejected"); } };`;
  await client.importBackend({ url: `data:text/javascript,${encodeURIComponent(late)}` });
  await assert.rejects(client.lower(file("mlp"), { partitioner: "Late" }), {
    code: "delegate",
    message: /'preprocess' of backend 'Late' returned a promise/,
  });
  const edge = await client.toEdge(file("mlp"));
  const lowered = await (await edge.toBackend("DemoBackend")).toExecutorch();
  const program = await client.load(await lowered.buffer);
  const { inputs, outputs } = readCases("mlp")[0]!;
  assert.equal(difference((await program.run("forward", inputs))[0], outputs[0]!), "");
  client.terminate();
});
