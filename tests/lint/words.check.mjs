// Does tests/lint/words.mjs find what it promises? Texts, and the counts that each must give:
// bad beginnings, retired words in names, retired words in comments, stacked doc comments.
import { findWords } from "./words.mjs";

const cases = [
  ["// What a row is.\nint a;\n", [1, 0, 0, 0]],
  ["// A row. Of two rows the first.\nint a;\n", [1, 0, 0, 0]],
  ["// A row,\n// Who knows.\nint a;\n", [0, 0, 0, 0]], // one sentence over two lines
  ["// A row.\n//\n// Where it lies.\nint a;\n", [1, 0, 0, 0]],
  ["// What does a row hold?\nint a;\n", [0, 0, 0, 0]], // a question
  ["/** Of all rows. */\nconst a = 1;\n", [1, 0, 0, 0]],
  ["/**\n * The rows.\n * What they hold.\n */\nconst a = 1;\n", [1, 0, 0, 0]],
  ["// --- What is read ---\nint a;\n", [1, 0, 0, 0]],
  ["int a;  // Of all\nint b;\n", [1, 0, 0, 0]],
  ['say("// What is said");\n', [0, 0, 0, 0]], // text
  ["int is_none, toldTwice;\n", [0, 2, 0, 0]],
  ["enum { SC_NONE, A_FAR_CRY };\n", [0, 0, 0, 0]], // constants
  ["int sc_arg_none;\n", [0, 0, 0, 0]], // Python's None
  ["// The scale is settled beside it.\nint a;\n", [0, 0, 2, 0]],
  ["// As far as it goes, if there is none.\nint a;\n", [0, 0, 0, 0]], // plain English
  ["// NULL: none. The far one.\nint a;\n", [0, 0, 2, 0]],
  ["// It allocates nothing. Two that cannot be told apart.\nint a;\n", [0, 0, 0, 0]],
  ["// NULL: nothing. The sum of nothing, or nothing.\nint a;\n", [0, 0, 3, 0]],
  ["check(/is nothing/, x);\nreturn <p>none</p>;\n", [0, 0, 0, 0]], // no names
  ["/** One. */\n/** Two. */\nconst a = 1;\n", [0, 0, 0, 1]],
  ["/** One. */\nconst a = 1;\n/** Two. */\nconst b = 1;\n", [0, 0, 0, 0]],
];

// Comments, and the turn of phrase that each must give.
const phrases = [
  ["Whether it is one.", "Whether"],
  ["A row. Whether it is one.", "Whether"],
  ["A tree that is damaged is none.", "is none"],
  ["NULL if there is none.", undefined],
  ["The caller, whoever that is.", "whoever"],
  ["Prints what came of it.", "came of"],
  ["Rows that are left over.", "left over"],
  ["A product that is taken apart.", "taken apart"],
  ["It takes a part of the graph.", undefined],
];

// Python and shell.
const scripts = [
  ["# What a row is.\na = 1\n", [1, 0, 0, 0]],
  ["# A row,\n# Who knows.\nnone = 1  # Of all\n", [1, 0, 0, 0]],
  ['def f():\n    """Of two rows the first, told twice."""\n', [1, 0, 1, 0]],
  ["#!/bin/sh\necho '#Of'\n", [0, 0, 0, 0]],
];

let failed = 0;
const all = [...cases.map((row) => [...row, false]), ...scripts.map((row) => [...row, true])];
for (const [text, expected, isOfScript] of all) {
  const { beginnings, names, comments, stacked } = findWords(text, isOfScript);
  const found = [beginnings, names, comments, stacked].map((list) => list.length);
  if (found.join() === expected.join()) continue;
  console.log(`${found} instead of ${expected}: ${JSON.stringify(text)}`);
  failed++;
}
for (const [comment, expected] of phrases) {
  const [found] = findWords(`// ${comment}\nint a;\n`).turns;
  if (found?.turn === expected) continue;
  console.log(`${found?.turn} instead of ${expected}: ${comment}`);
  failed++;
}
const count = all.length + phrases.length;
console.log(`words: ${count - failed} passed, ${failed} failed`);
process.exitCode = failed ? 1 : 0;
