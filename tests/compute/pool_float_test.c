// Pooling of floats against windows written out, along one to three axes, in both layouts and in
// ranges of tiles.
#include "compute/pool_nd.h"

#include <math.h>

#include "compute/rows.h"
#include "harness.h"

typedef struct found {
    double most, sum;
    int64_t index, count, padded;
} found;

// The positions that the result's position `at` covers, one by one.
static found window_of(const sc_nd_pooling *p, const float *in, const int64_t *at) {
    const sc_pool_axis *a = p->windows.axes;
    found f = {.most = -INFINITY, .index = -1};
    int64_t from[3], to[3], step[3];
    for (int d = 0; d < 3; d++) {
        const bool shares = p->windows.is_adaptive;
        from[d] = shares ? at[d] * a[d].in / a[d].out : at[d] * a[d].step - a[d].pad;
        to[d] = shares ? ((at[d] + 1) * a[d].in + a[d].out - 1) / a[d].out
                       : from[d] + a[d].kernel * a[d].dilation;
        step[d] = shares ? 1 : a[d].dilation;
    }
    for (int64_t x = from[0]; x < to[0]; x += step[0])
        for (int64_t y = from[1]; y < to[1]; y += step[1])
            for (int64_t z = from[2]; z < to[2]; z += step[2]) {
                const int64_t place[] = {x, y, z};
                bool is_padded = true, is_inside = true;
                for (int d = 0; d < 3; d++) {
                    is_padded = is_padded && place[d] < a[d].in + a[d].pad;
                    is_inside = is_inside && place[d] >= 0 && place[d] < a[d].in;
                }
                f.padded += is_padded;
                if (!is_inside) continue;
                const double v = (double)in[sc_pool_offset(&p->windows, x, y, z)];
                if (v > f.most || f.index < 0) f.index = sc_pool_index(&p->windows, x, y, z);
                f.most = fmax(f.most, v);
                f.sum += v;
                f.count++;
            }
    return f;
}

static void check_at(const sc_nd_pooling *p, int64_t image, int64_t channel, const int64_t *at) {
    const sc_pool_axis *a = p->windows.axes;
    const float *output = p->output;
    const float *in = (const float *)p->input + image * p->in_image + channel * p->in_channel;
    const int64_t to = image * p->out_image + channel * p->out_channel + at[0] * a[0].out_stride +
                       at[1] * a[1].out_stride + at[2] * a[2].out_stride;
    const found f = window_of(p, in, at);
    const bool counts_pad = p->windows.counts_pad && !p->windows.is_adaptive;
    const int64_t size = counts_pad ? f.padded : f.count;
    const double divisor = (double)(p->windows.divisor ? p->windows.divisor : size);
    const float expected = p->indices ? (float)f.most : (float)(f.sum / divisor);
    if (f.count == 0)
        return;  // padding is at most half a kernel, so that PyTorch has no such window
    if (output[to] != expected) FAIL("%g instead of %g", (double)output[to], (double)expected);
    if (p->indices && p->indices[to] != f.index)
        FAIL("index %lld instead of %lld", (long long)p->indices[to], (long long)f.index);
}

static bool pick_axis(sc_pool_axis *a, bool is_adaptive, bool is_missing) {
    *a = (sc_pool_axis){.in = 1, .out = 1, .kernel = 1, .step = 1, .dilation = 1};
    if (is_missing) return true;
    a->in = rows_pick(1, rows_pick(0, 3) ? 9 : 150);
    a->kernel = rows_pick(1, 4);
    a->step = rows_pick(1, 3);
    a->pad = rows_pick(0, a->kernel / 2);
    a->dilation = is_adaptive ? 1 : rows_pick(1, 2);
    const int64_t room = a->in + 2 * a->pad - a->dilation * (a->kernel - 1) - 1;
    a->out = is_adaptive ? rows_pick(1, 5) : room / a->step + 1;
    return is_adaptive || room >= 0;
}

static void set_strides(sc_nd_pooling *p, bool is_last) {
    sc_pool_axis *a = p->windows.axes;
    int64_t in = is_last ? p->channels : 1, out = in;
    for (int d = 2; d >= 0; d--) {
        a[d].in_stride = in;
        a[d].out_stride = out;
        in *= a[d].in;
        out *= a[d].out;
    }
    p->in_channel = is_last ? 1 : in;
    p->out_channel = is_last ? 1 : out;
    p->in_image = is_last ? in : in * p->channels;
    p->out_image = is_last ? out : out * p->channels;
}

static bool pick_pooling(sc_nd_pooling *p) {
    const bool is_adaptive = !rows_pick(0, 3);
    const int64_t missing = rows_pick(0, 2);
    *p = (sc_nd_pooling){.images = rows_pick(1, 2), .channels = rows_pick(1, 3)};
    if (!rows_pick(0, 3)) p->channels = rows_pick(60, 140);
    p->windows.is_adaptive = is_adaptive;
    p->windows.counts_pad = rows_pick(0, 1);
    p->windows.divisor = rows_pick(0, 1) * rows_pick(1, 9);
    for (int d = 0; d < 3; d++)
        if (!pick_axis(&p->windows.axes[d], is_adaptive, d < missing)) return false;
    set_strides(p, rows_pick(0, 1));
    p->input = rows_floats(p->images * p->in_image);
    p->output = test_alloc((size_t)(p->images * p->out_image) * sizeof(float));
    if (rows_pick(0, 1))
        p->indices = test_alloc((size_t)(p->images * p->out_image) * sizeof(int64_t));
    return true;
}

static void check_all(const sc_nd_pooling *p) {
    const sc_pool_axis *a = p->windows.axes;
    int64_t at[3];
    for (int64_t n = 0; n < p->images; n++)
        for (int64_t c = 0; c < p->channels; c++)
            for (at[0] = 0; at[0] < a[0].out; at[0]++)
                for (at[1] = 0; at[1] < a[1].out; at[1]++)
                    for (at[2] = 0; at[2] < a[2].out; at[2]++) check_at(p, n, c, at);
}

TEST(pool_float_windows) {
    uint32_t ran = 0;
    for (uint32_t seed = 1; seed < 600; seed++) {
        sc_nd_pooling p;
        rows_random = seed;
        if (!pick_pooling(&p)) continue;
        const int64_t tiles = sc_float_pooling_tiles(&p), half = rows_pick(0, tiles);
        sc_float_pooling_run(&p, half, tiles, 0);
        sc_float_pooling_run(&p, 0, half, 0);
        check_all(&p);
        ran++;
    }
    CHECK(ran > 400);
}
