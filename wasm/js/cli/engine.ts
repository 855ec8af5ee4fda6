// The engine of a command, which reads the module from the package's own folder.
import { readFileSync } from "node:fs";
import { createEngine } from "../create.js";
import type { Engine } from "../types/index.js";

/** Makes the engine that a command works with. */
export function makeEngine(): Promise<Engine> {
  return createEngine({ wasm: readFileSync(new URL("../sconce.wasm", import.meta.url)) });
}

/** Makes an engine of the fastest flavour, with all threads of the machine. */
export const makeFastEngine = (): Promise<Engine> => createEngine();
