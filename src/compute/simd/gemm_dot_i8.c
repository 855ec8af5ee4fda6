// In wasm: -O3
#include "compute/simd/gemm_dot_i8.h"

#include "compute/simd/dot_i8.h"
#include "compute/simd/gemm_i8_tile.h"

enum { ROWS = SC_GEMM_ROWS_I8, UNIT = 4, HEAD = 16 * SC_PANEL, BLOCK = 4 * SC_PANEL };

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

static inline void add_unit(const uint8_t *a, const uint8_t *b, const bool nibbles, v4u sum[2]) {
    const v16b av = v16b_load_splat_four(a);
    const unit w = load_unit(b, nibbles);
    sum[0] = add(av, w.low, nibbles, sum[0]);
    sum[1] = add(av, w.high, nibbles, sum[1]);
}

// Adds to the sums of a single row, in four accumulators, or each would wait for the one before.
static inline void sum_row(const uint8_t *a, const uint8_t *b, size_t units, const bool nibbles,
                           sc_gemm_sums *to) {
    const size_t bytes = unit_bytes(nibbles);
    v4u even[2] = {to->of[0][0], to->of[0][1]}, odd[2] = {{0}, {0}};
    for (; units >= 2; units -= 2, a += 2 * UNIT, b += 2 * bytes) {
        add_unit(a, b, nibbles, even);
        add_unit(a + UNIT, b + bytes, nibbles, odd);
    }
    if (units) add_unit(a, b, nibbles, even);
    to->of[0][0] = even[0] + odd[0], to->of[0][1] = even[1] + odd[1];
}

// Apart from each other, so that each loop is compiled for its case.
static __attribute__((noinline)) void sum_bytes(const uint8_t *a, const uint8_t *b, size_t units,
                                                bool single, sc_gemm_sums *s) {
    if (single)
        sum_row(a, b, units, false, s);
    else
        sum_rows(a, b, units, false, s);
}
static __attribute__((noinline)) void sum_nibbles(const uint8_t *a, const uint8_t *b, size_t units,
                                                  bool single, sc_gemm_sums *s) {
    if (single)
        sum_row(a, b, units, true, s);
    else
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

// Begins the sums of `count` rows: less what zero points add, and less the excess, if any.
static inline void begin_sums(const v4u begin[2], const v4u weights[2], const uint32_t zeros[ROWS],
                              const int32_t *excess, const size_t count, sc_gemm_sums *s) {
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < 2; j++)
            s->of[i][j] = begin[j] - zeros[i] * weights[j] - (excess ? (uint32_t)excess[i] : 0);
}

static void begin_panel(const sc_gemm_i8 *g, const sc_gemm_panel *p, size_t row, size_t rows,
                        sc_gemm_sums *s) {
    const v4u begin[2] = {v4u_load(p->head), v4u_load(p->head + 16)};
    const v4u weights[2] = {v4u_load(p->head + 96), v4u_load(p->head + 112)};
    uint32_t zeros[ROWS];
    find_zeros(g, row, rows, zeros);
    begin_sums(begin, weights, zeros, g->nibbles ? excess_of(g, row) : NULL, ROWS, s);
}

// --- Tiles ---------------------------------------------------------------------------------------

// Adds the sums of blocks of weights of 4 bits, each multiplied by its scale, for one row or four.
static inline void add_blocks(const sc_gemm_i8 *g, const sc_gemm_panel *p, size_t row, size_t rows,
                              const size_t count, sc_gemm_sums *total) {
    const size_t units = g->block / UNIT;
    const uint8_t *a = g->a + row * UNIT * sc_gemm_row_units(g->k, true), *facts = p->blocks;
    const uint8_t *b = (const uint8_t *)p->weights, *end = b;
    const int32_t *excess = excess_of(g, row);
    const v4u begin[2] = {{0}, {0}};
    uint32_t zeros[ROWS];
    find_zeros(g, row, rows, zeros);
    for (; facts < end; facts += BLOCK, excess += ROWS, a += units * UNIT * count) {
        const v8h sums = (v8h)v4u_load(facts + 2 * SC_PANEL);
        const v4u weights[2] = {(v4u)v4i_widen_low(sums), (v4u)v4i_widen_high(sums)};
        sc_gemm_sums s;
        begin_sums(begin, weights, zeros, excess, count, &s);
        (count == 1 ? sum_row : sum_rows)(a, b, units, true, &s);
        sc_gemm_add_block(&s, facts, count, total);
        b += units * unit_bytes(true);
    }
}

static __attribute__((noinline)) void sum_blocks(const sc_gemm_i8 *g, const sc_gemm_panel *p,
                                                 size_t row, size_t rows, sc_gemm_sums *total) {
    memset(total, 0, sizeof *total);
    if (g->m == 1)
        add_blocks(g, p, row, rows, 1, total);
    else
        add_blocks(g, p, row, rows, ROWS, total);
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
                                           units, g->m == 1, &s);
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

void sc_gemm_run_dot(const sc_gemm_i8 *g, size_t first, size_t last) {
    const size_t bytes = (size_t)sc_panel_dot_bytes(g->k, g->nibbles, g->block);
    const v4_requantizing requantizing = v4_requantizing_of(g->finish, -128);
    if (g->nibbles) sum_left(g);
    for (size_t column = first; column < last; column += SC_PANEL) {
        const uint8_t *head = g->packed + column / SC_PANEL * bytes, *blocks = head + HEAD;
        const uint8_t *weights = blocks + sc_panel_block_bytes(g->k, g->block);
        const sc_gemm_panel p = {.requantizing = &requantizing,
                                 .head = head,
                                 .blocks = blocks,
                                 .weights = (const int8_t *)weights,
                                 .column = column,
                                 .width = last - column < SC_PANEL ? last - column : SC_PANEL};
        size_t row = 0;
        if (g->m > 1 && !g->nibbles && g->same_zero && sc_gemm_is_whole(g, &p)) {
            sc_gemm_sums begin;
            begin_panel(g, &p, 0, ROWS, &begin);
            row = g->m / ROWS * ROWS;
            run_whole(g, &p, &begin, row);
        }
        for (; row < g->m; row += ROWS) run_tile(g, &p, row, sc_gemm_rows_left(g, row));
    }
}
