// In wasm: -O3
#include "compute/attention.h"

#include <math.h>

#include "base/parallel.h"
#include "compute/simd/gemm_f32.h"
#include "compute/simd/simd_math.h"

enum {
    QUERIES = 64,  // of a tile
    KEYS = 256,    // of a block: their scores and the tile's stay in the second-level cache
    FEW = 8        // queries for which keys are not transposed
};

// The number that an item begins with.
static int64_t offset_of(const sc_attention_items *items, int64_t item) {
    int64_t offset = 0;
    for (uint32_t i = items->count; i-- > 0; item /= items->sizes[i])
        offset += item % items->sizes[i] * items->steps[i];
    return offset;
}

// --- Tiles ---------------------------------------------------------------------------------------

// Items that share keys and values are rows of the same tiles, so that these are read once.
static int64_t sharing(const sc_attention *a) {
    const sc_attention_items *k = &a->k.items, *v = &a->v.items;
    if (k->count == 0 || v->count == 0) return k->count == v->count ? a->items : 1;
    const uint32_t i = k->count - 1, j = v->count - 1;
    const bool is_same = k->sizes[i] == v->sizes[j] && k->steps[i] == 0 && v->steps[j] == 0;
    return is_same ? k->sizes[i] : 1;
}

// The places at which the parts of the scratch begin, in floats.
typedef struct layout {
    uint64_t q, raw, keys, values, scores, sums, product, gemm, total;
} layout;

static uint64_t floats_of(uint64_t count) { return sc_align_up(count, 16); }

static layout layout_of(const sc_attention *a) {
    const uint64_t depth = (uint64_t)a->depth, width = (uint64_t)a->width;
    const uint64_t keys = sc_align_up((uint64_t)sc_min_i64(a->keys, KEYS), 4);
    const uint64_t gemm = sc_max_u64(sc_gemm_nn_scratch(QUERIES, keys, depth),
                                     sc_gemm_nn_scratch(QUERIES, width, keys));
    layout l = {.q = 0};
    l.raw = l.q + floats_of(QUERIES * depth);
    l.keys = l.raw + (a->k.read ? floats_of(keys * depth) : 0);
    l.values = l.keys + floats_of(keys * depth);
    l.scores = l.values + floats_of(keys * width);
    l.sums = l.scores + floats_of(QUERIES * keys);
    l.product = l.sums + floats_of(QUERIES * width);
    l.gemm = l.product + floats_of(QUERIES * width);
    l.total = l.gemm + floats_of(gemm / sizeof(float));
    return l;
}

uint64_t sc_attention_scratch_bytes(const sc_attention *a) {
    return layout_of(a).total * sizeof(float);
}

typedef struct tile {
    const sc_attention *a;
    int64_t k, v;  // where the matrices of the items begin
    // For each row:
    int64_t out[QUERIES];
    const float *mask[QUERIES];
    int64_t seen[QUERIES];                // keys that it may see
    float most[QUERIES], total[QUERIES];  // maximum and sum so far
    int64_t rows;
    float *q, *raw, *keys, *values, *scores, *sums, *product, *gemm;
    int64_t first, count, stride;  // of the block: its keys, and floats from row to row of scores
    bool is_begun;
} tile;

static void copy_row(float *to, const float *from, int64_t step, int64_t count, float scale) {
    int64_t i = 0;
    if (step == 1)
        for (; i + 4 <= count; i += 4) v4f_store(to + i, v4f_load(from + i) * scale);
    for (; i < count; i++) to[i] = from[i * step] * scale;
}

// A row of a matrix as floats.
static void read_row(const sc_attention_matrix *m, int64_t offset, int64_t count, float scale,
                     float *to) {
    if (m->read) {
        m->read(m, offset, count, to);
        copy_row(to, to, 1, count, scale);
    } else {
        copy_row(to, m->data + offset, m->column, count, scale);
    }
}

static void begin_rows(tile *t, int64_t item, int64_t row) {
    const sc_attention *a = t->a;
    for (int64_t i = 0; i < t->rows; i++) {
        const int64_t at = item + (row + i) / a->queries, query = (row + i) % a->queries;
        const int64_t q = offset_of(&a->q.items, at) + query * a->q.row;
        read_row(&a->q, q, a->depth, a->scale, t->q + i * a->depth);
        t->out[i] = offset_of(&a->out_items, at) + query * a->out_row;
        t->seen[i] = a->seen ? sc_min_i64(a->keys, a->seen + query) : a->keys;
        t->most[i] = -INFINITY;
        t->total[i] = 0;
        if (!a->mask.data) continue;
        t->mask[i] = a->mask.data + offset_of(&a->mask.items, at) + query * a->mask.row;
    }
}

// --- Blocks --------------------------------------------------------------------------------------

// The keys of the block that the row may see.
static int64_t seen_keys(const tile *t, int64_t row, int64_t count) {
    return sc_min_i64(sc_max_i64(t->seen[row] - t->first, 0), count);
}

// Keys of the block up to the last one that a row does not exclude.
static int64_t used_keys(const tile *t, int64_t most) {
    const int64_t step = t->a->mask.column;
    int64_t count = 0, used = 0;
    for (int64_t i = 0; i < t->rows; i++) count = sc_max_i64(count, seen_keys(t, i, most));
    if (!t->a->mask.data) return count;
    for (int64_t i = 0; i < t->rows && used < count; i++) {
        const float *mask = t->mask[i] + t->first * step;
        if (i > 0 && t->mask[i] == t->mask[i - 1]) continue;
        int64_t end = count;
        while (end > used && mask[(end - 1) * step] == -INFINITY) end--;
        used = end;
    }
    return used;
}

// The keys of a block as floats.
typedef struct key_block {
    const float *data;
    int64_t row, column;
} key_block;

static key_block keys_of(const tile *t) {
    const sc_attention_matrix *k = &t->a->k;
    const int64_t depth = t->a->depth, at = t->k + t->first * k->row;
    if (!k->read) return (key_block){k->data + at, k->row, k->column};
    for (int64_t j = 0; j < t->count; j++) k->read(k, at + j * k->row, depth, t->raw + j * depth);
    return (key_block){t->raw, depth, 1};
}

// Four keys at a time, side by side.
static void transpose_keys(const tile *t, const key_block *keys) {
    const int64_t depth = t->a->depth, row = keys->row, column = keys->column;
    const float *k = keys->data;
    for (int64_t j = 0; j < t->stride; j += 4) {
        const float *from[4];
        for (int64_t i = 0; i < 4; i++) from[i] = k + sc_min_i64(j + i, t->count - 1) * row;
        float *to = t->keys + j;
        int64_t d = 0;
        for (; column == 1 && d + 4 <= depth; d += 4, to += 4 * t->stride) {
            const v4f a = v4f_load(from[0] + d), b = v4f_load(from[1] + d);
            const v4f c = v4f_load(from[2] + d), e = v4f_load(from[3] + d);
            const v4f ab = __builtin_shufflevector(a, b, 0, 4, 1, 5);
            const v4f ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
            const v4f ce = __builtin_shufflevector(c, e, 0, 4, 1, 5);
            const v4f ce_high = __builtin_shufflevector(c, e, 2, 6, 3, 7);
            v4f_store(to, __builtin_shufflevector(ab, ce, 0, 1, 4, 5));
            v4f_store(to + t->stride, __builtin_shufflevector(ab, ce, 2, 3, 6, 7));
            v4f_store(to + 2 * t->stride, __builtin_shufflevector(ab_high, ce_high, 0, 1, 4, 5));
            v4f_store(to + 3 * t->stride, __builtin_shufflevector(ab_high, ce_high, 2, 3, 6, 7));
        }
        for (; d < depth; d++, to += t->stride)
            for (int64_t i = 0; i < 4; i++) to[i] = from[i][d * column];
    }
}

static void run_nn(const tile *t, const sc_gemm_f32 *g) {
    sc_gemm_nn_f32(g, 0, sc_gemm_nn_tiles(g), t->gemm);
}

static void multiply_keys(const tile *t) {
    const key_block k = keys_of(t);
    sc_gemm_f32 g = {.m = (size_t)t->rows,
                     .n = (size_t)t->count,
                     .k = (size_t)t->a->depth,
                     .a = t->q,
                     .a_row = (size_t)t->a->depth,
                     .c = t->scores,
                     .c_row = (size_t)t->stride};
    if (t->rows < FEW && k.column == 1 && k.row >= 0) {
        g.b = k.data;
        g.b_row = (size_t)k.row;
        sc_gemm_nt_f32(&g, 0, sc_gemm_nt_tiles(&g));
        return;
    }
    if (k.row == 1 && k.column >= 0) {
        g.b = k.data;
        g.b_row = (size_t)k.column;
    } else {
        transpose_keys(t, &k);
        g.b = t->keys;
        g.b_row = (size_t)t->stride;
    }
    run_nn(t, &g);
}

static void multiply_values(const tile *t) {
    const sc_attention_matrix *v = &t->a->v;
    const int64_t from = t->v + t->first * v->row;
    sc_gemm_f32 g = {.m = (size_t)t->rows,
                     .n = (size_t)t->a->width,
                     .k = (size_t)t->count,
                     .a = t->scores,
                     .a_row = (size_t)t->stride,
                     .b_row = (size_t)v->row,
                     .c = t->is_begun ? t->product : t->sums,
                     .c_row = (size_t)t->a->width};
    if (v->read || v->column != 1 || v->row < 0) {
        g.b = t->values;
        g.b_row = (size_t)t->a->width;
        for (int64_t j = 0; j < t->count; j++)
            read_row(v, from + j * v->row, t->a->width, 1, t->values + j * t->a->width);
    } else {
        g.b = v->data + from;
    }
    run_nn(t, &g);
}

// --- Softmax -------------------------------------------------------------------------------------

// Adds the mask to a row of scores, and finds their maximum. A NaN may be lost, but then the sum is
// NaN. Scores behind the last key that the row may see become -inf.
static float add_mask(const tile *t, int64_t row) {
    float *scores = t->scores + row * t->stride;
    const int64_t step = t->a->mask.column, whole = t->count / 4 * 4;
    const float *mask = t->a->mask.data ? t->mask[row] + t->first * step : NULL;
    v4f best[2] = {v4f_splat(-INFINITY), v4f_splat(-INFINITY)};
    if (mask && step == 1) {
        for (int64_t j = 0; j < whole; j += 4)
            v4f_store(scores + j, v4f_load(scores + j) + v4f_load(mask + j));
        for (int64_t j = whole; j < t->count; j++) scores[j] += mask[j];
    } else if (mask) {
        for (int64_t j = 0; j < t->count; j++) scores[j] += mask[j * step];
    }
    for (int64_t j = seen_keys(t, row, t->count); j < t->stride; j++) scores[j] = -INFINITY;
    int64_t j = 0;
    for (; j + 8 <= t->stride; j += 8) {
        best[0] = v4f_pmax(v4f_load(scores + j), best[0]);
        best[1] = v4f_pmax(v4f_load(scores + j + 4), best[1]);
    }
    if (j < t->stride) best[0] = v4f_pmax(v4f_load(scores + j), best[0]);
    const v4f all = v4f_pmax(best[0], best[1]);
    float most = -INFINITY;
    for (int i = 0; i < 4; i++) most = all[i] > most ? all[i] : most;
    return most;
}

// e^x for x <= 0, zero where that is subnormal; NaN stays.
static inline v4f exp_below(v4f x) {
    enum { LEAST, ZERO };
    static const float constants[] = {-87.0f, 0.0f};
    const float *k = v4f_hidden(constants);
    const v4f bounded = v4f_pmax(x, v4f_load_splat(k + LEAST));
    const v4f e = v4f_fma(bounded, v4f_load_splat(k + ZERO), v4f_exp_normal(bounded));
    return (v4f)((v4i)e & ~(v4i)(x < v4f_load_splat(k + LEAST)));
}

// Replaces scores by e^(score - most), and returns their sum.
static float exp_row(float *scores, int64_t count, float most) {
    v4f sums[2] = {v4f_zero(), v4f_zero()};
    int64_t j = 0;
    for (; j + 8 <= count; j += 8) {
        const v4f a = exp_below(v4f_load(scores + j) - most);
        const v4f b = exp_below(v4f_load(scores + j + 4) - most);
        v4f_store(scores + j, a);
        v4f_store(scores + j + 4, b);
        sums[0] += a;
        sums[1] += b;
    }
    if (j < count) {
        const v4f a = exp_below(v4f_load(scores + j) - most);
        v4f_store(scores + j, a);
        sums[0] += a;
    }
    return v4f_sum(sums[0] + sums[1]);
}

static void scale_sums(const tile *t, int64_t row, float scale) {
    float *sums = t->sums + row * t->a->width;
    for (int64_t i = 0; i < t->a->width; i++) sums[i] *= scale;
}

// A row whose scores are all -inf so far subtracts zero instead, because -inf - -inf is NaN.
static void soften(tile *t) {
    for (int64_t i = 0; i < t->rows; i++) {
        const float before = t->most[i], block = add_mask(t, i);
        t->most[i] = block > before ? block : before;
        const float most = t->most[i] == -INFINITY ? 0 : t->most[i];
        const float sum = exp_row(t->scores + i * t->stride, t->stride, most);
        if (t->a->round) t->a->round(t->scores + i * t->stride, t->stride);
        if (t->is_begun && block > before && before > -INFINITY) {
            const float scale = v4f_exp(v4f_splat(before - most))[0];
            t->total[i] *= scale;
            scale_sums(t, i, scale);
        }
        t->total[i] += sum;
    }
}

static void add_product(const tile *t) {
    const int64_t count = t->rows * t->a->width;
    for (int64_t i = 0; i < count; i++) t->sums[i] += t->product[i];
}

// --- Running -------------------------------------------------------------------------------------

static void finish_rows(const tile *t) {
    const sc_attention *a = t->a;
    const bool gives_zeros = a->is_safe || a->keys == 0;
    for (int64_t i = 0; i < t->rows; i++) {
        float *sums = t->sums + i * a->width;
        if (t->total[i] == 0)
            for (int64_t j = 0; j < a->width; j++) sums[j] = gives_zeros ? 0 : NAN;
        else
            copy_row(sums, sums, 1, a->width, 1 / t->total[i]);
        if (a->write)
            a->write(a, t->out[i], sums);
        else if (a->out_column == 1)
            memcpy(a->out + t->out[i], sums, (size_t)a->width * sizeof *sums);
        else
            for (int64_t j = 0; j < a->width; j++) a->out[t->out[i] + j * a->out_column] = sums[j];
    }
}

static void run_tile(tile *t) {
    const sc_attention *a = t->a;
    t->is_begun = false;
    for (t->first = 0; t->first < a->keys; t->first += KEYS) {
        t->count = used_keys(t, sc_min_i64(a->keys - t->first, KEYS));
        if (t->count == 0) continue;
        t->stride = (t->count + 3) / 4 * 4;
        multiply_keys(t);
        soften(t);
        multiply_values(t);
        if (t->is_begun) add_product(t);
        t->is_begun = true;
    }
    finish_rows(t);
}

// --- Weights alone -------------------------------------------------------------------------------

// Softmax of a row, of which keys behind `used` have no weight.
static void weigh_row(const float *scores, int64_t used, int64_t keys, float most, float *weights) {
    const int64_t whole = used / 4 * 4;
    float rest[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    if (most == -INFINITY) {
        for (int64_t j = 0; j < keys; j++) weights[j] = NAN;
        return;
    }
    memmove(weights, scores, (size_t)used * sizeof *scores);
    for (int64_t j = whole; j < used; j++) rest[j - whole] = weights[j];
    const float sum = exp_row(weights, whole, most) + exp_row(rest, 4, most);
    for (int64_t j = whole; j < used; j++) weights[j] = rest[j - whole];
    copy_row(weights, weights, 1, used, 1 / sum);
    for (int64_t j = used; j < keys; j++) weights[j] = 0;
}

// Writes the scores of a block of keys for all rows.
static void keep_scores(tile *t, int64_t keys) {
    for (int64_t i = 0; i < t->rows; i++) {
        float *to = t->a->scores + t->out[i] + t->first;
        if (t->count > 0) {
            const float most = add_mask(t, i);
            if (most > t->most[i]) t->most[i] = most;
            memcpy(to, t->scores + i * t->stride, (size_t)t->count * sizeof *to);
        }
        for (int64_t j = t->count; j < keys; j++) to[j] = -INFINITY;
    }
}

static void weigh_tile(tile *t) {
    const sc_attention *a = t->a;
    int64_t used = 0;
    for (t->first = 0; t->first < a->keys; t->first += KEYS) {
        const int64_t keys = sc_min_i64(a->keys - t->first, KEYS);
        t->count = used_keys(t, keys);
        t->stride = (t->count + 3) / 4 * 4;
        if (t->count > 0) {
            multiply_keys(t);
            used = t->first + t->count;
        }
        keep_scores(t, keys);
    }
    for (int64_t i = 0; i < t->rows; i++)
        weigh_row(a->scores + t->out[i], used, a->keys, t->most[i], a->weights + t->out[i]);
}

// --- Tiles among threads -------------------------------------------------------------------------

typedef struct whole {
    const sc_attention *a;
    void (*run)(tile *t);
    layout l;
    int64_t rows, tiles;  // of the items that share keys
    int64_t items;        // that share keys
    float *scratch;
} whole;

static void run_tiles(void *work, int64_t from, int64_t to, uint32_t thread) {
    const whole *w = work;
    const sc_attention *a = w->a;
    float *scratch = thread ? sc_parallel_scratch(thread) : w->scratch;
    tile t = {.a = a,
              .q = scratch + w->l.q,
              .raw = scratch + w->l.raw,
              .keys = scratch + w->l.keys,
              .values = scratch + w->l.values,
              .scores = scratch + w->l.scores,
              .sums = scratch + w->l.sums,
              .product = scratch + w->l.product,
              .gemm = scratch + w->l.gemm};
    for (int64_t i = from; i < to; i++) {
        const int64_t item = i / w->tiles * w->items, row = i % w->tiles * QUERIES;
        t.k = offset_of(&a->k.items, item);
        t.v = offset_of(&a->v.items, item);
        t.rows = sc_min_i64(QUERIES, w->rows - row);
        begin_rows(&t, item, row);
        w->run(&t);
    }
}

// Nanoseconds of a multiplication, and of a score.
#define COST_MULTIPLY 0.06
#define COST_SCORE    1.5

static void run(const sc_attention *a, void (*run_one)(tile *t), void *scratch) {
    whole w = {.a = a, .run = run_one, .l = layout_of(a), .items = sharing(a), .scratch = scratch};
    w.rows = w.items * a->queries;
    w.tiles = (w.rows + QUERIES - 1) / QUERIES;
    const int64_t count = a->items / sc_max_i64(w.items, 1) * w.tiles;
    const double rows = (double)sc_min_i64(w.rows, QUERIES), scores = rows * (double)a->keys;
    const double each = scores * (COST_SCORE + COST_MULTIPLY * (double)(a->depth + a->width));
    const int64_t step = sc_parallel_step(count, each);
    if (step < count && sc_parallel_reserve(w.l.total * sizeof(float)))
        sc_parallel(count, step, run_tiles, &w);
    else
        run_tiles(&w, 0, count, 0);
}

void sc_attention_run(const sc_attention *a, void *scratch) { run(a, run_tile, scratch); }

void sc_attention_weigh(const sc_attention *a, void *scratch) { run(a, weigh_tile, scratch); }
