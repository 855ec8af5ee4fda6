// In wasm: -O3
#include "compute/simd/gemm_dot_i8.h"

#include "compute/simd/dot_i8.h"
#include "compute/simd/gemm_dot_row_i8.h"

enum { ROWS = SC_GEMM_ROWS_I8, UNIT = 4, HEAD = 16 * SC_PANEL, BLOCK = 2 * SC_PANEL, STREAMS = 4 };

// --- Sums ----------------------------------------------------------------------------------------

typedef struct unit {
    v16b low, high;  // four steps of columns 0 to 3, and of 4 to 7
} unit;

// The bytes of a unit of weights.
static inline size_t unit_bytes(const bool nibbles) { return UNIT * SC_PANEL / (nibbles ? 2 : 1); }

static inline unit load_unit(const uint8_t *b, const bool nibbles) {
    if (!nibbles) return (unit){(v16b)v4u_load(b), (v16b)v4u_load(b + 16)};
    const v4u all = v4u_load(b), mask = {0x0f0f0f0f, 0x0f0f0f0f, 0x0f0f0f0f, 0x0f0f0f0f};
    return (unit){(v16b)(all & mask), (v16b)(all >> 4 & mask)};
}

// Weights of 4 bits are the operand of 7 bits, else the numbers of the left operand.
static inline v4u add(v16b a, v16b b, const bool nibbles, v4u sum) {
    return nibbles ? v4u_dot_bytes(a, b, sum) : v4u_dot_bytes(b, a, sum);
}

// Adds to the sums of four rows. Live values must stay within 15 registers in this loop, or V8
// spills.
static inline void sum_rows(const uint8_t *a, const uint8_t *b, size_t units, const bool nibbles,
                            sc_gemm_sums *to) {
    sc_gemm_sums s = *to;
    for (const uint8_t *end = a + UNIT * ROWS * units; a < end; a += UNIT * ROWS) {
        const unit w = load_unit(b, nibbles);
        b += unit_bytes(nibbles);
        for (size_t i = 0; i < ROWS; i++) {
            const v16b av = v16b_load_splat_four(a + UNIT * i);
            s.of[i][0] = add(av, w.low, nibbles, s.of[i][0]);
            s.of[i][1] = add(av, w.high, nibbles, s.of[i][1]);
        }
    }
    *to = s;
}

// Apart from each other, so that each loop is compiled for its case.
static __attribute__((noinline)) void sum_bytes(const uint8_t *a, const uint8_t *b, size_t units,
                                                sc_gemm_sums *s) {
    sum_rows(a, b, units, false, s);
}
static __attribute__((noinline)) void sum_nibbles(const uint8_t *a, const uint8_t *b, size_t units,
                                                  sc_gemm_sums *s) {
    sum_rows(a, b, units, true, s);
}

// --- Corrections ---------------------------------------------------------------------------------

static size_t blocks_of(size_t k, size_t block) { return block ? k / block : 1; }

uint64_t sc_gemm_sums_bytes(uint64_t m, uint64_t k, uint64_t block) {
    return sc_align_up(m, ROWS) * (block ? k / block : 1) * sizeof(int32_t);
}

// The sums of `units` units of four rows, or of a single one.
static v4u sums_of(const uint8_t *a, size_t units, bool single) {
    const v16b ones = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    v4u sum = {0};
    size_t i = 0;
    if (!single) {
        for (; i < units; i++) sum = v4u_dot_bytes((v16b)v4u_load(a + UNIT * ROWS * i), ones, sum);
        return sum;
    }
    for (; i + 4 <= units; i += 4) sum = v4u_dot_bytes((v16b)v4u_load(a + UNIT * i), ones, sum);
    uint32_t rest = 0;
    for (; i < units; i++)
        for (size_t j = 0; j < UNIT; j++) rest += (uint32_t)(int8_t)a[UNIT * i + j];
    return (v4u){sum[0] + sum[1] + sum[2] + sum[3] + rest, 0, 0, 0};
}

// For four rows after the other, for each block: 8 times the sums of their numbers. Weights of 4
// bits are stored with 8 added.
static void sum_left(const sc_gemm_i8 *g) {
    const size_t units = sc_gemm_row_units(g->k, true), blocks = blocks_of(g->k, g->block);
    const size_t part = g->block ? g->block / UNIT : units, rows = g->m == 1 ? 1 : ROWS;
    int32_t *to = g->row_sums;
    for (size_t row = 0; row < g->m; row += ROWS) {
        const uint8_t *a = g->a + row * UNIT * units;
        for (size_t i = 0; i < blocks; i++, a += rows * UNIT * part, to += ROWS) {
            const v4u sums = sums_of(a, part, g->m == 1) << 3;
            memcpy(to, &sums, sizeof sums);
        }
    }
}

// The zero points of rows [row, row + rows), and 0 for those that are missing.
static void find_zeros(const sc_gemm_i8 *g, size_t row, size_t rows, uint32_t zeros[ROWS]) {
    for (size_t i = 0; i < ROWS; i++)
        zeros[i] = i < rows ? (uint32_t)g->zeros[g->same_zero ? 0 : row + i] : 0;
}

// The excess of sums with weights of 4 bits: of a row and its three followers, block by block.
static const int32_t *excess_of(const sc_gemm_i8 *g, size_t row) {
    return g->row_sums + row * blocks_of(g->k, g->block);
}

// Begins the sums of four rows: less what zero points add, and less the excess, if any.
static inline void begin_sums(const v4u begin[2], const v4u weights[2], const uint32_t zeros[ROWS],
                              const int32_t *excess, sc_gemm_sums *s) {
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < 2; j++)
            s->of[i][j] = begin[j] - zeros[i] * weights[j] - (excess ? (uint32_t)excess[i] : 0);
}

static void begin_panel(const sc_gemm_i8 *g, const sc_gemm_panel *p, size_t row, size_t rows,
                        sc_gemm_sums *s) {
    const v4u begin[2] = {v4u_load(p->head), v4u_load(p->head + 16)};
    const v4u weights[2] = {v4u_load(p->head + 96), v4u_load(p->head + 112)};
    uint32_t zeros[ROWS];
    find_zeros(g, row, rows, zeros);
    begin_sums(begin, weights, zeros, g->nibbles ? excess_of(g, row) : NULL, s);
}

// --- Tiles ---------------------------------------------------------------------------------------

// Sums blocks of weights of 4 bits, each multiplied by its scale.
static __attribute__((noinline)) void sum_blocks(const sc_gemm_i8 *g, const sc_gemm_panel *p,
                                                 size_t row, size_t rows, sc_gemm_sums *total) {
    const size_t units = g->block / UNIT;
    const uint8_t *a = g->a + row * UNIT * sc_gemm_row_units(g->k, true), *facts = p->blocks;
    const uint8_t *b = (const uint8_t *)p->weights, *end = b;
    const int32_t *excess = excess_of(g, row);
    uint32_t zeros[ROWS];
    memset(total, 0, sizeof *total);
    find_zeros(g, row, rows, zeros);
    for (; facts < end; facts += BLOCK, excess += ROWS, a += units * UNIT * ROWS) {
        sc_gemm_sums s;
        for (size_t i = 0; i < ROWS; i++) {
            const uint32_t less = 0u - (uint32_t)excess[i];
            s.of[i][0] = s.of[i][1] = (v4u){less, less, less, less};
        }
        sum_rows(a, b, units, true, &s);
        sc_gemm_add_block(&s, facts, ROWS, total);
        b += units * unit_bytes(true);
    }
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < 2; j++) {
            const v4f weights = sc_gemm_head_floats(p, 3, j);
            const v4f zero = v4f_splat((float)(int32_t)zeros[i]);
            total->of[i][j] = (v4u)((v4f)total->of[i][j] - zero * weights);
        }
}

static void run_tile(const sc_gemm_i8 *g, const sc_gemm_panel *p, size_t row, size_t rows) {
    const size_t units = sc_gemm_row_units(g->k, true);
    sc_gemm_sums s;
    if (g->block) {
        sum_blocks(g, p, row, rows, &s);
        sc_gemm_store_floats(g, p, row, rows, &s);
        return;
    }
    begin_panel(g, p, row, rows, &s);
    (g->nibbles ? sum_nibbles : sum_bytes)(g->a + row * UNIT * units, (const uint8_t *)p->weights,
                                           units, &s);
    sc_gemm_store(g, p, row, rows, &s);
}

// Computes whole tiles with weights of 8 bits, whose sums begin at `begin`. It is not inline, or
// values behind its pointers would become constants that V8 keeps in registers or makes again.
static __attribute__((noinline)) void run_whole(const sc_gemm_i8 *g, const sc_gemm_panel *p,
                                                const sc_gemm_sums *begin, size_t rows) {
    const size_t units = sc_gemm_row_units(g->k, true);
    for (size_t row = 0; row < rows; row += ROWS) {
        sc_gemm_sums s = *begin;
        sum_rows(g->a + row * UNIT * units, (const uint8_t *)p->weights, units, false, &s);
        sc_gemm_store_whole(g, p, row, &s);
    }
}

typedef struct product {
    const sc_gemm_i8 *g;
    v4_requantizing requantizing;
    size_t bytes;  // of a panel
    size_t first, last;
} product;

static sc_gemm_panel panel_at(const product *r, size_t column) {
    const uint8_t *head = r->g->packed + column / SC_PANEL * r->bytes, *blocks = head + HEAD;
    const uint8_t *weights = blocks + sc_panel_scale_bytes(r->g->k, r->g->block);
    return (sc_gemm_panel){.requantizing = &r->requantizing,
                           .head = head,
                           .blocks = blocks,
                           .weights = (const int8_t *)weights,
                           .column = column,
                           .width = r->last - column < SC_PANEL ? r->last - column : SC_PANEL};
}

// A single row takes panels from several places in turn. The time goes into the memory that holds
// the weights, and hosts read ahead in each of the streams.
static void run_row(const product *r) {
    const size_t count = (r->last - r->first + SC_PANEL - 1) / SC_PANEL;
    const size_t part = (count + STREAMS - 1) / STREAMS;
    for (size_t i = 0; i < part; i++)
        for (size_t at = i; at < count; at += part) {
            const sc_gemm_panel p = panel_at(r, r->first + at * SC_PANEL);
            sc_gemm_sums s;
            sc_gemm_sum_row(r->g, &p, &s);
            (r->g->block ? sc_gemm_store_floats : sc_gemm_store)(r->g, &p, 0, 1, &s);
        }
}

static void run_panel(const sc_gemm_i8 *g, const sc_gemm_panel *p) {
    size_t row = 0;
    if (!g->nibbles && g->same_zero && sc_gemm_is_whole(g, p)) {
        sc_gemm_sums begin;
        begin_panel(g, p, 0, ROWS, &begin);
        row = g->m / ROWS * ROWS;
        run_whole(g, p, &begin, row);
    }
    for (; row < g->m; row += ROWS) run_tile(g, p, row, sc_gemm_rows_left(g, row));
}

void sc_gemm_run_dot(const sc_gemm_i8 *g, size_t first, size_t last) {
    const product r = {.g = g,
                       .requantizing = v4_requantizing_of(g->finish, -128),
                       .bytes = (size_t)sc_panel_dot_bytes(g->k, g->nibbles, g->block),
                       .first = first,
                       .last = last};
    if (g->nibbles) sum_left(g);
    if (g->m == 1) {
        run_row(&r);
        return;
    }
    for (size_t column = first; column < last; column += SC_PANEL) {
        const sc_gemm_panel p = panel_at(&r, column);
        run_panel(g, &p);
    }
}
