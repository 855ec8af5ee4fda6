// The codes of errors, and the facts of one problem.
import type { StatusCode } from "../border/abi.gen.js";

/** Error codes. The hint of an error says what to do about it. */
export type ErrorCode = StatusCode | "panic" | "disposed" | "busy";

/** One problem and its place. Unknown parts are empty strings. */
export interface Diagnostic {
  /** An "error" fails the call; a "warning" and a "note" do not. */
  severity: "note" | "warning" | "error";
  /** The kind of the problem. */
  code: ErrorCode;
  /** A sentence that says what is wrong. */
  message: string;
  /** A sentence that says what to do about it; starts with a verb. */
  hint: string;
  /** The method with the problem. */
  method: string;
  /** The pass that found it. */
  pass: string;
  /** The node with the problem. */
  node: string;
  /** The operator of that node: "aten::addmm". */
  op: string;
  /** The index of the instruction that failed in a run. */
  instruction: number | null;
  /** The user's own line, "model.py:12 in forward: return self.fc(x)". */
  source: string;
  /** The Python traceback as recorded at export. */
  stackTrace: string;
}
