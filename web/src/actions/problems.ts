// Errors as cards, and the log. A card always says what failed, where, and what to do.
import { SconceError } from "@sconce/base/errors.js";
import type { Diagnostic } from "@sconce/types/index.js";
import { app, type Problem, type StepId } from "../state.js";

export function note(text: string): void {
  app.log.value = [...app.log.value.slice(-499), { at: Date.now(), text }];
}

function detailsOf(d: Diagnostic): string {
  const rows: [string, string | number | null][] = [
    ["severity", d.severity],
    ["code", d.code],
    ["message", d.message],
    ["hint", d.hint],
    ["method", d.method],
    ["pass", d.pass],
    ["node", d.node],
    ["op", d.op],
    ["instruction", d.instruction],
    ["engine", app.engine.value.version],
  ];
  const head = rows
    .filter(([, value]) => value !== "" && value !== null)
    .map(([key, value]) => `${key}: ${value}`)
    .join("\n");
  return d.stackTrace ? `${head}\n${d.stackTrace}` : head;
}

function fromDiagnostic(d: Diagnostic, step: StepId | null): Problem {
  const { severity, code, message, hint, method, node, op, source } = d;
  return {
    severity,
    code,
    message,
    hint,
    step,
    method,
    node,
    op,
    source,
    details: detailsOf(d),
  };
}

const NOWHERE = { step: null, method: "", node: "", op: "", source: "" } as const;

/** What JavaScript itself throws says nothing to a person; it goes to the clipboard. */
function fromDefect(text: string, step: StepId | null): Problem {
  return {
    ...NOWHERE,
    severity: "error",
    code: "internal",
    message: "something went wrong inside the page",
    hint: "Reload the page and try again; report it with the diagnostic if it happens again.",
    step,
    details: text,
  };
}

function fromError(error: SconceError, step: StepId | null): Problem[] {
  const errors = error.diagnostics.filter((d) => d.severity !== "note");
  if (errors.length > 0) return errors.map((d) => fromDiagnostic(d, step));
  const { code, message, hint, method, node, op } = error;
  // The worker passes a defect of its own on as "RangeError: ...".
  if (code === "internal" && /^\w*(Error|Exception)\b/.test(message))
    return [fromDefect(message, step)];
  const details = `code: ${code}\nmessage: ${message}\nhint: ${hint}`;
  return [{ ...NOWHERE, severity: "error", code, message, hint, step, method, node, op, details }];
}

function problemsOf(error: unknown, step: StepId | null): Problem[] {
  if (error instanceof SconceError) return fromError(error, step);
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return [fromDefect(text, step)];
}

/**
 * An error as it stands beside a field: what is wrong, and what would do. A name that it begins with
 * stays as it is.
 */
export function sentenceOf(error: unknown, name = ""): string {
  const { message, hint } = problemsOf(error, null)[0]!;
  const isNamed = name !== "" && message.startsWith(name);
  const first = isNamed ? message[0]! : message[0]!.toUpperCase();
  return `${first}${message.slice(1)}. ${hint}`.trim();
}

function list(problems: readonly Problem[]): void {
  app.problems.value = [...app.problems.value, ...problems];
}

function add(problems: readonly Problem[]): void {
  list(problems);
  app.dock.value = "problems";
  for (const problem of problems) note(`${problem.severity}: ${problem.message}`);
}

/** Shows an error; the dock opens on it. */
export function report(error: unknown, step: StepId | null): void {
  add(problemsOf(error, step));
}

/**
 * Lists what the engine has warned of so far, each warning once; it has logged them itself. What a
 * delegate gets wrong opens the dock.
 */
export function showWarnings(diagnostics: readonly Diagnostic[], step: StepId): void {
  const known = new Set(app.problems.value.map(({ details }) => details));
  const warnings = diagnostics
    .filter(({ severity }) => severity === "warning")
    .map((warning) => fromDiagnostic(warning, warning.code === "delegate" ? "delegated" : step))
    .filter(({ details }) => !known.has(details));
  list(warnings);
  if (warnings.some(({ code }) => code === "delegate")) app.dock.value = "problems";
}

/** Says what was not done with something that the user brought, while the rest goes on. */
export function warn(errors: readonly Error[]): void {
  const problems = errors.flatMap((error) => problemsOf(error, null));
  if (problems.length > 0) add(problems.map((problem) => ({ ...problem, severity: "warning" })));
}

/** An error of the page's own, in the engine's words. */
export function fault(code: SconceError["code"], message: string, hint: string): SconceError {
  return new SconceError(code, message, hint);
}
