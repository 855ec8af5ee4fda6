// sconce inspect of two dumps: what ran in both, side by side.
import { counted } from "../../base/counted.js";
import type { ComparedEvent, DumpComparison } from "../../types/index.js";
import { warnOf } from "../print/errors.js";
import { printJson } from "../print/json.js";
import { sayTable, type Cell } from "../print/table.js";
import { isJson, say } from "../print/terminal.js";

/** Dumps with a smaller share of their rows in common are not related. */
const ALIGNED_MIN = 0.1;

const sign = (row: ComparedEvent): string =>
  row.isSignificant === null ? "" : row.isSignificant ? "yes" : "noise";

const ofMethod = (method: string | null): string => (method === null ? "" : ` of method ${method}`);

const compared = (row: ComparedEvent, several: boolean): Cell[] => [
  row.ops.length > 1 ? `${row.name}, and ${row.ops.length - 1} more` : row.name,
  row.a?.perf.avg ?? null,
  row.b?.perf.avg ?? null,
  row.difference,
  row.ratio,
  row.noise,
  sign(row),
  ...(several ? [row.method] : []),
  row.source,
];

/**
 * True if a row has something to show. An event that took no time on one side and is missing on the
 * other has not.
 */
const tells = ({ a, b }: ComparedEvent): boolean =>
  (a !== null && b !== null) || (a ?? b)?.perf.avg !== 0;

/** True if (nearly) no row of the smaller dump has a counterpart in the other one. */
function areUnrelated(rows: readonly ComparedEvent[]): boolean {
  const count = (is: (row: ComparedEvent) => boolean): number => rows.filter(is).length;
  const [inA, inB] = [count(({ a }) => a !== null), count(({ b }) => b !== null)];
  const inBoth = count(({ a, b }) => a !== null && b !== null);
  return rows.length > 0 && inBoth < ALIGNED_MIN * Math.max(1, Math.min(inA, inB));
}

const runsOf = (count: number): string => counted(count, "run");

/** Prints two dumps side by side. */
export function showComparison(comparison: DumpComparison): void {
  const { methods, rows } = comparison;
  const warnings = [...comparison.warnings];
  if (areUnrelated(rows))
    warnings.push(
      "the two dumps share almost no rows: these are dumps of different programs, or each " +
        "needs its own record (--etrecord, twice)",
    );
  warnOf(warnings);
  if (isJson()) return printJson({ kind: "comparison", ...comparison, warnings });
  const several = methods.length > 1;
  for (const { method, runsA, runsB } of methods)
    say(`a: ${runsOf(runsA)}, b: ${runsOf(runsB)}${ofMethod(method)}`);
  say(`averages in ${comparison.scale}`);
  const shown = rows.filter(tells);
  if (shown.length === 0) return say("  nothing was compared");
  const columns = ["event", "a", "b", "b - a", "b / a", "noise", "differs"];
  sayTable(
    [...columns, ...(several ? ["method"] : []), "line"],
    [...methods.map(({ total }) => total), ...shown].map((row) => compared(row, several)),
  );
}
