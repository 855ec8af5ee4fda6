// Gaps of programs that were exported in other ways, and of graphs that lowering changes more: against
// what the official Inspector says of the same files.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { createEngine, type Engine, type GapReport } from "sconce";
import { dumpPath, filesOf, reportedOf, type ReportedGap } from "../setup/dumps.js";
import { readZip, writeZip, type Entry } from "../setup/zip.js";

let engine: Engine;
before(async () => (engine = await createEngine()));
after(() => engine.dispose());

const METRICS = { SNR: "snr", MSE: "mse", L1: "l1" } as const;
type Metric = keyof typeof METRICS;

function gapsOf(name: string, reference: string): GapReport {
  const inspector = engine.inspector(filesOf(name, "debug"));
  try {
    return inspector.numericGap({ reference });
  } finally {
    inspector.dispose();
  }
}

/** The rows that the official Inspector has, with the same numbers; the handles of those that lack. */
function checkRows(
  { rows, reference }: GapReport,
  reported: ReportedGap[],
  metric: Metric,
): number[] {
  const missing: number[] = [];
  assert.ok(reported.length > 0);
  for (const { runtime, gap } of reported) {
    const what = `${reference}: ${metric} of handles ${String(runtime)}`;
    const found = rows.find(({ runtimeHandles }) => String(runtimeHandles) === String(runtime));
    if (!found) {
      missing.push(...runtime);
      continue;
    }
    // It reports one of several results, and only sometimes the first.
    const values = found.outputs.map((output) => output.gap[METRICS[metric]]);
    const right = Number(gap.at(-1));
    assert.ok(
      values.some((value) => Math.abs(value - right) <= 1e-5 * Math.abs(right)),
      `${what}: ${values.join()}, not ${right}`,
    );
  }
  return missing;
}

/**
 * A dropout that drops nothing is a copy to PyTorch before 2.14, and nothing from there on, nor here:
 * where the exported program is computed, there is no value for the copy.
 */
const isEmpty = (name: string, reference: string): boolean =>
  name === "removed" && reference === "exported_program";

for (const [name, what] of [
  ["strict", "exported strictly"],
  ["again", "exported again"],
  ["again_first", "exported again, beside what it was exported from at first"],
  ["removed", "with operators that lowering leaves out"],
  ["index_put", "that writes by indices"],
  ["symbolic", "with a size that is a symbol"],
  ["block", "of a transformer, on a backend"],
] as const)
  test(`gaps of a program ${what}`, () => {
    for (const [reference, metrics] of Object.entries(reportedOf(name).gap)) {
      const report = gapsOf(name, reference);
      for (const [metric, reported] of Object.entries(metrics)) {
        const missing = checkRows(report, reported, metric as Metric);
        assert.deepEqual(missing, isEmpty(name, reference) ? [2] : []);
      }
      const lacksValue = ({ reason }: { reason: string }): boolean => /has no value/.test(reason);
      assert.equal(report.skipped.some(lacksValue), isEmpty(name, reference));
    }
  });

test("an exported program that nodes do not come from is no reference", () => {
  const entries = (name: string): Entry[] => readZip(readFileSync(dumpPath(`${name}.etrecord`)));
  const isExported = ({ name }: Entry): boolean => name.toString().startsWith("exported_program");
  const mixed = writeZip([
    ...entries("mlp").filter((entry) => !isExported(entry)),
    ...entries("conv").filter(isExported),
  ]);
  const inspector = engine.inspector({ ...filesOf("mlp", "debug"), etrecord: mixed });
  assert.throws(() => inspector.numericGap({ reference: "exported_program" }), {
    code: "argument",
    message: /does not say which nodes of the exported program/,
    hint: /edge program/,
  });
  assert.ok(inspector.numericGap().rows.length > 0);
  assert.throws(() => inspector.numericGap({ reference: "none" }), {
    code: "not_found",
    message: /edge_dialect_exported_program of forward/,
  });
  inspector.dispose();
});
