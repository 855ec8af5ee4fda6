// Times of dumps as people read them, in whatever unit they come.
import type { TimeScale } from "@sconce/types/inspector.js";
import { tickOf } from "../profile.js";
import type { Profile } from "../state.js";
import { formatFigure, formatMs } from "../ui/format.js";

const MS: Readonly<Record<TimeScale, number | null>> = {
  ns: 1e-6,
  us: 1e-3,
  ms: 1,
  s: 1e3,
  cycles: null,
};

/** Tells a time of a dump. */
export type Tell = (time: number) => string;

/** Times of a dump; what its clock was too coarse for is less than a step of it, not nothing. */
export function tellTimes(scale: TimeScale, tick: number): Tell {
  return (time) =>
    time === 0 && tick > 0 ? `<\u00a0${formatTime(tick, scale)}` : formatTime(time, scale);
}

/** "12.3 µs" of 0.0123 in "ms"; cycles have no unit to be told in. */
export function formatTime(time: number, scale: TimeScale): string {
  const ms = MS[scale];
  if (ms === null) return `${formatFigure(Math.round(time))}\u00a0cycles`;
  const value = time * ms;
  if (value === 0) return "0\u00a0µs";
  if (Math.abs(value) >= 1) return formatMs(value);
  if (Math.abs(value) >= 1e-3) return `${formatFigure(value * 1e3)}\u00a0µs`;
  return `${formatFigure(value * 1e6)}\u00a0ns`;
}

/** Times of a profile, in its unit and no finer than its clock. */
export const tellerOf = ({ report, timeline }: Profile): Tell =>
  tellTimes(report.targetTimeScale, tickOf(timeline));
