// XNNPACK's partitioner by precisions, and with a part for each operator.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  createClient,
  createEngine,
  type Delegation,
  type Engine,
  type Partitioners,
  type Tensor,
} from "sconce";
import { folder, sconce } from "../setup/command.js";
import { failure, file } from "../setup/failure.js";
import { modelPath } from "../setup/reference.js";

let engine: Engine;
before(async () => (engine = await createEngine()));
after(() => engine.dispose());

/** The operators of each part, without quantization and moves. */
function partsOf(delegation: Delegation): string[] {
  const parts = new Map<string, string[]>();
  for (const { delegate, op } of delegation["forward"]!.nodes) {
    if (!delegate) continue;
    const ops = parts.get(delegate) ?? [];
    parts.set(delegate, ops);
    if (!/quantize|qparams|permute|view/.test(op)) ops.push(op.replace("aten::", ""));
  }
  return [...parts.values()].map((ops) => ops.join(" ")).sort();
}

const parts = (model: string, partitioners: Partitioners): string[] =>
  partsOf(engine.toEdge(file(model)).toBackend(partitioners).delegation());

const xnnpack = (options: object): { backend: string } => ({ backend: "xnnpack", ...options });

test("each precision takes its operators", () => {
  const take = (configPrecisions: unknown): string[] =>
    parts("quantized_mlp", xnnpack({ configPrecisions }));
  assert.deepEqual(take("dynamic_quant"), ["addmm", "addmm", "mm"]);
  assert.deepEqual(take("fp32"), ["_softmax", "gelu", "tanh"]);
  assert.deepEqual(take(["static_quant"]), []);
  const all = ["addmm gelu addmm tanh mm _softmax"];
  assert.deepEqual(take(["fp32", "static_quant", "dynamic_quant"]), all);
  assert.deepEqual(parts("quantized_mlp", "xnnpack"), all);
  const fixed = (configPrecisions: unknown): string[] =>
    parts("quantized_cnn", xnnpack({ configPrecisions }));
  assert.deepEqual(fixed("dynamic_quant"), []);
  assert.equal(fixed("static_quant").length, 1);
});

test("with perOpMode each operator has a part, with its quantization", () => {
  assert.deepEqual(parts("quantized_mlp", xnnpack({ perOpMode: true })), [
    "_softmax",
    "addmm",
    "addmm",
    "gelu",
    "mm",
    "tanh",
  ]);
  const rounds = [xnnpack({ configPrecisions: "dynamic_quant", perOpMode: true }), "xnnpack"];
  assert.deepEqual(parts("quantized_mlp", rounds), [
    "_softmax",
    "addmm",
    "addmm",
    "gelu",
    "mm",
    "tanh",
  ]);
});

test("the report says which precision left a node outside", () => {
  const only = xnnpack({ configPrecisions: ["fp32", "static_quant"] });
  const { nodes } = engine.toEdge(file("quantized_mlp")).toBackend(only).delegation()["forward"]!;
  const row = nodes.find(({ op }) => op === "aten::addmm")!;
  assert.equal(row.reason, "its precision is dynamic_quant, which configPrecisions leaves out");
  assert.equal(row.hint, 'Add "dynamic_quant" to configPrecisions.');
});

test("the same numbers come out, however the operators are split", () => {
  const run = (partitioners?: Partitioners) => {
    const edge = engine.toEdge(file("quantized_mlp"));
    const lowered = (partitioners ? edge.toBackend(partitioners) : edge).toExecutorch();
    const program = engine.load(lowered);
    return program.run(
      "forward",
      engine.open(file("quantized_mlp")).exampleInputs("forward") as Tensor[],
    );
  };
  assert.deepEqual(
    run([xnnpack({ configPrecisions: "dynamic_quant", perOpMode: true }), "xnnpack"]),
    run("xnnpack"),
  );
});

test("wrong precisions, and those of other backends, are refused", () => {
  for (const wrong of ["int8", [], ["fp32", "int8"], 3]) {
    const error = failure(() => parts("mlp", xnnpack({ configPrecisions: wrong })));
    assert.match(error.message, /'configPrecisions' of a partitioner of .* "dynamic_quant"/);
  }
  for (const options of [{ configPrecisions: "fp32" }, { perOpMode: true }]) {
    const error = failure(() => parts("mlp", { backend: "null", ...options } as never));
    assert.equal(error.code, "option");
    assert.match(error.message, /are for xnnpack, not for backend 'null'/);
  }
  const unknown = failure(() =>
    engine.lower(file("mlp"), { partitioner: "xnnpack", configPrecisions: ["int8"] }),
  );
  assert.match(unknown.message, /there is no precision 'int8'/);
});

test("options of the call are for all partitioners that have none of their own", () => {
  const lower = (partitioner: Partitioners): string[] => {
    const options = { partitioner, configPrecisions: ["dynamic_quant"], perOpMode: true };
    return partsOf(engine.lower(file("quantized_mlp"), options).delegation());
  };
  assert.deepEqual(lower("xnnpack"), ["linear", "linear", "linear"]);
  assert.deepEqual(lower(["xnnpack", xnnpack({ configPrecisions: "fp32", perOpMode: false })]), [
    "_softmax",
    "gelu",
    "linear",
    "linear",
    "linear",
    "tanh",
  ]);
});

test("a worker and the command take precisions, too", async () => {
  const client = await createClient();
  const edge = await client.toEdge(file("quantized_mlp"));
  const delegated = await edge.toBackend(xnnpack({ configPrecisions: "dynamic_quant" }));
  assert.deepEqual(partsOf(await delegated.delegation()), ["addmm", "addmm", "mm"]);
  await client.dispose();
  const model = modelPath("quantized_mlp.pt2");
  const flags = ["--backend", "xnnpack", "--config-precision", "dynamic_quant", "--per-op"];
  const made = sconce("lower", model, "-o", "m.pte", "--report", "m.json", ...flags);
  assert.equal(made.status, 0, made.stderr);
  const report = JSON.parse(readFileSync(join(folder, "m.json"), "utf8")) as {
    methods: { forward: { delegates: unknown[] } };
  };
  assert.equal(report.methods.forward.delegates.length, 3);
});
