// The rule by which 32-bit sums become 8-bit results, in every row that has them, against the same
// rule in doubles: in those, a product of floats is exact, and each rounding is written out.
#include <math.h>

#include "compute/matmul.h"
#include "compute/rows.h"
#include "harness.h"

// Ties to even, by halves.
static double nearest(double x) {
    const double below = floor(x), rest = x - below;
    const bool is_odd = fmod(below, 2) != 0;
    return rest > 0.5 || (rest == 0.5 && is_odd) ? below + 1 : below;
}

// To the 24 bits of a float.
static double rounded(double x) {
    int exponent;
    const double fraction = frexp(x, &exponent);
    return ldexp(nearest(ldexp(fraction, 24)), exponent - 24);
}

static int expected_at(int32_t sum, float scale, const sc_finish *f) {
    const double low = fmax(f->low, -128) - f->zero, high = fmin(f->high, 127) - f->zero;
    const double value = rounded(rounded(sum) * (double)scale);
    return (int)nearest(fmin(fmax(value, low), high)) + f->zero;
}

// --- Sums and scales -----------------------------------------------------------------------------

enum { SUMS = 1000 };

// Small ones, those around powers of two up to where floats become sparse and sums end, any others.
static void fill_sums(int32_t sums[SUMS]) {
    int count = 0;
    for (int32_t i = -256; i <= 256; i++) sums[count++] = i;
    for (int bit = 9; bit < 31; bit++) {
        for (int32_t off = -2; off <= 2; off++) {
            sums[count++] = (1 << bit) + off;
            sums[count++] = -(1 << bit) + off;
        }
    }
    for (int32_t off = 0; off < 100; off++) {
        sums[count++] = INT32_MAX - off;
        sums[count++] = INT32_MIN + off;
    }
    while (count < SUMS) {
        const int64_t high = rows_pick(-32768, 32767), low = rows_pick(0, 65535);
        sums[count++] = (int32_t)((high * 65536 + low) >> rows_pick(0, 24));
    }
}

// The factors that XNNPACK allows: from 2^-32 to just below 256. Powers of two make sums that lie
// half way.
static float pick_scale(int i) {
    if (i < 40) return ldexpf(1, i - 32);
    if (i < 80) return ldexpf(nextafterf(1, i % 2 ? 0 : 2), i - 40 - 31);
    return ldexpf(1 + (float)rows_pick(0, (1 << 23) - 1) / (1 << 23), (int)rows_pick(-32, 7));
}

// --- Products without a depth, whose sums are the bias -------------------------------------------

static void check_rows(sc_matmul *mm, const int32_t *sums) {
    uint32_t ran[ROWS_MAX] = {0};
    const sc_finish *f = &mm->record.finish;
    const size_t bytes = (size_t)(mm->m * mm->n);
    const int8_t *results = rows_expected(&mm->record, &mm->c, bytes);
    for (int64_t i = 0; i < mm->m * mm->n; i++) {
        const int32_t sum = sums[i % mm->n];
        const float scale = sc_finish_scale(f, i % mm->n);
        if (results[i] == expected_at(sum, scale, f)) continue;
        FAIL("%d * %a, zero point %d: %d instead of %d", (int)sum, (double)scale, (int)f->zero,
             results[i], expected_at(sum, scale, f));
        return;
    }
    if (!rows_agree(&mm->record, &mm->c, bytes, ran)) FAIL("with zero point %d", (int)f->zero);
}

static void check_sums(const int32_t *sums, const float *scales, uint8_t scale_step) {
    static const int32_t zeros[] = {-128, -1, 0, 77, 127};
    const int8_t no_bytes[1] = {0};
    for (size_t i = 0; i < SC_COUNT_OF(zeros); i++) {
        sc_matmul mm = {.record = {.kind = SC_RECORD_MATMUL,
                                   .in = SC_DTYPE_I8,
                                   .weight = SC_DTYPE_I8,
                                   .bias = SC_DTYPE_I32,
                                   .out = SC_DTYPE_I8,
                                   .finish = {.scale = scales,
                                              .scale_step = scale_step,
                                              .clamps = true,
                                              .low = i % 2 ? -100 : -128,
                                              .high = i % 2 ? 50 : 127,
                                              .zero = zeros[i]}},
                        .batch = 1,
                        .m = rows_pick(1, 5),
                        .n = SUMS,
                        .a = {no_bytes, 0, 0, 1},
                        .b = {no_bytes, 0, 1, 0},
                        .addend = {sums, 0, 0, 1},
                        .c_row = SUMS,
                        .c_column = 1,
                        .alpha = 1,
                        .beta = 1};
        check_rows(&mm, sums);
    }
}

TEST(requantize_by_the_rule) {
    static int32_t sums[SUMS];
    static float scales[SUMS];
    rows_random = 11;
    fill_sums(sums);
    for (int i = 0; i < 160; i++) {
        scales[0] = pick_scale(i);
        check_sums(sums, scales, 0);
    }
    for (int i = 0; i < 10; i++) {
        for (int k = 0; k < SUMS; k++) scales[k] = pick_scale((int)rows_pick(0, 159));
        check_sums(sums, scales, 1);
    }
}

TEST(requantize_by_hand) {
    const float half = 0.5f, third = 1.0f / 3, one = 1;
    const struct {
        const float *scale;
        int32_t sum, zero, expected;
    } cases[] = {{&half, 1, 0, 0},         // 0.5: the even neighbour is 0
                 {&half, 3, 0, 2},         // 1.5
                 {&half, 5, 0, 2},         // 2.5
                 {&half, -5, 0, -2},       // the same below 0
                 {&half, -7, 0, -4},       // -3.5
                 {&half, 3, -1, 1},        // ties before the zero point is added
                 {&third, 4, 0, 1},        // 1.33
                 {&one, 200, 0, 127},      // too high
                 {&one, -200, 100, -100},  // not too low with the zero point
                 {&one, INT32_MIN, 127, -128}};
    for (size_t i = 0; i < SC_COUNT_OF(cases); i++) {
        const sc_finish f = {.scale = cases[i].scale, .zero = cases[i].zero};
        CHECK_EQ_INT(sc_finish_round(&f, -128, cases[i].sum, 0), cases[i].expected);
    }
}
