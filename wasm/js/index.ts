// The public entry; re-exports only.
export { createEngine } from "./engine.js";
export { createClient, type Client, type ClientOptions } from "./client.js";
export { SconceError, SconcePanic } from "./errors.js";
export { openUrl } from "./source.js";
export { tensor, toNumbers } from "./tensor.js";
export type * from "./types.js";
