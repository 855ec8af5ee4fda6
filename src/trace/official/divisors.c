// Common divisors and multiples of integers.
#include "trace/official/official.h"

// Euclid's algorithm takes the most steps for neighbours among Fibonacci's numbers.
static int steps_of(sc_dtype dtype) { return dtype == SC_DTYPE_I64 ? 92 : 47; }

// In PyTorch, the most negative number is its own size, and its remainder is negative. That is also
// true for 8 and 16 bits, which are computed with more bits here.
static sc_x with_sign(sc_trace *t, sc_x of, sc_x rest) {
    const sc_dtype dtype = sc_official_result_dtype(t);
    if (dtype == SC_DTYPE_U8) return rest;
    sc_x least = sc_f_lowest(t, dtype);
    return sc_official_step(t, SC_STEP_signed_rest, (const sc_x[]){of, least, rest});
}

static sc_x step(sc_trace *t, sc_step step_of, sc_x x, sc_x y) {
    return sc_official_step(t, step_of, (const sc_x[]){x, y});
}

// The most negative number has no size in its dtype, unlike its rest: the first step is of
// opposites. In the end one of both is 0.
static sc_x common_divisor(sc_trace *t, sc_x a, sc_x b) {
    sc_x x = sc_official_step(t, SC_STEP_opposite_size, &a);
    sc_x y = sc_official_step(t, SC_STEP_opposite_size, &b);
    x = step(t, SC_STEP_rest_of_opposites, x, y);
    y = CALL(t, neg, step(t, SC_STEP_rest_of_opposites, y, x));
    x = CALL(t, neg, x);
    for (int i = steps_of(sc_x_dtype_of(x)); i > 0 && t->status == SC_OK; i -= 2) {
        x = step(t, SC_STEP_rest_of_sizes, x, y);
        y = step(t, SC_STEP_rest_of_sizes, y, x);
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
