// The type of one method as a graph that can be read.
import type { Inputs } from "./call.js";
import type { PassConstant, PassProgram, SymbolRange } from "./pass.js";
import type { NodeRow } from "./report.js";
import type { Tensor, Value } from "./tensor.js";

/** A constant of a method: a parameter, a buffer or a lifted tensor. */
export type ExportedConstant = Pick<PassConstant, "name" | "kind" | "dtype" | "shape">;

/** A program of one method, for inspection. */
export interface ExportedProgram {
  /** The name of the method. */
  readonly method: string;
  /** The IR as text. */
  text(): string;
  /** Its nodes, in the order in which they run. */
  nodes(): NodeRow[];
  /** Its inputs and outputs, in order, and the meaning of each. */
  readonly signature: PassProgram["signature"];
  /** The least and the largest value of each dynamic size, by the name of its symbol. */
  readonly rangeConstraints: Readonly<Record<string, SymbolRange>>;
  /** Its constants, without their elements. */
  readonly constants: readonly ExportedConstant[];
  /** A copy of a constant. Fails with the code "not_found". */
  constant(name: string): Tensor;
  /** Copies of all parameters and of the buffers that PyTorch saves, by name. */
  stateDict(): Record<string, Tensor>;
  /**
   * Calls a function with the program as passes see it: its graph, constants and signature. The
   * function may read the program until it returns, but not change it. Gives what it returns.
   * @example
   * const relus = edge.exportedProgram().read(({ graph }) => graph.find("aten::relu").length);
   */
  read<T>(look: (program: PassProgram) => T): T;
  /**
   * Runs the method on the kernels, from its first state, and gives its outputs. Inputs that it
   * writes are not among them. A program that is not lowered yet is lowered for the first call, and
   * stays in memory until its manager is disposed of. Parts run on their backends. Use it to test a
   * pass.
   *
   * Programs of a record have only the method's name, its text and its nodes. The other members
   * fail with the code "unsupported".
   * @example
   * const changed = edge.transform(["dce"]);
   * const [before] = edge.exportedProgram().call([input]);
   * const [after] = changed.exportedProgram().call([input]);
   */
  call(inputs: Inputs): Value[];
}
