// Expansions of losses and distances.
#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"
#include "trace/words/choose.h"

// --- Classes ------------------------------------------------------------------------------------

sc_x sc_expand_nll_loss_forward(sc_trace *t, const sc_x *a) {
    sc_x x = a[0], target = a[1], ignored = a[4], weight = a[2];
    uint32_t rank = sc_x_rank(x), dim = rank < 2 ? 0 : 1;
    sc_dtype index = sc_x_dtype_of(target), dtype = sc_x_dtype_of(x);
    if (sc_x_is_tensor(weight)) {
        sc_dim shape[SC_RANK_MAX];
        for (uint32_t i = 0; i < rank; i++)
            shape[i] = i == dim ? sc_x_size(weight, 0) : sc_dim_int(1);
        if (rank > 1) weight = sc_f_view(t, weight, shape, rank);
        x = sc_f_mul(t, x, weight);
    }
    sc_x kept = CALL(t, ne_Scalar, target, ignored);
    sc_x safe = sc_f_where(t, kept, target, sc_f_scalar(t, sc_x_int(t, 0), index));
    safe = sc_f_unsqueeze(t, safe, dim);
    sc_x result = CALL(t, neg, sc_f_squeeze(t, CALL(t, gather, x, sc_x_int(t, dim), safe), dim));
    kept = CALL(t, ne_Scalar, target, ignored);
    result = sc_f_where(t, kept, result, sc_f_scalar(t, sc_x_int(t, 0), dtype));
    if (sc_x_number(a[3], 1) == 0 && rank > 1)
        return X_LIST(t, result, sc_f_full(t, sc_x_dims(t, NULL, 0), sc_x_float(t, 0.0), dtype));
    sc_x total;
    if (sc_x_is_tensor(weight)) {
        weight = CALL(t, expand, weight, sc_x_sizes(t, x, 0, SC_RANK_MAX));
        total = sc_f_squeeze(t, CALL(t, gather, weight, sc_x_int(t, dim), safe), dim);
        kept = CALL(t, ne_Scalar, target, ignored);
        total = CALL(t, sum, sc_f_where(t, kept, total, sc_f_scalar(t, sc_x_int(t, 0), dtype)));
    } else {
        total = CALL(t, sum, CALL(t, ne_Scalar, target, ignored));
        total = CALL(t, _to_copy, total, sc_x_dtype(t, dtype), X_NONE, X_CPU);
    }
    if (sc_x_number(a[3], 1) == 2)
        result = CALL(t, sum, result);
    else if (sc_x_number(a[3], 1) == 1)
        result = sc_f_div(t, CALL(t, sum, result), total);
    return X_LIST(t, result, total);
}

// More than one position per sample: the positions of all are lined up for the 2-D kernel.
sc_x sc_expand_nll_loss_nd(sc_trace *t, const sc_x *a) {
    uint32_t rank = sc_x_rank(a[0]);
    if (rank == 1 || rank == 2) return CALL(t, nll_loss, a[0], a[1], a[2], a[3], a[4]);
    if (rank == 4) return CALL(t, nll_loss2d, a[0], a[1], a[2], a[3], a[4]);
    if (rank < 3)
        return sc_trace_fail(t, SC_ERR_SHAPE, NULL, "nll_loss does not take a rank-0 tensor");
    const sc_spec *spec = sc_x_spec(a[0]);
    sc_dim one = sc_dim_int(1), open = sc_dim_int(-1), n = spec->sizes[0];
    sc_dim wide[4] = {n, spec->sizes[1], one, open}, flat[3] = {n, one, open}, out[SC_RANK_MAX];
    sc_x x = CALL(t, reshape, sc_f_contiguous(t, a[0]), sc_x_dims(t, wide, 4));
    sc_x target = CALL(t, reshape, sc_f_contiguous(t, a[1]), sc_x_dims(t, flat, 3));
    sc_x loss = CALL(t, nll_loss2d, x, target, a[2], a[3], a[4]);
    if (sc_x_number(a[3], 1) != 0) return loss;
    out[0] = n;
    for (uint32_t i = 2; i < rank; i++) out[i - 1] = spec->sizes[i];
    return sc_f_view(t, loss, out, rank - 1);
}

// A weight for each class, broadcast to inputs of `rank` dims.
static sc_x as_channels(sc_trace *t, sc_x weight, uint32_t rank, uint32_t dim) {
    sc_dim shape[SC_RANK_MAX];
    for (uint32_t i = 0; i < rank; i++) shape[i] = i == dim ? sc_x_size(weight, 0) : sc_dim_int(1);
    return sc_f_view(t, weight, shape, rank);
}

static sc_x soft_targets(sc_trace *t, sc_x logs, const sc_x *a) {
    double smoothing = sc_x_known(t, a[5], 0);
    uint32_t rank = sc_x_rank(a[0]), dim = rank == 1 ? 0 : 1;
    sc_x target = a[1];
    if (smoothing > 0) {
        sc_x base = sc_f_mul(t, target, sc_x_float(t, 1 - smoothing));
        int64_t classes = sc_x_static_size(t, a[0], dim);
        target = sc_f_add(t, base, sc_x_float(t, smoothing / (double)classes));
    }
    sc_x product = sc_f_mul(t, logs, target);
    if (sc_x_is_tensor(a[2])) product = sc_f_mul(t, product, as_channels(t, a[2], rank, dim));
    if (sc_x_number(a[3], 1) == 0) return CALL(t, neg, sc_f_sum(t, product, X_INTS(t, dim), false));
    sc_x total = CALL(t, neg, CALL(t, sum, product));
    if (sc_x_number(a[3], 1) == 2) return total;
    sc_dim count = sc_trace_floordiv(t, sc_x_numel(t, a[0]), sc_x_size(a[0], dim));
    return CALL(t, div_Scalar, total, sc_x_dim(t, count));
}

// The loss of all classes alike, which smoothing mixes in: their sum, or its mean over what is not
// ignored.
static sc_x smooth_part(sc_trace *t, sc_x logs, const sc_x *a) {
    uint32_t rank = sc_x_rank(logs), dim = rank == 1 ? 0 : 1;
    sc_x target = a[1], weight = a[2];
    sc_dtype index = sc_x_dtype_of(target), dtype = sc_x_dtype_of(logs);
    if (sc_x_is_tensor(weight)) logs = sc_f_mul(t, logs, as_channels(t, weight, rank, dim));
    sc_x loss = CALL(t, neg, sc_f_sum(t, logs, X_INTS(t, dim), false));
    sc_x ignored = CALL(t, eq_Scalar, target, a[4]);
    loss = sc_f_where(t, ignored, sc_f_scalar(t, sc_x_float(t, 0), dtype), loss);
    if (sc_x_number(a[3], 1) != 1) return sc_f_reduce_loss(t, loss, a[3]);
    sc_x counted;
    if (sc_x_is_tensor(weight)) {
        target = sc_f_where(t, ignored, sc_f_scalar(t, sc_x_int(t, 0), index), target);
        sc_x of_each = CALL(t, gather, weight, sc_x_int(t, 0), CALL(t, flatten_using_ints, target));
        ignored = CALL(t, flatten_using_ints, ignored);
        counted = sc_f_where(t, ignored, sc_f_scalar(t, sc_x_float(t, 0), dtype), of_each);
    } else {
        counted = sc_f_not(t, ignored);
    }
    counted = CALL(t, sum, counted);
    return sc_f_div(t, CALL(t, sum, loss), counted);
}

static sc_x smoothed(sc_trace *t, sc_x logs, const sc_x *a) {
    double smoothing = sc_x_known(t, a[5], 0);
    double classes = (double)sc_x_static_size(t, logs, sc_x_rank(logs) == 1 ? 0 : 1);
    sc_x own = CALL(t, nll_loss_nd, logs, a[1], a[2], a[3], a[4]);
    sc_x all = sc_f_mul_number(t, smooth_part(t, logs, a), smoothing / classes);
    return sc_f_add(t, sc_f_mul_number(t, own, 1 - smoothing), all);
}

sc_x sc_expand_cross_entropy(sc_trace *t, const sc_x *a) {
    uint32_t dim = sc_x_rank(a[0]) == 1 ? 0 : 1;
    bool probabilities = sc_x_rank(a[0]) == sc_x_rank(a[1]) && sc_x_is_float(a[1]);
    sc_x logs = CALL(t, log_softmax_int, a[0], sc_x_int(t, dim));
    if (probabilities) return soft_targets(t, logs, a);
    if (sc_x_known(t, a[5], 0) > 0) return smoothed(t, logs, a);
    return CALL(t, nll_loss_nd, logs, a[1], a[2], a[3], a[4]);
}

// --- Distances ----------------------------------------------------------------------------------
