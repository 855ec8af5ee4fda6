// Clients of an engine.
import { checkTable, CLIENT_OPTIONS } from "../base/check.js";
import { SCRIPT } from "../engine_script.js";
import type { Engine, Remote } from "../types/index.js";
import { ownClient, type WorkerOptions } from "./start.js";

/** Options of `createClient`. */
export type ClientOptions = WorkerOptions;

/** The engine in a worker. Everything that it returned ends with it. */
export type Client = Remote<Engine> & {
  /** Ends the worker at once, even during a call. Current calls fail with SconcePanic. */
  terminate(): void;
};

/**
 * Starts a worker with an engine in it. Each worker compiles the module by itself. If a page has
 * many clients, pass all of them one compiled module as `wasm`, and they start in half the time. A
 * pool does that.
 * @example
 * const client = await createClient();
 * const lowered = await client.lower(file, { onProgress: ({ phase }) => console.log(phase) });
 * const program = await client.load(lowered);
 * @throws SconceError with the code "io" when the worker or the module cannot be loaded.
 */
export async function createClient(options: ClientOptions = {}): Promise<Client> {
  checkTable("createClient()", options, CLIENT_OPTIONS);
  return (await ownClient(options, SCRIPT)) as Client;
}
