// Products of 8-bit matrices, summed in 32 bits and then requantized to 8 bits or converted to
// floats. The left operand is widened to 16 bits without its zero points beforehand. So the sums
// need no correction, and zero points may differ from row to row. Sums wrap. Weights may have 4
// bits, and scales for blocks of steps, whose sums are added as floats.
// Prefix: sc_gemm_ (general matrix multiply).
#ifndef SC_GEMM_I8_H
#define SC_GEMM_I8_H

#include "compute/pack.h"

typedef struct sc_gemm_i8 {
    size_t m, n, k;
    const int16_t *a;       // in the layout of sc_gemm_rows_i8
    const uint8_t *packed;  // n columns of k steps
    bool nibbles;           // weights are of 4 bits
    size_t block;           // steps that share a scale, or 0
    void *c;                // [m, n], contiguous along n
    size_t c_row;
    // Floats: (sum * row_scale) * scale + shift, with one factor for each row. Without, results are
    // those of sc_finish_round.
    const float *row_scale;
    const sc_finish *finish;  // bounds and grids; scale and shift are packed
} sc_gemm_i8;

// Computes columns [first, last) of c; `first` is a multiple of SC_PANEL.
void sc_gemm_run_i8(const sc_gemm_i8 *g, size_t first, size_t last);

// Widens rows of the left operand four at a time, from places of their own; a single row stays in
// place.
enum { SC_GEMM_ROWS_I8 = 4 };
// The numbers in m rows of k steps, and in four more rows, where rows are widened.
uint64_t sc_gemm_a_i8(uint64_t m, uint64_t k);
// The place for row i, widened: k numbers, and a 0 if k is odd. The caller calls sc_gemm_rows_i8
// after each fourth row and after the last one.
int16_t *sc_gemm_row_i8(int16_t *a, size_t m, size_t k, size_t i);
void sc_gemm_rows_i8(int16_t *a, size_t m, size_t k, size_t i);
// Widens `count` values less `zero`, which is in [-128, 127].
void sc_gemm_widen_i8(const int8_t *from, int32_t zero, size_t count, int16_t *to);

#endif
