// Products of runs of rows, each with the matrix of its own group. Only a run of the program knows
// which rows a group has, so the products have another form. It is one that needs no more memory
// than the matrices. Few rows gather a matrix each. Otherwise all rows are multiplied with all
// matrices, at once or one after the other, and each row takes its own product.
#include "trace/official/official.h"

enum { SMALL = 1 << 16 };

typedef struct groups {
    sc_x rows, matrices;
    sc_x run, is_in;      // of each row: its group, and whether it has one; [rows], [rows, 1]
    int64_t count, k, n;  // of groups; [count, k, n]
    sc_dim size;          // rows
} groups;

static sc_x gathered(sc_trace *t, const groups *g) {
    sc_x own = CALL(t, index_select, g->matrices, sc_x_int(t, 0), g->run);
    return sc_f_squeeze(t, CALL(t, bmm, sc_f_unsqueeze(t, g->rows, 1), own), 1);
}

static sc_x at_once(sc_trace *t, const groups *g) {
    const sc_dim sizes[3] = {sc_dim_int(g->count), g->size, sc_dim_int(g->k)};
    sc_x rows = sc_f_expand(t, sc_f_unsqueeze(t, g->rows, 0), sizes, 3);
    sc_x all = CALL(t, bmm, rows, g->matrices);
    return CALL(t, index_Tensor, all, X_LIST(t, g->run, sc_f_places(t, g->size, 0, 1)));
}

static sc_x one_by_one(sc_trace *t, const groups *g) {
    sc_x run = sc_f_unsqueeze(t, g->run, 1), made = NULL;
    for (int64_t i = 0; i < g->count && t->status == SC_OK; i++) {
        sc_x next = CALL(t, mm, g->rows, sc_f_select(t, g->matrices, 0, i));
        sc_x own = CALL(t, eq_Scalar, run, sc_x_int(t, i));
        made = made ? sc_f_where(t, own, next, made) : next;
    }
    return made ? made : &t->poisoned;
}

// The most rows for which all products are no larger than the matrices.
static int64_t room_of(const groups *g) {
    const double size = (double)g->count * (double)g->k * (double)g->n;
    const double room = size > SMALL ? size : SMALL;
    return (int64_t)(room / ((double)g->count * (double)(g->k + g->n)));
}

static sc_x multiplied(sc_trace *t, const groups *g) {
    const int64_t most = sc_dim_range(g->size).max;
    if (most <= g->count) return gathered(t, g);
    if (most <= room_of(g)) return at_once(t, g);
    return g->count <= SC_UP_TO_GROUPS ? one_by_one(t, g) : sc_official_beyond(t, SC_LIMIT_GROUPS);
}

static int64_t known(sc_trace *t, sc_x matrices, int64_t dim) {
    return sc_official_known(t, sc_x_size(matrices, dim), SC_LIMIT_KNOWN_MATRICES);
}

// (input, weight, offs)
sc_x sc_official_grouped_mm(sc_trace *t, const sc_x *a) {
    groups g = {.rows = a[0],
                .matrices = a[1],
                .count = known(t, a[1], 0),
                .k = known(t, a[1], 1),
                .n = known(t, a[1], 2),
                .size = sc_x_size(a[0], 0)};
    if (t->status != SC_OK) return sc_official_refuse(t);
    if (g.count == 0 || g.k == 0) {
        const sc_dim sizes[2] = {g.size, sc_dim_int(g.n)};
        return sc_f_zeros(t, sc_x_dims(t, sizes, 2), sc_x_dtype_of(g.rows));
    }
    sc_x run = sc_f_runs(t, a[2], g.size);
    g.run = CALL(t, clamp, run, X_NONE, sc_x_int(t, g.count - 1));
    g.is_in = sc_f_unsqueeze(t, CALL(t, lt_Scalar, run, sc_x_int(t, g.count)), 1);
    return sc_f_where_else(t, g.is_in, multiplied(t, &g), sc_x_int(t, 0));
}
