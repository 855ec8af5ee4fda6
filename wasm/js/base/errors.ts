// Errors that callers can switch on. A SconceError says what is wrong with the input and what to do;
// a SconcePanic says that the engine itself broke and must be thrown away.
import { brandInstances } from "./brand.js";
import type { HostAbortSignal } from "../types/host.js";
import type { Diagnostic, ErrorCode, ProgramMethodInfo } from "../types/index.js";

/** A SconceError as JSON. */
export interface ErrorJson {
  /** "SconceError", or the name of its subclass. */
  name: string;
  /** The kind of the error, for a switch. */
  code: ErrorCode;
  /** A sentence that says what is wrong. */
  message: string;
  /** A sentence that says what to do about it, or empty. */
  hint: string;
  /** The method that the error is about, or empty. */
  method: string;
  /** The node of the graph that the error is about, or empty. */
  node: string;
  /** The operator that the error is about, or empty. */
  op: string;
  /** The line of the model that the error is about, or empty. */
  source: string;
  /** All diagnostics of the call: errors, warnings and notes. */
  diagnostics: readonly Diagnostic[];
  /** The message of the error that led to this one. */
  cause?: string;
}

/** A failed call: the code, a hint that says what to do, and every diagnostic. */
export class SconceError extends Error {
  /** The name of the class, or "AbortError" for a cancelled call, as on the web. */
  override readonly name: string;
  /** The kind of the error, for a switch. */
  readonly code: ErrorCode;
  /** A sentence that says what to do about it, or empty. */
  readonly hint: string;
  /** The method that the error is about, or empty. */
  readonly method: string;
  /** The node of the graph that the error is about, or empty. */
  readonly node: string;
  /** The operator that the error is about, or empty. */
  readonly op: string;
  /** The line of the model that the error is about, as in `Diagnostic`. */
  readonly source: string;
  /** All diagnostics of the call: errors, warnings and notes. */
  readonly diagnostics: readonly Diagnostic[];

  constructor(
    code: ErrorCode,
    message: string,
    hint = "",
    diagnostics: readonly Diagnostic[] = [],
  ) {
    super(message);
    const first =
      diagnostics.find((d) => d.severity === "error" && d.code === code) ?? diagnostics[0];
    this.name = code === "cancelled" ? "AbortError" : "SconceError";
    this.code = code;
    this.hint = hint || first?.hint || "";
    this.method = first?.method ?? "";
    this.node = first?.node ?? "";
    this.op = first?.op ?? "";
    this.source = first?.source ?? "";
    this.diagnostics = diagnostics;
  }

  /**
   * The error for JSON.stringify and Response.json, with its message, which JSON leaves out of
   * other errors. The cause is only its message. The stack is left out.
   */
  toJSON(): ErrorJson {
    const { name, code, message, hint, method, node, op, source, diagnostics, cause } = this;
    const plain = { name, code, message, hint, method, node, op, source, diagnostics };
    return cause === undefined ? plain : { ...plain, cause: messageOf(cause) };
  }

  /** Gives the same error with the name of a method, if it has none yet. */
  ofMethod(method: string): SconceError {
    if (method === "" || this.method !== "" || this instanceof SconcePanic) return this;
    const { code, message, hint } = this;
    const found = this.diagnostics.length > 0 ? this.diagnostics : [plainDiagnostic(this)];
    const placed = found.map((d) => (d.method === "" ? { ...d, method } : d));
    const error = new SconceError(code, message, hint, placed);
    if (this.cause !== undefined) error.cause = this.cause;
    return error;
  }

  /** Makes the error of a call from its diagnostics. Its message is that of the first error. */
  static fromDiagnostics(code: ErrorCode, diagnostics: readonly Diagnostic[]): SconceError {
    const errors = diagnostics.filter((d) => d.severity === "error");
    const first = errors.find((d) => d.code === code) ?? errors[0];
    const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
    return new SconceError(code, first ? first.message + more : code, first?.hint, diagnostics);
  }
}

/** The diagnostic of an error that comes without any. */
export function plainDiagnostic({ code, message, hint }: SconceError): Diagnostic {
  const nowhere = { method: "", pass: "", node: "", op: "", instruction: null, source: "" };
  return { severity: "error", code, message, hint, stackTrace: "", ...nowhere };
}

const PANIC_HINTS: Partial<Record<ErrorCode, string>> = {
  panic: "Make a new engine with createEngine(), and report this with the file that caused it.",
  disposed: "Make another client with createClient().",
};

/** A defect of the engine. Its state is unknown, and it cannot be used any more. */
export class SconcePanic extends SconceError {
  override readonly name = "SconcePanic";
  constructor(message: string, code: ErrorCode = "panic") {
    super(code, message, PANIC_HINTS[code]);
  }
}

brandInstances(SconceError, "SconceError");
brandInstances(SconcePanic, "SconcePanic");

/** The error of using what was disposed; `what` is the name of its interface. */
export function disposed(what: string): SconceError {
  return new SconceError(
    "disposed",
    `this ${what} was disposed`,
    "Make another, or dispose of it later.",
  );
}

/** Says which weights methods look for in vain; undefined when none. */
export function missingData(
  methods: readonly ProgramMethodInfo[],
  hint: string,
): SconceError | undefined {
  const all = methods.flatMap((m) => m.externalData.filter((need) => need.dataFile === null));
  const keys = [...new Set(all.map((need) => need.key))];
  if (keys.length === 0) return undefined;
  const more = keys.length > 1 ? ` and ${keys.length - 1} more` : "";
  const message = `the program keeps '${keys[0]}'${more} in a data file that was not given`;
  return new SconceError("not_found", message, hint);
}

/** Says why a method cannot run: it names backends that the engine does not have. */
export function delegated({ name, parts }: ProgramMethodInfo): SconceError | undefined {
  const unknown = [...new Set(parts.filter((p) => !p.isKnown).map((p) => p.backend))];
  if (unknown.length === 0) return undefined;
  const plural = unknown.length > 1 ? "s" : "";
  const message = `method '${name}' hands parts to the backend${plural} ${unknown.join(", ")}, which this build does not have`;
  const hint =
    "Register the backend first, with registerBackend() or --import FILE on the command line, or " +
    "lower the model again without it.";
  return new SconceError("delegate", message, hint);
}

/** The error of a call from a callback that `what` waits for. */
export function busy(what: string): SconceError {
  return new SconceError(
    "busy",
    `${what} is still running the call that this callback belongs to`,
    "Call it after that call has returned.",
  );
}

/** The error of a call that a signal has cancelled; its cause is the signal's reason. */
export function cancelled(signal?: HostAbortSignal): SconceError {
  const error = new SconceError("cancelled", "the call was cancelled", "Start again when ready.");
  return withReason(error, signal);
}

/** The same error, with the reason of the signal as its cause if that has cancelled the call. */
export function withReason(error: SconceError, signal: HostAbortSignal | undefined): SconceError {
  if (signal?.aborted && error.code === "cancelled") error.cause = signal.reason as unknown;
  return error;
}

/** The error of what the module has no room for. It is thrown before any work begins. */
export function noMemory(what: string): SconceError {
  return new SconceError(
    "out_of_memory",
    `there is no memory for ${what}`,
    "Use a smaller model or input, or dispose of what is no longer needed.",
  );
}

/** The error, with the one that led to it. */
export function withCause(error: SconceError, cause: unknown): SconceError {
  error.cause = cause;
  return error;
}

/** The message of an error, or of whatever else was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** An error as a plain object, for postMessage. */
export interface PlainError extends Pick<
  ErrorJson,
  "code" | "message" | "hint" | "diagnostics" | "cause"
> {
  kind: "error" | "panic";
}

/** Makes a plain object of an error; one that is not ours is a defect of Sconce. */
export function toPlainError(error: unknown): PlainError {
  if (error instanceof SconceError) {
    const { code, message, hint, diagnostics, cause } = error.toJSON();
    const kind = error instanceof SconcePanic ? "panic" : "error";
    return { kind, code, message, hint, diagnostics, ...(cause !== undefined && { cause }) };
  }
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const hint = "Report this with the file: it is a defect of Sconce.";
  return { kind: "error", code: "internal", message, hint, diagnostics: [] };
}

/** Makes the error again that became a plain object; its cause is an Error with the message. */
export function fromPlainError(plain: PlainError): SconceError {
  const { kind, code, message, hint, diagnostics, cause } = plain;
  const error =
    kind === "panic"
      ? new SconcePanic(message, code)
      : new SconceError(code, message, hint, diagnostics);
  return cause === undefined ? error : withCause(error, new Error(cause));
}
