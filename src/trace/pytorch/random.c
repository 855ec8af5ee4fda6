// Expansions of random numbers, of their distributions, to even and normal ones; and of dropout
// that keeps more than single numbers.
#include <math.h>

#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"
#include "trace/words/choose.h"

static sc_x sizes_of(sc_trace *t, sc_x x) { return sc_x_sizes(t, x, 0, SC_RANK_MAX); }

// Evenly from [0, 1).
static sc_x evenly(sc_trace *t, sc_x sizes, sc_dtype dtype) {
    return CALL(t, rand, sizes, sc_x_dtype(t, dtype), X_STRIDED, X_CPU, X_FALSE);
}

// --- Distributions ------------------------------------------------------------------------------

// (self, p): 1 with that probability.
sc_x sc_expand_bernoulli_p(sc_trace *t, const sc_x *a) {
    double p = sc_x_known(t, a[1], 0.5);
    if (!(p >= 0 && p <= 1))
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL,
                             "bernoulli needs a probability, and %g is none", p);
    return sc_f_to_dtype_of(t, CALL(t, lt_Scalar, sc_f_evenly(t, a[0]), a[1]), a[0]);
}

sc_x sc_expand_bernoulli_(sc_trace *t, const sc_x *a) {
    sc_trace_assign(t, a[0], CALL(t, bernoulli_p, a[0], a[1], a[2]));
    return a[0];
}

// 1 for the first success of trials that succeed with probability p, 2 for the second, ...
sc_x sc_expand_geometric(sc_trace *t, const sc_x *a) {
    double p = sc_x_known(t, a[1], 0);
    if (!(p > 0 && p < 1))
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "geometric needs a probability, not %g", p);
    sc_x x = sc_f_evenly(t, a[0]);
    x = CALL(t, div_Scalar, CALL(t, log1p, CALL(t, neg, x)), sc_x_float(t, log1p(-p)));
    x = CALL(t, clamp, CALL(t, ceil, x), sc_x_int(t, 1));
    return sc_f_to_dtype_of(t, x, a[0]);
}

sc_x sc_expand_normal_(sc_trace *t, const sc_x *a) {
    sc_trace_assign(t, a[0], CALL(t, normal_functional, a[0], a[1], a[2], a[3]));
    return a[0];
}

// Integers of any dtype; without an end all that the dtype has exactly, and is not negative.
static sc_x integers(sc_trace *t, sc_x like, sc_x from, sc_x to) {
    const sc_dtype dtype = sc_x_dtype_of(like);
    const int64_t bits = dtype == SC_DTYPE_BF16   ? 8
                         : dtype == SC_DTYPE_F16  ? 11
                         : dtype == SC_DTYPE_F32  ? 24
                         : dtype == SC_DTYPE_F64  ? 52
                         : dtype == SC_DTYPE_BOOL ? 0
                         : dtype == SC_DTYPE_U8   ? 7
                         : dtype == SC_DTYPE_I8   ? 6
                         : dtype == SC_DTYPE_I16  ? 14
                                                  : 30;
    if (sc_x_is_none(to)) to = sc_x_int(t, (INT64_C(1) << bits) + 1);
    sc_x x = CALL(t, randint_low, from, to, sizes_of(t, like), sc_x_dtype(t, SC_DTYPE_I64));
    return sc_f_to(t, x, dtype);
}

sc_x sc_expand_random_from(sc_trace *t, const sc_x *a) { return integers(t, a[0], a[1], a[2]); }

// --- Drawing ------------------------------------------------------------------------------------

// The first of numbers that each wait as long as their weight says.
static sc_x race(sc_trace *t, sc_x weights, sc_x sizes, sc_dtype dtype) {
    sc_x wait = CALL(t, log1p, CALL(t, neg, evenly(t, sizes, dtype)));
    wait = CALL(t, clamp, CALL(t, neg, wait), sc_x_float(t, 1e-30));
    return sc_f_div(t, weights, wait);
}

// (self, num_samples, replacement)
sc_x sc_expand_multinomial(sc_trace *t, const sc_x *a) {
    const sc_dtype dtype = sc_f_opmath(sc_x_dtype_of(a[0]));
    sc_x x = sc_f_to(t, a[0], dtype), last = sc_x_int(t, -1);
    const int64_t count = sc_x_static_size(t, a[0], -1), draws = sc_x_small(t, a[1], 1);
    const uint32_t rank = sc_x_rank(x);
    sc_dim sizes[3];
    if (rank < 1 || rank > 2 || !sc_x_is_float(x))
        return sc_trace_fail(t, SC_ERR_SHAPE, NULL, "multinomial takes one or two dims of weights");
    if (draws < 1 || (!sc_x_truth(a[2]) && draws > count))
        return sc_trace_fail(t, SC_ERR_ARGUMENT, "Draw with replacement.",
                             "multinomial cannot draw %lld of %lld", (long long)draws,
                             (long long)count);
    if (draws == 1) return CALL(t, argmax, race(t, x, sizes_of(t, x), dtype), last, X_TRUE);
    if (!sc_x_truth(a[2]))
        return sc_x_at(t, CALL(t, topk, race(t, x, sizes_of(t, x), dtype), a[1], last), 1);
    if (rank == 2) sizes[0] = sc_x_size(x, 0);
    sizes[rank - 1] = sc_dim_int(draws);
    sizes[rank] = sc_x_size(x, -1);
    sc_x many = sc_f_unsqueeze(t, x, -2);
    return CALL(t, argmax, race(t, many, sc_x_dims(t, sizes, rank + 1), dtype), last, X_FALSE);
}

// --- Dropout ------------------------------------------------------------------------------------

// 1 for what stays; whole features at once, if asked.
static sc_x staying(sc_trace *t, sc_x x, double p, bool features) {
    sc_dim sizes[SC_RANK_MAX];
    uint32_t rank = sc_x_rank(x);
    for (uint32_t i = 0; i < rank; i++)
        sizes[i] = features && i >= 2 ? sc_dim_int(1) : sc_x_size(x, i);
    sc_x even = evenly(t, sc_x_dims(t, sizes, rank), sc_x_dtype_of(x));
    return sc_f_to_dtype_of(t, CALL(t, ge_Scalar, even, sc_x_float(t, p)), x);
}

static bool drops(sc_trace *t, const sc_x *a, bool features, double *p) {
    *p = sc_x_known(t, a[1], 0);
    if (!sc_x_truth(a[2]) || *p == 0) return false;
    if (*p > 0 && *p <= 1 && sc_x_is_float(a[0]) && (!features || sc_x_rank(a[0]) >= 2))
        return true;
    sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "dropout needs a probability and numbers");
    return false;
}

// (input, p, train)
sc_x sc_expand_feature_dropout(sc_trace *t, const sc_x *a) {
    double p;
    if (!drops(t, a, true, &p)) return a[0];
    if (p == 1) return CALL(t, mul_Scalar, a[0], sc_x_int(t, 0));
    sc_x noise = CALL(t, div_Scalar, staying(t, a[0], p, true), sc_x_float(t, 1 - p));
    return sc_f_mul(t, a[0], noise);
}

// Mean and variance stay what they were: what drops out becomes SELU's least value.
static sc_x alpha_dropout(sc_trace *t, const sc_x *a, bool features) {
    const double alpha = 1.7580993408473766;
    double p;
    if (!drops(t, a, features, &p)) return a[0];
    if (p == 1) return CALL(t, mul_Scalar, a[0], sc_x_int(t, 0));
    const double scale = 1 / sqrt((alpha * alpha * p + 1) * (1 - p));
    sc_x stays = staying(t, a[0], p, features);
    sc_x shift = CALL(t, sub_Scalar, stays, sc_x_int(t, 1));
    shift = sc_f_mul_number(t, shift, alpha * scale);
    shift = sc_f_add_number(t, shift, alpha * scale * p);
    sc_x x = sc_f_mul(t, a[0], sc_f_mul_number(t, stays, scale));
    return sc_f_add(t, x, shift);
}

sc_x sc_expand_alpha_dropout(sc_trace *t, const sc_x *a) { return alpha_dropout(t, a, false); }
sc_x sc_expand_feature_alpha_dropout(sc_trace *t, const sc_x *a) {
    return alpha_dropout(t, a, true);
}

// (self, lower, upper, training): in training every number has a slope of its own
sc_x sc_expand_rrelu(sc_trace *t, const sc_x *a) {
    const double low = sc_x_known(t, a[1], 0), high = sc_x_known(t, a[2], 0);
    if (!sc_x_truth(a[3])) return CALL(t, leaky_relu, a[0], sc_x_float(t, (low + high) / 2));
    sc_x slope = evenly(t, sizes_of(t, a[0]), sc_x_dtype_of(a[0]));
    slope = sc_f_mul_number(t, slope, high - low);
    slope = sc_f_mul(t, a[0], sc_f_add_number(t, slope, low));
    return sc_f_where(t, CALL(t, le_Scalar, a[0], sc_x_int(t, 0)), slope, a[0]);
}
