// Orthogonal factorisations: QR by Householder's reflections; eigenvectors of small symmetric
// matrices and singular vectors by Jacobi's rotations, unrolled, all pairs in turn, as often as any
// matrix of that size needs. Larger ones are in jacobi.c.
#include "trace/official/factor.h"

#include <float.h>
#include <math.h>

enum { JACOBI_MAX = 4, SWEEPS = 8 };

static bool is_small(sc_dim size) { return sc_dim_is_int(size) && size.value <= JACOBI_MAX; }

// --- QR ------------------------------------------------------------------------------------------

static sc_x sum_over_rows(sc_trace *t, sc_x x) { return sc_official_sum_of(t, x, 1); }

// State of the steps: matrices, and the product of all reflections if it is wanted.
enum { X, Q };

// The reflection that clears column k below the diagonal: its vector, and 2 / |vector|^2; 0 if
// there is no element to clear, as in LAPACK. A head of -0.0 does not count as negative, as in
// PyTorch.
static sc_x reflection(sc_trace *t, const sc_official_turns *s, sc_x k, sc_x *scale) {
    sc_x rows = s->fixed[0], column = sc_official_column_at(t, s->state[X], k);
    sc_x kept = sc_f_not(t, sc_official_is_before(t, rows, k)),
         here = sc_official_is_at(t, rows, k);
    sc_x v = sc_f_where_or_zero(t, kept, column), size = sc_official_magnitude(t, v, X_INTS(t, 1));
    sc_x below =
        sc_official_magnitude(t, sc_f_where_or_zero(t, sc_f_not(t, here), v), X_INTS(t, 1));
    v = sc_official_scaled(t, v, size);
    sc_x first = sc_official_scaled(t, sc_official_row_at(t, column, k), size);
    sc_x length = CALL(t, sqrt, sum_over_rows(t, sc_f_mul(t, v, v)));
    sc_x is_negative = CALL(t, lt_Scalar, first, sc_x_int(t, 0));
    sc_x alpha = sc_f_where(t, is_negative, length, CALL(t, neg, length));
    v = sc_f_where(t, here, sc_f_sub(t, v, alpha), v);
    sc_x norm = sum_over_rows(t, sc_f_mul(t, v, v));
    *scale = sc_f_number_over(t, 2, norm);
    *scale = sc_f_where_number(t, sc_f_eq_number(t, below, 0), 0, *scale);
    return v;
}

static void reflect(sc_trace *t, sc_official_turns *s, sc_x k) {
    sc_x scale, v = reflection(t, s, k, &scale), row = sc_f_transpose(t, v, 1, 2);
    sc_x part = sc_f_mul(t, CALL(t, bmm, row, s->state[X]), scale);
    s->state[X] = sc_f_sub(t, s->state[X], sc_f_mul(t, v, part));
    if (s->count <= Q) return;
    part = sc_f_mul(t, CALL(t, bmm, s->state[Q], v), scale);
    s->state[Q] = sc_f_sub(t, s->state[Q], sc_f_mul(t, part, row));
}

// The number of reflections: the last row has no element to clear.
static sc_dim reflections(sc_trace *t, const sc_official_matrices *m) {
    const sc_dim above = sc_trace_sub(t, m->height, sc_dim_int(1));
    return sc_f_smaller(t, above, m->width);
}

static sc_x upper(sc_trace *t, const sc_official_matrices *m, sc_x x) {
    sc_x rows = sc_official_rows(t, m), columns = sc_official_columns(t, m);
    const sc_spec *out = &t->source->outs[1]->spec;
    (void)sc_f_smaller(t, m->height, m->width);  // reduced, it has so many rows
    x = sc_f_where_or_zero(t, CALL(t, le_Tensor, rows, columns), x);
    x = sc_f_slice_first(t, x, 1, out->sizes[out->rank - 2]);
    return sc_official_write_matrices(t, x, 1);
}

// The factors of matrices without rows or columns: one is unit vectors, the others are empty.
static sc_x factors_of_empty(sc_trace *t, const sc_official_matrices *m) {
    const sc_dim n = sc_dim_is(m->height, 0) ? m->width : m->height;
    const sc_official_matrices square = {.batch = m->batch, .height = n, .width = n};
    sc_x outs[3] = {X_NONE, X_NONE, X_NONE};
    for (uint32_t i = 0; i < t->source->out_count && i < SC_COUNT_OF(outs); i++) {
        const sc_spec *out = &t->source->outs[i]->spec;
        if (!sc_official_wants(t, i)) continue;
        outs[i] = sc_spec_is_empty(out)
                      ? sc_f_zeros(t, sc_x_dims(t, out->sizes, out->rank), (sc_dtype)out->dtype)
                      : sc_official_write_matrices(t, sc_official_identity(t, &square), i);
    }
    return sc_x_list(t, outs, t->source->out_count);
}

// (A, mode)
sc_x sc_official_qr(sc_trace *t, const sc_x *a) {
    const sc_official_matrices m = sc_official_read_matrices(t, a[0]);
    if (t->status != SC_OK) return sc_official_refuse(t);
    if (sc_dim_is(m.height, 0) || sc_dim_is(m.width, 0)) return factors_of_empty(t, &m);
    const sc_dim turns = reflections(t, &m);
    sc_official_turns s = {.state = {m.x},
                           .fixed = {sc_official_rows(t, &m)},
                           .count = 1,
                           .fixed_count = 1,
                           .turns = turns,
                           .step = reflect};
    if (sc_official_wants(t, 0)) s.state[s.count++] = sc_official_identity(t, &m);
    sc_official_take_turns(t, &s);
    sc_x r = upper(t, &m, s.state[X]);
    if (s.count <= Q) return X_LIST(t, X_NONE, r);
    const sc_spec *out = &t->source->outs[0]->spec;
    if (out->rank < 2) return sc_official_refuse(t);
    sc_x q = sc_f_slice_first(t, s.state[Q], 2, out->sizes[out->rank - 1]);
    q = sc_official_write_matrices(t, q, 0);
    return X_LIST(t, q, r);
}

// --- Rotations -----------------------------------------------------------------------------------

typedef struct turn {
    sc_x c, s;  // [batch, 1, 1]
} turn;

// The smaller angle that makes the symmetric [[p, q], [q, r]] diagonal; 0 where q is 0.
static turn angle(sc_trace *t, sc_x p, sc_x q, sc_x r) {
    sc_x is_clear = sc_f_eq_number(t, q, 0);
    sc_x theta = sc_f_sub(t, r, p);
    theta = sc_f_div(t, theta, sc_f_mul_number(t, q, 2));
    sc_x tangent = sc_official_tangent(t, theta);
    sc_x is_less = sc_f_lt_number(t, theta, 0);
    tangent = sc_f_where(t, is_less, CALL(t, neg, tangent), tangent);
    tangent = sc_f_where_number(t, is_clear, 0, tangent);
    sc_x length = CALL(t, sqrt, sc_f_add_number(t, sc_f_mul(t, tangent, tangent), 1));
    turn out = {.c = CALL(t, reciprocal, length)};
    out.s = sc_f_mul(t, tangent, out.c);
    return out;
}

static sc_x rotated(sc_trace *t, sc_x x, sc_x c, sc_x y, sc_x s) {
    sc_x first = sc_f_mul(t, x, c);
    return sc_f_sub(t, first, sc_f_mul(t, y, s));
}

static sc_x rotated_other(sc_trace *t, sc_x x, sc_x c, sc_x y, sc_x s) {
    sc_x first = sc_f_mul(t, x, s);
    return sc_f_add(t, first, sc_f_mul(t, y, c));
}

static void rotate(sc_trace *t, sc_x *x, sc_x *y, const turn *by) {
    sc_x first = rotated(t, *x, by->c, *y, by->s);
    *y = rotated_other(t, *x, by->c, *y, by->s);
    *x = first;
}

// --- Order ---------------------------------------------------------------------------------------

// Columns [batch, rows, 1] by values [batch, 1, 1], which rise or fall.
typedef struct columns {
    sc_x values[JACOBI_MAX], first[JACOBI_MAX], second[JACOBI_MAX];
    int64_t count;
} columns;

static void swap_if(sc_trace *t, sc_x condition, sc_x *x, sc_x *y) {
    if (!*x) return;
    sc_x first = sc_f_where(t, condition, *y, *x);
    *y = sc_f_where(t, condition, *x, *y);
    *x = first;
}

static void sort_columns(sc_trace *t, columns *all, bool falls) {
    for (int64_t end = all->count - 1; end > 0; end--)
        for (int64_t i = 0; i < end; i++) {
            sc_x *v = all->values + i;
            sc_x wrong = falls ? CALL(t, lt_Tensor, v[0], v[1]) : CALL(t, gt_Tensor, v[0], v[1]);
            swap_if(t, wrong, &v[0], &v[1]);
            swap_if(t, wrong, &all->first[i], &all->first[i + 1]);
            swap_if(t, wrong, &all->second[i], &all->second[i + 1]);
        }
}

static sc_x joined(sc_trace *t, sc_x *items, int64_t count, uint32_t index) {
    return sc_official_write_matrices(t, sc_f_cat(t, items, (uint32_t)count, 2), index);
}

// --- Eigenvectors of symmetric matrices ----------------------------------------------------------

// Elements of the triangle that counts, and vectors.
typedef struct symmetric {
    sc_x at[JACOBI_MAX][JACOBI_MAX];
    columns found;
} symmetric;

static sc_x *element(symmetric *m, int64_t i, int64_t k) {
    return i < k ? &m->at[i][k] : &m->at[k][i];
}

static void rotate_pair(sc_trace *t, symmetric *m, int64_t i, int64_t k) {
    sc_x p = m->at[i][i], q = m->at[i][k], r = m->at[k][k];
    const turn by = angle(t, p, q, r);
    sc_x tangent = sc_f_div(t, by.s, by.c), moved = sc_f_mul(t, tangent, q);
    m->at[i][i] = sc_f_sub(t, p, moved);
    m->at[k][k] = sc_f_add(t, r, moved);
    m->at[i][k] = sc_f_mul_number(t, q, 0);
    for (int64_t other = 0; other < m->found.count; other++)
        if (other != i && other != k) rotate(t, element(m, other, i), element(m, other, k), &by);
    if (m->found.first[0]) rotate(t, &m->found.first[i], &m->found.first[k], &by);
}

static void read_symmetric(sc_trace *t, const sc_official_matrices *a, bool is_upper,
                           symmetric *m) {
    sc_x unit = sc_official_wants(t, 1) ? sc_official_identity(t, a) : NULL;
    const int64_t n = a->height.value;
    *m = (symmetric){.found.count = n};
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = i; k < n; k++) {
            sc_x row = sc_f_slice_steps(t, a->x, 1, is_upper ? i : k, 1, 1);
            m->at[i][k] = sc_f_slice_steps(t, row, 2, is_upper ? k : i, 1, 1);
        }
        if (unit) m->found.first[i] = sc_f_slice_steps(t, unit, 2, i, 1, 1);
    }
}

// (A, UPLO, compute_v)
sc_x sc_official_eigh(sc_trace *t, const sc_x *a) {
    const sc_official_matrices m = sc_official_read_matrices(t, a[0]);
    symmetric s;
    const bool is_upper = a[1]->kind == SC_X_STR && sc_str_is(a[1]->str, "U");
    if (t->status != SC_OK || !sc_dim_equal(m.height, m.width) || sc_dim_is(m.height, 0))
        return sc_official_refuse(t);
    if (!is_small(m.height)) return sc_official_jacobi_eigh(t, &m, is_upper);
    const int64_t n = m.height.value;
    read_symmetric(t, &m, is_upper, &s);
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t k = i + 1; k < n; k++) rotate_pair(t, &s, i, k);
    for (int64_t i = 0; i < n; i++) s.found.values[i] = s.at[i][i];
    sort_columns(t, &s.found, false);
    sc_x values = joined(t, s.found.values, n, 0);
    return X_LIST(t, values, s.found.first[0] ? joined(t, s.found.first, n, 1) : X_NONE);
}

// --- Singular vectors ----------------------------------------------------------------------------

static sc_x dot(sc_trace *t, sc_x x, sc_x y) { return sum_over_rows(t, sc_f_mul(t, x, y)); }

// One-sided: columns are rotated until they are orthogonal; `turns`, if wanted, gathers the
// rotations.
static void make_orthogonal(sc_trace *t, sc_x *x, sc_x *turns, int64_t count) {
    for (int64_t i = 0; i < count && t->status == SC_OK; i++)
        for (int64_t k = i + 1; k < count; k++) {
            sc_x p = dot(t, x[i], x[i]), q = dot(t, x[i], x[k]);
            const turn by = angle(t, p, q, dot(t, x[k], x[k]));
            rotate(t, &x[i], &x[k], &by);
            if (turns[0]) rotate(t, &turns[i], &turns[k], &by);
        }
}

// A unit vector orthogonal to the first `count` of u, from whichever axis is farthest from them.
static sc_x completed(sc_trace *t, sc_x rows, sc_x *u, int64_t count) {
    sc_x covered = sc_f_mul(t, u[0], u[0]);
    for (int64_t k = 1; k < count; k++) covered = sc_f_add(t, covered, sc_f_mul(t, u[k], u[k]));
    sc_x axis = CALL(t, argmin, covered, sc_x_int(t, 1), X_TRUE);
    sc_x v = sc_f_double(t, CALL(t, eq_Tensor, rows, axis));
    for (int64_t i = 0; i < 2 * count; i++) {
        sc_x part = sc_f_mul(t, dot(t, v, u[i % count]), u[i % count]);
        v = sc_f_sub(t, v, part);
    }
    return sc_f_div(t, v, CALL(t, sqrt, dot(t, v, v)));
}

// Unit vectors of the columns, and of further axes if they are fewer than `count`.
static void make_units(sc_trace *t, const sc_official_matrices *m, const columns *found, sc_x *u,
                       int64_t count) {
    sc_x rows = sc_official_rows(t, m),
         unit = sc_f_double(t, CALL(t, eq_Scalar, rows, sc_x_int(t, 0)));
    for (int64_t i = 0; i < count && t->status == SC_OK; i++) {
        sc_x other = i ? completed(t, rows, u, i) : unit;
        u[i] = other;
        if (i >= found->count) continue;
        sc_x least = sc_f_mul_number(t, found->values[0], DBL_EPSILON);
        sc_x is_found = CALL(t, gt_Tensor, found->values[i], least);
        u[i] = sc_f_where(t, is_found, sc_f_div(t, found->first[i], found->values[i]), other);
    }
}

// Vectors as columns, or as rows on the other side of the product.
static sc_x side(sc_trace *t, sc_x *vectors, int64_t count, bool as_rows, uint32_t index) {
    sc_x x = sc_f_cat(t, vectors, t->status == SC_OK ? (uint32_t)count : 0, 2);
    return sc_official_write_matrices(t, as_rows ? sc_f_transpose(t, x, 1, 2) : x, index);
}

static void find_columns(sc_trace *t, const sc_official_matrices *m, columns *found,
                         bool has_vectors) {
    const sc_official_matrices square = {.batch = m->batch, .height = m->width};
    sc_x unit = has_vectors ? sc_official_identity(t, &square) : NULL;
    *found = (columns){.count = m->width.value};
    for (int64_t i = 0; i < found->count; i++) {
        found->first[i] = sc_f_slice_steps(t, m->x, 2, i, 1, 1);
        if (unit) found->second[i] = sc_f_slice_steps(t, unit, 2, i, 1, 1);
    }
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        make_orthogonal(t, found->first, found->second, found->count);
    for (int64_t i = 0; i < found->count; i++)
        found->values[i] = CALL(t, sqrt, dot(t, found->first[i], found->first[i]));
    sort_columns(t, found, true);
}

// (A, full_matrices, compute_uv, driver)
sc_x sc_official_svd(sc_trace *t, const sc_x *a) {
    sc_official_matrices m = sc_official_read_matrices(t, a[0]);
    columns found;
    sc_x u[2 * JACOBI_MAX];
    if (t->status != SC_OK) return sc_official_refuse(t);
    if (sc_dim_is(m.height, 0) || sc_dim_is(m.width, 0)) return factors_of_empty(t, &m);
    const bool is_wide =
        is_small(m.height) && sc_dim_is_int(m.width) && m.height.value < m.width.value;
    const bool has_vectors = sc_official_wants(t, 0) || sc_official_wants(t, 2);
    const sc_dim tall = is_wide ? m.width : m.height, least = is_wide ? m.height : m.width;
    const int64_t count = sc_x_truth(a[1]) ? tall.value : least.value;
    if (!is_small(least) || !sc_dim_is_int(tall) || (has_vectors && count > 2 * JACOBI_MAX))
        return sc_official_jacobi_svd(t, &m, sc_x_truth(a[1]));
    if (is_wide) m.x = sc_f_transpose(t, m.x, 1, 2);
    m.height = tall;
    m.width = least;
    sc_x size = sc_official_magnitude(t, m.x, X_INTS(t, 1, 2));
    m.x = sc_official_scaled(t, m.x, size);
    find_columns(t, &m, &found, has_vectors);
    if (has_vectors) make_units(t, &m, &found, u, count);
    for (int64_t i = 0; i < found.count; i++) found.values[i] = sc_f_mul(t, found.values[i], size);
    sc_x values = joined(t, found.values, found.count, 1);
    if (!has_vectors) return X_LIST(t, X_NONE, values, X_NONE);
    sc_x long_side = side(t, u, count, is_wide, is_wide ? 2 : 0);
    sc_x short_side = side(t, found.second, found.count, !is_wide, is_wide ? 0 : 2);
    return is_wide ? X_LIST(t, short_side, values, long_side)
                   : X_LIST(t, long_side, values, short_side);
}
