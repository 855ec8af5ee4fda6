// Calls that many expansions share, among them the two questions on which graphs turn: may a view
// alias (computeStride's rule), and what does -1 in a list of sizes stand for.
#include "trace/trace.h"

sc_x sc_f_full(sc_trace *t, sc_x sizes, sc_x value, sc_dtype dtype) {
    if (dtype == SC_DTYPE_BOOL && value->kind != SC_X_BOOL && sc_x_is_number(value))
        value = sc_x_bool(sc_x_real(value, 0) != 0);
    return CALL(t, full, sizes, value, sc_x_dtype(t, dtype), X_STRIDED, X_CPU, X_FALSE);
}

sc_x sc_f_zeros(sc_trace *t, sc_x sizes, sc_dtype dtype) {
    return sc_f_full(t, sizes, sc_x_int(t, 0), dtype);
}

sc_x sc_f_scalar(sc_trace *t, sc_x value, sc_dtype dtype) {
    return CALL(t, scalar_tensor, value, sc_x_dtype(t, dtype), X_STRIDED, X_CPU);
}

sc_x sc_f_arange(sc_trace *t, sc_x start, sc_x end, sc_dtype dtype) {
    sc_x given = dtype == SC_DTYPE_NONE ? X_NONE : sc_x_dtype(t, dtype);
    return CALL(t, arange_start_step, start, end, sc_x_int(t, 1), given, X_STRIDED, X_CPU, X_FALSE);
}

sc_x sc_f_to(sc_trace *t, sc_x x, sc_dtype dtype) {
    if (sc_x_dtype_of(x) == dtype) return x;
    return CALL(t, _to_copy, x, sc_x_dtype(t, dtype));
}

sc_x sc_f_clone(sc_trace *t, sc_x x) {
    return CALL(t, clone, x, sc_x_format(t, SC_MEMORY_FORMAT_CONTIGUOUS));
}

sc_x sc_f_contiguous(sc_trace *t, sc_x x) {
    return sc_x_is_contiguous(t, x) ? x : sc_f_clone(t, x);
}

sc_x sc_f_view(sc_trace *t, sc_x x, const sc_dim *sizes, uint32_t rank) {
    return CALL(t, view, x, sc_x_dims(t, sizes, rank));
}

sc_x sc_f_permute(sc_trace *t, sc_x x, const int64_t *dims) {
    return CALL(t, permute, x, sc_x_ints(t, dims, sc_x_rank(x)));
}

sc_x sc_f_transpose(sc_trace *t, sc_x x, int64_t dim0, int64_t dim1) {
    return CALL(t, transpose_int, x, sc_x_int(t, dim0), sc_x_int(t, dim1));
}

sc_x sc_f_unsqueeze(sc_trace *t, sc_x x, int64_t dim) {
    return CALL(t, unsqueeze, x, sc_x_int(t, dim));
}
sc_x sc_f_squeeze(sc_trace *t, sc_x x, int64_t dim) {
    return CALL(t, squeeze_dim, x, sc_x_int(t, dim));
}

sc_x sc_f_expand(sc_trace *t, sc_x x, const sc_dim *sizes, uint32_t rank) {
    return CALL(t, expand, x, sc_x_dims(t, sizes, rank));
}

sc_x sc_f_slice(sc_trace *t, sc_x x, int64_t dim, sc_x start, sc_x end) {
    return CALL(t, slice_Tensor, x, sc_x_int(t, dim), start, end);
}

sc_x sc_f_select(sc_trace *t, sc_x x, int64_t dim, int64_t index) {
    return CALL(t, select_int, x, sc_x_int(t, dim), sc_x_int(t, index));
}

sc_x sc_f_cat(sc_trace *t, const sc_x *items, uint32_t count, int64_t dim) {
    return CALL(t, cat, sc_x_list(t, items, count), sc_x_int(t, dim));
}

sc_x sc_f_sum(sc_trace *t, sc_x x, sc_x dims, bool keepdim) {
    return CALL(t, sum_dim_IntList, x, dims, sc_x_bool(keepdim));
}

sc_x sc_f_reduce_loss(sc_trace *t, sc_x loss, sc_x reduction) {
    switch (sc_x_number(reduction, 0)) {
    case 1: return CALL(t, mean, loss);
    case 2: return CALL(t, sum, loss);
    default: return loss;
    }
}

sc_dtype sc_f_opmath(sc_dtype dtype) { return sc_dtype_is_half(dtype) ? SC_DTYPE_F32 : dtype; }

// --- Sizes --------------------------------------------------------------------------------------

static bool is_less(sc_dim a, sc_dim b) {
    int64_t x, y;
    if (sc_dim_equal(a, b)) return false;
    if (sc_dim_hint(a, &x) && sc_dim_hint(b, &y)) return x < y;
    return sc_dim_known_le(b, a) != SC_TRI_TRUE;
}

// Old dims are grouped from the last to the first into chunks that lie in memory without gaps; each
// chunk must be taken up exactly by a run of new dims.
static bool chunks_fit(sc_trace *t, const sc_spec *spec, const sc_dim *sizes, uint32_t rank) {
    sc_exprs *e = t->exprs;
    sc_dim one = sc_dim_int(1), old_count = one, new_count = one;
    sc_dim base = spec->strides[spec->rank - 1];
    uint32_t left = rank;  // new dims not taken up yet
    for (uint32_t d = spec->rank; d-- > 0;) {
        old_count = sc_dim_mul(e, old_count, spec->sizes[d]);
        if (d > 0 && (sc_dim_is(spec->sizes[d - 1], 1) ||
                      sc_dim_equal(spec->strides[d - 1], sc_dim_mul(e, old_count, base))))
            continue;
        while (left > 0 && (is_less(new_count, old_count) || sc_dim_is(sizes[left - 1], 1)))
            new_count = sc_dim_mul(e, new_count, sizes[--left]);
        if (!sc_dim_equal(new_count, old_count)) return false;
        if (d > 0) {
            base = spec->strides[d - 1];
            old_count = new_count = one;
        }
    }
    return left == 0;
}

// May view(x, sizes) alias? Sizes are resolved.
static bool view_is_legal(sc_trace *t, sc_x x, const sc_dim *sizes, uint32_t rank) {
    const sc_spec *spec = sc_x_spec(x);
    if (spec->rank == 0 || sc_dim_is(sc_x_numel(t, x), 0)) return true;
    return chunks_fit(t, spec, sizes, rank);
}

bool sc_f_infer_size(sc_trace *t, sc_x x, sc_x list, sc_dim *out, uint32_t *rank) {
    if (list->kind != SC_X_LIST || list->count > SC_RANK_MAX) {
        sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "a shape of at most %d sizes is needed",
                      SC_RANK_MAX);
        return false;
    }
    int64_t open = -1;
    *rank = list->count;
    sc_dim known = sc_dim_int(1);
    for (uint32_t i = 0; i < list->count; i++) {
        out[i] = list->items[i]->kind == SC_X_INT ? list->items[i]->dim : sc_dim_int(0);
        if (sc_dim_is(out[i], -1))
            open = i;
        else
            known = sc_dim_is(known, 1) ? out[i] : sc_trace_mul(t, known, out[i]);
    }
    if (open < 0) return t->status == SC_OK;
    const sc_spec *spec = sc_x_spec(x);
    sc_dim total = sc_trace_product(t, spec->sizes, spec->rank);
    if (sc_dim_is(known, 0))
        sc_trace_fail(t, SC_ERR_SHAPE, NULL, "-1 in a shape is ambiguous beside a size of 0");
    else
        out[open] = sc_trace_floordiv(t, total, known);
    return t->status == SC_OK;
}

sc_x sc_f_reshape(sc_trace *t, sc_x x, const sc_dim *sizes, uint32_t rank) {
    if (t->status != SC_OK || view_is_legal(t, x, sizes, rank)) return sc_f_view(t, x, sizes, rank);
    return CALL(t, _unsafe_view, sc_f_clone(t, x), sc_x_dims(t, sizes, rank));
}
