// The left operand of products of 8-bit matrices, as their tiles read it: in units of four bytes,
// those of four rows adjacent. A unit has two steps, widened to 16 bits without the zero point. Or
// it has four steps in 8 bits, for the dot product of dot_i8.h. Steps that do not exist are 0.
// Prefix: sc_gemm_row_ writes a row; sc_gemm_ (general matrix multiply).
#ifndef SC_GEMM_ROWS_I8_H
#define SC_GEMM_ROWS_I8_H

#include "base/base.h"

enum { SC_GEMM_ROWS_I8 = 4 };

typedef struct sc_gemm_rows_i8 {
    uint8_t *a;  // sc_gemm_rows_bytes(m, k, dots)
    size_t m, k;
    bool dots;     // 8 bits a step
    uint8_t flip;  // of those: bits that are inverted
} sc_gemm_rows_i8;

// The units of a row.
static inline size_t sc_gemm_row_units(size_t k, bool dots) {
    return dots ? (k + 3) / 4 : (k + 1) / 2;
}
// The bytes of m rows, and of four more, where rows are written before they are interleaved. A
// single row stays in place.
uint64_t sc_gemm_rows_bytes(uint64_t m, uint64_t k, bool dots);
// The place of row i. A row is written by sc_gemm_row_put and sc_gemm_row_pad, each of which
// returns the place after it. The rows must come in order, and sc_gemm_row_end ends each.
uint8_t *sc_gemm_row_begin(const sc_gemm_rows_i8 *r, size_t i);
// `count` values. Their zero point, in [-128, 127], is taken off if they are widened.
uint8_t *sc_gemm_row_put(const sc_gemm_rows_i8 *r, const int8_t *from, int32_t zero, size_t count,
                         uint8_t *to);
// `count` values that are the zero point.
uint8_t *sc_gemm_row_pad(const sc_gemm_rows_i8 *r, int32_t zero, size_t count, uint8_t *to);
void sc_gemm_row_end(const sc_gemm_rows_i8 *r, size_t i);

// Widens `count` values less `zero`, which is in [-128, 127].
void sc_gemm_widen(const int8_t *from, int32_t zero, size_t count, int16_t *to);

#endif
