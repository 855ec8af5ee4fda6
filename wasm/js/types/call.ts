// The public types for calling methods of a program.
import type { LoadConfig } from "../border/options.gen.js";
import type { CallOptions } from "./call_options.js";
import type { RunOptions } from "./events.js";
import type { Source } from "./source.js";
import type { InputValue } from "./tensor.js";

/** Options of `load`. */
export interface LoadOptions extends CallOptions, LoadConfig {
  /** The .ptd files that the program needs. By default a lowered program uses its own. */
  dataFiles?: readonly Source[];
}

/**
 * The inputs of a call. A list has a value for each input, in order. An object has a value for each
 * name, in any order; `inspect()` gives the names. An object may leave out inputs whose value was
 * fixed at export (`value` of ProgramValueInfo, or kind "none"). A list may leave out none.
 *
 * @example
 * program.run("forward", [tokens, mask]);
 * program.run("forward", { tokens, mask });
 */
export type Inputs = readonly InputValue[] | Readonly<Record<string, InputValue>>;

/**
 * The arguments of `run` and `runNamed`: a method and its inputs. If the method is left out, the
 * program must have only one. Methods without inputs and instructions, such as "get_max_seq_len",
 * do not count for that. If the inputs are left out, the method must take none.
 */
export type ProgramCall =
  [method: string, inputs?: Inputs, options?: RunOptions] | [inputs: Inputs, options?: RunOptions];
