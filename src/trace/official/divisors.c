// Common divisors and multiples of integers.
#include "trace/official/official.h"

// Euclid's algorithm takes the most steps for neighbours among Fibonacci's numbers.
static int steps_of(sc_dtype dtype) { return dtype == SC_DTYPE_I64 ? 92 : 47; }

// x - x // by * y: what y leaves over of x where `by` is y.
static sc_x left_over(sc_trace *t, sc_x x, sc_x by, sc_x y) {
    sc_x times = CALL(t, div_Tensor_mode, x, by, sc_x_str(t, "floor"));
    return sc_f_sub(t, x, sc_f_mul(t, times, y));
}

// Of numbers that are not negative, rounding down is exact in the official runtime, rounding
// towards zero is not. x where y is 0, because x / 1 * 0 is nothing.
static sc_x left_of_sizes(sc_trace *t, sc_x x, sc_x y) {
    return left_over(t, x, CALL(t, clamp, y, sc_x_int(t, 1)), y);
}

// Of numbers that are not positive. The most negative one must not be divided by -1: where y is
// that, half of x is left over, which has the same divisors in common with it.
static sc_x left_of_opposites(sc_trace *t, sc_x x, sc_x y) {
    return left_over(t, x, CALL(t, clamp, y, X_NONE, sc_x_int(t, -2)), y);
}

static sc_x opposite_size(sc_trace *t, sc_x x) { return CALL(t, minimum, x, CALL(t, neg, x)); }

// In PyTorch, the most negative number is its own size, and what is left over of it is negative; of
// 8 and 16 bits, too, which are computed in more here.
static sc_x with_sign(sc_trace *t, sc_x of, sc_x rest) {
    const sc_dtype dtype = sc_official_result_dtype(t);
    if (dtype == SC_DTYPE_U8) return rest;
    sc_x least = sc_f_lowest(t, dtype);
    sc_x is_least = CALL(t, eq_Scalar, of, least);
    return sc_f_where(t, is_least, CALL(t, neg, rest), rest);
}

// The most negative number has no size in its dtype, unlike its rest: the first step is of
// opposites. In the end one of both is 0.
static sc_x common_divisor(sc_trace *t, sc_x a, sc_x b) {
    sc_x x = opposite_size(t, a), y = opposite_size(t, b);
    x = left_of_opposites(t, x, y);
    y = CALL(t, neg, left_of_opposites(t, y, x));
    x = CALL(t, neg, x);
    for (int i = steps_of(sc_x_dtype_of(x)); i > 0 && t->status == SC_OK; i -= 2) {
        x = left_of_sizes(t, x, y);
        y = left_of_sizes(t, y, x);
    }
    x = with_sign(t, a, x);
    return sc_f_add(t, x, with_sign(t, b, y));
}

// In 32 bits or 64.
static bool read_integers(sc_trace *t, const sc_x *a, sc_x *out) {
    const sc_dtype dtype = sc_official_result_dtype(t);
    if (!sc_dtype_is_integral(dtype, false) || a[0]->kind != SC_X_TENSOR ||
        a[1]->kind != SC_X_TENSOR)
        return false;
    for (int i = 0; i < 2; i++)
        out[i] = sc_f_to(t, a[i], dtype == SC_DTYPE_I64 ? SC_DTYPE_I64 : SC_DTYPE_I32);
    return true;
}

static sc_x narrowed(sc_trace *t, sc_x x) { return sc_f_to(t, x, sc_official_result_dtype(t)); }

// (self, other)
sc_x sc_official_gcd(sc_trace *t, const sc_x *a) {
    sc_x both[2];
    if (!read_integers(t, a, both)) return sc_official_refuse(t);
    return narrowed(t, common_divisor(t, both[0], both[1]));
}

// (self, other)
sc_x sc_official_lcm(sc_trace *t, const sc_x *a) {
    sc_x both[2];
    if (!read_integers(t, a, both)) return sc_official_refuse(t);
    sc_x divisor = CALL(t, abs, common_divisor(t, both[0], both[1]));
    sc_x is_zero = CALL(t, eq_Scalar, divisor, sc_x_int(t, 0));
    sc_x by = sc_f_where_else(t, sc_f_not(t, is_zero), divisor, sc_x_int(t, 1));
    sc_x part = CALL(t, div_Tensor_mode, CALL(t, abs, both[0]), by, sc_x_str(t, "floor"));
    return narrowed(t, CALL(t, abs, sc_f_mul(t, part, both[1])));
}
