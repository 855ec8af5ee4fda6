// Does tests/tools/layers.mjs do what it promises? Each row below is a mistake made in a small copy
// of the tree, and a piece of the complaint that it must bring.
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listFiles, root } from "./tree.mjs";

const table = "tests/tools/layers.mjs";
const add = (file, text) => ({ file, change: (old) => `${text}\n${old}` });
const change = (file, from, to) => ({ file, change: (old) => old.replace(from, to) });
const mistakes = [
  [add("src/base/map.c", '#include "ir/ir.h"'), "may not include ir/ir.h"],
  [add("src/base/map.c", "#include <unistd.h>"), "<unistd.h> is not part of the C library"],
  [add("src/passes/dce.c", '#include "rt/rt.h"'), "may not include rt/rt.h"],
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
  [change(table, 'plan: ["ir",', 'plan: ["rt", "ir",'), "plan reaches rt, of the other half"],
  [change(table, 'plan: ["ir",', 'plan: ["cellar", "ir",'), "names cellar, which does not exist"],
  // A row for one file goes before that of its folder, and may name one header.
  [
    change(table, "  base: [],", '  base: [],\n  "passes/facts": ["ir", "base"],'),
    "facts.c:7: may not include trace/expand.h",
  ],
  [add("src/passes/dce.c", "enum { A = SC_OP_add_Tensor };"), "names operators 1 times, not 0"],
  [
    change(table, '"src/trace/decompose.c": 2', '"src/trace/decompose.c": 3'),
    "names operators only 2 times",
  ],
];

const copy = mkdtempSync(join(tmpdir(), "sconce-layers-"));
let failed = 0;
try {
  const wanted = listFiles().filter((name) =>
    /^(src|wasm|schema|tests\/(tools|unit|rt|fuzz))\//.test(name),
  );
  for (const name of [...wanted, "tests/harness.h"]) cpSync(join(root, name), join(copy, name));
  execFileSync("git", ["init", "-q", copy]);
  const layers = () => spawnSync("node", [join(copy, table)], { encoding: "utf8" });
  const check = (what, ok, output) => {
    if (ok) return;
    failed++;
    console.log(`${what}\n${output}`);
  };
  const clean = layers();
  check("the copy has no mistakes yet", clean.status === 0, clean.stdout + clean.stderr);
  for (const [edits, complaint] of mistakes) {
    const olds = [edits].flat().map(({ file, change }) => {
      const path = join(copy, file);
      let old = null;
      try {
        old = readFileSync(path, "utf8");
      } catch {
        cpSync(join(root, "LICENSE"), path);
      }
      writeFileSync(path, change(old ?? ""));
      return [path, old];
    });
    const { status, stdout, stderr } = layers();
    const ok = complaint ? status === 1 && stdout.includes(complaint) : status === 0;
    check(`expected: ${complaint || "no complaint"}`, ok, stdout + stderr);
    for (const [path, old] of olds) old === null ? rmSync(path) : writeFileSync(path, old);
  }
} finally {
  rmSync(copy, { recursive: true });
}
console.log(`layers: ${mistakes.length + 1} checks, ${failed} failed`);
process.exitCode = failed ? 1 : 0;
