// Expansions of orthogonal polynomials whose degree is a number: by their recurrences, in the order
// in which PyTorch computes them, and those of Chebyshev between -1 and 1 by angles, as there.
#include <math.h>

#include "trace/arithmetic.h"
#include "trace/expand.h"

enum { DEGREE_MAX = 512 };

typedef enum rule { DOUBLED, HERMITE, PROBABILISTS, LAGUERRE, LEGENDRE } rule;
typedef enum kind { NO_KIND, FIRST, SECOND, THIRD, FOURTH } kind;

typedef struct family {
    rule rule;
    double slope, start;  // that of degree 1 is slope * x + start
    kind kind;            // Chebyshev's
    int64_t most;         // degrees above go by angles
    bool is_shifted;      // of 2 x - 1
} family;

// --- Angles -------------------------------------------------------------------------------------

// What PyTorch gives where the third and fourth kind divide by nothing.
static sc_x at_the_end(sc_trace *t, const family *f, sc_x x, int64_t n) {
    const double sign = n % 2 == 0 ? 1 : -1, many = 2 * (double)n + 1;
    sc_x lower = CALL(t, full_like, x, sc_x_float(t, f->kind == THIRD ? sign * many : sign));
    if (f->kind == THIRD || f->is_shifted) return lower;
    return sc_a_unless(t, CALL(t, gt_Scalar, x, sc_x_int(t, 0)), many, lower);
}

static sc_x by_halves(sc_trace *t, const family *f, sc_x x, sc_x angle, int64_t n) {
    sc_x half = sc_a_times(t, angle, 0.5), many = sc_a_times(t, angle, (double)n + 0.5);
    sc_x sine = CALL(t, sin, half), cosine = CALL(t, cos, half);
    const bool third = f->kind == THIRD;
    sc_x above = third ? CALL(t, cos, many) : CALL(t, sin, many);
    sc_x is_end = sc_a_is(t, third ? sine : cosine, 1);
    sc_x ratio = sc_a_div(t, above, third ? cosine : sine);
    return sc_a_where(t, is_end, at_the_end(t, f, x, n), ratio);
}

static sc_x by_angle(sc_trace *t, const family *f, sc_x x, int64_t n) {
    sc_x angle = CALL(t, acos, x);
    if (f->kind == FIRST) return CALL(t, cos, sc_a_times(t, angle, (double)n));
    if (f->kind != SECOND) return by_halves(t, f, x, angle, n);
    sc_x many = CALL(t, sin, sc_a_times(t, angle, (double)n + 1));
    return sc_a_div(t, many, CALL(t, sin, angle));
}

// --- Recurrences --------------------------------------------------------------------------------

// The one of degree k + 1, of those of degrees k and k - 1.
static sc_x next(sc_trace *t, rule how, sc_x x, sc_x one, sc_x zeroth, int64_t k) {
    const double d = (double)k;
    sc_x factor = x, less = zeroth;
    switch (how) {
    case DOUBLED: factor = sc_a_times(t, x, 2); break;
    case HERMITE:
        factor = sc_a_times(t, x, 2);
        less = sc_a_times(t, zeroth, 2 * d);
        break;
    case PROBABILISTS: less = sc_a_times(t, zeroth, d); break;
    case LAGUERRE:
        factor = sc_a_plus(t, sc_a_from(t, 1, x), 2 * d);
        less = sc_a_times(t, zeroth, d);
        break;
    case LEGENDRE:
        factor = sc_a_times(t, x, 2 * d + 1);
        less = sc_a_times(t, zeroth, d);
        break;
    }
    sc_x sum = sc_a_sub(t, sc_a_mul(t, factor, one), less);
    const bool divides = how == LAGUERRE || how == LEGENDRE;
    return divides ? CALL(t, div_Scalar, sum, sc_x_float(t, d + 1)) : sum;
}

static sc_x by_recurrence(sc_trace *t, const family *f, sc_x x, int64_t n) {
    sc_x before = CALL(t, full_like, x, sc_x_int(t, 1));
    if (n == 0) return before;
    sc_x now = f->slope == 1 ? x : sc_a_times(t, x, f->slope);
    if (f->start != 0) now = sc_a_plus(t, now, f->start);
    for (int64_t k = 1; k < n && t->status == SC_OK; k++) {
        sc_x more = next(t, f->rule, x, now, before, k);
        before = now;
        now = more;
    }
    return now;
}

// --- All ----------------------------------------------------------------------------------------

// Above these degrees PyTorch gives NaN.
static bool is_beyond(const family *f, sc_x x, int64_t n) {
    const bool has_end = f->rule == HERMITE || f->rule == PROBABILISTS;
    return has_end && n > (sc_x_dtype_of(x) == SC_DTYPE_F64 ? 512 : 128);
}

// (x, n)
static sc_x polynomial(sc_trace *t, const sc_x *a, const family *f) {
    const double degree = sc_x_real(a[1], NAN);
    if (!(fabs(degree) < (double)INT32_MAX))
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "a polynomial needs a degree, not %g",
                             degree);
    const int64_t n = (int64_t)degree;
    sc_x x = sc_x_is_float(a[0]) ? a[0] : sc_f_to(t, a[0], SC_DTYPE_F32);
    if (n < 0) return CALL(t, full_like, x, sc_x_int(t, 0));
    if (is_beyond(f, x, n)) return CALL(t, full_like, x, sc_x_float(t, NAN));
    if (n > DEGREE_MAX)
        return sc_trace_fail(t, SC_ERR_LIMIT, "Compute it outside of the model.",
                             "polynomials of degree %lld: at most %d is written out", (long long)n,
                             DEGREE_MAX);
    if (f->is_shifted) x = sc_a_plus(t, sc_a_times(t, x, 2), -1);
    sc_x y = by_recurrence(t, f, x, n);
    if (f->kind == NO_KIND || n <= f->most) return y;
    sc_x inside = CALL(t, lt_Scalar, CALL(t, abs, x), sc_x_int(t, 1));
    return sc_a_where(t, inside, by_angle(t, f, x, n), y);
}

// The expansion of one family, and the members of its `family`.
// clang-format off
#define POLYNOMIALS(name, ...)                                 \
    sc_x sc_expand_##name(sc_trace *t, const sc_x *a) {        \
        return polynomial(t, a, &(const family){__VA_ARGS__}); \
    }
POLYNOMIALS(chebyshev_t,         DOUBLED, 1, 0, FIRST, 6, false)
POLYNOMIALS(chebyshev_u,         DOUBLED, 2, 0, SECOND, 8, false)
POLYNOMIALS(chebyshev_v,         DOUBLED, 2, -1, THIRD, 8, false)
POLYNOMIALS(chebyshev_w,         DOUBLED, 2, 1, FOURTH, 8, false)
POLYNOMIALS(shifted_chebyshev_t, DOUBLED, 1, 0, FIRST, 6, true)
POLYNOMIALS(shifted_chebyshev_u, DOUBLED, 2, 0, SECOND, 6, true)
POLYNOMIALS(shifted_chebyshev_v, DOUBLED, 2, -1, THIRD, 6, true)
POLYNOMIALS(shifted_chebyshev_w, DOUBLED, 2, 1, FOURTH, 4, true)
POLYNOMIALS(hermite_h,           HERMITE, 2, 0, NO_KIND, 0, false)
POLYNOMIALS(hermite_he,          PROBABILISTS, 1, 0, NO_KIND, 0, false)
POLYNOMIALS(laguerre,            LAGUERRE, -1, 1, NO_KIND, 0, false)
POLYNOMIALS(legendre,            LEGENDRE, 1, 0, NO_KIND, 0, false)
// clang-format on
