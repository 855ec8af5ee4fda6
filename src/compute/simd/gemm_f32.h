// Single-precision matrix products on register tiles. There are two forms, neither of which needs
// its right operand repacked. `nn` reads B as rows of columns (activations of a channels-first
// convolution, a [K, N] matrix), and `nt` reads both operands along k (a weight stored as [N, K]).
// Sums run over k in order (nn) or in four interleaved partial sums (nt).
// Prefix: sc_gemm_ (general matrix multiply).
#ifndef SC_GEMM_F32_H
#define SC_GEMM_F32_H

#include "base/base.h"

enum { SC_GEMM_PANEL = 16 };  // columns of B worked on at a time by the nn form

typedef struct sc_gemm_f32 {
    size_t m, n, k;
    const float *a;  // [m, k], contiguous along k
    size_t a_row;
    const float *b;  // nn: [k, n], contiguous along n; nt: [n, k], contiguous along k
    size_t b_row;
    float *c;  // [m, n], contiguous along n; must not overlap a or b
    size_t c_row;
    // Applied to sum * scale + shift, then clamped; each may be absent.
    const float *row_scale, *row_shift;  // [m]
    const float *col_scale, *col_shift;  // [n]
    bool clamps;
    float low, high;
} sc_gemm_f32;

// Bytes of scratch that sc_gemm_nn_f32 needs for these sizes.
uint64_t sc_gemm_nn_scratch(uint64_t m, uint64_t n, uint64_t k);

// Products are computed in tiles. Any range of tiles gives the same bits as all of them together.
typedef struct sc_gemm_block {
    size_t row, row_end, column, column_end;
} sc_gemm_block;

size_t sc_gemm_nn_tiles(const sc_gemm_f32 *g);
size_t sc_gemm_nt_tiles(const sc_gemm_f32 *g);
// Computes the results of the tiles [from, to).
sc_gemm_block sc_gemm_nn_block(const sc_gemm_f32 *g, size_t from, size_t to);
sc_gemm_block sc_gemm_nt_block(const sc_gemm_f32 *g, size_t from, size_t to);
void sc_gemm_nn_f32(const sc_gemm_f32 *g, size_t from, size_t to, float *scratch);
void sc_gemm_nt_f32(const sc_gemm_f32 *g, size_t from, size_t to);

// Computes one panel of nn: columns [0, width) of c, width <= SC_GEMM_PANEL. `panel` has k rows of
// `panel_row` floats, of which at least width rounded up to 4 can be read.
void sc_gemm_panel_f32(const sc_gemm_f32 *g, const float *panel, size_t panel_row, size_t column,
                       size_t width);

#endif
