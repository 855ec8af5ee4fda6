// Expansions of order statistics that no runtime has as one operator.
// In wasm: -Os
#include "trace/expand.h"

static sc_x picked(sc_trace *t, sc_x self, sc_x place, const sc_x *a, uint32_t dim) {
    sc_x x = sc_x_rank(self) ? self : sc_f_unsqueeze(t, self, 0);
    sc_x value = CALL(t, gather, x, sc_x_int(t, dim), place);
    if (sc_x_rank(self) && sc_x_truth(a[2])) return X_LIST(t, value, place);
    sc_x values = sc_f_squeeze(t, value, dim);
    return X_LIST(t, values, sc_f_squeeze(t, place, dim));
}

// Sorted, and where from, of a tensor of rank 1 and more.
static sc_x sorted(sc_trace *t, sc_x self, uint32_t dim) {
    sc_x x = sc_x_rank(self) ? self : sc_f_unsqueeze(t, self, 0);
    return CALL(t, sort_stable, x, X_TRUE, sc_x_int(t, dim), X_FALSE);
}

static bool is_empty(sc_trace *t, sc_x x, uint32_t dim) {
    if (!sc_dim_is(sc_x_size(x, dim), 0) || sc_x_rank(x) == 0) return false;
    sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "the dimension %u has no elements", dim);
    return true;
}

// NaNs are behind the numbers, and of those it is the lower one in the middle; NaN where there is
// nothing else.
sc_x sc_expand_nanmedian_dim(sc_trace *t, const sc_x *a) {
    const uint32_t dim = sc_x_wrap(t, a[1], sc_x_rank(a[0]));
    if (!sc_x_is_float(a[0])) return CALL(t, median_dim, a[0], a[1], a[2]);
    if (is_empty(t, a[0], dim)) return &t->poisoned;
    sc_x all = sorted(t, a[0], dim), along = sc_x_int(t, dim);
    sc_x numbers = CALL(t, logical_not, CALL(t, isnan, sc_x_at(t, all, 0)));
    sc_x count = CALL(t, sum_dim_IntList, numbers, X_LIST(t, along), X_TRUE);
    sc_x last = CALL(t, clamp, CALL(t, sub_Tensor, count, sc_x_int(t, 1)), sc_x_int(t, 0));
    sc_x middle = CALL(t, div_Tensor_mode, last, sc_x_int(t, 2), sc_x_str(t, "floor"));
    return picked(t, a[0], CALL(t, gather, sc_x_at(t, all, 1), along, middle), a, dim);
}

// The smallest of the most frequent elements, where it stands last. How often each element has come
// up to there is how far it is from the beginning of its run.
sc_x sc_expand_mode(sc_trace *t, const sc_x *a) {
    const uint32_t dim = sc_x_wrap(t, a[1], sc_x_rank(a[0]));
    if (is_empty(t, a[0], dim)) return &t->poisoned;
    sc_x all = sorted(t, a[0], dim), values = sc_x_at(t, all, 0), along = sc_x_int(t, dim);
    const sc_dim n = sc_x_size(values, dim), one = sc_dim_int(1);
    sc_x last = sc_x_dim(t, sc_trace_sub(t, n, one));
    sc_x before = sc_f_slice(t, values, dim, sc_x_int(t, 0), last);
    sc_x after = sc_f_slice(t, values, dim, sc_x_int(t, 1), sc_x_dim(t, n));
    sc_x begins = CALL(t, ne_Tensor, before, after), first[2];
    first[0] = CALL(t, full_like, sc_f_slice(t, values, dim, sc_x_int(t, 0), sc_x_int(t, 1)),
                    X_TRUE, sc_x_dtype(t, SC_DTYPE_BOOL));
    first[1] = begins;
    sc_x starts = sc_f_cat(t, first, 2, dim);
    sc_x place = CALL(
        t, cumsum, CALL(t, full_like, starts, sc_x_int(t, 1), sc_x_dtype(t, SC_DTYPE_I64)), along);
    sc_x none = sc_f_scalar(t, sc_x_int(t, 0), SC_DTYPE_I64);
    sc_x start = sc_x_at(t, CALL(t, cummax, CALL(t, where_self, starts, place, none), along), 0);
    sc_x most = CALL(t, argmax, CALL(t, sub_Tensor, place, start), along, X_TRUE);
    return picked(t, a[0], CALL(t, gather, sc_x_at(t, all, 1), along, most), a, dim);
}
