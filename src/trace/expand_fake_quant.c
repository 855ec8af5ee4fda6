// Expansions of rounding as quantization would, by scales that are tensors, with a mask of what was
// in range.
#include "trace/expand.h"

// One number for each slice along the axis, or one for all.
static sc_x along(sc_trace *t, sc_x x, sc_x of, sc_x axis) {
    sc_dim sizes[SC_RANK_MAX];
    uint32_t rank = sc_x_rank(of), dim = sc_x_wrap(t, axis, rank);
    if (sc_x_rank(x) != 1)
        return sc_trace_fail(t, SC_ERR_SHAPE, NULL, "scales and zero points are vectors");
    for (uint32_t i = 0; i < rank; i++) sizes[i] = i == dim ? sc_x_size(x, 0) : sc_dim_int(1);
    return sc_f_view(t, x, sizes, rank);
}

// What is rounded, and whether it was in range.
static sc_x rounded(sc_trace *t, sc_x x, sc_x scale, sc_x zero, sc_x low, sc_x high) {
    const sc_dtype dtype = sc_x_dtype_of(x), wide = sc_f_opmath(dtype);
    if (!sc_x_is_float(x))
        return sc_trace_fail(t, SC_ERR_DTYPE, NULL, "only floating-point tensors are rounded");
    sc_x inverse = CALL(t, reciprocal, sc_f_to(t, scale, wide));
    sc_x q = CALL(t, mul_Tensor, sc_f_to(t, x, wide), inverse);
    bool whole = !sc_x_is_float(zero);
    zero = sc_f_to(t, zero, wide);
    q = whole ? CALL(t, add_Tensor, CALL(t, round, q), zero)
              : CALL(t, round, CALL(t, add_Tensor, q, zero));
    sc_x inside = CALL(t, logical_and, CALL(t, ge_Scalar, q, low), CALL(t, le_Scalar, q, high));
    sc_x out = CALL(t, sub_Tensor, CALL(t, clamp, q, low, high), zero);
    out = CALL(t, mul_Tensor, out, sc_f_to(t, scale, wide));
    return X_LIST(t, sc_f_to(t, out, dtype), inside);
}

static sc_x single(sc_trace *t, sc_x x) {
    return sc_x_rank(x) ? CALL(t, view, x, sc_x_list(t, NULL, 0)) : x;
}

// (self, scale, zero_point, quant_min, quant_max), numbers
sc_x sc_expand_fake_quantize_mask(sc_trace *t, const sc_x *a) {
    sc_x scale = sc_f_scalar(t, a[1], SC_DTYPE_F32), zero = sc_f_scalar(t, a[2], SC_DTYPE_I32);
    return rounded(t, a[0], scale, zero, a[3], a[4]);
}

// The same, tensors of one element
sc_x sc_expand_fake_quantize_tensors(sc_trace *t, const sc_x *a) {
    return sc_x_at(t, rounded(t, a[0], single(t, a[1]), single(t, a[2]), a[3], a[4]), 0);
}

// (self, scale, zero_point, fake_quant_enabled, quant_min, quant_max)
sc_x sc_expand_fake_quantize_switched(sc_trace *t, const sc_x *a) {
    sc_x both = rounded(t, a[0], single(t, a[1]), single(t, a[2]), a[4], a[5]);
    sc_x on = CALL(t, ge_Scalar, single(t, a[3]), sc_x_int(t, 1));
    sc_x out = CALL(t, where_self, on, sc_x_at(t, both, 0), a[0]);
    sc_x off = CALL(t, logical_not, on);
    return X_LIST(t, out, CALL(t, logical_or, sc_x_at(t, both, 1), off));
}

// (self, scale, zero_point, axis, quant_min, quant_max)
sc_x sc_expand_fake_quantize_channels(sc_trace *t, const sc_x *a) {
    sc_x scale = along(t, a[1], a[0], a[3]), zero = along(t, a[2], a[0], a[3]);
    return rounded(t, a[0], scale, zero, a[4], a[5]);
}

// Zero points that are learned are floats, of which the nearest integer in range is taken.
static sc_x learned_zero(sc_trace *t, sc_x zero, sc_x low, sc_x high) {
    return sc_f_to(t, CALL(t, clamp, CALL(t, round, zero), low, high), SC_DTYPE_I32);
}

// (self, scale, zero_point, quant_min, quant_max, grad_factor)
sc_x sc_expand_fake_quantize_learned(sc_trace *t, const sc_x *a) {
    sc_x zero = learned_zero(t, single(t, a[2]), a[3], a[4]);
    return sc_x_at(t, rounded(t, a[0], single(t, a[1]), zero, a[3], a[4]), 0);
}

// (self, scale, zero_point, axis, quant_min, quant_max, grad_factor)
sc_x sc_expand_fake_quantize_learned_channels(sc_trace *t, const sc_x *a) {
    sc_x zero = along(t, learned_zero(t, a[2], a[4], a[5]), a[0], a[3]);
    return sc_x_at(t, rounded(t, a[0], along(t, a[1], a[0], a[3]), zero, a[4], a[5]), 0);
}
