// In wasm: -O3
// One position of the result at a time, for a block of channels if these are adjacent, else for one
// channel.
#include "compute/pool_nd.h"

#include <math.h>

#define AXES SC_POOL_AXES

enum { LANES = 64 };  // channels at once

// Maxima or sums of the channels of one position.
typedef struct lanes {
    double real[LANES];
    int64_t integer[LANES];
    int64_t index[LANES];
} lanes;

static void *numbers(const sc_nd_pooling *p, lanes *l) {
    return p->is_real ? (void *)l->real : (void *)l->integer;
}

static void start(const sc_nd_pooling *p, lanes *l, int64_t n, int64_t first_index) {
    for (int64_t c = 0; c < n; c++) {
        l->real[c] = p->indices ? -INFINITY : 0.0;
        l->integer[c] = p->indices ? INT64_MIN : 0;
        l->index[c] = first_index;
    }
}

static void add(const sc_nd_pooling *p, lanes *l, const char *from, int64_t n, int64_t index) {
    lanes x;
    p->load(numbers(p, &x), from, p->in_channel, n);
    for (int64_t c = 0; c < n; c++) {
        if (!p->indices) {
            if (p->is_real)
                l->real[c] += x.real[c];
            else
                l->integer[c] = (int64_t)((uint64_t)l->integer[c] + (uint64_t)x.integer[c]);
            continue;
        }
        const bool wins = p->is_real ? x.real[c] > l->real[c] || x.real[c] != x.real[c]
                                     : x.integer[c] > l->integer[c];
        if (!wins) continue;
        l->index[c] = index;
        if (p->is_real)
            l->real[c] = x.real[c];
        else
            l->integer[c] = x.integer[c];
    }
}

static void finish(const sc_nd_pooling *p, lanes *l, const sc_pool_window *w, int64_t n,
                   int64_t out) {
    const double divisor = p->indices ? 1.0 : sc_pool_divisor(&p->windows, w);
    for (int64_t c = 0; c < n && !p->indices; c++) {
        l->real[c] /= divisor;
        l->integer[c] = divisor == 0 ? 0 : l->integer[c] / (int64_t)divisor;
    }
    p->store((char *)p->output + out * p->element_size, p->out_channel, numbers(p, l), n);
    for (int64_t c = 0; c < n && p->indices; c++)
        p->indices[out + c * p->out_channel] = l->index[c];
}

// `n` channels of the result's position `at`.
static void pool_position(const sc_nd_pooling *p, const int64_t *at, int64_t in, int64_t out,
                          int64_t n) {
    const sc_pool_windows *windows = &p->windows;
    const sc_pool_window w = sc_pool_window_at(windows, at, AXES);
    lanes l;
    start(p, &l, n, sc_pool_index(windows, w.first[0], w.first[1], w.first[2]));
    for (int64_t i = 0, x = w.first[0]; i < w.count[0]; i++, x += w.step[0])
        for (int64_t j = 0, y = w.first[1]; j < w.count[1]; j++, y += w.step[1])
            for (int64_t k = 0, z = w.first[2]; k < w.count[2]; k++, z += w.step[2]) {
                const int64_t from = in + sc_pool_offset(windows, x, y, z);
                add(p, &l, (const char *)p->input + from * p->element_size, n,
                    sc_pool_index(windows, x, y, z));
            }
    finish(p, &l, &w, n, out);
}

static void pool_channels(const sc_nd_pooling *p, int64_t in, int64_t out, int64_t n) {
    const sc_pool_axis *a = p->windows.axes;
    int64_t at[AXES];
    for (at[0] = 0; at[0] < a[0].out; at[0]++)
        for (at[1] = 0; at[1] < a[1].out; at[1]++)
            for (at[2] = 0; at[2] < a[2].out; at[2]++)
                pool_position(p, at, in,
                              out + at[0] * a[0].out_stride + at[1] * a[1].out_stride +
                                  at[2] * a[2].out_stride,
                              n);
}

static int64_t tile_size(const sc_nd_pooling *p) { return p->in_channel == 1 ? LANES : 1; }

int64_t sc_wide_pooling_tiles(const sc_nd_pooling *p) { return sc_pool_tiles_of(p, tile_size(p)); }

void sc_wide_pooling_run(void *pooling, int64_t from, int64_t to, uint32_t thread) {
    const sc_nd_pooling *p = pooling;
    (void)thread;
    for (int64_t tile = from; tile < to; tile++) {
        const sc_pool_tile at = sc_pool_tile_at(p, tile_size(p), tile);
        pool_channels(p, at.in, at.out, at.channels);
    }
}
