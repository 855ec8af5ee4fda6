// Attention on tiles against the definition in doubles, over sizes, layouts, groups of heads and
// masks. Threads give the same bits.
#include "compute/attention.h"

#include <math.h>

#include "harness.h"
#include "team.h"

typedef struct shape {
    int64_t batch, heads, shared, queries, keys, depth, width;  // `shared` heads have the same keys
} shape;

typedef enum layout { HEADS_FIRST, ROWS_FIRST, COLUMNS_FIRST, LAYOUT_COUNT } layout;
typedef enum masking { NO_MASK, SOME, CAUSAL, BROADCAST, EMPTY_ROWS, MASKING_COUNT } masking;

static uint32_t random_state = 7;

static float random_float(void) {
    random_state = random_state * 1664525u + 1013904223u;
    return (float)((int)(random_state >> 8) % 2001 - 1000) / 500;
}

static float *random_floats(int64_t count) {
    float *values = test_alloc((size_t)count * sizeof(float) + 1);
    for (int64_t i = 0; i < count; i++) values[i] = random_float();
    return values;
}

// [batch, heads, rows, columns], [batch, rows, heads, columns], or [batch, heads, columns, rows].
static sc_attention_matrix matrix(layout l, int64_t batch, int64_t heads, int64_t shared,
                                  int64_t rows, int64_t columns) {
    const int64_t own = heads / shared;
    sc_attention_matrix m = {
        .items = {.count = 3,
                  .sizes = {batch, own, shared},
                  .steps = {own * rows * columns, l == ROWS_FIRST ? columns : rows * columns, 0}},
        .row = l == HEADS_FIRST  ? columns
               : l == ROWS_FIRST ? own * columns
                                 : 1,
        .column = l == COLUMNS_FIRST ? rows : 1};
    if (shared == 1) m.items.count = 2;
    m.data = random_floats(batch * own * rows * columns);
    return m;
}

static int64_t place(const sc_attention_items *items, int64_t item) {
    int64_t offset = 0;
    for (uint32_t i = items->count; i-- > 0; item /= items->sizes[i])
        offset += item % items->sizes[i] * items->steps[i];
    return offset;
}

static double at(const sc_attention_matrix *m, int64_t item, int64_t row, int64_t column) {
    return (double)m->data[place(&m->items, item) + row * m->row + column * m->column];
}

static sc_attention_matrix mask_for(const shape *s, masking kind) {
    const int64_t items = kind == BROADCAST ? 1 : s->batch * s->heads;
    const int64_t rows = kind == BROADCAST ? 1 : s->queries;
    float *data = random_floats(items * rows * s->keys);
    for (int64_t i = 0; i < items * rows * s->keys; i++) {
        const int64_t row = i / s->keys, query = row % rows, key = i % s->keys;
        const bool is_out = kind == CAUSAL       ? key > query + s->keys - s->queries
                            : kind == EMPTY_ROWS ? row % 3 == 0 || key % 2
                                                 : (key + query) % 3 == 0 && s->keys > 1;
        if (is_out) data[i] = -INFINITY;
    }
    return (sc_attention_matrix){
        .data = data,
        .items = {.count = kind != BROADCAST, .sizes = {items}, .steps = {rows * s->keys}},
        .row = kind == BROADCAST ? 0 : s->keys,
        .column = 1};
}

static sc_attention attention_of(const shape *s, layout l, masking kind, bool is_safe) {
    const int64_t items = s->batch * s->heads;
    sc_attention a = {.items = items,
                      .queries = s->queries,
                      .keys = s->keys,
                      .depth = s->depth,
                      .width = s->width,
                      .q = matrix(l, s->batch, s->heads, 1, s->queries, s->depth),
                      .k = matrix(l, s->batch, s->heads, s->shared, s->keys, s->depth),
                      .v = matrix(l, s->batch, s->heads, s->shared, s->keys, s->width),
                      .scale = 0.3f,
                      .is_safe = is_safe};
    const sc_attention_matrix out = matrix(l, s->batch, s->heads, 1, s->queries, s->width);
    a.out = test_alloc((size_t)(items * s->queries * s->width) * sizeof(float));
    a.out_items = out.items;
    a.out_row = out.row;
    a.out_column = out.column;
    if (kind != NO_MASK) a.mask = mask_for(s, kind);
    return a;
}

// One row of results, in doubles.
static void expect_row(const sc_attention *a, int64_t item, int64_t query, double *row) {
    double *scores = test_alloc((size_t)a->keys * sizeof(double));
    double most = -INFINITY, sum = 0;
    for (int64_t j = 0; j < a->keys; j++) {
        scores[j] = a->mask.data ? at(&a->mask, item, query, j) : 0;
        for (int64_t d = 0; d < a->depth; d++)
            scores[j] += (double)a->scale * at(&a->q, item, query, d) * at(&a->k, item, j, d);
        most = fmax(most, scores[j]);
    }
    for (int64_t j = 0; j < a->keys; j++) sum += exp(scores[j] - most);
    for (int64_t e = 0; e < a->width; e++) {
        row[e] = 0;
        for (int64_t j = 0; j < a->keys; j++)
            row[e] += exp(scores[j] - most) / sum * at(&a->v, item, j, e);
        if (most == -INFINITY) row[e] = a->is_safe ? 0 : NAN;
    }
}

static bool is_right(const sc_attention *a) {
    double *row = test_alloc((size_t)a->width * sizeof(double));
    for (int64_t i = 0; i < a->items * a->queries; i++) {
        const int64_t item = i / a->queries, query = i % a->queries;
        const float *out = a->out + place(&a->out_items, item) + query * a->out_row;
        expect_row(a, item, query, row);
        for (int64_t e = 0; e < a->width; e++) {
            const double got = (double)out[e * a->out_column];
            if (isnan(row[e]) ? !isnan(got) : !(fabs(got - row[e]) < 1e-5)) {
                FAIL("item %d, query %d: %g, not %g", (int)item, (int)query, got, row[e]);
                return false;
            }
        }
    }
    return true;
}

static void run(const sc_attention *a) {
    // 64-byte aligned, and of the size that was asked for.
    const size_t bytes = (size_t)sc_attention_scratch_bytes(a);
    uint8_t *memory = test_alloc(bytes + 64);
    sc_attention_run(a, memory + (64 - (uintptr_t)memory % 64) % 64);
}

static const shape shapes[] = {
    {1, 1, 1, 1, 1, 1, 1},      {1, 2, 1, 3, 5, 1, 1},       {2, 3, 1, 7, 13, 5, 3},
    {1, 4, 2, 1, 37, 64, 64},   {1, 9, 3, 1, 300, 64, 64},   {2, 4, 4, 2, 70, 80, 16},
    {1, 2, 1, 65, 129, 32, 32}, {1, 2, 2, 40, 40, 128, 128}, {1, 1, 1, 130, 261, 8, 9},
    {3, 2, 1, 9, 1, 5, 64},     {1, 1, 1, 4, 520, 300, 4},   {1, 6, 2, 5, 257, 7, 20},
};

TEST(attention_is_that_of_the_definition) {
    for (size_t i = 0; i < SC_COUNT_OF(shapes); i++) {
        for (int l = 0; l < LAYOUT_COUNT; l++) {
            for (int kind = 0; kind < MASKING_COUNT; kind++) {
                const sc_attention a =
                    attention_of(&shapes[i], (layout)l, (masking)kind, (i + (size_t)l) % 2);
                run(&a);
                if (!is_right(&a)) FAIL("shape %zu, layout %d, mask %d", i, l, kind);
            }
        }
    }
}

TEST(threads_share_attention_to_the_bit) {
    for (size_t i = 0; i < SC_COUNT_OF(shapes); i++) {
        const sc_attention a = attention_of(&shapes[i], ROWS_FIRST, CAUSAL, true);
        const size_t bytes = (size_t)(a.items * a.queries * a.width) * sizeof(float);
        float *alone = test_alloc(bytes);
        run(&a);
        memcpy(alone, a.out, bytes);
        memset(a.out, 0xff, bytes);
        team_open(3);
        team_share_all(true);
        run(&a);
        team_share_all(false);
        team_close();
        CHECK(memcmp(alone, a.out, bytes) == 0);
    }
}

// Rows that see no key, with all of their blocks skipped or with some of them computed.
TEST(what_is_not_a_number_in_used_keys_is_seen) {
    const shape s = {1, 1, 1, 3, 300, 4, 4};
    sc_attention a = attention_of(&s, HEADS_FIRST, NO_MASK, true);
    ((float *)(uintptr_t)a.k.data)[299 * 4] = NAN;
    run(&a);
    for (int i = 0; i < 12; i++) CHECK(isnan(a.out[i]));
    // +inf among the scores is NaN, as softmax has it.
    ((float *)(uintptr_t)a.k.data)[299 * 4] = INFINITY;
    run(&a);
    for (int i = 0; i < 12; i++) CHECK(isnan(a.out[i]) || a.q.data[i / 4 * 4] < 0);
}

TEST(keys_that_the_mask_excludes_are_not_read) {
    const shape s = {1, 2, 1, 5, 600, 8, 8};
    sc_attention a = attention_of(&s, HEADS_FIRST, BROADCAST, true);
    float *mask = (float *)(uintptr_t)a.mask.data, *k = (float *)(uintptr_t)a.k.data;
    for (int64_t j = 290; j < 600; j++) mask[j] = -INFINITY;
    run(&a);
    CHECK(is_right(&a));
    float *before = test_alloc(80 * sizeof(float));
    memcpy(before, a.out, 80 * sizeof(float));
    for (int64_t item = 0; item < 2; item++)
        for (int64_t j = 290 * 8; j < 600 * 8; j++) k[item * 600 * 8 + j] = NAN;
    run(&a);
    CHECK(memcmp(before, a.out, 80 * sizeof(float)) == 0);
}

TEST(attention_without_keys_is_zero) {
    const shape s = {1, 1, 1, 2, 0, 4, 3};
    for (int is_safe = 0; is_safe < 2; is_safe++) {
        const sc_attention a = attention_of(&s, HEADS_FIRST, NO_MASK, is_safe);
        run(&a);
        for (int i = 0; i < 6; i++) CHECK(a.out[i] == 0);
    }
}
