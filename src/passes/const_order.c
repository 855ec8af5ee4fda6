// Gives constants an order that a .pte can state: those that are neither row-major nor
// channels-last become row-major. Weights stay extents: the reordering is a source that gathers
// when read.
#include "passes/const_order.h"

#include "passes/passes.h"

void sc_constant_make_row_major(sc_ctx *ctx, sc_method *method, uint32_t index) {
    sc_input_sig *sig = &method->inputs.data[index];
    const sc_constant *old = sig->constant;
    int64_t sizes[SC_RANK_MAX], strides[SC_RANK_MAX];
    for (uint32_t i = 0; i < old->spec.rank; i++) {
        sizes[i] = old->spec.sizes[i].value;
        strides[i] = old->spec.strides[i].value;
    }
    sc_constant *constant = sc_new(ctx->arena, sc_constant);
    *constant = *old;
    sc_spec_set_layout(method->exprs, &constant->spec, false);
    uint32_t item_bytes = sc_dtype_bytes((sc_dtype)old->spec.dtype);
    if (old->data.size > 0)
        constant->data =
            sc_extent_strided(ctx->arena, old->data, item_bytes, old->spec.rank, sizes, strides, 0);
    sig->constant = constant;
    method->graph->inputs.data[index]->spec = constant->spec;
}

sc_status sc_pass_const_order(sc_ctx *ctx, sc_method *method) {
    for (uint32_t i = 0; i < method->inputs.count; i++) {
        const sc_constant *constant = method->inputs.data[i].constant;
        if (!constant) continue;
        const sc_spec *spec = &constant->spec;
        bool plain = sc_spec_is_contiguous(method->exprs, spec);
        if (!plain && !sc_spec_is_nhwc(method->exprs, spec))
            sc_constant_make_row_major(ctx, method, i);
    }
    return SC_OK;
}
