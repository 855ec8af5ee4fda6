// The types of a loaded program: of a runtime, and of an engine.
import type { CaseVerdict, TestSuite, VerifyOptions } from "./bundled.js";
import type { ProgramCall } from "./call.js";
import type { CallOptions } from "./call_options.js";
import type { EventDump } from "./events.js";
import type { HostBlob } from "./host.js";
import type { ProgramReport } from "./report.js";
import type { Resource } from "./resource.js";
import type { Sink } from "./source.js";
import type { InputTensor, Tensor, Value } from "./tensor.js";
import type { SgdOptimizer, SgdOptions } from "./training.js";

/** A loaded .pte. Its state (buffers that methods write) lives until `reset` or `dispose`. */
export interface RuntimeProgram extends Resource {
  /** The names of the methods, constant methods included. */
  readonly methods: readonly string[];
  /** Signatures, operators, sizes and planned memory of the methods. */
  inspect(): ProgramReport;
  /**
   * Runs a method. Gives copies of its outputs, in order. Fails with the code "input" if inputs are
   * missing, unknown or do not fit, and with "not_found" for an unknown method. `run(inputs)` needs
   * a program with one method, and fails with "argument" if it has several.
   *
   * @example
   * const [logits] = program.run("forward", [tokens, mask]);
   * const [same] = program.run({ tokens, mask });
   * const [length] = program.run("get_max_seq_len");
   */
  run(...call: ProgramCall): Value[];
  /**
   * Does what `run` does, and gives the outputs by name, as in `inspect()`. Names are the keys if
   * Python returns a dict, and otherwise "output_0" and so on.
   *
   * @example
   * const { logits } = program.runNamed({ tokens, mask });
   */
  runNamed(...call: ProgramCall): Record<string, Value>;
  /**
   * Gives the recorded runs (option `events`) since the last call, as files that the official
   * Inspector opens. Fails with the code "state" if no run was recorded. Instructions that loading
   * merged are listed one by one, each with an equal share of the time of all.
   */
  etdump(): EventDump;
  /**
   * Saves the program packed, so that the next start is quick: with its weights in the order of the
   * kernels, and with its data files. `load` opens such a file as it opens a .pte. Only the version
   * and the flavour of Sconce that saved it can open it; any other fails with the code "version".
   * Then load the .pte and save it again.
   *
   * @example
   * await program.savePacked("model.packed");
   */
  savePacked(sink: Sink, options?: CallOptions): Promise<void>;
  /** The same file as a Blob. */
  toPackedBlob(options?: CallOptions): Promise<HostBlob>;
  /** Resets the mutable state of every method to its state after loading. */
  reset(): void;
  /** The calls in a bundled program. Empty for a plain one. */
  testSuites(): TestSuite[];
  /**
   * Runs the calls in a bundled program, each from the program's first state, and compares. The
   * last call's state remains. Fails with the code "state" if there are no calls.
   */
  verify(options?: VerifyOptions): CaseVerdict[];
}

/** A loaded .pte in an engine, which can also train it and print what its backends do. */
export interface Program extends RuntimeProgram {
  /**
   * The work of a backend in one of the `parts` of a method, as text: a line for each weight, input
   * and node. Lines of nodes begin with their number. Empty if the backend cannot print.
   */
  partText(method: string, part: number): string;
  /**
   * Runs a method that computes a loss and gradients of parameters, and keeps the gradients. Gives
   * the outputs before the gradients: the loss, and other results of the module. Takes the
   * arguments of `run`. Fails with the code "not_found" if the method has no gradients.
   *
   * @example
   * const optimizer = program.sgd({ lr: 0.1 });
   * const [loss] = program.forwardBackward("forward", inputs);
   * optimizer.step();
   */
  forwardBackward(...call: ProgramCall): Value[];
  /**
   * Copies of the parameters that a method trains, by qualified name. The method may be left out if
   * the program has one such method.
   */
  namedParameters(method?: string): Record<string, Tensor>;
  /**
  /**
   * Replaces parameters that a method trains, by qualified name, for example by those that
   * `namedParameters` returned. Other parameters stay, and so does the momentum of optimizers. If a
   * tensor has another name, dtype or shape, this fails with the code "argument", and no parameter
   * changes.
   */
  setNamedParameters(parameters: Readonly<Record<string, InputTensor>>, method?: string): void;
  /**
   * Copies of the gradients that `forwardBackward` kept, by qualified name. Fails with the code
   * "state" before its first call.
   */
  namedGradients(method?: string): Record<string, Tensor>;
  /**
   * Makes an optimizer for the parameters of a method: stochastic gradient descent, with the same
   * numbers as ExecuTorch's. It lives until `dispose`, or as long as the program.
   *
   * @example
   * const optimizer = program.sgd({ lr: 0.1, momentum: 0.9 });
   */
  sgd(options: SgdOptions): SgdOptimizer;
}
