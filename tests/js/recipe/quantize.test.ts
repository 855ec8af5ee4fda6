// Quantizing from end to end: calibrated on calls, lowered, run against the float program.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  createEngine,
  ExportRecipe,
  tensor,
  type Engine,
  type ExportSession,
  type InputTuple,
  type QuantizedNode,
  type Tensor,
  type Value,
} from "sconce";
import { file } from "../setup/failure.js";
import { readCases } from "../setup/reference.js";
import { rejected } from "../setup/rejected.js";

let engine: Engine;
before(async () => (engine = await createEngine()));
after(() => engine.dispose());

const STATIC = "xnnpack_pt2e_int8_static_per_channel";
const quantizer = { kind: "xnnpack", isPerChannel: true } as const;
const portable = (quantizationRecipe: ExportRecipe["quantizationRecipe"]): ExportRecipe => ({
  quantizationRecipe: quantizationRecipe!,
});
const calls = (name: string): InputTuple[] => readCases(name).map(({ inputs }) => inputs);

/** Decibels between two results. */
function snr(expected: Value, found: Value): number {
  const [a, b] = [expected, found].map((value) => Array.from((value as Tensor).data, Number));
  const noise = a!.reduce((sum, x, i) => sum + (x - b![i]!) ** 2, 0);
  return 10 * Math.log10(a!.reduce((sum, x) => sum + x * x, 0) / noise);
}

const nodesOf = (session: ExportSession, method = "forward"): QuantizedNode[] =>
  session.quantizationReport()!.methods[method]!.nodes;
const namesOf = (nodes: readonly QuantizedNode[]): string[] =>
  nodes.filter(({ isQuantized }) => isQuantized).map(({ node }) => node);

test("a calibrated program is small, runs, and is close to the float one", async () => {
  for (const recipe of [STATIC, portable({ quantizers: [quantizer] })]) {
    const session = await engine.export(file("cnn"), { recipe, exampleInputs: calls("cnn") });
    const [expected] = readCases("cnn")[0]!.outputs;
    const [found] = (await session.runMethod("forward", calls("cnn")[0]!)) as Value[];
    assert.ok(snr(expected!, found!) > 35, `${snr(expected!, found!)} dB`);
    const { calibrationBatches, bytesBefore, bytesAfter } =
      session.quantizationReport()!.methods["forward"]!;
    assert.equal(calibrationBatches, calls("cnn").length);
    assert.ok(bytesAfter < bytesBefore / 2);
    session.dispose();
  }
});

test("the report has every tensor's parameters, by the names of the module", async () => {
  const session = await engine.export(file("cnn"), { recipe: STATIC, exampleInputs: calls("cnn") });
  const { methods, qparams } = session.quantizationReport()!;
  const of = (name: string): (typeof qparams)[number] => qparams.find((row) => row.of === name)!;
  assert.equal(of("x").method, "forward");
  assert.equal(typeof of("x").scale, "number");
  const weights = of("c1.weight").scale as number[];
  assert.equal(weights.length, 8);
  assert.ok(weights.every((scale) => scale > 0));
  assert.deepEqual(of("c1.weight").zero_point, Array(8).fill(0));
  // A pool only moves numbers: it has the scale of what it is given.
  assert.equal(of("relu").scale, of("max_pool2d").scale);
  const { ranges, nodes } = methods["forward"]!;
  const range = ranges.find(({ tensors }) => tensors.includes("c1.weight"))!;
  assert.deepEqual([range.isWeight, range.isDynamic, range.axis], [true, false, 0]);
  assert.ok(range.low! < 0 && range.high! > 0);
  assert.ok(nodes.every(({ snr: decibels }) => decibels === undefined));
  session.dispose();
});

test("sensitivity is how far each node is from the float program", async () => {
  const options = { recipe: STATIC, exampleInputs: calls("cnn"), sensitivity: true };
  const session = await engine.export(file("cnn"), options);
  const { nodes, outputs } = session.quantizationReport()!.methods["forward"]!;
  const compared = nodes.filter(({ snr: decibels }) => decibels !== undefined);
  assert.ok(compared.length >= 5);
  assert.ok(compared.every(({ snr: decibels }) => decibels! > 30 && decibels! < 90));
  assert.equal(outputs.length, 1);
  const [expected] = readCases("cnn")[0]!.outputs;
  const [found] = (await session.runMethod("forward", calls("cnn")[0]!)) as Value[];
  assert.ok(Math.abs(outputs[0]!.snr! - snr(expected!, found!)) < 6);
  session.dispose();
});

test("what is skipped stays float, by node, module and operator", async () => {
  const names = async (skip: string[]): Promise<string[]> => {
    const recipe = portable({ quantizers: [{ ...quantizer, skip }] });
    const session = await engine.export(file("mlp"), { recipe });
    const nodes = nodesOf(session);
    session.dispose();
    assert.match(nodes.find(({ isQuantized }) => !isQuantized)!.reason!, /./);
    return namesOf(nodes);
  };
  assert.deepEqual(await names(["fc1"]), ["linear_1", "linear_2"]);
  assert.deepEqual(await names(["=linear"]), ["linear_1", "linear_2"]);
  assert.deepEqual(await names(["linear_*"]), ["linear"]);
  assert.deepEqual(await names(["aten.linear"]), []);
});

test("progress counts the calls that calibrate, and those that are compared", async () => {
  const reported: string[] = [];
  const session = engine.createExportSession(file("mlp"), {
    recipe: portable({ quantizers: [quantizer] }),
    exampleInputs: [calls("mlp")[0]!, calls("mlp")[0]!, calls("mlp")[0]!],
    sensitivity: true,
    onProgress: ({ phase, done, total }) => reported.push(`${phase} ${done} of ${total}`),
  });
  await session.run();
  const counted = reported.filter((line) => /^(calibrate|compare) /.test(line));
  assert.deepEqual(counted, [
    "calibrate 0 of 3",
    "calibrate 1 of 3",
    "calibrate 2 of 3",
    "compare 0 of 2",
    "compare 1 of 2",
  ]);
  session.dispose();
});

test("calibration is cancelled between calls that are there at once", async () => {
  const controller = new AbortController();
  const [call] = calls("mlp");
  const recipe = portable({
    quantizers: [quantizer],
    calibrationInputsFn: function* () {
      for (let i = 0; i < 20_000; i++) yield call!;
    },
  });
  setTimeout(() => controller.abort(), 0);
  const options = { recipe, signal: controller.signal };
  const { code } = await rejected(() => engine.export(file("mlp"), options));
  assert.equal(code, "cancelled");
});

test("numbers that become constants are no weights of a report", async () => {
  const both = { forward: file("pytree_io"), other: file("mlp") };
  const session = await engine.export(both, { recipe: "xnnpack_pt2e_int8_dynamic_per_channel" });
  const { nodes, bytesBefore, bytesAfter } = session.quantizationReport()!.methods["forward"]!;
  assert.deepEqual(namesOf(nodes), []);
  assert.deepEqual([bytesBefore, bytesAfter], [0, 0]);
  session.dispose();
});

test("of several methods those that are named are quantized, and the others are as they were", async () => {
  const both = { encode: file("encdec.encode"), decode: file("encdec.decode") };
  const session = await engine.export(both, {
    recipe: portable({ decode: { quantizers: [quantizer] } }),
  });
  assert.deepEqual(Object.keys(session.quantizationReport()!.methods), ["decode"]);
  const lowered = engine.lower(both);
  const program = engine.load(lowered.buffer);
  for (const name of ["encode", "decode"]) {
    const [inputs] = calls(`encdec.${name}`);
    const [expected] = program.run(name, inputs!);
    const [found] = (await session.runMethod(name, inputs!)) as Value[];
    const decibels = snr(expected!, found!);
    assert.equal(decibels === Infinity, name === "encode", `${name}: ${decibels} dB`);
    assert.ok(decibels > 25);
  }
  for (const owner of [session, lowered, program]) owner.dispose();
});

test("of several quantizers each takes what those before it have left", async () => {
  const dynamic = { kind: "xnnpack", isPerChannel: true, isDynamic: true } as const;
  const recipe = portable({
    quantizers: [
      { ...quantizer, skip: ["fc2", "fc3"] },
      { ...dynamic, skip: ["fc3"] },
    ],
    aoQuantizationConfigs: [{ aoBaseConfig: { kind: "int8_weight_only" } }],
  });
  const session = await engine.export(file("mlp"), { recipe, exampleInputs: calls("mlp") });
  assert.deepEqual(namesOf(nodesOf(session)), ["linear", "linear_1", "linear_2"]);
  const ops = session
    .getExportedProgram()
    .nodes()
    .map(({ op }) => op.replace(/^.*::/, ""));
  const count = (name: string): number => ops.filter((op) => op === name).length;
  assert.deepEqual(
    ["choose_qparams.tensor", "dequantize_affine", "dequantize_per_channel"].map(count),
    [1, 1, 2],
  );
  const [found] = session.runMethod("forward", calls("mlp")[0]!);
  assert.ok(snr(readCases("mlp")[0]!.outputs[0]!, found!) > 25);
  const { notes, calibrationBatches } = session.quantizationReport()!.methods["forward"]!;
  assert.deepEqual([notes, calibrationBatches], [[], calls("mlp").length]);
  session.dispose();
});

test("a quantizer that finds nothing is told, as is what skip names and is not there", async () => {
  const notesOf = async (
    name: string,
    recipe: ExportRecipe["quantizationRecipe"],
  ): Promise<string[]> => {
    const session = await engine.export(file(name), { recipe: portable(recipe) });
    const { notes } = session.quantizationReport()!.methods["forward"]!;
    session.dispose();
    return notes;
  };
  const dynamic = { kind: "xnnpack", isDynamic: true } as const;
  assert.deepEqual(await notesOf("mlp", { quantizers: [quantizer, dynamic] }), [
    "quantization 2 of 2 has no layer left to quantize",
  ]);
  const skip = ["fc1", "fc9", "aten.linear", "=linear_7"];
  assert.deepEqual(await notesOf("mlp", { quantizers: [{ ...quantizer, skip }] }), [
    "skip: 'fc9' matches no node, module or operator",
    "skip: '=linear_7' matches no node, module or operator",
  ]);
});

test("layers in bodies of control flow stay as they are, and are told by name", async () => {
  const alone = await rejected(() => engine.export(file("cond"), { recipe: STATIC }));
  assert.equal(alone.code, "unsupported");
  assert.match(alone.message, /; layers in bodies of control flow are not quantized: true_graph_0/);
  const both = { forward: file("cond"), other: file("mlp") };
  const exampleInputs = { other: calls("mlp") };
  const session = await engine.export(both, { recipe: STATIC, exampleInputs });
  const { notes, nodes } = session.quantizationReport()!.methods["forward"]!;
  const inside = nodes.filter(({ node }) => node.includes("/"));
  assert.ok(inside.some(({ node, op }) => node === "true_graph_0/linear" && /linear/.test(op)));
  for (const { isQuantized, reason } of inside) {
    assert.equal(isQuantized, false);
    assert.equal(reason, "it is in a body of control flow, where weights are operands");
  }
  assert.match(
    notes.join(),
    /^layers in bodies of control flow are not quantized: true_graph_0\/lin/,
  );
  session.dispose();
});

test("what is quantized already is refused", async () => {
  const already = await rejected(() => engine.export(file("quantized_mlp"), { recipe: STATIC }));
  assert.deepEqual([already.code, already.message], ["state", "the program is quantized already"]);
});

test("37: every official recipe quantizes, and is delegated", async () => {
  const [inputs] = calls("tinyformer");
  const float = await engine.export(file("tinyformer"), { recipe: "xnnpack_fp32" });
  const [expected] = float.runMethod("forward", inputs!);
  for (const [recipe, least] of [
    ["xnnpack_pt2e_int8_static_per_tensor", 20],
    ["xnnpack_pt2e_int8_static_per_channel", 20],
    ["xnnpack_pt2e_int8_dynamic_per_channel", 30],
    ["xnnpack_torchao_int8da_int4w_per_channel", 15],
    ["xnnpack_torchao_int8da_int4w_per_tensor", 15],
  ] as const) {
    const options = { recipe, exampleInputs: calls("tinyformer") };
    const session = await engine.export(file("tinyformer"), options);
    const [found] = session.runMethod("forward", inputs!);
    assert.ok(snr(expected!, found!) > least, `${recipe}: ${snr(expected!, found!)} dB`);
    assert.ok(session.delegationInfo().numDelegatedSubgraphs > 0);
    assert.ok(session.getPteBuffer().length < float.getPteBuffer().length * 0.7, recipe);
    session.dispose();
  }
  float.dispose();
});

const GROUPS_OF_BYTES: ExportRecipe = {
  name: "int8 in groups",
  quantizationRecipe: {
    aoQuantizationConfigs: [{ aoBaseConfig: { kind: "int8_weight_only", groupSize: 32 } }],
  },
  loweringRecipe: { partitioners: ["xnnpack"] },
};

test("weights alone, groups of them, and halves", async () => {
  for (const [recipe, least] of [
    ["sconce_int8_weight_only", 40],
    [GROUPS_OF_BYTES, 42],
    [ExportRecipe.getRecipe("sconce_int4_weight_only", { groupSize: 0 }), 15],
    ["sconce_int4_weight_only", 18],
    ["sconce_fp16_weights", 60],
    ["xnnpack_pt2e_int8_dynamic_per_channel", 30],
  ] as const) {
    const name = typeof recipe === "string" ? recipe : recipe.name;
    const session = await engine.export(file("tinyformer"), { recipe });
    const float = await engine.export(file("tinyformer"), { recipe: "xnnpack_fp32" });
    const [inputs] = calls("tinyformer");
    const [expected] = (await float.runMethod("forward", inputs!)) as Value[];
    const [found] = (await session.runMethod("forward", inputs!)) as Value[];
    assert.ok(snr(expected!, found!) > least, `${name}: ${snr(expected!, found!)} dB`);
    assert.ok(session.getPteBuffer().length < float.getPteBuffer().length * 0.7, name);
    for (const owner of [session, float]) owner.dispose();
  }
});

/** The first linear layer has 192 rows of 64 numbers. */
const WEIGHTS = [
  ["sconce_int8_weight_only", { bits: 8, scales: 192 }],
  ["sconce_int4_weight_only", { bits: 4, scales: 384 }],
  ["xnnpack_torchao_int8da_int4w_per_channel", { bits: 4, scales: 192 }],
  ["sconce_fp16_weights", { bits: 16, scales: 0 }],
  ["xnnpack_pt2e_int8_dynamic_per_channel", { bits: 8, scales: 192 }],
] as const;

for (const [recipe, { bits, scales }] of WEIGHTS)
  test(`${recipe}: the report has the weight of each layer, and how far its result is off`, async () => {
    const exampleInputs = calls("tinyformer");
    const session = await engine.export(file("tinyformer"), {
      recipe,
      exampleInputs,
      sensitivity: true,
    });
    const { methods, qparams } = session.quantizationReport()!;
    const { nodes, ranges, outputs } = methods["forward"]!;
    const layers = nodes.filter(({ op, isQuantized }) => /linear/.test(op) && isQuantized);
    assert.ok(layers.length > 0);
    for (const { weight, snr, largestDifference } of layers) {
      assert.ok(ranges.includes(weight!), "a row of a range");
      assert.ok(weight!.isWeight && weight!.bits === bits && weight!.low! < weight!.high!);
      assert.ok(snr! > 10 && largestDifference! > 0, `${snr} dB`);
    }
    assert.ok(outputs[0]!.snr! > 10);
    const table = nodes.find(({ op }) => /embedding/.test(op))!;
    assert.equal(table.isQuantized, recipe.startsWith("sconce"));
    assert.equal(table.isQuantized && table.snr! > 10, table.isQuantized, `${table.snr} dB`);
    const [{ weight }] = layers as [QuantizedNode];
    const [name] = weight!.tensors;
    const { scaleCount, bytesBefore, bytesAfter } = weight!;
    assert.deepEqual([scaleCount, bytesBefore], [scales, 192 * 64 * 4]);
    assert.equal(bytesAfter, (192 * 64 * bits) / 8 + 4 * scales);
    const { scale, zero_point } = qparams.find(({ of }) => of === name)!;
    assert.deepEqual([scale, zero_point], [weight!.scale, weight!.zeroPoint]);
    const counts = [scale, zero_point].map((list) => (list as number[] | null)?.length ?? 0);
    assert.deepEqual(counts, [scales, scales]);
    session.dispose();
  });

test("groups that the official runtime widens are told, and what there is instead", async () => {
  const recipe = "sconce_int4_weight_only";
  const session = await engine.export(file("tinyformer"), { recipe });
  const [warning] = session.getExecutorchProgramManager().inspect().diagnostics;
  assert.match(
    warning!.message,
    /^method 'forward': weights of 4 bits in groups are widened in every run of ExecuTorch's/,
  );
  assert.match(warning!.hint, /groupSize 0.*xnnpack_torchao_int8da_int4w_per_tensor/);
  const [{ weight }] = nodesOf(session).filter((node) => node.weight) as [QuantizedNode];
  assert.equal(weight!.groupSize, 32);
  session.dispose();
});

test("products with weights of 4 bits in groups give the numbers of widened ones", async () => {
  for (const partitioners of [[], ["xnnpack"]]) {
    const { quantizationRecipe } = ExportRecipe.getRecipe("sconce_int4_weight_only");
    const recipe = { quantizationRecipe: quantizationRecipe!, loweringRecipe: { partitioners } };
    const session = await engine.export(file("tinyformer"), { recipe });
    const pte = session.getPteBuffer();
    const [inputs] = calls("tinyformer");
    const [fast, slow] = [true, false].map((optimize) => {
      const program = engine.load(pte, { optimize });
      const [found] = program.run("forward", inputs!);
      program.dispose();
      return found!;
    });
    assert.ok(snr(slow!, fast!) > 110, `${snr(slow!, fast!)} dB`);
    session.dispose();
  }
});

test("the recipe of language models quantizes linear layers and tables in their own ways", async () => {
  const plain = await engine.export(file("tinyformer"), { recipe: "xnnpack_fp32" });
  const [inputs] = calls("tinyformer");
  const [expected] = (await plain.runMethod("forward", inputs!)) as Value[];
  for (const embeddingBits of [8, 4] as const) {
    const recipe = ExportRecipe.getRecipe("sconce_llm_8da4w", { embeddingBits });
    const session = await engine.export(file("tinyformer"), { recipe });
    const [found] = (await session.runMethod("forward", inputs!)) as Value[];
    assert.ok(snr(expected!, found!) > 12, `${snr(expected!, found!)} dB`);
    const bitsOf = (op: string): Set<number> =>
      new Set(nodesOf(session).flatMap((node) => (node.op === op ? [node.weight!.bits] : [])));
    assert.deepEqual(bitsOf("aten::linear"), new Set([4]));
    assert.deepEqual(bitsOf("aten::embedding"), new Set([embeddingBits]));
    session.dispose();
  }
  plain.dispose();
});

test("results that are far off name the layers that lose most", async () => {
  for (const recipe of [
    "xnnpack_torchao_int8da_int4w_per_channel",
    "sconce_int4_weight_only",
    "sconce_int8_weight_only",
  ]) {
    const session = await engine.export(file("tinyformer"), {
      recipe,
      exampleInputs: calls("tinyformer"),
      sensitivity: true,
    });
    const { outputs, notes, nodes } = session.quantizationReport()!.methods["forward"]!;
    const advice = notes.filter((text) => text.includes("dB from the float program"));
    assert.equal(advice.length, outputs[0]!.snr! < 15 ? 1 : 0, `${recipe}: ${outputs[0]!.snr} dB`);
    const names = advice[0]?.match(/bits: (.*)$/)?.[1]!.split(", ") ?? [];
    for (const name of names) assert.ok(nodes.find(({ node }) => node === name)?.isQuantized);
    session.dispose();
  }
});

test("weights of 4 bits are packed whatever runs them, and the report has their bytes", async () => {
  for (const groupSize of [0, 32, 64]) {
    const { quantizationRecipe } = ExportRecipe.getRecipe("sconce_int4_weight_only", { groupSize });
    const session = await engine.export(file("tinyformer"), {
      recipe: portable(quantizationRecipe),
    });
    const { bytesBefore, bytesAfter, ranges } = session.quantizationReport()!.methods["forward"]!;
    const size = session.getPteBuffer().length;
    // Beside weights: the program.
    assert.ok(size > bytesAfter && size < bytesAfter + 8192, `${size} bytes, ${bytesAfter} told`);
    const weights = ranges.filter(({ bits }) => bits === 4);
    const left = weights.reduce((sum, range) => sum - range.bytesBefore!, bytesBefore);
    const packed = weights.reduce((sum, range) => sum + range.bytesAfter!, 0);
    assert.ok(bytesAfter >= packed && bytesAfter <= packed + left, `${packed} and ${left} bytes`);
    session.dispose();
  }
});

test("a method whose nodes are all skipped is reported", async () => {
  const recipe = portable({ quantizers: [{ ...quantizer, skip: ["*"] }] });
  const session = await engine.export(file("mlp"), { recipe, exampleInputs: calls("mlp") });
  const [warning] = session.getExecutorchProgramManager().inspect().diagnostics;
  const { severity, method, message } = warning!;
  assert.deepEqual([severity, method], ["warning", "forward"]);
  assert.match(message, /^no node of .* `skip` leaves out every node that could be$/);
  session.dispose();
});

test("calls that say no range are refused, and name the node", async () => {
  const x = new Float32Array(64).fill(1);
  x[3] = NaN;
  const error = await rejected(() =>
    engine.export(file("mlp"), { recipe: STATIC, exampleInputs: [[tensor(x, [4, 16])]] }),
  );
  assert.match(error.message, /^call 0: 'x' was NaN/);
  assert.equal(error.method, "forward");
  const small = await rejected(() =>
    engine.export(file("mlp"), {
      recipe: {
        quantizationRecipe: {
          aoQuantizationConfigs: [{ aoBaseConfig: { kind: "int4_weight_only", groupSize: 64 } }],
        },
      },
    }),
  );
  assert.equal(small.code, "argument");
  assert.match(small.message, /groups of 64 do not divide the 16 inputs of this layer/);
  assert.deepEqual([small.method, small.node], ["forward", "linear"]);
});

test("passes run before and after", async () => {
  const seen: string[] = [];
  const passes = (when: string) => (): string[] => {
    seen.push(when);
    return ["noops"];
  };
  const recipe = portable({
    quantizers: [quantizer],
    prePreparePasses: [passes("before")],
    postConvertPasses: [passes("after")],
  });
  const session = await engine.export(file("mlp"), { recipe });
  assert.deepEqual(seen, ["before", "after"]);
  assert.equal(namesOf(nodesOf(session)).length, 3);
  session.dispose();
});

test("a cancelled calibration leaves the engine as it was", async () => {
  const controller = new AbortController();
  const recipe = portable({
    quantizers: [quantizer],
    calibrationInputsFn: function* () {
      yield calls("mlp")[0]!;
      controller.abort();
      yield calls("mlp")[0]!;
    },
  });
  await assert.rejects(() => engine.export(file("mlp"), { recipe, signal: controller.signal }));
  const session = await engine.export(file("mlp"), { recipe: STATIC });
  session.dispose();
});

/** The size of the module's memory, which never shrinks. */
function heapOf(own: Engine): number {
  const program = own.load(own.lower(file("cnn")).buffer);
  return program.inspect().heapBytes;
}

async function heapAfter(batches: number): Promise<number> {
  const own = await createEngine();
  const [image] = calls("cnn")[0]!;
  const exampleInputs = Array.from({ length: batches }, () => [image!]);
  (await own.export(file("cnn"), { recipe: STATIC, exampleInputs })).dispose();
  const heap = heapOf(own);
  own.dispose();
  return heap;
}

test("calibrating takes the memory of one batch, however many there are", async () => {
  assert.equal(await heapAfter(2000), await heapAfter(2));
});

test("quantizing takes little more memory than lowering", async () => {
  const own = await createEngine();
  own.lower(file("cnn"), { partitioner: "xnnpack" }).dispose();
  const { plannedBytes } = own.lower(file("cnn")).inspect().plans[0]!;
  const most = heapOf(own) + 3 * plannedBytes + 2 ** 20;
  const heap = await heapAfter(8);
  assert.ok(heap <= most, `${heap} of ${most} bytes`);
  own.dispose();
});

test("what compares the programs is no program of the caller's, and warns of nothing", async () => {
  const logged: string[] = [];
  const loud = await createEngine({ onLog: (_, text) => logged.push(text) });
  try {
    const recipe = "xnnpack_pt2e_int8_dynamic_per_channel";
    const exampleInputs = calls("mlp");
    const session = await loud.export(file("mlp"), { recipe, exampleInputs, sensitivity: true });
    assert.ok(nodesOf(session).some(({ snr: found }) => found !== undefined));
    assert.deepEqual(logged, []);
    session.dispose();
    // Warnings about the caller's own program are reported.
    const unchanged = await loud.export(file("mlp"), {
      recipe: portable({ quantizers: [{ ...quantizer, skip: ["*"] }] }),
      exampleInputs,
      sensitivity: true,
    });
    assert.equal(logged.length, 1);
    assert.match(logged[0]!, /no node of method 'forward' is quantized/);
    unchanged.dispose();
  } finally {
    loud.dispose();
  }
});
