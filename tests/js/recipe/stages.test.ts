// The stages of an export: which may follow which, what each makes of what it is given, and stages of
// one's own. The numbered names are behaviours that the official stages have tests of their own for.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  createEngine,
  type EdgeProgramManager,
  type Engine,
  type ExportRecipe,
  type ExportSession,
  type PipelineArtifact,
  type Stage,
} from "sconce";
import { failure, file } from "../setup/failure.js";
import { rejected } from "../setup/rejected.js";

let engine: Engine;
before(async () => (engine = await createEngine()));
after(() => engine.dispose());

const session = (recipe: ExportRecipe, name = "mlp"): ExportSession =>
  engine.createExportSession(file(name), { recipe });

// --- Sequences -------------------------------------------------------------------------------------

const FOLLOWS: Readonly<Record<string, readonly string[]>> = {
  source_transform: [],
  quantize: ["source_transform"],
  torch_export: ["source_transform", "quantize"],
  to_edge_transform_and_lower: ["torch_export", "quantize"],
  to_edge: ["torch_export", "quantize"],
  edge_program_manager_transform: ["to_edge", "to_edge_transform_and_lower"],
  to_backend: ["to_edge", "edge_program_manager_transform"],
  to_executorch: ["to_edge_transform_and_lower", "to_backend", "edge_program_manager_transform"],
};
const STAGES = Object.keys(FOLLOWS);
const BEGIN = STAGES.slice(0, 5);

/** A way to a stage that is right up to there. */
function wayTo(stage: string): string[] {
  if (BEGIN.includes(stage)) return [stage];
  return [...wayTo(FOLLOWS[stage]![0]!), stage];
}

/** The stages of Python, as stages that change nothing. */
function withPython(recipe: ExportRecipe): ExportSession {
  const made = session(recipe);
  for (const name of ["source_transform", "torch_export"])
    made.registerStage(name, {
      validPredecessors: FOLLOWS[name]!,
      canStartPipeline: true,
      run: (artifact) => artifact.copyWithNewData(artifact.data),
    });
  return made;
}

for (const before of STAGES)
  test(`33: what may follow ${before}`, async () => {
    for (const name of STAGES) {
      const way = wayTo(before);
      if (way.includes(name)) continue;
      const made = withPython({ pipelineStages: [...way, name] });
      if (FOLLOWS[name]!.includes(before)) {
        await made.run();
        assert.deepEqual(Object.keys(made.getStageArtifacts()), [...way, name]);
      } else {
        const { code, message, hint } = await rejected(() => made.run());
        assert.equal(code, "argument");
        assert.equal(message, `stage ${name} cannot follow ${before}`);
        assert.match(hint, /^(It begins\.|It follows |Put to_backend between)/);
        assert.deepEqual(made.getStageArtifacts(), {});
      }
      made.dispose();
    }
  });

test("33: what may begin", async () => {
  for (const name of STAGES) {
    const made = withPython({ pipelineStages: [name] });
    if (BEGIN.includes(name)) await made.run();
    else {
      const { code, message, hint } = await rejected(() => made.run());
      assert.equal(code, "argument");
      assert.equal(message, `stage ${name} cannot begin`);
      assert.match(hint, /quantize, to_edge_transform_and_lower, to_edge/);
    }
    made.dispose();
  }
});

test("33: to_executorch right after to_edge is refused, and it says what to do", async () => {
  const { message, hint } = await rejected(() =>
    session({ pipelineStages: ["to_edge", "to_executorch"] }).run(),
  );
  assert.equal(message, "stage to_executorch cannot follow to_edge");
  assert.match(hint, /^Put to_backend between the two, which without partitioners changes nothing/);
  const made = session({ pipelineStages: ["to_edge", "to_backend", "to_executorch"] });
  await made.run();
  const lowered = engine.lower(file("mlp"));
  assert.deepEqual(made.getPteBuffer(), lowered.buffer);
  for (const owner of [made, lowered]) owner.dispose();
});

test("33: a stage that nobody knows, and one that is there twice", async () => {
  for (const pipelineStages of [
    ["mine"],
    ["to_edge", "mine"],
    ["toString"],
    ["to_edge", "__proto__"],
  ]) {
    const { code, message, hint } = await rejected(() => session({ pipelineStages }).run());
    assert.equal(code, "not_found");
    assert.match(message, /^there is no stage '(mine|toString|__proto__)'$/);
    assert.match(hint, /registerStage\(\), or use one of: quantize, to_edge_transform_and_lower/);
  }
  const again = await rejected(() =>
    withPython({ pipelineStages: ["torch_export", "to_edge", "to_edge"] }).run(),
  );
  assert.equal(again.message, "stage to_edge is listed twice");
});

test("34: what works on Python modules is refused, with the Python that does it", async () => {
  for (const [stage, python] of [
    ["source_transform", /from torchao\.quantization import quantize_/],
    ["torch_export", /torch\.export\.export\(model\.eval\(\), \(x,\)\)/],
  ] as const) {
    const made = session({ pipelineStages: [stage, "to_edge"] });
    const { code, message, hint } = await rejected(() => made.run());
    assert.equal(code, "unsupported");
    assert.equal(message, `stage ${stage} works on a Python module`);
    assert.match(hint, python);
    assert.equal(made.getRegisteredStage(stage), undefined);
  }
});

test("33: the sequence is checked before anything is read", async () => {
  let reads = 0;
  const source = {
    size: 100,
    read: (): Uint8Array => {
      reads++;
      return new Uint8Array();
    },
  };
  const recipe = { pipelineStages: ["to_executorch"] };
  const made = engine.createExportSession(source, { recipe });
  assert.equal((await rejected(() => made.run())).code, "argument");
  assert.equal(reads, 0);
});

// --- Results of stages -----------------------------------------------------------------------------

test("36: an artifact with other data has a context of its own", async () => {
  const made = session({ pipelineStages: ["to_edge"] });
  await made.run();
  const artifact = made.getStageArtifacts()["to_edge"]!;
  const copy = artifact.copyWithNewData("text");
  assert.equal(copy.data, "text");
  assert.deepEqual(copy.context, artifact.context);
  copy.addContext("mine", 1);
  assert.equal(copy.getContext("mine"), 1);
  assert.equal(artifact.getContext("mine"), undefined);
  assert.equal(artifact.getContext("mine", 7), 7);
  assert.equal(artifact.getContext("toString", "none"), "none");
  made.dispose();
});

test("36: stages refuse what they do not work on", async () => {
  const odd: Stage = {
    validPredecessors: [],
    canStartPipeline: true,
    validSuccessors: ["to_edge", "to_edge_transform_and_lower", "quantize"],
    run: (artifact) => artifact.copyWithNewData(null),
  };
  for (const name of odd.validSuccessors!) {
    const made = session({ pipelineStages: ["odd", name] });
    made.registerStage("odd", odd);
    const { code, message } = await rejected(() => made.run());
    assert.equal(code, "argument");
    assert.equal(message, `what stage ${name} is given must be OpenedPrograms, not null`);
    // Artifacts made so far can be looked at.
    assert.deepEqual(Object.keys(made.getStageArtifacts()), ["odd"]);
    made.dispose();
  }
  for (const name of ["edge_program_manager_transform", "to_backend", "to_executorch"]) {
    const made = session({ pipelineStages: ["odd", name] });
    made.registerStage("odd", { ...odd, validSuccessors: [name] });
    const { code, message } = await rejected(() => made.run());
    assert.equal(code, "argument");
    assert.equal(message, `what stage ${name} is given must be EdgeProgramManager, not null`);
    made.dispose();
  }
});

test("36: passes before decomposition are asked for by method, and run", async () => {
  const asked: string[] = [];
  const recipe: ExportRecipe = {
    atenTransformPasses: [
      (method, program) => {
        asked.push(`${method} ${program.nodes().some(({ op }) => op === "aten::linear")}`);
        return [];
      },
      (method) => (method === "b" ? ["noops", "dce"] : []),
    ],
  };
  const programs = { a: file("mlp"), b: file("linear") };
  const seen: string[] = [];
  const made = engine.createExportSession(programs, { recipe });
  await made.run();
  assert.deepEqual(asked, ["a true", "b true"]);
  assert.equal(made.runMethod("a").length, 1);
  made.dispose();
  for (const pipelineStages of [["to_edge"], ["to_edge_transform_and_lower"]]) {
    const unknown = engine.createExportSession(programs, {
      recipe: { pipelineStages, atenTransformPasses: [() => ["nonsense"]] },
    });
    const { code, message } = await rejected(() => unknown.run());
    assert.equal(code, "not_found");
    assert.equal(message, "there is no pass 'nonsense'");
    seen.push(message);
  }
  assert.equal(seen.length, 2);
});

test("36: passes before decomposition come before those that partitioners wish for", async () => {
  const recipe = (first: string[], wished: string[]): ExportRecipe => ({
    atenTransformPasses: [() => first],
    loweringRecipe: {
      partitioners: { forward: { backend: "xnnpack", transformForPreDecomposition: wished } },
    },
  });
  const made = session(recipe(["noops"], ["dce"]));
  await made.run();
  assert.equal(made.delegationInfo().numDelegatedSubgraphs, 1);
  assert.match((await rejected(() => session(recipe(["x"], ["y"])).run())).message, /'x'/);
  made.dispose();
});

test("36: what one function gives for a method drops nothing of others", async () => {
  const programs = { a: file("mlp"), b: file("linear") };
  for (const method of ["a", "b"])
    for (const place of [0, 1]) {
      const bad = (name: string): string[] => (name === method ? ["nonsense"] : ["noops"]);
      const edgeTransformPasses = [() => ["noops"], () => []];
      edgeTransformPasses[place] = bad as () => string[];
      const made = engine.createExportSession(programs, {
        recipe: { loweringRecipe: { edgeTransformPasses } },
      });
      assert.match((await rejected(() => made.run())).message, /'nonsense'/);
      made.dispose();
    }
});

test("36: a function that fails, or gives no names, is named", async () => {
  const broken = (): never => {
    throw new Error("mine");
  };
  const number = (): never => 3 as never;
  const lowering = (field: string, one: () => never): ExportRecipe => ({
    loweringRecipe: { [field]: [() => [], one] },
  });
  for (const [recipe, text] of [
    [
      { atenTransformPasses: [broken] },
      /^atenTransformPasses\[0\] of method 'forward' failed: mine$/,
    ],
    [
      lowering("edgeTransformPasses", broken),
      /^edgeTransformPasses\[1\] of method 'forward' failed/,
    ],
    [lowering("edgeTransformPasses", number), /^what edgeTransformPasses\[1\] .* list of names/],
    [
      lowering("edgeManagerTransformPasses", broken),
      /^edgeManagerTransformPasses\[1\] failed: mine/,
    ],
    [lowering("edgeManagerTransformPasses", number), /passes of transform\(\) must be a list of/],
  ] as const) {
    const error = await rejected(() => session(recipe).run());
    assert.equal(error.code, "argument");
    assert.match(error.message, text);
    if (/failed/.test(error.message)) assert.equal((error.cause as Error).message, "mine");
  }
});

// --- Passes over edge programs ---------------------------------------------------------------------

/** Counts how often it is asked, and of which programs. */
function counting(): {
  asked: string[];
  resolve: (method: string, program: { text(): string }) => string[];
} {
  const asked: string[] = [];
  return {
    asked,
    resolve: (method, program) => {
      asked.push(`${method} ${/executorch_call_delegate/.test(program.text())}`);
      return ["noops"];
    },
  };
}

test("37b: manager passes run in the default pipeline, and edge passes only once", async () => {
  const { asked, resolve } = counting();
  const managers: boolean[] = [];
  const made = session({
    loweringRecipe: {
      partitioners: ["xnnpack"],
      edgeTransformPasses: [resolve],
      edgeManagerTransformPasses: [
        (manager) => {
          managers.push(/executorch_call_delegate/.test(manager.exportedProgram().text()));
          return ["dce"];
        },
        () => ({ forward: ["noops"] }),
      ],
    },
  });
  assert.deepEqual(made.pipelineStages, [
    "to_edge_transform_and_lower",
    "edge_program_manager_transform",
    "to_executorch",
  ]);
  await made.run();
  assert.deepEqual(asked, ["forward false"]);
  assert.deepEqual(managers, [true]);
  const lowered = made.getStageArtifacts()["to_edge_transform_and_lower"]!;
  const transformed = made.getStageArtifacts()["edge_program_manager_transform"]!;
  assert.notEqual(transformed.data, lowered.data);
  made.dispose();
});

test("37b: where to_edge comes first, edge passes run before parts are found", async () => {
  const { asked, resolve } = counting();
  const made = session({
    pipelineStages: ["to_edge", "edge_program_manager_transform", "to_backend", "to_executorch"],
    loweringRecipe: { partitioners: "xnnpack", edgeTransformPasses: [resolve] },
  });
  await made.run();
  assert.deepEqual(asked, ["forward false"]);
  assert.ok(made.delegationInfo().numDelegatedNodes > 0);
  made.dispose();
});

test("36: a manager that nothing was done to goes on as it is", async () => {
  const pipelineStages = ["to_edge", "edge_program_manager_transform", "to_backend"];
  const made = session({ pipelineStages });
  await made.run();
  const data = pipelineStages.map((name) => made.getStageArtifacts()[name]!.data);
  assert.equal(data[1], data[0]);
  assert.equal(data[2], data[0]);
  // Objects that stages share are disposed once.
  made.dispose();
  assert.equal(failure(() => (data[0] as EdgeProgramManager).inspect()).code, "disposed");
});

// --- Stages of one's own ---------------------------------------------------------------------------

test("32: a stage of one's own stands between others, and context travels through", async () => {
  const seen: unknown[] = [];
  const made = engine.createExportSession(file("mlp"), {
    recipe: { pipelineStages: ["to_edge_transform_and_lower", "count", "to_executorch"] },
    name: "mine",
    constantMethods: { get_n: 3 },
  });
  made.registerStage("count", {
    validPredecessors: ["to_edge_transform_and_lower"],
    validSuccessors: ["to_executorch"],
    canStartPipeline: false,
    run: (artifact) => {
      const { sessionName, constantMethods, exampleInputs } = artifact.context;
      seen.push(sessionName, constantMethods, exampleInputs["forward"]!.length);
      const next = artifact.copyWithNewData(artifact.data);
      next.addContext(
        "nodes",
        (artifact.data as EdgeProgramManager).exportedProgram().nodes().length,
      );
      return Promise.resolve(next);
    },
  });
  await made.run();
  assert.deepEqual(seen, ["mine", { get_n: 3 }, 1]);
  const { to_executorch: last } = made.getStageArtifacts();
  assert.equal(
    last!.context["nodes"],
    made.getEdgeProgramManager().exportedProgram().nodes().length,
  );
  made.dispose();
});

test("35: stages can be replaced, and are told of", async () => {
  const made = session({ pipelineStages: ["to_edge"] });
  const first = made.getRegisteredStage("to_edge")!;
  assert.deepEqual([...first.validPredecessors], FOLLOWS["to_edge"]);
  assert.equal(first.canStartPipeline, true);
  let runs = 0;
  const own: Stage = {
    ...first,
    run: (artifact, call) => {
      runs++;
      return first.run(artifact, call);
    },
  };
  made.registerStage("to_edge", own);
  assert.equal(made.getRegisteredStage("to_edge"), own);
  assert.equal(made.getAllRegisteredStages()["to_edge"], own);
  assert.equal(made.getRegisteredStage("nothing"), undefined);
  assert.equal(made.getRegisteredStage("toString"), undefined);
  await made.run();
  assert.equal(runs, 1);
  // Another session has its own.
  assert.notEqual(session({}).getRegisteredStage("to_edge"), own);
  made.dispose();
});

test("35: what is no stage is refused", () => {
  const made = session({});
  const right: Stage = { validPredecessors: [], canStartPipeline: true, run: (a) => a };
  for (const wrong of [
    null,
    undefined,
    {},
    { ...right, run: 1 },
    { ...right, validPredecessors: "to_edge" },
    { ...right, canStartPipeline: undefined },
    { ...right, validSuccessors: [1] },
  ])
    assert.equal(failure(() => made.registerStage("mine", wrong as never)).code, "argument");
  assert.equal(failure(() => made.registerStage("", right)).code, "argument");
});

test("36: what a stage gives has to be an artifact", async () => {
  for (const wrong of [undefined, null, 3, {}, { data: 1 }]) {
    const made = session({ pipelineStages: ["mine"] });
    made.registerStage("mine", {
      validPredecessors: [],
      canStartPipeline: true,
      run: () => wrong as unknown as PipelineArtifact,
    });
    const { code, message } = await rejected(() => made.run());
    assert.equal(code, "argument");
    assert.match(message, /what stage 'mine' gives must be an artifact/);
  }
});

test("36: what a stage of one's own throws comes out as it is", async () => {
  const made = session({ pipelineStages: ["mine"] });
  const mine = new Error("mine");
  made.registerStage("mine", {
    validPredecessors: [],
    canStartPipeline: true,
    run: () => Promise.reject(mine),
  });
  await assert.rejects(made.run(), (error) => error === mine);
});
