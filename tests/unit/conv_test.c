// Every convolution algorithm against the definition, on random shapes with tails, edges, strides,
// groups and layouts. Values are small multiples of 1/8, so every sum is exact and any order of
// summation must give the same bits.
#include <stdlib.h>

#include "harness.h"
#include "kernels/conv.h"

static uint32_t random_state;

static int64_t pick(int64_t low, int64_t high) {
    random_state = random_state * 1664525u + 1013904223u;
    return low + (int64_t)((random_state >> 8) % (uint64_t)(high - low + 1));
}

static float *random_floats(int64_t count) {
    float *values = test_alloc((size_t)(count > 0 ? count : 1) * sizeof(float));
    for (int64_t i = 0; i < count; i++) values[i] = (float)pick(-16, 16) / 8;
    return values;
}

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

// False when the numbers picked make no convolution.
static bool random_conv(sc_conv *c, sc_epilogue *epilogue) {
    const bool depthwise = pick(0, 2) == 0, last = pick(0, 3) == 0;
    *c = (sc_conv){.batch = pick(1, 2),
                   .groups = depthwise ? pick(1, 5) : pick(1, 2),
                   .in_channels = depthwise ? 1 : pick(1, 9),
                   .out_channels = depthwise ? pick(1, 2) : pick(1, 21),
                   .transposed = pick(0, 4) == 0};
    const int64_t spatial = pick(1, 3);
    const bool pointwise = pick(0, 3) == 0;
    for (int d = 0; d < 3; d++) {
        bool absent = d < 3 - spatial;
        c->in[d] = absent ? 1 : pick(1, spatial == 3 ? 5 : 23);
        c->kernel[d] = absent || pointwise ? 1 : pick(1, 5);
        c->stride[d] = absent || pointwise ? 1 : pick(1, 3);
        c->pad[d] = absent || pointwise ? 0 : pick(0, 3);
        c->dilation[d] = absent || pointwise ? 1 : pick(1, 2);
        c->out[d] = out_size(c, d, absent ? 0 : pick(0, c->stride[d] - 1));
        if (c->out[d] < 1) return false;
    }
    int64_t taps = sc_conv_taps(c), weights = c->groups * c->in_channels * c->out_channels * taps;
    set_steps(c->in_step, c->groups * c->in_channels, c->in, last);
    set_steps(c->out_step, c->groups * c->out_channels, c->out, last);
    set_steps(c->weight_step, c->transposed ? c->out_channels : c->in_channels, c->kernel, last);
    c->weight_group = c->weight_step[0] * (c->transposed ? c->in_channels : c->out_channels);
    if (c->transposed) {
        int64_t swap = c->weight_step[0];
        c->weight_step[0] = c->weight_step[1];
        c->weight_step[1] = swap;
    }
    c->input = random_floats(c->batch * c->in_step[0]);
    c->weight = random_floats(weights);
    c->bias = pick(0, 1) ? random_floats(c->groups * c->out_channels) : NULL;
    if (pick(0, 1)) {
        float *scale = random_floats(c->groups * c->out_channels);
        *epilogue = (sc_epilogue){.clamps = pick(0, 1),
                                  .low = 0,
                                  .high = 6,
                                  .shift = random_floats(c->groups * c->out_channels)};
        epilogue->scale = pick(0, 1) ? scale : NULL;
        c->epilogue = epilogue;
    }
    return true;
}

static void check_variant(sc_conv *c, const sc_conv_variant *variant, const float *expected) {
    const size_t bytes = (size_t)(c->batch * c->out_step[0]) * sizeof(float);
    const size_t scratch_bytes = variant->scratch ? (size_t)variant->scratch(c) : 0;
    uint8_t *scratch = test_alloc(scratch_bytes + 1);  // sanitizers guard its end
    memset(scratch, 0xff, scratch_bytes);
    c->output = test_alloc(bytes);
    memset(c->output, 0xff, bytes);
    variant->run(c, scratch);
    if (!CHECK_EQ_MEM(c->output, expected, bytes))
        FAIL("%s: in %d x %d of %d %d %d, kernel %d %d %d, stride %d %d %d, pad %d %d %d, "
             "dilation %d %d %d%s",
             variant->name, (int)c->groups, (int)c->in_channels, (int)c->in[0], (int)c->in[1],
             (int)c->in[2], (int)c->kernel[0], (int)c->kernel[1], (int)c->kernel[2],
             (int)c->stride[0], (int)c->stride[1], (int)c->stride[2], (int)c->pad[0],
             (int)c->pad[1], (int)c->pad[2], (int)c->dilation[0], (int)c->dilation[1],
             (int)c->dilation[2], c->transposed ? ", transposed" : "");
}

TEST_CASES(conv_variants) {
    uint32_t ran[16] = {0};
    const uint32_t last = sc_conv_variant_count - 1;
    if (!test_case("random shapes")) return;
    for (random_state = 1; random_state < 700; random_state++) {
        uint32_t seed = random_state;
        sc_conv c;
        sc_epilogue epilogue;
        if (random_conv(&c, &epilogue)) {
            const size_t bytes = (size_t)(c.batch * c.out_step[0]) * sizeof(float);
            float *expected = test_alloc(bytes);
            c.output = expected;
            sc_conv_variants[last]->run(&c, NULL);
            for (uint32_t v = 0; v < last; v++) {
                if (!sc_conv_variants[v]->fits(&c)) continue;
                ran[v]++;
                check_variant(&c, sc_conv_variants[v], expected);
            }
        }
        random_state = seed;
    }
    for (uint32_t v = 0; v < last; v++) {
        if (test_case("%s was reached", sc_conv_variants[v]->name)) CHECK(ran[v] > 20);
    }
}

// The definition itself, on numbers worked out by hand.
TEST(conv_reference_by_hand) {
    const float input[] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, weight[] = {1, 0, 0, -1}, bias[] = {10};
    float output[4];
    sc_conv c = {.batch = 1,
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
                 .bias = bias,
                 .output = output};
    sc_conv_variants[sc_conv_variant_count - 1]->run(&c, NULL);
    for (int i = 0; i < 4; i++)
        CHECK_CLOSE(output[i], 6, 0);  // each input minus its lower right neighbour, plus 10
    const float spread[] = {1, 2, 3, 4}, ones[] = {1, 1, 1, 1};
    float big[9];
    sc_conv t = {.batch = 1,
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
                 .weight = ones,
                 .output = big};
    sc_conv_variants[sc_conv_variant_count - 1]->run(&t, NULL);
    const float expected[] = {1, 3, 2, 4, 10, 6, 3, 7, 4};
    CHECK_EQ_MEM(big, expected, sizeof big);
}
