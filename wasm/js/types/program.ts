// The type of a loaded program.
import type { CaseVerdict, TestSuite, VerifyOptions } from "./bundled.js";
import type { ProgramCall } from "./call.js";
import type { EventDump } from "./events.js";
import type { ProgramReport } from "./report.js";
import type { Resource } from "./resource.js";
import type { InputTensor, Tensor, Value } from "./tensor.js";
import type { SgdOptimizer, SgdOptions } from "./training.js";

/** A loaded .pte. State (buffers that methods write) lives until `reset` or `dispose`. */
export interface Program extends Resource {
  /** Names of the methods, the constant ones included. */
  readonly methods: readonly string[];
  /** Signatures, operators, sizes and planned memory of the methods. */
  inspect(): ProgramReport;
  /**
   * The work of a backend in one of the `parts` of a method, as text: a line for each weight, input and
   * node; those of nodes begin with their number. Empty where the backend has no words for it.
   */
  partText(method: string, part: number): string;
  /**
   * Runs a method. Gives its outputs in their order, as copies that are the caller's own. Fails with
   * the code "input" if inputs are missing, unknown or do not fit, and "not_found" if there is no such
   * method. `run(inputs)` needs a program with one method, and fails with "argument" if it has several.
   *
   * @example
   * const [logits] = program.run("forward", [tokens, mask]);
   * const [same] = program.run({ tokens, mask });
   * const [length] = program.run("get_max_seq_len");
   */
  run(...call: ProgramCall): Value[];
  /**
   * Does what `run` does, and gives the outputs by the names that `inspect()` tells: the keys where
   * Python returns a dict, "output_0" and so on elsewhere.
   *
   * @example
   * const { logits } = program.runNamed({ tokens, mask });
   */
  runNamed(...call: ProgramCall): Record<string, Value>;
  /**
   * Runs a method that computes a loss and gradients of parameters, and keeps the gradients. Gives the
   * outputs before them: the loss, and what else the module returns. Takes what `run` takes. Fails with the code
   * "not_found" if the method has no gradients.
   *
   * @example
   * const optimizer = program.sgd({ lr: 0.1 });
   * const [loss] = program.forwardBackward("forward", inputs);
   * optimizer.step();
   */
  forwardBackward(...call: ProgramCall): Value[];
  /**
   * The parameters that a method trains, by qualified name, as copies. The method may be left out if the
   * program has one such method.
   */
  namedParameters(method?: string): Record<string, Tensor>;
  /**
   * Replaces parameters that a method trains, by qualified name: those that `namedParameters` once gave, for
   * instance. The others stay, and so does the momentum of optimizers. Nothing changes where one of the
   * tensors has another name, dtype or shape, which is an error with the code "argument".
   */
  setNamedParameters(parameters: Readonly<Record<string, InputTensor>>, method?: string): void;
  /** The gradients that `forwardBackward` has kept, likewise. Fails with the code "state" before it. */
  namedGradients(method?: string): Record<string, Tensor>;
  /**
   * Makes an optimizer of the parameters of a method: stochastic gradient descent, with the numbers of
   * ExecuTorch's own. It lives as long as the program, or until `dispose`.
   *
   * @example
   * const optimizer = program.sgd({ lr: 0.1, momentum: 0.9 });
   */
  sgd(options: SgdOptions): SgdOptimizer;
  /**
   * The records of runs with the option `events` since the last call, as files that the official
   * Inspector opens. Fails with the code "state" when no run was recorded. Instructions that loading
   * merged are in it one by one, each with an equal share of the time of all.
   */
  etdump(): EventDump;
  /** Every method's mutable state back to what it was after loading. */
  reset(): void;
  /** The calls that a bundled program comes with; none of a plain one. */
  testSuites(): TestSuite[];
  /**
   * Runs the calls that a bundled program comes with, each from the program's first state, and compares.
   * Leaves the last one's state behind. Fails with the code "state" when there are none.
   */
  verify(options?: VerifyOptions): CaseVerdict[];
}
