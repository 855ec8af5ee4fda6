// The codes of errors, and the facts of one problem.
import type { StatusCode } from "../border/abi.gen.js";

/** Error codes; the hint of an error says what to do about it. */
export type ErrorCode = StatusCode | "panic" | "disposed" | "busy";

/** One thing that was noticed, with where it was noticed. Unknown parts are empty strings. */
export interface Diagnostic {
  /** An "error" fails the call; a "warning" and a "note" do not. */
  severity: "note" | "warning" | "error";
  /** The kind of the problem. */
  code: ErrorCode;
  /** A sentence that says which thing is wrong. */
  message: string;
  /** A sentence that says what to do about it; starts with a verb. */
  hint: string;
  /** The method in which it was noticed. */
  method: string;
  /** The pass that noticed it. */
  pass: string;
  /** The node of the graph that it is about. */
  node: string;
  /** The operator of that node: "aten::addmm". */
  op: string;
  /** Index of the instruction that failed, when running. */
  instruction: number | null;
  /** The user's own line, "model.py:12 in forward: return self.fc(x)". */
  source: string;
  /** The Python traceback as recorded at export. */
  stackTrace: string;
}
