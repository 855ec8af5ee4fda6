// Products of 8-bit matrices, summed in 32 bits and then requantized to 8 bits or converted to
// floats. The left operand is widened to 16 bits without its zero points beforehand. So the sums
// need no correction, and zero points may differ from row to row. Sums wrap. Weights may have 4
// bits, and scales for blocks of steps, whose sums are added as floats.
// Prefix: sc_gemm_ (general matrix multiply).
#ifndef SC_GEMM_I8_H
#define SC_GEMM_I8_H

#include "compute/pack.h"
#include "compute/simd/gemm_rows_i8.h"

typedef struct sc_gemm_i8 {
    size_t m, n, k;
    const uint8_t *a;       // in the layout of gemm_rows_i8.h
    const uint8_t *packed;  // n columns of k steps
    bool nibbles;           // weights are of 4 bits
    size_t block;           // steps that share a scale, or 0
    void *c;                // [m, n], contiguous along n
    size_t c_row;
    // Floats: (sum * row_scale) * scale + shift, with one factor for each row. Without, results are
    // those of sc_finish_round.
    const float *row_scale;
    const sc_finish *finish;  // bounds and grids; scale and shift are packed
    // Dot products only (gemm_dot_i8.h): for each row the number that its bytes exceed their values
    // by.
    const int32_t *zeros;
    bool same_zero;     // it is the same in all rows
    int32_t *row_sums;  // weights of 4 bits: memory for sc_gemm_sums_dot(m, k, block)
} sc_gemm_i8;

// Computes columns [first, last) of c; `first` is a multiple of SC_PANEL.
void sc_gemm_run_i8(const sc_gemm_i8 *g, size_t first, size_t last);

#endif
