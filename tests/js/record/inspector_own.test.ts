// Files that callers bring to the inspector: measures of their own, their backends' clocks and metadata.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  createClient,
  createEngine,
  type Engine,
  type GapOptions,
  type GapPair,
  type GapReport,
  type Inspector,
} from "sconce";
import { dumpOf } from "./dump_writer.js";
import { filesOf } from "../setup/dumps.js";

let engine: Engine;
before(async () => (engine = await createEngine()));
after(() => engine.dispose());

function gapsOf(name: string, options: GapOptions): GapReport {
  const inspector = engine.inspector(filesOf(name, "debug"));
  try {
    return inspector.numericGap(options);
  } finally {
    inspector.dispose();
  }
}

const l1 = (a: Float64Array, b: Float64Array): number =>
  a.reduce((sum, x, i) => sum + Math.abs(x - b[i]!), 0);

function assertClose(found: number | null | undefined, right: number): void {
  assert.ok(Math.abs(found! - right) <= 1e-9 * Math.abs(right), `${found}, not ${right}`);
}

// --- Gaps ----------------------------------------------------------------------------------------

test("a distance of one's own is told beside the others", () => {
  for (const name of ["mlp", "conv", "methods", "mlp_xnnpack"]) {
    const report = gapsOf(name, { distance: l1 });
    assert.ok(report.rows.length > 0);
    for (const { outputs } of report.rows)
      for (const { distance, gap, found } of outputs) {
        assertClose(distance, gap.l1);
        assert.equal(found.data, undefined);
      }
    // Nothing else is different.
    const lean = report.rows.map((row) => ({
      ...row,
      outputs: row.outputs.map(({ distance: _, ...output }) => output),
    }));
    assert.deepEqual({ ...report, rows: lean }, gapsOf(name, {}));
  }
});

test("a distance knows what it is of", () => {
  const seen: GapPair[] = [];
  const report = gapsOf("mlp", { distance: (_a, _b, pair) => seen.push(pair) });
  assert.ok(report.rows.length > 1);
  report.rows.forEach((row, i) => {
    const pair = seen.find((one) => one.row === i && one.output === 0)!;
    assert.deepEqual(pair.aotHandles, row.aotHandles);
    assert.deepEqual(pair.runtimeHandles, row.runtimeHandles);
    assert.equal(pair.method, "forward");
    assert.equal(pair.dtype, "float32");
    assert.deepEqual(pair.shape, row.outputs[0]!.found.shape);
    assert.equal(
      pair.found.length,
      pair.shape.reduce((a, b) => a * b, 1),
    );
  });
  assert.deepEqual(
    report.rows.map(({ outputs }) => outputs[0]!.distance),
    report.rows.map((_, i) => i + 1),
  );
});

test("values come whole where they are asked for", () => {
  const { rows, outputs } = gapsOf("mlp", { values: true });
  assert.ok(rows.length > 1);
  assert.equal(outputs.length, 1);
  for (const { reference, found, gap } of [...rows.flatMap((row) => row.outputs), ...outputs]) {
    assert.deepEqual([...found.data!.slice(0, 16)], found.first);
    assert.deepEqual([...reference.data!.slice(0, 16)], reference.first);
    assertClose(l1(reference.data!, found.data!), gap!.l1);
  }
});

test("values are preprocessed for the distance only", () => {
  const plain = gapsOf("mlp", { distance: l1 });
  const doubled = (values: Float64Array): Float64Array => values.map((x) => 2 * x);
  const report = gapsOf("mlp", {
    distance: l1,
    preprocess: (pairs) =>
      pairs
        .filter(({ row }) => row !== 1)
        .map((pair) => ({
          ...pair,
          reference: doubled(pair.reference),
          found: doubled(pair.found),
        }))
        .reverse(),
  });
  assert.ok(report.rows.length > 2);
  assert.equal(report.rows.length, plain.rows.length);
  report.rows.forEach(({ outputs }, i) => {
    const [output] = outputs;
    assert.deepEqual(output!.gap, plain.rows[i]!.outputs[0]!.gap);
    if (i === 1) assert.equal(output!.distance, null);
    else assertClose(output!.distance, 2 * output!.gap.l1);
  });
});

test("what preprocessing and distances give is checked", () => {
  const wrong: [options: object, code: string, message: RegExp][] = [
    [{ preprocess: (pairs: unknown) => pairs }, "option", /'preprocess' .* 'distance'/],
    [{ distance: l1, preprocess: () => undefined }, "argument", /'preprocess'.*list/],
    [{ distance: l1, preprocess: () => ({}) }, "argument", /'preprocess'/],
    [{ distance: l1, preprocess: () => [5] }, "argument", /'preprocess'/],
    [{ distance: l1, preprocess: ([pair]: object[]) => [pair, pair] }, "argument", /once/],
    [
      { distance: l1, preprocess: ([p]: object[]) => [{ ...p, found: [1] }] },
      "argument",
      /'preprocess'/,
    ],
    [
      { distance: l1, preprocess: ([p]: object[]) => [{ ...p, row: 999 }] },
      "argument",
      /'preprocess'/,
    ],
    [{ distance: () => "far" }, "argument", /'distance'.*a number/],
    [{ distance: 5 }, "option", /'distance'.*a function/],
    [{ values: "all" }, "option", /'values'/],
  ];
  for (const [options, code, message] of wrong)
    assert.throws(() => gapsOf("mlp", options as GapOptions), { code, message });
  const own = new Error("mine");
  const fail = (): never => {
    throw own;
  };
  assert.throws(() => gapsOf("mlp", { distance: fail }), own);
  // The engine goes on.
  assert.ok(gapsOf("mlp", { distance: l1 }).rows.length > 0);
});

test("the client's gaps take functions, which are called here", async () => {
  const client = await createClient();
  try {
    const remote = await client.inspector(filesOf("mlp", "debug"));
    const calls: number[] = [];
    const distance = (a: Float64Array, b: Float64Array): number => calls.push(a.length) && l1(a, b);
    const preprocess = (pairs: GapPair[]): GapPair[] => pairs.slice(1);
    const options = { distance, preprocess };
    assert.deepEqual(await remote.numericGap(options), gapsOf("mlp", options));
    assert.ok(calls.length > 1);
    assert.deepEqual(await remote.numericGap({ values: true }), gapsOf("mlp", { values: true }));
    await assert.rejects(remote.numericGap({ preprocess }), { code: "option" });
    await assert.rejects(remote.numericGap({ distance: 5 as never }), { code: "option" });
  } finally {
    client.terminate();
  }
});

// --- Backends' clocks ------------------------------------------------------------------------------

const averages = (inspector: Inspector): Record<string, number> =>
  Object.fromEntries(
    inspector
      .events()
      .filter(({ name }) => name === "Execute")
      .flatMap(({ events }) => events.map((e) => [e.name, e.perf!.avg] as const)),
  );

test("times of delegates are converted by the caller, and no others", () => {
  const names = new Set<string>();
  const files = filesOf("mlp_xnnpack");
  const plain = engine.inspector(files, { targetTimeScale: "us" });
  const own = engine.inspector(files, {
    targetTimeScale: "us",
    delegateTime: (name, ticks) => {
      names.add(name);
      return ticks / 500;
    },
  });
  const [before, after] = [averages(plain), averages(own)];
  assert.ok(names.size > 1);
  for (const [name, time] of Object.entries(before)) {
    const right = names.has(name) ? 2 * time : time;
    assert.ok(Math.abs(after[name]! - right) <= 1e-6 * (right + 1), `${name}: ${after[name]}`);
  }
  // The other dump of a comparison gets the same.
  const { rows } = own.compare(files);
  assert.ok(rows.every(({ difference }) => difference === 0));
  plain.dispose();
  own.dispose();
});

test("a converter that gives no number, or throws, is an error", () => {
  const files = filesOf("mlp_xnnpack");
  const open = (delegateTime: unknown): Inspector =>
    engine.inspector(files, { delegateTime: delegateTime as () => number });
  for (const time of ["1", NaN, Infinity, undefined])
    assert.throws(() => open(() => time), { code: "argument", message: /delegateTime/ });
  assert.throws(() => open("ns"), { code: "option" });
  const own = new Error("mine");
  assert.throws(
    () =>
      open(() => {
        throw own;
      }),
    own,
  );
  // Not of a record alone, which has no times.
  const { etrecord } = files as { etrecord: { path: string } };
  engine.inspector({ etrecord }, { delegateTime: () => 0 }).dispose();
});

// --- Metadata --------------------------------------------------------------------------------------

const METADATA = [
  { id: "text", metadata: new TextEncoder().encode('{"cycles": 12}') },
  { id: "digits", metadata: new TextEncoder().encode("0a") },
  { id: "bytes", metadata: Uint8Array.of(0x0a, 0xff, 0) },
  { id: "none", metadata: new Uint8Array(0) },
];

test("metadata of delegates is read by the caller, byte for byte", () => {
  const seen = new Map<string, Uint8Array>();
  const inspector = engine.inspector(
    { etdump: dumpOf(METADATA) },
    {
      delegateMetadata: (metadata, name) => {
        seen.set(name, metadata);
        return { size: metadata.length };
      },
    },
  );
  const events = inspector.events()[0]!.events;
  for (const { id, metadata } of METADATA) {
    const event = events.find(({ name }) => name === id)!;
    assert.deepEqual(seen.get(id), metadata.length > 0 ? metadata : undefined);
    assert.deepEqual(
      event.delegateMetadata,
      metadata.length > 0 ? { size: metadata.length } : null,
    );
  }
  assert.deepEqual(
    events.map(({ metadata, isMetadataText }) => [metadata, isMetadataText]),
    [
      ['{"cycles": 12}', true],
      ["0a", true],
      ["0aff00", false],
      [null, true],
    ],
  );
  inspector.dispose();
  const plain = engine.inspector({ etdump: dumpOf(METADATA) });
  assert.ok(plain.events()[0]!.events.every(({ delegateMetadata }) => delegateMetadata === null));
  plain.dispose();
  const wrong = engine.inspector(
    { etdump: dumpOf(METADATA) },
    { delegateMetadata: () => [] as never },
  );
  assert.throws(() => wrong.events(), { code: "argument", message: /delegateMetadata/ });
  wrong.dispose();
});

test("a worker's inspector says that such functions do not reach it", async () => {
  const client = await createClient();
  try {
    for (const options of [{ delegateTime: () => 0 }, { delegateMetadata: () => ({}) }])
      await assert.rejects(client.inspector(filesOf("mlp_xnnpack"), options), {
        code: "argument",
        message: /cannot reach the worker/,
      });
  } finally {
    client.terminate();
  }
});
