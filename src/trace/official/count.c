// Integers: common divisors, and how often each number occurs.
#include "trace/official/official.h"

// --- Gcd, lcm ------------------------------------------------------------------------------------

// Euclid's algorithm takes the most steps for neighbours among Fibonacci's numbers.
static int steps_of(sc_dtype dtype) { return dtype == SC_DTYPE_I64 ? 92 : 47; }

// x modulo y, or x where y is 0. Numbers are not negative, and towards zero means down: that is
// exact in the official runtime, the other is not.
static sc_x left_over(sc_trace *t, sc_x x, sc_x y) {
    sc_x is_zero = CALL(t, eq_Scalar, y, sc_x_int(t, 0));
    sc_x by = sc_o_where_else(t, sc_o_not(t, is_zero), y, sc_x_int(t, 1));
    sc_x times = CALL(t, div_Tensor_mode, x, by, sc_x_str(t, "floor"));
    sc_x rest = CALL(t, sub_Tensor, x, CALL(t, mul_Tensor, times, by));
    return sc_o_where(t, is_zero, x, rest);
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
    const sc_dtype dtype = (sc_dtype)t->source->outs[0]->spec.dtype;
    if (!sc_dtype_is_integral(dtype, false) || a[0]->kind != SC_X_TENSOR ||
        a[1]->kind != SC_X_TENSOR)
        return false;
    for (int i = 0; i < 2; i++)
        out[i] = sc_f_to(t, a[i], dtype == SC_DTYPE_I64 ? SC_DTYPE_I64 : SC_DTYPE_I32);
    return true;
}

static sc_x narrowed(sc_trace *t, sc_x x) {
    return sc_f_to(t, x, (sc_dtype)t->source->outs[0]->spec.dtype);
}

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

// --- Bincount ------------------------------------------------------------------------------------

// As many zeros as the largest number and one more, or as are asked for: that many repetitions of
// the first place.
static sc_x bins(sc_trace *t, sc_x x, int64_t least) {
    sc_x one = sc_x_int(t, 1), sizes = X_LIST(t, one);
    const sc_x both[2] = {x, sc_f_full(t, sizes, sc_x_int(t, least - 1), SC_DTYPE_I64)};
    sc_x most = CALL(t, amax, sc_f_cat(t, both, 2, 0), X_INTS(t, 0), X_TRUE);
    sc_x zeros = CALL(t, repeat_interleave_Tensor, CALL(t, add_Scalar, most, one));
    sc_trace_take_size(t, zeros, 0);
    return zeros;
}

// (self, weights, minlength)
sc_x sc_official_bincount(sc_trace *t, const sc_x *a) {
    const sc_dtype dtype = (sc_dtype)t->source->outs[0]->spec.dtype;
    const int64_t least = sc_x_number(a[2], -1);
    if (least < 0 || sc_x_rank(a[0]) != 1) return sc_o_refuse(t);
    sc_x x = sc_f_to(t, a[0], SC_DTYPE_I64), weights = a[1];
    if (sc_x_is_none(weights))
        weights = sc_f_full(t, sc_x_sizes(t, x, 0, 1), sc_x_int(t, 1), SC_DTYPE_I64);
    sc_x zeros = sc_f_to(t, bins(t, x, least), dtype);
    return CALL(t, scatter_add, zeros, sc_x_int(t, 0), x, sc_f_to(t, weights, dtype));
}
