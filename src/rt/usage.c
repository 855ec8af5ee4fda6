// What a method's instructions do to its values, found before memory is bound. Three questions:
// what is state (planned memory that is read before anything writes it), what is loose (value
// records that a run re-points), and which calls therefore cannot rely on what was checked at load.
#include "rt/internal.h"

typedef struct usage {
    sc_ctx *ctx;
    sc_rt_method *m;
    sc_imap written;  // places that hold something by now: memory id and offset
} usage;

static uint32_t index_of(const sc_rt_method *m, const sc_evalue *value) {
    return (uint32_t)(value - m->values);
}

static uint64_t place_key(const sc_rt_place *place) {
    return place->offset << 8 ^ (uint64_t)place->memory_id << 56 ^ place->memory_id;
}

static void read_tensor(usage *u, const sc_evalue *value) {
    sc_rt_place *place = &u->m->places[index_of(u->m, value)];
    if (place->memory_id && !sc_imap_find(&u->written, place_key(place))) place->is_state = true;
}

static void read_value(usage *u, const sc_evalue *value) {
    if (value->tag == SC_EVALUE_TENSOR) read_tensor(u, value);
    if (value->tag != SC_EVALUE_TENSOR_LIST && value->tag != SC_EVALUE_OPTIONAL_TENSOR_LIST) return;
    for (uint32_t i = 0; i < value->count; i++) {
        if (value->tensors[i]) read_tensor(u, value->tensors[i]);
    }
}

static void write_tensor(usage *u, const sc_evalue *value) {
    sc_rt_place *place = &u->m->places[index_of(u->m, value)];
    place->is_written = true;
    if (place->memory_id) sc_imap_set(&u->written, place_key(place), 1);
}

static void write_value(usage *u, const sc_evalue *value) {
    write_tensor(u, value);
    if (value->tag != SC_EVALUE_TENSOR_LIST) return;
    for (uint32_t i = 0; i < value->count; i++) write_tensor(u, value->tensors[i]);
}

static void visit_call(usage *u, const sc_rt_instruction *in) {
    const sc_kernel_call *call = &in->call;
    const bool mutates = sc_op_has(call->op, SC_MUTATES);
    // A primitive's single out is its last argument, unless it writes its first.
    uint32_t kept =
        in->kind == SC_RT_PRIM ? call->arg_count - !mutates : sc_rt_kept_inputs(call->op);
    bool reads = !sc_op_has(call->op, SC_SHAPE_ONLY);
    for (uint32_t i = sc_op_has(call->op, SC_OVERWRITES); reads && i < kept; i++)
        read_value(u, call->args[i]);
    if (mutates) write_value(u, call->args[0]);
    for (uint32_t i = kept; i < call->arg_count; i++) write_value(u, call->args[i]);
    if (call->op->id == SC_OP_executorch_prim_et_view)
        u->m->places[index_of(u->m, call->args[2])].is_loose = true;
}

static void visit(usage *u, const sc_rt_instruction *in) {
    sc_rt_method *m = u->m;
    switch (in->kind) {
    case SC_RT_KERNEL:
    case SC_RT_PRIM: visit_call(u, in); break;
    case SC_RT_MOVE:
        read_value(u, &m->values[in->from]);
        write_value(u, &m->values[in->to]);
        m->places[in->to].is_loose = true;
        break;
    case SC_RT_JUMP_FALSE: read_value(u, &m->values[in->from]); break;
    case SC_RT_FREE: m->places[in->from].is_loose = true; break;
    default: break;
    }
}

// --- calls that need a look on every run ---------------------------------------------------------

static bool is_unsettled(const sc_rt_method *m, const sc_evalue *value) {
    const sc_rt_place *place = &m->places[index_of(m, value)];
    switch (value->tag) {
    case SC_EVALUE_TENSOR: return value->tensor->is_dynamic || place->is_loose;
    case SC_EVALUE_INT_LIST:
        for (uint32_t i = 0; i < value->count; i++) {
            if (is_unsettled(m, value->ints[i])) return true;
        }
        return place->is_loose;
    case SC_EVALUE_TENSOR_LIST:
    case SC_EVALUE_OPTIONAL_TENSOR_LIST:
        for (uint32_t i = 0; i < value->count; i++) {
            if (value->tensors[i] && is_unsettled(m, value->tensors[i])) return true;
        }
        return place->is_loose;
    default: return place->is_written || place->is_loose;
    }
}

static bool needs_look(const sc_rt_method *m, const sc_kernel_call *call) {
    if (sc_op_has(call->op, SC_DATA_DEPENDENT)) return true;
    for (uint32_t i = 0; i < call->arg_count; i++) {
        if (is_unsettled(m, call->args[i])) return true;
    }
    return false;
}

// --- loops that cannot end -----------------------------------------------------------------------

static void note_write(uint32_t *last_write, const sc_rt_method *m, const sc_rt_instruction *in,
                       uint32_t at) {
    if (in->kind == SC_RT_MOVE) last_write[in->to] = at + 1;
    if (in->kind != SC_RT_KERNEL && in->kind != SC_RT_PRIM) return;
    uint32_t outs =
        in->kind == SC_RT_PRIM ? in->call.arg_count - 1 : sc_rt_kept_inputs(in->call.op);
    if (sc_op_has(in->call.op, SC_MUTATES)) last_write[index_of(m, in->call.args[0])] = at + 1;
    for (uint32_t i = outs; i < in->call.arg_count; i++)
        last_write[index_of(m, in->call.args[i])] = at + 1;
}

// Jumps forward that may leave the loop that is being looked at, innermost last.
typedef struct exits {
    uint32_t *jumps;
    uint32_t count;
} exits;

static bool can_leave(const sc_rt_method *m, exits *e, const uint32_t *last_write, uint32_t start,
                      uint32_t end) {
    while (e->count > 0 && m->code[e->jumps[e->count - 1]].target <= end) e->count--;
    if (e->count == 0) return false;
    uint32_t jump = e->jumps[e->count - 1];
    return jump >= start && last_write[m->code[jump].from] > start;
}

// A jump back whose condition nothing in the loop computes is taken for ever once it is taken,
// unless another jump leads out of the loop.
static sc_status check_loops(sc_ctx *ctx, sc_rt_method *m) {
    uint32_t *last_write = sc_new_array(&m->program->arena, uint32_t, m->value_count);
    exits e = {sc_new_array(&m->program->arena, uint32_t, m->code_count), 0};
    for (uint32_t at = 0; at < m->code_count; at++) {
        const sc_rt_instruction *in = &m->code[at];
        note_write(last_write, m, in, at);
        if (in->kind != SC_RT_JUMP_FALSE) continue;
        if (in->target > at)
            e.jumps[e.count++] = at;
        else if (last_write[in->from] <= in->target &&
                 !can_leave(m, &e, last_write, in->target, at))
            return sc_fail(ctx, SC_ERR_CORRUPT, NULL,
                           "method '" SC_STR_FMT
                           "': the loop that ends at instruction %u can never be left",
                           SC_STR_ARG(m->name), in->index);
    }
    return SC_OK;
}

static void list_loose(sc_rt_method *m) {
    for (uint32_t i = 0; i < m->value_count; i++) m->loose_count += m->places[i].is_loose;
    m->loose = sc_new_array(&m->program->arena, sc_rt_loose, m->loose_count);
    uint32_t at = 0;
    for (uint32_t i = 0; i < m->value_count; i++) {
        if (m->places[i].is_loose) m->loose[at++].value = i;
    }
}

sc_status sc_rt_usage_find(sc_ctx *ctx, sc_rt_method *m) {
    usage u = {.ctx = ctx, .m = m};
    sc_imap_init(&u.written, &m->program->arena);
    for (uint32_t i = 0; i < m->input_count; i++) {
        m->places[m->inputs[i]].is_input = true;
        if (m->places[m->inputs[i]].memory_id)
            sc_imap_set(&u.written, place_key(&m->places[m->inputs[i]]), 1);
    }
    for (uint32_t i = 0; i < m->code_count; i++) visit(&u, &m->code[i]);
    for (uint32_t i = 0; i < m->output_count; i++) read_value(&u, &m->values[m->outputs[i]]);
    for (uint32_t i = 0; i < m->value_count; i++) {
        sc_rt_place *place = &m->places[i];
        place->is_state |= place->memory_id && (place->buffer_index || place->datum);
    }
    for (uint32_t i = 0; i < m->code_count; i++) {
        sc_rt_instruction *in = &m->code[i];
        in->is_dynamic = in->kind == SC_RT_KERNEL && needs_look(m, &in->call);
    }
    list_loose(m);
    return check_loops(ctx, m);
}
