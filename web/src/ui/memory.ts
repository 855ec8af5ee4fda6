// Draws a memory plan on a canvas: time to the right, addresses upwards, one rectangle per value.
import type { MethodPlan, PlanItem } from "@sconce/types.js";

export interface Ink {
  text: string;
  soft: string;
  line: string;
  accent: string;
  paper: string;
  /** Fill of a value's rectangle. */
  fill(item: PlanItem): string;
}

/** Where the plan lies on the canvas, in CSS pixels. */
interface Frame {
  left: number;
  top: number;
  width: number;
  height: number;
  moments: number;
  bytes: number;
  /** First address of each memory: several are stacked in the order of their ids. */
  bases: ReadonlyMap<number, number>;
}

const MARGIN = { left: 64, top: 16, right: 8, bottom: 28 };

function basesOf(plan: MethodPlan): Map<number, number> {
  const ends = new Map<number, number>();
  for (const { memoryId, offset, bytes } of plan.items) {
    ends.set(memoryId, Math.max(ends.get(memoryId) ?? 0, offset + bytes));
  }
  let base = 0;
  return new Map(
    [...ends]
      .sort(([a], [b]) => a - b)
      .map(([id, end]) => {
        base += end;
        return [id, base - end];
      }),
  );
}

export function frameOf(plan: MethodPlan, width: number, height: number): Frame {
  return {
    left: MARGIN.left,
    top: MARGIN.top,
    width: Math.max(1, width - MARGIN.left - MARGIN.right),
    height: Math.max(1, height - MARGIN.top - MARGIN.bottom),
    moments: Math.max(1, plan.moments, ...plan.items.map((item) => item.last + 1)),
    bytes: Math.max(1, plan.plannedBytes),
    bases: basesOf(plan),
  };
}

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

function boxOf(frame: Frame, item: PlanItem): Box {
  const x = frame.left + (item.first / frame.moments) * frame.width;
  const right = frame.left + ((item.last + 1) / frame.moments) * frame.width;
  const offset = item.offset + (frame.bases.get(item.memoryId) ?? 0);
  const bottom = frame.top + (1 - offset / frame.bytes) * frame.height;
  const y = frame.top + (1 - (offset + item.bytes) / frame.bytes) * frame.height;
  return { x, y, width: Math.max(1, right - x), height: Math.max(1, bottom - y) };
}

/** The value under a point; the smallest where several lie there. */
export function itemAt(plan: MethodPlan, frame: Frame, x: number, y: number): PlanItem | undefined {
  const hits = plan.items.filter((item) => {
    const box = boxOf(frame, item);
    return x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height;
  });
  return hits.sort((a, b) => a.bytes - b.bytes)[0];
}

/** Bytes alive at each moment. */
function liveCurve(plan: MethodPlan, moments: number): Float64Array {
  const steps = new Float64Array(moments + 1);
  for (const item of plan.items) {
    steps[item.first]! += item.bytes;
    steps[item.last + 1]! -= item.bytes;
  }
  for (let i = 1; i <= moments; i++) steps[i]! += steps[i - 1]!;
  return steps;
}

function drawAxes(
  g: CanvasRenderingContext2D,
  frame: Frame,
  ink: Ink,
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

function drawLive(g: CanvasRenderingContext2D, plan: MethodPlan, frame: Frame, ink: Ink): void {
  const live = liveCurve(plan, frame.moments);
  const y = (bytes: number): number => frame.top + (1 - bytes / frame.bytes) * frame.height;
  g.strokeStyle = ink.text;
  g.lineWidth = 1;
  g.beginPath();
  for (let i = 0; i < frame.moments; i++) {
    const x = frame.left + (i / frame.moments) * frame.width;
    g.lineTo(x, y(live[i]!));
    g.lineTo(x + frame.width / frame.moments, y(live[i]!));
  }
  g.stroke();
}

export function drawPlan(
  canvas: HTMLCanvasElement,
  plan: MethodPlan,
  ink: Ink,
  hovered: PlanItem | undefined,
  selected: PlanItem | undefined,
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
  const frame = frameOf(plan, width, height);
  drawAxes(g, frame, ink, label);
  for (const item of plan.items) {
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
  drawLive(g, plan, frame, ink);
  const marked = hovered ?? selected;
  if (!marked) return;
  const box = boxOf(frame, marked);
  g.strokeStyle = ink.accent;
  g.lineWidth = 2;
  g.strokeRect(box.x, box.y, box.width, box.height);
}
