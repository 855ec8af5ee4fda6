// A graph folded as its author wrote it: nodes in their modules, blocks that are alike in one stack,
// parts of backends in groups of their own, and long rows of nodes in runs.
import type { NodeRow, TensorInfo } from "@sconce/types/index.js";
import type { GraphSource, GroupKind } from "./model.js";

export interface Leaf {
  id: string;
  kind: "node" | "input" | "output";
  name: string;
  row: NodeRow | null;
  type: string;
  /** Modules that hold nothing else, from the outermost inwards; mostly none. */
  home: string;
  /** Part that the node calls, where what is in it is unknown; -1 for none. */
  part: number;
  up: Group | null;
}

export interface Group {
  id: string;
  kind: GroupKind;
  label: string;
  /** The author's class, or a part's reason. */
  about: string;
  part: number;
  items: Item[];
  up: Group | null;
  nodes: number;
}

export type Item = Leaf | Group;

export const isGroup = (item: Item): item is Group => "items" in item;

/** A value that goes from one item to another. */
export interface Link {
  from: Item;
  to: Item;
  value: string;
}

export interface Folded {
  root: Group;
  links: Link[];
  leaves: ReadonlyMap<string, Leaf>;
  groups: ReadonlyMap<string, Group>;
}

/** More items than this in one group are cut into runs. */
const WIDE = 240;
/** Modules inside of one another; files may claim more, nobody looks that deep. */
const DEEP = 32;
/** As many blocks in a row, at least, make a stack. */
const ALIKE = 3;

function groupOf(id: string, kind: GroupKind, label: string, about = "", part = -1): Group {
  return { id, kind, label, about, part, items: [], up: null, nodes: 0 };
}

function put(group: Group, item: Item): void {
  item.up = group;
  group.items.push(item);
}

export function typeOf(info: TensorInfo, dtypes: ReadonlyMap<string, string>): string {
  if (info.kind !== "tensor" || !info.dtype) return info.kind;
  return `${dtypes.get(info.dtype) ?? info.dtype}[${(info.shape ?? []).join(", ")}]`;
}

interface Place {
  name: string;
  type: string;
}

/**
 * The modules that a node was called in, from the outermost inwards: "layers.0", "attention". Lists
 * of modules do not count: nodes between calls of their members would be outside of them.
 */
function placesOf(stack: string): Place[] {
  const places: Place[] = [];
  let around = "";
  for (const entry of stack.split(";", 4 * DEEP)) {
    if (places.length === DEEP) break;
    const [key = "", path = "", type = ""] = entry.split(",");
    if (!path || path === around || path.startsWith("_empty_nn_module_stack")) continue;
    // A module that is called a second time has a number behind it.
    const again = /@\d+$/.exec(key)?.[0] ?? "";
    const inner = path.startsWith(`${around}.`) ? path.slice(around.length + 1) : path;
    places.push({ name: inner + again, type: type.split(".").at(-1) ?? "" });
    around = path;
  }
  return places;
}

class Folder {
  readonly leaves = new Map<string, Leaf>();
  readonly groups = new Map<string, Group>();

  group(around: Group, place: Place): Group {
    const id = `${around.id}/${place.name}`;
    const found = this.groups.get(id);
    if (found) {
      found.about ||= place.type;
      return found;
    }
    const made = groupOf(id, "module", place.name, place.type, around.part);
    this.groups.set(id, made);
    put(around, made);
    return made;
  }

  leaf(around: Group, leaf: Omit<Leaf, "up">): Leaf {
    const made: Leaf = { ...leaf, up: null };
    put(around, made);
    this.leaves.set(leaf.id, made);
    return made;
  }

  /** Puts nodes where their modules say. */
  nodes(around: Group, rows: readonly NodeRow[], dtypes: ReadonlyMap<string, string>): Leaf[] {
    return rows.map((row) => {
      const home = placesOf(row.module).reduce((group, place) => this.group(group, place), around);
      const [first] = row.outputs;
      return this.leaf(home, {
        id: `n:${row.name}`,
        kind: "node",
        name: row.name,
        row,
        type: first ? typeOf(first, dtypes) : "",
        home: "",
        part: around.part,
      });
    });
  }
}

/** Numbers for shapes of groups: equal ones are alike, operator by operator. */
class Likeness {
  private readonly numbers = new Map<string, number>();
  private readonly known = new Map<Item, number>();

  of(item: Item): number {
    const before = this.known.get(item);
    if (before !== undefined) return before;
    const text = isGroup(item)
      ? `${item.about}(${item.items.map((inner) => this.of(inner)).join()})`
      : `${item.row?.op ?? item.kind} ${item.type}`;
    const number = this.numbers.get(text) ?? this.numbers.size;
    this.numbers.set(text, number);
    this.known.set(item, number);
    return number;
  }
}

/** A module that holds nothing but another one, or a single node, is one with it. */
function joinLone(group: Group, groups: Map<string, Group>): void {
  for (const item of [...group.items]) if (isGroup(item)) joinLone(item, groups);
  const [only] = group.items;
  if (group.up === null || group.kind !== "module" || group.items.length !== 1 || !only) return;
  if (!isGroup(only)) {
    only.home = only.home ? `${group.label}.${only.home}` : group.label;
    replace(group, only);
  } else if (only.kind === "module") {
    only.label = `${group.label}.${only.label}`;
    replace(group, only);
  } else return;
  groups.delete(group.id);
}

function replace(group: Group, by: Item): void {
  const { items } = group.up!;
  items[items.indexOf(group)] = by;
  by.up = group.up;
}

/** "layers.0 … 4" of layers.0 and layers.4. */
function span(first: string, last: string): string {
  const dot = first.lastIndexOf(".") + 1;
  const isShared = dot > 0 && last.startsWith(first.slice(0, dot));
  return `${first} … ${isShared ? last.slice(dot) : last}`;
}

/** Modules in a row that are alike become one stack. */
function stackAlike(group: Group, likeness: Likeness, groups: Map<string, Group>): void {
  for (const item of group.items) if (isGroup(item)) stackAlike(item, likeness, groups);
  const { items } = group;
  group.items = [];
  for (let i = 0; i < items.length;) {
    const first = items[i]!;
    let end = i + 1;
    const isAlike = (item: Item | undefined): boolean =>
      item !== undefined && isGroup(item) && likeness.of(item) === likeness.of(first);
    if (isGroup(first)) while (isAlike(items[end])) end++;
    if (end - i < ALIKE) put(group, items[i++]!);
    else {
      const last = items[end - 1] as Group;
      const label = span((first as Group).label, last.label);
      const stack = groupOf(
        `${group.id}/${label}`,
        "stack",
        label,
        (first as Group).about,
        group.part,
      );
      groups.set(stack.id, stack);
      put(group, stack);
      for (; i < end; i++) put(stack, items[i]!);
    }
  }
}

/** Cuts what is wide into runs of nodes that follow one another. */
function cutRuns(group: Group, groups: Map<string, Group>): void {
  while (group.items.length > WIDE) {
    const { items } = group;
    const size = Math.max(48, Math.ceil(Math.sqrt(items.length)));
    group.items = [];
    for (let i = 0; i < items.length; i += size) {
      const inner = items.slice(i, i + size);
      const label = `${i + 1} … ${i + inner.length}`;
      const run = groupOf(`${group.id}/#${label}/${items.length}`, "run", label, "", group.part);
      groups.set(run.id, run);
      put(group, run);
      for (const item of inner) put(run, item);
    }
  }
  for (const item of group.items) if (isGroup(item)) cutRuns(item, groups);
}

function countNodes(group: Group): number {
  group.nodes = group.items.reduce(
    (sum, item) => sum + (isGroup(item) ? countNodes(item) : item.row ? 1 : 0),
    0,
  );
  return group.nodes;
}

type Makers = Map<string, Item>;

const makersOf = (leaves: readonly Leaf[]): Makers =>
  new Map(leaves.flatMap((leaf) => (leaf.row?.outputs ?? []).map((out) => [out.name, leaf])));

function link(leaves: readonly Leaf[], makers: Makers, outer: Makers, links: Link[]): void {
  for (const to of leaves) {
    for (const value of new Set(to.row!.inputs)) {
      const from = makers.get(value) ?? outer.get(value);
      if (from && from !== to) links.push({ from, to, value });
    }
  }
}

const endOf = (
  kind: "input" | "output",
  id: string,
  name: string,
  type: string,
): Omit<Leaf, "up"> => ({ id, kind, name, type, row: null, home: "", part: -1 });

/** Folds a graph. A value from outside of it, such as a weight, has no line. */
export function fold(source: GraphSource): Folded {
  const { dtypes } = source;
  const folder = new Folder();
  const root = groupOf("", "module", "");
  const parts = new Map(source.parts.map((part, i) => [part.caller, { ...part, i }]));
  const ends: Leaf[] = [];
  for (const { name, type } of source.inputs)
    ends.push(folder.leaf(root, endOf("input", `i:${name}`, name, type)));

  const outer: Makers = new Map(ends.map((leaf) => [leaf.name, leaf]));
  const inner: { leaves: Leaf[]; makers: Makers }[] = [];
  const own: Leaf[] = [];
  for (const row of source.rows) {
    const part = parts.get(row.name);
    if (!part || part.rows.length === 0) {
      const [leaf] = folder.nodes(root, [row], dtypes);
      if (part) leaf!.part = part.i;
      own.push(leaf!);
      continue;
    }
    const group = groupOf(`p:${row.name}`, "part", part.label, part.reason, part.i);
    folder.groups.set(group.id, group);
    put(root, group);
    const leaves = folder.nodes(group, part.rows, dtypes);
    const makers = makersOf(leaves);
    inner.push({ leaves, makers });
    for (const out of row.outputs) outer.set(out.name, makers.get(out.name) ?? group);
  }
  for (const [value, leaf] of makersOf(own)) outer.set(value, leaf);

  const links: Link[] = [];
  link(own, new Map(), outer, links);
  for (const { leaves, makers } of inner) link(leaves, makers, outer, links);
  const state = groupOf("s:", "module", "state", "written by the method");
  const isLong = source.outputs.filter(({ isState }) => isState).length > 2;
  if (isLong) {
    folder.groups.set(state.id, state);
    put(root, state);
  }
  source.outputs.forEach(({ name, type, value, isState }, i) => {
    const home = isState && isLong ? state : root;
    const to = folder.leaf(home, endOf("output", `o:${i}:${name}`, name, type));
    const from = outer.get(value ?? name);
    if (from) links.push({ from, to, value: value ?? name });
  });

  joinLone(root, folder.groups);
  stackAlike(root, new Likeness(), folder.groups);
  cutRuns(root, folder.groups);
  countNodes(root);
  return { root, links, leaves: folder.leaves, groups: folder.groups };
}
