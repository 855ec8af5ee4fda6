// Calls that the expansions for the official runtime share.
#include "trace/official/official.h"

#include <math.h>

#define LARGEST_MAX (INT64_C(1) << 48)  // no memory holds more

sc_dtype sc_o_result_dtype(const sc_trace *t) { return (sc_dtype)t->source->outs[0]->spec.dtype; }

sc_x sc_o_floored(sc_trace *t, sc_x x, sc_x by, sc_x *rest) {
    sc_x times = CALL(t, div_Tensor_mode, x, by, sc_x_str(t, "floor"));
    *rest = CALL(t, sub_Tensor, x, CALL(t, mul_Tensor, times, by));
    return times;
}

sc_x sc_o_rounded(sc_trace *t, sc_x x) { return sc_f_to(t, x, sc_o_result_dtype(t)); }

sc_x sc_o_double(sc_trace *t, sc_x x) { return sc_f_to(t, x, SC_DTYPE_F64); }

sc_x sc_o_settled(sc_trace *t, sc_x made) {
    sc_node *node = t->before ? t->before->prev : t->graph->last;
    if (node && t->status == SC_OK) node->is_settled = true;
    return made;
}

bool sc_o_wants(const sc_trace *t, uint32_t result) {
    return result < t->source->out_count && t->source->outs[result]->use_count > 0;
}

static bool is_whole(sc_x x, uint32_t dim, int64_t start, int64_t count, int64_t step) {
    return step == 1 && start == 0 && sc_dim_is(sc_x_size(x, dim), count);
}

sc_x sc_o_steps(sc_trace *t, sc_x x, int64_t dim, int64_t start, int64_t count, int64_t step) {
    const uint32_t at = sc_x_wrap(t, sc_x_int(t, dim), sc_x_rank(x));
    if (is_whole(x, at, start, count, step)) return x;
    return CALL(t, slice_Tensor, x, sc_x_int(t, at), sc_x_int(t, start),
                sc_x_int(t, start + (count - 1) * step + 1), sc_x_int(t, step));
}

sc_x sc_o_part(sc_trace *t, sc_x x, uint32_t dim, sc_dim start, sc_dim end) {
    if (sc_dim_is(start, 0) && sc_dim_equal(end, sc_x_size(x, dim))) return x;
    return CALL(t, slice_Tensor, x, sc_x_int(t, dim), sc_x_dim(t, start), sc_x_dim(t, end));
}

sc_x sc_o_pad(sc_trace *t, sc_x x, uint32_t dim, int64_t before, int64_t after, sc_x value) {
    int64_t pad[2 * SC_RANK_MAX] = {0};
    if ((before == 0 && after == 0) || t->status != SC_OK) return x;
    const uint32_t from_end = 2 * (sc_x_rank(x) - 1 - dim);
    pad[from_end] = before;
    pad[from_end + 1] = after;
    return CALL(t, constant_pad_nd, x, sc_x_ints(t, pad, from_end + 2), value);
}

int64_t sc_o_largest(sc_trace *t, sc_dim n) {
    const int64_t most = sc_dim_range(n).max;
    if (most > LARGEST_MAX) sc_o_refuse(t);
    return t->status == SC_OK ? most : 0;
}

sc_dim sc_o_smaller(sc_trace *t, sc_dim a, sc_dim b) {
    const sc_dim least = sc_dim_min(t->exprs, a, b);
    if (sc_dim_is_int(least) || sc_dim_equal(least, a) || sc_dim_equal(least, b)) return least;
    sc_x x = sc_x_dim(t, a);
    (void)CALL(t, sym_sym_min, x, sc_x_dim(t, b));
    return least;
}

sc_x sc_o_places(sc_trace *t, sc_dim count, uint32_t dim, uint32_t rank) {
    sc_dim sizes[SC_RANK_MAX];
    for (uint32_t i = 0; i < rank; i++) sizes[i] = i == dim ? count : sc_dim_int(1);
    sc_x places = sc_f_arange(t, sc_x_int(t, 0), sc_x_dim(t, count), SC_DTYPE_I64);
    return rank == 1 ? places : sc_f_view(t, places, sizes, rank);
}

sc_x sc_o_not(sc_trace *t, sc_x x) { return CALL(t, logical_not, x); }
sc_x sc_o_and(sc_trace *t, sc_x x, sc_x y) { return CALL(t, logical_and, x, y); }
sc_x sc_o_or(sc_trace *t, sc_x x, sc_x y) { return CALL(t, logical_or, x, y); }

sc_x sc_o_where_else(sc_trace *t, sc_x condition, sc_x x, sc_x number) {
    return sc_a_where(t, condition, x, sc_f_scalar(t, number, sc_x_dtype_of(x)));
}

sc_x sc_o_lowest(sc_trace *t, sc_dtype dtype) {
    if (sc_dtype_is_float(dtype)) return sc_x_float(t, -INFINITY);
    if (dtype == SC_DTYPE_U8 || dtype == SC_DTYPE_BOOL) return sc_x_int(t, 0);
    return sc_x_int(t, -1 - (int64_t)(UINT64_MAX >> (65 - 8 * sc_dtype_bytes(dtype))));
}

sc_x sc_o_flat(sc_trace *t, sc_x x) {
    const sc_dim one = sc_dim_int(1);
    return sc_x_rank(x) ? x : sc_f_view(t, x, &one, 1);
}

sc_x sc_o_unflat(sc_trace *t, sc_x x, sc_x like) {
    return sc_x_rank(like) ? x : sc_f_view(t, x, NULL, 0);
}

sc_x sc_o_refuse(sc_trace *t) {
    return sc_trace_fail(t, SC_ERR_UNSUPPORTED, NULL, "this call has no expansion");
}

sc_x sc_o_beyond(sc_trace *t, sc_limit limit) {
    if (t->status == SC_OK) *(sc_limit *)t->client = limit;
    return sc_o_refuse(t);
}

int64_t sc_o_known(sc_trace *t, sc_dim size, sc_limit limit) {
    if (!size.expr) return sc_x_small(t, sc_x_dim(t, size), 0);
    sc_o_beyond(t, limit);
    return 0;
}
