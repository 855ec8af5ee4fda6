// The entry of edge functions that run models and lower none. The runtime takes the module that the
// function imports.
import { makeRuntime } from "./runtime.js";
import type { Runtime, RuntimeOptions } from "./types/index.js";

export {
  createRuntimeClient,
  type RuntimeClient,
  type RuntimeClientOptions,
} from "./worker/runtime_client.js";
export * from "./run_library.js";

/**
 * Makes a runtime in an edge function.
 * @example
 * import wasm from "sconce/run.wasm";
 * const runtime = await createRuntime({ wasm });
 * @throws SconceError with the code "io" without a module.
 */
export function createRuntime(options: RuntimeOptions = {}): Promise<Runtime> {
  return makeRuntime(options, undefined);
}
