// Several recipes as one: what is joined, what has to agree, and that nothing gets lost. The numbered
// names are behaviours that the official recipes have tests of their own for.
import assert from "node:assert/strict";
import { test } from "node:test";
import { combineRecipes, ExportRecipe, type InputTuple, type QuantizationRecipe } from "sconce";
import { failure } from "../setup/failure.js";

const named = (name: string, recipe: ExportRecipe = {}): ExportRecipe => ({ name, ...recipe });
const pass =
  (...names: string[]) =>
  (): string[] =>
    names;

const conflicts = (a: ExportRecipe, b: ExportRecipe, text: RegExp): void => {
  for (const pair of [
    [named("a", a), named("b", b)],
    [named("b", b), named("a", a)],
  ]) {
    const { code, message, hint } = failure(() => combineRecipes(pair));
    assert.equal(code, "argument");
    assert.match(message, text);
    assert.match(message, /recipe '[ab]' and recipe '[ab]' cannot be combined/);
    assert.notEqual(hint, "");
  }
};

test("37b: none is an error, and one is given back as it is", () => {
  assert.equal(failure(() => combineRecipes([])).code, "argument");
  assert.equal(failure(() => combineRecipes(undefined as never)).code, "argument");
  const recipe = named("one", { atenTransformPasses: [] });
  assert.equal(combineRecipes([recipe], "other"), recipe);
  assert.equal(ExportRecipe.combine, combineRecipes);
});

test("37b: passes, partitioners and quantizers are joined in order", () => {
  const passes = [pass("noops"), pass("dce"), pass("strides"), pass("promote")];
  const [a, b, c, d] = passes as [() => string[], () => string[], () => string[], () => string[]];
  const first = named("first", {
    atenTransformPasses: [a],
    loweringRecipe: { partitioners: "null", edgeTransformPasses: [b] },
    quantizationRecipe: { quantizers: [{ kind: "xnnpack", isPerChannel: true }] },
  });
  const second = named("second", {
    atenTransformPasses: [c],
    loweringRecipe: {
      partitioners: [{ backend: "xnnpack" }],
      edgeTransformPasses: [a],
      edgeManagerTransformPasses: [d],
    },
    quantizationRecipe: { aoQuantizationConfigs: [{ aoBaseConfig: { kind: "fp16_weights" } }] },
  });
  assert.deepEqual(combineRecipes([first, second]), {
    name: "first_second",
    atenTransformPasses: [a, c],
    loweringRecipe: {
      partitioners: ["null", { backend: "xnnpack" }],
      edgeTransformPasses: [b, a],
      edgeManagerTransformPasses: [d],
    },
    quantizationRecipe: {
      quantizers: [{ kind: "xnnpack", isPerChannel: true }],
      aoQuantizationConfigs: [{ aoBaseConfig: { kind: "fp16_weights" } }],
    },
  });
  assert.equal(combineRecipes([first, second], "both").name, "both");
  assert.equal(combineRecipes([{}, named("x"), {}, named("y")]).name, "x_y");
});

test("37b: what is empty is left out", () => {
  const empty: ExportRecipe = {
    atenTransformPasses: [],
    quantizationRecipe: { quantizers: [], prePreparePasses: [] },
    loweringRecipe: { partitioners: [], edgeTransformPasses: [] },
  };
  assert.deepEqual(combineRecipes([empty, empty]), {});
});

// --- Members that have to agree --------------------------------------------------------------------

test("37b: scalars must agree, and defaults count as values", () => {
  for (const [key, value, fallback] of [
    ["strict", false, true],
    ["mode", "debug", "release"],
    ["sourceTransformInPlace", true, false],
  ] as const) {
    const one = { [key]: value } as ExportRecipe;
    assert.deepEqual(combineRecipes([one, one]), one);
    const same = { [key]: fallback } as ExportRecipe;
    assert.deepEqual(combineRecipes([{}, same]), same);
    conflicts(one, same, new RegExp(`${key} is .+ in one and .+ in the other`));
    conflicts(one, {}, new RegExp(key));
  }
});

test("37b: stages must agree", () => {
  const pipelineStages = ["to_edge", "to_backend", "to_executorch"];
  const one = { pipelineStages };
  assert.deepEqual(combineRecipes([one, { pipelineStages: [...pipelineStages] }]), one);
  conflicts(one, { pipelineStages: ["to_edge_transform_and_lower"] }, /pipelineStages/);
  conflicts(one, {}, /pipelineStages is .*nothing/);
});

test("37b: compile configurations must agree by value, and say in which field they do not", () => {
  const of = (edgeCompileConfig: object): ExportRecipe => ({
    loweringRecipe: { edgeCompileConfig },
  });
  const shapes = { dynamicShapes: { s0: { max: 3 }, "x.1": { max: 4 } } };
  const same = { dynamicShapes: { "x.1": { max: 4 }, s0: { max: 3 } }, snapshots: false };
  const made = combineRecipes([of(shapes), of(same)]);
  assert.deepEqual(made, of(shapes));
  assert.notEqual(made.loweringRecipe!.edgeCompileConfig, shapes);
  assert.deepEqual(combineRecipes([of(shapes), {}]), of(shapes));
  conflicts(of(shapes), of({}), /'dynamicShapes' of edgeCompileConfig/);
  conflicts(of({ snapshots: true }), of({}), /'snapshots' of edgeCompileConfig is .*(true|false)/);
  conflicts(of(shapes), of({ dynamicShapes: { s0: { max: 3 } } }), /'dynamicShapes'/);
});

test("37b: of backend configurations nothing is dropped", () => {
  const of = (executorchBackendConfig: object): ExportRecipe => ({ executorchBackendConfig });
  const greedy = of({ memoryPlanning: "greedy" });
  const made = combineRecipes([greedy, of({ externalConstants: true, memoryPlanning: "greedy" })]);
  assert.deepEqual(made, of({ memoryPlanning: "greedy", externalConstants: true }));
  conflicts(greedy, of({ memoryPlanning: "naive" }), /'memoryPlanning' of executorchBackendConfig/);
});

// --- By method -------------------------------------------------------------------------------------

test("37b: partitioners by method are joined by method, and not with those of all", () => {
  const of = (partitioners: unknown): ExportRecipe =>
    ({ loweringRecipe: { partitioners } }) as ExportRecipe;
  assert.deepEqual(
    combineRecipes([of({ a: "xnnpack", b: ["null"] }), of({ b: ["xnnpack"], c: [] })]),
    of({ a: ["xnnpack"], b: ["null", "xnnpack"], c: [] }),
  );
  const text = /partitioners are by method in one and for all methods in the other/;
  conflicts(of({ a: "xnnpack" }), of("xnnpack"), text);
  conflicts(of({ backend: ["null"] }), of({ backend: "null" }), text);
});

test("37b: quantization by method is joined by method", () => {
  const dynamic = { quantizers: [{ kind: "xnnpack", isDynamic: true }] } as const;
  const half = { aoQuantizationConfigs: [{ aoBaseConfig: { kind: "fp16_weights" } }] } as const;
  const of = (quantizationRecipe: Record<string, QuantizationRecipe | null>): ExportRecipe => ({
    quantizationRecipe,
  });
  assert.deepEqual(
    combineRecipes([of({ a: dynamic, b: null }), of({ a: half, b: null, c: half })]),
    of({ a: { ...dynamic, ...half }, b: null, c: half }),
  );
  conflicts(of({ a: null }), of({ a: half }), /the quantization of method 'a' is/);
  conflicts(of({ a: half }), { quantizationRecipe: half }, /quantizations are by method in one/);
});

// --- Calibration and training ----------------------------------------------------------------------

test("37b: calibration inputs are chained, asked for in order and only when needed", async () => {
  const asked: string[] = [];
  const of = (name: string): ExportRecipe => ({
    quantizationRecipe: {
      calibrationInputsFn: function* (method): Generator<InputTuple> {
        for (const i of [0, 1]) {
          asked.push(`${name}${i} ${method}`);
          yield [i];
        }
      },
    },
  });
  const only = of("x");
  const single = combineRecipes([only, {}]).quantizationRecipe as QuantizationRecipe;
  assert.equal(
    single.calibrationInputsFn,
    (only.quantizationRecipe as QuantizationRecipe).calibrationInputsFn,
  );
  const { calibrationInputsFn } = combineRecipes([of("a"), {}, of("b")])
    .quantizationRecipe as QuantizationRecipe;
  const calls = calibrationInputsFn!("decode");
  assert.deepEqual(asked, []);
  const values = [];
  for await (const call of calls) values.push(call[0]);
  assert.deepEqual(values, [0, 1, 0, 1]);
  assert.deepEqual(asked, ["a0 decode", "a1 decode", "b0 decode", "b1 decode"]);
});

test("37b: training has one function, and isQat must agree", () => {
  const trainFn = (): void => undefined;
  const of = (quantizationRecipe: QuantizationRecipe): ExportRecipe => ({ quantizationRecipe });
  assert.deepEqual(
    combineRecipes([of({ isQat: true, trainFn }), of({ isQat: true })]),
    of({ isQat: true, trainFn }),
  );
  conflicts(of({ trainFn }), of({ trainFn: () => 1 }), /trainFn is a function in one/);
  conflicts(of({ isQat: true }), of({ dynamicBatchSize: true }), /isQat is (true|false)/);
  // A recipe that quantizes nothing has no say.
  assert.deepEqual(combineRecipes([of({ isQat: true }), {}]), of({ isQat: true }));
});

test("37b: hooks are joined, and one dynamic batch is enough", () => {
  const [a, b, c] = [pass("noops"), pass("dce"), pass("strides")];
  const of = (quantizationRecipe: QuantizationRecipe): ExportRecipe => ({ quantizationRecipe });
  const made = combineRecipes([
    of({ prePreparePasses: [a], preConvertPasses: [b] }),
    of({ prePreparePasses: [c], dynamicBatchSize: true, postConvertPasses: [a] }),
    of({ dynamicBatchSize: false, postPreparePasses: [b] }),
  ]);
  assert.deepEqual(
    made,
    of({
      dynamicBatchSize: true,
      prePreparePasses: [a, c],
      postPreparePasses: [b],
      preConvertPasses: [b],
      postConvertPasses: [a],
    }),
  );
});
