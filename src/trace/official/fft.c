// Fourier transforms. The official runtime has transforms between real numbers and half spectra,
// over any dims. The transform of complex numbers is made of them: the transform of z = x + iy is
// F(x) + i F(y). The missing half is conj F(x) + i conj F(y), in reverse order. In the other
// direction both change places. Real and imaginary parts go through one call, as two rows.
//
// The official runtime also has no kernel that makes complex numbers of real ones. Pairs in memory
// already lie as complex numbers do, so no kernel is needed there, and results are copied. If sizes
// are open, the planner cannot know that. Then a transform of four numbers does it: the transform
// of a, 0, 0, b has a + ib in its second place. Calls that read the parts again read the pairs.
#include "ir/match.h"
#include "trace/official/official.h"

sc_value *sc_official_pairs(const sc_value *complex) {
    return sc_match_made_of(complex, SC_OP_view_as_complex_copy);
}

static sc_value *operand(const sc_node *node) {
    return node->args[0].kind == SC_ARG_VALUE ? node->args[0].value : NULL;
}

static bool is_pairs(const sc_node *node) {
    const sc_value *x = operand(node);
    return x && x->type == SC_VALUE_TENSOR && sc_official_pairs(x);
}

static bool is_open(const sc_node *node) { return !sc_spec_is_static(&operand(node)->spec); }

static bool takes_apart(const sc_node *user) {
    return user && (user->op->id == SC_OP__fft_c2c || user->op->id == SC_OP__fft_c2r ||
                    user->op->id == SC_OP_view_as_real_copy);
}

// Does a call need these numbers as complex ones, and no view of memory gives them?
static bool is_wanted(const sc_value *made) {
    if (sc_value_is_returned(made)) return true;
    bool found = false, open = !sc_spec_is_static(&made->spec);
    for (const sc_arg *use = made->first_use; use && open && !found; use = use->next_use)
        found = !takes_apart(use->user);
    return found;
}

bool sc_official_must_be_made(const sc_node *node) { return is_wanted(node->outs[0]); }

bool sc_official_is_taken_apart(const sc_node *node) { return is_pairs(node); }

static bool has_negative_dim(const sc_node *node) {
    const sc_arg *dims = sc_node_arg(node, "dim");
    for (uint32_t i = 0; dims->kind == SC_ARG_LIST && i < dims->count; i++)
        if (dims->items[i].kind == SC_ARG_INT && dims->items[i].i < 0) return true;
    return false;
}

bool sc_official_lacks_pairs(const sc_node *node) {
    return has_negative_dim(node) || (is_pairs(node) && is_open(node));
}

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
    if (a.count == 0 || sc_x_rank(x) == 0 || sc_x_rank(x) + 2 > SC_RANK_MAX) sc_official_refuse(t);
    return a;
}

static sc_x listed(sc_trace *t, const axes *a) { return sc_x_ints(t, a->dims, a->count); }

// 1 and -1, for real and imaginary parts in the last dim. Their product with pairs conjugates
// these.
static sc_x signs(sc_trace *t, sc_dtype dtype) {
    sc_x places = sc_f_range(t, sc_x_int(t, 2), dtype);
    sc_x twice = sc_f_full(t, X_INTS(t, 1), sc_x_float(t, -2.0), dtype);
    sc_x one = sc_f_full(t, X_INTS(t, 1), sc_x_float(t, 1.0), dtype);
    return sc_f_add(t, sc_f_mul(t, places, twice), one);
}

// Half of a spectrum of n numbers, and of another one all but the first that the half has twice,
// backwards.
static sc_x joined(sc_trace *t, sc_x half, sc_x other, int64_t dim, sc_dim n) {
    const sc_dim one = sc_dim_int(1), missing = sc_trace_sub(t, n, sc_x_size(half, (uint32_t)dim));
    const sc_dim end = sc_trace_add(t, missing, one);
    if (sc_dim_equal(end, one)) return half;
    sc_x rest = sc_f_slice_range(t, other, (uint32_t)dim, one, end);
    return sc_f_join(t, half, CALL(t, flip, rest, X_INTS(t, dim)), dim);
}

static sc_x half_spectrum(sc_trace *t, sc_x x, int64_t dim, sc_x norm) {
    return CALL(t, view_as_real, CALL(t, _fft_r2c, x, X_INTS(t, dim), norm, X_TRUE));
}

// Pairs, in a last dim of 2, along one of the other dims.
static sc_x along(sc_trace *t, sc_x pairs, int64_t dim, sc_x norm, bool forward) {
    const int64_t last = sc_x_rank(pairs);
    sc_x sign = signs(t, sc_x_dtype_of(pairs)), both = half_spectrum(t, pairs, dim, norm);
    sc_x x = sc_f_select(t, both, last - 1, 0), y = sc_f_select(t, both, last - 1, 1);
    sc_x flipped = CALL(t, flip, y, X_INTS(t, last - 1));
    sc_x sum = sc_f_sub(t, x, sc_f_mul(t, flipped, sign));
    sc_x mirrored = sc_f_add(t, sc_f_mul(t, x, sign), flipped);
    return joined(t, forward ? sum : mirrored, forward ? mirrored : sum, dim,
                  sc_x_size(pairs, dim));
}

static sc_x pairs_of(sc_trace *t, sc_x x) {
    sc_value *below = sc_official_pairs(operand(t->source));
    return below ? sc_f_contiguous(t, sc_trace_plain(t, below)) : CALL(t, view_as_real, x);
}

// The same bytes in another shape. They are then copied into the tensor that is returned.
static sc_x in_place(sc_trace *t, sc_x pairs) {
    sc_dim sizes[SC_RANK_MAX + 1] = {sc_dim_int(1)};
    const uint32_t rank = sc_x_rank(pairs);
    if (rank >= SC_RANK_MAX) return sc_official_refuse(t);
    for (uint32_t i = 0; i < rank; i++) sizes[i + 1] = sc_x_size(pairs, i);
    sc_x whole = CALL(t, view_as_complex, sc_f_view(t, pairs, sizes, rank + 1));
    return sc_f_view(t, whole, sizes + 1, rank - 1);
}

static sc_x transformed(sc_trace *t, sc_x pairs) {
    const uint32_t dim = sc_x_rank(pairs) - 1;
    const sc_dim one = sc_dim_int(1), two = sc_dim_int(2);
    const sc_dtype dtype = sc_x_dtype_of(pairs);
    if (dtype != SC_DTYPE_F32 && dtype != SC_DTYPE_F64) return sc_official_refuse(t);
    sc_x re = sc_f_slice_first(t, pairs, dim, one), im = sc_f_slice_range(t, pairs, dim, one, two);
    sc_x four = sc_f_join(t, sc_f_pad(t, re, dim, 0, 2, sc_x_float(t, 0.0)), im, dim);
    sc_x half = CALL(t, _fft_r2c, four, X_INTS(t, (int64_t)dim), sc_x_int(t, 0), X_TRUE);
    return sc_f_select(t, half, dim, 1);
}

// Pairs, in a last dim of 2, as complex numbers.
static sc_x made(sc_trace *t, sc_x pairs) {
    if (sc_x_rank(pairs) < 1) return sc_official_refuse(t);
    return sc_spec_is_static(sc_x_spec(pairs)) ? in_place(t, pairs) : transformed(t, pairs);
}

static sc_x as_result(sc_trace *t, sc_x pairs) {
    return is_wanted(t->source->outs[0]) ? made(t, pairs) : CALL(t, view_as_complex, pairs);
}

// (self, dim, normalization, forward)
sc_x sc_official_fft_c2c(sc_trace *t, const sc_x *a) {
    if (a[1]->kind == SC_X_LIST && a[1]->count == 0) return CALL(t, clone, a[0]);
    const axes at = read_axes(t, a[0], a[1]);
    if (t->status != SC_OK) return &t->poisoned;
    sc_x pairs = pairs_of(t, a[0]);
    for (uint32_t i = 0; i < at.count && t->status == SC_OK; i++)
        pairs = along(t, pairs, at.dims[i], a[2], sc_x_truth(a[3]));
    return as_result(t, pairs);
}

// (self, dim, normalization, onesided)
sc_x sc_official_fft_r2c(sc_trace *t, const sc_x *a) {
    axes at = read_axes(t, a[0], a[1]);
    if (t->status != SC_OK) return &t->poisoned;
    if (sc_x_truth(a[3])) return CALL(t, _fft_r2c, a[0], listed(t, &at), a[2], X_TRUE);
    const int64_t last = at.dims[--at.count];
    sc_x pairs = half_spectrum(t, a[0], last, a[2]);
    sc_x other = sc_f_mul(t, pairs, signs(t, sc_x_dtype_of(a[0])));
    pairs = joined(t, pairs, other, last, sc_x_size(a[0], last));
    for (uint32_t i = 0; i < at.count && t->status == SC_OK; i++)
        pairs = along(t, pairs, at.dims[i], a[2], true);
    return as_result(t, pairs);
}

// --- Half spectra to real numbers ----------------------------------------------------------------

// Numbers H with H(k) = re X(k) - im X(k), for the whole spectrum X of the given half. The real
// part less the imaginary part of the transform of H are the numbers with the spectrum X.
static sc_x hartley(sc_trace *t, sc_x pairs, uint32_t dim, sc_dim n) {
    const int64_t last = sc_x_rank(pairs) - 1;
    const sc_dim one = sc_dim_int(1), size = sc_x_size(pairs, dim);
    const sc_dim half = sc_trace_floordiv(t, sc_trace_sub(t, n, one), sc_dim_int(2));
    const sc_dim end = sc_trace_add(t, half, one);
    sc_x re = sc_f_select(t, pairs, last, 0), im = sc_f_select(t, pairs, last, 1), parts[4];
    uint32_t count = 0;
    parts[count++] = sc_f_slice_first(t, re, dim, one);
    if (!sc_dim_equal(end, one))
        parts[count++] = sc_f_slice_range(t, sc_f_sub(t, re, im), dim, one, end);
    if (!sc_dim_equal(end, size)) parts[count++] = sc_f_slice_range(t, re, dim, end, size);
    if (!sc_dim_equal(end, one)) {
        sc_x rest = sc_f_slice_range(t, sc_f_add(t, re, im), dim, one, end);
        parts[count++] = CALL(t, flip, rest, X_INTS(t, (int64_t)dim));
    }
    return sc_f_cat(t, parts, count, dim);
}

static sc_x to_real(sc_trace *t, sc_x pairs, int64_t dim, sc_dim n, sc_x norm) {
    const sc_dim half = sc_trace_floordiv(t, n, sc_dim_int(2));
    if (!sc_dim_equal(sc_x_size(pairs, dim), sc_trace_add(t, half, sc_dim_int(1))))
        return sc_official_refuse(t);
    sc_x all = hartley(t, pairs, (uint32_t)dim, n);
    sc_x both = half_spectrum(t, all, dim, norm);
    const int64_t last = sc_x_rank(both) - 1;
    sc_x re = sc_f_select(t, both, last, 0), im = sc_f_select(t, both, last, 1);
    sc_x first = sc_f_sub(t, re, im), rest = sc_f_add(t, re, im);
    return joined(t, first, rest, dim, n);
}

// (self, dim, normalization, last_dim_size)
sc_x sc_official_fft_c2r(sc_trace *t, const sc_x *a) {
    axes at = read_axes(t, a[0], a[1]);
    if (t->status != SC_OK || a[3]->kind != SC_X_INT) return sc_official_refuse(t);
    if (!is_pairs(t->source) || !is_open(t->source))
        return CALL(t, _fft_c2r, a[0], listed(t, &at), a[2], a[3]);
    sc_x pairs = pairs_of(t, a[0]);
    const int64_t last = at.dims[--at.count];
    for (uint32_t i = 0; i < at.count && t->status == SC_OK; i++)
        pairs = along(t, pairs, at.dims[i], a[2], false);
    return to_real(t, pairs, last, a[3]->dim, a[2]);
}

// --- Pairs and complex numbers -------------------------------------------------------------------

bool sc_official_is_complex(const sc_node *node) {
    return sc_dtype_is_complex((sc_dtype)node->outs[0]->spec.dtype);
}

// (size, fill_value, ...), a real number: the official runtime has no kernel for complex ones.
sc_x sc_official_full_complex(sc_trace *t, const sc_x *a) {
    const sc_dtype dtype = sc_dtype_to_real(sc_official_result_dtype(t));
    sc_dim sizes[SC_RANK_MAX + 1];
    const uint32_t rank = sc_x_dim_list(t, a[0], sizes, SC_RANK_MAX - 1);
    if (t->status != SC_OK || !sc_x_is_number(a[1])) return sc_official_refuse(t);
    sizes[rank] = sc_dim_int(1);
    sc_x re = sc_f_full(t, sc_x_dims(t, sizes, rank + 1), a[1], dtype);
    return made(t, sc_f_pad(t, re, rank, 0, 1, sc_x_int(t, 0)));
}

sc_x sc_official_view_as_real(sc_trace *t, const sc_x *a) { return pairs_of(t, a[0]); }
sc_x sc_official_view_as_complex(sc_trace *t, const sc_x *a) { return made(t, a[0]); }
