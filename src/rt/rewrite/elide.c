// Removes copies that change no bytes: a transposition of dimensions of size 1, a slice or
// selection that is one run of bytes. If the original is not written for as long as the copy is
// read, the copy becomes another name for it.
#include "kernels/attention.h"
#include "rt/deferred.h"
#include "rt/rewrite/rewrites.h"
#include "rt/run/shape.h"
#include "rt/run/tensor.h"

// Row-major order is the order in memory, for both.
static bool both_dense(const sc_tensor *a, const sc_tensor *b) {
    return sc_tensor_is_contiguous(a) && sc_tensor_is_contiguous(b);
}

// Is the result a run of the operand's own bytes, and from which element on?
static bool shows_operand(sc_ctx *ctx, const sc_rt_instruction *in, const sc_tensor *self,
                          const sc_tensor *out, int64_t *offset) {
    sc_rt_window window;
    *offset = 0;
    if (sc_op_has(in->call.op, SC_HANDS_ON) && self->numel == out->numel) return true;
    if (!sc_rt_call_window(ctx, in, &window)) return false;
    *offset = window.offset;
    return window.is_contiguous && window.offset >= 0 && window.offset <= self->numel;
}

static sc_status try_elide(sc_rt_optimizer *o, uint32_t at) {
    sc_rt_instruction *in = &o->m->code[at];
    const sc_kernel_call *call = &in->call;
    if (in->kind != SC_RT_KERNEL || in->is_dynamic || call->arg_count < 2 ||
        call->args[0]->tag != SC_EVALUE_TENSOR ||
        call->args[call->arg_count - 1]->tag != SC_EVALUE_TENSOR)
        return SC_OK;
    sc_evalue *value = call->args[call->arg_count - 1];
    const sc_tensor *self = call->args[0]->tensor;
    sc_tensor *out = value->tensor;
    const sc_rt_use *use = sc_rt_plain_use(o, value);
    int64_t offset;
    if (!use || use->is_output || !use->reads || self->dtype != out->dtype || out->is_dynamic ||
        self->is_dynamic || !both_dense(self, out) ||
        !shows_operand(o->ctx, in, self, out, &offset))
        return SC_OK;
    const uint64_t item = sc_dtype_bytes((sc_dtype)self->dtype);
    if ((uint64_t)offset * item + sc_rt_tensor_bytes(out) > sc_rt_tensor_bytes(self)) return SC_OK;
    SC_TRY(sc_rt_deferred_need_all(o->ctx, o->m, in));
    uint8_t *data = (uint8_t *)self->data + (uint64_t)offset * item;
    if (!self->is_constant && !sc_rt_is_quiet(o, data, sc_rt_tensor_bytes(out), at, use->last_read))
        return SC_OK;
    sc_rt_move_value(o, value, data, self->is_constant);
    in->kind = SC_RT_SKIP;
    return SC_OK;
}

// Weights that lose their masked rows keep their place, if they have no reader afterwards.
static void try_keep(sc_rt_optimizer *o, uint32_t at) {
    sc_rt_instruction *in = &o->m->code[at];
    const sc_kernel_call *call = &in->call;
    if (in->kind != SC_RT_KERNEL || call->kernel != &sc_k_masked_rows) return;
    const sc_evalue *weights = call->args[1], *out = call->args[2];
    const sc_rt_use *from = sc_rt_plain_use(o, weights), *to = sc_rt_plain_use(o, out);
    const uint64_t bytes = out->tensor->capacity_bytes;
    if (!from || from->is_output || from->last_read > at || !to || to->is_output ||
        bytes > weights->tensor->capacity_bytes ||
        !sc_rt_is_quiet(o, weights->tensor->data, bytes, at, sc_max_u32(at, to->last_read)))
        return;
    sc_rt_move_value(o, out, weights->tensor->data, false);
}

// --- State written in place ----------------------------------------------------------------------

// Is the update the only reader of the old state until the new one is written back?
static bool only_update_reads(const sc_rt_optimizer *o, const sc_evalue *state, uint32_t update,
                              uint32_t write_back) {
    const sc_tensor *s = state->tensor;
    sc_rt_operands w = sc_rt_operands_of(o->m, &o->m->code[update], SC_RT_TAKES);
    while (sc_rt_operands_next(&w)) {
        if (w.tensor && w.value != state &&
            sc_rt_overlaps(w.tensor->data, w.tensor->capacity_bytes, s->data, s->capacity_bytes))
            return false;
    }
    for (uint32_t i = update + 1; i < write_back; i++) {
        if (sc_rt_touches(o, i, SC_RT_TAKES, s->data, s->capacity_bytes)) return false;
    }
    return true;
}

// new = index_put(state, ...); ... copy_(state, new): the update may work on the state itself.
static void try_in_place(sc_rt_optimizer *o, uint32_t at) {
    sc_rt_instruction *in = &o->m->code[at];
    if (in->kind != SC_RT_KERNEL || in->is_dynamic || in->call.op->id != SC_OP_copy_) return;
    const sc_evalue *state = in->call.args[0], *value = in->call.args[1];
    const sc_rt_use *use = sc_rt_plain_use(o, value);
    if (!use || use->is_output || use->first_write >= at) return;
    const sc_rt_instruction *update = &o->m->code[use->first_write];
    const sc_tensor *s = state->tensor, *t = value->tensor;
    const uint32_t end = use->last_read > at ? use->last_read : at;
    bool same = s->dtype == t->dtype && s->numel == t->numel && sc_tensor_is_contiguous(s) &&
                sc_tensor_is_contiguous(t) && s->rank == t->rank && !s->is_constant;
    if (update->kind != SC_RT_KERNEL || update->is_dynamic ||
        update->call.op->id != SC_OP_index_put || update->call.args[0] != state || !same ||
        !only_update_reads(o, state, use->first_write, at) ||
        !sc_rt_is_quiet(o, s->data, s->capacity_bytes, use->first_write, at - 1) ||
        !sc_rt_is_quiet(o, s->data, s->capacity_bytes, at, end))
        return;
    sc_rt_move_value(o, value, s->data, false);
    in->kind = SC_RT_SKIP;
}

sc_status sc_rt_elide_copies(sc_rt_optimizer *o) {
    for (uint32_t i = 0; i < o->m->code_count; i++)
        if (sc_rt_runs_once(o, i)) try_in_place(o, i);
    // Before copies are elided, which gives values more readers than `uses` knows.
    for (uint32_t i = 0; i < o->m->code_count; i++)
        if (sc_rt_runs_once(o, i)) try_keep(o, i);
    for (uint32_t i = 0; i < o->m->code_count; i++)
        if (sc_rt_runs_once(o, i)) SC_TRY(try_elide(o, i));
    return SC_OK;
}
