// A batch of matrix products as plain numbers: c = beta * self + alpha * a b, any element strides.
#ifndef SC_MATMUL_H
#define SC_MATMUL_H

#include "core/dtype.h"
#include "kernels/epilogue.h"

typedef struct sc_matrix {
    const void *data;
    int64_t batch, row, column;  // element steps
} sc_matrix;

typedef struct sc_matmul {
    int64_t batch, m, n, k;
    sc_matrix a, b, self;  // self.data NULL: not added
    void *c;
    int64_t c_batch, c_row, c_column;
    double alpha, beta;
    int64_t alpha_int, beta_int;  // the same for integer types
    const sc_epilogue *epilogue;  // f32 only; of it, only the clamp
} sc_matmul;

typedef void (*sc_matmul_fn)(const sc_matmul *mm);

// Bytes of scratch for f32; with less it is slower.
uint64_t sc_matmul_scratch(const sc_matmul *mm);
void sc_matmul_f32(const sc_matmul *mm, void *scratch, uint64_t scratch_bytes);
// The definition, for the other types; NULL when there is none.
sc_matmul_fn sc_matmul_slow(sc_dtype dtype);

#endif
