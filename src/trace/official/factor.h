// What the factorisations share: batches of matrices in float64, of rank 3, a column after the
// other.
#ifndef SC_OFFICIAL_FACTOR_H
#define SC_OFFICIAL_FACTOR_H

#include "trace/official/special.h"

// Above this an unrolled factorisation is too long.
enum { SC_O_MATRIX_MAX = 32 };

typedef struct sc_o_matrices {
    sc_dim batch;
    int64_t rows, columns;
    sc_x x;  // [batch, rows, columns]
} sc_o_matrices;

// Refused where sizes are not known, or where the smaller one is too large.
sc_o_matrices sc_o_read_matrices(sc_trace *t, sc_x x);
// As result number `index` of the node.
sc_x sc_o_write_matrices(sc_trace *t, sc_x x, uint32_t index);
// Is the row k (or behind it, or before it)? Of one column: [1, rows, 1].
sc_x sc_o_rows(sc_trace *t, const sc_o_matrices *m);
sc_x sc_o_column(sc_trace *t, const sc_o_matrices *m, int64_t k);    // [batch, rows, 1]
sc_x sc_o_row(sc_trace *t, const sc_o_matrices *m, int64_t k);       // [batch, 1, columns]
sc_x sc_o_diagonal(sc_trace *t, const sc_o_matrices *m, int64_t k);  // [batch, 1, 1]
// x where the condition holds, else 0.
sc_x sc_o_where_or_zero(sc_trace *t, sc_x condition, sc_x x);

#endif
