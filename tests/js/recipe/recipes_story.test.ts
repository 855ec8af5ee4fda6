// A language model by each recipe: two methods that share one cache and, in the file, one copy of the
// weights, quantized or not, and a story that is still one.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  createEngine,
  ExportRecipe,
  type Engine,
  type MethodQuantizationReport,
  type Program,
  type QuantizedOutput,
} from "sconce";
import { rejected } from "../setup/rejected.js";
import { perplexity, STORY, STORY_CALLS, reported, TOKENS } from "./story.js";

let engine: Engine;
before(async () => {
  engine = await createEngine();
  const [program] = await loaded("xnnpack_fp32");
  float = perplexity(program);
  assert.ok(Math.abs(float - 1.6055) < 1e-3, `${float}`);
  assert.deepEqual(reported(program, TOKENS.length), TOKENS);
  program.dispose();
});
after(() => engine.dispose());

const SHARED: ExportRecipe = { executorchBackendConfig: { shareMutableBuffers: true } };
/** PyTorch's own, in float, on the text that it wrote: 1.6055. */
let float: number;

// Layers of it have 172 inputs, which are no groups of 32: a channel has one scale.
const recipeOf = (name: string): ExportRecipe =>
  ExportRecipe.getRecipe(name, name === "sconce_int4_weight_only" ? { groupSize: 0 } : {});

async function exported(
  name: string,
  programs: Readonly<Record<string, { path: string }>>,
): Promise<Uint8Array> {
  const session = await engine.export(programs, {
    recipe: [recipeOf(name), SHARED],
    exampleInputs: Object.fromEntries(
      Object.entries(STORY_CALLS).filter(([method]) => method in programs),
    ),
  });
  const bytes = session.getPteBuffer();
  session.dispose();
  return bytes;
}

async function loaded(name: string): Promise<[program: Program, size: number]> {
  const bytes = await exported(name, STORY);
  return [engine.load(bytes), bytes.length];
}

/** "Once upon a time, there was a little girl". */
const BEGINNING = TOKENS.slice(0, 11);
/** Bytes that a second method adds to the file: less than its weights are in 4 bits. */
const METHOD_BYTES = 105_000;

interface Row {
  recipe: string;
  /** Perplexity on the golden text, of that in float. */
  most: number;
  /** Bytes of the file; caches and their like are 340 kB of it. */
  bytes: number;
}

const ROWS: readonly Row[] = [
  { recipe: "portable", most: 1.0001, bytes: 1.25e6 },
  { recipe: "xnnpack_fp32", most: 1.0001, bytes: 1.45e6 },
  { recipe: "xnnpack_pt2e_int8_static_per_channel", most: 1.05, bytes: 0.75e6 },
  { recipe: "xnnpack_pt2e_int8_static_per_tensor", most: 1.05, bytes: 0.72e6 },
  { recipe: "xnnpack_pt2e_int8_dynamic_per_channel", most: 1.02, bytes: 0.7e6 },
  { recipe: "xnnpack_torchao_int8da_int4w_per_channel", most: 1.2, bytes: 0.58e6 },
  { recipe: "sconce_int8_weight_only", most: 1.01, bytes: 0.6e6 },
  { recipe: "sconce_int4_weight_only", most: 1.25, bytes: 0.5e6 },
  { recipe: "sconce_fp16_weights", most: 1.001, bytes: 0.88e6 },
];

for (const { recipe, most, bytes } of ROWS)
  test(`${recipe} still tells the story`, async () => {
    const [program, size] = await loaded(recipe);
    assert.ok(size <= bytes, `${size} bytes`);
    const ratio = perplexity(program) / float;
    assert.ok(ratio <= most, `${ratio} times the perplexity of floats`);
    assert.ok(ratio > 0.95, `${ratio}: no story can be less of a surprise`);
    assert.deepEqual(reported(program, BEGINNING.length), BEGINNING);
    // The cache that prefill fills is the one that decode reads.
    const half = TOKENS.length >> 1;
    const [alone, together] = [false, true].map((isPrefilled) =>
      perplexity(program, half, isPrefilled),
    );
    assert.ok(Math.abs(together! / alone! - 1) < 0.05, `${alone} and, prefilled, ${together}`);
    program.dispose();
  });

test("weights of two methods are stored once, whatever becomes of them", async () => {
  for (const { recipe } of ROWS) {
    const [both, decode] = [
      await exported(recipe, STORY),
      await exported(recipe, { decode: STORY.decode }),
    ];
    const more = both.length - decode.length;
    assert.ok(more < METHOD_BYTES, `${recipe}: the second method takes ${more} bytes`);
  }
});

test("weights in groups, which no backend takes, are stored once and in 4 bits", async () => {
  const configs = (skip: string[]): ExportRecipe => ({
    quantizationRecipe: {
      aoQuantizationConfigs: [{ aoBaseConfig: { kind: "int4_weight_only", groupSize: 32 }, skip }],
    },
    ...SHARED,
  });
  const size = async (programs: Readonly<Record<string, { path: string }>>): Promise<number> => {
    const session = await engine.export(programs, { recipe: configs(["*w2"]) });
    const { length } = session.getPteBuffer();
    session.dispose();
    return length;
  };
  const [both, decode] = [await size(STORY), await size({ decode: STORY.decode })];
  assert.ok(both - decode < METHOD_BYTES, `the second method takes ${both - decode} bytes`);
  // Integers would be 110 kB more with a byte each; five layers that have no groups are floats.
  assert.ok(decode < 0.5e6, `${decode} bytes`);
});

test("a group that divides no row is told with the node, and what it may be instead", async () => {
  const recipe = "sconce_int4_weight_only";
  const error = await rejected(() => engine.export({ decode: STORY.decode }, { recipe }));
  assert.match(error.message, /groups of 32 do not divide the 172 inputs of this layer/);
  assert.match(error.hint, /one scale for each channel \(0\), or skip the layer/);
  assert.deepEqual([error.method, error.node], ["decode", "linear_6"]);
});

const LINEAR = /^aten::linear/;

test("scores that choose other tokens name the layer that gives them, until it is skipped", async () => {
  const reportOf = async (skip: string[]): Promise<Record<string, MethodQuantizationReport>> => {
    const session = await engine.export(STORY, {
      recipe: {
        name: "four bits",
        quantizationRecipe: {
          aoQuantizationConfigs: [{ aoBaseConfig: { kind: "int4_weight_only" }, skip }],
        },
      },
      exampleInputs: STORY_CALLS,
      sensitivity: true,
    });
    const { methods } = session.quantizationReport()!;
    session.dispose();
    return methods;
  };
  const whole = await reportOf([]);
  const heads = Object.values(whole).map(({ nodes }) =>
    nodes.findLast(({ op }) => LINEAR.test(op)),
  );
  const skipped = await reportOf(heads.map((head) => `=${head!.node}`));
  for (const [i, method] of ["prefill", "decode"].entries()) {
    const { outputs, notes } = whole[method]!;
    const [{ layer, rows = 0, changedRows = 0, snr }] = outputs as [QuantizedOutput];
    assert.equal(outputs.length, 1);
    assert.ok(rows >= 2 && changedRows <= rows, `${changedRows} of ${rows}`);
    assert.equal(layer, heads[i]!.node);
    const advice = notes.filter((text) => text.includes("greatest score"));
    assert.equal(advice.length, changedRows > 0.05 * rows ? 1 : 0);
    assert.ok(
      advice.every((text) => text.endsWith(`take more bits: ${layer}`)),
      advice[0],
    );
    assert.ok(skipped[method]!.outputs[0]!.snr! > snr!);
    assert.ok(skipped[method]!.notes.every((text) => !text.endsWith(`bits: ${layer}`)));
  }
});
