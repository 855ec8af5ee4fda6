// Common divisors and multiples of integers.
#include "trace/official/official.h"

// Euclid's algorithm takes the most steps for neighbours among Fibonacci's numbers.
static int steps_of(sc_dtype dtype) { return dtype == SC_DTYPE_I64 ? 92 : 47; }

// x modulo y, or x where y is 0, because x / 1 * 0 is nothing. Numbers are not negative, and
// towards zero means down: that is exact in the official runtime, the other is not.
static sc_x left_over(sc_trace *t, sc_x x, sc_x y) {
    sc_x by = CALL(t, clamp, y, sc_x_int(t, 1));
    sc_x times = CALL(t, div_Tensor_mode, x, by, sc_x_str(t, "floor"));
    return CALL(t, sub_Tensor, x, CALL(t, mul_Tensor, times, y));
}

static sc_x common_divisor(sc_trace *t, sc_x x, sc_x y) {
    x = CALL(t, abs, x);
    y = CALL(t, abs, y);
    for (int i = steps_of(sc_x_dtype_of(x)); i > 0 && t->status == SC_OK; i -= 2) {
        x = left_over(t, x, y);
        y = left_over(t, y, x);
    }
    return CALL(t, maximum, x, y);
}

// In 32 bits or 64.
static bool read_integers(sc_trace *t, const sc_x *a, sc_x *out) {
    const sc_dtype dtype = sc_o_result_dtype(t);
    if (!sc_dtype_is_integral(dtype, false) || a[0]->kind != SC_X_TENSOR ||
        a[1]->kind != SC_X_TENSOR)
        return false;
    for (int i = 0; i < 2; i++)
        out[i] = sc_f_to(t, a[i], dtype == SC_DTYPE_I64 ? SC_DTYPE_I64 : SC_DTYPE_I32);
    return true;
}

static sc_x narrowed(sc_trace *t, sc_x x) { return sc_f_to(t, x, sc_o_result_dtype(t)); }

// (self, other)
sc_x sc_official_gcd(sc_trace *t, const sc_x *a) {
    sc_x both[2];
    if (!read_integers(t, a, both)) return sc_o_refuse(t);
    return narrowed(t, common_divisor(t, both[0], both[1]));
}

// (self, other)
sc_x sc_official_lcm(sc_trace *t, const sc_x *a) {
    sc_x both[2];
    if (!read_integers(t, a, both)) return sc_o_refuse(t);
    sc_x divisor = common_divisor(t, both[0], both[1]);
    sc_x is_zero = CALL(t, eq_Scalar, divisor, sc_x_int(t, 0));
    sc_x by = sc_o_where_else(t, sc_o_not(t, is_zero), divisor, sc_x_int(t, 1));
    sc_x part = CALL(t, div_Tensor_mode, CALL(t, abs, both[0]), by, sc_x_str(t, "floor"));
    return narrowed(t, CALL(t, abs, CALL(t, mul_Tensor, part, both[1])));
}
