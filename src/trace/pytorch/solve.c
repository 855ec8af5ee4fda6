// Expansions of linear algebra to factorisations of others: what is packed in them, and what they
// solve.
#include <math.h>

#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"
#include "trace/words/choose.h"
#include "trace/words/matrices.h"

// Rows that move are listed one by one; so many of them at most.
#define PIVOTS_MAX 256

// --- LU -----------------------------------------------------------------------------------------

static sc_x counted(sc_trace *t, sc_x count) { return sc_f_range(t, count, SC_DTYPE_NONE); }

// Row i changed places with row pivots[i]: where each row came from in the end.
static sc_x moved_rows(sc_trace *t, sc_x pivots, sc_x rows) {
    int64_t count = sc_x_static_size(t, pivots, -1);
    sc_dim sizes[SC_RANK_MAX];
    uint32_t rank = sc_x_rank(pivots);
    if (rank == 0)
        return sc_trace_fail(t, SC_ERR_SHAPE, NULL, "needs a vector of pivots, not a number");
    if (count > PIVOTS_MAX)
        return sc_trace_fail(t, SC_ERR_LIMIT, "Use torch.linalg.solve.",
                             "the factors of matrices larger than %d are not unpacked", PIVOTS_MAX);
    for (uint32_t i = 0; i < rank; i++) sizes[i] = sc_x_size(pivots, i);
    sizes[rank - 1] = rows->dim;
    sc_x places = counted(t, rows), order = sc_f_expand(t, places, sizes, rank);
    sc_x all = CALL(t, sub_Scalar, sc_f_to(t, pivots, SC_DTYPE_I64), sc_x_int(t, 1));
    for (int64_t i = 0; i < count; i++) {
        sc_x from = sc_f_slice(t, all, -1, sc_x_int(t, i), sc_x_int(t, i + 1));
        sc_x mine = sc_f_slice(t, order, -1, sc_x_int(t, i), sc_x_int(t, i + 1));
        sc_x other = CALL(t, gather, order, sc_x_int(t, -1), from);
        sc_x there = CALL(t, eq_Tensor, places, from);
        sc_x here = CALL(t, eq_Scalar, places, sc_x_int(t, i));
        order = sc_f_where(t, there, mine, order);
        order = sc_f_where(t, here, other, order);
    }
    return order;
}

// P of A = P L U.
static sc_x permutation(sc_trace *t, sc_x pivots, sc_x rows, sc_dtype dtype) {
    sc_x order = sc_f_unsqueeze(t, moved_rows(t, pivots, rows), -2);
    sc_x places = sc_f_unsqueeze(t, counted(t, rows), -1);
    return sc_f_to(t, CALL(t, eq_Tensor, order, places), dtype);
}

// The unit triangle below the diagonal, as wide as the smaller size.
static sc_x lower_of(sc_trace *t, sc_x lu) {
    const int64_t m = sc_x_static_size(t, lu, -2), n = sc_x_static_size(t, lu, -1);
    sc_x rows = sc_x_int(t, m), least = sc_x_int(t, m < n ? m : n);
    sc_x left = m < n ? sc_f_slice(t, lu, -1, sc_x_int(t, 0), least) : lu;
    sc_x below = CALL(t, tril, left, sc_x_int(t, -1));
    return sc_f_add(t, below, sc_f_identity(t, rows, least, sc_x_dtype_of(lu)));
}

// The triangle above it, as high as the smaller size.
static sc_x upper_of(sc_trace *t, sc_x lu) {
    const int64_t m = sc_x_static_size(t, lu, -2), n = sc_x_static_size(t, lu, -1);
    sc_x right = n < m ? sc_f_slice(t, lu, -2, sc_x_int(t, 0), sc_x_int(t, n)) : lu;
    return CALL(t, triu, right);
}

static sc_x moves_of(sc_trace *t, sc_x lu, sc_x pivots) {
    sc_x rows = sc_x_int(t, sc_x_static_size(t, lu, -2));
    return permutation(t, pivots, rows, sc_x_dtype_of(lu));
}

// (A, pivot)
sc_x sc_expand_linalg_lu(sc_trace *t, const sc_x *a) {
    if (!sc_f_has_rank(t, a[0], 2)) return a[0];
    sc_x factors = CALL(t, linalg_lu_factor_ex, a[0], a[1], X_FALSE), lu = sc_x_at(t, factors, 0);
    sc_x lower = lower_of(t, lu), upper = upper_of(t, lu);
    return X_LIST(t, moves_of(t, lu, sc_x_at(t, factors, 1)), lower, upper);
}

// (LU, pivots, unpack_data, unpack_pivots): what is not asked for is empty.
sc_x sc_expand_lu_unpack(sc_trace *t, const sc_x *a) {
    const bool data = sc_x_truth(a[2]), pivots = sc_x_truth(a[3]);
    if (!sc_f_has_rank(t, a[0], 2)) return a[0];
    sc_x empty = data && pivots ? NULL : sc_f_zeros(t, X_INTS(t, 0), sc_x_dtype_of(a[0]));
    sc_x lower = data ? lower_of(t, a[0]) : empty, upper = data ? upper_of(t, a[0]) : empty;
    return X_LIST(t, pivots ? moves_of(t, a[0], a[1]) : empty, lower, upper);
}

static sc_x by_triangle(sc_trace *t, sc_x x, sc_x b, bool upper, bool unit) {
    return CALL(t, linalg_solve_triangular, x, b, sc_x_bool(upper), X_TRUE, sc_x_bool(unit));
}

static sc_x with_batch(sc_trace *t, sc_x x, sc_x like) {
    sc_dim sizes[SC_RANK_MAX];
    uint32_t rank = sc_x_rank(like), mine = sc_x_rank(x);
    for (uint32_t i = 0; i < rank; i++)
        sizes[i] = i + 2 < rank ? sc_x_size(like, i) : sc_x_size(x, (int64_t)(i + mine - rank));
    return sc_f_expand(t, x, sizes, rank);
}

// (LU, pivots, B, left, adjoint), for batches that are the same or of LU alone.
sc_x sc_expand_linalg_lu_solve(sc_trace *t, const sc_x *a) {
    if (!sc_f_has_rank(t, a[0], 2) || !sc_f_has_rank(t, a[2], 2)) return a[2];
    const bool left = sc_x_truth(a[3]), flips = sc_x_truth(a[4]) == left;
    sc_x lu = a[0], b = left ? a[2] : sc_f_transposed(t, a[2]);
    sc_x rows = sc_x_dim(t, sc_x_size(lu, -1));
    sc_x p = permutation(t, a[1], rows, sc_x_dtype_of(lu));
    if (!flips) b = sc_f_matrix_product(t, sc_f_transposed(t, p), b);
    if (sc_x_rank(b) < sc_x_rank(lu)) b = with_batch(t, b, lu);
    if (sc_x_rank(lu) < sc_x_rank(b)) lu = with_batch(t, lu, b);
    sc_x out;
    if (flips) {
        sc_x back = sc_f_transposed(t, lu);
        out = by_triangle(t, back, b, false, false);
        out = sc_f_matrix_product(t, p, by_triangle(t, back, out, true, true));
    } else {
        out = by_triangle(t, lu, b, false, true);
        out = by_triangle(t, lu, out, true, false);
    }
    return left ? out : sc_f_transposed(t, out);
}

// --- Reflections --------------------------------------------------------------------------------

// The product of reflections I - tau v v' is I - V T V', with T a triangle. Gives V, and T V' or,
// of the transposed product, T' V'.
static sc_x reflections(sc_trace *t, sc_x x, sc_x tau, bool flips, sc_x *vectors) {
    const int64_t m = sc_x_static_size(t, x, -2), k = sc_x_static_size(t, tau, -1);
    const sc_dtype dtype = sc_x_dtype_of(x);
    sc_x first = sc_x_int(t, 0), count = sc_x_int(t, k);
    x = sc_f_slice(t, x, -1, first, count);
    sc_x v = CALL(t, tril, x, sc_x_int(t, -1));
    *vectors = v = sc_f_add(t, v, sc_f_identity(t, sc_x_int(t, m), count, dtype));
    sc_x inner = CALL(t, triu, sc_f_matrix_product(t, sc_f_transposed(t, v), v), sc_x_int(t, 1));
    sc_x column = sc_f_unsqueeze(t, tau, -1), one = sc_f_identity(t, count, count, dtype);
    inner = sc_f_add(t, sc_f_mul(t, inner, column), one);
    if (!flips) {
        sc_x right = sc_f_mul(t, sc_f_transposed(t, v), column);
        return by_triangle(t, inner, right, true, true);
    }
    sc_x transposed = sc_f_transposed(t, inner);
    sc_x right = by_triangle(t, transposed, sc_f_transposed(t, v), false, true);
    return sc_f_mul(t, right, column);
}

static bool are_reflections(sc_trace *t, sc_x x, sc_x tau) {
    if (sc_x_rank(x) >= 2 && sc_x_rank(tau) + 1 == sc_x_rank(x) &&
        sc_x_static_size(t, tau, -1) <= sc_x_static_size(t, x, -1) &&
        sc_x_static_size(t, x, -1) <= sc_x_static_size(t, x, -2))
        return true;
    sc_trace_fail(t, SC_ERR_SHAPE, NULL,
                  "reflections are columns of a matrix, and a number for each");
    return false;
}

// Stored column by column, as PyTorch gives it.
static sc_x by_columns(sc_trace *t, sc_x x) {
    return sc_f_transposed(t, sc_f_clone(t, sc_f_transposed(t, x)));
}

// (input, tau): the first columns of the product
sc_x sc_expand_householder_product(sc_trace *t, const sc_x *a) {
    sc_x v;
    if (!are_reflections(t, a[0], a[1])) return a[0];
    sc_x right = reflections(t, a[0], a[1], false, &v), n = sc_x_dim(t, sc_x_size(a[0], -1));
    sc_x product = sc_f_matrix_product(t, v, sc_f_slice(t, right, -1, sc_x_int(t, 0), n));
    sc_x one = sc_f_identity(t, sc_x_dim(t, sc_x_size(a[0], -2)), n, sc_x_dtype_of(a[0]));
    return by_columns(t, sc_f_sub(t, one, product));
}

// (input, tau, other, left, transpose): times the whole product
sc_x sc_expand_ormqr(sc_trace *t, const sc_x *a) {
    sc_x v, left = a[2];
    if (!are_reflections(t, a[0], a[1]) || !sc_f_has_rank(t, a[2], 2)) return a[2];
    sc_x right = reflections(t, a[0], a[1], sc_x_truth(a[4]), &v);
    sc_x product = sc_x_truth(a[3])
                       ? sc_f_matrix_product(t, v, sc_f_matrix_product(t, right, left))
                       : sc_f_matrix_product(t, sc_f_matrix_product(t, left, v), right);
    return by_columns(t, sc_f_sub(t, left, product));
}

// --- Norms --------------------------------------------------------------------------------------

static sc_x norm_of(sc_trace *t, sc_x x, sc_x ord) {
    sc_x dims = X_INTS(t, -2, -1);
    return ord->kind == SC_X_STR ? CALL(t, linalg_matrix_norm_str_ord, x, ord, dims, X_FALSE)
                                 : CALL(t, linalg_matrix_norm, x, ord, dims, X_FALSE);
}

static sc_x by_values(sc_trace *t, sc_x x, bool inverted) {
    sc_x values = CALL(t, linalg_svdvals, x), last = X_INTS(t, -1);
    sc_x most = CALL(t, amax, values, last), least = CALL(t, amin, values, last);
    return inverted ? sc_f_div(t, least, most) : sc_f_div(t, most, least);
}

// (self, p): of a singular matrix infinite
sc_x sc_expand_linalg_cond(sc_trace *t, const sc_x *a) {
    if (!sc_f_has_rank(t, a[0], 2)) return a[0];
    if (sc_x_is_none(a[1]) || (sc_x_is_number(a[1]) && fabs(sc_x_real(a[1], 0)) == 2))
        return by_values(t, a[0], sc_x_is_number(a[1]) && sc_x_real(a[1], 0) < 0);
    sc_x both = CALL(t, linalg_inv_ex, a[0], X_FALSE), infinity = sc_x_float(t, INFINITY);
    sc_x failed = CALL(t, ne_Scalar, sc_x_at(t, both, 1), sc_x_int(t, 0));
    sc_x product = norm_of(t, a[0], a[1]);
    product = sc_f_mul(t, product, norm_of(t, sc_x_at(t, both, 0), a[1]));
    sc_x infinite = sc_f_scalar_like(t, infinity, product);
    return sc_f_where(t, failed, infinite, product);
}

// --- Tensors as matrices ------------------------------------------------------------------------

static sc_dim product_of(sc_trace *t, sc_x x, uint32_t from, uint32_t to) {
    sc_dim product = sc_dim_int(1);
    for (uint32_t i = from; i < to; i++) product = sc_trace_mul(t, product, sc_x_size(x, i));
    return product;
}

static sc_x as_square(sc_trace *t, sc_x x, uint32_t split) {
    const sc_dim rows = product_of(t, x, 0, split);
    const sc_dim columns = product_of(t, x, split, sc_x_rank(x));
    return sc_f_reshape(t, x, (const sc_dim[]){rows, columns}, 2);
}

// (self, ind)
sc_x sc_expand_tensorinv(sc_trace *t, const sc_x *a) {
    sc_dim out[SC_RANK_MAX];
    uint32_t rank = sc_x_rank(a[0]);
    int64_t split = sc_x_small(t, a[1], 2);
    if (split < 1 || split > rank)
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "tensorinv needs ind of 1 to %u", rank);
    sc_x inverse = CALL(t, linalg_inv, as_square(t, a[0], (uint32_t)split));
    for (uint32_t i = 0; i < rank; i++) out[i] = sc_x_size(a[0], (i + split) % rank);
    return sc_f_reshape(t, inverse, out, rank);
}

// (self, other, dims)
sc_x sc_expand_tensorsolve(sc_trace *t, const sc_x *a) {
    sc_dim out[SC_RANK_MAX], flat[1];
    sc_x x = a[0];
    if (a[2]->kind == SC_X_LIST) {
        int64_t to[SC_RANK_MAX] = {0};
        uint32_t count = a[2]->count < SC_RANK_MAX ? a[2]->count : SC_RANK_MAX;
        for (uint32_t i = 0; i < count; i++) to[i] = (int64_t)i - count;
        x = CALL(t, movedim_intlist, x, a[2], sc_x_ints(t, to, count));
    }
    uint32_t rank = sc_x_rank(x), given = sc_x_rank(a[1]);
    if (given >= rank)
        return sc_trace_fail(t, SC_ERR_SHAPE, NULL, "tensorsolve needs a tensor of more dims");
    for (uint32_t i = given; i < rank; i++) out[i - given] = sc_x_size(x, i);
    flat[0] = product_of(t, a[1], 0, given);
    sc_x b = sc_f_reshape(t, a[1], flat, 1);
    x = CALL(t, linalg_solve, as_square(t, x, given), b, X_TRUE);
    return sc_f_reshape(t, x, out, rank - given);
}

// Powers along a new dim, 1 first.
static sc_x powers(sc_trace *t, sc_x x, sc_x columns) {
    const int64_t given =
        sc_x_is_none(columns) ? sc_x_static_size(t, x, -1) : sc_x_small(t, columns, 0);
    uint32_t rank = sc_x_rank(x);
    sc_dim sizes[SC_RANK_MAX];
    if (rank < 1 || rank + 1 > SC_RANK_MAX || given < 1)
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "a Vandermonde matrix needs columns");
    if (!sc_x_is_float(x)) x = sc_f_to(t, x, SC_DTYPE_I64);
    for (uint32_t i = 0; i < rank; i++) sizes[i] = sc_x_size(x, i);
    sizes[rank] = sc_dim_int(1);
    sc_x one = sc_f_full(t, sc_x_dims(t, sizes, rank + 1), sc_x_int(t, 1), sc_x_dtype_of(x));
    if (given == 1) return one;
    sizes[rank] = sc_dim_int(given - 1);
    sc_x many = sc_f_expand(t, sc_f_unsqueeze(t, x, -1), sizes, rank + 1);
    sc_x parts[2] = {one, CALL(t, cumprod, many, sc_x_int(t, -1))};
    return sc_f_cat(t, parts, 2, -1);
}

sc_x sc_expand_linalg_vander(sc_trace *t, const sc_x *a) { return powers(t, a[0], a[1]); }
