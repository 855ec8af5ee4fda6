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

/** Below this many decibels, results often mean something else than those of the float program. */
const LOW_DECIBELS = 15;
const NAMES_MAX = 5;

/** Quantized nodes with the noise that each has more than the node before it, the most first. */
function losses(nodes: MethodQuantizationReport["nodes"]): [name: string, loss: number][] {
  let before = 0;
  const found: [string, number][] = [];
  for (const node of nodes) {
    const decibels = decibelsOf(node);
    if (decibels === null) continue;
    const noise = Math.min(10 ** (-decibels / 10), 1000);
    if (node.isQuantized && noise > before) found.push([node.node, noise - before]);
    before = noise;
  }
  return found.sort(([, a], [, b]) => b - a);
}

/** The layers to skip where the results are far from those of the float program. */
export function adviceOn({
  nodes,
  outputs,
}: Pick<MethodQuantizationReport, "nodes" | "outputs">): string[] {
  const worst = worstOf(outputs);
  const decibels = worst ? decibelsOf(worst)! : Infinity;
  const names = losses(nodes).slice(0, NAMES_MAX);
  if (decibels >= LOW_DECIBELS || names.length === 0) return [];
  const words = decibels === -Infinity ? "-∞" : decibels.toFixed(1);
  return [
    `output ${worst!.output} is only ${words} dB from the float program; skip the layers that ` +
      `lose most, or take more bits: ${names.map(([name]) => name).join(", ")}`,
  ];
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
