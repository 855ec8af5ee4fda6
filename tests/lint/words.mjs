// Words in code: how comments begin, and which words are retired (the glossary of CONTRIBUTING.md has
// their successors). Rooms that are not clean yet have counts in words.json; a count only falls.
// `node tests/lint/lint.mjs --lower` writes the counts of today where they are lower.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./tree.mjs";

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

// Python's None keeps its name, and so do texts that programs of others expect.
const kept = new Set(
  ["as_none", "sc_arg_none", "sc_pickle_make_none", "op_none", "read_none", "put_none"].concat(
    ["sc_call_is_none", "sc_x_none", "sc_x_is_none", "wasm_run_set_none", "run_set_none"],
    ["SC_PHASE_settle"],
  ),
);

const checked = /^(src|wasm|web|tools|tests)\/.*\.(c|h|inc|def|mjs|ts|tsx)$/;
const generated = /\.gen\.ts$/;

// A room is the folder of a file, at most three deep.
const roomOf = (name) => name.split("/").slice(0, -1).slice(0, 3).join("/") || ".";

// Questions may begin so.
const beginning = /^(What|Of|Who|Where)\b[^?]*$/;
const sentencesOf = (text) => text.split(/(?<=[.!?:]) +/);
const token = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`|\/\/.*|\/\*[^]*?\*\//g;

// Places that a room with too many is reported by.
const shown_max = 10;

const lineOf = (text, at) => text.slice(0, at).split("\n").length;

// Comments of a text: { line, text, isDoc } each; lines that follow one another are one comment.
export function commentsOf(text) {
  const comments = [];
  let end = -1;
  for (const { 0: found, index } of text.matchAll(token)) {
    if (found[0] !== "/") continue;
    const gap = end >= 0 ? text.slice(end, index) : "x";
    end = index + found.length;
    const isLine = found.startsWith("//");
    const plain = isLine
      ? found.slice(2).trim()
      : found
          .slice(2, -2)
          .replace(/^\s*\*+/gm, "")
          .replace(/\s+/g, " ")
          .trim();
    const last = comments.at(-1);
    if (isLine && last?.isLine && /^\n[ \t]*$/.test(gap) && plain !== "" && !last.isEnded)
      last.text += ` ${plain}`;
    else if (!isLine || plain !== "")
      comments.push({
        line: lineOf(text, index),
        text: plain,
        isLine,
        isDoc: found.startsWith("/**"),
        isStacked: found.startsWith("/**") && last?.isDoc === true && /^\s*$/.test(gap),
      });
    else if (last) last.isEnded = true;
  }
  return comments;
}

// Words of identifiers: camelCase and snake_case are split; constants in capitals are not names.
function wordsOf(code) {
  const words = [];
  for (const [name] of code.matchAll(/[A-Za-z_]\w*/g)) {
    if (kept.has(name)) continue;
    for (const [word] of name.matchAll(/[A-Z]?[a-z]+/g)) words.push(word.toLowerCase());
  }
  return words;
}

// Counts of retired words in names and comments, and of comments with a bad beginning.
export function countWords(text) {
  const comments = commentsOf(text);
  const code = text.replace(token, (found) => found.replace(/[^\n]/g, " "));
  const prose = comments.flatMap((comment) => comment.text.match(/\b[a-z]+\b/g) ?? []);
  const found = {};
  for (const word of [...wordsOf(code), ...prose]) {
    const entry = forms[word] ?? word;
    if (Object.hasOwn(retired, entry)) found[entry] = (found[entry] ?? 0) + 1;
  }
  const bad = comments.flatMap(({ line, text }) =>
    sentencesOf(text)
      .filter((sentence) => beginning.test(sentence))
      .map((sentence) => ({ line, text: sentence })),
  );
  return { found, bad, stacked: comments.filter((comment) => comment.isStacked) };
}

// Holds files to the counts of their rooms. `partial` when only some files are looked at: then sums
// cannot be compared, and only rooms without any count are.
export function checkWords(files, readText, { error, warn }, { isPartial, lowers }) {
  const path = "tests/lint/words.json";
  const most = JSON.parse(readText(path));
  const now = {};
  const places = {};
  for (const name of files) {
    if (!checked.test(name) || generated.test(name) || name === "tests/lint/words.mjs") continue;
    const room = roomOf(name);
    const { found, bad, stacked } = countWords(readText(name));
    const counts = (now[room] ??= {});
    for (const [word, count] of Object.entries(found)) counts[word] = (counts[word] ?? 0) + count;
    counts.beginnings = (counts.beginnings ?? 0) + bad.length;
    (places[room] ??= []).push(...bad.map(({ line, text }) => [name, line, text]));
    for (const { line } of stacked) error(name, line, "two doc comments on one declaration");
  }
  for (const [room, places_] of Object.entries(places))
    if (places_.length > (most[room]?.beginnings ?? 0))
      for (const [name, line, text] of places_.slice(0, shown_max))
        error(name, line, `a sentence begins with "${text.split(" ")[0]}": name its subject`);
  if (isPartial) return;
  for (const [room, counts] of Object.entries(now))
    for (const [word, count] of Object.entries(counts)) {
      const bound = most[room]?.[word] ?? 0;
      if (word !== "beginnings" && count > bound && !(lowers && !most[room]))
        error(room, 1, `"${word}" ${count} times, not ${bound}: say ${retired[word]}`);
      if (count < bound && !lowers)
        warn(room, 1, `"${word}" only ${count} times, not ${bound}: lint.mjs --lower`);
    }
  for (const room of Object.keys(most))
    if (!now[room] && !lowers)
      warn(room, 1, "has counts in words.json and no files: lint.mjs --lower");
  if (lowers) write(path, most, now);
}

// Only lower counts are written, but for rooms that are new.
function write(path, most, now) {
  const rows = {};
  for (const room of Object.keys(now).sort()) {
    const counts = Object.entries(now[room])
      .map(([word, count]) => [
        word,
        Math.min(count, most[room]?.[word] ?? (most[room] ? 0 : count)),
      ])
      .filter(([, count]) => count > 0)
      .sort(([a], [b]) => (a < b ? -1 : 1));
    if (counts.length) rows[room] = Object.fromEntries(counts);
  }
  const lines = Object.entries(rows).map(
    ([room, counts]) =>
      `  ${JSON.stringify(room)}: { ${Object.entries(counts)
        .map(([word, count]) => `"${word}": ${count}`)
        .join(", ")} }`,
  );
  writeFileSync(join(root, path), `{\n${lines.join(",\n")}\n}\n`);
}
