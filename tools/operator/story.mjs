// Everything that the checkout says about one operator, gathered from the tables, the functions that
// they name, and the tests.
import { listFiles, readText } from "../../tests/lint/tree.mjs";
import { callAt, lineOf, namesOf, plain, rows, sources } from "./tables.mjs";

const keyed = (row) => [...row.names].filter((name) => name.startsWith("SC_OP_"));
const isOperator = ({ file }) => /^src\/ops\/ops_\w+\.def$/.test(file);

/** The schema of an operator's row; short rows leave out the namespace or, of UNARY, all of it. */
function schemaOf({ kind, columns }) {
  if (kind === "UNARY") return `aten::${columns[0]}(Tensor self) -> Tensor`;
  const text = columns
    .map(plain)
    .find((column) => /^[\w:.]+\(/.test(column) && / -> /.test(column));
  if (/^[^(]*::/.test(text)) return text;
  return `${kind === "SYM" ? "sym" : "aten"}::${text}`;
}

/** Every operator of the table: { id, name, schema, row }. */
export const operators = rows.filter(isOperator).map((row) => {
  const schema = schemaOf(row);
  return { id: row.columns[0], name: schema.slice(0, schema.indexOf("(")), schema, row };
});

// --- Finding -------------------------------------------------------------------------------------

const bare = (name) => name.replace(/^aten::/, "").replace(/\.default$/, "");
const functional = (name) => name.replace(/(?<=\w)_(?=\.|$)/, "");

/** The operators that a name means: one, or all overloads of a name without one. */
export function find(given) {
  const is = (wanted) =>
    operators.filter(({ id, name }) => [id, name, bare(name)].includes(wanted));
  const overloads = (wanted) => operators.filter(({ name }) => bare(name).split(".")[0] === wanted);
  const name = bare(given);
  for (const wanted of [name, functional(name)]) {
    const found = [is(wanted), overloads(wanted)].find((all) => all.length > 0);
    if (found) return found;
  }
  return [];
}

function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let k = 1; k <= b.length; k++)
      next.push(Math.min(row[k] + 1, next[k - 1] + 1, row[k - 1] + (a[i - 1] !== b[k - 1])));
    row = next;
  }
  return row[b.length];
}

/** Names that are near one that is unknown, the nearest first. */
export function near(given) {
  const name = bare(given).toLowerCase();
  const rank = (other) =>
    distance(name, other) - (name.length > 2 && other.includes(name) ? other.length : 0);
  const bases = [...new Set(operators.map((op) => bare(op.name).split(".")[0]))];
  return bases
    .map((base) => [rank(base.toLowerCase()), base])
    .filter(([apart]) => apart <= Math.max(2, name.length / 3))
    .sort(([a], [b]) => a - b)
    .slice(0, 8)
    .map(([, base]) => base);
}

/** The rows of foreign.def: operators that are refused, and the advice for each. */
export function advices() {
  const found = rows.filter(({ kind }) => kind === "FOREIGN");
  return found.map(({ columns, file, line }) => {
    const [pattern, hint] = columns.map(plain);
    return { pattern, hint, file, line };
  });
}

/** The advice of foreign.def about a name; '*' in its patterns stands for anything. */
export function adviceOf(given) {
  const name = given.includes("::") ? given : `aten::${given}`;
  return advices().find(({ pattern }) => {
    const parts = pattern.split("*").map((part) => part.replace(/[.]/g, "\\."));
    return new RegExp(`^${parts.join(".*")}$`).test(name);
  });
}

// --- Rows and functions --------------------------------------------------------------------------

const byKey = new Map();
for (const row of rows)
  for (const name of row.keys) byKey.set(name, [...(byKey.get(name) ?? []), row]);

/** The row, and those of other tables that it names by their first column, each behind it. */
function withNamed(row, found) {
  if (found.includes(row)) return;
  found.push(row);
  for (const name of row.names)
    for (const other of byKey.get(name) ?? [])
      if (other.kind !== row.kind && !name.startsWith("SC_OP_")) withNamed(other, found);
}

/** The operator's own row first. */
function rowsAbout({ id, row }) {
  const found = [];
  withNamed(row, found);
  for (const other of rows) if (other.names.has(`SC_OP_${id}`)) withNamed(other, found);
  return found;
}

/** Declarations that begin at the margin: [index, name], also by a macro, SC_KERNEL(cat, ...). */
function definedIn(text) {
  const found = [];
  for (const { 0: line, index } of text.matchAll(/^[a-z].*$/gm)) {
    const name = /\b(\w+)(?:\(| = \{)/.exec(line)?.[1];
    if (name && (!line.endsWith(";") || line.includes("= {"))) found.push([index, name]);
  }
  for (const { index } of text.matchAll(/^[A-Z][A-Z_0-9]*\(/gm)) {
    const [kind, columns] = callAt(text, index) ?? [];
    if (kind) for (const name of namesOf(kind, columns)) found.push([index, name]);
  }
  return found;
}

/** Places where the functions and structures of the core are defined: name -> { file, line }. */
function readDefinitions() {
  const found = new Map();
  for (const [file, text] of sources) {
    if (!file.endsWith(".c")) continue;
    for (const [index, name] of definedIn(text))
      if (!found.has(name)) found.set(name, { file, line: lineOf(text, index) });
  }
  return found;
}

const definitions = readDefinitions();

const functionsOf = (row) =>
  [...row.names].flatMap((name) => {
    const at = definitions.get(name);
    return at ? [{ name, ...at }] : [];
  });

/** Words of the row that a header explains: `#define SC_CORE SC_TRAIT(0)  // meaning`. */
const meanings = new Map(
  [...sources].flatMap(([file, text]) =>
    file.startsWith("src/ops/") && file.endsWith(".h")
      ? [...text.matchAll(/^#define (SC_\w+) .*?\/\/ (.*)$/gm)].map(([, word, text]) => [
          word,
          text,
        ])
      : [],
  ),
);

const wordsOf = (row) =>
  [...new Set(row.columns.join(" ").match(/\bSC_\w+/g))].flatMap((word) =>
    meanings.has(word) ? [{ word, meaning: meanings.get(word) }] : [],
  );

// --- Uses ----------------------------------------------------------------------------------------

const escaped = (text) => text.replace(/[.()]/g, "\\$&");

/** Operators whose rows call it in a text, and lines of C that name it. */
function usesOf({ id, name }) {
  const call = new RegExp(`(?<![\\w.:])${escaped(bare(name))}\\(`);
  const inTexts = rows.filter(
    (row) =>
      keyed(row).length > 0 &&
      row.columns.some(
        (column, index) =>
          index > 1 && /"/.test(column) && call.test(column.replace(/" -> .*/, "")),
      ),
  );
  const inCode = [];
  const named = new RegExp(`\\bCALL\\(\\w+, ${id}\\b|\\bSC_OP_${id}\\b`);
  for (const [file, text] of sources)
    if (file.endsWith(".c"))
      text.split("\n").forEach((line, index) => {
        if (named.test(line)) inCode.push({ file, line: index + 1 });
      });
  return {
    texts: inTexts.map(({ file, line, columns }) => ({ id: columns[0], file, line })),
    code: inCode,
  };
}

// --- Tests ---------------------------------------------------------------------------------------

const test_files = listFiles().filter((name) =>
  /^tests\/.*(\.case|\.ir|_test\.c|\.test\.ts)$/.test(name),
);

// A line that begins a case, and the name of the case.
const heads = {
  case: /^case (\S+)/,
  ir: /^=== (\S+)/,
  c: /^TEST(?:_CASES)?\((\w+)/,
  ts: /^\s*test\("(.*?)"/,
};

/** The cases that call it, by file; of files without named cases, how many lines. */
function testsOf({ id, name }) {
  const [, space, base, overload] = /^(\w+::)(\w+)(.*)$/.exec(name);
  const text = new RegExp(
    `${escaped(space)}${base}_?${escaped(overload)}(?![\\w.])|\\bSC_OP_${id}\\b`,
  );
  const found = [];
  for (const file of test_files) {
    const content = readText(file);
    if (!text.test(content)) continue;
    const head = heads[file.slice(file.lastIndexOf(".") + 1)];
    const cases = new Set();
    let current;
    let count = 0;
    for (const line of content.split("\n")) {
      current = head.exec(line)?.[1] ?? current;
      if (!text.test(line)) continue;
      count++;
      if (current) cases.add(current);
    }
    found.push({ file, lines: count, cases: [...cases] });
  }
  return found;
}

// --- The whole -----------------------------------------------------------------------------------

/** Its rows in all tables, as plain data. */
export const rowsOf = (operator) =>
  rowsAbout(operator).map((row) => ({
    table: row.file,
    line: row.line,
    kind: row.kind,
    columns: row.columns,
    functions: functionsOf(row),
    words: wordsOf(row),
  }));

/** All of it, as plain data. */
export function story(operator) {
  const { id, name, schema } = operator;
  return {
    id,
    name,
    schema,
    family: operator.row.family,
    rows: rowsOf(operator),
    advice: adviceOf(name),
    uses: usesOf(operator),
    tests: testsOf(operator),
  };
}
