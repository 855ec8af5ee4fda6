// Derives a place for every value from the sizes of the inputs, and plans the steps for their
// sizes.
#include "backends/xnnpack/run/delegate.h"
#include "base/strides.h"

void sc_xnn_set_sizes(sc_xnn_operand *o, const sc_xnn_shape *shape) {
    o->tensor.rank = (uint8_t)shape->rank;
    o->tensor.numel = 1;
    for (uint32_t i = 0; i < shape->rank; i++) {
        o->sizes[i] = shape->dims[i];
        o->tensor.numel *= shape->dims[i];
    }
    static const uint8_t planar[] = {0, 3, 1, 2};
    (void)sc_strides_of(o->sizes, shape->rank, o->is_planar ? planar : NULL, o->strides);
    o->rows = 0;
    if (!sc_xnn_is(o, SC_XNN_QDINT8)) return;
    o->rows = 1;
    for (uint32_t i = 0; i + o->value->quant.nonbatch_dims < shape->rank; i++)
        o->rows *= shape->dims[i];
}

sc_status sc_xnn_derive(sc_xnn_delegate *d) {
    SC_TRY(sc_xnn_infer(d->ctx, d->graph, d->shapes));
    for (uint32_t v = 0; v < d->graph->values.count; v++)
        sc_xnn_set_sizes(&d->operands[v], &d->shapes[v]);
    for (uint32_t i = 0; i < d->graph->nodes.count; i++) d->steps[i].is_fused = false;
    for (uint32_t i = 0; i < d->graph->nodes.count; i++) {
        sc_xnn_step *s = &d->steps[i];
        s->scratch_bytes = 0;
        if (s->runner->prepare) SC_TRY(s->runner->prepare(d, s));
    }
    return sc_xnn_place(d);
}
