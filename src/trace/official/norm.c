// Normalisations of float64, which the official runtime computes in float32 or not at all; of
// tensors that may have no rows; and of float16 and bfloat16 (halves.c).
#include "trace/official/official.h"

#include <math.h>

static bool is_double(const sc_node *node) { return node->outs[0]->spec.dtype == SC_DTYPE_F64; }

bool sc_official_is_double_or_half(const sc_node *node) {
    return is_double(node) || sc_official_is_half(node);
}

// The official runtime divides by the number of rows, and by the number of their elements.
static bool divides_by_zero(const sc_spec *spec, int64_t dim) {
    for (int64_t d = dim < 0 ? dim + spec->rank : dim; d >= 0 && d < spec->rank; d++)
        if (sc_official_can_be_empty(spec->sizes[d])) return true;
    return false;
}

bool sc_official_is_double_or_empty(const sc_node *node) {
    const sc_spec *spec = &node->outs[0]->spec;
    const sc_arg *dim = sc_node_arg(node, "dim");
    return is_double(node) || sc_spec_is_empty(spec) ||
           (dim->kind == SC_ARG_INT && divides_by_zero(spec, dim->i));
}

static sc_x log_softmax(sc_trace *t, sc_x x, uint32_t dim, sc_x widens) {
    if (sc_official_result_dtype(t) != SC_DTYPE_F64)
        return CALL(t, _log_softmax, x, sc_x_int(t, dim), widens);
    sc_x along = X_INTS(t, dim), moved = sc_f_sub(t, x, sc_official_amax_of(t, x, along, X_TRUE));
    sc_x sum = sc_official_sum_of(t, CALL(t, exp, moved), dim);
    return sc_f_sub(t, moved, CALL(t, log, sum));
}

// A dim that may be empty gets one more element: minus infinity, which changes no sum.
// (self, dim, half_to_float)
sc_x sc_official_log_softmax(sc_trace *t, const sc_x *a) {
    const uint32_t dim = sc_x_wrap(t, a[1], sc_x_rank(a[0]));
    sc_x x = sc_f_atleast_1d(t, a[0]), y = x;
    const uint32_t rank = sc_x_rank(x);
    for (uint32_t d = dim; d < rank; d++)
        if (sc_official_can_be_empty(sc_x_size(x, d)))
            y = sc_f_pad(t, y, d, 0, 1, sc_x_float(t, -INFINITY));
    y = log_softmax(t, y, dim, a[2]);
    for (uint32_t d = dim; d < rank; d++) y = sc_f_slice_first(t, y, d, sc_x_size(x, d));
    return sc_f_restore_rank(t, y, a[0]);
}

// (input, normalized_shape, weight, bias, eps)
sc_x sc_official_layer_norm(sc_trace *t, const sc_x *a) {
    int64_t dims[SC_RANK_MAX];
    const uint32_t rank = sc_x_rank(a[0]), count = a[1]->kind == SC_X_LIST ? a[1]->count : 0;
    if (sc_official_is_half(t->source)) return sc_official_in_float(t, a);
    if (count < 1 || count > rank || sc_dim_is(sc_x_numel(t, a[0]), 0))
        return sc_official_refuse(t);
    for (uint32_t i = 0; i < count; i++) dims[i] = rank - count + i;
    sc_x along = sc_x_ints(t, dims, count), mean = CALL(t, mean_dim, a[0], along, X_TRUE);
    sc_x moved = sc_f_sub(t, a[0], mean);
    sc_x spread = CALL(t, mean_dim, sc_f_mul(t, moved, moved), along, X_TRUE);
    spread = sc_f_add_number(t, spread, sc_x_known(t, a[4], 1e-5));
    sc_x scale = CALL(t, reciprocal, CALL(t, sqrt, spread)), y = sc_f_mul(t, moved, scale);
    if (!sc_x_is_none(a[2])) y = sc_f_mul(t, y, a[2]);
    if (!sc_x_is_none(a[3])) y = sc_f_add(t, y, a[3]);
    return X_LIST(t, y, mean, scale);
}
