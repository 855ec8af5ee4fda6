// Operators by family, for colour only: eight hues that colour-blind people can tell apart. The
// name of the operator always stands beside the colour.
export type Family =
  | "matrix" | "conv" | "reduce" | "pointwise" | "shape" | "index" | "create" | "other";

const FAMILIES: readonly [Family, RegExp][] = [
  ["matrix", /^(linear|addmm|mm|bmm|baddbmm|matmul|dot|einsum|outer|mv|scaled_dot_product)/],
  ["conv", /^(conv|_?adaptive_|avg_pool|max_pool|upsample|grid_sampl|pixel_)/],
  ["reduce", /^(sum|mean|max|min|amax|amin|argm|softmax|_softmax|_log_softmax|log_softmax|var|std|any|all|prod|norm|cumsum|topk|sort|native_.*norm|_native_.*norm|_?batch_norm|layer_norm|group_norm|rms_norm|native_dropout)/],
  ["shape", /^(view|_unsafe_view|reshape|permute|transpose|t|squeeze|unsqueeze|expand|clone|_clone|flatten|unflatten|contiguous|alias|detach|cat|stack|split|chunk|unbind|repeat|movedim|pad|constant_pad|lift|slice|narrow|_to_dim|_to_copy|to|copy|as_strided|select|getitem|sym_size|_assert)(_|\.|$)/],
  ["index", /^(index|gather|scatter|embedding|where|masked|take|nonzero|slice_scatter|select_scatter|flip|roll)/],
  ["create", /^(full|zeros|ones|empty|arange|scalar_tensor|rand|eye|tril|triu|tensor|linspace|lift_fresh)/],
  ["other", /^(cond|while_loop|map|scan|wrap|executorch_call_delegate)/],
];

export const FAMILY_LABELS: Record<Family, string> = {
  matrix: "matrix products", conv: "convolution, pooling", reduce: "reductions, norms",
  pointwise: "element by element", shape: "shape and moves", index: "indexing",
  create: "constants", other: "control",
};

/** Family of "aten::add.Tensor", "dim_order_ops::_clone_dim_order" and the like. */
export function familyOf(op: string): Family {
  const name = op.slice(op.lastIndexOf("::") + (op.includes("::") ? 2 : 0));
  return FAMILIES.find(([, pattern]) => pattern.test(name))?.[0] ?? "pointwise";
}
