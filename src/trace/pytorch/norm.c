// Normalisations: over batches, instances, groups and single vectors, and of weights.
#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"

// Training updates the running statistics, which are the caller's tensors.
sc_x sc_expand_native_batch_norm(sc_trace *t, const sc_x *a) {
    sc_x x = a[0], weight = a[1], bias = a[2], mean = a[3], var = a[4];
    if (!sc_x_truth(a[5]))
        return CALL(t, _native_batch_norm_legit_no_training, x, weight, bias, mean, var, a[6],
                    a[7]);
    sc_x out = CALL(t, _native_batch_norm_legit_functional, x, weight, bias, mean, var, X_TRUE,
                    a[6], a[7]);
    sc_trace_assign(t, mean, sc_x_at(t, out, 3));
    sc_trace_assign(t, var, sc_x_at(t, out, 4));
    return X_LIST(t, sc_x_at(t, out, 0), sc_x_at(t, out, 1), sc_x_at(t, out, 2));
}

// Without running statistics, too, those of the batch are taken.
sc_x sc_expand_old_batch_norm(sc_trace *t, const sc_x *a) {
    if (sc_x_is_tensor(a[3]) && sc_x_is_tensor(a[4])) return sc_expand_native_batch_norm(t, a);
    if (!sc_x_truth(a[5]))
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL,
                             "native_batch_norm in eval mode needs running statistics");
    return CALL(t, _native_batch_norm_legit_no_stats, a[0], a[1], a[2], X_TRUE, a[6], a[7]);
}

// The next running statistic: the old one decays by the weight of the batch's own.
static sc_x mixed(sc_trace *t, sc_x running, sc_x batch, double momentum) {
    sc_x old = sc_f_to_dtype_of(t, running, batch);
    sc_x added = sc_f_mul_number(t, batch, momentum);
    sc_x kept = sc_f_mul_number(t, old, 1.0 - momentum);
    return sc_f_to_dtype_of(t, sc_f_add(t, added, kept), running);
}

static sc_x as_computed(sc_trace *t, sc_x x, sc_dtype dtype) {
    return sc_x_is_tensor(x) ? sc_f_to(t, x, dtype) : X_NONE;
}

// (input, weight, bias, running_mean, running_var, training, momentum, eps). PyTorch keeps it, and
// no runtime has it: normalisation by the batch, and the new statistics, with the unbiased
// variance.
sc_x sc_expand_batch_norm_functional(sc_trace *t, const sc_x *a) {
    sc_dtype dtype = sc_x_dtype_of(a[0]), compute = sc_f_opmath(dtype);
    uint32_t rank = sc_x_rank(a[0]), count = 0;
    int64_t dims[SC_RANK_MAX];
    double momentum = sc_x_known(t, a[6], 0.1);
    if (rank < 2 || !sc_x_truth(a[5]))
        return sc_trace_fail(t, SC_ERR_UNSUPPORTED, "Call model.eval() before torch.export.",
                             "functional batch norm of a rank-%u tensor", rank);
    for (uint32_t i = 0; i < rank; i++)
        if (i != 1) dims[count++] = i;
    sc_x x = sc_f_to(t, a[0], compute);
    sc_x weight = as_computed(t, a[1], compute), bias = as_computed(t, a[2], compute);
    sc_x out = CALL(t, _native_batch_norm_legit_no_stats, x, weight, bias, X_TRUE, a[6], a[7]);
    sc_x mean = sc_x_at(t, out, 1), deviation = sc_x_at(t, out, 2);
    sc_x var = CALL(t, var_correction, x, sc_x_ints(t, dims, count), sc_x_int(t, 1));
    sc_x new_mean = mixed(t, a[3], mean, momentum), new_var = mixed(t, a[4], var, momentum);
    out = sc_f_to(t, sc_x_at(t, out, 0), dtype);
    mean = sc_f_to(t, mean, dtype), deviation = sc_f_to(t, deviation, dtype);
    return X_LIST(t, out, mean, deviation, new_mean, new_var);
}

sc_x sc_expand_batch_norm(sc_trace *t, const sc_x *a) {
    if (sc_x_is_tensor(a[3]) && sc_x_is_tensor(a[4]))
        return sc_x_at(t, sc_expand_native_batch_norm(t, a), 0);
    if (!sc_x_truth(a[5]))
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL,
                             "batch_norm in eval mode needs running statistics");
    return sc_x_at(
        t, CALL(t, _native_batch_norm_legit_no_stats, a[0], a[1], a[2], X_TRUE, a[6], a[7]), 0);
}

static sc_x repeated(sc_trace *t, sc_x x, sc_dim times) {
    return sc_x_is_tensor(x) ? CALL(t, repeat, x, sc_x_dims(t, &times, 1)) : X_NONE;
}

// State of channels becomes the mean of what it would be in all samples.
static void keep_statistics(sc_trace *t, sc_x state, sc_x repeated_state, sc_dim times) {
    sc_dim sizes[2] = {times, sc_x_size(state, 0)};
    sc_x rows = sc_f_view(t, repeated_state, sizes, 2);
    CALL(t, copy_, state, CALL(t, mean_dim, rows, X_INTS(t, 0)));
}

// Every channel of every sample is a channel of one big sample.
sc_x sc_expand_instance_norm(sc_trace *t, const sc_x *a) {
    const sc_spec *spec = sc_x_spec(a[0]);
    sc_dim sizes[SC_RANK_MAX], times = spec->rank ? spec->sizes[0] : sc_dim_int(1);
    bool has_state = sc_x_is_tensor(a[3]) && sc_x_is_tensor(a[4]), by_input = sc_x_truth(a[5]);
    if (spec->rank < 2 || (!by_input && !has_state))
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL,
                             "instance_norm needs at least two dimensions, and running statistics "
                             "where it does not use those of the input");
    memcpy(sizes, spec->sizes, spec->rank * sizeof *sizes);
    sizes[0] = sc_dim_int(1);
    sizes[1] = sc_trace_mul(t, times, spec->sizes[1]);
    sc_x weight = repeated(t, a[1], times), bias = repeated(t, a[2], times);
    sc_x mean = has_state ? repeated(t, a[3], times) : X_NONE;
    sc_x var = has_state ? repeated(t, a[4], times) : X_NONE;
    sc_x x = sc_f_view(t, sc_f_contiguous(t, a[0]), sizes, spec->rank);
    sc_x out = CALL(t, batch_norm, x, weight, bias, mean, var, a[5], a[6], a[7], a[8]);
    if (has_state && by_input) {
        keep_statistics(t, a[3], mean, times);
        keep_statistics(t, a[4], var, times);
    }
    return sc_f_view(t, out, spec->sizes, spec->rank);
}

sc_x sc_expand_group_norm(sc_trace *t, const sc_x *a) {
    const sc_spec *spec = sc_x_spec(a[0]);
    if (spec->rank < 2)
        return sc_trace_fail(t, SC_ERR_SHAPE, NULL, "group_norm does not take a rank-%u tensor",
                             spec->rank);
    sc_dim inner = sc_trace_product(t, spec->sizes + 2, spec->rank - 2);
    return sc_x_at(t,
                   CALL(t, native_group_norm, a[0], a[2], a[3], sc_x_dim(t, spec->sizes[0]),
                        sc_x_dim(t, spec->sizes[1]), sc_x_dim(t, inner), a[1], a[4]),
                   0);
}

static double epsilon(sc_dtype dtype) {
    return dtype == SC_DTYPE_F64 ? 2.220446049250313e-16 : 1.1920928955078125e-07;
}

sc_x sc_expand_rms_norm(sc_trace *t, const sc_x *a) {
    sc_dtype dtype = sc_x_dtype_of(a[0]), compute = sc_f_opmath(dtype);
    uint32_t rank = sc_x_rank(a[0]), count = a[1]->kind == SC_X_LIST ? a[1]->count : 0;
    int64_t dims[SC_RANK_MAX];
    if (count == 0 || count > rank)
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "rms_norm cannot normalise %u dimensions",
                             count);
    for (uint32_t i = 0; i < count; i++) dims[i] = rank - count + i;
    sc_x x = sc_f_to(t, a[0], compute);
    sc_x eps = sc_x_is_none(a[3]) ? sc_x_float(t, epsilon(compute)) : a[3];
    sc_x mean = CALL(t, mean_dim, CALL(t, pow_Tensor_Scalar, x, sc_x_int(t, 2)),
                     sc_x_ints(t, dims, count), X_TRUE);
    sc_x scale = CALL(t, rsqrt, CALL(t, add_Scalar, mean, eps));
    sc_x out = sc_f_mul(t, x, scale);
    if (sc_x_is_tensor(a[2])) out = sc_f_mul(t, out, a[2]);
    if (sc_x_dtype_of(out) == dtype) return out;
    return CALL(t, _to_copy, out, sc_x_dtype(t, dtype), X_STRIDED, X_CPU);
}

sc_x sc_expand_weight_norm(sc_trace *t, const sc_x *a) {
    uint32_t rank = sc_x_rank(a[0]), dim = sc_x_wrap(t, a[2], rank), count = 0;
    int64_t dims[SC_RANK_MAX];
    for (uint32_t i = 0; i < rank; i++)
        if (i != dim) dims[count++] = i;
    sc_x squares = CALL(t, pow_Tensor_Scalar, a[0], sc_x_int(t, 2));
    sc_x norm = CALL(t, pow_Tensor_Scalar, sc_f_sum(t, squares, sc_x_ints(t, dims, count), true),
                     sc_x_float(t, 0.5));
    return sc_f_mul(t, a[0], sc_f_div(t, a[1], norm));
}
