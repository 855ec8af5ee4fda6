// Rules of ops that see the elements of a tensor in other sizes.
#include "ops/rule.h"

// The sizes asked for, with -1 replaced by what is left.
static sc_status resolve_sizes(sc_infer *in, const sc_spec *self, const sc_iarg *sizes,
                               sc_spec *out) {
    int32_t inferred = -1;
    sc_dim known = sc_dim_int(1), numel = sc_spec_numel(in->exprs, self);
    SC_TRY(sc_rule_fits_rank(in, sizes->count));
    *out = sc_rule_new(in, (sc_dtype)self->dtype, sizes->count);
    for (uint32_t d = 0; d < sizes->count; d++) {
        sc_dim size = sc_rule_item_dim(&sizes->items[d]);
        out->sizes[d] = size;
        if (sc_dim_is(size, -1) && inferred < 0)
            inferred = (int32_t)d;
        else if (!size.expr && size.value < 0)
            return sc_rule_fail(in, SC_ERR_SHAPE, "%s: invalid size %lld", in->op->name,
                                (long long)size.value);
        else
            known = sc_dim_mul(in->exprs, known, size);
    }
    if (inferred >= 0 && !sc_dim_is(known, 0))
        out->sizes[inferred] = sc_dim_floordiv(in->exprs, numel, known);
    sc_dim total = inferred >= 0 ? sc_dim_mul(in->exprs, known, out->sizes[inferred]) : known;
    bool ambiguous = inferred >= 0 && sc_dim_is(known, 0);
    if (ambiguous || (!total.expr && !numel.expr && total.value != numel.value))
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s: sizes %s hold %s elements, which do not fit %s",
                            in->op->name, sc_rule_text(in, self), sc_rule_dim_text(in, numel),
                            sc_rule_text(in, out));
    return SC_OK;
}

sc_status sc_infer_view(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    sc_spec spec;
    SC_TRY(resolve_sizes(in, self, &in->args[1], &spec));
    spec.offset = self->offset;
    if (in->runtime)
        sc_rule_contiguous(in, &spec);
    else if (!sc_spec_view(in->exprs, self, &spec))
        return sc_fail(
            in->ctx, SC_ERR_SHAPE,
            "Call .clone(memory_format=torch.contiguous_format) on the tensor before this line.",
            "%s: the strides of this tensor of sizes %s do not allow a view of sizes %s",
            in->op->name, sc_rule_text(in, self), sc_rule_text(in, &spec));
    return sc_rule_publish(in, spec);
}

sc_status sc_infer_view_copy(sc_infer *in) {
    sc_spec spec;
    SC_TRY(resolve_sizes(in, sc_rule_tensor(in, 0), &in->args[1], &spec));
    return sc_rule_publish_contiguous(in, spec);
}

sc_status sc_infer_resize(sc_infer *in) {
    const sc_iarg *sizes = &in->args[1];
    SC_TRY(sc_rule_fits_rank(in, sizes->count));
    sc_spec spec = sc_rule_new(in, (sc_dtype)sc_rule_tensor(in, 0)->dtype, sizes->count);
    for (uint32_t d = 0; d < sizes->count; d++) spec.sizes[d] = sc_rule_item_dim(&sizes->items[d]);
    return sc_rule_publish_contiguous(in, spec);
}
