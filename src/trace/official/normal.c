// The error function's complement and its inverse, and the normal distribution's.
#include <math.h>

#include "trace/official/official.h"

// (1 + 2 x) exp(x^2) erfc(x) in (x - 3.75) / (x + 3.75), in which all x >= 0 are -1 to 1.
static const double scaled_erfc[] = {
    1.2375126308378275,      -0.14024059858554697,    0.0035854154854644293,
    0.0822767384901452,      -0.10880393014174886,    0.09230432116037748,
    -0.05869339858963677,    0.028362277418956406,    -0.009746579558029276,
    0.0017556258528952954,   0.0002937136655913448,   -0.0002901540805408417,
    5.164909889268241e-05,   2.238423915508223e-05,   -1.1444146237700524e-05,
    -9.73559896736775e-07,   1.751637648849062e-06,   -5.7218230603224086e-08,
    -2.5866850716155884e-07, 2.3263508708859124e-08,  3.8675334242222354e-08,
    -3.744210080962018e-09,  -5.1739902140113095e-09, 3.1114333809799254e-10,
    4.2514714447963895e-10};

// exp(x^2) erfc(x) for x >= 0
static sc_x scaled_erfc_of(sc_trace *t, sc_x x) {
    sc_x place = sc_f_add_number(t, sc_f_number_over(t, -7.5, sc_f_add_number(t, x, 3.75)), 1);
    sc_x y = POLYNOMIAL(t, place, scaled_erfc);
    return sc_f_div(t, y, sc_f_add_number(t, sc_f_mul_number(t, x, 2), 1));
}

static sc_x square(sc_trace *t, sc_x x) { return sc_f_mul(t, x, x); }

// (self)
sc_x sc_official_erfc(sc_trace *t, const sc_x *a) {
    sc_x x = sc_f_double(t, a[0]), scaled = scaled_erfc_of(t, CALL(t, abs, x));
    sc_x y = sc_f_mul(t, CALL(t, exp, CALL(t, neg, square(t, x))), scaled);
    sc_x is_less = sc_f_lt_number(t, x, 0);
    return sc_official_rounded(t, sc_f_where(t, is_less, sc_f_number_minus(t, 2, y), y));
}

// (self)
sc_x sc_official_erfcx(sc_trace *t, const sc_x *a) {
    sc_x x = sc_f_double(t, a[0]), y = scaled_erfc_of(t, CALL(t, abs, x));
    sc_x grown = sc_f_mul_number(t, CALL(t, exp, square(t, x)), 2),
         is_less = sc_f_lt_number(t, x, 0);
    return sc_official_rounded(t, sc_f_where(t, is_less, sc_f_sub(t, grown, y), y));
}

// A start that is right to 3 digits (Winitzki 2008), and Newton's method.
static sc_x inverse_erf(sc_trace *t, sc_x y) {
    const double a = 0.147;
    sc_x below = sc_f_number_minus(t, 1, y), above = sc_f_add_number(t, y, 1);
    sc_x w = CALL(t, log, sc_f_mul(t, below, above));
    sc_x half = sc_f_add_number(t, sc_f_mul_number(t, w, 0.5), 2 / (SC_PI * a));
    sc_x root = square(t, half);
    root = CALL(t, sqrt, sc_f_sub(t, root, sc_f_mul_number(t, w, 1 / a)));
    sc_x size = CALL(t, sqrt, sc_f_sub(t, root, half)), is_less = sc_f_lt_number(t, y, 0);
    sc_x x = sc_f_where(t, is_less, CALL(t, neg, size), size);
    for (int i = 0; i < 3; i++) {
        sc_x error = sc_f_sub(t, CALL(t, erf, x), y);
        sc_x step = sc_f_mul(t, error, CALL(t, exp, square(t, x)));
        x = sc_f_sub(t, x, sc_f_mul_number(t, step, 0.8862269254527580));
    }
    return x;
}

// (self)
sc_x sc_official_erfinv(sc_trace *t, const sc_x *a) {
    sc_x y = sc_f_double(t, a[0]), x = inverse_erf(t, y);
    sc_x is_end = sc_f_eq_number(t, CALL(t, abs, y), 1);
    x = sc_f_where(t, is_end, sc_f_mul_number(t, y, INFINITY), x);
    return sc_official_rounded(t, sc_f_where(t, sc_f_eq_number(t, y, 0), y, x));
}

// The inverse of the distribution function: Halley's method from a rough start (Abramowitz and
// Stegun 26.2.23), on the side where nothing cancels.
static sc_x tail_of(sc_trace *t, sc_x q) {
    static const double above[] = {2.515517, 0.802853, 0.010328};
    static const double below[] = {1, 1.432788, 0.189269, 0.001308};
    sc_x start = CALL(t, sqrt, sc_f_mul_number(t, CALL(t, log, q), -2));
    sc_x upper = POLYNOMIAL(t, start, above), lower = POLYNOMIAL(t, start, below);
    sc_x x = sc_f_sub(t, start, sc_f_div(t, upper, lower));
    for (int i = 0; i < 3; i++) {
        sc_x scaled = scaled_erfc_of(t, sc_f_mul_number(t, x, sqrt(0.5)));
        sc_x weight = CALL(t, exp, sc_f_mul_number(t, square(t, x), 0.5));
        sc_x error = sc_f_mul_number(t, scaled, 0.5);
        error = sc_f_sub(t, error, sc_f_mul(t, q, weight));
        sc_x step = sc_f_mul_number(t, error, sqrt(2 * SC_PI));
        sc_x bend = sc_f_number_minus(t, 1, sc_f_mul_number(t, sc_f_mul(t, x, step), 0.5));
        x = sc_f_add(t, x, sc_f_div(t, step, bend));
    }
    return x;
}

// (self)
sc_x sc_official_ndtri(sc_trace *t, const sc_x *a) {
    sc_x p = sc_f_double(t, a[0]), other = sc_f_number_minus(t, 1, p);
    sc_x x = tail_of(t, CALL(t, minimum, p, other));
    sc_x is_lower = sc_f_lt_number(t, p, 0.5);
    x = sc_f_where(t, is_lower, CALL(t, neg, x), x);
    x = sc_f_where_number(t, sc_f_eq_number(t, p, 0), -INFINITY, x);
    return sc_official_rounded(t, sc_f_where_number(t, sc_f_eq_number(t, p, 1), INFINITY, x));
}
