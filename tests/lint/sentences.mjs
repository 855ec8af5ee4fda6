// The sentences and table cells of a Markdown page. Code blocks, comments and pictures are no prose;
// code within a line counts as one word.

const CODE = "X";

// The text of a line as it is read: code is a word, a link is its text.
const plain = (line) =>
  line
    .replace(/`[^`]*`/g, CODE)
    .replace(/!\[[^\]]*\]\([^)]*\)/g, "")
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}/g, "")
    .trim();

export const wordsOf = (text) => text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word));

// A sentence ends at a full stop, a question mark or an exclamation mark before a new beginning.
const split = (text) => text.split(/(?<=[.!?]["')]*)\s+(?=["'(]*[\p{Lu}\p{N}])/u);

const isTableRow = (line) => /^\s*\|.*\|\s*$/.test(line);
const isRule = (line) => /^\s*\|[\s|:-]+\|\s*$/.test(line);
const cellsOf = (line) =>
  plain(line)
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim());

// Gives { sentences, cells, headings }, each a list of { line, text }.
export function readProse(markdown) {
  const found = { sentences: [], cells: [], headings: [] };
  const blank = (part) => part.replace(/[^\n]/g, "");
  const lines = markdown
    .replace(/^(\s*)```[^]*?^\s*```$/gm, blank)
    .replace(/<!--[^]*?-->/g, blank)
    .split("\n");
  let paragraph = { line: 0, text: "" };
  const close = () => {
    for (const text of split(paragraph.text))
      if (wordsOf(text).length) found.sentences.push({ line: paragraph.line, text });
    paragraph = { line: 0, text: "" };
  };
  lines.forEach((raw, index) => {
    const line = index + 1;
    const item = /^\s*(?:[-*]|\d+\.)\s+(.*)$/.exec(raw);
    const heading = /^#+\s+(.*)$/.exec(raw);
    if (item || heading || isTableRow(raw) || !raw.trim()) close();
    if (heading) found.headings.push({ line, text: plain(heading[1]) });
    else if (isTableRow(raw)) {
      if (!isRule(raw)) for (const text of cellsOf(raw)) found.cells.push({ line, text });
    } else if (raw.trim()) {
      paragraph.line ||= line;
      paragraph.text = `${paragraph.text} ${plain(item ? item[1] : raw)}`.trim();
    }
  });
  close();
  return found;
}
