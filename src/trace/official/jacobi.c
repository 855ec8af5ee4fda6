// Eigenvectors and singular vectors of matrices of any size, by Jacobi's rotations in a loop.
//
// Vectors are rows. A turn rotates disjoint pairs of rows so that both become orthogonal. Turn k
// takes the pairs whose numbers have the sum k, modulo the number of rows n. So n turns see every
// pair once, and the loop ends after n turns without a rotation. An index gives the partner of each
// row, and every row computes its own side of the rotation. So a turn is a gather and element-wise
// arithmetic, for all matrices of a batch at once.
#include "trace/official/factor.h"

#include <float.h>

// Each sweep has as many turns as there are rows. Matrices need a dozen sweeps.
enum { SWEEPS = 40 };
// Twice the cosine below which rows count as orthogonal, and the length below which a row counts as
// zero: the largest is 1.
#define NEARLY_ZERO  2e-14
#define NEARLY_EMPTY 1e-100

// State of the loop: the rows, the number of the turn, and the number of turns in a row that
// rotated no pair. Turns also read the numbers of the rows, and the count of rows.
enum { X, TURN, QUIET, CARRIED, NUMBERS = CARRIED, COUNT, READ };

sc_x sc_official_tangent(sc_trace *t, sc_x theta) {
    sc_x root = CALL(t, sqrt, sc_f_add_number(t, sc_f_mul(t, theta, theta), 1));
    return CALL(t, reciprocal, sc_f_add(t, CALL(t, abs, theta), root));
}

static sc_x goes_on(sc_trace *t, const sc_x *x, const void *user) {
    (void)user;
    sc_x most = CALL(t, mul_Scalar, x[COUNT], sc_x_int(t, SWEEPS));
    sc_x is_left = CALL(t, lt_Tensor, x[TURN], most);
    sc_x is_found = CALL(t, lt_Tensor, x[QUIET], x[COUNT]);
    return CALL(t, any, sc_f_and(t, is_left, is_found));
}

static sc_x of_partner(sc_trace *t, sc_x x, sc_x partner) {
    return CALL(t, index_select, x, sc_x_int(t, 1), partner);
}

// A condition for each row, broadcast to rows.
static sc_x along_rows(sc_trace *t, sc_x x) {
    const sc_dim one = sc_dim_int(1), sizes[3] = {one, sc_x_size(x, 0), one};
    return sc_f_view(t, x, sizes, 3);
}

// Tangents of the rotations. Those of partners are each other's negative, exactly: both sides
// compute the same products. The first of two equally long rows has the positive tangent.
static sc_x tangents(sc_trace *t, const sc_x *x, sc_x partner, sc_x own, sc_x other,
                     sc_x *rotates) {
    sc_x p = sc_official_sum_of(t, sc_f_mul(t, own, own), 2), r = of_partner(t, p, partner);
    sc_x q = sc_official_sum_of(t, sc_f_mul(t, own, other), 2);
    sc_x twice = sc_f_add(t, q, of_partner(t, q, partner));
    sc_x length = CALL(t, sqrt, p), least = sc_f_mul(t, length, CALL(t, sqrt, r));
    least = sc_f_add_number(t, sc_f_mul_number(t, least, NEARLY_ZERO), NEARLY_EMPTY);
    sc_x is_pair = along_rows(t, CALL(t, ne_Tensor, x[NUMBERS], partner));
    *rotates = sc_f_and(t, CALL(t, gt_Tensor, CALL(t, abs, twice), least), is_pair);
    sc_x theta = sc_f_div(t, sc_f_sub(t, r, p), twice), tangent = sc_official_tangent(t, theta);
    sc_x is_second = along_rows(t, CALL(t, gt_Tensor, x[NUMBERS], partner));
    sc_x is_negative = sc_f_and(t, sc_f_eq_number(t, theta, 0), is_second);
    is_negative = sc_f_or(t, sc_f_lt_number(t, theta, 0), is_negative);
    tangent = sc_f_where(t, is_negative, CALL(t, neg, tangent), tangent);
    return sc_f_where_or_zero(t, *rotates, tangent);
}

// user: where in rows the part begins that becomes orthogonal.
static sc_x turn(sc_trace *t, const sc_x *x, const void *user) {
    const sc_dim start = *(const sc_dim *)user, end = sc_x_size(x[X], 2);
    sc_x one = sc_x_int(t, 1), partner, rotates;
    sc_f_floor_divide(t, sc_f_sub(t, x[TURN], x[NUMBERS]), x[COUNT], &partner);
    sc_x other = of_partner(t, x[X], partner), own = sc_f_slice_range(t, x[X], 2, start, end);
    sc_x tangent =
        tangents(t, x, partner, own, sc_f_slice_range(t, other, 2, start, end), &rotates);
    sc_x length = CALL(t, sqrt, sc_f_add_number(t, sc_f_mul(t, tangent, tangent), 1));
    sc_x next_rows = sc_f_sub(t, x[X], sc_f_mul(t, other, tangent));
    next_rows = sc_f_div(t, next_rows, length);
    sc_x quiet = sc_f_add(t, x[QUIET], one), is_quiet = sc_f_not(t, CALL(t, any, rotates));
    quiet = sc_f_where_or_zero(t, is_quiet, quiet);
    sc_x next = sc_f_add(t, x[TURN], one);
    return X_LIST(t, next_rows, next, quiet);
}

// The rows of `x`, of which from `start` on elements have sizes about 1 at most.
static sc_x rotated(sc_trace *t, sc_x x, sc_dim start) {
    const sc_dim count = sc_x_size(x, 1);
    sc_x one = X_INTS(t, 1), first = sc_f_zeros(t, one, SC_DTYPE_I64);
    const sc_x carried[CARRIED] = {x, first, first};
    sc_x numbers = sc_f_places(t, count, 0, 1);
    const sc_x fixed[] = {numbers, sc_f_full(t, one, sc_x_dim(t, count), SC_DTYPE_I64)};
    const sc_f_loop loop = {.carried = carried,
                            .count = CARRIED,
                            .fixed = fixed,
                            .fixed_count = READ - CARRIED,
                            .goes_on = goes_on,
                            .turn = turn,
                            .user = &start};
    return sc_x_at(t, sc_f_while(t, &loop), 0);
}

// --- Factors of both -----------------------------------------------------------------------------

// Rows of the identity; NaN for matrices that hold a NaN.
static sc_x units(sc_trace *t, sc_dim batch, sc_dim count, sc_x size) {
    const sc_official_matrices square = {.batch = batch, .height = count, .width = count};
    sc_x zero = sc_f_mul_number(t, size, 0);
    return sc_f_add(t, sc_official_identity(t, &square), zero);
}

static sc_x sorted(sc_trace *t, sc_x x, sc_x order) {
    if (!order) return x;
    const sc_dim sizes[3] = {sc_x_size(x, 0), sc_x_size(x, 1), sc_x_size(x, 2)};
    return CALL(t, gather, x, sc_x_int(t, 1), sc_f_expand(t, order, sizes, 3));
}

// By values [batch, rows, 1]; NULL of one.
static sc_x order_of(sc_trace *t, sc_x values, bool falls) {
    return sc_dim_is(sc_x_size(values, 1), 1) ? NULL : sc_official_order(t, values, 1, falls);
}

static sc_x written(sc_trace *t, sc_x x, bool as_rows, uint32_t index) {
    return sc_official_write_matrices(t, as_rows ? x : sc_f_transpose(t, x, 1, 2), index);
}

// --- Eigenvectors --------------------------------------------------------------------------------

// By the triangle that counts.
static sc_x symmetric(sc_trace *t, const sc_official_matrices *m, bool is_upper) {
    sc_x rows = sc_official_rows(t, m), columns = sc_official_columns(t, m);
    sc_x counts = is_upper ? CALL(t, le_Tensor, rows, columns) : CALL(t, ge_Tensor, rows, columns);
    return sc_f_where(t, counts, m->x, sc_f_transpose(t, m->x, 1, 2));
}

// Eigenvalues and eigenvectors of a symmetric matrix. Moved so that no eigenvalue is negative, it
// has them as lengths of its rows once these are rotated to be orthogonal. The values are computed
// from the unmoved matrix, so that they do not have the error of the move.
sc_x sc_official_jacobi_eigh(sc_trace *t, const sc_official_matrices *m, bool is_upper) {
    sc_x x = symmetric(t, m, is_upper), size = sc_official_magnitude(t, x, X_INTS(t, 1, 2));
    x = sc_official_scaled(t, x, size);
    sc_x squares = sc_official_sum_of(t, sc_f_mul(t, x, x), 2);
    sc_x norm = CALL(t, sqrt, sc_official_sum_of(t, squares, 1)),
         unit = units(t, m->batch, m->height, size);
    sc_x moved = sc_f_add(t, x, sc_f_mul(t, unit, norm));
    sc_x v = sc_f_slice_first(t, rotated(t, sc_f_join(t, unit, moved, 2), m->height), 2, m->height);
    sc_x values = sc_official_sum_of(t, sc_f_mul(t, CALL(t, bmm, v, x), v), 2);
    values = sc_f_mul(t, values, size);
    sc_x order = order_of(t, values, false);
    values = sc_official_write_matrices(t, sorted(t, values, order), 0);
    return X_LIST(t, values,
                  sc_official_wants(t, 1) ? written(t, sorted(t, v, order), false, 1) : X_NONE);
}

// --- Singular vectors ----------------------------------------------------------------------------

// The loop carries unit vectors, and a mark for each that is still missing. It reads the numbers of
// the rows and columns.
enum { U, IS_MISSING, ROWS, COLUMNS };

static sc_x lacks_any(sc_trace *t, const sc_x *x, const void *user) {
    (void)user;
    return CALL(t, any, x[IS_MISSING]);
}

static sc_x without(sc_trace *t, sc_x v, sc_x u) {
    sc_x parts = CALL(t, bmm, v, sc_f_transpose(t, u, 1, 2));
    return sc_f_sub(t, v, CALL(t, bmm, parts, u));
}

// A missing vector: the part of an axis that is orthogonal to all other vectors. The axis is the
// one farthest from them.
static sc_x completed(sc_trace *t, const sc_x *x, const void *user) {
    (void)user;
    sc_x u = x[U], is_missing = x[IS_MISSING],
         covered = sc_official_sum_of(t, sc_f_mul(t, u, u), 1);
    sc_x axis = CALL(t, argmin, covered, sc_x_int(t, 2), X_TRUE);
    sc_x v = sc_f_double(t, CALL(t, eq_Tensor, x[COLUMNS], axis));
    v = without(t, without(t, v, u), u);
    v = sc_f_div(t, v, CALL(t, sqrt, sc_official_sum_of(t, sc_f_mul(t, v, v), 2)));
    sc_x place = CALL(t, argmax, sc_f_double(t, is_missing), sc_x_int(t, 1), X_TRUE);
    sc_x here = sc_f_and(t, CALL(t, eq_Tensor, x[ROWS], place), is_missing);
    u = sc_f_where(t, here, v, u);
    return X_LIST(t, u, sc_f_and(t, is_missing, sc_f_not(t, here)));
}

// `count` unit vectors of the rows of x, whose lengths fall. If there are fewer, others are added.
static sc_x unit_vectors(sc_trace *t, sc_x x, sc_x lengths, sc_dim count) {
    const sc_dim length = sc_x_size(x, 2), sizes[3] = {sc_x_size(x, 0), length, length};
    sc_x least = sc_f_mul_number(t, sc_f_slice_steps(t, lengths, 1, 0, 1, 1), DBL_EPSILON);
    sc_x is_missing = CALL(t, le_Tensor, lengths, least), u = sc_f_div(t, x, lengths);
    u = sc_f_where_number(t, is_missing, 0, u);
    if (!sc_dim_equal(count, sc_x_size(x, 1))) {
        const sc_dim column[3] = {sizes[0], length, sc_dim_int(1)};
        sc_x more = sc_f_full(t, sc_x_dims(t, column, 3), X_TRUE, SC_DTYPE_BOOL);
        u = sc_f_join(t, u, sc_f_zeros(t, sc_x_dims(t, sizes, 3), SC_DTYPE_F64), 1);
        u = sc_f_slice_first(t, u, 1, count);
        is_missing = sc_f_slice_first(t, sc_f_join(t, is_missing, more, 1), 1, count);
    }
    const sc_x carried[] = {u, is_missing};
    sc_x rows = sc_f_places(t, count, 1, 3);
    const sc_x fixed[] = {rows, sc_f_places(t, length, 2, 3)};
    const sc_f_loop loop = {.carried = carried,
                            .count = 2,
                            .fixed = fixed,
                            .fixed_count = 2,
                            .goes_on = lacks_any,
                            .turn = completed};
    return sc_x_at(t, sc_f_while(t, &loop), 0);
}

// Rotates columns, or rows where these are known to be fewer.
sc_x sc_official_jacobi_svd(sc_trace *t, const sc_official_matrices *m, bool is_full) {
    const bool is_wide =
        sc_dim_is_int(m->height) && sc_dim_is_int(m->width) && m->height.value < m->width.value;
    const bool has_vectors = sc_official_wants(t, 0) || sc_official_wants(t, 2);
    const sc_dim count = is_wide ? m->height : m->width, length = is_wide ? m->width : m->height;
    const sc_dim least = sc_f_smaller(t, m->height, m->width);
    const sc_dim start = has_vectors ? count : sc_dim_int(0);
    sc_x size = sc_official_magnitude(t, m->x, X_INTS(t, 1, 2)),
         x = sc_official_scaled(t, m->x, size);
    if (!is_wide) x = sc_f_transpose(t, x, 1, 2);
    if (has_vectors) x = sc_f_join(t, units(t, m->batch, count, size), x, 2);
    x = rotated(t, x, start);
    sc_x rows = sc_f_slice_range(t, x, 2, start, sc_x_size(x, 2));
    sc_x lengths = CALL(t, sqrt, sc_official_sum_of(t, sc_f_mul(t, rows, rows), 2));
    sc_x order = order_of(t, lengths, true);
    lengths = sorted(t, lengths, order);
    sc_x values =
        sc_official_write_matrices(t, sc_f_slice_first(t, sc_f_mul(t, lengths, size), 1, least), 1);
    if (!has_vectors) return X_LIST(t, X_NONE, values, X_NONE);
    sc_x own = sc_f_slice_first(t, sorted(t, sc_f_slice_first(t, x, 2, count), order), 1,
                                is_full ? count : least);
    sc_x other = unit_vectors(t, sorted(t, rows, order), lengths, is_full ? length : least);
    own = written(t, own, !is_wide, is_wide ? 0 : 2);
    other = written(t, other, is_wide, is_wide ? 2 : 0);
    return is_wide ? X_LIST(t, own, values, other) : X_LIST(t, other, values, own);
}
