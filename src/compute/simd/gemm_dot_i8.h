// Products of 8-bit matrices by the dot product of dot_i8.h, with the results of gemm_i8.h. The
// left operand keeps its zero points, and is flipped where the host needs that. Both are taken off
// by the sums of the weights. Weights of 4 bits are the operand of 7 bits, so the left operand is
// never flipped.
// Prefix: sc_gemm_ (general matrix multiply).
#ifndef SC_GEMM_DOT_I8_H
#define SC_GEMM_DOT_I8_H

#include "compute/simd/gemm_i8.h"

// The bytes of `row_sums` for products with weights of 4 bits.
uint64_t sc_gemm_sums_bytes(uint64_t m, uint64_t k, uint64_t block);
// Computes columns [first, last) of c; `first` is a multiple of SC_PANEL.
void sc_gemm_run_dot(const sc_gemm_i8 *g, size_t first, size_t last);

#endif
