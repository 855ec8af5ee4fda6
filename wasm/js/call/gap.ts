// Own measures of numeric gaps: what callers give as functions is applied to the core's report, where
// they are, be the engine here or in a worker.
import { badArgument, isObject } from "../base/check.js";
import { SconceError } from "../base/errors.js";
import { tagOf } from "../base/tags.js";
import type { GapOptions, GapOutput, GapPair, GapReport, LoggedValue } from "../types/index.js";

const NOTHING = new Float64Array(0);

/** The pairs of each output of each row, in their order. */
function pairsOf(report: GapReport): GapPair[] {
  return report.rows.flatMap(({ method, aotHandles, runtimeHandles, outputs }, row) =>
    outputs.map(({ reference, found }, output) => ({
      row,
      output,
      method,
      aotHandles,
      runtimeHandles,
      dtype: found.dtype ?? null,
      shape: found.shape ?? [],
      reference: reference.data ?? NOTHING,
      found: found.data ?? NOTHING,
    })),
  );
}

const keyOf = ({ row, output }: Pick<GapPair, "row" | "output">): string => `${row}/${output}`;

function checkPair(pair: unknown, left: Set<string>): GapPair {
  const accepts = "a list of the pairs that it was given, each once, or copies of them";
  const isPair =
    isObject(pair) &&
    tagOf(pair["reference"]) === "Float64Array" &&
    tagOf(pair["found"]) === "Float64Array" &&
    left.delete(keyOf(pair as unknown as GapPair));
  if (!isPair) throw badArgument("what 'preprocess' of numericGap() returns", accepts, pair);
  return pair as unknown as GapPair;
}

function preprocessed(pairs: GapPair[], preprocess: GapOptions["preprocess"]): GapPair[] {
  if (!preprocess) return pairs;
  const left = new Set(pairs.map(keyOf));
  const given: unknown = preprocess(pairs);
  if (!Array.isArray(given))
    throw badArgument("what 'preprocess' of numericGap() returns", "a list of pairs", given);
  return given.map((pair) => checkPair(pair, left));
}

function distanceOf(pair: GapPair, distance: NonNullable<GapOptions["distance"]>): number {
  const found: unknown = distance(pair.reference, pair.found, pair);
  if (typeof found !== "number")
    throw badArgument("what 'distance' of numericGap() returns", "a number", found);
  return found;
}

function without({ data, ...value }: LoggedValue): LoggedValue {
  void data;
  return value;
}

const lean = <T extends Pick<GapOutput, "reference" | "found">>(output: T): T => ({
  ...output,
  reference: without(output.reference),
  found: without(output.found),
});

/** The report with own distances, and with elements only where they were asked for. */
function finished(report: GapReport, options: GapOptions): GapReport {
  const { distance, preprocess, values } = options;
  const distances = new Map<string, number>();
  if (distance)
    for (const pair of preprocessed(pairsOf(report), preprocess))
      distances.set(keyOf(pair), distanceOf(pair, distance));
  const detailed = (output: GapOutput, row: number, index: number): GapOutput => {
    const own = distances.get(keyOf({ row, output: index })) ?? null;
    return distance ? { ...output, distance: own } : output;
  };
  const rows = report.rows.map((row, i) => {
    const outputs = row.outputs.map((output, k) => detailed(output, i, k));
    return { ...row, outputs: values ? outputs : outputs.map(lean) };
  });
  return { ...report, rows, outputs: values ? report.outputs : report.outputs.map(lean) };
}

/** The question to the core, and the function that finishes its answer. */
export interface GapCall {
  asked: GapOptions;
  finish: (report: GapReport) => GapReport;
}

/** The call of the core for options that may hold functions. */
export function gapCall(options: GapOptions): GapCall {
  const { distance, preprocess, ...asked } = options;
  if (preprocess && !distance)
    throw new SconceError(
      "option",
      "'preprocess' of numericGap() is for a 'distance' of your own",
      "Pass a distance, too: the gaps of the report are of values as they were logged.",
    );
  if (!distance) return { asked, finish: (report) => report };
  return { asked: { ...asked, values: true }, finish: (report) => finished(report, options) };
}
