// Random numbers, of the two generators that the official runtime has: as many bits as there are.
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
    return uniform(t, sc_o_result_dtype(t));
}

sc_x sc_official_randn_like(sc_trace *t, const sc_x *a) {
    (void)a;
    return CALL(t, randn, sizes(t), sc_x_dtype(t, sc_o_result_dtype(t)), X_STRIDED, X_CPU, X_FALSE);
}

// (self, from, to, generator)
sc_x sc_official_uniform(sc_trace *t, const sc_x *a) {
    const double from = sc_x_known(t, a[1], 0), to = sc_x_known(t, a[2], 1);
    sc_x x = CALL(t, mul_Tensor, uniform(t, sc_o_result_dtype(t)), sc_x_float(t, to - from));
    return CALL(t, add_Tensor, x, sc_x_float(t, from));
}

// Beyond 2^52 a double has not every integer.
static sc_x integers(sc_trace *t, sc_x low, sc_x high) {
    const int64_t from = sc_x_number(low, INT64_MIN), to = sc_x_number(high, INT64_MIN);
    const int64_t most = INT64_C(1) << 52;
    if (from < -most || to > most || from >= to) return sc_o_refuse(t);
    sc_x x = CALL(t, mul_Tensor, uniform(t, SC_DTYPE_F64), sc_x_float(t, (double)(to - from)));
    x = CALL(t, add_Tensor, CALL(t, floor, x), sc_x_float(t, (double)from));
    return sc_f_to(t, x, sc_o_result_dtype(t));
}

// The official kernel leaves what it keeps as it was. Without training it copies.
bool sc_official_drops(const sc_node *node) {
    const sc_arg *train = sc_node_arg(node, "train");
    return train->kind != SC_ARG_BOOL || train->b;
}

// (input, p, train): numbers, and which of them were kept
sc_x sc_official_dropout(sc_trace *t, const sc_x *a) {
    const double p = sc_x_real(a[1], -1), kept = 1 - p;
    if (!(p >= 0 && p <= 1)) return sc_o_refuse(t);
    sc_x mask = CALL(t, ge_Scalar, uniform(t, SC_DTYPE_F32), sc_x_float(t, p));
    sc_x x = CALL(t, mul_Tensor, a[0], sc_f_to(t, mask, sc_o_result_dtype(t)));
    return X_LIST(t, CALL(t, mul_Scalar, x, sc_x_float(t, kept == 0 ? 0 : 1 / kept)), mask);
}

// (high, size, ...)
sc_x sc_official_randint(sc_trace *t, const sc_x *a) { return integers(t, sc_x_int(t, 0), a[0]); }

// (low, high, size, ...)
sc_x sc_official_randint_low(sc_trace *t, const sc_x *a) { return integers(t, a[0], a[1]); }

// (n, ...): the order of random numbers
sc_x sc_official_randperm(sc_trace *t, const sc_x *a) {
    sc_x order = CALL(t, topk, uniform(t, SC_DTYPE_F64), a[0], sc_x_int(t, 0), X_TRUE, X_TRUE);
    return sc_f_to(t, sc_x_at(t, order, 1), sc_o_result_dtype(t));
}
