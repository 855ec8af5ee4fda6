// Expansions of what finds equal neighbours, single numbers or slices, and counts them.
#include "trace/expand.h"
#include "trace/words/calls.h"
#include "trace/words/choose.h"

// Slices are put in order column by column, from the last; so many of them at most.
#define COLUMNS_MAX 64

// Rows, each a slice of x along the dim.
static sc_x rows_of(sc_trace *t, sc_x x, int64_t dim) {
    sc_dim sizes[2];
    x = CALL(t, movedim_int, x, sc_x_int(t, dim), sc_x_int(t, 0));
    sizes[0] = sc_x_size(x, 0);
    sizes[1] = sc_dim_int(1);
    for (uint32_t i = 1; i < sc_x_rank(x); i++)
        sizes[1] = sc_trace_mul(t, sizes[1], sc_x_size(x, i));
    return sc_f_reshape(t, x, sizes, 2);
}

static sc_x numbered(sc_trace *t, sc_x rows) {
    return sc_f_range(t, sc_x_dim(t, sc_x_size(rows, 0)), SC_DTYPE_I64);
}

// Elements of a vector, or slices along the dim. Only slices are selected: a vector may be empty,
// and not every runtime selects from an empty one.
static sc_x taken(sc_trace *t, sc_x x, int64_t dim, sc_x places) {
    return sc_x_rank(x) == 1 ? CALL(t, gather, x, sc_x_int(t, 0), places)
                             : CALL(t, index_select, x, sc_x_int(t, dim), places);
}

// Does a row begin something new? The first one does, if there is one.
static sc_x beginnings(sc_trace *t, sc_x rows) {
    sc_x zero = sc_x_int(t, 0), number = numbered(t, rows);
    sc_x before = CALL(t, clamp, CALL(t, sub_Scalar, number, sc_x_int(t, 1)), zero);
    sc_x differ = CALL(t, ne_Tensor, rows, taken(t, rows, 0, before));
    if (sc_x_rank(rows) == 2) differ = CALL(t, any_dim, differ, sc_x_int(t, 1), X_FALSE);
    return sc_f_or(t, differ, CALL(t, eq_Scalar, number, zero));
}

static sc_x groups(sc_trace *t, sc_x begins) {
    sc_x number = CALL(t, cumsum, sc_f_to(t, begins, SC_DTYPE_I64), sc_x_int(t, 0));
    return CALL(t, sub_Scalar, number, sc_x_int(t, 1));
}

// Places where runs begin, as a vector as long as the result.
static sc_x places(sc_trace *t, sc_x begins) {
    return CALL(t, masked_select, numbered(t, begins), begins);
}

// How many rows there are of each number.
static sc_x lengths(sc_trace *t, sc_x starts, sc_x number) {
    sc_x zero = sc_x_int(t, 0), one = CALL(t, full_like, number, sc_x_int(t, 1));
    return CALL(t, scatter_add, CALL(t, full_like, starts, zero), zero, number, one);
}

static sc_x empty(sc_trace *t) { return sc_f_zeros(t, X_INTS(t, 0), SC_DTYPE_I64); }

static bool has_dim(sc_trace *t, sc_x x, sc_x dim, uint32_t *out) {
    *out = sc_x_is_none(dim) ? 0 : sc_x_wrap(t, dim, sc_x_rank(x));
    if (sc_x_rank(x) > 0) return true;
    sc_trace_fail(t, SC_ERR_UNSUPPORTED, NULL, "needs a dimension");
    return false;
}

// (self, return_inverse, return_counts, dim): of slices everything is given, asked for or not
sc_x sc_expand_unique_consecutive(sc_trace *t, const sc_x *a) {
    bool flat = sc_x_is_none(a[3]);
    const sc_spec *self = sc_x_spec(a[0]);
    const sc_dim all = sc_trace_product(t, self->sizes, self->rank);
    sc_x x = flat ? sc_f_reshape(t, a[0], &all, 1) : a[0];
    uint32_t dim;
    if (!has_dim(t, x, a[3], &dim)) return X_LIST(t, x, x, x);
    sc_x begins = beginnings(t, flat ? x : rows_of(t, x, dim)), starts = places(t, begins);
    sc_trace_take_size(t, starts, dim);
    sc_x out = taken(t, x, dim, starts);
    const bool inverts = !flat || sc_x_truth(a[1]), counts = !flat || sc_x_truth(a[2]);
    sc_x number = inverts || counts ? groups(t, begins) : empty(t), inverse = number;
    if (flat && inverts) inverse = CALL(t, view, number, sc_x_sizes(t, a[0], 0, SC_RANK_MAX));
    if (!inverts) inverse = empty(t);
    return X_LIST(t, out, inverse, counts ? lengths(t, starts, number) : empty(t));
}

// An order in which no row comes before a smaller one; equal ones stay as they are.
static sc_x order_of(sc_trace *t, sc_x rows) {
    const int64_t columns = sc_x_static_size(t, rows, 1);
    sc_x order = NULL;
    if (columns < 1 || columns > COLUMNS_MAX)
        return sc_trace_fail(t, SC_ERR_LIMIT, "Find unique numbers of one column.",
                             "unique takes slices of 1 to %d numbers, not %lld", COLUMNS_MAX,
                             (long long)columns);
    for (int64_t c = columns - 1; c >= 0; c--) {
        sc_x column = sc_f_select(t, rows, 1, c), zero = sc_x_int(t, 0);
        if (order) column = CALL(t, index_select, column, zero, order);
        sc_x next = CALL(t, argsort_stable, column, X_TRUE, zero);
        order = order ? CALL(t, index_select, order, zero, next) : next;
    }
    return order;
}

// (self, dim, sorted, return_inverse, return_counts): everything is given, asked for or not
sc_x sc_expand_unique_dim(sc_trace *t, const sc_x *a) {
    uint32_t dim;
    if (!has_dim(t, a[0], a[1], &dim)) return X_LIST(t, a[0], a[0], a[0]);
    sc_x rows = rows_of(t, a[0], dim), order = order_of(t, rows), zero = sc_x_int(t, 0);
    sc_x begins = beginnings(t, CALL(t, index_select, rows, zero, order));
    sc_x starts = places(t, begins), number = groups(t, begins);
    sc_trace_take_size(t, starts, dim);
    sc_x from = CALL(t, index_select, order, zero, starts);
    sc_x out = CALL(t, index_select, a[0], sc_x_int(t, dim), from);
    sc_x inverse = CALL(t, scatter_src, CALL(t, full_like, number, zero), zero, order, number);
    return X_LIST(t, out, inverse, lengths(t, starts, number));
}
