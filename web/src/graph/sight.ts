// Which groups of a folded graph are open: as many as were asked for, and never more boxes at once
// than can be laid out in a moment.
import { isGroup, type Folded, type Group, type Item } from "./fold.js";

/** Most boxes that are laid out at once. */
const MOST = 400;
/** As many boxes at first, about: what a person can look at. */
const FIRST = 64;
/** Parts of backends are open at first where there are no more than this. */
const FEW = 3;

/** Groups around an item, the innermost first. */
export function around(item: Item): Group[] {
  const groups: Group[] = [];
  for (let group = item.up; group && group.up; group = group.up) groups.push(group);
  return groups;
}

/** The boxes that are shown when `open` is, those of open groups among them. */
function boxesOf(root: Group, open: ReadonlySet<string>): Item[] {
  const boxes: Item[] = [];
  const walk = (group: Group): void => {
    for (const item of group.items) {
      boxes.push(item);
      if (isGroup(item) && open.has(item.id)) walk(item);
    }
  };
  walk(root);
  return boxes;
}

/** Groups that are open at first: from the outside in, small ones first, while there is room. */
function openAtFirst({ root }: Folded): string[] {
  const open = new Set<string>();
  let count = root.items.length;
  let level: readonly Item[] = root.items;
  const parts = root.items.filter(({ kind }) => kind === "part").length;
  while (level.length > 0) {
    const isShut = ({ kind }: Group): boolean => kind === "run" || (kind === "part" && parts > FEW);
    const groups = level.filter(isGroup).filter((group) => !isShut(group));
    groups.sort((a, b) => a.items.length - b.items.length);
    const opened: Group[] = [];
    for (const group of groups) {
      if (count + group.items.length > FIRST) break;
      // Blocks that are alike say more as one, unless there is room for all that is in them.
      if (group.kind === "stack" && count + group.nodes > FIRST) continue;
      count += group.items.length;
      opened.push(group);
    }
    for (const group of opened) open.add(group.id);
    level = opened.flatMap(({ items }) => items);
  }
  return [...open];
}

/** The groups that are open in the end, those that were opened last at the end of the list. */
export function openGroups(
  folded: Folded,
  asked: readonly string[] | null,
  reveal: string,
): string[] {
  const { groups, leaves, root } = folded;
  const order = new Map<string, Group>();
  const add = (group: Group): void => {
    // Those around come with it.
    for (const each of [...around(group).reverse(), group]) {
      order.delete(each.id);
      order.set(each.id, each);
    }
  };
  for (const id of asked ?? openAtFirst(folded)) {
    const group = groups.get(id);
    if (group) order.set(id, group);
  }
  const leaf = reveal ? leaves.get(reveal) : undefined;
  const home = leaf?.up;
  if (home?.up) add(home);
  const last = [...order.values()].at(-1);
  const kept = new Set<string>(last ? [last, ...around(last)].map(({ id }) => id) : []);
  for (const id of order.keys()) {
    if (boxesOf(root, new Set(order.keys())).length <= MOST) break;
    if (!kept.has(id)) order.delete(id);
  }
  return [...order.keys()];
}
