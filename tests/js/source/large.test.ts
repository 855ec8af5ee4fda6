// Weights too large for memory, in small: what is read of them, what is held, and when.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createEngine, type Engine, type RandomAccess, type Tensor } from "sconce";
import { linearOf } from "../setup/zip.js";

let engine: Engine;
before(async () => {
  engine = await createEngine();
});
after(() => engine.dispose());

/** Bytes that say what was read of them. */
class Counted implements RandomAccess {
  total = 0;
  longest = 0;
  constructor(private readonly bytes: Uint8Array) {}
  get size(): number {
    return this.bytes.length;
  }
  read(offset: number, length: number): Uint8Array {
    this.total += length;
    this.longest = Math.max(this.longest, length);
    return this.bytes.subarray(offset, offset + length);
  }
}

test("a weight larger than what may be held is transposed while the file is written", () => {
  const [rows, columns] = [3000, 2500];
  const weights = Float32Array.from({ length: rows * columns }, (_, i) => i);
  const source = new Counted(linearOf(weights, columns));
  const lowered = engine.lower(source);
  assert.ok(lowered.inspect().plans[0]!.plannedBytes < 100_000, "nothing is transposed in a run");
  assert.ok(source.total < 1 << 18, `${source.total} bytes were read before any were written`);
  const heap = lowered.inspect().heapBytes;
  const program = Buffer.from(lowered.buffer);
  assert.ok(source.total < 1.1 * weights.byteLength, `${source.total} bytes were read`);
  assert.ok(source.longest < 1 << 20, `a read took ${source.longest} bytes`);
  const grown = lowered.inspect().heapBytes - heap;
  assert.ok(grown < 24 << 20, `memory grew by ${grown} bytes`);
  lowered.dispose();
  const transposed = Float32Array.from(
    { length: rows * columns },
    (_, i) => weights[(i % rows) * columns + Math.floor(i / rows)]!,
  );
  const expected = Buffer.from(transposed.buffer);
  const at = program.indexOf(expected.subarray(0, 64));
  assert.ok(at > 0 && program.subarray(at, at + expected.length).equals(expected));
});

// Weights are packed for a delegate, and what they were packed from is let go; methods that share
// them add none. Memory never shrinks, so that what it has come to counts what was held on the way.
for (const externalConstants of [false, true])
  test(`weights of delegates are held once, ${externalConstants ? "beside" : "in"} the program`, async () => {
    const [rows, columns] = [4096, 1024];
    const weights = Float32Array.from({ length: rows * columns }, (_, i) => (i % 7) - 3);
    const source = linearOf(weights, columns);
    const lowered = engine.lower(
      { first: source, second: source, third: source },
      { externalConstants, partitioner: "xnnpack" },
    );
    const delegates = Object.values(lowered.delegation()).map((m) => m.delegates.length);
    assert.deepEqual(delegates, [1, 1, 1]);
    const other = await createEngine();
    const dataFiles = lowered.dataFiles.map(({ name }) => lowered.dataFile(name));
    const program = other.load(lowered.buffer, { dataFiles });
    lowered.dispose();
    const held = (): number => program.inspect().heapBytes;
    const opened = held();
    const ones = new Float32Array(4 * columns).fill(1);
    const input: Tensor = { dtype: "float32", shape: [4, columns], data: ones };
    const [first] = program.run("first", [input]);
    const loaded = held();
    // One weight: it is there as it was and packed for a moment.
    assert.ok(
      loaded - opened < 2.1 * weights.byteLength,
      `memory grew by ${loaded - opened} bytes`,
    );
    const [second] = program.run("second", [input]);
    assert.deepEqual(second, first);
    // Packing finds that they are there already, and keeps none of its own.
    const shared = held();
    assert.ok(
      shared - loaded < 2.1 * weights.byteLength,
      `memory grew by ${shared - loaded} bytes`,
    );
    const [third] = program.run("third", [input]);
    assert.deepEqual(third, first);
    assert.equal(held(), shared, "each method has weights of its own");
    other.dispose();
  });
