// Clients of a runtime.
import { checkTable, CLIENT_OPTIONS } from "../base/check.js";
import { SCRIPT } from "../run_script.js";
import type { Remote, Runtime } from "../types/index.js";
import { ownClient, type WorkerOptions } from "./start.js";

/** Options of `createRuntimeClient`. */
export type RuntimeClientOptions = WorkerOptions;

/** The runtime in a worker. Everything that it returned ends with it. */
export type RuntimeClient = Remote<Runtime> & {
  /** Ends the worker at once, even during a call. Current calls fail with SconcePanic. */
  terminate(): void;
};

/**
 * Starts a worker with a runtime in it.
 * @example
 * const client = await createRuntimeClient();
 * const program = await client.load("model.pte");
 * const [output] = await program.run("forward", [tensor(new Float32Array(4), [1, 4])]);
 * @throws SconceError with the code "io" when the worker or the module cannot be loaded.
 */
export async function createRuntimeClient(
  options: RuntimeClientOptions = {},
): Promise<RuntimeClient> {
  checkTable("createRuntimeClient()", options, CLIENT_OPTIONS);
  return (await ownClient(options, SCRIPT)) as RuntimeClient;
}
