// XNNPACK delegates as wholes: sizes that change, memory that is shared, and what is refused.
#include "backends/xnnpack/payload.h"
#include "backends/xnnpack_bench.h"

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

// A call that is refused leaves no sizes behind.
TEST(xnnpack_sizes_of_a_refused_call) {
    static const float x[] = {1, 2, 3, 4}, wanted[] = {1, 4, 9, 16};
    bench b;
    begin(&b);
    uint32_t first = INPUT(&b, SC_XNN_FP32, x, 4), second = INPUT(&b, SC_XNN_FP32, x, 4);
    uint32_t first_out = OUTPUT(&b, SC_XNN_FP32, 4), second_out = OUTPUT(&b, SC_XNN_FP32, 4);
    node(&b, SC_XNN_SQUARE, first, NONE, NONE, first_out);
    node(&b, SC_XNN_SQUARE, second, NONE, NONE, second_out);
    if (run(&b)) {
        resize(b.values[0].tensor, 2);
        resize(b.values[1].tensor, INT64_C(1) << 33);
        CHECK_STATUS(execute(&b), SC_ERR_DELEGATE);
        CHECK_EQ_STR(setup_message(&b.s), "argument 1 of an XNNPACK delegate of method 'forward' "
                                          "is larger than any XNNPACK tensor");
        resize(b.values[1].tensor, 4);
        CHECK_OK(execute(&b));
        CHECK_EQ_INT(result(&b, 2)->sizes[0], 2);
        check_floats(&b, 2, wanted, 0);
        check_floats(&b, 3, wanted, 0);
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

// Two layers with one weight, whose bytes lie at an odd place of the payload.
TEST(xnnpack_weights_of_two_nodes_lie_anywhere) {
    enum { N = 8 };
    float x[N * N], w[N * N], wanted[N * N];
    for (int i = 0; i < N * N; i++) {
        x[i] = i % (N + 1) == 0;
        w[i] = (float)i;
        wanted[i] = (float)(i % N * N + i / N);
    }
    bench b;
    begin(&b);
    uint32_t in = INPUT(&b, SC_XNN_FP32, x, N, N), weight = WEIGHT(&b, SC_XNN_FP32, w, N, N);
    uint32_t same = INNER(&b, SC_XNN_FP32, N, N), outs[2];
    b.graph->values.data[same].constant = b.graph->values.data[weight].constant;
    for (int i = 0; i < 2; i++) outs[i] = OUTPUT(&b, SC_XNN_FP32, N, N);
    node(&b, SC_XNN_FULLY_CONNECTED, in, weight, NONE, outs[0]);
    node(&b, SC_XNN_FULLY_CONNECTED, in, same, NONE, outs[1]);
    const uint8_t *bytes = NULL;
    uint64_t size = 0;
    uint32_t data_at;
    if (CHECK_OK(write_payload(&b, &bytes, &size))) {
        // The bytes behind the graph move by one.
        memcpy(&data_at, bytes + SC_XNN_DATA_AT, sizeof data_at);
        uint8_t *moved = sc_arena_alloc(&b.s.arena, size + 1);
        memcpy(moved, bytes, data_at);
        memcpy(moved + data_at + 1, bytes + data_at, size - data_at);
        moved[data_at++] = 0;
        memcpy(moved + SC_XNN_DATA_AT, &data_at, sizeof data_at);
        if (CHECK_OK(start_payload(&b, &b.state, 3, moved, size + 1)) && CHECK_OK(execute(&b)))
            for (uint32_t i = 1; i < 3; i++) check_floats(&b, i, wanted, 0);
    }
    end(&b);
}

static void build_quantized(bench *b, uint32_t in, uint32_t weights, const float *scales) {
    uint32_t out = OUTPUT(b, SC_XNN_FP32, 1, 2), filter = INNER(b, SC_XNN_QCINT8, 2, 4);
    b->graph->values.data[filter].constant = weights;
    channels(b, filter, 0, scales, 2);
    node(b, SC_XNN_FULLY_CONNECTED, in, filter, NONE, out);
}

// The same bytes of weights mean other numbers by other scales, in one delegate and in two.
TEST(xnnpack_packings_differ_by_scale) {
    static const int8_t w[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const float x[4] = {1, 1, 1, 1}, ones[2] = {1, 1}, other[2] = {2, 0.5f};
    static const float by_ones[2] = {10, 26}, by_other[2] = {20, 13};
    bench b;
    void *first = NULL;
    begin(&b);
    uint32_t in = INPUT(&b, SC_XNN_FP32, x, 1, 4), weights = add_bytes(&b, w, sizeof w);
    build_quantized(&b, in, weights, ones);
    build_quantized(&b, in, weights, other);
    if (run(&b)) {
        check_floats(&b, 1, by_ones, 0);
        check_floats(&b, 2, by_other, 0);
        first = b.state;
        b.state = NULL;
        for (uint32_t i = 0; i < 2; i++)
            b.graph->constants.data[2 + i].data = (const uint8_t *)(i == 0 ? other : ones);
        if (run(&b)) {
            check_floats(&b, 1, by_other, 0);
            check_floats(&b, 2, by_ones, 0);
        }
        sc_rt_backend_xnnpack.destroy(first);
    }
    end(&b);
}

// --- Named data ----------------------------------------------------------------------------------

typedef struct held {
    int32_t count;
    bool lacks_other;
} held;

static sc_status find_zeros(void *user, sc_ctx *ctx, sc_str key, const uint8_t **bytes,
                            uint64_t *size) {
    _Alignas(16) static const uint8_t zeros[32];
    held *h = user;
    if (h->lacks_other && sc_str_is(key, "other")) return find_no_key(NULL, ctx, key, bytes, size);
    h->count++;
    *bytes = zeros;
    *size = sizeof zeros;
    return SC_OK;
}

static void release_zeros(void *user, sc_str key) {
    (void)key;
    ((held *)user)->count--;
}

// Data that every run reads is held until the delegate goes, or fails to start.
TEST(xnnpack_named_data_is_let_go) {
    static const float x[8], zeros[8];
    for (int i = 0; i < 2; i++) {
        held h = {.lacks_other = i == 1};
        bench b;
        begin(&b);
        b.named = (sc_rt_named){.find = find_zeros, .release = release_zeros, .user = &h};
        uint32_t in = INPUT(&b, SC_XNN_FP32, x, 8), out = OUTPUT(&b, SC_XNN_FP32, 8);
        uint32_t sum = INNER(&b, SC_XNN_FP32, 8);
        uint32_t one = WEIGHT(&b, SC_XNN_FP32, zeros, 8), two = WEIGHT(&b, SC_XNN_FP32, zeros, 8);
        b.graph->constants.data[1].key = SC_STR("one");
        b.graph->constants.data[2].key = SC_STR("other");
        node(&b, SC_XNN_ADD, in, one, NONE, sum);
        node(&b, SC_XNN_ADD, sum, two, NONE, out);
        CHECK_STATUS(start(&b, &b.state, 2), h.lacks_other ? SC_ERR_NOT_FOUND : SC_OK);
        CHECK_EQ_INT(h.count, h.lacks_other ? 0 : 2);
        end(&b);
        CHECK_EQ_INT(h.count, 0);
    }
}

// --- Refusals ------------------------------------------------------------------------------------

TEST(xnnpack_delegates_that_do_not_start) {
    static const float w[8], bias[2];
    static const struct {
        sc_status status;
        const char *message;
    } wanted[] = {
        {SC_ERR_DELEGATE, "takes 2 arguments, but method 'forward' calls it with 1"},
        {SC_ERR_DELEGATE, "argument 0 of an XNNPACK delegate of method 'forward' is not a tensor"},
        {SC_ERR_DELEGATE,
         "argument 0 of an XNNPACK delegate of method 'forward' has a different dtype"},
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

// Products of activations: XNNPACK has them of bytes, alone and with floats that become bytes.
TEST(xnnpack_nodes_that_are_not_executed) {
    static const int8_t x[4] = {1, 2, 3, 4};
    static const float reals[4], scales[2] = {1, 1};
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

    begin(&b);
    in = INPUT(&b, SC_XNN_FP32, reals, 1, 2, 2), out = OUTPUT(&b, SC_XNN_FP32, 1, 2, 2);
    uint32_t bytes = INNER(&b, SC_XNN_QDINT8, 1, 2, 2),
             with = WEIGHT(&b, SC_XNN_QCINT8, x, 1, 2, 2);
    *quant_of(&b, bytes) = (sc_xnn_quant){.kind = SC_XNN_PER_TOKEN, .nonbatch_dims = 1};
    channels(&b, with, 2, scales, 2);
    node(&b, SC_XNN_CONVERT, in, NONE, NONE, bytes);
    node(&b, SC_XNN_BATCH_MATMUL, bytes, with, NONE, out);
    CHECK_STATUS(start(&b, &b.state, 2), SC_ERR_DELEGATE);
    CHECK_EQ_STR(setup_message(&b.s),
                 "node 1 (BatchMatrixMultiply) of an XNNPACK delegate of method 'forward' is not "
                 "executed here: it computes from qdint8, qcint8 to fp32");
    end(&b);
}

// As many outputs as fit no memory take no bytes where there are no inputs.
TEST(xnnpack_weights_without_inputs) {
    static const int8_t no_bytes[1];
    enum { OUTPUTS = 0x40000001 };
    bench b;
    begin(&b);
    uint32_t in = INPUT(&b, SC_XNN_QINT8, no_bytes, 0, 0);
    uint32_t filter = WEIGHT(&b, SC_XNN_QINT8, no_bytes, OUTPUTS, 0);
    uint32_t out = OUTPUT(&b, SC_XNN_QINT8, 0, OUTPUTS);
    grid(&b, in, 1, 0);
    grid(&b, filter, 1, 0);
    grid(&b, out, 1, 0);
    node(&b, SC_XNN_FULLY_CONNECTED, in, filter, NONE, out);
    CHECK_STATUS(start(&b, &b.state, 2), SC_ERR_DELEGATE);
    CHECK_EQ_STR(setup_message(&b.s),
                 "node 0 (FullyConnected) of an XNNPACK graph cannot use value 1, qint8[...]: "
                 "weights have at least one input and one output");
    end(&b);
}
