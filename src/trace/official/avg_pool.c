// Averages over windows of one and three dimensions, by the kernels for two. The mean over depth of
// the means over height and width is the mean of all, because all planes of a window have the same
// number of elements.
#include "trace/official/official.h"

// Halves are averaged in float32, and rounded once.
static sc_x widened(sc_trace *t, sc_x x) {
    if (!sc_x_is_float(x)) sc_official_refuse(t);
    return sc_f_widen(t, x);
}

// [.., depth, h, w] -> [.., depth together with what is before it, h, w], and after pooling
// [.., depth, all of h and w].
static sc_x depth_into_channels(sc_trace *t, sc_x x) {
    const uint32_t rank = sc_x_rank(x);
    sc_dim sizes[SC_RANK_MAX];
    for (uint32_t i = 0; i < rank; i++) sizes[i] = sc_x_size(x, i);
    sizes[rank - 4] = sc_trace_mul(t, sizes[rank - 4], sizes[rank - 3]);
    for (uint32_t i = rank - 3; i + 1 < rank; i++) sizes[i] = sizes[i + 1];
    return sc_f_view(t, x, sizes, rank - 1);
}

static sc_x planes_into_rows(sc_trace *t, sc_x pooled, sc_x x) {
    const uint32_t rank = sc_x_rank(x);
    sc_dim sizes[SC_RANK_MAX];
    for (uint32_t i = 0; i + 1 < rank; i++) sizes[i] = sc_x_size(x, i);
    sizes[rank - 2] = sc_trace_mul(t, sc_x_size(pooled, -2), sc_x_size(pooled, -1));
    return sc_f_view(t, pooled, sizes, rank - 1);
}

static sc_x as_result(sc_trace *t, sc_x x) {
    const sc_spec *out = &t->source->outs[0]->spec;
    return sc_f_to(t, sc_f_view(t, x, out->sizes, out->rank), (sc_dtype)out->dtype);
}

// (self, output_size)
sc_x sc_official_adaptive_avg_pool3d(sc_trace *t, const sc_x *a) {
    sc_x x = widened(t, a[0]);
    if (t->status != SC_OK || sc_x_rank(x) < 4) return sc_official_refuse(t);
    sc_x planes = CALL(t, _adaptive_avg_pool2d, depth_into_channels(t, x),
                       X_LIST(t, sc_x_at(t, a[1], 1), sc_x_at(t, a[1], 2)));
    sc_x rows = planes_into_rows(t, planes, x);
    sc_x width = sc_x_dim(t, sc_x_size(rows, -1));
    return as_result(t, CALL(t, _adaptive_avg_pool2d, rows, X_LIST(t, sc_x_at(t, a[1], 0), width)));
}

static sc_x nth(sc_trace *t, sc_x list, sc_x otherwise, uint32_t i) {
    if (list->kind == SC_X_LIST && list->count == 0) return nth(t, otherwise, X_NONE, i);
    return sc_x_at(t, list, list->kind == SC_X_LIST && list->count == 1 ? 0 : i);
}

static sc_x last_two(sc_trace *t, sc_x list, sc_x otherwise) {
    sc_x first = nth(t, list, otherwise, 1), second = nth(t, list, otherwise, 2);
    return X_LIST(t, first, second);
}

static bool is_number(sc_x x, int64_t number) {
    return x->kind == SC_X_INT && sc_dim_is(x->dim, number);
}

// Is every plane a window of its own?
static bool is_flat(sc_trace *t, const sc_x *a) {
    return is_number(nth(t, a[1], X_NONE, 0), 1) && is_number(nth(t, a[2], a[1], 0), 1) &&
           is_number(nth(t, a[3], X_NONE, 0), 0);
}

// (self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
sc_x sc_official_avg_pool3d(sc_trace *t, const sc_x *a) {
    sc_x x = widened(t, a[0]), one = sc_x_int(t, 1);
    if (t->status != SC_OK || sc_x_rank(x) < 4) return sc_official_refuse(t);
    const bool flat = is_flat(t, a);
    sc_x planes = CALL(t, avg_pool2d, depth_into_channels(t, x), last_two(t, a[1], X_NONE),
                       last_two(t, a[2], a[1]), last_two(t, a[3], X_NONE), a[4], a[5],
                       flat || sc_x_is_none(a[6]) ? a[6] : one);
    if (flat) return as_result(t, planes);
    sc_x kernel = X_LIST(t, nth(t, a[1], X_NONE, 0), one);
    sc_x stride = X_LIST(t, nth(t, a[2], a[1], 0), one);
    sc_x padding = X_LIST(t, nth(t, a[3], X_NONE, 0), sc_x_int(t, 0));
    sc_x rows = planes_into_rows(t, planes, x);
    return as_result(t, CALL(t, avg_pool2d, rows, kernel, stride, padding, a[4], a[5], a[6]));
}

// A row is a plane of height one.
static sc_x pair(sc_trace *t, sc_x list, int64_t first) {
    if (list->kind == SC_X_LIST && list->count == 0) return list;
    return X_LIST(t, sc_x_int(t, first), nth(t, list, X_NONE, 0));
}

// (self, kernel_size, stride, padding, ceil_mode, count_include_pad)
sc_x sc_official_avg_pool1d(sc_trace *t, const sc_x *a) {
    sc_x x = sc_f_unsqueeze(t, widened(t, a[0]), -2);
    return as_result(t, CALL(t, avg_pool2d, x, pair(t, a[1], 1), pair(t, a[2], 1), pair(t, a[3], 0),
                             a[4], a[5]));
}

// (self, output_size)
sc_x sc_official_adaptive_avg_pool1d(sc_trace *t, const sc_x *a) {
    sc_x x = sc_f_unsqueeze(t, widened(t, a[0]), -2);
    return as_result(t, CALL(t, _adaptive_avg_pool2d, x, pair(t, a[1], 1)));
}
