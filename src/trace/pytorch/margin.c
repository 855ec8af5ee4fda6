// Expansions of losses that compare with a margin, and of those of counts.
#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"
#include "trace/words/choose.h"

static sc_x at_least_zero(sc_trace *t, sc_x x) { return CALL(t, clamp_min, x, sc_x_int(t, 0)); }

static sc_x class_scalar(sc_trace *t, int64_t value, sc_x like) {
    return sc_f_scalar_like(t, sc_x_int(t, value), like);
}

// --- Two or three inputs ------------------------------------------------------------------------

sc_x sc_expand_cosine_embedding_loss(sc_trace *t, const sc_x *a) {
    const double eps = 9.999999960041972e-13;  // 1e-12 as a float32
    uint32_t rank = sc_x_rank(a[2]);
    if (rank > 1 || sc_x_rank(a[0]) != rank + 1 || sc_x_rank(a[1]) != rank + 1)
        return sc_trace_fail(t, SC_ERR_SHAPE, NULL,
                             "cosine_embedding_loss needs inputs with one dimension more than the "
                             "target, which has at most one");
    sc_x dims = X_INTS(t, rank);
    sc_x product = sc_f_sum(t, sc_f_mul(t, a[0], a[1]), dims, false);
    sc_x x = sc_f_sum(t, sc_f_mul(t, a[0], a[0]), dims, false);
    x = sc_f_add_number(t, x, eps);
    sc_x y = sc_f_sum(t, sc_f_mul(t, a[1], a[1]), dims, false);
    y = sc_f_add_number(t, y, eps);
    sc_x cosine = sc_f_div(t, product, CALL(t, sqrt, sc_f_mul(t, x, y)));
    sc_x zeros = CALL(t, zeros_like, cosine);
    sc_x alike = CALL(t, rsub_Scalar, cosine, sc_x_int(t, 1));
    sc_x apart = at_least_zero(t, CALL(t, sub_Scalar, cosine, a[3]));
    alike = sc_f_where(t, CALL(t, eq_Scalar, a[2], sc_x_int(t, 1)), alike, zeros);
    apart = sc_f_where(t, CALL(t, eq_Scalar, a[2], sc_x_int(t, -1)), apart, zeros);
    return sc_f_reduce_loss(t, sc_f_add(t, alike, apart), a[4]);
}

// --- Classes ------------------------------------------------------------------------------------

// Sums of a row are divided by its length.
static sc_x row_mean(sc_trace *t, sc_x loss, sc_x reduction) {
    if (sc_x_number(reduction, 1) == 1) return CALL(t, mean, loss);
    sc_x dims = X_INTS(t, -1);
    loss = CALL(t, mean_dim, loss, dims);
    return sc_x_number(reduction, 1) == 2 ? CALL(t, sum, loss) : loss;
}

// (input, target, p, margin, weight, reduction)
sc_x sc_expand_multi_margin_loss(sc_trace *t, const sc_x *a) {
    sc_x x = CALL(t, atleast_2d, a[0]), target = CALL(t, atleast_1d, a[1]);
    double p = sc_x_known(t, a[2], 1);
    if (sc_x_rank(x) != 2 || (p != 1 && p != 2))
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL,
                             "multi_margin_loss takes a matrix, and p is 1 or 2");
    target = sc_f_unsqueeze(t, target, 1);
    sc_x own = CALL(t, gather, x, sc_x_int(t, 1), target);
    sc_x loss = sc_f_add(t, CALL(t, rsub_Scalar, own, a[3]), x);
    loss = at_least_zero(t, loss);
    if (p == 2) loss = sc_f_mul(t, loss, loss);
    if (sc_x_is_tensor(a[4]))
        loss = sc_f_mul(t, loss, CALL(t, index_Tensor, a[4], X_LIST(t, target)));
    sc_x classes = sc_f_range(t, sc_x_dim(t, sc_x_size(x, 1)), sc_x_dtype_of(target));
    sc_x others = CALL(t, ne_Tensor, classes, target);
    loss = sc_f_where(t, others, loss, class_scalar(t, 0, loss));
    loss = row_mean(t, loss, a[5]);
    return sc_x_rank(a[1]) == 0 ? CALL(t, reshape, loss, sc_x_ints(t, NULL, 0)) : loss;
}

// A row of targets ends at its first -1.
sc_x sc_expand_multilabel_margin_loss(sc_trace *t, const sc_x *a) {
    sc_x x = CALL(t, atleast_2d, a[0]), target = CALL(t, atleast_2d, a[1]);
    if (sc_x_rank(x) != 2 || sc_x_rank(target) != 2)
        return sc_trace_fail(t, SC_ERR_SHAPE, NULL, "multilabel_margin_loss takes matrices");
    sc_x size = sc_x_dim(t, sc_x_size(x, 1)), absent = class_scalar(t, -1, target);
    sc_x range = sc_f_range(t, size, sc_x_dtype_of(target));
    sc_x ends = CALL(t, eq_Scalar, target, sc_x_int(t, -1));
    ends = sc_f_where(t, ends, range, CALL(t, full_like, range, size));
    ends = CALL(t, amin, ends, X_INTS(t, -1), X_TRUE);
    sc_x counts = CALL(t, lt_Tensor, range, ends);
    sc_x safe = sc_f_where(t, counts, target, class_scalar(t, 0, target));
    sc_x own = sc_f_unsqueeze(t, CALL(t, gather, x, sc_x_int(t, 1), safe), 2);
    sc_x given = sc_f_unsqueeze(t, sc_f_where(t, counts, target, absent), 2);
    sc_x is_target = CALL(t, any_dim, CALL(t, eq_Tensor, range, given), sc_x_int(t, 1), X_TRUE);
    sc_x loss = CALL(t, rsub_Scalar, own, sc_x_int(t, 1));
    loss = at_least_zero(t, sc_f_add(t, loss, sc_f_unsqueeze(t, x, 1)));
    sc_x skipped = sc_f_not(t, sc_f_unsqueeze(t, counts, 2));
    skipped = sc_f_or(t, skipped, is_target);
    loss = sc_f_where(t, skipped, class_scalar(t, 0, loss), loss);
    loss = CALL(t, div_Scalar, sc_f_sum(t, loss, X_INTS(t, 1, 2), false), size);
    loss = sc_f_reduce_loss(t, loss, a[2]);
    return sc_x_rank(a[0]) < 2 ? CALL(t, reshape, loss, sc_x_ints(t, NULL, 0)) : loss;
}

// --- Counts -------------------------------------------------------------------------------------

// Stirling's approximation of log(target!), for targets above 1.
static sc_x stirling(sc_trace *t, sc_x target) {
    const double two_pi = 6.283185307179586;
    sc_x half = CALL(t, log, sc_f_mul_number(t, target, two_pi));
    half = sc_f_mul_number(t, half, 0.5);
    sc_x sum = sc_f_mul(t, target, CALL(t, log, target));
    sum = sc_f_add(t, sc_f_sub(t, sum, target), half);
    sc_x small = CALL(t, le_Scalar, target, sc_x_int(t, 1));
    return sc_f_where(t, small, class_scalar(t, 0, sum), sum);
}

// (input, target, log_input, full, eps, reduction)
sc_x sc_expand_poisson_nll_loss(sc_trace *t, const sc_x *a) {
    sc_x loss;
    if (sc_x_truth(a[2])) {
        sc_x product = sc_f_mul(t, a[1], a[0]);
        loss = sc_f_sub(t, CALL(t, exp, a[0]), product);
    } else {
        sc_x log = CALL(t, log, CALL(t, add_Scalar, a[0], a[4]));
        loss = sc_f_sub(t, a[0], sc_f_mul(t, a[1], log));
    }
    if (sc_x_truth(a[3])) loss = sc_f_add(t, loss, stirling(t, a[1]));
    return sc_f_reduce_loss(t, loss, a[5]);
}
