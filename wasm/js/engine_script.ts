// The script of an engine's workers. Bundlers look for the expression below, word for word, and ship the
// script for it.
import { ENGINE } from "./builds.js";
import type { Script } from "./spawn.js";

export const SCRIPT: Script = {
  build: ENGINE,
  start: () => new Worker(new URL("./worker.js", import.meta.url), { type: "module" }),
};
