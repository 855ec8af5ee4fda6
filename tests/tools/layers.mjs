// Who may include whom in src/ and wasm/: the table below is the architecture. What fails:
// - an #include that no row allows, of ours or of the C library;
// - a row, or an entry of one, that names nothing, and rows that form a circle;
// - a row through which the two halves meet, the compiler and the runtime;
// - a header, table or template that nothing includes;
// - files whose functions call each other in a circle, except for those listed;
// - code outside src/ops that asks which operator one is, more often than listed.
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { listFiles, readText, reporter, root } from "./tree.mjs";

// A row is a folder of src/ at any depth, or one file without its suffix ("rt/bind"); the longest
// that fits a file is its row. It lists what the files may include besides their own row's folder: a
// folder or a header of src/ ("rt/backend.h"); "*_fbs.h" is the code generated from schema/.
const below = {
  base: [],
  format: ["base"],
  core: ["base"],
  ops: ["core", "base"],
  ir: ["ops", "core", "base"],
  import: ["ir", "format", "ops", "core", "base"],
  trace: ["ir", "ops", "core", "base"],
  passes: ["trace", "ir", "ops", "core", "base"],
  plan: ["ir", "ops", "core", "base"],
  emit: ["plan", "format", "ir", "ops", "core", "base", "*_fbs.h"],
  compute: ["core", "base"],
  kernels: ["compute", "ops", "core", "base"],
  rt: ["kernels", "format", "ops", "core", "base", "*_fbs.h"],
  api: [
    "sconce.h",
    "import",
    "passes",
    "plan",
    "emit",
    "rt",
    "kernels",
    "ir",
    "format",
    "ops",
    "core",
    "base",
    "*_fbs.h",
  ],
  "sconce.h": ["base"],
};
// No row of one may reach a row of the other, through whatever lies between them; only api sees both.
const halves = {
  compiler: ["import", "ir", "trace", "passes", "plan", "emit"],
  runtime: ["compute", "kernels", "rt"],
};
// The C library, as far as a freestanding neighbourhood has it, and what compilers bring.
const system =
  /^(float|inttypes|limits|math|stdarg|stdbool|stddef|stdint|stdio|stdlib|string|wasm_simd128|sanitizer\/asan_interface)\.h$/;
// Files that call each other in a circle because what they read or walk is recursive.
const circles = [
  ["src/core/expr.c", "src/core/expr_range.c"],
  ["src/format/pickle.c", "src/format/pickle_call.c"],
  ["src/import/pt2_arg.c", "src/import/pt2_graph.c", "src/import/pt2_node.c"],
  ["src/ir/parse.c", "src/ir/parse_arg.c"],
  ["src/rt/elide.c", "src/rt/fold.c", "src/rt/fuse.c", "src/rt/optimize.c"],
];
// What stands on src/ from outside sees the public header and the vocabulary it is written in.
const outside = { wasm: ["sconce.h", "core", "base", "imports.def"] };

// Where code outside src/ops still asks which operator one is, and how often. What is true of an
// operator belongs in its row, as a trait or a column; these numbers only go down.
const operatorNames = {
  "src/emit/emit_control.c": 5,
  "src/emit/emit_instructions.c": 1,
  "src/passes/dim_order.c": 6,
  "src/passes/empty_cats.c": 1,
  "src/passes/numbers.c": 1,
  "src/passes/promote.c": 2,
  "src/passes/sym_prims.c": 28,
  "src/plan/storage.c": 4,
  "src/rt/elide.c": 2,
  "src/rt/fuse.c": 8,
  "src/trace/alias.c": 21,
  "src/trace/decompose.c": 2,
  "src/trace/record.c": 5,
};
const operatorName = /(?<!sc_op_get\()\bSC_OP_(?!FOREIGN\b|COUNT\b|##)\w+/g;

const { error, finish } = reporter("layers");

function matches(include, allowed) {
  if (allowed === "*_fbs.h") return /^[a-z_]+_fbs\.h$/.test(include);
  return include === allowed || include.startsWith(`${allowed}/`);
}

// The row of a file of src/: the longest that is its path, without the suffix, or a folder above it.
function rowOf(name) {
  const path = name.replace(/^src\//, "");
  const fits = Object.keys(below).filter((row) =>
    [`${row}/`, `${row}.`].some((start) => path === row || path.startsWith(start)),
  );
  return fits.sort((a, b) => b.length - a.length)[0];
}

// What a file may include, or undefined when the table does not know it.
function allowedFor(name) {
  if (name.startsWith("wasm/")) return outside.wasm;
  const row = rowOf(name);
  if (row === undefined) return undefined;
  const folder = existsSync(join(root, "src", row)) ? row : dirname(row);
  return row.endsWith(".h") ? below[row] : [...below[row], folder];
}

const allows = (include, allowed) => allowed.some((entry) => matches(include, entry));

const files = listFiles().filter((name) => /^(src|wasm)\/.*\.(c|h|inc|def)$/.test(name));
const included = new Set();
for (const name of files) {
  const allowed = allowedFor(name);
  if (!allowed) {
    error(name, 1, "this folder is not in the table of tests/tools/layers.mjs");
    continue;
  }
  readText(name)
    .split("\n")
    .forEach((line, index) => {
      const library = /^\s*#\s*include\s*<([^>]+)>/.exec(line);
      if (library && !system.test(library[1]))
        error(name, index + 1, `<${library[1]}> is not part of the C library`);
      const match = /^\s*#\s*(?:include|define TEMPLATE)\s*"([^"]+)"/.exec(line);
      if (!match) return;
      const include = match[1];
      included.add(include);
      if (!allows(include, allowed)) error(name, index + 1, `may not include ${include}`);
      const isGenerated = /_fbs\.h$/.test(include);
      const exists = [join(root, "src", include), join(root, "wasm", include)].some(existsSync);
      if (!isGenerated && !exists) error(name, index + 1, `${include} is not a path below src/`);
    });
}

// Rows whose files the files of a row may include, and those that these may include, and so on.
function reach(row, seen = new Set()) {
  for (const entry of below[row] ?? []) {
    const next = below[entry] ? entry : rowOf(`src/${entry}`);
    if (next === undefined || next === row || seen.has(next)) continue;
    seen.add(next);
    reach(next, seen);
  }
  return seen;
}
for (const row of Object.keys(below)) {
  if (reach(row).has(row)) error("tests/tools/layers.mjs", 1, `the row of ${row} is in a circle`);
}
for (const [half, other] of [
  [halves.compiler, halves.runtime],
  [halves.runtime, halves.compiler],
]) {
  for (const row of half) {
    for (const met of [...reach(row)].filter((name) => other.includes(name)))
      error("tests/tools/layers.mjs", 1, `${row} reaches ${met}, of the other half`);
  }
}

// Rows and their entries name folders or files that exist.
for (const [row, allowed] of Object.entries({ ...below, ...outside })) {
  for (const entry of [row, ...allowed]) {
    const places = [join("src", entry), join("src", `${entry}.c`), join("wasm", entry), entry];
    if (entry === "*_fbs.h" || places.some((place) => existsSync(join(root, place)))) continue;
    error("tests/tools/layers.mjs", 1, `the row of ${row} names ${entry}, which does not exist`);
  }
}

// A header, table or template that nothing includes is dead.
const users = listFiles().filter((name) => /^tests\/.*\.(c|h|inc)$/.test(name));
for (const name of users) {
  for (const [, include] of readText(name).matchAll(/^\s*#\s*include\s*"([^"]+)"/gm)) {
    included.add(include);
  }
}
for (const name of files.filter((name) => !name.endsWith(".c"))) {
  const include = name.replace(/^(src|wasm)\//, "");
  if (!included.has(include)) error(name, 1, "nothing includes this file");
}

// Which file defines a function, and which files name it: tables name theirs by macros, which is how
// they may stand above what they list.
const sources = files.filter((name) => /^src\/.*\.c$/.test(name));
const codeOf = new Map(sources.map((name) => [name, readText(name).replace(/\/\/.*/g, "")]));
const definedIn = new Map();
for (const [name, text] of codeOf) {
  const definition = /^(?!static|typedef|extern)[a-z][\w *]*?\b(sc_\w+)\([^;{]*\)\s*\{/gm;
  for (const [, word] of text.matchAll(definition)) definedIn.set(word, name);
}
const calls = new Map();
for (const [name, text] of codeOf) {
  const words = new Set(text.match(/\bsc_\w+/g));
  const targets = [...words].map((word) => definedIn.get(word)).filter((to) => to && to !== name);
  calls.set(name, new Set(targets));
}
function reachedFrom(name) {
  const seen = new Set();
  const open = [name];
  while (open.length) {
    for (const next of calls.get(open.pop())) {
      if (seen.has(next)) continue;
      seen.add(next);
      open.push(next);
    }
  }
  return seen;
}
const reached = new Map(sources.map((name) => [name, reachedFrom(name)]));
const circleOf = (name) =>
  sources.filter((other) => reached.get(name).has(other) && reached.get(other).has(name));
const known = circles.map((circle) => circle.join(" "));
const found = new Set(sources.map((name) => circleOf(name).join(" ")).filter(Boolean));
for (const circle of found) {
  if (known.includes(circle)) continue;
  error(circle.split(" ")[0], 1, `these files call each other in a circle: ${circle}`);
}
for (const circle of known.filter((circle) => !found.has(circle)))
  error("tests/tools/layers.mjs", 1, `these files no longer form a circle: ${circle}`);

for (const name of new Set([...files, ...Object.keys(operatorNames)])) {
  if (name.startsWith("src/ops/")) continue;
  const text = files.includes(name) ? readText(name) : "";
  const found = [...text.matchAll(operatorName)].length;
  const listed = operatorNames[name] ?? 0;
  if (found > listed) {
    error(
      name,
      1,
      `names operators ${found} times, not ${listed}: say it in src/ops/*.def instead`,
    );
  } else if (found < listed) {
    error(name, 1, `names operators only ${found} times: lower the ${listed} in layers.mjs`);
  }
}

finish(`${files.length} files`);
