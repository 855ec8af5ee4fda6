// What can be said about a result at a glance: range, NaNs, first values, the largest ones.
import { toNumbers } from "@sconce/tensor.js";
import type { Value } from "@sconce/types.js";
import type { OutputView } from "../state.js";

const FIRST_MAX = 64;
const TOP_COUNT = 5;
/** A ranking makes sense for a row of scores, not for a picture. */
const RANKED_MAX = 100_000;

function ranked(numbers: readonly number[], shape: readonly number[]): OutputView["top"] {
  const isRow = shape.filter((size) => size > 1).length === 1;
  if (!isRow || numbers.length < 2 * TOP_COUNT || numbers.length > RANKED_MAX) return [];
  return numbers
    .map((value, index) => ({ index, value }))
    .sort((a, b) => b.value - a.value)
    .slice(0, TOP_COUNT);
}

export function viewOf(value: Value): OutputView {
  const nothing = {
    tensor: null,
    min: NaN,
    max: NaN,
    mean: NaN,
    nanCount: 0,
    count: 0,
    first: [],
    top: [],
  };
  if (typeof value !== "object" || value === null) {
    return { ...nothing, kind: value === null ? "none" : typeof value, text: String(value) };
  }
  const numbers =
    value.dtype.startsWith("complex") || value.dtype.startsWith("float8") ? [] : toNumbers(value);
  let [min, max, sum, nanCount] = [Infinity, -Infinity, 0, 0];
  for (const number of numbers) {
    if (Number.isNaN(number)) {
      nanCount++;
      continue;
    }
    min = Math.min(min, number);
    max = Math.max(max, number);
    sum += number;
  }
  return {
    kind: "tensor",
    text: "",
    tensor: value,
    min,
    max,
    mean: sum / (numbers.length - nanCount),
    nanCount,
    count: value.shape.reduce((product, size) => product * size, 1),
    first: numbers.slice(0, FIRST_MAX),
    top: ranked(numbers, value.shape),
  };
}

/** Median of times, which a single hiccup does not move. */
export function median(times: readonly number[]): number {
  const sorted = [...times].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
