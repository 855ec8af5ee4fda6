// Programs that cannot fit the memory of WebAssembly: they are refused by what their file declares, before
// any of their weights is read.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import {
  createEngine,
  type Engine,
  type InputTensor,
  type RandomAccess,
  type SconceError,
} from "sconce";
import { linearOf } from "../setup/zip.js";

let engine: Engine;
before(async () => {
  engine = await createEngine();
});
after(() => engine.dispose());

const GB = 1e9;
const model = (name: string): Uint8Array =>
  readFileSync(new URL(`../../../../tests/models/${name}.pt2`, import.meta.url));

/** Little-endian bytes of a number. */
function bytesOf(value: number, size: 4 | 8): Buffer {
  const bytes = Buffer.alloc(size);
  if (size === 4) bytes.writeInt32LE(value);
  else bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

/** A copy with another number in each aligned place of one. */
function patched(file: Uint8Array, size: 4 | 8, from: number, to: number): Buffer {
  const copy = Buffer.from(file);
  const [old, other] = [bytesOf(from, size), bytesOf(to, size)];
  let count = 0;
  for (let at = 0; at + size <= copy.length; at += size) {
    if (copy.compare(old, 0, size, at, at + size) !== 0) continue;
    other.copy(copy, at);
    count++;
  }
  assert.ok(count > 0, `${from} is not in the file`);
  return copy;
}

/** The offset of the first segment, and the bytes of all segments, as the header has them. */
function ends(file: Uint8Array): [base: number, segments: number] {
  const [base, segments] = [24, 32].map((at) => Number(Buffer.from(file).readBigUInt64LE(at)));
  return [base!, segments!];
}

/** A file with a long end of zeros that nobody holds. */
class Sparse implements RandomAccess {
  total = 0;
  constructor(
    private readonly begin: Uint8Array,
    readonly size: number,
  ) {}
  read(offset: number, length: number): Uint8Array {
    this.total += length;
    const bytes = new Uint8Array(length);
    bytes.set(this.begin.subarray(offset, Math.min(this.begin.length, offset + length)));
    return bytes;
  }
}

/** Throws unless a call says how much memory is lacking, and what to do. */
function refused(call: () => void, message: RegExp): void {
  assert.throws(call, (error: SconceError) => {
    assert.equal(error.code, "out_of_memory", error.message);
    assert.match(error.message, message);
    assert.match(error.hint, /^Quantize the model/);
    return true;
  });
}

test("planned memory beyond what there can be is refused when the program is loaded", () => {
  const lowered = engine.lower(model("cnn"));
  const [planned] = engine.load(lowered).inspect().methods[0]!.plannedBytes;
  const file = patched(lowered.buffer, 8, planned!, 5 * GB);
  refused(
    () => engine.load(file),
    /^method 'forward' needs 5\.0\d GB of memory at least, .* for weights and 5\.00 GB planned, and WebAssembly can have 4\.29 GB$/,
  );
});

test("a file of 5 GB is refused before its weights are read", () => {
  const [rows, columns] = [3000, 500];
  const weights = new Float32Array(rows * columns).fill(1);
  const whole = engine.lower(linearOf(weights, columns)).buffer;
  const [base, segment] = ends(whole);
  // The bias has a number for each row, too.
  assert.equal(segment, 4 * rows * (columns + 1));
  const [manyRows, large] = [2.5e6, 4 * 2.5e6 * (columns + 1)];
  const begin = patched(whole, 8, segment, large).subarray(0, base);
  const source = new Sparse(patched(begin, 4, rows, manyRows), base + large);
  refused(
    () => engine.load(source),
    /^method 'forward' needs 5\.01 GB of memory at least, 5\.01 GB of it for weights/,
  );
  assert.ok(source.total < 100_000, `${source.total} bytes were read`);
});

test("a method that fits is loaded, and one that does not says so before it is", () => {
  const [rows, columns] = [3000, 500];
  const weights = new Float32Array(rows * columns).fill(1);
  const whole = engine.lower({ small: model("mlp"), large: linearOf(weights, columns) }).buffer;
  const [base, segment] = ends(whole);
  const [manyRows, large] = [2.5e6, segment + 4 * 2.5e6 * (columns + 1)];
  const begin = patched(whole.subarray(0, base), 8, segment, large);
  const head = patched(begin, 4, rows, manyRows);
  const source = new Sparse(Buffer.concat([head, whole.subarray(base)]), base + large);
  const program = engine.load(source);
  const input = (shape: readonly number[]): InputTensor => ({
    dtype: "float32",
    shape,
    data: new Float32Array(shape.reduce((product, size) => product * size, 1)),
  });
  assert.equal(program.run("small", [input([4, 16])]).length, 1);
  const { total } = source;
  refused(
    () => program.run("large", [input([4, columns])]),
    /^method 'large' needs 5\.01 GB of memory .*, of which \S+ MB are in use$/,
  );
  assert.equal(source.total, total);
});
