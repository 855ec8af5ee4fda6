// Passes of the user's own: functions that change the graph of a method.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import {
  createClient,
  createEngine,
  isGraphNode,
  replacePattern,
  tensor,
  type Engine,
  type ExecutorchProgramManager,
  type GraphNode,
  type PassFunction,
  type PassProgram,
  type TensorOf,
} from "sconce";
import { failure, file } from "../setup/failure.js";

let engine: Engine;
before(async () => (engine = await createEngine()));
after(() => engine.dispose());

const both = (): Record<string, { path: string }> => ({
  encode: file("encdec.encode"),
  decode: file("encdec.decode"),
});

/** The targets of a method's calls. */
const opsOf = (program: { nodes(): { op: string }[] }): string[] =>
  program.nodes().map(({ op }) => op);

const replaced =
  (from: string, to: string): PassFunction =>
  ({ graph }) => {
    for (const node of graph.nodes) {
      if (node.target !== from) continue;
      const other = graph.insertBefore(node, to, [node.args[0]!]);
      node.replaceAllUsesWith(other);
      graph.erase(node);
    }
  };

test("a pass sees the graph of a method as PyTorch's passes do", () => {
  const seen: string[] = [];
  engine.toEdge(file("mlp")).transform([
    ({ graph, method, signature, rangeConstraints }) => {
      const kinds = [...graph.nodes].map(({ op }) => op);
      assert.equal(method, "forward");
      assert.equal(kinds.filter((kind) => kind === "output").length, 1);
      assert.equal(kinds.indexOf("call_function"), kinds.lastIndexOf("placeholder") + 1);
      assert.equal(graph.nodes.length, kinds.length);
      assert.equal(signature.inputs.length, kinds.lastIndexOf("placeholder") + 1);
      assert.equal(signature.outputs[0]!.kind, "user");
      assert.deepEqual(rangeConstraints, {});
      for (const node of graph.nodes) {
        for (const input of node.inputs) assert.ok(input.users.includes(node), node.name);
        if (node.op !== "call_function") continue;
        seen.push(node.target);
        assert.ok(!Array.isArray(node.meta.val));
        assert.equal((node.meta.val as { kind: string }).kind, "tensor");
        assert.match(node.meta.stackTrace, /line \d+/);
        assert.ok(node.meta.debugHandle > 0);
      }
    },
  ]);
  assert.deepEqual(seen, opsOf(engine.toEdge(file("mlp")).exportedProgram()));
});

test("what a pass puts in is lowered and runs, and the manager stays as it was", () => {
  const edge = engine.toEdge(file("mlp"));
  const text = edge.exportedProgram().text();
  const activation = opsOf(edge.exportedProgram()).find((op) => /relu|gelu|tanh/.test(op))!;
  const changed = edge.transform([replaced(activation, "aten::sigmoid"), "dce"]);
  assert.equal(edge.exportedProgram().text(), text);
  assert.ok(!opsOf(changed.exportedProgram()).includes(activation));
  const x = { dtype: "float32" as const, shape: [2, 16], data: new Float32Array(32).fill(0.5) };
  const inputs = (buffer: Uint8Array) => {
    const [input] = engine.load(buffer).inspect().methods[0]!.inputs;
    const shape = (input as { shape: number[] }).shape;
    return [{ ...x, shape, data: new Float32Array(shape.reduce((a, b) => a * b, 1)).fill(0.5) }];
  };
  const run = (buffer: Uint8Array): unknown => engine.load(buffer).run(inputs(buffer))[0];
  assert.notDeepEqual(run(changed.toExecutorch().buffer), run(edge.toExecutorch().buffer));
});

test("an operator that is taken apart stays whole until the program is written", () => {
  const edge = engine.toEdge(file("mlp"));
  const activation = opsOf(edge.exportedProgram()).find((op) => /relu|gelu|tanh/.test(op))!;
  const whole = edge.transform([replaced(activation, "aten::silu")]);
  assert.ok(opsOf(whole.exportedProgram()).includes("aten::silu"));
  const written = whole.toExecutorch().exportedProgram();
  assert.ok(!opsOf(written).includes("aten::silu"));
  assert.ok(opsOf(written).includes("aten::sigmoid"));
});

test("passes by method leave the others as they are", () => {
  const edge = engine.toEdge(both());
  const seen: string[] = [];
  const next = edge.transform({ decode: [({ method }) => void seen.push(method)] });
  assert.deepEqual(seen, ["decode"]);
  for (const method of ["encode", "decode"])
    assert.equal(next.exportedProgram(method).text(), edge.exportedProgram(method).text());
  edge.transform([({ method }) => void seen.push(method)]);
  assert.deepEqual(seen, ["decode", "encode", "decode"]);
});

test("nodes may be inserted and erased while a pass walks", () => {
  const walked: string[] = [];
  engine.toEdge(file("mlp")).transform([
    ({ graph }) => {
      for (const node of graph.nodes) {
        walked.push(node.name);
        if (node.op !== "call_function" || node.target !== "aten::addmm") continue;
        const before = graph.insertBefore(node, "aten::neg", [node.args[1]!]);
        const behind = graph.insertAfter(node, "aten::neg", [node]);
        assert.equal(before.next, node);
        assert.equal(behind.prev, node);
        graph.erase(before);
        assert.ok(before.isErased);
      }
      assert.ok(walked.some((name) => name.startsWith("neg")));
      const dead = graph.find("aten::neg").length;
      assert.equal(graph.eraseDead(), dead);
    },
  ]);
});

const wrong: [string, PassFunction, string, RegExp][] = [
  ["erases what is used", ({ graph }) => graph.erase(firstCall(graph.nodes)), "state", /uses it/],
  [
    "names an operator that there is not",
    ({ graph }) => void graph.insertBefore(firstCall(graph.nodes), "aten::nope"),
    "not_found",
    /no operator 'aten::nope'/,
  ],
  [
    "leaves a view",
    ({ graph }) => {
      const node = firstCall(graph.nodes);
      graph.insertAfter(node, "aten::unsqueeze", [node, 0]);
    },
    "argument",
    /is a view, which the edge dialect does not have/,
  ],
  [
    "throws",
    () => {
      throw new Error("no idea");
    },
    "argument",
    /throws threw on method 'forward': no idea/,
  ],
  [
    "sets an argument that there is not",
    ({ graph }) => firstCall(graph.nodes).setArg("nope", 1),
    "argument",
    /has no argument "nope"/,
  ],
];

const firstCall = (nodes: Iterable<GraphNode>): GraphNode =>
  [...nodes].find(({ op }) => op === "call_function")!;

for (const [title, pass, code, message] of wrong)
  test(`a pass that ${title} fails with its name, and changes nothing`, () => {
    const edge = engine.toEdge(file("mlp"));
    const text = edge.exportedProgram().text();
    const named = { [title.split(" ")[0]!]: pass };
    Object.defineProperty(pass, "name", { value: Object.keys(named)[0] });
    const error = failure(() => edge.transform([pass]));
    assert.equal(error.code, code);
    assert.match(error.message, message);
    assert.match(error.message, new RegExp(`^${title.split(" ")[0]}.* 'forward'`));
    assert.equal(error.method, "forward");
    assert.equal(edge.exportedProgram().text(), text);
    edge.transform(["dce"]);
  });

test("a program ends with the call of its pass", () => {
  const kept: GraphNode[] = [];
  const edge = engine.toEdge(file("mlp"));
  edge.transform([({ graph }) => void kept.push(firstCall(graph.nodes))]);
  assert.equal(failure(() => kept[0]!.setArg(0, 1)).code, "state");
  edge.transform([
    ({ graph }) => {
      const node = firstCall(graph.nodes);
      assert.throws(
        () => graph.insertBefore(kept[0]!, "aten::neg", [node]),
        /belongs to the program of another pass/,
      );
    },
  ]);
});

test("promises and other results of transform's list are refused", () => {
  const edge = engine.toEdge(file("mlp"));
  const later = (async () => undefined) as unknown as PassFunction;
  assert.match(
    failure(() => edge.transform([later])).message,
    /a pass returned a promise, which is not awaited/,
  );
  assert.equal(failure(() => edge.transform([1 as unknown as string])).code, "argument");
});

// --- Patterns, constants and outputs -----------------------------------------------------------------

const x = tensor(
  Float32Array.from({ length: 4 * 16 }, (_, i) => Math.sin(i)),
  [4, 16],
);

/** The results of a program on x. */
const resultsOf = (program: ExecutorchProgramManager): number[][] =>
  engine
    .load(program.buffer)
    .run([x])
    .map((value) => Array.from((value as TensorOf<"float32">).data));

const example = { path: "examples/mlp.pt2" };

test("operators are found and made by the names that Python has for them, too", () => {
  const names = ["aten.gelu.default", "torch.ops.aten.gelu.default", "aten::gelu"];
  const edge = engine.toEdge(file("mlp"));
  edge.transform([
    ({ graph }) => {
      const [first, ...others] = names.map((name) => graph.find(name));
      assert.ok(first!.length > 0);
      for (const nodes of others) assert.deepEqual(nodes, first);
      assert.deepEqual(graph.find("gelu"), []);
      assert.throws(() => graph.find(5 as unknown as string), /find\(\) must be a string/);
      const made = graph.insertBefore(first![0]!, "aten.tanh.default", first![0]!.inputs);
      assert.equal(made.target, "aten::tanh");
      graph.erase(made);
    },
  ]);
});

test("verifying says that passes may be why the numbers differ", () => {
  const lowered = engine
    .toEdge(file("mlp"))
    .transform([
      ({ graph }) => {
        for (const node of graph.find("aten::gelu")) {
          node.replaceAllUsesWith(graph.insertBefore(node, "aten::neg", [node.inputs[0]!]));
          graph.erase(node);
        }
      },
    ])
    .toExecutorch();
  assert.equal(lowered.verify()["forward"]!.outputs[0]!.isClose, false);
  const { message, hint } = lowered.inspect().diagnostics.at(-1)!;
  assert.match(message, /from the run without your passes and without delegates/);
  assert.match(hint, /passes of your own/);
});

test("a pass that inserts without end is stopped", () => {
  const error = failure(() =>
    engine.toEdge(file("mlp")).transform([
      ({ graph }) => {
        for (const node of graph.nodes)
          if (node.op === "call_function") graph.insertAfter(node, "aten::neg", [node]);
      },
    ]),
  );
  assert.equal(error.code, "limit");
  assert.match(error.message, /cannot insert more than 100000 calls/);
});

test("a pattern is replaced in either order of operands, and nodes keep their identity", () => {
  const edge = engine.toEdge(example);
  const activation = opsOf(edge.exportedProgram()).find((op) => /relu|gelu|tanh/.test(op))!;
  const spread: PassFunction = ({ graph }) => {
    for (const node of graph.find(activation)) {
      const sigmoid = graph.insertBefore(node, "aten::sigmoid", [node.args[0]!]);
      const product = graph.insertBefore(node, "aten::mul.Tensor", [sigmoid, node.args[0]!]);
      node.replaceAllUsesWith(product);
    }
    graph.eraseDead();
  };
  const long = edge.transform([spread]);
  const fused = long.transform([
    function fuse(program) {
      const before = new Map([...program.graph.nodes].map((node) => [node.name, node]));
      const made = replacePattern(program, "mul(x, sigmoid(x))", "silu(x)");
      assert.ok(made.length > 0);
      for (const node of program.graph.nodes)
        assert.equal(before.get(node.name) ?? node, node, node.name);
      for (const value of made) {
        assert.ok(isGraphNode(value));
        assert.equal(value.target, "aten::silu");
        assert.equal((value.args[0] as GraphNode).users.includes(value), true);
      }
      assert.equal(program.graph.find("aten::sigmoid").length, 0);
      assert.deepEqual(replacePattern(program, "mul(x, sigmoid(x))", "silu(x)"), []);
    },
  ]);
  assert.deepEqual(resultsOf(fused.toExecutorch()), resultsOf(long.toExecutorch()));
});

test("a pattern that cannot be read says so", () => {
  const edge = engine.toEdge(example);
  const tried = (pattern: string, replacement: string): string =>
    failure(() => edge.transform([(program) => void replacePattern(program, pattern, replacement)]))
      .message;
  assert.match(
    tried("nope(x)", "x"),
    /pattern cannot be read: there is no operator 'aten::nope', at byte 0/,
  );
  assert.match(tried("relu(x)", "neg(y)"), /replacement cannot be read: .*name is not known/);
  assert.match(
    failure(() => replacePattern({} as PassProgram, "relu(x)", "x")).message,
    /the program that a pass is given/,
  );
});

test("constants are listed, read and added", () => {
  const edge = engine.toEdge(example);
  const names: string[] = [];
  const doubled = edge.transform([
    function double(program) {
      const state = program.stateDict();
      for (const constant of program.constants) {
        names.push(constant.name);
        const bytes = constant.shape.reduce((a, b) => a * b, 4);
        assert.equal(constant.bytes().byteLength, bytes);
        assert.equal(constant.node.op, "placeholder");
        if (!constant.name.endsWith("bias")) continue;
        assert.equal(state[constant.name]?.node, constant.node);
        const { data, shape } = constant.tensor();
        const more = Float32Array.from(data as Float32Array, (value) => 2 * value);
        const node = program.addConstant(`${constant.name}.doubled`, {
          dtype: "float32",
          shape: [...shape],
          data: more,
        });
        constant.node.replaceAllUsesWith(node);
        assert.ok(program.text().includes(node.name));
      }
      const rows = program.signature.inputs;
      assert.equal(rows.at(-1)!.kind, "constant_tensor");
      assert.match(
        failure(() => program.addConstant(names[0]!, x)).message,
        /a constant '.*' exists already/,
      );
    },
    "unused",
  ]);
  assert.ok(names.length >= 4);
  assert.notDeepEqual(resultsOf(doubled.toExecutorch()), resultsOf(edge.toExecutorch()));
});

test("an output is added behind the others", () => {
  const edge = engine.toEdge(example);
  const shown = edge.transform([
    ({ graph, addOutput, signature }) => {
      assert.equal(signature.outputs.length, 1);
      for (const node of graph.find("aten::addmm")) addOutput(node);
    },
  ]);
  const [result, ...layers] = resultsOf(shown.toExecutorch());
  assert.deepEqual([result], resultsOf(edge.toExecutorch()));
  assert.equal(
    layers.length,
    edge
      .exportedProgram()
      .nodes()
      .filter((n) => n.op === "aten::addmm").length,
  );
  assert.ok(layers.every((layer) => layer.length % 4 === 0));
});

// --- Everywhere that passes run ------------------------------------------------------------------------

const counting = (): [PassFunction, string[]] => {
  const seen: string[] = [];
  return [({ method, graph }) => void seen.push(`${method} ${graph.nodes.length}`), seen];
};

test("functions run while lowering, before decomposition and before planning", () => {
  const [early, before] = counting();
  const [edgePass, middle] = counting();
  const [late, behind] = counting();
  const edge = engine.toEdgeTransformAndLower(both(), {
    partitioner: { backend: "xnnpack", transformForPreDecomposition: [early, "noops"] },
    transformPasses: { encode: [edgePass, "dce"] },
  });
  edge.toExecutorch({ passes: [late] });
  assert.deepEqual(before.map((text) => text.split(" ")[0]).slice(0, 2), ["encode", "decode"]);
  assert.ok(middle.length > 0 && middle.every((text) => text.startsWith("encode")));
  assert.equal(behind.length, 2);
});

test("what a pass throws while lowering is the error of the call", () => {
  const cause = new TypeError("no such thing");
  const options = {
    transformPasses: [
      function broken() {
        throw cause;
      },
    ],
  };
  const error = failure(() => engine.lower(example, options));
  assert.match(error.message, /^broken threw on method 'forward': no such thing/);
  assert.equal(error.cause, cause);
  engine.lower(example).dispose();
});

test("a pass may lower another model, and cannot enter its own program", () => {
  const edge = engine.toEdge(example);
  edge.transform([() => engine.lower(example).dispose()]);
  assert.equal(failure(() => edge.transform([() => void edge.transform(["dce"])])).code, "busy");
});

test("recipes take functions at every place", async () => {
  const seen: string[] = [];
  const noting =
    (place: string): PassFunction =>
    () =>
      void seen.push(place);
  const session = await engine.export(example, {
    recipe: {
      atenTransformPasses: [() => [noting("aten")]],
      loweringRecipe: {
        edgeTransformPasses: [() => [noting("edge")], () => undefined],
        edgeManagerTransformPasses: [() => [noting("manager")], () => undefined],
      },
      executorchBackendConfig: { passes: [noting("executorch")] },
    },
  });
  session.dispose();
  assert.deepEqual([...new Set(seen)], ["aten", "edge", "manager", "executorch"]);
});

// --- Names ---------------------------------------------------------------------------------------------

test("a registered pass has a name everywhere, and names are unique", async () => {
  const own = await createEngine();
  const [pass, seen] = counting();
  own.registerPass(pass, "counting");
  own.lower(example, { transformPasses: ["dce", "counting"] }).dispose();
  assert.equal(seen.length, 1);
  own.registerPass(pass, "counting"); // a module that is imported again
  assert.match(
    failure(() => own.registerPass(counting()[0], "counting")).message,
    /is the name of another pass/,
  );
  assert.match(
    failure(() => own.registerPass(pass, "dce")).message,
    /'dce' is the name of another pass/,
  );
  assert.match(failure(() => own.registerPass(() => undefined)).message, /name of a pass/);
  own.dispose();
});

test("a client has the passes of a module", async () => {
  const url = new URL("../../../../examples/passes.mjs", import.meta.url).href;
  const client = await createClient();
  const names = await client.importPasses({ url });
  assert.deepEqual([...names].sort(), [
    "expandScaledTanh",
    "foldScales",
    "fuseSilu",
    "geluForRelu",
    "showLinears",
  ]);
  const plain = await client.lower(example);
  const shown = await client.lower(example, { transformPasses: ["showLinears"] });
  const outputsOf = async (program: typeof shown): Promise<number> =>
    (await client.load(await program.buffer)).run([x]).then((values) => values.length);
  assert.equal(await outputsOf(plain), 1);
  assert.equal(await outputsOf(shown), 4);
  // The module imports a copy of the package that is not the worker's own.
  const source = `import { isGraphNode, replacePattern, SconceError } from "sconce";
    export function negForTanh(program) { replacePattern(program, "tanh(x)", "neg(x)"); }
    export function countNodes({ graph, addConstantMethod }) {
      const nodes = [...graph.nodes].flatMap(({ args }) => args.filter(isGraphNode));
      addConstantMethod("count", nodes.length);
    }
    export function fails() { throw new SconceError("unbounded", "of its own"); }`;
  const module = new URL("../copy_of_package.mjs", import.meta.url);
  await writeFile(module, source);
  await client.importPasses({ url: module.href });
  const negated = await (await client.toEdge(example)).transform(["negForTanh", "countNodes"]);
  const nodes = await (await negated.exportedProgram()).nodes();
  assert.ok(nodes.some(({ op }) => op === "aten::neg"));
  const counted = await (
    await client.load(await (await negated.toExecutorch()).buffer)
  ).run("count", []);
  assert.ok(Number(counted[0]) > 5);
  const failing = (await client.toEdge(example)).transform(["fails"]);
  await assert.rejects(failing, { code: "unbounded", message: /of its own/ });
  await assert.rejects(client.importPasses({ url: "data:text/javascript," }), /exports no pass/);
  await client.terminate();
});

test("a pass runs once for each method, whatever stays whole", () => {
  for (const partitioner of [undefined, "xnnpack", "null"]) {
    let count = 0;
    const mishForTanh: PassFunction = (program) => {
      count++;
      replacePattern(program, "tanh(x)", "mish(x)");
    };
    const options = partitioner === undefined ? {} : { partitioner };
    const lowered = engine.lower(example, { ...options, transformPasses: [mishForTanh] });
    assert.equal(count, 1, partitioner);
    const plain = engine.toEdge(example).transform([mishForTanh]).toExecutorch();
    const [expected] = engine.load(plain).run("forward", [x]) as TensorOf<"float32">[];
    const [found] = engine.load(lowered).run("forward", [x]) as TensorOf<"float32">[];
    found!.data.forEach((value, i) => assert.ok(Math.abs(value - expected!.data[i]!) < 1e-5));
  }
  let early = 0;
  engine.lower(example, {
    partitioner: {
      backend: "xnnpack",
      transformForPreDecomposition: [
        (program) => {
          early++;
          replacePattern(program, "tanh(x)", "silu(x)");
        },
      ],
    },
  });
  assert.equal(early, 1);
});

test("a view that a pass inserts before decomposition shares memory with its base", () => {
  const narrowed: PassFunction = ({ graph }) => {
    for (const node of graph.find("aten::add_.Tensor")) {
      const [self = null, by = null] = node.args;
      const all = graph.insertBefore(node, "aten::narrow", [self, 0, 0, 3]);
      const written = graph.insertBefore(node, "aten::add_.Tensor", [all, by]);
      node.replaceAllUsesWith(written);
      graph.erase(node);
    }
  };
  const inputs = (): TensorOf<"float32">[] => [tensor([1, 2, 3]), tensor([4, 5, 6])];
  const model = file("input_mutation");
  const run = (passes: readonly PassFunction[]): unknown => {
    const partitioner = { backend: "null", transformForPreDecomposition: passes };
    return engine.load(engine.lower(model, { partitioner })).run("forward", inputs());
  };
  assert.deepEqual(run([narrowed]), run([]));
});
