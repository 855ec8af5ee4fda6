// Partitioners of the user's own: functions that read a method and tag its nodes for backends.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  createClient,
  createEngine,
  type Backend,
  type CompileSpec,
  type Engine,
  type Graph,
  type GraphNode,
  type Part,
  type PartitionFunction,
  type PassProgram,
} from "sconce";
import demo from "../setup/demo_backend.js";
import { failure, file } from "../setup/failure.js";
import { difference, modelPath, readCases } from "../setup/reference.js";
import { rejected } from "../setup/rejected.js";

let engine: Engine;
before(async () => (engine = await createEngine()));
after(() => engine.dispose());

const both = (): Record<string, { path: string }> => ({
  encode: file("encdec.encode"),
  decode: file("encdec.decode"),
});

const linears = (graph: Graph): GraphNode[] => [
  ...graph.find("aten::addmm"),
  ...graph.find("aten::mm"),
];

/** Each linear layer in a part of its own, to the backends in turn. */
const inTurn =
  (...backends: string[]): PartitionFunction =>
  ({ graph }) => ({
    tags: linears(graph).map((node, i) => ({
      tag: `linear${i}`,
      backend: backends[i % backends.length]!,
      nodes: [node],
    })),
  });

test("a partitioner splits a method between two backends, in one round", () => {
  const seen: string[] = [];
  const edge = engine.toEdge(file("mlp"));
  const delegated = edge.toBackend((program) => {
    seen.push(program.method);
    assert.equal(program.signature.outputs[0]!.kind, "user");
    return inTurn("xnnpack", "null")(program);
  });
  assert.deepEqual(seen, ["forward"]);
  const { delegates, nodes } = delegated.delegation()["forward"]!;
  assert.deepEqual(delegates.map(({ backend }) => backend).sort(), [
    "NullBackend",
    "XnnpackBackend",
    "XnnpackBackend",
  ]);
  assert.ok(nodes.every(({ op, delegate }) => /^aten::(add)?mm$/.test(op) === (delegate !== null)));
  const program = engine.load(delegated.toExecutorch().buffer);
  for (const { inputs, outputs } of readCases("mlp"))
    assert.equal(difference(program.run("forward", inputs)[0], outputs[0]!), "");
});

test("backends get the parts of all methods in one call", () => {
  const calls: string[][] = [];
  const backend: Backend = {
    id: "ThreeMethods",
    supports: ({ op }) => /^aten::(add)?mm$/.test(op),
    preprocessMultimethod: (methods: Record<string, readonly Part[]>) => {
      calls.push(Object.entries(methods).map(([name, parts]) => `${name}:${parts.length}`));
      return Object.fromEntries(
        Object.entries(methods).map(([name, parts]) => [
          name,
          parts.map(() => ({ processedBytes: new Uint8Array(1) })),
        ]),
      );
    },
    init: () => null,
    execute: () => [],
  };
  engine.registerBackend(backend);
  const programs = { one: file("mlp"), two: file("mlp"), three: file("mlp") };
  const partitioner = {
    one: inTurn("ThreeMethods"),
    two: inTurn("ThreeMethods", "xnnpack"),
    three: [inTurn("xnnpack"), inTurn("ThreeMethods")],
  };
  const { delegates } = engine.toEdge(programs).toBackend(partitioner).delegation()["two"]!;
  assert.deepEqual(calls, [["one:3", "two:2"]]);
  assert.equal(delegates.length, 3);
});

test("what a partitioner leaves goes to the next, and a method may have none", () => {
  const edge = engine.toEdge(both());
  const untagged = edge.toBackend({ encode: () => ({ tags: [] }) });
  const rows = untagged.delegation()["encode"]!.nodes;
  assert.ok(
    rows.length > 0 && rows.every(({ reason }) => reason === "no backend is named for this method"),
  );
  const rest = edge.toBackend({ encode: [inTurn("null"), "xnnpack"] });
  const backends = rest.delegation()["encode"]!.delegates.map(({ backend }) => backend);
  assert.ok(backends.includes("NullBackend") && backends.includes("XnnpackBackend"));
});

test("compile specs go with their tag", async () => {
  const own = await createEngine();
  const seen: Record<string, string[]> = {};
  own.registerBackend({
    ...demo,
    id: "Specs",
    preprocess: (part: Part, specs: readonly CompileSpec[]) => {
      seen[part.name] = specs.map(({ key }) => key);
      return demo.preprocess!(part, specs);
    },
  } as Backend);
  own.toEdge(file("mlp")).toBackend((program) => ({
    tags: linears(program.graph).map((node, i) => ({
      tag: `t${i}`,
      backend: "Specs",
      nodes: [node.name],
      compileSpecs: i === 1 ? [{ key: "special", value: "1" }] : [],
    })),
  }));
  assert.deepEqual(Object.values(seen).flat(), ["special"]);
  own.dispose();
});

test("nodes in bodies of control flow are tagged, as nodes or by path", () => {
  const edge = engine.toEdge(file("cond"));
  const inBodies = (asNames: boolean): PartitionFunction => {
    return ({ graph }) => {
      const nodes: (GraphNode | string)[] = [];
      for (const cond of graph.find("higher_order::cond"))
        for (const index of [1, 2]) {
          const body = cond.args[index] as unknown as { path: string; nodes: Iterable<GraphNode> };
          for (const node of body.nodes)
            if (node.op === "call_function")
              nodes.push(asNames ? `${body.path}/${node.name}` : node);
        }
      return { tags: [{ tag: "bodies", backend: "null", nodes }] };
    };
  };
  const [byNode, byPath] = [false, true].map((asNames) =>
    edge.toBackend(inBodies(asNames)).delegation(),
  );
  assert.deepEqual(byNode, byPath);
  const graphs = byNode!["forward"]!.delegates.map(({ graph }) => graph);
  assert.equal(graphs.length, 2);
  assert.ok(graphs.every((graph) => graph !== ""));
  const wrong = failure(() =>
    edge.toBackend(() => ({ tags: [{ tag: "t", backend: "null", nodes: ["no_body/add"] }] })),
  );
  assert.match(wrong.message, /'no_body\/add': there is no such body/);
});

test("operators stay whole where a tag takes them", () => {
  const id = "Silu";
  engine.registerBackend({
    id,
    supports: ({ op }) => op === "aten::silu",
    preprocess: () => ({ processedBytes: new Uint8Array(1) }),
    init: () => null,
    execute: () => [],
  });
  const lowered = (keep: boolean, takes: boolean): string[] => {
    const edge = engine.toEdgeTransformAndLower(file("tinyformer"), {
      partitioner: {
        partition: ({ graph }) => ({
          tags: graph
            .find("aten::silu")
            .filter(() => takes)
            .map((node, i) => ({ tag: `s${i}`, backend: id, nodes: [node] })),
        }),
        ...(keep && { opsToNotDecompose: ["aten::silu"] }),
      },
    });
    const { nodes } = edge.delegation()["forward"]!;
    return nodes.map(({ op, delegate }) => `${op}${delegate === null ? "" : " in a part"}`);
  };
  assert.ok(lowered(true, true).includes("aten::silu in a part"));
  assert.ok(!lowered(true, false).some((op) => op.startsWith("aten::silu")));
  assert.ok(!lowered(false, true).some((op) => op.startsWith("aten::silu")));
});

test("mistakes of a partitioner are typed errors that name it and the method", () => {
  const edge = engine.toEdge(file("mlp"));
  const text = edge.exportedProgram().text();
  const run = (partition: unknown): ReturnType<typeof failure> =>
    failure(() => edge.toBackend({ partition } as never));
  const changing = run(function changing({ graph }: PassProgram) {
    const [node] = graph.find("aten::addmm");
    graph.insertBefore(node!, "aten::relu", [node!.args[0]!]);
  });
  assert.equal(changing.code, "state");
  assert.match(
    changing.message,
    /^changing on method 'forward': a function that reads the program cannot change/,
  );
  assert.equal(edge.exportedProgram().text(), text);
  const thrown = run(() => {
    throw new TypeError("oops");
  });
  assert.match(thrown.message, /threw on method 'forward': oops/);
  const tag = { tag: "t", backend: "xnnpack", nodes: ["addmm"] };
  for (const [result, pattern] of [
    [undefined, /the result of a partitioner must be \{ tags \}/],
    [Promise.resolve(), /a partitioner returned a promise/],
    [{ tag: [] }, /'tag'/],
    [{ tags: [{ ...tag, backend: 7 }] }, /the backend of tag 0|'backend'/],
    [{ tags: [{ ...tag, nodes: [{}] }] }, /a node of tag 0 of a partitioner must be a node/],
    [{ tags: [tag, tag] }, /a name of its own/],
    [{ tags: [{ ...tag, backend: "nope" }] }, /there is no backend 'nope'/],
    [{ tags: [{ ...tag, nodes: ["nope"] }] }, /'nope': there is no such node/],
    [{ tags: [tag, { ...tag, tag: "u" }] }, /belongs to the part/],
    [{ tags: [{ ...tag, nodes: ["output"] }] }, /outputs cannot be tagged/],
  ] as const) {
    const { message } = run(() => result);
    assert.match(message, pattern);
  }
  const late = failure(() =>
    edge.toBackend({ partition: () => ({ tags: [] }), transformForPreDecomposition: ["noops"] }),
  );
  assert.equal(late.code, "option");
  const unknown = failure(() =>
    engine.toEdgeTransformAndLower(file("mlp"), {
      partitioner: { partition: () => ({ tags: [] }), opsToNotDecompose: ["aten::nope"] },
    }),
  );
  assert.equal(unknown.code, "not_found");
});

test("a program is over when its partitioner has returned", () => {
  const kept: PassProgram[] = [];
  const edge = engine.toEdge(file("mlp"));
  edge.toBackend((program) => {
    kept.push(program);
    return { tags: [] };
  });
  assert.equal(failure(() => kept[0]!.text()).code, "state");
});

test("partitioners have names, in the engine and in a worker", async () => {
  engine.registerPartitioner(inTurn("xnnpack"), "turns");
  const edge = engine.toEdge(file("mlp"));
  assert.equal(edge.toBackend("turns").delegation()["forward"]!.delegates.length, 3);
  assert.equal(edge.toBackend(["turns", "null"]).delegation()["forward"]!.nodes.length > 3, true);
  for (const name of ["turns", "xnnpack", "XnnpackBackend"])
    assert.equal(failure(() => engine.registerPartitioner(inTurn("null"), name)).code, "argument");
  const client = await createClient();
  const url = new URL("examples/partitioners.mjs", import.meta.resolve("sconce/package.json")).href;
  assert.deepEqual(await client.importPartitioners({ url }), ["inTurn", "linearPairs"]);
  const lowered = await client.lower(modelPath("mlp.pt2"), { partitioner: "inTurn" });
  assert.equal((await lowered.delegation())["forward"]!.delegates.length, 3);
  const direct = await rejected(() =>
    client.lower(modelPath("mlp.pt2"), { partitioner: inTurn("null") }),
  );
  assert.equal(direct.code, "argument");
  assert.match(direct.hint, /importPartitioners\(\)/);
  const passes = new URL("examples/passes.mjs", import.meta.resolve("sconce/package.json")).href;
  const refused = await rejected(() => client.importPartitioners({ url: passes }));
  assert.match(refused.message, /exports no partitioner/);
  await client.terminate();
});
