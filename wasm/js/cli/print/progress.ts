// Progress on one line of the terminal, which goes when the work is done.
import type { WriteStream } from "node:tty";
import type { ProgressListener } from "../../types/index.js";
import { isQuiet, visible } from "./terminal.js";
import { columnsOf, shortened } from "./width.js";

/** The width of a terminal that does not tell its own. */
const COLUMNS = 80;
/** A subject is cut to no less; the phase gives way then. */
const SUBJECT_MIN = 8;
const PAUSE_MS = 50;

/** The columns of the terminal now: while a call is under way Node hears of no change. */
function columnsNow(stream: WriteStream): number {
  (stream as { _refreshSize?: () => void })._refreshSize?.();
  return stream.columns || COLUMNS;
}

/** One line that stays within the columns: text in the last one would make a new row. */
export function progressLine(subject: string, words: string, columns: number): string {
  const room = Math.max(0, columns - 1);
  const tail = `: ${words}`;
  const most = Math.max(SUBJECT_MIN, room - columnsOf(tail));
  return shortened(shortened(visible(subject), most) + tail, room);
}

/** A line of progress on a terminal. */
export interface Shown {
  /** Undefined where nobody sees it. */
  onProgress?: ProgressListener;
  clear(): void;
}

/** Shows the progress of `subject` on a terminal that can take a line back. */
export function terminalProgress(subject: string): Shown {
  const { stderr, env } = process;
  if (!stderr.isTTY || env["TERM"] === "dumb" || isQuiet()) return { clear: () => undefined };
  let last = 0;
  let reported = "";
  let isDrawn = false;
  return {
    onProgress: ({ phase, done, total }) => {
      const now = performance.now();
      if (phase === reported && now - last < PAUSE_MS && done !== total) return;
      [last, reported] = [now, phase];
      const count = done > 0 ? ` ${done}` : "";
      const share = total > 0 ? ` ${Math.min(100, Math.floor((100 * done) / total))} %` : count;
      const line = progressLine(subject, phase + share, columnsNow(stderr));
      stderr.write(`\r\x1b[K${line}`);
      isDrawn = true;
    },
    clear: () => {
      if (isDrawn) stderr.write("\r\x1b[K");
      isDrawn = false;
    },
  };
}
