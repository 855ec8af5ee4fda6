// Names of operators as Python writes them.

/**
 * The name in the text of a graph: "torch.ops.aten.add.Tensor" and "aten.add.Tensor" become
 * "aten::add.Tensor", and "aten.relu.default" becomes "aten::relu".
 */
export const operatorName = (text: string): string =>
  text
    .replace(/^torch\.ops\./, "")
    .replace(/^(\w+)\.(?=\w)/, "$1::")
    .replace(/\.default$/, "");
