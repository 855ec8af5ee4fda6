// Rules of reductions, scans and sorting: which dims go, and which dtype sums and indices have.
// Results are row-major.
#include "ops/rule.h"

static sc_status publish_reduced(sc_infer *in, uint32_t count, const sc_dtype *dtypes,
                                 bool empty_is_all) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    bool gone[SC_RANK_MAX];
    SC_TRY(sc_rule_dim_set(in, "dim", self->rank, empty_is_all, gone));
    bool keep = sc_rule_bool(in, "keepdim", false);
    sc_iout *outs = sc_infer_outs(in, count);
    for (uint32_t i = 0; i < count; i++) {
        sc_spec spec = sc_rule_new(in, dtypes[i], self->rank);
        uint32_t rank = 0;
        for (uint32_t d = 0; d < self->rank; d++)
            if (!gone[d] || keep) spec.sizes[rank++] = gone[d] ? sc_dim_int(1) : self->sizes[d];
        spec.rank = (uint8_t)rank;
        sc_rule_contiguous(in, &spec);
        sc_rule_set(&outs[i], spec);
    }
    return SC_OK;
}

static sc_status reduce_to(sc_infer *in, sc_dtype dtype) {
    return publish_reduced(in, 1, &dtype, true);
}

static sc_dtype self_dtype(const sc_infer *in) { return (sc_dtype)sc_rule_tensor(in, 0)->dtype; }

static sc_dtype sum_dtype(const sc_infer *in) {
    sc_dtype dtype = self_dtype(in);
    return sc_rule_dtype(in, "dtype", sc_dtype_is_integral(dtype, true) ? SC_DTYPE_I64 : dtype);
}

static sc_status need_float(const sc_infer *in, sc_dtype dtype) {
    sc_category category = sc_dtype_category(dtype);
    if (category == SC_CATEGORY_FLOAT || category == SC_CATEGORY_COMPLEX) return SC_OK;
    return sc_fail(in->ctx, SC_ERR_DTYPE, "Convert the input with .float() first.",
                   "%s needs a floating-point tensor, not %s", in->op->name, sc_dtype_name(dtype));
}

sc_status sc_infer_reduce(sc_infer *in) { return reduce_to(in, self_dtype(in)); }

sc_status sc_infer_reduce_sum(sc_infer *in) { return reduce_to(in, sum_dtype(in)); }

sc_status sc_infer_reduce_mean(sc_infer *in) {
    sc_dtype dtype = sc_rule_dtype(in, "dtype", self_dtype(in));
    if (!in->runtime) SC_TRY(need_float(in, dtype));
    return reduce_to(in, dtype);
}

sc_status sc_infer_reduce_float(sc_infer *in) {
    SC_TRY(need_float(in, self_dtype(in)));
    return reduce_to(in, self_dtype(in));
}

sc_status sc_infer_reduce_float_pair(sc_infer *in) {
    sc_dtype dtypes[2] = {self_dtype(in), self_dtype(in)};
    SC_TRY(need_float(in, dtypes[0]));
    return publish_reduced(in, 2, dtypes, true);
}

// any.dims with an empty list reduces no dim, unlike its relatives.
sc_status sc_infer_reduce_bool(sc_infer *in) {
    sc_dtype dtype = self_dtype(in) == SC_DTYPE_U8 ? SC_DTYPE_U8 : SC_DTYPE_BOOL;
    return publish_reduced(in, 1, &dtype, false);
}

sc_status sc_infer_reduce_arg(sc_infer *in) { return reduce_to(in, SC_DTYPE_I64); }

sc_status sc_infer_reduce_index(sc_infer *in) {
    sc_dtype dtypes[2] = {self_dtype(in), SC_DTYPE_I64};
    return publish_reduced(in, 2, dtypes, false);
}

// --- Along a dim, sizes kept ---------------------------------------------------------------------

static sc_status check_dim(sc_infer *in) {
    uint32_t dim;
    return sc_rule_wrapped(in, "dim", sc_rule_tensor(in, 0)->rank, &dim);
}

sc_status sc_infer_scan_sum(sc_infer *in) {
    SC_TRY(check_dim(in));
    return sc_rule_publish_like(in, sum_dtype(in), sc_rule_tensor(in, 0));
}

sc_status sc_infer_scan_index(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    SC_TRY(check_dim(in));
    sc_spec spec = sc_rule_like(in, (sc_dtype)self->dtype, self);
    sc_rule_contiguous(in, &spec);
    return sc_rule_publish_indexed(in, spec);
}

sc_status sc_infer_softmax(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    SC_TRY(check_dim(in));
    SC_TRY(need_float(in, (sc_dtype)self->dtype));
    bool widen = sc_rule_bool(in, "half_to_float", false);
    return sc_rule_publish_like(in, widen ? SC_DTYPE_F32 : (sc_dtype)self->dtype, self);
}

sc_status sc_infer_log_softmax(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    SC_TRY(sc_infer_softmax(in));
    if (self->rank) sc_rule_normalized(in, &in->outs[0].spec, self);
    return SC_OK;
}

// --- Sorting -------------------------------------------------------------------------------------

sc_status sc_infer_sort(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    SC_TRY(check_dim(in));
    sc_spec spec = sc_rule_like(in, (sc_dtype)self->dtype, self);
    sc_rule_preserve(in, &spec, self);
    return sc_rule_publish_indexed(in, spec);
}

sc_status sc_infer_topk(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    uint32_t dim;
    SC_TRY(sc_rule_wrapped(in, "dim", self->rank, &dim));
    sc_spec spec = sc_rule_like(in, (sc_dtype)self->dtype, self);
    sc_dim k = sc_rule_dim(in, "k", 1), size = self->rank ? self->sizes[dim] : sc_dim_int(1);
    if (sc_rule_less(size, k, false) || sc_rule_less(k, sc_dim_int(0), false))
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s: k is %s, but dimension %u has size %s",
                            in->op->name, sc_rule_dim_text(in, k), dim, sc_rule_dim_text(in, size));
    if (self->rank) spec.sizes[dim] = k;
    sc_rule_contiguous(in, &spec);
    return sc_rule_publish_indexed(in, spec);
}
