// Operators that callers write: how programs with them are lowered, what a kernel gets, and that the
// engine survives what it does wrong. The official exporter's files are read by both.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import {
  createClient,
  createEngine,
  SconceError,
  tensor,
  toNumbers,
  type Engine,
  type OperatorArguments,
  type OwnOperator,
  type Program,
  type Tensor,
  type Value,
} from "sconce";
import { createRuntime } from "sconce/run";
import * as own from "../setup/own_operators.js";
import { failure } from "../setup/failure.js";
import { testsPath } from "../setup/reference.js";

const { firsts, lists, scale, two } = own;
const at = (name: string): { path: string } => ({ path: testsPath(join("data/own", name)) });
const bytes = (name: string): Uint8Array => readFileSync(at(name).path);

let engine: Engine;
beforeEach(async () => (engine = await createEngine({ threads: 1, deterministic: true })));
afterEach(() => engine.dispose());

const register = (...operators: OwnOperator[]): void => {
  for (const operator of operators) engine.registerOperator(operator);
};

const ramp = (...shape: number[]): Tensor =>
  tensor(
    Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => i / 4 - 1),
    shape,
  );

/** PyTorch computes the same: tests/make/make_own_operators.py. */
const ownResult = (x: readonly number[], batch: number): number[] =>
  x.map((v) => {
    const a = v * 2 * 2.5 + 1;
    const p = a + v * 3;
    return Math.max(p, 0) + v * 2 + (p + batch * 1.5 + 2);
  });
const plainResult = (x: readonly number[]): number[] =>
  x.map((v) => v * 2 * 0.5 + 1 + v * 3 - v * 4);

const close = (value: Value | undefined, expected: readonly number[]): void => {
  const found = toNumbers(value as Tensor);
  assert.equal(found.length, expected.length);
  for (const [i, v] of found.entries())
    assert.ok(Math.abs(v - expected[i]!) < 1e-5, `${v} is not ${expected[i]}`);
};

const checkOwn = (program: Program): void => {
  for (const batch of [4, 2, 16]) {
    const x = ramp(batch, 3);
    const [output] = program.run("forward", [x]);
    assert.deepEqual((output as Tensor).shape, [batch, 3]);
    close(output, ownResult(toNumbers(x), batch));
  }
};

const runsPlain = (): void => {
  const x = ramp(2, 3);
  close(engine.load(bytes("plain.pte")).run("forward", [x])[0], plainResult(toNumbers(x)));
};

const opsOf = (pte: Uint8Array): unknown => engine.load(pte).inspect().methods[0]!.ops;

// --- Lowering ---

test("a file calls registered operators as the official exporter writes them, and runs", () => {
  register(scale, two, lists);
  const lowered = engine.lower(at("own.pt2"));
  assert.deepEqual(lowered.inspect().diagnostics, []);
  const ours = opsOf(lowered.buffer) as Record<string, number>;
  assert.deepEqual(
    Object.entries(ours).filter(([name]) => name.startsWith("mylib::")),
    [
      ["mylib::scale.out", 2],
      ["mylib::two.Scalar_out", 1],
      ["mylib::lists.to", 1],
    ],
  );
  assert.deepEqual(ours, opsOf(bytes("own.pte")));
  checkOwn(engine.load(lowered.buffer));
  checkOwn(engine.load(bytes("own.pte")));
});

test("operators stay whole on every way", () => {
  register(scale, two);
  const x = ramp(2, 3);
  const check = (pte: Uint8Array): void => {
    const program = engine.load(pte);
    const ops = Object.keys(program.inspect().methods[0]!.ops);
    assert.ok(ops.includes("mylib::scale.out") && ops.includes("mylib::two.Scalar_out"));
    close(program.run("forward", [x])[0], plainResult(toNumbers(x)));
  };
  for (const partitioner of ["xnnpack", "null"]) {
    const lowered = engine.lower(at("plain.pt2"), { partitioner, etrecord: true });
    const nodes = lowered.delegation()["forward"]!.nodes.filter(({ op }) => /^mylib/.test(op));
    assert.deepEqual(
      nodes.map(({ delegate }) => delegate),
      [null, null],
    );
    check(lowered.buffer);
  }
  const edge = engine.toEdge(at("plain.pt2"));
  check(edge.transform(["dce"]).toBackend("xnnpack").toExecutorch().buffer);
  check(engine.lower(at("plain.pt2"), { foldConstants: true }).buffer);
});

test("a result whose size depends on values has the shape that infer gives", () => {
  register(firsts);
  for (const pte of [engine.lower(at("firsts.pt2")).buffer, bytes("firsts.pte")]) {
    const program = engine.load(pte);
    for (const count of [3, 0, 8, 1]) {
      const [output] = program.run("forward", [
        ramp(8, 2),
        tensor(BigInt64Array.of(BigInt(count)), []),
      ]);
      assert.deepEqual((output as Tensor).shape, [count, 2]);
      close(
        output,
        toNumbers(ramp(8, 2))
          .slice(0, count * 2)
          .map((v) => v + 1),
      );
    }
  }
});

test("unregistered operators are written as they are called, with a warning", () => {
  const lowered = engine.lower(at("plain.pt2"));
  const found = lowered.inspect().diagnostics.map(({ code, message, hint, method, node }) => ({
    code,
    message,
    hint,
    method,
    node,
  }));
  assert.deepEqual(
    found.map(({ code, message, method, node }) => [code, message, method, node]),
    [
      [
        "unsupported_op",
        "mylib::scale is written as it is called, but has no kernel here",
        "forward",
        "scale",
      ],
      [
        "unsupported_op",
        "mylib::two.Scalar is written as it is called, but has no kernel here",
        "forward",
        "two",
      ],
    ],
  );
  assert.match(found[0]!.hint, /registerOperator\(\{ schema, run \}\)/);
  const error = failure(() => engine.load(lowered.buffer).run("forward", [ramp(2, 3)]));
  assert.equal(error.code, "operator_missing");
  assert.match(error.message, /method 'forward' .*mylib::scale\.out/);
  assert.match(error.hint, /registerOperator/);
  register(scale, two);
  const isOwn = (name: string): boolean => name.startsWith("mylib::");
  assert.deepEqual(
    Object.keys(opsOf(lowered.buffer) as object).filter(isOwn),
    Object.keys(opsOf(bytes("plain.pte")) as object).filter(isOwn),
  );
  const x = ramp(2, 3);
  close(engine.load(lowered.buffer).run("forward", [x])[0], plainResult(toNumbers(x)));
});

test("calls that leave defaults out need the schema", () => {
  const error = failure(() => engine.lower(at("own.pt2")));
  assert.equal(error.code, "unsupported_op");
  assert.match(error.message, /mylib::scale cannot be written: its calls name different arguments/);
  assert.match(error.hint, /registerOperator\(\{ schema \}\)/);
});

test("a schema alone lowers, and a schema that comes late still counts", () => {
  const opened = engine.open(at("own.pt2"));
  for (const { run: _, ...schema } of [scale, two, lists]) register(schema);
  const edge = opened.toEdge();
  const made = edge.toExecutorch();
  const { buffer } = made;
  assert.equal(made.inspect().diagnostics.length, 3);
  assert.deepEqual(
    Object.keys(opsOf(bytes("own.pte")) as object),
    Object.keys(opsOf(buffer) as object),
  );
  const error = failure(() => engine.load(buffer).run("forward", [ramp(4, 3)]));
  assert.equal(error.code, "operator_missing");
});

test("a record has the operators", () => {
  register(scale, two);
  const lowered = engine.lower(at("plain.pt2"), { etrecord: true });
  const record = engine.parseEtrecord(lowered.etrecord.bytes());
  const program = engine.load(lowered.buffer);
  program.run("forward", [ramp(2, 3)], { events: true });
  const { etdump } = program.etdump();
  assert.match(record.program("edge_dialect_exported_program").text(), /mylib::scale/);
  const names = engine
    .inspector({ etdump })
    .events()
    .flatMap(({ events }) => events.map(({ name }) => name));
  assert.ok(names.includes("native_call_scale.out"), names.join());
});

// --- Arguments and results ---

test("arguments come by name, with their kinds", () => {
  const seen: OperatorArguments[] = [];
  const note = (operator: OwnOperator): OwnOperator => ({
    ...operator,
    run(args, outs) {
      const plain = Object.entries(args).map(([name, v]) => [
        name,
        JSON.stringify(v, (key, item: unknown) => (key === "data" ? undefined : item)),
      ]);
      seen.push(Object.fromEntries(plain) as OperatorArguments);
      operator.run!(args, outs);
    },
  });
  register(note(scale), note(two), note(lists));
  engine.load(bytes("own.pte")).run("forward", [ramp(2, 3)]);
  const x = '{"dtype":"float32","shape":[2,3]}';
  assert.deepEqual(seen, [
    { x, alpha: "2", dims: "[0]", mode: '"a"', flag: "false" },
    { x, alpha: "2.5", dims: "[1]", mode: '"b"', flag: "true" },
    { xs: `[${x},${x}]`, y: "null", s: "3", n: "2" },
    { x, n: "2", k: "null", f: "[1.5,2]", b: "[true]", dtype: "6" },
  ]);
});

test("a result that is not written is zero", () => {
  register({ ...scale, run: () => undefined }, two);
  const x = ramp(2, 3);
  close(
    engine.load(bytes("plain.pte")).run("forward", [x])[0],
    toNumbers(x).map((v) => v * 3 - v * 4),
  );
});

test("a program with kernels gives the heap back to no growth", () => {
  register(scale, two, lists);
  const program = engine.load(bytes("own.pte"));
  program.run("forward", [ramp(16, 3)]);
  const heap = engine.heapBytes();
  for (let i = 0; i < 300; i++) program.run("forward", [ramp(2 + (i % 15), 3)]);
  assert.equal(engine.heapBytes(), heap);
});

test("kernels get row-major tensors, whatever order the file has", () => {
  register(scale);
  const x = ramp(1, 2, 3, 4);
  for (const pte of [engine.lower(at("image.pt2")).buffer, bytes("image.pte")]) {
    const [output] = engine.load(pte).run("forward", [x]);
    close(
      output,
      toNumbers(x).map((v) => v * 3 + 1),
    );
  }
});

test("calibration runs operators of the caller's own", async () => {
  register(scale, two);
  const x = ramp(2, 3);
  const session = await engine.export(at("plain.pt2"), {
    recipe: "xnnpack_pt2e_int8_static_per_channel",
    exampleInputs: [[x]],
  });
  const program = engine.load(session.getPteBuffer());
  const ops = Object.keys(program.inspect().methods[0]!.ops);
  assert.ok(ops.includes("mylib::scale.out"));
  const found = toNumbers(program.run("forward", [x])[0] as Tensor);
  for (const [i, v] of plainResult(toNumbers(x)).entries())
    assert.ok(Math.abs(found[i]! - v) < 0.1, `${found[i]} is not near ${v}`);
});

// --- Faults of kernels ---

const faults: [string, Partial<OwnOperator>, RegExp][] = [
  [
    "throws",
    {
      run() {
        throw new Error("mine");
      },
    },
    /'run' of mylib::scale threw in method 'forward': mine/,
  ],
  [
    "throws what is no error",
    {
      run() {
        // eslint-disable-next-line @typescript-eslint/only-throw-error
        throw 7;
      },
    },
    /'run' of mylib::scale threw in method 'forward'/,
  ],
  [
    "never ends to call itself",
    {
      run(args, outs) {
        this.run!(args, outs);
      },
    },
    /'run' of mylib::scale threw in method 'forward': Maximum call stack/,
  ],
  [
    "returns a promise that is rejected",
    { run: async () => Promise.reject(new Error("late")) },
    /'run' of mylib::scale returned a promise in method 'forward'/,
  ],
  [
    "returns its result",
    { run: (() => ramp(2, 3)) as unknown as NonNullable<OwnOperator["run"]> },
    /'run' of mylib::scale returned a value in method 'forward'/,
  ],
  [
    "lets the memory grow",
    {
      run() {
        const other = engine.lower({ path: testsPath("models/mlp.pt2") });
        const kept: Program[] = [];
        const before = engine.heapBytes();
        while (engine.heapBytes() === before) kept.push(engine.load(other.buffer));
      },
    },
    /the memory of the engine grew while 'run' of mylib::scale ran in method 'forward'/,
  ],
];

for (const [what, change, message] of faults)
  test(`a kernel that ${what}`, () => {
    let isFaulty = true;
    register(two, {
      ...scale,
      run(args, outs) {
        return isFaulty
          ? change.run!.call(change as OwnOperator, args, outs)
          : scale.run!(args, outs);
      },
    });
    const program = engine.load(bytes("plain.pte"));
    const error = failure(() => program.run("forward", [ramp(2, 3)]));
    assert.equal(error.code, "operator", error.message);
    assert.match(error.message, message);
    assert.equal(error.method, "forward");
    assert.ok(error.hint.length > 0);
    isFaulty = false;
    const x = ramp(2, 3);
    close(program.run("forward", [x])[0], plainResult(toNumbers(x)));
  });

test("a kernel may not enter its own program, and may run another", () => {
  let run: NonNullable<OwnOperator["run"]> = scale.run!;
  register(two, { ...scale, run: (args, outs) => run(args, outs) });
  const [program, other] = [engine.load(bytes("plain.pte")), engine.load(bytes("plain.pte"))];
  run = () => void program.run("forward", [ramp(2, 3)]);
  const error = failure(() => program.run("forward", [ramp(2, 3)]));
  assert.equal(error.code, "operator");
  assert.match(error.message, /'run' of mylib::scale threw in method 'forward'/);
  const x = ramp(2, 3);
  run = scale.run!;
  other.run("forward", [x]); // has its memory
  run = (args, outs) => {
    run = scale.run!;
    other.run("forward", [x]);
    scale.run!(args, outs);
  };
  const [output] = program.run("forward", [x]);
  close(output, plainResult(toNumbers(x)));
});

test("a kernel may end the engine, and the call says so", async () => {
  const mine = await createEngine({ threads: 1, deterministic: true });
  mine.registerOperator(two);
  mine.registerOperator({ ...scale, run: () => mine.dispose() });
  const program = mine.load(bytes("plain.pte"));
  assert.throws(() => program.run("forward", [ramp(2, 3)]), { code: "disposed" });
});

const shapes: [string, unknown, RegExp][] = [
  ["no list", 7, /'infer' of mylib::scale returned no list of shapes/],
  ["too few shapes", [], /infer of mylib::scale gave 0 shapes in method 'forward', not 1/],
  ["no shape", [null], /infer of mylib::scale gave no shape/],
  ["another rank", [[2]], /infer of mylib::scale gave the shape \[2\] for result 0/],
  ["a size that is too large", [[17, 3]], /gave the shape \[17, 3\] for result 0.*at most/],
  ["a negative size", [[-1, 3]], /gave a size that is no whole number/],
  ["a fraction", [[1.5, 3]], /gave a size that is no whole number/],
  ["text", [["2", 3]], /gave a size that is no whole number/],
  ["a promise", Promise.resolve([[2, 3]]), /'infer' of mylib::scale returned a promise/],
];

for (const [what, answer, message] of shapes)
  test(`infer that gives ${what}`, () => {
    let isFaulty = true;
    const infer = (args: OperatorArguments): readonly (readonly number[])[] =>
      isFaulty ? (answer as number[][]) : scale.infer!(args);
    register({ ...scale, infer }, two, lists);
    const program = engine.load(bytes("own.pte"));
    const error = failure(() => program.run("forward", [ramp(2, 3)]));
    assert.equal(error.code, "operator", error.message);
    assert.match(error.message, message);
    isFaulty = false;
    checkOwn(program);
  });

test("sizes that change need infer, and the load says so", () => {
  const { infer: _, ...blind } = scale;
  register(blind, two, lists);
  const error = failure(() => engine.load(bytes("own.pte")).run("forward", [ramp(2, 3)]));
  assert.equal(error.code, "operator");
  assert.match(
    error.message,
    /the results of mylib::scale in method 'forward' have sizes that change/,
  );
  runsPlain(); // where they do not change, infer is not needed
});

test("what is no operator is refused", () => {
  const refused: [unknown, string, RegExp][] = [
    [null, "argument", /what registerOperator\(\) takes/],
    [{ schema: 7 }, "argument", /'schema' of an operator/],
    [
      { schema: "mylib::a(Tensor x) -> Tensor", run: 7 },
      "argument",
      /'run' of the operator mylib::a/,
    ],
    [{ schema: "mylib::a(Tensor x) -> Tensor", kernel: 7 }, "argument", /kernel/],
    [{ schema: "a(Tensor x) -> Tensor" }, "argument", /namespace::name/],
    [{ schema: "mylib::a(Tensor(a!) x) -> Tensor" }, "unsupported", /writes to an operand/],
    [{ schema: "mylib::a(Tensor x) -> ()" }, "unsupported", /has no result/],
    [{ schema: "aten::relu(Tensor self) -> Tensor" }, "argument", /known already/],
    [{ schema: "mylib::a(Tensor x) -> Tensor", outOverload: "a b" }, "argument", /overload/],
    [{ schema: "mylib::\u0000(Tensor x) -> Tensor" }, "argument", /ASCII/],
  ];
  for (const [value, code, message] of refused) {
    const error = failure(() => engine.registerOperator(value as OwnOperator));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
  }
  register(scale);
  register(scale); // the same object again
  assert.equal(failure(() => register({ ...scale })).code, "argument");
});

// --- Elsewhere ---

test("a runtime takes operators, too", async () => {
  const runtime = await createRuntime({ threads: 1 });
  const program = runtime.load(bytes("plain.pte"));
  assert.throws(() => program.run("forward", [ramp(2, 3)]), { code: "operator_missing" });
  runtime.registerOperator(scale);
  runtime.registerOperator(two);
  const x = ramp(2, 3);
  close(runtime.load(bytes("plain.pte")).run("forward", [x])[0], plainResult(toNumbers(x)));
  runtime.dispose();
});

test("a worker imports its operators", async () => {
  const client = await createClient();
  try {
    const url = new URL("../setup/own_operators.js", import.meta.url).href;
    const schemas = await client.importOperators({ url });
    assert.equal(schemas.length, 4);
    assert.deepEqual(await client.importOperators({ url }), schemas);
    const lowered = await client.lower(at("own.pt2"));
    const program = await client.load(await lowered.buffer);
    const x = ramp(4, 3);
    close((await program.run("forward", [x]))[0], ownResult(toNumbers(x), 4));
    await assert.rejects(
      client.importOperators({ url: "data:text/javascript,export const a = 1" }),
      {
        code: "argument",
        message: /exports no operator/,
      },
    );
    const throwing =
      `data:text/javascript,export const a = { schema: "mylib::a(Tensor x) -> Tensor", ` +
      `run() { throw new Error("mine") } }`;
    await client.importOperators({ url: throwing });
  } finally {
    await client.dispose();
  }
});

test("threads share memory with kernels", async () => {
  const mine = await createEngine({ threads: 2 });
  for (const operator of [scale, two, lists]) mine.registerOperator(operator);
  const x = ramp(16, 3);
  close(mine.load(bytes("own.pte")).run("forward", [x])[0], ownResult(toNumbers(x), 16));
  mine.dispose();
});

test("errors of kernels have their cause", () => {
  const mine = new TypeError("mine");
  register(two, {
    ...scale,
    run() {
      throw mine;
    },
  });
  const error = failure(() => engine.load(bytes("plain.pte")).run("forward", [ramp(2, 3)]));
  assert.ok(error instanceof SconceError);
  assert.equal(error.cause, mine);
});
