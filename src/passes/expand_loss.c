// Expansions of losses and distances.
#include "passes/expand.h"

static sc_x widen(sc_trace *t, sc_x x) { return f_to(t, x, f_opmath(x_dtype_of(x))); }

static sc_x reduced(sc_trace *t, sc_x loss, sc_x reduction, sc_x like) {
    return f_to(t, f_reduce_loss(t, loss, reduction), x_dtype_of(like));
}

// --- Elementwise --------------------------------------------------------------------------------

sc_x sc_expand_mse_loss(sc_trace *t, const sc_x *a) {
    sc_x x = widen(t, a[0]), y = widen(t, a[1]);
    return reduced(t, T(pow_Tensor_Scalar, T(sub_Tensor, x, y), X_INT(2)), a[2], a[0]);
}

sc_x sc_expand_l1_loss(sc_trace *t, const sc_x *a) {
    return f_reduce_loss(t, T(abs, T(sub_Tensor, a[0], a[1])), a[2]);
}

sc_x sc_expand_smooth_l1_loss(sc_trace *t, const sc_x *a) {
    double beta = x_real(a[3], 1.0);
    sc_x x = widen(t, a[0]), y = widen(t, a[1]);
    sc_x loss = T(abs, T(sub_Tensor, x, y));
    if (beta == 0) return reduced(t, loss, a[2], a[0]);
    sc_x small = T(lt_Scalar, loss, X_FLOAT(beta));
    sc_x square = T(mul_Tensor, T(pow_Tensor_Scalar, loss, X_INT(2)), X_FLOAT(0.5));
    square = T(div_Tensor, square, X_FLOAT(beta));
    sc_x line = T(sub_Tensor, loss, X_FLOAT(0.5 * beta));
    return reduced(t, T(where_self, small, square, line), a[2], a[0]);
}

sc_x sc_expand_huber_loss(sc_trace *t, const sc_x *a) {
    double delta = x_real(a[3], 1.0);
    sc_x x = widen(t, a[0]), y = widen(t, a[1]);
    sc_x z = T(abs, T(sub_Tensor, x, y));
    sc_x small = T(lt_Scalar, z, X_FLOAT(delta));
    sc_x square = T(mul_Tensor, T(mul_Tensor, z, X_FLOAT(0.5)), z);
    sc_x line = T(mul_Tensor, T(sub_Tensor, z, X_FLOAT(0.5 * delta)), X_FLOAT(delta));
    return reduced(t, T(where_self, small, square, line), a[2], a[0]);
}

sc_x sc_expand_soft_margin_loss(sc_trace *t, const sc_x *a) {
    sc_x x = widen(t, a[0]), y = widen(t, a[1]);
    sc_x loss = T(log1p, T(exp, T(mul_Tensor, T(neg, x), y)));
    return reduced(t, loss, a[2], a[0]);
}

static sc_x log_at_least(sc_trace *t, sc_x x, sc_x floor_like) {
    return T(maximum, x, f_full(t, x_dims(t, NULL, 0), X_INT(-100), x_dtype_of(floor_like)));
}

sc_x sc_expand_binary_cross_entropy(sc_trace *t, const sc_x *a) {
    sc_x x = widen(t, a[0]), y = widen(t, a[1]);
    sc_x rest = T(sub_Tensor, y, X_INT(1));
    sc_x first = log_at_least(t, T(log1p, T(neg, x)), x);
    first = T(mul_Tensor, rest, first);
    sc_x second = log_at_least(t, T(log, x), x);
    sc_x loss = T(sub_Tensor, first, T(mul_Tensor, y, second));
    if (x_is_tensor(a[2])) loss = T(mul_Tensor, loss, a[2]);
    return reduced(t, loss, a[3], a[0]);
}

sc_x sc_expand_bce_with_logits(sc_trace *t, const sc_x *a) {
    sc_x x = a[0], y = a[1], log_weight = X_NONE;
    if (x_is_tensor(a[3]))
        log_weight = T(add_Tensor, T(mul_Tensor, T(sub_Tensor, a[3], X_INT(1)), y), X_INT(1));
    sc_x first = T(mul_Tensor, T(sub_Tensor, X_INT(1), y), x);
    sc_x second = T(log_sigmoid, x);
    if (x_is_tensor(log_weight)) second = T(mul_Tensor, log_weight, second);
    sc_x loss = T(sub_Tensor, first, second);
    if (x_is_tensor(a[2])) loss = T(mul_Tensor, loss, a[2]);
    return f_reduce_loss(t, f_to(t, loss, x_dtype_of(y)), a[4]);
}

sc_x sc_expand_kl_div(sc_trace *t, const sc_x *a) {
    sc_x loss;
    if (x_truth(a[3])) {
        loss = T(mul_Tensor, T(exp, a[1]), T(sub_Tensor, a[1], a[0]));
    } else {
        sc_x product = T(mul_Tensor, a[1], a[0]);
        loss = T(sub_Tensor, T(xlogy_Tensor, a[1], a[1]), product);
    }
    return f_reduce_loss(t, loss, a[2]);
}

// --- Classes ------------------------------------------------------------------------------------

sc_x sc_expand_nll_loss_forward(sc_trace *t, const sc_x *a) {
    sc_x x = a[0], target = a[1], ignored = a[4], weight = a[2];
    uint32_t rank = x_rank(x), dim = rank < 2 ? 0 : 1;
    sc_dtype index = x_dtype_of(target), dtype = x_dtype_of(x);
    if (x_is_tensor(weight)) {
        sc_dim shape[SC_RANK_MAX];
        for (uint32_t i = 0; i < rank; i++) shape[i] = i == dim ? x_size(weight, 0) : sc_dim_int(1);
        if (rank > 1) weight = f_view(t, weight, shape, rank);
        x = T(mul_Tensor, x, weight);
    }
    sc_x kept = T(ne_Scalar, target, ignored);
    sc_x safe = T(where_self, kept, target, f_scalar(t, X_INT(0), index));
    safe = f_unsqueeze(t, safe, dim);
    sc_x result = T(neg, f_squeeze(t, T(gather, x, X_INT(dim), safe), dim));
    kept = T(ne_Scalar, target, ignored);
    result = T(where_self, kept, result, f_scalar(t, X_INT(0), dtype));
    if (x_number(a[3], 1) == 0 && rank > 1)
        return X_LIST(result, f_full(t, x_dims(t, NULL, 0), X_FLOAT(0.0), dtype));
    sc_x total;
    if (x_is_tensor(weight)) {
        weight = T(expand, weight, x_sizes(t, x, 0, SC_RANK_MAX));
        total = f_squeeze(t, T(gather, weight, X_INT(dim), safe), dim);
        kept = T(ne_Scalar, target, ignored);
        total = T(sum, T(where_self, kept, total, f_scalar(t, X_INT(0), dtype)));
    } else {
        total = T(sum, T(ne_Scalar, target, ignored));
        total = T(_to_copy, total, X_DTYPE(dtype), X_NONE, X_CPU);
    }
    if (x_number(a[3], 1) == 2)
        result = T(sum, result);
    else if (x_number(a[3], 1) == 1)
        result = T(div_Tensor, T(sum, result), total);
    return X_LIST(result, total);
}

// More than one position per sample: the positions of all are lined up for the 2-D kernel.
sc_x sc_expand_nll_loss_nd(sc_trace *t, const sc_x *a) {
    uint32_t rank = x_rank(a[0]);
    if (rank == 1 || rank == 2) return T(nll_loss, a[0], a[1], a[2], a[3], a[4]);
    if (rank == 4) return T(nll_loss2d, a[0], a[1], a[2], a[3], a[4]);
    if (rank < 3) return sc_trace_fail(t, SC_ERR_SHAPE, NULL, "nll_loss of a rank-0 tensor");
    const sc_spec *spec = x_spec(a[0]);
    sc_dim one = sc_dim_int(1), open = sc_dim_int(-1), n = spec->sizes[0];
    sc_dim wide[4] = {n, spec->sizes[1], one, open}, flat[3] = {n, one, open}, out[SC_RANK_MAX];
    sc_x x = T(reshape, f_contiguous(t, a[0]), x_dims(t, wide, 4));
    sc_x target = T(reshape, f_contiguous(t, a[1]), x_dims(t, flat, 3));
    sc_x loss = T(nll_loss2d, x, target, a[2], a[3], a[4]);
    if (x_number(a[3], 1) != 0) return loss;
    out[0] = n;
    for (uint32_t i = 2; i < rank; i++) out[i - 1] = spec->sizes[i];
    return f_view(t, loss, out, rank - 1);
}

static sc_x soft_targets(sc_trace *t, sc_x logs, const sc_x *a) {
    double smoothing = x_real(a[5], 0);
    uint32_t rank = x_rank(a[0]), dim = rank == 1 ? 0 : 1;
    sc_x target = a[1];
    if (smoothing > 0) {
        sc_x base = T(mul_Tensor, target, X_FLOAT(1 - smoothing));
        int64_t classes = x_static_size(t, a[0], dim);
        target = T(add_Tensor, base, X_FLOAT(smoothing / (double)classes));
    }
    if (x_is_tensor(a[2]))
        return sc_trace_fail(t, SC_ERR_UNSUPPORTED, "Leave out the class weights.",
                             "cross_entropy with probabilities and weights");
    sc_x product = T(mul_Tensor, logs, target);
    if (x_number(a[3], 1) == 0) return T(neg, f_sum(t, product, X_INTS(dim), false));
    sc_x total = T(neg, T(sum, product));
    if (x_number(a[3], 1) == 2) return total;
    sc_dim count = sc_trace_floordiv(t, x_numel(t, a[0]), x_size(a[0], dim));
    return T(div_Scalar, total, X_DIM(count));
}

sc_x sc_expand_cross_entropy(sc_trace *t, const sc_x *a) {
    uint32_t dim = x_rank(a[0]) == 1 ? 0 : 1;
    bool probabilities = x_rank(a[0]) == x_rank(a[1]) && x_is_float(a[1]);
    sc_x logs = T(log_softmax_int, a[0], X_INT(dim));
    if (probabilities) return soft_targets(t, logs, a);
    if (x_real(a[5], 0) > 0)
        return sc_trace_fail(t, SC_ERR_UNSUPPORTED, "Leave out label_smoothing.",
                             "cross_entropy with label smoothing");
    return T(nll_loss_nd, logs, a[1], a[2], a[3], a[4]);
}

// --- Distances ----------------------------------------------------------------------------------

sc_x sc_expand_cosine_similarity(sc_trace *t, const sc_x *a) {
    sc_x both = T(broadcast_tensors, X_LIST(a[0], a[1]));
    sc_x x = x_at(t, both, 0), y = x_at(t, both, 1), dims = X_LIST(a[2]);
    sc_x x_norm = T(clone, T(linalg_vector_norm, x, X_INT(2), dims, X_TRUE));
    sc_x y_norm = T(clone, T(linalg_vector_norm, y, X_INT(2), dims, X_TRUE));
    sc_x eps = T(scalar_tensor, a[3], X_DTYPE(x_dtype_of(x)), X_NONE, X_CPU);
    x_norm = T(clamp_Tensor, x_norm, eps);
    y_norm = T(clamp_Tensor, y_norm, eps);
    sc_x y_unit = T(div_Tensor, y, y_norm);
    sc_x x_unit = T(div_Tensor, x, x_norm);
    return f_sum(t, T(mul_Tensor, x_unit, y_unit), dims, false);
}

sc_x sc_expand_cdist(sc_trace *t, const sc_x *a) {
    return T(_cdist_forward, a[0], a[1], a[2], a[3]);
}

sc_x sc_expand_pdist(sc_trace *t, const sc_x *a) {
    return T(_pdist_forward, f_contiguous(t, a[0]), a[1]);
}
