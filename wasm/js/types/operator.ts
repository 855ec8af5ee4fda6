// Operators that callers write, as they see them.
import type { Tensor, Value } from "./tensor.js";

/** An argument of an operator of your own; null where the call has none. */
export type OperatorValue = Value | readonly OperatorValue[];

/** The arguments of a call, by the names that the schema gives them. */
export type OperatorArguments = Readonly<Record<string, OperatorValue>>;

/** The shape of a result. */
export type OperatorShape = readonly number[];

/**
 * An operator of your own. Lowering keeps its calls whole, and a run calls its kernel.
 * @example
 * engine.registerOperator({
 *   schema: "mylib::scale(Tensor x, float alpha=1.0) -> Tensor",
 *   infer: ({ x }) => (isTensor(x) ? [x.shape] : []),
 *   run({ x, alpha }, [out]) {
 *     if (isTensor(x) && out) toNumbers(x).forEach((v, i) => (out.data[i] = v * Number(alpha)));
 *   },
 * });
 */
export interface OwnOperator {
  /**
   * PyTorch's own text of it, as `torch.library` takes it: "mylib::scale(Tensor x, float alpha=1.0) ->
   * Tensor". It may have an overload, mylib::scale.Scalar, and return several tensors. Operators
   * that write to their operands are refused.
   */
  readonly schema: string;
  /**
   * The overload of the out variant, which files call. By default it is "out", or "Scalar_out" for
   * the overload Scalar.
   */
  readonly outOverload?: string;
  /**
   * Gives the shape of each result. It is called only where the sizes of a result change from call to
   * call, and the results of `run` then have these shapes. They may not exceed the bounds of the
   * exported model.
   */
  infer?(args: OperatorArguments): readonly OperatorShape[];
  /**
   * Writes the results into `outs`. The data of all tensors is row-major memory of the engine, which
   * may be used during the call only: copy what has to be kept. A result starts with zeros. The
   * function may not return a promise. Without it the operator can be lowered, but not run.
   */
  run?(args: OperatorArguments, outs: readonly Tensor[]): void;
}
