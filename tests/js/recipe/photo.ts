// The photograph that the face detector is tried on, and what PyTorch finds in it.
import { readFileSync } from "node:fs";
import { inflateSync } from "node:zlib";
import type { Tensor, Value } from "sconce";
import { samplePath } from "../setup/reference.js";

export interface Face {
  score: number;
  box: number[];
}

interface Faces {
  toInput(rgba: ArrayLike<number>): Tensor;
  toFaces(scores: ArrayLike<number>, boxes: ArrayLike<number>): Face[];
}
// @ts-expect-error plain JavaScript with types in comments
const { toInput, toFaces } = (await import("../../../../examples/faces.mjs")) as Faces;

export const [GOLDEN_FACE] = (
  JSON.parse(readFileSync(samplePath("face-photo.golden.json"), "utf8")) as { faces: [Face] }
).faces;

/** The bytes of a PNG's rows, each after the number of its filter, and how many one has. */
function readPng(path: string): { rows: Buffer; width: number; height: number } {
  const bytes = readFileSync(path);
  const parts: Buffer[] = [];
  for (let at = 8; at < bytes.length; at += 12 + bytes.readUInt32BE(at))
    if (bytes.toString("latin1", at + 4, at + 8) === "IDAT")
      parts.push(bytes.subarray(at + 8, at + 8 + bytes.readUInt32BE(at)));
  const [width, height] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
  // 8 bits each of red, green and blue, rows in order.
  if (bytes.readUInt32BE(24) !== 0x08020000 || bytes[28] !== 0) throw new Error("another kind");
  return { rows: inflateSync(Buffer.concat(parts)), width, height };
}

/** A PNG filter adds this to a byte, by the bytes to the left, above, and left of that. */
const FILTERS: ((left: number, up: number, corner: number) => number)[] = [
  () => 0,
  (left) => left,
  (_, up) => up,
  (left, up) => (left + up) >> 1,
  (left, up, corner) => {
    const [a, b, c] = [up - corner, left - corner, left + up - 2 * corner].map(Math.abs);
    return a! <= b! && a! <= c! ? left : b! <= c! ? up : corner;
  },
];

function pixelsOf(path: string): Uint8Array {
  const { rows, width, height } = readPng(path);
  const stride = 3 * width;
  const out = new Uint8Array(stride * height);
  for (let y = 0; y < height; y++) {
    const filter = FILTERS[rows[y * (stride + 1)]!]!;
    for (let i = 0; i < stride; i++) {
      const at = y * stride + i;
      const before = (back: number, isThere: boolean): number => (isThere ? out[at - back]! : 0);
      const added = filter(
        before(3, i >= 3),
        before(stride, y > 0),
        before(stride + 3, y > 0 && i >= 3),
      );
      out[at] = rows[y * (stride + 1) + 1 + i]! + added;
    }
  }
  return out;
}

/** The photograph as the detector takes it. */
export function photo(): Tensor {
  const pixels = pixelsOf(samplePath("face-photo.320x240.png"));
  const rgba = new Uint8Array((pixels.length / 3) * 4);
  pixels.forEach((value, i) => (rgba[Math.floor(i / 3) * 4 + (i % 3)] = value));
  return toInput(rgba);
}

const numbers = (value: Value): ArrayLike<number> => (value as Tensor).data as Float32Array;

/** The faces in what the detector gave. */
export const facesIn = ([scores, boxes]: readonly Value[]): Face[] =>
  toFaces(numbers(scores!), numbers(boxes!));

/** The area that two boxes share, by the area that they cover. */
export function overlap(a: readonly number[], b: readonly number[]): number {
  const side = (low: number, high: number): number => Math.max(0, high - low);
  const area = (r: readonly number[]): number => side(r[0]!, r[2]!) * side(r[1]!, r[3]!);
  const common = [0, 1].map((d) => side(Math.max(a[d]!, b[d]!), Math.min(a[d + 2]!, b[d + 2]!)));
  const shared = common[0]! * common[1]!;
  return shared / (area(a) + area(b) - shared);
}
