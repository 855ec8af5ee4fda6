// Errors as cards, and the log. A card always says what failed, where, and what to do.
import { SconceError } from "@sconce/errors.js";
import type { Diagnostic } from "@sconce/types.js";
import { app, type Problem, type StepId } from "../state.js";

export function note(text: string): void {
  app.log.value = [...app.log.value.slice(-499), { at: Date.now(), text }];
}

/** The innermost frame of a Python traceback: its place and the code there. */
function lastFrame(trace: string): { place: string; line: string } {
  const frames = [...trace.matchAll(/File "([^"]*)", line (\d+), in (.*)\n?\s*(.*)/g)];
  const own = frames.findLast(([, file]) => !/(site|dist)-packages/.test(file!)) ?? frames.at(-1);
  if (!own) return { place: "", line: "" };
  const file = own[1]!.split("/").at(-1)!;
  return { place: `${file}:${own[2]} in ${own[3]}`, line: own[4]!.trim() };
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
  const { severity, code, message, hint, method, node, op } = d;
  return {
    severity,
    code,
    message,
    hint,
    step,
    method,
    node,
    op,
    ...lastFrame(d.stackTrace),
    details: detailsOf(d),
  };
}

export function problemsOf(error: unknown, step: StepId | null): Problem[] {
  if (error instanceof SconceError) {
    const errors = error.diagnostics.filter((d) => d.severity !== "note");
    if (errors.length > 0) return errors.map((d) => fromDiagnostic(d, step));
    const { code, message, hint, method, node, op } = error;
    const details = `code: ${code}\nmessage: ${message}\nhint: ${hint}`;
    return [
      {
        severity: "error",
        code,
        message,
        hint,
        step,
        method,
        node,
        op,
        place: "",
        line: "",
        details,
      },
    ];
  }
  const message = error instanceof Error ? error.message : String(error);
  return [
    {
      severity: "error",
      code: "internal",
      message,
      hint: "Reload the page and try again; report it if it stays.",
      step,
      method: "",
      node: "",
      op: "",
      place: "",
      line: "",
      details: error instanceof Error ? (error.stack ?? message) : message,
    },
  ];
}

/** Shows an error; the dock opens on it. */
export function report(error: unknown, step: StepId | null): void {
  const problems = problemsOf(error, step);
  app.problems.value = [...app.problems.value, ...problems];
  app.dock.value = "problems";
  for (const problem of problems) note(`${problem.severity}: ${problem.message}`);
}

/** An error of the page's own, in the engine's words. */
export function fault(code: SconceError["code"], message: string, hint: string): SconceError {
  return new SconceError(code, message, hint);
}
