// 8-bit elements, against the formulas of XNNPACK's scalar variants written out.
#include "compute/bytes.h"

#include <math.h>

#include "compute/rows.h"
#include "harness.h"

static int value_of(const sc_grid *g, const void *q, size_t i) {
    return g->is_unsigned ? ((const uint8_t *)q)[i] : ((const int8_t *)q)[i];
}

static int lowest(const sc_grid *g) { return g->is_unsigned ? 0 : -128; }

static long clamp(long v, long low, long high) { return v < low ? low : v > high ? high : v; }

static sc_grid pick_grid(bool is_unsigned) {
    const int64_t zero = is_unsigned ? rows_pick(0, 255) : rows_pick(-128, 127);
    return (sc_grid){ldexpf((float)rows_pick(1, 1000), (int)rows_pick(-16, -9)), (int32_t)zero,
                     is_unsigned};
}

TEST(bytes_of_floats_and_back) {
    for (uint32_t seed = 1; seed < 200; seed++) {
        rows_random = seed;
        const sc_grid g = pick_grid(seed % 2);
        const size_t count = (size_t)rows_pick(0, 37);
        float *x = rows_reals((int64_t)count);
        if (count > 2) x[1] = NAN, x[2] = seed % 3 ? 1e30f : -1e30f;
        uint8_t *q = test_alloc(count + 1);
        float *back = test_alloc((count + 1) * sizeof *back);
        sc_bytes_of_floats(&g, x, count, q);
        sc_floats_of_bytes(&g, q, count, back);
        for (size_t i = 0; i < count; i++) {
            const double scaled = nearbyint((double)(x[i] * (1.0f / g.scale)));
            const long expected = isnan(scaled)
                                      ? lowest(&g)
                                      : clamp((long)fmin(fmax(scaled, -1e6), 1e6) + g.zero,
                                              lowest(&g), lowest(&g) + 255);
            CHECK_EQ_INT(value_of(&g, q, i), expected);
            CHECK(back[i] == (float)(expected - g.zero) * g.scale);
        }
    }
}

// The formula of dynamic quantization, one number after the other.
static void check_row(const float *x, size_t count) {
    float low = 0, high = 0, scale;
    int32_t zero;
    int8_t *q = test_alloc(count + 1);
    for (size_t i = 0; i < count; i++) low = fminf(low, x[i]), high = fmaxf(high, x[i]);
    sc_bytes_of_row(x, count, q, &zero, &scale);
    const float inverse = low == high ? 1.0f : 255.0f / (high - low);
    const float a = low * inverse, b = high * inverse;
    const float nudged = (-128 + a) + (127 + b) > 0 ? -128 - a : 127 - b;
    const long point = lrintf(fminf(fmaxf(nudged, -128), 127));
    CHECK_EQ_INT(zero, point);
    CHECK(scale == 1.0f / inverse);
    for (size_t i = 0; i < count; i++)
        CHECK_EQ_INT(q[i], clamp(lrintf(x[i] * inverse) + point, -128, 127));
}

TEST(bytes_of_rows) {
    const float ties[] = {-127.5f, 0.5f, 1.5f, 127.5f}, zeros[5] = {0};
    check_row(ties, 4);
    check_row(zeros, 5);
    for (uint32_t seed = 1; seed < 100; seed++) {
        rows_random = seed;
        const int64_t count = rows_pick(0, 45);
        float *x = rows_reals(count);
        for (int64_t i = 0; seed % 3 == 0 && i < count; i++) x[i] += seed % 2 ? 3 : -3;
        check_row(x, (size_t)count);
    }
}

TEST(bytes_of_rows_that_are_no_numbers) {
    const float x[] = {1, NAN, -1, 0, 2}, endless[] = {INFINITY, 1};
    int8_t q[5];
    int32_t zero;
    float scale;
    sc_bytes_of_row(x, 5, q, &zero, &scale);
    CHECK(zero == -43 && q[1] == -128 && q[4] == 127 && q[3] == -43);
    sc_bytes_of_row(endless, 2, q, &zero, &scale);
    CHECK(isinf(scale) && zero >= -128 && zero <= 127);
}

TEST(bytes_of_bytes) {
    for (uint32_t seed = 1; seed < 60; seed++) {
        rows_random = seed;
        const sc_grid from = pick_grid(seed % 2), to = pick_grid(seed % 2);
        const float ratio = from.scale / to.scale;
        const long multiplier = lrintf(256 * ratio);
        uint8_t x[256], q[256];
        for (int i = 0; i < 256; i++) x[i] = (uint8_t)i;
        sc_bytes_of_bytes(&from, &to, x, 256, q);
        for (size_t i = 0; i < 256; i++) {
            const long v = value_of(&from, x, i) - from.zero;
            const long value =
                ratio >= 0x1p-8f && ratio <= 128
                    ? (long)floor((double)(to.zero * 256 + v * multiplier + 128) / 256)
                    : (long)nearbyint((double)((float)v * ratio)) + to.zero;
            CHECK_EQ_INT(value_of(&to, q, i), clamp(value, lowest(&to), lowest(&to) + 255));
        }
    }
}

TEST(bytes_clamp) {
    uint8_t x[256], q[256];
    for (int i = 0; i < 256; i++) x[i] = (uint8_t)i;
    sc_bytes_clamp(false, -7, 100, x, 256, q);
    for (int i = 0; i < 256; i++) CHECK_EQ_INT((int8_t)q[i], clamp((int8_t)x[i], -7, 100));
    sc_bytes_clamp(true, 5, 250, x, 256, x);
    for (int i = 0; i < 256; i++) CHECK_EQ_INT(x[i], clamp(i, 5, 250));
}

// --- Two operands --------------------------------------------------------------------------------

static long expected_sum(const sc_bytes_binary *binary, int x, int y) {
    const float a = binary->a.scale / binary->out.scale, b = binary->b.scale / binary->out.scale;
    const float most = fmaxf(a, b), least = fminf(a, b);
    const int sign = binary->op == SC_BYTES_SUBTRACT ? -1 : 1;
    if (least < 0x1p-10f || most >= 256) {
        const float u = (float)(x - binary->a.zero) * binary->a.scale;
        const float v = (float)(y - binary->b.zero) * binary->b.scale;
        const float sum = (u + (float)sign * v) * (1.0f / binary->out.scale);
        return lrintf(fminf(fmaxf(sum + (float)binary->out.zero, -1e6f), 1e6f));
    }
    int exponent;
    frexpf(most, &exponent);
    const int shift = 20 - (exponent - 1);
    const int64_t sum = (int64_t)(x - binary->a.zero) * lrintf(ldexpf(a, shift)) +
                        sign * (int64_t)(y - binary->b.zero) * lrintf(ldexpf(b, shift));
    return (long)floor(ldexp((double)(sum + (1 << (shift - 1))), -shift)) + binary->out.zero;
}

static long expected_product(const sc_bytes_binary *binary, int x, int y) {
    const float scale = binary->a.scale * binary->b.scale / binary->out.scale;
    const float product = (float)((x - binary->a.zero) * (y - binary->b.zero)) * scale;
    return lrintf(fminf(fmaxf(product, -1e6f), 1e6f)) + binary->out.zero;
}

static void check_binary(const sc_bytes_binary *binary, size_t a_step, size_t b_step,
                         size_t count) {
    const int8_t *a = rows_bytes((int64_t)count + 1), *b = rows_bytes((int64_t)count + 1);
    uint8_t *q = test_alloc(count + 1);
    sc_bytes_run_binary(binary, a, a_step, b, b_step, count, q);
    for (size_t i = 0; i < count; i++) {
        const int x = value_of(&binary->a, a, i * a_step), y = value_of(&binary->b, b, i * b_step);
        const long value = binary->op == SC_BYTES_MULTIPLY ? expected_product(binary, x, y)
                                                           : expected_sum(binary, x, y);
        const long expected = clamp(value, binary->low, binary->high);
        if (value_of(&binary->out, q, i) == expected) continue;
        FAIL("op %d of %d and %d: %d instead of %ld", binary->op, x, y,
             value_of(&binary->out, q, i), expected);
        return;
    }
}

TEST(bytes_binary) {
    for (uint32_t seed = 1; seed < 600; seed++) {
        rows_random = seed;
        sc_bytes_binary binary = {.op = (sc_bytes_op)(seed % 3),
                                  .a = pick_grid(seed % 2),
                                  .b = pick_grid(seed % 2),
                                  .out = pick_grid(seed % 2)};
        binary.low = lowest(&binary.out) + (int)rows_pick(0, 1) * 20;
        binary.high = lowest(&binary.out) + 255 - (int)rows_pick(0, 1) * 30;
        check_binary(&binary, rows_pick(0, 4) != 0, rows_pick(0, 4) != 0, (size_t)rows_pick(0, 40));
    }
}
