// A model of 350 MB by the recipes that make its weights smaller: from the file to the .pte without
// ever holding it, in the library and by the command.
import assert from "node:assert/strict";
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { ExportRecipe } from "sconce";
import { cli, folder, node } from "../setup/command.js";
import { measured } from "../setup/memory.js";
import { writeLinear } from "../setup/zip.js";

const HEAP_MAX = 96 << 20;
/** Megabytes of Node with everything in it; Node itself takes some 90. */
const PROCESS_MAX = 320 << 20;

const [rows, columns] = [9408, 9408];
const weights = rows * columns;
const model = join(folder, "large.pt2");

before(() => {
  const random = Float32Array.from({ length: 16 * columns }, (_, i) => Math.sin(i * i));
  writeLinear(model, random, columns, rows / 16);
  assert.ok(statSync(model).size > 350e6);
});

interface Row {
  recipe: string;
  groupSize?: number;
  /** Bytes of a weight in the file, with its scales. */
  bits: number;
}

const ROWS: readonly Row[] = [
  { recipe: "sconce_int4_weight_only", bits: 4 + 1 },
  { recipe: "sconce_int4_weight_only", groupSize: 0, bits: 4.01 },
  { recipe: "xnnpack_torchao_int8da_int4w_per_tensor", groupSize: 32, bits: 4 + 0.5 },
  { recipe: "xnnpack_torchao_int8da_int4w_per_channel", bits: 4.01 },
  { recipe: "sconce_int8_weight_only", bits: 8.01 },
  { recipe: "sconce_fp16_weights", bits: 16 },
];

const bytesOf = (bits: number): number => (weights * bits) / 8 + (1 << 18);

for (const { recipe, groupSize, bits } of ROWS) {
  const name = recipe + (groupSize === undefined ? "" : ` in groups of ${groupSize}`);

  test(`${name}: a large model goes through the library`, async (t) => {
    const [engine, heapBytes] = await measured(t);
    const options = groupSize === undefined ? {} : { groupSize };
    const session = await engine.export(
      { path: model },
      { recipe: ExportRecipe.getRecipe(recipe, options) },
    );
    let bytes = 0;
    session.getExecutorchProgramManager().writeSync((chunk) => (bytes += chunk.length));
    const { nodes, ranges } = session.quantizationReport()!.methods["forward"]!;
    assert.ok(nodes[0]!.isQuantized);
    assert.equal(ranges.find(({ isWeight }) => isWeight)!.bytesBefore, 4 * weights);
    assert.ok(bytes > (weights * Math.floor(bits)) / 8 && bytes < bytesOf(bits), `${bytes} bytes`);
    assert.ok(heapBytes() < HEAP_MAX, `${heapBytes()} bytes of memory`);
    session.dispose();
    engine.dispose();
  });

  test(`${name}: a large model goes through the command`, () => {
    const hook = fileURLToPath(new URL("../engine/heap_report.js", import.meta.url));
    const flags = groupSize !== undefined ? ["--group-size", String(groupSize)] : [];
    const output = join(folder, "large.pte");
    const { status, stderr } = node(
      ...["--import", hook, cli, "export", model, "--recipe", recipe],
      ...[...flags, "-o", output],
    );
    assert.equal(status, 0, stderr);
    const size = statSync(output).size;
    rmSync(output);
    assert.ok(size < bytesOf(bits), `${size} bytes`);
    const reported = /^memory (.*)$/m.exec(stderr)![1]!;
    const memory = JSON.parse(reported) as { heap: number; process: number };
    assert.ok(memory.heap > 0 && memory.heap < HEAP_MAX, reported);
    assert.ok(memory.process < PROCESS_MAX, reported);
  });
}
