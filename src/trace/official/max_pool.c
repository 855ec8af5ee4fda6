// Largest elements of windows, one dim after the other: the maximum of slices, one for each place
// in the window. With indices, the places go along with the elements, and ties are decided as in
// PyTorch: the first of equal elements in row-major order, the last of NaNs. A window over a whole
// image needs no known size, because it is an amax.
#include "trace/official/official.h"

typedef struct peaks {
    sc_x value;
    sc_x place;      // in the whole image; NULL: nobody asks
    bool is_padded;  // with places of -1
} peaks;

typedef struct window {
    int64_t taps, stride, dilation;
    sc_dim span;  // from the first element that a tap takes to behind the last: `stride` apart
} window;

static peaks larger(sc_trace *t, peaks a, peaks b) {
    if (!a.place) return (peaks){.value = CALL(t, maximum, a.value, b.value)};
    sc_x take = CALL(t, gt_Tensor, b.value, a.value);
    if (sc_x_is_float(b.value)) take = sc_f_or(t, take, CALL(t, isnan, b.value));
    if (a.is_padded) take = sc_f_or(t, take, CALL(t, lt_Scalar, a.place, sc_x_int(t, 0)));
    a.value = sc_f_where(t, take, b.value, a.value);
    a.place = sc_f_where(t, take, b.place, a.place);
    return a;
}

static sc_x part(sc_trace *t, sc_x x, int64_t dim, window w, int64_t start) {
    const uint32_t at = (uint32_t)(sc_x_rank(x) + dim);
    return sc_f_slice_strided(t, x, at, start, w.span, w.stride);
}

static peaks tap(sc_trace *t, peaks p, int64_t dim, window w, int64_t at) {
    p.value = part(t, p.value, dim, w, at * w.dilation);
    if (p.place) p.place = part(t, p.place, dim, w, at * w.dilation);
    return p;
}

// `dim` counts from the end.
static peaks pool(sc_trace *t, peaks p, int64_t dim, window w) {
    peaks best = tap(t, p, dim, w, 0);
    for (int64_t at = 1; at < w.taps && t->status == SC_OK; at++)
        best = larger(t, best, tap(t, p, dim, w, at));
    return best;
}

// The place of each element in the last `dims` dims.
static sc_x places(sc_trace *t, sc_x x, uint32_t dims) {
    const sc_spec *spec = sc_x_spec(x);
    sc_dim count = sc_trace_product(t, spec->sizes + spec->rank - dims, dims);
    sc_x all = sc_f_range(t, sc_x_dim(t, count), SC_DTYPE_I64);
    return sc_f_view(t, all, spec->sizes + spec->rank - dims, dims);
}

static sc_x results(sc_trace *t, peaks p) {
    const sc_spec *out = &t->source->outs[0]->spec;
    if (p.place && !sc_spec_same_sizes(sc_x_spec(p.place), out))
        p.place = sc_f_expand(t, p.place, out->sizes, out->rank);
    return X_LIST(t, p.value, p.place ? p.place : X_NONE);
}

static int64_t number_at(const int64_t *list, uint32_t count, uint32_t i, int64_t otherwise) {
    return count == 0 ? otherwise : list[count == 1 ? 0 : i];
}

static int64_t reach(window w) { return w.dilation * (w.taps - 1); }

// The part of a dim in which its windows start. For open sizes it is written so that as many
// windows start there as the result has: whole strides in `room`, more room with `ceil_mode`, and
// one window less if the last would start behind the image.
static sc_dim span_of(sc_trace *t, window w, sc_dim size, sc_dim count, int64_t border, bool ceil) {
    const int64_t around = 2 * border - reach(w) - 1 + (ceil ? w.stride - 1 : 0);
    sc_dim stride = sc_dim_int(w.stride), one = sc_dim_int(1);
    if (!size.expr && !count.expr) return sc_dim_int((count.value - 1) * w.stride + 1);
    sc_dim room = sc_trace_add(t, size, sc_dim_int(around));
    sc_dim most = sc_dim_add(t->exprs, sc_dim_floordiv(t->exprs, room, stride), one);
    if (!sc_dim_equal(most, count)) room = sc_trace_add(t, room, sc_dim_int(-w.stride));
    return sc_trace_add(t, room, one);
}

// The border that windows reach into: as much as they need, which `ceil_mode` may make more.
static peaks bordered(sc_trace *t, peaks p, const window *w, const int64_t *border, uint32_t dims) {
    int64_t pad[6] = {0};
    bool any = false;
    for (uint32_t i = 0; i < dims; i++) {
        const sc_dim size = sc_x_size(p.value, (int64_t)i - dims);
        const sc_dim rest = sc_dim_sub(t->exprs, w[i].span, size);
        if (rest.expr) sc_official_refuse(t);
        const int64_t after = rest.value + reach(w[i]) - border[i];
        pad[2 * (dims - 1 - i)] = border[i];
        pad[2 * (dims - 1 - i) + 1] = after > 0 ? after : 0;
        any = any || border[i] > 0 || after > 0;
    }
    if (!any || t->status != SC_OK) return p;
    sc_x lowest = sc_f_lowest(t, sc_x_dtype_of(p.value)), list = sc_x_ints(t, pad, 2 * dims);
    p.value = CALL(t, constant_pad_nd, p.value, list, lowest);
    if (p.place) p.place = CALL(t, constant_pad_nd, p.place, list, sc_x_int(t, -1));
    p.is_padded = true;
    return p;
}

// With places, the expansion takes longer than the kernel.
bool sc_official_is_large_alone(const sc_node *node) {
    return node->outs[1]->use_count == 0 && sc_official_is_large(node);
}

// (self, kernel_size, stride, padding, dilation, ceil_mode)
sc_x sc_official_max_pool3d(sc_trace *t, const sc_x *a) {
    int64_t lists[4][3], border[3];
    uint32_t counts[4];
    window w[3];
    const sc_spec *out = &t->source->outs[0]->spec;
    if (out->rank < 3 || sc_x_rank(a[0]) != out->rank) return sc_official_refuse(t);
    peaks p = {.value = a[0], .place = sc_official_wants(t, 1) ? places(t, a[0], 3) : NULL};
    for (uint32_t i = 0; i < 4; i++) counts[i] = sc_x_int_list(t, a[i + 1], lists[i], 3);
    for (uint32_t i = 0; i < 3 && t->status == SC_OK; i++) {
        w[i].taps = number_at(lists[0], counts[0], i, 1);
        w[i].stride = number_at(lists[1], counts[1], i, w[i].taps);
        border[i] = number_at(lists[2], counts[2], i, 0);
        w[i].dilation = number_at(lists[3], counts[3], i, 1);
        w[i].span = span_of(t, w[i], sc_x_size(a[0], (int64_t)i - 3), out->sizes[out->rank - 3 + i],
                            border[i], sc_x_truth(a[5]));
    }
    if (t->status == SC_OK) p = bordered(t, p, w, border, 3);
    for (uint32_t i = 3; i-- > 0 && t->status == SC_OK;) p = pool(t, p, (int64_t)i - 3, w[i]);
    return results(t, p);
}

// --- Windows by the size of the result -----------------------------------------------------------

static sc_x floor_div(sc_trace *t, sc_x x, sc_x by) {
    return CALL(t, div_Tensor_mode, x, by, sc_x_str(t, "floor"));
}

// A number as an operand of whole numbers.
static sc_x operand(sc_trace *t, sc_dim number) {
    sc_x x = sc_x_dim(t, number);
    return number.expr ? sc_f_scalar(t, x, SC_DTYPE_I64) : x;
}

// The elements of all windows, window after window; the last one again where a window is smaller
// than others.
static sc_x window_places(sc_trace *t, sc_dim size, sc_dim count, sc_dim taps) {
    const sc_dim all = sc_trace_mul(t, count, taps), rest = sc_trace_add(t, size, sc_dim_int(-1));
    sc_x each = sc_f_places(t, count, 0, 2), by = operand(t, count);
    sc_x at = sc_f_mul(t, each, operand(t, size));
    sc_x start = floor_div(t, at, by);
    sc_x last = floor_div(t, sc_f_add(t, at, operand(t, rest)), by);
    sc_x place = sc_f_add(t, start, sc_f_places(t, taps, 1, 2));
    return sc_f_view(t, CALL(t, minimum, place, last), &all, 1);
}

static sc_x selected(sc_trace *t, sc_x x, int64_t dim, sc_x at) {
    return CALL(t, index_select, x, sc_x_int(t, sc_x_rank(x) + dim), at);
}

// Window i is from i * size / count, rounded down, to (i + 1) * size / count, rounded up: with a
// rest r it reaches into one element more than size / count at least; into another one unless all
// windows begin or end at a whole element, where r divides the count.
static int64_t largest_window(int64_t size, int64_t count) {
    const int64_t rest = size % count;
    return size / count + (rest == 0 ? 0 : count % rest == 0 ? 1 : 2);
}

static peaks adapt_known(sc_trace *t, peaks p, int64_t dim, int64_t size, int64_t count) {
    if (t->status != SC_OK || count < 1 || size < 1 || size > INT32_MAX || count > INT32_MAX) {
        sc_official_refuse(t);
        return p;
    }
    const int64_t taps = largest_window(size, count);
    const window w = {taps, taps, 1, sc_dim_int((count - 1) * taps + 1)};
    if (size % count != 0) {
        sc_x at = window_places(t, sc_dim_int(size), sc_dim_int(count), sc_dim_int(taps));
        p.value = selected(t, p.value, dim, at);
        if (p.place) p.place = selected(t, p.place, dim, at);
    }
    return pool(t, p, dim, w);
}

// Views a dim as windows. Another dim has the elements of each window.
static sc_x split(sc_trace *t, sc_x x, int64_t dim, sc_dim count, sc_dim taps) {
    const uint32_t rank = sc_x_rank(x), at = (uint32_t)(rank + dim);
    sc_dim sizes[SC_RANK_MAX + 1];
    if (rank >= SC_RANK_MAX) return sc_official_refuse(t);
    for (uint32_t i = 0; i < rank; i++) sizes[i < at ? i : i + 1] = sc_x_size(x, i);
    sizes[at] = count;
    sizes[at + 1] = taps;
    return sc_f_view(t, x, sizes, rank + 1);
}

// The place of the last NaN, else of the first that is as large as `best`: places grow along a dim.
static sc_x place_of(sc_trace *t, peaks p, sc_x best, sc_x along) {
    sc_x most = sc_x_int(t, INT64_MAX), absent = sc_x_int(t, -1);
    sc_x equal = sc_f_where_else(t, CALL(t, eq_Tensor, p.value, best), p.place, most);
    sc_x first = CALL(t, amin, equal, along, X_FALSE);
    if (!sc_x_is_float(p.value)) return first;
    sc_x nan = sc_f_where_else(t, CALL(t, isnan, p.value), p.place, absent);
    sc_x last = sc_official_amax_of(t, nan, along, X_FALSE);
    return sc_f_where(t, CALL(t, ge_Scalar, last, sc_x_int(t, 0)), last, first);
}

// Pooling of open sizes: windows become a dim of their own, as large as the largest can be.
static peaks adapt_open(sc_trace *t, peaks p, int64_t dim, sc_dim size, sc_dim count) {
    const sc_dim taps = sc_trace_add(t, sc_trace_floordiv(t, size, count), sc_dim_int(2));
    sc_x at = window_places(t, size, count, taps), along = X_INTS(t, dim);
    p.value = split(t, selected(t, p.value, dim, at), dim, count, taps);
    if (!p.place) return (peaks){.value = sc_official_amax_of(t, p.value, along, X_FALSE)};
    p.place = split(t, selected(t, p.place, dim, at), dim, count, taps);
    sc_x best = sc_official_amax_of(t, p.value, along, X_TRUE);
    sc_x place = place_of(t, p, best, along);
    return (peaks){.value = sc_f_squeeze(t, best, dim), .place = place};
}

static peaks adapt(sc_trace *t, peaks p, int64_t dim, sc_dim count) {
    const sc_dim size = sc_x_size(p.value, dim);
    if (sc_dim_equal(size, count)) return p;
    if (size.expr || count.expr) return adapt_open(t, p, dim, size, count);
    return adapt_known(t, p, dim, size.value, count.value);
}

// Is there one window, over all of an image whose size is open?
static bool is_global(const sc_spec *self, const sc_spec *out, int64_t dims) {
    bool is_open = false;
    for (int64_t i = 1; i <= dims; i++) {
        if (!sc_dim_is(out->sizes[out->rank - i], 1)) return false;
        is_open = is_open || self->sizes[self->rank - i].expr;
    }
    return is_open;
}

// The last NaN, else the first of the largest.
static sc_x place_of_largest(sc_trace *t, sc_x x, uint32_t dims) {
    const uint32_t rank = sc_x_rank(x) - dims;
    sc_dim sizes[SC_RANK_MAX + 1];
    for (uint32_t i = 0; i < rank; i++) sizes[i] = sc_x_size(x, i);
    sizes[rank] = sc_trace_product(t, sc_x_spec(x)->sizes + rank, dims);
    x = sc_f_reshape(t, x, sizes, rank + 1);
    sc_x along = sc_x_int(t, rank), place = CALL(t, argmax, x, along, X_TRUE);
    if (!sc_x_is_float(x)) return place;
    sc_x each = sc_f_places(t, sizes[rank], rank, rank + 1), nan = CALL(t, isnan, x);
    sc_x at = sc_f_where_else(t, nan, each, sc_x_int(t, -1));
    sc_x last = sc_official_amax_of(t, at, X_LIST(t, along), X_TRUE);
    return sc_f_where(t, CALL(t, ge_Scalar, last, sc_x_int(t, 0)), last, place);
}

static sc_x pool_all(sc_trace *t, sc_x x, uint32_t dims) {
    const sc_spec *out = &t->source->outs[0]->spec;
    int64_t list[3] = {-1, -2, -3};
    sc_x value = sc_official_amax_of(t, x, sc_x_ints(t, list, dims), X_TRUE), place = X_NONE;
    if (sc_official_wants(t, 1))
        place = sc_f_view(t, place_of_largest(t, x, dims), out->sizes, out->rank);
    return X_LIST(t, value, place);
}

// (self, output_size), of two or three dims
sc_x sc_official_adaptive_max_pool(sc_trace *t, const sc_x *a) {
    const int64_t dims = a[1]->kind == SC_X_LIST ? a[1]->count : 0;
    const sc_spec *out = &t->source->outs[0]->spec;
    if (dims < 1 || dims > 3 || dims >= sc_x_rank(a[0]) || out->rank <= dims)
        return sc_official_refuse(t);
    if (is_global(sc_x_spec(a[0]), out, dims)) return pool_all(t, a[0], (uint32_t)dims);
    peaks p = {.value = a[0],
               .place = sc_official_wants(t, 1) ? places(t, a[0], (uint32_t)dims) : NULL};
    for (int64_t dim = -1; dim >= -dims && t->status == SC_OK; dim--)
        p = adapt(t, p, dim, out->sizes[out->rank + dim]);
    return results(t, p);
}
