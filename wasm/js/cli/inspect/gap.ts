// sconce inspect --gap: how far what a run has logged is from what the record's program computes.
import { counted } from "../../base/counted.js";
import { SconceError } from "../../base/errors.js";
import type { EventBlock, GapMethod, GapMetric, GapReport, Inspector } from "../../types/index.js";
import { say, warn } from "../print/terminal.js";
import { blockLabels, some, sourceOf } from "./blocks.js";
import { digits, sayTable, type Cell } from "../print/table.js";

/** The measures of a gap, in the order of the columns. */
export const METRICS: readonly GapMetric[] = ["snr", "mse", "l1", "cosine", "max"];
const NAMES_SHOWN = 6;

/** A metric by its name on the command line, which the parser has checked. */
export const metricOf = (name: string): GapMetric => METRICS.find((metric) => metric === name)!;

// --- Reports -------------------------------------------------------------------------------------

const hasValues = ({ events, outputs }: EventBlock): boolean =>
  outputs.length > 0 || events.some(({ values }) => values.length > 0);

/** Methods with logged values, in the order of the dump. */
function methodsOf(blocks: readonly EventBlock[]): string[] {
  const methods = blocks.filter(hasValues).flatMap(({ method }) => method ?? []);
  return [...new Set(methods)];
}

/** The reports of numeric gaps, and whether they cover all methods. */
export interface Gaps {
  reports: GapReport[];
  /** False where a method could not be compared while others were. */
  areAll: boolean;
}

/** The gap of the method that is asked for, or of each that the dump has values of. */
export function gapsOf(
  inspector: Inspector,
  blocks: readonly EventBlock[],
  method: string | undefined,
  reference: string | undefined,
): Gaps {
  const options = reference === undefined ? {} : { reference };
  const methods = method === undefined ? methodsOf(blocks) : [method];
  if (methods.length === 0) return { reports: [inspector.numericGap(options)], areAll: true };
  const reports: GapReport[] = [];
  const errors: SconceError[] = [];
  for (const name of methods) {
    try {
      reports.push(inspector.numericGap({ ...options, method: name }));
    } catch (error) {
      if (!(error instanceof SconceError)) throw error;
      errors.push(error);
      if (methods.length > 1)
        warn(`method ${name}: ${error.code}: ${error.message}${error.hint && ` (${error.hint})`}`);
    }
  }
  if (reports.length === 0) throw errors[0]!;
  return { reports, areAll: errors.length === 0 };
}

/** Why a comparison is empty, as far as the dump's runs tell, and what to do. */
export function emptyComparison(blocks: readonly EventBlock[]): string[] {
  const runs = blocks
    .filter(hasValues)
    .map(({ method }) => (method === null ? "of no method of the record" : `of method ${method}`));
  const there = `its runs with values are ${[...new Set(runs)].join(", ")}`;
  return [
    `no value of the dump was compared: ${there}`,
    "  Log intermediate values (sconce run --intermediates), and pass the record that was written with the program that ran.",
  ];
}

// --- Text ----------------------------------------------------------------------------------------

/**
 * Largest difference first: an SNR and a cosine are the smaller, the worse; what is not a number is
 * worse than all. Infinities are equal to each other, though their difference is not 0.
 */
export function worstFirst(metric: GapMetric): (a: number, b: number) => number {
  const sign = metric === "snr" || metric === "cosine" ? 1 : -1;
  return (a, b) => {
    if (Number.isNaN(a) || Number.isNaN(b))
      return Number(Number.isNaN(b)) - Number(Number.isNaN(a));
    return a === b ? 0 : a < b ? -sign : sign;
  };
}

const INPUTS: Readonly<Record<GapMethod["inputs"], string>> = {
  representative:
    "the record's representative inputs: the run must have had these, as " +
    "sconce run --etrecord FILE --input example gives them",
  example: "the inputs that the method was exported with: the run must have had these",
};

/** Prints the values that were not compared, one line for each reason. */
function saySkipped(skipped: GapReport["skipped"]): void {
  const names = new Map<string, string[]>();
  for (const { name, reason } of skipped) names.set(reason, [...(names.get(reason) ?? []), name]);
  for (const [reason, all] of names) {
    const counts = new Map<string, number>();
    for (const name of all) counts.set(name, (counts.get(name) ?? 0) + 1);
    const parts = [...counts].map(([name, count]) => (count > 1 ? `${count} of ${name}` : name));
    const of = counted(all.length, "event");
    say(`  not compared: ${of}: ${reason} (${some(parts, NAMES_SHOWN)})`);
  }
}

function sayRows(
  report: GapReport,
  metric: GapMetric,
  labels: readonly string[],
  severalBlocks: boolean,
): void {
  const order = worstFirst(metric);
  const rows = report.rows.flatMap((row) => row.outputs.map((output) => ({ row, output })));
  if (rows.length === 0) return say("  no event could be compared");
  rows.sort((x, y) => order(x.output.gap[metric], y.output.gap[metric]));
  sayTable(
    [...METRICS, "runtime", "nodes", ...(severalBlocks ? ["of"] : []), "line"],
    rows.map(({ row, output }): Cell[] => [
      ...METRICS.map((name) => output.gap[name]),
      some(row.runtimeOps),
      some(row.aotOps),
      ...(severalBlocks ? [labels[row.block]!] : []),
      sourceOf(row.nodes),
    ]),
  );
}

/** Prints how far values are off, worst first. */
export function sayGap(report: GapReport, metric: GapMetric, blocks: readonly EventBlock[]): void {
  const labels = blockLabels(blocks);
  const used = new Set([...report.rows, ...report.outputs].map(({ block }) => block));
  const severalBlocks = used.size > 1;
  const { method, inputs, outputsFrom } = report.methods[0]!;
  say(`numeric gap of method ${method} to ${report.reference}, worst first`);
  say(`  the reference ran on ${INPUTS[inputs]}`);
  sayRows(report, metric, labels, severalBlocks);
  for (const { block, output, gap } of report.outputs) {
    const of = severalBlocks ? ` of ${labels[block]}` : "";
    const metrics = METRICS.map((name) => `${name} ${gap ? digits(gap[name]) : ""}`).join(", ");
    say(
      gap
        ? `  output ${output}${of}: ${metrics} (${outputsFrom})`
        : `  output ${output}${of} cannot be compared`,
    );
  }
  saySkipped(report.skipped);
}
