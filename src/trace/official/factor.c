// Square systems, column by column, for all matrices of a batch at once.
#include "trace/official/factor.h"

#include <math.h>

// --- Batches of matrices -------------------------------------------------------------------------

sc_official_matrices sc_official_read_matrices(sc_trace *t, sc_x x) {
    sc_dim sizes[SC_RANK_MAX];
    const uint32_t rank = sc_x_rank(x);
    sc_official_matrices m = {.x = x};
    if (rank < 2 || !sc_x_is_float(x)) sc_official_refuse(t);
    if (t->status != SC_OK) return m;
    for (uint32_t i = 0; i < rank; i++) sizes[i] = sc_x_size(x, i);
    m.batch = sc_trace_product(t, sizes, rank - 2);
    m.height = sizes[rank - 2];
    m.width = sizes[rank - 1];
    const sc_dim wide[3] = {m.batch, m.height, m.width};
    m.x = sc_f_double(t, sc_f_view(t, x, wide, 3));
    return m;
}

sc_x sc_official_write_matrices(sc_trace *t, sc_x x, uint32_t index) {
    const sc_spec *out = &t->source->outs[index]->spec;
    return sc_f_to(t, sc_f_view(t, x, out->sizes, out->rank), (sc_dtype)out->dtype);
}

sc_x sc_official_rows(sc_trace *t, const sc_official_matrices *m) {
    return sc_f_places(t, m->height, 1, 3);
}

sc_x sc_official_columns(sc_trace *t, const sc_official_matrices *m) {
    return sc_f_places(t, m->width, 2, 3);
}

// [1, rows, rows]
static sc_x unit(sc_trace *t, const sc_official_matrices *m) {
    sc_x rows = sc_official_rows(t, m), columns = sc_f_places(t, m->height, 2, 3);
    return sc_f_double(t, CALL(t, eq_Tensor, rows, columns));
}

sc_x sc_official_identity(sc_trace *t, const sc_official_matrices *m) {
    const sc_dim n = m->height, sizes[3] = {m->batch, n, n};
    return sc_f_expand(t, unit(t, m), sizes, 3);
}

sc_x sc_official_magnitude(sc_trace *t, sc_x x, sc_x dims) {
    return sc_official_amax_of(t, CALL(t, abs, x), dims, X_TRUE);
}

sc_x sc_official_scaled(sc_trace *t, sc_x x, sc_x size) {
    return sc_f_div(t, x, sc_f_where_number(t, sc_f_eq_number(t, size, 0), 1, size));
}

static bool is_square(sc_trace *t, const sc_official_matrices *m) {
    return t->status == SC_OK && sc_dim_equal(m->height, m->width) && !sc_dim_is(m->height, 0);
}

static bool is_empty(const sc_trace *t, const sc_official_matrices *m) {
    return t->status == SC_OK && (sc_dim_is(m->height, 0) || sc_dim_is(m->width, 0));
}

// The results of matrices without rows or columns. The results that have elements say that no pivot
// is bad.
static sc_x empty_results(sc_trace *t) {
    sc_x outs[3];
    const uint32_t count = t->source->out_count;
    if (count > SC_COUNT_OF(outs)) return sc_official_refuse(t);
    for (uint32_t i = 0; i < count; i++) {
        const sc_spec *out = &t->source->outs[i]->spec;
        outs[i] = sc_f_zeros(t, sc_x_dims(t, out->sizes, out->rank), (sc_dtype)out->dtype);
    }
    return sc_x_list(t, outs, count);
}

// --- Pivots --------------------------------------------------------------------------------------

// State of an elimination: the matrices; the first bad pivot, counted from 1, or 0, [batch, 1, 1];
// the rows that were chosen, [batch, turns, 1]. Steps also read the numbers of rows and of columns.
enum { X, INFO, CHOSEN };
enum { ROWS, COLUMNS };

static sc_x no_info(sc_trace *t, const sc_official_matrices *m) {
    const sc_dim sizes[3] = {m->batch, sc_dim_int(1), sc_dim_int(1)};
    return sc_f_zeros(t, sc_x_dims(t, sizes, 3), SC_DTYPE_I64);
}

static void find_bad(sc_trace *t, sc_official_turns *s, sc_x k, sc_x is_bad) {
    sc_x is_first = CALL(t, eq_Scalar, s->state[INFO], sc_x_int(t, 0)), one = sc_x_int(t, 1);
    sc_x next = k->kind == SC_X_INT ? sc_x_int(t, sc_x_number(k, 0) + 1) : sc_f_add(t, k, one);
    s->state[INFO] = sc_official_where_at(t, sc_f_and(t, is_bad, is_first), next, s->state[INFO]);
}

static sc_x info_of(sc_trace *t, const sc_official_turns *s, uint32_t index) {
    return sc_official_wants(t, index) ? sc_official_write_matrices(t, s->state[INFO], index)
                                       : X_NONE;
}

// The pivot row of column k: the one, from k on, whose element of the column is largest.
static sc_x largest_row(sc_trace *t, const sc_official_turns *s, sc_x k) {
    sc_x size = CALL(t, abs, sc_official_column_at(t, s->state[X], k));
    sc_x is_before = sc_official_is_before(t, s->fixed[ROWS], k);
    size = sc_f_where_else(t, sc_f_not(t, is_before), size, sc_x_int(t, -1));
    return CALL(t, argmax, size, sc_x_int(t, 1), X_TRUE);
}

static sc_x gathered_row(sc_trace *t, sc_x x, sc_x number) {
    const sc_dim sizes[3] = {sc_x_size(x, 0), sc_dim_int(1), sc_x_size(x, 2)};
    return CALL(t, gather, x, sc_x_int(t, 1), sc_f_expand(t, number, sizes, 3));
}

static bool is_last_row(sc_x x, sc_x k) {
    return k->kind == SC_X_INT && sc_dim_is(sc_x_size(x, 1), sc_x_number(k, 0) + 1);
}

// The pivot row, and its number if it is wanted. Row k takes its place, and the caller writes row
// k.
static sc_x choose_row(sc_trace *t, sc_official_turns *s, sc_x k, sc_x *number) {
    sc_x *x = &s->state[X];
    if (is_last_row(*x, k)) {
        *number = sc_f_full(t, X_LIST(t, sc_x_int(t, 1)), k, SC_DTYPE_I64);
        return sc_official_row_at(t, *x, k);
    }
    *number = largest_row(t, s, k);
    sc_x chosen = gathered_row(t, *x, *number), other = sc_official_row_at(t, *x, k);
    sc_x is_there = CALL(t, eq_Tensor, s->fixed[ROWS], *number);
    *x = sc_f_where(t, is_there, other, *x);
    return chosen;
}

// --- LU ------------------------------------------------------------------------------------------

// Moves the chosen row to k. A multiple of it is subtracted from each later row, right of column k.
// The factors stay where zeros would be. Rows below a pivot of 0 are not divided, as in LAPACK.
static void eliminate(sc_trace *t, sc_official_turns *s, sc_x k) {
    sc_x *x = &s->state[X], rows = s->fixed[ROWS], columns = s->fixed[COLUMNS], number;
    sc_x row = choose_row(t, s, k, &number), pivot = sc_official_column_at(t, row, k);
    sc_x is_zero = sc_f_eq_number(t, pivot, 0), is_turn = sc_official_is_at(t, s->fixed[CHOSEN], k);
    number = sc_f_add(t, number, sc_x_int(t, 1));
    s->state[CHOSEN] = sc_f_where(t, is_turn, number, s->state[CHOSEN]);
    *x = sc_f_where(t, sc_official_is_at(t, rows, k), row, *x);
    sc_x behind = sc_official_is_behind(t, rows, k), column = sc_official_column_at(t, *x, k);
    sc_x factor = sc_f_where(t, is_zero, column, sc_f_div(t, column, pivot));
    column = sc_f_where(t, behind, factor, column);
    sc_x inside = sc_f_and(t, behind, sc_official_is_behind(t, columns, k));
    sc_x left = sc_f_sub(t, *x, sc_f_mul(t, factor, row));
    *x = sc_f_where(t, inside, left, *x);
    *x = sc_f_where(t, sc_official_is_at(t, columns, k), column, *x);
    find_bad(t, s, k, is_zero);
}

// (A, pivot, check_errors)
sc_x sc_official_lu_factor(sc_trace *t, const sc_x *a) {
    const sc_official_matrices m = sc_official_read_matrices(t, a[0]);
    if (is_empty(t, &m)) return empty_results(t);
    if (t->status != SC_OK || !sc_x_truth(a[1])) return sc_official_refuse(t);
    sc_official_turns s = {.state = {m.x}, .count = 3, .fixed_count = 3, .step = eliminate};
    s.turns = sc_f_smaller(t, m.height, m.width);
    s.state[INFO] = no_info(t, &m);
    const sc_dim sizes[3] = {m.batch, s.turns, sc_dim_int(1)};
    s.state[CHOSEN] = sc_f_zeros(t, sc_x_dims(t, sizes, 3), SC_DTYPE_I64);
    s.fixed[ROWS] = sc_official_rows(t, &m);
    s.fixed[COLUMNS] = sc_official_columns(t, &m);
    s.fixed[CHOSEN] = sc_f_places(t, s.turns, 1, 3);
    sc_official_take_turns(t, &s);
    sc_x order =
        sc_official_wants(t, 1) ? sc_official_write_matrices(t, s.state[CHOSEN], 1) : X_NONE;
    sc_x info = info_of(t, &s, 2), lu = sc_official_write_matrices(t, s.state[X], 0);
    return X_LIST(t, lu, order, info);
}

// --- Solving -------------------------------------------------------------------------------------

// The left part becomes the identity, and the right part becomes the solution.
static void clear_column(sc_trace *t, sc_official_turns *s, sc_x k) {
    sc_x *x = &s->state[X], number, row = choose_row(t, s, k, &number);
    sc_x pivot = sc_official_column_at(t, row, k);
    find_bad(t, s, k, sc_f_eq_number(t, pivot, 0));
    row = sc_f_div(t, row, pivot);
    sc_x rest = sc_f_mul(t, sc_official_column_at(t, *x, k), row), left = sc_f_sub(t, *x, rest);
    *x = sc_f_where(t, sc_official_is_at(t, s->fixed[ROWS], k), row, left);
}

// A step of [a, b] in one matrix; in the end the columns of b are the solution.
static sc_x solution(sc_trace *t, const sc_official_matrices *m, sc_x b, sc_official_turns *s) {
    sc_x x = sc_f_join(t, m->x, b, 2), rows = sc_official_rows(t, m), info = no_info(t, m);
    *s = (sc_official_turns){.state = {x, info},
                             .fixed = {rows},
                             .count = 2,
                             .fixed_count = 1,
                             .turns = m->height,
                             .step = clear_column};
    sc_official_take_turns(t, s);
    return sc_f_slice_range(t, s->state[X], 2, m->width, sc_x_size(x, 2));
}

// (A, check_errors)
sc_x sc_official_inverse(sc_trace *t, const sc_x *a) {
    const sc_official_matrices m = sc_official_read_matrices(t, a[0]);
    sc_official_turns s;
    if (is_empty(t, &m)) return empty_results(t);
    if (!is_square(t, &m)) return sc_official_refuse(t);
    sc_x inverse = solution(t, &m, sc_official_identity(t, &m), &s);
    inverse = sc_official_write_matrices(t, inverse, 0);
    return X_LIST(t, inverse, info_of(t, &s, 1));
}

// Right sides of the same batch: [batch, rows, columns]
static bool read_right(sc_trace *t, sc_x b, sc_x a, sc_official_matrices *out) {
    const uint32_t rank = sc_x_rank(a);
    if (sc_x_rank(b) != rank) return false;
    for (uint32_t i = 0; i + 2 < rank; i++)
        if (!sc_dim_equal(sc_x_size(a, i), sc_x_size(b, i))) return false;
    *out = sc_official_read_matrices(t, b);
    return t->status == SC_OK;
}

// (A, B, left, check_errors)
sc_x sc_official_solve(sc_trace *t, const sc_x *a) {
    const sc_official_matrices m = sc_official_read_matrices(t, a[0]);
    sc_official_matrices right;
    sc_official_turns s;
    if (is_empty(t, &m)) return empty_results(t);
    if (!is_square(t, &m) || !sc_x_truth(a[2]) || !read_right(t, a[1], a[0], &right) ||
        !sc_dim_equal(right.height, m.height))
        return sc_official_refuse(t);
    sc_x x = sc_official_write_matrices(t, solution(t, &m, right.x, &s), 0);
    return X_LIST(t, x, info_of(t, &s, 1));
}

// Solves the rows of b one after the other, and subtracts each from the rows after it.
static void substitute(sc_trace *t, sc_official_turns *s, sc_x k) {
    sc_x a = s->fixed[1], rows = s->fixed[ROWS], *b = &s->state[X];
    sc_x column = sc_official_column_at(t, a, k), row = sc_official_row_at(t, *b, k);
    sc_x here = sc_official_is_at(t, rows, k);
    sc_x left = s->falls ? sc_official_is_before(t, rows, k) : sc_official_is_behind(t, rows, k);
    if (!s->is_unit) row = sc_f_div(t, row, sc_official_row_at(t, column, k));
    sc_x factor = sc_f_where_or_zero(t, left, column);
    sc_x rest = sc_f_where_or_zero(t, left, sc_f_mul(t, factor, row));
    *b = sc_f_where(t, here, row, sc_f_sub(t, *b, rest));
}

// (self, B, upper, left, unitriangular): x a = b is a transposed times x transposed
sc_x sc_official_solve_triangular(sc_trace *t, const sc_x *a) {
    sc_official_matrices m = sc_official_read_matrices(t, a[0]), right;
    const bool is_left = sc_x_truth(a[3]);
    if (!is_square(t, &m) || !read_right(t, a[1], a[0], &right) ||
        !sc_dim_equal(is_left ? right.height : right.width, m.height))
        return sc_official_refuse(t);
    if (!is_left) m.x = sc_f_transpose(t, m.x, 1, 2);
    sc_x b = is_left ? right.x : sc_f_transpose(t, right.x, 1, 2);
    sc_official_turns s = {.state = {b},
                           .fixed = {sc_official_rows(t, &m), m.x},
                           .count = 1,
                           .fixed_count = 2,
                           .turns = m.height,
                           .falls = sc_x_truth(a[2]) == is_left,
                           .is_unit = sc_x_truth(a[4]),
                           .step = substitute};
    sc_official_take_turns(t, &s);
    b = s.state[X];
    return sc_official_write_matrices(t, is_left ? b : sc_f_transpose(t, b, 1, 2), 0);
}

// --- Cholesky ------------------------------------------------------------------------------------

// Computes column k, and subtracts its square from the rest of the matrix. The rest has no share of
// earlier columns.
static void take_root(sc_trace *t, sc_official_turns *s, sc_x k) {
    sc_x *x = &s->state[X], column = sc_official_column_at(t, *x, k);
    sc_x pivot = sc_official_row_at(t, column, k);
    find_bad(t, s, k, sc_f_not(t, CALL(t, gt_Scalar, pivot, sc_x_int(t, 0))));
    column = sc_f_div(t, column, CALL(t, sqrt, pivot));
    sc_x done = sc_official_is_before(t, s->fixed[ROWS], k);
    column = sc_f_where_or_zero(t, sc_f_not(t, done), column);
    sc_x square = sc_f_mul(t, column, sc_f_transpose(t, column, 1, 2));
    sc_x left = sc_f_sub(t, *x, square);
    *x = sc_f_where(t, sc_official_is_at(t, s->fixed[COLUMNS], k), column, left);
}

// (self, upper, check_errors)
sc_x sc_official_cholesky(sc_trace *t, const sc_x *a) {
    sc_official_matrices m = sc_official_read_matrices(t, a[0]);
    const bool is_upper = sc_x_truth(a[1]);
    if (is_empty(t, &m)) return empty_results(t);
    if (!is_square(t, &m)) return sc_official_refuse(t);
    if (is_upper) m.x = sc_f_transpose(t, m.x, 1, 2);
    sc_official_turns s = {.state = {m.x, no_info(t, &m)},
                           .count = 2,
                           .fixed_count = 2,
                           .turns = m.height,
                           .step = take_root};
    s.fixed[ROWS] = sc_official_rows(t, &m);
    s.fixed[COLUMNS] = sc_official_columns(t, &m);
    sc_official_take_turns(t, &s);
    sc_x lower = s.state[X];
    if (is_upper) lower = sc_f_transpose(t, lower, 1, 2);
    lower = sc_official_write_matrices(t, lower, 0);
    return X_LIST(t, lower, info_of(t, &s, 1));
}

// --- The exponential -----------------------------------------------------------------------------

// float64 has numbers up to 2^1024.
enum { SQUARINGS = 1030 };

// The number of times that a matrix is halved, so that its series converges fast: [batch, 1, 1]
static sc_x halvings(sc_trace *t, sc_x norm) {
    sc_x exponent = CALL(t, floor, CALL(t, log2, norm));
    exponent =
        CALL(t, clamp, sc_f_add_number(t, exponent, 3), sc_x_float(t, 0), sc_x_float(t, SQUARINGS));
    return sc_f_where_number(t, CALL(t, isnan, exponent), 0, exponent);
}

// Must any matrix be squared once more? (matrices, the squarings that remain for each)
static sc_x is_left(sc_trace *t, const sc_x *x, const void *user) {
    (void)user;
    return CALL(t, any, CALL(t, gt_Scalar, x[1], sc_x_int(t, 0)));
}

static sc_x squared(sc_trace *t, const sc_x *x, const void *user) {
    (void)user;
    sc_x more = CALL(t, gt_Scalar, x[1], sc_x_int(t, 0));
    sc_x square = sc_f_where(t, more, CALL(t, bmm, x[0], x[0]), x[0]);
    return X_LIST(t, square, sc_f_add_number(t, x[1], -1));
}

static sc_x taylor(sc_trace *t, const sc_official_matrices *m, sc_x x) {
    sc_x term = x, sum = sc_f_add(t, x, unit(t, m));
    for (int k = 2; k <= 18; k++) {
        term = sc_f_mul_number(t, CALL(t, bmm, term, x), 1.0 / k);
        sum = sc_f_add(t, sum, term);
    }
    return sum;
}

// (self)
sc_x sc_official_matrix_exp(sc_trace *t, const sc_x *a) {
    const sc_official_matrices m = sc_official_read_matrices(t, a[0]);
    if (!is_square(t, &m)) return sc_official_refuse(t);
    sc_x sums = sc_official_sum_of(t, CALL(t, abs, m.x), 2);
    sc_x norm = sc_official_amax_of(t, sums, X_INTS(t, 1), X_TRUE), times = halvings(t, norm);
    sc_x shrunk = CALL(t, pow_Scalar, sc_x_int(t, 2), CALL(t, neg, times));
    const sc_x carried[2] = {taylor(t, &m, sc_f_mul(t, m.x, shrunk)), times};
    const sc_f_loop loop = {.carried = carried, .count = 2, .goes_on = is_left, .turn = squared};
    sc_x sum = sc_x_at(t, sc_f_while(t, &loop), 0);
    return sc_official_write_matrices(t, sc_f_where_number(t, CALL(t, isinf, norm), NAN, sum), 0);
}
