// Attention inside a delegate: products that run together with repeats, permutations, factors, a
// mask and softmax around them, compared with the definition and with the steps one by one.
#include <math.h>

#include "rt/method.h"
#include "rt/program.h"
#include "rt/tell.h"
#include "xnnpack_bench.h"

enum { KV = 2, REPEATS = 3, HEADS = KV * REPEATS, DEPTH = 5, WIDTH = 6, MOST = 600 };

typedef enum mask_kind { NO_MASK, ONE_FOR_ALL, FOR_EACH_HEAD, CAUSAL } mask_kind;

typedef struct attention_case {
    const char *name;
    uint32_t queries, keys;
    mask_kind mask;
    uint32_t open;          // keys that no query is kept from, from the first on
    bool divides, is_late;  // the factor: divided by, or after the product
} attention_case;

static const attention_case cases[] = {
    {"one query", 1, 7, ONE_FOR_ALL, 4, false, false},
    {"one query of a long cache", 1, MOST, ONE_FOR_ALL, 33, false, false},
    {"one query, all keys", 1, MOST, ONE_FOR_ALL, MOST, true, false},
    {"a prompt", 9, 300, CAUSAL, 290, false, false},
    {"a long prompt", 70, 130, CAUSAL, 5, false, true},
    {"a mask for each head", 3, 12, FOR_EACH_HEAD, 7, true, true},
    {"no mask", 4, 11, NO_MASK, 11, false, true},
    {"one key", 2, 1, NO_MASK, 1, false, false},
};

// Queries [HEADS, queries, DEPTH]; keys and values of a cache [1, KV, keys, DEPTH or WIDTH].
typedef struct content {
    float q[HEADS * 70 * DEPTH], k[KV * MOST * DEPTH], v[KV * MOST * WIDTH];
    float mask[HEADS * 70 * 300];
    double scores[HEADS * 70 * 300], weights[HEADS * 70 * 300], out[HEADS * 70 * WIDTH];
} content;

static float number(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return (float)(*seed >> 8) / (float)(1 << 23) - 1;
}

static void fill(content *c, const attention_case *a) {
    uint32_t seed = a->queries * 1000 + a->keys;
    const uint32_t heads = a->mask == FOR_EACH_HEAD ? HEADS : 1;
    for (size_t i = 0; i < SC_COUNT_OF(c->q); i++) c->q[i] = 3 * number(&seed);
    for (size_t i = 0; i < SC_COUNT_OF(c->k); i++) c->k[i] = 3 * number(&seed);
    for (size_t i = 0; i < SC_COUNT_OF(c->v); i++) c->v[i] = number(&seed);
    for (uint32_t h = 0; h < heads; h++)
        for (uint32_t i = 0; i < a->queries; i++)
            for (uint32_t j = 0; j < a->keys; j++) {
                const bool is_open = j < a->open + (a->mask == CAUSAL ? i : 0) && (j + h) % 4 != 3;
                c->mask[(h * a->queries + i) * a->keys + j] = is_open ? number(&seed) : -INFINITY;
            }
}

#define FACTOR 0.4

// The definition.
static void define(content *c, const attention_case *a) {
    const uint32_t queries = a->queries, keys = a->keys;
    for (uint32_t row = 0; row < HEADS * queries; row++) {
        const uint32_t h = row / queries, i = row % queries, head = h / REPEATS;
        double *scores = c->scores + row * keys, *weights = c->weights + row * keys;
        double most = -HUGE_VAL, total = 0;
        for (uint32_t j = 0; j < keys; j++) {
            double sum = 0;
            for (uint32_t d = 0; d < DEPTH; d++)
                sum += (double)c->q[row * DEPTH + d] * (double)c->k[(head * keys + j) * DEPTH + d];
            scores[j] = sum * FACTOR;
            const uint32_t line = a->mask == FOR_EACH_HEAD ? row : i;
            if (a->mask != NO_MASK) scores[j] += (double)c->mask[line * keys + j];
            most = fmax(most, scores[j]);
        }
        for (uint32_t j = 0; j < keys; j++) total += weights[j] = exp(scores[j] - most);
        for (uint32_t j = 0; j < keys; j++) weights[j] /= total;
        for (uint32_t w = 0; w < WIDTH; w++) {
            double sum = 0;
            for (uint32_t j = 0; j < keys; j++)
                sum += weights[j] * (double)c->v[(head * keys + j) * WIDTH + w];
            c->out[row * WIDTH + w] = sum;
        }
    }
}

static sc_xnn_list list_of(bench *b, uint32_t count, const uint32_t *items) {
    uint32_t *copy = sc_new_array(&b->s.arena, uint32_t, count);
    memcpy(copy, items, count * sizeof *items);
    return (sc_xnn_list){copy, count};
}

static uint32_t reshape(bench *b, uint32_t from, uint32_t rank, const uint32_t *dims) {
    const uint32_t to = add_value(b, SC_XNN_FP32, rank, dims);
    node(b, SC_XNN_RESHAPE, from, NONE, NONE, to)->lists[0] = list_of(b, rank, dims);
    return to;
}

static uint32_t scale(bench *b, uint32_t from, const attention_case *a, uint32_t rank,
                      const uint32_t *dims) {
    static const float factors[] = {(float)FACTOR, (float)(1 / FACTOR)};
    const uint32_t to = add_value(b, SC_XNN_FP32, rank, dims);
    const uint32_t factor = WEIGHT(b, SC_XNN_FP32, &factors[a->divides], 1);
    node(b, a->divides ? SC_XNN_DIVIDE : SC_XNN_MULTIPLY, from, factor, NONE, to);
    return to;
}

// Heads of a cache, once for each head of queries.
static uint32_t repeat(bench *b, uint32_t from, uint32_t keys, uint32_t depth) {
    const uint32_t lifted = reshape(b, from, DIMS(1, KV, 1, keys, depth));
    const uint32_t all = INNER(b, SC_XNN_FP32, 1, KV, REPEATS, keys, depth);
    node(b, SC_XNN_CONCATENATE3, lifted, lifted, lifted, all)->axis = 2;
    return reshape(b, all, DIMS(1, HEADS, keys, depth));
}

// Scores, weights and results are arguments.
static void build(bench *b, content *c, const attention_case *a) {
    const uint32_t queries = a->queries, keys = a->keys;
    const uint32_t heads = a->mask == FOR_EACH_HEAD ? HEADS : 1;
    const uint32_t q = INPUT(b, SC_XNN_FP32, c->q, HEADS, queries, DEPTH);
    const uint32_t k = INPUT(b, SC_XNN_FP32, c->k, 1, KV, keys, DEPTH);
    const uint32_t v = INPUT(b, SC_XNN_FP32, c->v, 1, KV, keys, WIDTH);
    const uint32_t mask =
        a->mask == NO_MASK ? NONE : INPUT(b, SC_XNN_FP32, c->mask, 1, heads, queries, keys);
    const uint32_t weights = OUTPUT(b, SC_XNN_FP32, 1, HEADS, queries, keys);
    const uint32_t out = OUTPUT(b, SC_XNN_FP32, HEADS, queries, WIDTH);
    const uint32_t across = INNER(b, SC_XNN_FP32, 1, HEADS, DEPTH, keys);
    static const uint32_t order[] = {0, 1, 3, 2};
    node(b, SC_XNN_TRANSPOSE, repeat(b, k, keys, DEPTH), NONE, NONE, across)->lists[0] =
        list_of(b, DIMS(order[0], order[1], order[2], order[3]));
    uint32_t right = across, scores;
    if (!a->is_late) right = scale(b, across, a, DIMS(1, HEADS, DEPTH, keys));
    right = reshape(b, right, DIMS(HEADS, DEPTH, keys));
    const uint32_t product = INNER(b, SC_XNN_FP32, HEADS, queries, keys);
    node(b, SC_XNN_BATCH_MATMUL, q, right, NONE, product);
    scores = reshape(b, product, DIMS(1, HEADS, queries, keys));
    if (a->is_late) scores = scale(b, scores, a, DIMS(1, HEADS, queries, keys));
    if (mask != NONE) {
        const uint32_t masked = INNER(b, SC_XNN_FP32, 1, HEADS, queries, keys);
        node(b, SC_XNN_ADD, mask, scores, NONE, masked);
        scores = masked;
    }
    node(b, SC_XNN_SOFTMAX, scores, NONE, NONE, weights);
    const uint32_t left = reshape(b, weights, DIMS(HEADS, queries, keys));
    const uint32_t values = reshape(b, repeat(b, v, keys, WIDTH), DIMS(HEADS, keys, WIDTH));
    node(b, SC_XNN_BATCH_MATMUL, left, values, NONE, out);
}

static void check_results(bench *b, const content *c, const attention_case *a) {
    const uint32_t first = b->inputs, rows = HEADS * a->queries;
    const float *weights = result(b, first)->data, *out = result(b, first + 1)->data;
    for (uint32_t i = 0; i < rows * a->keys; i++)
        if (!CHECK_CLOSE((double)weights[i], c->weights[i], 2e-6)) return;
    for (uint32_t i = 0; i < rows * WIDTH; i++)
        if (!CHECK_CLOSE((double)out[i], c->out[i], 4e-6)) return;
}

static void ignore_begin(sc_rt_sink *sink, const sc_rt_event *event) { (void)sink, (void)event; }
static void ignore_end(sc_rt_sink *sink, const sc_rt_event *event, sc_status status) {
    (void)sink, (void)event, (void)status;
}
static void ignore_value(sc_rt_sink *sink, const sc_rt_event *event, const sc_evalue *value) {
    (void)sink, (void)event, (void)value;
}

// Runs the steps one by one, because a listener watches their values.
static void execute_watched(bench *b) {
    sc_rt_sink sink = {.begin = ignore_begin, .end = ignore_end, .output = ignore_value};
    sc_rt_program program = {.sink = &sink};
    const sc_rt_method method = {.name = SC_STR("forward"), .program = &program};
    const sc_rt_instruction in = {.kind = SC_RT_DELEGATE};
    const sc_rt_hearing hearing = {&sink, &method, &in};
    const sc_rt_delegate_call call = {b->args, b->inputs, b->graph->external_count, &hearing};
    CHECK_OK(sc_rt_backend_xnnpack.execute(&b->s.ctx, b->state, &call));
}

// How many steps run as a part of a product?
static uint32_t fused_steps(const bench *b) {
    const sc_xnn_delegate *d = b->state;
    uint32_t count = 0;
    for (uint32_t i = 0; i < d->graph->nodes.count; i++) count += d->steps[i].is_fused;
    return count;
}

TEST_CASES(attention_in_a_delegate) {
    content *c = test_alloc(sizeof *c);
    for (size_t i = 0; i < SC_COUNT_OF(cases); i++) {
        if (!test_case("%s", cases[i].name)) continue;
        bench b;
        begin(&b);
        fill(c, &cases[i]);
        define(c, &cases[i]);
        build(&b, c, &cases[i]);
        if (run(&b)) {
            check_results(&b, c, &cases[i]);
            // Eight of keys and scores without a mask, and four of values.
            CHECK_EQ_INT(fused_steps(&b), 8u + (cases[i].mask != NO_MASK) + 4u);
            execute_watched(&b);
            check_results(&b, c, &cases[i]);
        }
        end(&b);
    }
}

// Only the used part of a cache counts, whatever the rest holds.
TEST(keys_that_a_mask_excludes_have_no_effect) {
    static const attention_case a = {"", 3, 300, ONE_FOR_ALL, 9, false, false};
    content *c = test_alloc(sizeof *c);
    bench b;
    begin(&b);
    fill(c, &a);
    define(c, &a);
    for (uint32_t head = 0; head < KV; head++) {
        for (uint32_t j = a.open * DEPTH; j < a.keys * DEPTH; j++)
            c->k[head * a.keys * DEPTH + j] = NAN;
        for (uint32_t j = a.open * WIDTH; j < a.keys * WIDTH; j++)
            c->v[head * a.keys * WIDTH + j] = INFINITY;
    }
    build(&b, c, &a);
    if (run(&b)) check_results(&b, c, &a);
    end(&b);
}

// Left operands that are no weights count as a whole.
TEST(zeros_of_a_product_meet_infinities) {
    static const float left[] = {1, 2, 0, 0.5f, 0.5f, 0};
    static const float right[] = {1, 2, 3, 4, INFINITY, 5};
    bench b;
    begin(&b);
    const uint32_t x = INPUT(&b, SC_XNN_FP32, left, 1, 2, 3);
    const uint32_t y = INPUT(&b, SC_XNN_FP32, right, 1, 3, 2);
    const uint32_t out = OUTPUT(&b, SC_XNN_FP32, 1, 2, 2);
    node(&b, SC_XNN_BATCH_MATMUL, x, y, NONE, out);
    if (run(&b)) {
        const float *z = result(&b, 2)->data;
        CHECK(isnan(z[0]) && isnan(z[2]));
        CHECK_EQ_INT((int)z[1], 10);
    }
    end(&b);
}

// A value that something else reads, too, is made as ever.
TEST(steps_with_other_readers_stay) {
    float keys[2 * 3], q[2 * 2];
    bench b;
    begin(&b);
    for (uint32_t i = 0; i < 6; i++) keys[i] = (float)i;
    for (uint32_t i = 0; i < 4; i++) q[i] = (float)(i + 1);
    const uint32_t x = INPUT(&b, SC_XNN_FP32, q, 1, 2, 2);
    const uint32_t k = INPUT(&b, SC_XNN_FP32, keys, 1, 3, 2);
    const uint32_t across = OUTPUT(&b, SC_XNN_FP32, 1, 2, 3);
    const uint32_t out = OUTPUT(&b, SC_XNN_FP32, 1, 2, 3);
    node(&b, SC_XNN_TRANSPOSE, k, NONE, NONE, across)->lists[0] = list_of(&b, DIMS(0, 2, 1));
    node(&b, SC_XNN_BATCH_MATMUL, x, across, NONE, out);
    if (run(&b)) {
        CHECK_EQ_INT(fused_steps(&b), 0);
        static const float products[] = {2, 8, 14, 4, 18, 32};
        static const float transposed[] = {0, 2, 4, 1, 3, 5};
        check_floats(&b, 2, transposed, 0);
        check_floats(&b, 3, products, 0);
    }
    end(&b);
}

// A value that only a fused product reads is gone after it, so a row of products takes the memory
// of one.
TEST(values_of_fused_products_make_room) {
    enum { COUNT = 6, SIZE = 16 };
    static const uint32_t order[] = {0, 2, 1};
    float numbers[SIZE * SIZE];
    uint64_t placed[2];
    for (size_t i = 0; i < SC_COUNT_OF(numbers); i++) numbers[i] = (float)(i % 3) / 64;
    for (uint32_t way = 0; way < 2; way++) {
        bench b;
        begin(&b);
        uint32_t at = INPUT(&b, SC_XNN_FP32, numbers, 1, SIZE, SIZE);
        const uint32_t last = OUTPUT(&b, SC_XNN_FP32, 1, SIZE, SIZE);
        for (uint32_t i = 0, count = way ? COUNT : 2; i < count; i++) {
            const uint32_t keys = INNER(&b, SC_XNN_FP32, 1, SIZE, SIZE);
            const uint32_t across = INNER(&b, SC_XNN_FP32, 1, SIZE, SIZE);
            const uint32_t out = i + 1 == count ? last : INNER(&b, SC_XNN_FP32, 1, SIZE, SIZE);
            node(&b, SC_XNN_NEGATE, at, NONE, NONE, keys);
            node(&b, SC_XNN_TRANSPOSE, keys, NONE, NONE, across)->lists[0] =
                list_of(&b, DIMS(order[0], order[1], order[2]));
            node(&b, SC_XNN_BATCH_MATMUL, at, across, NONE, out);
            at = out;
        }
        if (run(&b)) {
            const sc_xnn_delegate *d = b.state;
            CHECK_EQ_INT(fused_steps(&b), way ? COUNT : 2);
            placed[way] = d->placed_bytes;
        }
        end(&b);
    }
    CHECK_EQ_INT(placed[1], placed[0] + SIZE * SIZE * sizeof(float));
}
