// Convolutions of three dimensions. Each plane of the result is a convolution of two dimensions.
// Its channels are the channels of the input at each depth that the kernel sees, so the depth of
// the weight becomes a part of its channels, by a view. Only one plane at a time is copied.
//
// A transposed convolution is the same on an input that is spread by the stride and reversed in
// depth. Its planes then come in the opposite order.
//
// If the depth is open or very large, there is one convolution of all frames for each plane of the
// kernel, and the results are added up.
//
// Convolutions of float16 and bfloat16, of any dimensions, are computed in float32 (halves.c).
#include "trace/official/official.h"

enum {
    DEPTH = 2,
    PLANES_MAX = 256  // of a result: more would be longer than a call for each plane of the kernel
};

typedef struct deep {
    sc_x input, weight, bias, groups;
    int64_t stride[3], padding[3], dilation[3], more[3];
    bool transposed;
    int64_t taps;  // of the kernel in depth
} deep;

bool sc_official_is_deep_or_half(const sc_node *node) {
    const sc_arg *input = sc_node_arg(node, "input");
    if (sc_official_is_half(node)) return true;
    return input->kind == SC_ARG_VALUE && input->value->spec.rank == 5;
}

static void spread(int64_t *values, uint32_t count) {
    for (uint32_t i = count; count == 1 && i < 3; i++) values[i] = values[0];
}

static void read_list(sc_trace *t, sc_x list, int64_t *out) {
    for (uint32_t i = 0; list->kind == SC_X_LIST && i < list->count; i++)
        if (list->items[i]->kind == SC_X_INT)
            sc_official_known(t, list->items[i]->dim, SC_LIMIT_KNOWN_STEPS);
    uint32_t count = sc_x_int_list(t, list, out, 3);
    spread(out, count);
    if (count != 1 && count != 3) sc_official_refuse(t);
}

// [out, in / groups, depth, h, w] -> [out, in / groups * depth, h, w]; of a transposed one the
// depth follows the channels that come in, which are the first.
static sc_x flat_weight(sc_trace *t, const deep *d, sc_x weight) {
    static const int64_t taps_second[] = {0, 2, 1, 3, 4};
    sc_dim sizes[4] = {sc_x_size(weight, 0), sc_x_size(weight, 1), sc_x_size(weight, 3),
                       sc_x_size(weight, 4)};
    const uint32_t into = d->transposed ? 0 : 1;
    if (d->transposed) weight = sc_f_permute(t, weight, taps_second);
    sizes[into] = sc_dim_mul(t->exprs, sizes[into], sc_dim_int(d->taps));
    return sc_f_view(t, weight, sizes, 4);
}

// `stride` - 1 planes of zeros after each but the last.
static sc_x spread_depth(sc_trace *t, sc_x x, int64_t stride) {
    sc_dim sizes[6];
    const int64_t depth = sc_x_static_size(t, x, DEPTH);
    if (stride == 1 || t->status != SC_OK) return x;
    for (uint32_t i = 0; i < 5; i++) sizes[i < 3 ? i : i + 1] = sc_x_size(x, i);
    sizes[3] = sc_dim_int(1);
    x = sc_f_view(t, x, sizes, 6);
    x = sc_f_pad(t, x, 3, 0, stride - 1, sc_x_int(t, 0));
    for (uint32_t i = 3; i < 5; i++) sizes[i] = sizes[i + 1];
    sizes[DEPTH] = sc_dim_int(depth * stride);
    return sc_f_slice_steps(t, sc_f_view(t, x, sizes, 5), DEPTH, 0, (depth - 1) * stride + 1, 1);
}

// The same call in two dimensions.
static sc_x flat_convolution(sc_trace *t, const deep *d, sc_x x, sc_x weight, sc_x bias) {
    return CALL(t, convolution, x, weight, bias, sc_x_ints(t, d->stride + 1, 2),
                sc_x_ints(t, d->padding + 1, 2), sc_x_ints(t, d->dilation + 1, 2),
                sc_x_bool(d->transposed), sc_x_ints(t, d->more + 1, 2), d->groups);
}

// The planes from `start` on that one plane of the result is made of.
static sc_x plane(sc_trace *t, const deep *d, int64_t start) {
    sc_x x = sc_f_slice_steps(t, d->input, DEPTH, start, d->taps, d->dilation[0]);
    sc_dim sizes[4] = {sc_x_size(x, 0), sc_x_size(x, 1), sc_x_size(x, 3), sc_x_size(x, 4)};
    sizes[1] = sc_dim_mul(t->exprs, sizes[1], sc_dim_int(d->taps));
    x = flat_convolution(t, d, sc_f_view(t, x, sizes, 4), d->weight, d->bias);
    return sc_f_unsqueeze(t, x, DEPTH);
}

// The distance of the first plane of the result from the start, and the distance between planes.
static void prepare(sc_trace *t, deep *d, int64_t *first, int64_t *step) {
    const int64_t reach = d->dilation[0] * (d->taps - 1), edge = d->padding[0];
    *first = 0;
    *step = d->stride[0];
    if (!d->transposed) {
        d->input = sc_f_pad(t, d->input, DEPTH, edge, edge, sc_x_int(t, 0));
        return;
    }
    d->input = spread_depth(t, CALL(t, flip, d->input, X_INTS(t, DEPTH)), d->stride[0]);
    const int64_t before = reach + d->more[0] - edge, after = reach - edge;
    *first = sc_x_static_size(t, d->input, DEPTH) - 1 - edge + (before > 0 ? before : 0);
    *step = -1;
    d->input = sc_f_pad(t, d->input, DEPTH, before > 0 ? before : 0, after > 0 ? after : 0,
                        sc_x_int(t, 0));
}

static sc_x by_planes(sc_trace *t, deep *d, int64_t count) {
    sc_x planes[PLANES_MAX];
    int64_t first, step;
    d->weight = flat_weight(t, d, d->weight);
    prepare(t, d, &first, &step);
    for (int64_t i = 0; i < count && t->status == SC_OK; i++)
        planes[i] = plane(t, d, first + i * step);
    return sc_f_cat(t, planes, t->status == SC_OK ? (uint32_t)count : 0, DEPTH);
}

// --- By planes of the kernel ---------------------------------------------------------------------

// [n, channels, depth, h, w] -> [n, depth, channels, h, w], and back.
static sc_x swapped(sc_trace *t, sc_x x) {
    static const int64_t depth_second[] = {0, 2, 1, 3, 4};
    return sc_f_permute(t, x, depth_second);
}

// The convolution of frames, [n, depth, channels, h, w], with plane k of the kernel.
static sc_x tap(sc_trace *t, const deep *d, sc_x x, int64_t k, sc_x bias) {
    sc_dim sizes[5] = {sc_trace_mul(t, sc_x_size(x, 0), sc_x_size(x, 1)), sc_x_size(x, 2),
                       sc_x_size(x, 3), sc_x_size(x, 4)};
    sc_x images = sc_f_view(t, x, sizes, 4), weight = sc_f_select(t, d->weight, DEPTH, k);
    sc_x made = flat_convolution(t, d, images, weight, bias);
    for (uint32_t i = 0; i < 5; i++) sizes[i] = i < 2 ? sc_x_size(x, i) : sc_x_size(made, i - 1);
    return sc_f_view(t, made, sizes, 5);
}

static sc_x gathered(sc_trace *t, const deep *d) {
    sc_x sum = NULL, zero = sc_x_int(t, 0), bias = d->bias;
    const int64_t reach = d->dilation[0] * (d->taps - 1);
    sc_x x = sc_f_pad(t, swapped(t, d->input), 1, d->padding[0], d->padding[0], zero);
    const sc_dim span = sc_trace_add(t, sc_x_size(x, 1), sc_dim_int(-reach));
    for (int64_t k = 0; k < d->taps && t->status == SC_OK; k++, bias = X_NONE) {
        sc_x seen = sc_f_slice_strided(t, x, 1, k * d->dilation[0], span, d->stride[0]);
        sc_x made = tap(t, d, seen, k, bias);
        sum = sum ? sc_f_add(t, sum, made) : made;
    }
    return sum;
}

// Puts `stride` - 1 frames of zeros after each frame.
static sc_x spread_frames(sc_trace *t, sc_x x, int64_t stride) {
    sc_dim sizes[6];
    if (stride == 1) return x;
    for (uint32_t i = 0; i < 5; i++) sizes[i < 2 ? i : i + 1] = sc_x_size(x, i);
    sizes[2] = sc_dim_int(1);
    x = sc_f_pad(t, sc_f_view(t, x, sizes, 6), 2, 0, stride - 1, sc_x_int(t, 0));
    for (uint32_t i = 2; i < 5; i++) sizes[i] = sizes[i + 1];
    sizes[1] = sc_trace_mul(t, sizes[1], sc_dim_int(stride));
    return sc_f_view(t, x, sizes, 5);
}

// Frames more before and after, of a dim that stays; fewer where negative.
static sc_x moved(sc_trace *t, sc_x x, int64_t before, int64_t after) {
    x = sc_f_pad(t, x, 1, before > 0 ? before : 0, after > 0 ? after : 0, sc_x_int(t, 0));
    const int64_t first = before < 0 ? -before : 0, less = after < 0 ? after : 0;
    return sc_f_slice_range(t, x, 1, sc_dim_int(first),
                            sc_trace_add(t, sc_x_size(x, 1), sc_dim_int(less)));
}

// Frame i goes to frame i * stride - padding of the result, and each plane of the kernel one
// dilation further. The frames in between and the bias are added last.
static sc_x scattered(sc_trace *t, const deep *d) {
    sc_x sum = NULL, x = swapped(t, d->input);
    const int64_t reach = d->dilation[0] * (d->taps - 1), edge = d->padding[0];
    const int64_t rest = reach - 2 * edge + d->more[0] + 1 - d->stride[0];
    for (int64_t k = 0; k < d->taps && t->status == SC_OK; k++) {
        const int64_t before = k * d->dilation[0] - edge;
        sc_x made = spread_frames(t, tap(t, d, x, k, X_NONE), d->stride[0]);
        made = moved(t, made, before, rest - before);
        sum = sum ? sc_f_add(t, sum, made) : made;
    }
    if (!sum || sc_x_is_none(d->bias)) return sum;
    const sc_dim channels[3] = {sc_x_size(d->bias, 0), sc_dim_int(1), sc_dim_int(1)};
    return sc_f_add(t, sum, sc_f_view(t, d->bias, channels, 3));
}

static sc_x by_taps(sc_trace *t, const deep *d) {
    sc_x sum = d->transposed ? scattered(t, d) : gathered(t, d);
    return sum ? swapped(t, sum) : sc_official_refuse(t);
}

// (input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
sc_x sc_official_convolution(sc_trace *t, const sc_x *a) {
    deep d = {.input = a[0], .weight = a[1], .bias = a[2], .groups = a[8]};
    const sc_spec *out = &t->source->outs[0]->spec;
    if (sc_official_is_half(t->source)) return sc_official_in_float(t, a);
    if (out->rank != 5 || sc_x_rank(a[1]) != 5) return sc_official_refuse(t);
    d.transposed = sc_x_truth(a[6]);
    read_list(t, a[3], d.stride);
    read_list(t, a[4], d.padding);
    read_list(t, a[5], d.dilation);
    read_list(t, a[7], d.more);
    d.taps = sc_official_known(t, sc_x_size(a[1], DEPTH), SC_LIMIT_KNOWN_KERNELS);
    const sc_dim count = out->sizes[DEPTH], depth = sc_x_size(a[0], DEPTH);
    if (t->status != SC_OK || d.taps < 1) return sc_official_refuse(t);
    if (count.expr || depth.expr || count.value > PLANES_MAX) return by_taps(t, &d);
    return count.value < 1 ? sc_official_refuse(t) : by_planes(t, &d, count.value);
}
