// Powers, logarithms and trigonometry of complex numbers, by the real ones of their parts.
#include "trace/complex/complex.h"

#include <math.h>

static sc_c scaled(sc_trace *t, sc_c z, double by) {
    sc_x re = sc_r_mul(t, z.re, sc_x_float(t, by));
    return (sc_c){re, sc_r_mul(t, z.im, sc_x_float(t, by))};
}

static sc_c plus_one(sc_trace *t, sc_c z, double one) {
    return (sc_c){sc_r_add(t, z.re, sc_x_float(t, one)), z.im};
}

// Of that size and direction.
static sc_c polar(sc_trace *t, sc_x size, sc_x angle) {
    sc_x re = sc_r_mul(t, size, CALL(t, cos, angle));
    return (sc_c){re, sc_r_mul(t, size, CALL(t, sin, angle))};
}

sc_c sc_complex_exp(sc_trace *t, sc_c z) { return polar(t, CALL(t, exp, z.re), z.im); }

sc_c sc_complex_exp2(sc_trace *t, sc_c z) {
    return sc_complex_exp(t, scaled(t, z, 0.6931471805599453));
}

// exp(a) cos(b) - 1 = expm1(a) cos(b) - 2 sin(b / 2)^2
sc_c sc_complex_expm1(sc_trace *t, sc_c z) {
    sc_x half = CALL(t, sin, sc_r_mul(t, z.im, sc_x_float(t, 0.5)));
    sc_x less = sc_r_mul(t, sc_r_mul(t, half, half), sc_x_float(t, 2));
    sc_x grown = sc_r_mul(t, CALL(t, expm1, z.re), CALL(t, cos, z.im));
    sc_x re = sc_r_sub(t, grown, less);
    return (sc_c){re, sc_r_mul(t, CALL(t, exp, z.re), CALL(t, sin, z.im))};
}

sc_c sc_complex_log(sc_trace *t, sc_c z) {
    sc_x re = CALL(t, log, sc_c_abs(t, z));
    return (sc_c){re, sc_c_angle(t, z)};
}

sc_c sc_complex_log2(sc_trace *t, sc_c z) {
    return scaled(t, sc_complex_log(t, z), 1.4426950408889634);
}

sc_c sc_complex_log10(sc_trace *t, sc_c z) {
    return scaled(t, sc_complex_log(t, z), 0.4342944819032518);
}

sc_c sc_complex_log1p(sc_trace *t, sc_c z) { return sc_complex_log(t, plus_one(t, z, 1)); }

// The root with a real part that is not negative, and an imaginary part with the sign of z's.
sc_c sc_complex_sqrt(sc_trace *t, sc_c z) {
    sc_x half = sc_x_float(t, 0.5), zero = sc_x_int(t, 0);
    sc_x re = CALL(t, abs, z.re), im = CALL(t, abs, z.im), size = sc_c_abs(t, z);
    sc_x large = CALL(t, sqrt, sc_r_add(t, sc_r_mul(t, re, half), sc_r_mul(t, size, half)));
    sc_x small = sc_r_div(t, sc_r_mul(t, im, half), large);
    small = sc_r_where(t, CALL(t, eq_Scalar, large, zero), im, small);
    sc_x is_left = CALL(t, lt_Scalar, z.re, zero);
    sc_x far = CALL(t, isinf, im);
    sc_x a = sc_r_where(t, far, im, sc_r_where(t, is_left, small, large));
    sc_x b = sc_r_where(t, far, im, sc_r_where(t, is_left, large, small));
    return (sc_c){a, CALL(t, copysign_Tensor, b, z.im)};
}

sc_c sc_complex_rsqrt(sc_trace *t, sc_c z) {
    return sc_complex_reciprocal(t, sc_complex_sqrt(t, z));
}

sc_c sc_complex_sigmoid(sc_trace *t, sc_c z) {
    sc_c down = sc_complex_exp(t, sc_complex_neg(t, z));
    return sc_complex_reciprocal(t, plus_one(t, down, 1));
}

// --- Trigonometry --------------------------------------------------------------------------------

sc_c sc_complex_sin(sc_trace *t, sc_c z) {
    sc_x re = sc_r_mul(t, CALL(t, sin, z.re), CALL(t, cosh, z.im));
    return (sc_c){re, sc_r_mul(t, CALL(t, cos, z.re), CALL(t, sinh, z.im))};
}

sc_c sc_complex_cos(sc_trace *t, sc_c z) {
    sc_x re = sc_r_mul(t, CALL(t, cos, z.re), CALL(t, cosh, z.im));
    sc_x im = sc_r_mul(t, CALL(t, sin, z.re), CALL(t, sinh, z.im));
    return (sc_c){re, CALL(t, neg, im)};
}

sc_c sc_complex_sinh(sc_trace *t, sc_c z) {
    sc_x re = sc_r_mul(t, CALL(t, sinh, z.re), CALL(t, cos, z.im));
    return (sc_c){re, sc_r_mul(t, CALL(t, cosh, z.re), CALL(t, sin, z.im))};
}

sc_c sc_complex_cosh(sc_trace *t, sc_c z) {
    sc_x re = sc_r_mul(t, CALL(t, cosh, z.re), CALL(t, cos, z.im));
    return (sc_c){re, sc_r_mul(t, CALL(t, sinh, z.re), CALL(t, sin, z.im))};
}

// With h = tanh(a) and r = tan(b): (h (1 + r^2) + i r / cosh(a)^2) / (1 + h^2 r^2), which cannot
// overflow for large a.
sc_c sc_complex_tanh(sc_trace *t, sc_c z) {
    sc_x one = sc_x_float(t, 1);
    sc_x h = CALL(t, tanh, z.re), r = CALL(t, tan, z.im), cosh = CALL(t, cosh, z.re);
    sc_x rr = sc_r_mul(t, r, r), hh = sc_r_mul(t, h, h);
    sc_x below = sc_r_add(t, sc_r_mul(t, hh, rr), one);
    sc_x re = sc_r_div(t, sc_r_mul(t, h, sc_r_add(t, rr, one)), below);
    sc_x im = sc_r_div(t, r, sc_r_mul(t, cosh, cosh));
    return (sc_c){re, sc_r_div(t, im, below)};
}

// -i tanh(i z)
sc_c sc_complex_tan(sc_trace *t, sc_c z) {
    sc_c turned = sc_complex_tanh(t, (sc_c){CALL(t, neg, z.im), z.re});
    return (sc_c){turned.im, CALL(t, neg, turned.re)};
}

// --- Powers --------------------------------------------------------------------------------------

static sc_x as_tensor(sc_trace *t, sc_x x, sc_dtype part) {
    return x->kind == SC_X_TENSOR ? x : sc_f_scalar(t, x, sc_f_opmath(part));
}

// exp(w log z), of which the real exponents of parts are taken one by one; 0 to the 0 is 1, and to
// others 0.
static sc_c power(sc_trace *t, sc_c z, sc_c w, sc_dtype part) {
    sc_c base = {as_tensor(t, z.re, part), as_tensor(t, z.im, part)};
    sc_c log = sc_complex_log(t, base);
    sc_c raised = sc_complex_exp(t, sc_c_mul(t, log, w));
    sc_x zero = sc_x_int(t, 0), size = sc_c_abs(t, base);
    sc_x is_zero = CALL(t, eq_Scalar, size, zero);
    sc_c by = {as_tensor(t, w.re, part), as_tensor(t, w.im, part)};
    sc_x none = CALL(t, eq_Scalar, sc_c_abs(t, by), zero);
    sc_x at_zero =
        sc_r_where(t, none, sc_x_float(t, 1), sc_f_scalar(t, sc_x_float(t, 0), sc_f_opmath(part)));
    sc_x re = sc_r_where(t, is_zero, at_zero, raised.re);
    return (sc_c){re, sc_r_where(t, is_zero, sc_x_float(t, 0), raised.im)};
}

static sc_c squared(sc_trace *t, sc_c z) { return sc_c_mul(t, z, z); }

// The exponents that PyTorch computes otherwise; false for the rest.
static bool small_power(sc_trace *t, sc_c z, double exponent, sc_c *out) {
    if (exponent == 1)
        *out = z;
    else if (exponent == 2)
        *out = squared(t, z);
    else if (exponent == 3)
        *out = sc_c_mul(t, squared(t, z), z);
    else if (exponent == 0.5)
        *out = sc_complex_sqrt(t, z);
    else if (exponent == -0.5)
        *out = sc_complex_rsqrt(t, z);
    else if (exponent == -1)
        *out = sc_complex_reciprocal(t, z);
    else if (exponent == -2)
        *out = sc_complex_reciprocal(t, squared(t, z));
    else
        return false;
    return true;
}

sc_x sc_complex_pow(sc_trace *t, const sc_op *op, const sc_x *a) {
    const sc_dtype part = sc_c_common(a[0], a[1]);
    sc_c z = sc_c_operand(t, a[0], part), w = sc_c_operand(t, a[1], part), out;
    (void)op;
    if (!sc_x_is_number(a[1]) || !small_power(t, z, sc_x_real(a[1], 0), &out))
        out = power(t, z, w, part);
    return sc_c_make(t, out, part);
}
