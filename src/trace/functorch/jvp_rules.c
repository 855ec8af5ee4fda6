// Tangents that take more than an expression.
#include "trace/functorch/functorch.h"

#include <math.h>

static sc_x times(sc_trace *t, sc_x x, double factor) {
    return CALL(t, mul_Scalar, x, sc_x_float(t, factor));
}

sc_x sc_jvp_zeros(sc_trace *t, sc_x x) {
    return sc_f_zeros(t, sc_x_sizes(t, x, 0, sc_x_rank(x)), sc_x_dtype_of(x));
}

// (tensors, dim): those without a tangent have zeros.
sc_x sc_jvp_cat(const sc_level *v, const sc_lifted *a, sc_x d) {
    sc_x *items = sc_new_array(v->t->arena, sc_x, a[0].x->count + 1);
    (void)d;
    for (uint32_t i = 0; i < a[0].x->count; i++) {
        const sc_lifted *item = &a[0].items[i];
        items[i] = item->tangent ? item->tangent : sc_jvp_zeros(v->t, item->x);
    }
    return CALL(v->t, cat, sc_x_list_of(v->t, items, a[0].x->count), a[1].x);
}

// One number a channel, below images.
sc_x sc_jvp_bias(const sc_level *v, const sc_lifted *a, sc_x d) {
    sc_dim sizes[SC_RANK_MAX];
    const uint32_t rank = v->node->outs[0]->spec.rank;
    (void)a;
    for (uint32_t i = 0; i < rank; i++) sizes[i] = sc_dim_int(1);
    if (rank > 1) sizes[1] = sc_x_size(d, 0);
    return sc_f_reshape(v->t, d, sizes, rank);
}

// (self, src, dim, start, end, step)
static sc_x scattered(const sc_level *v, const sc_lifted *a, sc_x self, sc_x src) {
    return CALL(v->t, slice_scatter, self, src, a[2].x, a[3].x, a[4].x, a[5].x);
}
sc_x sc_jvp_under(const sc_level *v, const sc_lifted *a, sc_x d) {
    return scattered(v, a, d, sc_jvp_zeros(v->t, a[1].x));
}
sc_x sc_jvp_over(const sc_level *v, const sc_lifted *a, sc_x d) {
    return scattered(v, a, sc_jvp_zeros(v->t, a[0].x), d);
}

// (self, exponent)
sc_x sc_jvp_power(const sc_level *v, const sc_lifted *a, sc_x d) {
    sc_trace *t = v->t;
    const double exponent = sc_x_real(a[1].x, NAN);
    if (!sc_x_is_number(a[1].x))
        return sc_trace_fail(t, SC_ERR_UNSUPPORTED, SC_FUNCTORCH_HINT,
                             "the tangent of a power that only the program knows is not supported");
    if (exponent == 0) return sc_jvp_zeros(t, d);
    sc_x less = CALL(t, pow_Tensor_Scalar, a[0].x, sc_x_float(t, exponent - 1));
    return CALL(t, mul_Tensor, d, times(t, less, exponent));
}

// out * log(self), in the dtype of the result.
static sc_x power_slope(const sc_level *v, sc_x self) {
    sc_trace *t = v->t;
    sc_x out = sc_trace_plain(t, v->node->outs[0]);
    if (sc_x_is_number(self)) return times(t, out, log(sc_x_real(self, NAN)));
    self = self->kind == SC_X_TENSOR ? sc_f_to(t, self, sc_x_dtype_of(out))
                                     : sc_f_scalar(t, self, sc_x_dtype_of(out));
    return CALL(t, mul_Tensor, out, CALL(t, log, self));
}

// (self, exponent), of which self may be a number: powers of zero stay where they are, but for
// negative ones.
sc_x sc_jvp_exponent(const sc_level *v, const sc_lifted *a, sc_x d) {
    sc_trace *t = v->t;
    sc_x zero = sc_x_int(t, 0), slope = power_slope(v, a[0].x);
    sc_x stays = CALL(t, ge_Scalar, a[1].x, zero);
    if (sc_x_is_number(a[0].x) && sc_x_real(a[0].x, NAN) != 0) return CALL(t, mul_Tensor, d, slope);
    if (a[0].x->kind == SC_X_TENSOR)
        stays = CALL(t, logical_and, CALL(t, eq_Scalar, a[0].x, zero), stays);
    return CALL(t, mul_Tensor, d, CALL(t, where_ScalarSelf, stays, zero, slope));
}

// (self, min, max), of which each may be missing
sc_x sc_jvp_clamp(const sc_level *v, const sc_lifted *a, sc_x d) {
    sc_trace *t = v->t;
    if (!sc_x_is_none(a[1].x))
        d = CALL(t, where_ScalarOther, CALL(t, ge_Scalar, a[0].x, a[1].x), d, sc_x_int(t, 0));
    if (!sc_x_is_none(a[2].x))
        d = CALL(t, where_ScalarOther, CALL(t, le_Scalar, a[0].x, a[2].x), d, sc_x_int(t, 0));
    return d;
}

// cdf(x) + x * pdf(x)
static sc_x gelu_slope(sc_trace *t, sc_x x) {
    sc_x whole = CALL(t, add_Scalar, CALL(t, erf, times(t, x, sqrt(0.5))), sc_x_int(t, 1));
    sc_x density = CALL(t, exp, times(t, CALL(t, mul_Tensor, x, x), -0.5));
    sc_x rest = CALL(t, mul_Tensor, x, times(t, density, 0.3989422804014327));
    return CALL(t, add_Tensor, times(t, whole, 0.5), rest);
}

// Of 0.5 x (1 + tanh(u)), u = k (x + c x^3).
static sc_x gelu_tanh_slope(sc_trace *t, sc_x x) {
    const double k = 0.7978845608028654, c = 0.044715;
    sc_x square = CALL(t, mul_Tensor, x, x), one = sc_x_int(t, 1);
    sc_x inner = CALL(t, mul_Tensor, x, CALL(t, add_Scalar, times(t, square, c), one));
    sc_x bent = CALL(t, tanh, times(t, inner, k));
    sc_x steep = CALL(t, rsub_Scalar, CALL(t, mul_Tensor, bent, bent), one);
    sc_x slope = times(t, CALL(t, add_Scalar, times(t, square, 3 * c), one), k);
    sc_x rest = CALL(t, mul_Tensor, x, CALL(t, mul_Tensor, steep, slope));
    return times(t, CALL(t, add_Tensor, CALL(t, add_Scalar, bent, one), rest), 0.5);
}

// (self, approximate)
sc_x sc_jvp_gelu(const sc_level *v, const sc_lifted *a, sc_x d) {
    const bool bent = a[1].x->kind == SC_X_STR && sc_str_is(a[1].x->str, "tanh");
    sc_x slope = bent ? gelu_tanh_slope(v->t, a[0].x) : gelu_slope(v->t, a[0].x);
    return CALL(v->t, mul_Tensor, d, slope);
}

// How many elements are reduced to one.
static sc_dim reduced(const sc_level *v, sc_x x, sc_x dims) {
    if (dims->kind != SC_X_LIST || dims->count == 0) return sc_x_numel(v->t, x);
    sc_dim count = sc_dim_int(1);
    for (uint32_t i = 0; i < dims->count; i++) {
        const uint32_t dim = sc_x_wrap(v->t, dims->items[i], sc_x_rank(x));
        count = sc_dim_mul(v->t->exprs, count, sc_x_size(x, dim));
    }
    return count;
}

// (self, dim, correction, keepdim): twice the covariance of the tensor and its tangent.
sc_x sc_jvp_variance(const sc_level *v, const sc_lifted *a, sc_x d) {
    sc_trace *t = v->t;
    const sc_dim count = reduced(v, a[0].x, a[1].x);
    if (count.expr)
        return sc_trace_fail(t, SC_ERR_UNSUPPORTED, SC_FUNCTORCH_HINT,
                             "the tangent of a variance over a dynamic size is not supported");
    sc_x centred = CALL(t, sub_Tensor, a[0].x, CALL(t, mean_dim, a[0].x, a[1].x, X_TRUE));
    sc_x sum = sc_f_sum(t, CALL(t, mul_Tensor, centred, d), a[1].x, sc_x_truth(a[3].x));
    return CALL(t, div_Scalar, times(t, sum, 2),
                sc_x_float(t, (double)count.value - sc_x_known(t, a[2].x, 1)));
}

// (input, normalized_shape, weight, bias, eps): the normalized tensor's tangent has neither a mean
// nor a part along the normalized tensor. Mean and spread are computed again: the call's own have
// no tangents, which another level may want.
sc_x sc_jvp_norm(const sc_level *v, const sc_lifted *a, sc_x d) {
    sc_trace *t = v->t;
    int64_t last[SC_RANK_MAX];
    const uint32_t count = a[1].x->kind == SC_X_LIST ? a[1].x->count : 0;
    for (uint32_t i = 0; i < count && i < SC_RANK_MAX; i++) last[i] = -1 - (int64_t)i;
    sc_x dims = sc_x_ints(t, last, count);
    sc_x normal = sc_x_at(t, CALL(t, native_layer_norm, a[0].x, a[1].x, X_NONE, X_NONE, a[4].x), 0);
    sc_x variance = CALL(t, var_correction, a[0].x, dims, sc_x_int(t, 0), X_TRUE);
    sc_x spread = CALL(t, rsqrt, CALL(t, add_Scalar, variance, a[4].x));
    sc_x along = CALL(t, mean_dim, CALL(t, mul_Tensor, d, normal), dims, X_TRUE);
    sc_x centred = CALL(t, sub_Tensor, d, CALL(t, mean_dim, d, dims, X_TRUE));
    sc_x across = CALL(t, sub_Tensor, centred, CALL(t, mul_Tensor, normal, along));
    sc_x x = CALL(t, mul_Tensor, across, spread);
    return sc_x_is_tensor(a[2].x) ? CALL(t, mul_Tensor, x, a[2].x) : x;
}
