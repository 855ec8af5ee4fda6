// Expansions of Fourier transforms to the three primitives, and of the short-time transform.
// Transforms that cut or pad their input are not written out here.
#include "trace/expand.h"

#include <math.h>

// PyTorch's norm_mode: 0 none, 1 by sqrt(n), 2 by n.
static sc_x norm_mode(sc_trace *t, sc_x norm, bool forward) {
    if (sc_x_is_none(norm) || sc_str_is(norm->str, "backward")) return sc_x_int(t, forward ? 0 : 2);
    if (sc_str_is(norm->str, "forward")) return sc_x_int(t, forward ? 2 : 0);
    if (sc_str_is(norm->str, "ortho")) return sc_x_int(t, 1);
    return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "there is no norm '" SC_STR_FMT "'",
                         SC_STR_ARG(norm->str));
}

static bool keeps_length(sc_trace *t, sc_x x, sc_x n, sc_x dim) {
    uint32_t d = sc_x_wrap(t, dim, sc_x_rank(x));
    if (sc_x_is_none(n) || (n->kind == SC_X_INT && sc_dim_equal(n->dim, sc_x_size(x, d))))
        return true;
    sc_trace_fail(t, SC_ERR_UNSUPPORTED, "Pad or cut the input yourself.",
                  "a Fourier transform of a different length than its input is not supported");
    return false;
}

static sc_dtype complex_of(sc_dtype dtype) {
    return dtype == SC_DTYPE_F64 ? SC_DTYPE_C128 : SC_DTYPE_C64;
}

static bool is_complex(sc_x x) {
    return sc_dtype_category(sc_x_dtype_of(x)) == SC_CATEGORY_COMPLEX;
}

static sc_x wrapped_dim(sc_trace *t, sc_x x, sc_x dim) {
    return X_INTS(t, (int64_t)sc_x_wrap(t, dim, sc_x_rank(x)));
}

sc_x sc_expand_fft_rfft(sc_trace *t, const sc_x *a) {
    if (!keeps_length(t, a[0], a[1], a[2])) return a[0];
    return CALL(t, _fft_r2c, a[0], wrapped_dim(t, a[0], a[2]), norm_mode(t, a[3], true), X_TRUE);
}

sc_x sc_expand_fft_fft(sc_trace *t, const sc_x *a) {
    if (!keeps_length(t, a[0], a[1], a[2])) return a[0];
    sc_x dim = wrapped_dim(t, a[0], a[2]), norm = norm_mode(t, a[3], true);
    return is_complex(a[0]) ? CALL(t, _fft_c2c, a[0], dim, norm, X_TRUE)
                            : CALL(t, _fft_r2c, a[0], dim, norm, X_FALSE);
}

sc_x sc_expand_fft_irfft(sc_trace *t, const sc_x *a) {
    uint32_t dim = sc_x_wrap(t, a[2], sc_x_rank(a[0]));
    int64_t n =
        sc_x_is_none(a[1]) ? 2 * (sc_x_static_size(t, a[0], dim) - 1) : sc_x_small(t, a[1], 0);
    if (sc_x_static_size(t, a[0], dim) != n / 2 + 1)
        return sc_trace_fail(
            t, SC_ERR_UNSUPPORTED, "Pad or cut the input yourself.",
            "a Fourier transform of a different length than its input is not supported");
    return CALL(t, _fft_c2r, a[0], X_INTS(t, (int64_t)dim), norm_mode(t, a[3], false),
                sc_x_int(t, n));
}

// Over several dims: those named, else all.
sc_x sc_expand_fft_fftn(sc_trace *t, const sc_x *a) {
    int64_t dims[SC_RANK_MAX];
    bool all = sc_x_is_none(a[2]);
    uint32_t count = all ? sc_x_rank(a[0]) : sc_x_int_list(t, a[2], dims, SC_RANK_MAX);
    if (!sc_x_is_none(a[1]))
        return sc_trace_fail(
            t, SC_ERR_UNSUPPORTED, "Pad or cut the input yourself.",
            "a Fourier transform of a different length than its input is not supported");
    sc_x x = is_complex(a[0]) ? a[0] : sc_f_to(t, a[0], complex_of(sc_x_dtype_of(a[0])));
    for (uint32_t i = 0; i < count; i++)
        dims[i] = all ? i : sc_x_wrap(t, sc_x_int(t, dims[i]), sc_x_rank(x));
    return CALL(t, _fft_c2c, x, sc_x_ints(t, dims, count), norm_mode(t, a[3], true), X_TRUE);
}

// --- Short-time transforms ----------------------------------------------------------------------

// A window as long as a frame: one of `length` numbers, ones if none is given, in its middle.
static sc_x framed_window(sc_trace *t, sc_x window, int64_t length, int64_t n, sc_dtype dtype) {
    sc_dim size = sc_dim_int(length);
    int64_t before = (n - length) / 2;
    if (!sc_x_is_tensor(window)) {
        if (length == n) return X_NONE;
        window = sc_f_full(t, sc_x_dims(t, &size, 1), sc_x_float(t, 1.0), dtype);
    }
    if (length == n) return window;
    return CALL(t, constant_pad_nd, window, X_INTS(t, before, n - length - before));
}

// stft(self, n_fft, hop_length, win_length, window, normalized, onesided, return_complex, ...)
sc_x sc_expand_stft(sc_trace *t, const sc_x *a) {
    int64_t n = sc_x_small(t, a[1], 0), hop = sc_x_small(t, a[2], n / 4),
            length = sc_x_small(t, a[3], n);
    bool real = !is_complex(a[0]), onesided = sc_x_is_none(a[6]) ? real : sc_x_truth(a[6]);
    if (n <= 0 || hop <= 0 || length <= 0 || length > n || sc_x_rank(a[0]) > 2)
        return sc_trace_fail(t, SC_ERR_ARGUMENT, "Use 0 < win_length <= n_fft, and 0 < hop_length.",
                             "a short-time Fourier transform of %lld with windows of %lld, %lld "
                             "apart, is not defined",
                             (long long)n, (long long)length, (long long)hop);
    if (!real)
        return sc_trace_fail(t, SC_ERR_UNSUPPORTED, "Transform its real and imaginary part apart.",
                             "a short-time Fourier transform of complex numbers is not supported");
    sc_x window = framed_window(t, a[4], length, n, sc_x_dtype_of(a[0]));
    bool single = sc_x_rank(a[0]) == 1;
    sc_x x = single ? sc_f_unsqueeze(t, a[0], 0) : a[0];
    sc_x frames = CALL(t, unfold, x, sc_x_int(t, -1), sc_x_int(t, n), sc_x_int(t, hop));
    if (sc_x_is_tensor(window)) frames = CALL(t, mul_Tensor, frames, window);
    sc_x out = CALL(t, _fft_r2c, frames, X_INTS(t, 2), sc_x_int(t, sc_x_truth(a[5]) ? 1 : 0),
                    sc_x_bool(onesided));
    out = sc_f_transpose(t, out, 1, 2);
    if (single) out = sc_f_squeeze(t, out, 0);
    return sc_x_truth(a[7]) ? out : CALL(t, view_as_real, out);
}

// Frames added where they overlap: the transpose of unfolding.
static sc_x fold_frames(sc_trace *t, sc_x frames, int64_t length, int64_t n, int64_t hop) {
    sc_dim sizes[2] = {sc_x_size(frames, 0), sc_dim_int(length)};
    sc_x base = sc_f_zeros(t, sc_x_dims(t, sizes, 2), sc_x_dtype_of(frames));
    sc_x index = sc_f_arange(t, sc_x_int(t, 0), sc_x_int(t, length), SC_DTYPE_I32);
    index = CALL(t, flatten_using_ints,
                 CALL(t, unfold, index, sc_x_int(t, 0), sc_x_int(t, n), sc_x_int(t, hop)));
    sc_x source = CALL(t, movedim_int, frames, sc_x_int(t, -1), sc_x_int(t, 2));
    source = CALL(t, flatten_using_ints, source, sc_x_int(t, 1), sc_x_int(t, 2));
    return CALL(t, index_put, base, X_LIST(t, X_NONE, index), source, X_TRUE);
}

// istft(self, n_fft, hop_length, win_length, window, center, normalized, onesided, length, ...)
sc_x sc_expand_istft(sc_trace *t, const sc_x *a) {
    int64_t n = sc_x_small(t, a[1], 0), hop = sc_x_small(t, a[2], n / 4),
            win = sc_x_small(t, a[3], n);
    bool single = sc_x_rank(a[0]) == 2;
    if (n <= 0 || hop <= 0 || win <= 0 || win > n)
        return sc_trace_fail(t, SC_ERR_ARGUMENT, "Use 0 < win_length <= n_fft, and 0 < hop_length.",
                             "an inverse short-time Fourier transform of %lld with windows of "
                             "%lld, %lld apart, is not defined",
                             (long long)n, (long long)win, (long long)hop);
    if (sc_x_truth(a[9]))
        return sc_trace_fail(t, SC_ERR_UNSUPPORTED, "Leave out return_complex.",
                             "an inverse short-time Fourier transform to complex numbers is not "
                             "supported");
    sc_x x = single ? sc_f_unsqueeze(t, a[0], 0) : a[0];
    int64_t frames = sc_x_static_size(t, x, -1), total = n + hop * (frames - 1);
    sc_dim size = sc_dim_int(n);
    sc_dtype real = sc_dtype_to_real(sc_x_dtype_of(x));
    sc_x window = framed_window(t, a[4], win, n, real);
    if (!sc_x_is_tensor(window))
        window = sc_f_full(t, sc_x_dims(t, &size, 1), sc_x_float(t, 1.0), real);
    x = sc_f_transpose(t, x, 1, 2);
    x = CALL(t, _fft_c2r, x, X_INTS(t, 2), sc_x_int(t, sc_x_truth(a[6]) ? 1 : 2), sc_x_int(t, n));
    sc_x shaped = CALL(t, mul_Tensor, x, CALL(t, view, window, X_INTS(t, 1, 1, n)));
    sc_x signal = fold_frames(t, shaped, total, n, hop);
    sc_x envelope = CALL(t, pow_Tensor_Scalar, window, sc_x_int(t, 2));
    envelope = CALL(t, expand, envelope, X_INTS(t, 1, frames, n));
    envelope = fold_frames(t, envelope, total, n, hop);
    int64_t start = sc_x_truth(a[5]) ? n / 2 : 0;
    int64_t end = sc_x_is_none(a[8]) ? total - start : start + sc_x_small(t, a[8], 0);
    signal = sc_f_slice(t, signal, 1, sc_x_int(t, start), sc_x_int(t, end));
    envelope = sc_f_slice(t, envelope, 1, sc_x_int(t, start), sc_x_int(t, end));
    signal = CALL(t, div_Tensor, signal, envelope);
    if (end > total) signal = CALL(t, constant_pad_nd, signal, X_INTS(t, 0, end - total));
    return single ? sc_f_squeeze(t, signal, 0) : signal;
}
