// The engine of pages, workers and programs, which finds its module next to its script.
import { nextToThis } from "./addresses.js";
import { makeEngine } from "./engine.js";
import type { Engine, EngineOptions } from "./types/index.js";

/**
 * Makes an engine on this thread. In a page, prefer the client, which keeps the page responsive.
 * The engine holds memory until `dispose` is called.
 * @example
 * const engine = await createEngine();
 * const lowered = engine.lower({ path: "model.pt2" });
 * const program = engine.load(lowered);
 * const [output] = program.run("forward", [tensor(new Float32Array(4), [1, 4])]);
 * @throws SconceError with the code "io" when the module cannot be loaded.
 */
export function createEngine(options: EngineOptions = {}): Promise<Engine> {
  return makeEngine(options, nextToThis);
}
