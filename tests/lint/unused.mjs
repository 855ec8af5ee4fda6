// Functions of src/ that nobody uses, that only their own file uses and that could be static, or
// that only tests use. A name in a table's column (KERNEL(mm), INFER(same)) counts as used by the
// row.
import { rows } from "../../tools/operator/tables.mjs";
import { listFiles, readText, reporter } from "./tree.mjs";

// Used by tests alone, and meant to be: graphs to read, to compare and, as FlatBuffers, to print;
// cords, dimensions and pickles to look into; the host that a test assumes; work in small ranges.
const forTests = new Set([
  "sc_program_parse",
  "sc_graph_isomorphic",
  "sc_cord_flatten",
  "sc_dim_eval",
  "sc_pickle_get",
  "sc_dot_assume",
  "sc_parallel_split_all",
]);

const generated = "sc_fb_get_";

const { error, finish } = reporter("unused");
const texts = new Map();
const files = new Map(); // word -> files that hold it
for (const name of listFiles().filter((name) =>
  /^(src|wasm|tests|schema)\/.*\.(c|h|inc|def|mjs)$/.test(name),
)) {
  const text = readText(name).replace(/\/\/.*/g, "");
  texts.set(name, text);
  for (const word of new Set(text.match(/\w+/g))) {
    files.set(word, [...(files.get(word) ?? []), name]);
  }
}
const tables = [...texts].filter(([name]) => name.endsWith(".def")).map(([, text]) => text);
// The functions that the columns of a row name, such as sc_infer_mm of INFER(mm).
const named = new Set(rows.flatMap(({ names }) => [...names]));
const tableText = tables.join("\n");
const count = (name, word) => texts.get(name).match(new RegExp(`\\b${word}\\b`, "g"))?.length ?? 0;

let checked = 0;
function check(name, word, own) {
  checked++;
  if (named.has(word) || word.startsWith(generated)) return;
  // A header of src/ that only declares it does not use it.
  const users = files
    .get(word)
    .filter((user) => user !== name && !(/^src\/.*\.h$/.test(user) && count(user, word) === 1));
  if (users.some((user) => !user.startsWith("tests/")) || (own && count(name, word) > 1)) return;
  // A function that its own file uses may be tested by itself.
  if (users.length && (forTests.delete(word) || count(name, word) > 1)) return;
  if (users.length) error(name, 1, `only tests use ${word}`);
  else if (count(name, word) > 1) error(name, 1, `only this file uses ${word}: make it static`);
  else error(name, 1, `nothing uses ${word}`);
}

for (const [name, text] of texts) {
  if (!name.startsWith("src/")) continue;
  for (const [, word] of text.matchAll(/^static inline [^(]*?\b(sc_\w+)\(/gm))
    check(name, word, true);
  if (!name.endsWith(".c")) continue;
  for (const [, word] of text.matchAll(/^(?!static|typedef)[a-z][\w *]*?\b(sc_\w+)\(/gm))
    check(name, word, false);
  for (const [, kernel] of text.matchAll(/^SC_KERNEL\((\w+)/gm))
    if (!new RegExp(`\\bKERNEL\\(${kernel},`).test(tableText))
      error(name, 1, `no row names kernel ${kernel}`);
}
for (const word of forTests)
  error("tests/lint/unused.mjs", 1, `${word} is not for tests alone, take it out`);
finish(`${checked} functions`);
