// Pooling of pixels against windows written out, over all types, tails, strides, paddings and
// dilations.
#include "compute/pool.h"

#include <math.h>

#include "compute/rows.h"
#include "harness.h"

static double value_at(const sc_pooling *p, int64_t at) {
    switch (p->dtype) {
    case SC_DTYPE_F32: return (double)((const float *)p->input)[at];
    case SC_DTYPE_U8: return ((const uint8_t *)p->input)[at];
    default: return ((const int8_t *)p->input)[at];
    }
}

typedef struct totals {
    double most, sum;
    int64_t count;
} totals;

static totals window_of(const sc_pooling *p, int64_t n, const int64_t at[2], int64_t channel) {
    totals t = {-INFINITY, 0, 0};
    for (int64_t i = 0; i < p->kernel[0]; i++) {
        for (int64_t j = 0; j < p->kernel[1]; j++) {
            const int64_t y = at[0] * p->stride[0] - p->pad[0] + i * p->dilation[0];
            const int64_t x = at[1] * p->stride[1] - p->pad[1] + j * p->dilation[1];
            if (y < 0 || x < 0 || y >= p->in[0] || x >= p->in[1]) continue;
            const double v =
                value_at(p, n * p->in_step[0] + y * p->in_step[1] + x * p->in_step[2] + channel);
            t.most = v > t.most ? v : t.most;
            t.sum += v - p->in_zero;
            t.count++;
        }
    }
    return t;
}

static double expected_at(const sc_pooling *p, bool max, int64_t n, const int64_t at[2],
                          int64_t c) {
    const totals t = window_of(p, n, at, c);
    const int64_t divisor = p->divisor ? p->divisor : t.count;
    const float weight = divisor ? 1.0f / (float)divisor : 0;
    if (p->dtype == SC_DTYPE_F32)
        return (double)sc_finish_clamp(&p->finish, max ? (float)t.most : (float)t.sum * weight);
    const double least = p->dtype == SC_DTYPE_U8 ? 0 : -128;
    const double low = p->finish.clamps ? fmax(least, (double)p->finish.low) : least;
    const double high = p->finish.clamps ? fmin(least + 255, (double)p->finish.high) : least + 255;
    if (max) return fmin(fmax(t.most, low), high);
    const float scale = p->scale * weight;
    const double value = nearbyint((double)((float)t.sum * scale));
    return fmin(fmax(value + p->finish.zero, low), high);
}

static void set_steps(int64_t step[3], const int64_t sizes[2], int64_t channels) {
    step[2] = channels + rows_pick(0, 1) * 3;
    step[1] = step[2] * sizes[1];
    step[0] = step[1] * sizes[0];
}

static bool pick_pool(sc_pooling *p, uint8_t dtype) {
    *p = (sc_pooling){.dtype = dtype,
                      .batch = rows_pick(1, 2),
                      .channels = rows_pick(1, rows_pick(0, 3) ? 9 : 140),
                      .divisor = rows_pick(0, 1) * rows_pick(1, 9),
                      .scale = 1.0f / (float)(1 << rows_pick(0, 3)),
                      .finish = {.clamps = rows_pick(0, 1), .low = -1, .high = 20}};
    for (int d = 0; d < 2; d++) {
        p->in[d] = rows_pick(1, 9);
        p->kernel[d] = rows_pick(1, 4);
        p->stride[d] = rows_pick(1, 3);
        p->pad[d] = rows_pick(0, 4);
        p->dilation[d] = rows_pick(1, 2);
        const int64_t reach = p->dilation[d] * (p->kernel[d] - 1) + 1;
        p->out[d] = (p->in[d] + 2 * p->pad[d] - reach) / p->stride[d] + 1;
        if (p->in[d] + 2 * p->pad[d] < reach) return false;
    }
    set_steps(p->in_step, p->in, p->channels);
    set_steps(p->out_step, p->out, p->channels);
    const int64_t count = p->batch * p->in_step[0];
    p->input = dtype == SC_DTYPE_F32 ? (void *)rows_floats(count) : (void *)rows_bytes(count);
    if (dtype != SC_DTYPE_F32) p->in_zero = (int32_t)rows_pick(0, 100);
    if (dtype != SC_DTYPE_F32) p->finish.zero = (int32_t)rows_pick(0, 100);
    return true;
}

static void check_results(const sc_pooling *p, bool max) {
    sc_pooling result = *p;
    result.input = p->output;
    for (int64_t i = 0; i < p->batch * p->out[0] * p->out[1] * p->channels; i++) {
        const int64_t c = i % p->channels, x = i / p->channels % p->out[1];
        const int64_t y = i / p->channels / p->out[1] % p->out[0];
        const int64_t n = i / p->channels / p->out[1] / p->out[0], at[2] = {y, x};
        const double got =
            value_at(&result, n * p->out_step[0] + y * p->out_step[1] + x * p->out_step[2] + c);
        const double expected = expected_at(p, max, n, at, c);
        if (max && p->dtype != SC_DTYPE_F32 && isinf(expected)) continue;
        if (got == expected) continue;
        FAIL("%s of dtype %d: %g instead of %g", max ? "maximum" : "average", p->dtype, got,
             expected);
        return;
    }
}

TEST(pool_windows) {
    static const uint8_t dtypes[] = {SC_DTYPE_F32, SC_DTYPE_I8, SC_DTYPE_U8};
    for (uint32_t seed = 1; seed < 900; seed++) {
        sc_pooling p;
        rows_random = seed;
        if (!pick_pool(&p, dtypes[seed % 3])) continue;
        const bool max = rows_pick(0, 1);
        const int64_t tiles = sc_pooling_tiles(&p), half = rows_pick(0, tiles);
        p.output = test_alloc((size_t)(p.batch * p.out_step[0]) * sizeof(float));
        (max ? sc_pooling_max : sc_pooling_average)(&p, half, tiles, 0);
        (max ? sc_pooling_max : sc_pooling_average)(&p, 0, half, 0);
        check_results(&p, max);
    }
}

TEST(pool_nan) {
    const float x[] = {1, NAN, 3};
    float y[1];
    sc_pooling p = {.dtype = SC_DTYPE_F32,
                    .batch = 1,
                    .channels = 1,
                    .in = {1, 3},
                    .out = {1, 1},
                    .kernel = {1, 3},
                    .stride = {1, 1},
                    .dilation = {1, 1},
                    .in_step = {3, 3, 1},
                    .out_step = {1, 1, 1},
                    .input = x,
                    .output = y,
                    .finish = {.clamps = true, .low = 0, .high = 6}};
    sc_pooling_max(&p, 0, 1, 0);
    CHECK(isnan(y[0]));
}
