// Expansions of reductions: norms, variances, sums over what is not NaN.
#include "passes/expand.h"

#include <math.h>

static sc_x widen(sc_trace *t, sc_x x) { return f_to(t, x, f_opmath(x_dtype_of(x))); }

// --- Variance -----------------------------------------------------------------------------------

// `unbiased` is correction 1 or 0, 1 when not said.
static double correction_of(sc_x unbiased) {
    return x_is_none(unbiased) || x_truth(unbiased) ? 1 : 0;
}

sc_x sc_expand_var(sc_trace *t, const sc_x *a) {
    return T(var_correction, a[0], X_NONE, X_INT((int64_t)correction_of(a[1])), X_FALSE);
}

sc_x sc_expand_var_dim(sc_trace *t, const sc_x *a) {
    return T(var_correction, a[0], a[1], X_INT((int64_t)correction_of(a[2])), a[3]);
}

sc_x sc_expand_var_mean(sc_trace *t, const sc_x *a) {
    return T(var_mean_correction, a[0], X_NONE, X_INT((int64_t)correction_of(a[1])), X_FALSE);
}

sc_x sc_expand_var_mean_dim(sc_trace *t, const sc_x *a) {
    return T(var_mean_correction, a[0], a[1], X_INT((int64_t)correction_of(a[2])), a[3]);
}

static sc_x std(sc_trace *t, sc_x x, sc_x dim, sc_x correction, sc_x keepdim) {
    double c = x_real(correction, 1);
    sc_x var = T(var_correction, widen(t, x), dim, X_FLOAT(c), keepdim);
    return f_to(t, T(sqrt, var), x_dtype_of(x));
}

sc_x sc_expand_std(sc_trace *t, const sc_x *a) {
    return std(t, a[0], X_NONE, X_FLOAT(correction_of(a[1])), X_FALSE);
}

sc_x sc_expand_std_dim(sc_trace *t, const sc_x *a) {
    return std(t, a[0], a[1], X_FLOAT(correction_of(a[2])), a[3]);
}

sc_x sc_expand_std_correction(sc_trace *t, const sc_x *a) { return std(t, a[0], a[1], a[2], a[3]); }

static sc_x std_mean(sc_trace *t, sc_x x, sc_x dim, sc_x correction, sc_x keepdim) {
    double c = x_real(correction, 1);
    sc_x both = T(var_mean_correction, widen(t, x), dim, X_FLOAT(c), keepdim);
    sc_x deviation = f_to(t, T(sqrt, x_at(t, both, 0)), x_dtype_of(x));
    return X_LIST(deviation, f_to(t, x_at(t, both, 1), x_dtype_of(x)));
}

sc_x sc_expand_std_mean(sc_trace *t, const sc_x *a) {
    return std_mean(t, a[0], X_NONE, X_FLOAT(correction_of(a[1])), X_FALSE);
}

sc_x sc_expand_std_mean_dim(sc_trace *t, const sc_x *a) {
    return std_mean(t, a[0], a[1], X_FLOAT(correction_of(a[2])), a[3]);
}

sc_x sc_expand_std_mean_correction(sc_trace *t, const sc_x *a) {
    return std_mean(t, a[0], a[1], a[2], a[3]);
}

// --- Norms --------------------------------------------------------------------------------------

static bool all_of_size_one(sc_trace *t, sc_x x, sc_x dims) {
    if (dims->kind != SC_X_LIST) return sc_dim_is(x_numel(t, x), 1);
    for (uint32_t i = 0; i < dims->count; i++)
        if (!sc_dim_is(x_size(x, x_number(dims->items[i], 0)), 1)) return false;
    return x_rank(x) > 0;
}

static sc_x wrapped(sc_trace *t, sc_x dims, uint32_t rank) {
    int64_t values[SC_RANK_MAX];
    if (dims->kind != SC_X_LIST || dims->count == 0) return X_NONE;
    uint32_t count = x_int_list(t, dims, values, SC_RANK_MAX);
    for (uint32_t i = 0; i < count; i++) values[i] = x_wrap(t, X_INT(values[i]), rank);
    return x_ints(t, values, count);
}

// A norm over single elements is their magnitude.
static sc_x magnitude(sc_trace *t, sc_x x, sc_x dims, bool keepdim, sc_dtype dtype) {
    x = f_to(t, T(abs, x), dtype);
    if (keepdim || x_rank(x) == 0) return x;
    if (dims->kind != SC_X_LIST) return f_select(t, T(flatten_using_ints, x), 0, 0);
    bool dropped[SC_RANK_MAX] = {false};
    sc_dim sizes[SC_RANK_MAX];
    uint32_t rank = 0;
    for (uint32_t i = 0; i < dims->count; i++) dropped[x_number(dims->items[i], 0)] = true;
    for (uint32_t d = 0; d < x_rank(x); d++)
        if (!dropped[d]) sizes[rank++] = x_size(x, d);
    return f_contiguous(t, f_view(t, x, sizes, rank));
}

static sc_x vector_norm(sc_trace *t, sc_x x, sc_x order, sc_x dims, bool keepdim, sc_x dtype) {
    sc_dtype result = dtype->kind == SC_X_DTYPE ? (sc_dtype)dtype->code : x_dtype_of(x);
    double p = x_real(order, 2);
    if (p == 0)
        return T(sum_dim_IntList, T(ne_Scalar, x, X_FLOAT(0.0)), dims, X_BOOL(keepdim),
                 X_DTYPE(result));
    if (isinf(p)) {
        sc_x given = dims->kind == SC_X_LIST ? dims : x_dims(t, NULL, 0);
        sc_x size = T(abs, x);
        return f_to(t,
                    p > 0 ? T(amax, size, given, X_BOOL(keepdim))
                          : T(amin, size, given, X_BOOL(keepdim)),
                    result);
    }
    x = f_to(t, x, f_opmath(result));
    dims = wrapped(t, dims, x_rank(x));
    if (all_of_size_one(t, x, dims)) return magnitude(t, x, dims, keepdim, result);
    if (fmod(p, 2.0) != 0) x = T(abs, x);
    sc_x sum = f_sum(t, T(pow_Tensor_Scalar, x, order), dims, keepdim);
    return f_to(t, T(pow_Tensor_Scalar, sum, X_FLOAT(1.0 / p)), result);
}

sc_x sc_expand_vector_norm(sc_trace *t, const sc_x *a) {
    return vector_norm(t, a[0], a[1], a[2], x_truth(a[3]), a[4]);
}

sc_x sc_expand_norm_scalar(sc_trace *t, const sc_x *a) {
    return vector_norm(t, a[0], a[1], X_NONE, false, X_NONE);
}

static sc_x order_or_two(sc_trace *t, sc_x order) { return x_is_none(order) ? X_INT(2) : order; }

sc_x sc_expand_norm_dim(sc_trace *t, const sc_x *a) {
    return vector_norm(t, a[0], order_or_two(t, a[1]), a[2], x_truth(a[3]), X_NONE);
}

sc_x sc_expand_norm_dtype(sc_trace *t, const sc_x *a) {
    return vector_norm(t, a[0], order_or_two(t, a[1]), X_NONE, false, a[2]);
}

sc_x sc_expand_norm_dim_dtype(sc_trace *t, const sc_x *a) {
    return vector_norm(t, a[0], order_or_two(t, a[1]), a[2], x_truth(a[3]), a[4]);
}

sc_x sc_expand_linalg_norm(sc_trace *t, const sc_x *a) {
    bool matrix = a[2]->kind == SC_X_LIST ? a[2]->count == 2 : x_rank(a[0]) == 2;
    if (!x_is_none(a[1]) && matrix)
        return sc_trace_fail(t, SC_ERR_UNSUPPORTED, "Use torch.linalg.vector_norm.",
                             "a matrix norm other than Frobenius");
    sc_x order = x_is_none(a[1]) ? X_FLOAT(2.0) : a[1];
    return T(linalg_vector_norm, a[0], order, a[2], a[3], a[4]);
}

// --- Others -------------------------------------------------------------------------------------

sc_x sc_expand_logsumexp(sc_trace *t, const sc_x *a) {
    sc_x x = x_is_float(a[0]) ? widen(t, a[0]) : f_to(t, a[0], SC_DTYPE_F32);
    sc_x max = T(amax, x, a[1], X_TRUE);
    sc_x infinite = T(eq_Scalar, T(abs, max), X_FLOAT(INFINITY));
    sc_x zero = f_scalar(t, X_FLOAT(0.0), x_dtype_of(max));
    max = T(where_self, infinite, zero, max);
    sc_x squeezed = x_truth(a[2]) ? max : T(squeeze_dims, max, a[1]);
    sc_x sum = f_sum(t, T(exp, T(sub_Tensor, x, max)), a[1], x_truth(a[2]));
    sc_x result = T(add_Tensor, T(log, sum), squeezed);
    return x_is_float(a[0]) ? f_to(t, result, x_dtype_of(a[0])) : result;
}

// Bytes answer in bytes.
static sc_x all_of(sc_trace *t, sc_x self, sc_x any_is_zero) {
    sc_x all = T(logical_not, any_is_zero);
    return x_dtype_of(self) == SC_DTYPE_U8 ? f_to(t, all, SC_DTYPE_U8) : all;
}

sc_x sc_expand_all(sc_trace *t, const sc_x *a) {
    return all_of(t, a[0], T(any_dims, T(logical_not, a[0])));
}

sc_x sc_expand_all_dim(sc_trace *t, const sc_x *a) {
    return all_of(t, a[0], T(any_dim, T(logical_not, a[0]), a[1], a[2]));
}

sc_x sc_expand_all_dims(sc_trace *t, const sc_x *a) {
    return all_of(t, a[0], T(any_dims, T(logical_not, a[0]), a[1], a[2]));
}

sc_x sc_expand_aminmax(sc_trace *t, const sc_x *a) {
    sc_x dims = x_is_none(a[1]) ? x_dims(t, NULL, 0) : X_LIST(a[1]);
    sc_x least = T(amin, a[0], dims, a[2]);
    return X_LIST(least, T(amax, a[0], dims, a[2]));
}

static sc_x without_nan(sc_trace *t, sc_x x) {
    if (!x_is_float(x)) return x;
    sc_x nan = T(isnan, x);
    return T(where_self, nan, f_scalar(t, X_INT(0), x_dtype_of(x)), x);
}

sc_x sc_expand_nansum(sc_trace *t, const sc_x *a) {
    return T(sum_dim_IntList, without_nan(t, a[0]), a[1], a[2], a[3]);
}

sc_x sc_expand_nanmean(sc_trace *t, const sc_x *a) {
    sc_x number = T(logical_not, T(isnan, a[0]));
    sc_x count = T(sum_dim_IntList, number, a[1], a[2]);
    sc_x sum = T(nansum, a[0], a[1], a[2], a[3]);
    return T(div_Tensor, sum, count);
}

static sc_x diff_once(sc_trace *t, sc_x x, sc_x dim) {
    sc_dim size = x_size(x, x_wrap(t, dim, x_rank(x)));
    sc_dim less = sc_trace_sub(t, size, sc_dim_int(1));
    sc_x first = T(slice_Tensor, x, dim, X_INT(0), X_DIM(less));
    sc_x second = T(slice_Tensor, x, dim, X_INT(1), X_DIM(size));
    if (x_dtype_of(x) == SC_DTYPE_BOOL) return T(logical_xor, second, first);
    return T(sub_Tensor, second, first);
}

sc_x sc_expand_diff(sc_trace *t, const sc_x *a) {
    sc_x x = a[0], parts[3];
    uint32_t count = 0;
    int64_t times = x_number(a[1], 1);
    if (times < 0 || times > 64)
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "diff of order %lld", (long long)times);
    if (times == 0) return T(copy_, T(zeros_like, x), x);  // whatever is to be put around it
    if (x_is_tensor(a[3])) parts[count++] = a[3];
    parts[count++] = x;
    if (x_is_tensor(a[4])) parts[count++] = a[4];
    if (count > 1) x = T(cat, x_list(t, parts, count), a[2]);
    for (int64_t i = 0; i < times; i++) x = diff_once(t, x, a[2]);
    return x;
}
