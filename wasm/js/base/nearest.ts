// Suggestions for misspelt names: of options, flags, commands, methods, recipes.

/** Longer names are not compared: the time grows with the product of the lengths. */
const LENGTH_MAX = 60;

/** Insertions, deletions and replacements between two words. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (let k = 1; k <= b.length; k++) {
      const replaced = row[k - 1]! + (letter === b[k - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[k]! + 1, next[k - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}

const comparable = (name: string): string => name.slice(0, LENGTH_MAX).toLowerCase();

/** The known name that is most like a misspelt one; undefined where none is much like it. */
function nearest(name: string, known: readonly string[]): string | undefined {
  const distances = known.map((one) => distance(comparable(name), comparable(one)));
  const least = Math.min(...distances);
  const best = known[distances.indexOf(least)];
  const isNear = least <= Math.max(2, name.length / 2) && least < Math.max(2, best?.length ?? 0);
  return isNear ? best : undefined;
}

/** "Did you mean 'name'?", or empty where no known name is like the misspelt one. */
export function didYouMean(
  name: string,
  known: readonly string[],
  spelt = (best: string): string => `'${best}'`,
): string {
  const best = nearest(name, known);
  return best === undefined ? "" : `Did you mean ${spelt(best)}?`;
}

/** A hint for a misspelt name: the most similar one first, then all that there are. */
export const oneOf = (name: string, known: readonly string[]): string =>
  `${didYouMean(name, known)} Use one of: ${known.join(", ")}.`.trimStart();
