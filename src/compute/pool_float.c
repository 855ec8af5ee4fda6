// In wasm: -O3
// Planes with dense rows, the usual layout, go one row of the result at a time. Others go one pixel
// at a time: a block of its channels if these are adjacent, else one channel.
#include "compute/pool_nd.h"

#include <math.h>
#include <string.h>

enum { LANES = 64 };  // channels or columns at once

// --- Pixels --------------------------------------------------------------------------------------

// The channels of a pixel: their first element in the input and the results, and their number.
typedef struct pixel {
    const float *in;
    float *out;
    int64_t *indices;  // NULL for averages
    int64_t count;
} pixel;

static void average_pixel(const sc_nd_pooling *p, const sc_pool_window *w, const pixel *at) {
    double sum[LANES] = {0};
    for (int64_t i = 0, x = w->first[0]; i < w->count[0]; i++, x += w->step[0]) {
        for (int64_t j = 0, y = w->first[1]; j < w->count[1]; j++, y += w->step[1]) {
            for (int64_t k = 0, z = w->first[2]; k < w->count[2]; k++, z += w->step[2]) {
                const float *in = at->in + sc_pool_offset(&p->windows, x, y, z);
                for (int64_t c = 0; c < at->count; c++) sum[c] += (double)in[c];
            }
        }
    }
    const double divisor = sc_pool_divisor(&p->windows, w);
    for (int64_t c = 0; c < at->count; c++) at->out[c * p->out_channel] = (float)(sum[c] / divisor);
}

static void max_pixel(const sc_nd_pooling *p, const sc_pool_window *w, const pixel *at) {
    const sc_pool_windows *windows = &p->windows;
    float best[LANES];
    int32_t index[LANES];
    const int64_t first = sc_pool_index(windows, w->first[0], w->first[1], w->first[2]);
    for (int64_t c = 0; c < at->count; c++) {
        best[c] = -INFINITY;
        index[c] = (int32_t)first;
    }
    for (int64_t i = 0, x = w->first[0]; i < w->count[0]; i++, x += w->step[0]) {
        for (int64_t j = 0, y = w->first[1]; j < w->count[1]; j++, y += w->step[1]) {
            for (int64_t k = 0, z = w->first[2]; k < w->count[2]; k++, z += w->step[2]) {
                const float *in = at->in + sc_pool_offset(windows, x, y, z);
                const int32_t here = (int32_t)sc_pool_index(windows, x, y, z);
                for (int64_t c = 0; c < at->count; c++) {
                    const bool wins = in[c] > best[c] || in[c] != in[c];
                    best[c] = wins ? in[c] : best[c];
                    index[c] = wins ? here : index[c];
                }
            }
        }
    }
    for (int64_t c = 0; c < at->count; c++) {
        at->out[c * p->out_channel] = best[c];
        at->indices[c * p->out_channel] = index[c];
    }
}

static void run_pixels(const sc_nd_pooling *p, int64_t in, int64_t out, int64_t count) {
    const sc_pool_axis *a = p->windows.axes;
    int64_t at[SC_POOL_AXES];
    for (at[0] = 0; at[0] < a[0].out; at[0]++) {
        for (at[1] = 0; at[1] < a[1].out; at[1]++) {
            for (at[2] = 0; at[2] < a[2].out; at[2]++) {
                const sc_pool_window w = sc_pool_window_at(&p->windows, at, SC_POOL_AXES);
                const int64_t place = out + at[0] * a[0].out_stride + at[1] * a[1].out_stride +
                                      at[2] * a[2].out_stride;
                const pixel to = {(const float *)p->input + in, (float *)p->output + place,
                                  p->indices ? p->indices + place : NULL, count};
                (p->indices ? max_pixel : average_pixel)(p, &w, &to);
            }
        }
    }
}

// --- Rows ----------------------------------------------------------------------------------------

// Adjacent columns of the result.
typedef struct row_lanes {
    float best[LANES];
    int32_t index[LANES];
    double sum[LANES];
} row_lanes;

// The number of steps that fit into x, which is at least 0. Every tap of every row needs it, so a
// division would take longer than all else.
static int64_t steps_in(int64_t x, int64_t step) {
    return step == 1 ? x : step == 2 ? x >> 1 : x / step;
}

// Steps that are compile-time constants become shuffles of whole vectors.
static void add_sums(double *sum, const float *from, int64_t low, int64_t high, int64_t step) {
    if (step == 1)
        for (int64_t i = low; i < high; i++) sum[i] += (double)from[i];
    else if (step == 2)
        for (int64_t i = low; i < high; i++) sum[i] += (double)from[2 * i];
    else
        for (int64_t i = low; i < high; i++) sum[i] += (double)from[i * step];
}

static inline void add_maxima(row_lanes *lanes, const float *from, int64_t low, int64_t high,
                              int64_t step, int32_t column) {
    for (int64_t i = low; i < high; i++) {
        const float v = from[i * step];
        const bool wins = v > lanes->best[i] || v != v;
        lanes->best[i] = wins ? v : lanes->best[i];
        lanes->index[i] = wins ? column + (int32_t)(i * step) : lanes->index[i];
    }
}

// Applies one tap of the window to output columns [x, x + n), where the input column exists.
static void add_tap(const sc_nd_pooling *p, row_lanes *lanes, const float *row, int64_t tap,
                    int64_t x, int64_t n, int64_t base) {
    const sc_pool_axis *a = &p->windows.axes[2];
    int64_t shift = tap * a->dilation - a->pad, step = a->step;
    int64_t low = shift >= 0 ? 0 : steps_in(-shift + step - 1, step);
    int64_t high = a->in - 1 - shift < 0 ? 0 : steps_in(a->in - 1 - shift, step) + 1;
    low = sc_max_i64(low - x, 0);
    high = sc_min_i64(high - x, n);
    if (low >= high) return;
    const float *from = row + x * step + shift;
    int32_t column = (int32_t)(base + x * step + shift);
    if (!p->indices) {
        add_sums(lanes->sum, from, low, high, step);
        return;
    }
    if (step == 1)
        add_maxima(lanes, from, low, high, 1, column);
    else if (step == 2)
        add_maxima(lanes, from, low, high, 2, column);
    else
        add_maxima(lanes, from, low, high, step, column);
}

// The divisor of that column's window.
static double divisor_at(const sc_nd_pooling *p, const sc_pool_window *w, int64_t x) {
    sc_pool_window whole = *w;
    int64_t padded;
    sc_pool_axis_window(&p->windows, 2, x, &whole.first[2], &whole.count[2], &padded);
    whole.padded *= padded;
    return sc_pool_divisor(&p->windows, &whole);
}

// Windows that lie entirely in the row have one divisor.
static void finish_averages(const sc_nd_pooling *p, const row_lanes *lanes, const sc_pool_window *w,
                            int64_t x, int64_t n, float *out) {
    const sc_pool_axis *a = &p->windows.axes[2];
    const int64_t reach = (a->kernel - 1) * a->dilation - a->pad, room = a->in - 1 - reach;
    const int64_t low = sc_max_i64((a->pad + a->step - 1) / a->step - x, 0);
    const int64_t high = room < 0 ? 0 : sc_min_i64(room / a->step + 1 - x, n);
    const double inside = low < high ? divisor_at(p, w, x + low) : 1;
    for (int64_t i = low; i < high; i++) out[i] = (float)(lanes->sum[i] / inside);
    for (int64_t i = 0; i < n; i++)
        if (i < low || i >= high) out[i] = (float)(lanes->sum[i] / divisor_at(p, w, x + i));
}

static void finish_row(const sc_nd_pooling *p, const row_lanes *lanes, const sc_pool_window *w,
                       int64_t x, int64_t n, int64_t out_offset) {
    float *out = (float *)p->output + out_offset;
    if (!p->indices) {
        finish_averages(p, lanes, w, x, n, out);
        return;
    }
    memcpy(out, lanes->best, (size_t)n * sizeof *out);
    int64_t *indices = p->indices + out_offset;
    for (int64_t i = 0; i < n; i++) indices[i] = lanes->index[i];
}

static void start_row(const sc_nd_pooling *p, row_lanes *lanes, int64_t start, int64_t x,
                      int64_t n) {
    const sc_pool_axis *a = &p->windows.axes[2];
    if (!p->indices) {
        memset(lanes->sum, 0, (size_t)n * sizeof *lanes->sum);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        lanes->best[i] = -INFINITY;
        lanes->index[i] = (int32_t)(start + sc_pool_first(a, x + i));
    }
}

// `w` holds the first two axes; its `padded` is their product.
static void pool_row(const sc_nd_pooling *p, const sc_pool_window *w, int64_t in_offset,
                     int64_t out_offset) {
    const sc_pool_axis *a = p->windows.axes;
    for (int64_t x = 0; x < a[2].out; x += LANES) {
        row_lanes lanes;
        int64_t n = sc_min_i64(LANES, a[2].out - x);
        start_row(p, &lanes, (w->first[0] * a[1].in + w->first[1]) * a[2].in, x, n);
        for (int64_t i = 0, d = w->first[0]; i < w->count[0]; i++, d += w->step[0]) {
            for (int64_t j = 0, y = w->first[1]; j < w->count[1]; j++, y += w->step[1]) {
                const float *row =
                    (const float *)p->input + in_offset + sc_pool_offset(&p->windows, d, y, 0);
                for (int64_t tap = 0; tap < a[2].kernel; tap++)
                    add_tap(p, &lanes, row, tap, x, n, (d * a[1].in + y) * a[2].in);
            }
        }
        finish_row(p, &lanes, w, x, n, out_offset + x);
    }
}

// Windows along the row are processed one tap at a time, so they must have one step.
static bool has_rows(const sc_nd_pooling *p) {
    const sc_pool_axis *a = p->windows.axes;
    return !p->windows.is_adaptive && a[2].in_stride == 1 && a[2].out_stride == 1;
}

static void run_rows(const sc_nd_pooling *p, int64_t in, int64_t out) {
    const sc_pool_axis *a = p->windows.axes;
    int64_t at[SC_POOL_AXES] = {0};
    for (at[0] = 0; at[0] < a[0].out; at[0]++) {
        for (at[1] = 0; at[1] < a[1].out; at[1]++) {
            const sc_pool_window w = sc_pool_window_at(&p->windows, at, 2);
            pool_row(p, &w, in, out + at[0] * a[0].out_stride + at[1] * a[1].out_stride);
        }
    }
}

// --- Run -----------------------------------------------------------------------------------------

// Channels in a tile.
static int64_t tile_size(const sc_nd_pooling *p) {
    return !has_rows(p) && p->in_channel == 1 ? LANES : 1;
}

int64_t sc_float_pooling_tiles(const sc_nd_pooling *p) { return sc_pool_tiles_of(p, tile_size(p)); }

void sc_float_pooling_run(void *pooling, int64_t from, int64_t to, uint32_t thread) {
    const sc_nd_pooling *p = pooling;
    const int64_t size = tile_size(p);
    (void)thread;
    for (int64_t tile = from; tile < to; tile++) {
        const sc_pool_tile at = sc_pool_tile_at(p, size, tile);
        if (has_rows(p))
            run_rows(p, at.in, at.out);
        else
            run_pixels(p, at.in, at.out, at.channels);
    }
}
