// Made-up inputs for what a method declares: zeros, ones, or random numbers that are the same on
// every host. The command and the page share them.
import { partsOf, writerOf, zerosOf } from "./dtypes.js";
import { countOf } from "./shape.js";
import type { DType, ProgramValueInfo, Tensor, Value } from "../types/index.js";

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

const isFloat = (dtype: DType): boolean => /^(b?float|complex)/.test(dtype);

/** Gives the numbers of a tensor in order; a complex element has a part 0 and a part 1. */
type Numbers = (index: number, part: number) => number;

/** A tensor of the declared dtype whose numbers `next` gives one after the other. */
export function makeTensor(
  info: ProgramValueInfo,
  shape: readonly number[],
  next: Numbers,
): Tensor {
  const dtype = info.dtype!;
  const data = zerosOf(dtype, countOf(shape));
  const item = writerOf(dtype);
  const parts = partsOf(dtype);
  for (let i = 0; i < data.length; i++) data[i] = item(next(Math.floor(i / parts), i % parts));
  return { dtype, shape: [...shape], data } as Tensor;
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
  return makeTensor(info, shape, (_, part) => {
    // One is a complex number without an imaginary part.
    if (!filler.startsWith("random")) return filler === "ones" && part === 0 ? 1 : 0;
    if (!isFloat(info.dtype!)) return random() < 0.5 ? 0 : 1;
    return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  });
}
