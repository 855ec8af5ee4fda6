// Options of the edge program: which operators it may hold, and in which form.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  createClient,
  createEngine,
  type CompileConfig,
  type EdgeProgramManager,
  type Engine,
} from "sconce";
import { folder, sconce } from "../setup/command.js";
import { failure, file } from "../setup/failure.js";
import { difference, readCases } from "../setup/reference.js";
import { edited } from "../setup/zip.js";

let engine: Engine;
before(async () => (engine = await createEngine()));
after(() => engine.dispose());

const edgeOf = (name: string, compileConfig: CompileConfig): EdgeProgramManager =>
  engine.toEdge(file(name), { compileConfig });

/** The operators of the edge program. */
const operators = (edge: EdgeProgramManager): Set<string> =>
  new Set(
    [
      ...edge
        .exportedProgram()
        .text()
        .matchAll(/ = ([\w]+::[\w.]+)\(/g),
    ].map(([, op]) => op!),
  );

function checkNumbers(name: string, edge: EdgeProgramManager): void {
  const program = engine.load(edge.toExecutorch().buffer);
  for (const { inputs, outputs } of readCases(name))
    assert.equal(difference(program.run("forward", inputs)[0], outputs[0]!), "", name);
  program.dispose();
}

test("operators stay whole by name, and their numbers are the same", () => {
  const preserveOps = ["aten::silu", "aten::linear", "aten::layer_norm"];
  const found = operators(edgeOf("tinyformer", { preserveOps }));
  const plain = operators(edgeOf("tinyformer", {}));
  for (const name of preserveOps)
    assert.deepEqual([found.has(name), plain.has(name)], [true, false]);
  checkNumbers("tinyformer", edgeOf("tinyformer", { preserveOps }));
  const attention = { preserveOps: ["aten::scaled_dot_product_attention"] };
  checkNumbers("tinyformer", edgeOf("tinyformer", attention));
});

test("a pass and a backend find what stays whole", () => {
  const edge = edgeOf("mlp", { preserveOps: ["aten::gelu", "aten::softmax.int"] });
  const changed = edge.transform([
    ({ graph }) => {
      for (const node of graph.find("aten::softmax.int")) {
        const made = graph.insertBefore(node, "aten::_softmax", [
          node.args[0]!,
          node.args[1]!,
          false,
        ]);
        node.replaceAllUsesWith(made);
        graph.erase(node);
      }
    },
  ]);
  assert.ok(!operators(changed).has("aten::softmax.int"));
  checkNumbers("mlp", changed);
  const lowered = engine.lower(file("mlp"), {
    partitioner: "xnnpack",
    compileConfig: { preserveOps: ["aten::softmax.int"] },
  });
  const program = engine.load(lowered.buffer);
  for (const { inputs, outputs } of readCases("mlp"))
    assert.equal(difference(program.run("forward", inputs)[0], outputs[0]!), "");
});

test("names that mean no operator of ATen, or a view, are refused", () => {
  const refused = (preserveOps: string[]): string => {
    const { code, message } = failure(() => edgeOf("mlp", { preserveOps }));
    return `${code}: ${message}`;
  };
  assert.match(refused(["aten::sulu"]), /^option: .*'aten::sulu', which is not a known operator/);
  assert.match(refused(["aten::view"]), /^option: .*is a view/);
  assert.match(refused(["torchvision::nms"]), /^option: .*not an operator of ATen/);
  assert.match(refused([""]), /^option: .*preserveOps.* a list of names/);
  assert.match(refused("aten::silu" as never), /^option: .*preserveOps.* a list of names/);
});

test("memory formats stay on request", () => {
  const skipDimOrder = true;
  for (const name of ["channels_last_input", "linear_fp16", "kv_cache_index_copy_frozen"]) {
    const found = [...operators(edgeOf(name, { skipDimOrder }))];
    assert.ok(!found.some((op) => op.startsWith("dim_order_ops::")), name);
    checkNumbers(name, edgeOf(name, { skipDimOrder }));
  }
});

test("a transform respects the choice of memory formats", () => {
  const edge = edgeOf("linear", { skipDimOrder: true });
  const changed = edge.transform([
    ({ graph }) => {
      const [node] = graph.find("aten::addmm");
      const copy = graph.insertAfter(node!, "aten::clone", [node!]);
      for (const user of [...node!.users]) if (user !== copy) user.replaceInput(node!, copy);
    },
  ]);
  assert.ok(operators(changed).has("aten::clone"));
  checkNumbers("linear", changed);
});

test("operands of mixed dtypes stay on request", () => {
  for (const name of ["mlp", "number_inputs", "quantized_mlp"])
    checkNumbers(name, edgeOf(name, { skipTypePromotion: true }));
});

test("operators that no runtime has are refused when the file is made", () => {
  const source = edited("mlp.pt2", (text) =>
    text.replace("aten.tanh.default", "aten.poisson.default"),
  );
  assert.equal(failure(() => engine.toEdge(source)).code, "unsupported_op");
  const configs: CompileConfig[] = [
    { coreAtenOpsExceptionList: ["aten::poisson"] },
    { checkIrValidity: false },
  ];
  for (const compileConfig of configs) {
    const edge = engine.toEdge(source, { compileConfig });
    assert.ok(operators(edge).has("aten::poisson"));
    const { code, op } = failure(() => edge.toExecutorch());
    assert.deepEqual([code, op], ["unsupported_op", "aten::poisson"]);
    const mended = edge.transform([
      ({ graph }) => {
        for (const node of graph.find("aten::poisson")) {
          node.replaceAllUsesWith(graph.insertBefore(node, "aten::relu", [node.args[0]!]));
          graph.erase(node);
        }
      },
    ]);
    assert.ok(mended.toExecutorch().buffer.length > 0);
  }
});

test("names of operators are those of ATen, whatever useEdgeOps says", () => {
  const bytes = (compileConfig: CompileConfig): Uint8Array =>
    edgeOf("mlp", compileConfig).toExecutorch().buffer;
  assert.deepEqual(bytes({ useEdgeOps: false }), bytes({}));
});

test("workers and the command take the same options", async () => {
  const compileConfig = { preserveOps: ["aten::linear"], skipDimOrder: true };
  const { buffer } = engine.lower(file("mlp"), { compileConfig });
  const client = await createClient();
  const lowered = await client.lower(file("mlp"), { compileConfig });
  assert.deepEqual(await lowered.buffer, buffer);
  await client.dispose();
  const flags = ["--preserve-op", "aten::linear", "--skip-dim-order"];
  const done = sconce("lower", file("mlp").path, ...flags, "-o", "whole.pte");
  assert.equal(done.status, 0, done.stderr);
  assert.deepEqual(readFileSync(join(folder, "whole.pte")), Buffer.from(buffer));
});
