// Calls that many expansions share, among them the two questions on which graphs turn: may a view
// alias (computeStride's rule), and what does -1 in a list of sizes stand for.
#include "passes/trace.h"

sc_x f_full(sc_trace *t, sc_x sizes, sc_x value, sc_dtype dtype) {
    if (dtype == SC_DTYPE_BOOL && value->kind != SC_X_BOOL && x_is_number(value))
        value = X_BOOL(x_real(value, 0) != 0);
    return T(full, sizes, value, X_DTYPE(dtype), X_STRIDED, X_CPU, X_FALSE);
}

sc_x f_zeros(sc_trace *t, sc_x sizes, sc_dtype dtype) { return f_full(t, sizes, X_INT(0), dtype); }

sc_x f_scalar(sc_trace *t, sc_x value, sc_dtype dtype) {
    return T(scalar_tensor, value, X_DTYPE(dtype), X_STRIDED, X_CPU);
}

sc_x f_arange(sc_trace *t, sc_x start, sc_x end, sc_dtype dtype) {
    sc_x given = dtype == SC_DTYPE_NONE ? X_NONE : X_DTYPE(dtype);
    return T(arange_start_step, start, end, X_INT(1), given, X_STRIDED, X_CPU, X_FALSE);
}

sc_x f_to(sc_trace *t, sc_x x, sc_dtype dtype) {
    if (x_dtype_of(x) == dtype) return x;
    return T(_to_copy, x, X_DTYPE(dtype));
}

sc_x f_clone(sc_trace *t, sc_x x) { return T(clone, x, X_FORMAT(SC_MEMORY_FORMAT_CONTIGUOUS)); }

sc_x f_contiguous(sc_trace *t, sc_x x) { return x_is_contiguous(t, x) ? x : f_clone(t, x); }

sc_x f_view(sc_trace *t, sc_x x, const sc_dim *sizes, uint32_t rank) {
    return T(view, x, x_dims(t, sizes, rank));
}

sc_x f_permute(sc_trace *t, sc_x x, const int64_t *dims) {
    return T(permute, x, x_ints(t, dims, x_rank(x)));
}

sc_x f_transpose(sc_trace *t, sc_x x, int64_t dim0, int64_t dim1) {
    return T(transpose_int, x, X_INT(dim0), X_INT(dim1));
}

sc_x f_unsqueeze(sc_trace *t, sc_x x, int64_t dim) { return T(unsqueeze, x, X_INT(dim)); }
sc_x f_squeeze(sc_trace *t, sc_x x, int64_t dim) { return T(squeeze_dim, x, X_INT(dim)); }

sc_x f_expand(sc_trace *t, sc_x x, const sc_dim *sizes, uint32_t rank) {
    return T(expand, x, x_dims(t, sizes, rank));
}

sc_x f_slice(sc_trace *t, sc_x x, int64_t dim, sc_x start, sc_x end) {
    return T(slice_Tensor, x, X_INT(dim), start, end);
}

sc_x f_select(sc_trace *t, sc_x x, int64_t dim, int64_t index) {
    return T(select_int, x, X_INT(dim), X_INT(index));
}

sc_x f_cat(sc_trace *t, const sc_x *items, uint32_t count, int64_t dim) {
    return T(cat, x_list(t, items, count), X_INT(dim));
}

sc_x f_sum(sc_trace *t, sc_x x, sc_x dims, bool keepdim) {
    return T(sum_dim_IntList, x, dims, X_BOOL(keepdim));
}

sc_x f_reduce_loss(sc_trace *t, sc_x loss, sc_x reduction) {
    switch (x_number(reduction, 0)) {
    case 1: return T(mean, loss);
    case 2: return T(sum, loss);
    default: return loss;
    }
}

sc_dtype f_opmath(sc_dtype dtype) { return sc_dtype_is_half(dtype) ? SC_DTYPE_F32 : dtype; }

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

bool f_view_is_legal(sc_trace *t, sc_x x, const sc_dim *sizes, uint32_t rank) {
    const sc_spec *spec = x_spec(x);
    if (spec->rank == 0 || sc_dim_is(x_numel(t, x), 0)) return true;
    return chunks_fit(t, spec, sizes, rank);
}

bool f_infer_size(sc_trace *t, sc_x x, sc_x list, sc_dim *out, uint32_t *rank) {
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
    const sc_spec *spec = x_spec(x);
    sc_dim total = sc_trace_product(t, spec->sizes, spec->rank);
    if (sc_dim_is(known, 0))
        sc_trace_fail(t, SC_ERR_SHAPE, NULL, "-1 in a shape is ambiguous beside a size of 0");
    else
        out[open] = sc_trace_floordiv(t, total, known);
    return t->status == SC_OK;
}

sc_x f_reshape(sc_trace *t, sc_x x, const sc_dim *sizes, uint32_t rank) {
    if (t->status != SC_OK || f_view_is_legal(t, x, sizes, rank)) return f_view(t, x, sizes, rank);
    return T(_unsafe_view, f_clone(t, x), x_dims(t, sizes, rank));
}
