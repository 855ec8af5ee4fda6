// Draws a graph: groups, boxes, lines. From afar families are colours; nearer there are names, and
// then types at the lines.
import type { OpFamily } from "@sconce/types/index.js";
import type { Scene, SceneBox, SceneEdge } from "../graph/model.js";
import type { Ink } from "./ink.js";
import { sightOf, touches, type Box, type Room, type View } from "./viewport.js";

/** What stands beside a box, such as how far a node is from where it should be. */
export interface Mark {
  text: string;
  /** From 0 to 1. */
  level: number;
}

export interface Look {
  scene: Scene;
  selected: number;
  hovered: number;
  inputs: readonly SceneEdge[];
  users: readonly SceneEdge[];
  /** Boxes that match the search; null when nothing is searched for. */
  matched: ReadonlySet<number> | null;
  marks: ReadonlyMap<number, Mark>;
  family(op: string): OpFamily;
  /** Property of the hue of the part that a box is in or is; empty for none. */
  hue(box: SceneBox): string;
  ink: Ink;
  mono: string;
}

/** Where names, and types at lines, can be read. */
const NAMES = 0.42;
const TYPES = 0.75;
const FADED = 0.28;

type Pencil = CanvasRenderingContext2D;

/** `text` cut to what fits, with letters of that width. */
function cut(text: string, width: number, letter: number): string {
  const most = Math.floor(width / letter);
  return text.length <= most ? text : most < 2 ? "" : `${text.slice(0, most - 1)}…`;
}

function trace(g: Pencil, points: readonly number[]): void {
  const count = points.length / 2;
  g.moveTo(points[0]!, points[1]!);
  for (let i = 1; i < count - 1; i++) {
    const [x, y] = [points[2 * i]!, points[2 * i + 1]!];
    const isLast = i === count - 2;
    const [nx, ny] = [points[2 * i + 2]!, points[2 * i + 3]!];
    g.quadraticCurveTo(x, y, isLast ? nx : (x + nx) / 2, isLast ? ny : (y + ny) / 2);
  }
  if (count === 2) g.lineTo(points[2]!, points[3]!);
}

function head(g: Pencil, points: readonly number[]): void {
  const [x, y] = [points.at(-2)!, points.at(-1)!];
  g.moveTo(x - 3.5, y - 7);
  g.lineTo(x, y);
  g.lineTo(x + 3.5, y - 7);
}

function spanOf(points: readonly number[]): Box {
  let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
  for (let i = 0; i < points.length; i += 2) {
    x0 = Math.min(x0, points[i]!);
    x1 = Math.max(x1, points[i]!);
    y0 = Math.min(y0, points[i + 1]!);
    y1 = Math.max(y1, points[i + 1]!);
  }
  return { x: x0 - 1, y: y0 - 1, w: x1 - x0 + 2, h: y1 - y0 + 2 };
}

const spans = new WeakMap<Scene, Box[]>();

function spansOf(scene: Scene): Box[] {
  let known = spans.get(scene);
  if (!known) spans.set(scene, (known = scene.segments.map(spanOf)));
  return known;
}

function round(g: Pencil, { x, y, w, h }: Box, radius = 4): void {
  g.beginPath();
  g.roundRect(x, y, w, h, radius);
}

function drawLines(g: Pencil, look: Look, sight: Box, scale: number): void {
  const { scene, ink } = look;
  const boxes = spansOf(scene);
  g.strokeStyle = ink("line-strong");
  g.lineWidth = Math.max(1, 0.7 / scale);
  g.globalAlpha = look.matched || look.selected >= 0 ? 0.45 : 0.8;
  g.beginPath();
  scene.segments.forEach((points, i) => {
    if (!touches(boxes[i]!, sight)) return;
    trace(g, points);
    if (scale > NAMES) head(g, points);
  });
  g.stroke();
  g.globalAlpha = 1;
}

/** Lines into the selected box are whole, those out of it dashed. */
function drawLit(g: Pencil, look: Look, scale: number): void {
  const { scene, ink } = look;
  g.strokeStyle = ink("accent");
  g.lineWidth = Math.max(2, 1.5 / scale);
  for (const [edges, dash] of [
    [look.inputs, []],
    [look.users, [6, 4]],
  ] as const) {
    g.setLineDash([...dash]);
    g.beginPath();
    for (const { segments } of edges) for (const i of segments) trace(g, scene.segments[i]!);
    g.stroke();
  }
  g.setLineDash([]);
  g.beginPath();
  for (const { segments } of [...look.inputs, ...look.users])
    if (segments.length > 0) head(g, scene.segments[segments.at(-1)!]!);
  g.stroke();
}

function drawOpen(g: Pencil, box: SceneBox, look: Look, scale: number): void {
  const { ink } = look;
  const hue = look.hue(box);
  round(g, box, 6);
  g.fillStyle = box.kind === "part" && hue ? ink(hue) : ink("sunken");
  g.globalAlpha = box.kind === "part" ? 0.14 : 0.6;
  g.fill();
  g.globalAlpha = 1;
  g.strokeStyle = box.kind === "part" && hue ? ink(hue) : ink("line");
  g.lineWidth = (box.kind === "part" ? 1.5 : 1) / Math.min(1, scale);
  g.stroke();
}

function drawTitle(g: Pencil, box: SceneBox, look: Look): void {
  const { ink } = look;
  g.textBaseline = "top";
  g.textAlign = "left";
  g.font = `600 12px ${look.mono}`;
  g.fillStyle = ink("ink");
  g.lineWidth = 4;
  g.lineJoin = "round";
  g.strokeStyle = ink("sunken");
  const label = cut(box.label, box.w - 48, 7.2);
  g.strokeText(label, box.x + 12, box.y + 11);
  g.fillText(label, box.x + 12, box.y + 11);
  g.font = `10.5px ${look.mono}`;
  g.fillStyle = ink("ink-soft");
  const left = box.x + 12 + (label.length + 1.5) * 7.2;
  const sub = cut(box.sub, box.x + box.w - left - 28, 6.3);
  g.strokeText(sub, left, box.y + 12);
  g.fillText(sub, left, box.y + 12);
  drawSign(g, box, look, "−");
}

/** From afar, names of groups stand over what is in them, as large as on the screen. */
function drawFarTitles(g: Pencil, look: Look, seen: readonly number[], scale: number): void {
  const { ink, scene } = look;
  const size = 11 / scale;
  g.textBaseline = "top";
  g.textAlign = "left";
  g.font = `600 ${size}px ${look.mono}`;
  g.lineWidth = size / 3;
  g.lineJoin = "round";
  g.strokeStyle = ink("paper");
  g.fillStyle = ink("ink");
  let [lastX, lastY] = [-Infinity, -Infinity];
  for (const i of seen) {
    const box = scene.boxes[i]!;
    const [x, y] = [box.x + size / 2, box.y + size / 3];
    const isCrowded = y - lastY < 1.3 * size && Math.abs(x - lastX) < 8 * size;
    const isLarge = box.isOpen ? box.h > 3 * size : box.nodes > 1 && box.h > 1.2 * size;
    if (!isLarge || isCrowded || box.label.length * size * 0.6 > box.w) continue;
    g.strokeText(box.label, x, y);
    g.fillText(box.label, x, y);
    [lastX, lastY] = [x, y];
  }
}

function drawSign(g: Pencil, box: SceneBox, look: Look, sign: string): void {
  g.textAlign = "center";
  g.textBaseline = "middle";
  g.font = `14px ${look.mono}`;
  g.fillStyle = look.ink("ink-soft");
  g.fillText(sign, box.x + box.w - 16, box.y + 17);
}

/** Families of what is in a closed group, as a strip to scale. */
function drawStrip(g: Pencil, box: SceneBox, look: Look): void {
  const total = box.ops.reduce((sum, [, count]) => sum + count, 0) || 1;
  const byFamily = new Map<OpFamily, number>();
  for (const [op, count] of box.ops) {
    const family = look.family(op);
    byFamily.set(family, (byFamily.get(family) ?? 0) + count);
  }
  let x = box.x + 12;
  for (const [family, count] of byFamily) {
    const w = ((box.w - 24) * count) / total;
    g.fillStyle = look.ink(`family-${family}`);
    g.fillRect(x, box.y + box.h - 9, Math.max(1, w), 4);
    x += w;
  }
}

function fillOf(box: SceneBox, look: Look, isFar: boolean): string {
  const { ink } = look;
  if (!isFar) return ink("raised");
  if (box.kind === "node") return ink(`family-${look.family(box.op)}`);
  if (box.kind === "part") return ink(look.hue(box) || "family-other");
  const [first] = box.ops;
  return first ? ink(`family-${look.family(first[0])}`) : ink("family-input");
}

function drawFrame(g: Pencil, box: SceneBox, look: Look, isFar: boolean): void {
  const { ink } = look;
  if (box.kind === "stack") {
    for (const by of [6, 3]) {
      round(g, { ...box, x: box.x + by, y: box.y + by });
      g.fillStyle = isFar ? fillOf(box, look, true) : ink("raised");
      g.fill();
      g.stroke();
    }
  }
  const isEnd = box.kind === "input" || box.kind === "output";
  round(g, box, isEnd ? box.h / 2 : 4);
  g.fillStyle = fillOf(box, look, isFar);
  g.fill();
  const hue = look.hue(box);
  if (hue && !isFar) {
    g.fillStyle = ink(hue);
    g.globalAlpha *= 0.16;
    g.fill();
    g.globalAlpha = g.globalAlpha / 0.16;
  }
  g.stroke();
}

function drawWords(g: Pencil, box: SceneBox, look: Look): void {
  const { ink } = look;
  const isGroup = box.nodes > 1 || box.kind === "part";
  const left = box.x + (box.kind === "input" || box.kind === "output" ? 18 : 14);
  const room = box.w - 24 - (box.kind === "stack" ? 44 : 0);
  g.textAlign = "left";
  g.textBaseline = "alphabetic";
  g.fillStyle = ink("ink");
  g.font = `${isGroup ? "600 " : ""}12px ${look.mono}`;
  g.fillText(cut(box.label, room, 7.2), left, box.y + (isGroup ? 20 : 17));
  g.fillStyle = ink("ink-soft");
  g.font = `10.5px ${look.mono}`;
  g.fillText(cut(box.sub, box.w - 24, 6.3), left, box.y + (isGroup ? 36 : 31));
  if (box.kind === "stack") {
    g.textAlign = "right";
    g.font = `600 12px ${look.mono}`;
    g.fillStyle = ink("accent");
    g.fillText(`×${box.count}`, box.x + box.w - 12, box.y + 20);
  }
}

function drawMark(g: Pencil, box: SceneBox, mark: Mark, look: Look, isFar: boolean): void {
  const { ink } = look;
  g.fillStyle = ink("bad");
  // As high as it is bad: not told by colour alone.
  const high = mark.level > 0 ? Math.max(2, box.h * mark.level) : 0;
  g.fillRect(box.x + box.w - 6, box.y + box.h - high, 6, high);
  if (isFar || !mark.text) return;
  // Over the corner: beside the box there may be another one.
  g.font = `600 10.5px ${look.mono}`;
  g.textAlign = "right";
  g.textBaseline = "alphabetic";
  g.lineWidth = 3;
  g.lineJoin = "round";
  g.strokeStyle = ink("paper");
  g.fillStyle = ink(mark.level >= 0.5 ? "bad" : "ink-soft");
  g.strokeText(mark.text, box.x + box.w, box.y - 4);
  g.fillText(mark.text, box.x + box.w, box.y - 4);
}

function drawBox(g: Pencil, index: number, look: Look, scale: number): void {
  const box = look.scene.boxes[index]!;
  const { ink } = look;
  const isFar = scale < NAMES;
  const isMatch = look.matched?.has(index) ?? true;
  g.globalAlpha = isMatch ? 1 : FADED;
  const isHovered = look.hovered === index;
  g.strokeStyle = ink(isHovered || (look.matched && isMatch) ? "accent" : "line-strong");
  g.lineWidth = (look.matched && isMatch ? 2 : 1) / Math.min(1, scale);
  drawFrame(g, box, look, isFar);
  if (!isFar) {
    if (box.kind === "node") {
      g.fillStyle = ink(`family-${look.family(box.op)}`);
      g.fillRect(box.x + 4, box.y + 6, 4, box.h - 12);
    }
    drawWords(g, box, look);
    if (box.ops.length > 0) drawStrip(g, box, look);
  }
  const mark = look.marks.get(index);
  if (mark) drawMark(g, box, mark, look, isFar);
  g.globalAlpha = 1;
}

/** The type of what a node gives, where its line begins; what comes from afar, by name. */
function drawTypes(g: Pencil, look: Look, sight: Box): void {
  const { scene, ink } = look;
  const first = new Map<number, readonly number[]>();
  for (const { from, segments } of scene.edges) {
    if (first.has(from) || segments.length === 0) continue;
    const points = scene.segments[segments[0]!]!;
    if (!scene.tags[segments[0]!]) first.set(from, points);
  }
  g.font = `10px ${look.mono}`;
  g.textAlign = "left";
  g.textBaseline = "middle";
  g.lineWidth = 3;
  g.lineJoin = "round";
  g.strokeStyle = ink("paper");
  g.fillStyle = ink("ink-soft");
  const write = (text: string, x: number, y: number): void => {
    if (!touches({ x, y: y - 6, w: 6 * text.length, h: 12 }, sight)) return;
    g.strokeText(text, x, y);
    g.fillText(text, x, y);
  };
  for (const [from, points] of first) {
    const { type, kind } = scene.boxes[from]!;
    if (kind === "node" && type) write(type, points[0]! + 5, points[1]! + 10);
  }
  scene.tags.forEach((tag, i) => {
    if (tag) write(cut(tag, 110, 6), scene.segments[i]![0]! + 5, scene.segments[i]![1]! + 3);
  });
}

export function drawGraph(g: Pencil, look: Look, view: View, room: Room): void {
  const { scene, ink } = look;
  g.fillStyle = ink("paper");
  g.fillRect(0, 0, room.width, room.height);
  const scale = view.scaleX;
  const sight = sightOf(view, room);
  const margin = { x: sight.x - 120, y: sight.y - 24, w: sight.w + 240, h: sight.h + 48 };
  g.save();
  g.scale(scale, scale);
  g.translate(-view.left, -view.top);
  const seen = scene.boxes.flatMap((box, i) => (touches(box, margin) ? [i] : []));
  for (const i of seen) if (scene.boxes[i]!.isOpen) drawOpen(g, scene.boxes[i]!, look, scale);
  drawLines(g, look, sight, scale);
  // Over the lines, which go where they must.
  if (scale > NAMES)
    for (const i of seen) if (scene.boxes[i]!.isOpen) drawTitle(g, scene.boxes[i]!, look);
  for (const i of seen) if (!scene.boxes[i]!.isOpen) drawBox(g, i, look, scale);
  drawLit(g, look, scale);
  if (scale <= NAMES) drawFarTitles(g, look, seen, scale);
  if (scale > TYPES) drawTypes(g, look, sight);
  const chosen = scene.boxes[look.selected];
  if (chosen) {
    g.strokeStyle = ink("accent-fill");
    g.lineWidth = Math.max(2.5, 2 / scale);
    round(g, { x: chosen.x - 3, y: chosen.y - 3, w: chosen.w + 6, h: chosen.h + 6 }, 6);
    g.stroke();
  }
  g.restore();
}

// --- The small map in the corner ---------------------------------------------------------------------

const MAP = { most: 128, margin: 12 };

/** Where the map lies on the canvas; undefined when all of the graph is in sight. */
export function mapFrame(scene: Scene, view: View, room: Room): Box | undefined {
  const sight = sightOf(view, room);
  const isWhole =
    sight.x <= 0 &&
    sight.y <= 0 &&
    sight.x + sight.w >= scene.width &&
    sight.y + sight.h >= scene.height;
  if (isWhole || room.width < 480) return undefined;
  const scale = Math.min(MAP.most / scene.width, (2 * MAP.most) / scene.height, 0.25);
  const [w, h] = [Math.max(12, scene.width * scale), Math.max(12, scene.height * scale)];
  return { x: room.width - w - MAP.margin, y: room.height - h - MAP.margin, w, h };
}

export function drawMap(g: Pencil, look: Look, view: View, room: Room): void {
  const { scene, ink } = look;
  const frame = mapFrame(scene, view, room);
  if (!frame) return;
  const [sx, sy] = [frame.w / scene.width, frame.h / scene.height];
  g.fillStyle = ink("paper");
  g.strokeStyle = ink("line-strong");
  g.lineWidth = 1;
  round(g, { x: frame.x - 4, y: frame.y - 4, w: frame.w + 8, h: frame.h + 8 });
  g.fill();
  g.stroke();
  for (const box of scene.boxes) {
    g.fillStyle = box.isOpen ? ink("line") : fillOf(box, look, true);
    const [w, h] = [Math.max(1, box.w * sx), Math.max(1, box.h * sy)];
    g.fillRect(frame.x + box.x * sx, frame.y + box.y * sy, w, h);
  }
  const sight = sightOf(view, room);
  const x = Math.max(frame.x - 4, frame.x + sight.x * sx);
  const y = Math.max(frame.y - 4, frame.y + sight.y * sy);
  const right = Math.min(frame.x + frame.w + 4, frame.x + (sight.x + sight.w) * sx);
  const bottom = Math.min(frame.y + frame.h + 4, frame.y + (sight.y + sight.h) * sy);
  g.strokeStyle = ink("accent-fill");
  g.lineWidth = 2;
  g.strokeRect(x, y, Math.max(4, right - x), Math.max(4, bottom - y));
}
