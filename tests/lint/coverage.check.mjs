// The tables of docs/coverage.md, checked against the table of operators: the operators that are
// expanded for the official runtime, those that are not, and the operators that models call most
// (tests/data/ranked_ops.txt).
//   node coverage.check.mjs SCONCE [--update]
// SCONCE is the native tool, which prints the table. With --update the sections are written again;
// reasons, which are written by hand, are kept.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

const root = new URL("../../", import.meta.url);
const page = new URL("docs/coverage.md", root);
const { ops } = JSON.parse(
  execFileSync(process.argv[2], ["meta"], { encoding: "utf8", maxBuffer: 1 << 24 }),
);
const byName = new Map(ops.map((op) => [op.name, op]));

const quoted = (name) => `\`${name.replace(/^aten::/, "")}\``;
const list = (rows) =>
  rows
    .map(({ name }) => quoted(name))
    .sort()
    .join(", ");

const columns_max = 80;

/** Many names as a block of lines. */
function blockOf(rows) {
  const lines = [""];
  for (const name of rows.map((row) => row.name.replace(/^aten::/, "")).sort()) {
    const line = `${lines.at(-1)} ${name}`.trimStart();
    if (line.length <= columns_max) lines[lines.length - 1] = line;
    else lines.push(name);
  }
  return ["```text", ...lines, "```"].join("\n");
}

const tableOf = (head, rows) =>
  [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");

/** Operators whose expansions loading knows again: the rows of forms.def that say so. */
const idOf = ({ name }) => name.replace(/^aten::/, "").replace(/[.:]/g, "_");
function knownAgain() {
  const table = readFileSync(new URL("src/ops/forms.def", root), "utf8");
  const row = /^(?:FORM\((\w+), \w+, (?:EARLY|LATE)\(|CODE\((\w+)\))/gm;
  const ids = new Set([...table.matchAll(row)].map(([, form, code]) => form ?? code));
  const known = ops.filter((op) => ids.has(idOf(op)));
  assert.equal(known.length, ids.size, "a row of forms.def is of no operator");
  return known;
}

// --- Operators that the official runtime lacks ---------------------------------------------------

// An operator that only lowering makes for this runtime is no operator of programs.
const leaves = ops.filter(({ name, here }) => here === "kernel" && !name.startsWith("sconce::"));
const notThere = leaves.filter(({ official, out }) => official === "no" && out !== "");

/** Limits, each with the operators that have it themselves. */
function limits(rows) {
  const found = new Map();
  for (const row of rows)
    for (const limit of row.limits) found.set(limit, [...(found.get(limit) ?? []), row]);
  return [...found].sort().map(([limit, of]) => [limit, list(of)]);
}

function expansions(reasons) {
  const expanded = leaves.filter(({ official }) => official === "expanded");
  const mended = leaves.filter(({ official }) => official === "mended");
  const why = notThere
    .map(({ name }) => [quoted(name), reasons.get(quoted(name)) ?? "?"])
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return `The official runtime has no kernel for these ${expanded.length} operators. They are expanded:

${blockOf(expanded)}

These ${mended.length} operators are expanded where its kernel refuses a call, or gives other numbers than PyTorch:

${blockOf(mended)}

When a file is loaded here, the expansions of ${knownAgain().length} of these operators become one call again:

${blockOf(knownAgain())}

Some of these work only within a limit. Operators that expand into them have the same limit:

${tableOf(["limit", "operators"], limits([...expanded, ...mended]))}

${why.length} operators are not expanded. A program that calls one of them gets a warning with the node and its line:

${tableOf(["operator", "why"], why)}
`;
}

// --- Operators that models call most -------------------------------------------------------------

/** A form that writes in place goes with what it is a form of. */
const rowOf = (name) => byName.get(name) ?? byName.get(name.replace(/_(?=\.|$)/, ""));

function fateOf(row) {
  if (!row) return "unknown";
  if (row.official === "kernel" || row.official === "mended") return "kernel";
  if (row.official === "no") return "lacks";
  return row.here === "expanded" ? "apart" : "expanded";
}

function ranked(reasons) {
  const text = readFileSync(new URL("tests/data/ranked_ops.txt", root), "utf8");
  const parts = text.split(/^= /m).slice(1);
  const rows = parts.map((part) => {
    const [title, ...lines] = part.trim().split("\n");
    const names = lines.map((line) => line.split(" ")[1]);
    const of = (fate) => names.filter((name) => fateOf(rowOf(name)) === fate);
    const reported = (fate) => [of(fate).length, ...of(fate).map(quoted)].join(" ");
    const left = [...of("lacks"), ...of("unknown")];
    const whys = left.map((name) => `${quoted(name)}: ${reasons.get(quoted(name)) ?? "?"}`);
    return [
      title,
      names.length,
      of("kernel").length,
      of("apart").length,
      reported("expanded"),
      [left.length, ...whys].join(" "),
    ];
  });
  const head = ["programs", "operators", "with a kernel there", "decomposed as PyTorch does"];
  return `${tableOf([...head, "expanded for it", "not"], rows)}\n`;
}

// --- The page ------------------------------------------------------------------------------------

const SECTIONS = { expansions, ranked };
const text = readFileSync(page, "utf8");
const sectionOf = (name) => new RegExp(`(?<=<!-- ${name} -->\n)[^]*?(?=<!-- end of ${name} -->)`);
const reasons = new Map(
  [...text.matchAll(/^\| (`[^`]+`) \| (.+) \|$/gm)].map(([, name, why]) => [name, why]),
);
let written = text;
for (const [name, make] of Object.entries(SECTIONS)) {
  assert.match(text, sectionOf(name), `docs/coverage.md lost its section ${name}`);
  written = written.replace(sectionOf(name), () => make(reasons));
}
if (process.argv.includes("--update")) writeFileSync(page, written);
else assert.equal(text, written, "run node tests/lint/coverage.check.mjs SCONCE --update");
assert.doesNotMatch(
  written,
  /\| \? \||: \?/,
  "docs/coverage.md does not say why an operator is not expanded",
);
