// Float64, which the official runtime normalises in float32 or not at all.
#include "trace/official/special.h"

bool sc_official_is_double(const sc_node *node) {
    return node->outs[0]->spec.dtype == SC_DTYPE_F64;
}

// It divides by how many rows there are.
bool sc_official_is_double_or_empty(const sc_node *node) {
    return sc_official_is_double(node) || sc_spec_is_empty(&node->outs[0]->spec);
}

// (self, dim, half_to_float)
sc_x sc_official_log_softmax(sc_trace *t, const sc_x *a) {
    const uint32_t dim = sc_x_wrap(t, a[1], sc_x_rank(a[0]));
    sc_x x = sc_o_flat(t, a[0]), along = X_INTS(t, dim);
    sc_x moved = sc_a_sub(t, x, CALL(t, amax, x, along, X_TRUE));
    sc_x sum = sc_o_sum(t, CALL(t, exp, moved), dim);
    return sc_o_unflat(t, sc_a_sub(t, moved, CALL(t, log, sum)), a[0]);
}

// (input, normalized_shape, weight, bias, eps)
sc_x sc_official_layer_norm(sc_trace *t, const sc_x *a) {
    int64_t dims[SC_RANK_MAX];
    const uint32_t rank = sc_x_rank(a[0]), count = a[1]->kind == SC_X_LIST ? a[1]->count : 0;
    if (count < 1 || count > rank || sc_dim_is(sc_x_numel(t, a[0]), 0)) return sc_o_refuse(t);
    for (uint32_t i = 0; i < count; i++) dims[i] = rank - count + i;
    sc_x along = sc_x_ints(t, dims, count), mean = CALL(t, mean_dim, a[0], along, X_TRUE);
    sc_x moved = sc_a_sub(t, a[0], mean);
    sc_x spread = CALL(t, mean_dim, sc_a_mul(t, moved, moved), along, X_TRUE);
    spread = sc_a_plus(t, spread, sc_x_known(t, a[4], 1e-5));
    sc_x scale = CALL(t, reciprocal, CALL(t, sqrt, spread)), y = sc_a_mul(t, moved, scale);
    if (!sc_x_is_none(a[2])) y = sc_a_mul(t, y, a[2]);
    if (!sc_x_is_none(a[3])) y = sc_a_add(t, y, a[3]);
    return X_LIST(t, y, mean, scale);
}
