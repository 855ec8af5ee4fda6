// Draws a memory plan on a canvas: time to the right, addresses upwards, one rectangle per value.
import type { MethodPlan, PlanItem } from "@sconce/types/index.js";
import type { MemoryPlan, PlannedValue } from "@sconce/types/inspector.js";

/** A value: from when to when it is alive, inclusive, and which bytes of a memory it has. */
export interface Slot {
  first: number;
  last: number;
  offset: number;
  bytes: number;
  memory: number;
}

/** What is drawn of a plan. */
export interface Plot<T extends Slot> {
  items: readonly T[];
  moments: number;
  /** First address of each memory: several are stacked in the order of their ids. */
  bases: ReadonlyMap<number, number>;
  bytes: number;
  /** Bytes in use at each moment. */
  live: ArrayLike<number>;
}

export interface Ink<T extends Slot> {
  text: string;
  soft: string;
  line: string;
  accent: string;
  paper: string;
  /** Fill of a value's rectangle. */
  fill(item: T): string;
}

function basesOf(memories: Iterable<readonly [id: number, bytes: number]>): Map<number, number> {
  let base = 0;
  return new Map(
    [...memories]
      .sort(([a], [b]) => a - b)
      .map(([id, bytes]) => {
        base += bytes;
        return [id, base - bytes];
      }),
  );
}

/** Bytes alive at each moment. */
function liveCurve(items: readonly Slot[], moments: number): Float64Array {
  const steps = new Float64Array(moments + 1);
  for (const item of items) {
    steps[item.first]! += item.bytes;
    steps[item.last + 1]! -= item.bytes;
  }
  for (let i = 1; i <= moments; i++) steps[i]! += steps[i - 1]!;
  return steps;
}

export type PlanSlot = Slot & { of: PlanItem };

/** A plan as lowering has made it. */
export function plotOfPlan(plan: MethodPlan): Plot<PlanSlot> {
  const items = plan.items.map((of): PlanSlot => {
    const { first, last, offset, bytes, memoryId: memory } = of;
    return { first, last, offset, bytes, memory, of };
  });
  const ends = new Map<number, number>();
  for (const { memory, offset, bytes } of items)
    ends.set(memory, Math.max(ends.get(memory) ?? 0, offset + bytes));
  const moments = items.reduce((most, { last }) => Math.max(most, last + 1), plan.moments);
  const live = liveCurve(items, moments);
  return { items, moments, bases: basesOf(ends), bytes: plan.plannedBytes, live };
}

export type FileSlot = Slot & { of: PlannedValue };

/** A plan as a program has it. Views are not drawn: they lie on the values that they show. */
export function plotOfMemory({ memories, live, values }: MemoryPlan): Plot<FileSlot> {
  const items = values.flatMap((of): FileSlot[] => {
    const { from, until, offset, bytes, memory, kind } = of;
    if (from === null || until === null || kind === "view") return [];
    return [{ first: from, last: until, offset, bytes, memory, of }];
  });
  const bytes = memories.reduce((sum, one) => sum + one.bytes, 0);
  const bases = basesOf(memories.map(({ id, bytes: size }) => [id, size]));
  return { items, moments: live.length, bases, bytes, live };
}

/** Where the plan lies on the canvas, in CSS pixels. */
interface Frame {
  left: number;
  top: number;
  width: number;
  height: number;
  moments: number;
  bytes: number;
  bases: ReadonlyMap<number, number>;
}

const MARGIN = { left: 64, top: 16, right: 8, bottom: 28 };

export function frameOf(plot: Plot<Slot>, width: number, height: number): Frame {
  return {
    left: MARGIN.left,
    top: MARGIN.top,
    width: Math.max(1, width - MARGIN.left - MARGIN.right),
    height: Math.max(1, height - MARGIN.top - MARGIN.bottom),
    moments: Math.max(1, plot.moments),
    bytes: Math.max(1, plot.bytes),
    bases: plot.bases,
  };
}

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

function boxOf(frame: Frame, item: Slot): Box {
  const x = frame.left + (item.first / frame.moments) * frame.width;
  const right = frame.left + ((item.last + 1) / frame.moments) * frame.width;
  const offset = item.offset + (frame.bases.get(item.memory) ?? 0);
  const bottom = frame.top + (1 - offset / frame.bytes) * frame.height;
  const y = frame.top + (1 - (offset + item.bytes) / frame.bytes) * frame.height;
  return { x, y, width: Math.max(1, right - x), height: Math.max(1, bottom - y) };
}

/** The value under a point; the smallest where several lie there. */
export function itemAt<T extends Slot>(
  plot: Plot<T>,
  frame: Frame,
  x: number,
  y: number,
): T | undefined {
  const hits = plot.items.filter((item) => {
    const box = boxOf(frame, item);
    return x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height;
  });
  return hits.sort((a, b) => a.bytes - b.bytes)[0];
}

type Colors = Omit<Ink<Slot>, "fill">;

function drawAxes(
  g: CanvasRenderingContext2D,
  frame: Frame,
  ink: Colors,
  label: (bytes: number) => string,
): void {
  g.font = "12px system-ui, sans-serif";
  g.fillStyle = ink.soft;
  g.strokeStyle = ink.line;
  g.lineWidth = 1;
  g.textAlign = "right";
  g.textBaseline = "middle";
  for (let i = 0; i <= 4; i++) {
    const y = Math.round(frame.top + frame.height * (1 - i / 4)) + 0.5;
    g.beginPath();
    g.moveTo(frame.left, y);
    g.lineTo(frame.left + frame.width, y);
    g.stroke();
    g.fillText(label(Math.round((frame.bytes * i) / 4)), frame.left - 8, y);
  }
  g.textBaseline = "top";
  g.textAlign = "left";
  g.fillText("first instruction", frame.left, frame.top + frame.height + 10);
  g.textAlign = "right";
  g.fillText("last", frame.left + frame.width, frame.top + frame.height + 10);
}

function drawLive(
  g: CanvasRenderingContext2D,
  { live }: Plot<Slot>,
  frame: Frame,
  ink: Colors,
): void {
  const y = (bytes: number): number => frame.top + (1 - bytes / frame.bytes) * frame.height;
  g.strokeStyle = ink.text;
  g.lineWidth = 1;
  g.beginPath();
  for (let i = 0; i < frame.moments; i++) {
    const x = frame.left + (i / frame.moments) * frame.width;
    g.lineTo(x, y(live[i] ?? 0));
    g.lineTo(x + frame.width / frame.moments, y(live[i] ?? 0));
  }
  g.stroke();
}

export function drawPlan<T extends Slot>(
  canvas: HTMLCanvasElement,
  plot: Plot<T>,
  ink: Ink<T>,
  hovered: T | undefined,
  selected: T | undefined,
  label: (bytes: number) => string,
): void {
  const { clientWidth: width, clientHeight: height } = canvas;
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const g = canvas.getContext("2d")!;
  g.scale(ratio, ratio);
  g.fillStyle = ink.paper;
  g.fillRect(0, 0, width, height);
  const frame = frameOf(plot, width, height);
  drawAxes(g, frame, ink, label);
  for (const item of plot.items) {
    const box = boxOf(frame, item);
    g.globalAlpha = hovered && hovered !== item ? 0.35 : 0.8;
    g.fillStyle = ink.fill(item);
    g.fillRect(box.x, box.y, box.width, box.height);
    g.globalAlpha = 1;
    if (box.width > 3 && box.height > 3) {
      g.strokeStyle = ink.paper;
      g.lineWidth = 1;
      g.strokeRect(box.x + 0.5, box.y + 0.5, box.width - 1, box.height - 1);
    }
  }
  drawLive(g, plot, frame, ink);
  const marked = hovered ?? selected;
  if (!marked) return;
  const box = boxOf(frame, marked);
  g.strokeStyle = ink.accent;
  g.lineWidth = 2;
  g.strokeRect(box.x, box.y, box.width, box.height);
}
