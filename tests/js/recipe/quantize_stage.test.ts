// The quantize stage: what a recipe asks of it, what it refuses, and how what it makes goes on. The
// numbered names are behaviours that the official stage has tests of its own for.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  createEngine,
  tensor,
  type Engine,
  type ExportOptions,
  type ExportRecipe,
  type ExportSession,
  type InputTuple,
  type OpenedPrograms,
  type QuantizationRecipe,
  type QuantizationReport,
  type SconceError,
} from "sconce";
import { file } from "../setup/failure.js";
import { readCases } from "../setup/reference.js";
import { rejected } from "../setup/rejected.js";
import { withoutExamples } from "../setup/zip.js";

let engine: Engine;
before(async () => (engine = await createEngine()));
after(() => engine.dispose());

const STATIC = { quantizers: [{ kind: "xnnpack", isPerChannel: true }] } as const;
const DYNAMIC = { quantizers: [{ kind: "xnnpack", isDynamic: true }] } as const;
const WEIGHTS = {
  aoQuantizationConfigs: [{ aoBaseConfig: { kind: "int8_weight_only" } }],
} as const;

const both = (): Record<string, { path: string }> => ({
  encode: file("encdec.encode"),
  decode: file("encdec.decode"),
});

/** The error of a recipe in the stage alone. */
async function failed(
  quantizationRecipe: ExportRecipe["quantizationRecipe"],
  programs: Parameters<Engine["export"]>[0] = file("mlp"),
  options: Partial<ExportOptions> = {},
): Promise<SconceError> {
  const recipe = { quantizationRecipe: quantizationRecipe!, pipelineStages: ["quantize"] };
  return rejected(() => engine.export(programs, { ...options, recipe }));
}

/** Names of the nodes that the stage quantizes, "method: node". */
async function quantized(
  quantizationRecipe: ExportRecipe["quantizationRecipe"],
  programs: Parameters<Engine["export"]>[0] = file("mlp"),
  options: Partial<ExportOptions> = {},
): Promise<string[]> {
  const recipe = { quantizationRecipe: quantizationRecipe!, pipelineStages: ["quantize"] };
  const session = await engine.export(programs, { ...options, recipe });
  const { methods } = session.quantizationReport()!;
  session.dispose();
  return Object.entries(methods).flatMap(([method, { nodes }]) =>
    nodes.filter(({ isQuantized }) => isQuantized).map(({ node }) => `${method}: ${node}`),
  );
}

const LINEARS = ["forward: linear", "forward: linear_1", "forward: linear_2"];

test("36: without a quantization the stage passes on what it is given", async () => {
  const session = await engine.export(both(), {
    recipe: { pipelineStages: ["quantize", "to_edge_transform_and_lower", "to_executorch"] },
  });
  const lowered = engine.lower(both());
  assert.deepEqual(session.getPteBuffer(), lowered.buffer);
  assert.equal(session.quantizationReport(), null);
  for (const owner of [session, lowered]) owner.dispose();
  const plain = await engine.export(both(), {
    recipe: { pipelineStages: ["quantize"], quantizationRecipe: { encode: null } },
  });
  plain.dispose();
});

test("36: which quantizers make a recipe", async () => {
  for (const [recipe, text] of [
    [{}, /^there is no quantizer, and no aoQuantizationConfig$/],
    [{ quantizers: [] }, /^there is no quantizer/],
    [{ dynamicBatchSize: false }, /^there is no quantizer/],
    [{ ...STATIC, trainFn: () => 1 }, /^trainFn has no effect without isQat$/],
  ] as const) {
    const { code, message, method, hint } = await failed(recipe);
    assert.equal(code, "argument");
    assert.match(message, text);
    assert.equal(method, "forward");
    assert.notEqual(hint, "");
  }
  for (const recipe of [
    STATIC,
    DYNAMIC,
    WEIGHTS,
    { quantizers: [...STATIC.quantizers, ...DYNAMIC.quantizers] },
    { ...DYNAMIC, ...WEIGHTS },
  ])
    assert.deepEqual(await quantized(recipe), LINEARS);
});

test("36: training is Python's, and the error says how", async () => {
  const { code, message, hint } = await failed({ ...STATIC, isQat: true, trainFn: () => 1 });
  assert.equal(code, "unsupported");
  assert.equal(message, "an exported program cannot be trained");
  assert.match(hint, /prepare_qat_pt2e/);
});

test("6.3: a hook that fails is named, and its passes have to be there", async () => {
  const mine = new Error("mine");
  const fails = (): never => {
    throw mine;
  };
  for (const hook of [
    "prePreparePasses",
    "postPreparePasses",
    "preConvertPasses",
    "postConvertPasses",
  ]) {
    const broken = await failed({ ...STATIC, [hook]: [() => [], fails] });
    assert.equal(broken.code, "argument");
    assert.equal(broken.message, `${hook}[1] of method 'forward' failed: mine`);
    assert.equal(broken.cause, mine);
    const number = await failed({ ...STATIC, [hook]: [() => 3 as never] });
    assert.match(number.message, new RegExp(`^what ${hook}\\[0\\] .* must be a list of names`));
    assert.ok((await quantized({ ...STATIC, [hook]: [() => []] })).length > 0);
    const unknown = await failed({ ...STATIC, [hook]: [() => ["nonsense"]] });
    assert.equal(unknown.code, "not_found");
  }
});

test("37b: what is wrong is told of its method, and only methods that are named are quantized", async () => {
  const { method } = await failed({ decode: {}, encode: null }, both());
  assert.equal(method, "decode");
  const methodsOf = async (recipe: ExportRecipe["quantizationRecipe"]): Promise<string[]> => [
    ...new Set((await quantized(recipe, both())).map((name) => name.split(":")[0]!)),
  ];
  assert.deepEqual(await methodsOf({ decode: STATIC }), ["decode"]);
  assert.deepEqual(await methodsOf(STATIC), ["encode", "decode"]);
  for (const forward of [STATIC, null]) {
    const unknown = await failed({ forward, decode: STATIC }, both());
    assert.equal(unknown.code, "not_found");
    assert.match(unknown.message, /'quantizationRecipe' names an unknown method 'forward'/);
  }
});

// --- Calibration -----------------------------------------------------------------------------------

test("36: calibration needs calls, and what needs none takes none", async () => {
  const asked: string[] = [];
  const calibrationInputsFn = (method: string): InputTuple[] => {
    asked.push(method);
    return readCases("mlp").map(({ inputs }) => inputs);
  };
  assert.deepEqual(await quantized({ ...STATIC, calibrationInputsFn }), LINEARS);
  assert.deepEqual(asked, ["forward"]);
  for (const recipe of [DYNAMIC, WEIGHTS]) {
    const found = await quantized({ ...recipe, calibrationInputsFn }, withoutExamples("mlp"));
    assert.deepEqual(found, LINEARS);
  }
  assert.deepEqual(asked, ["forward"]);
});

test("6.3: calibration that is none is refused", async () => {
  for (const [programs, options] of [
    [withoutExamples("mlp"), {}],
    [file("mlp"), { exampleInputs: [] }],
    [file("mlp"), { exampleInputs: { forward: [] } }],
  ] as const) {
    const { code, message, method } = await failed(STATIC, programs, options);
    assert.equal(code, "input");
    assert.equal(
      message,
      "the example inputs of method 'forward' are missing, so calibration has no data",
    );
    assert.equal(method, "forward");
  }
  const mine = new Error("mine");
  const broken = await failed({
    ...STATIC,
    calibrationInputsFn: () => {
      throw mine;
    },
  });
  assert.equal(broken.code, "argument");
  assert.equal(broken.message, "calibrationInputsFn of method 'forward' failed: mine");
  assert.equal(broken.cause, mine);
  const number = await failed({ ...STATIC, calibrationInputsFn: () => 3 as never });
  assert.match(number.message, /calibrationInputsFn of method 'forward' gives must be an iterable/);
});

test("6.3: calibration that does not fit is told by method, call and input", async () => {
  const x = tensor(new Float32Array(64), [4, 16]);
  const wide = tensor(new Float32Array(68), [4, 17]);
  const double = tensor(new Float64Array(64), [4, 16]);
  const second = "call 1 of the calibration inputs of method 'forward'";
  for (const [calls, code, text] of [
    [
      [[x], [wide]],
      "input",
      `input 0 ('x') of ${second} is a float32 tensor [4, 17], not a float32`,
    ],
    [
      [[x], [double]],
      "input",
      `input 0 ('x') of ${second} is a float64 tensor [4, 16], not a float`,
    ],
    [[[x], [x, x]], "input", `${second} has 2 values, and method 'forward' takes 1`],
    [[[x], []], "input", `${second} has 0 values, and method 'forward' takes 1`],
    [[[x], x], "argument", `${second} must be a list with a value for each input`],
    [[], "input", "the calibration inputs of method 'forward' are empty: there is no call to run"],
  ] as const) {
    const given = await failed({ ...STATIC, calibrationInputsFn: () => calls as never });
    assert.equal(given.code, code, given.message);
    assert.ok(given.message.startsWith(text), given.message);
    assert.notEqual(given.hint, "");
  }
  const mine = new Error("mine");
  const breaks = function* (): Generator<InputTuple> {
    yield [x];
    throw mine;
  };
  const broken = { quantizationRecipe: { ...STATIC, calibrationInputsFn: breaks } };
  await assert.rejects(engine.export(file("mlp"), { recipe: broken }), (error) => error === mine);
  assert.deepEqual(await quantized(STATIC), LINEARS);
});

test("6.3: numbers that say no range are told by node, and odd ones in the notes", async () => {
  const filled = (x: number): InputTuple => [tensor(new Float32Array(64).fill(x), [4, 16])];
  const some = new Float32Array(64);
  some[5] = Infinity;
  const run = async (exampleInputs: InputTuple[]): Promise<string[]> => {
    const recipe = { quantizationRecipe: STATIC, pipelineStages: ["quantize"] };
    const session = await engine.export(file("mlp"), { recipe, exampleInputs });
    const { notes } = session.quantizationReport()!.methods["forward"]!;
    session.dispose();
    return notes;
  };
  for (const [value, text] of [
    [NaN, "call 0: 'x' was NaN during calibration; NaN is in input 0 of the call"],
    [-Infinity, "call 0: 'x' was infinite in every call of the calibration"],
  ] as const) {
    const { code, message, method, node, hint } = await rejected(() => run([filled(value)]));
    assert.deepEqual([code, message, method, node], ["numeric", text, "forward", "linear"]);
    assert.match(hint, /calls of the calibration. If they are right, skip the layers/);
  }
  assert.deepEqual(await run([filled(0)]), [
    "'x' was 0 in all of calibration: its scale is the smallest",
  ]);
  assert.match((await rejected(() => run([[tensor(some, [4, 16])]]))).message, /was NaN/);
});

test("6.3: batches of other sizes need a program that leaves them open", async () => {
  const recipe: QuantizationRecipe = { ...STATIC, dynamicBatchSize: true };
  assert.ok((await quantized(recipe, file("mlp_dyn"))).length > 0);
  const { code, message, hint, method } = await failed(recipe);
  assert.equal(code, "argument");
  assert.match(message, /^dynamicBatchSize: method 'forward' was exported for 4 as dimension 0 of/);
  assert.match(hint, /dynamic_shapes=\{"x": \{0: torch\.export\.Dim\("batch", min=1\)\}\}/);
  assert.equal(method, "forward");
});

test("a filter is asked for every node of a configuration's method", async () => {
  const asked = new Set<string>();
  const filterFn = ({ op }: { op: string }, fqn: string): boolean => {
    asked.add(`${op} ${fqn}`);
    return fqn !== "fc1";
  };
  const configs = [{ ...WEIGHTS.aoQuantizationConfigs[0], filterFn }];
  assert.deepEqual(await quantized({ aoQuantizationConfigs: configs }), LINEARS.slice(1));
  assert.ok(asked.has("aten::linear fc1"));
  assert.ok(asked.has("aten::linear fc3"));
});

// --- Results ---------------------------------------------------------------------------------------

/** A stage in its place, which gives another program than it got. */
function withOwn(session: ExportSession, report: QuantizationReport): ExportSession {
  const own = session.getRegisteredStage("quantize")!;
  session.registerStage("quantize", {
    ...own,
    run: (artifact, call) => {
      assert.deepEqual((artifact.data as OpenedPrograms).methods, ["forward"]);
      const made = artifact.copyWithNewData(engine.open(file("quantized_mlp"), call));
      made.addContext("quantizationReport", report);
      return made;
    },
  });
  return session;
}

test("32: what the stage makes is what is lowered, recorded and reported", async () => {
  const report: QuantizationReport = {
    methods: {
      forward: {
        calibrationBatches: 2,
        bytesBefore: 8,
        bytesAfter: 2,
        notes: [],
        nodes: [],
        ranges: [],
        outputs: [],
      },
    },
    qparams: [],
  };
  const session = withOwn(
    engine.createExportSession(file("mlp"), {
      recipe: "xnnpack_pt2e_int8_static_per_channel",
      generateEtrecord: true,
    }),
    report,
  );
  await session.run();
  assert.deepEqual(Object.keys(session.getStageArtifacts()), [
    "quantize",
    "to_edge_transform_and_lower",
    "to_executorch",
  ]);
  const lowered = engine.lower(file("quantized_mlp"), { partitioner: ["xnnpack"] });
  assert.deepEqual(session.getPteBuffer(), lowered.buffer);
  assert.match(session.getExportedProgram().text(), /quantize_per_tensor/);
  assert.match(session.getEtrecord().exportedProgram!.text(), /quantize_per_tensor/);
  assert.deepEqual(session.quantizationReport(), report);
  const { data } = session.getStageArtifacts()["quantize"]!;
  session.dispose();
  assert.throws(() => (data as OpenedPrograms).inspect(), { code: "disposed" });
  lowered.dispose();
});

test("32: example inputs are those of the program that was given", async () => {
  const x = tensor(new Float32Array(64).fill(1), [4, 16]);
  const session = withOwn(
    engine.createExportSession(file("mlp"), {
      recipe: { ...{ quantizationRecipe: STATIC } },
      exampleInputs: [[x]],
    }),
    { methods: {}, qparams: [] },
  );
  await session.run();
  assert.deepEqual(session.getExampleInput(), [x]);
  session.dispose();
});
