// Boxes that hide each other, one turn for each box that is kept: how many those are, the data
// tells.
#include "trace/official/official.h"

#include <math.h>

// What travels through the loop: which boxes are still there, in their order, and the last of them
// that has hidden others; their sides, [4, boxes], areas and numbers, which stay.
enum { KEPT, LAST, CARRIED, SIDES = CARRIED, AREAS, PLACES, TRAVELLING };

// Those behind the last one.
static sc_x waiting(sc_trace *t, const sc_x *x) {
    sc_x behind = CALL(t, gt_Tensor, x[PLACES], x[LAST]);
    return sc_o_and(t, x[KEPT], behind);
}

static sc_x is_any_waiting(sc_trace *t, const sc_x *x, const void *user) {
    (void)user;
    return CALL(t, any, waiting(t, x));
}

// By how much of what both cover one box covers the others too.
static sc_x shared_part(sc_trace *t, const sc_x *x, sc_x which) {
    sc_x box = CALL(t, index_select, x[SIDES], sc_x_int(t, 1), which);
    sc_x low = sc_o_steps(t, box, 0, 0, 2, 1), high = sc_o_steps(t, box, 0, 2, 2, 1);
    low = CALL(t, maximum, sc_o_steps(t, x[SIDES], 0, 0, 2, 1), low);
    high = CALL(t, minimum, sc_o_steps(t, x[SIDES], 0, 2, 2, 1), high);
    sc_x size = CALL(t, clamp, sc_a_sub(t, high, low), sc_x_float(t, 0));
    sc_x width = sc_f_select(t, size, 0, 0);
    sc_x both = sc_a_mul(t, width, sc_f_select(t, size, 0, 1));
    sc_x all = CALL(t, index_select, x[AREAS], sc_x_int(t, 0), which);
    return sc_a_div(t, both, sc_a_sub(t, sc_a_add(t, all, x[AREAS]), both));
}

// The threshold is float64, whatever the boxes are: of what they can be, the largest that is not
// above it.
static sc_x above(sc_trace *t, sc_x x, double threshold) {
    const float near = (float)threshold;
    if (sc_x_dtype_of(x) == SC_DTYPE_F32)
        threshold = (double)((double)near > threshold ? nextafterf(near, -INFINITY) : near);
    return CALL(t, gt_Scalar, x, sc_x_float(t, threshold));
}

static sc_x hide(sc_trace *t, const sc_x *x, const void *user) {
    const double threshold = *(const double *)user;
    sc_x number = sc_f_to(t, waiting(t, x), SC_DTYPE_I32);
    sc_x next = CALL(t, argmax, number, sc_x_int(t, 0), X_TRUE);
    sc_x hidden = above(t, shared_part(t, x, next), threshold);
    hidden = sc_o_and(t, hidden, CALL(t, gt_Tensor, x[PLACES], next));
    return X_LIST(t, sc_o_and(t, x[KEPT], sc_o_not(t, hidden)), next);
}

// Of one box more than there are, which is last and never there: the loop has something to look at
// where there are none.
static sc_x one_more(sc_trace *t, sc_x x, sc_x value) { return sc_o_pad(t, x, 0, 0, 1, value); }

// (dets, scores, iou_threshold)
sc_x sc_official_nms(sc_trace *t, const sc_x *a) {
    const sc_dim count = sc_x_size(a[0], 0), all = sc_trace_add(t, count, sc_dim_int(1));
    const double threshold = sc_x_real(a[2], NAN);
    if (!isfinite(threshold)) return sc_o_refuse(t);
    sc_x scores = one_more(t, a[1], sc_o_lowest(t, sc_x_dtype_of(a[1])));
    sc_x order = sc_o_order(t, scores, 0, true);
    sc_x boxes = one_more(t, a[0], sc_x_float(t, 0));
    boxes = CALL(t, index_select, boxes, sc_x_int(t, 0), order);
    sc_x x[TRAVELLING];
    x[SIDES] = sc_f_transpose(t, boxes, 0, 1);
    sc_x low = sc_o_steps(t, x[SIDES], 0, 0, 2, 1), high = sc_o_steps(t, x[SIDES], 0, 2, 2, 1);
    sc_x size = sc_a_sub(t, high, low), width = sc_f_select(t, size, 0, 0);
    x[AREAS] = sc_a_mul(t, width, sc_f_select(t, size, 0, 1));
    x[PLACES] = sc_o_places(t, all, 0, 1);
    x[KEPT] = CALL(t, lt_Scalar, x[PLACES], sc_x_dim(t, count));
    x[LAST] = sc_f_full(t, X_INTS(t, 1), sc_x_int(t, -1), SC_DTYPE_I64);
    const sc_o_loop loop = {.carried = x,
                            .fixed = x + CARRIED,
                            .count = CARRIED,
                            .fixed_count = TRAVELLING - CARRIED,
                            .goes_on = is_any_waiting,
                            .turn = hide,
                            .user = &threshold};
    sc_x kept = sc_x_at(t, sc_o_while(t, &loop), KEPT);
    sc_x best = CALL(t, masked_select, order, kept);
    sc_trace_take_size(t, best, 0);
    return best;
}
