// The type of a runtime, and its options.
import type { Backend } from "./backend.js";
import type { LoadOptions } from "./call.js";
import type { OwnOperator } from "./operator.js";
import type { Capabilities, EngineOptions, ModuleUrl } from "./engine.js";
import type { RuntimeProgram } from "./program.js";
import type { Resource } from "./resource.js";
import type { Source } from "./source.js";

/**
 * Loads and runs programs, on the calling thread. It has less than half of the engine's bytes, and
 * nothing to lower, quantize or inspect. `createRuntime` makes a runtime.
 */
export interface Runtime extends Resource {
  /** The version of the module: "0.1.0". */
  readonly version: string;
  /** The features of WebAssembly that this host has, and those that are in use. */
  capabilities(): Capabilities;
  /** The bytes of memory that the module has, as `Engine.heapBytes` gives them. */
  heapBytes(): number;
  /**
   * Opens a .pte, or the program in a bundled one (.bpte). The first run of a method fails with the
   * code "operator_missing" if it calls an operator that runtimes leave out. An engine may have it.
   * @example
   * const program = runtime.load("model.pte");
   * const [output] = program.run("forward", [tensor(new Float32Array(4), [1, 4])]);
   * program.dispose();
   */
  load(pte: Source, options?: LoadOptions): RuntimeProgram;
  /** Adds a backend, as `Engine.registerBackend` does. Here only `init` and `execute` are called. */
  registerBackend<State>(backend: Backend<State>): void;
  /** Imports a module and registers its default export as a backend. Gives the id. */
  importBackend(module: ModuleUrl): Promise<string>;
  /** Adds an operator of your own, as `Engine.registerOperator` does. */
  registerOperator(operator: OwnOperator): void;
  /** Imports a module and registers every exported object with a `schema`. Gives the schemas. */
  importOperators(module: ModuleUrl): Promise<string[]>;
}

/**
 * Options of `createRuntime`: those of `createEngine`. The module is run.wasm or another flavour of
 * it. One that `sconce build-runtime` made fits, too.
 */
export type RuntimeOptions = EngineOptions;
