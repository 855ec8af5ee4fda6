// The meaning of the numbers in a quantization report.
import type {
  MethodQuantizationReport,
  QuantizationError,
  QuantizedOutput,
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
const NORM = /norm/;

type Nodes = MethodQuantizationReport["nodes"];

/** Noise as a share of the signal; 0 for a node that is the same in both programs. */
function noiseOf(node: Nodes[number]): number {
  const decibels = decibelsOf(node);
  return decibels === null ? 0 : Math.min(10 ** (-decibels / 10), 1000);
}

/** Names with the noise that each adds, the most first. */
const sorted = (found: readonly [string[], number][]): string[] =>
  [...found].sort(([, a], [, b]) => b - a).flatMap(([names]) => names);

/**
 * The quantized nodes that lose most. Networks with normalizations are measured there: what a block adds
 * to the values that all blocks share counts, and not how faint the results of its layers are.
 */
function losses(nodes: Nodes): string[] {
  const hasBlocks = nodes.filter(({ op }) => NORM.test(op)).length > 1;
  const found: [string[], number][] = [];
  let names: string[] = [];
  let before = 0;
  for (const node of nodes) {
    if (node.isQuantized) names.push(node.node);
    if (hasBlocks ? !NORM.test(node.op) : decibelsOf(node) === null) continue;
    const noise = noiseOf(node);
    const isLoss = noise > before && (hasBlocks || node.isQuantized);
    if (isLoss && names.length > 0) found.push([names, noise - before]);
    names = [];
    before = noise;
  }
  return sorted(found);
}

/** More rows with another greatest score are a warning. */
const CHANGED_MAX = 0.05;

const isChanged = ({ rows = 0, changedRows = 0 }: QuantizedOutput): boolean =>
  changedRows > CHANGED_MAX * rows;

/** How an output differs; undefined if it is near enough to that of the float program. */
function distance(result: QuantizedOutput): string | undefined {
  const decibels = decibelsOf(result) ?? Infinity;
  const words = decibels === -Infinity ? "-∞" : decibels.toFixed(1);
  if (isChanged(result))
    return `has another greatest score in ${result.changedRows} of ${result.rows} rows (${words} dB)`;
  return decibels < LOW_DECIBELS ? `is only ${words} dB from the float program` : undefined;
}

/**
 * The layers to skip where the results are far from those of the float program. The layer that gives
 * scores comes first: each score has noise of its own from it.
 */
export function adviceOn({
  nodes,
  outputs,
}: Pick<MethodQuantizationReport, "nodes" | "outputs">): string[] {
  const worst = outputs.find(isChanged) ?? worstOf(outputs);
  const words = worst && distance(worst);
  if (words === undefined) return [];
  const heads = outputs.filter(isChanged).map(({ layer }) => layer);
  const first = nodes.filter(({ node, isQuantized }) => isQuantized && heads.includes(node));
  const names = new Set([...first.map(({ node }) => node), ...losses(nodes)]);
  const list = [...names].slice(0, first.length > 0 ? first.length : NAMES_MAX);
  if (list.length === 0) return [];
  return [
    `output ${worst!.output} ${words}; skip the layers that ` +
      `lose most, or take more bits: ${list.join(", ")}`,
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
