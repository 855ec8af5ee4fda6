// The script of a runtime's workers. Bundlers look for the expression below, word for word, and ship the
// script for it.
import { RUNTIME } from "./builds.js";
import type { Script } from "./spawn.js";

export const SCRIPT: Script = {
  build: RUNTIME,
  start: () => new Worker(new URL("./run-worker.js", import.meta.url), { type: "module" }),
};
