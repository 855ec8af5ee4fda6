// The public entry; re-exports only.
export { createEngine } from "./create.js";
export * from "./library.js";
