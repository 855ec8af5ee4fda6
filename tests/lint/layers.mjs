// The table below is the architecture of src/ and wasm/: who may know whom. These fail:
// - an #include that no row allows, of ours or of the C library, or that hides its file in a macro;
// - an #include, by another folder, of a header that says "Private to <folder>" (tests may);
// - a function or an object of a file that the row does not allow, whoever declared it: what is named
//   counts, so a table whose rows a .def names, and a call through a pointer, stay free;
// - a function or an object of src/ that is neither static nor called sc_...;
// - a row, or an entry of one, that names nothing, and rows that form a circle;
// - a row through which the two halves meet, the compiler and the runtime, in any folder but api;
// - files whose functions call each other in a circle, except for those listed;
// - what only some files may say (`rationed`), said elsewhere, more often or less often than listed:
//   which operator one is, by id or by name, and `extern`.
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { halves } from "./layers_halves.mjs";
import { codeOf as stripped, listFiles, readText, reporter, root } from "./tree.mjs";

// All that the interface stands on.
const belowApi = [
  "sconce.h",
  "devtools/etrecord",
  "devtools/inspect",
  "backend",
  "backends/backends.def",
  "backends/host",
  "devtools/bundled",
  "devtools/etdump",
  "quant",
  "observe",
  "pt2",
  "trace/coverage",
  "passes",
  "plan",
  "emit",
  "rt/rt.h",
  "rt/event.h",
  "rt/backend.h",
  "kernels",
  "ir",
  "format",
  "ops",
  "core",
  "base",
  "*_fbs.h",
];
// A row is a folder of src/ at any depth, or one file without its suffix ("rt/bind"); the longest
// that fits a file is its row. It lists what the files may include besides their own folder (a file
// whose folder has no row: besides itself): a folder, a file or a header of src/ ("rt/backend.h");
// "*_fbs.h" is the code generated from schema/.
const below = {
  base: [],
  format: ["base"],
  core: ["base"],
  observe: ["core", "base"],
  ops: ["core", "base"],
  ir: ["ops", "core", "base"],
  pt2: ["ir", "format", "ops", "core", "base"],
  // The engine of the trace; the words that expansions say stand on it, and on these the wings, which
  // do not see each other. What the engine has above the wings is a row for each file.
  trace: ["ir", "ops", "core", "base"],
  "trace/words": ["trace/trace.h", "ir", "ops", "core", "base"],
  "trace/pytorch": ["trace/trace.h", "trace/expand.h", "trace/words", "ir", "ops", "core", "base"],
  "trace/official": ["trace/trace.h", "trace/text", "trace/words", "ir", "ops", "core", "base"],
  "trace/complex": ["trace/trace.h", "trace/expand.h", "trace/words", "ir", "ops", "core", "base"],
  "trace/functorch": [
    "trace/trace.h",
    "trace/expand.h",
    "trace/text",
    "trace/words",
    "ir",
    "ops",
    "core",
    "base",
  ],
  "trace/autocast": ["trace/trace.h", "trace/words", "ir", "ops", "core", "base"],
  "trace/text": ["trace/trace.h", "trace/words", "ir", "ops", "core", "base"],
  "trace/dispatch": [
    "trace/complex/complex.h",
    "trace/functorch/functorch.h",
    "trace/words",
    "ir",
    "ops",
    "core",
    "base",
  ],
  "trace/decompose": ["trace/functorch/functorch.h", "ir", "ops", "core", "base"],
  "trace/coverage": [
    "trace/official/limits.h",
    "trace/official/limits.def",
    "trace/official/official.def",
    "trace/functorch/functorch.h",
    "ir",
    "ops",
    "core",
    "base",
  ],
  passes: ["trace", "trace/official", "trace/words", "ir", "ops", "core", "base"],
  plan: ["ir", "ops", "core", "base"],
  emit: ["plan", "format", "ir", "ops", "core", "base", "*_fbs.h"],
  quant: ["observe", "passes", "ir", "ops", "core", "base"],
  backend: ["passes", "ir", "ops", "core", "base"],
  "backend/node_json": ["format", "ir", "ops", "core", "base"],
  compute: ["core", "base"],
  "backends/xnnpack": ["format", "core", "base", "*_fbs.h"],
  "backends/xnnpack/aot": ["backends/xnnpack", "backend", "ir", "ops", "core", "base"],
  "backends/xnnpack/run": [
    "backends/xnnpack",
    "rt/backend.h",
    "kernels",
    "compute",
    "ops",
    "core",
    "base",
  ],
  kernels: ["compute", "observe", "ops", "core", "base"],
  rt: ["kernels", "format", "ops", "core", "base", "*_fbs.h"],
  "rt/run": ["rt", "kernels", "ops", "core", "base", "*_fbs.h"],
  "rt/rewrite/uses": ["rt", "kernels", "ops", "core", "base", "*_fbs.h"],
  "rt/rewrite/rewrites.def": [],
  "rt/rewrite/rewrites.h": ["rt/rewrite/rewrites.def", "rt/rewrite/uses"],
  "rt/rewrite/recognise": [
    "rt/rewrite/rewrites.h",
    "rt/rewrite/uses",
    "rt/run",
    "rt",
    "kernels",
    "ops",
    "core",
    "base",
    "*_fbs.h",
  ],
  "rt/rewrite": [
    "rt/rewrite/rewrites.h",
    "rt/rewrite/rewrites.def",
    "rt/run",
    "rt",
    "kernels",
    "ops",
    "core",
    "base",
    "*_fbs.h",
  ],
  "rt/load": [
    "rt/rewrite/optimize.h",
    "rt/run",
    "rt",
    "kernels",
    "format",
    "ops",
    "core",
    "base",
    "*_fbs.h",
  ],
  "rt/look": ["rt/load", "rt/run", "rt", "kernels", "format", "ops", "core", "base", "*_fbs.h"],
  "devtools/bundled": ["format", "core", "base", "*_fbs.h"],
  "devtools/etdump": ["rt/rt.h", "rt/event.h", "kernels", "format", "core", "base", "*_fbs.h"],
  "backends/backends.def": [],
  "backends/null/null.h": ["base"],
  "backends/null/aot": ["backends/null/null.h", "backend", "ir", "ops", "core", "base"],
  "backends/host/ask.def": [],
  "backends/host/host": ["backends/host/ask.def", "base"],
  "backends/host/answer": ["backends/host/host", "format", "base"],
  "backends/host/aot": [
    "backends/host/host",
    "backends/host/answer",
    "backend",
    "ir",
    "format",
    "ops",
    "core",
    "base",
  ],
  "backends/host/run": [
    "backends/host/host",
    "backends/host/answer",
    "rt/backend.h",
    "rt/rt.h",
    "kernels",
    "format",
    "ops",
    "core",
    "base",
  ],
  "backends/null/run": [
    "backends/null/null.h",
    "rt/backend.h",
    "rt/rt.h",
    "kernels",
    "ops",
    "core",
    "base",
  ],
  "devtools/inspect": ["format", "core", "base", "*_fbs.h"],
  "devtools/etrecord": ["pt2", "emit", "format", "ir", "ops", "core", "base"],
  api: belowApi,
  "api/record": ["api", ...belowApi],
  "api/compile": ["api/record", "api", ...belowApi],
  "api/run": ["api/compile", "api", ...belowApi],
  "api/quantize": ["api/compile", "api", ...belowApi],
  "api/bundle": ["api/run", "api/record", "api", ...belowApi],
  "api/inspect": ["api/run", "api/compile", "api/record", "api", ...belowApi],
  "sconce.h": ["backends/host/host", "base"],
};
// No row but those of `meeting` may reach both, its own folder included, through whatever lies between.
// A file that includes the public header reaches what it declares.
const meeting = "api";
const publicHeader = "sconce.h";
// The C library, as far as a freestanding neighbourhood has it, and what compilers bring.
const system =
  /^(float|inttypes|limits|math|stdarg|stdbool|stddef|stdint|stdio|stdlib|string|wasm_simd128|sanitizer\/asan_interface)\.h$/;
// Files that call each other in a circle, because the text that they read or write is recursive.
const circles = [
  ["src/core/expr.c", "src/core/expr_range.c"],
  ["src/format/pickle.c", "src/format/pickle_call.c"],
  [
    "src/pt2/pt2_arg.c",
    "src/pt2/pt2_graph.c",
    "src/pt2/pt2_model.c",
    "src/pt2/pt2_node.c",
    "src/pt2/pt2_part.c",
    "src/pt2/pt2_signature.c",
  ],
  [
    "src/pt2/serde_write.c",
    "src/pt2/serde_write_arg.c",
    "src/pt2/serde_write_graph.c",
    "src/pt2/serde_write_node.c",
    "src/pt2/serde_write_part.c",
  ],
  ["src/ir/parse.c", "src/ir/parse_arg.c"],
];
// Code that stands on src/ from outside sees the public header and the vocabulary it is written in.
const outside = { wasm: ["sconce.h", "core", "base", "exports.h", "imports.def"] };

// Names of operators are read through `op`, or through whatever else is declared as an sc_op here.
function namesOfOperators(code) {
  const ops = ["op", ...[...code.matchAll(/\bsc_op \*(?:const )?(\w+)/g)].map(([, word]) => word)];
  const op = `\\b(?:${ops.join("|")})(?:\\[\\w+\\])?(?:->(?:functional|copy|view))?(?:->|\\.)`;
  const passed = "[(,]\\s*[\\w.>-]*\\bout_name\\s*[,)]";
  return new RegExp(`(?:${op}|\\bschema->)name\\b(?!\\s*=[^=])|${passed}`, "g");
}
// Text that only these may hold, and how often. Comments do not count, and src/ops is free to say
// all of it: what is true of an operator belongs in its row there, as a trait or a column.
const rationed = [
  {
    // Places that still ask which operator one is: these numbers go down. Those of files that make
    // calls, or find the calls that an expansion made (rt/recognise*), are what they make and find.
    what: "names operators",
    advice: "say it in src/ops/*.def instead",
    pattern: /\bSC_OP_(?!FOREIGN\b|COUNT\b)\w+/g,
    // The operator of a call that is made here, and nothing else.
    except:
      /\b(?:sc_build|sc_emit_call|sc_emit_scaffold|sc_trace_record|sc_trace_call)\((?:[\w>.\s-]+,\s*)*sc_op_get\(SC_OP_\w+\),/g,
    files: {
      "src/backend/cut.c": 1, // the call that it makes
      "src/backends/xnnpack/run/calls.c": 2, // the calls that it makes
      "src/emit/emit_control.c": 5,
      "src/emit/emit_instructions.c": 1,
      "src/passes/dim_order.c": 6,
      "src/passes/empty_cats.c": 1,
      "src/passes/layouts.c": 1,
      "src/passes/numbers.c": 1,
      "src/ir/match.c": 3, // what stacks tensors
      "src/passes/pairs.c": 3, // what trace/complex puts together
      "src/passes/promote.c": 2,
      "src/passes/sym_prims.c": 50, // the calls that it makes
      "src/plan/storage.c": 4,
      "src/quant/convert.c": 7, // the calls that it makes
      "src/quant/weight_nodes.c": 6, // the calls that it makes
      "src/rt/rewrite/elide.c": 2,
      "src/rt/rewrite/fuse.c": 8,
      "src/rt/rewrite/recognise/forms.c": 8, // what expansions come to, here and below
      "src/rt/rewrite/recognise/walk.c": 1,
      "src/rt/rewrite/recognise/fft.c": 15,
      "src/rt/rewrite/recognise/grouped.c": 14,
      "src/rt/rewrite/recognise/gcd.c": 3,
      "src/rt/rewrite/recognise/norm.c": 3,
      "src/trace/official/bits.c": 2, // the formulas that it writes out
      "src/trace/official/loop.c": 3,
      "src/rt/rewrite/recognise/scan.c": 5,
      "src/rt/rewrite/recognise/scatter.c": 22,
      "src/trace/alias.c": 24,
      "src/pt2/pt2_complex.c": 11, // whose numbers scale, or fill, a tensor
      "src/trace/complex/parts.c": 5, // what it puts together itself
      "src/trace/complex/views.c": 2, // views that show other numbers
      "src/trace/decompose.c": 2,
      "src/trace/official/fft.c": 4, // what complex numbers are made by, and who takes them apart
      "src/trace/pytorch/shape.c": 1, // the call whose results say how many they are
      "src/trace/functorch/book.c": 11, // the calls that keep book, which are its subject
      "src/trace/functorch/functorch.c": 2, // the same
      "src/trace/functorch/levels_jvp.c": 5, // the same
      "src/trace/functorch/levels_vmap.c": 5, // the same
      "src/trace/record.c": 5,
    },
  },
  {
    what: "puts an operator's id together",
    advice: "an id is written out where it is asked for",
    pattern: /\bSC_(?:OP_?)?\s*##/g,
    files: {
      "src/backends/xnnpack/aot/look.c": 1, // a column of configs.def
      "src/kernels/kernel_table.c": 1, // a column of ops.def
      "src/quant/roles.c": 1, // a column of roles.def
      "src/rt/run/prim.c": 1, // a column of ops.def
      "src/trace/complex/complex.c": 4, // columns of complex.def
      "src/trace/complex/parts.c": 1, // a column of refused.def
      "src/trace/coverage.c": 4, // columns of leaves.def, limits.def and official.def
      "src/trace/expand.c": 1, // a column of ops.def
      "src/trace/functorch/jvp.c": 2, // columns of jvp.def
      "src/trace/functorch/vmap.c": 1, // a column of vmap.def
      "src/trace/official/official.c": 3, // columns of official.def
      "src/trace/trace.h": 1, // CALL, which makes calls and compares nothing
    },
  },
  {
    what: "looks operators up by name",
    advice: "only what reads names from outside does",
    pattern: /\bsc_op_find(?:_out)?\b/g,
    files: {
      "src/pt2/pt2_node.c": 1, // names of a .pt2
      "src/ir/parse.c": 1, // of a graph as text
      "src/api/report.c": 1, // of PyTorch's list
      "src/rt/load/bind.c": 1, // of a .pte
      "src/rt/look/info.c": 1, // of a .pte
      "src/rt/look/memory_uses.c": 1, // of a .pte
    },
  },
  {
    what: "has an operator's name in a string",
    advice: "say it in src/ops/*.def instead",
    pattern: /"(?:[^"\\\n]|\\.)*::(?:[^"\\\n]|\\.)*"/g,
    files: {
      "src/devtools/etdump/write.c": 3, // of scopes
      "src/pt2/pt2_node.c": 5, // from Python's names to the table's; parameters of "sym::"
      "src/devtools/inspect/merge.c": 4, // no operators: scopes of a runtime
    },
  },
  {
    // A message is what follows a format with "%s". Those listed only show, keep or compare names.
    what: "reads operators' names outside messages",
    advice: "say it in src/ops/*.def instead",
    pattern: namesOfOperators,
    except: /"[^"\n]*%s[^;{}]*/g,
    files: {
      "src/api/inspect/delegation.c": 1, // shown
      "src/api/inspect/inspect.c": 1, // shown
      "src/api/inspect/inspect_pte.c": 2, // shown
      "src/api/inspect/record.c": 1, // shown, and compared with the names of kernels
      "src/api/inspect/stages.c": 1, // counted
      "src/api/report.c": 1, // shown
      "src/api/quantize/report.c": 1, // shown
      "src/backend/node_json.c": 1, // shown
      "src/emit/emit_instructions.c": 1, // written
      "src/pt2/pt2_node.c": 4, // foreign operators; parameters of "sym::"
      "src/pt2/serde_write_name.c": 1, // written
      "src/pt2/serde_write_node.c": 6, // written
      "src/ir/compare.c": 2, // with each other
      "src/ir/graph.c": 2, // names for values; where an error happened
      "src/ir/parse.c": 2, // foreign operators
      "src/ir/print.c": 1, // shown
      "src/quant/skip.c": 1, // compared with what the user wrote
      "src/rt/load/bind.c": 1, // where an error happened
    },
  },
  {
    what: "declares by hand",
    advice: "include the header that declares it",
    pattern: /\bextern\b/g,
    only: /\.(c|inc|def)$/,
    files: {
      "src/api/backends.c": 2, // columns of backends.def
      "src/compute/variants.c": 1, // a column of variants.def
      "src/kernels/kernel_table.c": 2, // a column of ops.def
    },
  },
];

const { error, finish } = reporter("layers");

const isWithin = (row, place) => row === place || row.startsWith(`${place}/`);

// A folder's row is not that of folders below it with rows of their own.
function matches(include, allowed) {
  if (allowed === "*_fbs.h") return /^[a-z_]+_fbs\.h$/.test(include);
  const row = rowOf(include);
  const folder = (row && folderRowOf(row)) ?? row;
  if (below[allowed] && folder !== allowed && folders.has(folder) && isWithin(folder, allowed))
    return false;
  return include === allowed || [`${allowed}/`, `${allowed}.`].some((s) => include.startsWith(s));
}

// The row of a file of src/: the longest that is its path, without the suffix, or a folder above it.
const rows = Object.keys(below).sort((a, b) => b.length - a.length);
const folders = new Set(rows.filter((row) => existsSync(join(root, "src", row))));
function rowOf(name) {
  const path = name.replace(/^src\//, "");
  return rows.find((row) => path === row || [`${row}/`, `${row}.`].some((s) => path.startsWith(s)));
}
// The row of the folder around the file that has one of its own.
function folderRowOf(row) {
  return folders.has(row) ? undefined : rows.find((other) => row.startsWith(`${other}/`));
}

// The files that a file may include, or undefined when the table does not know it.
function allowedFor(name) {
  if (name.startsWith("wasm/")) return outside.wasm;
  const row = rowOf(name);
  if (row === undefined || row.endsWith(".h")) return below[row];
  return [...below[row], folderRowOf(row) ? dirname(row) : row];
}

const allows = (include, allowed) => allowed.some((entry) => matches(include, entry));

const all = listFiles();
const files = all.filter((name) => /^(src|wasm)\/.*\.(c|h|inc|def)$/.test(name));
// Texts without their comments, line for line.
const codeOf = new Map(files.map((name) => [name, stripped(readText(name))]));
const lineOf = (name, index) => codeOf.get(name).slice(0, index).split("\n").length;

// The folder that a header keeps to itself, by its own first words.
const scopeOf = new Map();
for (const name of files.filter((name) => name.endsWith(".h"))) {
  const scope = /\bPrivate to (\w[\w/]*\w)/.exec(readText(name))?.[1];
  if (!scope) continue;
  if (!name.startsWith(`${scope}/`))
    error(name, 1, `says it is private to ${scope}, but is not in it`);
  scopeOf.set(name.replace(/^(src|wasm)\//, ""), scope);
}

const included = new Set();
const directive = /^[ \t]*(?:#|%:)\s*(include\w*|import|define\s+TEMPLATE)\b(.*)/gm;
for (const name of files) {
  const allowed = allowedFor(name);
  if (!allowed) {
    error(name, 1, "this folder is not in the table of tests/lint/layers.mjs");
    continue;
  }
  for (const { 1: verb, 2: rest, index } of codeOf.get(name).matchAll(directive)) {
    const complain = (text) => error(name, lineOf(name, index), text);
    const [, include, library] = /^\s*(?:"([^"]+)"|<([^>]+)>)\s*$/.exec(rest) ?? [];
    if (library) {
      if (!system.test(library)) complain(`<${library}> is not part of the C library`);
    } else if (!include) {
      const isTemplate = verb === "include" && rest.trim() === "TEMPLATE";
      if (!isTemplate) complain(`#${verb}${rest} does not say which file`);
    } else {
      included.add(include);
      if (!allows(include, allowed)) complain(`may not include ${include}`);
      const scope = scopeOf.get(include);
      if (scope && !name.startsWith(`${scope}/`)) complain(`${include} is private to ${scope}`);
      const isGenerated = /_fbs\.h$/.test(include);
      const exists = [join(root, "src", include), join(root, "wasm", include)].some(existsSync);
      if (!isGenerated && !exists) complain(`${include} is not a path below src/`);
    }
  }
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
  if (reach(row).has(row)) error("tests/lint/layers.mjs", 1, `the row of ${row} is in a circle`);
}

// All that a row lets its files know in the end: also by the row of its folder, and by the rows of
// files within what it lists.
function reachOfHalves(row, seen = new Set()) {
  if (seen.has(row)) return seen;
  seen.add(row);
  for (const entry of [row, folderRowOf(row) ?? row, ...below[row]]) {
    const place = entry === publicHeader ? meeting : entry;
    const inside = below[place] ? [] : rows.filter((other) => other.startsWith(`${place}/`));
    for (const next of [rowOf(place), ...inside]) if (next !== undefined) reachOfHalves(next, seen);
  }
  return seen;
}
for (const row of rows.filter((row) => row !== publicHeader && !isWithin(row, meeting))) {
  const reached = [...reachOfHalves(row)];
  const met = Object.entries(halves).map(([half, members]) => [
    half,
    reached.filter((other) => members.some((member) => isWithin(other, member))).join(", "),
  ]);
  if (met.every(([, names]) => names))
    error(
      "tests/lint/layers.mjs",
      1,
      `the row of ${row} reaches both halves: ${met.map((half) => half.join(": ")).join("; ")}`,
    );
}

for (const member of Object.values(halves).flat())
  if (!below[member]) error("tests/lint/layers_halves.mjs", 1, `${member} has no row`);

// Rows and their entries name folders or files that exist.
for (const [row, allowed] of Object.entries({ ...below, ...outside })) {
  for (const entry of [row, ...allowed]) {
    const places = [join("src", entry), join("src", `${entry}.c`), join("wasm", entry), entry];
    if (entry.startsWith("*") || places.some((place) => existsSync(join(root, place)))) continue;
    error("tests/lint/layers.mjs", 1, `the row of ${row} names ${entry}, which does not exist`);
  }
}

// A header, table or template that nothing includes is dead.
const users = all.filter((name) => /^tests\/.*\.(c|h|inc)$/.test(name));
for (const name of users) {
  for (const [, include] of readText(name).matchAll(/^\s*#\s*include\s*"([^"]+)"/gm)) {
    included.add(include);
  }
}
for (const name of files.filter((name) => !name.endsWith(".c"))) {
  const include = name.replace(/^(src|wasm)\//, "");
  if (!included.has(include)) error(name, 1, "nothing includes this file");
}

// Which file defines a function or an object, and which files name it: tables name theirs by macros,
// which is how they may stand above what they list.
const sources = files.filter((name) => name.endsWith(".c"));
const functionIn = new Map();
const objectIn = new Map();
const definition =
  /^(?!static|typedef|extern)[a-z][\w *]*?\b(sc_\w+)(?:\([^;{]*\)\s*(\{)|[\w[\]]*\s*=)/gm;
const made = { SC_KERNEL: "sc_k_", SC_ALGORITHM: "sc_algorithm_" };
const making = new RegExp(`^(${Object.keys(made).join("|")})\\((\\w+)`, "gm");
for (const name of sources) {
  for (const [, word, body] of codeOf.get(name).matchAll(definition))
    (body ? functionIn : objectIn).set(word, name);
  for (const [, macro, word] of codeOf.get(name).matchAll(making))
    objectIn.set(made[macro] + word, name);
}
// Others are found by their prefix, so whatever a linker sees has it.
const external =
  /^(?!static\b|typedef\b|extern\b|return\b|else\b)[a-z][\w *]*?\b(\w+)(?:\([^;{]*\)\s*\{|(?:\[\w*\])*\s*(?:=[^=]|;))/gm;
for (const name of sources.filter((name) => name.startsWith("src/")))
  for (const { 1: word, index } of codeOf.get(name).matchAll(external))
    if (!word.startsWith("sc_"))
      error(name, lineOf(name, index), `${word} is neither static nor called sc_...`);
// A header that a row names by itself brings what it declares, wherever that is defined; and it may
// declare what the rooms below its folder define.
const declares = (header, word) =>
  header.endsWith(".h") &&
  codeOf
    .get(`src/${header}`)
    ?.match(/\bsc_\w+/g)
    ?.includes(word);
const calls = new Map();
for (const name of files) {
  const allowed = [
    ...(allowedFor(name) ?? []),
    ...(name === `src/${publicHeader}` ? rows.filter((row) => isWithin(row, meeting)) : []),
  ];
  const words = [...new Set(codeOf.get(name).match(/\bsc_\w+/g))];
  for (const word of words) {
    const home = functionIn.get(word) ?? objectIn.get(word);
    if (!home || home === name || allows(home.replace(/^(src|wasm)\//, ""), allowed)) continue;
    if (allowed.some((entry) => declares(entry, word))) continue;
    if (name.endsWith(".h") && home.startsWith(`${dirname(name)}/`)) continue;
    const line = lineOf(name, codeOf.get(name).search(new RegExp(`\\b${word}\\b`)));
    error(name, line, `may not use ${word} of ${home}`);
  }
  const targets = words.map((word) => functionIn.get(word)).filter((to) => to && to !== name);
  if (sources.includes(name)) calls.set(name, new Set(targets));
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
  error("tests/lint/layers.mjs", 1, `these files no longer form a circle: ${circle}`);

for (const { what, advice, pattern, except, only, files: listed } of rationed) {
  const asked = files.filter((name) => !name.startsWith("src/ops/") && (only?.test(name) ?? true));
  for (const name of new Set([...asked, ...Object.keys(listed)])) {
    const code = codeOf.get(name) ?? "";
    const sought = typeof pattern === "function" ? pattern(code) : pattern;
    const found = [...(except ? code.replace(except, ";") : code).matchAll(sought)].length;
    const most = listed[name] ?? 0;
    if (found > most) error(name, 1, `${what} ${found} times, not ${most}: ${advice}`);
    if (found < most)
      error(name, 1, `${what} only ${found} times: lower the ${most} in layers.mjs`);
  }
}

finish(`${files.length} files`);
