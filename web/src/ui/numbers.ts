// What can be said about a result at a glance: range, NaNs, first values, the largest ones.
import { roundedNumbers } from "@sconce/tensor/numbers.js";
import type { Tensor, Value } from "@sconce/types/index.js";
import type { OutputView, ScalarView, TensorView } from "../state.js";

const FIRST_MAX = 64;
const TOP_COUNT = 5;
/** A ranking makes sense for a row of scores, not for a picture. */
const RANKED_MAX = 100_000;

function ranked(numbers: readonly number[], shape: readonly number[]): TensorView["top"] {
  const isRow = shape.filter((size) => size > 1).length === 1;
  if (!isRow || numbers.length < 2 * TOP_COUNT || numbers.length > RANKED_MAX) return [];
  return numbers
    .map((value, index) => ({ index, value }))
    .sort((a, b) => b.value - a.value)
    .slice(0, TOP_COUNT);
}

/** Complex numbers have no order, and so no range. */
const isOpaque = ({ dtype }: Tensor): boolean => dtype.startsWith("complex");

function tensorView(tensor: Tensor): TensorView {
  const numbers = isOpaque(tensor) ? [] : roundedNumbers(tensor);
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
    tensor,
    min,
    max,
    mean: sum / (numbers.length - nanCount),
    nanCount,
    count: tensor.shape.reduce((product, size) => product * size, 1),
    first: numbers.slice(0, FIRST_MAX),
    top: ranked(numbers, tensor.shape),
  };
}

export function viewOf(value: Value): OutputView {
  if (value === null) return { kind: "none", text: "none" };
  if (typeof value === "object") return tensorView(value);
  return { kind: typeof value as ScalarView["kind"], text: String(value) };
}

/** Median of times, which a single hiccup does not move. */
export function median(times: readonly number[]): number {
  const sorted = [...times].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
