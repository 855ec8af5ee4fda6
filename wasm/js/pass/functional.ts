// Passes that assume that a value stays as its node made it. Before decomposition, a call may write
// into it.
import { SconceError } from "../base/errors.js";
import type { PassFunction } from "../types/index.js";

/** The pass, refused for a method that writes in place. */
export function functional(name: string, pass: PassFunction): PassFunction {
  return Object.defineProperty(
    (program: Parameters<PassFunction>[0]): void => {
      for (const node of program.graph.nodes)
        if (node.mutates)
          throw new SconceError(
            "argument",
            `the pass needs a method without writes in place, and '${node.name}' (${node.target}) writes`,
            "Run it after decomposition, in transformPasses.",
          );
      pass(program);
    },
    "name",
    { value: name },
  );
}
