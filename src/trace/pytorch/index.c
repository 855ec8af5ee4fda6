// Expansions of indexing and scattering to index, index_put, gather and where.
#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"
#include "trace/words/choose.h"

// [None, ..., index]: an index in one dimension.
static sc_x index_at(sc_trace *t, uint32_t dim, sc_x index) {
    sc_x items[SC_RANK_MAX];
    for (uint32_t i = 0; i < dim; i++) items[i] = X_NONE;
    items[dim] = index;
    return sc_x_list(t, items, dim + 1);
}

static sc_x put(sc_trace *t, sc_x x, sc_x dim, sc_x index, sc_x value, bool accumulate) {
    bool scalar = sc_x_rank(x) == 0;
    sc_x base = scalar ? sc_f_unsqueeze(t, x, 0) : x;
    sc_x list = index_at(t, sc_x_wrap(t, dim, sc_x_rank(x)), index);
    sc_x out = CALL(t, index_put, base, list, value, sc_x_bool(accumulate));
    return scalar ? sc_f_squeeze(t, out, 0) : sc_f_contiguous(t, out);
}

// Halves are added up in float32, as PyTorch does where there are rows.
sc_x sc_expand_index_add(sc_trace *t, const sc_x *a) {
    const sc_dtype dtype = sc_x_dtype_of(a[0]), wide = sc_f_opmath(dtype);
    sc_x source = sc_f_to(t, a[3], wide == dtype ? sc_x_dtype_of(a[3]) : wide);
    if (!(sc_x_equals(a[4], 1))) source = sc_f_mul(t, source, a[4]);
    return sc_f_to(t, put(t, sc_f_to(t, a[0], wide), a[1], a[2], source, true), dtype);
}

sc_x sc_expand_index_copy(sc_trace *t, const sc_x *a) {
    sc_x index = sc_x_rank(a[2]) == 0 ? sc_f_unsqueeze(t, a[2], 0) : a[2];
    return put(t, a[0], a[1], index, a[3], false);
}

// where(condition): a vector for each dim, all as long as the data says.
sc_x sc_expand_places(sc_trace *t, const sc_x *a) {
    sc_x rows = CALL(t, nonzero, a[0]);
    sc_trace_take_size(t, rows, 0);
    return CALL(t, unbind_int, rows, sc_x_int(t, 1));
}

// (self, indices, max_norm, norm_type): rows that are looked up are scaled to have no larger norm.
sc_x sc_expand_embedding_renorm(sc_trace *t, const sc_x *a) {
    sc_x at = sc_f_flat(t, a[1]);
    sc_x rows = CALL(t, index_select, a[0], sc_x_int(t, 0), at);
    sc_x norm = CALL(t, linalg_vector_norm, rows, a[3], X_INTS(t, 1), X_TRUE, X_NONE);
    sc_x above = sc_f_add(t, norm, sc_x_float(t, 1e-7));
    sc_x scale = sc_f_mul(t, CALL(t, reciprocal, above), a[2]);
    sc_x is_larger = CALL(t, gt_Scalar, norm, a[2]);
    sc_x scaled = sc_f_where(t, is_larger, sc_f_mul(t, rows, scale), rows);
    return CALL(t, index_put, a[0], X_LIST(t, at), scaled, X_FALSE);
}

// Places of elements that are `strides` apart in memory, from `offset` on; they end before `end`.
static sc_x places_apart(sc_trace *t, const int64_t *sizes, const int64_t *strides, uint32_t rank,
                         int64_t offset, int64_t end) {
    sc_x places = sc_f_full(t, sc_x_ints(t, NULL, 0), sc_x_int(t, offset), SC_DTYPE_I64);
    int64_t last = offset;
    for (uint32_t i = 0; i < rank; i++) {
        last += sizes[i] > 0 ? (sizes[i] - 1) * strides[i] : 0;
        if (sizes[i] < 0 || strides[i] < 0 || last >= end)
            return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL,
                                 "as_strided_scatter reaches beyond its tensor");
        sc_x steps = sc_f_range(t, sc_x_int(t, sizes[i]), SC_DTYPE_I64);
        steps = CALL(t, mul_Scalar, steps, sc_x_int(t, strides[i]));
        places = sc_f_add(t, sc_f_unsqueeze(t, places, -1), steps);
    }
    return places;
}

// (self, src, size, stride, storage_offset)
sc_x sc_expand_as_strided_scatter(sc_trace *t, const sc_x *a) {
    int64_t sizes[SC_RANK_MAX], strides[SC_RANK_MAX];
    const uint32_t rank = sc_x_int_list(t, a[2], sizes, SC_RANK_MAX);
    const int64_t offset = sc_x_is_none(a[4]) ? 0 : sc_x_small(t, a[4], -1);
    const sc_dim all = sc_x_numel(t, a[0]);
    if (sc_x_int_list(t, a[3], strides, SC_RANK_MAX) != rank || offset < 0 || !sc_dim_is_int(all) ||
        offset >= all.value || !sc_x_is_contiguous(t, a[0]))
        return sc_trace_fail(t, SC_ERR_UNSUPPORTED, "Call x.contiguous() before it.",
                             "as_strided_scatter needs a contiguous tensor of known size");
    const int64_t end = sc_min_i64(all.value, INT64_C(1) << 61);  // sums of places fit
    sc_x places = places_apart(t, sizes, strides, rank, offset, end), flat = X_INTS(t, -1);
    sc_x into = CALL(t, view, a[0], flat), src = CALL(t, reshape, a[1], flat);
    places = CALL(t, view, places, flat);
    into = CALL(t, index_put, into, X_LIST(t, places), sc_f_to_dtype_of(t, src, a[0]));
    return CALL(t, view, into, sc_x_sizes(t, a[0], 0, SC_RANK_MAX));
}

sc_x sc_expand_index_fill(sc_trace *t, const sc_x *a) {
    sc_x x = a[0], value = a[3];
    uint32_t dim = sc_x_wrap(t, a[1], sc_x_rank(x)), rank = sc_x_rank(x) ? sc_x_rank(x) : 1;
    sc_dim sizes[SC_RANK_MAX];
    if (!sc_x_is_tensor(value))
        value = CALL(t, scalar_tensor, value, sc_x_dtype(t, sc_x_dtype_of(x)), X_STRIDED, X_CPU,
                     X_FALSE);
    for (uint32_t i = 0; i < rank; i++) sizes[i] = i == dim ? sc_x_numel(t, a[2]) : sc_x_size(x, i);
    return put(t, x, a[1], a[2], sc_f_expand(t, value, sizes, rank), false);
}

sc_x sc_expand_take_along_dim(sc_trace *t, const sc_x *a) {
    sc_x x = a[0], index = a[1];
    if (sc_x_is_none(a[2])) {
        sc_x flat = CALL(t, view, x, X_INTS(t, -1));
        return CALL(t, gather, flat, sc_x_int(t, 0), CALL(t, view, index, X_INTS(t, -1)));
    }
    uint32_t rank = sc_x_rank(x), dim = sc_x_wrap(t, a[2], rank);
    sc_dim index_sizes[SC_RANK_MAX], sizes[SC_RANK_MAX];
    if (sc_x_rank(index) != rank)
        return sc_trace_fail(t, SC_ERR_SHAPE, NULL, "take_along_dim needs equal ranks");
    for (uint32_t i = 0; i < rank; i++) {
        sc_dim common = sc_x_broadcast(sc_x_size(x, i), sc_x_size(index, i));
        index_sizes[i] = i == dim ? sc_x_size(index, i) : common;
        sizes[i] = i == dim ? sc_x_size(x, i) : common;
    }
    index = sc_f_expand(t, index, index_sizes, rank);
    x = sc_f_expand(t, x, sizes, rank);
    index = CALL(t, remainder_Scalar, index, sc_x_dim(t, sc_x_size(x, dim)));
    return CALL(t, gather, x, sc_x_int(t, dim), index);
}

// The older spelling of scatter_reduce has its own words for how.
static sc_x reduced_by(sc_trace *t, const sc_x *a, sc_x source) {
    bool adds = a[4]->kind == SC_X_STR && sc_str_is(a[4]->str, "add");
    if (!adds && !(a[4]->kind == SC_X_STR && sc_str_is(a[4]->str, "multiply")))
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "scatter can 'add' or 'multiply'");
    if (adds) return CALL(t, scatter_add, a[0], a[1], a[2], source);
    return CALL(t, scatter_reduce_two, a[0], a[1], a[2], source, sc_x_str(t, "prod"));
}

sc_x sc_expand_scatter_reduce(sc_trace *t, const sc_x *a) { return reduced_by(t, a, a[3]); }

sc_x sc_expand_scatter_value_reduce(sc_trace *t, const sc_x *a) {
    sc_x sizes = sc_x_sizes(t, a[2], 0, SC_RANK_MAX);
    return reduced_by(t, a, sc_f_full(t, sizes, a[3], sc_x_dtype_of(a[0])));
}

// (self, dim, index, source, reduce, include_self): an index for a row is one for each element.
sc_x sc_expand_index_reduce(sc_trace *t, const sc_x *a) {
    bool is_scalar = sc_x_rank(a[0]) == 0;
    sc_x x = is_scalar ? sc_f_unsqueeze(t, a[0], 0) : a[0];
    sc_x source = sc_x_rank(a[3]) == 0 ? sc_f_unsqueeze(t, a[3], 0) : a[3];
    uint32_t rank = sc_x_rank(x), dim = sc_x_wrap(t, a[1], rank);
    int64_t shape[SC_RANK_MAX];
    for (uint32_t i = 0; i < rank; i++) shape[i] = i == dim ? -1 : 1;
    if (sc_x_rank(source) != rank || sc_x_rank(a[2]) > 1)
        return sc_trace_fail(t, SC_ERR_SHAPE, NULL,
                             "index_reduce needs a vector of indices, and a source of its rank");
    sc_x index = sc_f_to(t, CALL(t, reshape, a[2], sc_x_ints(t, shape, rank)), SC_DTYPE_I64);
    index = CALL(t, expand, index, sc_x_sizes(t, source, 0, SC_RANK_MAX));
    sc_x how = a[4];
    sc_x out = CALL(t, scatter_reduce_two, x, sc_x_int(t, dim), index, source, how, a[5]);
    return is_scalar ? sc_f_squeeze(t, out, 0) : out;
}

// Indices held within the tensor.
static sc_x safe_indices(sc_trace *t, sc_x x, sc_x list) {
    sc_x items[SC_RANK_MAX];
    uint32_t count = list->kind == SC_X_LIST ? list->count : 0;
    if (count > sc_x_rank(x)) return sc_trace_fail(t, SC_ERR_SHAPE, NULL, "too many indices");
    for (uint32_t i = 0; i < count; i++) {
        sc_x most = sc_x_dim(t, sc_trace_sub(t, sc_x_size(x, i), sc_dim_int(1)));
        sc_x least = sc_x_dim(t, sc_trace_sub(t, sc_dim_int(0), sc_x_size(x, i)));
        bool is_index = sc_x_is_tensor(list->items[i]);
        items[i] = list->items[i];
        if (is_index) items[i] = CALL(t, clamp, items[i], least, most);
    }
    return sc_x_list(t, items, count);
}

// (self, mask, indices, fill): where the mask is not set, indices may be anything.
sc_x sc_expand_masked_index(sc_trace *t, const sc_x *a) {
    sc_x found = CALL(t, index_Tensor, a[0], safe_indices(t, a[0], a[2]));
    return CALL(t, masked_fill_Scalar, found, sc_f_not(t, a[1]), a[3]);
}

// (self, mask, indices, values)
sc_x sc_expand_masked_index_put(sc_trace *t, const sc_x *a) {
    sc_x values = CALL(t, masked_fill_Scalar, a[3], sc_f_not(t, a[1]), sc_x_int(t, 0));
    return CALL(t, index_put, a[0], safe_indices(t, a[0], a[2]), values, X_TRUE);
}

// --- Scattering a view back ---------------------------------------------------------------------

sc_x sc_expand_select_scatter(sc_trace *t, const sc_x *a) {
    sc_x x = a[0];
    uint32_t rank = sc_x_rank(x), dim = sc_x_wrap(t, a[2], rank);
    int64_t shape[SC_RANK_MAX];
    sc_x index = a[3];
    for (uint32_t i = 0; i < rank; i++) shape[i] = i == dim ? -1 : 1;
    if (sc_x_is_number(index) && sc_x_number(index, 0) < 0)
        index = sc_x_dim(t, sc_trace_add(t, index->dim, sc_x_size(x, dim)));
    sc_x mask = sc_f_range(t, sc_x_dim(t, sc_x_size(x, dim)), SC_DTYPE_NONE);
    mask = CALL(t, eq_Scalar, CALL(t, view, mask, sc_x_ints(t, shape, rank)), index);
    sc_x source = CALL(t, expand, sc_f_unsqueeze(t, a[1], dim), sc_x_sizes(t, x, 0, rank));
    return sc_f_where(t, mask, source, x);
}

// The diagonal's elements by their row and column: index_put with one index for each.
sc_x sc_expand_diagonal_scatter(sc_trace *t, const sc_x *a) {
    sc_x x = a[0];
    uint32_t rank = sc_x_rank(x), dim1 = sc_x_wrap(t, a[3], rank), dim2 = sc_x_wrap(t, a[4], rank);
    int64_t offset = sc_x_small(t, a[2], 0), order[SC_RANK_MAX], back[SC_RANK_MAX];
    sc_dim length = sc_x_size(a[1], -1);
    if (dim1 == dim2 || rank < 2)
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "a diagonal needs two different dimensions");
    order[0] = dim1;
    order[1] = dim2;
    for (uint32_t i = 0, n = 2; i < rank; i++)
        if (i != dim1 && i != dim2) order[n++] = i;
    for (uint32_t i = 0; i < rank; i++) back[order[i]] = i;
    sc_x moved = sc_f_permute(t, x, order);
    sc_x source = CALL(t, movedim_int, a[1], sc_x_int(t, -1), sc_x_int(t, 0));
    sc_x range = sc_f_range(t, sc_x_dim(t, length), SC_DTYPE_I64);
    sc_x rows = offset < 0 ? CALL(t, add_Scalar, range, sc_x_int(t, -offset)) : range;
    sc_x columns = offset > 0 ? CALL(t, add_Scalar, range, sc_x_int(t, offset)) : range;
    sc_x out = CALL(t, index_put, moved, X_LIST(t, rows, columns), source);
    return sc_f_contiguous(t, sc_f_permute(t, out, back));
}

// --- Counting ------------------------------------------------------------------------------------

// Kernels count int64. (self, weights, minlength)
bool sc_expands_bincount(const sc_x *a) {
    const sc_dtype dtype = sc_x_dtype_of(a[0]);
    return dtype != SC_DTYPE_I64 && sc_dtype_is_integral(dtype, false);
}

sc_x sc_expand_bincount(sc_trace *t, const sc_x *a) {
    return CALL(t, bincount, sc_f_to(t, a[0], SC_DTYPE_I64), a[1], a[2]);
}

// --- Classes ------------------------------------------------------------------------------------

static void expect_all(sc_trace *t, sc_x condition, const char *message) {
    CALL(t, _assert_async_msg, CALL(t, all, condition), sc_x_str(t, message));
}

sc_x sc_expand_one_hot(sc_trace *t, const sc_x *a) {
    int64_t classes = sc_x_small(t, a[1], -1);
    if (classes <= 0)
        return sc_trace_fail(t, SC_ERR_UNSUPPORTED, "Pass num_classes.",
                             "one_hot without a number of classes is not supported");
    expect_all(t, CALL(t, ge_Scalar, a[0], sc_x_int(t, 0)),
               "one_hot: Class values must be non-negative.");
    expect_all(t, CALL(t, lt_Scalar, a[0], sc_x_int(t, classes)),
               "one_hot: Class values must be smaller than num_classes.");
    sc_x wide = sc_f_unsqueeze(t, a[0], -1);
    sc_x range = sc_f_range(t, sc_x_int(t, classes), sc_x_dtype_of(a[0]));
    return sc_f_to(t, CALL(t, eq_Tensor, wide, range), SC_DTYPE_I64);
}

sc_x sc_expand_isin(sc_trace *t, const sc_x *a) {
    uint32_t rank = sc_x_rank(a[0]), tests = sc_x_rank(a[1]);
    sc_dim sizes[2 * SC_RANK_MAX];
    int64_t dims[SC_RANK_MAX];
    if (rank + tests > SC_RANK_MAX)
        return sc_trace_fail(t, SC_ERR_LIMIT, NULL, "isin does not take ranks %u and %u", rank,
                             tests);
    for (uint32_t i = 0; i < rank + tests; i++)
        sizes[i] = i < rank ? sc_x_size(a[0], i) : sc_dim_int(1);
    for (uint32_t i = 0; i < tests; i++) dims[i] = -1 - (int64_t)i;
    sc_x wide = sc_f_reshape(t, a[0], sizes, rank + tests);
    sc_x found = CALL(t, any_dims, CALL(t, eq_Tensor, wide, a[1]), sc_x_ints(t, dims, tests));
    return sc_x_truth(a[3]) ? sc_f_not(t, found) : found;
}

// A table that does not learn needs nothing for the way back, and has an operator of its own.
static sc_x look_up_bags(sc_trace *t, const sc_x *a, sc_x padding) {
    if (sc_x_spec(a[0])->requires_grad)
        return CALL(t, _embedding_bag, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], padding);
    return CALL(t, _embedding_bag_forward_only, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7],
                padding);
}

sc_x sc_expand_embedding_bag(sc_trace *t, const sc_x *a) {
    return look_up_bags(t, a, sc_x_int(t, -1));
}

// Below 0 it is a row counted from the end; to the operator that is called -1 says that there is
// none.
sc_x sc_expand_embedding_bag_padding_idx(sc_trace *t, const sc_x *a) {
    const int64_t row = sc_x_small(t, a[8], -1);
    sc_x padding = a[8];
    if (sc_x_is_none(a[8]))
        padding = sc_x_int(t, -1);
    else if (row < 0)
        padding = sc_x_dim(t, sc_trace_add(t, sc_x_size(a[0], 0), sc_dim_int(row)));
    return look_up_bags(t, a, padding);
}
