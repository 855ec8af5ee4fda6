// Numbers and names as people read them: three significant digits, the unit always shown.
import { formatBytes as bytesWithUnit } from "@sconce/base/size.js";
import type { ProgramValueInfo, TensorInfo } from "@sconce/types/index.js";

/** A narrow space that never breaks, between a number and its unit. */
const GAP = "\u00a0";

function digits(value: number): string {
  if (value >= 99.95) return Math.round(value).toString();
  return value < 1 ? value.toFixed(2) : value.toPrecision(3);
}

export function formatMs(ms: number): string {
  if (ms < 0.005) return `0${GAP}ms`;
  return ms < 999.5 ? `${digits(ms)}${GAP}ms` : `${digits(ms / 1000)}${GAP}s`;
}

export function formatBytes(bytes: number): string {
  return bytesWithUnit(bytes, GAP);
}

/** A share from 0 to 1 in percent; all and nothing are only said where they are meant. */
export function formatShare(share: number): string {
  const percent = 100 * share;
  if (percent <= 0) return `0${GAP}%`;
  if (percent < 0.05) return `<${GAP}0.1${GAP}%`;
  if (percent >= 99.95) return share >= 1 ? `100${GAP}%` : `>${GAP}99.9${GAP}%`;
  return `${percent.toFixed(1)}${GAP}%`;
}

/** 12345678 as 12.3 M. */
export function formatLarge(count: number): string {
  const units = ["", "k", "M", "G", "T"];
  let [value, unit] = [count, 0];
  for (; value >= 999.5 && unit < units.length - 1; unit++) value /= 1000;
  return unit === 0 ? String(Math.round(value)) : `${digits(value)}${GAP}${units[unit]}`;
}

/** 12345 as 12,345. */
export function formatCount(count: number): string {
  return count.toLocaleString("en-US");
}

export function plural(count: number, noun: string): string {
  return `${formatCount(count)}${GAP}${noun}${count === 1 ? "" : "s"}`;
}

/** What the engine says in a clause, as a sentence of its own. */
export const sentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith(".") ? "" : "."}`;

/** A value of a tensor, short. */
export function formatNumber(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value);
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  return size >= 1e5 || size < 1e-4 ? value.toExponential(2) : value.toPrecision(4);
}

/** A measured number in three significant digits, without zeros that say nothing. */
export function formatFigure(value: number): string {
  const size = Math.abs(value);
  if (value === 0 || !Number.isFinite(value)) return String(value);
  return size >= 1e5 || size < 1e-4 ? value.toExponential(2) : String(Number(value.toPrecision(3)));
}

/** Decibels; infinite where nothing differs, minus infinite where nothing else is left. */
export function formatSnr(snr: number): string {
  if (Number.isNaN(snr)) return "not a number";
  if (snr === -Infinity) return `−∞${GAP}dB`;
  return snr === Infinity ? "equal" : `${formatFigure(snr)}${GAP}dB`;
}

/** "f32[1, 3, 240, 320]", or what kind of value it is. */
export function formatType(
  info: TensorInfo | ProgramValueInfo,
  short: ReadonlyMap<string, string>,
): string {
  if (info.kind !== "tensor" || !info.dtype) return info.kind;
  return `${short.get(info.dtype) ?? info.dtype}[${(info.shape ?? []).join(", ")}]`;
}

/** "aten::conv2d.default" without its namespace, where that says nothing. */
export function shortOp(op: string): string {
  return op.replace(/^(aten|higher_order)::/, "");
}

/** "model.py:12 in forward: return self.fc(x)" as its place and the code there. */
export function splitSource(source: string): { place: string; code: string } {
  const [, place, code] = /^(.*?)(?:: (.*))?$/s.exec(source)!;
  return { place: place!, code: code ?? "" };
}
