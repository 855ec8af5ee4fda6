// The JSON of --json: one document on the standard output, and how numbers and errors stand in it.
import { plainDiagnostic, SconceError } from "../../base/errors.js";
import type { Diagnostic } from "../../types/index.js";
import { UsageError } from "../usage.js";

/** JSON has no infinities, and no integers beyond 2^53: these are text. */
function plainOf(value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  return value;
}

const isScalar = (value: unknown): boolean => typeof value !== "object" || value === null;
const isThere = (value: unknown): boolean => value !== undefined && typeof value !== "function";

/** Lists of numbers and names on a line of their own, everything else indented. */
function write(given: unknown, indent: string): string {
  const value = plainOf(given);
  if (isScalar(value)) return JSON.stringify(value ?? null);
  if (ArrayBuffer.isView(value)) return write(Array.from(value as Float32Array), indent);
  const deeper = `${indent}  `;
  if (Array.isArray(value)) {
    if (value.every(isScalar))
      return `[${value.map((item) => JSON.stringify(plainOf(item) ?? null)).join(", ")}]`;
    return `[\n${value.map((item) => deeper + write(item, deeper)).join(",\n")}\n${indent}]`;
  }
  const entries = Object.entries(value as object).filter(([, item]) => isThere(item));
  if (entries.length === 0) return "{}";
  const lines = entries.map(
    ([key, item]) => `${deeper}${JSON.stringify(key)}: ${write(item, deeper)}`,
  );
  return `{\n${lines.join(",\n")}\n${indent}}`;
}

/** A document as text; its numbers are JSON's or text. */
export const jsonText = (document: object): string => `${write(document, "")}\n`;

/** Prints the document of a command. */
export function printJson(document: object): void {
  process.stdout.write(jsonText(document));
}

// --- Errors ----------------------------------------------------------------------------------------

/** An error as it stands in a document. */
export interface JsonError {
  /** A code of SconceError, or "usage". */
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  readonly method: string;
  readonly node: string;
  readonly op: string;
  /** The line of the model that it is about. */
  readonly source: string;
  /** The file that it is about, where it is known. */
  readonly file: string;
  /** Everything that was found, with the warnings before it. */
  readonly diagnostics: readonly Diagnostic[];
}

function codeOf(error: unknown): string {
  if (error instanceof UsageError) return "usage";
  if (error instanceof SconceError) return error.code;
  return (error as NodeJS.ErrnoException | undefined)?.syscall === undefined ? "internal" : "io";
}

/** The error as data; `fileOf` knows the file of a method. */
export function errorJson(error: unknown, fileOf: (method: string) => string): JsonError {
  const { hint = "", method = "", node = "", op = "", source = "" } = error as Partial<SconceError>;
  const message = error instanceof Error ? error.message : String(error);
  const found = error instanceof SconceError ? error.diagnostics : [];
  const isPlain = error instanceof SconceError && found.length === 0;
  const diagnostics = isPlain ? [plainDiagnostic(error)] : found;
  const code = codeOf(error);
  return { code, message, hint, method, node, op, source, file: fileOf(method), diagnostics };
}
