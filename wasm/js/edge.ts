// The entry of edge functions. It is the library, and its engine takes the module that the function imports.
import { makeEngine } from "./engine.js";
import type { Engine, EngineOptions } from "./types/index.js";

export * from "./library.js";

/**
 * Makes an engine in an edge function.
 * @example
 * import wasm from "sconce/sconce.wasm";
 * const engine = await createEngine({ wasm });
 * @throws SconceError with the code "io" without a module.
 */
export function createEngine(options: EngineOptions = {}): Promise<Engine> {
  return makeEngine(options, undefined);
}
