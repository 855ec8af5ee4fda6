// Expansions of indexing and scattering to index, index_put, gather and where.
#include "passes/expand.h"

// [None, ..., index]: an index in one dimension.
static sc_x index_at(sc_trace *t, uint32_t dim, sc_x index) {
    sc_x items[SC_RANK_MAX];
    for (uint32_t i = 0; i < dim; i++) items[i] = X_NONE;
    items[dim] = index;
    return x_list(t, items, dim + 1);
}

static sc_x put(sc_trace *t, sc_x x, sc_x dim, sc_x index, sc_x value, bool accumulate) {
    bool scalar = x_rank(x) == 0;
    sc_x base = scalar ? f_unsqueeze(t, x, 0) : x;
    sc_x list = index_at(t, x_wrap(t, dim, x_rank(x)), index);
    sc_x out = T(index_put, base, list, value, X_BOOL(accumulate));
    return scalar ? f_squeeze(t, out, 0) : f_contiguous(t, out);
}

sc_x sc_expand_index_add(sc_trace *t, const sc_x *a) {
    sc_x source = a[3];
    if (!(x_is_number(a[4]) && x_real(a[4], 0) == 1)) source = T(mul_Tensor, source, a[4]);
    return put(t, a[0], a[1], a[2], source, true);
}

sc_x sc_expand_index_copy(sc_trace *t, const sc_x *a) {
    sc_x index = x_rank(a[2]) == 0 ? f_unsqueeze(t, a[2], 0) : a[2];
    return put(t, a[0], a[1], index, a[3], false);
}

sc_x sc_expand_index_fill(sc_trace *t, const sc_x *a) {
    sc_x x = a[0], value = a[3];
    uint32_t dim = x_wrap(t, a[1], x_rank(x)), rank = x_rank(x) ? x_rank(x) : 1;
    sc_dim sizes[SC_RANK_MAX];
    if (!x_is_tensor(value))
        value = T(scalar_tensor, value, X_DTYPE(x_dtype_of(x)), X_STRIDED, X_CPU, X_FALSE);
    for (uint32_t i = 0; i < rank; i++) sizes[i] = i == dim ? x_numel(t, a[2]) : x_size(x, i);
    return put(t, x, a[1], a[2], f_expand(t, value, sizes, rank), false);
}

static sc_dim wider(sc_dim a, sc_dim b) { return sc_dim_is(a, 1) ? b : a; }

sc_x sc_expand_take_along_dim(sc_trace *t, const sc_x *a) {
    sc_x x = a[0], index = a[1];
    if (x_is_none(a[2])) {
        sc_x flat = T(view, x, X_INTS(-1));
        return T(gather, flat, X_INT(0), T(view, index, X_INTS(-1)));
    }
    uint32_t rank = x_rank(x), dim = x_wrap(t, a[2], rank);
    sc_dim index_sizes[SC_RANK_MAX], sizes[SC_RANK_MAX];
    if (x_rank(index) != rank)
        return sc_trace_fail(t, SC_ERR_SHAPE, NULL, "take_along_dim needs equal ranks");
    for (uint32_t i = 0; i < rank; i++) {
        sc_dim common = wider(x_size(x, i), x_size(index, i));
        index_sizes[i] = i == dim ? x_size(index, i) : common;
        sizes[i] = i == dim ? x_size(x, i) : common;
    }
    index = f_expand(t, index, index_sizes, rank);
    x = f_expand(t, x, sizes, rank);
    index = T(remainder_Scalar, index, X_DIM(x_size(x, dim)));
    return T(gather, x, X_INT(dim), index);
}

// --- Scattering a view back ---------------------------------------------------------------------

sc_x sc_expand_select_scatter(sc_trace *t, const sc_x *a) {
    sc_x x = a[0];
    uint32_t rank = x_rank(x), dim = x_wrap(t, a[2], rank);
    int64_t shape[SC_RANK_MAX];
    sc_x index = a[3];
    for (uint32_t i = 0; i < rank; i++) shape[i] = i == dim ? -1 : 1;
    if (x_is_number(index) && x_number(index, 0) < 0)
        index = X_DIM(sc_trace_add(t, index->dim, x_size(x, dim)));
    sc_x mask = f_arange(t, X_INT(0), X_DIM(x_size(x, dim)), SC_DTYPE_NONE);
    mask = T(eq_Scalar, T(view, mask, x_ints(t, shape, rank)), index);
    sc_x source = T(expand, f_unsqueeze(t, a[1], dim), x_sizes(t, x, 0, rank));
    return T(where_self, mask, source, x);
}

// The diagonal's elements by their row and column: index_put with one index for each.
sc_x sc_expand_diagonal_scatter(sc_trace *t, const sc_x *a) {
    sc_x x = a[0];
    uint32_t rank = x_rank(x), dim1 = x_wrap(t, a[3], rank), dim2 = x_wrap(t, a[4], rank);
    int64_t offset = x_small(t, a[2], 0), order[SC_RANK_MAX], back[SC_RANK_MAX];
    sc_dim length = x_size(a[1], -1);
    if (dim1 == dim2 || rank < 2)
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "diagonal of one dimension");
    order[0] = dim1;
    order[1] = dim2;
    for (uint32_t i = 0, n = 2; i < rank; i++)
        if (i != dim1 && i != dim2) order[n++] = i;
    for (uint32_t i = 0; i < rank; i++) back[order[i]] = i;
    sc_x moved = f_permute(t, x, order);
    sc_x source = T(movedim_int, a[1], X_INT(-1), X_INT(0));
    sc_x range = f_arange(t, X_INT(0), X_DIM(length), SC_DTYPE_I64);
    sc_x rows = offset < 0 ? T(add_Scalar, range, X_INT(-offset)) : range;
    sc_x columns = offset > 0 ? T(add_Scalar, range, X_INT(offset)) : range;
    sc_x out = T(index_put, moved, X_LIST(rows, columns), source);
    return f_contiguous(t, f_permute(t, out, back));
}

// --- Classes ------------------------------------------------------------------------------------

static void expect_all(sc_trace *t, sc_x condition, const char *message) {
    T(_assert_async_msg, T(all, condition), X_STR(message));
}

sc_x sc_expand_one_hot(sc_trace *t, const sc_x *a) {
    int64_t classes = x_small(t, a[1], -1);
    if (classes <= 0)
        return sc_trace_fail(t, SC_ERR_UNSUPPORTED, "Pass num_classes.",
                             "one_hot without a number of classes");
    expect_all(t, T(ge_Scalar, a[0], X_INT(0)), "one_hot: Class values must be non-negative.");
    expect_all(t, T(lt_Scalar, a[0], X_INT(classes)),
               "one_hot: Class values must be smaller than num_classes.");
    sc_x wide = f_unsqueeze(t, a[0], -1);
    sc_x range = f_arange(t, X_INT(0), X_INT(classes), x_dtype_of(a[0]));
    return f_to(t, T(eq_Tensor, wide, range), SC_DTYPE_I64);
}

sc_x sc_expand_isin(sc_trace *t, const sc_x *a) {
    uint32_t rank = x_rank(a[0]), tests = x_rank(a[1]);
    sc_dim sizes[2 * SC_RANK_MAX];
    int64_t dims[SC_RANK_MAX];
    if (rank + tests > SC_RANK_MAX)
        return sc_trace_fail(t, SC_ERR_LIMIT, NULL, "isin of rank %u in rank %u", rank, tests);
    for (uint32_t i = 0; i < rank + tests; i++)
        sizes[i] = i < rank ? x_size(a[0], i) : sc_dim_int(1);
    for (uint32_t i = 0; i < tests; i++) dims[i] = -1 - (int64_t)i;
    sc_x wide = f_reshape(t, a[0], sizes, rank + tests);
    sc_x found = T(any_dims, T(eq_Tensor, wide, a[1]), x_ints(t, dims, tests));
    return x_truth(a[3]) ? T(logical_not, found) : found;
}

sc_x sc_expand_isin_scalar(sc_trace *t, const sc_x *a) {
    return x_truth(a[3]) ? T(ne_Scalar, a[0], a[1]) : T(eq_Scalar, a[0], a[1]);
}

sc_x sc_expand_embedding_bag(sc_trace *t, const sc_x *a) {
    return T(_embedding_bag, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
}

sc_x sc_expand_embedding_bag_padding_idx(sc_trace *t, const sc_x *a) {
    sc_x padding = x_is_none(a[8]) ? X_INT(-1) : a[8];
    return T(_embedding_bag, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], padding);
}
