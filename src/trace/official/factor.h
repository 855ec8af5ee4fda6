// Words of the factorisations: batches of matrices in float64, of rank 3, one column after the
// other. Prefix sc_official_: for the official runtime.
#ifndef SC_OFFICIAL_FACTOR_H
#define SC_OFFICIAL_FACTOR_H

#include "trace/official/official.h"

// Above this an unrolled factorisation is too long: it is a loop.
enum { SC_OFFICIAL_MATRIX_MAX = 32 };

typedef struct sc_official_matrices {
    sc_dim batch, height, width;
    sc_x x;  // [batch, height, width]
} sc_official_matrices;

sc_official_matrices sc_official_read_matrices(sc_trace *t, sc_x x);
// As result number `index` of the node.
sc_x sc_official_write_matrices(sc_trace *t, sc_x x, uint32_t index);
// The numbers of rows, [1, rows, 1], and of columns, [1, 1, columns].
sc_x sc_official_rows(sc_trace *t, const sc_official_matrices *m);
sc_x sc_official_columns(sc_trace *t, const sc_official_matrices *m);
// 1 on the diagonal, of square ones: [batch, rows, rows]
sc_x sc_official_identity(sc_trace *t, const sc_official_matrices *m);
// The size of the largest element along dims, which stay; and x / size, x itself where that is 0:
// squares of what is left are numbers, and not all 0.
sc_x sc_official_magnitude(sc_trace *t, sc_x x, sc_x dims);
sc_x sc_official_scaled(sc_trace *t, sc_x x, sc_x size);

// --- Steps, each on what the one before has left (turns.c) ---------------------------------------

enum { SC_OFFICIAL_STATE_MAX = 3 };

typedef struct sc_official_turns sc_official_turns;
// k: a number that is known, or one that the running program counts, [1].
typedef void (*sc_official_step_fn)(sc_trace *t, sc_official_turns *s, sc_x k);
struct sc_official_turns {
    sc_x state[SC_OFFICIAL_STATE_MAX],
        fixed[SC_OFFICIAL_STATE_MAX];  // what steps change, and read only
    uint32_t count, fixed_count;
    sc_dim turns;  // one for each k of 0, 1, ... below this
    bool falls;    // the last of these first
    bool is_unit;  // for the step
    sc_official_step_fn step;
};
void sc_official_take_turns(sc_trace *t, sc_official_turns *s);

// Row or column k of [batch, rows, columns].
sc_x sc_official_row_at(sc_trace *t, sc_x x, sc_x k);
sc_x sc_official_column_at(sc_trace *t, sc_x x, sc_x k);
// Which numbers are k, above it, below it; and k itself where a condition holds, else x.
sc_x sc_official_is_at(sc_trace *t, sc_x numbers, sc_x k);
sc_x sc_official_is_behind(sc_trace *t, sc_x numbers, sc_x k);
sc_x sc_official_is_before(sc_trace *t, sc_x numbers, sc_x k);
sc_x sc_official_where_at(sc_trace *t, sc_x condition, sc_x k, sc_x x);

// --- Rotations of matrices of any size (jacobi.c) ------------------------------------------------

// The tangent of the smaller angle that makes the symmetric [[p, q], [q, r]] diagonal, without its
// sign: theta is (r - p) / 2q.
sc_x sc_official_tangent(sc_trace *t, sc_x theta);
// Results of _linalg_eigh, of square matrices, and of _linalg_svd, for any sizes but 0.
sc_x sc_official_jacobi_eigh(sc_trace *t, const sc_official_matrices *m, bool is_upper);
sc_x sc_official_jacobi_svd(sc_trace *t, const sc_official_matrices *m, bool is_full);

#endif
