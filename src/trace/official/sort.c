// Sorting by topk, whose order among equal elements is not defined in the official runtime. So
// there are two calls: the sorted elements show which are equal, and the number of a group of
// equals with the position of an element is a unique key.
#include "trace/official/official.h"

#define GROUP (INT64_C(1) << 32)  // positions are smaller

static sc_x top(sc_trace *t, sc_x x, sc_x count, uint32_t dim, bool largest) {
    return CALL(t, topk, x, count, sc_x_int(t, dim), sc_x_bool(largest), X_TRUE);
}

static sc_x size(sc_trace *t, sc_x x, uint32_t dim) { return sc_x_dim(t, sc_x_size(x, dim)); }

// topk takes no bool.
static sc_x sortable(sc_trace *t, sc_x x) {
    return sc_x_dtype_of(x) == SC_DTYPE_BOOL ? sc_f_to(t, x, SC_DTYPE_U8) : x;
}

// Which elements differ from those before them: all but the first. NaNs are at one end, and equal.
static sc_x differs(sc_trace *t, sc_x sorted, uint32_t dim, bool descending) {
    const sc_dim one = sc_dim_int(1), zero = sc_dim_int(0), n = sc_x_size(sorted, dim);
    sc_x before = sc_f_slice_range(t, sorted, dim, zero, sc_trace_sub(t, n, one));
    sc_x after = sc_f_slice_range(t, sorted, dim, one, n);
    sc_x differ = CALL(t, ne_Tensor, before, after);
    if (!sc_x_is_float(sorted)) return differ;
    sc_x nan = CALL(t, isnan, descending ? after : before);
    return sc_f_and(t, differ, sc_f_not(t, nan));
}

// The keys of sorted elements. Groups ascend, also if the elements descend.
static sc_x groups(sc_trace *t, sc_x sorted, uint32_t dim, bool descending) {
    sc_x steps = CALL(t, cumsum, differs(t, sorted, dim, descending), sc_x_int(t, dim));
    sc_x group = sc_f_pad(t, steps, dim, 1, 0, sc_x_int(t, 0));
    return sc_f_mul(t, group, sc_x_int(t, GROUP));
}

// Stable, NaN last when ascending: the positions of the elements in their order.
sc_x sc_official_order(sc_trace *t, sc_x x, uint32_t dim, bool descending) {
    sc_x n = size(t, x, dim), by_value = top(t, sortable(t, x), n, dim, descending);
    sc_x group = groups(t, sc_x_at(t, by_value, 0), dim, descending);
    sc_x keys = sc_f_add(t, group, sc_x_at(t, by_value, 1));
    keys = sc_x_at(t, top(t, keys, n, dim, false), 0);
    return sc_f_sub(t, keys, group);
}

static sc_x sorted(sc_trace *t, sc_x self, sc_x along, bool descending) {
    const uint32_t dim = sc_x_wrap(t, along, sc_x_rank(self));
    sc_x x = sc_f_atleast_1d(t, self);
    if (sc_dim_is(sc_x_size(x, dim), 0) || sc_dim_is(sc_x_size(x, dim), 1))
        return X_LIST(t, self,
                      sc_f_zeros(t, sc_x_sizes(t, self, 0, sc_x_rank(self)), SC_DTYPE_I64));
    if (!sc_official_wants(t, 1) && sc_x_dtype_of(x) != SC_DTYPE_BOOL)
        return top(t, x, size(t, x, dim), dim, descending);
    sc_x order = sc_official_order(t, x, dim, descending);
    sc_x values = sc_official_wants(t, 0) ? CALL(t, gather, x, sc_x_int(t, dim), order) : X_NONE;
    return X_LIST(t, values, order);
}

// (self, dim, descending)
sc_x sc_official_sort(sc_trace *t, const sc_x *a) {
    return sorted(t, a[0], a[1], sc_x_truth(a[2]));
}

// (self, stable, dim, descending)
sc_x sc_official_sort_stable(sc_trace *t, const sc_x *a) {
    return sorted(t, a[0], a[2], sc_x_truth(a[3]));
}

// --- One element of the order --------------------------------------------------------------------

// The position of the k-th smallest element; the dim stays, of size 1. Any of equal elements.
static sc_x kth(sc_trace *t, sc_x x, sc_dim k, uint32_t dim) {
    sc_x smallest = sc_x_at(t, top(t, sortable(t, x), sc_x_dim(t, k), dim, false), 1);
    return sc_f_slice_range(t, smallest, dim, sc_trace_sub(t, k, sc_dim_int(1)), k);
}

static sc_x element(sc_trace *t, sc_x self, sc_x x, uint32_t dim, sc_x place, bool keepdim) {
    sc_x value = CALL(t, gather, x, sc_x_int(t, dim), place);
    if (sc_x_rank(self) == 0)
        value = sc_f_restore_rank(t, value, self), place = sc_f_restore_rank(t, place, self);
    else if (!keepdim)
        value = sc_f_squeeze(t, value, dim), place = sc_f_squeeze(t, place, dim);
    return X_LIST(t, value, place);
}

// (self, k, dim, keepdim)
sc_x sc_official_kthvalue(sc_trace *t, const sc_x *a) {
    const uint32_t dim = sc_x_wrap(t, a[2], sc_x_rank(a[0]));
    sc_x x = sc_f_atleast_1d(t, a[0]);
    if (a[1]->kind != SC_X_INT) return sc_official_refuse(t);
    return element(t, a[0], x, dim, kth(t, x, a[1]->dim, dim), sc_x_truth(a[3]));
}

// The lower one of two in the middle. If there are NaNs, the first of them is the median.
// (self, dim, keepdim)
sc_x sc_official_median(sc_trace *t, const sc_x *a) {
    const uint32_t dim = sc_x_wrap(t, a[1], sc_x_rank(a[0]));
    sc_x x = sc_f_atleast_1d(t, a[0]), along = sc_x_int(t, dim);
    sc_dim n = sc_x_size(x, dim);
    if (sc_dim_is(n, 0)) return sc_official_refuse(t);
    sc_dim k = sc_trace_floordiv(t, sc_trace_add(t, n, sc_dim_int(1)), sc_dim_int(2));
    sc_x place = kth(t, x, k, dim);
    if (sc_x_is_float(x)) {
        sc_x nan = CALL(t, any_dim, CALL(t, isnan, x), along, X_TRUE);
        place = sc_f_where(t, nan, CALL(t, argmax, x, along, X_TRUE), place);
    }
    return element(t, a[0], x, dim, place, sc_x_truth(a[2]));
}

// NaNs are after the numbers. The result is the lower one in the middle of the numbers, or NaN
// without numbers.
// (self, dim, keepdim)
sc_x sc_official_nanmedian(sc_trace *t, const sc_x *a) {
    if (!sc_x_is_float(a[0])) return sc_official_median(t, a);
    const uint32_t dim = sc_x_wrap(t, a[1], sc_x_rank(a[0]));
    sc_x x = sc_f_atleast_1d(t, a[0]), along = sc_x_int(t, dim);
    if (sc_dim_is(sc_x_size(x, dim), 0)) return sc_official_refuse(t);
    sc_x all = top(t, x, size(t, x, dim), dim, false);
    sc_x numbers = sc_f_not(t, CALL(t, isnan, sc_x_at(t, all, 0)));
    sc_x count = sc_f_sum(t, numbers, X_LIST(t, along), true);
    sc_x last = CALL(t, clamp, sc_f_sub(t, count, sc_x_int(t, 1)), sc_x_int(t, 0));
    sc_x middle = CALL(t, bitwise_right_shift_Tensor_Scalar, last, sc_x_int(t, 1));
    sc_x place = CALL(t, gather, sc_x_at(t, all, 1), along, middle);
    return element(t, a[0], x, dim, place, sc_x_truth(a[2]));
}

// --- Runs of equals ------------------------------------------------------------------------------

// The first element of each run of equals; no element repeats a NaN.
static sc_x begins_run(sc_trace *t, sc_x sorted, uint32_t dim) {
    const sc_dim one = sc_dim_int(1), zero = sc_dim_int(0), n = sc_x_size(sorted, dim);
    sc_x before = sc_f_slice_range(t, sorted, dim, zero, sc_trace_sub(t, n, one));
    sc_x differ = CALL(t, ne_Tensor, before, sc_f_slice_range(t, sorted, dim, one, n));
    return sc_f_pad(t, differ, dim, 1, 0, X_TRUE);
}

// The place, among sorted elements, of the last one of the first of the longest runs.
static sc_x longest_run(sc_trace *t, sc_x sorted, uint32_t dim) {
    sc_x along = sc_x_int(t, dim), one = sc_x_int(t, 1);
    sc_x sizes = sc_x_sizes(t, sorted, 0, sc_x_rank(sorted));
    sc_x run = sc_f_sub(t, CALL(t, cumsum, begins_run(t, sorted, dim), along), one);
    sc_x ones = sc_f_full(t, sizes, one, SC_DTYPE_I64);
    sc_x lengths = CALL(t, scatter_add, sc_f_zeros(t, sizes, SC_DTYPE_I64), along, run, ones);
    lengths = CALL(t, gather, lengths, along, run);
    sc_x most = sc_official_amax_of(t, lengths, X_LIST(t, along), X_TRUE);
    sc_x first = CALL(t, argmax, lengths, along, X_TRUE);
    return sc_f_sub(t, sc_f_add(t, first, most), one);
}

// The smallest of the most frequent elements, at its last place.
// (self, dim, keepdim)
sc_x sc_official_mode(sc_trace *t, const sc_x *a) {
    const uint32_t dim = sc_x_wrap(t, a[1], sc_x_rank(a[0]));
    sc_x x = sc_f_atleast_1d(t, a[0]), along = sc_x_int(t, dim);
    if (sc_dim_is(sc_x_size(x, dim), 0)) return sc_official_refuse(t);
    sc_x place = sc_f_zeros(t, sc_x_sizes(t, x, 0, sc_x_rank(x)), SC_DTYPE_I64);
    if (!sc_dim_is(sc_x_size(x, dim), 1)) {
        sc_x order = sc_official_order(t, x, dim, false);
        sc_x last = longest_run(t, CALL(t, gather, x, along, order), dim);
        place = CALL(t, gather, order, along, last);
    }
    return element(t, a[0], x, dim, place, sc_x_truth(a[2]));
}

// (self, sorted, return_inverse, return_counts)
sc_x sc_official_unique(sc_trace *t, const sc_x *a) {
    const sc_spec *self = sc_x_spec(a[0]), *out = &t->source->outs[1]->spec;
    const sc_dim n = sc_trace_product(t, self->sizes, self->rank);
    const bool inverts = sc_x_truth(a[2]) && sc_official_wants(t, 1);
    sc_x x = sc_f_reshape(t, a[0], &n, 1), zero = sc_x_int(t, 0);
    if (sc_dim_is(n, 0)) return sc_official_beyond(t, SC_LIMIT_SOME);
    sc_x order = sc_official_order(t, x, 0, false), all = CALL(t, gather, x, zero, order);
    sc_x found = CALL(t, unique_consecutive, all, sc_x_bool(inverts), a[3], X_NONE);
    sc_x inverse = sc_x_at(t, found, 1);
    if (inverts) {
        sc_x number = inverse;
        inverse = CALL(t, scatter_src, CALL(t, full_like, number, zero), zero, order, number);
        inverse = sc_f_reshape(t, inverse, out->sizes, out->rank);
    }
    return X_LIST(t, sc_x_at(t, found, 0), inverse, sc_x_at(t, found, 2));
}
