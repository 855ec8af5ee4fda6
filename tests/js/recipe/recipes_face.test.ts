// A network of convolutions by each recipe: the face that PyTorch finds in the photograph is found.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createEngine, type Engine, type ExportSession, type SconceError } from "sconce";
import { samplePath } from "../setup/reference.js";
import { facesIn, GOLDEN_FACE, overlap, photo } from "./photo.js";

let engine: Engine;
before(async () => (engine = await createEngine()));
after(() => engine.dispose());

const input = photo();
const detector = { path: samplePath("face-rfb320.pt2") };
const exported = (recipe: string): Promise<ExportSession> =>
  engine.export(detector, { recipe, exampleInputs: [[input]] });

interface Row {
  recipe: string;
  /** The area that the box and the golden one share. */
  overlap: number;
  bytes: number;
  /** The share of 52 convolutions; the others stay as they are, and the report says why. */
  convolutions: number;
}

const ROWS: readonly Row[] = [
  { recipe: "xnnpack_fp32", overlap: 0.9999, bytes: 1.21e6, convolutions: 0 },
  {
    recipe: "xnnpack_pt2e_int8_static_per_channel",
    overlap: 0.93,
    bytes: 0.41e6,
    convolutions: 52,
  },
  { recipe: "xnnpack_pt2e_int8_static_per_tensor", overlap: 0.93, bytes: 0.36e6, convolutions: 52 },
  // Depthwise convolutions are not quantized dynamically.
  {
    recipe: "xnnpack_pt2e_int8_dynamic_per_channel",
    overlap: 0.99,
    bytes: 0.47e6,
    convolutions: 34,
  },
  { recipe: "sconce_fp16_weights", overlap: 0.999, bytes: 0.72e6, convolutions: 52 },
];

for (const row of ROWS)
  test(`${row.recipe} finds the face`, async () => {
    const session = await exported(row.recipe);
    const faces = facesIn(session.runMethod("forward", [input]));
    assert.equal(faces.length, 1);
    const [{ score, box }] = faces as [(typeof faces)[number]];
    assert.ok(Math.abs(score - GOLDEN_FACE.score) < 0.01, `${score}`);
    const shared = overlap(box, GOLDEN_FACE.box);
    assert.ok(shared >= row.overlap, `${shared} of the box, ${box.join(", ")}`);
    assert.ok(session.getPteBuffer().length <= row.bytes, `${session.getPteBuffer().length} bytes`);
    const nodes = session.quantizationReport()?.methods["forward"]!.nodes ?? [];
    const convolutions = nodes.filter(({ op }) => /conv2d/.test(op));
    const quantized = convolutions.filter(({ isQuantized }) => isQuantized);
    assert.equal(quantized.length, row.convolutions);
    assert.ok(nodes.every(({ isQuantized, reason }) => isQuantized || reason));
    session.dispose();
  });

test("a recipe that quantizes no node is refused, with what else there is", async () => {
  for (const recipe of [
    "sconce_int8_weight_only",
    "sconce_int4_weight_only",
    "sconce_llm_8da4w",
    "xnnpack_torchao_int8da_int4w_per_channel",
  ])
    await assert.rejects(exported(recipe), (error: SconceError) => {
      const { code, message, hint } = error;
      assert.equal(code, "unsupported", recipe);
      assert.match(message, /^no node of method 'forward' is quantized: it has no linear layer/);
      assert.match(message, /; its layers: 52 convolutions of float32/);
      assert.match(hint, /^For convolutions take sconce_fp16/);
      return true;
    });
});
