// Normalises groups of channels, and channels of a batch. The official runtime computes the
// variance as the mean of squares less the square of the mean, which loses its digits if the mean
// is large. So the mean is subtracted first, which does not change the variance. Groups of float16
// and bfloat16 are computed in float32 (halves.c).
#include "trace/official/official.h"

bool sc_official_is_off_centre(const sc_node *node) {
    const sc_spec *spec = &node->outs[0]->spec;
    return !sc_spec_is_empty(spec) && spec->dtype != SC_DTYPE_F64;
}

// The results with the mean of x, in place of that of x - mean, which is nearly 0.
static sc_x with_mean(sc_trace *t, sc_x made, sc_x mean) {
    sc_x left = sc_x_at(t, made, 1);
    if (sc_official_wants(t, 1))
        left = sc_f_add(t, left, sc_f_view(t, mean, sc_x_spec(left)->sizes, sc_x_rank(left)));
    return X_LIST(t, sc_x_at(t, made, 0), left, sc_x_at(t, made, 2));
}

// (input, weight, bias, N, C, HxW, group, eps)
sc_x sc_official_group_norm(sc_trace *t, const sc_x *a) {
    const sc_spec *spec = sc_x_spec(a[0]);
    if (sc_official_is_half(t->source)) return sc_official_in_float(t, a);
    if (a[3]->kind != SC_X_INT || a[4]->kind != SC_X_INT || a[5]->kind != SC_X_INT ||
        a[6]->kind != SC_X_INT)
        return sc_official_refuse(t);
    const sc_dim channels = sc_trace_floordiv(t, a[4]->dim, a[6]->dim);
    const sc_dim sizes[] = {a[3]->dim, a[6]->dim, sc_trace_mul(t, channels, a[5]->dim)};
    sc_x groups = sc_f_view(t, a[0], sizes, 3);
    sc_x mean = CALL(t, mean_dim, groups, X_INTS(t, 2), X_TRUE);
    sc_x moved = sc_f_view(t, sc_f_sub(t, groups, mean), spec->sizes, spec->rank);
    sc_x made = CALL(t, native_group_norm, moved, a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
    return with_mean(t, sc_trace_final(t, made), mean);
}

// (input, weight, bias, training, momentum, eps)
sc_x sc_official_batch_norm(sc_trace *t, const sc_x *a) {
    int64_t dims[SC_RANK_MAX] = {0};
    const uint32_t rank = sc_x_rank(a[0]);
    if (sc_official_is_half(t->source)) return sc_official_in_float(t, a);
    if (rank < 2) return sc_official_refuse(t);
    for (uint32_t i = 2; i < rank; i++) dims[i - 1] = i;
    sc_x mean = CALL(t, mean_dim, a[0], sc_x_ints(t, dims, rank - 1), X_TRUE);
    sc_x moved = sc_f_sub(t, a[0], mean);
    sc_x made = CALL(t, _native_batch_norm_legit_no_stats, moved, a[1], a[2], a[3], a[4], a[5]);
    return with_mean(t, sc_trace_final(t, made), mean);
}
