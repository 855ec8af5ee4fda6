// Products of 8-bit matrices, summed in 32 bits and then requantized to 8 bits or made floats. The
// left operand comes widened to 16 bits with its zero points taken off: so nothing is left to
// correct in the sums, and zero points may differ from row to row. Sums wrap. Weights may be of 4
// bits, and have scales for blocks of steps, whose sums are added up as floats.
// Prefix: sc_gemm_ (general matrix multiply).
#ifndef SC_GEMM_I8_H
#define SC_GEMM_I8_H

#include "compute/pack.h"

typedef struct sc_gemm_i8 {
    size_t m, n, k;
    const int16_t *a;       // as sc_gemm_rows_i8 lays them
    const uint8_t *packed;  // n columns of k steps
    bool nibbles;           // weights are of 4 bits
    size_t block;           // steps with a scale of their own, or 0
    void *c;                // [m, n], contiguous along n
    size_t c_row;
    // Floats: (sum * row_scale) * scale + shift, with one factor for each row. Without, results are
    // those of sc_finish_round.
    const float *row_scale;
    const sc_finish *finish;  // bounds and grids; scale and shift are packed
} sc_gemm_i8;

// Columns [first, last) of c; `first` is a multiple of SC_PANEL.
void sc_gemm_run_i8(const sc_gemm_i8 *g, size_t first, size_t last);

// Rows of the left operand are handed over four at a time, widened, in places of their own; a
// single row stays where it is.
enum { SC_GEMM_ROWS_I8 = 4 };
// Numbers that m rows of k steps take, and four more as a place to widen them.
uint64_t sc_gemm_a_i8(uint64_t m, uint64_t k);
// The place for row i, widened: k numbers, and a 0 if k is odd. sc_gemm_rows_i8 is called after the
// fourth and after the last row.
int16_t *sc_gemm_row_i8(int16_t *a, size_t m, size_t k, size_t i);
void sc_gemm_rows_i8(int16_t *a, size_t m, size_t k, size_t i);
// `count` values less `zero`, which is in [-128, 127].
void sc_gemm_widen_i8(const int8_t *from, int32_t zero, size_t count, int16_t *to);

#endif
