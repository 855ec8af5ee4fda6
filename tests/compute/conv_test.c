// Every row for convolutions against the definition, on random shapes with tails, edges, strides,
// groups and layouts.
#include "compute/conv.h"
#include "compute/rows.h"
#include "harness.h"

// Steps of [d0, d1, s0, s1, s2], planes or channels last.
static void set_steps(int64_t step[5], int64_t channels, const int64_t sizes[3], bool last) {
    step[4] = last ? channels : 1;
    step[3] = step[4] * sizes[2];
    step[2] = step[3] * sizes[1];
    step[1] = last ? 1 : step[2] * sizes[0];
    step[0] = channels * sizes[0] * sizes[1] * sizes[2];
}

static int64_t out_size(const sc_conv *c, int d, int64_t extra) {
    int64_t reach = c->dilation[d] * (c->kernel[d] - 1) + 1;
    if (c->transposed) return (c->in[d] - 1) * c->stride[d] - 2 * c->pad[d] + reach + extra;
    int64_t span = c->in[d] + 2 * c->pad[d] - reach;
    return span < 0 ? 0 : span / c->stride[d] + 1;
}

static const sc_record f32_record = {.kind = SC_RECORD_CONV,
                                     .in = SC_DTYPE_F32,
                                     .weight = SC_DTYPE_F32,
                                     .bias = SC_DTYPE_F32,
                                     .out = SC_DTYPE_F32};

// False when the numbers picked make no convolution.
static bool pick_shape(sc_conv *c, bool depthwise) {
    *c = (sc_conv){.record = f32_record,
                   .batch = rows_pick(1, 2),
                   .groups = depthwise ? rows_pick(1, rows_pick(5, 21)) : rows_pick(1, 2),
                   .in_channels = depthwise ? 1 : rows_pick(1, rows_pick(0, 29) ? 9 : 70),
                   .out_channels = depthwise ? rows_pick(1, 2) : rows_pick(1, 21),
                   .transposed = rows_pick(0, 4) == 0};
    const int64_t spatial = rows_pick(1, 3);
    const bool usual = depthwise && rows_pick(0, 1);
    const bool pointwise = rows_pick(0, 3) == 0;
    for (int d = 0; d < 3; d++) {
        bool absent = d < 3 - spatial;
        c->in[d] = absent ? 1 : rows_pick(1, spatial == 3 ? 5 : 23);
        c->kernel[d] = absent || pointwise ? 1 : rows_pick(1, 5);
        c->stride[d] = absent || pointwise ? 1 : rows_pick(1, 3);
        c->pad[d] = absent || pointwise ? 0 : rows_pick(0, 3);
        c->dilation[d] = absent || pointwise ? 1 : rows_pick(1, 2);
        if (usual && !absent) c->kernel[d] = 3, c->pad[d] = rows_pick(0, 1), c->dilation[d] = 1;
        c->out[d] = out_size(c, d, absent ? 0 : rows_pick(0, c->stride[d] - 1));
        if (c->out[d] < 1) return false;
    }
    return true;
}

// With channels last, images may be a part of the channels of wider ones, or read from planes.
static void pick_layout(sc_conv *c) {
    const bool last = rows_pick(0, 1), part = last && rows_pick(0, 3) == 0;
    const bool planes = !last || (!part && rows_pick(0, 3) == 0);
    set_steps(c->in_step, c->groups * c->in_channels + (part ? 3 : 0), c->in, !planes);
    set_steps(c->out_step, sc_conv_channels(c) + (part ? 1 : 0), c->out, last);
    set_steps(c->weight_step, c->transposed ? c->out_channels : c->in_channels, c->kernel, last);
    c->weight_group = c->weight_step[0] * (c->transposed ? c->in_channels : c->out_channels);
    if (!c->transposed) return;
    int64_t swap = c->weight_step[0];
    c->weight_step[0] = c->weight_step[1];
    c->weight_step[1] = swap;
}

static void pick_finish(sc_finish *finish, int64_t channels) {
    if (rows_pick(0, 1)) return;
    finish->clamps = rows_pick(0, 1);
    finish->low = 0;
    finish->high = 6;
    if (rows_pick(0, 3)) finish->shift = rows_floats(channels);
    if (rows_pick(0, 1)) finish->scale = rows_floats(channels);
    finish->scale_step = rows_pick(0, 3) != 0;
}

// A kernel of 3 x 3 pixels of several channels; false when the numbers picked make no convolution.
static bool pick_3x3(sc_conv *c) {
    *c = (sc_conv){.record = f32_record,
                   .batch = rows_pick(1, 2),
                   .groups = 1,
                   .in_channels = 4 * rows_pick(2, rows_pick(0, 29) ? 4 : 70),
                   .out_channels = rows_pick(8, 21),
                   .in = {1, rows_pick(1, 23), rows_pick(1, 23)},
                   .kernel = {1, 3, 3},
                   .stride = {1, 1, 1},
                   .pad = {0, rows_pick(0, 3), rows_pick(0, 3)},
                   .dilation = {1, rows_pick(1, 3), rows_pick(1, 3)}};
    for (int d = 0; d < 3; d++) {
        c->out[d] = out_size(c, d, 0);
        if (c->out[d] < 1) return false;
    }
    return true;
}

static void pick_values(sc_conv *c, float *(*values)(int64_t count)) {
    pick_layout(c);
    c->input = values(c->batch * c->in_step[0]);
    c->weight = values(sc_conv_channels(c) * c->in_channels * sc_conv_taps(c));
    c->bias = rows_pick(0, 1) ? values(sc_conv_channels(c)) : NULL;
}

static void print_conv(const sc_conv *c) {
    FAIL("in %d x %d of %d %d %d, kernel %d %d %d, stride %d %d %d, pad %d %d %d, "
         "dilation %d %d %d%s",
         (int)c->groups, (int)c->in_channels, (int)c->in[0], (int)c->in[1], (int)c->in[2],
         (int)c->kernel[0], (int)c->kernel[1], (int)c->kernel[2], (int)c->stride[0],
         (int)c->stride[1], (int)c->stride[2], (int)c->pad[0], (int)c->pad[1], (int)c->pad[2],
         (int)c->dilation[0], (int)c->dilation[1], (int)c->dilation[2],
         c->transposed ? ", transposed" : "");
}

// 8-bit operands: a zero point and a scale for all images or one each, results of 8 bits or floats.
// Scales are powers of two, so sums often lie half way between two results.
static void make_bytes(sc_conv *c) {
    const int64_t channels = sc_conv_channels(c);
    sc_record *r = &c->record;
    const bool is_unsigned = rows_pick(0, 5) == 0, floats = rows_pick(0, 1);
    r->in = r->weight = is_unsigned ? SC_DTYPE_U8 : SC_DTYPE_I8;
    r->bias = SC_DTYPE_I32;
    r->out = floats ? SC_DTYPE_F32 : r->in;
    c->input = rows_bytes(c->batch * c->in_step[0]);
    c->weight = rows_bytes(channels * c->in_channels * sc_conv_taps(c));
    c->bias = rows_pick(0, 1) ? rows_ints(channels, 100000) : NULL;
    r->quant.step = rows_pick(0, 1);
    if (rows_pick(0, 3)) r->quant.zero = rows_ints(c->batch, 128);
    if (floats && rows_pick(0, 3)) r->quant.scale = rows_powers(c->batch);
    if (is_unsigned) r->weights.zero = (int32_t)rows_pick(0, 255);
    r->finish = (sc_finish){.scale = floats ? rows_reals(channels) : rows_powers(channels),
                            .scale_step = rows_pick(0, 1) != 0,
                            .clamps = rows_pick(0, 1),
                            .low = -100,
                            .high = 50,
                            .zero = (int32_t)rows_pick(is_unsigned ? 0 : -128, 127)};
    if (floats && rows_pick(0, 1)) r->finish.shift = rows_floats(channels);
    if (!floats && rows_pick(0, 1)) rows_regrid(r);
}

static void check_bytes(sc_conv *c, uint32_t ran[ROWS_MAX]) {
    pick_layout(c);
    make_bytes(c);
    const size_t size = c->record.out == SC_DTYPE_F32 ? sizeof(float) : 1;
    if (!rows_agree(&c->record, &c->output, (size_t)(c->batch * c->out_step[0]) * size, ran))
        print_conv(c);
}

static void check_floats(sc_conv *c, float *(*values)(int64_t count), uint32_t ran[ROWS_MAX]) {
    pick_values(c, values);
    pick_finish(&c->record.finish, sc_conv_channels(c));
    const size_t bytes = (size_t)(c->batch * c->out_step[0]) * sizeof(float);
    if (!rows_agree(&c->record, &c->output, bytes, ran)) print_conv(c);
}

TEST_CASES(conv_rows) {
    uint32_t ran[ROWS_MAX] = {0};
    if (!test_case("random shapes")) return;
    sc_conv c;
    for (uint32_t seed = 1; seed < 1500; seed++) {
        rows_random = seed;
        if (pick_shape(&c, rows_pick(0, 2) == 0)) check_bytes(&c, ran);
    }
    for (uint32_t seed = 1; seed < 1000; seed++) {
        rows_random = seed;
        if (!pick_shape(&c, true) || c.transposed) continue;
        c.groups = rows_pick(8, 40), c.out_channels = 1;
        check_bytes(&c, ran);
    }
    for (uint32_t seed = 1; seed < 900; seed++) {
        rows_random = seed;
        if (pick_shape(&c, rows_pick(0, 2) == 0)) check_floats(&c, rows_floats, ran);
    }
    for (uint32_t seed = 1; seed < 180; seed++) {
        rows_random = seed;
        if (pick_3x3(&c)) check_floats(&c, rows_floats, ran);
    }
    rows_were_reached(SC_RECORD_CONV, ran, 20);
}

// On numbers whose sums are not exact, rows may differ by what rounding each of n additions of at
// most 1 can do to two sums.
TEST(conv_rows_round_in_bounds) {
    for (uint32_t seed = 1; seed < 250; seed++) {
        sc_conv c;
        rows_random = seed;
        if (!(seed < 200 ? pick_shape(&c, rows_pick(0, 2) == 0) : pick_3x3(&c))) continue;
        pick_values(&c, rows_reals);
        const int64_t count = c.batch * sc_conv_channels(&c) * sc_conv_out_area(&c);
        const float terms = (float)(c.in_channels * sc_conv_taps(&c) + 1);
        if (count != c.batch * c.out_step[0]) continue;  // has gaps
        if (!rows_are_close(&c.record, &c.output, (size_t)count, terms * terms * 0x1p-23f))
            print_conv(&c);
    }
}

// The definition itself, on numbers worked out by hand.
TEST(conv_reference_by_hand) {
    const float input[] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, weight[] = {1, 0, 0, -1}, bias[] = {10};
    sc_conv c = {.record = f32_record,
                 .batch = 1,
                 .groups = 1,
                 .in_channels = 1,
                 .out_channels = 1,
                 .in = {1, 3, 3},
                 .out = {1, 2, 2},
                 .kernel = {1, 2, 2},
                 .stride = {1, 1, 1},
                 .dilation = {1, 1, 1},
                 .in_step = {9, 9, 9, 3, 1},
                 .out_step = {4, 4, 4, 2, 1},
                 .weight_step = {4, 4, 4, 2, 1},
                 .weight_group = 4,
                 .input = input,
                 .weight = weight,
                 .bias = bias};
    const float *output = rows_expected(&c.record, &c.output, 4 * sizeof(float));
    for (int i = 0; i < 4; i++)
        CHECK_CLOSE(output[i], 6, 0);  // each input minus its lower right neighbour, plus 10
    const float spread[] = {1, 2, 3, 4}, ones[] = {1, 1, 1, 1};
    sc_conv t = {.record = f32_record,
                 .batch = 1,
                 .groups = 1,
                 .in_channels = 1,
                 .out_channels = 1,
                 .transposed = true,
                 .in = {1, 2, 2},
                 .out = {1, 3, 3},
                 .kernel = {1, 2, 2},
                 .stride = {1, 1, 1},
                 .dilation = {1, 1, 1},
                 .in_step = {4, 4, 4, 2, 1},
                 .out_step = {9, 9, 9, 3, 1},
                 .weight_step = {4, 4, 4, 2, 1},
                 .weight_group = 4,
                 .input = spread,
                 .weight = ones};
    const float *big = rows_expected(&t.record, &t.output, 9 * sizeof(float));
    const float expected[] = {1, 3, 2, 4, 10, 6, 3, 7, 4};
    CHECK_EQ_MEM(big, expected, sizeof expected);
}

// Integers that wrap are computed; those that stand for numbers are not taken for them.
TEST(wrapping_convolutions_have_no_quantization) {
    static const int8_t bytes[4] = {1, 2, 3, 4};
    static const int32_t zero = 3, bias = 1000;
    static const float scale = 0.5f;
    sc_conv c = {.record = {.kind = SC_RECORD_CONV,
                            .in = SC_DTYPE_I8,
                            .weight = SC_DTYPE_I8,
                            .bias = SC_DTYPE_I8,
                            .out = SC_DTYPE_I8},
                 .input = bytes,
                 .weight = bytes,
                 .bias = bytes};
    CHECK(sc_variant_best(&c.record) != NULL);
    c.record.quant.zero = &zero;
    CHECK(sc_variant_best(&c.record) == NULL);
    c.record.quant = (sc_input_quant){.scale = &scale};
    CHECK(sc_variant_best(&c.record) == NULL);
    c.record.quant = (sc_input_quant){0};
    c.record.bias = SC_DTYPE_I32;
    c.bias = &bias;
    CHECK(sc_variant_best(&c.record) == NULL);
}

// A row of three pixels with three taps each, the outer ones of which lie in the padding.
static sc_conv row_of_bytes(const void *input, const void *weight, uint8_t in, uint8_t out) {
    return (sc_conv){.record = {.kind = SC_RECORD_CONV,
                                .in = in,
                                .weight = in,
                                .bias = SC_DTYPE_I32,
                                .out = out},
                     .batch = 1,
                     .groups = 1,
                     .in_channels = 1,
                     .out_channels = 1,
                     .in = {1, 1, 3},
                     .out = {1, 1, 3},
                     .kernel = {1, 1, 3},
                     .stride = {1, 1, 1},
                     .pad = {0, 0, 1},
                     .dilation = {1, 1, 1},
                     .in_step = {3, 3, 3, 3, 1},
                     .out_step = {3, 3, 3, 3, 1},
                     .weight_step = {3, 3, 3, 3, 1},
                     .weight_group = 3,
                     .input = input,
                     .weight = weight};
}

TEST(conv_reference_of_bytes_by_hand) {
    const int8_t input[] = {12, 9, 30}, weight[] = {2, -1, 3};
    const int32_t zero = 10, bias = 5;
    const float scale = 0.5f, in_scale = 0.25f, shift = 100;
    sc_conv c = row_of_bytes(input, weight, SC_DTYPE_I8, SC_DTYPE_I8);
    c.bias = &bias;
    c.record.quant.zero = &zero;
    c.record.finish = (sc_finish){.scale = &scale, .zero = -3};
    // Less the zero point 2, -1, 20: sums -5, 65, -22 with the bias 0, 70, -17; halves, ties to
    // even.
    const int8_t *bytes = rows_expected(&c.record, &c.output, 3);
    CHECK(bytes[0] == -3 && bytes[1] == 32 && bytes[2] == -11);
    c.record.out = SC_DTYPE_F32;
    c.record.quant.scale = &in_scale;
    c.record.finish.shift = &shift;
    const float *floats = rows_expected(&c.record, &c.output, 3 * sizeof(float));
    CHECK(floats[0] == 100 && floats[1] == 108.75f && floats[2] == 97.875f);
}

TEST(conv_reference_of_unsigned_bytes_by_hand) {
    const uint8_t input[] = {200, 197, 255}, weight[] = {130, 127, 131};
    const int32_t zero = 198;
    const float scale = 1;
    sc_conv c = row_of_bytes(input, weight, SC_DTYPE_U8, SC_DTYPE_U8);
    c.record.quant.zero = &zero;
    c.record.weights.zero = 128;
    c.record.finish = (sc_finish){.scale = &scale, .zero = 60};
    // 2, -1, 57 by 2, -1, 3: -2 - 3, 4 + 1 + 171, -2 - 57.
    const uint8_t *bytes = rows_expected(&c.record, &c.output, 3);
    CHECK(bytes[0] == 55 && bytes[1] == 236 && bytes[2] == 1);
    c.record.finish.zero = 100;
    bytes = rows_expected(&c.record, &c.output, 3);
    CHECK(bytes[1] == 255);
}
