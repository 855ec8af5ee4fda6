// Made-up inputs for what a method declares: zeros, ones, or random numbers that are the same on
// every host. The command and the page share them.
import { dataFromBytes } from "./tensor.js";
import type { DType, ProgramValueInfo, Tensor, Value } from "./types.js";

/** Uniform numbers in [0, 1) that are the same everywhere (mulberry32). */
function randomSource(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** A number as the bits of a float16 or bfloat16. */
function floatBits16(value: number, brain: boolean): number {
  const view = new DataView(new ArrayBuffer(4));
  view.setFloat32(0, value);
  const bits = view.getUint32(0);
  if (brain) return ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16) & 0xffff;
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = Math.abs(value);
  if (Number.isNaN(value)) return 0x7e00;
  if (magnitude >= 65520) return sign | 0x7c00;
  if (magnitude < 2 ** -14) return sign | Math.round(magnitude * 2 ** 24);
  const exponent = Math.min(15, Math.floor(Math.log2(magnitude)));
  return sign | (((exponent + 15) << 10) + Math.round((magnitude / 2 ** exponent - 1) * 1024));
}

const countOf = (shape: readonly number[]): number => shape.reduce((product, n) => product * n, 1);

const isFloat = (dtype: DType): boolean => /^(b?float|complex)/.test(dtype);

/** A tensor of the declared dtype whose elements `next` gives one after the other. */
export function makeTensor(
  info: ProgramValueInfo,
  shape: readonly number[],
  next: (index: number) => number,
): Tensor {
  const dtype = info.dtype!;
  const itemBytes = info.bytes! / (countOf(info.shape!) || 1);
  const data = dataFromBytes(dtype, new Uint8Array(countOf(shape) * itemBytes));
  const brain = dtype === "bfloat16";
  for (let i = 0; i < countOf(shape); i++) {
    const value = next(i);
    if (data instanceof BigInt64Array || data instanceof BigUint64Array) data[i] = BigInt(value);
    else data[i] = brain || dtype === "float16" ? floatBits16(value, brain) : value;
  }
  return { dtype, shape: [...shape], data };
}

/**
 * A made-up input: "zeros", "ones" or "random:SEED" (floats of a normal distribution, integers 0
 * or 1). Scalars repeat the value frozen at export.
 */
export function fill(
  filler: string,
  info: ProgramValueInfo,
  index: number,
  shape: readonly number[] = info.shape ?? [],
): Value {
  if (info.kind !== "tensor") return info.value ?? null;
  const random = randomSource(Number(filler.split(":")[1] ?? 0) * 1000 + index);
  return makeTensor(info, shape, () => {
    if (!filler.startsWith("random")) return filler === "ones" ? 1 : 0;
    if (!isFloat(info.dtype!)) return random() < 0.5 ? 0 : 1;
    return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  });
}
