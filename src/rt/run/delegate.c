// Calls delegates: checks the operands, then the backend computes.
#include "rt/run/delegate.h"

#include <stdlib.h>

#include "rt/run/tensor.h"
#include "rt/tell.h"

sc_status sc_rt_delegate_fail(sc_ctx *ctx, const sc_rt_method *m, const sc_rt_delegate *d,
                              const char *what) {
    return sc_fail(ctx, SC_ERR_CORRUPT, NULL,
                   "method '" SC_STR_FMT "' calls a delegate of the backend '" SC_STR_FMT "' %s",
                   SC_STR_ARG(m->name), SC_STR_ARG(d->id), what);
}

sc_rt_declared sc_rt_declared_of(const sc_evalue *value) {
    sc_rt_declared out = {.tag = value->tag};
    if (value->tag != SC_EVALUE_TENSOR) return out;
    out.dtype = value->tensor->dtype;
    out.rank = value->tensor->rank;
    memcpy(out.dim_order, value->tensor->dim_order, out.rank);
    return out;
}

bool sc_rt_is_declared(const sc_rt_declared *declared, const sc_evalue *value) {
    const sc_rt_declared found = sc_rt_declared_of(value);
    return memcmp(declared, &found, sizeof found) == 0;
}

// The bytes of an operand: the elements of a tensor, or else the value itself.
typedef struct held_bytes {
    uintptr_t begin, end;
    bool is_output;
} held_bytes;

static held_bytes held_by(const sc_evalue *value, bool is_output) {
    const uint64_t bytes = value->tag == SC_EVALUE_TENSOR ? sc_rt_tensor_bytes(value->tensor) : 0;
    const uintptr_t begin = (uintptr_t)(bytes ? value->tensor->data : (const void *)value);
    return (held_bytes){begin, begin + (size_t)(bytes ? bytes : sizeof *value), is_output};
}

static int compare_begins(const void *a, const void *b) {
    const uintptr_t x = ((const held_bytes *)a)->begin, y = ((const held_bytes *)b)->begin;
    return x < y ? -1 : x > y;
}

sc_status sc_rt_delegate_check(sc_ctx *ctx, const sc_rt_method *m, const sc_rt_instruction *in) {
    const sc_kernel_call *call = &in->call;
    sc_mark mark = sc_arena_mark(ctx->scratch);
    held_bytes *held = sc_new_array(ctx->scratch, held_bytes, (size_t)call->arg_count + 1);
    uintptr_t outputs_end = 0, all_end = 0;
    bool is_apart = true;
    for (uint32_t i = 0; i < call->arg_count; i++) {
        const sc_evalue *value = call->args[i];
        held[i] = held_by(value, i >= in->inputs);
        if (i >= in->inputs && value->tag == SC_EVALUE_TENSOR && value->tensor->is_constant)
            return sc_rt_delegate_fail(ctx, m, in->delegate, "that would write to a constant");
    }
    // In order of memory, an output must begin after the end of all earlier operands. Any other
    // operand must begin after the end of all earlier outputs.
    qsort(held, call->arg_count, sizeof *held, compare_begins);
    for (uint32_t i = 0; i < call->arg_count; i++) {
        is_apart &= held[i].begin >= (held[i].is_output ? all_end : outputs_end);
        if (held[i].is_output && held[i].end > outputs_end) outputs_end = held[i].end;
        if (held[i].end > all_end) all_end = held[i].end;
    }
    sc_arena_rewind(ctx->scratch, mark);
    return is_apart ? SC_OK
                    : sc_rt_delegate_fail(ctx, m, in->delegate,
                                          "that would write over its own operands");
}

sc_status sc_rt_delegate_run(sc_ctx *ctx, const sc_rt_method *m, const sc_rt_instruction *in) {
    const sc_rt_delegate *d = in->delegate;
    for (uint32_t i = 0; i < d->arg_count; i++) {
        const sc_evalue *arg = in->call.args[i];
        if (!sc_rt_is_declared(&d->declared[i], arg))
            return sc_rt_delegate_fail(ctx, m, d, "with different kinds of values than at load");
        if (arg->tag == SC_EVALUE_TENSOR && !arg->tensor->data)
            return sc_rt_delegate_fail(ctx, m, d, "with a tensor that has no memory");
    }
    // Calls with tensors that are moved and freed were checked with other memory than they have
    // now.
    if (in->is_dynamic) SC_TRY(sc_rt_delegate_check(ctx, m, in));
    sc_rt_sink *sink = m->program->sink;
    const sc_rt_hearing hearing = {sink, m, in};
    sc_rt_delegate_call call = {in->call.args, d->input_count, d->arg_count,
                                sink ? &hearing : NULL};
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_status status = d->backend->execute(ctx, d->state, &call);
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}

sc_status sc_rt_output_resize(sc_ctx *ctx, sc_tensor *output, const int64_t *sizes, uint32_t rank) {
    bool same = rank == output->rank;
    for (uint32_t d = 0; same && d < rank; d++) same = sizes[d] == output->sizes[d];
    if (same) return SC_OK;
    if (rank != output->rank || !output->is_dynamic)
        return sc_fail(ctx, SC_ERR_SHAPE, NULL,
                       "a delegate gives a result of different sizes than the method declares");
    return sc_rt_tensor_resize(ctx, output, sizes, rank);
}

void sc_rt_output_write(sc_tensor *output, const void *row_major) {
    sc_rt_tensor_write(output, output->data, row_major);
}

sc_status sc_rt_delegates_reset(sc_ctx *ctx, sc_rt_method *m) {
    for (uint32_t i = 0; i < m->delegate_count; i++) {
        const sc_rt_delegate *d = &m->delegates[i];
        if (d->is_started && d->backend->reset) SC_TRY(d->backend->reset(ctx, d->state));
    }
    return SC_OK;
}
