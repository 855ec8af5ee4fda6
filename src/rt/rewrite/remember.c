// Finds calls that a run may leave out while one input has the bytes that it had in the run before.
// They depend on that input and on constants alone, and what others read of them is state that no
// other call writes. So the state still has their results. Decoders of speech are like this:
// exporters project the output of the encoder into the cache in each step, though it changes only
// with the encoder's input.
#include "rt/rewrite/rewrites.h"
#include "rt/run/tensor.h"

enum {
    INPUT_BYTES_MIN = 4096,  // a smaller input is not worth comparing
    CALLS_MAX = 1 << 13,
    ACCESSES_MAX = 1 << 15
};

// Bytes that an instruction reads or writes. Those of one instruction are adjacent, reads first.
typedef struct access {
    const uint8_t *data;
    uint64_t bytes;
    uint32_t at;
    bool is_write;
} access;

typedef struct remember {
    sc_rt_optimizer *o;
    sc_rt_method *m;
    access *list;
    uint32_t count;
    uint32_t *first;  // of each instruction: its first access; one more at the end
    bool *is_member;  // by instruction
    const sc_tensor *input;
} remember;

static bool overlaps(const access *a, const uint8_t *data, uint64_t bytes) {
    return sc_rt_overlaps(a->data, a->bytes, data, bytes);
}

static bool covers(const access *a, const uint8_t *data, uint64_t bytes) {
    return a->data <= data && data + bytes <= a->data + a->bytes;
}

// --- Accesses ------------------------------------------------------------------------------------

static bool add_accesses(remember *r, uint32_t at, uint32_t wanted, bool is_write) {
    sc_rt_operands w = sc_rt_operands_of(r->m, &r->m->code[at], wanted);
    while (sc_rt_operands_next(&w)) {
        if (!w.tensor || w.tensor->is_constant) continue;
        if (r->count == ACCESSES_MAX) return false;
        r->list[r->count++] = (access){w.tensor->data, w.tensor->capacity_bytes, at, is_write};
    }
    return true;
}

static bool find_accesses(remember *r) {
    const uint32_t count = r->m->code_count;
    if (count > CALLS_MAX) return false;
    r->list = sc_new_array(r->o->ctx->scratch, access, ACCESSES_MAX);
    r->first = sc_new_array(r->o->ctx->scratch, uint32_t, (size_t)count + 1);
    r->is_member = sc_new_array(r->o->ctx->scratch, bool, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++) {
        r->first[i] = r->count;
        if (!add_accesses(r, i, SC_RT_READS, false) || !add_accesses(r, i, SC_RT_WRITES, true))
            return false;
    }
    r->first[count] = r->count;
    return true;
}

// --- State ---------------------------------------------------------------------------------------

static bool is_elsewhere(const sc_rt_method *m, const sc_rt_place *state) {
    const sc_rt_program *p = m->program;
    for (uint32_t i = 0; i < p->plans.count; i++) {
        if (i == m->plan_index) continue;
        sc_fb_vec values = sc_pte_ExecutionPlan_values(sc_rt_plan(p, i));
        for (uint32_t k = 0; k < values.count; k++) {
            sc_fb_table entry = sc_fb_vec_table(values, k);
            if (sc_pte_EValue_val_type(entry) != SC_PTE_KernelTypes_Tensor) continue;
            sc_fb_table alloc = sc_pte_Tensor_allocation_info(sc_pte_EValue_val(entry));
            if (alloc.at && sc_pte_AllocationDetails_memory_id(alloc) == state->memory_id)
                return true;
        }
    }
    return false;
}

// The state whose bytes an access writes; NULL: it writes no state.
static const sc_rt_place *state_of(const remember *r, const access *a) {
    for (uint32_t i = 0; i < r->m->value_count; i++) {
        const sc_tensor *t = r->m->values[i].tensor;
        if (r->m->values[i].tag == SC_EVALUE_TENSOR && r->m->places[i].is_state &&
            overlaps(a, t->data, t->capacity_bytes))
            return &r->m->places[i];
    }
    return NULL;
}

// Is the access the only one that ever writes these bytes? Methods share the higher pools.
static bool is_only_writer(const remember *r, const access *a, const sc_rt_place *state) {
    for (uint32_t i = 0; i < r->count; i++) {
        const access *other = &r->list[i];
        if (other != a && other->is_write && overlaps(other, a->data, a->bytes)) return false;
    }
    for (uint32_t i = 0; i < r->m->input_count; i++) {
        const sc_evalue *input = &r->m->values[r->m->inputs[i]];
        if (input->tag == SC_EVALUE_TENSOR &&
            overlaps(a, input->tensor->data, input->tensor->capacity_bytes))
            return false;
    }
    return state->memory_id == 1 || !is_elsewhere(r->m, state);
}

// --- Members -------------------------------------------------------------------------------------

// Are these bytes the same in each run with that input, just before an instruction?
static bool is_known(const remember *r, uint32_t at, const uint8_t *data, uint64_t bytes) {
    for (uint32_t i = r->first[at]; i-- > 0;) {
        const access *a = &r->list[i];
        if (!a->is_write || !overlaps(a, data, bytes)) continue;
        if (!r->is_member[a->at]) return false;
        if (covers(a, data, bytes)) return true;
    }
    const access input = {r->input->data, r->input->capacity_bytes, 0, false};
    return covers(&input, data, bytes);
}

// Is this state that the call changes in a way that a second call would not change again?
static bool is_repeatable(const remember *r, uint32_t at, const sc_tensor *state) {
    const sc_kernel_call *call = &r->m->code[at].call;
    if (!call->op || !sc_op_has(call->op, SC_REPEATABLE)) return false;
    for (uint32_t i = 0; i < call->arg_count; i++)
        if (call->args[i]->tag == SC_EVALUE_BOOL && call->args[i]->b) return false;
    const uint64_t bytes = sc_rt_tensor_bytes(state);
    uint32_t reads = 0;
    bool is_written = false;
    for (uint32_t i = r->first[at]; i < r->first[at + 1]; i++) {
        const access *a = &r->list[i];
        if (!overlaps(a, state->data, bytes)) continue;
        reads += !a->is_write;
        is_written |= a->is_write && a->data == state->data && a->bytes == bytes && state_of(r, a);
    }
    return is_written && reads == 1;
}

static bool reads_known(const remember *r, uint32_t at) {
    const sc_rt_instruction *in = &r->m->code[at];
    sc_rt_operands w = sc_rt_operands_of(r->m, in, SC_RT_TAKES);
    while (sc_rt_operands_next(&w)) {
        const sc_rt_place *place = &r->m->places[sc_rt_value_index(r->m, w.value)];
        if (place->is_loose) return false;
        if (!w.tensor) {
            if (place->is_written) return false;
            continue;
        }
        if (w.tensor->is_dynamic) return false;
        if (w.tensor->is_constant || !(w.access & SC_RT_READS)) continue;
        if (!is_known(r, at, w.tensor->data, sc_rt_tensor_bytes(w.tensor)) &&
            !is_repeatable(r, at, w.tensor))
            return false;
    }
    return true;
}

static bool writes_own(const remember *r, uint32_t at) {
    for (uint32_t i = r->first[at]; i < r->first[at + 1]; i++) {
        const access *a = &r->list[i];
        const sc_rt_place *state = a->is_write ? state_of(r, a) : NULL;
        if (state && !is_only_writer(r, a, state)) return false;
    }
    return true;
}

// The host's kernels may do more than their schemas say.
static bool is_function(const sc_rt_instruction *in) {
    if (in->kind == SC_RT_DELEGATE) return in->delegate->backend->is_function;
    return in->kind == SC_RT_KERNEL && !sc_op_has(in->call.op, SC_RANDOM | SC_OWN);
}

static bool is_candidate(const remember *r, uint32_t at) {
    const sc_rt_instruction *in = &r->m->code[at];
    return is_function(in) && !in->is_dynamic && sc_rt_runs_once(r->o, at) && reads_known(r, at) &&
           writes_own(r, at);
}

// The calls that take the time of a method.
static bool is_large(const sc_rt_instruction *in) {
    return in->kind == SC_RT_DELEGATE || sc_op_has(in->call.op, SC_MATRICES);
}

// --- Results that others need --------------------------------------------------------------------

// Are bytes all written again after an instruction, before access `end`?
static bool is_rewritten(const remember *r, uint32_t at, uint32_t end, const uint8_t *data,
                         uint64_t bytes) {
    for (uint32_t i = end; i-- > r->first[at + 1];) {
        if (r->list[i].is_write && covers(&r->list[i], data, bytes)) return true;
    }
    return false;
}

static bool is_returned(const remember *r, const access *written) {
    for (uint32_t i = 0; i < r->m->value_count; i++) {
        const sc_tensor *t = r->m->values[i].tensor;
        if (r->m->values[i].tag == SC_EVALUE_TENSOR && r->o->uses[i].is_output &&
            overlaps(written, t->data, t->capacity_bytes) &&
            !is_rewritten(r, written->at, r->count, t->data, t->capacity_bytes))
            return true;
    }
    return false;
}

// Are these bytes, which are no state, read by an instruction that each run executes?
static bool is_needed(const remember *r, const access *written) {
    for (uint32_t i = r->first[written->at + 1]; i < r->count; i++) {
        const access *a = &r->list[i];
        if (!overlaps(a, written->data, written->bytes)) continue;
        if (a->is_write && covers(a, written->data, written->bytes)) return false;
        if (!a->is_write && !r->is_member[a->at] &&
            !is_rewritten(r, written->at, i, a->data, a->bytes))
            return true;
    }
    return is_returned(r, written);
}

static bool leaves_state_only(const remember *r, uint32_t at) {
    for (uint32_t i = r->first[at]; i < r->first[at + 1]; i++) {
        const access *a = &r->list[i];
        if (a->is_write && !state_of(r, a) && is_needed(r, a)) return false;
    }
    return true;
}

// --- Inputs --------------------------------------------------------------------------------------

// True if large ones are among the calls that can be left out.
static bool find_members(remember *r, uint32_t input) {
    const sc_evalue *value = &r->m->values[r->m->inputs[input]];
    const uint32_t count = r->m->code_count;
    bool is_worth = false;
    if (value->tag != SC_EVALUE_TENSOR || value->tensor->is_dynamic ||
        sc_rt_tensor_bytes(value->tensor) < INPUT_BYTES_MIN ||
        !sc_tensor_is_contiguous(value->tensor))
        return false;
    r->input = value->tensor;
    memset(r->is_member, 0, count);
    for (uint32_t i = 0; i < count; i++) r->is_member[i] = is_candidate(r, i);
    // A call whose results are needed runs, and then needs those of earlier ones.
    for (uint32_t i = count; i-- > 0;) {
        r->is_member[i] = r->is_member[i] && leaves_state_only(r, i);
        is_worth |= r->is_member[i] && is_large(&r->m->code[i]);
    }
    return is_worth;
}

static bool writes_state(const sc_rt_method *m) {
    for (uint32_t i = 0; i < m->value_count; i++)
        if (m->places[i].is_state && m->places[i].is_written) return true;
    return false;
}

sc_status sc_rt_remember(sc_rt_optimizer *o) {
    remember r = {.o = o, .m = o->m};
    if (!writes_state(o->m) || !find_accesses(&r)) return SC_OK;
    sc_rt_count_uses(o);
    for (uint32_t i = 0; i < o->m->input_count; i++) {
        if (!find_members(&r, i)) continue;
        for (uint32_t k = 0; k < o->m->code_count; k++)
            o->m->code[k].is_remembered = r.is_member[k];
        o->m->remembered.input = i + 1;
        return SC_OK;
    }
    return SC_OK;
}
