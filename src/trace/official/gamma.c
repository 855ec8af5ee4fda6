// The logarithm of the gamma function, its derivatives, and Hurwitz's zeta function: recurrences to
// where the asymptotic series is exact, and reflection where numbers are negative.
#include <math.h>

#include "core/series.h"
#include "trace/official/official.h"

// The exact distance to the next integer below x: 0 to 1.
static sc_x fraction(sc_trace *t, sc_x x) { return sc_f_sub(t, x, CALL(t, floor, x)); }

// --- Lgamma --------------------------------------------------------------------------------------

enum { SHIFT = 8 };

static sc_x stirling(sc_trace *t, sc_x x) {
    static const double series[] = {1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
                                    1.0 / 1188, -691.0 / 360360, 1.0 / 156,  -3617.0 / 122400};
    sc_x inverse = CALL(t, reciprocal, x);
    sc_x tail = POLYNOMIAL(t, sc_f_mul(t, inverse, inverse), series);
    sc_x power = sc_f_add_number(t, CALL(t, log, x), -1);
    power = sc_f_mul(t, power, sc_f_add_number(t, x, -0.5));
    power = sc_f_add_number(t, power, 0.5 * log(2 * SC_PI) - 0.5);
    return sc_f_add(t, power, sc_f_mul(t, tail, inverse));
}

static sc_x lgamma_of_positive(sc_trace *t, sc_x x) {
    sc_x is_small = sc_f_lt_number(t, x, SHIFT), product = x;
    for (int k = 1; k < SHIFT; k++) product = sc_f_mul(t, product, sc_f_add_number(t, x, k));
    sc_x shifted = stirling(t, sc_f_where(t, is_small, sc_f_add_number(t, x, SHIFT), x));
    return sc_f_where(t, is_small, sc_f_sub(t, shifted, CALL(t, log, product)), shifted);
}

// (self)
sc_x sc_official_lgamma(sc_trace *t, const sc_x *a) {
    sc_x x = sc_f_double(t, a[0]), size = CALL(t, abs, x), y = lgamma_of_positive(t, size);
    sc_x part = fraction(t, size);
    part = CALL(t, minimum, part, sc_f_number_minus(t, 1, part));
    sc_x sine = CALL(t, sin, sc_f_mul_number(t, part, SC_PI));
    sc_x mirrored = sc_f_add(t, y, CALL(t, log, sc_f_mul(t, size, sine)));
    sc_x is_less = sc_f_lt_number(t, x, 0);
    y = sc_f_where(t, is_less, sc_f_number_minus(t, log(SC_PI), mirrored), y);
    return sc_official_rounded(t, sc_f_where_number(t, CALL(t, isinf, x), INFINITY, y));
}

// --- Digamma -------------------------------------------------------------------------------------

static sc_x digamma_of_positive(sc_trace *t, sc_x x) {
    static const double series[] = {0,          1.0 / 12,  -1.0 / 120,    1.0 / 252,
                                    -1.0 / 240, 1.0 / 132, -691.0 / 32760};
    sc_x before = CALL(t, reciprocal, x);
    for (int k = 1; k < 10; k++)
        before = sc_f_add(t, before, CALL(t, reciprocal, sc_f_add_number(t, x, k)));
    sc_x shifted = sc_f_add_number(t, x, 10), inverse = CALL(t, reciprocal, shifted);
    sc_x tail = POLYNOMIAL(t, sc_f_mul(t, inverse, inverse), series);
    tail = sc_f_add(t, tail, sc_f_mul_number(t, inverse, 0.5));
    tail = sc_f_add(t, tail, before);
    return sc_f_sub(t, CALL(t, log, shifted), tail);
}

static sc_x digamma(sc_trace *t, sc_x x) {
    sc_x is_mirrored = sc_f_lt_number(t, x, 0), one_less = sc_f_number_minus(t, 1, x);
    sc_x y = digamma_of_positive(t, sc_f_where(t, is_mirrored, one_less, x));
    sc_x part = sc_f_sub(t, x, CALL(t, trunc, x));
    sc_x mirrored = sc_f_number_over(t, SC_PI, CALL(t, tan, sc_f_mul_number(t, part, SC_PI)));
    mirrored = sc_f_sub(t, y, mirrored);
    mirrored = sc_f_where_number(t, sc_f_eq_number(t, part, 0), NAN, mirrored);
    return sc_f_where(t, is_mirrored, mirrored, y);
}

// (self)
sc_x sc_official_digamma(sc_trace *t, const sc_x *a) {
    return sc_official_rounded(t, digamma(t, sc_f_double(t, a[0])));
}

// --- Zeta ----------------------------------------------------------------------------------------

// The exponent: a tensor, or a number that is known.
typedef struct exponent {
    sc_x tensor;
    double number;
} exponent;

static sc_x power(sc_trace *t, const exponent *s, sc_x x) {
    if (s->tensor) return CALL(t, pow_Tensor_Tensor, x, CALL(t, neg, s->tensor));
    return CALL(t, pow_Tensor_Scalar, x, sc_x_float(t, -s->number));
}

// x times s + k
static sc_x times_more(sc_trace *t, sc_x x, const exponent *s, double k) {
    if (!s->tensor) return sc_f_mul_number(t, x, s->number + k);
    return sc_f_mul(t, x, k == 0 ? s->tensor : sc_f_add_number(t, s->tensor, k));
}

static sc_x over_one_less(sc_trace *t, sc_x x, const exponent *s) {
    if (!s->tensor) return sc_f_mul_number(t, x, 1 / (s->number - 1));
    return sc_f_div(t, x, sc_f_add_number(t, s->tensor, -1));
}

// Euler's and Maclaurin's formula after the first terms, for q > 0.
static sc_x zeta_of_positive(sc_trace *t, const exponent *s, sc_x q) {
    sc_x sum = power(t, s, q);
    for (int k = 1; k < 10; k++) sum = sc_f_add(t, sum, power(t, s, sc_f_add_number(t, q, k)));
    sc_x shifted = sc_f_add_number(t, q, 10), inverse = CALL(t, reciprocal, shifted),
         left = power(t, s, shifted);
    sc_x square = sc_f_mul(t, inverse, inverse);
    sc_x tail = over_one_less(t, sc_f_mul(t, left, shifted), s);
    tail = sc_f_add(t, tail, sc_f_mul_number(t, left, 0.5));
    sc_x term = times_more(t, sc_f_mul(t, left, inverse), s, 0);
    for (int k = 0; k < SC_ZETA_TERMS; k++) {
        tail = sc_f_add(t, tail, sc_f_mul_number(t, term, 1 / sc_zeta_terms[k]));
        if (k + 1 == SC_ZETA_TERMS) break;
        term = times_more(t, times_more(t, term, s, 2 * k + 1), s, 2 * k + 2);
        term = sc_f_mul(t, term, square);
    }
    return sc_f_add(t, sum, tail);
}

// For whole s the terms of negative numbers are those of positive ones with the sign of (-1)^s:
// those from the fraction of -q up to -q.
static sc_x mirrored_terms(sc_trace *t, const exponent *s, sc_x part, sc_x size) {
    sc_x low = zeta_of_positive(t, s, part);
    sc_x terms = sc_f_sub(t, low, zeta_of_positive(t, s, sc_f_add_number(t, size, 1)));
    if (!s->tensor) return sc_f_mul_number(t, terms, fmod(s->number, 2) == 0 ? 1 : -1);
    sc_x odd = CALL(t, fmod_Scalar, s->tensor, sc_x_int(t, 2));
    return sc_f_mul(t, terms, sc_f_add_number(t, sc_f_mul_number(t, odd, -2), 1));
}

static sc_x zeta(sc_trace *t, const exponent *s, sc_x q) {
    sc_x one = sc_f_scalar(t, sc_x_float(t, 1), SC_DTYPE_F64), is_below = sc_f_lt_number(t, q, 0);
    sc_x size = CALL(t, abs, q), part = fraction(t, size);
    sc_x above = zeta_of_positive(t, s, sc_f_where(t, is_below, sc_f_number_minus(t, 1, part), q));
    sc_x first = sc_f_where(t, is_below, part, one), last = sc_f_where(t, is_below, size, one);
    sc_x before = mirrored_terms(t, s, first, last);
    sc_x sum = sc_f_where(t, is_below, sc_f_add(t, above, before), above);
    sc_x is_pole = CALL(t, eq_Tensor, q, CALL(t, floor, q));
    is_pole = sc_f_and(t, is_pole, CALL(t, le_Scalar, q, sc_x_int(t, 0)));
    return sc_f_where_number(t, is_pole, INFINITY, sum);
}

// zeta of an infinite s: PyTorch stops at the first terms unless they are 0.
static sc_x zeta_of_infinity(sc_trace *t, sc_x q) {
    sc_x made = sc_f_scalar(t, sc_x_float(t, NAN), SC_DTYPE_F64);
    made = sc_f_where_number(t, sc_f_eq_number(t, q, 1), 1, made);
    return sc_f_where_number(t, sc_f_lt_number(t, q, 1), INFINITY, made);
}

// (self, other)
sc_x sc_official_zeta(sc_trace *t, const sc_x *a) {
    if (a[0]->kind != SC_X_TENSOR || a[1]->kind != SC_X_TENSOR) return sc_official_refuse(t);
    sc_x s = sc_f_double(t, a[0]), q = sc_f_double(t, a[1]);
    const exponent tensor = {.tensor = s};
    sc_x y = zeta(t, &tensor, q);
    sc_x is_broken = CALL(t, ne_Tensor, s, CALL(t, floor, s));
    sc_x is_pole = CALL(t, eq_Tensor, q, CALL(t, floor, q));
    is_broken = sc_f_and(t, is_broken, sc_f_lt_number(t, q, 0));
    is_broken = sc_f_and(t, is_broken, sc_f_not(t, is_pole));
    y = sc_f_where_number(t, is_broken, NAN, y);
    sc_x infinite = zeta_of_infinity(t, q);
    y = sc_f_where(t, sc_f_eq_number(t, s, INFINITY), infinite, y);
    y = sc_f_where_number(t, sc_f_lt_number(t, s, 1), NAN, y);
    return sc_official_rounded(t, sc_f_where_number(t, sc_f_eq_number(t, s, 1), INFINITY, y));
}

// trigamma of infinities, for which PyTorch has a series of its own: not zeta's values.
static sc_x trigamma_of_infinity(sc_trace *t, sc_x x, sc_x y) {
    y = sc_f_where_number(t, sc_f_eq_number(t, x, INFINITY), 0, y);
    return sc_f_where_number(t, sc_f_eq_number(t, x, -INFINITY), NAN, y);
}

// (n, self)
sc_x sc_official_polygamma(sc_trace *t, const sc_x *a) {
    const int64_t n = sc_x_number(a[0], -1);
    if (n < 0) return sc_official_refuse(t);
    if (n > SC_UP_TO_DERIVATIVES) return sc_official_beyond(t, SC_LIMIT_DERIVATIVES);
    sc_x x = sc_f_double(t, a[1]);
    if (n == 0) return sc_official_rounded(t, digamma(t, x));
    const exponent s = {.number = (double)n + 1};
    const double factor = (n % 2 ? 1 : -1) * exp(lgamma((double)n + 1));
    sc_x y = sc_f_mul_number(t, zeta(t, &s, x), factor);
    if (n == 1) y = trigamma_of_infinity(t, x, y);
    return sc_official_rounded(t, y);
}
