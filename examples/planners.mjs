// Memory planners of one's own, to import or to copy:
// npx sconce lower model.pt2 -o model.pte --import planners.mjs --memory-planning largestFirst

/**
 * Places the largest value first, each one at the lowest offset where it meets no other in time.
 * @type {import("sconce").PlanMemory}
 */
export function largestFirst({ alignment, items }) {
  const offsets = new Array(items.length);
  const placed = [];
  const order = [...items.keys()].sort((a, b) => items[b].bytes - items[a].bytes);
  for (const i of order) {
    const item = items[i];
    // Those in use at the same time, from the lowest up.
    const others = placed
      .filter((j) => items[j].first <= item.last && item.first <= items[j].last)
      .sort((a, b) => offsets[a] - offsets[b]);
    let offset = 0;
    for (const j of others) {
      if (offset + item.bytes <= offsets[j]) break;
      const end = Math.ceil((offsets[j] + items[j].bytes) / alignment) * alignment;
      offset = Math.max(offset, end);
    }
    offsets[i] = offset;
    placed.push(i);
  }
  return offsets;
}
