// The table below is the architecture of src/ and wasm/: who may know whom. These fail:
// - an #include that no row allows, of ours or of the C library, or that hides its file in a macro;
// - an #include, by another folder, of a header that says "Private to <folder>" (tests may);
// - a function or an object of a file that the row does not allow, in whatever file it is declared:
//   names count, so a table whose rows a .def names, and a call through a pointer, stay free;
// - a function or an object of src/ that is neither static nor called sc_...;
// - a row, or an entry of one, that names nothing, and rows that form a circle;
// - a row through which the two halves meet, the compiler and the runtime, in any folder but api;
// - files whose functions call each other in a circle, except for those listed;
// - what only some files may say (`rationed`), said elsewhere, more often or less often than listed:
//   which operator one is, by id or by name, and `extern`.
import { pathToFileURL } from "node:url";
import { halves } from "./layers_halves.mjs";
import { checkLayers } from "./layers_rules.mjs";
import { listFiles, readText, reporter } from "./tree.mjs";

// All that running programs stands on.
const belowRun = [
  "sconce.h",
  "backends/backends.def",
  "backends/host",
  "devtools/bundled",
  "devtools/etdump",
  "rt/rt.h",
  "rt/train.h",
  "rt/event.h",
  "rt/backend.h",
  "rt/look/look.h",
  "kernels",
  "format",
  "ops",
  "core",
  "base",
  "*_fbs.h",
];
// All that the interface stands on.
const belowApi = [
  ...belowRun,
  "devtools/etrecord",
  "devtools/inspect",
  "backend",
  "quant",
  "observe",
  "pt2",
  "trace/coverage",
  "trace/kept",
  "passes",
  "plan",
  "emit",
  "ir",
];
// Headers of a folder that declare for others what its rooms define, and which rooms.
const fronts = { "rt/rt.h": ["rt/load", "rt/run"], "rt/backend.h": ["rt/run"] };
// A row is a folder of src/ at any depth, or one file without its suffix ("rt/load/bind"); the longest
// that fits a file is its row. It lists what the files may include besides their own folder (a file
// whose folder has no row: besides itself): a folder, a file or a header of src/ ("rt/backend.h");
// "*_fbs.h" is the code generated from schema/, "*_kept.h" what wasm/kept_ops.mjs writes.
const below = {
  base: [],
  format: ["base"],
  core: ["base"],
  observe: ["core", "base"],
  ops: ["ops/kept.h", "core", "base"],
  "ops/kept.h": ["*_kept.h"],
  ir: ["ops", "core", "base"],
  pt2: ["ir", "format", "ops", "core", "base"],
  // The engine of the trace; the words that expansions say stand on it, and on these the wings, which
  // do not see each other. The parts of the engine above the wings have a row for each file.
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
  "trace/kept": ["ir", "ops", "core", "base"],
  "trace/expand_node": [
    "trace/official/official.h",
    "trace/official/limits.h",
    "trace/words",
    "ir",
    "ops",
    "core",
    "base",
  ],
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
  passes: ["trace", "ir", "ops", "core", "base"],
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
    "rt/saved",
    "kernels",
    "compute",
    "ops",
    "core",
    "base",
  ],
  kernels: ["compute", "observe", "ops/kept.h", "ops", "core", "base"],
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
    "ops/kept.h",
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
    "compute/layout",
    "format",
    "ops",
    "core",
    "base",
    "*_fbs.h",
  ],
  "rt/train": ["rt/load", "rt/run", "rt", "kernels", "core", "base"],
  "rt/look": ["rt/load", "rt/run", "rt", "kernels", "format", "ops", "core", "base", "*_fbs.h"],
  "devtools/bundled": ["format", "core", "base", "*_fbs.h"],
  "devtools/etdump": [
    "devtools/dump_threads.h",
    "rt/rt.h",
    "rt/event.h",
    "kernels",
    "format",
    "core",
    "base",
    "*_fbs.h",
  ],
  "backends/backends.def": [],
  "backends/null/null.h": ["base"],
  "backends/null/aot": ["backends/null/null.h", "backend", "ir", "ops", "core", "base"],
  "backends/host/question.def": [],
  "backends/host/host": ["backends/host/question.def", "base"],
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
  "devtools/dump_threads.h": [],
  "devtools/inspect": ["devtools/dump_threads.h", "format", "core", "base", "*_fbs.h"],
  "devtools/etrecord": ["pt2", "emit", "format", "ir", "ops", "core", "base"],
  api: ["api/job", ...belowApi],
  "api/record": ["api", "api/job", ...belowApi],
  "api/compile": ["api/edit", "api/record", "api/run/backends.h", "api", "api/job", ...belowApi],
  "api/edit": ["api", "api/job", ...belowApi],
  "api/verify": ["api/compile", "api/run/backends.h", "api", "api/job", ...belowApi],
  "api/quantize": ["api/compile", "api/run/running.h", "api", "api/job", ...belowApi],
  "api/bundle/write": ["api/bundle", "api/run", "api/record", "api", "api/job", ...belowApi],
  "api/inspect": [
    "api/verify",
    "api/compile",
    "api/record",
    "api/run/running.h",
    "api/run/open_bundle.h",
    "api",
    "api/job",
    ...belowApi,
  ],
  // A job, and running: they know no compiler, so that a build may leave it out.
  "api/job": ["sconce.h", "format", "core", "base"],
  "api/run": ["api/job", ...belowRun],
  "api/train": ["api/run", "api/job", ...belowRun],
  "api/bundle": ["api/run", "api/job", ...belowRun],
  "sconce.h": ["backends/host/host", "base"],
};
// No row but those of `meeting` may reach both, its own folder included, through whatever lies between.
// A file that includes the public header reaches what it declares.
const meeting = "api";
const publicHeader = "sconce.h";
// The C library, as far as a freestanding neighbourhood has it, and what compilers bring.
const system =
  /^(float|inttypes|limits|malloc|math|stdarg|stdbool|stddef|stdint|stdio|stdlib|string|wasm_simd128|sanitizer\/asan_interface)\.h$/;
// More of it for single files: threads and atomics.
const systemOf = { "src/base/parallel.c": /^(stdalign|stdatomic|threads)\.h$/ };
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
const outside = { wasm: ["sconce.h", "core", "base", "exports.h", "numbers.h", "imports.def"] };

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
    // calls, or find the calls that an expansion made (rt/rewrite/recognise), are what they make and find.
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
      "src/passes/int_products.c": 16, // the calls of the layers that it finds, and that it makes
      "src/passes/last_logits.c": 4, // products, whose rows are positions
      "src/passes/layouts.c": 1,
      "src/passes/numbers.c": 1,
      "src/ir/match.c": 3, // what stacks tensors
      "src/passes/pairs.c": 3, // what trace/complex puts together
      "src/passes/promote.c": 2,
      "src/passes/sym_prims.c": 50, // the calls that it makes
      "src/plan/storage.c": 4,
      "src/quant/convert.c": 7, // the calls that it makes
      "src/quant/show.c": 1, // the calls that it makes
      "src/quant/weight_nodes.c": 6, // the calls that it makes
      "src/rt/rewrite/elide.c": 2,
      "src/rt/rewrite/fuse.c": 8,
      "src/rt/rewrite/recognise/forms.c": 13, // what expansions come to, here and below
      "src/rt/rewrite/recognise/attention.c": 21,
      "src/rt/rewrite/recognise/walk.c": 2,
      "src/rt/rewrite/recognise/fft.c": 15,
      "src/rt/rewrite/recognise/grouped.c": 13,
      "src/rt/rewrite/recognise/table.c": 4,
      "src/rt/rewrite/recognise/gcd.c": 3,
      "src/rt/rewrite/recognise/norm.c": 3,
      "src/trace/official/bits.c": 2, // the formulas that it writes out
      "src/trace/official/stacked.c": 3,
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
    pattern: /\bsc_op_find(?:_out|_python)?\b/g,
    files: {
      "src/api/edit/change.c": 1, // names that a pass of the user's own gives
      "src/api/compile/to_backend.c": 1, // names that a partitioner of the user's own keeps
      "src/api/compile/preserved.c": 1, // names of an option
      "src/pt2/pt2_node.c": 1, // names of a .pt2
      "src/ir/parse.c": 1, // of a graph as text
      "src/api/compile/meta.c": 1, // of PyTorch's list
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
      "src/api/run/inspect.c": 2, // shown
      "src/api/edit/write.c": 1, // shown
      "src/api/inspect/record.c": 1, // shown, and compared with the names of kernels
      "src/api/inspect/stages.c": 1, // counted
      "src/api/compile/meta.c": 1, // shown
      "src/api/quantize/report.c": 1, // shown
      "src/backend/node_json.c": 1, // shown
      "src/emit/emit_instructions.c": 1, // written
      "src/pt2/pt2_node.c": 4, // foreign operators; parameters of "sym::"
      "src/pt2/serde_write_name.c": 2, // written
      "src/pt2/serde_write_node.c": 6, // written
      "src/ir/compare.c": 2, // with each other
      "src/ir/graph.c": 2, // names for values; where an error happened
      "src/ir/parse.c": 2, // foreign operators
      "src/ir/print.c": 1, // shown
      "src/passes/check_ops.c": 1, // compared with the names of an option
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
      "src/api/compile/backends.c": 1, // a column of backends.def
      "src/api/run/backends.c": 1, // a column of backends.def
      "src/compute/variants.c": 1, // a column of variants.def
      "src/kernels/kernel_table.c": 2, // a column of ops.def
    },
  },
];

export const table = {
  below,
  fronts,
  outside,
  meeting,
  publicHeader,
  system,
  systemOf,
  circles,
  rationed,
};

if (pathToFileURL(process.argv[1]).href === import.meta.url) {
  const { error, finish } = reporter("layers");
  const checked = checkLayers({ table, halves, names: listFiles(), read: readText, error });
  finish(`${checked} files`);
}
