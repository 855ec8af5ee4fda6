// The type of a value, with the strides that the core leaves out where they are row-major.
import type { Size, ValueMeta } from "../types/index.js";
import type { RawValue } from "./raw.js";

/** Strides of a row-major tensor of known sizes. */
function rowMajor(shape: readonly Size[]): number[] {
  const strides: number[] = [];
  let stride = 1;
  for (const size of [...shape].reverse()) {
    strides.unshift(stride);
    stride *= Math.max(Number(size), 1);
  }
  return strides;
}

/** The type of a value as passes see it. */
export function metaOf({ id: _, name: __, ...meta }: RawValue): ValueMeta {
  const { shape } = meta;
  if (!shape || meta.strides) return Object.freeze(meta);
  return Object.freeze({ ...meta, strides: rowMajor(shape), dimOrder: [...shape.keys()] });
}
