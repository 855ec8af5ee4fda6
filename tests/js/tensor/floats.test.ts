// Small floats: what PyTorch 2.13 makes of every bit pattern of each format, and of numbers at and
// around all halves between them, by digest. tests/make/make_float_digests.py writes the digests.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { tensor, toNumbers, type DType } from "sconce";

const path = fileURLToPath(new URL("../../../../tests/data/floats/digests.json", import.meta.url));
const digests = JSON.parse(readFileSync(path, "utf8")) as Record<
  string,
  { decoded: string; encoded: string }
>;

const digestOf = (...arrays: ArrayBufferView[]): string => {
  const hash = createHash("sha256");
  for (const { buffer, byteOffset, byteLength } of arrays)
    hash.update(new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength));
  return hash.digest("hex");
};

/** Low halves of float32 numbers: at ties of both sizes and next to them. */
const LOWS = [0, 1, 0xffff].concat(
  [12, 13, 14, 15].flatMap((bit) => [(1 << bit) - 1, 1 << bit, (1 << bit) + 1]),
);

/** The float32 numbers of every high half with a low half, without NaN. */
function floatsOf(low: number): Float32Array {
  const bits = Uint32Array.from({ length: 65536 }, (_, high) => ((high << 16) | low) >>> 0);
  return new Float32Array(bits.buffer).filter((number) => !Number.isNaN(number));
}

/** NaN as one bit pattern. */
function withOneNaN(numbers: readonly number[]): Uint32Array {
  const floats = Float32Array.from(numbers);
  const bits = new Uint32Array(floats.buffer);
  floats.forEach((number, i) => Number.isNaN(number) && (bits[i] = 0x7fc00000));
  return bits;
}

for (const [name, { decoded, encoded }] of Object.entries(digests)) {
  const dtype = name as DType;
  test(`all bits of ${name} are the numbers that PyTorch has`, () => {
    const codes = name.startsWith("float8")
      ? Uint8Array.from({ length: 256 }, (_, i) => i)
      : Uint16Array.from({ length: 65536 }, (_, i) => i);
    assert.equal(digestOf(withOneNaN(toNumbers(tensor(codes, undefined, dtype)))), decoded);
  });
  test(`numbers become the bits of ${name} that PyTorch gives them`, () => {
    const made = LOWS.map((low) => tensor(floatsOf(low), undefined, dtype).data);
    assert.equal(digestOf(...made), encoded);
  });
}

test("numbers of lists are rounded to float32 on their way, as PyTorch does", () => {
  const listed = (dtype: DType): number[] =>
    Array.from(tensor([1 + 2 ** -11 + 2 ** -40, 70000, -1e39, NaN, -0], [5], dtype).data, Number);
  assert.deepEqual(listed("float16"), [0x3c00, 0x7c00, 0xfc00, 0x7e00, 0x8000]);
  assert.deepEqual(listed("bfloat16"), [0x3f80, 0x4789, 0xff80, 0x7fc0, 0x8000]);
  assert.deepEqual(listed("float8_e4m3fn"), [0x38, 0x7e, 0xfe, 0x7f, 0x80]);
  assert.deepEqual(listed("float8_e5m2fnuz"), [0x40, 0x80, 0x80, 0x80, 0]);
});
