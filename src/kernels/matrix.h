// Batches of matrices for kernels that factorise: each is read into doubles in scratch, row by row,
// and results are written from there, whatever the strides.
// Prefix: sc_matrix_ reads and writes one matrix of a batch.
#ifndef SC_KERNELS_MATRIX_H
#define SC_KERNELS_MATRIX_H

#include "kernels/kernel.h"

// Bytes for `count` matrices of doubles; an impossible number if that overflows.
uint64_t sc_matrix_bytes(int64_t rows, int64_t columns, uint64_t count);
static inline int64_t sc_matrix_rows(const sc_tensor *t) { return t->sizes[t->rank - 2]; }
static inline int64_t sc_matrix_columns(const sc_tensor *t) { return t->sizes[t->rank - 1]; }
// The number of matrices, or vectors, in the leading dims: all but the last `inner`.
int64_t sc_batch_count(const sc_tensor *t, uint32_t inner);
// Offset of one matrix, in elements.
int64_t sc_batch_offset(const sc_tensor *t, uint32_t inner, int64_t index);
// Reads one matrix, and writes it back.
void sc_matrix_read(const sc_tensor *t, int64_t index, double *out);
void sc_matrix_write(const sc_tensor *t, int64_t index, const double *from);
void sc_vector_write(const sc_tensor *t, int64_t index, const double *from);
// Refuses all but float32 and float64 of at least two dims, and results of another type.
sc_status sc_matrix_check(const sc_kernel_call *call, const sc_tensor *self, const sc_tensor *out,
                          uint64_t scratch_bytes);

// Factorises a = P L U in place, L below the diagonal; pivots[i] is the row that was swapped to row
// i. Returns 0, or the number, from 1, of the first pivot that is zero.
int32_t sc_lu(double *a, int64_t rows, int64_t columns, int32_t *pivots);
// Solves L x = b (or U x = b) for `columns` right sides in b, in place.
void sc_solve_triangle(const double *a, int64_t n, double *b, int64_t columns, bool is_upper,
                       bool has_unit_diagonal);

#endif
