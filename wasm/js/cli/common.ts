// Shared by the commands: the engine, and how errors and warnings are printed.
import { readFileSync } from "node:fs";
import { createEngine } from "../engine.js";
import { plainDiagnostic, SconceError } from "../base/errors.js";
import type { Diagnostic, Engine } from "../types/index.js";
import { isQuiet, note, warn, warnWith } from "./print/terminal.js";

export { say, tell, note, warn } from "./print/terminal.js";
export { terminalProgress } from "./print/progress.js";
export { EXIT, UsageError } from "./usage.js";

export function makeEngine(): Promise<Engine> {
  return createEngine({ wasm: readFileSync(new URL("../sconce.wasm", import.meta.url)) });
}

/** The file that a method came from, "" where that goes without saying. */
export type FileOf = (method: string) => string;
const nowhere: FileOf = () => "";

function printDiagnostic(d: Diagnostic, file: string): void {
  const isError = d.severity === "error";
  const where = [d.method && `method ${d.method}`, d.node && `node ${d.node}`, d.op]
    .filter(Boolean)
    .join(", ");
  const lead = `${file ? `${file}: ` : ""}${isError ? "" : `${d.severity}: `}${d.code}:`;
  const rest = ` ${d.message}${where ? ` (${where})` : ""}`;
  warnWith(isError ? "red" : "yellow", lead, rest);
  if (d.source) warn(`  ${d.source}`);
  if (d.hint) warn(`  ${d.hint}`);
}

/** Prints the warnings and notes about something that succeeded all the same. */
export function printWarnings(diagnostics: readonly Diagnostic[], fileOf: FileOf = nowhere): void {
  if (isQuiet()) return;
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

/** Prints warnings that are text. */
export function warnOf(warnings: readonly string[]): void {
  for (const text of warnings) note(`warning: ${text}`);
}
