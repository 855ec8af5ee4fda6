// The report of sconce export on quantizing, on the terminal and in the file of --report.
import { counted } from "../../base/counted.js";
import { decibelsOf, rangesOfNodes, worstOf } from "../../recipe/quantize/report.js";
import type {
  Delegation,
  DelegationRow,
  ExportRecipe,
  ExportSession,
  QuantizationReport,
  QuantizedNode,
  QuantizedRange,
} from "../../types/index.js";
import { note, tell } from "../print/terminal.js";
import { reportOf } from "../lower/report.js";

/** A name of `--skip` that fits in one method need not fit in another. */
export function warnOfNotes({ methods }: QuantizationReport): void {
  const reports = Object.entries(methods);
  const isEverywhere = (text: string): boolean =>
    reports.every(([, { notes }]) => notes.includes(text));
  const reported = new Set<string>();
  for (const [name, { notes }] of reports)
    for (const text of notes) {
      const isSkip = text.startsWith("skip: ");
      if (isSkip && (reported.has(text) || !isEverywhere(text))) continue;
      reported.add(text);
      note(isSkip ? `note: --${text}` : `note: method ${name}: ${text}`);
    }
}

/** Which methods need calls shows only when their weights are looked at. */
export function warnOfUnused(
  { methods }: QuantizationReport,
  calls: object,
  isCompared: boolean,
): void {
  const unused = Object.entries(methods)
    .filter(([name, { calibrationBatches }]) => Object.hasOwn(calls, name) && !calibrationBatches)
    .map(([name]) => name);
  if (unused.length > 0 && !isCompared)
    note(
      `note: method ${unused.join(", ")}: no quantizer needed calibration, so --calibrate is unused`,
    );
}

/** The node that quantizing has changed the most, where both programs were compared. */
function worstWords(nodes: readonly QuantizedNode[]): string {
  const worst = worstOf(nodes);
  if (!worst) return "";
  const decibels = decibelsOf(worst)!;
  const words = decibels === -Infinity ? "-∞" : decibels.toFixed(1);
  return `; farthest off is ${worst.node}, at ${words} dB`;
}

/** Prints how many nodes were quantized, a line for each method. */
export function sayQuantization(report: QuantizationReport): void {
  for (const [name, { calibrationBatches, nodes }] of Object.entries(report.methods)) {
    const done = nodes.filter(({ isQuantized }) => isQuantized).length;
    const calls = counted(calibrationBatches, "call");
    const on = calibrationBatches > 0 ? `, calibrated on ${calls}` : "";
    tell(`  ${name}: ${done} of ${nodes.length} nodes quantized${on}${worstWords(nodes)}`);
  }
}

/** The backend that took the nodes of a quantized node, or the reason why no backend did. */
function placeOf(rows: readonly DelegationRow[]): object {
  const outside = rows.find(({ delegate }) => delegate === null);
  if (rows.length === 0 || outside?.backend === "") return {};
  return outside ? { delegated: false, outside: outside.reason } : { delegated: true };
}

/** How its result is quantized. Scales that only its readers need are among the ranges. */
function scalesOf(node: QuantizedNode, range: QuantizedRange | undefined): object {
  if (!range || range.isDynamic || !(node.isQuantized || range.isWeight)) return {};
  const { low, high, scale, zeroPoint } = range;
  return { low, high, scale, zeroPoint };
}

const isHelper = ({ op }: DelegationRow): boolean => /^(quantized_decomposed|torchao)::/.test(op);

/** The nodes of each method with their scales and places. */
function withPlaces(
  { methods }: QuantizationReport,
  delegation: Delegation,
): QuantizationReport["methods"] {
  return Object.fromEntries(
    Object.entries(methods).map(([name, report]) => {
      const made = (delegation[name]?.nodes ?? []).filter((row) => !isHelper(row));
      const rowsOf = new Map<string, DelegationRow[]>();
      for (const row of made) rowsOf.set(row.origin, [...(rowsOf.get(row.origin) ?? []), row]);
      const ranges = rangesOfNodes(report);
      const nodes = report.nodes.map((node) => ({
        ...node,
        ...scalesOf(node, ranges.get(node.node)),
        ...placeOf(rowsOf.get(node.node) ?? []),
      }));
      return [name, { ...report, nodes }];
    }),
  );
}

/** The document that `--report` writes. */
export function reportOfExport(session: ExportSession, recipe: ExportRecipe): object {
  const quantization = session.quantizationReport();
  const delegation = session.getExecutorchProgramManager().delegation();
  return {
    recipe: recipe.name,
    stages: session.stages(),
    ...reportOf(delegation, undefined),
    ...(quantization && {
      quantization: withPlaces(quantization, delegation),
      qparams: quantization.qparams,
    }),
  };
}
