// Bags of embeddings. The number of a row's bag is the count of bags that begin at the row or
// before it, less one. Rows are added up by the number of their bag. The largest row of a bag is
// the result of a scan at the last row of the bag.
#include "trace/official/official.h"

#include <math.h>

#include "ops/bag.h"

typedef struct bags {
    sc_x rows, bag;      // [n, columns], [n]
    sc_x counts, added;  // [n]: does the row count, and is it added up?
    sc_dim count, n;
    sc_dtype dtype;  // that is computed in
} bags;

static sc_x starts(sc_trace *t, sc_x offsets, sc_dim count) {
    return sc_f_to(t, sc_f_slice_first(t, offsets, 0, count), SC_DTYPE_I64);
}

// A bag that begins after the last row is empty.
static sc_x bag_of_rows(sc_trace *t, sc_x offsets, sc_dim count, sc_dim n) {
    sc_dim room = sc_trace_add(t, n, sc_dim_int(1));
    sc_x zeros = sc_f_zeros(t, X_LIST(t, sc_x_dim(t, room)), SC_DTYPE_I64);
    sc_x ones = sc_f_full(t, X_LIST(t, sc_x_dim(t, count)), sc_x_int(t, 1), SC_DTYPE_I64);
    sc_x begun = CALL(t, scatter_add, zeros, sc_x_int(t, 0), starts(t, offsets, count), ones);
    sc_x bag = sc_f_sub(t, CALL(t, cumsum, begun, sc_x_int(t, 0)), sc_x_int(t, 1));
    return sc_f_slice_first(t, bag, 0, n);
}

static sc_x add_up(sc_trace *t, const bags *b, sc_x rows) {
    sc_dim sizes[2] = {b->count, sc_x_size(rows, 1)};
    sc_x zeros = sc_f_zeros(t, sc_x_dims(t, sizes, sc_x_rank(rows)), b->dtype);
    return CALL(t, index_put, zeros, X_LIST(t, b->bag), rows, X_TRUE);
}

static sc_x added(sc_trace *t, const bags *b) {
    return add_up(t, b,
                  sc_f_where_else(t, sc_f_unsqueeze(t, b->added, 1), b->rows, sc_x_int(t, 0)));
}

static sc_x how_many(sc_trace *t, const bags *b) {
    return sc_f_unsqueeze(t, add_up(t, b, sc_f_to(t, b->counts, b->dtype)), 1);
}

static sc_x averaged(sc_trace *t, const bags *b) {
    sc_x many = CALL(t, maximum, how_many(t, b), sc_x_float(t, 1));
    return sc_f_div(t, added(t, b), many);
}

// --- The largest ---------------------------------------------------------------------------------

enum { VALUE, BAG, COUNT, SCANNED };  // COUNT: of rows that count

// The larger of two rows of the same bag: earlier rows count, too.
static sc_x larger(sc_trace *t, const sc_x *before, const sc_x *after) {
    sc_x same = CALL(t, eq_Tensor, before[BAG], after[BAG]);
    sc_x take = sc_f_and(t, same, CALL(t, ge_Tensor, before[VALUE], after[VALUE]));
    sc_x value = sc_f_where(t, take, before[VALUE], after[VALUE]);
    sc_x more = sc_f_where_else(t, same, before[COUNT], sc_x_int(t, 0));
    return X_LIST(t, value, after[BAG], sc_f_add(t, after[COUNT], more));
}

// The elements of the last row of each bag.
static sc_x of_last_rows(sc_trace *t, const bags *b, sc_x rows) {
    sc_x end = sc_x_dim(t, b->count);
    sc_x to = sc_f_where_else(t, sc_official_ends_run(t, b->bag, 0), b->bag, end);
    sc_dim sizes[2] = {sc_trace_add(t, b->count, sc_dim_int(1)), sc_x_size(rows, 1)};
    sc_x room = sc_f_zeros(t, sc_x_dims(t, sizes, 2), sc_x_dtype_of(rows));
    sc_x all = CALL(t, index_put, room, X_LIST(t, to), rows, X_FALSE);
    return sc_f_slice_first(t, all, 0, b->count);
}

// Comparisons with NaN are false. So a NaN in the first row stays the result of the bag, and a NaN
// in a later row is ignored.
static sc_x largest(sc_trace *t, const bags *b) {
    sc_x counts = sc_f_unsqueeze(t, b->counts, 1), is_nan = CALL(t, isnan, b->rows);
    sc_x some = sc_f_and(t, counts, sc_f_not(t, is_nan));
    sc_x scanned[SCANNED];
    scanned[VALUE] = sc_f_where_else(t, some, b->rows, sc_f_lowest(t, b->dtype));
    scanned[BAG] = sc_f_unsqueeze(t, b->bag, 1);
    scanned[COUNT] = sc_f_to(t, counts, SC_DTYPE_I64);
    sc_official_scan(t, scanned, SCANNED, 0, larger);
    sc_x is_first = sc_f_and(t, counts, CALL(t, eq_Scalar, scanned[COUNT], sc_x_int(t, 1)));
    sc_x begins = sc_f_to(t, sc_f_and(t, is_first, is_nan), b->dtype);
    sc_x is_number = CALL(t, eq_Scalar, add_up(t, b, begins), sc_x_int(t, 0));
    sc_x most = of_last_rows(t, b, scanned[VALUE]);
    most = sc_f_where_else(t, is_number, most, sc_x_float(t, NAN));
    sc_x is_full = CALL(t, gt_Scalar, how_many(t, b), sc_x_int(t, 0));
    return sc_f_where_else(t, is_full, most, sc_x_int(t, 0));
}

// The rows that count. Rows after the end that the offsets give do not.
static sc_x within(sc_trace *t, const bags *b, sc_x offsets) {
    const sc_dim next = sc_trace_add(t, b->count, sc_dim_int(1));
    sc_x end = sc_f_to(t, sc_f_slice_range(t, offsets, 0, b->count, next), SC_DTYPE_I64);
    sc_x is_within = CALL(t, lt_Tensor, sc_f_places(t, b->n, 0, 1), end);
    return sc_f_and(t, b->counts, is_within);
}

// (weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights,
//  include_last_offset, padding_idx); only the bags themselves
sc_x sc_official_embedding_bag(sc_trace *t, const sc_x *a) {
    const sc_spec *out = &t->source->outs[0]->spec;
    const int64_t mode = sc_x_number(a[4], -1), padding = sc_x_number(a[8], -1);
    if (out->rank != 2 || sc_x_rank(a[1]) != 1 || sc_x_rank(a[2]) != 1 || sc_x_rank(a[0]) != 2)
        return sc_official_refuse(t);
    if (sc_official_wants(t, 1) || sc_official_wants(t, 2) || sc_official_wants(t, 3))
        return sc_official_beyond(t, SC_LIMIT_BAGS);
    bags b = {.count = out->sizes[0],
              .n = sc_x_size(a[1], 0),
              .dtype = sc_f_opmath((sc_dtype)out->dtype)};
    if (sc_dim_is(b.n, 0)) return sc_f_zeros(t, sc_x_dims(t, out->sizes, 2), (sc_dtype)out->dtype);
    sc_x indices = sc_f_to(t, a[1], SC_DTYPE_I64);
    b.rows = sc_f_to(t, CALL(t, index_select, a[0], sc_x_int(t, 0), indices), b.dtype);
    if (!sc_x_is_none(a[6]))
        b.rows = sc_f_mul(t, b.rows, sc_f_unsqueeze(t, sc_f_to(t, a[6], b.dtype), 1));
    b.bag = bag_of_rows(t, a[2], b.count, b.n);
    b.counts = CALL(t, ne_Scalar, indices, sc_x_int(t, padding));
    const bool stops = sc_x_truth(a[7]) && sc_bag_stops_at_end(mode, b.dtype, padding);
    b.added = stops ? within(t, &b, a[2]) : b.counts;
    sc_x made = mode == SC_BAG_SUM    ? added(t, &b)
                : mode == SC_BAG_MEAN ? averaged(t, &b)
                                      : largest(t, &b);
    return sc_f_to(t, made, (sc_dtype)out->dtype);
}
