// A call of a delegate: takes the sizes of its inputs, sets those of its outputs, and runs its
// steps.
#include "backends/xnnpack/run/delegate.h"

// Sizes in the order of memory: in it, a tensor of another dim order is row-major.
static bool shape_of(const sc_xnn_operand *o, const sc_tensor *t, sc_xnn_shape *shape) {
    uint64_t bytes;
    shape->rank = t->rank;
    for (uint32_t i = 0; i < t->rank; i++) {
        int64_t size = t->sizes[t->dim_order[i]];
        if (size > UINT32_MAX) return false;
        shape->dims[i] = (uint32_t)size;
    }
    if (t->rank == 0) *shape = (sc_xnn_shape){1, {1}};
    return sc_xnn_bytes(o->value->datatype, shape, &bytes);
}

static sc_status take_sizes(sc_xnn_delegate *d, const sc_rt_delegate_call *call, bool *changes) {
    for (uint32_t i = 0; i < d->input_count; i++) {
        uint32_t value = d->arguments[i];
        if (value == SC_XNN_NONE) continue;
        sc_tensor *t = call->args[i]->tensor;
        sc_xnn_shape shape;
        if (!shape_of(&d->operands[value], t, &shape))
            return sc_xnn_bad_argument(d, i, "is larger than any XNNPACK tensor");
        d->operands[value].tensor.data = t->data;
        if (sc_xnn_shape_is(&shape, &d->shapes[value])) continue;
        d->shapes[value] = shape;
        *changes = true;
    }
    return SC_OK;
}

static sc_status take_inputs(sc_xnn_delegate *d, const sc_rt_delegate_call *call) {
    bool changes = false;
    sc_status status = take_sizes(d, call, &changes);
    if (status == SC_OK && changes) status = sc_xnn_derive(d);
    // After a failure the shapes are forgotten, so that the next call derives them anew.
    for (uint32_t i = 0; status != SC_OK && i < d->input_count; i++)
        if (d->arguments[i] != SC_XNN_NONE) d->shapes[d->arguments[i]].rank = 0;
    return status;
}

static sc_status give_output(sc_xnn_delegate *d, uint32_t index, sc_tensor *t) {
    sc_xnn_operand *o = &d->operands[d->arguments[index]];
    int64_t sizes[SC_XNN_RANK_MAX];
    o->tensor.data = t->data;
    if (t->rank == 0)
        return o->tensor.numel == 1 ? SC_OK : sc_xnn_bad_argument(d, index, "is one number");
    if (t->rank != o->tensor.rank)
        return sc_xnn_bad_argument(d, index, "has another number of dimensions than the result");
    for (uint32_t i = 0; i < t->rank; i++) sizes[t->dim_order[i]] = o->sizes[i];
    return sc_rt_output_resize(d->ctx, t, sizes, t->rank);
}

static sc_status give_outputs(sc_xnn_delegate *d, const sc_rt_delegate_call *call) {
    for (uint32_t i = d->input_count; i < d->graph->external_count; i++)
        if (d->arguments[i] != SC_XNN_NONE) SC_TRY(give_output(d, i, call->args[i]->tensor));
    return SC_OK;
}

// Widens 32-bit results that the program has in 64 bits, starting from the last one.
static void widen_outputs(const sc_xnn_delegate *d, const sc_rt_delegate_call *call) {
    for (uint32_t i = d->input_count; i < d->graph->external_count; i++) {
        if (d->arguments[i] == SC_XNN_NONE) continue;
        const sc_tensor *t = call->args[i]->tensor;
        if (!d->operands[d->arguments[i]].is_position || t->dtype != SC_DTYPE_I64) continue;
        char *bytes = t->data;
        for (int64_t k = t->numel; k-- > 0;) {
            int32_t narrow;
            memcpy(&narrow, bytes + k * 4, sizeof narrow);
            int64_t wide = narrow;
            memcpy(bytes + k * 8, &wide, sizeof wide);
        }
    }
}

sc_status sc_xnn_call(sc_ctx *ctx, void *state, const sc_rt_delegate_call *call) {
    sc_xnn_delegate *d = state;
    d->ctx = ctx;
    SC_TRY(take_inputs(d, call));
    SC_TRY(give_outputs(d, call));
    sc_xnn_point(d);
    SC_TRY(sc_xnn_run_steps(d, call->hearing));
    widen_outputs(d, call);
    return SC_OK;
}
