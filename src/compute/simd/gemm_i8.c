// In wasm: -O3
#include "compute/simd/gemm_i8.h"

#include "compute/simd/gemm_i8_tile.h"

enum { ROWS = SC_GEMM_ROWS_I8 };

static size_t even(size_t k) { return (k + 1) / 2 * 2; }

// The left operand, from a row on.
static const int16_t *rows_from(const sc_gemm_i8 *g, size_t row) {
    return (const int16_t *)(const void *)g->a + row * even(g->k);
}

// --- Sums ----------------------------------------------------------------------------------------

// Live values must stay within 15 registers in these loops, or V8 spills.
static inline void sum_rows(const int16_t *a, const int8_t *b, size_t pairs, const uint8_t *begin,
                            sc_gemm_sums *to) {
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
                    sc_gemm_sums *to) {
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
                               const uint8_t *begin, sc_gemm_sums *to, const size_t rows) {
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

static void sum_tile(const sc_gemm_i8 *g, const sc_gemm_panel *p, const int16_t *a, size_t from,
                     size_t to, const uint8_t *begin, sc_gemm_sums *s) {
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
static void sum_blocks(const sc_gemm_i8 *g, const sc_gemm_panel *p, const int16_t *a, size_t rows,
                       sc_gemm_sums *total) {
    static const uint8_t zeros[32];
    memset(total, 0, sizeof *total);
    for (size_t at = 0; at < g->k; at += g->block) {
        sc_gemm_sums s;
        sum_tile(g, p, a, at, at + g->block, zeros, &s);
        sc_gemm_add_block(&s, p->blocks + at / g->block * 16, rows, total);
    }
}

static void run_tile(const sc_gemm_i8 *g, const sc_gemm_panel *p, size_t row, size_t rows) {
    sc_gemm_sums s;
    if (g->block) {
        sum_blocks(g, p, rows_from(g, row), rows, &s);
        sc_gemm_store_floats(g, p, row, rows, &s);
    } else {
        sum_tile(g, p, rows_from(g, row), 0, g->k, p->head, &s);
        sc_gemm_store(g, p, row, rows, &s);
    }
}

// The sums of four rows with widened weights.
static inline void sum_wide_rows(const int16_t *a, const int16_t *b, size_t pairs,
                                 const uint8_t *begin, sc_gemm_sums *to) {
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

// Computes whole tiles with weights of 8 bits. Weights are widened once for all rows, and
// sums stay in registers. It is not inline, or values behind the panel would become constants that
// V8 makes again in every iteration.
static __attribute__((noinline)) void run_whole(const sc_gemm_i8 *g, const sc_gemm_panel *p,
                                                size_t rows) {
    const size_t depth = even(g->k);
    int16_t wide[WIDE_MAX * SC_PANEL];
    sc_gemm_widen(p->weights, 0, depth * SC_PANEL, wide);
    for (size_t row = 0; row < rows; row += ROWS) {
        sc_gemm_sums s;
        sum_wide_rows(rows_from(g, row), wide, depth / 2, p->head, &s);
        sc_gemm_store_whole(g, p, row, &s);
    }
}

void sc_gemm_run_i8(const sc_gemm_i8 *g, size_t first, size_t last) {
    const size_t bytes = (size_t)sc_panel_i8_bytes(g->k, g->nibbles, g->block);
    const v4_requantizing requantizing = v4_requantizing_of(g->finish, -128);
    for (size_t column = first; column < last; column += SC_PANEL) {
        const uint8_t *head = g->packed + column / SC_PANEL * bytes, *scales = head + 12 * SC_PANEL;
        const uint8_t *weights = scales + sc_panel_scale_bytes(g->k, g->block);
        const sc_gemm_panel p = {.requantizing = &requantizing,
                                 .head = head,
                                 .blocks = scales,
                                 .weights = (const int8_t *)weights,
                                 .column = column,
                                 .width = last - column < SC_PANEL ? last - column : SC_PANEL};
        size_t row = 0;
        if (g->m > 1 && !g->nibbles && sc_gemm_is_whole(g, &p) && g->k <= WIDE_MAX) {
            row = g->m / ROWS * ROWS;
            run_whole(g, &p, row);
        }
        for (; row < g->m; row += ROWS) run_tile(g, &p, row, sc_gemm_rows_left(g, row));
    }
}
