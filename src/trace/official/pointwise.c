// Operators that go element by element, of others that do.
// In wasm: -Os
#include "trace/official/official.h"

#include <math.h>

static sc_dtype result_dtype(const sc_trace *t) { return (sc_dtype)t->source->outs[0]->spec.dtype; }

// (self)
sc_x sc_official_exp2(sc_trace *t, const sc_x *a) {
    sc_x x = sc_f_to(t, a[0], result_dtype(t));
    return CALL(t, pow_Scalar, sc_x_float(t, 2), x);
}

// (self, decimals): rounded in the dtype of self at each of three steps, as in PyTorch
sc_x sc_official_round_decimals(sc_trace *t, const sc_x *a) {
    const int64_t decimals = sc_x_number(a[1], 0);
    if (decimals == 0) return CALL(t, round, a[0]);
    if (!sc_x_is_float(a[0])) return sc_o_refuse(t);
    const double power = pow(10, fabs((double)decimals));
    sc_x ten = sc_f_scalar(t, sc_x_float(t, power), sc_x_dtype_of(a[0]));
    if (decimals < 0)
        return CALL(t, mul_Tensor, CALL(t, round, CALL(t, div_Tensor, a[0], ten)), ten);
    return CALL(t, div_Tensor, CALL(t, round, CALL(t, mul_Tensor, a[0], ten)), ten);
}

// (self), of real numbers
sc_x sc_official_angle(sc_trace *t, const sc_x *a) {
    const sc_dtype dtype = result_dtype(t);
    if (sc_dtype_category(sc_x_dtype_of(a[0])) == SC_CATEGORY_COMPLEX) return sc_o_refuse(t);
    sc_x x = sc_f_to(t, a[0], dtype);
    sc_x turned = sc_o_where(t, CALL(t, lt_Scalar, x, sc_x_int(t, 0)),
                             sc_f_scalar(t, sc_x_float(t, 3.141592653589793), dtype),
                             sc_f_scalar(t, sc_x_float(t, 0), dtype));
    return sc_o_where(t, CALL(t, isnan, x), x, turned);
}

// The official kernel takes the sign of the dividend for integers, and float32 for float64.
bool sc_official_is_misjudged(const sc_node *node) {
    const sc_dtype dtype = (sc_dtype)node->outs[0]->spec.dtype;
    return dtype == SC_DTYPE_F64 || (sc_dtype_is_integral(dtype, false) && dtype != SC_DTYPE_U8);
}

// (self, other): what is left over, with the sign of the divisor
sc_x sc_official_remainder(sc_trace *t, const sc_x *a) {
    sc_x x = sc_f_to(t, a[0], result_dtype(t)), by = a[1];
    if (!sc_x_is_float(x)) {
        sc_x times = CALL(t, div_Tensor_mode, x, by, sc_x_str(t, "floor"));
        return CALL(t, sub_Tensor, x, CALL(t, mul_Tensor, times, by));
    }
    if (by->kind != SC_X_TENSOR) by = sc_f_scalar(t, by, result_dtype(t));
    sc_x rest = CALL(t, fmod_Tensor, x, by), zero = sc_x_int(t, 0);
    sc_x minus = CALL(t, lt_Scalar, rest, zero), turned = CALL(t, lt_Scalar, by, zero);
    sc_x other = CALL(t, logical_xor, minus, turned);
    other = sc_o_and(t, other, CALL(t, ne_Scalar, rest, zero));
    return sc_o_where(t, other, CALL(t, add_Tensor, rest, by), rest);
}

// -0.0 is less than nothing by its reciprocal only. The sign of a NaN nobody can ask for.
static sc_x is_negative(sc_trace *t, sc_x x) {
    sc_x zero = sc_x_int(t, 0);
    sc_x less = CALL(t, lt_Scalar, x, zero);
    if (!sc_x_is_float(x)) return less;
    sc_x below = CALL(t, lt_Scalar, CALL(t, reciprocal, x), zero);
    return sc_o_or(t, less, sc_o_and(t, CALL(t, eq_Scalar, x, zero), below));
}

// (self)
sc_x sc_official_signbit(sc_trace *t, const sc_x *a) { return is_negative(t, a[0]); }

// (self, other)
sc_x sc_official_copysign(sc_trace *t, const sc_x *a) {
    const sc_dtype dtype = result_dtype(t);
    sc_x size = CALL(t, abs, sc_f_to(t, a[0], dtype));
    sc_x sign = a[1]->kind == SC_X_TENSOR ? a[1] : sc_f_scalar(t, a[1], dtype);
    return sc_o_where(t, is_negative(t, sign), CALL(t, neg, size), size);
}

// In float64 squares of others do not overflow; its own are taken of the ratio.
static sc_x root_of_squares(sc_trace *t, sc_x x, sc_x y) {
    sc_x xx = CALL(t, mul_Tensor, x, x), yy = CALL(t, mul_Tensor, y, y);
    return CALL(t, sqrt, CALL(t, add_Tensor, xx, yy));
}

static sc_x by_ratio(sc_trace *t, sc_x x, sc_x y) {
    sc_x large = CALL(t, maximum, x, y), small = CALL(t, minimum, x, y);
    sc_x is_zero = CALL(t, eq_Scalar, large, sc_x_int(t, 0));
    sc_x ratio = CALL(t, div_Tensor, small, large);
    sc_x root = root_of_squares(t, ratio, sc_f_scalar(t, sc_x_float(t, 1), SC_DTYPE_F64));
    return sc_o_where(t, is_zero, large, CALL(t, mul_Tensor, large, root));
}

// (self, other); infinite beside anything, NaN too
sc_x sc_official_hypot(sc_trace *t, const sc_x *a) {
    const sc_dtype dtype = result_dtype(t);
    if (a[1]->kind != SC_X_TENSOR || !sc_dtype_is_float(dtype)) return sc_o_refuse(t);
    sc_x x = CALL(t, abs, sc_f_to(t, a[0], SC_DTYPE_F64));
    sc_x y = CALL(t, abs, sc_f_to(t, a[1], SC_DTYPE_F64));
    sc_x length = dtype == SC_DTYPE_F64 ? by_ratio(t, x, y) : root_of_squares(t, x, y);
    sc_x far = sc_o_or(t, CALL(t, isinf, x), CALL(t, isinf, y));
    sc_x infinite = sc_f_scalar(t, sc_x_float(t, INFINITY), SC_DTYPE_F64);
    return sc_f_to(t, sc_o_where(t, far, infinite, length), dtype);
}
