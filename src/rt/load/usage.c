// The uses of values by a method's instructions, found before memory is bound. They answer three
// questions. Which values are state (planned memory that is read before it is written)? Which are
// loose (value records that a run re-points)? Which calls therefore cannot rely on the checks of
// load?
#include "rt/load/steps.h"
#include "rt/operands.h"

typedef struct usage {
    sc_ctx *ctx;
    sc_rt_method *m;
    sc_imap written;  // places that have content so far: memory id and offset
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

static void write_value(usage *u, const sc_evalue *value) {
    sc_rt_place *place = &u->m->places[index_of(u->m, value)];
    place->is_written = true;
    if (place->memory_id) sc_imap_set(&u->written, place_key(place), 1);
}

static void visit(usage *u, const sc_rt_instruction *in) {
    sc_rt_operands read = sc_rt_operands_of(u->m, in, SC_RT_READS);
    while (sc_rt_operands_next(&read)) {
        if (read.tensor) read_tensor(u, read.value);
    }
    sc_rt_operands written = sc_rt_operands_of(u->m, in, SC_RT_WRITES);
    while (sc_rt_operands_next(&written)) write_value(u, written.value);
    sc_rt_operands moved = sc_rt_operands_of(u->m, in, SC_RT_REPOINTS);
    while (sc_rt_operands_next(&moved)) u->m->places[index_of(u->m, moved.value)].is_loose = true;
}

// --- Calls that need a look on every run ---------------------------------------------------------

static bool needs_look(const sc_rt_method *m, const sc_rt_instruction *in) {
    if (in->call.op && sc_op_has(in->call.op, SC_DATA_DEPENDENT)) return true;
    sc_rt_operands o = sc_rt_operands_of(m, in, SC_RT_ANY_ACCESS);
    while (sc_rt_operands_next(&o)) {
        const sc_rt_place *place = &m->places[index_of(m, o.value)];
        if (place->is_loose || (o.tensor ? o.tensor->is_dynamic : place->is_written)) return true;
    }
    return false;
}

// --- Loops that cannot end -----------------------------------------------------------------------

static void note_writes(uint32_t *last_write, const sc_rt_method *m, uint32_t at) {
    sc_rt_operands o = sc_rt_operands_of(m, &m->code[at], SC_RT_WRITES);
    while (sc_rt_operands_next(&o)) last_write[index_of(m, o.value)] = at + 1;
}

// Forward jumps that may leave the loop in question, innermost last.
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

// A backward jump whose condition the loop does not compute repeats for ever once it is taken,
// unless another jump leaves the loop.
static sc_status check_loops(sc_ctx *ctx, sc_rt_method *m) {
    uint32_t *last_write = sc_new_array(&m->program->arena, uint32_t, m->value_count);
    exits e = {sc_new_array(&m->program->arena, uint32_t, m->code_count), 0};
    for (uint32_t at = 0; at < m->code_count; at++) {
        const sc_rt_instruction *in = &m->code[at];
        note_writes(last_write, m, at);
        if (in->kind != SC_RT_JUMP_FALSE) continue;
        if (in->target > at)
            e.jumps[e.count++] = at;
        else if (last_write[in->from] <= in->target &&
                 !can_leave(m, &e, last_write, in->target, at))
            return sc_fail(ctx, SC_ERR_CORRUPT, NULL,
                           "method '" SC_STR_FMT
                           "': the loop that ends at instruction %u can never be left",
                           SC_STR_ARG(m->name), in->origin.index);
    }
    return SC_OK;
}

// A run wrote its output there, or it is state.
static void read_output(usage *u, const sc_evalue *value) {
    if (value->tag == SC_EVALUE_TENSOR) read_tensor(u, value);
    if (value->tag != SC_EVALUE_TENSOR_LIST && value->tag != SC_EVALUE_OPTIONAL_TENSOR_LIST) return;
    for (uint32_t i = 0; i < value->count; i++) {
        if (value->tensors[i]) read_tensor(u, value->tensors[i]);
    }
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
    for (uint32_t i = 0; i < m->output_count; i++) read_output(&u, &m->values[m->outputs[i]]);
    for (uint32_t i = 0; i < m->value_count; i++) {
        sc_rt_place *place = &m->places[i];
        place->is_state |= place->memory_id && (place->buffer_index || place->datum);
    }
    for (uint32_t i = 0; i < m->code_count; i++) {
        sc_rt_instruction *in = &m->code[i];
        bool computes = in->kind == SC_RT_KERNEL || in->kind == SC_RT_DELEGATE;
        in->is_dynamic = computes && needs_look(m, in);
    }
    list_loose(m);
    return check_loops(ctx, m);
}
