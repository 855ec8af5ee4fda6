// The panels of both products of 8-bit matrices (gemm_i8.h, gemm_dot_i8.h), and the output stage of
// their sums.
// Prefix: sc_gemm_ (general matrix multiply).
#ifndef SC_GEMM_I8_TILE_H
#define SC_GEMM_I8_TILE_H

#include "compute/simd/gemm_i8.h"
#include "compute/simd/simd_i8.h"

// The sums of four rows and a panel.
typedef struct sc_gemm_sums {
    v4u of[SC_GEMM_ROWS_I8][2];
} sc_gemm_sums;

typedef struct sc_gemm_panel {
    const v4_requantizing *requantizing;
    const uint8_t *head;    // starts of sums; scales and shifts follow
    const uint8_t *blocks;  // the facts of blocks
    const int8_t *weights;
    size_t column, width;
} sc_gemm_panel;

static inline size_t sc_gemm_rows_left(const sc_gemm_i8 *g, size_t row) {
    return g->m - row < SC_GEMM_ROWS_I8 ? g->m - row : SC_GEMM_ROWS_I8;
}

static inline v4f sc_gemm_head_floats(const sc_gemm_panel *p, size_t row, size_t vector) {
    return (v4f)v4u_load(p->head + 32 * row + 16 * vector);
}

// True if sc_gemm_store_whole stores the tiles of this panel: bytes, one rounding, whole rows.
static inline bool sc_gemm_is_whole(const sc_gemm_i8 *g, const sc_gemm_panel *p) {
    return !g->row_scale && !p->requantizing->regrids && p->width == SC_PANEL;
}

// Stores four rows of sums in a loop that keeps them in registers. Calls would spill them all.
static inline void sc_gemm_store_whole(const sc_gemm_i8 *g, const sc_gemm_panel *p, size_t row,
                                       const sc_gemm_sums *s) {
    const v4_rounding r = p->requantizing->last;
    const v4f scale = sc_gemm_head_floats(p, 1, 0), next = sc_gemm_head_floats(p, 1, 1);
    int8_t *c = (int8_t *)g->c + row * g->c_row + p->column;
    for (size_t i = 0; i < SC_GEMM_ROWS_I8; i += 2, c += 2 * g->c_row) {
        const v4i first[2] = {v4i_round_open(&r, v4f_of_sums(s->of[i][0]) * scale),
                              v4i_round_open(&r, v4f_of_sums(s->of[i][1]) * next)};
        const v4i second[2] = {v4i_round_open(&r, v4f_of_sums(s->of[i + 1][0]) * scale),
                               v4i_round_open(&r, v4f_of_sums(s->of[i + 1][1]) * next)};
        v4i_store_bounded(c, c + g->c_row, first, second, r.most);
    }
}

// Stores sums that are floats already.
void sc_gemm_store_floats(const sc_gemm_i8 *g, const sc_gemm_panel *p, size_t row, size_t rows,
                          sc_gemm_sums *s);
// Stores sums of a product without blocks, as bytes or floats.
void sc_gemm_store(const sc_gemm_i8 *g, const sc_gemm_panel *p, size_t row, size_t rows,
                   sc_gemm_sums *s);

// Adds the sums of a block as floats, times its eight bf16 scales.
static inline void sc_gemm_add_block(const sc_gemm_sums *s, const uint8_t *scales, size_t rows,
                                     sc_gemm_sums *total) {
    const v8h zero = {0}, bits = (v8h)v4u_load(scales);
    const v4f scale[2] = {(v4f)v8h_zip_low(zero, bits), (v4f)v8h_zip_high(zero, bits)};
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < 2; j++)
            total->of[i][j] = (v4u)((v4f)total->of[i][j] + v4f_of_sums(s->of[i][j]) * scale[j]);
}

#endif
