// How often each number occurs.
#include "trace/official/official.h"

// Zeros: one more than the largest number, or as many as the call asks for. They are made by
// repeating the first element.
static sc_x bins(sc_trace *t, sc_x x, sc_dim least) {
    sc_x one = sc_x_int(t, 1), sizes = X_LIST(t, one);
    sc_x last = sc_x_dim(t, sc_trace_sub(t, least, sc_dim_int(1)));
    sc_x all = sc_f_join(t, x, sc_f_full(t, sizes, last, SC_DTYPE_I64), 0);
    sc_x most = CALL(t, amax, all, X_INTS(t, 0), X_TRUE);
    sc_x zeros = CALL(t, repeat_interleave_Tensor, CALL(t, add_Scalar, most, one));
    sc_trace_take_size(t, zeros, 0);
    return zeros;
}

// (self, weights, minlength)
sc_x sc_official_bincount(sc_trace *t, const sc_x *a) {
    const sc_dtype dtype = sc_official_result_dtype(t);
    if (a[2]->kind != SC_X_INT || sc_dim_range(a[2]->dim).max < 0 || sc_x_rank(a[0]) != 1)
        return sc_official_refuse(t);
    sc_x x = sc_f_to(t, a[0], SC_DTYPE_I64), weights = a[1];
    if (sc_x_is_none(weights))
        weights = sc_f_full(t, sc_x_sizes(t, x, 0, 1), sc_x_int(t, 1), SC_DTYPE_I64);
    sc_x zeros = sc_f_to(t, bins(t, x, a[2]->dim), dtype);
    return CALL(t, scatter_add, zeros, sc_x_int(t, 0), x, sc_f_to(t, weights, dtype));
}
