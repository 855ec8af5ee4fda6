// The tables of the core (src/**/*.def) and the names that their macros make. A row is what stands
// in a .def file, KIND(column, ...). A macro that pastes, `sc_infer_##rule`, makes a name of a
// column. Rows that make the same name belong together: that is how a row finds its function, and
// the rows of other tables about the same operator.
import { codeOf, listFiles, readText } from "../../tests/lint/tree.mjs";

const files = listFiles().filter((name) => /^src\/.*\.(c|h|def|inc)$/.test(name));
const texts = new Map(files.map((name) => [name, readText(name)]));

/** Texts of the C files and tables, by path. */
export const sources = texts;

// --- Text ----------------------------------------------------------------------------------------

/** The index behind the bracket that closes the one at `open`. */
function closing(text, open) {
  let depth = 0;
  for (let i = open; i < text.length; i++) {
    if (text[i] === '"') {
      for (i++; text[i] !== '"'; i++) if (text[i] === "\\") i++;
    } else if ("([{".includes(text[i])) depth++;
    else if (")]}".includes(text[i]) && --depth === 0) return i + 1;
  }
  return -1;
}

/** Splits at commas outside of brackets and strings. */
function columnsOf(text) {
  const columns = [];
  let from = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '"') for (i++; text[i] !== '"'; i++) if (text[i] === "\\") i++;
    if ("([{".includes(text[i])) i = closing(text, i) - 1;
    if (text[i] === ",") {
      columns.push(text.slice(from, i));
      from = i + 1;
    }
  }
  return [...columns, text.slice(from)].map((column) =>
    column
      .trim()
      .replace(/\s+/g, " ")
      .replace(/(?<!\\)" "/g, ""),
  );
}

/** The macro that is called at an index of the text, its columns, and where it ends. */
export function callAt(text, index) {
  const open = text.indexOf("(", index);
  const end = closing(text, open);
  if (end < 0) return undefined;
  return [text.slice(index, open), columnsOf(text.slice(open + 1, end - 1)), end];
}

/** The macros that a text calls, with their columns. */
const callsIn = (text) =>
  [...text.matchAll(/\b[A-Z][A-Z_0-9]*\(/g)].flatMap(({ index }) => {
    const call = callAt(text, index);
    return call ? [call] : [];
  });

export const lineOf = (text, index) => text.slice(0, index).split("\n").length;

/** The text of a column that is one string; other columns as they are. */
export const plain = (column) =>
  /^"(?:[^"\\]|\\.)*"$/.test(column) ? column.slice(1, -1).replace(/\\(.)/g, "$1") : column;

// --- Macros --------------------------------------------------------------------------------------

/** Every `#define NAME(params) body` of the sources: NAME -> [{ params, body }]. */
function readMacros() {
  const macros = new Map();
  for (const text of texts.values()) {
    const code = codeOf(text).replace(/\\\n/g, "  ");
    for (const [, name, params, body] of code.matchAll(/^#define (\w+)\(([^)]*)\)(.*)$/gm)) {
      const all = macros.get(name) ?? [];
      all.push({ params: params.split(",").map((param) => param.trim()), body });
      macros.set(name, all);
    }
  }
  return macros;
}

const macros = readMacros();

/** The names of a macro's columns, by the definition that names most of them. */
export function columnNames(kind) {
  const named = (macros.get(kind) ?? []).map(({ params }) => params.filter((p) => p !== "..."));
  return named.reduce((most, params) => (params.length > most.length ? params : most), []);
}

/** Columns that the macro fills: [{ index, before, after }] for `before##column##after`. */
function pastesOf(kind, seen = new Set()) {
  if (seen.has(kind)) return [];
  seen.add(kind);
  const found = [];
  for (const { params, body } of macros.get(kind) ?? []) {
    for (const [, before, param, after = ""] of body.matchAll(/(\w*)##(\w+)(?:##(\w+))?/g)) {
      const index = params.indexOf(param);
      if (index >= 0) found.push({ index, before, after });
    }
    // A macro that hands its columns on to another one makes the names of that one.
    for (const [inner, args] of callsIn(body))
      for (const { index, before, after } of pastesOf(inner, seen)) {
        const [, front = "", param, back = ""] =
          /^(?:(\w+)##)?(\w+)(?:##(\w+))?$/.exec(args[index] ?? "") ?? [];
        const own = params.indexOf(param);
        if (own >= 0) found.push({ index: own, before: before + front, after: back + after });
      }
  }
  seen.delete(kind);
  return found;
}

const pastes = new Map();
const pastesOnce = (kind) => {
  if (!pastes.has(kind)) pastes.set(kind, pastesOf(kind));
  return pastes.get(kind);
};

/** The names that a row's first column makes: it is the row that they stand for. */
const keysOf = (kind, columns) =>
  new Set(
    pastesOnce(kind).flatMap(({ index, before, after }) =>
      index === 0 ? [before + columns[0] + after] : [],
    ),
  );

/** Every name that a row makes, by itself or by the macros in its columns. */
export function namesOf(kind, columns) {
  const names = new Set();
  for (const { index, before, after } of pastesOnce(kind))
    if (/^\w+$/.test(columns[index] ?? "")) names.add(before + columns[index] + after);
  for (const column of columns)
    for (const [inner, args] of callsIn(column))
      for (const name of namesOf(inner, args)) names.add(name);
  return names;
}

// --- Rows ----------------------------------------------------------------------------------------

function rowsOf(file) {
  const text = codeOf(texts.get(file));
  const families = [...text.matchAll(/^#define FAMILY SC_FAMILY_(\w+)/gm)];
  const code = text.replace(/^#(?:.*\\\n)*.*/gm, (directive) => directive.replace(/[^\n]/g, " "));
  const rows = [];
  let end = 0;
  for (const { index } of code.matchAll(/(?<=^[ \t]*)[A-Z][A-Z_0-9]*\(/gm)) {
    if (index < end) continue;
    const [kind, columns, behind] = callAt(code, index);
    end = behind;
    rows.push({
      file,
      line: lineOf(code, index),
      kind,
      columns,
      names: namesOf(kind, columns),
      keys: keysOf(kind, columns),
      family: families.findLast((family) => family.index < index)?.[1].toLowerCase(),
    });
  }
  return rows;
}

/** Every row of every table. */
export const rows = files.filter((name) => name.endsWith(".def")).flatMap(rowsOf);

/** The subject of a table, from the first sentence of its head. */
export function aboutTable(file) {
  const head = /^(?:\/\/.*\n)+/.exec(texts.get(file))?.[0] ?? "";
  return head
    .replace(/^\/\/ ?/gm, "")
    .replace(/\s+/g, " ")
    .split(/[.:] /)[0]
    .trim();
}
