// Parts of tensors: steps, slices and padding of one dim.
#include "trace/words/parts.h"
#include "trace/words/calls.h"

static bool is_whole(sc_x x, uint32_t dim, int64_t start, int64_t count, int64_t step) {
    return step == 1 && start == 0 && sc_dim_is(sc_x_size(x, dim), count);
}

sc_x sc_f_slice_steps(sc_trace *t, sc_x x, int64_t dim, int64_t start, int64_t count,
                      int64_t step) {
    const uint32_t at = sc_x_wrap(t, sc_x_int(t, dim), sc_x_rank(x));
    if (is_whole(x, at, start, count, step)) return x;
    return CALL(t, slice_Tensor, x, sc_x_int(t, at), sc_x_int(t, start),
                sc_x_int(t, start + (count - 1) * step + 1), sc_x_int(t, step));
}

sc_x sc_f_slice_range(sc_trace *t, sc_x x, uint32_t dim, sc_dim start, sc_dim end) {
    if (sc_dim_is(start, 0) && sc_dim_equal(end, sc_x_size(x, dim))) return x;
    return CALL(t, slice_Tensor, x, sc_x_int(t, dim), sc_x_dim(t, start), sc_x_dim(t, end));
}

sc_x sc_f_slice_first(sc_trace *t, sc_x x, uint32_t dim, sc_dim count) {
    return sc_f_slice_range(t, x, dim, sc_dim_int(0), count);
}

sc_x sc_f_slice_strided(sc_trace *t, sc_x x, uint32_t dim, int64_t start, sc_dim span,
                        int64_t stride) {
    const sc_dim end = sc_trace_add(t, span, sc_dim_int(start));
    if (stride == 1) return sc_f_slice_range(t, x, dim, sc_dim_int(start), end);
    return CALL(t, slice_Tensor, x, sc_x_int(t, dim), sc_x_int(t, start), sc_x_dim(t, end),
                sc_x_int(t, stride));
}

sc_x sc_f_pad(sc_trace *t, sc_x x, uint32_t dim, int64_t before, int64_t after, sc_x value) {
    int64_t pad[2 * SC_RANK_MAX] = {0};
    if ((before == 0 && after == 0) || t->status != SC_OK) return x;
    const uint32_t from_end = 2 * (sc_x_rank(x) - 1 - dim);
    pad[from_end] = before;
    pad[from_end + 1] = after;
    return CALL(t, constant_pad_nd, x, sc_x_ints(t, pad, from_end + 2), value);
}

sc_x sc_f_places(sc_trace *t, sc_dim count, uint32_t dim, uint32_t rank) {
    sc_dim sizes[SC_RANK_MAX];
    for (uint32_t i = 0; i < rank; i++) sizes[i] = i == dim ? count : sc_dim_int(1);
    sc_x places = sc_f_range(t, sc_x_dim(t, count), SC_DTYPE_I64);
    return rank == 1 ? places : sc_f_view(t, places, sizes, rank);
}

sc_x sc_f_atleast_1d(sc_trace *t, sc_x x) {
    const sc_dim one = sc_dim_int(1);
    return sc_x_rank(x) ? x : sc_f_view(t, x, &one, 1);
}

sc_x sc_f_restore_rank(sc_trace *t, sc_x x, sc_x like) {
    return sc_x_rank(like) ? x : sc_f_view(t, x, NULL, 0);
}

sc_dim sc_f_smaller(sc_trace *t, sc_dim a, sc_dim b) {
    const sc_dim least = sc_dim_min(t->exprs, a, b);
    if (sc_dim_is_int(least) || sc_dim_equal(least, a) || sc_dim_equal(least, b)) return least;
    sc_x x = sc_x_dim(t, a);
    (void)CALL(t, sym_sym_min, x, sc_x_dim(t, b));
    return least;
}
