// Square systems, unrolled: a column after the other of all matrices of a batch at once.
#include "trace/official/factor.h"

#include <math.h>

// --- Batches of matrices -------------------------------------------------------------------------

sc_o_matrices sc_o_read_matrices(sc_trace *t, sc_x x) {
    sc_dim sizes[SC_RANK_MAX], wide[3];
    const uint32_t rank = sc_x_rank(x);
    sc_o_matrices m = {.x = x};
    if (rank < 2 || !sc_x_is_float(x)) sc_o_refuse(t);
    m.rows = sc_x_static_size(t, x, -2);
    m.columns = sc_x_static_size(t, x, -1);
    if (m.rows > SC_O_MATRIX_MAX && m.columns > SC_O_MATRIX_MAX) sc_o_refuse(t);
    if (t->status != SC_OK) return m;
    for (uint32_t i = 0; i < rank; i++) sizes[i] = sc_x_size(x, i);
    m.batch = sc_trace_product(t, sizes, rank - 2);
    wide[0] = m.batch;
    wide[1] = sc_dim_int(m.rows);
    wide[2] = sc_dim_int(m.columns);
    m.x = sc_o_double(t, sc_f_view(t, x, wide, 3));
    return m;
}

sc_x sc_o_write_matrices(sc_trace *t, sc_x x, uint32_t index) {
    const sc_spec *out = &t->source->outs[index]->spec;
    return sc_f_to(t, sc_f_view(t, x, out->sizes, out->rank), (sc_dtype)out->dtype);
}

sc_x sc_o_rows(sc_trace *t, const sc_o_matrices *m) {
    return sc_o_places(t, sc_dim_int(m->rows), 1, 3);
}

sc_x sc_o_column(sc_trace *t, const sc_o_matrices *m, int64_t k) {
    return sc_o_steps(t, m->x, 2, k, 1, 1);
}

sc_x sc_o_row(sc_trace *t, const sc_o_matrices *m, int64_t k) {
    return sc_o_steps(t, m->x, 1, k, 1, 1);
}

sc_x sc_o_diagonal(sc_trace *t, const sc_o_matrices *m, int64_t k) {
    return sc_o_steps(t, sc_o_column(t, m, k), 1, k, 1, 1);
}

sc_x sc_o_where_or_zero(sc_trace *t, sc_x condition, sc_x x) {
    return sc_o_where_else(t, condition, x, sc_x_int(t, 0));
}

static bool is_square(sc_trace *t, const sc_o_matrices *m) {
    return t->status == SC_OK && m->rows == m->columns && m->rows > 0;
}

static sc_x expanded(sc_trace *t, const sc_o_matrices *m, sc_x x) {
    const sc_dim sizes[3] = {m->batch, sc_dim_int(m->rows), sc_dim_int(m->columns)};
    return sc_f_expand(t, x, sizes, 3);
}

// --- Pivots --------------------------------------------------------------------------------------

typedef struct elimination {
    sc_o_matrices m;
    sc_x rows;  // their numbers
    sc_x info;  // [batch, 1, 1]: the first pivot of 0, counted from 1; 0 if there is none
} elimination;

static void begin(sc_trace *t, elimination *e) {
    const sc_dim sizes[3] = {e->m.batch, sc_dim_int(1), sc_dim_int(1)};
    e->rows = sc_o_rows(t, &e->m);
    e->info = sc_f_zeros(t, sc_x_dims(t, sizes, 3), SC_DTYPE_I64);
}

static sc_x is_row(sc_trace *t, const elimination *e, int64_t k) {
    return CALL(t, eq_Scalar, e->rows, sc_x_int(t, k));
}

// Of k and the rows behind it the one whose element of the column is largest comes to k; its
// number.
static sc_x swap_largest(sc_trace *t, elimination *e, int64_t k) {
    sc_x below = sc_o_steps(t, sc_o_column(t, &e->m, k), 1, k, e->m.rows - k, 1);
    sc_x best = CALL(t, argmax, CALL(t, abs, below), sc_x_int(t, 1), X_TRUE);
    best = CALL(t, add_Scalar, best, sc_x_int(t, k));
    if (e->m.rows - k == 1) return best;
    sc_x here = is_row(t, e, k), there = CALL(t, eq_Tensor, e->rows, best);
    sc_x order = sc_o_where_else(t, sc_o_not(t, there), e->rows, sc_x_int(t, k));
    order = sc_a_where(t, here, best, order);
    e->m.x = CALL(t, gather, e->m.x, sc_x_int(t, 1), expanded(t, &e->m, order));
    return best;
}

static sc_x find_bad(sc_trace *t, elimination *e, int64_t k, sc_x is_bad) {
    sc_x none = CALL(t, eq_Scalar, e->info, sc_x_int(t, 0));
    is_bad = sc_o_and(t, is_bad, none);
    return sc_o_where_else(t, sc_o_not(t, is_bad), e->info, sc_x_int(t, k + 1));
}

static sc_x info_of(sc_trace *t, const elimination *e, uint32_t index) {
    return sc_o_wants(t, index) ? sc_o_write_matrices(t, e->info, index) : X_NONE;
}

// --- LU ------------------------------------------------------------------------------------------

// Rows behind k lose their multiple of it; the factors stay where zeros would be.
static void eliminate(sc_trace *t, elimination *e, int64_t k) {
    const int64_t columns = e->m.columns;
    sc_x pivot = sc_o_diagonal(t, &e->m, k), is_zero = sc_a_is(t, pivot, 0);
    sc_x behind = CALL(t, gt_Scalar, e->rows, sc_x_int(t, k));
    sc_x moved = sc_o_and(t, behind, sc_o_not(t, is_zero));
    sc_x factor = sc_a_div(t, sc_o_column(t, &e->m, k), pivot);
    factor = sc_o_where_or_zero(t, moved, factor);
    sc_x kept = sc_a_where(t, moved, factor, sc_o_column(t, &e->m, k));
    e->info = find_bad(t, e, k, is_zero);
    if (k + 1 == e->m.rows) return;
    sc_x parts[3] = {sc_o_steps(t, e->m.x, 2, 0, k, 1), kept, NULL};
    if (k + 1 < columns) {
        sc_x right = sc_o_steps(t, e->m.x, 2, k + 1, columns - k - 1, 1);
        sc_x row = sc_o_steps(t, right, 1, k, 1, 1);
        parts[2] = sc_a_sub(t, right, sc_a_mul(t, factor, row));
    }
    e->m.x = sc_f_cat(t, parts + (k == 0), (parts[2] ? 3 : 2) - (k == 0), 2);
}

// (A, pivot, check_errors)
sc_x sc_official_lu_factor(sc_trace *t, const sc_x *a) {
    elimination e = {.m = sc_o_read_matrices(t, a[0])};
    sc_x pivots[SC_O_MATRIX_MAX];
    const int64_t count = e.m.rows < e.m.columns ? e.m.rows : e.m.columns;
    if (t->status != SC_OK || !sc_x_truth(a[1]) || count < 1 || count > SC_O_MATRIX_MAX)
        return sc_o_refuse(t);
    begin(t, &e);
    for (int64_t k = 0; k < count && t->status == SC_OK; k++) {
        pivots[k] = swap_largest(t, &e, k);
        pivots[k] = CALL(t, add_Scalar, pivots[k], sc_x_int(t, 1));
        eliminate(t, &e, k);
    }
    sc_x order = sc_o_wants(t, 1) && t->status == SC_OK
                     ? sc_o_write_matrices(t, sc_f_cat(t, pivots, (uint32_t)count, 1), 1)
                     : X_NONE;
    sc_x info = info_of(t, &e, 2), lu = sc_o_write_matrices(t, e.m.x, 0);
    return X_LIST(t, lu, order, info);
}

// --- Solving -------------------------------------------------------------------------------------

// The left part becomes the identity, and what is right of it the solution.
static void solve(sc_trace *t, elimination *e) {
    begin(t, e);
    for (int64_t k = 0; k < e->m.rows && t->status == SC_OK; k++) {
        swap_largest(t, e, k);
        sc_x pivot = sc_o_diagonal(t, &e->m, k);
        e->info = find_bad(t, e, k, sc_a_is(t, pivot, 0));
        sc_x row = sc_a_div(t, sc_o_row(t, &e->m, k), pivot);
        sc_x rest = sc_a_mul(t, sc_o_column(t, &e->m, k), row);
        sc_x here = is_row(t, e, k);
        e->m.x = sc_a_where(t, here, row, sc_a_sub(t, e->m.x, rest));
    }
}

// a and b beside each other, and then what b has become.
static sc_x solution(sc_trace *t, elimination *e, sc_x b, int64_t columns) {
    const sc_x both[2] = {e->m.x, b};
    const int64_t rows = e->m.rows;
    e->m.x = sc_f_cat(t, both, 2, 2);
    e->m.columns += columns;
    solve(t, e);
    return sc_o_steps(t, e->m.x, 2, rows, columns, 1);
}

// (A, check_errors)
sc_x sc_official_inverse(sc_trace *t, const sc_x *a) {
    elimination e = {.m = sc_o_read_matrices(t, a[0])};
    if (!is_square(t, &e.m)) return sc_o_refuse(t);
    sc_x column = sc_o_places(t, sc_dim_int(e.m.rows), 2, 3);
    sc_x identity = sc_o_double(t, CALL(t, eq_Tensor, sc_o_rows(t, &e.m), column));
    sc_x inverse = solution(t, &e, expanded(t, &e.m, identity), e.m.rows);
    inverse = sc_o_write_matrices(t, inverse, 0);
    return X_LIST(t, inverse, info_of(t, &e, 1));
}

// Right sides of the same batch: [batch, rows, columns]
static bool read_right(sc_trace *t, sc_x b, sc_x a, sc_o_matrices *out) {
    const uint32_t rank = sc_x_rank(a);
    if (sc_x_rank(b) != rank) return false;
    for (uint32_t i = 0; i + 2 < rank; i++)
        if (!sc_dim_equal(sc_x_size(a, i), sc_x_size(b, i))) return false;
    *out = sc_o_read_matrices(t, b);
    return t->status == SC_OK;
}

// (A, B, left, check_errors)
sc_x sc_official_solve(sc_trace *t, const sc_x *a) {
    elimination e = {.m = sc_o_read_matrices(t, a[0])};
    sc_o_matrices right;
    if (!is_square(t, &e.m) || !sc_x_truth(a[2]) || !read_right(t, a[1], a[0], &right) ||
        right.rows != e.m.rows)
        return sc_o_refuse(t);
    sc_x x = sc_o_write_matrices(t, solution(t, &e, right.x, right.columns), 0);
    return X_LIST(t, x, info_of(t, &e, 1));
}

// The rows of b one after the other, each taken from those that are still to come.
static sc_x substitute(sc_trace *t, const sc_o_matrices *a, sc_x b, bool is_upper, bool is_unit) {
    sc_x rows = sc_o_rows(t, a);
    for (int64_t i = 0; i < a->rows && t->status == SC_OK; i++) {
        const int64_t k = is_upper ? a->rows - 1 - i : i;
        sc_x here = CALL(t, eq_Scalar, rows, sc_x_int(t, k)), row = sc_o_steps(t, b, 1, k, 1, 1);
        sc_x left = is_upper ? CALL(t, lt_Scalar, rows, sc_x_int(t, k))
                             : CALL(t, gt_Scalar, rows, sc_x_int(t, k));
        if (!is_unit) row = sc_a_div(t, row, sc_o_diagonal(t, a, k));
        sc_x factor = sc_o_where_or_zero(t, left, sc_o_column(t, a, k));
        sc_x rest = sc_o_where_or_zero(t, left, sc_a_mul(t, factor, row));
        b = sc_a_where(t, here, row, sc_a_sub(t, b, rest));
    }
    return b;
}

// (self, B, upper, left, unitriangular): x a = b is a transposed times x transposed
sc_x sc_official_solve_triangular(sc_trace *t, const sc_x *a) {
    sc_o_matrices m = sc_o_read_matrices(t, a[0]), right;
    const bool is_left = sc_x_truth(a[3]);
    if (!is_square(t, &m) || !read_right(t, a[1], a[0], &right) ||
        (is_left ? right.rows : right.columns) != m.rows)
        return sc_o_refuse(t);
    if (!is_left) m.x = sc_f_transpose(t, m.x, 1, 2);
    sc_x b = is_left ? right.x : sc_f_transpose(t, right.x, 1, 2);
    b = substitute(t, &m, b, sc_x_truth(a[2]) == is_left, sc_x_truth(a[4]));
    return sc_o_write_matrices(t, is_left ? b : sc_f_transpose(t, b, 1, 2), 0);
}

// --- Cholesky ------------------------------------------------------------------------------------

// (self, upper, check_errors)
sc_x sc_official_cholesky(sc_trace *t, const sc_x *a) {
    elimination e = {.m = sc_o_read_matrices(t, a[0])};
    sc_x columns[SC_O_MATRIX_MAX];
    const bool is_upper = sc_x_truth(a[1]);
    if (!is_square(t, &e.m)) return sc_o_refuse(t);
    if (is_upper) e.m.x = sc_f_transpose(t, e.m.x, 1, 2);
    begin(t, &e);
    for (int64_t k = 0; k < e.m.rows && t->status == SC_OK; k++) {
        sc_x pivot = sc_o_diagonal(t, &e.m, k);
        sc_x is_bad = sc_o_not(t, CALL(t, gt_Scalar, pivot, sc_x_int(t, 0)));
        e.info = find_bad(t, &e, k, is_bad);
        sc_x column = sc_o_column(t, &e.m, k);
        column = sc_a_div(t, column, CALL(t, sqrt, pivot));
        sc_x kept = CALL(t, ge_Scalar, e.rows, sc_x_int(t, k));
        columns[k] = sc_o_where_or_zero(t, kept, column);
        sc_x rest = sc_a_mul(t, columns[k], sc_f_transpose(t, columns[k], 1, 2));
        e.m.x = sc_a_sub(t, e.m.x, rest);
    }
    sc_x lower = sc_f_cat(t, columns, t->status == SC_OK ? (uint32_t)e.m.rows : 0, 2);
    if (is_upper) lower = sc_f_transpose(t, lower, 1, 2);
    lower = sc_o_write_matrices(t, lower, 0);
    return X_LIST(t, lower, info_of(t, &e, 1));
}

// --- The exponential -----------------------------------------------------------------------------

// float64 has numbers up to 2^1024.
enum { SQUARINGS = 1030 };

// How often to halve a matrix so that its series converges at once: [batch, 1, 1]
static sc_x halvings(sc_trace *t, sc_x norm) {
    sc_x exponent = CALL(t, floor, CALL(t, log2, norm));
    exponent =
        CALL(t, clamp, sc_a_plus(t, exponent, 3), sc_x_float(t, 0), sc_x_float(t, SQUARINGS));
    return sc_a_unless(t, CALL(t, isnan, exponent), 0, exponent);
}

// Is any matrix to be squared once more? (matrices, how often each)
static sc_x is_left(sc_trace *t, const sc_x *carried) {
    return CALL(t, any, CALL(t, gt_Scalar, carried[1], sc_x_int(t, 0)));
}

static sc_x squared(sc_trace *t, const sc_x *carried) {
    sc_x more = CALL(t, gt_Scalar, carried[1], sc_x_int(t, 0));
    sc_x x = sc_a_where(t, more, CALL(t, bmm, carried[0], carried[0]), carried[0]);
    return X_LIST(t, x, sc_a_plus(t, carried[1], -1));
}

static sc_x taylor(sc_trace *t, const sc_o_matrices *m, sc_x x) {
    sc_x column = sc_o_places(t, sc_dim_int(m->columns), 2, 3);
    sc_x identity = sc_o_double(t, CALL(t, eq_Tensor, sc_o_rows(t, m), column));
    sc_x term = x, sum = sc_a_add(t, x, identity);
    for (int k = 2; k <= 18; k++) {
        term = sc_a_times(t, CALL(t, bmm, term, x), 1.0 / k);
        sum = sc_a_add(t, sum, term);
    }
    return sum;
}

// (self)
sc_x sc_official_matrix_exp(sc_trace *t, const sc_x *a) {
    sc_o_matrices m = sc_o_read_matrices(t, a[0]);
    if (!is_square(t, &m)) return sc_o_refuse(t);
    sc_x sums = sc_o_sum(t, CALL(t, abs, m.x), 2);
    sc_x norm = CALL(t, amax, sums, X_INTS(t, 1), X_TRUE), times = halvings(t, norm);
    sc_x shrunk = CALL(t, pow_Scalar, sc_x_int(t, 2), CALL(t, neg, times));
    const sc_x carried[2] = {taylor(t, &m, sc_a_mul(t, m.x, shrunk)), times};
    sc_x sum = sc_x_at(t, sc_o_while(t, carried, 2, 2, is_left, squared), 0);
    return sc_o_write_matrices(t, sc_a_unless(t, CALL(t, isinf, norm), NAN, sum), 0);
}
