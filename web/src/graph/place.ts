// Places for boxes and ways for lines: each open group is laid out on its own, from the inside out,
// and stands in the one around it as a box. A value that comes into a group or leaves it goes
// through a port in its border.
import { Graph, layout } from "@dagrejs/dagre";
import { isGroup, type Folded, type Group, type Item, type Leaf } from "./fold.js";
import type { Scene, SceneBox, SceneEdge, Wish } from "./model.js";
import { around, openGroups } from "./sight.js";

const NODE = { height: 40, least: 84, most: 272 };
const CLOSED = { height: 56, least: 132 };
const HEAD = 32;
const PAD = 16;
const GAP = { nodesep: 20, ranksep: 44, edgesep: 10 };
/** More ports than this in one border become one. */
const PORTS = 12;
/** Beyond, ranks are found by the quicker way. */
const MANY = 100;
/** A value with more uses in a group than this is named at each instead of drawn to each. */
const FANS = 6;
/** Length of the line at a name. */
const STUB = 14;
/** Width of a letter of the names in boxes, about. */
const LETTER = 6.7;

interface Point {
  x: number;
  y: number;
}

interface Way {
  from: string;
  to: string;
  points: Point[];
}

/** A group that has been laid out; places are relative to it. */
interface Layout {
  w: number;
  h: number;
  places: Map<string, Point>;
  ways: Map<string, Way>;
  /** Places of ports, from the left. */
  ports: Map<string, number>;
}

/** The lines within one group, and its ports. */
interface Inside {
  ways: Map<string, { from: string; to: string }>;
  /** Those of them that are not drawn to where they come from. */
  stubs: Set<string>;
  ins: Set<string>;
  outs: Set<string>;
}

export const shortOp = (op: string): string =>
  op
    .replace(/^(aten|higher_order|dim_order_ops|quantized_decomposed)::/, "")
    .replace(/\.default$/, "");

function wordsOf(item: Item): { label: string; sub: string } {
  if (!isGroup(item)) {
    const sub = item.home ? `${item.home} · ${item.name}` : item.name;
    if (item.row) return { label: shortOp(item.row.op), sub };
    return { label: item.name, sub: item.type || item.kind };
  }
  const count = item.nodes || item.items.length;
  const noun = item.nodes ? "node" : "value";
  const nodes = `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
  if (item.kind === "part") return { label: item.label, sub: item.about };
  if (item.kind === "run") return { label: `nodes ${item.label}`, sub: nodes };
  return { label: item.label, sub: [item.about, nodes].filter(Boolean).join(" · ") };
}

function sizeOf(item: Item): { width: number; height: number } {
  const { label, sub } = wordsOf(item);
  const group = isGroup(item);
  // Ends are round.
  const badge = group ? (item.kind === "stack" ? 44 : 0) : item.row ? 0 : 12;
  const letters = Math.max(label.length * 1.08, sub.length * 0.94);
  const least = group ? CLOSED.least : NODE.least;
  return {
    width: Math.round(Math.min(NODE.most, Math.max(least, letters * LETTER + 28 + badge))),
    height: group ? CLOSED.height : NODE.height,
  };
}

/** Boxes and lines of a folded graph with some of its groups open. */
class Placer {
  private readonly insides = new Map<string, Inside>();
  private readonly layouts = new Map<string, Layout>();
  private readonly open: ReadonlySet<string>;
  private readonly boxes: SceneBox[] = [];
  private readonly index = new Map<string, number>();
  private readonly corners = new Map<string, Point>();
  private readonly edges = new Map<string, { from: Item; to: Item; values: Set<string> }>();

  constructor(
    private readonly folded: Folded,
    open: readonly string[],
  ) {
    this.open = new Set(open);
  }

  private isOpen(item: Item): item is Group {
    return isGroup(item) && (item.up === null || this.open.has(item.id));
  }

  /** The box that stands for an item: its own, or the outermost closed group around it. */
  private shown(item: Item): Item {
    const closed = around(item).findLast((group) => !this.open.has(group.id));
    return closed ?? item;
  }

  private inside(group: Group): Inside {
    let inside = this.insides.get(group.id);
    if (!inside) {
      inside = { ways: new Map(), stubs: new Set(), ins: new Set(), outs: new Set() };
      this.insides.set(group.id, inside);
    }
    return inside;
  }

  private way(group: Group, from: string, to: string): void {
    this.inside(group).ways.set(`${from}>${to}`, { from, to });
  }

  /** From an item up to, and without, the group that holds both ends. */
  private static chain(item: Item, top: Group): Item[] {
    const chain = [item];
    for (let group = item.up; group && group !== top; group = group.up) chain.push(group);
    return chain;
  }

  private static common(a: Item, b: Item): Group | null {
    const groups = new Set<Group>();
    for (let group = isGroup(a) ? a : a.up; group; group = group.up) groups.add(group);
    let group = isGroup(b) ? b : b.up;
    while (group && !groups.has(group)) group = group.up;
    return group;
  }

  /** Collects the lines between boxes; two values between the same boxes are one line. */
  private collect(): void {
    for (const { from, to, value } of this.folded.links) {
      const [a, b] = [this.shown(from), this.shown(to)];
      if (a === b) continue;
      const key = `${a.id}>${b.id}`;
      const edge = this.edges.get(key);
      if (edge) edge.values.add(value);
      else this.edges.set(key, { from: a, to: b, values: new Set([value]) });
    }
    // The ports first: where there are too many, they are one.
    for (const { from, to } of this.edges.values()) {
      const top = Placer.common(from, to)!;
      for (const group of Placer.chain(to, top).slice(1))
        this.inside(group as Group).ins.add(from.id);
      for (const group of Placer.chain(from, top).slice(1))
        this.inside(group as Group).outs.add(from.id);
    }
    for (const { from, to } of this.edges.values()) this.ways(from, to);
  }

  private port(group: Group, side: "in" | "out", source: string): string {
    const { ins, outs } = this.inside(group);
    const isMany = (side === "in" ? ins : outs).size > PORTS;
    return `${side}:${isMany ? "*" : source}`;
  }

  /** The ways of one line, group by group; returns their names. */
  private ways(from: Item, to: Item): [Group, string][] {
    const top = Placer.common(from, to)!;
    const down = Placer.chain(to, top);
    const up = Placer.chain(from, top);
    const names: [Group, string][] = [];
    const add = (group: Group, a: string, b: string): void => {
      this.way(group, a, b);
      names.push([group, `${a}>${b}`]);
    };
    up.slice(1).forEach((group, i) => {
      add(group as Group, up[i]!.id, this.port(group as Group, "out", from.id));
    });
    // A part whose result nothing in it makes is an end itself.
    if (up.at(-1) !== down.at(-1)) {
      const [a, b] = [up.at(-1)!.id, down.at(-1)!.id];
      if (a !== top.id && b !== top.id) add(top, a, b);
    }
    for (let i = down.length - 1; i > 0; i--)
      add(down[i] as Group, this.port(down[i] as Group, "in", from.id), down[i - 1]!.id);
    return names;
  }

  private lay(group: Group): Layout {
    const inside = this.inside(group);
    const g = new Graph({ multigraph: false, compound: false });
    g.setGraph({
      rankdir: "TB",
      ...GAP,
      ranker: group.items.length > MANY ? "tight-tree" : "network-simplex",
    });
    g.setDefaultEdgeLabel(() => ({}));
    for (const item of group.items) {
      if (this.isOpen(item)) {
        const { w, h } = this.lay(item);
        g.setNode(item.id, { width: w, height: h });
      } else g.setNode(item.id, sizeOf(item));
    }
    const ports = new Set<string>();
    for (const { from, to } of inside.ways.values()) {
      for (const end of [from, to]) if (/^(in|out):/.test(end)) ports.add(end);
    }
    ports.delete("in:*");
    ports.delete("out:*");
    for (const port of ports) g.setNode(port, { width: 2, height: 1 });
    this.findStubs(inside);
    for (const [name, { from, to }] of inside.ways)
      if (!inside.stubs.has(name)) g.setEdge(from, to, { weight: 1 });
    this.holdPorts(g, ports);
    gather(g, group.items);
    layout(g);
    return this.keep(group, g, ports, inside);
  }

  /** Which lines would make a thicket: all but the first of those that spread out widely. */
  private findStubs({ ways, stubs }: Inside): void {
    const fans = new Map<string, string[]>();
    for (const [name, { from, to }] of ways) {
      if (from === "in:*" || to === "out:*") stubs.add(name);
      else if (!to.startsWith("out:")) fans.set(from, [...(fans.get(from) ?? []), name]);
    }
    for (const names of fans.values())
      if (names.length > FANS) for (const name of names.slice(1)) stubs.add(name);
  }

  /** Ports of one side lie in one rank: all hang on a node that is not drawn. */
  private holdPorts(g: Graph, ports: ReadonlySet<string>): void {
    for (const side of ["in", "out"] as const) {
      const own = [...ports].filter((port) => port.startsWith(`${side}:`));
      if (own.length < 2) continue;
      g.setNode(side, { width: 1, height: 1 });
      for (const port of own) {
        if (side === "in") g.setEdge(side, port, { weight: 20 });
        else g.setEdge(port, side, { weight: 20 });
      }
    }
  }

  private keep(group: Group, g: Graph, ports: ReadonlySet<string>, inside: Inside): Layout {
    const nodes = group.items.map((item) => [item.id, g.node(item.id)] as const);
    const least = { x: Infinity, y: Infinity };
    const most = { x: 0, y: 0 };
    for (const [, { x, y, width, height }] of nodes as [string, Required<Rect>][]) {
      least.x = Math.min(least.x, x - width / 2);
      least.y = Math.min(least.y, y - height / 2);
      most.x = Math.max(most.x, x + width / 2);
      most.y = Math.max(most.y, y + height / 2);
    }
    const names = [...inside.ways.keys()].filter((name) => !inside.stubs.has(name));
    const lines = names.map((name) => {
      const { from, to } = inside.ways.get(name)!;
      return (g.edge(from, to) as { points: Point[] }).points;
    });
    for (const port of ports) least.x = Math.min(least.x, g.node(port).x! - 1);
    for (const port of ports) most.x = Math.max(most.x, g.node(port).x! + 1);
    for (const { x } of lines.flat()) {
      least.x = Math.min(least.x, x);
      most.x = Math.max(most.x, x);
    }
    const isRoot = group.up === null;
    const { label, sub } = wordsOf(group);
    const title = isRoot ? 0 : Math.min(420, 7.2 * label.length + LETTER * sub.length + 64);
    const [dx, dy] = [PAD - least.x, (isRoot ? PAD : HEAD + PAD) - least.y];
    const inner = most.x - least.x + 2 * PAD;
    const w = Math.max(title, inner);
    const shift = dx + (w - inner) / 2;
    const h = most.y + dy + PAD;
    const made: Layout = {
      w,
      h,
      places: new Map(
        (nodes as [string, Required<Rect>][]).map(([id, { x, y, width, height }]) => [
          id,
          { x: x - width / 2 + shift, y: y - height / 2 + dy },
        ]),
      ),
      ports: new Map([...ports].map((port) => [port, g.node(port).x! + shift])),
      ways: new Map(
        names.map((name, i) => {
          const { from, to } = inside.ways.get(name)!;
          const points = lines[i]!.map(({ x, y }) => ({ x: x + shift, y: y + dy }));
          return [name, { from, to, points }];
        }),
      ),
    };
    this.layouts.set(group.id, made);
    return made;
  }

  private draw(group: Group, corner: Point, parent: number): void {
    const { places } = this.layouts.get(group.id)!;
    this.corners.set(group.id, corner);
    for (const item of group.items) {
      const place = places.get(item.id)!;
      const at = { x: corner.x + place.x, y: corner.y + place.y };
      const index = this.boxes.length;
      this.index.set(item.id, index);
      this.boxes.push(this.box(item, at, parent));
      if (this.isOpen(item)) this.draw(item, at, index);
    }
  }

  private box(item: Item, at: Point, parent: number): SceneBox {
    const isOpen = this.isOpen(item);
    const inner = isOpen ? this.layouts.get(item.id)! : null;
    const { width, height } = inner ? { width: inner.w, height: inner.h } : sizeOf(item);
    return {
      ...wordsOf(item),
      id: item.id,
      kind: item.kind,
      x: at.x,
      y: at.y,
      w: width,
      h: height,
      parent,
      isOpen,
      name: isGroup(item) ? "" : item.name,
      op: isGroup(item) ? "" : (item.row?.op ?? ""),
      type: isGroup(item) ? "" : item.type,
      nodes: isGroup(item) ? item.nodes : item.row ? 1 : 0,
      ops: isGroup(item) && !isOpen ? opsOf(item) : [],
      count: isGroup(item) && item.kind === "stack" ? item.items.length : 1,
      part: item.part,
    };
  }

  /** The ends of a way in the borders of the boxes that it joins, where their ports are. */
  private ends(group: Group, name: string, source: string): number[] {
    const own = this.layouts.get(group.id)!;
    const way = own.ways.get(name);
    if (!way) return this.stub(this.inside(group).ways.get(name)!, source);
    const { from, to, points } = way;
    const corner = this.corners.get(group.id)!;
    const line = points.map(({ x, y }) => ({ x: x + corner.x, y: y + corner.y }));
    const [first, last] = [line[0]!, line.at(-1)!];
    if (from.startsWith("in:")) {
      first.y = corner.y + HEAD;
      line.unshift({ x: first.x, y: corner.y });
    } else Object.assign(first, this.anchor(from, "out", source, first));
    if (to.startsWith("out:")) last.y = corner.y + own.h;
    else Object.assign(last, this.anchor(to, "in", source, last));
    return line.flatMap(({ x, y }) => [x, y]);
  }

  private stub({ from, to }: { from: string; to: string }, source: string): number[] {
    if (to.startsWith("out:")) {
      const box = this.boxes[this.index.get(from)!]!;
      const { x, y } = this.anchor(from, "out", source, { x: box.x + box.w / 2, y: 0 });
      return [x, y, x, y + STUB];
    }
    const box = this.boxes[this.index.get(to)!]!;
    const { x, y } = this.anchor(to, "in", source, { x: box.x + 20, y: 0 });
    return [x, y - STUB, x, y];
  }

  private anchor(id: string, side: "in" | "out", source: string, near: Point): Point {
    const box = this.boxes[this.index.get(id)!]!;
    const y = side === "in" ? box.y : box.y + box.h;
    const inner = box.isOpen ? this.layouts.get(id) : undefined;
    const port = inner && (inner.ports.get(`${side}:${source}`) ?? inner.ports.get(`${side}:*`));
    if (port !== undefined) return { x: box.x + port, y };
    return { x: Math.max(box.x + 8, Math.min(box.x + box.w - 8, near.x)), y };
  }

  scene(): Omit<Scene, "ms" | "open"> {
    this.collect();
    const { w, h } = this.lay(this.folded.root);
    this.draw(this.folded.root, { x: 0, y: 0 }, -1);
    const segments: number[][] = [];
    const tags: string[] = [];
    const numbers = new Map<string, number>();
    const edges: SceneEdge[] = [];
    for (const { from, to, values } of this.edges.values()) {
      const own = this.ways(from, to).map(([group, name]) => {
        const key = `${group.id}\n${name}\n${from.id}`;
        const known = numbers.get(key);
        if (known !== undefined) return known;
        numbers.set(key, segments.length);
        const isTag = this.inside(group).stubs.has(name) && !name.includes(">out:");
        tags.push(isTag ? nameOf(from) : "");
        return segments.push(this.ends(group, name, from.id)) - 1;
      });
      const [a, b] = [this.index.get(from.id)!, this.index.get(to.id)!];
      edges.push({ from: a, to: b, values: [...values], segments: own });
    }
    const boxOf = new Map<string, number>();
    for (const [id, leaf] of this.folded.leaves)
      boxOf.set(id, this.index.get(this.shown(leaf).id)!);
    return { boxes: this.boxes, edges, segments, tags, width: w, height: h, boxOf };
  }
}

const nameOf = (item: Item): string => (isGroup(item) ? item.label : item.name);

interface Rect {
  x?: number;
  y?: number;
  width?: number;
  height?: number;
}

/** Boxes without lines would make one long row: lines that are not drawn hold them in a block. */
function gather(g: Graph, items: readonly Item[]): void {
  const lone = items.filter(({ id }) => (g.nodeEdges(id) ?? []).length === 0);
  const columns = Math.ceil(Math.sqrt(1.5 * lone.length));
  lone.forEach(({ id }, i) => {
    const above = lone[i - columns];
    if (lone.length > 6 && above) g.setEdge(above.id, id, { weight: 1 });
  });
}

function opsOf(group: Group): [string, number][] {
  const counts = new Map<string, number>();
  const walk = (item: Item): void => {
    if (isGroup(item)) item.items.forEach(walk);
    else countOf(item, counts);
  };
  walk(group);
  return [...counts].sort((a, b) => b[1] - a[1]);
}

function countOf({ row }: Leaf, counts: Map<string, number>): void {
  if (row) counts.set(row.op, (counts.get(row.op) ?? 0) + 1);
}

/** Lays a folded graph out as it is wished for. */
export function place(folded: Folded, wish: Wish): Omit<Scene, "ms"> {
  const open = openGroups(folded, wish.open, wish.reveal);
  return { ...new Placer(folded, open).scene(), open };
}
