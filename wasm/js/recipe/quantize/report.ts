// The meaning of the numbers in a quantization report.
import type {
  MethodQuantizationReport,
  QuantizationError,
  QuantizedRange,
} from "../../types/index.js";

/**
 * The decibels between a result and that of the float program. They are infinite if the two are
 * equal, and minus infinite if one of them was 0 or not finite. Null if they were not compared.
 */
export function decibelsOf(error: Partial<QuantizationError>): number | null {
  const { snr, largestDifference, nonFiniteMismatches = 0 } = error;
  if (snr === undefined) return null;
  if (snr !== null) return snr;
  return largestDifference === 0 && nonFiniteMismatches === 0 ? Infinity : -Infinity;
}

/** The row that is farthest from the float program; undefined where all are equal. */
export function worstOf<T extends Partial<QuantizationError>>(
  results: readonly T[],
): T | undefined {
  let [worst, least]: [T | undefined, number] = [undefined, Infinity];
  for (const result of results) {
    const decibels = decibelsOf(result) ?? Infinity;
    if (decibels < least) [worst, least] = [result, decibels];
  }
  return worst;
}

/**
 * The range of what each node gives, by the node's name. Weights of the file are left out: a
 * parameter may be called as a node is. Those that are computed are what a node gives.
 */
export const rangesOfNodes = ({
  ranges,
}: Pick<MethodQuantizationReport, "ranges">): ReadonlyMap<string, QuantizedRange> =>
  new Map(
    ranges
      .filter(({ bytesBefore }) => bytesBefore === undefined)
      .flatMap((range) => range.tensors.map((name) => [name, range] as const)),
  );
