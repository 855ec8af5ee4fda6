// Who may include whom in src/ and wasm/: the table below is the architecture, and any #include it
// does not allow fails, as does a row of the table that names nothing. Two halves never meet: the
// compiler (ir import passes plan emit) and the runtime (kernels rt); both stand on base, format,
// core and ops.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { listFiles, readText, reporter, root } from "./tree.mjs";

// Folder (or folder/file stem) to what it may include besides itself and the C library. A name is a
// folder of src/, or one header of it; "*_fbs.h" is the code generated from schema/.
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
  kernels: ["ops", "core", "base"],
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
// What stands on src/ from outside sees the public header and the vocabulary it is written in.
const outside = { wasm: ["sconce.h", "core", "base", "exports.def", "imports.def"] };

// Where code outside src/ops still asks which operator one is, and how often. What is true of an
// operator belongs into its row, as a trait or a column; these numbers only go down.
const operatorNames = {
  "src/emit/emit_code.c": 1,
  "src/emit/emit_control.c": 5,
  "src/emit/emit_tensor.c": 1,
  "src/passes/dim_order.c": 6,
  "src/passes/empty_cats.c": 1,
  "src/passes/numbers.c": 1,
  "src/passes/promote.c": 2,
  "src/passes/sym_prims.c": 28,
  "src/plan/storage.c": 4,
  "src/rt/elide.c": 2,
  "src/rt/fuse.c": 8,
  "src/rt/usage.c": 1,
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

// What a file may include, or undefined when the table does not know its folder.
function allowedFor(name) {
  const parts = name.split("/");
  if (parts[0] === "wasm") return outside.wasm;
  if (parts.length === 2) return below[parts[1]];
  return below[parts[1]] && [...below[parts[1]], parts[1]];
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

// Rows and their entries name folders or files that exist.
for (const [row, allowed] of Object.entries({ ...below, ...outside })) {
  for (const entry of [row, ...allowed]) {
    const places = [join("src", entry), join("wasm", entry), entry];
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
