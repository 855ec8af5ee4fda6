// Tables for terminals: numbers to the right, text to the left, as wide as what is in them.
import { say } from "./common.js";

export type Cell = string | number | null;

const NONE = "-";

/** Four digits are enough to compare by eye; all of them are in the JSON. */
export function digits(value: number): string {
  if (!Number.isFinite(value)) return String(value).replace("Infinity", "inf");
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return String(value);
  const size = Math.abs(value);
  return size >= 1e6 || size < 1e-4 ? value.toExponential(3) : String(Number(value.toPrecision(4)));
}

const shown = (cell: Cell): string =>
  cell === null ? NONE : typeof cell === "number" ? digits(cell) : cell;

/** Prints a table with its heads. */
export function sayTable(heads: readonly string[], rows: readonly (readonly Cell[])[]): void {
  const widths = heads.map((head, i) =>
    rows.reduce((most, row) => Math.max(most, shown(row[i]!).length), head.length),
  );
  const isNumber = heads.map((_, i) => rows.some((row) => typeof row[i] === "number"));
  const line = (cells: readonly Cell[]): string =>
    cells
      .map((cell, i) =>
        isNumber[i] ? shown(cell).padStart(widths[i]!) : shown(cell).padEnd(widths[i]!),
      )
      .join("  ")
      .trimEnd();
  say(`  ${line(heads)}`);
  for (const row of rows) say(`  ${line(row)}`);
}

/** The table as tab-separated values, with every digit. */
export function tsvOf(heads: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const cell = (value: Cell): string =>
    value === null ? "" : String(value).replace(/[\t\r\n]+/g, " ");
  return [heads, ...rows].map((row) => `${row.map(cell).join("\t")}\n`).join("");
}
