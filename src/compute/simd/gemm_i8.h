// Products of 8-bit matrices, summed in 32 bits and then requantized to 8 bits or made floats. The
// left operand comes widened to 16 bits with its zero points taken off: so nothing is left to
// correct in the sums, and zero points may differ from row to row. Sums wrap.
#ifndef SC_GEMM_I8_H
#define SC_GEMM_I8_H

#include "compute/pack.h"

typedef struct sc_gemm_i8 {
    size_t m, n, k;
    const int16_t *a;       // [m][k rounded up to even], what is more being 0
    const uint8_t *packed;  // n columns of k steps
    void *c;                // [m, n], contiguous along n
    size_t c_row;
    // Floats: (sum * row_scale) * scale + shift, with one factor for each row. Without, results are
    // those of sc_finish_round.
    const float *row_scale;
    float low, high;  // of floats; of the others, of what `zero` is added to
    int32_t zero;
} sc_gemm_i8;

// Sets the range and the zero point of results.
void sc_gemm_finish_i8(sc_gemm_i8 *g, const sc_finish *finish, bool floats);

// Columns [first, last) of c; `first` is a multiple of SC_PANEL.
void sc_gemm_run_i8(const sc_gemm_i8 *g, size_t first, size_t last);

// `count` values less `zero`, which is in [-128, 127].
void sc_gemm_widen_i8(const int8_t *from, int32_t zero, size_t count, int16_t *to);

#endif
