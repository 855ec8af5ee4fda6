// Nodes of XNNPACK payloads one at a time, as delegates: results by the definition.
#include <math.h>

#include "backends/xnnpack_bench.h"

// --- Floats --------------------------------------------------------------------------------------

TEST(xnnpack_functions_of_one_number) {
    static const float x[] = {-4, -1, -0.5f, 0, 0.25f, 2, 5};
    static const struct {
        sc_xnn_kind kind;
        float value;
        float wanted[7];
    } cases[] = {
        {SC_XNN_HARDSWISH, 0, {0, -1.0f / 3, -2.5f / 12, 0, 0.8125f / 6, 10.0f / 6, 5}},
        {SC_XNN_LEAKY_RELU, 0.5f, {-2, -0.5f, -0.25f, 0, 0.25f, 2, 5}},
        {SC_XNN_ELU, 2, {-1.9633687f, -1.2642411f, -0.78693868f, 0, 0.25f, 2, 5}},
        {SC_XNN_NEGATE, 0, {4, 1, 0.5f, 0, -0.25f, -2, -5}},
        {SC_XNN_SQUARE, 0, {16, 1, 0.25f, 0, 0.0625f, 4, 25}},
        {SC_XNN_CEILING, 0, {-4, -1, 0, 0, 1, 2, 5}},
        {SC_XNN_SIGMOID,
         0,
         {0.01798621f, 0.26894142f, 0.37754067f, 0.5f, 0.56217650f, 0.88079708f, 0.99330715f}},
    };
    for (size_t i = 0; i < SC_COUNT_OF(cases); i++) {
        bench b;
        begin(&b);
        uint32_t in = INPUT(&b, SC_XNN_FP32, x, 7), out = OUTPUT(&b, SC_XNN_FP32, 7);
        node(&b, cases[i].kind, in, NONE, NONE, out)->value = cases[i].value;
        if (run(&b)) check_floats(&b, 1, cases[i].wanted, 1e-6f);
        end(&b);
    }
}

TEST(xnnpack_functions_of_two_numbers) {
    static const float x[] = {-2, 4, 6, -8}, y[] = {2, 4};
    static const struct {
        sc_xnn_kind kind;
        bool has_range;
        float wanted[4];
    } cases[] = {
        {SC_XNN_ADD, true, {0, 6, 6, -1}},           {SC_XNN_SUBTRACT, false, {-4, 0, 4, -12}},
        {SC_XNN_MULTIPLY, false, {-4, 16, 12, -32}}, {SC_XNN_DIVIDE, false, {-1, 1, 3, -2}},
        {SC_XNN_MAXIMUM, false, {2, 4, 6, 4}},       {SC_XNN_MINIMUM, false, {-2, 4, 2, -8}},
        {SC_XNN_PRELU, false, {-4, 4, 6, -32}},
    };
    for (size_t i = 0; i < SC_COUNT_OF(cases); i++) {
        bench b;
        begin(&b);
        uint32_t in = INPUT(&b, SC_XNN_FP32, x, 2, 2), other = WEIGHT(&b, SC_XNN_FP32, y, 2);
        sc_xnn_node *n = node(&b, cases[i].kind, in, other, NONE, OUTPUT(&b, SC_XNN_FP32, 2, 2));
        n->has_range = cases[i].has_range;
        n->low = -1;
        n->high = 6;
        if (run(&b)) check_floats(&b, 1, cases[i].wanted, 1e-6f);
        end(&b);
    }
}

TEST(xnnpack_resize) {
    static const float x[] = {0, 2, 4, 6};
    static const float aligned[] = {0, 1, 2, 2, 3, 4, 4, 5, 6};
    static const float centered[] = {0, 0.5f, 1.5f, 2, 1, 1.5f, 2.5f, 3,
                                     3, 3.5f, 4.5f, 5, 4, 4.5f, 5.5f, 6};
    for (int i = 0; i < 2; i++) {
        bench b;
        begin(&b);
        uint32_t size = i ? 4 : 3;
        uint32_t in = INPUT(&b, SC_XNN_FP32, x, 1, 2, 2, 1);
        uint32_t out = OUTPUT(&b, SC_XNN_FP32, 1, size, size, 1);
        sc_xnn_node *n = node(&b, SC_XNN_RESIZE, in, NONE, NONE, out);
        n->new_height = n->new_width = size;
        n->flags = i ? 0 : SC_XNN_ALIGN_CORNERS;
        if (run(&b)) check_floats(&b, 1, i ? centered : aligned, 1e-6f);
        end(&b);
    }
}

// Positions are 64 bits wide where the program wants them so.
TEST(xnnpack_positions_of_maxima) {
    static const float x[] = {1, 8, 5, 2, 5, 9, 0, 9}, maxima[] = {5, 9};
    bench b;
    begin(&b);
    uint32_t in = INPUT(&b, SC_XNN_FP32, x, 1, 4, 1, 2);
    uint32_t out = OUTPUT(&b, SC_XNN_FP32, 1, 1, 1, 2), at = OUTPUT(&b, SC_XNN_FP32, 1, 1, 1, 2);
    sc_xnn_node *n = node(&b, SC_XNN_ARGMAX_POOL, in, NONE, NONE, out);
    n->outputs[1] = at;
    n->window.kernel_height = 4;
    n->window.kernel_width = 1;
    b.values[2].tensor = make_tensor(&b, SC_DTYPE_I64, &b.graph->values.data[at].shape, NULL);
    if (run(&b)) {
        check_floats(&b, 1, maxima, 0);
        CHECK_EQ_INT(((const int64_t *)result(&b, 2)->data)[0], 1);
        CHECK_EQ_INT(((const int64_t *)result(&b, 2)->data)[1], 2);
    }
    end(&b);
}

// Positions go down the columns; what lies in the padding is the element next to it.
TEST(xnnpack_positions_in_windows_with_padding) {
    static const float x[] = {1, 5, 9, 2, 7, 3};
    static const float maxima[] = {1, 9, 2, 7};
    static const int32_t places[] = {0, 2, 0, 0};
    bench b;
    begin(&b);
    uint32_t in = INPUT(&b, SC_XNN_FP32, x, 1, 2, 3, 1);
    uint32_t out = OUTPUT(&b, SC_XNN_FP32, 1, 2, 2, 1), at = OUTPUT(&b, SC_XNN_INT32, 1, 2, 2, 1);
    sc_xnn_node *n = node(&b, SC_XNN_ARGMAX_POOL, in, NONE, NONE, out);
    n->outputs[1] = at;
    n->window = (sc_xnn_window){.padding_top = 1,
                                .padding_left = 1,
                                .padding_bottom = 1,
                                .kernel_height = 2,
                                .kernel_width = 2};
    if (run(&b)) {
        check_floats(&b, 1, maxima, 0);
        CHECK_EQ_MEM(result(&b, 2)->data, places, sizeof places);
    }
    end(&b);
}

// Both sides are activations: weights of 8 bits are not executed, however they are quantized.
TEST(xnnpack_batches_of_products_are_of_floats) {
    static const float x[] = {1, 2, 3, 4, 5, 6, 7, 8}, ones[] = {1, 1};
    static const int8_t w[] = {1, 2, 3, 4, 5, 6, 7, 8};
    bench b;
    begin(&b);
    uint32_t in = INPUT(&b, SC_XNN_FP32, x, 1, 2, 4), out = OUTPUT(&b, SC_XNN_FP32, 1, 2, 2);
    uint32_t rows = INNER(&b, SC_XNN_QDINT8, 1, 2, 4);
    uint32_t filter = WEIGHT(&b, SC_XNN_QCINT8, w, 1, 4, 2);
    channels(&b, filter, 2, ones, 2);
    *quant_of(&b, rows) = (sc_xnn_quant){.kind = SC_XNN_PER_TOKEN, .nonbatch_dims = 1};
    node(&b, SC_XNN_CONVERT, in, NONE, NONE, rows);
    node(&b, SC_XNN_BATCH_MATMUL, rows, filter, NONE, out);
    CHECK_STATUS(start(&b, &b.state, 2), SC_ERR_DELEGATE);
    CHECK(strstr(setup_message(&b.s), "it computes from qdint8, qcint8 to fp32"));
    end(&b);
}

// Rounded once the zero point is added, as XNNPACK does: halves go to even bytes, not to even
// steps.
TEST(xnnpack_rounds_bytes_after_the_zero_point) {
    static const int8_t x[] = {1, 3, 5, -3}, clamped[] = {4, 4, 6, 2}, padded[] = {4, 1};
    static const uint32_t before[] = {1}, after[] = {0};
    bench b;
    begin(&b);
    uint32_t in = INPUT(&b, SC_XNN_QINT8, x, 4), one = INPUT(&b, SC_XNN_QINT8, x, 1);
    uint32_t out = OUTPUT(&b, SC_XNN_QINT8, 4), two = OUTPUT(&b, SC_XNN_QINT8, 2);
    grid(&b, in, 0.25f, 0);
    grid(&b, out, 0.5f, 3);
    grid(&b, one, 0.5f, 3);
    grid(&b, two, 0.5f, 3);
    sc_xnn_node *n = node(&b, SC_XNN_CLAMP, in, NONE, NONE, out);
    n->has_range = true;
    n->low = -50;
    n->high = 50;
    n = node(&b, SC_XNN_PAD, one, NONE, NONE, two);
    n->lists[0] = (sc_xnn_list){before, 1};
    n->lists[1] = (sc_xnn_list){after, 1};
    n->value = 0.25f;
    if (run(&b)) {
        check_bytes(&b, 2, clamped);
        check_bytes(&b, 3, padded);
    }
    end(&b);
}

// Two outputs for each input channel, side by side.
TEST(xnnpack_depthwise_multiplier) {
    static const float x[] = {1, 2, 3, 4, 5, 6, 7, 8}, bias[] = {0.5f, 0, 0, -1};
    static const float w[] = {1, 2, 3, 4, 10, 20, 30, 40};
    static const float wanted[] = {31.5f, 62, 126, 167, 75.5f, 150, 258, 343};
    bench b;
    begin(&b);
    uint32_t in = INPUT(&b, SC_XNN_FP32, x, 1, 2, 2, 2);
    uint32_t filter = WEIGHT(&b, SC_XNN_FP32, w, 1, 1, 2, 4),
             add = WEIGHT(&b, SC_XNN_FP32, bias, 4);
    uint32_t out = OUTPUT(&b, SC_XNN_FP32, 1, 2, 1, 4);
    sc_xnn_node *n = node(&b, SC_XNN_DEPTHWISE_CONV, in, filter, add, out);
    n->window = (sc_xnn_window){0, 0, 0, 0, 1, 2, 1, 1, 1, 1, 1, 2, 2, 0, 0};
    if (run(&b)) check_floats(&b, 1, wanted, 1e-6f);
    end(&b);
}

// The operand as XNNPACK has it; of floats, which all types hold exactly.
static const void *as_type(bench *b, sc_xnn_datatype type, const float *numbers, size_t count) {
    uint16_t *halves = sc_new_array(&b->s.arena, uint16_t, count);
    if (type == SC_XNN_FP32) return numbers;
    for (size_t i = 0; i < count; i++)
        halves[i] = type == SC_XNN_FP16 ? sc_f32_to_f16(numbers[i]) : sc_f32_to_bf16(numbers[i]);
    return halves;
}

// Weights that are results or arguments, in every mixture of types, as rows and as columns; the
// bias is an argument, too, or a constant.
TEST(xnnpack_products_with_weights_that_are_computed) {
    static const float x[] = {1, 2, 3, 4, 5, 6}, bias[] = {0.5f, -1};
    static const float by_rows[] = {14.5f, 31, 32.5f, 76}, by_columns[] = {22.5f, 27, 49.5f, 63};
    static const sc_xnn_datatype types[][4] = {
        {SC_XNN_FP32, SC_XNN_FP32, SC_XNN_FP32, SC_XNN_FP32},
        {SC_XNN_FP16, SC_XNN_FP16, SC_XNN_FP16, SC_XNN_FP16},
        {SC_XNN_FP16, SC_XNN_FP16, SC_XNN_FP32, SC_XNN_FP16},
        {SC_XNN_FP32, SC_XNN_FP16, SC_XNN_FP16, SC_XNN_FP32},
        {SC_XNN_BF16, SC_XNN_BF16, SC_XNN_FP32, SC_XNN_FP32},
    };
    for (size_t i = 0; i < 4 * SC_COUNT_OF(types); i++) {
        const sc_xnn_datatype *t = types[i / 4];
        const bool is_transposed = i & 1, is_constant = i & 2;
        const void *added;
        bench b;
        begin(&b);
        added = as_type(&b, t[2], bias, 2);
        uint32_t in = INPUT(&b, t[0], as_type(&b, t[0], x, 6), 2, 3);
        uint32_t filter = is_transposed ? INPUT(&b, t[1], as_type(&b, t[1], x, 6), 3, 2)
                                        : INPUT(&b, t[1], as_type(&b, t[1], x, 6), 2, 3);
        uint32_t add = is_constant ? WEIGHT(&b, t[2], added, 2) : INPUT(&b, t[2], added, 2);
        uint32_t out = OUTPUT(&b, t[3], 2, 2);
        node(&b, SC_XNN_FULLY_CONNECTED, in, filter, add, out)->flags =
            is_transposed ? SC_XNN_TRANSPOSE_WEIGHTS : 0;
        if (run(&b)) check_floats(&b, is_constant ? 2 : 3, is_transposed ? by_columns : by_rows, 0);
        end(&b);
    }
}

// --- Bytes ---------------------------------------------------------------------------------------

TEST(xnnpack_bytes_of_two_numbers) {
    static const int8_t x[] = {10, -20, 100, -128}, y[] = {4, 8, 90, -100};
    static const struct {
        sc_xnn_kind kind;
        int8_t wanted[4];
    } cases[] = {
        // (x - 2) * 0.5 and (y + 4) * 0.25, by 1.0, with 3 for 0.
        {SC_XNN_ADD, {9, -5, 76, -86}},
        {SC_XNN_SUBTRACT, {5, -11, 29, -38}},
        {SC_XNN_MULTIPLY, {11, -30, 127, 127}},
    };
    for (size_t i = 0; i < SC_COUNT_OF(cases); i++) {
        bench b;
        begin(&b);
        uint32_t a = INPUT(&b, SC_XNN_QINT8, x, 4), c = INPUT(&b, SC_XNN_QINT8, y, 4);
        uint32_t out = OUTPUT(&b, SC_XNN_QINT8, 4);
        grid(&b, a, 0.5f, 2);
        grid(&b, c, 0.25f, -4);
        grid(&b, out, 1, 3);
        node(&b, cases[i].kind, a, c, NONE, out);
        if (run(&b)) check_bytes(&b, 2, cases[i].wanted);
        end(&b);
    }
}

TEST(xnnpack_bytes_by_lookup) {
    static const int8_t x[] = {-128, -3, 5, 127};
    static const int8_t clamped[] = {-1, -1, 5, 9};
    bench b;
    begin(&b);
    uint32_t in = INPUT(&b, SC_XNN_QINT8, x, 4), low = OUTPUT(&b, SC_XNN_QINT8, 4);
    uint32_t out = OUTPUT(&b, SC_XNN_QINT8, 4);
    grid(&b, in, 0.5f, -1);
    grid(&b, low, 0.5f, -1);
    grid(&b, out, 1.0f / 256, -128);
    sc_xnn_node *n = node(&b, SC_XNN_CLAMP, in, NONE, NONE, low);
    n->has_range = true;
    n->high = 5;
    node(&b, SC_XNN_SIGMOID, in, NONE, NONE, out);
    if (run(&b)) {
        check_bytes(&b, 1, clamped);
        for (int i = 0; i < 4; i++) {
            double s = 1 / (1 + exp(-0.5 * (x[i] + 1)));
            int wanted = (int)nearbyint(s * 256) - 128;
            CHECK_EQ_INT(((const int8_t *)result(&b, 2)->data)[i], wanted > 127 ? 127 : wanted);
        }
    }
    end(&b);
}

TEST(xnnpack_bytes_are_padded_with_their_zero) {
    static const int8_t x[] = {1, 2, 3, 4};
    static const int8_t wanted[] = {7, 1, 2, 7, 7, 3, 4, 7, 7, 7, 7, 7};
    static const uint32_t before[] = {0, 1}, after[] = {1, 1};
    bench b;
    begin(&b);
    uint32_t in = INPUT(&b, SC_XNN_QINT8, x, 2, 2), out = OUTPUT(&b, SC_XNN_QINT8, 3, 4);
    grid(&b, in, 0.5f, 7);
    grid(&b, out, 0.5f, 7);
    sc_xnn_node *n = node(&b, SC_XNN_PAD, in, NONE, NONE, out);
    n->lists[0] = (sc_xnn_list){before, 2};
    n->lists[1] = (sc_xnn_list){after, 2};
    if (run(&b)) check_bytes(&b, 1, wanted);
    end(&b);
}

// --- Weights of few bits -------------------------------------------------------------------------

enum { M = 3, K = 64, N = 5 };

typedef struct weights {
    float x[M * K], bias[N], scales[N];
    int8_t w[N * K];  // -8..7, so that they fit 4 bits
    uint8_t nibbles[N * K / 2];
    uint16_t blocks[N * K / 32];  // bf16
} weights;

static void fill(weights *w) {
    for (int i = 0; i < M * K; i++) w->x[i] = (float)((i * 37) % 101 - 30) * 0.03f;
    for (int i = 0; i < N * K; i++) {
        w->w[i] = (int8_t)((i * 29) % 16 - 8);
        int shift = i % 2 * 4;
        w->nibbles[i / 2] = (uint8_t)((i % 2 ? w->nibbles[i / 2] : 0) | (w->w[i] + 8) << shift);
    }
    for (int i = 0; i < N; i++) {
        w->bias[i] = 0.25f * (float)i;
        w->scales[i] = 0.01f * (float)(i + 1);
    }
    for (int i = 0; i < N * K / 32; i++) w->blocks[i] = sc_f32_to_bf16(0.015625f * (float)(i + 1));
}

// Quantizes a row of numbers: 8 bits with a scale and a zero point of its own.
static double quantized(const float *row, int k, double *sum_of, const int8_t *w, int from) {
    float low = 0, high = 0;
    for (int i = 0; i < K; i++) {
        low = fminf(low, row[i]);
        high = fmaxf(high, row[i]);
    }
    float inverse = low == high ? 1 : 255 / (high - low), a = low * inverse, c = high * inverse;
    float zero = -128 + a + (127 + c) > 0 ? -128 - a : 127 - c;
    zero = nearbyintf(fminf(fmaxf(zero, -128), 127));
    int sum = 0;
    for (int i = from; i < from + k; i++) {
        float q = nearbyintf(row[i] * inverse) + zero;
        sum += ((int)fminf(fmaxf(q, -128), 127) - (int)zero) * w[i];
    }
    *sum_of = sum;
    return 1 / (double)inverse;
}

static void want_products(const weights *w, bool by_rows, bool by_blocks, float *wanted) {
    for (int m = 0; m < M; m++) {
        for (int n = 0; n < N; n++) {
            double sum = 0, part, scale = 1;
            for (int k = 0; k < K; k += 32) {
                if (by_rows) {
                    scale = quantized(w->x + m * K, 32, &part, w->w + n * K, k);
                } else {
                    part = 0;
                    for (int i = k; i < k + 32; i++)
                        part += (double)w->x[m * K + i] * w->w[n * K + i];
                }
                double block = by_blocks ? (double)sc_bf16_to_f32(w->blocks[(n * K + k) / 32])
                                         : (double)w->scales[n];
                sum += part * block;
            }
            wanted[m * N + n] = (float)(sum * scale + (by_rows ? (double)w->bias[n] : 0));
        }
    }
}

TEST_CASES(xnnpack_weights_of_few_bits) {
    static const struct {
        const char *name;
        sc_xnn_datatype weight;
        bool by_rows, by_blocks;
        sc_xnn_datatype out;
    } cases[] = {
        {"rows of 8 bits, 8", SC_XNN_QCINT8, true, false, SC_XNN_FP32},
        {"rows of 8 bits, 4", SC_XNN_QCINT4, true, false, SC_XNN_FP32},
        {"rows of 8 bits, blocks of 4", SC_XNN_QBINT4, true, true, SC_XNN_FP32},
        {"rows of 8 bits, 8, to halves", SC_XNN_QCINT8, true, false, SC_XNN_FP16},
        {"floats, 8", SC_XNN_QCINT8, false, false, SC_XNN_FP32},
        {"floats, 4", SC_XNN_QCINT4, false, false, SC_XNN_FP32},
    };
    static weights w;
    fill(&w);
    for (size_t i = 0; i < SC_COUNT_OF(cases); i++) {
        if (!test_case("%s", cases[i].name)) continue;
        bench b;
        float wanted[M * N];
        begin(&b);
        uint32_t in = INPUT(&b, SC_XNN_FP32, w.x, M, K), rows = in;
        uint32_t out = OUTPUT(&b, cases[i].out, M, N);
        const void *data = cases[i].weight == SC_XNN_QCINT8 ? (void *)w.w : w.nibbles;
        uint32_t filter = WEIGHT(&b, cases[i].weight, data, N, K);
        uint32_t bias = cases[i].by_rows ? WEIGHT(&b, SC_XNN_FP32, w.bias, N) : NONE;
        channels(&b, filter, 0, w.scales, N);
        if (cases[i].by_blocks)
            *quant_of(&b, filter) =
                (sc_xnn_quant){.kind = SC_XNN_PER_GROUP,
                               .group_size = 32,
                               .scales = add_bytes(&b, w.blocks, sizeof w.blocks),
                               .scale_count = N * K / 32};
        if (cases[i].by_rows) {
            rows = INNER(&b, SC_XNN_QDINT8, M, K);
            *quant_of(&b, rows) = (sc_xnn_quant){.kind = SC_XNN_PER_TOKEN, .nonbatch_dims = 1};
            node(&b, SC_XNN_CONVERT, in, NONE, NONE, rows);
        }
        node(&b, SC_XNN_FULLY_CONNECTED, rows, filter, bias, out);
        want_products(&w, cases[i].by_rows, cases[i].by_blocks, wanted);
        if (run(&b)) check_floats(&b, 1, wanted, cases[i].out == SC_XNN_FP16 ? 1e-3f : 2e-6f);
        end(&b);
    }
}

// A scale for all inputs, one for the weights or one for each of their channels: sums are rounded
// to bytes.
TEST_CASES(xnnpack_products_of_bytes) {
    static const sc_xnn_datatype filters[] = {SC_XNN_QCINT8, SC_XNN_QINT8};
    static weights w;
    int8_t x[M * K], wanted[M * N];
    int32_t bias[N];
    fill(&w);
    for (int i = 0; i < M * K; i++) x[i] = (int8_t)((i * 41) % 200 - 100);
    for (int n = 0; n < N; n++) bias[n] = 100 * n - 200;
    for (size_t c = 0; c < SC_COUNT_OF(filters); c++) {
        const bool by_channel = filters[c] == SC_XNN_QCINT8;
        if (!test_case("%s", sc_xnn_datatypes[filters[c]].name)) continue;
        for (int i = 0; i < M * N; i++) {
            int m = i / N, n = i % N, sum = bias[n];
            for (int k = 0; k < K; k++) sum += (x[m * K + k] - 5) * w.w[n * K + k];
            const float scale = 0.02f * w.scales[by_channel ? n : 1] / 0.05f;
            wanted[i] = (int8_t)fminf(fmaxf(nearbyintf((float)sum * scale) - 7, -7), 127);
        }
        bench b;
        begin(&b);
        uint32_t in = INPUT(&b, SC_XNN_QINT8, x, M, K), out = OUTPUT(&b, SC_XNN_QINT8, M, N);
        uint32_t filter = WEIGHT(&b, filters[c], w.w, N, K);
        uint32_t add = WEIGHT(&b, by_channel ? SC_XNN_QCINT32 : SC_XNN_QINT32, bias, N);
        grid(&b, in, 0.02f, 5);
        grid(&b, out, 0.05f, -7);
        grid(&b, filter, w.scales[1], 0);
        grid(&b, add, w.scales[1], 0);
        if (by_channel) channels(&b, filter, 0, w.scales, N);
        if (by_channel) channels(&b, add, 0, w.scales, N);
        sc_xnn_node *n = node(&b, SC_XNN_FULLY_CONNECTED, in, filter, add, out);
        n->has_range = true;
        n->high = INFINITY;
        if (run(&b)) check_bytes(&b, 1, wanted);
        end(&b);
    }
}

// The clamp of a product's bytes says the same whether it is alone with them, and computed as part
// of the product, or something else reads them too.
TEST(xnnpack_products_of_bytes_are_clamped) {
    static const float inf = INFINITY;
    static const struct {
        sc_grid from, to;
        bool has_range;
        float low, high;
    } cases[] = {
        {{0.05f, -7, false}, {0.031f, -120, false}, true, 0, 6},
        {{0.05f, -7, false}, {0.05f, -7, false}, true, 0, 6},
        {{0.05f, -7, false}, {0.031f, -120, false}, true, -1.5f, inf},
        {{0.05f, -7, false}, {0.05f, -7, false}, true, -1.5f, inf},
        {{0.05f, -7, false}, {0.05f, -7, false}, false, 0, 0},
        // Ties, which an odd zero point rounds to the other side.
        {{0.5f, 0, false}, {1, 1, false}, true, -1000, inf},
        {{0.125f, 3, false}, {0.25f, -7, false}, true, -1000, inf},
        {{0.25f, -2, false}, {0.5f, -127, false}, true, 0, 6},
    };
    static weights w;
    int8_t x[M * K];
    fill(&w);
    for (int i = 0; i < M * K; i++) x[i] = (int8_t)((i * 41) % 200 - 100);
    for (size_t i = 0; i < SC_COUNT_OF(cases); i++) {
        const sc_grid from = cases[i].from, to = cases[i].to;
        bench b;
        begin(&b);
        uint32_t in = INPUT(&b, SC_XNN_QINT8, x, M, K), inner = INNER(&b, SC_XNN_QINT8, M, N);
        uint32_t apart = OUTPUT(&b, SC_XNN_QINT8, M, N), out = OUTPUT(&b, SC_XNN_QINT8, M, N);
        uint32_t alone = OUTPUT(&b, SC_XNN_QINT8, M, N);
        uint32_t filter = WEIGHT(&b, SC_XNN_QCINT8, w.w, N, K);
        grid(&b, in, 0.02f, 5);
        grid(&b, inner, from.scale, from.zero);
        grid(&b, apart, from.scale, from.zero);
        grid(&b, out, to.scale, to.zero);
        grid(&b, alone, to.scale, to.zero);
        channels(&b, filter, 0, w.scales, N);
        node(&b, SC_XNN_FULLY_CONNECTED, in, filter, NONE, apart);
        sc_xnn_node *n = node(&b, SC_XNN_CLAMP, apart, NONE, NONE, out);
        node(&b, SC_XNN_FULLY_CONNECTED, in, filter, NONE, inner);
        sc_xnn_node *m = node(&b, SC_XNN_CLAMP, inner, NONE, NONE, alone);
        n->has_range = m->has_range = cases[i].has_range;
        n->low = m->low = cases[i].low;
        n->high = m->high = cases[i].high;
        if (run(&b)) check_bytes(&b, 3, result(&b, 2)->data);
        end(&b);
    }
}

// A convolution that reads planes itself gives the bits of one that reads their transposition.
TEST(xnnpack_convolutions_read_planes) {
    enum { H = 9, W = 14, C = 3, O = 5, OUT_H = 5, OUT_W = 7 };
    static const uint32_t channels_last[] = {0, 2, 3, 1};
    static float x[2 * C * H * W], w[O * 3 * 3 * C], bias[O];
    for (int i = 0; i < 2 * C * H * W; i++) x[i] = (float)((i * 37) % 101 - 50) / 7;
    for (int i = 0; i < O * 3 * 3 * C; i++) w[i] = (float)((i * 29) % 97 - 48) / 9;
    for (int i = 0; i < O; i++) bias[i] = (float)i - 2;
    bench b;
    begin(&b);
    const uint32_t in = INPUT(&b, SC_XNN_FP32, x, 2, C, H, W);
    const uint32_t inner = INNER(&b, SC_XNN_FP32, 2, H, W, C);
    const uint32_t seen = OUTPUT(&b, SC_XNN_FP32, 2, H, W, C);
    const uint32_t apart = OUTPUT(&b, SC_XNN_FP32, 2, OUT_H, OUT_W, O);
    const uint32_t alone = OUTPUT(&b, SC_XNN_FP32, 2, OUT_H, OUT_W, O);
    const uint32_t filter = WEIGHT(&b, SC_XNN_FP32, w, O, 3, 3, C);
    const uint32_t add = WEIGHT(&b, SC_XNN_FP32, bias, O);
    const uint32_t between[] = {seen, inner}, out[] = {apart, alone};
    for (int i = 0; i < 2; i++) {
        node(&b, SC_XNN_TRANSPOSE, in, NONE, NONE, between[i])->lists[0] =
            (sc_xnn_list){channels_last, 4};
        node(&b, SC_XNN_CONV, between[i], filter, add, out[i])->window =
            (sc_xnn_window){1, 1, 1, 1, 3, 3, 2, 2, 1, 1, C, O, 1, 0, 0};
    }
    if (run(&b)) {
        const sc_xnn_delegate *d = b.state;
        CHECK(d->operands[inner].is_planar && !d->operands[seen].is_planar);
        CHECK_EQ_MEM(result(&b, 3)->data, result(&b, 2)->data,
                     (size_t)(2 * OUT_H * OUT_W * O) * sizeof(float));
    }
    end(&b);
}

// Weights are packed however large they are, since the packing is all that stays of them.
TEST(xnnpack_products_pack_large_weights) {
    enum { IN = 520, OUT = 600, COUNT = 3 };
    static float x[COUNT * IN], w[OUT * IN], wanted[COUNT * OUT];
    for (int i = 0; i < COUNT * IN; i++) x[i] = (float)((i * 37) % 17 - 8);
    for (int i = 0; i < OUT * IN; i++) w[i] = (float)((i * 29) % 19 - 9);
    for (int i = 0; i < COUNT * OUT; i++)
        for (int k = 0; k < IN; k++) wanted[i] += x[i / OUT * IN + k] * w[i % OUT * IN + k];
    bench b;
    begin(&b);
    const uint32_t in = INPUT(&b, SC_XNN_FP32, x, COUNT, IN);
    const uint32_t filter = WEIGHT(&b, SC_XNN_FP32, w, OUT, IN);
    const uint32_t out = OUTPUT(&b, SC_XNN_FP32, COUNT, OUT);
    node(&b, SC_XNN_FULLY_CONNECTED, in, filter, NONE, out);
    if (run(&b)) {
        const sc_xnn_delegate *d = b.state;
        CHECK(d->steps[0].packing != NULL);
        check_floats(&b, 1, wanted, 0);
    }
    end(&b);
}

static uint32_t copy_of(bench *b, uint32_t value, uint32_t to) {
    static const uint32_t same[] = {0, 1, 2, 3};
    node(b, SC_XNN_TRANSPOSE, value, NONE, NONE, to)->lists[0] = (sc_xnn_list){same, 4};
    return to;
}

// A large image between two convolutions: one thread computes both in turns, several threads one
// after the other. Results must not take the place of inputs that are still to be read, although a
// gap behind those is as large.
TEST(xnnpack_convolutions_take_turns) {
    enum { SIZE = 110, IN = 12, MID = 24 };
    static float x[SIZE * SIZE * IN], w[MID * IN], taps[3 * 3 * MID];
    for (int i = 0; i < SIZE * SIZE * IN; i++) x[i] = (float)((i * 37) % 101 - 50) / 7;
    for (int i = 0; i < MID * IN; i++) w[i] = (float)((i * 29) % 97 - 48) / 9;
    for (int i = 0; i < 3 * 3 * MID; i++) taps[i] = (float)((i * 31) % 89 - 44) / 5;
    for (uint32_t stride = 1; stride <= 2; stride++) {
        const uint32_t size = (SIZE - 1) / stride + 1;
        bench b;
        begin(&b);
#define IMAGE(kind, channels) kind(&b, SC_XNN_FP32, 1, SIZE, SIZE, channels)
        const uint32_t in = INPUT(&b, SC_XNN_FP32, x, 1, SIZE, SIZE, IN);
        const uint32_t out[] = {OUTPUT(&b, SC_XNN_FP32, 1, size, size, MID),
                                OUTPUT(&b, SC_XNN_FP32, 1, size, size, MID)};
        const uint32_t middle[] = {IMAGE(OUTPUT, MID), IMAGE(INNER, MID)};
        const uint32_t filter = WEIGHT(&b, SC_XNN_FP32, w, MID, 1, 1, IN);
        const uint32_t window = WEIGHT(&b, SC_XNN_FP32, taps, 1, 3, 3, MID);
        uint32_t led = 0;
        for (int i = 0; i < 2; i++) {
            const bool is_pair = i == 1;
            const uint32_t start = copy_of(&b, in, IMAGE(INNER, IN));
            const uint32_t last = INNER(&b, SC_XNN_FP32, 1, size, size, MID);
            const uint32_t gap = is_pair ? copy_of(&b, in, IMAGE(INNER, IN)) : 0;
            const uint32_t kept = is_pair ? copy_of(&b, in, IMAGE(INNER, IN)) : 0;
            if (is_pair) copy_of(&b, gap, IMAGE(OUTPUT, IN));
            led = b.graph->nodes.count;
            node(&b, SC_XNN_CONV, start, filter, NONE, middle[i])->window =
                (sc_xnn_window){0, 0, 0, 0, 1, 1, 1, 1, 1, 1, IN, MID, 1, 0, 0};
            if (!is_pair) copy_of(&b, in, IMAGE(INNER, IN));
            node(&b, SC_XNN_DEPTHWISE_CONV, middle[i], window, NONE, last)->window =
                (sc_xnn_window){1, 1, 1, 1, 3, 3, stride, stride, 1, 1, 1, 1, MID, 0, 0};
            copy_of(&b, last, out[i]);
            if (is_pair) copy_of(&b, kept, IMAGE(OUTPUT, IN));
        }
#undef IMAGE
        team_open(1);
        team_close();
        if (run(&b)) {
            const sc_xnn_delegate *d = b.state;
            for (uint32_t i = 0; i < d->graph->nodes.count; i++)
                CHECK_EQ_INT(d->steps[i].leads, i == led);
            CHECK_EQ_MEM(result(&b, 2)->data, result(&b, 1)->data,
                         (size_t)result(&b, 1)->capacity_bytes);
        }
        end(&b);
    }
}
