// Matrices, the last two dims of a tensor. Prefix sc_f_: makes calls.
#ifndef SC_WORDS_MATRICES_H
#define SC_WORDS_MATRICES_H

#include "trace/words/calls.h"

static inline sc_x sc_f_transposed(sc_trace *t, sc_x x) { return sc_f_transpose(t, x, -2, -1); }
static inline sc_x sc_f_matrix_product(sc_trace *t, sc_x a, sc_x b) {
    return CALL(t, matmul, a, b);
}

// Fails the trace where a tensor has fewer dims.
static inline bool sc_f_has_rank(sc_trace *t, sc_x x, uint32_t least) {
    if (sc_x_rank(x) >= least) return true;
    sc_trace_fail(t, SC_ERR_SHAPE, NULL, "needs a matrix, not a rank-%u tensor", sc_x_rank(x));
    return false;
}

// Ones where row and column are the same.
static inline sc_x sc_f_identity(sc_trace *t, sc_x rows, sc_x columns, sc_dtype dtype) {
    return CALL(t, eye_m, rows, columns, sc_x_dtype(t, dtype));
}

#endif
