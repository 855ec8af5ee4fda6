// How many columns text takes on a terminal, and text that is cut in its middle to fit.

const NOTHING = /[\p{Mn}\p{Me}\p{Cf}]/u;
/** East Asian wide and full-width letters, and pictures. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;

const CUT = "…";

const columnsOfLetter = (letter: string): number =>
  NOTHING.test(letter) ? 0 : WIDE.test(letter) ? 2 : 1;

/** Columns of a terminal that the text takes. */
export function columnsOf(text: string): number {
  let columns = 0;
  for (const letter of text) columns += columnsOfLetter(letter);
  return columns;
}

/** As many letters as fit, from the left. */
function fitting(letters: readonly string[], columns: number): string {
  let taken = 0;
  let text = "";
  for (const letter of letters) {
    taken += columnsOfLetter(letter);
    if (taken > columns) break;
    text += letter;
  }
  return text;
}

/** Text without its middle where it is wider than `columns`: names differ at their ends. */
export function shortened(text: string, columns: number): string {
  if (columnsOf(text) <= columns) return text;
  if (columns <= CUT.length) return CUT.slice(0, Math.max(0, columns));
  const letters = [...text];
  const before = Math.ceil((columns - CUT.length) / 2);
  const tail = [...fitting(letters.toReversed(), columns - CUT.length - before)].toReversed();
  return fitting(letters, before) + CUT + tail.join("");
}

/** Text with spaces behind it, up to `columns`. */
export const padded = (text: string, columns: number): string =>
  text + " ".repeat(Math.max(0, columns - columnsOf(text)));
