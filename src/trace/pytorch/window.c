// Expansions of windows, in the order in which PyTorch computes them.
#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"
#include "trace/words/choose.h"

// Windows of no number or one; NULL of others.
static sc_x short_window(sc_trace *t, int64_t n, sc_dtype dtype) {
    if (n < 0) return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "a window needs a plain length");
    if (n == 0)
        return CALL(t, empty_memory_format, X_INTS(t, 0), sc_x_dtype(t, dtype), X_STRIDED, X_CPU,
                    X_FALSE);
    if (n == 1)
        return CALL(t, full, X_INTS(t, 1), sc_x_int(t, 1), sc_x_dtype(t, dtype), X_STRIDED, X_CPU,
                    X_FALSE);
    return NULL;
}

// PyTorch rounds the number to half precision first, as it does where it multiplies in place.
static sc_x scaled(sc_trace *t, sc_x x, double factor) {
    const sc_dtype dtype = sc_x_dtype_of(x);
    if (sc_dtype_is_half(dtype)) factor = (double)sc_f32_as((float)factor, dtype);
    return sc_f_mul(t, x, sc_x_float(t, factor));
}

// A curve over the places 0 to `last`.
typedef sc_x curve_fn(sc_trace *t, const sc_x *a, sc_x places, int64_t last);

// (window_length, periodic, ...): a periodic window is the symmetric one of a number more, without
// its last number.
static sc_x window_of(sc_trace *t, const sc_x *a, sc_x dtype_arg, curve_fn *curve) {
    const bool periodic = sc_x_truth(a[1]);
    const int64_t n = sc_x_small(t, a[0], -1), last = periodic ? n : n - 1;
    const sc_dtype dtype = sc_x_dtype_or(dtype_arg, SC_DTYPE_F32);
    sc_x shorter = short_window(t, n, dtype);
    if (shorter) return shorter;
    sc_x window = curve(t, a, sc_f_range(t, sc_x_int(t, last + 1), dtype), last);
    return periodic ? sc_f_slice(t, window, 0, sc_x_int(t, 0), sc_x_int(t, n)) : window;
}

static sc_x hamming(sc_trace *t, const sc_x *a, sc_x places, int64_t last) {
    sc_x window = scaled(t, places, 2 * SC_PI / (double)last);
    window = scaled(t, CALL(t, cos, window), -sc_x_known(t, a[3], 0.46));
    return sc_f_add(t, window, sc_x_float(t, sc_x_known(t, a[2], 0.54)));
}

// (window_length, periodic, alpha, beta, dtype)
sc_x sc_expand_hamming_window_alpha_beta(sc_trace *t, const sc_x *a) {
    return window_of(t, a, a[4], hamming);
}

static sc_x blackman(sc_trace *t, const sc_x *a, sc_x places, int64_t last) {
    (void)a;
    sc_x angle = scaled(t, places, SC_PI / (double)last);
    sc_x fine = scaled(t, CALL(t, cos, scaled(t, angle, 4)), 0.08);
    sc_x coarse = scaled(t, CALL(t, cos, scaled(t, angle, 2)), 0.5);
    return sc_f_add_number(t, sc_f_sub(t, fine, coarse), 0.42);
}

// (window_length, periodic, dtype)
sc_x sc_expand_blackman_window_periodic(sc_trace *t, const sc_x *a) {
    return window_of(t, a, a[2], blackman);
}

// Half precision is computed in float32, of places that are rounded to it.
static sc_x kaiser(sc_trace *t, const sc_x *a, sc_x places, int64_t last) {
    const sc_dtype dtype = sc_x_dtype_of(places), wide = sc_f_opmath(dtype);
    sc_x x = sc_f_to(t, places, wide);
    sc_x middle = sc_f_scalar(t, sc_x_float(t, (double)last / 2), wide);
    x = sc_f_div(t, sc_f_sub(t, x, middle), middle);
    x = CALL(t, sqrt, CALL(t, abs, sc_f_number_minus(t, 1, sc_f_mul(t, x, x))));
    sc_x most = sc_f_scalar(t, sc_x_float(t, sc_x_known(t, a[2], 12)), wide);
    sc_x above = CALL(t, i0, sc_f_mul(t, x, most)), below = CALL(t, i0, most);
    return sc_f_to(t, sc_f_div(t, above, below), dtype);
}

// (window_length, periodic, beta, dtype)
sc_x sc_expand_kaiser_window_beta(sc_trace *t, const sc_x *a) {
    return window_of(t, a, a[3], kaiser);
}

// (window_length, periodic, dtype): up to 1 in the middle, and down again.
sc_x sc_expand_bartlett_window_periodic(sc_trace *t, const sc_x *a) {
    const int64_t n = sc_x_small(t, a[0], -1), last = sc_x_truth(a[1]) ? n : n - 1;
    const sc_dtype dtype = sc_x_dtype_or(a[2], SC_DTYPE_F32);
    sc_x shorter = short_window(t, n, dtype);
    if (shorter) return shorter;
    sc_x number = sc_f_range(t, sc_x_int(t, n), SC_DTYPE_I64);
    sc_x up = scaled(t, sc_f_to(t, number, dtype), 2.0 / (double)last);
    sc_x down = CALL(t, rsub_Scalar, up, sc_x_int(t, 2));
    return sc_f_where(t, CALL(t, le_Scalar, number, sc_x_int(t, last / 2)), up, down);
}
