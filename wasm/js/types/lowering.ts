// The options of lowering, and the programs that it takes.
import type { Passes } from "./pass.js";
import type { BackendConfig, CompileConfig, ExecutorchConfig } from "../border/options.gen.js";
import type { Partitioners } from "./backend.js";
import type { CallOptions } from "./call_options.js";
import type { ConstantValue } from "./constant.js";
import type { Source } from "./source.js";

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
  /**
   * Passes over the edge program. They run first, and the program that they make is planned and
   * written.
   */
  readonly passes?: Passes;
}
