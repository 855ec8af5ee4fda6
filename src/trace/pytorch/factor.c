// Expansions of linear algebra to a few factorisations: LU, QR, eigenvectors, singular vectors.
#include <math.h>

#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"
#include "trace/words/choose.h"
#include "trace/words/matrices.h"

// Broadcasts the batches of two matrices.
static sc_x as_batch_of(sc_trace *t, sc_x x, sc_x other) {
    sc_dim sizes[SC_RANK_MAX];
    uint32_t mine = sc_x_rank(x), theirs = sc_x_rank(other), rank = mine > theirs ? mine : theirs;
    for (uint32_t i = 0; i + 2 < rank; i++) {
        sc_dim a = i + mine >= rank ? sc_x_size(x, i + mine - rank) : sc_dim_int(1);
        sc_dim b = i + theirs >= rank ? sc_x_size(other, i + theirs - rank) : sc_dim_int(1);
        if (!sc_dim_is(a, 1) && !sc_dim_is(b, 1) && !sc_dim_equal(a, b))
            return sc_trace_fail(t, SC_ERR_SHAPE, NULL, "the batches of two matrices do not agree");
        sizes[i] = sc_dim_is(a, 1) ? b : a;
    }
    sizes[rank - 2] = sc_x_size(x, -2);
    sizes[rank - 1] = sc_x_size(x, -1);
    bool same = mine == rank;
    for (uint32_t i = 0; same && i < rank; i++) same = sc_dim_equal(sizes[i], sc_x_size(x, i));
    return same ? x : sc_f_expand(t, x, sizes, rank);
}

// --- Solving ------------------------------------------------------------------------------------

// Is the right side a vector, or one for each of a batch, as PyTorch tells it: a dim less?
static bool is_vector_of(sc_x x, sc_x b) {
    bool is_vector = sc_x_rank(b) == 1;
    if (sc_x_rank(x) != sc_x_rank(b) + 1) return is_vector;
    for (uint32_t i = 0; i < sc_x_rank(b); i++)
        if (!sc_dim_equal(sc_x_size(x, i), sc_x_size(b, i))) return is_vector;
    return true;
}

// (A, B, left) of a: the solution, and what is known of the matrices.
static sc_x solved(sc_trace *t, const sc_x *a, sc_x checks, sc_x *info) {
    sc_x x = a[0], b = a[1];
    if (!sc_f_has_rank(t, x, 2) || !sc_f_has_rank(t, b, 1)) return b;
    const bool is_vector = is_vector_of(x, b), left = sc_x_truth(a[2]);
    if (is_vector) b = sc_f_unsqueeze(t, b, -1);
    if (!left) x = sc_f_transposed(t, x);
    if (!left) b = sc_f_transposed(t, b);
    sc_x to = as_batch_of(t, x, b);
    b = as_batch_of(t, b, x);
    sc_x both = CALL(t, linalg_solve_ex, to, b, X_TRUE, checks), out = sc_x_at(t, both, 0);
    *info = sc_x_at(t, both, 1);
    if (!left) out = sc_f_transposed(t, out);
    return is_vector ? sc_f_squeeze(t, out, -1) : out;
}

sc_x sc_expand_linalg_solve(sc_trace *t, const sc_x *a) {
    sc_x info = X_NONE;
    return solved(t, a, X_TRUE, &info);
}

// Kernels have their right sides to the right of one matrix each.
bool sc_expands_solve_ex(const sc_x *a) {
    const uint32_t rank = sc_x_rank(a[0]);
    if (!sc_x_truth(a[2]) || rank != sc_x_rank(a[1])) return true;
    for (uint32_t i = 0; i + 2 < rank; i++)
        if (!sc_dim_equal(sc_x_size(a[0], i), sc_x_size(a[1], i))) return true;
    return false;
}

// (A, B, left, check_errors)
sc_x sc_expand_solve_ex(sc_trace *t, const sc_x *a) {
    sc_x info = X_NONE, x = solved(t, a, a[3], &info);
    return X_LIST(t, x, info);
}

// (A, B, left, check_errors)
sc_x sc_expand_solve_with_lu(sc_trace *t, const sc_x *a) {
    sc_x info = X_NONE, x = solved(t, a, a[3], &info);
    sc_x lu = CALL(t, linalg_lu_factor_ex, a[0], X_TRUE, a[3]);
    return X_LIST(t, x, sc_x_at(t, lu, 0), sc_x_at(t, lu, 1), sc_x_at(t, lu, 2));
}

// x y = b, with x a triangle and batches that broadcast.
static sc_x solve_triangle(sc_trace *t, sc_x x, sc_x b, bool upper, sc_x unit) {
    if (!sc_f_has_rank(t, x, 2) || !sc_f_has_rank(t, b, 2)) return b;
    sc_x batch = as_batch_of(t, x, b);
    b = as_batch_of(t, b, x);
    return CALL(t, linalg_solve_triangular, batch, b, sc_x_bool(upper), X_TRUE, unit);
}

// (B, A, upper, transpose, unitriangular): also gives A back, column by column.
sc_x sc_expand_old_triangular_solve(sc_trace *t, const sc_x *a) {
    bool flips = sc_x_truth(a[3]), upper = sc_x_truth(a[2]) != flips;
    sc_x x = flips ? sc_f_transposed(t, a[1]) : a[1];
    sc_x out = solve_triangle(t, x, a[0], upper, a[4]);
    sc_x columns = sc_f_clone(t, sc_f_transposed(t, a[1]));
    return X_LIST(t, out, sc_f_transposed(t, columns));
}

// --- Cholesky -----------------------------------------------------------------------------------

// (B, L, upper)
sc_x sc_expand_cholesky_solve(sc_trace *t, const sc_x *a) {
    sc_x lower = sc_x_truth(a[2]) ? sc_f_transposed(t, a[1]) : a[1];
    sc_x half = solve_triangle(t, lower, a[0], false, X_FALSE);
    return solve_triangle(t, sc_f_transposed(t, lower), half, true, X_FALSE);
}

static sc_x identity(sc_trace *t, sc_x like) {
    sc_x n = sc_x_dim(t, sc_x_size(like, -1));
    return CALL(t, eye, n, sc_x_dtype(t, sc_x_dtype_of(like)));
}

sc_x sc_expand_cholesky_inverse(sc_trace *t, const sc_x *a) {
    if (!sc_f_has_rank(t, a[0], 2)) return a[0];
    return CALL(t, cholesky_solve, identity(t, a[0]), a[0], a[1]);
}

// --- Determinants -------------------------------------------------------------------------------

// -1 for each row that LU has moved.
static sc_x sign_of_moves(sc_trace *t, sc_x pivots, sc_dtype dtype) {
    sc_x size = sc_x_dim(t, sc_trace_add(t, sc_x_size(pivots, -1), sc_dim_int(1)));
    sc_x rows = sc_f_arange(t, sc_x_int(t, 1), size, SC_DTYPE_I32);
    sc_x moved = sc_f_to(t, CALL(t, ne_Tensor, pivots, rows), dtype);
    sc_x sign = CALL(t, mul_Scalar, moved, sc_x_int(t, -2));
    sign = CALL(t, add_Scalar, sign, sc_x_int(t, 1));
    return CALL(t, prod_dim_int, sign, sc_x_int(t, -1));
}

static sc_x diagonal_of_lu(sc_trace *t, sc_x x, sc_x *sign) {
    sc_x factors = CALL(t, linalg_lu_factor_ex, x, X_TRUE, X_FALSE);
    *sign = sign_of_moves(t, sc_x_at(t, factors, 1), sc_x_dtype_of(x));
    sc_x diagonal =
        CALL(t, diagonal, sc_x_at(t, factors, 0), sc_x_int(t, 0), sc_x_int(t, -2), sc_x_int(t, -1));
    return sc_f_clone(t, diagonal);
}

sc_x sc_expand_determinant(sc_trace *t, const sc_x *a) {
    sc_x sign, diagonal = diagonal_of_lu(t, a[0], &sign);
    return sc_f_mul(t, CALL(t, prod_dim_int, diagonal, sc_x_int(t, -1)), sign);
}

// (LU, pivots, info): here PyTorch factors what lies in rows as columns.
static sc_x lu_of(sc_trace *t, sc_x x) {
    const bool is_transposed = sc_spec_is_contiguous(t->exprs, sc_x_spec(x));
    return CALL(t, linalg_lu_factor_ex, is_transposed ? sc_f_transposed(t, x) : x, X_TRUE, X_FALSE);
}

sc_x sc_expand_determinant_with_lu(sc_trace *t, const sc_x *a) {
    sc_x det = CALL(t, linalg_det, a[0]), lu = lu_of(t, a[0]);
    return X_LIST(t, det, sc_x_at(t, lu, 0), sc_x_at(t, lu, 1));
}

sc_x sc_expand_slogdet(sc_trace *t, const sc_x *a) {
    sc_x sign, diagonal = diagonal_of_lu(t, a[0], &sign);
    sc_x signs = CALL(t, prod_dim_int, CALL(t, sign, diagonal), sc_x_int(t, -1));
    sc_x logs = CALL(t, log, CALL(t, abs, diagonal));
    sign = sc_f_mul(t, sign, signs);
    return X_LIST(t, sign, sc_f_sum(t, logs, X_INTS(t, -1), false));
}

sc_x sc_expand_slogdet_with_lu(sc_trace *t, const sc_x *a) {
    sc_x both = CALL(t, linalg_slogdet, a[0]), lu = lu_of(t, a[0]);
    return X_LIST(t, sc_x_at(t, both, 0), sc_x_at(t, both, 1), sc_x_at(t, lu, 0),
                  sc_x_at(t, lu, 1));
}

// --- Singular values ----------------------------------------------------------------------------

static sc_x singular_values(sc_trace *t, sc_x x) {
    return sc_x_at(t, CALL(t, _linalg_svd, x, X_FALSE, X_FALSE), 1);
}

sc_x sc_expand_svdvals(sc_trace *t, const sc_x *a) { return singular_values(t, a[0]); }

// (self, some, compute_uv): V, not its transpose.
sc_x sc_expand_old_svd(sc_trace *t, const sc_x *a) {
    if (!sc_x_truth(a[2]))
        return sc_trace_fail(t, SC_ERR_UNSUPPORTED, "Use torch.linalg.svdvals.",
                             "svd without vectors is not supported");
    sc_x all = CALL(t, _linalg_svd, a[0], sc_x_bool(!sc_x_truth(a[1])), X_TRUE);
    return X_LIST(t, sc_x_at(t, all, 0), sc_x_at(t, all, 1),
                  sc_f_transposed(t, sc_x_at(t, all, 2)));
}

static sc_x number_or_tensor(sc_trace *t, sc_x value, sc_dtype dtype) {
    if (!sc_x_is_tensor(value)) return sc_f_scalar(t, value, dtype);
    value = sc_f_to(t, value, dtype);
    return sc_x_rank(value) ? sc_f_unsqueeze(t, value, -1) : value;
}

// As many units of the last place as the matrix is large: a number, or a tensor if sizes are open.
static sc_x units_of(sc_trace *t, sc_x x, sc_dtype dtype) {
    const double unit = dtype == SC_DTYPE_F64 ? 2.220446049250313e-16 : 1.1920928955078125e-07;
    const sc_dim rows = sc_x_size(x, -2), columns = sc_x_size(x, -1);
    if (sc_dim_is_int(rows) && sc_dim_is_int(columns))
        return sc_x_float(t, unit * (double)sc_max_i64(rows.value, columns.value));
    sc_x down = sc_f_scalar(t, sc_x_dim(t, rows), dtype);
    sc_x across = sc_f_scalar(t, sc_x_dim(t, columns), dtype);
    return sc_f_mul(t, CALL(t, maximum, down, across), sc_x_float(t, unit));
}

// Below which singular values count as zero: the larger of atol and rtol times the largest of them.
// Without rtol as many units of the last place as the matrix is large, unless atol says enough.
static sc_x smallest_counted(sc_trace *t, sc_x x, sc_x values, sc_x atol, sc_x rtol) {
    sc_dtype dtype = sc_x_dtype_of(values);
    sc_x most = CALL(t, amax, values, X_INTS(t, -1), X_TRUE);
    if (sc_x_is_none(rtol)) {
        sc_x own = units_of(t, x, dtype);
        if (sc_x_is_tensor(atol)) {
            sc_x given = CALL(t, gt_Scalar, number_or_tensor(t, atol, dtype), sc_x_int(t, 0));
            sc_x zero = sc_f_scalar(t, sc_x_int(t, 0), dtype);
            rtol = sc_f_where(t, given, zero, number_or_tensor(t, own, dtype));
            atol = number_or_tensor(t, atol, dtype);
            return CALL(t, maximum, atol, sc_f_mul(t, rtol, most));
        }
        rtol = sc_x_known(t, atol, 0) > 0 ? sc_x_float(t, 0) : own;
    }
    if (sc_x_is_none(atol)) atol = sc_x_float(t, 0);
    sc_x relative = sc_f_mul(t, number_or_tensor(t, rtol, dtype), most);
    return CALL(t, maximum, number_or_tensor(t, atol, dtype), relative);
}

// The matrix as PyTorch reads it: of one that is said to be symmetric the lower triangle alone.
static sc_x read_as(sc_trace *t, sc_x x, sc_x hermitian) {
    if (!sc_x_truth(hermitian)) return x;
    sc_x below = CALL(t, tril, x, sc_x_int(t, -1));
    sc_x lower = CALL(t, tril, x);
    return sc_f_add(t, lower, sc_f_transposed(t, below));
}

static sc_x pseudo_inverse(sc_trace *t, sc_x x, sc_x atol, sc_x rtol) {
    if (!sc_f_has_rank(t, x, 2)) return x;
    if (sc_dim_is(sc_x_numel(t, x), 0)) return sc_f_clone(t, sc_f_transposed(t, x));
    sc_x all = CALL(t, _linalg_svd, x, X_FALSE, X_TRUE), values = sc_x_at(t, all, 1);
    sc_x counts = CALL(t, gt_Tensor, values, smallest_counted(t, x, values, atol, rtol));
    sc_x zero = sc_f_scalar_like(t, sc_x_int(t, 0), values);
    sc_x inverse = sc_f_where(t, counts, CALL(t, reciprocal, values), zero);
    sc_x right = sc_f_transposed(t, sc_x_at(t, all, 2));
    right = sc_f_mul(t, right, sc_f_unsqueeze(t, inverse, -2));
    return sc_f_matrix_product(t, right, sc_f_transposed(t, sc_x_at(t, all, 0)));
}

// (self, atol, rtol, hermitian)
sc_x sc_expand_pinv(sc_trace *t, const sc_x *a) {
    return pseudo_inverse(t, read_as(t, a[0], a[3]), a[1], a[2]);
}

// (self, atol, rtol, hermitian)
sc_x sc_expand_matrix_rank(sc_trace *t, const sc_x *a) {
    uint32_t rank = sc_x_rank(a[0]);
    if (!sc_f_has_rank(t, a[0], 2)) return a[0];
    if (sc_dim_is(sc_x_numel(t, a[0]), 0))
        return sc_f_zeros(t, sc_x_sizes(t, a[0], 0, rank - 2), SC_DTYPE_I64);
    sc_x x = read_as(t, a[0], a[3]), values = singular_values(t, x);
    sc_x least = smallest_counted(t, x, values, a[1], a[2]);
    return sc_f_sum(t, CALL(t, gt_Tensor, values, least), X_INTS(t, -1), false);
}

// (self, tol, hermitian)
sc_x sc_expand_matrix_rank_tol(sc_trace *t, const sc_x *a) {
    return sc_expand_matrix_rank(t, (const sc_x[]){a[0], a[1], sc_x_float(t, 0), a[2]});
}

// --- Norms and powers ---------------------------------------------------------------------------

// The two dims last, for singular values of them.
static sc_x norm_by_values(sc_trace *t, sc_x x, double ord, const uint32_t *dims, bool keep) {
    sc_x from = X_INTS(t, dims[0], dims[1]), to = X_INTS(t, -2, -1), last = X_INTS(t, -1);
    sc_x values = singular_values(t, CALL(t, movedim_intlist, x, from, to)), out;
    if (ord != ord)
        out = sc_f_sum(t, values, last, false);
    else if (ord > 0)
        out = sc_f_amax_or(t, values, last, false, 0);
    else
        out = CALL(t, amin, values, last);
    if (!keep) return out;
    bool swaps = dims[0] > dims[1];
    out = sc_f_unsqueeze(t, out, dims[swaps]);
    return sc_f_unsqueeze(t, out, dims[!swaps]);
}

static sc_x norm_by_sums(sc_trace *t, sc_x x, double ord, uint32_t *dims, sc_x keepdim) {
    uint32_t summed = dims[isinf(ord) ? 1 : 0], chosen = dims[isinf(ord) ? 0 : 1];
    if (!sc_x_truth(keepdim) && summed < chosen) chosen--;
    sc_x sums = CALL(t, linalg_vector_norm, x, sc_x_float(t, 1), X_INTS(t, summed), keepdim);
    sc_x dim = X_INTS(t, chosen);
    if (ord > 0) return sc_f_amax_or(t, sums, dim, sc_x_truth(keepdim), 0);
    return CALL(t, amin, sums, dim, keepdim);
}

// (self, ord, dim, keepdim, dtype); NaN stands for the nuclear norm, 0 for Frobenius'.
static sc_x matrix_norm(sc_trace *t, const sc_x *a, double ord) {
    int64_t given[SC_RANK_MAX];
    uint32_t rank = sc_x_rank(a[0]), dims[2];
    sc_x x = a[4]->kind == SC_X_DTYPE ? sc_f_to(t, a[0], (sc_dtype)a[4]->code) : a[0];
    if (!sc_f_has_rank(t, x, 2)) return x;
    if (sc_x_int_list(t, a[2], given, SC_RANK_MAX) != 2)
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "a matrix norm needs two dims");
    for (int i = 0; i < 2; i++) dims[i] = sc_x_wrap(t, sc_x_int(t, given[i]), rank);
    if (dims[0] == dims[1])
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "a matrix norm needs two different dims");
    if (ord == 0) return CALL(t, linalg_vector_norm, x, sc_x_int(t, 2), a[2], a[3]);
    if (ord != ord || fabs(ord) == 2) return norm_by_values(t, x, ord, dims, sc_x_truth(a[3]));
    if (fabs(ord) != 1 && !isinf(ord))
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "there is no matrix norm %g", ord);
    return norm_by_sums(t, x, ord, dims, a[3]);
}

sc_x sc_expand_matrix_norm(sc_trace *t, const sc_x *a) {
    double ord = sc_x_known(t, a[1], 0);
    if (ord == 0 || ord != ord)
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "there is no matrix norm %g", ord);
    return matrix_norm(t, a, ord);
}

sc_x sc_expand_matrix_norm_str(sc_trace *t, const sc_x *a) {
    bool is_nuclear = a[1]->kind == SC_X_STR && sc_str_is(a[1]->str, "nuc");
    if (!is_nuclear && !(a[1]->kind == SC_X_STR && sc_str_is(a[1]->str, "fro")))
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "matrix norms are 'fro' and 'nuc'");
    return matrix_norm(t, a, is_nuclear ? NAN : 0);
}

// (self, n) by squaring.
sc_x sc_expand_matrix_power(sc_trace *t, const sc_x *a) {
    int64_t n = sc_x_small(t, a[1], 1);
    sc_x x = a[0], out = NULL;
    if (!sc_f_has_rank(t, x, 2)) return x;
    if (n == 0) {
        sc_x all = CALL(t, expand, identity(t, x), sc_x_sizes(t, x, 0, SC_RANK_MAX));
        return sc_f_clone(t, all);
    }
    if (n < 0) x = sc_x_at(t, CALL(t, linalg_inv_ex, x, X_TRUE), 0);
    if (n == 1) return CALL(t, clone, x);
    for (int64_t left = n < 0 ? -n : n; left > 0; left /= 2) {
        if (left & 1) out = out ? sc_f_matrix_product(t, out, x) : x;
        if (left > 1) x = sc_f_matrix_product(t, x, x);
    }
    return out;
}
