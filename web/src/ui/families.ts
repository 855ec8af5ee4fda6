// Operators by family, for colour only: eight hues that colour-blind people can tell apart. The
// name of the operator always stands beside the colour.
export type Family =
  "matrix" | "conv" | "reduce" | "pointwise" | "shape" | "index" | "create" | "other";

export const FAMILY_LABELS: Record<Family, string> = {
  matrix: "matrix products",
  conv: "convolution, pooling",
  reduce: "reductions, norms",
  pointwise: "element by element",
  shape: "shape and moves",
  index: "indexing",
  create: "constants",
  other: "control",
};

/** Names without namespace, overload, leading underscore and "_copy"; the rest is pointwise. */
const NAMES: Partial<Record<Family, string>> = {
  matrix: "linear addmm mm bmm baddbmm matmul dot einsum outer mv scaled_dot_product_attention",
  conv: `convolution conv1d conv2d conv3d conv_transpose2d avg_pool1d avg_pool2d max_pool1d
    max_pool2d max_pool2d_with_indices adaptive_avg_pool1d adaptive_avg_pool2d upsample_nearest2d
    upsample_bilinear2d grid_sampler_2d pixel_shuffle`,
  reduce: `sum mean max min amax amin argmax argmin softmax log_softmax var std any all prod norm
    cumsum topk sort batch_norm layer_norm group_norm rms_norm native_batch_norm
    native_batch_norm_legit native_batch_norm_legit_no_training native_layer_norm
    native_group_norm`,
  shape: `view unsafe_view reshape permute transpose t squeeze unsqueeze expand clone clone_dim_order
    flatten unflatten contiguous alias detach cat stack split split_with_sizes chunk unbind repeat
    movedim pad constant_pad_nd slice narrow to_dim_order to copy select getitem sym_size
    as_strided copy_ lift_fresh`,
  index: `index index_put index_select index_copy gather scatter embedding where masked_fill
    nonzero slice_scatter select_scatter flip roll scatter_add`,
  create: `full full_like zeros zeros_like ones ones_like empty empty_like arange scalar_tensor
    rand randn eye tril triu`,
  other: "cond while_loop map scan wrap executorch_call_delegate et_view alloc",
};

const FAMILY_OF = new Map(
  Object.entries(NAMES).flatMap(([family, names]) =>
    names.split(/\s+/).map((name) => [name, family as Family] as const),
  ),
);

/** Family of "aten::add.Tensor", "dim_order_ops::_clone_dim_order" and the like. */
export function familyOf(op: string): Family {
  const name = op.split("::").at(-1)!.split(".")[0]!.replace(/^_/, "");
  return FAMILY_OF.get(name) ?? FAMILY_OF.get(name.replace(/_copy$/, "")) ?? "pointwise";
}
