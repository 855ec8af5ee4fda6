// Recipes by name, those who make them, and what a recipe may hold. The numbered names are behaviours
// that the official recipes have tests of their own for.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  createEngine,
  ExportRecipe,
  RecipeRegistry,
  XNNPackRecipeType,
  type BackendRecipeProvider,
  type RecipeOptions,
} from "sconce";
import { failure, file } from "../setup/failure.js";

const XNNPACK = { loweringRecipe: { partitioners: ["xnnpack"] } };
const quantizer = (isPerChannel: boolean, isDynamic: boolean): object => ({
  quantizationRecipe: { quantizers: [{ kind: "xnnpack", isPerChannel, isDynamic }] },
  ...XNNPACK,
});
const weights = (aoBaseConfig: object): object => ({
  quantizationRecipe: { aoQuantizationConfigs: [{ aoBaseConfig }] },
  ...XNNPACK,
});
const DYNAMIC_INT4 = "int8_dynamic_activation_int4_weight";

const NAMED: readonly (readonly [name: string, means: object])[] = [
  ["portable", {}],
  ["xnnpack_fp32", XNNPACK],
  ["xnnpack_pt2e_int8_dynamic_per_channel", quantizer(true, true)],
  ["xnnpack_pt2e_int8_static_per_channel", quantizer(true, false)],
  ["xnnpack_pt2e_int8_static_per_tensor", quantizer(false, false)],
  ["xnnpack_torchao_int8da_int4w_per_channel", weights({ kind: DYNAMIC_INT4 })],
  ["xnnpack_torchao_int8da_int4w_per_tensor", weights({ kind: DYNAMIC_INT4, groupSize: 32 })],
  [
    "sconce_llm_8da4w",
    {
      quantizationRecipe: {
        aoQuantizationConfigs: [
          { aoBaseConfig: { kind: DYNAMIC_INT4, groupSize: 32 }, layers: "linear" },
          { aoBaseConfig: { kind: "int8_weight_only" }, layers: "embeddings" },
        ],
      },
      loweringRecipe: { partitioners: ["xnnpack"], edgeCompileConfig: { float32: true } },
    },
  ],
  ["sconce_int8_weight_only", weights({ kind: "int8_weight_only" })],
  ["sconce_int4_weight_only", weights({ kind: "int4_weight_only", groupSize: 32 })],
  ["sconce_fp16_weights", weights({ kind: "fp16_weights" })],
];

for (const [name, means] of NAMED)
  test(`37: the recipe ${name} is data`, () =>
    assert.deepEqual(ExportRecipe.getRecipe(name), { name, ...means }));

test("37: the names that there are, by backend", () => {
  const registry = RecipeRegistry.shared;
  assert.deepEqual(
    registry.getSupportedRecipes(),
    NAMED.map(([name]) => name),
  );
  assert.deepEqual(registry.listBackends(), ["portable", "xnnpack", "sconce"]);
  assert.deepEqual(registry.getSupportedRecipes("xnnpack"), Object.values(XNNPackRecipeType));
});

test("37: a recipe that is not supported names those that are", () => {
  const unknown = failure(() => ExportRecipe.getRecipe("coreml_fp32"));
  assert.equal(unknown.code, "not_found");
  assert.match(unknown.hint, /portable, xnnpack_fp32, .*sconce_fp16_weights\.$/);
  const registry = RecipeRegistry.shared;
  const other = failure(() => registry.createRecipe("portable", "xnnpack"));
  assert.equal(other.message, "there is no recipe 'portable' of backend 'xnnpack'");
  assert.doesNotMatch(other.hint, /portable/);
  assert.equal(registry.createRecipe("portable", "portable").name, "portable");
  for (const type of [undefined, null, 3, {}, ["xnnpack_fp32"]]) {
    const { code, message } = failure(() => ExportRecipe.getRecipe(type as string));
    assert.equal(code, "argument");
    assert.match(message, /the type of a recipe must be the name of one/);
  }
});

test("37: a backend without recipes names those that have some", () => {
  const registry = RecipeRegistry.shared;
  for (const call of [
    () => registry.createRecipe("qnn_fp16", "qnn"),
    () => registry.getSupportedRecipes("qnn"),
  ]) {
    const { code, message, hint } = failure(call);
    assert.equal(code, "not_found");
    assert.equal(message, "there are no recipes of a backend 'qnn'");
    assert.equal(hint, "Use one of: portable, xnnpack, sconce.");
  }
});

test("37: options are taken by the recipes that have them, and by no others", () => {
  for (const name of ["xnnpack_torchao_int8da_int4w_per_tensor", "sconce_int4_weight_only"]) {
    const { quantizationRecipe } = ExportRecipe.getRecipe(name, { groupSize: 128 });
    const { aoQuantizationConfigs } = quantizationRecipe as {
      aoQuantizationConfigs: { aoBaseConfig: { groupSize: number } }[];
    };
    assert.equal(aoQuantizationConfigs[0]!.aoBaseConfig.groupSize, 128);
    for (const groupSize of [
      "32",
      -32,
      31,
      33,
      32.5,
      2 ** 20 + 32,
      2 ** 40,
      NaN,
      Infinity,
      null,
      true,
    ]) {
      const options = { groupSize } as unknown as RecipeOptions;
      const { code, message } = failure(() => ExportRecipe.getRecipe(name, options));
      assert.equal(code, "option", String(groupSize));
      assert.match(message, /'groupSize' of recipe '\w+' must be a multiple of 32 up to 1048576/);
    }
    const misspelt = { group_size: 32 } as RecipeOptions;
    assert.match(failure(() => ExportRecipe.getRecipe(name, misspelt)).hint, /'groupSize'/);
  }
  for (const [name, kind] of [
    ["xnnpack_torchao_int8da_int4w_per_tensor", DYNAMIC_INT4],
    ["sconce_int4_weight_only", "int4_weight_only"],
  ] as const)
    assert.deepEqual(ExportRecipe.getRecipe(name, { groupSize: 0 }), {
      name,
      ...weights({ kind }),
    });
  const bits = { embeddingBits: 2 } as unknown as RecipeOptions;
  const wrong = failure(() => ExportRecipe.getRecipe("sconce_llm_8da4w", bits));
  assert.match(wrong.message, /'embeddingBits' of recipe 'sconce_llm_8da4w' must be 4 or 8/);
  for (const name of ["portable", "xnnpack_fp32", "xnnpack_torchao_int8da_int4w_per_channel"]) {
    const { code, message } = failure(() => ExportRecipe.getRecipe(name, { groupSize: 32 }));
    assert.equal(code, "option");
    assert.equal(message, `recipe '${name}' has no options, and was given 'groupSize'`);
  }
  assert.equal(failure(() => ExportRecipe.getRecipe("portable", 3 as never)).code, "argument");
});

test("37: recipes come out anew each time", () => {
  const [first, second] = [1, 2].map(() => ExportRecipe.getRecipe("xnnpack_fp32"));
  assert.deepEqual(first, second);
  assert.notEqual(first, second);
});

test("a recipe says which options it has, and takes those alone", () => {
  const registry = RecipeRegistry.shared;
  const grouped = ["xnnpack_torchao_int8da_int4w_per_tensor", "sconce_int4_weight_only"];
  for (const name of registry.getSupportedRecipes()) {
    const options = registry.getSupportedOptions(name);
    const expected = grouped.includes(name)
      ? ["groupSize"]
      : name === "sconce_llm_8da4w"
        ? ["groupSize", "embeddingBits"]
        : [];
    assert.deepEqual(options, expected, name);
    const make = (): ExportRecipe => registry.createRecipe(name, undefined, { groupSize: 64 });
    if (options.length > 0) assert.notDeepEqual(make(), registry.createRecipe(name));
    else assert.equal(failure(make).code, "option", name);
  }
  for (const name of ["no_such_recipe", "toString"])
    assert.equal(failure(() => registry.getSupportedOptions(name)).code, "not_found");
  assert.equal(failure(() => registry.getSupportedOptions("portable", "qnn")).code, "not_found");
});

// --- Those who make them ---------------------------------------------------------------------------

const mine: BackendRecipeProvider = {
  backendName: "mine",
  getSupportedRecipes: () => ["mine_fast", "mine_odd", "mine_none"],
  createRecipe: (type, options) => {
    if (type === "mine_none") return null;
    if (type === "mine_odd") return { partitioner: "xnnpack" } as never;
    return { name: type, mode: options["debug"] ? "debug" : "release" };
  },
};

test("37: recipes of one's own", () => {
  const registry = new RecipeRegistry([mine]);
  assert.deepEqual(registry.listBackends(), ["mine"]);
  assert.equal(registry.createRecipe("mine_fast").mode, "release");
  const debug = { debug: true } as unknown as RecipeOptions;
  assert.equal(registry.createRecipe("mine_fast", "mine", debug).mode, "debug");
  assert.equal(failure(() => registry.createRecipe("mine_none")).code, "not_found");
  const odd = failure(() => registry.createRecipe("mine_odd"));
  assert.equal(odd.message, "recipe 'mine_odd' has no option 'partitioner'");
  assert.ok(!RecipeRegistry.shared.listBackends().includes("mine"));
  registry.registerBackendRecipeProvider({
    ...mine,
    getSupportedRecipes: () => ["mine_fast"],
  });
  assert.deepEqual(registry.getSupportedRecipes("mine"), ["mine_fast"]);
});

test("a provider says which options its recipes have, whether or not they can be made", () => {
  const grouped = { ...mine, getSupportedOptions: () => ["groupSize"] };
  assert.deepEqual(new RecipeRegistry([grouped]).getSupportedOptions("mine_odd"), ["groupSize"]);
  assert.deepEqual(new RecipeRegistry([mine]).getSupportedOptions("mine_fast"), []);
});

test("37: a provider may be a class, and what is none is refused", () => {
  class Provider implements BackendRecipeProvider {
    readonly backendName = "class";
    getSupportedRecipes(): string[] {
      return ["class_one"];
    }
    createRecipe(type: string): ExportRecipe {
      return { name: `${type} of ${this.backendName}` };
    }
  }
  const registry = new RecipeRegistry([new Provider()]);
  assert.equal(registry.createRecipe("class_one").name, "class_one of class");
  for (const wrong of [
    null,
    {},
    { ...mine, backendName: "" },
    { ...mine, createRecipe: 1 },
    { ...mine, getSupportedOptions: 1 },
  ])
    assert.equal(failure(() => new RecipeRegistry([wrong as never])).code, "argument");
});

test("the registry is the one that sessions ask", async () => {
  RecipeRegistry.shared.registerBackendRecipeProvider({
    backendName: "shared",
    getSupportedRecipes: () => ["shared_debug"],
    createRecipe: (name) => ({ name, mode: "debug" }),
  });
  const engine = await createEngine();
  const session = engine.createExportSession(file("mlp"), { recipe: "shared_debug" });
  await session.run();
  const { context } = Object.values(session.getStageArtifacts())[0]!;
  assert.deepEqual(context.exportRecipe, { name: "shared_debug", mode: "debug" });
  engine.dispose();
});

// --- Members of a recipe ---------------------------------------------------------------------------

const given = (recipe: unknown): { code: string; message: string } =>
  failure(() => ExportRecipe.combine([recipe as ExportRecipe]));

test("6.3: what is no recipe is refused", () => {
  for (const wrong of [null, 3, "xnnpack_fp32", [], new Map()])
    assert.equal(given(wrong).code, "argument", String(wrong));
  for (const [recipe, text] of [
    [{ quantization: {} }, /no option 'quantization'/],
    [{ mode: "fast" }, /'mode' of recipes\[0\] must be "debug" or "release"/],
    [{ pipelineStages: [] }, /'pipelineStages' .* a list of stages that is not empty/],
    [{ pipelineStages: [3] }, /'pipelineStages'/],
    [{ atenTransformPasses: ["noops"] }, /a list of functions that give passes/],
    [{ loweringRecipe: { partitioners: 7 } }, /'partitioners' of loweringRecipe .* a backend's id/],
    [{ loweringRecipe: { edgeTransformPasses: [1] } }, /'edgeTransformPasses' of loweringRecipe/],
    [{ loweringRecipe: { edgeManagerTransformPasses: {} } }, /'edgeManagerTransformPasses'/],
    [{ loweringRecipe: { edgeCompileConfig: { snapshots: 1 } } }, /'snapshots'/],
    [{ executorchBackendConfig: { memoryPlaning: "greedy" } }, /no option 'memoryPlaning'/],
    [{ quantizationRecipe: { quantizer: [] } }, /no option 'quantizer'/],
    [{ quantizationRecipe: { quantizers: [{ kind: "qnn" }] } }, /'kind' of quantizers\[0\]/],
    [{ quantizationRecipe: { quantizers: [{}] } }, /'kind' of quantizers\[0\]/],
    // A quantizer in place of the list of them, and not a method of that name.
    [{ quantizationRecipe: { quantizers: { isQat: false } } }, /'quantizers' .* must be a list/],
    [{ quantizationRecipe: { trainFn: null } }, /'trainFn' .* must be a function/],
    [{ quantizationRecipe: { decode: { isQat: 1 } } }, /'isQat' .* for method 'decode'/],
    [
      { quantizationRecipe: { aoQuantizationConfigs: [{ aoBaseConfig: { kind: "int2" } }] } },
      /'kind' of 'aoBaseConfig'/,
    ],
    [
      {
        quantizationRecipe: {
          aoQuantizationConfigs: [{ aoBaseConfig: { kind: "int4_weight_only", groupSize: 5 } }],
        },
      },
      /must be a multiple of 32/,
    ],
    [
      {
        quantizationRecipe: {
          aoQuantizationConfigs: [{ aoBaseConfig: { kind: "fp16_weights", groupSize: 32 } }],
        },
      },
      /no option 'groupSize'/,
    ],
    [{ quantizationRecipe: { aoQuantizationConfigs: [{}] } }, /'aoBaseConfig'/],
  ] as const) {
    const { code, message } = given(recipe);
    assert.ok(["option", "argument"].includes(code), message);
    assert.match(message, text);
  }
});
