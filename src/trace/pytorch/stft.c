// Expansions of short-time Fourier transforms: frames are a view, and go back by adding where they
// overlap. How many there are need not be known.
#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"

typedef struct frames {
    int64_t n, hop, window;
} frames;

static frames read_frames(sc_trace *t, const sc_x *a) {
    frames f = {.n = sc_x_small(t, a[1], 0)};
    f.hop = sc_x_small(t, a[2], f.n / 4);
    f.window = sc_x_small(t, a[3], f.n);
    if (f.n <= 0 || f.hop <= 0 || f.window <= 0 || f.window > f.n)
        sc_trace_fail(t, SC_ERR_ARGUMENT, "Use 0 < win_length <= n_fft, and 0 < hop_length.",
                      "a short-time Fourier transform of %lld with windows of %lld, %lld apart, is "
                      "not defined",
                      (long long)f.n, (long long)f.window, (long long)f.hop);
    return f;
}

// A window as long as a frame: one of `length` numbers, ones if none is given, in its middle.
static sc_x framed_window(sc_trace *t, sc_x window, const frames *f, sc_dtype dtype) {
    const sc_dim size = sc_dim_int(f->window);
    const int64_t before = (f->n - f->window) / 2;
    if (!sc_x_is_tensor(window)) {
        if (f->window == f->n) return X_NONE;
        window = sc_f_full(t, sc_x_dims(t, &size, 1), sc_x_float(t, 1.0), dtype);
    }
    if (f->window == f->n) return window;
    return CALL(t, constant_pad_nd, window, X_INTS(t, before, f->n - f->window - before));
}

// Zeros at both ends, by which the first window, and not the first frame, begins with the signal.
static sc_x aligned(sc_trace *t, sc_x x, const frames *f, sc_x align) {
    const int64_t edge = (f->n - f->window) / 2;
    if (!sc_x_truth(align) || edge == 0) return x;
    return CALL(t, constant_pad_nd, x, X_INTS(t, edge, edge), sc_x_float(t, 0.0));
}

// stft(self, n_fft, hop_length, win_length, window, normalized, onesided, return_complex, align)
sc_x sc_expand_stft(sc_trace *t, const sc_x *a) {
    const frames f = read_frames(t, a);
    const bool single = sc_x_rank(a[0]) == 1;
    const bool real = !sc_x_is_complex(a[0]) && !(sc_x_is_tensor(a[4]) && sc_x_is_complex(a[4]));
    const bool onesided = sc_x_is_none(a[6]) ? real : sc_x_truth(a[6]);
    sc_x norm = sc_x_int(t, sc_x_truth(a[5]) ? 1 : 0);
    if (sc_x_rank(a[0]) < 1 || sc_x_rank(a[0]) > 2 || (onesided && !real))
        return sc_trace_fail(t, SC_ERR_ARGUMENT, "Use onesided=False for complex numbers.",
                             "this short-time Fourier transform is not defined");
    sc_x window = framed_window(t, a[4], &f, sc_dtype_to_real(sc_x_dtype_of(a[0])));
    sc_x x = single ? sc_f_unsqueeze(t, a[0], 0) : a[0];
    x = CALL(t, unfold, aligned(t, x, &f, a[8]), sc_x_int(t, -1), sc_x_int(t, f.n),
             sc_x_int(t, f.hop));
    if (sc_x_is_tensor(window)) x = sc_f_mul(t, x, window);
    x = real ? CALL(t, _fft_r2c, x, X_INTS(t, 2), norm, sc_x_bool(onesided))
             : CALL(t, _fft_c2c, x, X_INTS(t, 2), norm, X_TRUE);
    x = sc_f_transpose(t, x, 1, 2);
    if (single) x = sc_f_squeeze(t, x, 0);
    const bool gives_complex = sc_x_is_none(a[7]) ? !real : sc_x_truth(a[7]);
    return gives_complex ? x : CALL(t, view_as_real, x);
}

// Frames added where they overlap: the transpose of unfolding.
static sc_x fold_frames(sc_trace *t, sc_x x, sc_dim length, const frames *f) {
    const sc_dim sizes[2] = {sc_x_size(x, 0), length};
    sc_x base = sc_f_zeros(t, sc_x_dims(t, sizes, 2), sc_x_dtype_of(x));
    sc_x index = sc_f_range(t, sc_x_dim(t, length), SC_DTYPE_I32);
    index = CALL(t, unfold, index, sc_x_int(t, 0), sc_x_int(t, f->n), sc_x_int(t, f->hop));
    index = CALL(t, flatten_using_ints, index);
    sc_x source = CALL(t, movedim_int, x, sc_x_int(t, -1), sc_x_int(t, 2));
    source = CALL(t, flatten_using_ints, source, sc_x_int(t, 1), sc_x_int(t, 2));
    return CALL(t, index_put, base, X_LIST(t, X_NONE, index), source, X_TRUE);
}

// Spectra, [batch, frames, frequencies], as frames; half of them unless they are complex.
static sc_x inverse(sc_trace *t, sc_x x, const frames *f, const sc_x *a) {
    sc_x norm = sc_x_int(t, sc_x_truth(a[6]) ? 1 : 2), dim = X_INTS(t, 2);
    const bool whole = sc_x_is_none(a[7]) ? sc_dim_is(sc_x_size(x, 2), f->n) : !sc_x_truth(a[7]);
    if (sc_x_truth(a[9])) {
        if (whole) return CALL(t, _fft_c2c, x, dim, norm, X_FALSE);
        return sc_trace_fail(t, SC_ERR_ARGUMENT, "Use onesided=False.",
                             "half of a spectrum has no complex signal");
    }
    if (whole) x = sc_f_slice(t, x, -1, sc_x_int(t, 0), sc_x_int(t, f->n / 2 + 1));
    return CALL(t, _fft_c2r, x, dim, norm, sc_x_int(t, f->n));
}

// The part of the signal that is asked for: without what centring has added, as long as `length`.
static sc_x kept(sc_trace *t, sc_x x, int64_t start, sc_dim end) {
    return sc_f_slice(t, x, 1, sc_x_int(t, start), sc_x_dim(t, end));
}

// The signal, lengthened by zeros beyond the last frame.
static sc_x lengthened(sc_trace *t, sc_x x, sc_dim end, sc_dim total) {
    if (sc_dim_known_le(end, total) == SC_TRI_TRUE) return x;
    if (sc_dim_known_le(total, end) != SC_TRI_TRUE)
        return sc_trace_fail(t, SC_ERR_UNSUPPORTED,
                             "Leave out length=, and pad or cut the result yourself.",
                             "whether `length` is longer than the frames depends on their number");
    sc_x pads[2] = {sc_x_int(t, 0), sc_x_dim(t, sc_trace_sub(t, end, total))};
    return CALL(t, constant_pad_nd, x, sc_x_list(t, pads, 2));
}

// istft(self, n_fft, hop_length, win_length, window, center, normalized, onesided, length,
//       return_complex)
sc_x sc_expand_istft(sc_trace *t, const sc_x *a) {
    const frames f = read_frames(t, a);
    const bool single = sc_x_rank(a[0]) == 2;
    if (sc_x_rank(a[0]) < 2 || sc_x_rank(a[0]) > 3 || !sc_x_is_complex(a[0]))
        return sc_trace_fail(t, SC_ERR_ARGUMENT, "Use torch.view_as_complex for pairs of numbers.",
                             "an inverse short-time Fourier transform needs complex frames");
    sc_x x = single ? sc_f_unsqueeze(t, a[0], 0) : a[0];
    const sc_dim count = sc_x_size(x, -1), size = sc_dim_int(f.n);
    const sc_dim steps = sc_trace_sub(t, count, sc_dim_int(1));
    const sc_dim total = sc_trace_add(t, sc_trace_mul(t, steps, sc_dim_int(f.hop)), size);
    const sc_dtype real = sc_dtype_to_real(sc_x_dtype_of(x));
    sc_x window = framed_window(t, a[4], &f, real);
    if (!sc_x_is_tensor(window))
        window = sc_f_full(t, sc_x_dims(t, &size, 1), sc_x_float(t, 1.0), real);
    x = inverse(t, sc_f_transpose(t, x, 1, 2), &f, a);
    x = sc_f_mul(t, x, CALL(t, view, window, X_INTS(t, 1, 1, f.n)));
    const sc_dim shape[3] = {sc_dim_int(1), count, size};
    sc_x signal = fold_frames(t, x, total, &f);
    sc_x envelope = CALL(t, pow_Tensor_Scalar, window, sc_x_int(t, 2));
    envelope = fold_frames(t, sc_f_expand(t, envelope, shape, 3), total, &f);
    const int64_t start = sc_x_truth(a[5]) ? f.n / 2 : 0;
    const sc_dim end = sc_x_is_none(a[8])
                           ? sc_trace_sub(t, total, sc_dim_int(start))
                           : sc_trace_add(t, sc_dim_int(start), sc_dim_int(sc_x_small(t, a[8], 0)));
    signal = kept(t, signal, start, end);
    signal = sc_f_div(t, signal, kept(t, envelope, start, end));
    signal = lengthened(t, signal, end, total);
    return single ? sc_f_squeeze(t, signal, 0) : signal;
}
