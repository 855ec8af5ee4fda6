// In wasm: -O3
// One pixel of the result at a time, and some of its channels at a time. Their running maxima or
// sums stay in the cache while the pixels of the window are read.
#include "compute/pool.h"

#include "compute/pool_window.h"

enum { CHUNK = 64 };  // channels

// --- Windows -------------------------------------------------------------------------------------

// The part of a window inside the image: `count` rows or columns, `step` apart.
typedef struct extent {
    int64_t from, step, count;
} extent;

static extent extent_of(const sc_pooling *p, int d, int64_t out) {
    const sc_pool_axis axis = {.in = p->in[d],
                               .kernel = p->kernel[d],
                               .step = p->stride[d],
                               .pad = p->pad[d],
                               .dilation = p->dilation[d]};
    extent covered = {.step = p->dilation[d]};
    sc_pool_covered(&axis, out, &covered.from, &covered.count);
    return covered;
}

typedef struct window {
    int64_t image, to;  // in elements: of the input image, and of the result
    extent y, x;
    int64_t count;  // pixels
} window;

static window window_at(const sc_pooling *p, int64_t tile, int64_t x) {
    const int64_t n = tile / p->out[0], y = tile % p->out[0];
    window w = {.image = n * p->in_step[0],
                .to = n * p->out_step[0] + y * p->out_step[1] + x * p->out_step[2],
                .y = extent_of(p, 0, y),
                .x = extent_of(p, 1, x)};
    w.count = w.y.count * w.x.count;
    return w;
}

static int64_t pixel_at(const sc_pooling *p, const window *w, int64_t i) {
    return w->image + (w->y.from + i / w->x.count * w->y.step) * p->in_step[1] +
           (w->x.from + i % w->x.count * w->x.step) * p->in_step[2];
}

int64_t sc_pooling_tiles(const sc_pooling *p) { return p->batch * p->out[0]; }

// --- Maxima --------------------------------------------------------------------------------------

// Bounds for a type with numbers in [least, most].
static float bound(float value, float least, float most) {
    return value > least ? (value < most ? value : most) : least;
}

#define MAX(T, LEAST, IS_MORE)                                                                    \
    static void max_##T(const sc_pooling *p, const window *w, int64_t from, size_t count) {       \
        T best[CHUNK];                                                                            \
        for (size_t c = 0; c < count; c++) best[c] = (LEAST);                                     \
        for (int64_t i = 0; i < w->count; i++) {                                                  \
            const T *x = (const T *)p->input + pixel_at(p, w, i) + from;                          \
            for (size_t c = 0; c < count; c++) best[c] = IS_MORE(x[c], best[c]) ? x[c] : best[c]; \
        }                                                                                         \
        T *to = (T *)p->output + w->to + from;                                                    \
        const T low = (T)p->finish.low, high = (T)p->finish.high;                                 \
        for (size_t c = 0; c < count; c++) {                                                      \
            T v = best[c];                                                                        \
            v = p->finish.clamps && v < low ? low : v;                                            \
            to[c] = p->finish.clamps && high < v ? high : v;                                      \
        }                                                                                         \
    }
#define FLOAT_IS_MORE(a, b) ((a) > (b) || (a) != (a))
#define INT_IS_MORE(a, b)   ((a) > (b))
MAX(float, -__builtin_inff(), FLOAT_IS_MORE)
MAX(int8_t, INT8_MIN, INT_IS_MORE)
MAX(uint8_t, 0, INT_IS_MORE)

// --- Averages ------------------------------------------------------------------------------------

#define SUM(T, A)                                                                         \
    static void sum_##T(const sc_pooling *p, const window *w, int64_t from, size_t count, \
                        A *sum) {                                                         \
        for (size_t c = 0; c < count; c++) sum[c] = 0;                                    \
        for (int64_t i = 0; i < w->count; i++) {                                          \
            const T *x = (const T *)p->input + pixel_at(p, w, i) + from;                  \
            for (size_t c = 0; c < count; c++) sum[c] += (A)x[c];                         \
        }                                                                                 \
    }
SUM(float, float)
SUM(int8_t, uint32_t)
SUM(uint8_t, uint32_t)

static float weight_of(const sc_pooling *p, const window *w) {
    const int64_t divisor = p->divisor ? p->divisor : w->count;
    return divisor ? 1.0f / (float)divisor : 0;
}

static void average_float(const sc_pooling *p, const window *w, int64_t from, size_t count) {
    float sum[CHUNK], *to = (float *)p->output + w->to + from;
    const float weight = weight_of(p, w);
    sum_float(p, w, from, count, sum);
    for (size_t c = 0; c < count; c++) to[c] = sc_finish_clamp(&p->finish, sum[c] * weight);
}

static void average_bytes(const sc_pooling *p, const window *w, int64_t from, size_t count) {
    const bool is_unsigned = p->dtype == SC_DTYPE_U8;
    uint32_t sum[CHUNK];
    uint8_t *to = (uint8_t *)p->output + w->to + from;
    const float scale = p->scale * weight_of(p, w);
    sc_finish finish = p->finish;
    finish.scale = &scale;
    finish.scale_step = 0;
    (is_unsigned ? sum_uint8_t : sum_int8_t)(p, w, from, count, sum);
    for (size_t c = 0; c < count; c++) {
        const uint32_t centred = sum[c] - (uint32_t)w->count * (uint32_t)p->in_zero;
        to[c] = (uint8_t)sc_finish_round(&finish, is_unsigned ? 0 : -128, (int32_t)centred, 0);
    }
}

// --- Run -----------------------------------------------------------------------------------------

typedef void (*pixel_fn)(const sc_pooling *p, const window *w, int64_t from, size_t count);

static void run(const sc_pooling *p, pixel_fn pixel, int64_t from, int64_t to) {
    for (int64_t tile = from; tile < to; tile++) {
        for (int64_t x = 0; x < p->out[1]; x++) {
            const window w = window_at(p, tile, x);
            for (int64_t c = 0; c < p->channels; c += CHUNK)
                pixel(p, &w, c, (size_t)sc_min_i64(CHUNK, p->channels - c));
        }
    }
}

void sc_pooling_max(void *pool, int64_t from, int64_t to, uint32_t thread) {
    const sc_pooling *p = pool;
    sc_pooling bounded = *p;
    (void)thread;
    if (p->dtype == SC_DTYPE_F32) {
        run(p, max_float, from, to);
        return;
    }
    const float least = p->dtype == SC_DTYPE_U8 ? 0 : -128;
    bounded.finish.low = bound(p->finish.low, least, least + 255);
    bounded.finish.high = bound(p->finish.high, least, least + 255);
    run(&bounded, p->dtype == SC_DTYPE_U8 ? max_uint8_t : max_int8_t, from, to);
}

void sc_pooling_average(void *pool, int64_t from, int64_t to, uint32_t thread) {
    const sc_pooling *p = pool;
    (void)thread;
    run(p, p->dtype == SC_DTYPE_F32 ? average_float : average_bytes, from, to);
}
