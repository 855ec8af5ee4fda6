// Printing: results on the standard output, messages on the standard error, both harmless for a
// terminal, and coloured only where somebody sees it.

/** Set once the flags of the command are known. */
export interface Mode {
  /** Results are one JSON document: no other text may reach the standard output. */
  json: boolean;
  /** Results and errors only. */
  quiet: boolean;
  /** A file goes to the standard output, so that text goes to the standard error. */
  isOutputTaken: boolean;
}

const mode: Mode = { json: false, quiet: false, isOutputTaken: false };

/** Changes how everything is printed from here on. */
export function setMode(changes: Partial<Mode>): void {
  Object.assign(mode, changes);
}

/** True if the result is printed as JSON. */
export const isJson = (): boolean => mode.json;
/** True if only results and errors are printed. */
export const isQuiet = (): boolean => mode.quiet;

// --- Text ------------------------------------------------------------------------------------------

/** Controls, and what turns the direction of text: a terminal obeys them. */
const OBEYED = /[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu;

/** Text with its control characters to be seen instead: names in a file may hold any. */
export function visible(text: string): string {
  return text.replace(OBEYED, (c) => {
    const code = c.charCodeAt(0).toString(16);
    return code.length > 2 ? `\\u${code}` : `\\x${code.padStart(2, "0")}`;
  });
}

/** Prints a line of the result. JSON has it already, and a file on the same stream leaves no room. */
export function say(line: string): void {
  if (mode.json) return;
  const stream = mode.isOutputTaken ? process.stderr : process.stdout;
  stream.write(`${visible(line)}\n`);
}

/** Prints a line about what was done, which --quiet leaves out. */
export function tell(line: string): void {
  if (!mode.quiet) say(line);
}

/** Prints an error on the standard error. */
export function warn(line: string): void {
  process.stderr.write(`${visible(line)}\n`);
}

/** Prints a warning or a note on the standard error, which --quiet leaves out. */
export function note(line: string): void {
  if (!mode.quiet) warn(line);
}

// --- Colour ----------------------------------------------------------------------------------------

const CODES = { red: 31, yellow: 33 } as const;

/** NO_COLOR and FORCE_COLOR as no-color.org and Node read them; the former has the last word. */
export function hasColour(
  stream: { readonly isTTY?: boolean },
  environment: Readonly<Record<string, string | undefined>> = process.env,
): boolean {
  const { NO_COLOR, FORCE_COLOR, TERM } = environment;
  if (NO_COLOR) return false;
  if (FORCE_COLOR !== undefined) return FORCE_COLOR !== "0" && FORCE_COLOR !== "false";
  return stream.isTTY === true && TERM !== "dumb";
}

/** Prints an error or a warning whose beginning has a colour where there are any. */
export function warnWith(colour: keyof typeof CODES, lead: string, rest: string): void {
  const shown = visible(lead);
  const painted = hasColour(process.stderr) ? `\x1b[${CODES[colour]}m${shown}\x1b[0m` : shown;
  process.stderr.write(`${painted}${visible(rest)}\n`);
}
