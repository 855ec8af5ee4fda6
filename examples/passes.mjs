// Passes of your own, one for each thing that passes do. docs/your-own-pass.md explains them.
//   sconce lower model.pt2 -o model.pte --import passes.mjs --pass geluForRelu
import { isGraphNode, replacePattern, tensor, toNumbers } from "sconce";

/** @typedef {import("sconce").PassProgram} PassProgram */

/**
 * Puts one operator in the place of another.
 * @param {PassProgram} program
 */
export function geluForRelu({ graph }) {
  for (const node of graph.find("aten::relu")) {
    const gelu = graph.insertBefore(node, "aten::gelu", node.args, { approximate: "tanh" });
    node.replaceAllUsesWith(gelu);
    graph.erase(node);
  }
}

/**
 * Fuses several calls into one, by a pattern.
 * @param {PassProgram} program
 */
export function fuseSilu(program) {
  replacePattern(program, "mul(x, sigmoid(x))", "silu(x)");
}

/**
 * Writes an operator of your own out in operators that lowering knows.
 * @param {PassProgram} program
 */
export function expandScaledTanh({ graph }) {
  for (const node of graph.find("demo::scaled_tanh")) {
    const [x = null, scale = null] = node.args;
    const tanh = graph.insertBefore(node, "aten::tanh", [x]);
    const scaled = graph.insertBefore(node, "aten::mul.Tensor", [tanh, scale]);
    node.replaceAllUsesWith(scaled);
    graph.erase(node);
  }
}

/**
 * Returns the result of every linear layer, behind the results of the model.
 * @param {PassProgram} program
 */
export function showLinears({ graph, addOutput }) {
  for (const node of graph.nodes)
    if (/^aten::(linear|addmm|mm)$/.test(node.target)) addOutput(node);
}

/** The weight of a linear layer, and its bias or null. A backend has the layer whole; without one it
 * is a product with the transposed weight.
 * @param {import("sconce").GraphNode} layer
 */
function operandsOf({ target, args, inputs }) {
  if (target === "aten::linear") return [args[1], args[2]];
  if (target === "aten::addmm") return [inputs[2]?.args[0], args[0]];
  return target === "aten::mm" ? [inputs[1]?.args[0], null] : [];
}

/**
 * Multiplies weight and bias of a linear layer by the number that its result is multiplied by.
 * @param {PassProgram} program
 */
export function foldScales({ method, graph, constants, addConstant }) {
  const held = new Map(constants.map((constant) => [constant.node, constant]));
  for (const product of graph.find("aten::mul.Tensor")) {
    const [result, factor] = product.args.filter(isGraphNode);
    const number = factor && held.get(factor);
    let layer = result;
    while (layer?.target === "aten::view_copy" && layer.users.length === 1) [layer] = layer.inputs;
    if (!result || !layer || layer.users.length > 1 || number?.shape.length !== 0) continue;
    const [weight, bias = null] = operandsOf(layer);
    const parts = [weight, bias]
      .filter((part) => part !== null)
      .map((part) => {
        return isGraphNode(part) && part.users.length === 1 ? held.get(part) : undefined;
      });
    if (!parts.every((part) => part !== undefined)) continue;
    const [by = 1] = toNumbers(number.tensor());
    for (const part of parts) {
      const scaled = toNumbers(part.tensor()).map((x) => x * by);
      const name = `${method}.${part.name}.scaled`;
      part.node.replaceAllUsesWith(addConstant(name, tensor(scaled, [...part.shape])));
    }
    product.replaceAllUsesWith(result);
    graph.erase(product);
  }
}
