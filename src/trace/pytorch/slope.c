// Expansions of areas and slopes of sampled functions.
#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"

// --- Areas ---------------------------------------------------------------------------------------

static sc_x from(sc_trace *t, sc_x x, sc_x dim, bool is_first) {
    sc_x start = sc_x_int(t, !is_first), end = is_first ? sc_x_int(t, -1) : X_NONE;
    return CALL(t, slice_Tensor, x, dim, start, end);
}

// (y, x, dim): twice the area between each two points.
static sc_x doubled_areas(sc_trace *t, const sc_x *a) {
    sc_x y = a[0], x = a[1];
    uint32_t rank = sc_x_rank(y), dim = sc_x_wrap(t, a[2], rank);
    int64_t shape[SC_RANK_MAX];
    for (uint32_t i = 0; i < rank; i++) shape[i] = i == dim ? -1 : 1;
    sc_x at = a[2];
    if (sc_x_rank(x) == 1 && rank > 1) x = CALL(t, view, x, sc_x_ints(t, shape, rank));
    sc_x low = from(t, x, at, true);
    sc_x width = sc_f_sub(t, from(t, x, at, false), low);
    sc_x left = from(t, y, at, true);
    sc_x sum = sc_f_add(t, left, from(t, y, at, false));
    return sc_f_mul(t, sum, width);
}

sc_x sc_expand_trapezoid(sc_trace *t, const sc_x *a) {
    sc_x areas = doubled_areas(t, a);
    return CALL(t, div_Scalar, sc_f_sum(t, areas, X_LIST(t, a[2]), false), sc_x_float(t, 2));
}

sc_x sc_expand_cumulative_trapezoid(sc_trace *t, const sc_x *a) {
    sc_x areas = doubled_areas(t, a);
    return CALL(t, div_Scalar, CALL(t, cumsum, areas, a[2]), sc_x_float(t, 2));
}

// --- Slopes --------------------------------------------------------------------------------------

// Part of a dim, from `first` to `last`; both count from the end if they are negative, and 0 as
// `last` is the end.
static sc_x piece(sc_trace *t, sc_x x, uint32_t dim, int64_t first, int64_t last) {
    sc_x end = last == 0 ? X_NONE : sc_x_int(t, last);
    return sc_f_slice(t, x, dim, sc_x_int(t, first), end);
}

static sc_x difference(sc_trace *t, sc_x high, sc_x low, double by) {
    return CALL(t, div_Scalar, sc_f_sub(t, high, low), sc_x_float(t, by));
}

// At an end of the dim: of two values, or with the curvature of three. `way` is 1 at the first.
static sc_x slope_at_end(sc_trace *t, sc_x x, uint32_t dim, double width, int64_t way, bool bends) {
    sc_x at[3];
    for (int64_t i = 0; i < 2 + bends; i++) {
        int64_t place = way > 0 ? i : -1 - i;
        at[i] = piece(t, x, dim, place, place + 1);
    }
    double by = width * (double)way;
    if (!bends) return difference(t, at[1], at[0], by);
    sc_x third = sc_f_mul_number(t, at[2], 0.5);
    sc_x sum = sc_f_add(t, sc_f_mul_number(t, at[0], 1.5), third);
    return difference(t, CALL(t, mul_Scalar, at[1], sc_x_int(t, 2)), sum, by);
}

static sc_x slope(sc_trace *t, sc_x x, uint32_t dim, double width, bool bends) {
    sc_x parts[3];
    if (sc_dtype_is_integral(sc_x_dtype_of(x), true)) x = sc_f_to(t, x, SC_DTYPE_F32);
    parts[0] = slope_at_end(t, x, dim, width, 1, bends);
    sc_x after = piece(t, x, dim, 2, 0), before = piece(t, x, dim, 0, -2);
    parts[1] = difference(t, after, before, 2 * width);
    parts[2] = slope_at_end(t, x, dim, width, -1, bends);
    return sc_f_cat(t, parts, 3, dim);
}

// The spacing of the i-th dim: one for all of them, or a list.
static double spacing_of(sc_trace *t, sc_x spacing, uint32_t i) {
    if (spacing->kind != SC_X_LIST) return sc_x_known(t, spacing, 1);
    return i < spacing->count ? sc_x_known(t, spacing->items[i], 1) : 1;
}

// (self, spacing, dim, edge_order); a dim, some, or all.
static sc_x gradient(sc_trace *t, sc_x x, sc_x spacing, sc_x dim, sc_x order) {
    sc_x outs[SC_RANK_MAX];
    uint32_t rank = sc_x_rank(x), count = dim->kind == SC_X_LIST ? dim->count
                                          : sc_x_is_none(dim)    ? rank
                                                                 : 1;
    if (count > rank) return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "more dims than there are");
    for (uint32_t i = 0; i < count; i++) {
        sc_x one = dim->kind == SC_X_LIST ? dim->items[i]
                   : sc_x_is_none(dim)    ? sc_x_int(t, i)
                                          : dim;
        uint32_t at = sc_x_wrap(t, one, rank);
        outs[i] = slope(t, x, at, spacing_of(t, spacing, i), sc_x_number(order, 1) == 2);
    }
    return sc_x_list(t, outs, count);
}

sc_x sc_expand_gradient(sc_trace *t, const sc_x *a) { return gradient(t, a[0], a[1], a[2], a[3]); }

// (self, dim, edge_order)
sc_x sc_expand_gradient_plain(sc_trace *t, const sc_x *a) {
    return gradient(t, a[0], X_NONE, a[1], a[2]);
}
