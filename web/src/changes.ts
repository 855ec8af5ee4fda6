// What became of each node from one version of a method to the next.
import type { NodeRow } from "@sconce/types/index.js";

export type Kind = "changed" | "added" | "removed" | "same";

/** Nodes that correspond, side by side. */
export interface Change {
  kind: Kind;
  /** In the version before; null for what was added. */
  before: NodeRow | null;
  after: NodeRow | null;
  /** What is different about a node that is in both. */
  what: readonly ("operator" | "inputs" | "result")[];
}

/** Nodes of one origin that nobody stands beside yet, in the order of the program. */
interface Group {
  before: NodeRow[];
  after: NodeRow[];
}

/** How many nodes of the same kind are looked at for the one that fits best: keeps time linear. */
const NEAR = 32;

/** "aten::view" of "aten::view_copy.default": the edge dialect copies what others look at. */
const baseOf = (op: string): string => op.replace(/\..*$/, "").replace(/_copy$/, "");

const typesOf = (row: NodeRow): string =>
  JSON.stringify(row.outputs.map(({ kind, dtype, shape }) => [kind, dtype, shape]));

const firstTypeOf = (row: NodeRow): string => {
  const [first] = row.outputs;
  return first ? JSON.stringify([first.kind, first.dtype, first.shape]) : "";
};

/** Where a node comes from: what tells its number where both versions have them, else its place. */
function origins(sides: readonly (readonly NodeRow[])[]): (row: NodeRow) => string {
  const isNumbered = sides.every((rows) => rows.some(({ debugHandle }) => debugHandle > 0));
  return ({ debugHandle, source, module }) =>
    isNumbered && debugHandle > 0 ? `#${debugHandle}` : `${source}\n${module}`;
}

function grouped<T>(rows: readonly T[], keyOf: (row: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const row of rows) {
    const key = keyOf(row);
    const group = groups.get(key);
    if (group) group.push(row);
    else groups.set(key, [row]);
  }
  return groups;
}

/** Who stands beside whom, and what values of the version before are called in the one after. */
class Pairs {
  readonly afterOf = new Map<NodeRow, NodeRow>();
  readonly beforeOf = new Map<NodeRow, NodeRow>();
  private readonly names = new Map<string, string>();

  add(before: NodeRow, after: NodeRow): void {
    this.afterOf.set(before, after);
    this.beforeOf.set(after, before);
    before.outputs.forEach(({ name }, i) => {
      const became = after.outputs[i]?.name;
      if (became !== undefined) this.names.set(name, became);
    });
  }

  /** What goes in and out of a method keeps its name. */
  nameAfter(value: string): string {
    return this.names.get(value) ?? value;
  }

  private fit(before: NodeRow, after: NodeRow): number {
    const isFed = (value: string, i: number): boolean => this.nameAfter(value) === after.inputs[i];
    const fed = before.inputs.filter(isFed).length;
    const types = typesOf(before) === typesOf(after) ? 2 : 0;
    return 4 * fed + types + (before.name === after.name ? 1 : 0);
  }

  /** Nodes that kept their operator; among several, the one that is fed and made alike. */
  private takeKept({ before, after }: Group): void {
    const left = grouped(after, ({ op }) => baseOf(op));
    for (const row of before) {
      const list = left.get(baseOf(row.op)) ?? [];
      const fits = list.slice(0, NEAR).map((other) => this.fit(row, other));
      const at = fits.indexOf(Math.max(...fits));
      if (at >= 0) this.add(row, list.splice(at, 1)[0]!);
    }
  }

  /** Nodes that others took the place of: of those, the last one gives what the node gave. */
  private takeReplaced({ before, after }: Group): void {
    const made = grouped(after, firstTypeOf);
    for (const [type, olds] of grouped(before, firstTypeOf)) {
      const news = type ? (made.get(type) ?? []) : [];
      const count = Math.min(olds.length, news.length);
      const lastOf = (list: readonly NodeRow[], i: number): NodeRow =>
        list[Math.floor(((i + 1) * list.length) / count) - 1]!;
      for (let i = 0; i < count; i++) this.add(lastOf(olds, i), lastOf(news, i));
    }
  }

  private left({ before, after }: Group): Group {
    return {
      before: before.filter((row) => !this.afterOf.has(row)),
      after: after.filter((row) => !this.beforeOf.has(row)),
    };
  }

  take(group: Group): void {
    this.takeKept(group);
    this.takeReplaced(this.left(group));
  }

  /** Nodes that only their names and operators tell: passes may give them another place. */
  takeNamed(all: Group): void {
    const { before, after } = this.left(all);
    const left = grouped(after, ({ name, op }) => `${name}\n${baseOf(op)}`);
    for (const row of before) {
      const found = left.get(`${row.name}\n${baseOf(row.op)}`)?.shift();
      if (found) this.add(row, found);
    }
  }
}

function compared(before: NodeRow, after: NodeRow, pairs: Pairs): Change {
  const isFed = (value: string, i: number): boolean => pairs.nameAfter(value) === after.inputs[i];
  const isSameFed = before.inputs.length === after.inputs.length && before.inputs.every(isFed);
  const what: Change["what"] = [
    ...(before.op === after.op ? [] : (["operator"] as const)),
    ...(isSameFed ? [] : (["inputs"] as const)),
    ...(typesOf(before) === typesOf(after) ? [] : (["result"] as const)),
  ];
  return { kind: what.length > 0 ? "changed" : "same", before, after, what };
}

/** Rows in the order of the version after; what was removed stands where it was. */
function listed({ before, after }: Group, pairs: Pairs): Change[] {
  const changes: Change[] = [];
  const place = new Map(before.map((row, i) => [row, i]));
  let next = 0;
  const addRemoved = (end: number): void => {
    for (; next < end; next++) {
      const row = before[next]!;
      if (!pairs.afterOf.has(row))
        changes.push({ kind: "removed", before: row, after: null, what: [] });
    }
  };
  for (const row of after) {
    const old = pairs.beforeOf.get(row);
    if (old) addRemoved(place.get(old)!);
    changes.push(
      old ? compared(old, row, pairs) : { kind: "added", before: null, after: row, what: [] },
    );
  }
  addRemoved(before.length);
  return changes;
}

/** What became of each node of a method: its operator, what goes in and the type of its result. */
export function changesOf(before: readonly NodeRow[], after: readonly NodeRow[]): Change[] {
  const pairs = new Pairs();
  const all: Group = { before: [...before], after: [...after] };
  const originOf = origins([before, after]);
  const others = grouped(after, originOf);
  for (const [origin, own] of grouped(before, originOf))
    pairs.take({ before: own, after: others.get(origin) ?? [] });
  pairs.takeNamed(all);
  return listed(all, pairs);
}
