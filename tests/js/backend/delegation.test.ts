// Handing parts of programs to backends: which parts, what is reported of them, and that they compute
// what they did before.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  createClient,
  createEngine,
  SconceError,
  type Backend,
  type Delegation,
  type Engine,
  type Partitioners,
  type Tensor,
} from "sconce";
import demo from "../setup/demo_backend.js";
import { failure } from "../setup/failure.js";
import { difference, modelPath, readCases, SINGLE } from "../setup/reference.js";

let engine: Engine;
before(async () => (engine = await createEngine()));
after(() => engine.dispose());

const mlp = { path: modelPath("mlp.pt2") };
const two = { prefill: mlp, decode: { path: modelPath("linear.pt2") } };

const insideOf = (delegation: Delegation, method: string): string[] =>
  delegation[method]!.nodes.filter((n) => n.delegate !== null).map((n) => n.name);

for (const name of SINGLE) {
  test(`${name} gives PyTorch's numbers in parts`, () => {
    const edge = engine.toEdge({ path: modelPath(`${name}.pt2`) });
    const delegated = edge.toBackend("null");
    const lowered = delegated.toExecutorch();
    const { delegates, nodes } = lowered.delegation()["forward"] ?? { delegates: [], nodes: [] };
    assert.ok(nodes.every((n) => (n.delegate === null) === (n.reason !== "")));
    assert.equal(
      delegates.reduce((sum, d) => sum + d.nodes, 0),
      nodes.filter((n) => n.delegate !== null).length,
    );
    assert.deepEqual(delegated.delegation(), lowered.delegation());
    assert.deepEqual(edge.delegation(), { forward: { delegates: [], nodes: [] } });
    const program = engine.load(lowered.buffer);
    readCases(name).forEach(({ inputs, outputs }) => {
      const all = program.run("forward", inputs);
      outputs.forEach((expected, k) =>
        assert.equal(difference(all[all.length - outputs.length + k], expected), ""),
      );
    });
    for (const owner of [edge, delegated, lowered, program]) owner.dispose();
  });
}

test("linear layers of torchao with 8 bits go to XNNPACK", () => {
  const lowered = engine.lower(
    { path: modelPath("quantized_layers.pt2") },
    { partitioner: "xnnpack" },
  );
  const { nodes } = lowered.delegation()["forward"]!;
  const linear = nodes.filter(({ op, delegate }) => op === "aten::linear" && delegate !== null);
  assert.equal(linear.length, 2);
  assert.deepEqual(
    nodes.filter(({ reason }) => reason.includes("int32")),
    [],
  );
  const program = engine.load(lowered.buffer);
  for (const { inputs, outputs } of readCases("quantized_layers")) {
    const actual = program.run("forward", inputs)[0] as Tensor;
    const expected = Array.from((outputs[0] as Tensor).data as Float32Array);
    const largest = Math.max(...expected.map(Math.abs));
    Array.from(actual.data as Float32Array).forEach((x, i) =>
      assert.ok(Math.abs(x - expected[i]!) < 0.03 * largest, `${x} is not ${expected[i]}`),
    );
  }
  lowered.dispose();
  program.dispose();
});

test("methods that are not named stay as they are", () => {
  const edge = engine.toEdge(two);
  const before = edge.exportedProgram("decode").text();
  const delegated = edge.toBackend({ prefill: "null" });
  assert.equal(delegated.exportedProgram("decode").text(), before);
  assert.match(delegated.exportedProgram("prefill").text(), /executorch_call_delegate/);
  assert.doesNotMatch(edge.exportedProgram("prefill").text(), /executorch_call_delegate/);
  const { prefill, decode } = delegated.delegation();
  assert.equal(decode!.delegates.length, 0);
  assert.ok(decode!.nodes.length > 0);
  assert.ok(
    decode!.nodes.every(
      (n) => n.backend === "" && n.reason === "no backend is named for this method",
    ),
  );
  assert.equal(prefill!.delegates.length, 1);
  assert.equal(prefill!.delegates[0]!.backend, "NullBackend");
  assert.ok(prefill!.nodes.some((n) => n.macs > 0 && n.source !== ""));
  edge.dispose();
  delegated.dispose();
});

test("tags say which nodes go together, and whole means all of them", () => {
  const edge = engine.toEdge(mlp);
  const nodes = edge.exportedProgram().nodes();
  const relu = nodes.find((n) => n.op === "aten::addmm")!.name;
  const tags = [{ tag: "only", nodes: [relu] }];
  const tagged = edge.toBackend({ forward: { backend: "null", tags } });
  assert.deepEqual(insideOf(tagged.delegation(), "forward"), [relu]);
  const wholes: [Partitioners, string?][] = [
    [{ backend: "NullBackend", whole: true }],
    ["null", "forward"],
  ];
  for (const [partitioner, method] of wholes) {
    const whole = edge.toBackend(partitioner, method, method === undefined ? method : []);
    assert.equal(insideOf(whole.delegation(), "forward").length, nodes.length);
  }
  const spec = [{ key: "k", value: new Uint8Array([1, 2]) }];
  assert.match(edge.toBackend("null", undefined, spec).exportedProgram().text(), /delegate/);
  edge.dispose();
});

test("what cannot be handed over is a typed error", () => {
  const edge = engine.toEdge(mlp);
  const of = (partitioner: unknown, options?: unknown): SconceError =>
    failure(() => edge.toBackend(partitioner as Partitioners, options as object));
  for (const [partitioner, code, text] of [
    ["nobody", "not_found", /there is no backend 'nobody'; there are: xnnpack, null/],
    [{ nowhere: "null" }, "not_found", /there is no method 'nowhere'/],
    [{ backend: "null", tag: 1 }, "option", /no option 'tag'/],
    [{ backend: "null", whole: "yes" }, "option", /'whole'/],
    [{ backend: "null", tags: [{ tag: "t", nodes: ["output"] }] }, "argument", /cannot be tagged/],
    [{ backend: "null", tags: [{ tag: "t", nodes: ["none"] }] }, "argument", /no such node/],
    [{ backend: "null", compileSpecs: [{ key: "k", value: 3 }] }, "argument", /value of/],
    [7, "argument", /must be a backend's id or name/],
    [{ forward: 7 }, "argument", /a partitioner of method 'forward'/],
  ] as const) {
    const { code: found, message } = of(partitioner);
    assert.equal(found, code, message);
    assert.match(message, text);
  }
  assert.match(of("nobody").hint, /^Check its name, or register it first/);
  assert.match(of("XNNPack").hint, /^Write 'xnnpack': ids of backends are case-sensitive/);
  assert.equal(of("null", { target: "1.0" }).code, "option");
  assert.equal(of("null", { targetRuntime: "0.9" }).code, "option");
  assert.equal(of("null", 5).code, "argument");
  edge.toBackend("null", { targetRuntime: "1.0" });
  edge.dispose();
});

test("a worker hands parts over as the engine does", async () => {
  const client = await createClient();
  const edge = await client.toEdge(two);
  const own = engine.toEdge(two);
  const phases = new Set<string>();
  const delegated = await edge.toBackend(
    { decode: ["null"] },
    { onProgress: ({ phase }) => phases.add(phase) },
  );
  assert.deepEqual(await delegated.delegation(), own.toBackend({ decode: ["null"] }).delegation());
  const whole = await edge.toBackend("null", "decode");
  assert.equal((await whole.delegation())["decode"]!.delegates.length, 1);
  await assert.rejects(edge.toBackend("null", { target: "1.0" } as object), { code: "option" });
  const lowered = await delegated.toExecutorch();
  const program = engine.load(await lowered.buffer);
  const { inputs, outputs } = readCases("linear")[0]!;
  assert.equal(difference(program.run("decode", inputs)[0], outputs[0]!), "");
  client.terminate();
});

test("a backend is asked with compile specs, and what it reports on is told of its part", async () => {
  const own = await createEngine();
  const seen: [key: string, value: number[]][][] = [];
  own.registerBackend({
    ...(demo as Backend),
    supports: (node, method, compileSpecs) => {
      seen.push(compileSpecs.map(({ key, value }) => [key, [...(value as Uint8Array)]]));
      return demo.supports(node, method, compileSpecs);
    },
    preprocess: (part, compileSpecs) => {
      const handles = part.nodes().map(({ debugHandle }) => debugHandle);
      const { debugHandleMap: _, ...made } = demo.preprocess!(part, compileSpecs);
      if (compileSpecs.length === 0) return made;
      return { ...made, debugHandleMap: { 7: handles.slice(0, 1), all: handles, empty: [] } };
    },
  });
  const edge = own.toEdge(mlp);
  const handles = new Set(
    edge
      .toBackend(demo.id)
      .delegation()
      ["forward"]!.delegates.map(({ debugHandleMap }) => debugHandleMap),
  );
  assert.deepEqual([...handles], [null]);
  assert.ok(seen.length > 0 && seen.every((specs) => specs.length === 0));
  seen.length = 0;
  const compileSpecs = [
    { key: "k", value: new Uint8Array([0, 255]) },
    { key: "é", value: "A" },
  ];
  const { delegates } = edge.toBackend({ backend: demo.id, compileSpecs }).delegation()["forward"]!;
  const given = [
    ["k", [0, 255]],
    ["é", [65]],
  ];
  assert.ok(seen.length > 0);
  for (const specs of seen) assert.deepEqual(specs, given);
  for (const { debugHandleMap, nodes } of delegates) {
    const all = debugHandleMap!["all"]!;
    assert.deepEqual(debugHandleMap, { 7: [all[0]], all, empty: [] });
    assert.equal(all.length, nodes);
    assert.ok(all.every((handle) => handle > 0));
  }
  const whole = own.toEdge(mlp).toBackend("null").delegation()["forward"]!.delegates;
  assert.deepEqual(
    whole.map(({ debugHandleMap }) => debugHandleMap),
    [null],
  );
  own.dispose();
});

test("progress tells of parts while backends are given them, and can cancel", async () => {
  const own = await createEngine();
  own.registerBackend(demo as Backend);
  const edge = own.toEdge(two);
  for (const partitioner of ["null", demo.id, [demo.id, "null"]]) {
    const reported: [done: number, total: number][] = [];
    const ends = (signal?: AbortSignal, stop?: AbortController, at = -1): Delegation => {
      const delegated = edge.toBackend(partitioner, {
        ...(signal && { signal }),
        onProgress: ({ phase, done, total }) => {
          if (phase !== "to_backend" || total === 0) return;
          reported.push([done, total]);
          if (reported.length === at) stop?.abort();
        },
      });
      return delegated.delegation();
    };
    const counts = Object.values(ends()).flatMap(({ delegates }) => delegates);
    // The progress of a round goes from 0 to all of its parts, each as it is begun.
    const rounds = reported.filter(([done]) => done === 0).map(([, total]) => total);
    assert.deepEqual(
      reported,
      rounds.flatMap((total) => Array.from({ length: total + 1 }, (_, done) => [done, total])),
    );
    assert.equal(
      rounds.reduce((all, total) => all + total, 0),
      counts.length,
    );
    assert.ok(counts.length > 1);
    for (let at = 1, all = reported.length; at <= all; at++) {
      const stop = new AbortController();
      reported.length = 0;
      const { code } = failure(() => ends(stop.signal, stop, at));
      assert.equal(code, "cancelled");
      assert.equal(reported.length, at);
    }
  }
  const mine = new Error("mine");
  const failing = (): never => {
    throw mine;
  };
  assert.throws(() => edge.toBackend(demo.id, { onProgress: failing }), mine);
  own.dispose();
});

test("passes run before decomposition, for the methods that ask for them", () => {
  const programs = { a: mlp, b: mlp };
  const passesOf = (partitioner: Partitioners, method: string): string[] => {
    const edge = engine.toEdgeTransformAndLower(programs, {
      partitioner,
      compileConfig: { snapshots: true },
    });
    const { stages } = edge.inspect();
    edge.dispose();
    const { timings } = stages.find(({ stage }) => stage === "core")!;
    return timings.filter((timing) => timing.method === method).map(({ pass }) => pass);
  };
  const wish = { backend: "null", transformForPreDecomposition: ["noops", "dce"] };
  assert.deepEqual(passesOf({ a: wish, b: "null" }, "a"), [
    "noops",
    "dce",
    "float32",
    "last_logits",
    "int_products",
    "decompose",
  ]);
  assert.deepEqual(passesOf({ a: wish, b: "null" }, "b"), [
    "float32",
    "last_logits",
    "int_products",
    "decompose",
  ]);
  const second = { backend: "null", transformForPreDecomposition: ["assertions"] };
  assert.deepEqual(passesOf([wish, second], "b"), [
    "noops",
    "dce",
    "assertions",
    "float32",
    "last_logits",
    "int_products",
    "decompose",
  ]);
});

test("a backend wishes for passes, and partitioners may wish for others", async () => {
  const own = await createEngine();
  own.registerBackend({
    id: "Wishing",
    transformForPreDecomposition: ["noops"],
    supports: () => "nothing",
    preprocess: () => ({ processedBytes: new Uint8Array() }),
    init: () => null,
    execute: () => [],
  });
  const passesOf = (partitioner: Partitioners): (string | undefined)[] => {
    const config = { partitioner, compileConfig: { snapshots: true } };
    const edge = own.toEdgeTransformAndLower(mlp, config);
    return edge.inspect().stages[1]!.timings.map(({ pass }) => pass);
  };
  assert.deepEqual(passesOf("Wishing"), [
    "noops",
    "float32",
    "last_logits",
    "int_products",
    "decompose",
  ]);
  assert.deepEqual(passesOf({ backend: "Wishing", transformForPreDecomposition: [] }), [
    "float32",
    "last_logits",
    "int_products",
    "decompose",
  ]);
  own.toEdge(mlp).toBackend("Wishing");
  own.dispose();
});

test("passes before decomposition change no numbers", () => {
  const { hint } = failure(() =>
    engine.lower(mlp, { partitioner: { backend: "null", transformForPreDecomposition: ["?"] } }),
  );
  const passes = hint.replace(/^.*: |\.$/g, "").split(", ");
  assert.ok(passes.includes("noops") && passes.includes("promote"));
  let count = 0;
  for (const name of SINGLE)
    for (const list of [passes, ...passes.map((pass) => [pass])]) {
      const partitioner = { backend: "null", transformForPreDecomposition: list };
      const source = { path: modelPath(`${name}.pt2`) };
      try {
        const lowered = engine.lower(source, { partitioner });
        const program = engine.load(lowered.buffer);
        readCases(name).forEach(({ inputs, outputs }) => {
          const all = program.run("forward", inputs);
          outputs.forEach((expected, k) =>
            assert.equal(difference(all[all.length - outputs.length + k], expected), "", name),
          );
        });
        lowered.dispose();
        program.dispose();
        count++;
      } catch (error) {
        if (!(error instanceof SconceError)) throw error;
        assert.match(error.message, /writes in place/, `${name}: ${list.join()}`);
      }
    }
  assert.ok(count > 100);
});

test("passes that cannot run before decomposition are refused", () => {
  const wish = (pass: string): Partitioners => ({
    backend: "null",
    transformForPreDecomposition: [pass],
  });
  const lowering =
    (pass: string, path = mlp.path) =>
    (): unknown =>
      engine.toEdgeTransformAndLower({ path }, { partitioner: wish(pass) });
  const late = failure(lowering("dim_order"));
  assert.equal(late.code, "argument");
  assert.match(late.message, /dim_order works on a decomposed program/);
  assert.match(late.hint, /assertions, .*noops/);
  assert.equal(failure(lowering("mutation")).code, "argument");
  assert.equal(failure(lowering("decompose")).code, "argument");
  assert.equal(failure(lowering("nothing")).code, "not_found");
  const written = failure(lowering("noops", modelPath("counter_buffer.pt2")));
  assert.equal(written.code, "argument");
  assert.match(
    written.message,
    /method 'forward', because add_\S* \(aten::\w+_\S*\) writes in place/,
  );
  const over = failure(() => engine.toEdge(mlp).toBackend(wish("noops")));
  assert.equal(over.code, "option");
  assert.match(over.message, /but the program is decomposed already/);
});

test("the text of parts that do not exist is refused, and that of others is the backend's", () => {
  const lowered = engine.lower(two, { partitioner: { prefill: "xnnpack", decode: "null" } });
  const program = engine.load(lowered.buffer);
  assert.match(program.partText("prefill", 0), /^\d+ FullyConnected x\d+ /m);
  assert.equal(program.partText("decode", 0), "");
  for (const part of [1000, 2 ** 32, 2 ** 53 - 1])
    assert.equal(failure(() => program.partText("prefill", part)).code, "not_found");
  assert.equal(failure(() => program.partText("nobody", 0)).code, "not_found");
  assert.equal(failure(() => program.partText("prefill", -1)).code, "argument");
  program.dispose();
  assert.equal(failure(() => program.partText("prefill", 0)).code, "disposed");
});

test("a backend says why it leaves a node, and what would make it take one", async () => {
  const own = await createEngine();
  const says = (id: string, answer: unknown): void =>
    own.registerBackend({
      id,
      supports: ({ op }) => (op === "aten::relu" ? true : (answer as string)),
      preprocess: () => ({ processedBytes: new Uint8Array() }),
      init: () => null,
      execute: () => [],
    });
  const outside = (id: string): (readonly [string, string])[] =>
    own
      .toEdge(mlp)
      .toBackend(id)
      .delegation()
      ["forward"]!.nodes.filter(({ delegate }) => delegate === null)
      .map(({ reason, hint }) => [reason, hint] as const);
  const rows = [
    [{ reason: "no relu", hint: "Use a relu." }, ["no relu", "Use a relu."]],
    [{ reason: "no relu" }, ["no relu", ""]],
    ["no relu", ["no relu", ""]],
    [false, ["R3 does not take it", ""]],
  ] as const;
  for (const [i, [answer, expected]] of rows.entries()) {
    says(`R${i}`, answer);
    const found = outside(`R${i}`);
    assert.ok(found.length > 0);
    for (const row of found) assert.deepEqual(row, expected);
  }
  for (const [i, answer] of [{}, { reason: 1 }, { reason: "a", hint: 1 }, null].entries()) {
    says(`W${i}`, answer);
    const error = failure(() => outside(`W${i}`));
    assert.equal(error.code, "delegate");
    assert.match(
      error.message,
      /must return true, a reason or \{ reason, hint \} for \S+ of method/,
    );
  }
  own.dispose();
});
