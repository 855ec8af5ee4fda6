// Expansions of Fourier transforms to the three primitives: inputs are cut or padded to the length
// that is asked for, one dim after another, and made complex where all of them are.
#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"

// PyTorch's norm_mode: 0 none, 1 by sqrt(n), 2 by n.
static sc_x norm_mode(sc_trace *t, sc_x norm, bool forward) {
    if (sc_x_is_none(norm) || sc_str_is(norm->str, "backward")) return sc_x_int(t, forward ? 0 : 2);
    if (sc_str_is(norm->str, "forward")) return sc_x_int(t, forward ? 2 : 0);
    if (sc_str_is(norm->str, "ortho")) return sc_x_int(t, 1);
    return sc_trace_fail(t, SC_ERR_ARGUMENT, "Use \"backward\", \"ortho\" or \"forward\".",
                         "there is no norm '" SC_STR_FMT "'", SC_STR_ARG(norm->str));
}

// Integers become float32; what must be real may not be complex.
static sc_x as_float(sc_trace *t, sc_x x) {
    if (sc_x_is_complex(x))
        return sc_trace_fail(t, SC_ERR_DTYPE, "Use fft, or take its real part first.",
                             "a transform of real numbers cannot take complex ones");
    return sc_x_is_float(x) ? x : sc_f_to(t, x, SC_DTYPE_F32);
}

static sc_x as_complex(sc_trace *t, sc_x x) {
    if (sc_x_is_complex(x)) return x;
    return sc_f_to(t, x, sc_dtype_to_complex(sc_x_is_float(x) ? sc_x_dtype_of(x) : SC_DTYPE_F32));
}

// --- Lengths -------------------------------------------------------------------------------------

typedef struct axes {
    uint32_t count;
    uint32_t dims[SC_RANK_MAX];
    sc_dim lengths[SC_RANK_MAX];  // of the transform
} axes;

static bool is_given(sc_x n) { return n->kind == SC_X_INT && !sc_dim_is(n->dim, -1); }

static void check_length(sc_trace *t, sc_dim length) {
    if (sc_dim_known_le(sc_dim_int(1), length) == SC_TRI_FALSE)
        sc_trace_fail(t, SC_ERR_ARGUMENT, "Use n= or s= with a length of at least 1.",
                      "a Fourier transform needs at least one number");
}

static axes one_axis(sc_trace *t, sc_x x, sc_x n, sc_x dim) {
    axes a = {.count = 1, .dims = {sc_x_wrap(t, dim, sc_x_rank(x))}};
    if (sc_x_rank(x) == 0)
        sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "a Fourier transform needs at least one dimension");
    a.lengths[0] = is_given(n) ? n->dim : sc_x_size(x, a.dims[0]);
    check_length(t, a.lengths[0]);
    return a;
}

// Over the dims that are named, else over as many of the last as there are lengths, else over all.
static axes many_axes(sc_trace *t, sc_x x, sc_x s, sc_x dims) {
    axes a = {0};
    int64_t listed[SC_RANK_MAX];
    const uint32_t rank = sc_x_rank(x), lengths = s->kind == SC_X_LIST ? s->count : 0;
    const bool named = !sc_x_is_none(dims);
    a.count = named ? sc_x_int_list(t, dims, listed, SC_RANK_MAX) : lengths ? lengths : rank;
    if (a.count > SC_RANK_MAX || (!named && a.count > rank) || (lengths && lengths != a.count))
        sc_trace_fail(t, SC_ERR_ARGUMENT, "Give as many lengths as dimensions.",
                      "s and dim of a Fourier transform do not fit");
    for (uint32_t i = 0; t->status == SC_OK && i < a.count; i++) {
        a.dims[i] = named ? sc_x_wrap(t, sc_x_int(t, listed[i]), rank) : rank - a.count + i;
        a.lengths[i] =
            lengths && is_given(s->items[i]) ? s->items[i]->dim : sc_x_size(x, a.dims[i]);
        check_length(t, a.lengths[i]);
    }
    if (t->status != SC_OK) a.count = 0;
    return a;
}

static sc_x listed(sc_trace *t, const axes *a, uint32_t count) {
    int64_t dims[SC_RANK_MAX];
    for (uint32_t i = 0; i < count; i++) dims[i] = a->dims[i];
    return sc_x_ints(t, dims, count);
}

static bool is_last_missing(const axes *a) { return a->count == 0; }

static sc_x no_axis(sc_trace *t) {
    return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL,
                         "a real Fourier transform needs at least one dimension");
}

// Zeros after the numbers, of complex ones after both of their parts.
static sc_x padded(sc_trace *t, sc_x x, const sc_x *pads, uint32_t rank) {
    sc_x all[2 * SC_RANK_MAX + 2] = {sc_x_int(t, 0), sc_x_int(t, 0)};
    if (!sc_x_is_complex(x)) return CALL(t, constant_pad_nd, x, sc_x_list(t, pads, 2 * rank));
    memcpy(all + 2, pads, 2 * rank * sizeof *pads);
    x = CALL(t, constant_pad_nd, CALL(t, view_as_real, x), sc_x_list(t, all, 2 * rank + 2));
    return CALL(t, view_as_complex, x);
}

// x in the sizes of the transform: longer dims are cut first, shorter ones padded last. A
// negative padding cuts if only the running program knows which it is.
static sc_x resized(sc_trace *t, sc_x x, const axes *a) {
    sc_x pads[2 * SC_RANK_MAX];
    const uint32_t rank = sc_x_rank(x);
    bool pad = false;
    for (uint32_t i = 0; i < 2 * rank; i++) pads[i] = sc_x_int(t, 0);
    for (uint32_t i = 0; i < a->count && t->status == SC_OK; i++) {
        const sc_dim size = sc_x_size(x, a->dims[i]), length = a->lengths[i];
        if (sc_dim_known_equal(size, length) == SC_TRI_TRUE) continue;
        if (sc_dim_known_le(length, size) == SC_TRI_TRUE) {
            x = sc_f_slice(t, x, a->dims[i], sc_x_int(t, 0), sc_x_dim(t, length));
            continue;
        }
        pads[2 * (rank - 1 - a->dims[i]) + 1] = sc_x_dim(t, sc_trace_sub(t, length, size));
        pad = true;
    }
    return pad ? padded(t, x, pads, rank) : x;
}

// --- The primitives ------------------------------------------------------------------------------

static sc_x complex_transform(sc_trace *t, sc_x x, const axes *a, sc_x norm, bool forward) {
    x = resized(t, as_complex(t, x), a);
    return CALL(t, _fft_c2c, x, listed(t, a, a->count), norm_mode(t, norm, forward),
                sc_x_bool(forward));
}

static sc_x conjugate(sc_trace *t, sc_x x) { return CALL(t, _conj_physical, x); }

// The transform of real numbers: half of the result, or all.
static sc_x real_transform(sc_trace *t, sc_x x, const axes *a, sc_x norm, bool forward,
                           bool onesided) {
    x = as_float(t, x);
    if (is_last_missing(a)) return no_axis(t);
    x = CALL(t, _fft_r2c, resized(t, x, a), listed(t, a, a->count), norm_mode(t, norm, forward),
             sc_x_bool(onesided));
    return forward ? x : conjugate(t, x);
}

// The transform of one dim: real numbers are transformed as such.
static sc_x transform_1d(sc_trace *t, const sc_x *a, bool forward) {
    const axes at = one_axis(t, a[0], a[1], a[2]);
    return sc_x_is_complex(a[0]) ? complex_transform(t, a[0], &at, a[3], forward)
                                 : real_transform(t, a[0], &at, a[3], forward, false);
}

static sc_x transform_nd(sc_trace *t, const sc_x *a, bool forward) {
    const axes at = many_axes(t, a[0], a[1], a[2]);
    return complex_transform(t, a[0], &at, a[3], forward);
}

// Half a spectrum has n / 2 + 1 numbers in its last dim, where 2 (m - 1) is what n is unless it is
// given.
static sc_dim take_half(sc_trace *t, axes *a, sc_x n) {
    const uint32_t last = a->count ? a->count - 1 : 0;
    const sc_dim one = sc_dim_int(1), two = sc_dim_int(2);
    const sc_dim length =
        is_given(n) ? n->dim : sc_trace_mul(t, two, sc_trace_sub(t, a->lengths[last], one));
    check_length(t, length);
    a->lengths[last] = sc_trace_add(t, sc_trace_floordiv(t, length, two), one);
    return length;
}

static sc_x last_of(sc_x s) {
    return s->kind == SC_X_LIST && s->count ? s->items[s->count - 1] : X_NONE;
}

static sc_x to_real(sc_trace *t, sc_x x, const axes *a, sc_dim length, sc_x norm) {
    return CALL(t, _fft_c2r, x, listed(t, a, a->count), norm, sc_x_dim(t, length));
}

// --- Complex and real transforms -----------------------------------------------------------------

// (self, n, dim, norm)
sc_x sc_expand_fft_fft(sc_trace *t, const sc_x *a) { return transform_1d(t, a, true); }
sc_x sc_expand_fft_ifft(sc_trace *t, const sc_x *a) { return transform_1d(t, a, false); }

sc_x sc_expand_fft_rfft(sc_trace *t, const sc_x *a) {
    const axes at = one_axis(t, a[0], a[1], a[2]);
    return real_transform(t, a[0], &at, a[3], true, true);
}

sc_x sc_expand_fft_irfft(sc_trace *t, const sc_x *a) {
    axes at = one_axis(t, a[0], X_NONE, a[2]);
    const sc_dim length = take_half(t, &at, a[1]);
    sc_x x = resized(t, as_complex(t, a[0]), &at);
    return to_real(t, x, &at, length, norm_mode(t, a[3], false));
}

// (self, s, dim, norm)
sc_x sc_expand_fft_fftn(sc_trace *t, const sc_x *a) { return transform_nd(t, a, true); }
sc_x sc_expand_fft_ifftn(sc_trace *t, const sc_x *a) { return transform_nd(t, a, false); }

sc_x sc_expand_fft_rfftn(sc_trace *t, const sc_x *a) {
    const axes at = many_axes(t, a[0], a[1], a[2]);
    return real_transform(t, a[0], &at, a[3], true, true);
}

sc_x sc_expand_fft_irfftn(sc_trace *t, const sc_x *a) {
    axes at = many_axes(t, a[0], a[1], a[2]);
    if (is_last_missing(&at)) return no_axis(t);
    const sc_dim length = take_half(t, &at, last_of(a[1]));
    sc_x x = resized(t, as_complex(t, a[0]), &at);
    return to_real(t, x, &at, length, norm_mode(t, a[3], false));
}

// --- Hermitian ones: of spectra that are real, in the other direction ----------------------------

sc_x sc_expand_fft_hfft(sc_trace *t, const sc_x *a) {
    axes at = one_axis(t, a[0], X_NONE, a[2]);
    const sc_dim length = take_half(t, &at, a[1]);
    sc_x x = conjugate(t, resized(t, as_complex(t, a[0]), &at));
    return to_real(t, x, &at, length, norm_mode(t, a[3], true));
}

sc_x sc_expand_fft_ihfft(sc_trace *t, const sc_x *a) {
    const axes at = one_axis(t, a[0], a[1], a[2]);
    return real_transform(t, a[0], &at, a[3], false, true);
}

// The other dims are transformed as complex numbers, before and after.
sc_x sc_expand_fft_hfftn(sc_trace *t, const sc_x *a) {
    axes at = many_axes(t, a[0], a[1], a[2]);
    if (is_last_missing(&at)) return no_axis(t);
    const sc_dim length = take_half(t, &at, last_of(a[1]));
    sc_x x = resized(t, as_complex(t, a[0]), &at), norm = norm_mode(t, a[3], true);
    if (at.count > 1) x = CALL(t, _fft_c2c, x, listed(t, &at, at.count - 1), norm, X_TRUE);
    const axes last = {1, {at.dims[at.count - 1]}, {at.lengths[at.count - 1]}};
    return to_real(t, conjugate(t, x), &last, length, norm);
}

sc_x sc_expand_fft_ihfftn(sc_trace *t, const sc_x *a) {
    sc_x x = as_float(t, a[0]), norm = norm_mode(t, a[3], false);
    const axes at = many_axes(t, x, a[1], a[2]);
    if (is_last_missing(&at)) return no_axis(t);
    sc_x last = X_INTS(t, at.dims[at.count - 1]);
    x = conjugate(t, CALL(t, _fft_r2c, resized(t, x, &at), last, norm, X_TRUE));
    if (at.count == 1) return x;
    return CALL(t, _fft_c2c, x, listed(t, &at, at.count - 1), norm, X_FALSE);
}

// --- Frequencies ---------------------------------------------------------------------------------

// Turns each dim by half of its size, rounded down or up.
static sc_x shifted(sc_trace *t, const sc_x *a, int64_t round) {
    sc_x shifts[SC_RANK_MAX];
    const axes at = many_axes(t, a[0], X_NONE, a[1]);
    for (uint32_t i = 0; i < at.count; i++) {
        const sc_dim size = sc_trace_add(t, at.lengths[i], sc_dim_int(round));
        shifts[i] = sc_x_dim(t, sc_trace_floordiv(t, size, sc_dim_int(2)));
    }
    if (at.count == 0) return t->status == SC_OK ? CALL(t, clone, a[0]) : &t->poisoned;
    return CALL(t, roll, a[0], sc_x_list(t, shifts, at.count), listed(t, &at, at.count));
}

// (self, dim)
sc_x sc_expand_fft_fftshift(sc_trace *t, const sc_x *a) { return shifted(t, a, 0); }
sc_x sc_expand_fft_ifftshift(sc_trace *t, const sc_x *a) { return shifted(t, a, 1); }

static sc_dtype given_dtype(sc_x dtype) { return sc_x_dtype_or(dtype, SC_DTYPE_F32); }

static sc_x spaced(sc_trace *t, sc_x places, const sc_x *a, int64_t n) {
    return sc_f_mul(t, places, sc_x_float(t, 1.0 / ((double)n * sc_x_known(t, a[1], 1.0))));
}

static int64_t frequencies(sc_trace *t, sc_x n) {
    const int64_t count = sc_x_small(t, n, -1);
    if (count < 1)
        sc_trace_fail(t, SC_ERR_ARGUMENT, "Use a plain number of at least 1.",
                      "the number of frequencies must be known");
    return t->status == SC_OK ? count : 1;
}

// (n, d, dtype, ...)
sc_x sc_expand_fft_fftfreq(sc_trace *t, const sc_x *a) {
    const int64_t n = frequencies(t, a[0]);
    const sc_dtype dtype = given_dtype(a[2]);
    sc_x both[2] = {sc_f_range(t, sc_x_int(t, (n + 1) / 2), dtype), NULL};
    if (n == 1) return spaced(t, both[0], a, n);
    both[1] = sc_f_arange(t, sc_x_int(t, -(n / 2)), sc_x_int(t, 0), dtype);
    return spaced(t, sc_f_cat(t, both, 2, 0), a, n);
}

sc_x sc_expand_fft_rfftfreq(sc_trace *t, const sc_x *a) {
    const int64_t n = frequencies(t, a[0]);
    sc_x end = sc_x_int(t, n / 2 + 1);
    return spaced(t, sc_f_range(t, end, given_dtype(a[2])), a, n);
}
