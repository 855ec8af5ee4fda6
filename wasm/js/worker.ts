// The script of the engine's workers, and of its threads.
import { createEngine } from "./create.js";
import { SconceError } from "./base/errors.js";
import { openersOf } from "./call/protocol.js";
import { serveRoot } from "./worker/serve.js";
import type { Engine, Programs } from "./types/index.js";

type Opening = (programs: Programs, options?: object) => unknown;

/** The engine, but with compressed archives inflated first where it cannot do that by itself. */
function inflating(engine: Engine): Engine {
  const members = engine as unknown as Record<string, Opening>;
  for (const name of openersOf("Engine")) {
    const open = members[name]!.bind(engine);
    members[name] = async (programs, ...rest) => {
      try {
        return open(programs, ...rest);
      } catch (error) {
        if (!(error instanceof SconceError && error.code === "compressed")) throw error;
        return open(await engine.inflate(programs), ...rest);
      }
    };
  }
  return engine;
}

serveRoot({ kind: "Engine", create: async (options) => inflating(await createEngine(options)) });
