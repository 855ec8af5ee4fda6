// In wasm: -O3
#include "compute/simd/gemm_i8.h"

#include "compute/simd/simd_i8.h"

enum { ROWS = SC_GEMM_ROWS_I8 };

// --- Rows ----------------------------------------------------------------------------------------

static size_t even(size_t k) { return (k + 1) / 2 * 2; }

uint64_t sc_gemm_a_i8(uint64_t m, uint64_t k) {
    return (m > 1 ? sc_align_up(m, ROWS) + ROWS : 1) * sc_align_up(k, 2);
}

// The place after all others, where four rows are widened.
int16_t *sc_gemm_row_i8(int16_t *a, size_t m, size_t k, size_t i) {
    return m > 1 ? a + ((size_t)sc_align_up(m, ROWS) + i % ROWS) * even(k) : a;
}

static inline v4u pair(v4u a, v4u b, bool high) {
    return high ? __builtin_shufflevector(a, b, 2, 6, 3, 7)
                : __builtin_shufflevector(a, b, 0, 4, 1, 5);
}

// Interleaves rows, so that two steps of each are adjacent. The contents of missing rows do not
// matter.
void sc_gemm_rows_i8(int16_t *a, size_t m, size_t k, size_t i) {
    const size_t depth = even(k);
    const int16_t *from = sc_gemm_row_i8(a, m, k, 0);
    int16_t *to = a + i / ROWS * ROWS * depth;
    if (m == 1) return;
    for (size_t row = i % ROWS + 1; row < ROWS; row++)
        memset(sc_gemm_row_i8(a, m, k, row), 0, depth * sizeof *to);
    size_t at = 0;
    for (; at + 8 <= depth; at += 8, to += 32) {
        const v4u v0 = v4u_load(from + at), v1 = v4u_load(from + depth + at);
        const v4u v2 = v4u_load(from + 2 * depth + at), v3 = v4u_load(from + 3 * depth + at);
        const v4u low = pair(v0, v2, false), high = pair(v0, v2, true);
        const v4u low_odd = pair(v1, v3, false), high_odd = pair(v1, v3, true);
        const v4u all[4] = {pair(low, low_odd, false), pair(low, low_odd, true),
                            pair(high, high_odd, false), pair(high, high_odd, true)};
        memcpy(to, all, sizeof all);
    }
    for (; at < depth; at += 2)
        for (size_t row = 0; row < ROWS; row++, to += 2) memcpy(to, from + row * depth + at, 4);
}

void sc_gemm_widen_i8(const int8_t *from, int32_t zero, size_t count, int16_t *to) {
    const int16_t off = (int16_t)zero;
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const v8h v = v8h_widen(from + i) - off;
        memcpy(to + i, &v, sizeof v);
    }
    for (; i < count; i++) to[i] = (int16_t)(from[i] - off);
}

// --- Sums ----------------------------------------------------------------------------------------

typedef struct sums {
    v4u of[ROWS][2];
} sums;

// Live values must stay within 15 registers in these loops, or V8 spills.
static inline void sum_rows(const int16_t *a, const int8_t *b, size_t pairs, const uint8_t *begin,
                            sums *to) {
    v4u sum[ROWS][2];
    for (size_t i = 0; i < ROWS; i++) sum[i][0] = v4u_load(begin), sum[i][1] = v4u_load(begin + 16);
    for (const int8_t *end = b + 16 * pairs; b < end; b += 16, a += 2 * ROWS) {
        const v8h b0 = v8h_widen(b), b1 = v8h_widen(b + 8);
        for (size_t i = 0; i < ROWS; i++) {
            const v8h av = v8h_load_splat_pair(a + 2 * i);
            sum[i][0] = v4u_dot(av, b0, sum[i][0]);
            sum[i][1] = v4u_dot(av, b1, sum[i][1]);
        }
    }
    for (size_t i = 0; i < ROWS; i++) to->of[i][0] = sum[i][0], to->of[i][1] = sum[i][1];
}

static void sum_row(const int16_t *a, const int8_t *b, size_t pairs, const uint8_t *begin,
                    sums *to) {
    v4u sum[2] = {v4u_load(begin), v4u_load(begin + 16)};
    for (const int8_t *end = b + 16 * pairs; b < end; b += 16, a += 2) {
        const v8h av = v8h_load_splat_pair(a);
        sum[0] = v4u_dot(av, v8h_widen(b), sum[0]);
        sum[1] = v4u_dot(av, v8h_widen(b + 8), sum[1]);
    }
    to->of[0][0] = sum[0], to->of[0][1] = sum[1];
}

// Widens a half of the two pairs in eight lanes, with four 4-bit numbers each, by two shifts.
static inline v8h nibbles(v8h lanes, int i) {
    typedef uint16_t v8w __attribute__((vector_size(16)));
    return (v8h)((v8w)lanes << (12 - 4 * i)) >> 12;
}

// Multiplies `rows` adjacent rows with weights of 4 bits.
static inline void sum_nibbles(const int16_t *a, const int8_t *b, size_t pairs,
                               const uint8_t *begin, sums *to, const size_t rows) {
    v4u sum[ROWS][2];
    for (size_t i = 0; i < rows; i++) sum[i][0] = v4u_load(begin), sum[i][1] = v4u_load(begin + 16);
    for (size_t pair = 0; pair < pairs; pair += 2, b += 16, a += 4 * rows) {
        const v8h lanes = (v8h)v4u_load(b);
        const v8h b0 = nibbles(lanes, 0), b1 = nibbles(lanes, 1);
        for (size_t i = 0; i < rows; i++) {
            const v8h av = v8h_load_splat_pair(a + 2 * i);
            sum[i][0] = v4u_dot(av, b0, sum[i][0]);
            sum[i][1] = v4u_dot(av, b1, sum[i][1]);
        }
        if (pair + 1 == pairs) break;
        const v8h b2 = nibbles(lanes, 2), b3 = nibbles(lanes, 3);
        for (size_t i = 0; i < rows; i++) {
            const v8h av = v8h_load_splat_pair(a + 2 * (rows + i));
            sum[i][0] = v4u_dot(av, b2, sum[i][0]);
            sum[i][1] = v4u_dot(av, b3, sum[i][1]);
        }
    }
    for (size_t i = 0; i < rows; i++) to->of[i][0] = sum[i][0], to->of[i][1] = sum[i][1];
}

// --- Tiles ---------------------------------------------------------------------------------------

typedef struct panel {
    const v4_requantizing *requantizing;
    const uint8_t *head;    // starts of sums; scales and shifts follow
    const uint8_t *scales;  // of blocks
    const int8_t *weights;
    size_t column, width;
} panel;

static inline v4f head_floats(const panel *p, size_t row, size_t vector) {
    return (v4f)v4u_load(p->head + 32 * row + 16 * vector);
}

static inline void store_bytes(const sc_gemm_i8 *g, const panel *p, size_t row, size_t rows,
                               const sums *s) {
    const v4_requantizing r = *p->requantizing;
    const v4f scale = head_floats(p, 1, 0), next = head_floats(p, 1, 1);
    int8_t *c = (int8_t *)g->c + row * g->c_row + p->column;
    for (size_t i = 0; i < rows; i++, c += g->c_row) {
        v4f a = v4f_of_sums(s->of[i][0]) * scale, b = v4f_of_sums(s->of[i][1]) * next;
        if (r.regrids) a = v4f_regrid(&r, a), b = v4f_regrid(&r, b);
        const v4i low = v4i_round(&r.last, a), high = v4i_round(&r.last, b);
        if (p->width == SC_PANEL)
            v4i_store_bytes(c, low, high);
        else
            v4i_store_bytes_part(c, low, high, p->width);
    }
}

// `s` contains floats.
static void store_floats(const sc_gemm_i8 *g, const panel *p, size_t row, size_t rows,
                         const sums *s) {
    const bool clamps = g->finish->clamps;
    const v4f low = v4f_splat(clamps ? g->finish->low : -__builtin_inff());
    const v4f high = v4f_splat(clamps ? g->finish->high : __builtin_inff());
    for (size_t j = 0; 4 * j < p->width; j++) {
        const v4f scale = head_floats(p, 1, j), shift = head_floats(p, 2, j);
        const size_t left = p->width - 4 * j;
        float *c = (float *)g->c + row * g->c_row + p->column + 4 * j;
        for (size_t i = 0; i < rows; i++, c += g->c_row) {
            v4f v = (v4f)s->of[i][j] * v4f_splat(g->row_scale[row + i]);
            v = v4f_pmin(v4f_pmax(v * scale + shift, low), high);
            if (left >= 4)
                v4f_store(c, v);
            else
                v4f_store_part(c, v, left);
        }
    }
}

static void sum_tile(const sc_gemm_i8 *g, const panel *p, const int16_t *a, size_t from, size_t to,
                     const uint8_t *begin, sums *s) {
    const size_t pairs = (to - from + 1) / 2;
    const int8_t *weights = p->weights + from * SC_PANEL / (g->nibbles ? 2 : 1);
    a += from * (g->m == 1 ? 1 : ROWS);
    if (g->nibbles && g->m == 1)
        sum_nibbles(a, weights, pairs, begin, s, 1);
    else if (g->nibbles)
        sum_nibbles(a, weights, pairs, begin, s, ROWS);
    else
        (g->m == 1 ? sum_row : sum_rows)(a, weights, pairs, begin, s);
}

// Adds the sums of blocks, each multiplied by its scale.
static void sum_blocks(const sc_gemm_i8 *g, const panel *p, const int16_t *a, size_t rows,
                       sums *total) {
    static const uint8_t zeros[32];
    const v8h zero = {0};
    memset(total, 0, sizeof *total);
    for (size_t at = 0; at < g->k; at += g->block) {
        sums s;
        sum_tile(g, p, a, at, at + g->block, zeros, &s);
        const v8h bits = (v8h)v4u_load(p->scales + at / g->block * 16);
        const v4f scale[2] = {(v4f)v8h_zip_low(zero, bits), (v4f)v8h_zip_high(zero, bits)};
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < 2; j++)
                total->of[i][j] = (v4u)((v4f)total->of[i][j] + v4f_of_sums(s.of[i][j]) * scale[j]);
    }
}

static void run_tile(const sc_gemm_i8 *g, const panel *p, size_t row, size_t rows) {
    const int16_t *a = g->a + row * even(g->k);
    sums s;
    if (g->block) {
        sum_blocks(g, p, a, rows, &s);
    } else {
        sum_tile(g, p, a, 0, g->k, p->head, &s);
        if (!g->row_scale) {
            store_bytes(g, p, row, rows, &s);
            return;
        }
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < 2; j++) s.of[i][j] = (v4u)v4f_of_sums(s.of[i][j]);
    }
    store_floats(g, p, row, rows, &s);
}

// The sums of four rows with widened weights.
static inline void sum_wide_rows(const int16_t *a, const int16_t *b, size_t pairs,
                                 const uint8_t *begin, sums *to) {
    v4u sum[ROWS][2];
    for (size_t i = 0; i < ROWS; i++) sum[i][0] = v4u_load(begin), sum[i][1] = v4u_load(begin + 16);
    for (const int16_t *end = b + 16 * pairs; b < end; b += 16, a += 2 * ROWS) {
        const v8h b0 = (v8h)v4u_load(b), b1 = (v8h)v4u_load(b + 8);
        for (size_t i = 0; i < ROWS; i++) {
            const v8h av = v8h_load_splat_pair(a + 2 * i);
            sum[i][0] = v4u_dot(av, b0, sum[i][0]);
            sum[i][1] = v4u_dot(av, b1, sum[i][1]);
        }
    }
    for (size_t i = 0; i < ROWS; i++) to->of[i][0] = sum[i][0], to->of[i][1] = sum[i][1];
}

enum { WIDE_MAX = 1024 };  // steps

// Computes whole tiles with weights of 8 bits, to bytes. Weights are widened once for all rows, and
// sums stay in registers. It is not inline, or values behind the panel would become constants that
// V8 makes again in every iteration.
static __attribute__((noinline)) void run_rows_bytes(const sc_gemm_i8 *g, const panel *p,
                                                     size_t rows) {
    const size_t depth = even(g->k);
    int16_t wide[WIDE_MAX * SC_PANEL];
    sc_gemm_widen_i8(p->weights, 0, depth * SC_PANEL, wide);
    for (size_t row = 0; row < rows; row += ROWS) {
        sums s;
        sum_wide_rows(g->a + row * depth, wide, depth / 2, p->head, &s);
        store_bytes(g, p, row, ROWS, &s);
    }
}

void sc_gemm_run_i8(const sc_gemm_i8 *g, size_t first, size_t last) {
    const size_t bytes = (size_t)sc_panel_i8_bytes(g->k, g->nibbles, g->block);
    const v4_requantizing requantizing = v4_requantizing_of(g->finish, -128);
    for (size_t column = first; column < last; column += SC_PANEL) {
        const uint8_t *head = g->packed + column / SC_PANEL * bytes, *scales = head + 12 * SC_PANEL;
        const uint8_t *weights = scales + sc_panel_scale_bytes(g->k, g->block);
        const panel p = {.requantizing = &requantizing,
                         .head = head,
                         .scales = scales,
                         .weights = (const int8_t *)weights,
                         .column = column,
                         .width = last - column < SC_PANEL ? last - column : SC_PANEL};
        size_t row = 0;
        if (g->m > 1 && !g->row_scale && !g->nibbles && !g->block && g->k <= WIDE_MAX) {
            row = g->m / ROWS * ROWS;
            run_rows_bytes(g, &p, row);
        }
        for (; row < g->m; row += ROWS) run_tile(g, &p, row, g->m - row < ROWS ? g->m - row : ROWS);
    }
}
