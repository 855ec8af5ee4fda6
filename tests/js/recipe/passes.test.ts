// Passes of recipes: where they run, which program they are asked with, and settings that no stage carries
// out.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  createClient,
  createEngine,
  type Engine,
  type ExportRecipe,
  type ExportSession,
  type GraphNode,
  type PassFunction,
  type QuantizationRecipe,
} from "sconce";
import { file } from "../setup/failure.js";
import { rejected } from "../setup/rejected.js";

let engine: Engine;
before(async () => (engine = await createEngine()));
after(() => engine.dispose());

const exported = (recipe: ExportRecipe, name = "mlp"): Promise<ExportSession> =>
  engine.export(file(name), { recipe });

const quantizing = (more: QuantizationRecipe): ExportRecipe => ({
  quantizationRecipe: { quantizers: [{ kind: "xnnpack", isPerChannel: true }], ...more },
  loweringRecipe: { partitioners: ["xnnpack"] },
});

const siluForGelu: PassFunction = ({ graph }) => {
  for (const node of graph.find("aten::gelu")) {
    const silu = graph.insertBefore(node, "aten::silu", [node.args[0]!]);
    node.replaceAllUsesWith(silu);
    graph.erase(node);
  }
};

const OBSERVER = "sconce::observer";
const eraseObserver = (node: GraphNode): void => {
  node.replaceAllUsesWith(node.args[0] as GraphNode);
  node.graph.erase(node);
};
/** Takes the observers of a layer away: those that it reads, and that of its result. */
const unobserved =
  (name: string): PassFunction =>
  ({ graph }) => {
    for (const node of graph.find(OBSERVER)) {
      const isRead = node.users.some((user) => user.name === name);
      if (isRead || (node.args[0] as GraphNode).name === name) eraseObserver(node);
    }
  };

const opsOf = (session: ExportSession): string[] =>
  session
    .getExportedProgram()
    .nodes()
    .map(({ op }) => op);

// --- Lowering ----------------------------------------------------------------------------------------

for (const stages of [undefined, ["to_edge", "edge_program_manager_transform", "to_executorch"]])
  test(`aten passes run before edge passes are asked for, in ${stages?.join() ?? "default stages"}`, async () => {
    const seen: string[] = [];
    const session = await exported({
      atenTransformPasses: [
        (method, program) => {
          seen.push(`${method} ${program.nodes().some(({ op }) => op === "aten::gelu")}`);
          return [siluForGelu];
        },
        (_, program) => void seen.push(`silu ${program.text().includes("aten::silu")}`),
      ],
      loweringRecipe: {
        edgeTransformPasses: [
          (_, program) => {
            const ops = program.nodes().map(({ op }) => op);
            seen.push(`edge ${ops.includes("aten::gelu")}`);
            return null;
          },
        ],
      },
      ...(stages && { pipelineStages: stages }),
    });
    assert.deepEqual(seen, ["forward true", "silu true", "edge false"]);
    const text = session.getEdgeProgramManager().exportedProgram().text();
    assert.match(text, /aten::sigmoid|aten::silu/);
    assert.equal(session.getOpenedPrograms().exportedProgram().text().includes("silu"), false);
    session.dispose();
  });

test("passes that give no list are skipped", async () => {
  const noList = (): undefined => undefined;
  const session = await exported({
    atenTransformPasses: [noList, () => null],
    loweringRecipe: {
      edgeTransformPasses: [noList],
      edgeManagerTransformPasses: [noList, () => null],
    },
    quantizationRecipe: {
      quantizers: [{ kind: "xnnpack" }],
      prePreparePasses: [noList],
      postPreparePasses: [noList],
      preConvertPasses: [noList],
      postConvertPasses: [noList],
    },
  });
  const plain = await exported({ quantizationRecipe: { quantizers: [{ kind: "xnnpack" }] } });
  assert.deepEqual(session.getPteBuffer(), plain.getPteBuffer());
  session.dispose();
  plain.dispose();
});

test("passes may be data: names for all methods, or by method", async () => {
  engine.registerPass(siluForGelu);
  const lists = [["siluForGelu"], { forward: ["siluForGelu"] }] as const;
  const recipes: ExportRecipe[] = lists.flatMap((list): ExportRecipe[] => [
    { atenTransformPasses: [list] },
    { loweringRecipe: { edgeTransformPasses: [list] } },
    { loweringRecipe: { edgeManagerTransformPasses: [list] } },
    { quantizationRecipe: { quantizers: [{ kind: "xnnpack" }], prePreparePasses: [list] } },
  ]);
  for (const recipe of recipes) {
    const session = await exported(recipe);
    const text = session.getEdgeProgramManager().exportedProgram().text();
    assert.doesNotMatch(text, /gelu/, JSON.stringify(recipe));
    session.dispose();
  }
  for (const [recipe, code] of [
    [{ atenTransformPasses: [{ encode: ["siluForGelu"] }] }, "not_found"],
    [{ atenTransformPasses: [["nonsense"]] }, "not_found"],
    [{ atenTransformPasses: ["siluForGelu"] }, "option"],
    [{ atenTransformPasses: [{ forward: "siluForGelu" }] }, "option"],
  ] as const) {
    const error = await rejected(() => exported(recipe as unknown as ExportRecipe));
    assert.equal(error.code, code, error.message);
  }
});

// --- Quantization ------------------------------------------------------------------------------------

test("hooks of quantization are asked in order, with the program at that point", async () => {
  const seen: string[] = [];
  const ask =
    (when: string) =>
    (_: string, program: { nodes(): { op: string }[] }): undefined => {
      const ops = program.nodes().map(({ op }) => op);
      const observers = ops.filter((op) => op === OBSERVER).length;
      const quantized = ops.filter((op) => /::quantize_per_tensor/.test(op)).length;
      seen.push(`${when}: ${observers} ${quantized}`);
    };
  const session = await exported(
    quantizing({
      postConvertPasses: [ask("post-convert")],
      preConvertPasses: [ask("pre-convert")],
      postPreparePasses: [ask("post-prepare")],
      prePreparePasses: [ask("pre-prepare")],
    }),
  );
  assert.deepEqual(seen, [
    "pre-prepare: 0 0",
    "post-prepare: 9 0",
    "pre-convert: 9 0",
    "post-convert: 0 6",
  ]);
  session.dispose();
});

test("passes over observers without a change leave every byte as it was", async () => {
  const look: PassFunction = ({ graph }) => void graph.find(OBSERVER);
  for (const name of ["mlp", "cnn", "tinyformer", "cond", "conv_relu"]) {
    const recipe = quantizing({});
    const plain = await exported(recipe, name).catch(() => null);
    if (!plain) continue;
    const passed = await exported(
      quantizing({ postPreparePasses: [() => [look]], preConvertPasses: [() => [look]] }),
      name,
    );
    assert.deepEqual(passed.getPteBuffer(), plain.getPteBuffer(), name);
    assert.deepEqual(
      passed.quantizationReport()!.methods,
      plain.quantizationReport()!.methods,
      name,
    );
    passed.dispose();
    plain.dispose();
  }
});

for (const when of ["postPreparePasses", "preConvertPasses"] as const)
  test(`a layer without observers stays in float, by ${when}`, async () => {
    const session = await exported(quantizing({ [when]: [() => [unobserved("linear_1")]] }));
    const { nodes } = session.quantizationReport()!.methods["forward"]!;
    const layers = nodes.filter(({ op }) => op === "aten::linear");
    assert.deepEqual(
      layers.map(({ isQuantized }) => isQuantized),
      [true, false, true],
    );
    assert.equal(layers[1]!.reason, "a pass took its observers away");
    const skipped = await exported({
      quantizationRecipe: {
        quantizers: [{ kind: "xnnpack", isPerChannel: true, skip: ["linear_1"] }],
      },
      loweringRecipe: { partitioners: ["xnnpack"] },
    });
    assert.deepEqual(opsOf(session), opsOf(skipped));
    assert.deepEqual(session.getPteBuffer(), skipped.getPteBuffer());
    assert.ok(session.runMethod().length > 0);
    session.dispose();
    skipped.dispose();
  });

test("passes between observers may change the float graph, and share observers", async () => {
  const share: PassFunction = ({ graph }) => {
    const observers = graph.find(OBSERVER);
    const of = (name: string): GraphNode =>
      observers.find((node) => (node.args[0] as GraphNode).name === name)!;
    of("tanh").setArg(1, of("linear_1").args[1]!);
  };
  const session = await exported(quantizing({ postPreparePasses: [() => [siluForGelu, share]] }));
  assert.ok(opsOf(session).includes("aten::silu"));
  const { ranges } = session.quantizationReport()!.methods["forward"]!;
  const shared = ranges.filter(({ tensors }) => tensors.includes("tanh"));
  assert.deepEqual(shared[0]!.tensors, ["linear_1", "tanh"]);
  assert.ok(session.runMethod().length > 0);
  session.dispose();
});

test("a new observer of a number that exists quantizes what reads it", async () => {
  const add: PassFunction = ({ graph }) => {
    const [first] = graph.find("aten::tanh");
    const number = graph.find(OBSERVER).find((node) => node.users.includes(first!))!.args[1]!;
    const observer = graph.insertAfter(first!, OBSERVER, [first!, number]);
    for (const user of first!.users) if (user !== observer) user.replaceInput(first!, observer);
  };
  const session = await exported(quantizing({ postPreparePasses: [() => [add]] }));
  assert.ok(session.runMethod().every((value) => value !== null));
  session.dispose();
});

test("observers that cannot stand where a pass leaves them are typed errors", async () => {
  const cases: [PassFunction, RegExp][] = [
    [
      ({ graph }) => graph.find(OBSERVER)[0]!.setArg(1, 99),
      /a number that no observer of the program had/,
    ],
    [({ graph }) => graph.find(OBSERVER)[0]!.setArg(1, -1), /a number that no observer/],
    [
      ({ graph }) => graph.find(OBSERVER).at(-1)!.setArg(1, graph.find(OBSERVER)[0]!.args[1]!),
      /observes channels, and its tensor has another number of them/,
    ],
    [
      ({ graph }) => {
        const [node] = graph.find("aten::tanh");
        const observer = node!.args[0] as GraphNode;
        const sum = graph.insertAfter(observer, "aten::add.Tensor", [observer, observer.args[0]!]);
        node!.replaceInput(observer, sum);
      },
      /reads 'linear_1' in two ways/,
    ],
    [
      () => {
        throw new Error("mine");
      },
      /threw on method 'forward': mine/,
    ],
  ];
  for (const when of ["postPreparePasses", "preConvertPasses"] as const)
    for (const [pass, text] of cases) {
      const error = await rejected(() => exported(quantizing({ [when]: [() => [pass]] })));
      assert.equal(error.code, "argument", error.message);
      assert.match(error.message, text);
      assert.equal(error.method, "forward");
    }
  (await exported(quantizing({}))).dispose();
});

// --- Settings without a stage -------------------------------------------------------------------------

test("a setting that no stage carries out is an error", async () => {
  const pass = [["dce"]];
  const cases: [ExportRecipe, string[], string][] = [
    [quantizing({}), ["to_edge_transform_and_lower", "to_executorch"], "quantizationRecipe"],
    [
      { loweringRecipe: { partitioners: ["xnnpack"] } },
      ["to_edge", "edge_program_manager_transform", "to_executorch"],
      "loweringRecipe.partitioners",
    ],
    [
      { loweringRecipe: { edgeManagerTransformPasses: pass } },
      ["to_edge_transform_and_lower", "to_executorch"],
      "loweringRecipe.edgeManagerTransformPasses",
    ],
    [
      { loweringRecipe: { edgeTransformPasses: pass } },
      ["to_edge", "to_backend", "to_executorch"],
      "loweringRecipe.edgeTransformPasses",
    ],
    [{ executorchBackendConfig: { foldConstants: true } }, ["to_edge"], "executorchBackendConfig"],
    [{ atenTransformPasses: pass, quantizationRecipe: {} }, ["quantize"], "atenTransformPasses"],
  ];
  for (const [recipe, pipelineStages, field] of cases) {
    const { code, message, hint } = await rejected(() => exported({ ...recipe, pipelineStages }));
    assert.equal(code, "argument", message);
    assert.equal(
      message,
      `the recipe has '${field}', but none of the stages carries it out: ${pipelineStages.join(", ")}`,
    );
    assert.match(hint, /^Add the stage \w+/);
  }
});

test("a stage of one's own may carry out anything", async () => {
  const recipe = {
    loweringRecipe: { partitioners: ["xnnpack"] },
    pipelineStages: ["to_edge", "mine", "to_executorch"],
  };
  const session = engine.createExportSession(file("mlp"), { recipe });
  session.registerStage("mine", {
    validPredecessors: ["to_edge"],
    validSuccessors: ["to_executorch"],
    canStartPipeline: false,
    run: (artifact) => artifact,
  });
  await session.run();
  session.dispose();
});

test("a client's recipe names the passes of a module", async () => {
  const client = await createClient();
  const source =
    "export function siluForGelu({ graph }) { for (const node of graph.find('aten::gelu')) {" +
    "const silu = graph.insertBefore(node, 'aten::silu', [node.args[0]]);" +
    "node.replaceAllUsesWith(silu); graph.erase(node); } }";
  await client.importPasses({ url: `data:text/javascript,${encodeURIComponent(source)}` });
  const recipe = { atenTransformPasses: [["siluForGelu"]] };
  const session = await client.export(file("mlp"), { recipe });
  const here = await exported({ atenTransformPasses: [[siluForGelu]] });
  assert.deepEqual(await session.getPteBuffer(), here.getPteBuffer());
  here.dispose();
  const members = session as unknown as Record<string, () => Promise<unknown>>;
  for (const [name, why] of [
    [
      "registerStage",
      /registerStage\(\) of ExportSession is not there in a client: a stage is a function/,
    ],
    ["getRegisteredStage", /a stage is a function/],
    ["getAllRegisteredStages", /a stage is a function/],
    ["getStageArtifacts", /artifacts hold objects that live in the worker/],
  ] as const)
    await assert.rejects(members[name]!(), { code: "unsupported", message: why });
  const own = { atenTransformPasses: [() => ["dce"]] };
  await assert.rejects(client.export(file("mlp"), { recipe: own }), { code: "argument" });
  await client.terminate();
});
