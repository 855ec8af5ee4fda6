// Rules of factorisations and solvers. Matrices in results are stored column by column, as the
// libraries that compute them do.
#include "ops/rule.h"

static sc_status need_matrices(sc_infer *in, const sc_spec *self, bool square) {
    if (self->rank < 2) return sc_rule_fail(in, SC_ERR_SHAPE, "%s needs matrices", in->op->name);
    if (!square) return SC_OK;
    return sc_rule_same(in, self->sizes[self->rank - 1], self->sizes[self->rank - 2],
                        "rows and columns");
}

static void set_by_columns(sc_infer *in, sc_iout *out, sc_spec spec) {
    uint8_t order[SC_RANK_MAX];
    for (uint32_t d = 0; d < spec.rank; d++) order[d] = (uint8_t)d;
    order[spec.rank - 1] = (uint8_t)(spec.rank - 2);
    order[spec.rank - 2] = (uint8_t)(spec.rank - 1);
    sc_spec_set_order(in->exprs, &spec, order);
    sc_rule_set(out, spec);
}

// The batch of `self`, and `inner` more sizes that the caller sets.
static sc_spec batch_like(sc_infer *in, sc_dtype dtype, const sc_spec *self, uint32_t inner) {
    sc_spec spec = sc_rule_like(in, dtype, self);
    spec.rank = (uint8_t)(self->rank - 2 + inner);
    return spec;
}

static void set_batch(sc_infer *in, sc_iout *out, sc_dtype dtype, const sc_spec *self) {
    sc_spec spec = batch_like(in, dtype, self, 0);
    sc_rule_contiguous(in, &spec);
    sc_rule_set(out, spec);
}

static sc_dim lesser(sc_infer *in, const sc_spec *self) {
    sc_dim rows = self->sizes[self->rank - 2], columns = self->sizes[self->rank - 1];
    return sc_dim_min(in->exprs, rows, columns);
}

sc_status sc_infer_factor_ex(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    SC_TRY(need_matrices(in, self, true));
    sc_iout *outs = sc_infer_outs(in, 2);
    set_by_columns(in, &outs[0], sc_rule_like(in, (sc_dtype)self->dtype, self));
    set_batch(in, &outs[1], SC_DTYPE_I32, self);
    return SC_OK;
}

sc_status sc_infer_lu_factor(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    SC_TRY(need_matrices(in, self, false));
    sc_iout *outs = sc_infer_outs(in, 3);
    set_by_columns(in, &outs[0], sc_rule_like(in, (sc_dtype)self->dtype, self));
    sc_spec pivots = batch_like(in, SC_DTYPE_I32, self, 1);
    pivots.sizes[pivots.rank - 1] = lesser(in, self);
    sc_rule_contiguous(in, &pivots);
    sc_rule_set(&outs[1], pivots);
    set_batch(in, &outs[2], SC_DTYPE_I32, self);
    return SC_OK;
}

static sc_status check_sides(sc_infer *in, bool left) {
    const sc_spec *self = sc_rule_tensor(in, 0), *right = sc_rule_tensor(in, 1);
    SC_TRY(need_matrices(in, self, true));
    if (right->rank != self->rank || right->dtype != self->dtype)
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s: matrix %s does not match %s", in->op->name,
                            sc_rule_text(in, self), sc_rule_text(in, right));
    for (uint32_t d = 0; d + 2 < self->rank; d++)
        SC_TRY(sc_rule_same(in, self->sizes[d], right->sizes[d], "the batches of both sides"));
    return sc_rule_same(in, self->sizes[self->rank - 1], right->sizes[right->rank - 1u - left],
                        "the sizes of both sides");
}

sc_status sc_infer_linalg_solve_ex(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0), *right = sc_rule_tensor(in, 1);
    SC_TRY(check_sides(in, sc_rule_bool(in, "left", true)));
    sc_iout *outs = sc_infer_outs(in, 2);
    set_by_columns(in, &outs[0], sc_rule_like(in, (sc_dtype)self->dtype, right));
    set_batch(in, &outs[1], SC_DTYPE_I32, self);
    return SC_OK;
}

sc_status sc_infer_solve_triangular(sc_infer *in) {
    const sc_spec *right = sc_rule_tensor(in, 1);
    SC_TRY(check_sides(in, sc_rule_bool(in, "left", true)));
    set_by_columns(in, sc_infer_outs(in, 1), sc_rule_like(in, (sc_dtype)right->dtype, right));
    return SC_OK;
}

sc_status sc_infer_matrix_exp(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    SC_TRY(need_matrices(in, self, true));
    return sc_rule_publish_like(in, (sc_dtype)self->dtype, self);
}

static void set_empty(sc_infer *in, sc_iout *out, const sc_spec *self) {
    sc_rule_set_vector(in, out, (sc_dtype)self->dtype, sc_dim_int(0));
}

// A matrix of these sizes for each of the batch.
static void set_matrix(sc_infer *in, sc_iout *out, const sc_spec *self, sc_dim rows,
                       sc_dim columns) {
    sc_spec spec = batch_like(in, (sc_dtype)self->dtype, self, 2);
    spec.sizes[spec.rank - 2] = rows;
    spec.sizes[spec.rank - 1] = columns;
    set_by_columns(in, out, spec);
}

sc_status sc_infer_linalg_qr(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    const sc_iarg *mode = sc_rule_arg(in, "mode");
    sc_str how = mode->kind == SC_IARG_STR ? mode->str : SC_STR("reduced");
    SC_TRY(need_matrices(in, self, false));
    bool complete = sc_str_is(how, "complete"), has_q = complete || sc_str_is(how, "reduced");
    if (!has_q && !sc_str_is(how, "r"))
        return sc_rule_fail(in, SC_ERR_ARGUMENT, "%s has no mode '" SC_STR_FMT "'", in->op->name,
                            SC_STR_ARG(how));
    sc_dim rows = self->sizes[self->rank - 2], columns = self->sizes[self->rank - 1];
    sc_dim shared = complete ? rows : lesser(in, self);
    sc_iout *outs = sc_infer_outs(in, 2);
    if (has_q)
        set_matrix(in, &outs[0], self, rows, shared);
    else
        set_empty(in, &outs[0], self);
    set_matrix(in, &outs[1], self, shared, columns);
    return SC_OK;
}

// Eigenvalues and singular values, which are real also of complex matrices.
static void set_values(sc_infer *in, sc_iout *out, const sc_spec *self, sc_dim count) {
    sc_spec spec = batch_like(in, sc_dtype_to_real((sc_dtype)self->dtype), self, 1);
    spec.sizes[spec.rank - 1] = count;
    sc_rule_contiguous(in, &spec);
    sc_rule_set(out, spec);
}

sc_status sc_infer_linalg_eigh(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    SC_TRY(need_matrices(in, self, true));
    sc_dim n = self->sizes[self->rank - 1];
    sc_iout *outs = sc_infer_outs(in, 2);
    set_values(in, &outs[0], self, n);
    if (sc_rule_bool(in, "compute_v", true))
        set_matrix(in, &outs[1], self, n, n);
    else
        set_empty(in, &outs[1], self);
    return SC_OK;
}

sc_status sc_infer_linalg_svd(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    SC_TRY(need_matrices(in, self, false));
    sc_dim rows = self->sizes[self->rank - 2], columns = self->sizes[self->rank - 1];
    sc_dim least = lesser(in, self);
    bool full = sc_rule_bool(in, "full_matrices", false);
    sc_iout *outs = sc_infer_outs(in, 3);
    set_values(in, &outs[1], self, least);
    if (sc_rule_bool(in, "compute_uv", true)) {
        set_matrix(in, &outs[0], self, rows, full ? rows : least);
        set_matrix(in, &outs[2], self, full ? columns : least, columns);
    } else {
        set_empty(in, &outs[0], self);
        set_empty(in, &outs[2], self);
    }
    return SC_OK;
}
