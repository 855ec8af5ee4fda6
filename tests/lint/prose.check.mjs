// Does tests/lint/prose.mjs read pages as people do? Pages, and the sentences and cells in them.
import assert from "node:assert/strict";
import { readProse, wordsOf } from "./sentences.mjs";

const texts = (list) => list.map(({ text }) => text);
const sentencesOf = (page) => texts(readProse(page).sentences);

assert.deepEqual(sentencesOf("# Title\n\nOne. Two\nlines? 3 more."), [
  "One.",
  "Two lines?",
  "3 more.",
]);
assert.deepEqual(sentencesOf("Release 1.5 runs. `code` too.\n"), ["Release 1.5 runs.", "X too."]);
assert.deepEqual(sentencesOf("See\n\n```sh\nWhat. Ever.\n```\n\n- one\n  more\n2. two\n"), [
  "See",
  "one more",
  "two",
]);
assert.deepEqual(sentencesOf("![A picture.](a.svg)\n<!-- Not\n\nthis. -->\n"), []);
assert.deepEqual(sentencesOf("A **bold** [link](x.md)."), ["A bold link."]);
assert.deepEqual(texts(readProse("| a b | `c|d` |\n| --- | --- |\n| 1 | e f g |\n").cells), [
  "a b",
  "X",
  "1",
  "e f g",
]);
assert.deepEqual(texts(readProse("## What now?\n").headings), ["What now?"]);
assert.equal(wordsOf("one, two - three").length, 3);
console.log("prose: 8 passed, 0 failed");
