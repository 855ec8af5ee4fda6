// Rules of the quantization primitives: elementwise changes of dtype, and the parameters
// themselves.
#include "ops/rule.h"

sc_status sc_infer_quantize(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    sc_spec spec = sc_rule_like(in, sc_rule_dtype(in, "dtype", SC_DTYPE_I8), self);
    sc_rule_preserve(in, &spec, self);
    return sc_rule_publish(in, spec);
}

static sc_dtype result_dtype(const sc_infer *in) {
    sc_dtype dtype = sc_rule_dtype(in, "out_dtype", SC_DTYPE_NONE);
    if (dtype == SC_DTYPE_NONE) dtype = sc_rule_dtype(in, "output_dtype", SC_DTYPE_F32);
    return dtype;
}

sc_status sc_infer_dequantize(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    sc_spec spec = sc_rule_like(in, result_dtype(in), self);
    sc_rule_preserve(in, &spec, self);
    return sc_rule_publish(in, spec);
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
