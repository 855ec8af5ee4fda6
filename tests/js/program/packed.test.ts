// Packed programs: saved by the engine, the client and a pool, opened from every kind of source, with
// the same results to the bit, and refused when they are not what this engine would pack.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  createClient,
  createEngine,
  createPool,
  isTensor,
  tensor,
  type Engine,
  type LowerOptions,
  type Program,
  type Value,
} from "sconce";
import { modelPath, readCases, samplePath } from "../setup/reference.js";

const folder = mkdtempSync(join(tmpdir(), "sconce-packed-"));
let engine: Engine;
before(async () => {
  engine = await createEngine();
});
after(() => {
  engine.dispose();
  rmSync(folder, { recursive: true, force: true });
});

const face = samplePath("face-rfb320.pt2");
const picture = tensor(
  Float32Array.from({ length: 3 * 240 * 320 }, (_, i) => ((i * 7919) % 256) / 128 - 1),
  [1, 3, 240, 320],
);

async function packedOf(program: Program): Promise<Uint8Array> {
  return new Uint8Array(await (await program.toPackedBlob()).arrayBuffer());
}

const bitsOf = (values: readonly Value[]): unknown[] =>
  values.map((value) => (isTensor(value) ? [value.dtype, value.shape, value.data] : value));

/** The files of a face detector: as it was lowered, and packed. */
async function faces(options: LowerOptions): Promise<{ pte: Uint8Array; packed: Uint8Array }> {
  const lowered = engine.lower(face, options);
  const program = engine.load(lowered);
  const files = { pte: lowered.buffer, packed: await packedOf(program) };
  program.dispose();
  lowered.dispose();
  return files;
}

for (const [name, options] of [
  ["with kernels", {}],
  ["with XNNPACK", { partitioner: "xnnpack" }],
] as const)
  test(`a packed program ${name} gives the same bits`, async () => {
    const { pte, packed } = await faces(options);
    assert.equal(engine.detect(packed), "packed");
    const plain = engine.load(pte);
    const program = engine.load(packed);
    const expected = plain.run([picture]);
    assert.deepEqual(bitsOf(program.run([picture])), bitsOf(expected));
    assert.deepEqual(program.methods, plain.methods);
    assert.deepEqual(program.inspect().methods, plain.inspect().methods);
    // Weights that were packed are not there a second time.
    assert.ok(packed.length < 1.3 * pte.length, `${packed.length} for ${pte.length}`);
    assert.deepEqual(await packedOf(program), packed);
    plain.dispose();
    program.dispose();
  });

test("a packed program is opened from every kind of source", async () => {
  const { pte, packed } = await faces({});
  const program = engine.load(pte);
  const expected = bitsOf(program.run([picture]));
  const path = join(folder, "face.packed");
  await program.savePacked(path);
  assert.deepEqual(new Uint8Array(readFileSync(path)), packed);
  const reads = { size: packed.length, read: (at: number, n: number) => packed.slice(at, at + n) };
  for (const source of [path, packed, packed.slice().buffer, reads]) {
    const again = engine.load(source);
    assert.deepEqual(bitsOf(again.run([picture])), expected);
    again.dispose();
  }
  program.dispose();
});

test("several methods and their state are packed together", async () => {
  const programs = {
    prefill: samplePath("stories260k.prefill.pt2"),
    decode: samplePath("stories260k.decode.pt2"),
  };
  const lowered = engine.lower(programs, { partitioner: "xnnpack" });
  const plain = engine.load(lowered);
  const run = (program: Program): unknown[] => {
    const method = program.inspect().methods.find(({ name }) => name === "decode")!;
    const inputs = method.inputs.map(({ dtype, shape = [] }) => {
      const length = shape.reduce((all, size) => all * size, 1);
      return dtype === "int64"
        ? tensor(new BigInt64Array(length).fill(1n), shape)
        : tensor(new Float32Array(length).fill(0.5), shape);
    });
    return [1, 2].flatMap(() => bitsOf(program.run("decode", inputs)));
  };
  const packed = await packedOf(plain);
  const program = engine.load(packed);
  plain.reset();
  assert.deepEqual(run(program), run(plain));
  for (const each of [plain, program, lowered]) each.dispose();
});

test("data files are in the packed file", async () => {
  const lowered = engine.lower(modelPath("mlp.pt2"), { externalConstants: true });
  assert.ok(lowered.dataFiles.length > 0);
  const { inputs } = readCases("mlp")[0]!;
  const plain = engine.load(lowered);
  const expected = bitsOf(plain.run("forward", inputs));
  const packed = await packedOf(plain);
  const program = engine.load(packed);
  assert.deepEqual(bitsOf(program.run("forward", inputs)), expected);
  const { name } = lowered.dataFiles[0]!;
  assert.throws(() => engine.load(packed, { dataFiles: [lowered.dataFile(name)] }), {
    code: "argument",
  });
  for (const each of [plain, program, lowered]) each.dispose();
});

test("files that are damaged or packed otherwise are refused", async () => {
  const { packed } = await faces({});
  const changed = (at: number): Uint8Array => {
    const copy = packed.slice();
    copy[at]! ^= 1;
    return copy;
  };
  assert.throws(() => engine.load(packed.subarray(0, packed.length - 1)), { code: "truncated" });
  assert.throws(() => engine.load(changed(8)), { code: "version", hint: /savePacked/ });
  assert.throws(() => engine.load(changed(100)), { code: "corrupt" });
  assert.throws(() => engine.load(packed, { channelsLast: "never" }), { code: "option" });
  assert.throws(() => engine.load(packed, { optimize: false }), { code: "option" });
  const program = engine.load(changed(packed.length - 1));
  assert.throws(() => program.run([picture]), { code: "corrupt", message: /damaged/ });
  program.dispose();
  const plain = engine.load(engine.lower(face), { optimize: false });
  await assert.rejects(
    plain.savePacked(() => undefined),
    { code: "state" },
  );
  plain.dispose();
});

test("another flavour refuses the file and says what to do", async (t) => {
  if (!engine.capabilities().binary.startsWith("relaxed"))
    return t.skip("only the baseline runs on this host");
  const { packed } = await faces({});
  const baseline = await createEngine({ simd: "baseline" });
  assert.throws(() => baseline.load(packed), {
    code: "version",
    message: /layout/,
    hint: /Load the \.pte, and save it again/,
  });
  baseline.dispose();
});

test("a client saves and opens packed programs", async () => {
  const { pte } = await faces({});
  const client = await createClient();
  const program = await client.load(pte);
  const path = join(folder, "client.packed");
  const seen: string[] = [];
  await program.savePacked(path, { onProgress: ({ phase }) => seen.push(phase) });
  assert.ok(seen.includes("write"));
  assert.equal(statSync(path).size, (await program.toPackedBlob()).size);
  const expected = bitsOf(await program.run([picture]));
  for (const source of [path, new Blob([readFileSync(path)])]) {
    const again = await client.load(source);
    assert.deepEqual(bitsOf(await again.run([picture])), expected);
  }
  await client.terminate();
  const pool = await createPool({ size: 1 });
  const results = await pool.use(async (pooled) => (await pooled.load(path)).run([picture]));
  assert.deepEqual(bitsOf(results), expected);
  await pool.dispose();
});

test("saving can be cancelled, and a disposed program says so", async () => {
  const { pte } = await faces({});
  const program = engine.load(pte);
  const path = join(folder, "cancelled.packed");
  writeFileSync(path, "before");
  await assert.rejects(program.savePacked(path, { signal: AbortSignal.abort() }), {
    code: "cancelled",
  });
  assert.equal(readFileSync(path, "utf8"), "before");
  program.dispose();
  await assert.rejects(program.savePacked(path), { code: "disposed" });
});
