// What the numbers of a quantization report mean.
import type {
  MethodQuantizationReport,
  QuantizationError,
  QuantizedRange,
} from "../types/session.js";

/**
 * Decibels between a result and that of the float program: infinite where nothing differs, and
 * minus infinite where the difference is all that there is: of a result that was 0, or not finite,
 * in one of the two. Null for what was not compared.
 */
export function decibelsOf(error: Partial<QuantizationError>): number | null {
  const { snr, largestDifference, nonFiniteMismatches = 0 } = error;
  if (snr === undefined) return null;
  if (snr !== null) return snr;
  return largestDifference === 0 && nonFiniteMismatches === 0 ? Infinity : -Infinity;
}

/** What is farthest from the float program; undefined where nothing differs. */
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
