// The public types of how a method of a program is called.
import type { InputValue } from "./index.js";
import type { RunOptions } from "./events.js";

/**
 * The inputs of a call: a list with a value for each input, in their order, or an object with a value
 * for each name, in any order. `inspect()` tells the names. Inputs whose value was fixed at export
 * (`value` of ProgramValueInfo, or kind "none") may be left out of the object, and of no list.
 *
 * @example
 * program.run("forward", [tokens, mask]);
 * program.run("forward", { tokens, mask });
 */
export type Inputs = readonly InputValue[] | Readonly<Record<string, InputValue>>;

/**
 * The arguments of `run` and `runNamed`: a method and its inputs. Without a method the program's only
 * one is meant; methods that have neither inputs nor instructions, such as "get_max_seq_len", do not
 * count. Without inputs the method must take none.
 */
export type ProgramCall =
  [method: string, inputs?: Inputs, options?: RunOptions] | [inputs: Inputs, options?: RunOptions];
