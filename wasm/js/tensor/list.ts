// Nested lists as a tensor's elements: the shape they spell, and each element as its dtype holds it.
// Integers are exact or refused; no value is guessed for holes, strings and rows of other lengths.
import { badArgument, isObject } from "../base/check.js";
import { isComplex, rangeOf, writerOf } from "./dtypes.js";
import { SconceError } from "../base/errors.js";
import type { DType, NestedList } from "../types/index.js";

const RANK_MAX = 16;

interface Flat {
  readonly shape: readonly number[];
  readonly items: readonly unknown[];
}

function refused(why: string, hint: string): SconceError {
  return new SconceError("shape", `the list of tensor() ${why}`, hint);
}

function shapeOf(list: NestedList): number[] {
  const shape: number[] = [];
  for (let level: unknown = list; Array.isArray(level); level = level[0]) {
    if (shape.push(level.length) <= RANK_MAX) continue;
    throw refused(`is nested deeper than ${RANK_MAX}`, "Pass a list of fewer dimensions.");
  }
  return shape;
}

/** The elements of a list in order; throws unless all rows are alike. */
export function flattened(list: NestedList): Flat {
  const shape = shapeOf(list);
  const items: unknown[] = [];
  const collect = (row: unknown, depth: number, place: string): void => {
    const size = shape[depth];
    if (!Array.isArray(row) || row.length !== size) {
      const wanted = size === undefined ? "an element" : `a list of ${size}`;
      throw refused(`is ragged: ${place} is not ${wanted}`, "Make all rows equally long.");
    }
    // By index, because holes are elements too.
    for (let i = 0; i < size; i++) {
      const item: unknown = row[i];
      const isElement = depth + 1 === shape.length && !Array.isArray(item);
      if (isElement) items.push(item);
      else collect(item, depth + 1, `${place}[${i}]`);
    }
  };
  collect(list, 0, "");
  return { shape, items };
}

interface Reader {
  readonly accepts: string;
  /** The items of the dtype's array that hold the element; undefined where none can. */
  readonly read: (item: unknown) => readonly (number | bigint)[] | undefined;
}

function integerReader(low: bigint, high: bigint): Reader {
  const isWide = high > 2n ** 53n;
  const range = `a whole number from ${low} to ${high}`;
  return {
    accepts: isWide ? `${range}, as a bigint where it is beyond 2^53` : range,
    read: (item) => {
      if (typeof item !== "bigint" && !Number.isSafeInteger(item)) return undefined;
      const value = BigInt(item as number | bigint);
      if (value < low || value > high) return undefined;
      return [isWide ? value : Number(value)];
    },
  };
}

const BOOLS: Reader = {
  accepts: "true, false, 1 or 0",
  read: (item) =>
    typeof item === "boolean" || item === 0 || item === 1 ? [Number(item)] : undefined,
};

/** The real and the imaginary part of a number or of `{ re, im }`. */
function complexParts(item: unknown): readonly [number, number] | undefined {
  if (typeof item === "number") return [item, 0];
  if (!isObject(item)) return undefined;
  const { re, im = 0 } = item;
  return typeof re === "number" && typeof im === "number" ? [re, im] : undefined;
}

function readerOf(dtype: DType): Reader {
  const range = rangeOf(dtype);
  if (range) return integerReader(...range);
  if (dtype === "bool") return BOOLS;
  const write = writerOf(dtype);
  if (isComplex(dtype))
    return {
      accepts: "a number or { re, im }",
      read: (item) => complexParts(item)?.map(write),
    };
  return {
    accepts: "a number",
    read: (item) => (typeof item === "number" ? [write(item)] : undefined),
  };
}

/** The dtype of elements that come without one: integers of 64 bits are bigints. */
export function dtypeOf(items: readonly unknown[]): DType {
  const all = (type: string): boolean =>
    items.length > 0 && items.every((item) => typeof item === type);
  if (all("bigint")) return "int64";
  if (all("boolean")) return "bool";
  return items.some(isObject) ? "complex64" : "float32";
}

/** `[1][0]`: where the element number `index` stands in the list. */
function placeOf(index: number, shape: readonly number[]): string {
  let rest = index;
  const places = [...shape].reverse().map((size) => {
    const at = rest % size;
    rest = Math.floor(rest / size);
    return `[${at}]`;
  });
  return places.reverse().join("");
}

/** The items of a dtype's array for the elements of a list. */
export function elements({ shape, items }: Flat, dtype: DType): (number | bigint)[] {
  const reader = readerOf(dtype);
  return items.flatMap((item, index) => {
    const element = reader.read(item);
    if (element !== undefined) return element;
    throw badArgument(`element ${placeOf(index, shape)} of tensor()`, reader.accepts, item);
  });
}
