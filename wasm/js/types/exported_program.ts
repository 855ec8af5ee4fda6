// The type of one method as a graph that can be read.
import type { Inputs } from "./call.js";
import type { NodeRow } from "./report.js";
import type { Value } from "./tensor.js";

/** A program of one method, for inspection. */
export interface ExportedProgram {
  /** The name of the method. */
  readonly method: string;
  /** The IR as text. */
  text(): string;
  /** Its nodes, in the order in which they run. */
  nodes(): NodeRow[];
  /**
   * Runs the method on the kernels, from its first state, and gives its outputs. Inputs that it
   * writes are not among them. A program that is not lowered yet is lowered for the call. Use it to
   * test a pass. To run a program often, load the result of `toExecutorch`. Fails with the code
   * "unsupported" for a program of a record.
   * @example
   * const changed = edge.transform(["dce"]);
   * const [before] = edge.exportedProgram().call([input]);
   * const [after] = changed.exportedProgram().call([input]);
   */
  call(inputs: Inputs): Value[];
}
