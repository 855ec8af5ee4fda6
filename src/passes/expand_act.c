// Expansions of elementwise functions that need more than a line of text.
#include "passes/expand.h"

#include <math.h>

#define PI 3.141592653589793

static sc_x scalar_like(sc_trace *t, sc_x value, sc_x x) {
    return f_scalar(t, value, x_dtype_of(x));
}

// Half precision computes in f32 and comes back; see opmath in expand_text.c.
static sc_x widen(sc_trace *t, sc_x x) { return f_to(t, x, f_opmath(x_dtype_of(x))); }
static sc_x narrow_to(sc_trace *t, sc_x x, sc_x like) { return f_to(t, x, x_dtype_of(like)); }

static sc_dtype real_dtype(sc_x x) {
    return sc_dtype_is_integral(x_dtype_of(x), true) ? SC_DTYPE_F32 : x_dtype_of(x);
}

// --- Activations --------------------------------------------------------------------------------

sc_x sc_expand_softplus(sc_trace *t, const sc_x *a) {
    sc_x x = widen(t, a[0]), scaled = x;
    bool unit = x_is_number(a[1]) && x_real(a[1], 0) == 1;
    if (!unit) scaled = T(mul_Tensor, x, a[1]);
    sc_x soft = T(log1p, T(exp, scaled));
    if (!unit) soft = T(div_Tensor, soft, a[1]);
    sc_x large = T(gt_Scalar, scaled, a[2]);
    return narrow_to(t, T(where_self, large, x, soft), a[0]);
}

sc_x sc_expand_celu(sc_trace *t, const sc_x *a) {
    sc_x x = widen(t, a[0]), negative;
    if (x_is_number(a[1]) && x_real(a[1], 0) == 1)
        negative = T(expm1, x);
    else
        negative = T(mul_Tensor, T(expm1, T(div_Tensor, x, a[1])), a[1]);
    sc_x positive = T(gt_Scalar, x, X_INT(0));
    return narrow_to(t, T(where_self, positive, x, negative), a[0]);
}

sc_x sc_expand_log_sigmoid_forward(sc_trace *t, const sc_x *a) {
    sc_x x = widen(t, a[0]);
    sc_x zero = f_full(t, x_dims(t, NULL, 0), X_INT(0), x_dtype_of(x));
    sc_x least = T(minimum, zero, x);
    sc_x z = T(exp, T(neg, T(abs, x)));
    sc_x out = narrow_to(t, T(sub_Tensor, least, T(log1p, z)), a[0]);
    return X_LIST(out, narrow_to(t, z, a[0]));
}

sc_x sc_expand_glu(sc_trace *t, const sc_x *a) {
    sc_x x = widen(t, a[0]);
    sc_x halves = T(tensor_split_sections, x, X_INT(2), X_INT(x_wrap(t, a[1], x_rank(x))));
    sc_x gate = T(sigmoid, x_at(t, halves, 1));
    return narrow_to(t, T(mul_Tensor, x_at(t, halves, 0), gate), a[0]);
}

sc_x sc_expand_prelu(sc_trace *t, const sc_x *a) {
    uint32_t rank = x_rank(a[0]);
    sc_dim sizes[SC_RANK_MAX];
    sc_x weight = a[1];
    for (uint32_t i = 0; i < rank; i++)
        sizes[i] = i == (rank < 2 ? 0 : 1) ? x_size(weight, 0) : sc_dim_int(1);
    if (rank != 1 || x_rank(weight) != 1) weight = T(reshape, weight, x_dims(t, sizes, rank));
    return T(_prelu_kernel, a[0], weight);
}

sc_x sc_expand_softshrink(sc_trace *t, const sc_x *a) {
    sc_x outside = T(gt_Scalar, T(abs, a[0]), a[1]);
    sc_x shifted = T(sub_Tensor, a[0], T(mul_Tensor, T(sign, a[0]), a[1]));
    return T(where_self, outside, shifted, T(mul_Tensor, a[0], X_INT(0)));
}

sc_x sc_expand_hardshrink(sc_trace *t, const sc_x *a) {
    sc_x inside = T(le_Scalar, T(abs, a[0]), a[1]);
    return T(where_self, inside, scalar_like(t, X_INT(0), a[0]), a[0]);
}

sc_x sc_expand_threshold(sc_trace *t, const sc_x *a) {
    sc_x below = T(le_Scalar, a[0], a[1]);
    return T(where_self, below, scalar_like(t, a[2], a[0]), a[0]);
}

sc_x sc_expand_rrelu(sc_trace *t, const sc_x *a) {
    if (x_truth(a[3]))
        return sc_trace_fail(t, SC_ERR_UNSUPPORTED, "Export the model in eval mode.",
                             "rrelu in training mode");
    double slope = (x_real(a[1], 0) + x_real(a[2], 0)) / 2;
    return T(leaky_relu, a[0], X_FLOAT(slope));
}

// half_to_float asks the primitive for it only on devices that fuse the cast: never here.
static sc_x cast_for_softmax(sc_trace *t, sc_x x, sc_x dtype) {
    if (dtype->kind != SC_X_DTYPE || dtype->code == x_dtype_of(x)) return x;
    return T(_to_copy, x, dtype, X_STRIDED, X_CPU);
}

sc_x sc_expand_softmax(sc_trace *t, const sc_x *a) {
    return T(_softmax, cast_for_softmax(t, a[0], a[2]), a[1], X_FALSE);
}

sc_x sc_expand_log_softmax(sc_trace *t, const sc_x *a) {
    return T(_log_softmax, cast_for_softmax(t, a[0], a[2]), a[1], X_FALSE);
}

// Rows that are masked altogether give zeros and not NaN.
sc_x sc_expand_safe_softmax(sc_trace *t, const sc_x *a) {
    sc_x out = T(softmax_int, a[0], a[1], a[2]);
    sc_x masked = T(eq_Scalar, a[0], X_FLOAT(-INFINITY));
    sc_x rows = T(all_dim, masked, a[1], X_TRUE);
    return T(where_self, rows, T(zeros_like, out), out);
}

sc_x sc_expand_dropout(sc_trace *t, const sc_x *a) {
    if (!x_truth(a[2]) || x_real(a[1], 0) == 0) return a[0];
    return x_at(t, T(native_dropout, a[0], a[1], X_TRUE), 0);
}

// Dropping whole features, or keeping mean and variance: only eval mode is a plain matter.
sc_x sc_expand_other_dropout(sc_trace *t, const sc_x *a) {
    if (!x_truth(a[2]) || x_real(a[1], 0) == 0) return a[0];
    return sc_trace_fail(t, SC_ERR_UNSUPPORTED, "Export the model in eval mode.",
                         "this kind of dropout in training mode");
}

// --- Arithmetic ---------------------------------------------------------------------------------

sc_x sc_expand_rsub(sc_trace *t, const sc_x *a) { return T(sub_Tensor, a[1], a[0], a[2]); }

sc_x sc_expand_sinc(sc_trace *t, const sc_x *a) {
    sc_x x = T(mul_Tensor, f_to(t, a[0], f_opmath(real_dtype(a[0]))), X_FLOAT(PI));
    sc_x zero = T(eq_Scalar, x, X_INT(0));
    sc_x ratio = T(div_Tensor, T(sin, x), x);
    sc_x out = T(where_self, zero, scalar_like(t, X_INT(1), x), ratio);
    return f_to(t, out, real_dtype(a[0]));
}

sc_x sc_expand_logit(sc_trace *t, const sc_x *a) {
    sc_dtype real = real_dtype(a[0]);
    sc_x x = f_to(t, a[0], f_opmath(real));
    double eps = x_real(a[1], -1.0), low = eps, high = 1 - eps;
    sc_x below = T(lt_Scalar, x, X_FLOAT(low));
    sc_x above = T(gt_Scalar, x, X_FLOAT(high));
    sc_x clamped = T(where_self, above, scalar_like(t, X_FLOAT(high), x), x);
    clamped = T(where_self, below, scalar_like(t, X_FLOAT(low), x), clamped);
    sc_x odds = T(div_Tensor, clamped, T(sub_Tensor, X_INT(1), clamped));
    return f_to(t, T(log, odds), real);
}

sc_x sc_expand_nan_to_num(sc_trace *t, const sc_x *a) {
    sc_x x = a[0], out;
    if (!x_is_float(x)) return T(clone, x);
    double max = sc_dtype_largest(x_dtype_of(x));
    sc_x nan = x_is_none(a[1]) ? X_FLOAT(0.0) : a[1];
    sc_x high = x_is_none(a[2]) ? X_FLOAT(max) : a[2], low = x_is_none(a[3]) ? X_FLOAT(-max) : a[3];
    sc_x where = T(isnan, x);
    out = T(where_self, where, scalar_like(t, nan, x), x);
    where = T(eq_Scalar, x, X_FLOAT(-INFINITY));
    out = T(where_self, where, scalar_like(t, low, x), out);
    where = T(eq_Scalar, x, X_FLOAT(INFINITY));
    return T(where_self, where, scalar_like(t, high, x), out);
}

sc_x sc_expand_isfinite(sc_trace *t, const sc_x *a) {
    if (!x_is_float(a[0])) return T(ones_like, a[0], X_DTYPE(SC_DTYPE_BOOL));
    sc_x finite = T(ne_Scalar, T(abs, a[0]), X_FLOAT(INFINITY));
    sc_x number = T(eq_Tensor, a[0], a[0]);
    return T(mul_Tensor, number, finite);
}

sc_x sc_expand_xlogy(sc_trace *t, const sc_x *a) {
    sc_x x = a[0], y = a[1];
    if (!x_is_tensor(x)) x = T(scalar_tensor, x, X_DTYPE(x_dtype_of(y)), X_NONE, X_CPU);
    if (!x_is_tensor(y)) y = T(scalar_tensor, y, X_DTYPE(x_dtype_of(x)), X_NONE, X_CPU);
    sc_x zero = T(eq_Scalar, x, X_INT(0));
    sc_x product = T(mul_Tensor, x, T(log, y));
    sc_x out = T(where_self, zero, scalar_like(t, X_INT(0), product), product);
    sc_x nan = T(isnan, y);
    return T(where_self, nan, scalar_like(t, X_FLOAT(NAN), out), out);
}

sc_x sc_expand_lerp(sc_trace *t, const sc_x *a) {
    sc_x weight = a[2];
    if (!x_is_tensor(weight)) weight = f_full(t, x_dims(t, NULL, 0), weight, x_dtype_of(a[0]));
    sc_x far = T(ge_Scalar, T(abs, weight), X_FLOAT(0.5));
    sc_x less = T(sub_Tensor, weight, X_INT(1));
    sc_x factor = T(where_self, far, less, weight);
    sc_x base = T(where_self, far, a[1], a[0]);
    sc_x step = T(mul_Tensor, factor, T(sub_Tensor, a[1], a[0]));
    return T(add_Tensor, step, base);
}

sc_x sc_expand_addcmul(sc_trace *t, const sc_x *a) {
    sc_x x = widen(t, a[0]), y = widen(t, a[1]), z = widen(t, a[2]);
    sc_x product = T(mul_Tensor, T(mul_Tensor, y, a[3]), z);
    return narrow_to(t, T(add_Tensor, x, product), a[0]);
}

sc_x sc_expand_addcdiv(sc_trace *t, const sc_x *a) {
    sc_x x = widen(t, a[0]), y = widen(t, a[1]), z = widen(t, a[2]);
    sc_x ratio = T(div_Tensor, T(mul_Tensor, y, a[3]), z);
    return narrow_to(t, T(add_Tensor, x, ratio), a[0]);
}

sc_x sc_expand_logaddexp(sc_trace *t, const sc_x *a) {
    sc_x mask = T(ge_Tensor, a[0], a[1]);
    sc_x high = T(where_self, mask, a[0], a[1]);
    sc_x low = T(where_self, mask, a[1], a[0]);
    sc_x infinite = T(logical_not, T(isfinite, a[0]));
    sc_x equal = T(eq_Tensor, a[0], a[1]);
    infinite = T(logical_and, infinite, equal);
    sc_x rest = T(log1p, T(exp, T(sub_Tensor, low, high)));
    rest = T(add_Tensor, high, rest);
    return T(where_self, infinite, a[0], rest);
}

sc_x sc_expand_isclose(sc_trace *t, const sc_x *a) {
    sc_x x = a[0], y = a[1], close = T(eq_Tensor, x, y);
    if (x_truth(a[4]) && x_is_float(x)) {
        sc_x x_nan = T(isnan, x);
        close = T(bitwise_or_Tensor, close, T(bitwise_and_Tensor, x_nan, T(isnan, y)));
    }
    if (x_real(a[2], 1) == 0 && x_real(a[3], 1) == 0) return close;
    if (!x_is_float(x)) {
        x = f_to(t, x, SC_DTYPE_F32);
        y = f_to(t, y, SC_DTYPE_F32);
    }
    sc_x allowed = T(add_Scalar, T(abs, T(mul_Scalar, y, a[2])), a[3]);
    sc_x actual = T(abs, T(sub_Tensor, x, y));
    sc_x finite = T(isfinite, actual);
    finite = T(bitwise_and_Tensor, finite, T(le_Tensor, actual, allowed));
    return T(bitwise_or_Tensor, close, finite);
}

sc_x sc_expand_heaviside(sc_trace *t, const sc_x *a) {
    sc_x zero = T(eq_Scalar, a[0], X_INT(0));
    sc_x negative = T(lt_Scalar, a[0], X_INT(0));
    negative = T(logical_or, negative, T(isnan, a[0]));
    sc_x one = f_scalar(t, X_INT(1), SC_DTYPE_I64);
    sc_x step = T(where_self, negative, f_scalar(t, X_INT(0), SC_DTYPE_I64), one);
    return T(where_self, zero, a[1], step);
}

static sc_x as_double(sc_trace *t, sc_x x) { return x_is_tensor(x) ? f_to(t, x, SC_DTYPE_F64) : x; }

sc_x sc_expand_float_power(sc_trace *t, const sc_x *a) {
    sc_x x = as_double(t, a[0]), y = as_double(t, a[1]);
    if (!x_is_tensor(x)) return T(pow_Scalar, X_FLOAT(x_real(x, 0)), y);
    if (!x_is_tensor(y)) return T(pow_Tensor_Scalar, x, X_FLOAT(x_real(y, 0)));
    return T(pow_Tensor_Tensor, x, y);
}

// --- Choosing -----------------------------------------------------------------------------------

static sc_dtype number_dtype(sc_x x) {
    return x->kind == SC_X_FLOAT  ? SC_DTYPE_F32
           : x->kind == SC_X_BOOL ? SC_DTYPE_BOOL
                                  : SC_DTYPE_I64;
}

// The dtype of a number beside a tensor: the tensor's, unless the number's category is higher.
static sc_dtype beside(sc_x number, sc_x tensor) {
    sc_promotion p = {0};
    sc_promotion_add_tensor(&p, x_dtype_of(tensor), x_rank(tensor) > 0);
    sc_promotion_add_number(&p, sc_dtype_category(number_dtype(number)));
    return sc_promotion_result(&p);
}

sc_x sc_expand_where_scalar(sc_trace *t, const sc_x *a) {
    sc_x otherwise = f_scalar(t, a[2], number_dtype(a[2]));
    sc_x value = f_scalar(t, a[1], number_dtype(a[1]));
    return T(where_self, a[0], value, otherwise);
}

sc_x sc_expand_where_scalar_self(sc_trace *t, const sc_x *a) {
    return T(where_self, a[0], f_scalar(t, a[1], beside(a[1], a[2])), a[2]);
}

sc_x sc_expand_where_scalar_other(sc_trace *t, const sc_x *a) {
    return T(where_self, a[0], a[1], f_scalar(t, a[2], beside(a[2], a[1])));
}

sc_x sc_expand_masked_fill(sc_trace *t, const sc_x *a) {
    sc_x value = x_is_tensor(a[2]) ? narrow_to(t, a[2], a[0]) : scalar_like(t, a[2], a[0]);
    return f_contiguous(t, T(where_self, a[1], value, a[0]));
}
