// The errors of a pass that uses a graph wrongly.
import { SconceError } from "../base/errors.js";
import type { Graph, GraphNode } from "../types/index.js";

export const over = (): SconceError =>
  new SconceError(
    "state",
    "the pass that this program was given to has ended",
    "Change a program before its pass returns.",
  );

export const erased = (node: { readonly name: string }): SconceError =>
  new SconceError("state", `'${node.name}' was erased`, "Use nodes that the graph still has.");

export const foreign = (node: { readonly name: string }): SconceError =>
  new SconceError(
    "argument",
    `'${node.name}' belongs to the program of another pass`,
    "Look for the node in the program that this pass was given.",
  );

export const notErasable = ({ name, op }: GraphNode): SconceError =>
  new SconceError(
    "argument",
    `'${name}' is ${op === "output" ? "the output" : "an input"} of the graph, and only calls can be erased`,
    "Erase the calls that use it.",
  );

/** The error of an argument that is not a body; `bodies` are the indices of those that are. */
export const notBody = (
  { name, target }: GraphNode,
  index: number,
  bodies: readonly number[],
): SconceError =>
  new SconceError(
    "argument",
    `argument ${index} of '${name}' (${target}) is not a body of control flow`,
    bodies.length > 0
      ? `Its bodies are the arguments ${bodies.join(", ")}.`
      : "It has no bodies: those of cond, while_loop, map and scan have.",
  );

export function ofOtherGraph(node: GraphNode, here: Graph): SconceError {
  const placeOf = ({ path }: Graph): string => (path === "" ? "the method's own graph" : path);
  return new SconceError(
    "argument",
    `'${node.name}' is in ${placeOf(node.graph)}, and this is ${placeOf(here)}`,
    "Use node.graph, the graph that the node is in.",
  );
}
