// Expansions of orthogonal polynomials whose degree is a number: by their recurrences, in the order
// in which PyTorch computes them, and those of Chebyshev between -1 and 1 by angles, as there.
#include "core/polynomial.h"
#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"
#include "trace/words/choose.h"
#include "trace/words/recurrence.h"

#include <math.h>

// Above this written out it is too long.
enum { DEGREE_MAX = 512 };

// --- Angles -------------------------------------------------------------------------------------

// The value of the third and fourth kind where PyTorch divides by zero.
static sc_x at_the_end(sc_trace *t, const sc_polynomial *f, sc_x x, int64_t n) {
    const double sign = n % 2 == 0 ? 1 : -1, many = 2 * (double)n + 1;
    sc_x lower =
        CALL(t, full_like, x, sc_x_float(t, f->kind == SC_CHEBYSHEV_THIRD ? sign * many : sign));
    if (f->kind == SC_CHEBYSHEV_THIRD || f->is_shifted) return lower;
    return sc_f_where_number(t, CALL(t, gt_Scalar, x, sc_x_int(t, 0)), many, lower);
}

static sc_x by_halves(sc_trace *t, const sc_polynomial *f, sc_x x, sc_x angle, int64_t n) {
    sc_x half = sc_f_mul_number(t, angle, 0.5), many = sc_f_mul_number(t, angle, (double)n + 0.5);
    sc_x sine = CALL(t, sin, half), cosine = CALL(t, cos, half);
    const bool third = f->kind == SC_CHEBYSHEV_THIRD;
    sc_x above = third ? CALL(t, cos, many) : CALL(t, sin, many);
    sc_x is_end = sc_f_eq_number(t, third ? sine : cosine, 1);
    sc_x ratio = sc_f_div(t, above, third ? cosine : sine);
    return sc_f_where(t, is_end, at_the_end(t, f, x, n), ratio);
}

static sc_x by_angle(sc_trace *t, const sc_polynomial *f, sc_x x, int64_t n) {
    sc_x angle = CALL(t, acos, x);
    if (f->kind == SC_CHEBYSHEV_FIRST) return CALL(t, cos, sc_f_mul_number(t, angle, (double)n));
    if (f->kind != SC_CHEBYSHEV_SECOND) return by_halves(t, f, x, angle, n);
    sc_x many = CALL(t, sin, sc_f_mul_number(t, angle, (double)n + 1));
    return sc_f_div(t, many, CALL(t, sin, angle));
}

// --- Recurrences --------------------------------------------------------------------------------

static sc_x by_recurrence(sc_trace *t, const sc_polynomial *f, sc_x x, int64_t n) {
    sc_x before = CALL(t, full_like, x, sc_x_int(t, 1));
    if (n == 0) return before;
    sc_x now = sc_f_first_degree(t, f, x);
    for (int64_t k = 1; k < n && t->status == SC_OK; k++) {
        sc_x degree = sc_x_float(t, (double)k), above = sc_x_float(t, (double)k + 1);
        sc_x more = sc_f_next_degree(t, f->rule, x, now, before, degree, above);
        before = now;
        now = more;
    }
    return now;
}

// --- All ----------------------------------------------------------------------------------------

// Above these degrees PyTorch gives NaN.
static bool is_beyond(const sc_polynomial *f, sc_x x, int64_t n) {
    const int limit = sc_polynomial_limit(f, sc_x_dtype_of(x) == SC_DTYPE_F64);
    return limit && n > limit;
}

// (x, n); of a degree that is not written out x itself, and the degree in `high`
static sc_x polynomial(sc_trace *t, const sc_x *a, const sc_polynomial *f, sc_x *high) {
    const double degree = sc_x_real(a[1], NAN);
    if (!(fabs(degree) < (double)INT32_MAX))
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "a polynomial needs a degree, not %g",
                             degree);
    const int64_t n = (int64_t)degree;
    sc_x x = sc_x_is_float(a[0]) ? a[0] : sc_f_to(t, a[0], SC_DTYPE_F32);
    if (n < 0) return CALL(t, full_like, x, sc_x_int(t, 0));
    if (is_beyond(f, x, n)) return CALL(t, full_like, x, sc_x_float(t, NAN));
    if (n > DEGREE_MAX) {
        *high = sc_f_scalar_like(t, sc_x_float(t, (double)n), x);
        return x;
    }
    if (f->is_shifted) x = sc_f_add_number(t, sc_f_mul_number(t, x, 2), -1);
    sc_x y = by_recurrence(t, f, x, n);
    if (f->kind == SC_CHEBYSHEV_NONE || n <= f->most) return y;
    sc_x inside = CALL(t, lt_Scalar, CALL(t, abs, x), sc_x_int(t, 1));
    return sc_f_where(t, inside, by_angle(t, f, x, n), y);
}

#define ORTHOGONAL(id, operator, ...)                                       \
    sc_x sc_expand_##id(sc_trace *t, const sc_x *a) {                       \
        sc_x high = NULL, x = polynomial(t, a, &sc_polynomial_##id, &high); \
        return high ? CALL(t, operator, x, high) : x;                       \
    }
#include "core/polynomial.def"
