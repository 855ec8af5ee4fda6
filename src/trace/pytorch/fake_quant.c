// Expansions of rounding as quantization would, some with a mask of what was in range.
#include <math.h>

#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"
#include "trace/words/choose.h"

// One number for each slice along the axis, or one for all.
static sc_x along(sc_trace *t, sc_x x, sc_x of, sc_x axis) {
    sc_dim sizes[SC_RANK_MAX];
    uint32_t rank = sc_x_rank(of), dim = sc_x_wrap(t, axis, rank);
    if (sc_x_rank(x) != 1)
        return sc_trace_fail(t, SC_ERR_SHAPE, NULL, "scales and zero points are vectors");
    for (uint32_t i = 0; i < rank; i++) sizes[i] = i == dim ? sc_x_size(x, 0) : sc_dim_int(1);
    return sc_f_view(t, x, sizes, rank);
}

// The grid that numbers are rounded to: integers from `low` to `high`, of which `zero` stands for
// 0, and `scale` is the distance of two. Numbers, or tensors in the dtype that is computed in.
typedef struct grid {
    sc_x scale, inverse, zero, low, high;
    bool has_whole_zero;
    bool adds_at_once;  // scaling and adding a zero that is no integer round once
    bool keeps_nan;     // else it becomes the lowest
    bool overflows;     // so does what no int64 holds
} grid;

static grid grid_of_tensors(sc_trace *t, sc_x x, sc_x scale, sc_x zero, sc_x low, sc_x high) {
    const sc_dtype wide = sc_f_opmath(sc_x_dtype_of(x));
    const bool is_whole = !sc_x_is_float(zero);
    const bool at_once = sc_x_dtype_of(zero) == SC_DTYPE_F32 && wide == SC_DTYPE_F32;
    scale = sc_f_to(t, scale, wide);
    sc_x inverse = CALL(t, reciprocal, scale);
    zero = sc_f_to(t, zero, wide);
    return (grid){
        scale, inverse, zero, low, high, .has_whole_zero = is_whole, .adds_at_once = at_once};
}

static grid grid_of_numbers(sc_trace *t, sc_x scale, sc_x zero, sc_x low, sc_x high) {
    const float given = (float)sc_x_known(t, scale, 0);
    if (!(given > 0) || !isfinite(given))
        sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "a scale of %g", (double)given);
    sc_x inverse = sc_x_float(t, (double)(1.0f / given));
    return (grid){sc_x_float(t, (double)given), inverse, zero, low, high, .has_whole_zero = true};
}

static sc_x minus(sc_trace *t, sc_x x, sc_x y) {
    return sc_x_is_tensor(y) ? sc_f_sub(t, x, y) : CALL(t, sub_Scalar, x, y);
}

// Products of float32 are exact in float64.
static sc_x scaled_at_once(sc_trace *t, sc_x x, const grid *g) {
    sc_x wide = sc_f_to(t, x, SC_DTYPE_F64), inverse = sc_f_to(t, g->inverse, SC_DTYPE_F64);
    sc_x q = sc_f_mul_by(t, wide, inverse);
    return sc_f_to(t, sc_f_add_by(t, q, sc_f_to(t, g->zero, SC_DTYPE_F64)), SC_DTYPE_F32);
}

// The nearest whole numbers, in range or not.
static sc_x nearest(sc_trace *t, sc_x x, const grid *g) {
    if (!sc_x_is_float(x))
        return sc_trace_fail(t, SC_ERR_DTYPE, NULL, "only floating-point tensors are rounded");
    if (g->adds_at_once) return CALL(t, round, scaled_at_once(t, x, g));
    sc_x q = sc_f_mul_by(t, sc_f_widen(t, x), g->inverse);
    if (g->has_whole_zero) return sc_f_add_by(t, CALL(t, round, q), g->zero);
    return CALL(t, round, sc_f_add_by(t, q, g->zero));
}

static sc_x is_lost(sc_trace *t, sc_x q, const grid *g) {
    if (!g->overflows) return CALL(t, isnan, q);
    return sc_f_not(t, sc_f_lt_number(t, q, 0x1p63));
}

static sc_x back(sc_trace *t, sc_x q, const grid *g, sc_dtype dtype) {
    if (!g->keeps_nan) q = sc_f_where_number(t, is_lost(t, q, g), sc_x_known(t, g->low, 0), q);
    sc_x x = minus(t, CALL(t, clamp, q, g->low, g->high), g->zero);
    return sc_f_to(t, sc_f_mul_by(t, x, g->scale), dtype);
}

static sc_x rounded(sc_trace *t, sc_x x, grid g) {
    return back(t, nearest(t, x, &g), &g, sc_x_dtype_of(x));
}

// And whether it was in range.
static sc_x rounded_and_mask(sc_trace *t, sc_x x, grid g) {
    sc_x q = nearest(t, x, &g), above = CALL(t, ge_Scalar, q, g.low);
    sc_x inside = sc_f_and(t, above, CALL(t, le_Scalar, q, g.high));
    return X_LIST(t, back(t, q, &g, sc_x_dtype_of(x)), inside);
}

static sc_x single(sc_trace *t, sc_x x) {
    return sc_x_rank(x) ? CALL(t, view, x, sc_x_list(t, NULL, 0)) : x;
}

// (self, scale, zero_point, quant_min, quant_max), numbers
sc_x sc_expand_fake_quantize_tensor(sc_trace *t, const sc_x *a) {
    return rounded(t, a[0], grid_of_numbers(t, a[1], a[2], a[3], a[4]));
}
sc_x sc_expand_fake_quantize_mask(sc_trace *t, const sc_x *a) {
    return rounded_and_mask(t, a[0], grid_of_numbers(t, a[1], a[2], a[3], a[4]));
}

// The same, tensors of one element
sc_x sc_expand_fake_quantize_tensors(sc_trace *t, const sc_x *a) {
    sc_x scale = single(t, a[1]), zero = single(t, a[2]);
    return rounded(t, a[0], grid_of_tensors(t, a[0], scale, zero, a[3], a[4]));
}

// (self, scale, zero_point, fake_quant_enabled, quant_min, quant_max)
sc_x sc_expand_fake_quantize_switched(sc_trace *t, const sc_x *a) {
    sc_x scale = single(t, a[1]), zero = single(t, a[2]);
    sc_x both = rounded_and_mask(t, a[0], grid_of_tensors(t, a[0], scale, zero, a[4], a[5]));
    sc_x on = CALL(t, ge_Scalar, single(t, a[3]), sc_x_int(t, 1));
    sc_x out = sc_f_where(t, on, sc_x_at(t, both, 0), a[0]);
    sc_x off = sc_f_not(t, on);
    return X_LIST(t, out, sc_f_or(t, sc_x_at(t, both, 1), off));
}

// (self, scale, zero_point, axis, quant_min, quant_max)
static grid grid_of_channels(sc_trace *t, const sc_x *a, sc_x zeros) {
    sc_x scale = along(t, a[1], a[0], a[3]), zero = along(t, zeros, a[0], a[3]);
    grid g = grid_of_tensors(t, a[0], scale, zero, a[4], a[5]);
    g.overflows = true;
    return g;
}
sc_x sc_expand_fake_quantize_channels(sc_trace *t, const sc_x *a) {
    return rounded_and_mask(t, a[0], grid_of_channels(t, a, a[2]));
}

// quantized_decomposed's operator: zero points are truncated to integers, and NaN stays.
sc_x sc_expand_fake_quant_per_channel(sc_trace *t, const sc_x *a) {
    grid g = grid_of_channels(t, a, sc_f_to(t, a[2], SC_DTYPE_I32));
    g.keeps_nan = true;
    return rounded(t, a[0], g);
}

// Zero points that are learned are floats, of which the nearest integer in range is taken.
static sc_x learned_zero(sc_trace *t, sc_x zero, sc_x low, sc_x high) {
    return sc_f_to(t, CALL(t, clamp, CALL(t, round, zero), low, high), SC_DTYPE_I32);
}

// (self, scale, zero_point, quant_min, quant_max, grad_factor)
sc_x sc_expand_fake_quantize_learned(sc_trace *t, const sc_x *a) {
    sc_x zero = learned_zero(t, single(t, a[2]), a[3], a[4]);
    return rounded(t, a[0], grid_of_tensors(t, a[0], single(t, a[1]), zero, a[3], a[4]));
}

// (self, scale, zero_point, axis, quant_min, quant_max, grad_factor)
sc_x sc_expand_fake_quantize_learned_channels(sc_trace *t, const sc_x *a) {
    return rounded(t, a[0], grid_of_channels(t, a, learned_zero(t, a[2], a[4], a[5])));
}
