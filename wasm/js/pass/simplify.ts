// Passes that shorten a graph and are not a part of lowering, as CSEPass and
// FoldRedundantDequantizeQuantizePass of ExecuTorch are:
// https://github.com/pytorch/executorch/blob/main/exir/passes
import type { Graph, GraphArg, GraphNode, GraphValue } from "../types/index.js";
import { functional } from "./functional.js";
import { isGraphNode } from "./replace.js";

const isValue = (arg: GraphArg): arg is GraphValue =>
  typeof arg === "object" && arg !== null && "users" in arg;

/** The argument as text that equal arguments share; undefined for bodies of control flow. */
function keyOf(arg: GraphArg): string | undefined {
  if (isValue(arg)) return `%${arg.name}`;
  if (Array.isArray(arg)) {
    const items = (arg as readonly GraphArg[]).map(keyOf);
    return items.includes(undefined) ? undefined : `[${items.join()}]`;
  }
  if (typeof arg === "bigint") return `${arg}n`;
  if (typeof arg !== "object" || arg === null) return JSON.stringify(arg);
  if (!("float" in arg)) return undefined;
  return Object.is(arg.float, -0) ? "-0.0" : `f${arg.float}`;
}

/** The call as text; undefined for one whose results two equal calls need not share. */
function callKey(node: GraphNode): string | undefined {
  if (!/^(aten|dim_order_ops|quantized_decomposed)::/.test(node.target)) return undefined;
  if (node.isRandom) return undefined;
  const args = keyOf([...node.args, ...Object.values(node.kwargs)]);
  // Sizes that a run finds have symbols of their own in each call, so the types tell these apart.
  return args && `${node.target}${args}${JSON.stringify(node.meta.val)}`;
}

/**
 * A pass: a call with the same operator and arguments as one before it gives way to that one. Calls of
 * other libraries and of random operators stay, and so does what a method returns.
 */
export const cse = functional("cse", ({ graph }) => {
  const known = new Map<string, GraphNode>();
  const returned = new Set<GraphNode>(graph.output.inputs);
  for (const node of graph.nodes) {
    if (node.op !== "call_function" || returned.has(node)) continue;
    const key = callKey(node);
    const same = key && known.get(key);
    if (key && !same) known.set(key, node);
    if (!same) continue;
    node.outputs.forEach((output, i) => output.replaceAllUsesWith(same.outputs[i]!));
    graph.erase(node);
  }
});

const QUANTIZE = /^quantized_decomposed::quantize_per_(tensor|channel)/;
const DEQUANTIZE = /^quantized_decomposed::dequantize_per_(tensor|channel)/;

/** True if it quantizes floats by the parameters that dequantized them. */
const isInverse = (quantize: GraphNode, dequantize: GraphNode): boolean =>
  quantize.target === dequantize.target.replace("::dequantize", "::quantize") &&
  keyOf(quantize.args.slice(1)) === keyOf(dequantize.args.slice(1, quantize.args.length));

function foldIn(graph: Graph): void {
  for (const node of graph.nodes) {
    const [floats] = node.args;
    if (!QUANTIZE.test(node.target) || !isGraphNode(floats) || !DEQUANTIZE.test(floats.target))
      continue;
    const [integers] = floats.args;
    if (!isInverse(node, floats) || !isGraphNode(integers)) continue;
    node.replaceAllUsesWith(integers);
    graph.erase(node);
  }
  graph.eraseDead();
}

/** A pass: a dequantization whose result is quantized again in the same way gives way to its operand. */
export const foldDequantizeQuantize = functional("foldDequantizeQuantize", ({ graph }) =>
  foldIn(graph),
);
