// Who may include whom in src/ and wasm/: the table below is the architecture, and any #include it
// does not allow fails. Two halves never meet: the compiler (ir import passes backend plan emit)
// and the runtime (kernels rt); both stand on base, format, core and ops.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { listFiles, readText, reporter, root } from "./tree.mjs";

// Folder (or folder/file stem) to what it may include besides itself and the C library. A name is a
// folder of src/, or one header of it; "*_fbs.h" is the code generated from schema/.
const all = [
  "base",
  "format",
  "core",
  "ops",
  "ir",
  "import",
  "passes",
  "plan",
  "backend",
  "emit",
  "kernels",
  "rt",
  "threads",
  "export",
  "devtools",
  "*_fbs.h",
];
const below = {
  base: [],
  format: ["base"],
  core: ["base"],
  ops: ["core", "base"],
  ir: ["ops", "core", "base"],
  import: ["ir", "format", "ops", "core", "base"],
  passes: ["ir", "ops", "core", "base"],
  plan: ["ir", "ops", "core", "base"],
  backend: ["passes/pass.h", "ir", "ops", "core", "base"],
  emit: ["plan", "backend", "format", "ir", "ops", "core", "base", "*_fbs.h"],
  threads: ["base"],
  kernels: ["threads", "ops", "core", "base"],
  rt: ["kernels", "threads", "format", "ops", "core", "base", "*_fbs.h"],
  export: ["import", "passes", "plan", "backend", "emit", "format", "ir", "ops", "core", "base"],
  devtools: [
    "import",
    "passes",
    "plan",
    "backend",
    "emit",
    "kernels",
    "rt",
    "export",
    "format",
    "ir",
    "ops",
    "core",
    "base",
    "*_fbs.h",
  ],
  api: [...all, "backends", "sconce.h"],
  "sconce.h": ["core", "base"],
};
// A backend's halves, by the end of the file's name; both may use their folder's description of
// the blob.
const backendHalves = {
  _aot: ["backend", "ir", "passes/pass.h", "format", "ops", "core", "base", "*_fbs.h"],
  _rt: ["rt", "kernels", "threads", "format", "ops", "core", "base", "*_fbs.h"],
  _blob: ["format", "core", "base", "*_fbs.h"],
};
// What stands on src/ from outside sees the public header and the vocabulary it is written in.
const outside = { wasm: ["sconce.h", "core", "base"] };

// Where code outside src/ops still asks which operator one is, and how often. What is true of an
// operator belongs into its row, as a trait or a column; these numbers only go down.
const operatorNames = {
  "src/emit/emit_code.c": 1,
  "src/emit/emit_control.c": 5,
  "src/emit/emit_tensor.c": 1,
  "src/passes/alias.c": 20,
  "src/passes/decompose.c": 2,
  "src/passes/dim_order.c": 6,
  "src/passes/empty_cats.c": 1,
  "src/passes/numbers.c": 1,
  "src/passes/promote.c": 2,
  "src/passes/sym_prims.c": 32,
  "src/passes/trace.c": 5,
  "src/plan/storage.c": 4,
  "src/rt/elide.c": 2,
  "src/rt/fuse.c": 8,
  "src/rt/usage.c": 1,
};
const operatorName = /(?<!sc_op_get\()\bSC_OP_(?!FOREIGN\b|COUNT\b|##)\w+/g;

const { error, finish } = reporter("layers");

function matches(include, allowed) {
  if (allowed === "*_fbs.h") return /^[a-z_]+_fbs\.h$/.test(include);
  return include === allowed || include.startsWith(`${allowed}/`);
}

// What a file may include, or undefined when the table does not know its folder.
function allowedFor(name) {
  const parts = name.split("/");
  if (parts[0] === "wasm") return [...outside.wasm, "exports.def", "imports.def"];
  if (parts.length === 2) return below[parts[1]];
  if (parts[1] === "backends") {
    // The list of backends is the one place that names them all.
    if (parts.length === 3) return ["backends", "base"];
    const own = `backends/${parts[2]}`;
    const half = Object.keys(backendHalves).find((end) => parts[3].includes(end));
    // Files without an ending (tables, packing) serve both halves and may use only what both may.
    const base = backendHalves[half ?? "_blob"];
    const other = { _aot: "_rt", _rt: "_aot" }[half];
    return base.concat(other ? [`${own}/!${other}`] : [own]);
  }
  return below[parts[1]] && [...below[parts[1]], parts[1]];
}

function allows(include, allowed) {
  return allowed.some((entry) => {
    // "folder/!end": the folder's files except those of the other half.
    const [folder, excluded] = entry.split("/!");
    return matches(include, folder) && !(excluded && include.includes(excluded));
  });
}

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
