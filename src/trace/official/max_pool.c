// Largest elements of windows, a dim after the other: the larger of two is asked of slices, one for
// each place in the window. With indices, places travel along with the elements, and the choice is
// PyTorch's: of equals the first in row-major order, of NaNs the last. A window over all of an
// image needs no known size: it is an amax.
#include "trace/official/official.h"

typedef struct peaks {
    sc_x value;
    sc_x place;      // in the whole image; NULL: nobody asks
    bool is_padded;  // with places of -1
} peaks;

typedef struct window {
    int64_t taps, stride, dilation, count;
} window;

static peaks larger(sc_trace *t, peaks a, peaks b) {
    if (!a.place) return (peaks){.value = CALL(t, maximum, a.value, b.value)};
    sc_x take = CALL(t, gt_Tensor, b.value, a.value);
    if (sc_x_is_float(b.value)) take = sc_o_or(t, take, CALL(t, isnan, b.value));
    if (a.is_padded) take = sc_o_or(t, take, CALL(t, lt_Scalar, a.place, sc_x_int(t, 0)));
    a.value = sc_a_where(t, take, b.value, a.value);
    a.place = sc_a_where(t, take, b.place, a.place);
    return a;
}

static peaks tap(sc_trace *t, peaks p, int64_t dim, window w, int64_t at) {
    const int64_t start = at * w.dilation;
    p.value = sc_o_steps(t, p.value, dim, start, w.count, w.stride);
    if (p.place) p.place = sc_o_steps(t, p.place, dim, start, w.count, w.stride);
    return p;
}

// `dim` counts from the end.
static peaks pool(sc_trace *t, peaks p, int64_t dim, window w) {
    peaks best = tap(t, p, dim, w, 0);
    for (int64_t at = 1; at < w.taps && t->status == SC_OK; at++)
        best = larger(t, best, tap(t, p, dim, w, at));
    return best;
}

// Where each element lies in the last `dims` dims.
static sc_x places(sc_trace *t, sc_x x, uint32_t dims) {
    const sc_spec *spec = sc_x_spec(x);
    sc_dim count = sc_trace_product(t, spec->sizes + spec->rank - dims, dims);
    sc_x all = sc_f_arange(t, sc_x_int(t, 0), sc_x_dim(t, count), SC_DTYPE_I64);
    return sc_f_view(t, all, spec->sizes + spec->rank - dims, dims);
}

static sc_x results(sc_trace *t, peaks p) {
    const sc_spec *out = &t->source->outs[0]->spec;
    if (p.place && !sc_spec_same_sizes(sc_x_spec(p.place), out))
        p.place = sc_f_expand(t, p.place, out->sizes, out->rank);
    return X_LIST(t, p.value, p.place ? p.place : X_NONE);
}

static int64_t size_of(sc_trace *t, const sc_spec *spec, int64_t dim) {
    const int64_t at = spec->rank + dim;
    if (at >= 0) return sc_o_known(t, spec->sizes[at], SC_LIMIT_KNOWN_IMAGES);
    sc_o_refuse(t);
    return 0;
}

static int64_t number_at(const int64_t *list, uint32_t count, uint32_t i, int64_t otherwise) {
    return count == 0 ? otherwise : list[count == 1 ? 0 : i];
}

// The border that windows reach into: as much as they need, which `ceil_mode` may make more.
static peaks bordered(sc_trace *t, peaks p, const window *w, const int64_t *border, uint32_t dims) {
    int64_t pad[6] = {0};
    bool any = false;
    for (uint32_t i = 0; i < dims; i++) {
        const int64_t dim = (int64_t)i - dims, size = size_of(t, sc_x_spec(p.value), dim);
        int64_t after =
            (w[i].count - 1) * w[i].stride + w[i].dilation * (w[i].taps - 1) + 1 - size - border[i];
        pad[2 * (dims - 1 - i)] = border[i];
        pad[2 * (dims - 1 - i) + 1] = after > 0 ? after : 0;
        any = any || border[i] > 0 || after > 0;
    }
    if (!any || t->status != SC_OK) return p;
    sc_x lowest = sc_o_lowest(t, sc_x_dtype_of(p.value)), list = sc_x_ints(t, pad, 2 * dims);
    p.value = CALL(t, constant_pad_nd, p.value, list, lowest);
    if (p.place) p.place = CALL(t, constant_pad_nd, p.place, list, sc_x_int(t, -1));
    p.is_padded = true;
    return p;
}

// Places take longer to carry along than the kernel takes.
bool sc_official_is_large_alone(const sc_node *node) {
    return node->outs[1]->use_count == 0 && sc_official_is_large(node);
}

// (self, kernel_size, stride, padding, dilation, ceil_mode)
sc_x sc_official_max_pool3d(sc_trace *t, const sc_x *a) {
    int64_t lists[4][3], border[3];
    uint32_t counts[4];
    window w[3];
    const sc_spec *out = &t->source->outs[0]->spec;
    peaks p = {.value = a[0], .place = sc_o_wants(t, 1) ? places(t, a[0], 3) : NULL};
    for (uint32_t i = 0; i < 4; i++) counts[i] = sc_x_int_list(t, a[i + 1], lists[i], 3);
    for (uint32_t i = 0; i < 3 && t->status == SC_OK; i++) {
        w[i].taps = number_at(lists[0], counts[0], i, 1);
        w[i].stride = number_at(lists[1], counts[1], i, w[i].taps);
        border[i] = number_at(lists[2], counts[2], i, 0);
        w[i].dilation = number_at(lists[3], counts[3], i, 1);
        w[i].count = size_of(t, out, (int64_t)i - 3);
    }
    if (t->status == SC_OK) p = bordered(t, p, w, border, 3);
    for (uint32_t i = 3; i-- > 0 && t->status == SC_OK;) p = pool(t, p, (int64_t)i - 3, w[i]);
    return results(t, p);
}

// --- Windows by the size of the result -----------------------------------------------------------

static sc_x floor_div(sc_trace *t, sc_x x, int64_t by) {
    return CALL(t, div_Tensor_mode, x, sc_x_int(t, by), sc_x_str(t, "floor"));
}

// The elements of all windows, window after window; the last one again where a window is smaller
// than others.
static sc_x window_places(sc_trace *t, int64_t size, int64_t count, int64_t taps) {
    const sc_dim all = sc_dim_int(count * taps);
    sc_x at = CALL(t, mul_Tensor, sc_o_places(t, sc_dim_int(count), 0, 2), sc_x_int(t, size));
    sc_x start = floor_div(t, at, count);
    sc_x last = floor_div(t, CALL(t, add_Tensor, at, sc_x_int(t, size - 1)), count);
    sc_x place = CALL(t, add_Tensor, start, sc_o_places(t, sc_dim_int(taps), 1, 2));
    return sc_f_view(t, CALL(t, minimum, place, last), &all, 1);
}

// Window i is from i * size / count, rounded down, to (i + 1) * size / count, rounded up: with a
// rest r it reaches into one element more than size / count at least; into another one unless all
// windows begin or end at a whole element, where r divides the count.
static int64_t largest_window(int64_t size, int64_t count) {
    const int64_t rest = size % count;
    return size / count + (rest == 0 ? 0 : count % rest == 0 ? 1 : 2);
}

static peaks adapt(sc_trace *t, peaks p, int64_t dim, sc_dim windows) {
    const int64_t size = sc_o_known(t, sc_x_size(p.value, dim), SC_LIMIT_KNOWN_OR_ONE);
    const int64_t count = sc_o_known(t, windows, SC_LIMIT_KNOWN_OR_ONE);
    if (t->status != SC_OK || count < 1 || size < 1 || size > INT32_MAX || count > INT32_MAX) {
        sc_o_refuse(t);
        return p;
    }
    const int64_t taps = largest_window(size, count);
    if (size % count != 0) {
        sc_x at = window_places(t, size, count, taps);
        sc_x value_dim = sc_x_int(t, sc_x_rank(p.value) + dim);
        p.value = CALL(t, index_select, p.value, value_dim, at);
        if (p.place)
            p.place = CALL(t, index_select, p.place, sc_x_int(t, sc_x_rank(p.place) + dim), at);
    }
    return pool(t, p, dim, (window){taps, taps, 1, count});
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
    sc_x each = sc_o_places(t, sizes[rank], rank, rank + 1), nan = CALL(t, isnan, x);
    sc_x at = sc_o_where_else(t, nan, each, sc_x_int(t, -1));
    sc_x last = sc_o_amax(t, at, X_LIST(t, along), X_TRUE);
    return sc_a_where(t, CALL(t, ge_Scalar, last, sc_x_int(t, 0)), last, place);
}

static sc_x pool_all(sc_trace *t, sc_x x, uint32_t dims) {
    const sc_spec *out = &t->source->outs[0]->spec;
    int64_t list[3] = {-1, -2, -3};
    sc_x value = sc_o_amax(t, x, sc_x_ints(t, list, dims), X_TRUE), place = X_NONE;
    if (sc_o_wants(t, 1)) place = sc_f_view(t, place_of_largest(t, x, dims), out->sizes, out->rank);
    return X_LIST(t, value, place);
}

// (self, output_size), of two or three dims
sc_x sc_official_adaptive_max_pool(sc_trace *t, const sc_x *a) {
    const int64_t dims = a[1]->kind == SC_X_LIST ? a[1]->count : 0;
    const sc_spec *out = &t->source->outs[0]->spec;
    if (dims < 1 || dims > 3 || dims >= sc_x_rank(a[0]) || out->rank <= dims) return sc_o_refuse(t);
    if (is_global(sc_x_spec(a[0]), out, dims)) return pool_all(t, a[0], (uint32_t)dims);
    peaks p = {.value = a[0], .place = sc_o_wants(t, 1) ? places(t, a[0], (uint32_t)dims) : NULL};
    for (int64_t dim = -1; dim >= -dims && t->status == SC_OK; dim--)
        p = adapt(t, p, dim, out->sizes[out->rank + dim]);
    return results(t, p);
}
