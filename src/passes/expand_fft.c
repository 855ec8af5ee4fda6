// Expansions of Fourier transforms to the three primitives, and of the short-time transform.
// Transforms that cut or pad their input are not written out here.
#include "passes/expand.h"

#include <math.h>

// PyTorch's norm_mode: 0 none, 1 by sqrt(n), 2 by n.
static sc_x norm_mode(sc_trace *t, sc_x norm, bool forward) {
    if (x_is_none(norm) || sc_str_is(norm->str, "backward")) return X_INT(forward ? 0 : 2);
    if (sc_str_is(norm->str, "forward")) return X_INT(forward ? 2 : 0);
    if (sc_str_is(norm->str, "ortho")) return X_INT(1);
    return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "norm '" SC_STR_FMT "'", SC_STR_ARG(norm->str));
}

static bool keeps_length(sc_trace *t, sc_x x, sc_x n, sc_x dim) {
    uint32_t d = x_wrap(t, dim, x_rank(x));
    if (x_is_none(n) || (n->kind == SC_X_INT && sc_dim_equal(n->dim, x_size(x, d)))) return true;
    sc_trace_fail(t, SC_ERR_UNSUPPORTED, "Pad or cut the input yourself.",
                  "a Fourier transform of another length than its input");
    return false;
}

static sc_dtype complex_of(sc_dtype dtype) {
    return dtype == SC_DTYPE_F64 ? SC_DTYPE_C128 : SC_DTYPE_C64;
}

static bool is_complex(sc_x x) { return sc_dtype_category(x_dtype_of(x)) == SC_CATEGORY_COMPLEX; }

static sc_x wrapped_dim(sc_trace *t, sc_x x, sc_x dim) {
    return X_INTS((int64_t)x_wrap(t, dim, x_rank(x)));
}

sc_x sc_expand_fft_rfft(sc_trace *t, const sc_x *a) {
    if (!keeps_length(t, a[0], a[1], a[2])) return a[0];
    return T(_fft_r2c, a[0], wrapped_dim(t, a[0], a[2]), norm_mode(t, a[3], true), X_TRUE);
}

sc_x sc_expand_fft_fft(sc_trace *t, const sc_x *a) {
    if (!keeps_length(t, a[0], a[1], a[2])) return a[0];
    sc_x dim = wrapped_dim(t, a[0], a[2]), norm = norm_mode(t, a[3], true);
    return is_complex(a[0]) ? T(_fft_c2c, a[0], dim, norm, X_TRUE)
                            : T(_fft_r2c, a[0], dim, norm, X_FALSE);
}

sc_x sc_expand_fft_irfft(sc_trace *t, const sc_x *a) {
    uint32_t dim = x_wrap(t, a[2], x_rank(a[0]));
    int64_t n = x_is_none(a[1]) ? 2 * (x_static_size(t, a[0], dim) - 1) : x_small(t, a[1], 0);
    if (x_static_size(t, a[0], dim) != n / 2 + 1)
        return sc_trace_fail(t, SC_ERR_UNSUPPORTED, "Pad or cut the input yourself.",
                             "a Fourier transform of another length than its input");
    return T(_fft_c2r, a[0], X_INTS((int64_t)dim), norm_mode(t, a[3], false), X_INT(n));
}

sc_x sc_expand_fft_fft2(sc_trace *t, const sc_x *a) {
    int64_t dims[2];
    if (!x_is_none(a[1]) || x_int_list(t, a[2], dims, 2) != 2)
        return sc_trace_fail(t, SC_ERR_UNSUPPORTED, "Pad or cut the input yourself.",
                             "a Fourier transform of another length than its input");
    sc_x x = is_complex(a[0]) ? a[0] : f_to(t, a[0], complex_of(x_dtype_of(a[0])));
    for (uint32_t i = 0; i < 2; i++) dims[i] = x_wrap(t, X_INT(dims[i]), x_rank(x));
    return T(_fft_c2c, x, x_ints(t, dims, 2), norm_mode(t, a[3], true), X_TRUE);
}

// --- Short-time transforms ----------------------------------------------------------------------

// stft(self, n_fft, hop_length, win_length, window, normalized, onesided, return_complex, ...)
sc_x sc_expand_stft(sc_trace *t, const sc_x *a) {
    int64_t n = x_small(t, a[1], 0), hop = x_small(t, a[2], n / 4), length = x_small(t, a[3], n);
    bool real = !is_complex(a[0]), onesided = x_is_none(a[6]) ? real : x_truth(a[6]);
    if (n <= 0 || hop <= 0 || length != n || !real || x_rank(a[0]) > 2)
        return sc_trace_fail(t, SC_ERR_UNSUPPORTED, "Use win_length equal to n_fft.",
                             "this short-time Fourier transform");
    bool single = x_rank(a[0]) == 1;
    sc_x x = single ? f_unsqueeze(t, a[0], 0) : a[0];
    sc_x frames = T(unfold, x, X_INT(-1), X_INT(n), X_INT(hop));
    if (x_is_tensor(a[4])) frames = T(mul_Tensor, frames, a[4]);
    sc_x out = T(_fft_r2c, frames, X_INTS(2), X_INT(x_truth(a[5]) ? 1 : 0), X_BOOL(onesided));
    out = f_transpose(t, out, 1, 2);
    if (single) out = f_squeeze(t, out, 0);
    return x_truth(a[7]) ? out : T(view_as_real, out);
}

// Frames added where they overlap: the transpose of unfolding.
static sc_x fold_frames(sc_trace *t, sc_x frames, int64_t length, int64_t n, int64_t hop) {
    sc_dim sizes[2] = {x_size(frames, 0), sc_dim_int(length)};
    sc_x base = f_zeros(t, x_dims(t, sizes, 2), x_dtype_of(frames));
    sc_x index = f_arange(t, X_INT(0), X_INT(length), SC_DTYPE_I32);
    index = T(flatten_using_ints, T(unfold, index, X_INT(0), X_INT(n), X_INT(hop)));
    sc_x source = T(movedim_int, frames, X_INT(-1), X_INT(2));
    source = T(flatten_using_ints, source, X_INT(1), X_INT(2));
    return T(index_put, base, X_LIST(X_NONE, index), source, X_TRUE);
}

// istft(self, n_fft, hop_length, win_length, window, center, normalized, onesided, length, ...)
sc_x sc_expand_istft(sc_trace *t, const sc_x *a) {
    int64_t n = x_small(t, a[1], 0), hop = x_small(t, a[2], n / 4), win = x_small(t, a[3], n);
    bool single = x_rank(a[0]) == 2;
    if (n <= 0 || hop <= 0 || win != n || !x_is_tensor(a[4]) || !x_is_none(a[8]) || x_truth(a[9]))
        return sc_trace_fail(t, SC_ERR_UNSUPPORTED, "Use win_length equal to n_fft.",
                             "this inverse short-time Fourier transform");
    sc_x x = single ? f_unsqueeze(t, a[0], 0) : a[0];
    int64_t frames = x_static_size(t, x, -1), total = n + hop * (frames - 1);
    x = f_transpose(t, x, 1, 2);
    x = T(_fft_c2r, x, X_INTS(2), X_INT(x_truth(a[6]) ? 1 : 2), X_INT(n));
    sc_x shaped = T(mul_Tensor, x, T(view, a[4], X_INTS(1, 1, n)));
    sc_x signal = fold_frames(t, shaped, total, n, hop);
    sc_x envelope = T(pow_Tensor_Scalar, a[4], X_INT(2));
    envelope = T(expand, envelope, X_INTS(1, frames, n));
    envelope = fold_frames(t, envelope, total, n, hop);
    int64_t start = x_truth(a[5]) ? n / 2 : 0, end = x_truth(a[5]) ? total - n / 2 : total;
    signal = f_slice(t, signal, 1, X_INT(start), X_INT(end));
    envelope = f_slice(t, envelope, 1, X_INT(start), X_INT(end));
    signal = T(div_Tensor, signal, envelope);
    return single ? f_squeeze(t, signal, 0) : signal;
}
