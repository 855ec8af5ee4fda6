// Expansions of unpooling: values go back to the places that pooling took them from.
#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"

// Positions count within a plane; `dims` of them are the plane's.
static sc_x unpool(sc_trace *t, const sc_x *a, uint32_t dims) {
    uint32_t rank = sc_x_rank(a[0]), leading = rank - dims;
    sc_dim sizes[SC_RANK_MAX], planes[SC_RANK_MAX], plane = sc_dim_int(1);
    if ((rank != dims + 1 && rank != dims + 2) || sc_x_rank(a[1]) != rank)
        return sc_trace_fail(t, SC_ERR_SHAPE, NULL, "max_unpool%ud does not take rank-%u tensors",
                             dims, rank);
    for (uint32_t i = 0; i < rank; i++) {
        sizes[i] = i < leading ? sc_x_size(a[0], i) : sc_x_at(t, a[2], i - leading)->dim;
        planes[i] = i < leading ? sizes[i] : sc_dim_int(1);
        if (i >= leading) plane = sc_trace_mul(t, plane, sizes[i]);
    }
    sc_dim count = sc_trace_product(t, sizes, leading);
    sc_x starts = sc_f_range(t, sc_x_dim(t, count), SC_DTYPE_NONE);
    starts = sc_f_mul(t, sc_f_view(t, starts, planes, rank), sc_x_dim(t, plane));
    sc_x places = sc_f_flat(t, sc_f_add(t, a[1], starts));
    sc_x out = sc_f_zeros(t, sc_x_dims(t, sizes, rank), sc_x_dtype_of(a[0]));
    out = sc_f_flat(t, out);
    out = CALL(t, index_put, out, X_LIST(t, places), sc_f_flat(t, a[0]), X_FALSE);
    return sc_f_view(t, out, sizes, rank);
}

sc_x sc_expand_max_unpool2d(sc_trace *t, const sc_x *a) { return unpool(t, a, 2); }
sc_x sc_expand_max_unpool3d(sc_trace *t, const sc_x *a) { return unpool(t, a, 3); }
