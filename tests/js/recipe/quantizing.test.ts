// Side effects of quantizing: what it keeps of the caller's, and what it leaves behind.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  createEngine,
  decibelsOf,
  tensor,
  type Engine,
  type ExportOptions,
  type InputTuple,
  type MethodQuantizationReport,
  type QuantizationRecipe,
} from "sconce";
import { file } from "../setup/failure.js";
import { readCases } from "../setup/reference.js";
import { rejected } from "../setup/rejected.js";
import { withoutExamples } from "../setup/zip.js";

const STATIC = { quantizers: [{ kind: "xnnpack", isPerChannel: true }] } as const;

const quantizing = (quantizationRecipe: QuantizationRecipe): ExportOptions => ({
  recipe: { quantizationRecipe, pipelineStages: ["quantize"] },
});

// --- Memory ------------------------------------------------------------------------------------------

/** The size of the module's memory, which never shrinks. */
function heapOf(own: Engine): number {
  const lowered = own.lower(file("mlp"));
  const program = own.load(lowered.buffer);
  const { heapBytes } = program.inspect();
  program.dispose();
  lowered.dispose();
  return heapBytes;
}

/** Fails again and again on one engine; the memory that a first few have taken is enough for all. */
async function failsInPlace(fails: (own: Engine) => Promise<unknown>): Promise<void> {
  const own = await createEngine();
  for (let i = 0; i < 4; i++) await fails(own);
  const before = heapOf(own);
  for (let i = 0; i < 60; i++) await fails(own);
  const after = heapOf(own);
  own.dispose();
  assert.equal(after, before);
}

test("a comparison that is cancelled leaves nothing behind", () =>
  failsInPlace(async (own) => {
    const controller = new AbortController();
    const { code } = await rejected(() =>
      own.export(file("mlp"), {
        ...quantizing(STATIC),
        sensitivity: true,
        signal: controller.signal,
        onProgress: ({ phase }) => phase === "compare" && controller.abort(),
      }),
    );
    assert.equal(code, "cancelled");
  }));

test("passes that fail after the program was converted leave nothing behind", () =>
  failsInPlace(async (own) => {
    const recipe = quantizing({ ...STATIC, postConvertPasses: [() => ["nonsense"]] });
    const { code } = await rejected(() => own.export(file("mlp"), recipe));
    assert.equal(code, "not_found");
  }));

// --- Inputs ------------------------------------------------------------------------------------------

/** The report of the only method. */
async function reported(
  programs: Parameters<Engine["export"]>[0],
  options: ExportOptions,
): Promise<MethodQuantizationReport> {
  const own = await createEngine();
  const session = await own.export(programs, options);
  const report = session.quantizationReport()!.methods["forward"]!;
  own.dispose();
  return report;
}

test("a generator may fill the same array for each call", async () => {
  const values = (of: number): Float32Array<ArrayBuffer> =>
    Float32Array.from({ length: 64 }, (_, i) => Math.sin(of * 64 + i) * of);
  const compared = (calibrationInputsFn: () => Iterable<InputTuple>) =>
    reported(file("mlp"), {
      ...quantizing({ ...STATIC, calibrationInputsFn }),
      sensitivity: true,
    });
  const apart = await compared(() => [1, 2, 3].map((of) => [tensor(values(of), [4, 16])]));
  const again = await compared(function* () {
    const data = new Float32Array(64);
    const x = tensor(data, [4, 16]);
    for (const of of [1, 2, 3]) {
      data.set(values(of));
      yield [x];
    }
  });
  assert.deepEqual(again, apart);
});

// --- Order of the questions --------------------------------------------------------------------------

test("a filter is asked for the nodes that passes before have left", async () => {
  const asked: string[] = [];
  const filterFn = ({ name }: { name: string }): boolean => {
    asked.push(name);
    return name === "linear_2";
  };
  const weights = { aoBaseConfig: { kind: "int8_weight_only" }, filterFn } as const;
  const recipe = { aoQuantizationConfigs: [weights], prePreparePasses: [() => ["assertions"]] };
  const { notes, nodes } = await reported(file("../quant/weights"), quantizing(recipe));
  assert.deepEqual(
    asked,
    nodes.map(({ node }) => node),
  );
  assert.ok(!asked.some((name) => name.includes("assert")), asked.join());
  assert.deepEqual(notes, []);
});

/** Its weights are computed, or inputs. */
const COMPUTED = "../quant/weights";
const DYNAMIC = "xnnpack_pt2e_int8_dynamic_per_channel";

test("a dynamic recipe calibrates weights that are computed", async () => {
  const { calibrationBatches, nodes } = await reported(file(COMPUTED), { recipe: DYNAMIC });
  assert.equal(calibrationBatches, 1);
  assert.ok(nodes.some(({ node, isQuantized }) => node === "linear_1" && isQuantized));
  const { code, message, method, hint } = await rejected(() =>
    reported(withoutExamples(COMPUTED), { recipe: DYNAMIC }),
  );
  assert.equal(code, "input");
  assert.equal(
    message,
    "the example inputs of method 'forward' are missing, so calibration has no data",
  );
  assert.equal(method, "forward");
  assert.match(hint, /exampleInputs \(--calibrate on the command line\)/);
});

test("calls are asked for where something observes, and nowhere else", async () => {
  const asked: string[] = [];
  const x = [tensor(new Float32Array(24).fill(1), [3, 8])];
  const given = [tensor(new Float32Array(36).fill(0.5), [6, 6])];
  const dynamic = (calls: readonly InputTuple[]): ExportOptions =>
    quantizing({
      quantizers: [{ kind: "xnnpack", isPerChannel: true, isDynamic: true }],
      calibrationInputsFn: (method) => {
        asked.push(method);
        return calls;
      },
    });
  const call = [...x, ...given];
  const { calibrationBatches } = await reported(
    withoutExamples(COMPUTED),
    dynamic([call, call, call]),
  );
  assert.deepEqual([calibrationBatches, asked], [3, ["forward"]]);
  const plain = await reported(file("mlp"), dynamic(readCases("mlp").map(({ inputs }) => inputs)));
  assert.deepEqual([plain.calibrationBatches, asked], [0, ["forward"]]);
});

test("a pattern that is given twice fits as well as one", async () => {
  const twice = (skip: string[]) =>
    reported(file("mlp"), quantizing({ quantizers: [{ kind: "xnnpack", skip }] }));
  const { notes, nodes } = await twice(["=linear", "fc3", "=linear", "fc3", "fc9", "fc9"]);
  assert.deepEqual(notes, ["skip: 'fc9' matches no node, module or operator"]);
  assert.deepEqual(
    nodes.filter(({ isQuantized }) => isQuantized).map(({ node }) => node),
    ["linear_1"],
  );
});

// --- The report --------------------------------------------------------------------------------------

test("equal is what does not differ, and not what has no decibels", async () => {
  const full = (value: number) => tensor(new Float32Array(6).fill(value), [2, 3]);
  // 0.73 - 0.73 is 0, and not of its numbers in 8 bits.
  const zero: InputTuple = [full(0.73), full(-0.73)];
  const exampleInputs = [zero, zero, [full(5), full(3)]];
  const { nodes } = await reported(file("add_mul"), {
    ...quantizing(STATIC),
    exampleInputs,
    sensitivity: true,
  });
  const announced = Object.fromEntries(nodes.map((node) => [node.node, node]));
  assert.deepEqual([announced["add"]!.snr, announced["mul"]!.snr], [null, null]);
  assert.ok(announced["add"]!.largestDifference! > 0);
  assert.equal(decibelsOf(announced["add"]!), -Infinity);
  assert.equal(decibelsOf(announced["mul"]!), Infinity);
  assert.equal(decibelsOf({}), null);
  assert.equal(decibelsOf({ snr: 30, largestDifference: 1 }), 30);
  assert.equal(decibelsOf({ snr: null, largestDifference: 0, nonFiniteMismatches: 2 }), -Infinity);
  assert.equal(decibelsOf({ snr: null, largestDifference: null }), -Infinity);
});
