// Does tests/lint/layers.mjs do what it promises? Each row below is a mistake made in the tree, which
// stays as it is on disk, and a piece of the complaint that it must bring, or what this matches.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { table as layers } from "./layers.mjs";
import { halves } from "./layers_halves.mjs";
import { checkLayers } from "./layers_rules.mjs";
import { importText, listFiles, readText, root } from "./tree.mjs";

const table = "tests/lint/layers.mjs";
const add = (file, text) => ({ file, change: (old) => `${text}\n${old}` });
const change = (file, from, to) => ({
  file,
  change(old) {
    if (!old.includes(from)) throw new Error(`${file} does not have ${from}`);
    return old.replace(from, to);
  },
});
// A row that reaches this member of a half, and the other half by `other`: the member is named first.
function meets(half, member, other) {
  const reported = {
    compiler: `compiler: ${member}`,
    runtime: `compiler: \\w+; runtime: ${member}`,
  }[half];
  return [
    [
      change(table, "  base: [],", `  base: [],\n  attic: ["${member}", "${other}"],`),
      add("src/attic/attic.c", ""),
    ],
    new RegExp(`the row of attic reaches both halves: ${reported}[,;\n]`),
  ];
}
const mistakes = [
  [add("src/base/map.c", '#include "ir/ir.h"'), "may not include ir/ir.h"],
  [add("src/base/map.c", "#include <unistd.h>"), "<unistd.h> is not part of the C library"],
  [add("src/passes/dce.c", '#include "rt/rt.h"'), "may not include rt/rt.h"],
  // Not even by a name that a macro makes, after a comment, or as a template.
  [
    add("src/passes/dce.c", '#define HEADER "rt/rt.h"\n#include HEADER'),
    "dce.c:2: #include HEADER does not say which file",
  ],
  [
    add("src/passes/dce.c", '/* See there. */ #include "rt/rt.h"'),
    "dce.c:1: may not include rt/rt.h",
  ],
  [
    add("src/passes/dce.c", '#define TEMPLATE "rt/rt.h"\n#include TEMPLATE'),
    "dce.c:1: may not include rt/rt.h",
  ],
  [
    add("src/passes/dce.c", '#define HEADER "rt/rt.h"\n#define TEMPLATE HEADER\n#include TEMPLATE'),
    "dce.c:2: #define TEMPLATE HEADER does not say which file",
  ],
  [add("src/passes/dce.c", '// #include "rt/rt.h"'), ""],
  [add("src/passes/dce.c", "int helper(void) { return 1; }"), "dce.c:1: helper is neither static"],
  [add("src/passes/dce.c", "const int table[2] = {1, 2};"), "dce.c:1: table is neither static"],
  [add("src/passes/dce.c", "int count;"), "dce.c:1: count is neither static"],
  // Without any include: what is declared by hand, in a source or in a header.
  [
    add(
      "src/passes/dce.c",
      "sc_status sc_rt_method_load(void *);\nstatic int f(void *m) { return sc_rt_method_load(m); }",
    ),
    "dce.c:1: may not use sc_rt_method_load of src/rt/load/method.c",
  ],
  [
    add("src/passes/facts.h", "sc_status sc_rt_method_load(void *);"),
    "facts.h:1: may not use sc_rt_method_load of src/rt/load/method.c",
  ],
  [
    add("src/passes/dce.c", "extern const void *const sc_variants;"),
    "dce.c:1: may not use sc_variants of src/compute/variants.c",
  ],
  [
    add("src/passes/facts.h", "extern const void *const sc_k_mm;"),
    "facts.h:1: may not use sc_k_mm of src/kernels/",
  ],
  [add("src/passes/dce.c", "extern int (*run)(void);"), "dce.c:1: declares by hand 1 times, not 0"],
  [
    add("wasm/memory.c", "int sc_rt_method_load(void *);"),
    "memory.c:1: may not use sc_rt_method_load of src/rt/load/method.c",
  ],
  [add("wasm/memory.c", "int sc_run_open(void *);"), ""],
  // A row that names one header brings what this declares.
  [
    [
      change(table, 'kernels: ["compute",', 'kernels: ["format/magic.h", "compute",'),
      add("src/kernels/glu.c", "int sc_format_of(void);"),
      add("src/format/magic.h", "int sc_format_of(void);"),
      add("src/format/json_read.c", "int sc_format_of(void) { return 0; }"),
    ],
    "",
  ],
  [
    [
      change(table, 'kernels: ["compute",', 'kernels: ["format/magic.h", "compute",'),
      add("src/kernels/glu.c", "int sc_format_of(void);"),
      add("src/format/json_read.c", "int sc_format_of(void) { return 0; }"),
    ],
    "glu.c:1: may not use sc_format_of of src/format/json_read.c",
  ],
  [add("src/api/run/run.c", '#include "rt/method.h"'), "run.c:1: rt/method.h is private to src/rt"],
  [
    add("src/core/dtype.c", '#include "base/gather.h"'),
    "dtype.c:1: base/gather.h is private to src/base",
  ],
  [
    change("src/rt/method.h", "Private to src/rt", "Private to src/api"),
    "method.h:1: says it is private to src/api, but is not in it",
  ],
  // Wings of the trace: a header of the engine does not bring one wing to another.
  [
    [
      add("src/trace/trace.h", "int sc_complex_call(void);"),
      add("src/trace/pytorch/norm.c", "int sc_complex_call(void);"),
    ],
    "trace.h:1: may not use sc_complex_call of src/trace/complex/complex.c",
  ],
  [
    add("src/trace/pytorch/norm.c", '#include "trace/complex/complex.h"'),
    "norm.c:1: may not include",
  ],
  [
    add("src/rt/rt.h", "int sc_rt_method_info_get(void);"),
    "rt.h:1: may not use sc_rt_method_info_get",
  ],
  // The rooms of the runtime: records at the bottom, then run, rewrite, load and look.
  ...[
    ["src/rt/event.c", "rt/run/tensor.h"],
    ["src/rt/run/exec.c", "rt/load/steps.h"],
    ["src/rt/run/exec.c", "rt/rewrite/optimize.h"],
    ["src/rt/rewrite/uses.c", "rt/run/shape.h"],
    ["src/rt/rewrite/recognise/scan.c", "rt/rewrite/optimize.h"],
    ["src/rt/rewrite/fuse.c", "rt/rewrite/recognise/recognise.h"],
    ["src/rt/rewrite/fuse.c", "rt/load/steps.h"],
    ["src/rt/load/bind.c", "rt/rewrite/uses.h"],
    ["src/rt/load/bind.c", "rt/look/tensor_info.h"],
    ["src/devtools/etdump/listen.c", "rt/operands.h"],
  ].map(([file, header]) => [
    add(file, `#include "${header}"`),
    `${file}:1: may not include ${header}`,
  ]),
  // Those of the interface: jobs at the bottom, then record, compile and run, then all others.
  ...[
    ["src/api/job.c", "api/record/records.h"],
    ["src/api/record/records.c", "api/compile/steps.h"],
    ["src/api/record/values.c", "api/inspect/inspector.h"],
    ["src/api/compile/steps.c", "api/run/compare.h"],
    ["src/api/run/run.c", "api/record/records.h"],
    ["src/api/run/run.c", "api/bundle/bundle.h"],
    ["src/api/quantize/config.c", "api/inspect/inspector.h"],
    ["src/api/bundle/write.c", "api/compile/steps.h"],
    ["src/api/inspect/stages.c", "api/quantize/quantize.h"],
  ].map(([file, header]) => [
    add(file, `#include "${header}"`),
    `${file}:1: may not include ${header}`,
  ]),
  [add("src/rt/rt.h", "int sc_rt_pack_constants(void *);"), ""],
  [
    add("src/rt/run/exec.c", "int sc_rt_pack_constants(void *);"),
    "exec.c:1: may not use sc_rt_pack_constants of src/rt/load/pack.c",
  ],
  [add("src/attic/old.c", ""), "is not in the table"],
  [add("src/base/lost.h", ""), "nothing includes this file"],
  [add("src/base/map.c", "int sc_map_turn(void) { return sc_name_turn(); }"), ""],
  [
    [
      add("src/base/map.c", "int sc_map_turn(void) { return sc_name_turn(); }"),
      add("src/base/name.c", "int sc_name_turn(void) { return sc_map_turn(); }"),
    ],
    "call each other in a circle: src/base/map.c src/base/name.c",
  ],
  [
    change(
      table,
      '["src/format/pickle.c", "src/format/pickle_call.c"]',
      '["src/format/a.c", "src/format/b.c"]',
    ),
    "no longer form a circle",
  ],
  [change(table, "  base: [],", '  base: ["format"],'), "the row of base is in a circle"],
  [
    change(table, 'plan: ["ir",', 'plan: ["rt", "ir",'),
    "plan reaches both halves: compiler: plan, ir; runtime: rt, ",
  ],
  [
    [
      change(table, "  base: [],", '  base: [],\n  "passes/const_fold": ["rt", "ir", "trace"],'),
      add("src/passes/const_fold.c", '#include "rt/rt.h"'),
    ],
    "the row of passes/const_fold reaches both halves",
  ],
  [
    [
      change(table, "  base: [],", '  base: [],\n  attic: ["rt", "ir", "core", "base"],'),
      add("src/attic/attic.c", '#include "rt/rt.h"'),
    ],
    "attic reaches both halves: compiler: ir; runtime: rt, ",
  ],
  [
    change(table, 'passes: ["trace",', 'passes: ["sconce.h", "trace",'),
    "passes reaches both halves",
  ],
  [change(table, 'rt: ["kernels",', 'rt: ["emit/emit.h", "kernels",'), "rt reaches both halves"],
  [change(table, 'plan: ["ir",', 'plan: ["cellar", "ir",'), "names cellar, which does not exist"],
  ...halves.compiler.map((member) => meets("compiler", member, "rt")),
  ...halves.runtime.map((member) => meets("runtime", member, "ir")),
  [change("tests/lint/layers_halves.mjs", '"emit",', '"emit", "emitters",'), "emitters has no row"],
  // A folder may have a file for each half, as long as they do not know each other.
  [
    [
      change(
        table,
        "  base: [],",
        '  base: [],\n  "backends/x/ahead": ["ir", "base"],\n  "backends/x/run": ["rt", "base"],',
      ),
      add("src/backends/x/ahead.c", '#include "backends/x/ahead.h"'),
      add("src/backends/x/ahead.h", '#include "ir/ir.h"'),
      add("src/backends/x/run.c", '#include "rt/rt.h"'),
    ],
    "",
  ],
  [
    [
      change(
        table,
        "  base: [],",
        '  base: [],\n  "backends/x/ahead": ["ir", "base"],\n  "backends/x/run": ["rt", "base"],',
      ),
      add("src/backends/x/ahead.c", '#include "backends/x/run.h"'),
      add("src/backends/x/run.h", '#include "rt/rt.h"'),
    ],
    "ahead.c:1: may not include backends/x/run.h",
  ],
  [
    [
      change(table, "  base: [],", '  base: [],\n  "backends/x/run": ["rt", "base"],'),
      change(table, 'passes: ["trace",', 'passes: ["backends", "trace",'),
      add("src/backends/x/run.c", '#include "rt/rt.h"'),
    ],
    "passes reaches both halves",
  ],
  // A row for one file goes before that of its folder, and may name one header.
  [
    change(table, "  base: [],", '  base: [],\n  "passes/facts": ["ir", "base"],'),
    "facts.c:7: may not include trace/expand.h",
  ],
  // The engine of the trace, the words on it, and the wings on these, which do not see each other.
  ...[
    ["args.c", "trace/words/calls.h"],
    ["words/calls.c", "trace/expand.h"],
    ["words/calls.c", "trace/complex/complex.h"],
    ["pytorch/airy.c", "trace/official/official.h"],
    ["official/conv.c", "trace/expand.h"],
    ["official/conv.c", "trace/complex/complex.h"],
    ["complex/logic.c", "trace/functorch/functorch.h"],
    ["functorch/batch.c", "trace/pytorch/packed.h"],
    ["autocast.c", "trace/functorch/functorch.h"],
    ["decompose.c", "trace/complex/complex.h"],
    ["coverage.c", "trace/official/official.h"],
  ].map(([file, header]) => [
    add(`src/trace/${file}`, `#include "${header}"`),
    `${file.replace(/.*\//, "")}:1: may not include ${header}`,
  ]),
  [
    add(
      "src/trace/functorch/batch.c",
      "sc_x sc_expand_einsum(sc_trace *t, const sc_x *a);\nsc_expand_fn sc_functorch_of(void) { return sc_expand_einsum; }",
    ),
    "may not use sc_expand_einsum of src/trace/pytorch/einsum.c",
  ],
  [
    add("src/passes/dce.c", '#include "trace/complex/complex.h"'),
    "dce.c:1: may not include trace/complex/complex.h",
  ],
  [add("src/passes/dce.c", "enum { A = SC_OP_add_Tensor };"), "names operators 1 times, not 0"],
  [
    add(
      "src/passes/dce.c",
      "static bool is_relu(const sc_op *op) { return op == sc_op_get(SC_OP_relu); }",
    ),
    "dce.c:1: names operators 1 times, not 0",
  ],
  [
    add("src/passes/dce.c", "enum { A = sc_build(g, n, o == sc_op_get(SC_OP_relu), args) };"),
    "dce.c:1: names operators 1 times, not 0",
  ],
  [
    add(
      "src/passes/dce.c",
      "static int A = sc_build(w->graph, NULL, sc_op_get(SC_OP_relu), args, 2, meta, &made);",
    ),
    "",
  ],
  [
    add("src/passes/dce.c", "#define IS(op, x) ((op)->id == SC_OP_##x)"),
    "dce.c:1: puts an operator's id together 1 times, not 0",
  ],
  [
    add("src/trace/trace.h", "#define IS(op, x) ((op)->id == SC_OP_##x)"),
    "trace.h:1: puts an operator's id together 2 times, not 1",
  ],
  [
    add(
      "src/passes/dce.c",
      'static bool is_relu(const sc_op *op) { return op == sc_op_find(SC_STR("aten::relu")); }',
    ),
    "dce.c:1: looks operators up by name 1 times, not 0",
  ],
  [
    add("src/passes/dce.c", 'static const char *const relu = "aten::relu";'),
    "dce.c:1: has an operator's name in a string 1 times, not 0",
  ],
  [
    add(
      "src/trace/decompose.c",
      'static bool wraps(const sc_op *op) { return strstr(op->name, "wrap_with_") != NULL; }',
    ),
    "decompose.c:1: reads operators' names outside messages 1 times, not 0",
  ],
  [
    add(
      "src/trace/decompose.c",
      'static bool wraps(const sc_op *o) { return strstr(o->name, "wrap_with_") != NULL; }',
    ),
    "decompose.c:1: reads operators' names outside messages 1 times, not 0",
  ],
  [
    add(
      "src/trace/decompose.c",
      "static bool wraps(sc_node *n) { return sc_op_wraps(n->op->view->name); }",
    ),
    "decompose.c:1: reads operators' names outside messages 1 times, not 0",
  ],
  [
    add(
      "src/passes/dce.c",
      'static int f(sc_op *op) { if (!strcmp(op->name, "x")) return sc_fail("%s", op->name); }',
    ),
    "dce.c:1: reads operators' names outside messages 1 times, not 0",
  ],
  [
    add(
      "src/rt/rewrite/fuse.c",
      'static bool is_relu(const sc_op *op) { return !strcmp(op->out_name, "relu"); }',
    ),
    "fuse.c:1: reads operators' names outside messages 1 times, not 0",
  ],
  [
    add(
      "src/passes/dce.c",
      'static void tell(sc_ctx *ctx, const sc_op *op) { sc_warn(ctx, "%s is unused", op->name); } // "aten::relu"',
    ),
    "",
  ],
  [
    change(table, '"src/trace/decompose.c": 2', '"src/trace/decompose.c": 3'),
    "names operators only 2 times",
  ],
];

const files = new Map(listFiles().map((name) => [name, undefined]));
function read(name) {
  if (files.get(name) === undefined) files.set(name, readText(name));
  return files.get(name);
}
const halvesFile = "tests/lint/layers_halves.mjs";

// The complaints about the tree with some texts changed.
async function complaintsAfter(edits) {
  const changed = new Map();
  for (const { file, change } of edits) {
    const old = changed.get(file) ?? (files.has(file) ? read(file) : "");
    changed.set(file, change(old));
  }
  const textOf = (name) => changed.get(name) ?? read(name);
  const found = [];
  checkLayers({
    table: changed.has(table) ? (await importText(textOf(table))).table : layers,
    halves: changed.has(halvesFile) ? (await importText(textOf(halvesFile))).halves : halves,
    names: [...new Set([...files.keys(), ...changed.keys()])].sort(),
    read: textOf,
    error: (name, line, text) => found.push(`${name}:${line}: ${text}\n`),
  });
  return found.join("");
}

let failed = 0;
function check(what, ok, output) {
  if (ok) return;
  failed++;
  console.log(`${what}\n${output}`);
}
const command = spawnSync("node", [join(root, table)], { encoding: "utf8" });
const clean = await complaintsAfter([]);
check(
  "the tree has no mistakes yet",
  command.status === 0 && !clean,
  command.stdout + command.stderr + clean,
);
for (const [edits, complaint] of mistakes) {
  const found = await complaintsAfter([edits].flat());
  const isReported =
    complaint instanceof RegExp ? complaint.test(found) : found.includes(complaint);
  check(`expected: ${complaint || "no complaint"}`, complaint ? isReported : !found, found);
}
console.log(`layers: ${mistakes.length + 1} checks, ${failed} failed`);
process.exitCode = failed ? 1 : 0;
