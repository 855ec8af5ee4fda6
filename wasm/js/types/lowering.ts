// The options of lowering, and the programs that it takes.
import type { Passes } from "./pass.js";
import type { BackendConfig, CompileConfig, ExecutorchConfig } from "../border/options.gen.js";
import type { Partitioners } from "./backend.js";
import type { CallOptions } from "./call_options.js";
import type { Source } from "./source.js";
import type { DType, InputTensor } from "./tensor.js";

/**
 * The result of a constant method: a number, boolean, string, tensor or dtype, or a list or dict of such
 * values. A whole number is an integer of 64 bits (-0 is 0), and one that does not fit is refused;
 * `{ double: 1 }` makes it a float. `{ dtype: "float16" }` is a dtype, which runtimes give as its number.
 *
 * Plain objects and maps are dicts, whose keys are strings. A map keeps keys such as "1" in their order,
 * and it is needed for a dict whose only key is "double" or "dtype". A tensor is copied, row-major.
 * Runs give nested values one after the other: lists in their order, dicts in that of their keys.
 */
export type ConstantValue =
  | number
  | bigint
  | boolean
  | string
  | InputTensor
  | { readonly double: number }
  | { readonly dtype: DType }
  | readonly ConstantValue[]
  | ReadonlyMap<string, ConstantValue>
  | { readonly [key: string]: ConstantValue };

/** Options of `toEdge`. */
export interface ToEdgeOptions extends CallOptions {
  /** Methods without instructions, by name: `{ get_max_seq_len: 256 }`. */
  constantMethods?: Readonly<Record<string, ConstantValue>>;
  /**
   * The largest sizes of dynamic dimensions, and the operators that the edge program may contain.
   */
  compileConfig?: CompileConfig;
  /** Keeps a record of the programs before and after, as `etrecord` of the managers. */
  generateEtrecord?: boolean;
}

/** Options of `toEdgeTransformAndLower`. */
export interface TransformAndLowerOptions extends ToEdgeOptions, BackendConfig {
  /** Passes over the edge program that run before parts are found. */
  transformPasses?: Passes;
  /** Chooses the parts that go to backends. By default no part does. */
  partitioner?: Partitioners;
}

/** Options of `lower`: those of decomposition, of delegation and of the file, in one object. */
export interface LowerOptions extends TransformAndLowerOptions, ExecutorchConfig {
  /** Also compares the lowered program with one without delegates, as `verify()` does. */
  verify?: boolean;
  /** Keeps a record, as `etrecord` of the result. With "light" its files have no weights. */
  etrecord?: boolean | "light";
}

/**
 * Programs by method name, or a single file, whose models keep their names ("model" becomes
 * "forward"). A method name is any text that is not empty and has no NUL character.
 */
export type Programs = Source | Readonly<Record<string, Source>>;

/** The configuration of an executorch program: options of the file, and passes before it is planned. */
export interface ExecutorchBackendConfig extends ExecutorchConfig {
  /** Passes over the edge program that run last, before memory is planned. */
  readonly passes?: Passes;
}
