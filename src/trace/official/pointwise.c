// Element-wise operators, made of other element-wise operators.
#include "trace/official/official.h"

#include <float.h>
#include <math.h>

// (self, decimals): rounded to the dtype of self at each of three steps, as in PyTorch, which takes
// float32 for half precision
sc_x sc_official_round_decimals(sc_trace *t, const sc_x *a) {
    const int64_t decimals = sc_x_number(a[1], 0);
    if (decimals == 0) return CALL(t, round, a[0]);
    if (!sc_x_is_float(a[0])) return sc_official_refuse(t);
    const double power = pow(10, fabs((double)decimals));
    const sc_dtype dtype = sc_x_dtype_of(a[0]);
    const double most = dtype == SC_DTYPE_F64 ? DBL_MAX : FLT_MAX;
    sc_x x = sc_f_to(t, a[0], sc_dtype_is_half(dtype) ? SC_DTYPE_F32 : dtype);
    // By a single number the official runtime multiplies by what 1 over it is rounded to.
    sc_x ten = CALL(t, full_like, x, sc_x_float(t, power > most ? INFINITY : power));
    x = decimals < 0 ? sc_f_div(t, x, ten) : sc_f_mul(t, x, ten);
    x = CALL(t, round, x);
    x = decimals < 0 ? sc_f_mul(t, x, ten) : sc_f_div(t, x, ten);
    return sc_f_to(t, x, dtype);
}

// (self), of real numbers
sc_x sc_official_angle(sc_trace *t, const sc_x *a) {
    const sc_dtype dtype = sc_official_result_dtype(t);
    if (sc_dtype_is_complex(sc_x_dtype_of(a[0]))) return sc_official_refuse(t);
    sc_x x = sc_f_to(t, a[0], dtype);
    sc_x is_less = sc_f_lt_number(t, x, 0), zero = sc_f_scalar(t, sc_x_float(t, 0), dtype);
    sc_x angle = sc_f_where_number(t, is_less, SC_PI, zero);
    return sc_f_where(t, CALL(t, isnan, x), x, angle);
}

// The official kernel takes the sign of the dividend for integers, and float32 for float64.
bool sc_official_is_misjudged(const sc_node *node) {
    const sc_dtype dtype = (sc_dtype)node->outs[0]->spec.dtype;
    return dtype == SC_DTYPE_F64 || (sc_dtype_is_integral(dtype, false) && dtype != SC_DTYPE_U8);
}

// Squares of other dtypes do not overflow in float64. For float64 itself, the ratio of sizes is
// squared.
static sc_x root_of_squares(sc_trace *t, sc_x x, sc_x y) {
    sc_x xx = sc_f_mul(t, x, x), yy = sc_f_mul(t, y, y);
    return CALL(t, sqrt, sc_f_add(t, xx, yy));
}

static sc_x by_ratio(sc_trace *t, sc_x a, sc_x b) {
    sc_x x = CALL(t, abs, a), y = CALL(t, abs, b);
    sc_x large = CALL(t, maximum, x, y), small = CALL(t, minimum, x, y);
    sc_x is_zero = CALL(t, eq_Scalar, large, sc_x_int(t, 0));
    sc_x ratio = sc_f_div(t, small, large);
    sc_x root = root_of_squares(t, ratio, sc_f_scalar(t, sc_x_float(t, 1), SC_DTYPE_F64));
    sc_x zero = sc_f_scalar(t, sc_x_float(t, 0), SC_DTYPE_F64);
    return sc_f_where(t, is_zero, zero, sc_f_mul(t, large, root));
}

// (self, other); infinite with anything, NaN too
sc_x sc_official_hypot(sc_trace *t, const sc_x *a) {
    const sc_dtype dtype = sc_official_result_dtype(t);
    if (a[1]->kind != SC_X_TENSOR || !sc_dtype_is_float(dtype)) return sc_official_refuse(t);
    sc_x x = sc_f_to(t, sc_f_to(t, a[0], dtype), SC_DTYPE_F64);
    sc_x y = sc_f_to(t, sc_f_to(t, a[1], dtype), SC_DTYPE_F64);
    sc_x length = dtype == SC_DTYPE_F64 ? by_ratio(t, x, y) : root_of_squares(t, x, y);
    sc_x is_infinite = CALL(t, isinf, x);
    is_infinite = sc_f_or(t, is_infinite, CALL(t, isinf, y));
    sc_x infinite = sc_f_scalar(t, sc_x_float(t, INFINITY), SC_DTYPE_F64);
    return sc_f_to(t, sc_f_where(t, is_infinite, infinite, length), dtype);
}

// The official kernel computes whole numbers in floats, which round large ones.
bool sc_official_is_of_integers(const sc_node *node) {
    return sc_dtype_is_integral((sc_dtype)node->outs[0]->spec.dtype, false);
}

// (self): it is rounded already
sc_x sc_official_whole(sc_trace *t, const sc_x *a) { return sc_f_clone(t, a[0]); }

static double exponent_of(const sc_node *node) {
    const sc_arg *exponent = sc_node_arg(node, "exponent");
    if (exponent->kind == SC_ARG_INT) return (double)exponent->i;
    return exponent->kind == SC_ARG_FLOAT ? exponent->f : 0;
}

// Whole powers of whole numbers; and roots, which pow has of -0.0 and -inf, too: PyTorch takes it
// for those of float16 alone.
bool sc_official_is_odd_power(const sc_node *node) {
    const double exponent = exponent_of(node);
    if (node->outs[0]->spec.dtype == SC_DTYPE_F16) return false;
    if (sc_official_is_float(node)) return fabs(exponent) == 0.5;
    return sc_official_is_of_integers(node) && exponent >= 2 &&
           sc_node_arg(node, "exponent")->kind == SC_ARG_INT;
}

// (self, exponent): of whole numbers the powers lose what is above their highest bit
sc_x sc_official_power(sc_trace *t, const sc_x *a) {
    sc_x power = sc_f_to(t, a[0], sc_official_result_dtype(t)), product = NULL;
    if (sc_x_is_float(power))
        return sc_x_real(a[1], 0) > 0 ? CALL(t, sqrt, power) : CALL(t, rsqrt, power);
    uint64_t left = (uint64_t)sc_x_number(a[1], 0);
    for (; left > 0 && t->status == SC_OK; left >>= 1) {
        if (left & 1) product = product ? sc_f_mul(t, product, power) : power;
        if (left > 1) power = sc_f_mul(t, power, power);
    }
    return product ? product : sc_official_refuse(t);
}

static sc_dtype operand_dtype(const sc_node *node, uint32_t i) {
    return (sc_dtype)node->args[i].value->spec.dtype;
}

// Operands of two types are compared in float32 there, also if one of them is float64.
bool sc_official_is_of_doubles(const sc_node *node) {
    const sc_dtype x = operand_dtype(node, 0), y = operand_dtype(node, 1);
    if (sc_dtype_is_complex(x) || sc_dtype_is_complex(y)) return false;
    return x != y && (x == SC_DTYPE_F64 || y == SC_DTYPE_F64);
}

// (self, other)
sc_x sc_official_in_double(sc_trace *t, const sc_x *a) {
    sc_x x = sc_f_to(t, a[0], SC_DTYPE_F64), y = sc_f_to(t, a[1], SC_DTYPE_F64);
    const sc_x args[] = {x, y, NULL};
    return sc_trace_op(t, (sc_op_id)t->source->op->id, args);
}

bool sc_official_is_float(const sc_node *node) {
    return sc_dtype_is_float((sc_dtype)node->outs[0]->spec.dtype);
}
