// Sums over a single dim. The official runtime adds them up in float32 if the result has the dtype
// of the input, but sums over two dims in the dtype itself. So the call also names a dim of size 1.
#include "trace/official/official.h"

static sc_x summed(sc_trace *t, sc_x x, uint32_t dim, sc_x dtype) {
    sc_dim sizes[SC_RANK_MAX + 1];
    const uint32_t rank = sc_x_rank(x);
    if (rank == 0 || rank >= SC_RANK_MAX) return sc_official_refuse(t);
    for (uint32_t i = 0; i < rank; i++) sizes[i < dim + 1 ? i : i + 1] = sc_x_size(x, i);
    sizes[dim + 1] = sc_dim_int(1);
    sc_x along = X_INTS(t, dim, dim + 1), wide = sc_f_view(t, x, sizes, rank + 1);
    return CALL(t, sum_dim_IntList, wide, along, X_FALSE, dtype);
}

sc_x sc_official_sum_of(sc_trace *t, sc_x x, uint32_t dim) {
    return sc_f_unsqueeze(t, summed(t, x, dim, X_NONE), dim);
}

// Integers with a result of another dtype are added up in that dtype. PyTorch, too, adds up float32
// and smaller floats in float32. The official runtime reads the size of the dim, which a scalar
// lacks.
bool sc_official_is_wide_sum(const sc_node *node) {
    const sc_arg *dims = sc_node_arg(node, "dim"), *self = sc_node_arg(node, "self");
    const bool is_one = dims->kind == SC_ARG_LIST && dims->count == 1;
    if (!is_one || self->kind != SC_ARG_VALUE) return false;
    if (self->value->spec.rank == 0) return true;
    const sc_dtype dtype = (sc_dtype)self->value->spec.dtype;
    const bool is_wide = dtype == SC_DTYPE_F64 || sc_dtype_is_integral(dtype, false);
    return is_wide && node->outs[0]->spec.dtype == dtype;
}

// (self, dim, keepdim, dtype)
sc_x sc_official_sum(sc_trace *t, const sc_x *a) {
    if (sc_x_rank(a[0]) == 0) return sc_official_only_element(t, a[0]);
    const uint32_t dim = sc_x_wrap(t, sc_x_at(t, a[1], 0), sc_x_rank(a[0]));
    sc_x sum = summed(t, a[0], dim, a[3]);
    return sc_x_truth(a[2]) ? sc_f_unsqueeze(t, sum, dim) : sum;
}
