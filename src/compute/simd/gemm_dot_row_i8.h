// The product of gemm_dot_i8.h for a left operand of one row, as language models have it for each
// new token. The time goes into reading weights, so panels need short loops of their own.
// Prefix: sc_gemm_ (general matrix multiply).
#ifndef SC_GEMM_DOT_ROW_I8_H
#define SC_GEMM_DOT_ROW_I8_H

#include "compute/simd/gemm_i8_tile.h"

// The sums of a panel with the only row, to be stored by sc_gemm_store, or with blocks by
// sc_gemm_store_floats.
void sc_gemm_sum_row(const sc_gemm_i8 *g, const sc_gemm_panel *p, sc_gemm_sums *s);

#endif
