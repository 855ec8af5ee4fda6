// Calls that many expansions share, among them the two questions on which graphs turn: may a view
// alias, and what does -1 in a list of sizes stand for.
#include "trace/words/calls.h"

sc_x sc_f_full(sc_trace *t, sc_x sizes, sc_x value, sc_dtype dtype) {
    if (dtype == SC_DTYPE_BOOL && value->kind != SC_X_BOOL && sc_x_is_number(value))
        value = sc_x_bool(sc_x_real(value, 0) != 0);
    return CALL(t, full, sizes, value, sc_x_dtype(t, dtype), X_STRIDED, X_CPU, X_FALSE);
}

sc_x sc_f_zeros(sc_trace *t, sc_x sizes, sc_dtype dtype) {
    return sc_f_full(t, sizes, sc_x_int(t, 0), dtype);
}

sc_x sc_f_zeros_of(sc_trace *t, sc_x like) {
    return sc_f_zeros(t, sc_x_sizes(t, like, 0, sc_x_rank(like)), sc_x_dtype_of(like));
}

sc_x sc_f_scalar(sc_trace *t, sc_x value, sc_dtype dtype) {
    return CALL(t, scalar_tensor, value, sc_x_dtype(t, dtype), X_STRIDED, X_CPU);
}

sc_x sc_f_scalar_like(sc_trace *t, sc_x value, sc_x like) {
    return sc_f_scalar(t, value, sc_x_dtype_of(like));
}

sc_x sc_f_tensor_like(sc_trace *t, sc_x x, sc_x like) {
    return sc_x_is_tensor(x) || !sc_x_is_tensor(like) ? x : sc_f_scalar_like(t, x, like);
}

static sc_category category_of(sc_x number) {
    if (number->kind == SC_X_FLOAT) return SC_CATEGORY_FLOAT;
    return number->kind == SC_X_BOOL ? SC_CATEGORY_BOOL : SC_CATEGORY_INT;
}

sc_dtype sc_f_dtype_with(sc_x number, sc_x tensor) {
    sc_promotion p = {0};
    sc_promotion_add_tensor(&p, sc_x_dtype_of(tensor), sc_x_rank(tensor) > 0);
    sc_promotion_add_number(&p, category_of(number));
    return sc_promotion_result(&p);
}

sc_x sc_f_arange(sc_trace *t, sc_x start, sc_x end, sc_dtype dtype) {
    sc_x given = dtype == SC_DTYPE_NONE ? X_NONE : sc_x_dtype(t, dtype);
    return CALL(t, arange_start_step, start, end, sc_x_int(t, 1), given, X_STRIDED, X_CPU, X_FALSE);
}

sc_x sc_f_range(sc_trace *t, sc_x count, sc_dtype dtype) {
    return sc_f_arange(t, sc_x_int(t, 0), count, dtype);
}

sc_x sc_f_evenly(sc_trace *t, sc_x like) {
    const sc_dtype dtype = sc_x_is_float(like) ? sc_x_dtype_of(like) : SC_DTYPE_F32;
    return CALL(t, rand, sc_x_sizes(t, like, 0, SC_RANK_MAX), sc_x_dtype(t, dtype), X_STRIDED,
                X_CPU, X_FALSE);
}

sc_x sc_f_to(sc_trace *t, sc_x x, sc_dtype dtype) {
    if (sc_x_dtype_of(x) == dtype) return x;
    return CALL(t, _to_copy, x, sc_x_dtype(t, dtype));
}

sc_x sc_f_to_dtype_of(sc_trace *t, sc_x x, sc_x like) { return sc_f_to(t, x, sc_x_dtype_of(like)); }

sc_x sc_f_to_given(sc_trace *t, sc_x x, sc_x dtype) {
    if (dtype->kind != SC_X_DTYPE || dtype->code == sc_x_dtype_of(x)) return x;
    return CALL(t, _to_copy, x, dtype, X_STRIDED, X_CPU);
}

sc_x sc_f_widen(sc_trace *t, sc_x x) { return sc_f_to(t, x, sc_f_opmath(sc_x_dtype_of(x))); }

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

sc_x sc_f_join(sc_trace *t, sc_x x, sc_x y, int64_t dim) {
    const sc_x both[2] = {x, y};
    return sc_f_cat(t, both, 2, dim);
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

// May view(x, sizes) alias? Sizes are resolved. View itself refuses sizes of another shape.
static bool view_is_legal(sc_trace *t, sc_x x, const sc_dim *sizes, uint32_t rank) {
    const sc_spec *spec = sc_x_spec(x);
    if (spec->rank == 0 || rank > SC_RANK_MAX || sc_dim_is(sc_x_numel(t, x), 0)) return true;
    sc_spec view = sc_spec_new(t->ctx->scratch, (sc_dtype)spec->dtype, rank);
    if (rank) memcpy(view.sizes, sizes, rank * sizeof *sizes);
    return sc_spec_view_by_chunks(t->exprs, spec, &view);
}

// Would inference refuse view(x, sizes)? Sizes may hold one -1.
static bool view_is_refused(sc_trace *t, sc_x x, sc_x sizes) {
    const sc_spec *spec = sc_x_spec(x);
    if (sizes->kind != SC_X_LIST || sizes->count > SC_RANK_MAX) return false;
    sc_spec view = sc_spec_new(t->ctx->scratch, (sc_dtype)spec->dtype, sizes->count);
    sc_dim known = sc_dim_int(1), *open = NULL;
    for (uint32_t i = 0; i < sizes->count; i++) {
        if (sizes->items[i]->kind != SC_X_INT) return false;
        view.sizes[i] = sizes->items[i]->dim;
        if (sc_dim_is(view.sizes[i], -1))
            open = &view.sizes[i];
        else
            known = sc_dim_mul(t->exprs, known, view.sizes[i]);
    }
    if (open && sc_dim_is(known, 0)) return false;
    if (open) *open = sc_dim_floordiv(t->exprs, sc_x_numel(t, x), known);
    return !sc_spec_view(t->exprs, spec, &view);
}

sc_x sc_f_viewable(sc_trace *t, sc_x x, sc_x sizes) {
    if (t->status != SC_OK || x->kind != SC_X_TENSOR || !view_is_refused(t, x, sizes)) return x;
    return sc_f_clone(t, x);
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
        sc_trace_fail(t, SC_ERR_SHAPE, NULL, "-1 in a shape is ambiguous next to a size of 0");
    else
        out[open] = sc_trace_floordiv(t, total, known);
    return t->status == SC_OK;
}

sc_x sc_f_reshape(sc_trace *t, sc_x x, const sc_dim *sizes, uint32_t rank) {
    if (t->status != SC_OK || view_is_legal(t, x, sizes, rank)) return sc_f_view(t, x, sizes, rank);
    return CALL(t, _unsafe_view, sc_f_clone(t, x), sc_x_dims(t, sizes, rank));
}

// As many as have ended.
sc_x sc_f_runs(sc_trace *t, sc_x ends, sc_dim count) {
    sc_x places = sc_f_range(t, sc_x_dim(t, count), SC_DTYPE_I64);
    ends = sc_f_unsqueeze(t, sc_f_to(t, ends, SC_DTYPE_I64), 0);
    sc_x ended = CALL(t, le_Tensor, ends, sc_f_unsqueeze(t, places, 1));
    return sc_f_sum(t, ended, X_INTS(t, 1), false);
}

bool sc_f_may_be_empty(sc_dim size) {
    sc_symbol *symbol;
    int64_t scale, offset;
    if (!size.expr) return size.value == 0;
    if (!sc_dim_linear(size, &symbol, &scale, &offset)) return true;
    return sc_dim_range(size).min <= 0 || (symbol->range.min == 1 && offset <= 0);
}

// x with an element more of that value along each of the dims that may be empty: of all of them if
// no dim is named.
static sc_x never_empty(sc_trace *t, sc_x x, sc_x dims, double value) {
    int64_t named[SC_RANK_MAX], pad[2 * SC_RANK_MAX] = {0};
    const uint32_t rank = sc_x_rank(x);
    uint32_t count = dims->kind == SC_X_LIST ? sc_x_int_list(t, dims, named, SC_RANK_MAX) : 0;
    bool is_padded = false;
    for (uint32_t i = 0; i < (count ? count : rank); i++) {
        const uint32_t d = count ? sc_x_wrap(t, sc_x_int(t, named[i]), rank) : i;
        if (t->status != SC_OK || !sc_f_may_be_empty(sc_x_size(x, d))) continue;
        pad[2 * (rank - 1 - d) + 1] = 1;
        is_padded = true;
    }
    if (!is_padded) return x;
    return CALL(t, constant_pad_nd, x, sc_x_ints(t, pad, 2 * rank), sc_x_float(t, value));
}

sc_x sc_f_amax_or(sc_trace *t, sc_x x, sc_x dims, bool keepdim, double value) {
    x = never_empty(t, x, dims, value);
    if (sc_dim_is(sc_x_numel(t, x), 0)) return sc_f_sum(t, x, dims, keepdim);
    return CALL(t, amax, x, dims, sc_x_bool(keepdim));
}

sc_x sc_f_flat(sc_trace *t, sc_x x) { return CALL(t, reshape, x, X_INTS(t, -1)); }
