// The prefix of a header's functions, such as sc_xa_, is explained at its head, before the include
// guard: "Prefix: sc_xa_ (XNNPACK, ahead of time)." Which headers do not explain theirs?

const checked = /^src\/.*\.h$/;
// A header may borrow a name or two from another subject; from this many on it is a prefix.
const family_min = 3;

// A declaration, or the first line of an inline function, begins at the left edge.
const declared = /^(?!typedef\b)[a-z][\w *]*?\b(sc_[a-z0-9]+_)\w+\(/gm;
// Functions of one name for several types share no prefix, but a name: sc_erf_f32, sc_j0_f64.
const typed = /_[a-z]\d+\($/;

// Prefixes that a header's functions share and its head does not mention.
export function unexplained(text) {
  const guard = text.indexOf("#ifndef");
  const head = text.slice(0, Math.max(guard, 0));
  const counts = new Map();
  for (const [line, prefix] of text.matchAll(declared))
    if (!typed.test(line)) counts.set(prefix, (counts.get(prefix) ?? 0) + 1);
  return [...counts]
    .filter(([prefix, n]) => n >= family_min && !head.includes(prefix))
    .map(([p]) => p);
}

export function checkPrefixes(files, readText, { error }) {
  for (const name of files) {
    if (!checked.test(name)) continue;
    for (const prefix of unexplained(readText(name)))
      error(name, 1, `its head does not explain the prefix ${prefix}: "Prefix: ${prefix}, ..."`);
  }
}
