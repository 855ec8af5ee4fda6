// Draws what happened over time: one rectangle for each event of each run, those inside of others
// below them.
import type { OpFamily } from "@sconce/types/index.js";
import type { EventBlock, Timeline, TimelineSpan } from "@sconce/types/inspector.js";
import type { Ink } from "./ink.js";
import { sightOf, type Room, type View } from "./viewport.js";

/** The width of a drawing; time is to scale in it. */
export const FLAME_WIDTH = 1000;
const ROW = 22;
const AXIS = 24;
/** Narrower ones, in pixels, are drawn together. */
const THIN = 1.5;

export interface FlamePlan {
  spans: readonly TimelineSpan[];
  /** Length of all, in the unit of the timeline. */
  length: number;
  height: number;
  /** Spans by depth, by their start. */
  rows: readonly (readonly number[])[];
}

/**
 * How deep an event lies, without those that only wrap others. Who calls it is known; only what a
 * backend did inside of a call is told by time.
 */
function depthOf({ event, depth }: TimelineSpan, { events }: EventBlock): number {
  if (events[event]!.isDelegated) return depth;
  let deep = 0;
  for (let at = events[event]!.parent; at !== null; at = events[at]!.parent)
    if (!events[at]!.isWrapper) deep++;
  return deep;
}

export function planFlame(timeline: Timeline, blocks: readonly EventBlock[]): FlamePlan {
  const spans = timeline.spans
    .filter(({ block, event }) => !blocks[block]!.events[event]!.isWrapper)
    .map((span) => ({ ...span, depth: depthOf(span, blocks[span.block]!) }));
  const length = spans.reduce((end, { start, duration }) => Math.max(end, start + duration), 0);
  const rows: number[][] = [];
  spans.forEach(({ depth }, i) => (rows[depth] ??= []).push(i));
  for (const row of rows) row?.sort((a, b) => spans[a]!.start - spans[b]!.start);
  return { spans, length: length || 1, height: AXIS + rows.length * ROW + 8, rows };
}

/** The runs in the order that they happened, each with where it lies. */
export interface FlameRun {
  run: number;
  block: number;
  start: number;
  end: number;
}

export function runsOf({ spans }: FlamePlan): FlameRun[] {
  const found = new Map<number, FlameRun>();
  for (const { run, block, start, duration } of spans) {
    const known = found.get(run) ?? { run, block, start, end: start };
    const end = Math.max(known.end, start + duration);
    found.set(run, { ...known, start: Math.min(known.start, start), end });
  }
  return [...found.values()].sort((a, b) => a.start - b.start || a.run - b.run);
}

/** The view that a run fills. */
export function viewOfRun(plan: FlamePlan, { start, end }: FlameRun, room: Room): View {
  const width = Math.max(xOf(plan, end - start), FLAME_WIDTH * 1e-6);
  return { left: xOf(plan, start), top: 0, scaleX: room.width / width, scaleY: 1 };
}

const xOf = (plan: FlamePlan, time: number): number => (time / plan.length) * FLAME_WIDTH;

/** The first of the row that ends after `time`. */
function firstAfter(plan: FlamePlan, row: readonly number[], time: number): number {
  let [low, high] = [0, row.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const { start, duration } = plan.spans[row[middle]!]!;
    if (start + duration < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The span at a point of the drawing; -1 for none. `slack` widens those that are hard to hit. */
export function spanAt(plan: FlamePlan, x: number, y: number, slack: number): number {
  const row = plan.rows[Math.floor((y - AXIS) / ROW)];
  if (!row || y < AXIS) return -1;
  const time = (x / FLAME_WIDTH) * plan.length;
  const loose = (slack / FLAME_WIDTH) * plan.length;
  for (let i = firstAfter(plan, row, time - loose); i < row.length; i++) {
    const { start } = plan.spans[row[i]!]!;
    if (start > time + loose) return -1;
    return row[i]!;
  }
  return -1;
}

/** Where a key leads from a span: along its row, into what it holds, out of it. */
export function walkFlame(plan: FlamePlan, at: number, key: string): number {
  if (at < 0) return plan.rows[0]?.[0] ?? -1;
  const span = plan.spans[at]!;
  const row = plan.rows[span.depth]!;
  if (key === "ArrowLeft") return row[row.indexOf(at) - 1] ?? -1;
  if (key === "ArrowRight") return row[row.indexOf(at) + 1] ?? -1;
  const other = plan.rows[span.depth + (key === "ArrowUp" ? -1 : 1)] ?? [];
  const middle = key === "ArrowUp" ? span.start + span.duration / 2 : span.start;
  return other[firstAfter(plan, other, middle)] ?? -1;
}

export interface FlameLook {
  plan: FlamePlan;
  selected: number;
  hovered: number;
  /** Spans that match the search; null when nothing is searched for. */
  matched: ReadonlySet<number> | null;
  family(span: TimelineSpan): OpFamily | undefined;
  name(span: TimelineSpan): string;
  /** Where the axis begins to count. */
  origin: number;
  unit(time: number): string;
  ink: Ink;
  mono: string;
}

/** A round step: about eight of them are in sight. */
function stepOf(length: number): number {
  const rough = length / 8;
  const power = 10 ** Math.floor(Math.log10(rough || 1));
  return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= rough)!;
}

function drawAxis(g: CanvasRenderingContext2D, look: FlameLook, view: View, room: Room): void {
  const { plan, ink } = look;
  const perPixel = plan.length / FLAME_WIDTH;
  const [from, length] = [view.left * perPixel, (room.width / view.scaleX) * perPixel];
  const step = stepOf(length);
  g.fillStyle = ink("paper");
  g.fillRect(0, 0, room.width, AXIS - 2);
  g.font = "11px system-ui, sans-serif";
  g.textBaseline = "middle";
  g.textAlign = "left";
  g.lineWidth = 1;
  const { origin } = look;
  const first = Math.ceil((from - origin) / step - 1e-6);
  for (let i = first; i * step + origin <= from + length; i++) {
    const time = i * step;
    const x = Math.round((xOf(plan, time + origin) - view.left) * view.scaleX) + 0.5;
    g.strokeStyle = ink("line");
    g.beginPath();
    g.moveTo(x, 0);
    g.lineTo(x, room.height);
    g.stroke();
    g.fillStyle = ink("ink-soft");
    g.fillText(i === 0 ? "0" : look.unit(time), x + 4, AXIS / 2);
  }
}

function colourOf(span: TimelineSpan, look: FlameLook): string {
  const family = look.family(span);
  if (family) return look.ink(`family-${family}`);
  return look.ink(span.backend ? "ink-soft" : "line-strong");
}

function drawSpan(
  g: CanvasRenderingContext2D,
  index: number,
  look: FlameLook,
  x: number,
  y: number,
  w: number,
): void {
  const { ink, plan } = look;
  const span = plan.spans[index]!;
  const colour = colourOf(span, look);
  const isFaded = look.matched !== null && !look.matched.has(index);
  const h = ROW - 3;
  g.globalAlpha = isFaded ? 0.2 : 0.3;
  g.fillStyle = colour;
  g.fillRect(x, y, Math.max(1, w - 1), h);
  g.globalAlpha = isFaded ? 0.3 : 1;
  g.fillRect(x, y, Math.min(3, Math.max(1, w - 1)), h);
  if (w > 28) {
    const name = look.name(span);
    const most = Math.floor((w - 12) / 6.7);
    const text = name.length <= most ? name : `${name.slice(0, Math.max(0, most - 1))}…`;
    g.fillStyle = ink("ink");
    g.fillText(text, x + 7, y + h / 2 + 0.5);
  }
  g.globalAlpha = 1;
  if (index !== look.selected && index !== look.hovered) return;
  g.strokeStyle = ink(index === look.selected ? "accent-fill" : "accent");
  g.lineWidth = 2;
  g.strokeRect(x, y, Math.max(2, w - 1), h);
}

export function drawFlame(
  g: CanvasRenderingContext2D,
  look: FlameLook,
  view: View,
  room: Room,
): void {
  const { plan, ink } = look;
  g.fillStyle = ink("paper");
  g.fillRect(0, 0, room.width, room.height);
  drawAxis(g, look, view, room);
  g.save();
  g.beginPath();
  g.rect(0, AXIS - 2, room.width, room.height);
  g.clip();
  g.font = `11px ${look.mono}`;
  g.textBaseline = "middle";
  g.textAlign = "left";
  const sight = sightOf(view, room);
  const begin = (sight.x / FLAME_WIDTH) * plan.length;
  plan.rows.forEach((row, depth) => {
    const y = AXIS + depth * ROW - view.top;
    if (y + ROW < 0 || y > room.height) return;
    let drawn = -Infinity;
    for (let i = firstAfter(plan, row, begin); i < row.length; i++) {
      const { start, duration } = plan.spans[row[i]!]!;
      const x = (xOf(plan, start) - view.left) * view.scaleX;
      if (x > room.width) break;
      const w = xOf(plan, duration) * view.scaleX;
      // What is too thin to be seen alone is drawn once for each pixel.
      if (w < THIN && x < drawn + 1 && row[i] !== look.selected) continue;
      drawn = x;
      drawSpan(g, row[i]!, look, x, y, w);
    }
  });
  g.restore();
}

/** Where a span lies in the drawing. */
export function boxOfSpan(
  plan: FlamePlan,
  at: number,
): { x: number; y: number; w: number; h: number } {
  const { start, duration, depth } = plan.spans[at]!;
  return { x: xOf(plan, start), y: AXIS + depth * ROW, w: xOf(plan, duration), h: ROW };
}
