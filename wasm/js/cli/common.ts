// What the commands share: usage errors, messages, engine, progress on a terminal.
import { readFileSync } from "node:fs";
import { parseArgs, type ParseArgsConfig } from "node:util";
import { createEngine } from "../engine.js";
import { plainDiagnostic, SconceError } from "../errors.js";
import type { Diagnostic, Engine, ProgressListener } from "../types.js";

/** The command line is wrong: exit code 2. */
export class UsageError extends Error {
  constructor(
    message: string,
    readonly hint = "",
  ) {
    super(message);
  }
}

export const EXIT = { done: 0, failed: 1, usage: 2 } as const;

/** A usage error for an option that takes one value and is given two: node:util drops the first. */
function refuseRepeats(config: ParseArgsConfig): void {
  const seen = new Set<string>();
  for (const token of parseArgs({ ...config, tokens: true }).tokens) {
    if (token.kind !== "option") continue;
    const option = config.options?.[token.name];
    if (option?.type !== "string" || option.multiple) continue;
    if (seen.has(token.name)) throw new UsageError(`${token.rawName} is given twice`);
    seen.add(token.name);
  }
}

/** Parses arguments; what node:util refuses is a usage error. */
export function parse<T extends ParseArgsConfig>(config: T): ReturnType<typeof parseArgs<T>> {
  try {
    refuseRepeats(config);
    return parseArgs(config);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const [message, ...hints] = (error as Error).message.split("\n");
    throw new UsageError(message!, hints.join(" "));
  }
}

/** Controls, and what turns the direction of text: a terminal obeys them. */
const OBEYED = /[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu;

/** Text with its control characters to be seen instead: names in a file may hold any. */
function visible(text: string): string {
  return text.replace(OBEYED, (c) => {
    const code = c.charCodeAt(0).toString(16);
    return code.length > 2 ? `\\u${code}` : `\\x${code.padStart(2, "0")}`;
  });
}

/** Prints one line on stdout, whatever is in it. All that comes of a file is printed by this or `warn`. */
export function say(line: string): void {
  process.stdout.write(`${visible(line)}\n`);
}

/** Prints one line on stderr. */
export function warn(line: string): void {
  process.stderr.write(`${visible(line)}\n`);
}

export function makeEngine(): Promise<Engine> {
  return createEngine({ wasm: readFileSync(new URL("../sconce.wasm", import.meta.url)) });
}

/** The file that a method came from, "" where that goes without saying. */
export type FileOf = (method: string) => string;
const nowhere: FileOf = () => "";

function printDiagnostic(d: Diagnostic, file: string): void {
  const where = [d.method && `method ${d.method}`, d.node && `node ${d.node}`, d.op]
    .filter(Boolean)
    .join(", ");
  const lead = `${file ? `${file}: ` : ""}${d.severity === "error" ? "" : `${d.severity}: `}`;
  warn(`${lead}${d.code}: ${d.message}${where ? ` (${where})` : ""}`);
  if (d.source) warn(`  ${d.source}`);
  if (d.hint) warn(`  ${d.hint}`);
}

/** Prints the warnings and notes about something that succeeded all the same. */
export function printWarnings(diagnostics: readonly Diagnostic[], fileOf: FileOf = nowhere): void {
  for (const d of diagnostics) if (d.severity !== "error") printDiagnostic(d, fileOf(d.method));
}

/** Prints an error, and the warnings before it, with everything that helps to fix it. */
export function printError(error: unknown, fileOf: FileOf = nowhere): void {
  if (!(error instanceof SconceError)) {
    const file = fileOf("");
    warn(`${file ? `${file}: ` : ""}${error instanceof Error ? error.message : String(error)}`);
    return;
  }
  printWarnings(error.diagnostics, fileOf);
  const errors = error.diagnostics.filter((d) => d.severity === "error");
  if (errors.length === 0) errors.push(plainDiagnostic(error));
  for (const d of errors) printDiagnostic(d, fileOf(d.method));
}

/** Shows what is going on, on a terminal only, and clears the line when done. */
export function terminalProgress(subject: string): {
  onProgress?: ProgressListener;
  clear(): void;
} {
  if (!process.stderr.isTTY) return { clear: () => undefined };
  return {
    onProgress: ({ phase, done, total }) => {
      const share = total > 0 ? ` ${Math.floor((100 * done) / total)} %` : "";
      process.stderr.write(`\r\x1b[K${visible(subject)}: ${phase}${share}`);
    },
    clear: () => process.stderr.write("\r\x1b[K"),
  };
}
