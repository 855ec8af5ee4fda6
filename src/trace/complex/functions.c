// Powers, logarithms and trigonometry of complex numbers, by the real ones of their parts.
#include "trace/complex/complex.h"

#define LN_2 0.6931471805599453

static sc_complex scaled(sc_trace *t, sc_complex z, double by) {
    sc_x re = sc_f_mul(t, z.re, sc_x_float(t, by));
    return (sc_complex){re, sc_f_mul(t, z.im, sc_x_float(t, by))};
}

static sc_complex plus_one(sc_trace *t, sc_complex z, double one) {
    return (sc_complex){sc_f_add(t, z.re, sc_x_float(t, one)), z.im};
}

static sc_x is_zero(sc_trace *t, sc_x x) { return CALL(t, eq_Scalar, x, sc_x_int(t, 0)); }

// x y, and x where x is a zero, also if y is infinite or NaN, as C's functions of complex numbers
// have it.
static sc_x times_or_zero(sc_trace *t, sc_x x, sc_x y) {
    sc_x product = sc_f_mul(t, x, y);
    return sc_f_where(t, is_zero(t, x), x, product);
}

// An angle; 0 in place of infinities and NaN if the real part is infinite, because exp is then 0 or
// infinite for any angle.
static sc_x known_angle(sc_trace *t, sc_complex z) {
    sc_x less = sc_f_sub(t, z.im, z.im), is_unknown = CALL(t, ne_Scalar, less, sc_x_int(t, 0));
    sc_x lost = sc_f_and(t, CALL(t, isinf, z.re), is_unknown);
    return sc_f_where(t, lost, sc_x_float(t, 0), z.im);
}

sc_complex sc_complex_exp(sc_trace *t, sc_complex z) {
    sc_x size = CALL(t, exp, z.re), angle = known_angle(t, z);
    sc_x re = sc_f_mul(t, size, CALL(t, cos, angle));
    sc_x im = sc_f_mul(t, size, CALL(t, sin, angle));
    return (sc_complex){re, sc_f_where(t, is_zero(t, z.im), z.im, im)};
}

sc_complex sc_complex_exp2(sc_trace *t, sc_complex z) {
    return sc_complex_exp(t, scaled(t, z, LN_2));
}

// exp(a) cos(b) - 1 = expm1(a) cos(b) - 2 sin(b / 2)^2
sc_complex sc_complex_expm1(sc_trace *t, sc_complex z) {
    sc_x half = CALL(t, sin, sc_f_mul(t, z.im, sc_x_float(t, 0.5)));
    sc_x less = sc_f_mul(t, sc_f_mul(t, half, half), sc_x_float(t, 2));
    sc_x grown = CALL(t, expm1, z.re), cosine = CALL(t, cos, z.im);
    sc_x re = sc_f_sub(t, sc_f_mul(t, grown, cosine), less);
    sc_x size = CALL(t, exp, z.re), sine = CALL(t, sin, z.im);
    return (sc_complex){re, sc_f_mul(t, size, sine)};
}

// The logarithm of |z|, by that of |z / 2|, which does not overflow.
static sc_x log_of_size(sc_trace *t, sc_complex z) {
    sc_x log = CALL(t, log, sc_complex_modulus(t, scaled(t, z, 0.5)));
    return sc_f_add(t, log, sc_x_float(t, LN_2));
}

sc_complex sc_complex_log(sc_trace *t, sc_complex z) {
    sc_x re = log_of_size(t, z);
    return (sc_complex){re, sc_complex_argument(t, z)};
}

sc_complex sc_complex_log2(sc_trace *t, sc_complex z) {
    return scaled(t, sc_complex_log(t, z), 1.4426950408889634);
}

sc_complex sc_complex_log10(sc_trace *t, sc_complex z) {
    return scaled(t, sc_complex_log(t, z), 0.4342944819032518);
}

// Near 1 by how much larger its square is: |1 + z|^2 - 1 = x (2 + x) + y^2.
sc_complex sc_complex_log1p(sc_trace *t, sc_complex z) {
    sc_complex whole = plus_one(t, z, 1);
    sc_x more = sc_f_mul(t, z.re, sc_f_add(t, z.re, sc_x_float(t, 2)));
    more = sc_f_add(t, more, sc_f_mul(t, z.im, z.im));
    sc_x near = sc_f_lt_number(t, CALL(t, abs, more), 0.5);
    sc_x log = sc_f_mul(t, CALL(t, log1p, more), sc_x_float(t, 0.5));
    sc_x re = sc_f_where(t, near, log, log_of_size(t, whole));
    return (sc_complex){re, sc_complex_argument(t, whole)};
}

// The root with a real part that is not negative, and an imaginary part with the sign of z's. It is
// computed by a quarter of z, whose size does not overflow.
sc_complex sc_complex_sqrt(sc_trace *t, sc_complex z) {
    sc_complex quarter = scaled(t, z, 0.25);
    sc_x sum = CALL(t, abs, quarter.re);
    sum = sc_f_add(t, sum, sc_complex_modulus(t, quarter));
    sc_x large = CALL(t, sqrt, sc_f_mul(t, sum, sc_x_float(t, 0.5)));
    large = sc_f_mul(t, large, sc_x_float(t, 2));
    sc_x small = sc_f_div(t, sc_f_mul(t, z.im, sc_x_float(t, 0.5)), large);
    small = sc_f_where(t, is_zero(t, large), z.im, small);
    sc_x is_left = CALL(t, lt_Scalar, z.re, sc_x_int(t, 0)), is_infinite = CALL(t, isinf, z.im);
    sc_x re = sc_f_where(t, is_left, CALL(t, abs, small), large);
    sc_x im = sc_f_where(t, is_left, CALL(t, copysign_Tensor, large, z.im), small);
    re = sc_f_where(t, is_infinite, CALL(t, abs, z.im), re);
    return (sc_complex){re, sc_f_where(t, is_infinite, z.im, im)};
}

sc_complex sc_complex_rsqrt(sc_trace *t, sc_complex z) {
    return sc_complex_reciprocal(t, sc_complex_sqrt(t, z));
}

sc_complex sc_complex_sigmoid(sc_trace *t, sc_complex z) {
    sc_complex down = sc_complex_exp(t, sc_complex_neg(t, z));
    return sc_complex_reciprocal(t, plus_one(t, down, 1));
}

// --- Trigonometry --------------------------------------------------------------------------------

// Real and imaginary part swapped. Before and after a hyperbolic function this gives the
// trigonometric one.
static sc_complex swapped(sc_complex z) { return (sc_complex){z.im, z.re}; }

sc_complex sc_complex_sinh(sc_trace *t, sc_complex z) {
    sc_x sinh = CALL(t, sinh, z.re), cosh = CALL(t, cosh, z.re);
    sc_x re = sc_f_mul(t, sinh, CALL(t, cos, z.im));
    return (sc_complex){re, times_or_zero(t, CALL(t, sin, z.im), cosh)};
}

// The imaginary part is a zero where sin is: tanh gives it its sign if sinh overflows.
sc_complex sc_complex_cosh(sc_trace *t, sc_complex z) {
    sc_x cosh = CALL(t, cosh, z.re), sin = CALL(t, sin, z.im);
    sc_x re = sc_f_mul(t, cosh, CALL(t, cos, z.im));
    sc_x im = sc_f_mul(t, sin, CALL(t, sinh, z.re));
    sc_x signed_zero = sc_f_mul(t, sin, CALL(t, tanh, z.re));
    return (sc_complex){re, sc_f_where(t, is_zero(t, sin), signed_zero, im)};
}

// With h = tanh(a) and r = tan(b): (h (1 + r^2) + i r / cosh(a)^2) / (1 + h^2 r^2), which cannot
// overflow for large a; where a is infinite, b does not count.
sc_complex sc_complex_tanh(sc_trace *t, sc_complex z) {
    sc_x one = sc_x_float(t, 1), cosh = CALL(t, cosh, z.re), is_infinite = CALL(t, isinf, z.re);
    sc_x h = CALL(t, tanh, z.re), r = CALL(t, tan, z.im);
    r = sc_f_where(t, is_infinite, sc_x_float(t, 0), r);
    sc_x rr = sc_f_mul(t, r, r), hh = sc_f_mul(t, h, h);
    sc_x below = sc_f_add(t, sc_f_mul(t, hh, rr), one);
    sc_x re = sc_f_div(t, sc_f_mul(t, h, sc_f_add(t, rr, one)), below);
    sc_x im = sc_f_div(t, r, sc_f_mul(t, cosh, cosh));
    return (sc_complex){re, sc_f_div(t, im, below)};
}

sc_complex sc_complex_sin(sc_trace *t, sc_complex z) {
    return swapped(sc_complex_sinh(t, swapped(z)));
}
sc_complex sc_complex_tan(sc_trace *t, sc_complex z) {
    return swapped(sc_complex_tanh(t, swapped(z)));
}

sc_complex sc_complex_cos(sc_trace *t, sc_complex z) {
    return sc_complex_conj(t, sc_complex_cosh(t, swapped(z)));
}

// --- Inverses ------------------------------------------------------------------------------------

// After Kahan, by roots of 1 + z and 1 - z, which know on which side of a cut z lies; where z is
// large, and products of roots overflow, by its logarithm.
typedef struct roots {
    sc_complex p, q;  // of 1 + z and of 1 - z
    sc_x size, up;    // logarithm of z's size, and how far z is from the real axis
    sc_x is_large;
} roots;

static roots roots_of(sc_trace *t, sc_complex z) {
    roots r = {.p = sc_complex_sqrt(t, plus_one(t, z, 1))};
    r.q = sc_complex_sqrt(t, plus_one(t, sc_complex_neg(t, z), 1));
    r.size = log_of_size(t, z);
    r.up = CALL(t, abs, z.im);
    r.is_large = CALL(t, gt_Scalar, r.size, sc_x_float(t, 20));
    return r;
}

// The imaginary part of asin(z), and of acos(z) with the other sign.
static sc_x away(sc_trace *t, const roots *r, sc_complex z) {
    sc_x turn = sc_f_mul(t, r->q.re, r->p.im), back = sc_f_mul(t, r->q.im, r->p.re);
    sc_x near = CALL(t, asinh, sc_f_sub(t, turn, back));
    sc_x large = CALL(t, copysign_Tensor, sc_f_add(t, r->size, sc_x_float(t, LN_2)), z.im);
    return sc_f_where(t, r->is_large, large, near);
}

sc_complex sc_complex_asin(sc_trace *t, sc_complex z) {
    const roots r = roots_of(t, z);
    sc_x re = sc_f_mul(t, r.p.re, r.q.re);
    re = sc_f_sub(t, re, sc_f_mul(t, r.p.im, r.q.im));
    re = CALL(t, atan2, z.re, sc_f_where(t, r.is_large, r.up, re));
    return (sc_complex){re, away(t, &r, z)};
}

sc_complex sc_complex_acos(sc_trace *t, sc_complex z) {
    const roots r = roots_of(t, z);
    sc_x near = sc_f_mul(t, CALL(t, atan2, r.q.re, r.p.re), sc_x_float(t, 2));
    sc_x re = sc_f_where(t, r.is_large, CALL(t, atan2, r.up, z.re), near);
    return (sc_complex){re, CALL(t, neg, away(t, &r, z))};
}

sc_complex sc_complex_acosh(sc_trace *t, sc_complex z) {
    sc_complex acos = sc_complex_acos(t, z);
    sc_x re = CALL(t, abs, acos.im);
    return (sc_complex){re, CALL(t, copysign_Tensor, acos.re, z.im)};
}

sc_complex sc_complex_asinh(sc_trace *t, sc_complex z) {
    return swapped(sc_complex_asin(t, swapped(z)));
}

// The real part, and 0 where it is NaN and the imaginary part infinite: it does not count there.
static sc_x unless_infinite(sc_trace *t, sc_x re, sc_x im) {
    sc_x is_nan = CALL(t, isnan, re);
    is_nan = sc_f_and(t, is_nan, CALL(t, isinf, im));
    return CALL(t, masked_fill_Scalar, re, is_nan, sc_x_float(t, 0));
}

// The real part where x is 0 or infinite: 0 with the sign of a, whatever the imaginary part is.
static sc_x zero_at_ends(sc_trace *t, sc_x re, sc_x a, sc_x x) {
    sc_x is_end = CALL(t, isinf, x);
    is_end = sc_f_or(t, is_end, CALL(t, eq_Scalar, x, sc_x_int(t, 0)));
    return sc_f_where(t, is_end, sc_f_mul(t, a, sc_x_float(t, 0)), re);
}

// asinh(2 a / (|1 + z| |1 - z|)) / 2, and half the angle of (1 - a) (1 + a) - b^2 + 2 i b. Beyond
// the limits, whose squares do not overflow, the result stays.
sc_complex sc_complex_atanh(sc_trace *t, sc_complex z) {
    sc_x least = sc_x_float(t, -1e18), most = sc_x_float(t, 1e18), two = sc_x_float(t, 2);
    sc_x b = CALL(t, clamp, z.im, least, most);
    sc_x a = CALL(t, clamp, unless_infinite(t, z.re, z.im), least, most);
    sc_x more = sc_f_add(t, a, sc_x_float(t, 1)), less = sc_f_sub(t, sc_x_float(t, 1), a);
    sc_x sizes = CALL(t, hypot, more, b);
    sizes = sc_f_mul(t, sizes, CALL(t, hypot, less, b));
    sc_x re = CALL(t, asinh, sc_f_div(t, sc_f_mul(t, a, two), sizes));
    re = zero_at_ends(t, re, a, z.re);
    sc_x real = sc_f_mul(t, less, more);
    real = sc_f_sub(t, real, sc_f_mul(t, b, b));
    sc_complex twice = {re, CALL(t, atan2, sc_f_mul(t, b, two), real)};
    return scaled(t, twice, 0.5);
}

sc_complex sc_complex_atan(sc_trace *t, sc_complex z) {
    return swapped(sc_complex_atanh(t, swapped(z)));
}

// --- Powers --------------------------------------------------------------------------------------

static sc_x as_tensor(sc_trace *t, sc_x x, sc_dtype part) {
    return x->kind == SC_X_TENSOR ? x : sc_f_scalar(t, x, sc_f_opmath(part));
}

// exp(w log z): of zero it is 0 where the real part of w is positive, infinite where it is
// negative, and NaN on the line between.
static sc_complex power(sc_trace *t, sc_complex z, sc_complex w, sc_dtype part) {
    sc_complex base = {.re = as_tensor(t, z.re, part)};
    base.im = as_tensor(t, z.im, part);
    return sc_complex_exp(t, sc_complex_times(t, sc_complex_log(t, base), w));
}

static sc_complex ones_like(sc_trace *t, sc_complex z) {
    sc_x one = CALL(t, full_like, z.re, sc_x_float(t, 1));
    return (sc_complex){one, sc_x_float(t, 0)};
}

static sc_complex squared(sc_trace *t, sc_complex z) { return sc_complex_times(t, z, z); }

// The exponents that PyTorch computes otherwise; false for the rest.
static bool small_power(sc_trace *t, sc_complex z, double exponent, sc_complex *out) {
    if (exponent == 0)
        *out = ones_like(t, z);
    else if (exponent == 1)
        *out = z;
    else if (exponent == 2)
        *out = squared(t, z);
    else if (exponent == 3)
        *out = sc_complex_times(t, squared(t, z), z);
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
    const sc_dtype part = sc_complex_common(a[0], a[1]);
    sc_complex z = sc_complex_operand(t, a[0], part), w = sc_complex_operand(t, a[1], part), out;
    (void)op;
    if (!sc_x_is_number(a[1]) || !small_power(t, z, sc_x_real(a[1], 0), &out))
        out = power(t, z, w, part);
    return sc_complex_make(t, out, part);
}
