// The public entry of programs that run models and lower none; re-exports only.
export { createRuntime } from "./create_runtime.js";
export {
  createRuntimeClient,
  type RuntimeClient,
  type RuntimeClientOptions,
} from "./worker/runtime_client.js";
export * from "./run_library.js";
