// Checks that layers_js.mjs finds mistakes: each is made in a copy of the tree, one at a time.
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listFiles, root } from "./tree.mjs";

const table = "tests/lint/layers_js.mjs";
const add = (file, line) => ({ file, change: (text) => `${text}${line}\n` });
const change = (file, from, to) => ({ file, change: (text) => text.replace(from, to) });

// A mistake, and a part of the complaint.
const mistakes = [
  [add("wasm/js/base/check.ts", 'import "../tensor/dtypes.js";'), "base may not import tensor"],
  [
    add("wasm/js/types/meta.ts", 'import type { Core } from "../module/core.js";'),
    "types may not import module",
  ],
  [
    add("wasm/js/base/check.ts", 'export const later = () => import("../module/core.js");'),
    "base may not import module",
  ],
  [
    add("wasm/js/worker/pool.ts", 'export * from "../engine.js";'),
    "worker may not import engine.ts",
  ],
  [
    add("wasm/js/base/nearest.ts", 'import type { Kind } from "./check.js";'),
    /in a circle: .*base\/check\.ts.*base\/nearest\.ts/,
  ],
  [add("wasm/js/lonely.ts", "export {};"), "lonely.ts:1: has no row"],
  [add("web/src/state.ts", 'import "./views/App.js";'), "state.ts may not import views"],
  [add("web/src/state.ts", 'import "@sconce/cli/print/table.js";'), "may not import @sconce/cli"],
  [
    change(table, "  border: [],", '  border: [],\n  attic: ["base"],'),
    "row attic of wasm/js names",
  ],
  [change(table, "  border: [],", '  border: ["cellar"],'), "cellar, in row border, is no row"],
  [
    change(table, "  border: [],", '  border: ["base"],'),
    "rows form a circle: base, border, types",
  ],
  [
    change(table, "const circles = [", 'const circles = [["a.ts", "b.ts"],'),
    "there is no such circle any more: a.ts,b.ts",
  ],
  [add("wasm/js/base/check.ts", '// import "../tensor/dtypes.js";'), ""],
];

const copy = mkdtempSync(join(tmpdir(), "sconce-layers-js-"));
let failed = 0;
try {
  const wanted = listFiles().filter((name) => /^(wasm\/js|web\/src|tests\/lint)\//.test(name));
  for (const name of wanted) cpSync(join(root, name), join(copy, name));
  execFileSync("git", ["init", "-q", copy]);
  const layers = () => spawnSync("node", [join(copy, table)], { encoding: "utf8" });
  const clean = layers();
  if (clean.status !== 0) {
    failed++;
    console.log(`the copy has mistakes already\n${clean.stdout}${clean.stderr}`);
  }
  for (const [{ file, change: edit }, complaint] of mistakes) {
    const path = join(copy, file);
    const isNew = !wanted.includes(file);
    const old = isNew ? "" : readFileSync(path, "utf8");
    writeFileSync(path, edit(old));
    const { status, stdout, stderr } = layers();
    const isFound =
      complaint instanceof RegExp ? complaint.test(stdout) : stdout.includes(complaint);
    if (complaint ? status !== 1 || !isFound : status !== 0) {
      failed++;
      console.log(`expected: ${complaint || "no complaint"}\n${stdout}${stderr}`);
    }
    if (isNew) rmSync(path);
    else writeFileSync(path, old);
  }
} finally {
  rmSync(copy, { recursive: true });
}
console.log(`layers of JavaScript: ${mistakes.length + 1} checks, ${failed} failed`);
process.exitCode = failed ? 1 : 0;
