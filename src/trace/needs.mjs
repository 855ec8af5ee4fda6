// node needs.mjs SRC OUT: what the expansions of operators come to, read from the tables and from the
// code of src/trace, as rows that coverage.c includes:
//   NEEDS(op, leaf)    `op` is expanded, and that may end in `leaf`, which lacks a kernel somewhere
//   PYTORCH(op)        PyTorch has it (ops/pytorch.txt)
//   MISSING("name")    PyTorch has it, and the table of operators has not
//   VERSION("2.13")    of PyTorch
// "May": all that is called in a function or the functions that it calls counts, so that what is
// said to run does.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

const [src, out] = process.argv.slice(2);
const filesIn = (folder) =>
  readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();
const textOf = (file) => readFileSync(file, "utf8").replace(/^\s*\/\/.*$/gm, "");
const LITERAL = String.raw`"(?:[^"\\]|\\.)*"`;
const literals = (text) =>
  [...text.matchAll(new RegExp(LITERAL, "g"))].map(([part]) => part.slice(1, -1)).join("");

// --- Rows of operators ---------------------------------------------------------------------------

const ROW = new RegExp(
  String.raw`^OP\((\w+),\s*((?:${LITERAL}\s*)+),\s*(?:NULL|${LITERAL}),([^]*?)(?=^OP\(|^#|(?![^]))`,
  "gm",
);
const KERNEL = /\b(?:NO_KERNEL|(?:KERNEL|POINTWISE|PRIM)\()/;

function rowOf([, id, schema, rest]) {
  const expansion = rest.slice(0, rest.search(KERNEL));
  const text = /\bEXPAND\(([^]*)\)/.exec(expansion)?.[1];
  return {
    id,
    name: literals(schema).replace(/\(.*/, ""),
    fn: /\bEXPAND_FN\((\w+)\)/.exec(expansion)?.[1],
    text: text && literals(text),
    lacks: /\bNO_KERNEL\b|\bSC_UNOFFICIAL\b/.test(rest) && !/\bSC_(VIEW|ASSERTION)\b/.test(rest),
  };
}

const tables = filesIn(join(src, "ops")).filter((file) => /^ops_\w+\.def$/.test(basename(file)));
const rows = new Map(
  tables.flatMap((file) => [...textOf(file).matchAll(ROW)].map(rowOf)).map((row) => [row.id, row]),
);
const count = tables.flatMap((file) => textOf(file).match(/^OP\(/gm) ?? []).length;
if (rows.size !== count) throw new Error(`${rows.size} rows of ${count} are understood`);
const byName = new Map([...rows.values()].map((row) => [row.name, row.id]));

// --- Code of expansions --------------------------------------------------------------------------

const FUNCTION = /^(static )?[\w ]+[ *](\w+)\([^;{]*?\) (\{ .* \}$|\{\n[^]*?\n\})/gm;
const ARRAY = /^(static )const [\w ]+[ *](\w+)\[\w*\] = (\{[^]*?)\n\};/gm;

/** By name; what is static has its file before it. */
const bodies = new Map();
for (const file of filesIn(join(src, "trace")).filter((name) => name.endsWith(".c"))) {
  const text = textOf(file);
  for (const [, isStatic, name, body] of [...text.matchAll(FUNCTION), ...text.matchAll(ARRAY)])
    bodies.set(isStatic ? `${file} ${name}` : name, { file, body });
}

function usesOf({ file, body }) {
  const words = [...new Set(body.match(/\b[a-z_]\w*\b/g) ?? [])];
  const called = words.map((word) => (bodies.has(`${file} ${word}`) ? `${file} ${word}` : word));
  const ops = [...body.matchAll(/\bCALL\(\w+, (\w+)|\bSC_OP_(\w+)/g)].map(([, a, b]) => a ?? b);
  return { ops, called: called.filter((name) => bodies.has(name)) };
}

function opsOf(name) {
  if (!bodies.has(name)) throw new Error(`${name} is not found in the code of expansions`);
  const ops = new Set();
  const seen = new Set([name]);
  for (const each of seen) {
    const uses = usesOf(bodies.get(each));
    for (const op of uses.ops) ops.add(op);
    for (const called of uses.called) seen.add(called);
  }
  return ops;
}

const calledIn = (text) =>
  [...text.matchAll(/([A-Za-z_]\w*(?:::\w+)?(?:\.\w+)?)\(/g)]
    .map(([, name]) => byName.get(`aten::${name}`) ?? byName.get(name))
    .filter((id) => id !== undefined);

const official = new Map(
  [...textOf(join(src, "trace/official/official.def")).matchAll(/^OFFICIAL\((\w+),\s*(\w+)/gm)].map(
    ([, fn, op]) => [op, fn],
  ),
);

/** What an operator is directly taken apart into; undefined if it is not. */
function partsOf(row) {
  if (row.fn) return opsOf(`sc_expand_${row.fn}`);
  if (row.text) return calledIn(row.text);
  return official.has(row.id) ? opsOf(`sc_official_${official.get(row.id)}`) : undefined;
}

/** The operators without a kernel somewhere that an expansion may end in. */
function needsOf(row) {
  const needs = new Set();
  const seen = new Set([row.id]);
  for (const id of seen) {
    const each = rows.get(id);
    const parts = each && partsOf(each);
    if (parts) for (const part of parts) seen.add(part);
    else if (each?.lacks) needs.add(id);
  }
  return needs;
}

// --- What is written -----------------------------------------------------------------------------

const list = readFileSync(join(src, "ops/pytorch.txt"), "utf8");
const names = list.split("\n").filter((line) => line && !line.startsWith("#"));
const MACROS = ["NEEDS", "PYTORCH", "MISSING", "VERSION"];
const lines = [];
for (const row of rows.values()) {
  if (!partsOf(row)) continue;
  for (const leaf of needsOf(row)) lines.push(`NEEDS(${row.id}, ${leaf})`);
}
const guarded = (macros) => macros.map((name) => `#ifndef ${name}\n#define ${name}(...)\n#endif`);
lines.unshift(...guarded(MACROS));
for (const name of names) {
  const id = byName.get(`aten::${name}`);
  lines.push(id ? `PYTORCH(${id})` : `MISSING("aten::${name}")`);
}
lines.push(`VERSION("${/PyTorch ([\d.]+)/.exec(list)[1]}")`);
lines.push(...MACROS.map((name) => `#undef ${name}`));
writeFileSync(out, `${lines.join("\n")}\n`);
