// Boxes that hide each other. Few boxes are compared in pairs, all at once: does the first one hide
// the second one? Then a loop computes which boxes remain, until the answer does not change. The
// boxes that no box hides are right after the first turn, and those that only they hide after the
// second. Pairs of many boxes would fill the memory. Then each box that is kept has a turn, in
// which it hides boxes after it. The number of turns depends on the data.
#include "trace/official/official.h"

#include <math.h>

enum { FEW = 256 };  // boxes

// The boxes in their order, and one more that is always hidden, so that the loop has an element
// even without boxes.
typedef struct boxes {
    sc_x low, high, areas;  // [2, boxes], [2, boxes], [boxes]
    sc_x places, is_there;  // [boxes]
    double threshold;
} boxes;

// The intersection over the union of each pair of boxes that broadcasting makes.
static sc_x shared_part(sc_trace *t, const boxes *one, const boxes *other) {
    sc_x low = CALL(t, maximum, other->low, one->low);
    sc_x high = CALL(t, minimum, other->high, one->high);
    sc_x size = CALL(t, clamp, sc_f_sub(t, high, low), sc_x_float(t, 0));
    sc_x width = sc_f_select(t, size, 0, 0);
    sc_x both = sc_f_mul(t, width, sc_f_select(t, size, 0, 1));
    return sc_f_div(t, both, sc_f_sub(t, sc_f_add(t, one->areas, other->areas), both));
}

// The threshold is float64 for boxes of every dtype. This is the largest number in the dtype of the
// boxes that is not above it.
static sc_x above(sc_trace *t, sc_x x, double threshold) {
    const float near = (float)threshold;
    if (sc_x_dtype_of(x) == SC_DTYPE_F32)
        threshold = (double)((double)near > threshold ? nextafterf(near, -INFINITY) : near);
    return CALL(t, gt_Scalar, x, sc_x_float(t, threshold));
}

// --- Few -----------------------------------------------------------------------------------------

// State of the loop for few boxes: which boxes remain, and for which of them that has changed. It
// reads which boxes would hide each box, [boxes, boxes], and which boxes exist.
enum { LEFT, CHANGED, FEW_CARRIED, HIDES = FEW_CARRIED, THERE, FEW_TRAVELLING };

static sc_x has_changed(sc_trace *t, const sc_x *x, const void *user) {
    (void)user;
    return CALL(t, any, x[CHANGED]);
}

static sc_x ask_again(sc_trace *t, const sc_x *x, const void *user) {
    (void)user;
    sc_x hidden = CALL(t, any_dim, sc_f_and(t, x[HIDES], x[LEFT]), sc_x_int(t, 1));
    sc_x left = sc_f_and(t, x[THERE], sc_f_not(t, hidden));
    return X_LIST(t, left, CALL(t, ne_Tensor, left, x[LEFT]));
}

// The boxes along a new dim: as columns if that dim is the first one, else as rows.
static boxes spread(sc_trace *t, const boxes *b, int64_t dim) {
    boxes s = *b;
    s.low = sc_f_unsqueeze(t, b->low, dim + 1);
    s.high = sc_f_unsqueeze(t, b->high, dim + 1);
    s.areas = sc_f_unsqueeze(t, b->areas, dim);
    s.places = sc_f_unsqueeze(t, b->places, dim);
    return s;
}

static sc_x kept_of_few(sc_trace *t, const boxes *b) {
    const boxes columns = spread(t, b, 0), rows = spread(t, b, 1);
    sc_x is_behind = CALL(t, gt_Tensor, rows.places, columns.places);
    sc_x x[FEW_TRAVELLING];
    x[HIDES] = sc_f_and(t, above(t, shared_part(t, &columns, &rows), b->threshold), is_behind);
    x[LEFT] = x[CHANGED] = x[THERE] = b->is_there;
    const sc_f_loop loop = {.carried = x,
                            .fixed = x + FEW_CARRIED,
                            .count = FEW_CARRIED,
                            .fixed_count = FEW_TRAVELLING - FEW_CARRIED,
                            .goes_on = has_changed,
                            .turn = ask_again};
    return sc_x_at(t, sc_f_while(t, &loop), LEFT);
}

// --- Many ----------------------------------------------------------------------------------------

// State of the loop for many boxes: which boxes remain, in their order, and the last box that has
// hidden others. It reads their sides, areas and numbers.
enum { KEPT, LAST, CARRIED, LOW = CARRIED, HIGH, AREAS, PLACES, TRAVELLING };

// The boxes after the last one that has hidden others.
static sc_x waiting(sc_trace *t, const sc_x *x) {
    sc_x behind = CALL(t, gt_Tensor, x[PLACES], x[LAST]);
    return sc_f_and(t, x[KEPT], behind);
}

static sc_x is_any_waiting(sc_trace *t, const sc_x *x, const void *user) {
    (void)user;
    return CALL(t, any, waiting(t, x));
}

static sc_x hide(sc_trace *t, const sc_x *x, const void *user) {
    const double threshold = *(const double *)user;
    sc_x number = sc_f_to(t, waiting(t, x), SC_DTYPE_I32);
    sc_x next = CALL(t, argmax, number, sc_x_int(t, 0), X_TRUE);
    const boxes all = {.low = x[LOW], .high = x[HIGH], .areas = x[AREAS]};
    boxes one;
    one.low = CALL(t, index_select, x[LOW], sc_x_int(t, 1), next);
    one.high = CALL(t, index_select, x[HIGH], sc_x_int(t, 1), next);
    one.areas = CALL(t, index_select, x[AREAS], sc_x_int(t, 0), next);
    sc_x hidden = above(t, shared_part(t, &one, &all), threshold);
    hidden = sc_f_and(t, hidden, CALL(t, gt_Tensor, x[PLACES], next));
    return X_LIST(t, sc_f_and(t, x[KEPT], sc_f_not(t, hidden)), next);
}

static sc_x kept_of_many(sc_trace *t, const boxes *b) {
    sc_x before_all = sc_f_full(t, X_INTS(t, 1), sc_x_int(t, -1), SC_DTYPE_I64);
    sc_x x[TRAVELLING] = {[KEPT] = b->is_there, [LAST] = before_all, [LOW] = b->low,
                          [HIGH] = b->high,     [AREAS] = b->areas,  [PLACES] = b->places};
    const sc_f_loop loop = {.carried = x,
                            .fixed = x + CARRIED,
                            .count = CARRIED,
                            .fixed_count = TRAVELLING - CARRIED,
                            .goes_on = is_any_waiting,
                            .turn = hide,
                            .user = &b->threshold};
    return sc_x_at(t, sc_f_while(t, &loop), KEPT);
}

// --- Both ----------------------------------------------------------------------------------------

static sc_x one_more(sc_trace *t, sc_x x, sc_x value) { return sc_f_pad(t, x, 0, 0, 1, value); }

static boxes in_order(sc_trace *t, sc_x dets, sc_x order, sc_dim count) {
    boxes b;
    sc_x sides = one_more(t, dets, sc_x_float(t, 0));
    sides = sc_f_transpose(t, CALL(t, index_select, sides, sc_x_int(t, 0), order), 0, 1);
    b.low = sc_f_slice_steps(t, sides, 0, 0, 2, 1);
    b.high = sc_f_slice_steps(t, sides, 0, 2, 2, 1);
    sc_x size = sc_f_sub(t, b.high, b.low), width = sc_f_select(t, size, 0, 0);
    b.areas = sc_f_mul(t, width, sc_f_select(t, size, 0, 1));
    b.places = sc_f_places(t, sc_trace_add(t, count, sc_dim_int(1)), 0, 1);
    b.is_there = CALL(t, lt_Scalar, b.places, sc_x_dim(t, count));
    return b;
}

// (dets, scores, iou_threshold)
sc_x sc_official_nms(sc_trace *t, const sc_x *a) {
    const sc_dim count = sc_x_size(a[0], 0);
    const double threshold = sc_x_real(a[2], NAN);
    if (!isfinite(threshold)) return sc_official_refuse(t);
    sc_x scores = one_more(t, a[1], sc_f_lowest(t, sc_x_dtype_of(a[1])));
    sc_x order = sc_official_order(t, scores, 0, true);
    boxes b = in_order(t, a[0], order, count);
    b.threshold = threshold;
    const bool are_few = sc_dim_range(count).max <= FEW;
    sc_x kept = are_few ? kept_of_few(t, &b) : kept_of_many(t, &b);
    sc_x best = CALL(t, masked_select, order, kept);
    sc_trace_take_size(t, best, 0);
    return best;
}
