// Expansions of reductions: norms, variances, sums over what is not NaN.
#include "trace/expand.h"
#include "trace/words/arithmetic.h"
#include "trace/words/calls.h"
#include "trace/words/choose.h"

#include <math.h>

// --- Norms --------------------------------------------------------------------------------------

static bool all_of_size_one(sc_trace *t, sc_x x, sc_x dims) {
    if (dims->kind != SC_X_LIST) return sc_dim_is(sc_x_numel(t, x), 1);
    for (uint32_t i = 0; i < dims->count; i++)
        if (!sc_dim_is(sc_x_size(x, sc_x_number(dims->items[i], 0)), 1)) return false;
    return sc_x_rank(x) > 0;
}

static sc_x wrapped(sc_trace *t, sc_x dims, uint32_t rank) {
    int64_t values[SC_RANK_MAX];
    if (dims->kind != SC_X_LIST || dims->count == 0) return X_NONE;
    uint32_t count = sc_x_int_list(t, dims, values, SC_RANK_MAX);
    for (uint32_t i = 0; i < count; i++) values[i] = sc_x_wrap(t, sc_x_int(t, values[i]), rank);
    return sc_x_ints(t, values, count);
}

// A norm over single elements is their magnitude.
static sc_x magnitude(sc_trace *t, sc_x x, sc_x dims, bool keepdim, sc_dtype dtype) {
    x = sc_f_to(t, CALL(t, abs, x), dtype);
    if (keepdim || sc_x_rank(x) == 0) return x;
    if (dims->kind != SC_X_LIST) return sc_f_select(t, CALL(t, flatten_using_ints, x), 0, 0);
    bool dropped[SC_RANK_MAX] = {false};
    sc_dim sizes[SC_RANK_MAX];
    uint32_t rank = 0;
    for (uint32_t i = 0; i < dims->count; i++) dropped[sc_x_number(dims->items[i], 0)] = true;
    for (uint32_t d = 0; d < sc_x_rank(x); d++)
        if (!dropped[d]) sizes[rank++] = sc_x_size(x, d);
    return sc_f_contiguous(t, sc_f_view(t, x, sizes, rank));
}

static sc_x vector_norm(sc_trace *t, sc_x x, sc_x order, sc_x dims, bool keepdim, sc_x dtype) {
    sc_dtype result = sc_x_dtype_or(dtype, sc_x_dtype_of(x));
    double p = sc_x_known(t, order, 2);
    if (p == 0)
        return CALL(t, sum_dim_IntList, CALL(t, ne_Scalar, x, sc_x_float(t, 0.0)), dims,
                    sc_x_bool(keepdim), sc_x_dtype(t, result));
    if (isinf(p)) {
        sc_x given = dims->kind == SC_X_LIST ? dims : sc_x_dims(t, NULL, 0);
        sc_x size = CALL(t, abs, x);
        if (sc_dim_is(sc_x_numel(t, x), 0))  // and so is the result, or PyTorch refuses
            return sc_f_to(t, sc_f_sum(t, size, dims, keepdim), result);
        return sc_f_to(t,
                       p > 0 ? CALL(t, amax, size, given, sc_x_bool(keepdim))
                             : CALL(t, amin, size, given, sc_x_bool(keepdim)),
                       result);
    }
    x = sc_f_to(t, x, sc_f_opmath(result));
    dims = wrapped(t, dims, sc_x_rank(x));
    if (all_of_size_one(t, x, dims)) return magnitude(t, x, dims, keepdim, result);
    if (fmod(p, 2.0) != 0) x = CALL(t, abs, x);
    sc_x sum = sc_f_sum(t, CALL(t, pow_Tensor_Scalar, x, order), dims, keepdim);
    return sc_f_to(t, CALL(t, pow_Tensor_Scalar, sum, sc_x_float(t, 1.0 / p)), result);
}

sc_x sc_expand_vector_norm(sc_trace *t, const sc_x *a) {
    return vector_norm(t, a[0], a[1], a[2], sc_x_truth(a[3]), a[4]);
}

// (self, ord, dim, keepdim, dtype): of vectors, of matrices, or of all there is
sc_x sc_expand_linalg_norm(sc_trace *t, const sc_x *a) {
    bool listed = a[2]->kind == SC_X_LIST;
    bool matrix = listed ? a[2]->count == 2 : sc_x_rank(a[0]) == 2;
    if (!sc_x_is_none(a[1]) && matrix)
        return CALL(t, linalg_matrix_norm, a[0], a[1], listed ? a[2] : X_INTS(t, 0, 1), a[3], a[4]);
    sc_x order = sc_x_is_none(a[1]) ? sc_x_float(t, 2.0) : a[1];
    return CALL(t, linalg_vector_norm, a[0], order, a[2], a[3], a[4]);
}

// --- Others -------------------------------------------------------------------------------------

sc_x sc_expand_logsumexp(sc_trace *t, const sc_x *a) {
    sc_x x = sc_x_is_float(a[0]) ? sc_f_widen(t, a[0]) : sc_f_to(t, a[0], SC_DTYPE_F32);
    if (sc_dim_is(sc_x_numel(t, x), 0))  // an empty tensor has no largest element
        return CALL(t, log, sc_f_sum(t, CALL(t, exp, x), a[1], sc_x_truth(a[2])));
    sc_x max = sc_f_amax_or(t, x, a[1], true, -INFINITY);
    sc_x infinite = sc_f_eq_number(t, CALL(t, abs, max), INFINITY);
    sc_x zero = sc_f_scalar_like(t, sc_x_float(t, 0.0), max);
    max = sc_f_where(t, infinite, zero, max);
    sc_x squeezed = sc_x_truth(a[2]) ? max : CALL(t, squeeze_dims, max, a[1]);
    sc_x sum = sc_f_sum(t, CALL(t, exp, sc_f_sub(t, x, max)), a[1], sc_x_truth(a[2]));
    sc_x result = sc_f_add(t, CALL(t, log, sum), squeezed);
    return sc_x_is_float(a[0]) ? sc_f_to_dtype_of(t, result, a[0]) : result;
}

static sc_x diff_once(sc_trace *t, sc_x x, sc_x dim) {
    sc_dim size = sc_x_size(x, sc_x_wrap(t, dim, sc_x_rank(x)));
    sc_dim less = sc_trace_sub(t, size, sc_dim_int(1));
    sc_x first = CALL(t, slice_Tensor, x, dim, sc_x_int(t, 0), sc_x_dim(t, less));
    sc_x second = CALL(t, slice_Tensor, x, dim, sc_x_int(t, 1), sc_x_dim(t, size));
    if (sc_x_dtype_of(x) == SC_DTYPE_BOOL) return CALL(t, logical_xor, second, first);
    return sc_f_sub(t, second, first);
}

sc_x sc_expand_diff(sc_trace *t, const sc_x *a) {
    sc_x x = a[0], parts[3];
    uint32_t count = 0;
    int64_t times = sc_x_number(a[1], 1);
    if (times < 0 || times > 64)
        return sc_trace_fail(t, SC_ERR_ARGUMENT, NULL, "diff does not take order %lld",
                             (long long)times);
    if (times == 0)
        return CALL(t, copy_, CALL(t, zeros_like, x), x);  // whatever is to be put around it
    if (sc_x_is_tensor(a[3])) parts[count++] = a[3];
    parts[count++] = x;
    if (sc_x_is_tensor(a[4])) parts[count++] = a[4];
    if (count > 1) x = CALL(t, cat, sc_x_list(t, parts, count), a[2]);
    for (int64_t i = 0; i < times; i++) x = diff_once(t, x, a[2]);
    return x;
}

// --- Norms that are held down -------------------------------------------------------------------

// (self, p, dim, maxnorm): slices along the dim whose norm is larger are scaled to it.
sc_x sc_expand_renorm(sc_trace *t, const sc_x *a) {
    uint32_t rank = sc_x_rank(a[0]), dim = sc_x_wrap(t, a[2], rank), count = 0;
    int64_t dims[SC_RANK_MAX];
    if (rank < 2)
        return sc_trace_fail(t, SC_ERR_SHAPE, NULL, "renorm needs at least two dimensions");
    for (uint32_t i = 0; i < rank; i++)
        if (i != dim) dims[count++] = i;
    sc_dtype dtype = sc_x_dtype_of(a[0]), wide = sc_f_opmath(dtype);
    sc_x given = wide == dtype ? X_NONE : sc_x_dtype(t, wide);
    sc_x norm = CALL(t, linalg_vector_norm, a[0], a[1], sc_x_ints(t, dims, count), X_TRUE, given);
    sc_x above = CALL(t, gt_Scalar, norm, a[3]);
    sc_x factor = CALL(t, reciprocal, sc_f_add_number(t, norm, 1e-7));
    factor = CALL(t, mul_Scalar, factor, a[3]);
    sc_x one = sc_f_scalar_like(t, sc_x_int(t, 1), norm);
    factor = sc_f_to(t, sc_f_where(t, above, factor, one), dtype);
    return sc_f_mul(t, a[0], factor);
}
