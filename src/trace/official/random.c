// Random numbers, made with the two generators of the official runtime and all of their bits.
#include "trace/official/official.h"

static sc_x sizes(sc_trace *t) {
    const sc_spec *out = &t->source->outs[0]->spec;
    return sc_x_dims(t, out->sizes, out->rank);
}

static sc_x uniform(sc_trace *t, sc_dtype dtype) {
    return CALL(t, rand, sizes(t), sc_x_dtype(t, dtype), X_STRIDED, X_CPU, X_FALSE);
}

// (self, ...)
sc_x sc_official_rand_like(sc_trace *t, const sc_x *a) {
    (void)a;
    return uniform(t, sc_official_result_dtype(t));
}

sc_x sc_official_randn_like(sc_trace *t, const sc_x *a) {
    (void)a;
    return CALL(t, randn, sizes(t), sc_x_dtype(t, sc_official_result_dtype(t)), X_STRIDED, X_CPU,
                X_FALSE);
}

// (self, from, to, generator)
sc_x sc_official_uniform(sc_trace *t, const sc_x *a) {
    const double from = sc_x_known(t, a[1], 0), to = sc_x_known(t, a[2], 1);
    sc_x x = sc_f_mul(t, uniform(t, sc_official_result_dtype(t)), sc_x_float(t, to - from));
    return sc_f_add(t, x, sc_x_float(t, from));
}

// A number as a factor or a summand of float64, which a size has to become when it runs.
static sc_x real(sc_trace *t, sc_dim number) {
    if (!number.expr) return sc_x_float(t, (double)number.value);
    return sc_f_scalar(t, sc_x_dim(t, number), SC_DTYPE_F64);
}

// A double has every integer within 2^53 of 0. A random one is one of 2^53, so that of more
// integers some would never be drawn.
static sc_x integers(sc_trace *t, sc_x low, sc_x high) {
    if (low->kind != SC_X_INT || high->kind != SC_X_INT) return sc_official_refuse(t);
    const sc_range from = sc_dim_range(low->dim), to = sc_dim_range(high->dim);
    const int64_t bound = INT64_C(1) << SC_UP_TO_LARGE_INTEGER, span = INT64_C(1) << SC_UP_TO_SPAN;
    if (from.min >= to.max) return sc_official_refuse(t);
    if (from.min < -bound || to.max > bound) return sc_official_beyond(t, SC_LIMIT_LARGE_INTEGER);
    if (to.max - from.min > span) return sc_official_beyond(t, SC_LIMIT_SPAN);
    sc_x count = real(t, sc_trace_sub(t, high->dim, low->dim)), first = real(t, low->dim);
    sc_x x = sc_f_mul(t, uniform(t, SC_DTYPE_F64), count);
    x = sc_f_add(t, CALL(t, floor, x), first);
    return sc_f_to(t, x, sc_official_result_dtype(t));
}

// The official kernel does not scale the elements that it keeps. Without training it copies.
bool sc_official_drops(const sc_node *node) {
    const sc_arg *train = sc_node_arg(node, "train");
    return train->kind != SC_ARG_BOOL || train->b;
}

// (input, p, train): numbers, and which of them were kept
sc_x sc_official_dropout(sc_trace *t, const sc_x *a) {
    const double p = sc_x_real(a[1], -1), kept = 1 - p;
    if (!(p >= 0 && p <= 1)) return sc_official_refuse(t);
    sc_x mask = CALL(t, ge_Scalar, uniform(t, SC_DTYPE_F32), sc_x_float(t, p));
    sc_x x = sc_f_mul(t, a[0], sc_f_to(t, mask, sc_official_result_dtype(t)));
    return X_LIST(t, sc_f_mul_number(t, x, kept == 0 ? 0 : 1 / kept), mask);
}

// (high, size, ...)
sc_x sc_official_randint(sc_trace *t, const sc_x *a) { return integers(t, sc_x_int(t, 0), a[0]); }

// (low, high, size, ...)
sc_x sc_official_randint_low(sc_trace *t, const sc_x *a) { return integers(t, a[0], a[1]); }

// (n, ...): the order of random numbers
sc_x sc_official_randperm(sc_trace *t, const sc_x *a) {
    sc_x order = CALL(t, topk, uniform(t, SC_DTYPE_F64), a[0], sc_x_int(t, 0), X_TRUE, X_TRUE);
    return sc_f_to(t, sc_x_at(t, order, 1), sc_official_result_dtype(t));
}
