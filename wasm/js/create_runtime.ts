// The runtime of pages, workers and programs, which finds its module next to its script.
import { nextToThis } from "./run_addresses.js";
import { makeRuntime } from "./runtime.js";
import type { Runtime, RuntimeOptions } from "./types/index.js";

/**
 * Makes a runtime on this thread, which loads and runs programs and cannot lower them. In a page,
 * prefer `createRuntimeClient`, which keeps the page responsive. The runtime holds memory until
 * `dispose` is called.
 * @example
 * const runtime = await createRuntime();
 * const program = runtime.load("model.pte");
 * const [output] = program.run("forward", [tensor(new Float32Array(4), [1, 4])]);
 * @throws SconceError with the code "io" when the module cannot be loaded.
 */
export function createRuntime(options: RuntimeOptions = {}): Promise<Runtime> {
  return makeRuntime(options, nextToThis);
}
