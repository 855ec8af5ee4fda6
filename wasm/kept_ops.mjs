// The operators of a build that runs programs: node wasm/kept_ops.mjs OUT.h [OPS.txt]. OUT.h is the
// header that src/ops/kept.h asks for. OPS.txt has names as files have them, "aten::add.out", and
// "XnnpackBackend" if a file needs that, a line each. Without it, the build keeps core ATen and what
// the official runtime has.
import { mkdirSync, readFileSync, writeFileSync, existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { readTable } from "./tablegen.mjs";

const ops = join(dirname(fileURLToPath(import.meta.url)), "../src/ops");

const expanded = ([id, schema]) => ({
  id,
  schema: `aten::${schema}`,
  kernel: "NO_KERNEL",
  traits: "",
});

// The columns of each kind of row that can have a kernel (ops.def): what the kernel stands in, and the
// traits. Expanded operators have none.
const KINDS = {
  OP: ([id, schema, out, , , kernel, traits]) => ({ id, schema, out, kernel, traits }),
  UNARY: ([id, , takes, traits]) => ({
    id,
    schema: `aten::${id}(`,
    out: "out",
    kernel: takes,
    traits,
  }),
  VIEW: ([id, schema, , , traits]) => ({
    id,
    schema: `aten::${schema}`,
    kernel: "NO_KERNEL",
    traits,
  }),
  SYM: ([id, schema, out, , kernel]) => ({ id, schema: `sym::${schema}`, out, kernel, traits: "" }),
  ALIAS: expanded,
  COMPOSITE: expanded,
  EXPANDED: expanded,
};

/** The rows of the operator table. */
export function readOps() {
  const names = readdirSync(ops).filter((name) => /^ops_\w+\.def$/.test(name));
  const text = names.map((name) => readFileSync(join(ops, name), "utf8")).join("\n");
  return Object.entries(KINDS).flatMap(([kind, read]) =>
    readTable(text, kind).map((columns) => {
      const row = read(columns);
      const name = row.schema.slice(0, row.schema.indexOf("("));
      return { ...row, name, has: row.kernel !== "NO_KERNEL" };
    }),
  );
}

const has = (row, trait) => row.traits.split("|").some((word) => word.trim() === trait);

/** The name of the operator's out variant, as files have it. */
function outName({ name, out }) {
  if (!out || out === "NULL") return undefined;
  return out.includes(":") ? out : `${name.split(".")[0]}.${out}`;
}

/** Operators that loading makes of expansions, and that no file calls: they have a kernel of their own. */
function madeAtLoad(rows) {
  const folder = join(ops, "../rt/rewrite/recognise");
  const names = readdirSync(folder).filter((name) => name.endsWith(".c"));
  const texts = names.map((name) => readFileSync(join(folder, name), "utf8"));
  const made = new Set(
    texts.flatMap((text) => [...text.matchAll(/\.op = SC_OP_(\w+)/g)].map(([, id]) => id)),
  );
  return rows.filter((row) => made.has(row.id) && !row.has).map(({ id }) => id);
}

/** The ids of the rows to keep, out of those that can run. */
export function keptIds(rows, wanted) {
  const kept = new Set(rows.filter((row) => row.has && wanted(row)).map(({ id }) => id));
  for (const id of madeAtLoad(rows)) kept.add(id);
  const byName = new Map(rows.map((row) => [row.name, row]));
  for (const row of rows.filter(({ id }) => kept.has(id))) {
    // The twin that it copies, whose shape rule says where the elements are; the operator whose
    // results it writes into its first operand.
    const [base, overload] = [row.name.split(".")[0], row.name.split(".")[1]];
    for (const other of [base.replace(/_copy$/, ""), base.replace(/_$/, "")]) {
      const twin = byName.get(overload === undefined ? other : `${other}.${overload}`);
      if (twin) kept.add(twin.id);
    }
  }
  return kept;
}

// Complex numbers, and the observers that calibration puts into programs.
const isRare = ({ id }) => /^_fft_|complex|^sconce_observe/.test(id);

/** Kept without a list: core ATen, what the official runtime has, and arithmetic on sizes. */
const isCommon = (row) =>
  row.kernel.startsWith("PRIM") ||
  (!isRare(row) && (has(row, "SC_CORE") || !has(row, "SC_UNOFFICIAL")));

/** Operators that XNNPACK's delegates call. */
function calledByXnnpack() {
  const text = readFileSync(join(ops, "../backends/xnnpack/run/calls.c"), "utf8");
  return [...text.matchAll(/\bSC_OP_(\w+)/g)].map(([, id]) => id);
}

/** The operators that loading makes of several calls, by the one that the calls end with: forms.def. */
function readForms() {
  const rows = readTable(readFileSync(join(ops, "forms.def"), "utf8"), "FORM");
  return rows.flatMap(([id, , known]) => {
    const [, root] = /^(?:EARLY|LATE)\((\w+)\)$/.exec(known) ?? [];
    return root === undefined ? [] : [{ id, root }];
  });
}

/** Kept with a list: what its names mean, and what loading may make of them. */
function listed(rows, text) {
  const names = new Set(
    text
      .split("\n")
      .map((line) => line.trim())
      .filter(Boolean),
  );
  const called = new Set(rows.filter((row) => names.has(outName(row))).map(({ id }) => id));
  if (names.has("XnnpackBackend")) calledByXnnpack().forEach((id) => called.add(id));
  for (const { id, root } of readForms()) if (called.has(root)) called.add(id);
  return (row) => row.kernel.startsWith("PRIM") || called.has(row.id);
}

export function header(rows, kept) {
  const lines = rows.map(
    ({ id }) => `#define SC_KEPT_${id}(...)${kept.has(id) ? " __VA_ARGS__" : ""}`,
  );
  return `// Written by wasm/kept_ops.mjs.\n${lines.join("\n")}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , out, list] = process.argv;
  const rows = readOps();
  const kept = keptIds(rows, list ? listed(rows, readFileSync(list, "utf8")) : isCommon);
  const text = header(rows, kept);
  mkdirSync(dirname(out), { recursive: true });
  if (!existsSync(out) || readFileSync(out, "utf8") !== text) writeFileSync(out, text);
}
