// The prose of the documentation in figures: words, words in a sentence, the longest sentence and the
// longest table cell of each page. Fails where a page is harder to read than the limits allow.
//   node tests/lint/prose.mjs [PAGE...]
import { readProse, wordsOf } from "./sentences.mjs";
import { listFiles, readText, reporter } from "./tree.mjs";
import { turnsIn } from "./words.mjs";

const MEAN_MAX = 18;
const SENTENCE_MAX = 35;
const README_SENTENCE_MAX = 25;
const README_LINES_MAX = 150;
const CELL_MAX = 20;

// A sentence that begins so has no plain subject. Questions may, and so may headings.
const beginning = /^["'(]*(What|Of|Who|Where)\b(?!.*\?["')]*$)/;

const { error, finish } = reporter("prose");
const length = (text) => wordsOf(text).length;
const largest = (list) => list.reduce((most, { text }) => Math.max(most, length(text)), 0);
const head = (text) => (text.length > 60 ? `${text.slice(0, 60)}...` : text);

function figuresOf(page) {
  const { sentences, cells, headings } = readProse(readText(page));
  const words = sentences.reduce((sum, { text }) => sum + length(text), 0);
  const others = [...cells, ...headings].reduce((sum, { text }) => sum + length(text), 0);
  return {
    sentences,
    cells,
    row: {
      page,
      words: words + others,
      sentences: sentences.length,
      mean: words / Math.max(1, sentences.length),
      sentence: largest(sentences),
      cell: largest(cells),
    },
  };
}

function judge(page, { sentences, cells, row }) {
  const most = page === "README.md" ? README_SENTENCE_MAX : SENTENCE_MAX;
  if (row.mean > MEAN_MAX)
    error(page, 1, `${row.mean.toFixed(1)} words in a sentence, more than ${MEAN_MAX}`);
  for (const { line, text } of sentences) {
    if (length(text) > most)
      error(page, line, `a sentence of ${length(text)} words, more than ${most}: ${head(text)}`);
  }
  for (const { line, text } of [...sentences, ...cells])
    if (beginning.test(text)) error(page, line, `no plain subject: ${head(text)}`);
  for (const { line, text } of [...sentences, ...cells])
    for (const { turn, instead } of turnsIn(text)) error(page, line, `"${turn}": say ${instead}`);
  for (const { line, text } of cells)
    if (length(text) > CELL_MAX)
      error(page, line, `a cell of ${length(text)} words, more than ${CELL_MAX}: ${head(text)}`);
  const lines = readText(page).split("\n").length - 1;
  if (page === "README.md" && lines > README_LINES_MAX)
    error(page, lines, `${lines} lines, more than ${README_LINES_MAX}`);
}

const named = process.argv.slice(2);
const isPage = (name) => /^(README|ARCHITECTURE|CONTRIBUTING)\.md$|^docs\/.*\.md$/.test(name);
const pages = named.length ? named : listFiles().filter(isPage);

const rows = pages.map((page) => {
  const figures = figuresOf(page);
  judge(page, figures);
  return figures.row;
});
const wide = (text, width) => String(text).padStart(width);
console.log("page                              words  sentences  mean  longest  cell");
for (const { page, words, sentences, mean, sentence, cell } of rows)
  console.log(
    page.padEnd(32) +
      [wide(words, 7), wide(sentences, 11), wide(mean.toFixed(1), 6), wide(sentence, 9)].join("") +
      wide(cell, 6),
  );
finish(`${rows.length} pages`);
