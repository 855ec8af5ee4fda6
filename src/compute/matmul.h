// A batch of matrix products as plain numbers: c = finish(alpha * a b + beta * addend), any element
// strides. A channel of the finish is a column, a row of the input's quantization is a row of `a`
// (batch after batch). Constant weights are `b`; a bias is an addend whose rows are all the same.
// Prefix: sc_matmul_ reads the record of a matrix product.
#ifndef SC_MATMUL_H
#define SC_MATMUL_H

#include "compute/compute.h"

typedef struct sc_matrix {
    const void *data;
    int64_t batch, row, column;  // element steps
} sc_matrix;

typedef struct sc_matmul {
    sc_record record;  // in: a; weight: b; bias: addend; out: c
    int64_t batch, m, n, k;
    sc_matrix a, b, addend;  // addend.data NULL: absent
    void *c;
    int64_t c_batch, c_row, c_column;
    double alpha, beta;
    int64_t alpha_int, beta_int;  // the same for integers that wrap; for quantized ones, both are 1
} sc_matmul;

static inline const sc_matmul *sc_matmul_of(const sc_record *record) {
    return (const sc_matmul *)(const void *)record;
}

// Are scales of blocks next to floats, if there are any, as their definition says?
bool sc_matmul_blocks_fit(const sc_record *record);
// Is only a bias per column added, and are the factors 1? Tiles apply that as their finish.
bool sc_matmul_is_plain(const sc_matmul *mm);

#endif
