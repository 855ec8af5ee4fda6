// C does not say which argument of a call is computed first, and compilers differ. So where calls
// record nodes, at most one argument of a call may do so: else the order of a program's nodes would
// depend on who compiled us.
import { codeOf, readText } from "./tree.mjs";

// Functions that record by themselves; all others record by the functions that they call.
const first = ["sc_trace_op", "sc_trace_record", "sc_build"];
const bare = (text) => codeOf(text, false);

// Calls through a pointer record, as far as anybody knows: fields, parameters and types of these.
const a_pointer = /\(\*(\w+)\)\(sc_trace \*t\b/g;

const a_macro = /^#define (\w+)\([^)]*\)((?:[^\n\\]|\\\n)*)/gm;
// clang-format puts both at the left edge: where a function begins, and its closing brace.
const a_function = /^([a-z][^\n;{}=]*?)\b(\w+)\(([^;{}]*)\) \{(.*\}\n|[\s\S]*?\n\}\n)/gim;

// Functions and macros of a file, in order: name, whether other files see it, and the body.
function definitions(file, text) {
  const all = [];
  for (const [, name, body] of text.matchAll(a_macro)) all.push({ name, body, shared: true });
  for (const found of text.replace(a_macro, "").matchAll(a_function)) {
    const [, head, name, , body] = found;
    all.push({ name, body, shared: file.endsWith(".h") || !head.includes("static ") });
  }
  return all;
}

const pointers = (text) => [...text.matchAll(a_pointer)].map(([, name]) => name);

function ofTypes(text, types) {
  const declared = new RegExp(`\\b(?:${[...types].join("|")}) (\\w+)\\b`, "g");
  return types.size ? [...text.matchAll(declared)].map(([, name]) => name) : [];
}

/**
 * For each file, the names of all functions that record, by themselves or by a function that they
 * call.
 */
export function recorders(files) {
  const texts = files.map((name) => bare(readText(name)));
  const shared = new Set(first);
  const own = texts.map(() => new Set());
  const types = new Set(texts.flatMap(pointers));
  texts.forEach((text, file) => {
    const names = [...pointers(text), ...ofTypes(text, types)];
    for (const name of names) (files[file].endsWith(".h") ? shared : own[file]).add(name);
  });
  const all = files.map((name, file) => definitions(name, texts[file]));
  for (let grown = true; grown;) {
    grown = false;
    all.forEach((list, file) => {
      for (const { name, body, shared: is_shared } of list) {
        const names = is_shared ? shared : own[file];
        if (names.has(name)) continue;
        const calls = [...body.matchAll(/\b(\w+)\(/g)].map(([, called]) => called);
        if (!calls.some((called) => shared.has(called) || own[file].has(called))) continue;
        names.add(name);
        grown = true;
      }
    });
  }
  return new Map(files.map((name, file) => [name, new Set([...shared, ...own[file]])]));
}

// Reads one list between brackets, from behind the opening one: how many of its parts record, and
// where it ends. Lists inside tell what they find by themselves.
function readList(text, at, names, found) {
  const start = at;
  let recording = 0;
  let records = false;
  let any = false;
  for (let word = ""; at < text.length; at++) {
    const c = text[at];
    if (/\w/.test(c)) {
      word += c;
      continue;
    }
    if (c === "(" || c === "{" || c === "[") {
      if (c === "(" && names.has(word)) records = true;
      const inner = readList(text, at + 1, names, found);
      // Statements of a body follow each other.
      if (inner.any) records = true;
      at = inner.end;
    } else if (c === "," || c === ")" || c === "}" || c === "]" || c === ";") {
      if (records) recording++;
      any ||= records;
      records = false;
      if (c === ";") recording = 0;
      if (c !== "," && c !== ";") {
        if (recording > 1 && c !== "]") found.push(start);
        return { end: at, any };
      }
    }
    if (!/\s/.test(c)) word = "";
  }
  return { end: at, any };
}

/**
 * Lines of a file at which more than one argument of a call, or part of an initialiser, records.
 */
export function unordered(text, names) {
  const found = [];
  const plain = bare(text);
  for (const { index, 0: whole, 4: body } of plain.matchAll(a_function))
    readList(plain, index + whole.length - body.length, names, found);
  const lines = found.map((at) => plain.slice(0, at).split("\n").length);
  return [...new Set(lines)].sort((a, b) => a - b);
}
