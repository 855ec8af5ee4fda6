// Sums, products and quotients of complex numbers. The order of the operations is PyTorch's, so
// that infinities, NaN and signs of zeros come out as there: a real operand is one whose imaginary
// part is 0, and takes part with it.
#include "trace/complex/complex.h"

// --- Complex -------------------------------------------------------------------------------------

static sc_complex add_parts(sc_trace *t, sc_complex x, sc_complex y) {
    sc_x re = sc_f_add(t, x.re, y.re);
    return (sc_complex){re, sc_f_add(t, x.im, y.im)};
}

static sc_complex sub_parts(sc_trace *t, sc_complex x, sc_complex y) {
    sc_x re = sc_f_sub(t, x.re, y.re);
    return (sc_complex){re, sc_f_sub(t, x.im, y.im)};
}

sc_complex sc_complex_times(sc_trace *t, sc_complex x, sc_complex y) {
    sc_x ac = sc_f_mul(t, x.re, y.re), bd = sc_f_mul(t, x.im, y.im);
    sc_x re = sc_f_sub(t, ac, bd);
    sc_x ad = sc_f_mul(t, x.re, y.im), bc = sc_f_mul(t, x.im, y.re);
    return (sc_complex){re, sc_f_add(t, ad, bc)};
}

// By a real number: the other terms are zeros, or NaN where they meet infinities.
static sc_complex divide_by_real(sc_trace *t, sc_complex x, sc_x by) {
    sc_x re = sc_f_div(t, sc_f_add(t, x.re, sc_f_mul(t, x.im, sc_x_float(t, 0))), by);
    return (sc_complex){re,
                        sc_f_div(t, sc_f_sub(t, x.im, sc_f_mul(t, x.re, sc_x_float(t, 0))), by)};
}

// As numpy and PyTorch do it: by the ratio of the smaller part to the larger one, so that squares
// do not overflow. Both zero: infinite, or NaN.
static sc_complex div_parts(sc_trace *t, sc_complex x, sc_complex y) {
    if (!sc_x_is_tensor(y.im) && sc_x_real(y.im, 1) == 0) return divide_by_real(t, x, y.re);
    const sc_dtype dtype = sc_x_is_tensor(y.im) ? sc_x_dtype_of(y.im) : sc_x_dtype_of(y.re);
    sc_x c = sc_x_is_tensor(y.re) ? y.re : sc_f_scalar(t, y.re, dtype);
    sc_x d = sc_x_is_tensor(y.im) ? y.im : sc_f_scalar(t, y.im, dtype);
    sc_x a = sc_x_is_tensor(x.re) ? x.re : sc_f_scalar(t, x.re, dtype);
    sc_x b = sc_x_is_tensor(x.im) ? x.im : sc_f_scalar(t, x.im, dtype);
    sc_x size_c = CALL(t, abs, c), size_d = CALL(t, abs, d);
    sc_x first = CALL(t, ge_Tensor, size_c, size_d);
    sc_x large = sc_f_where(t, first, c, d), small = sc_f_where(t, first, d, c);
    sc_x p = sc_f_where(t, first, a, b), q = sc_f_where(t, first, b, a);
    sc_x ratio = sc_f_div(t, small, large);
    sc_x scale = CALL(t, reciprocal, sc_f_add(t, large, sc_f_mul(t, small, ratio)));
    sc_x re = sc_f_mul(t, sc_f_add(t, p, sc_f_mul(t, q, ratio)), scale);
    sc_x im = sc_f_mul(t, sc_f_sub(t, q, sc_f_mul(t, p, ratio)), scale);
    im = sc_f_where(t, first, im, CALL(t, neg, im));
    sc_x is_zero = CALL(t, eq_Scalar, large, sc_x_int(t, 0));
    sc_x size = CALL(t, abs, large);
    re = sc_f_where(t, is_zero, sc_f_div(t, a, size), re);
    return (sc_complex){re, sc_f_where(t, is_zero, sc_f_div(t, b, size), im)};
}

// Neither has a tangent at zero where one is asked for, as those of their parts would be NaN.
static sc_x is_zero_pair(sc_trace *t, sc_complex z) {
    sc_x zero = sc_x_int(t, 0), re = CALL(t, eq_Scalar, z.re, zero);
    return sc_f_and(t, re, CALL(t, eq_Scalar, z.im, zero));
}

sc_x sc_complex_modulus(sc_trace *t, sc_complex z) {
    if (t->jvps == 0) return CALL(t, hypot, z.re, z.im);
    sc_x zero = is_zero_pair(t, z), re = CALL(t, where_ScalarSelf, zero, sc_x_int(t, 1), z.re);
    return CALL(t, where_ScalarSelf, zero, sc_x_int(t, 0), CALL(t, hypot, re, z.im));
}

sc_x sc_complex_argument(sc_trace *t, sc_complex z) {
    if (t->jvps == 0) return CALL(t, atan2, z.im, z.re);
    sc_x zero = is_zero_pair(t, z), re = CALL(t, where_ScalarSelf, zero, sc_x_int(t, 1), z.re);
    sc_x still = CALL(t, atan2, z.im, z.re);
    still = sc_trace_record(t, sc_op_get(SC_OP_detach), &still, 1);
    return sc_f_where(t, zero, still, CALL(t, atan2, z.im, re));
}

// --- Rows ----------------------------------------------------------------------------------------

sc_complex sc_complex_neg(sc_trace *t, sc_complex z) {
    sc_x re = CALL(t, neg, z.re);
    return (sc_complex){re, CALL(t, neg, z.im)};
}

sc_complex sc_complex_conj(sc_trace *t, sc_complex z) {
    return (sc_complex){z.re, CALL(t, neg, z.im)};
}

sc_complex sc_complex_reciprocal(sc_trace *t, sc_complex z) {
    return div_parts(t, (sc_complex){sc_x_float(t, 1), sc_x_float(t, 0)}, z);
}

// The number of size 1 in the direction of z; 0 for 0.
sc_complex sc_complex_sgn(sc_trace *t, sc_complex z) {
    sc_x size = sc_complex_modulus(t, z), is_zero = CALL(t, eq_Scalar, size, sc_x_int(t, 0));
    sc_x zero = sc_x_float(t, 0);
    sc_x re = sc_f_where(t, is_zero, zero, sc_f_div(t, z.re, size));
    return (sc_complex){re, sc_f_where(t, is_zero, zero, sc_f_div(t, z.im, size))};
}

static sc_x as_float(sc_trace *t, sc_x x) {
    return sc_x_is_number(x) ? sc_x_float(t, sc_x_real(x, 0)) : x;
}

typedef sc_complex (*binary_fn)(sc_trace *t, sc_complex x, sc_complex y);

static sc_x binary(sc_trace *t, binary_fn fn, sc_x x, sc_x y, sc_x alpha) {
    const sc_dtype part = sc_complex_common(x, y);
    sc_complex a = sc_complex_operand(t, x, part), b = sc_complex_operand(t, y, part);
    if (alpha && sc_x_real(alpha, 0) != 1)
        b = sc_complex_times(t, b, (sc_complex){as_float(t, alpha), sc_x_float(t, 0)});
    return sc_complex_make(t, fn(t, a, b), part);
}

sc_x sc_complex_add(sc_trace *t, const sc_op *op, const sc_x *a) {
    (void)op;
    return binary(t, add_parts, a[0], a[1], a[2]);
}

sc_x sc_complex_sub(sc_trace *t, const sc_op *op, const sc_x *a) {
    (void)op;
    return binary(t, sub_parts, a[0], a[1], a[2]);
}

sc_x sc_complex_mul(sc_trace *t, const sc_op *op, const sc_x *a) {
    (void)op;
    return binary(t, sc_complex_times, a[0], a[1], NULL);
}

sc_x sc_complex_div(sc_trace *t, const sc_op *op, const sc_x *a) {
    (void)op;
    return binary(t, div_parts, a[0], a[1], NULL);
}

sc_x sc_complex_abs(sc_trace *t, const sc_op *op, const sc_x *a) {
    const sc_dtype part = sc_dtype_to_real(sc_x_dtype_of(a[0]));
    (void)op;
    return sc_f_to(t, sc_complex_modulus(t, sc_complex_operand(t, a[0], part)), part);
}

sc_x sc_complex_angle(sc_trace *t, const sc_op *op, const sc_x *a) {
    const sc_dtype part = sc_dtype_to_real(sc_x_dtype_of(a[0]));
    (void)op;
    return sc_f_to(t, sc_complex_argument(t, sc_complex_operand(t, a[0], part)), part);
}
