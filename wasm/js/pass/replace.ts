// Helpers for passes: rewriting by pattern, and distinguishing nodes from other arguments.
import { badArgument, mustBe } from "../base/check.js";
import type { GraphNode, GraphValue, PassProgram } from "../types/index.js";
import { isNodeOfAnyCopy } from "./graph.js";
import { replaceIn } from "./program.js";

/**
 * Replaces every match of a pattern in a method and its bodies of control flow. Gives the results
 * of the replacements, in order. A replacement is not searched again.
 *
 * Both texts are calls of operators, such as `"mul(x, sigmoid(x))"`. A name matches any value or
 * argument; if it occurs twice, both must be the same. Numbers, lists, `None`, dtypes (`f32`) and
 * keywords (`dim=1`) match themselves. An argument that is left out has its default. `a = ...; b`
 * defines a name. Operands of commutative operators match in either order. If other nodes use a
 * matched call, it stays for them.
 *
 * Fails with the code "argument" if a text cannot be read.
 *
 * @example
 * engine.toEdge("model.pt2").transform([
 *   (program) => void replacePattern(program, "mul(x, sigmoid(x))", "silu(x)"),
 * ]);
 */
export function replacePattern(
  program: PassProgram,
  pattern: string,
  replacement: string,
): GraphValue[] {
  mustBe("text", "the pattern of replacePattern()", pattern);
  mustBe("text", "the replacement of replacePattern()", replacement);
  const roots = replaceIn(program, pattern, replacement);
  if (roots) return roots;
  throw badArgument("what replacePattern() changes", "the program that a pass is given", program);
}

/**
 * True if an argument of a node is another node, rather than a number, text or a list.
 *
 * @example
 * edge.transform([
 *   ({ graph }) => {
 *     for (const node of graph.nodes) {
 *       const [x] = node.args;
 *       if (isGraphNode(x) && x.target === "aten::relu") console.log(node.name);
 *     }
 *   },
 * ]);
 */
export const isGraphNode = (arg: unknown): arg is GraphNode => isNodeOfAnyCopy(arg);
