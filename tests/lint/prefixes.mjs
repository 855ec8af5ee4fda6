// The prefix of a header's functions, such as sc_xa_, is explained at its head, before the include
// guard: "Prefix: sc_xa_ (XNNPACK, ahead of time)." Which headers do not explain theirs?

const checked = /^src\/.*\.h$/;
// A header may borrow a name or two from another subject; from this many on it is a prefix.
const family_min = 3;

// A declaration, or the first line of an inline function, begins at the left edge.
const declared = /^(?!typedef\b)[a-z][\w *]*?\b(sc_[a-z0-9]+_)\w+\(/gm;
// Functions of one name for several types share no prefix, but a name: sc_erf_f32, sc_j0_f64.
const typed = /_[a-z]\d+\($/;

// Names with an underscore are the prefixes themselves. Small words explain none of them.
const prefix = /\b(?:sc|v4f?)_\w*/gi;
const small = new Set(
  "a an and are by each for here in is its of one or that the them to".split(" "),
);
const stem = (word) => word.toLowerCase().replace(/s$/, "");

const headOf = (text) => text.slice(0, Math.max(text.indexOf("#ifndef"), 0));

// Prefixes that a header's functions share and its head does not mention.
export function unexplained(text) {
  const head = headOf(text);
  const counts = new Map();
  for (const [line, name] of text.matchAll(declared))
    if (!typed.test(line)) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].filter(([name, n]) => n >= family_min && !head.includes(name)).map(([p]) => p);
}

// Clauses of the prefix line that only say a prefix again: each word in them is a small one, or a
// part of the prefix. "Prefix: sc_job_, one job" is such a line; a verb or another noun explains.
export function repeated(text) {
  const line = /\bPrefix(?:es)?:([^]*?)(?:\n\/\/ *\n|$)/.exec(headOf(text))?.[1] ?? "";
  const clauses = line.replace(/\n\/\//g, " ").split(/[;.](?=\s|$)/);
  return clauses.filter((clause) => {
    const names = clause.match(prefix) ?? [];
    const parts = new Set(names.flatMap((name) => name.split("_")).map(stem));
    const words = clause.replace(prefix, " ").match(/[A-Za-z]\w*/g) ?? [];
    const isNew = (word) => !small.has(word.toLowerCase()) && !parts.has(stem(word));
    return names.length > 0 && !words.some(isNew);
  });
}

export function checkPrefixes(files, readText, { error }) {
  for (const name of files) {
    if (!checked.test(name)) continue;
    const text = readText(name);
    for (const found of unexplained(text))
      error(name, 1, `its head does not explain the prefix ${found}: "Prefix: ${found} reads ..."`);
    for (const clause of repeated(text))
      error(name, 1, `its head says a prefix again and does not explain it: "${clause.trim()}"`);
  }
}
