// Nodes of XNNPACK payloads one at a time, as delegates: results by the definition, sizes that
// change, memory that is shared, and what is refused.
#include <math.h>

#include "backends/xnnpack/run/delegate.h"
#include "setup.h"

extern const sc_rt_backend sc_rt_backend_xnnpack;

// --- A delegate on a graph -----------------------------------------------------------------------

enum { ARGUMENTS_MAX = 6 };

typedef struct bench {
    setup s;
    sc_xnn_graph *graph;
    void *shared, *state;
    sc_evalue values[ARGUMENTS_MAX];
    sc_evalue *args[ARGUMENTS_MAX];
    uint32_t inputs;
} bench;

static void begin(bench *b) {
    *b = (bench){0};
    setup_begin(&b->s);
    CHECK_OK(sc_ops_init());
    b->graph = sc_xnn_graph_new(&b->s.arena);
}

static void end(bench *b) {
    if (b->state) sc_rt_backend_xnnpack.destroy(b->state);
    if (b->shared) sc_rt_backend_xnnpack.release(b->shared);
    setup_end(&b->s);
}

static uint32_t add_value(bench *b, sc_xnn_datatype type, uint32_t rank, const uint32_t *dims) {
    sc_xnn_shape shape = {.rank = rank};
    memcpy(shape.dims, dims, rank * sizeof *dims);
    return sc_xnn_add_value(b->graph, type, &shape);
}
#define DIMS(...) \
    SC_COUNT_OF(((uint32_t[]){__VA_ARGS__})), (uint32_t[]) { __VA_ARGS__ }

static sc_tensor *make_tensor(bench *b, unsigned dtype, const sc_xnn_shape *shape,
                              const void *data) {
    sc_tensor *t = sc_new(&b->s.arena, sc_tensor);
    *t = (sc_tensor){.dtype = (uint8_t)dtype, .rank = (uint8_t)shape->rank, .numel = 1};
    t->sizes = sc_new_array(&b->s.arena, int64_t, SC_XNN_RANK_MAX);
    t->strides = sc_new_array(&b->s.arena, int64_t, SC_XNN_RANK_MAX);
    t->dim_order = sc_new_array(&b->s.arena, uint8_t, SC_XNN_RANK_MAX);
    t->is_dynamic = true;
    for (uint32_t d = t->rank; d-- > 0;) {
        t->sizes[d] = shape->dims[d];
        t->strides[d] = t->numel;
        t->dim_order[d] = (uint8_t)d;
        t->numel *= t->sizes[d];
    }
    t->capacity_bytes = (uint64_t)t->numel * sc_dtype_bytes((sc_dtype)dtype);
    t->data = sc_arena_alloc(&b->s.arena, (size_t)t->capacity_bytes + 1);
    if (data) memcpy(t->data, data, (size_t)t->capacity_bytes);
    return t;
}

static uint32_t external(bench *b, uint32_t flag, sc_xnn_datatype type, uint32_t rank,
                         const uint32_t *dims, const void *data) {
    uint32_t id = add_value(b, type, rank, dims), argument = b->graph->external_count++;
    sc_xnn_value *value = &b->graph->values.data[id];
    value->flags = flag;
    value->external_id = argument;
    b->values[argument] =
        (sc_evalue){.tag = SC_EVALUE_TENSOR,
                    .tensor = make_tensor(b, sc_xnn_datatypes[type].dtype, &value->shape, data)};
    b->args[argument] = &b->values[argument];
    return id;
}
#define INPUT(b, type, data, ...)  external(b, SC_XNN_EXTERNAL_INPUT, type, DIMS(__VA_ARGS__), data)
#define OUTPUT(b, type, ...)       external(b, SC_XNN_EXTERNAL_OUTPUT, type, DIMS(__VA_ARGS__), 0)
#define INNER(b, type, ...)        add_value(b, type, DIMS(__VA_ARGS__))
#define WEIGHT(b, type, data, ...) constant(b, type, DIMS(__VA_ARGS__), data)

static uint32_t add_bytes(bench *b, const void *data, uint64_t size) {
    sc_xnn_constant constant = {.data = data, .size = size};
    sc_vec_push(&b->s.arena, &b->graph->constants, constant);
    return b->graph->constants.count - 1;
}

static uint32_t constant(bench *b, sc_xnn_datatype type, uint32_t rank, const uint32_t *dims,
                         const void *data) {
    uint32_t id = add_value(b, type, rank, dims);
    sc_xnn_value *value = &b->graph->values.data[id];
    uint64_t size;
    CHECK(sc_xnn_bytes(type, &value->shape, &size));
    value->constant = add_bytes(b, data, size);
    return id;
}

static sc_xnn_quant *quant_of(bench *b, uint32_t value) {
    return &b->graph->values.data[value].quant;
}
static void grid(bench *b, uint32_t value, float scale, int32_t zero) {
    *quant_of(b, value) =
        (sc_xnn_quant){.kind = SC_XNN_PER_TENSOR, .scale = scale, .zero_point = zero};
}
static void channels(bench *b, uint32_t value, uint32_t dim, const float *scales, uint32_t count) {
    *quant_of(b, value) = (sc_xnn_quant){.kind = SC_XNN_PER_CHANNEL,
                                         .channel_dim = dim,
                                         .scales = add_bytes(b, scales, count * sizeof *scales),
                                         .scale_count = count};
}

static sc_xnn_node *node(bench *b, sc_xnn_kind kind, uint32_t x, uint32_t y, uint32_t z,
                         uint32_t out) {
    sc_xnn_node *n = sc_xnn_add_node(b->graph, kind);
    n->inputs[0] = x;
    n->inputs[1] = y;
    n->inputs[2] = z;
    n->outputs[0] = out;
    return n;
}
#define NONE SC_XNN_NONE

static sc_status find_nothing(void *user, sc_ctx *ctx, sc_str key, const uint8_t **bytes,
                              uint64_t *size) {
    (void)user, (void)bytes, (void)size;
    return sc_fail(ctx, SC_ERR_NOT_FOUND, NULL, "no data '" SC_STR_FMT "'", SC_STR_ARG(key));
}
static void release_nothing(void *user, sc_str key) { (void)user, (void)key; }

static sc_status start(bench *b, void **state, uint32_t arg_count) {
    sc_cord cord;
    const uint8_t *bytes = NULL;
    sc_cord_init(&cord, &b->s.arena);
    SC_TRY(sc_xnn_write(&b->s.ctx, b->graph, &cord));
    SC_TRY(sc_cord_flatten(&b->s.ctx, &cord, &b->s.arena, 1 << 20, &bytes));
    sc_rt_start start = {.backend = &sc_rt_backend_xnnpack,
                         .method = SC_STR("forward"),
                         .processed = bytes,
                         .processed_bytes = cord.size,
                         .named = {find_nothing, release_nothing, NULL},
                         .args = b->args,
                         .arg_count = arg_count,
                         .shared = &b->shared};
    return sc_rt_backend_xnnpack.init(&b->s.ctx, &start, state, &b->inputs);
}

static sc_status execute(bench *b) {
    sc_rt_delegate_call call = {b->args, b->inputs, b->graph->external_count};
    return sc_rt_backend_xnnpack.execute(&b->s.ctx, b->state, &call);
}

static bool run(bench *b) {
    if (CHECK_OK(start(b, &b->state, b->graph->external_count)) && CHECK_OK(execute(b)))
        return true;
    FAIL("%s", setup_message(&b->s));
    return false;
}

static const sc_tensor *result(bench *b, uint32_t argument) { return b->values[argument].tensor; }

static void check_floats(bench *b, uint32_t argument, const float *wanted, float tolerance) {
    const sc_tensor *t = result(b, argument);
    for (int64_t i = 0; i < t->numel; i++)
        CHECK_CLOSE(sc_tensor_real(t, i), (double)wanted[i], (double)tolerance);
}

static void check_bytes(bench *b, uint32_t argument, const int8_t *wanted) {
    const sc_tensor *t = result(b, argument);
    for (int64_t i = 0; i < t->numel; i++) CHECK_EQ_INT(((const int8_t *)t->data)[i], wanted[i]);
}

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

// What a row of numbers becomes: 8 bits with a scale and a zero point of its own.
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
            wanted[m * N + n] = (float)(sum * scale + (double)w->bias[n]);
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
        uint32_t bias = WEIGHT(&b, SC_XNN_FP32, w.bias, N);
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

// A scale for all inputs, one for each channel of the weights: sums are rounded to bytes.
TEST(xnnpack_products_of_bytes) {
    static weights w;
    int8_t x[M * K], wanted[M * N];
    int32_t bias[N];
    fill(&w);
    for (int i = 0; i < M * K; i++) x[i] = (int8_t)((i * 41) % 200 - 100);
    for (int n = 0; n < N; n++) bias[n] = 100 * n - 200;
    for (int i = 0; i < M * N; i++) {
        int m = i / N, n = i % N, sum = bias[n];
        for (int k = 0; k < K; k++) sum += (x[m * K + k] - 5) * w.w[n * K + k];
        float scaled = nearbyintf((float)sum * (0.02f * w.scales[n] / 0.05f)) - 7;
        wanted[i] = (int8_t)fminf(fmaxf(scaled, -7), 127);
    }
    bench b;
    begin(&b);
    uint32_t in = INPUT(&b, SC_XNN_QINT8, x, M, K), out = OUTPUT(&b, SC_XNN_QINT8, M, N);
    uint32_t filter = WEIGHT(&b, SC_XNN_QCINT8, w.w, N, K);
    uint32_t add = WEIGHT(&b, SC_XNN_QCINT32, bias, N);
    grid(&b, in, 0.02f, 5);
    grid(&b, out, 0.05f, -7);
    channels(&b, filter, 0, w.scales, N);
    channels(&b, add, 0, w.scales, N);
    sc_xnn_node *n = node(&b, SC_XNN_FULLY_CONNECTED, in, filter, add, out);
    n->has_range = true;
    n->high = INFINITY;
    if (run(&b)) check_bytes(&b, 1, wanted);
    end(&b);
}

// --- Sizes and memory ----------------------------------------------------------------------------

static void resize(sc_tensor *t, int64_t size) {
    t->sizes[0] = size;
    t->numel = 1;
    for (uint32_t d = 0; d < t->rank; d++) t->numel *= t->sizes[d];
}

TEST(xnnpack_sizes_change) {
    static const float x[] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const float wanted[] = {1, 4, 9, 16, 25, 36, 49, 64};
    static const uint32_t flat[] = {0};
    bench b;
    begin(&b);
    uint32_t in = INPUT(&b, SC_XNN_FP32, x, 4, 2), out = OUTPUT(&b, SC_XNN_FP32, 8);
    uint32_t square = INNER(&b, SC_XNN_FP32, 4, 2);
    node(&b, SC_XNN_SQUARE, in, NONE, NONE, square);
    node(&b, SC_XNN_RESHAPE, square, NONE, NONE, out)->lists[0] = (sc_xnn_list){flat, 1};
    if (run(&b)) {
        const sc_xnn_delegate *d = b.state;
        // The square is made where the result is.
        CHECK_EQ_UINT(d->placed_bytes, 0);
        for (int64_t size = 3; size >= 0; size--) {
            resize(b.values[0].tensor, size);
            CHECK_OK(execute(&b));
            CHECK_EQ_INT(result(&b, 1)->sizes[0], 2 * size);
            check_floats(&b, 1, wanted, 0);
        }
        // More than the result can hold.
        resize(b.values[0].tensor, 5);
        b.values[0].tensor->data = sc_arena_alloc(&b.s.arena, 40);
        CHECK_STATUS(execute(&b), SC_ERR_SHAPE);
    }
    end(&b);
}

// Values of a chain take turns in one place.
TEST(xnnpack_memory_is_used_again) {
    enum { COUNT = 1000, STEPS = 9 };
    static float x[COUNT];
    bench b;
    begin(&b);
    uint32_t value = INPUT(&b, SC_XNN_FP32, x, COUNT), out = OUTPUT(&b, SC_XNN_FP32, COUNT, 1);
    uint32_t perm[] = {1, 0};
    uint32_t shape[] = {1, 0};
    uint32_t matrix = INNER(&b, SC_XNN_FP32, 1, COUNT);
    node(&b, SC_XNN_RESHAPE, value, NONE, NONE, matrix)->lists[0] = (sc_xnn_list){shape, 2};
    for (int i = 0; i < STEPS; i++) {
        uint32_t next = INNER(&b, SC_XNN_FP32, 1, COUNT);
        node(&b, SC_XNN_TANH, matrix, NONE, NONE, next);
        matrix = next;
    }
    node(&b, SC_XNN_TRANSPOSE, matrix, NONE, NONE, out)->lists[0] = (sc_xnn_list){perm, 2};
    if (run(&b)) CHECK_EQ_UINT(((sc_xnn_delegate *)b.state)->placed_bytes, 4032);
    end(&b);
}

// An argument in another dim order is row-major in the order in which its dimensions lie.
TEST(xnnpack_arguments_with_channels_last) {
    static const float x[] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const uint32_t offsets[] = {0, 0, 1, 0}, sizes[] = {1, 2, 1, 2};
    static const float wanted[] = {3, 4, 7, 8};
    bench b;
    begin(&b);
    uint32_t in = INPUT(&b, SC_XNN_FP32, x, 1, 2, 2, 2), out = OUTPUT(&b, SC_XNN_FP32, 1, 2, 1, 2);
    sc_xnn_node *n = node(&b, SC_XNN_SLICE, in, NONE, NONE, out);
    n->lists[0] = (sc_xnn_list){offsets, 4};
    n->lists[1] = (sc_xnn_list){sizes, 4};
    for (int i = 0; i < 2; i++) {
        static const uint8_t channels_last[] = {0, 2, 3, 1};
        sc_tensor *t = b.values[i].tensor;
        memcpy(t->dim_order, channels_last, 4);
    }
    // As the program knows it: two channels of rows by columns.
    b.values[1].tensor->sizes[1] = 1;
    b.values[1].tensor->sizes[3] = 2;
    if (run(&b)) {
        const int64_t *given = result(&b, 1)->sizes;
        CHECK_EQ_INT(given[1], 2);
        CHECK_EQ_INT(given[2], 2);
        CHECK_EQ_INT(given[3], 1);
        CHECK_EQ_MEM(result(&b, 1)->data, wanted, sizeof wanted);
    }
    end(&b);
}

static void build_linear(bench *b, const float *w, const float *bias) {
    static const float x[4];
    uint32_t in = INPUT(b, SC_XNN_FP32, x, 1, 4), out = OUTPUT(b, SC_XNN_FP32, 1, 2);
    uint32_t filter = WEIGHT(b, SC_XNN_FP32, w, 2, 4), add = WEIGHT(b, SC_XNN_FP32, bias, 2);
    node(b, SC_XNN_FULLY_CONNECTED, in, filter, add, out);
}

// The same weights with another bias are not the same.
TEST(xnnpack_packings_are_shared) {
    static const float w[8] = {1, 2, 3, 4, 5, 6, 7, 8}, first[2] = {1, 2}, second[2] = {3, 4};
    bench b;
    void *again = NULL, *other = NULL;
    begin(&b);
    build_linear(&b, w, first);
    if (run(&b) && CHECK_OK(start(&b, &again, 2))) {
        const sc_xnn_shared *shared = b.shared;
        CHECK_EQ_UINT(shared->packings->users, 2);
        CHECK(!shared->packings->next);
        b.graph->constants.data[2].data = (const uint8_t *)second;
        CHECK_OK(start(&b, &other, 2));
        CHECK_EQ_UINT(shared->packings->users, 1);
        CHECK(shared->packings->next && !shared->packings->next->next);
        sc_rt_backend_xnnpack.destroy(other);
        sc_rt_backend_xnnpack.destroy(again);
        CHECK_EQ_UINT(shared->packings->users, 1);
    }
    end(&b);
}

// --- What is refused -----------------------------------------------------------------------------

TEST(xnnpack_delegates_that_do_not_start) {
    static const float w[8], bias[2];
    static const struct {
        sc_status status;
        const char *message;
    } wanted[] = {
        {SC_ERR_DELEGATE, "takes 2 arguments, but method 'forward' calls it with 1"},
        {SC_ERR_DELEGATE, "argument 0 of an XNNPACK delegate of method 'forward' is not a tensor"},
        {SC_ERR_DELEGATE,
         "argument 0 of an XNNPACK delegate of method 'forward' has another dtype"},
        {SC_ERR_NOT_FOUND, "no data 'weights'"},
    };
    for (size_t i = 0; i < SC_COUNT_OF(wanted); i++) {
        bench b;
        begin(&b);
        build_linear(&b, w, bias);
        if (i == 1) b.values[0] = (sc_evalue){.tag = SC_EVALUE_INT};
        if (i == 2) b.values[0].tensor->dtype = SC_DTYPE_I32;
        if (i == 3) b.graph->constants.data[1].key = SC_STR("weights");
        CHECK_STATUS(start(&b, &b.state, i == 0 ? 1 : 2), wanted[i].status);
        if (!strstr(setup_message(&b.s), wanted[i].message))
            CHECK_EQ_STR(setup_message(&b.s), wanted[i].message);
        end(&b);
    }
}

TEST(xnnpack_nodes_that_are_not_executed) {
    static const int8_t x[4] = {1, 2, 3, 4};
    bench b;
    begin(&b);
    uint32_t in = INPUT(&b, SC_XNN_QINT8, x, 1, 2, 2), out = OUTPUT(&b, SC_XNN_QINT8, 1, 2, 2);
    grid(&b, in, 1, 0);
    grid(&b, out, 1, 0);
    node(&b, SC_XNN_BATCH_MATMUL, in, in, NONE, out);
    CHECK_STATUS(start(&b, &b.state, 2), SC_ERR_DELEGATE);
    CHECK_EQ_STR(setup_message(&b.s),
                 "node 0 (BatchMatrixMultiply) of an XNNPACK delegate of method 'forward' is not "
                 "executed here: it computes from qint8, qint8 to qint8");
    end(&b);
}
