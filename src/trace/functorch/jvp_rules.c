// Tangents that take more than an expression.
#include "trace/functorch/functorch.h"
#include "trace/words/arithmetic.h"
#include "trace/words/choose.h"
#include "trace/words/matrices.h"

#include <math.h>

// (tensors, dim): those without a tangent have zeros.
sc_x sc_jvp_cat(const sc_functorch_level *v, const sc_lifted *a, sc_x d) {
    sc_x *items = sc_new_array(v->t->arena, sc_x, a[0].x->count + 1);
    (void)d;
    for (uint32_t i = 0; i < a[0].x->count; i++) {
        const sc_lifted *item = &a[0].items[i];
        items[i] = item->tangent ? item->tangent : sc_f_zeros_of(v->t, item->x);
    }
    return CALL(v->t, cat, sc_x_list_of(v->t, items, a[0].x->count), a[1].x);
}

// (self, src, dim, start, end, step)
static sc_x scattered(const sc_functorch_level *v, const sc_lifted *a, sc_x self, sc_x src) {
    return CALL(v->t, slice_scatter, self, src, a[2].x, a[3].x, a[4].x, a[5].x);
}
sc_x sc_jvp_under(const sc_functorch_level *v, const sc_lifted *a, sc_x d) {
    return scattered(v, a, d, sc_f_zeros_of(v->t, a[1].x));
}
sc_x sc_jvp_over(const sc_functorch_level *v, const sc_lifted *a, sc_x d) {
    return scattered(v, a, sc_f_zeros_of(v->t, a[0].x), d);
}

// (self, exponent)
sc_x sc_jvp_power(const sc_functorch_level *v, const sc_lifted *a, sc_x d) {
    sc_trace *t = v->t;
    const double exponent = sc_x_real(a[1].x, NAN);
    if (!sc_x_is_number(a[1].x))
        return sc_trace_fail(t, SC_ERR_UNSUPPORTED, SC_FUNCTORCH_HINT,
                             "the tangent of a power that only the program knows is not supported");
    if (exponent == 0) return sc_f_zeros_of(t, d);
    sc_x less = CALL(t, pow_Tensor_Scalar, a[0].x, sc_x_float(t, exponent - 1));
    return sc_f_mul(t, d, sc_f_mul_number(t, less, exponent));
}

// out * log(self), in the dtype of the result.
static sc_x power_slope(const sc_functorch_level *v, sc_x self) {
    sc_trace *t = v->t;
    sc_x out = sc_trace_plain(t, v->node->outs[0]);
    if (sc_x_is_number(self)) return sc_f_mul_number(t, out, log(sc_x_real(self, NAN)));
    self =
        self->kind == SC_X_TENSOR ? sc_f_to_dtype_of(t, self, out) : sc_f_scalar_like(t, self, out);
    return sc_f_mul(t, out, CALL(t, log, self));
}

// (self, exponent), of which self may be a number: powers of zero stay where they are, but for
// negative ones.
sc_x sc_jvp_exponent(const sc_functorch_level *v, const sc_lifted *a, sc_x d) {
    sc_trace *t = v->t;
    sc_x zero = sc_x_int(t, 0), slope = power_slope(v, a[0].x);
    sc_x stays = CALL(t, ge_Scalar, a[1].x, zero);
    if (sc_x_is_number(a[0].x) && sc_x_real(a[0].x, NAN) != 0) return sc_f_mul(t, d, slope);
    if (a[0].x->kind == SC_X_TENSOR) stays = sc_f_and(t, CALL(t, eq_Scalar, a[0].x, zero), stays);
    return sc_f_mul(t, d, CALL(t, where_ScalarSelf, stays, zero, slope));
}

// (self, min, max), of which each may be missing
sc_x sc_jvp_clamp(const sc_functorch_level *v, const sc_lifted *a, sc_x d) {
    sc_trace *t = v->t;
    if (!sc_x_is_none(a[1].x))
        d = CALL(t, where_ScalarOther, CALL(t, ge_Scalar, a[0].x, a[1].x), d, sc_x_int(t, 0));
    if (!sc_x_is_none(a[2].x))
        d = CALL(t, where_ScalarOther, CALL(t, le_Scalar, a[0].x, a[2].x), d, sc_x_int(t, 0));
    return d;
}

// The tangent of the operand that the result equals, where bounds are tensors. With both bounds a
// number equal to one of them is inside, with one bound it is outside. If the bounds cross, the
// result is max.
static sc_x chosen(sc_trace *t, const sc_lifted *a, sc_x inside, sc_x least, sc_x most) {
    sc_x x = a[0].x, min = a[1].x, max = a[2].x;
    if (sc_x_is_none(max)) return sc_f_where(t, CALL(t, gt_Tensor, x, min), inside, least);
    if (sc_x_is_none(min)) return sc_f_where(t, CALL(t, lt_Tensor, x, max), inside, most);
    sc_x upper = sc_f_where(t, CALL(t, gt_Tensor, x, max), most, inside);
    sc_x both = sc_f_where(t, CALL(t, lt_Tensor, x, min), least, upper);
    return sc_f_where(t, CALL(t, gt_Tensor, min, max), most, both);
}
sc_x sc_jvp_clamped(const sc_functorch_level *v, const sc_lifted *a, sc_x d) {
    sc_x zeros = sc_f_zeros_of(v->t, d);
    return chosen(v->t, a, d, zeros, zeros);
}
sc_x sc_jvp_least(const sc_functorch_level *v, const sc_lifted *a, sc_x d) {
    sc_x zeros = sc_f_zeros_of(v->t, d);
    return chosen(v->t, a, zeros, d, zeros);
}
sc_x sc_jvp_most(const sc_functorch_level *v, const sc_lifted *a, sc_x d) {
    sc_x zeros = sc_f_zeros_of(v->t, d);
    return chosen(v->t, a, zeros, zeros, d);
}

// cdf(x) + x * pdf(x)
static sc_x gelu_slope(sc_trace *t, sc_x x) {
    sc_x whole =
        CALL(t, add_Scalar, CALL(t, erf, sc_f_mul_number(t, x, sqrt(0.5))), sc_x_int(t, 1));
    sc_x density = CALL(t, exp, sc_f_mul_number(t, sc_f_mul(t, x, x), -0.5));
    sc_x rest = sc_f_mul(t, x, sc_f_mul_number(t, density, 0.3989422804014327));
    return sc_f_add(t, sc_f_mul_number(t, whole, 0.5), rest);
}

// The slope of 0.5 x (1 + tanh(u)), u = k (x + c x^3).
static sc_x gelu_tanh_slope(sc_trace *t, sc_x x) {
    const double k = 0.7978845608028654, c = 0.044715;
    sc_x square = sc_f_mul(t, x, x), one = sc_x_int(t, 1);
    sc_x inner = sc_f_mul(t, x, CALL(t, add_Scalar, sc_f_mul_number(t, square, c), one));
    sc_x bent = CALL(t, tanh, sc_f_mul_number(t, inner, k));
    sc_x steep = CALL(t, rsub_Scalar, sc_f_mul(t, bent, bent), one);
    sc_x slope = sc_f_mul_number(t, CALL(t, add_Scalar, sc_f_mul_number(t, square, 3 * c), one), k);
    sc_x rest = sc_f_mul(t, x, sc_f_mul(t, steep, slope));
    return sc_f_mul_number(t, sc_f_add(t, CALL(t, add_Scalar, bent, one), rest), 0.5);
}

// (self, approximate)
sc_x sc_jvp_gelu(const sc_functorch_level *v, const sc_lifted *a, sc_x d) {
    const bool bent = a[1].x->kind == SC_X_STR && sc_str_is(a[1].x->str, "tanh");
    sc_x slope = bent ? gelu_tanh_slope(v->t, a[0].x) : gelu_slope(v->t, a[0].x);
    return sc_f_mul(v->t, d, slope);
}

// How many elements are reduced to one.
static sc_dim reduced(const sc_functorch_level *v, sc_x x, sc_x dims) {
    if (dims->kind != SC_X_LIST || dims->count == 0) return sc_x_numel(v->t, x);
    sc_dim count = sc_dim_int(1);
    for (uint32_t i = 0; i < dims->count; i++) {
        const uint32_t dim = sc_x_wrap(v->t, dims->items[i], sc_x_rank(x));
        count = sc_dim_mul(v->t->exprs, count, sc_x_size(x, dim));
    }
    return count;
}

// (self, dim, correction, keepdim): twice the covariance of the tensor and its tangent.
sc_x sc_jvp_variance(const sc_functorch_level *v, const sc_lifted *a, sc_x d) {
    sc_trace *t = v->t;
    const sc_dim count = reduced(v, a[0].x, a[1].x);
    if (count.expr)
        return sc_trace_fail(t, SC_ERR_UNSUPPORTED, SC_FUNCTORCH_HINT,
                             "the tangent of a variance over a dynamic size is not supported");
    sc_x centred = sc_f_sub(t, a[0].x, CALL(t, mean_dim, a[0].x, a[1].x, X_TRUE));
    sc_x sum = sc_f_sum(t, sc_f_mul(t, centred, d), a[1].x, sc_x_truth(a[3].x));
    return CALL(t, div_Scalar, sc_f_mul_number(t, sum, 2),
                sc_x_float(t, (double)count.value - sc_x_known(t, a[2].x, 1)));
}

// (self, dim, correction, keepdim)
sc_x sc_jvp_deviation(const sc_functorch_level *v, const sc_lifted *a, sc_x d) {
    sc_trace *t = v->t;
    sc_x out = sc_trace_plain(t, v->node->outs[0]), zero = sc_x_int(t, 0);
    sc_x variance = sc_jvp_variance(v, a, d);
    d = sc_f_div(t, variance, sc_f_mul_number(t, out, 2));
    return CALL(t, where_ScalarSelf, CALL(t, eq_Scalar, out, zero), zero, d);
}

// (self, eps): outside of [eps, 1 - eps] the tangent is zero; without eps it is NaN outside of [0,
// 1].
sc_x sc_jvp_logit(const sc_functorch_level *v, const sc_lifted *a, sc_x d) {
    sc_trace *t = v->t;
    const double eps = sc_x_known(t, a[1].x, -1), low = eps < 0 ? 0 : eps;
    sc_x x = a[0].x, rest = CALL(t, rsub_Scalar, x, sc_x_int(t, 1));
    sc_x above = CALL(t, ge_Scalar, x, sc_x_float(t, low));
    sc_x inside = sc_f_and(t, above, CALL(t, le_Scalar, x, sc_x_float(t, 1 - low)));
    d = sc_f_div(t, d, sc_f_mul(t, x, rest));
    return CALL(t, where_ScalarOther, inside, d, sc_x_float(t, eps < 0 ? NAN : 0));
}

// --- Norms of vectors ---------------------------------------------------------------------------

// The mean tangent of the elements with the largest or the smallest magnitude. NaN is the largest
// of all.
static sc_x extreme_tangent(sc_trace *t, sc_x x, sc_x d, sc_x dims, sc_x keepdim, bool is_most) {
    sc_x size = CALL(t, abs, x), signed_d = sc_f_mul(t, CALL(t, sign, x), d);
    sc_x all = dims->kind == SC_X_LIST ? dims : sc_x_dims(t, NULL, 0);
    sc_x end = is_most ? CALL(t, amax, size, all, X_TRUE) : CALL(t, amin, size, all, X_TRUE);
    sc_x is_nan = CALL(t, isnan, end), is_nan_here = CALL(t, isnan, x);
    is_nan = sc_f_and(t, is_nan_here, is_nan);
    sc_x is_end = sc_f_or(t, CALL(t, eq_Tensor, size, end), is_nan);
    sc_x picked = CALL(t, where_ScalarOther, is_end, signed_d, sc_x_int(t, 0));
    sc_x count = sc_f_sum(t, sc_f_to_dtype_of(t, is_end, d), dims, sc_x_truth(keepdim));
    return sc_f_div(t, sc_f_sum(t, picked, dims, sc_x_truth(keepdim)), count);
}

// The addend of each element, before the sum is divided: d sign(x) |x|^(p - 1), as PyTorch puts it.
static sc_x norm_part(sc_trace *t, sc_x x, sc_x d, double p) {
    if (p == 1) return sc_f_mul(t, CALL(t, sign, x), d);
    if (p == 2) return sc_f_mul(t, x, d);
    sc_x size = CALL(t, abs, x), zero = sc_x_int(t, 0);
    sc_x power = CALL(t, pow_Tensor_Scalar, size, sc_x_float(t, p < 2 ? p - 1 : p - 2));
    sc_x part = sc_f_mul(t, p < 2 ? CALL(t, sign, x) : x, d);
    part = sc_f_mul(t, part, power);
    return p < 1 ? CALL(t, where_ScalarSelf, CALL(t, eq_Scalar, x, zero), zero, part) : part;
}

// (self, ord, dim, keepdim, dtype): where the norm is zero, so is its tangent.
sc_x sc_jvp_vector_norm(const sc_functorch_level *v, const sc_lifted *a, sc_x d) {
    sc_trace *t = v->t;
    const double p = sc_x_known(t, a[1].x, 2);
    sc_x norm = sc_trace_plain(t, v->node->outs[0]), zero = sc_x_int(t, 0);
    const sc_dtype wide = sc_f_opmath(sc_x_dtype_of(norm));
    sc_x x = sc_f_to(t, a[0].x, wide), dims = a[2].x;
    if (dims->kind == SC_X_LIST && dims->count == 0) dims = X_NONE;
    d = sc_f_to(t, d, wide);
    if (p == 0) return sc_f_zeros_of(t, norm);
    if (isinf(p)) return extreme_tangent(t, x, d, dims, a[3].x, p > 0);
    sc_x sum = sc_f_sum(t, norm_part(t, x, d, p), dims, sc_x_truth(a[3].x));
    if (p == 1) return sum;
    norm = sc_f_to(t, norm, wide);
    sc_x power = p == 2 ? norm : CALL(t, pow_Tensor_Scalar, norm, sc_x_float(t, fabs(p - 1)));
    d = p < 1 ? sc_f_mul(t, sum, power) : sc_f_div(t, sum, power);
    return CALL(t, where_ScalarSelf, CALL(t, eq_Scalar, norm, zero), zero, d);
}

// --- Norms ---------------------------------------------------------------------------------------

// The tangent of `normal`, which is x with a mean of 0 and a variance of 1 along some dims. It has
// neither a mean nor a part along `normal`. The spread is computed again: the call's own has no
// tangent, which another level may want.
static sc_x normal_tangent(sc_trace *t, sc_x normal, sc_x x, sc_x d, sc_x dims, sc_x eps) {
    sc_x variance = CALL(t, var_correction, x, dims, sc_x_int(t, 0), X_TRUE);
    sc_x spread = CALL(t, rsqrt, CALL(t, add_Scalar, variance, eps));
    sc_x along = CALL(t, mean_dim, sc_f_mul(t, d, normal), dims, X_TRUE);
    sc_x centred = sc_f_sub(t, d, CALL(t, mean_dim, d, dims, X_TRUE));
    sc_x across = sc_f_sub(t, centred, sc_f_mul(t, normal, along));
    return sc_f_mul(t, across, spread);
}

static sc_x weighted(sc_trace *t, sc_x x, sc_x weight) {
    return sc_x_is_tensor(weight) ? sc_f_mul(t, x, weight) : x;
}

// (input, normalized_shape, weight, bias, eps)
sc_x sc_jvp_norm(const sc_functorch_level *v, const sc_lifted *a, sc_x d) {
    sc_trace *t = v->t;
    int64_t last[SC_RANK_MAX];
    const uint32_t count = a[1].x->kind == SC_X_LIST ? a[1].x->count : 0;
    for (uint32_t i = 0; i < count && i < SC_RANK_MAX; i++) last[i] = -1 - (int64_t)i;
    sc_x dims = sc_x_ints(t, last, count);
    sc_x normal = sc_x_at(t, CALL(t, native_layer_norm, a[0].x, a[1].x, X_NONE, X_NONE, a[4].x), 0);
    return weighted(t, normal_tangent(t, normal, a[0].x, d, dims, a[4].x), a[2].x);
}

// One number a channel, below `rank` dims.
static sc_x of_channels(sc_trace *t, sc_x x, uint32_t rank) {
    sc_dim sizes[SC_RANK_MAX];
    if (!sc_x_is_tensor(x)) return x;
    for (uint32_t i = 0; i < rank; i++) sizes[i] = sc_dim_int(1);
    if (rank > 1) sizes[1] = sc_x_size(x, 0);
    return sc_f_reshape(t, x, sizes, rank);
}

sc_x sc_jvp_bias(const sc_functorch_level *v, const sc_lifted *a, sc_x d) {
    (void)a;
    return of_channels(v->t, d, v->node->outs[0]->spec.rank);
}

// (input, weight, bias, N, C, HxW, group, eps)
static sc_x group_normal(const sc_functorch_level *v, const sc_lifted *a) {
    return sc_x_at(v->t,
                   CALL(v->t, native_group_norm, a[0].x, X_NONE, X_NONE, a[3].x, a[4].x, a[5].x,
                        a[6].x, a[7].x),
                   0);
}
sc_x sc_jvp_group_norm(const sc_functorch_level *v, const sc_lifted *a, sc_x d) {
    sc_trace *t = v->t;
    const sc_spec *spec = sc_x_spec(a[0].x);
    sc_x groups = X_LIST(t, a[3].x, a[6].x, sc_x_int(t, -1)), last = X_LIST(t, sc_x_int(t, -1));
    sc_x normal = CALL(t, reshape, group_normal(v, a), groups);
    sc_x x = CALL(t, reshape, a[0].x, groups);
    d = normal_tangent(t, normal, x, CALL(t, reshape, d, groups), last, a[7].x);
    d = sc_f_reshape(t, d, spec->sizes, spec->rank);
    return weighted(t, d, of_channels(t, a[1].x, spec->rank));
}
sc_x sc_jvp_group_weight(const sc_functorch_level *v, const sc_lifted *a, sc_x d) {
    d = of_channels(v->t, d, sc_x_rank(a[0].x));
    return sc_f_mul(v->t, group_normal(v, a), d);
}

// (input, weight, bias, training, momentum, eps)
static sc_x batch_normal(const sc_functorch_level *v, const sc_lifted *a) {
    return sc_x_at(v->t,
                   CALL(v->t, _native_batch_norm_legit_no_stats, a[0].x, X_NONE, X_NONE, a[3].x,
                        a[4].x, a[5].x),
                   0);
}
sc_x sc_jvp_batch_norm(const sc_functorch_level *v, const sc_lifted *a, sc_x d) {
    const uint32_t rank = sc_x_rank(a[0].x);
    int64_t dims[SC_RANK_MAX] = {0};
    for (uint32_t i = 2; i < rank; i++) dims[i - 1] = i;
    sc_x all = sc_x_ints(v->t, dims, rank > 1 ? rank - 1 : 1);
    d = normal_tangent(v->t, batch_normal(v, a), a[0].x, d, all, a[5].x);
    return weighted(v->t, d, of_channels(v->t, a[1].x, rank));
}
sc_x sc_jvp_batch_weight(const sc_functorch_level *v, const sc_lifted *a, sc_x d) {
    d = of_channels(v->t, d, sc_x_rank(a[0].x));
    return sc_f_mul(v->t, batch_normal(v, a), d);
}

// --- Pools ---------------------------------------------------------------------------------------

// The tangents of the elements that the windows chose, by their places in the plane.
sc_x sc_jvp_window(const sc_functorch_level *v, const sc_lifted *a, sc_x d) {
    sc_trace *t = v->t;
    sc_x low = sc_x_int(t, -2), high = sc_x_int(t, -1), at = sc_trace_plain(t, v->node->outs[1]);
    const sc_spec *out = sc_x_spec(at);
    (void)a;
    d = CALL(t, flatten_using_ints, d, low, high);
    d = CALL(t, gather, d, high, CALL(t, flatten_using_ints, at, low, high));
    return sc_f_reshape(t, d, out->sizes, out->rank);
}

// --- Matrices ------------------------------------------------------------------------------------

// (A, B, left): minus the solution for the tangent times the solution.
sc_x sc_jvp_solve(const sc_functorch_level *v, const sc_lifted *a, sc_x d) {
    sc_trace *t = v->t;
    sc_x out = sc_trace_plain(t, v->node->outs[0]);
    const bool left = sc_x_truth(a[2].x), is_vector = sc_x_rank(out) < sc_x_rank(d);
    const int64_t dim = left ? -1 : -2;
    if (is_vector) out = sc_f_unsqueeze(t, out, dim);
    sc_x product = left ? sc_f_matrix_product(t, d, out) : sc_f_matrix_product(t, out, d);
    sc_x x = sc_x_at(t, CALL(t, linalg_solve_ex, a[0].x, product, a[2].x), 0);
    return CALL(t, neg, is_vector ? sc_f_squeeze(t, x, dim) : x);
}

// (self, upper): of L L' = A, L times the lower half of inv(L) dA inv(L').
sc_x sc_jvp_cholesky(const sc_functorch_level *v, const sc_lifted *a, sc_x d) {
    sc_trace *t = v->t;
    const bool upper = sc_x_truth(a[1].x);
    sc_x out = sc_trace_plain(t, v->node->outs[0]);
    sc_x l = upper ? sc_f_transposed(t, out) : out, u = upper ? out : sc_f_transposed(t, out);
    sc_x half = CALL(t, linalg_solve_triangular, l, d, X_FALSE, X_TRUE);
    sc_x whole = CALL(t, linalg_solve_triangular, u, half, X_TRUE, X_FALSE);
    sc_x below = CALL(t, tril, whole, sc_x_int(t, -1));
    sc_x twice = sc_f_add(t, below, CALL(t, tril, whole));
    d = sc_f_matrix_product(t, l, sc_f_mul_number(t, twice, 0.5));
    return upper ? sc_f_transposed(t, d) : d;
}

// (A): of the square factors P L U = A, L times what inv(L) P' dA inv(U) has below the diagonal,
// and the rest of it times U.
sc_x sc_jvp_lu(const sc_functorch_level *v, const sc_lifted *a, sc_x d) {
    sc_trace *t = v->t;
    const sc_spec *spec = sc_x_spec(a[0].x);
    if (spec->rank < 2 || !sc_dim_equal(sc_x_size(a[0].x, -1), sc_x_size(a[0].x, -2)))
        return sc_trace_fail(t, SC_ERR_UNSUPPORTED, SC_FUNCTORCH_HINT,
                             "the tangent of an LU factorisation is supported of square matrices "
                             "only");
    sc_x plu = CALL(t, lu_unpack, sc_trace_plain(t, v->node->outs[0]),
                    sc_trace_plain(t, v->node->outs[1]));
    sc_x l = sc_x_at(t, plu, 1), u = sc_x_at(t, plu, 2);
    d = sc_f_matrix_product(t, sc_f_transposed(t, sc_x_at(t, plu, 0)), d);
    sc_x half = CALL(t, linalg_solve_triangular, l, d, X_FALSE, X_TRUE);
    sc_x whole = CALL(t, linalg_solve_triangular, u, half, X_TRUE, X_FALSE);
    sc_x below = sc_f_matrix_product(t, l, CALL(t, tril, whole, sc_x_int(t, -1)));
    return sc_f_add(t, below, sc_f_matrix_product(t, CALL(t, triu, whole), u));
}
