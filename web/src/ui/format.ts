// Numbers and names as people read them: three significant digits, the unit always shown.
import { formatBytes as bytesWithUnit } from "@sconce/size.js";
import type { ProgramValueInfo, TensorInfo } from "@sconce/types.js";

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

/** 12345 as 12,345. */
export function formatCount(count: number): string {
  return count.toLocaleString("en-US");
}

export function plural(count: number, noun: string): string {
  return `${formatCount(count)}${GAP}${noun}${count === 1 ? "" : "s"}`;
}

/** A value of a tensor, short. */
export function formatNumber(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value);
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  return size >= 1e5 || size < 1e-4 ? value.toExponential(2) : value.toPrecision(4);
}

/** "f32[1, 3, 240, 320]", or what kind of value it is. */
export function formatType(
  info: TensorInfo | ProgramValueInfo,
  short: ReadonlyMap<string, string>,
): string {
  if (info.kind !== "tensor" || !info.dtype) return info.kind;
  return `${short.get(info.dtype) ?? info.dtype}[${(info.shape ?? []).join(", ")}]`;
}

/** "aten::conv2d.default" without its namespace. */
export function shortOp(op: string): string {
  return op.replace(/^aten::/, "");
}

/** "model.py:12 in forward: return self.fc(x)" as its place and the code there. */
export function splitSource(source: string): { place: string; code: string } {
  const [, place, code] = /^(.*?)(?:: (.*))?$/s.exec(source)!;
  return { place: place!, code: code ?? "" };
}
