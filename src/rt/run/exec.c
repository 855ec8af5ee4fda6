// The instruction loop. It allocates no memory and does not repeat the checks of load. Calls marked
// dynamic have their kinds, memory and shapes checked each time.
//
// One switch: kernel, delegate, primitive, jump, move and free come from the file; copies come
// from rewriting.
// In wasm: -Os
#include "base/hash.h"
#include "rt/operands.h"
#include "rt/run/delegate.h"
#include "rt/run/shape.h"
#include "rt/run/tensor.h"
#include "rt/tell.h"
#include "rt/trace.h"

static const char lower_again[] = "Lower the model again from its .pt2.";

static sc_status fail_state(const sc_kernel_call *call, const char *what) {
    return sc_fail(call->ctx, SC_ERR_STATE, lower_again, "%s %s", call->op->out_name, what);
}

// --- Dynamic calls -------------------------------------------------------------------------------

static sc_status check_args(const sc_kernel_call *call) {
    SC_TRY(sc_rt_call_check(call->ctx, call));
    sc_rt_operands o = sc_rt_operands_of_call(call, SC_RT_ANY_ACCESS);
    while (sc_rt_operands_next(&o)) {
        if (o.tensor && !o.tensor->data)
            return fail_state(call, "uses a tensor that has no memory");
        bool is_size = o.list && o.list->tag == SC_EVALUE_INT_LIST;
        if (is_size && o.value->tag != SC_EVALUE_INT && o.value->tag != SC_EVALUE_BOOL)
            return fail_state(call, "got a size that is not an integer");
    }
    return SC_OK;
}

static sc_status prepare(const sc_kernel_call *call) {
    SC_TRY(check_args(call));
    SC_TRY(sc_rt_call_shape(call->ctx, call, false));
    const char *fault = sc_rt_call_write_fault(call);
    return fault ? fail_state(call, fault) : SC_OK;
}

// --- Jumps and moves -----------------------------------------------------------------------------

// True if all elements are true, or if there are no elements.
static sc_status truth(sc_ctx *ctx, const sc_evalue *value, bool *out) {
    if (value->tag == SC_EVALUE_BOOL) {
        *out = value->b;
        return SC_OK;
    }
    if (value->tag != SC_EVALUE_TENSOR || value->tensor->dtype != SC_DTYPE_BOOL)
        return sc_fail(ctx, SC_ERR_CORRUPT, NULL,
                       "a jump depends on a value that is not a boolean");
    const sc_tensor *t = value->tensor;
    if (!t->data)
        return sc_fail(ctx, SC_ERR_STATE, lower_again,
                       "a jump depends on a tensor that has no memory");
    *out = true;
    for (int64_t i = 0; i < t->numel; i++) *out = *out && ((const uint8_t *)t->data)[i];
    return SC_OK;
}

// Two tensors of one type and layout.
static sc_status copy_bytes(sc_ctx *ctx, const sc_tensor *from, sc_tensor *to) {
    SC_TRY(sc_rt_tensor_resize(ctx, to, from->sizes, from->rank));
    if (from->numel) memmove(to->data, from->data, (size_t)sc_rt_tensor_bytes(from));
    return SC_OK;
}

static uint64_t place_in_file(const sc_rt_origin *origin) {
    return (uint64_t)origin->chain << 32 | (origin->index + 1u);
}

static sc_status step(sc_ctx *ctx, sc_rt_method *m, sc_rt_instruction *in, uint32_t *next) {
    bool taken = false;
    switch (in->kind) {
    case SC_RT_KERNEL:
        if (in->is_dynamic) SC_TRY(prepare(&in->call));
        if (in->is_dynamic && sc_rt_call_is_empty(&in->call)) return SC_OK;
        // Random kernels draw new numbers each time; the same program and seed draw the same
        // sequence.
        in->call.seed = sc_hash64_mix(in->call.seed, place_in_file(&in->origin));
        return in->call.kernel->run(&in->call);
    case SC_RT_PRIM: return in->prim(&in->call);
    case SC_RT_JUMP_FALSE:
        SC_TRY(truth(ctx, &m->values[in->from], &taken));
        if (!taken) *next = in->target;
        return SC_OK;
    case SC_RT_MOVE: m->values[in->to] = m->values[in->from]; return SC_OK;
    case SC_RT_COPY: return copy_bytes(ctx, m->values[in->from].tensor, m->values[in->to].tensor);
    case SC_RT_FREE: m->values[in->from].tensor->data = NULL; return SC_OK;
    case SC_RT_SKIP: return SC_OK;
    case SC_RT_DELEGATE: return sc_rt_delegate_run(ctx, m, in);
    }
    return sc_fail(ctx, SC_ERR_INTERNAL, NULL, "instruction %u has an unknown kind",
                   in->origin.index);
}

// --- A run ---------------------------------------------------------------------------------------

static void restore_loose(sc_rt_method *m) {
    for (uint32_t i = 0; i < m->loose_count; i++) {
        const sc_rt_loose *loose = &m->loose[i];
        m->values[loose->value] = loose->initial;
        if (loose->initial.tag != SC_EVALUE_TENSOR) continue;
        loose->initial.tensor->data = loose->tensor.data;
        loose->initial.tensor->capacity_bytes = loose->tensor.capacity_bytes;
        loose->initial.tensor->is_constant = loose->tensor.is_constant;
    }
}

static sc_status place_inputs(sc_ctx *ctx, sc_rt_method *m) {
    for (uint32_t i = 0; i < m->input_count; i++) {
        const sc_rt_staged *staged = &m->staged[i];
        const sc_evalue *value = &m->values[m->inputs[i]];
        if (!staged->is_set && value->tag != SC_EVALUE_NONE)
            return sc_fail(ctx, SC_ERR_STATE, "Set every input before running.",
                           "input %u of method '" SC_STR_FMT "' is not set", i,
                           SC_STR_ARG(m->name));
        if (value->tag == SC_EVALUE_TENSOR && staged->size)
            memcpy(value->tensor->data, staged->bytes, (size_t)staged->size);
    }
    return SC_OK;
}

// Loops go back, but progress does not. A run inside a delegate is a part of the outer one.
static sc_status tell_progress(sc_ctx *ctx, const sc_rt_method *m, uint32_t at) {
    if (ctx->run_depth == 1) {
        ctx->run_total = m->code_count;
        if (at > ctx->run_done) ctx->run_done = at;
    }
    return sc_progress_of_run(ctx);
}

static sc_status step_traced(sc_ctx *ctx, sc_rt_method *m, sc_rt_instruction *in, uint32_t *next) {
    const sc_diag_mark mark = sc_diags_mark(ctx);
    sc_status status = step(ctx, m, in, next);
    if (status != SC_OK) sc_rt_trace_diags(ctx, m, &in->origin, mark);
    return status;
}

static sc_status run_code(sc_ctx *ctx, sc_rt_method *m, bool leaves_out) {
    const bool is_heard = m->program->sink != NULL;
    const bool is_watched = ctx->tells_runs;
    for (uint32_t at = 0; at < m->code_count;) {
        sc_rt_instruction *in = &m->code[at];
        uint32_t next = is_heard ? at + 1 : in->next;
        if (leaves_out && in->is_remembered) {
            at = next;
            continue;
        }
        if (in->kind != SC_RT_SKIP && ctx->instructions_left-- == 0)
            return sc_fail(ctx, SC_ERR_BUDGET, NULL, "more than %llu instructions in one run",
                           (unsigned long long)ctx->limits.instruction_max);
        ctx->where.instruction = in->origin.index;
        ctx->where.op = in->origin.op_name;
        if (is_watched) SC_TRY(tell_progress(ctx, m, at));
        if (is_heard) sc_rt_tell_begin(m, SC_RT_EVENT_INSTRUCTION, in);
        sc_status status = step_traced(ctx, m, in, &next);
        if (is_heard) sc_rt_tell_end(m, SC_RT_EVENT_INSTRUCTION, in, status);
        if (status != SC_OK) return status;
        at = next;
    }
    return is_watched ? tell_progress(ctx, m, m->code_count) : SC_OK;
}

// Runs the code, without what the last run has left in state. A listener hears all instructions.
static sc_status run_remembering(sc_ctx *ctx, sc_rt_method *m) {
    sc_rt_remembered *known = &m->remembered;
    const bool is_same = known->is_valid && !known->has_changed && !m->program->sink;
    known->is_valid = false;
    SC_TRY(run_code(ctx, m, is_same));
    known->is_valid = known->input != 0;
    known->has_changed = false;
    return SC_OK;
}

sc_status sc_rt_method_run(sc_ctx *ctx, sc_rt_method *m) {
    const sc_where outer = ctx->where;
    ctx->where.method = m->name;
    sc_rt_tell_begin(m, SC_RT_EVENT_RUN, NULL);
    restore_loose(m);
    sc_status status = place_inputs(ctx, m);
    if (ctx->run_depth++ == 0) {
        ctx->instructions_left = ctx->limits.instruction_max;
        ctx->run_done = 0;
    }
    if (status == SC_OK) status = run_remembering(ctx, m);
    ctx->run_depth--;
    sc_rt_tell_end(m, SC_RT_EVENT_RUN, NULL, status);
    ctx->where = outer;
    return status;
}
