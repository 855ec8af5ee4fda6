// Fourier transforms. The official runtime has those between real numbers and half spectra, over
// any dims. The transform of pairs is made of them: that of z = x + iy is F(x) + i F(y), of which
// the half that is missing is conj F(x) + i conj F(y) the other way around; in the other direction
// both change places. Real and imaginary parts go through one call, beside each other.
// In wasm: -Os
#include "trace/official/official.h"

static bool has_negative_dim(const sc_node *node) {
    const sc_arg *dims = sc_node_arg(node, "dim");
    for (uint32_t i = 0; dims->kind == SC_ARG_LIST && i < dims->count; i++)
        if (dims->items[i].kind == SC_ARG_INT && dims->items[i].i < 0) return true;
    return false;
}

bool sc_official_counts_dims_backwards(const sc_node *node) { return has_negative_dim(node); }

bool sc_official_is_whole_spectrum(const sc_node *node) {
    const sc_arg *onesided = sc_node_arg(node, "onesided");
    return has_negative_dim(node) || (onesided->kind == SC_ARG_BOOL && !onesided->b);
}

typedef struct axes {
    uint32_t count;
    int64_t dims[SC_RANK_MAX];
} axes;

static axes read_axes(sc_trace *t, sc_x x, sc_x dims) {
    axes a = {0};
    a.count = sc_x_int_list(t, dims, a.dims, SC_RANK_MAX);
    for (uint32_t i = 0; i < a.count && t->status == SC_OK; i++)
        a.dims[i] = sc_x_wrap(t, sc_x_int(t, a.dims[i]), sc_x_rank(x));
    if (a.count == 0 || sc_x_rank(x) == 0 || sc_x_rank(x) + 2 > SC_RANK_MAX) sc_o_refuse(t);
    return a;
}

static sc_x listed(sc_trace *t, const axes *a) { return sc_x_ints(t, a->dims, a->count); }

// 1 and -1, for real and imaginary parts in the last dim: what conjugates.
static sc_x signs(sc_trace *t, sc_dtype dtype) {
    sc_x places = sc_f_arange(t, sc_x_int(t, 0), sc_x_int(t, 2), dtype);
    sc_x twice = sc_f_full(t, X_INTS(t, 1), sc_x_float(t, -2.0), dtype);
    sc_x one = sc_f_full(t, X_INTS(t, 1), sc_x_float(t, 1.0), dtype);
    return CALL(t, add_Tensor, CALL(t, mul_Tensor, places, twice), one);
}

// Half of a spectrum of n numbers, and of another one all but the first that the half has twice,
// backwards.
static sc_x joined(sc_trace *t, sc_x half, sc_x other, int64_t dim, sc_dim n) {
    const sc_dim one = sc_dim_int(1), two = sc_dim_int(2);
    const sc_dim end = sc_trace_add(t, sc_trace_floordiv(t, sc_trace_sub(t, n, one), two), one);
    if (sc_dim_equal(end, one)) return half;
    sc_x rest = sc_o_part(t, other, (uint32_t)dim, one, end);
    const sc_x both[2] = {half, CALL(t, flip, rest, X_INTS(t, dim))};
    return sc_f_cat(t, both, 2, dim);
}

static sc_x half_spectrum(sc_trace *t, sc_x x, int64_t dim, sc_x norm) {
    return CALL(t, view_as_real, CALL(t, _fft_r2c, x, X_INTS(t, dim), norm, X_TRUE));
}

// Pairs, in a last dim of 2, along one of the other dims.
static sc_x along(sc_trace *t, sc_x pairs, int64_t dim, sc_x norm, bool forward) {
    const int64_t last = sc_x_rank(pairs);
    sc_x sign = signs(t, sc_x_dtype_of(pairs)), both = half_spectrum(t, pairs, dim, norm);
    sc_x x = sc_f_select(t, both, last - 1, 0), y = sc_f_select(t, both, last - 1, 1);
    sc_x turned = CALL(t, flip, y, X_INTS(t, last - 1));
    sc_x sum = CALL(t, sub_Tensor, x, CALL(t, mul_Tensor, turned, sign));
    sc_x mirrored = CALL(t, add_Tensor, CALL(t, mul_Tensor, x, sign), turned);
    return joined(t, forward ? sum : mirrored, forward ? mirrored : sum, dim,
                  sc_x_size(pairs, dim));
}

// (self, dim, normalization, forward)
sc_x sc_official_fft_c2c(sc_trace *t, const sc_x *a) {
    const axes at = read_axes(t, a[0], a[1]);
    if (t->status != SC_OK) return &t->poisoned;
    sc_x pairs = CALL(t, view_as_real, a[0]);
    for (uint32_t i = 0; i < at.count && t->status == SC_OK; i++)
        pairs = along(t, pairs, at.dims[i], a[2], sc_x_truth(a[3]));
    return CALL(t, view_as_complex, pairs);
}

// (self, dim, normalization, onesided)
sc_x sc_official_fft_r2c(sc_trace *t, const sc_x *a) {
    axes at = read_axes(t, a[0], a[1]);
    if (t->status != SC_OK) return &t->poisoned;
    if (sc_x_truth(a[3])) return CALL(t, _fft_r2c, a[0], listed(t, &at), a[2], X_TRUE);
    const int64_t last = at.dims[--at.count];
    sc_x pairs = half_spectrum(t, a[0], last, a[2]);
    sc_x other = CALL(t, mul_Tensor, pairs, signs(t, sc_x_dtype_of(a[0])));
    pairs = joined(t, pairs, other, last, sc_x_size(a[0], last));
    for (uint32_t i = 0; i < at.count && t->status == SC_OK; i++)
        pairs = along(t, pairs, at.dims[i], a[2], true);
    return CALL(t, view_as_complex, pairs);
}

// (self, dim, normalization, last_dim_size)
sc_x sc_official_fft_c2r(sc_trace *t, const sc_x *a) {
    const axes at = read_axes(t, a[0], a[1]);
    return CALL(t, _fft_c2r, a[0], listed(t, &at), a[2], a[3]);
}
