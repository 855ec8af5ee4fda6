// Rules of the quantization primitives: elementwise changes of dtype, and the parameters
// themselves.
#include "ops/rule.h"

sc_status sc_infer_quantize(sc_infer *in) {
    const sc_dtype dtype = sc_rule_dtype(in, "dtype", SC_DTYPE_I8);
    const sc_dtype found = (sc_dtype)sc_rule_tensor(in, 0)->dtype;
    if (!sc_dtype_is_float(found))
        return sc_rule_fail(in, SC_ERR_DTYPE, "%s needs a floating-point tensor, not %s",
                            in->op->name, sc_dtype_name(found));
    return sc_rule_publish_preserved(in, dtype, sc_rule_tensor(in, 0));
}

sc_status sc_infer_dequantize(sc_infer *in) {
    sc_dtype dtype = sc_rule_dtype(in, "out_dtype", SC_DTYPE_NONE);
    if (dtype == SC_DTYPE_NONE) dtype = sc_rule_dtype(in, "output_dtype", SC_DTYPE_F32);
    return sc_rule_publish_preserved(in, dtype, sc_rule_tensor(in, 0));
}

// The dtype that the call states is that of its integers.
sc_status sc_infer_dequantize_stated(sc_infer *in) {
    const sc_spec *integers = sc_rule_tensor(in, 0);
    const sc_dtype stated = sc_rule_dtype(in, "dtype", SC_DTYPE_NONE);
    if (stated != SC_DTYPE_NONE && stated != (sc_dtype)integers->dtype)
        return sc_rule_fail(in, SC_ERR_DTYPE, "%s: the input is %s, and the call says %s",
                            in->op->name, sc_dtype_name((sc_dtype)integers->dtype),
                            sc_dtype_name(stated));
    return sc_infer_dequantize(in);
}

// There is one scale for each index along the axis.
sc_status sc_infer_dequantize_channel(sc_infer *in) {
    const sc_spec *integers = sc_rule_tensor(in, 0), *scales = sc_rule_tensor(in, 1);
    uint32_t axis;
    SC_TRY(sc_rule_wrapped(in, "axis", integers->rank, &axis));
    if (scales->rank == 1 && axis < integers->rank)
        SC_TRY(sc_rule_same(in, scales->sizes[0], integers->sizes[axis],
                            "the scales and the sizes along the axis"));
    return sc_infer_dequantize_stated(in);
}

// One float64 scale and one int64 zero point.
sc_status sc_infer_choose_qparams(sc_infer *in) {
    sc_iout *outs = sc_infer_outs(in, 2);
    for (uint32_t i = 0; i < 2; i++) {
        sc_spec spec = sc_rule_new(in, i ? SC_DTYPE_I64 : SC_DTYPE_F64, 1);
        spec.sizes[0] = sc_dim_int(1);
        sc_rule_contiguous(in, &spec);
        sc_rule_set(&outs[i], spec);
    }
    return SC_OK;
}

// One of each per row: the last dim becomes 1.
sc_status sc_infer_choose_qparams_token(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    if (!self->rank)
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s needs a tensor with dimensions", in->op->name);
    sc_iout *outs = sc_infer_outs(in, 2);
    for (uint32_t i = 0; i < 2; i++) {
        sc_spec spec = sc_rule_like(in, i ? SC_DTYPE_I64 : SC_DTYPE_F64, self);
        spec.sizes[self->rank - 1] = sc_dim_int(1);
        sc_rule_contiguous(in, &spec);
        sc_rule_set(&outs[i], spec);
    }
    return SC_OK;
}

// A state goes on as another of its size.
static sc_status publish_state(sc_infer *in, const sc_spec *state) {
    if (state->rank != 1)
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s needs a state with one dimension, not %s",
                            in->op->name, sc_rule_text(in, state));
    return sc_rule_publish_like(in, (sc_dtype)state->dtype, state);
}

sc_status sc_infer_observe(sc_infer *in) {
    uint32_t axis;
    SC_TRY(sc_rule_wrapped(in, "axis", sc_rule_tensor(in, 0)->rank, &axis));
    return publish_state(in, sc_rule_tensor(in, 1));
}

sc_status sc_infer_observe_error(sc_infer *in) {
    const sc_spec *expected = sc_rule_tensor(in, 0), *found = sc_rule_tensor(in, 1);
    if (expected->rank != found->rank)
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s compares %s with %s", in->op->name,
                            sc_rule_text(in, expected), sc_rule_text(in, found));
    for (uint32_t d = 0; d < expected->rank; d++)
        SC_TRY(sc_rule_same(in, expected->sizes[d], found->sizes[d], "compared sizes"));
    return publish_state(in, sc_rule_tensor(in, 2));
}

// --- Products with quantized weights -------------------------------------------------------------

// (input [m, k], weight, scales by row of the weight, or by row and group). `by_row`: the weight is
// [n, k], and else [k, n].
static sc_status mixed(sc_infer *in, bool by_row) {
    const sc_spec *x = sc_rule_tensor(in, 0), *w = sc_rule_tensor(in, 1);
    const sc_spec *scales = sc_rule_tensor(in, 2);
    if (sc_rule_tensor(in, 3))
        return sc_rule_fail(in, SC_ERR_UNSUPPORTED, "%s takes no zero points", in->op->name);
    if (x->rank != 2 || w->rank != 2 || scales->rank < 1 || scales->rank > (by_row ? 2u : 1u))
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s of %s, weights %s and scales %s", in->op->name,
                            sc_rule_text(in, x), sc_rule_text(in, w), sc_rule_text(in, scales));
    SC_TRY(sc_rule_same(in, x->sizes[1], w->sizes[by_row ? 1 : 0], "the inner sizes"));
    SC_TRY(sc_rule_same(in, scales->sizes[0], w->sizes[0], "the rows of weights and scales"));
    sc_spec spec = sc_rule_new(in, sc_rule_dtype(in, "dtype", (sc_dtype)x->dtype), 2);
    spec.sizes[0] = x->sizes[0];
    spec.sizes[1] = w->sizes[by_row ? 0 : 1];
    return sc_rule_publish_contiguous(in, spec);
}

sc_status sc_infer_mixed_linear(sc_infer *in) { return mixed(in, true); }

sc_status sc_infer_mixed_mm(sc_infer *in) { return mixed(in, false); }

sc_status sc_infer_quantized_add(sc_infer *in) {
    const sc_spec *both[2] = {sc_rule_tensor(in, 0), sc_rule_tensor_named(in, "b")};
    sc_spec spec = {.dtype = both[0]->dtype};
    SC_TRY(sc_rule_broadcast(in, both, 2, &spec));
    return sc_rule_publish_contiguous(in, spec);
}
