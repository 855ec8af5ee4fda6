// The fate of each node, for people on the terminal and for programs in a file.
import { counted } from "../../base/counted.js";
import type { Closeness, Delegation, DelegationRow, Verification } from "../../types/index.js";
import { ratio, workOfMethod, type Work } from "../../base/work.js";
import { tell } from "../print/terminal.js";

const SHOWN_MAX = 3;

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
const isOutside = ({ delegate }: DelegationRow): boolean => delegate === null;

/** Shares of a node, or of several, in the work of the method. */
const sharesOf = (part: { macs: number; bytes: number }, all: Work): object => ({
  macsShare: ratio(part.macs, all.macs),
  bytesShare: ratio(part.bytes, all.bytes),
});

/** Multiply-adds where there are any, and then what is read and written. */
const byCost = (all: Work) => (a: DelegationRow, b: DelegationRow) =>
  ratio(b.macs - a.macs, all.macs) || b.bytes - a.bytes;

/** The JSON of --report. */
export function reportOf(delegation: Delegation, verification: Verification | undefined): object {
  const methods = Object.entries(delegation).map(([name, { delegates, nodes }]) => {
    const { all, taken: inside } = workOfMethod(nodes);
    const outside = nodes.filter(isOutside).map(({ delegate: _, ...row }) => ({
      ...row,
      ...sharesOf(row, all),
    }));
    const delegated = { ...inside, ofNodes: all.nodes, ...sharesOf(inside, all) };
    const parts = delegates.map((part) => ({ ...part, ...sharesOf(part, all) }));
    return [name, { delegated, delegates: parts, outside }] as const;
  });
  return { methods: Object.fromEntries(methods), ...(verification && { verification }) };
}

/** Per method the delegates, their share of the work, and what is costly outside. */
export function sayDelegation(delegation: Delegation): void {
  for (const [name, { delegates, nodes }] of Object.entries(delegation)) {
    if (nodes.length === 0) continue;
    const { all, taken: inside } = workOfMethod(nodes);
    const backends = [...new Set(delegates.map(({ backend }) => backend))].join(", ");
    const whose = delegates.length > 0 ? ` (${backends})` : "";
    const macs = all.macs > 0 ? `${percent(ratio(inside.macs, all.macs))} of multiply-adds, ` : "";
    tell(
      `  ${name}: ${counted(delegates.length, "delegate")}${whose}, ${inside.nodes} of ${all.nodes} nodes, ` +
        `${macs}${percent(ratio(inside.bytes, all.bytes))} of bytes`,
    );
    const outside = nodes.filter(isOutside).sort(byCost(all));
    for (const row of outside.slice(0, SHOWN_MAX)) {
      const share = row.macs > 0 ? ratio(row.macs, all.macs) : ratio(row.bytes, all.bytes);
      const of = row.macs > 0 ? "multiply-adds" : "bytes";
      const where = row.source ? `, ${row.source}` : "";
      tell(
        `    outside: ${row.name} (${row.op}), ${percent(share)} of ${of}: ${row.reason}${where}`,
      );
    }
    if (outside.length > SHOWN_MAX) tell(`    and ${outside.length - SHOWN_MAX} more outside`);
  }
}

const apart = ({ difference, tolerance }: Closeness): string =>
  `${difference === null ? "not a number" : `${difference.toPrecision(3)} apart`}, ` +
  `more than ${tolerance.toPrecision(3)}`;

/** "3 of 4 outputs", or "4 outputs" of four. */
function share(found: number, all: number, what: string): string {
  return `${found === all ? "" : `${found} of `}${all} ${what}${all === 1 ? "" : "s"}`;
}

/** The largest difference of all that were compared and are close. */
function furthest(rows: readonly Closeness[]): string {
  const differences = rows.flatMap(({ difference, isClose }) => (isClose ? [difference ?? 0] : []));
  return differences.length > 0 ? `, at most ${Math.max(...differences).toPrecision(3)} apart` : "";
}

/**
 * True if all results are as without delegates. Passes of the caller's own may change the outputs, so then only
 * the delegates count.
 */
export const isAsWithout = (verification: Verification, hasPasses: boolean): boolean =>
  Object.values(verification).every(
    ({ outputs, delegates }) =>
      (hasPasses || outputs.every(({ isClose }) => isClose)) &&
      delegates.every((row) => "reason" in row || row.isClose),
  );

/**
 * Per method what was found; a line each for results and delegates that are not what they should be,
 * and for delegates that could not be compared.
 */
export function sayVerification(verification: Verification): void {
  for (const [name, { inputs, outputs, delegates }] of Object.entries(verification)) {
    const compared = delegates.flatMap((row) => ("reason" in row ? [] : [row]));
    const close = (rows: readonly Closeness[]): number =>
      rows.filter(({ isClose }) => isClose).length;
    const counts: string[] = [];
    if (outputs.length > 0) counts.push(share(close(outputs), outputs.length, "output"));
    if (delegates.length > 0) counts.push(share(close(compared), delegates.length, "delegate"));
    if (counts.length === 0) {
      tell(
        `  ${name}: not verified: its inputs are not those of the model, and it has no delegates`,
      );
      continue;
    }
    tell(
      `  ${name}: verified on ${inputs} inputs: ${counts.join(" and ")} as without delegates` +
        furthest([...outputs, ...compared]),
    );
    for (const row of outputs) if (!row.isClose) tell(`    output ${row.output}: ${apart(row)}`);
    for (const row of delegates) {
      if ("isClose" in row && row.isClose) continue;
      const found = "reason" in row ? `not compared: ${row.reason}` : apart(row);
      const where = row.graph ? `${row.graph}/` : "";
      tell(`    ${where}${row.name} (${row.backend}): ${found}`);
    }
  }
}
