// Orthogonal polynomials of a tensor of degrees. A turn of the loop computes the next degree for
// all elements, and elements that have reached their degree keep it. The ends of the interval, and
// elements that PyTorch computes by angles, need no turn.
#include "core/polynomial.h"
#include "trace/official/official.h"
#include "trace/words/recurrence.h"

#include <math.h>

// Carried: polynomials of two degrees in a row, and the higher degree, without dims. Read: where
// they are taken, and up to which degree.
enum { BEFORE, NOW, DEGREE, CARRIED, WHERE = CARRIED, LAST, TRAVELLING };

static sc_x goes_on(sc_trace *t, const sc_x *x, const void *user) {
    (void)user;
    sc_x is_left = CALL(t, lt_Tensor, x[DEGREE], x[LAST]);
    sc_x is_number = CALL(t, eq_Tensor, x[NOW], x[NOW]);
    return CALL(t, any, sc_f_and(t, is_left, is_number));
}

static sc_x turn(sc_trace *t, const sc_x *x, const void *user) {
    const sc_polynomial *p = user;
    sc_x k = x[DEGREE], above = sc_f_add_number(t, k, 1);
    sc_x more = sc_f_next_degree(t, p->rule, x[WHERE], x[NOW], x[BEFORE], k, above);
    more = sc_f_where(t, CALL(t, lt_Tensor, k, x[LAST]), more, x[NOW]);
    return X_LIST(t, x[NOW], more, above);
}

// x is as large as the result, `last` need not be.
static sc_x by_recurrence(sc_trace *t, const sc_polynomial *p, sc_x x, sc_x last) {
    sc_x carried[CARRIED], fixed[] = {x, last};
    sc_x first = sc_f_first_degree(t, p, x);
    carried[BEFORE] = CALL(t, full_like, x, sc_x_float(t, 1));
    carried[NOW] = first;
    carried[DEGREE] = sc_f_scalar_like(t, sc_x_float(t, 1), x);
    const sc_f_loop loop = {.carried = carried,
                            .count = CARRIED,
                            .fixed = fixed,
                            .fixed_count = TRAVELLING - CARRIED,
                            .goes_on = goes_on,
                            .turn = turn,
                            .user = p};
    return sc_x_at(t, sc_f_while(t, &loop), NOW);
}

// --- Without a turn ------------------------------------------------------------------------------

// -1 to the power of the degree.
static sc_x signs(sc_trace *t, sc_x degree) {
    sc_x half = CALL(t, floor, sc_f_mul_number(t, degree, 0.5));
    return sc_f_number_minus(
        t, 1, sc_f_mul_number(t, sc_f_sub(t, degree, sc_f_mul_number(t, half, 2)), 2));
}

static sc_x twice_and_one(sc_trace *t, sc_x degree) {
    return sc_f_add_number(t, sc_f_mul_number(t, degree, 2), 1);
}

// The polynomial where x is 1 or -1.
static sc_x at_ends(sc_trace *t, const sc_polynomial *p, sc_x x, sc_x degree) {
    sc_x is_upper = CALL(t, gt_Scalar, x, sc_x_float(t, 0)), sign = signs(t, degree);
    sc_x many = twice_and_one(t, degree);
    switch (p->kind) {
    case SC_CHEBYSHEV_THIRD: return sc_f_where_number(t, is_upper, 1, sc_f_mul(t, sign, many));
    case SC_CHEBYSHEV_FOURTH: return sc_f_where(t, is_upper, many, sign);
    case SC_CHEBYSHEV_SECOND:
        sign = sc_f_where_number(t, is_upper, 1, sign);
        return sc_f_mul(t, sign, sc_f_add_number(t, degree, 1));
    default: return sc_f_where_number(t, is_upper, 1, sign);
    }
}

static sc_x by_halves(sc_trace *t, const sc_polynomial *p, sc_x x, sc_x angle, sc_x degree) {
    const bool third = p->kind == SC_CHEBYSHEV_THIRD;
    sc_x half = sc_f_mul_number(t, angle, 0.5);
    sc_x many = sc_f_mul(t, angle, sc_f_add_number(t, degree, 0.5));
    sc_x sine = CALL(t, sin, half), cosine = CALL(t, cos, half);
    sc_x above = third ? CALL(t, cos, many) : CALL(t, sin, many);
    sc_x ratio = sc_f_div(t, above, third ? cosine : sine);
    sc_x is_end = sc_f_eq_number(t, third ? sine : cosine, 1);
    // PyTorch takes the shifted fourth kind there for what it is at the other end.
    sc_x end = third || !p->is_shifted ? at_ends(t, p, x, degree) : signs(t, degree);
    return sc_f_where(t, is_end, end, ratio);
}

static sc_x by_angle(sc_trace *t, const sc_polynomial *p, sc_x x, sc_x degree) {
    sc_x angle = CALL(t, acos, x);
    if (p->kind == SC_CHEBYSHEV_FIRST) return CALL(t, cos, sc_f_mul(t, angle, degree));
    if (p->kind != SC_CHEBYSHEV_SECOND) return by_halves(t, p, x, angle, degree);
    sc_x many = CALL(t, sin, sc_f_mul(t, angle, sc_f_add_number(t, degree, 1)));
    return sc_f_div(t, many, CALL(t, sin, angle));
}

// --- All -----------------------------------------------------------------------------------------

// The elements that are computed by angles, and those at an end; NULL: no element of this
// polynomial.
typedef struct shortcuts {
    sc_x has_angle, is_end;
} shortcuts;

static shortcuts find(sc_trace *t, const sc_polynomial *p, sc_x x, sc_x degree) {
    shortcuts s = {NULL, NULL};
    sc_x size = CALL(t, abs, x);
    if (sc_polynomial_has_ends(p)) s.is_end = sc_f_eq_number(t, size, 1);
    if (p->rule == SC_RULE_LAGUERRE) s.is_end = sc_f_eq_number(t, size, 0);
    if (p->kind) {
        sc_x is_high = CALL(t, gt_Scalar, degree, sc_x_float(t, p->most));
        s.has_angle = sc_f_and(t, is_high, sc_f_lt_number(t, size, 1));
    }
    return s;
}

static sc_x zero_where(sc_trace *t, sc_x condition, sc_x x) {
    return condition ? sc_f_where_number(t, condition, 0, x) : x;
}

// The polynomial of valid degrees; invalid ones are 0 here.
static sc_x of_degrees(sc_trace *t, const sc_polynomial *p, sc_x x, sc_x degree) {
    const int limit = sc_polynomial_limit(p, sc_x_dtype_of(x) == SC_DTYPE_F64);
    const int most = limit ? limit : SC_DEGREE_MAX;
    const shortcuts s = find(t, p, x, degree);
    sc_x last = zero_where(t, s.is_end, degree);
    last = zero_where(t, s.has_angle, last);
    sc_x is_beyond = CALL(t, gt_Scalar, last, sc_x_float(t, most));
    sc_x y = by_recurrence(t, p, x, zero_where(t, is_beyond, last));
    y = sc_f_where_number(t, is_beyond, NAN, y);
    if (s.has_angle) y = sc_f_where(t, s.has_angle, by_angle(t, p, x, degree), y);
    y = sc_f_where_number(t, sc_f_eq_number(t, degree, 0), 1, y);
    if (p->rule == SC_RULE_LAGUERRE) return sc_f_where_number(t, s.is_end, 1, y);
    return s.is_end ? sc_f_where(t, s.is_end, at_ends(t, p, x, degree), y) : y;
}

// (x, n)
static sc_x polynomial(sc_trace *t, const sc_x *a, const sc_polynomial *p) {
    const bool is_double = sc_official_result_dtype(t) == SC_DTYPE_F64;
    const sc_dtype wide = is_double ? SC_DTYPE_F64 : SC_DTYPE_F32;
    sc_x x = sc_f_to(t, a[0], wide), n = sc_f_to(t, a[1], wide);
    sc_x is_degree = CALL(t, gt_Scalar, n, sc_x_float(t, -1));
    is_degree = sc_f_and(t, is_degree, sc_f_lt_number(t, n, SC_DEGREE_END));
    sc_x is_invalid = sc_f_not(t, is_degree);
    if (p->is_shifted) x = sc_f_add_number(t, sc_f_mul_number(t, x, 2), -1);
    x = zero_where(t, is_invalid, x);  // as large as the result from here on
    sc_x degree = zero_where(t, is_invalid, CALL(t, trunc, n));
    return sc_official_rounded(t, sc_f_where_number(t, is_invalid, 0, of_degrees(t, p, x, degree)));
}

#define ORTHOGONAL(id, ...)                             \
    sc_x sc_official_##id(sc_trace *t, const sc_x *a) { \
        return polynomial(t, a, &sc_polynomial_##id);   \
    }
#include "core/polynomial.def"
