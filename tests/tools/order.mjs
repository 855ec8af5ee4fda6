// C does not say which argument of a call is computed first, and compilers differ. So where calls
// record nodes, at most one argument of a call may do so: else the order of a program's nodes would
// depend on who compiled us.
import { readText } from "./tree.mjs";

// What records by itself; the rest of the files, by what they call.
const first = ["sc_trace_op", "sc_trace_record"];

// Text with its comments and strings blanked, at the same places.
function bare(text) {
  const blank = (part) => part.replace(/[^\n]/g, " ");
  return text
    .replace(/\/\/[^\n]*|\/\*[\s\S]*?\*\//g, blank)
    .replace(/"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/g, blank);
}

const a_macro = /^#define (\w+)\([^)]*\)((?:[^\n\\]|\\\n)*)/gm;
// clang-format puts both at the left edge: where a function begins, and its closing brace.
const a_function = /^([a-z][^\n;{}=]*?)\b(\w+)\(([^;{}]*)\) \{(.*\}\n|[\s\S]*?\n\}\n)/gim;

// Functions and macros of a file, in order: name, whether other files see it, and the body.
function definitions(file) {
  const text = bare(readText(file));
  const all = [];
  for (const [, name, body] of text.matchAll(a_macro)) all.push({ name, body, shared: true });
  for (const found of text.replace(a_macro, "").matchAll(a_function)) {
    const [, head, name, , body] = found;
    all.push({ name, body, shared: file.endsWith(".h") || !head.includes("static ") });
  }
  return all;
}

/** Of each file, the names of all that records there: what it calls does, in the end. */
export function recorders(files) {
  const shared = new Set(first);
  const own = files.map(() => new Set());
  const all = files.map(definitions);
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

/** Where of a file more than one argument of a call, or part of an initialiser, records. */
export function unordered(text, names) {
  const found = [];
  const plain = bare(text);
  for (const { index, 0: whole, 4: body } of plain.matchAll(a_function))
    readList(plain, index + whole.length - body.length, names, found);
  const lines = found.map((at) => plain.slice(0, at).split("\n").length);
  return [...new Set(lines)].sort((a, b) => a - b);
}
