// Words in code: how sentences of comments begin, and which words are retired (the glossary of
// CONTRIBUTING.md says what takes their place). Rooms that are not clean yet have their counts in
// words.json, which only fall: a bad beginning or a retired name too many is an error, a retired word
// in a comment a warning. `node tests/lint/lint.mjs --lower` writes the counts of today.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./tree.mjs";

const path = "tests/lint/words.json";

const retired = {
  none: "nan, zero, absent, empty or success",
  nothing: "no value, no effect or empty",
  far: "infinite or distant",
  turned: "negated, rotated or transposed",
  settle: "one verb each: match, choose, order, finish",
  beside: "next to, with, in addition to",
  told: "reported, known or given",
};
const forms = { settles: "settle", settled: "settle", settling: "settle" };

// Plain English stays: distances in words, and the pronouns. Retired are the senses of a value: "NULL:
// nothing", "an average of nothing".
const plain = [
  /\bnothing\b(?!(?<=(?:[:;] |\b(?:or|for|of|than|means?|by|is|are) )nothing) *(?:[.,;:)]|$))/gi,
  /\btold apart\b/g,
  /\b(so|as|how|too|that|this|very|by) far\b|\bfar (from|as|above|below|more|less|fewer|too|away|off)\b/gi,
  /(?<![:=] )\bnone\b/g,
];

// Python's None keeps its name, and so do names that users or other programs know.
const kept = new Set(
  ["as_none", "sc_arg_none", "sc_pickle_make_none", "op_none", "read_none", "put_none"].concat(
    ["sc_call_is_none", "sc_x_none", "sc_x_is_none", "wasm_run_set_none", "run_set_none"],
    ["SC_PHASE_settle", "sc_rule_is_none", "SC_WORD_is_absent", "allSettled"],
  ),
);

// Turns of phrase that a reader stumbles over, and plain words for them.
const turns = [
  [/^Whether\b/, "True if ..., or a verb: Checks that ..."],
  [/(?<!\bthere )\b(?:is|are) none\b/, "is not one, is not valid, is absent"],
  [/\bwhoever\b/i, "the code that ..., the caller"],
  [/\b(?:comes?|came) of\b/, "the result of, becomes, follows from"],
  [/\bleft over\b/, "the rest, the remainder, remains"],
  [/\b(?:take|takes|taken|took) apart\b/, "decompose, split"],
];

const checked = /^((src|wasm|web|tools|tests)\/.*\.(c|h|inc|def|mjs|ts|tsx|py|sh)|\.ci\/\w+)$/;
// Comments begin with '#' in these; names of Python's own, such as None, are not looked at.
const isScript = (name) => /\.(py|sh)$|^\.ci\//.test(name);
const generated = /\.gen\.ts$/;

// A room is the folder of a file, at most three deep.
const roomOf = (name) => name.split("/").slice(0, -1).slice(0, 3).join("/");

// Questions may begin so.
const beginning = /^(What|Of|Who|Where)\b[^?]*$/;
const sentencesOf = (text) => text.split(/(?<=[.!?:]) +/);

const token = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`|\/\/.*|\/\*[^]*?\*\//g;

// Regular expressions and the text between tags, which are no names either.
const expression =
  /(?<=[(,=:[!&|?\s])\/(?![/*\s])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/g;
const shownText = />[^<>{}();=]*</g;

// Places that an error lists.
const shown_max = 10;

// The text of a block comment without its frame.
const inside = (comment) =>
  comment
    .slice(2, -2)
    .replace(/^\s*\*+/gm, "")
    .replace(/\s+/g, " ")
    .trim();

// Comments of a text: { line, text, isStacked } each. Lines that follow one another are one comment;
// an empty one ends it.
export function commentsOf(text) {
  const comments = [];
  let [end, last] = [-1, null];
  for (const { 0: found, index } of text.matchAll(token)) {
    if (found[0] !== "/") continue;
    const gap = end < 0 ? "" : text.slice(end, index);
    end = index + found.length;
    const line = text.slice(0, index).split("\n").length;
    if (!found.startsWith("//")) {
      const isDoc = found.startsWith("/**");
      const isStacked = isDoc && last?.isDoc === true && /^\s*$/.test(gap);
      comments.push((last = { line, text: inside(found), isDoc, isStacked }));
      continue;
    }
    const words = found
      .slice(2)
      .replace(/^ --- /, "")
      .trim();
    if (words === "") last = null;
    else if (last && last.isDoc === undefined && /^\n[ \t]*$/.test(gap)) last.text += ` ${words}`;
    else comments.push((last = { line, text: words }));
  }
  return comments;
}

// Comments and docstrings of Python and shell.
function scriptComments(text) {
  const comments = [];
  let last = null;
  text.split("\n").forEach((code, i) => {
    const found = /^(.*?)(?:^|\s)#(?:\s+(.*)|)$/.exec(code);
    const isAlone = found && found[1].trim() === "";
    const words = found?.[2]?.trim() ?? "";
    if (words === "") last = null;
    else if (isAlone && last?.end === i)
      Object.assign(last, { text: `${last.text} ${words}`, end: i + 1 });
    else comments.push((last = { line: i + 1, text: words, end: i + 1 }));
  });
  for (const { 0: found, index } of text.matchAll(/"""[^]*?"""/g))
    comments.push({
      line: text.slice(0, index).split("\n").length,
      text: found.slice(3, -3).replace(/\s+/g, " ").trim(),
    });
  return comments;
}

// Words of names: camelCase and snake_case are split; constants in capitals are no names.
function wordsOfNames(text) {
  const code = text
    .replace(token, (found) => found.replace(/[^\n]/g, " "))
    .replace(expression, " ")
    .replace(shownText, "> <");
  const names = [...code.matchAll(/[A-Za-z_]\w*/g)].map(([name]) => name);
  return names
    .filter((name) => !kept.has(name))
    .flatMap((name) => name.match(/[A-Z]?[a-z]+/g) ?? [])
    .map((word) => word.toLowerCase());
}

function wordsOfComments(comments) {
  const texts = comments.map(({ text }) => plain.reduce((rest, ex) => rest.replace(ex, ""), text));
  return texts.flatMap((text) => text.match(/\b[a-z]+\b/g) ?? []);
}

const retiredIn = (words) =>
  words.map((word) => forms[word] ?? word).filter((word) => Object.hasOwn(retired, word));

// The turns of phrase in a sentence, each with the words to say instead.
export const turnsIn = (sentence) =>
  turns.flatMap(([turn, instead]) => {
    const found = turn.exec(sentence);
    return found ? [{ turn: found[0], instead }] : [];
  });

// A text's own: sentences with bad beginnings, turns of phrase, retired words in names and comments.
export function findWords(text, isOfScript = false) {
  const comments = isOfScript ? scriptComments(text) : commentsOf(text);
  const beginnings = comments.flatMap(({ line, text: words }) =>
    sentencesOf(words)
      .filter((sentence) => beginning.test(sentence))
      .map((sentence) => ({ line, word: sentence.split(" ")[0] })),
  );
  return {
    beginnings,
    turns: comments.flatMap(({ line, text: words }) =>
      sentencesOf(words)
        .flatMap(turnsIn)
        .map((found) => ({ line, ...found })),
    ),
    names: isOfScript ? [] : retiredIn(wordsOfNames(text)),
    comments: retiredIn(wordsOfComments(comments)),
    stacked: comments.filter(({ isStacked }) => isStacked).map(({ line }) => line),
  };
}

const advice = (words) => [...new Set(words)].map((word) => `${word}: ${retired[word]}`).join("; ");

function checkRoom(room, found, most, { error, warn }) {
  const { beginnings, names, comments } = found;
  if (beginnings.length > (most?.beginnings ?? 0))
    for (const { name, line, word } of beginnings.slice(0, shown_max))
      error(name, line, `a sentence begins with "${word}": name its subject`);
  const count = (kind, words, report) => {
    const bound = most?.[kind] ?? 0;
    if (words.length > bound)
      report(room, 1, `${words.length} retired words in ${kind}, not ${bound} (${advice(words)})`);
  };
  count("names", names, error);
  count("comments", comments, warn);
}

// The counts of a room that are to be held from now on.
const countsOf = (found, most) =>
  ["beginnings", "names", "comments"]
    .map((kind) => [kind, Math.min(found[kind].length, most ? (most[kind] ?? 0) : Infinity)])
    .filter(([, count]) => count > 0);

function write(rooms, most) {
  const rows = [...rooms]
    .map(([room, found]) => [room, countsOf(found, most[room])])
    .filter(([, counts]) => counts.length)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([room, counts]) => {
      const members = counts.map(([kind, count]) => `"${kind}": ${count}`).join(", ");
      return `  ${JSON.stringify(room)}: { ${members} }`;
    });
  writeFileSync(join(root, path), `{\n${rows.join(",\n")}\n}\n`);
}

// Holds rooms to their counts. If only some files are checked, counts of their rooms are bounds, too.
export function checkWords(files, readText, report, lowers) {
  const most = JSON.parse(readText(path));
  const rooms = new Map();
  for (const name of files) {
    if (!checked.test(name) || generated.test(name) || name === "tests/lint/words.mjs") continue;
    const found = findWords(readText(name), isScript(name));
    const { beginnings, names, comments, stacked } = found;
    const room = rooms.get(roomOf(name)) ?? { beginnings: [], names: [], comments: [] };
    rooms.set(roomOf(name), room);
    room.beginnings.push(...beginnings.map((found) => ({ name, ...found })));
    room.names.push(...names);
    room.comments.push(...comments);
    for (const line of stacked) report.error(name, line, "two doc comments on one declaration");
    for (const { line, turn, instead } of found.turns)
      report.error(name, line, `"${turn}" in a comment: say ${instead}`);
  }
  if (lowers) return write(rooms, most);
  for (const [room, found] of rooms) checkRoom(room, found, most[room], report);
}
