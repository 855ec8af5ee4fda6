// Tables for terminals: numbers to the right, text to the left, as wide as what is in them, but no
// wider than the terminal: long text is cut in its middle.
import { say } from "../common.js";
import { columnsOf, padded, shortened } from "./width.js";

export type Cell = string | number | null;

const NONE = "-";
const GAP = 2;
/** Of a terminal that does not say. */
const COLUMNS = 120;
/** Text is cut to no less. */
const TEXT_MIN = 12;

/** Four digits are enough to compare by eye; all of them are in the JSON. */
export function digits(value: number): string {
  if (!Number.isFinite(value)) return String(value).replace("Infinity", "inf");
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return String(value);
  const size = Math.abs(value);
  return size >= 1e6 || size < 1e-4 ? value.toExponential(3) : String(Number(value.toPrecision(4)));
}

const shown = (cell: Cell): string =>
  cell === null ? NONE : typeof cell === "number" ? digits(cell) : cell;

/**
 * Widths of columns that fit the terminal if text may be cut: the widest text gives way first, and the
 * first column, which says what a row is about, last.
 */
function fitting(widths: readonly number[], isText: readonly boolean[]): number[] {
  const room = (process.stdout.columns || COLUMNS) - GAP * widths.length;
  const total = (list: readonly number[]): number => list.reduce((sum, width) => sum + width, 0);
  const cut = (list: readonly number[], most: number, from: number): number[] =>
    list.map((width, i) => (isText[i] && i >= from ? Math.min(width, most) : width));
  const fit = (list: readonly number[], from: number): number[] => {
    let most = Math.max(room, TEXT_MIN);
    while (most > TEXT_MIN && total(cut(list, most, from)) > room) most--;
    return total(list) <= room ? [...list] : cut(list, most, from);
  };
  return fit(fit(widths, 1), 0);
}

/** Prints a table with its heads; columns without anything in them are left out. */
export function sayTable(allHeads: readonly string[], allRows: readonly (readonly Cell[])[]): void {
  const isUsed = allHeads.map((_, i) => allRows.some((row) => row[i] !== ""));
  const heads = allHeads.filter((_, i) => isUsed[i]);
  const rows = allRows.map((row) => row.filter((_, i) => isUsed[i]));
  const isNumber = heads.map((_, i) => rows.some((row) => typeof row[i] === "number"));
  const whole = heads.map((head, i) =>
    rows.reduce((most, row) => Math.max(most, columnsOf(shown(row[i]!))), head.length),
  );
  const widths = fitting(
    whole,
    isNumber.map((is) => !is),
  );
  const line = (cells: readonly Cell[]): string =>
    cells
      .map((cell, i) =>
        isNumber[i]
          ? shown(cell).padStart(widths[i]!)
          : padded(shortened(shown(cell), widths[i]!), widths[i]!),
      )
      .join(" ".repeat(GAP))
      .trimEnd();
  say(`  ${line(heads)}`);
  for (const row of rows) say(`  ${line(row)}`);
}

/** The table as tab-separated values, with every digit. */
export function tsvOf(heads: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const cell = (value: Cell): string => {
    if (typeof value === "number" && !Number.isFinite(value)) return digits(value);
    return value === null ? "" : String(value).replace(/[\t\r\n]+/g, " ");
  };
  return [heads, ...rows].map((row) => `${row.map(cell).join("\t")}\n`).join("");
}
