#include "rt/optimize.h"

enum { SCAN_MAX = 1024 };                         // instructions that one lifetime check looks at
static const uint64_t view_work_max = 50u << 20;  // view values times values

uint32_t sc_rt_value_index(const sc_rt_method *m, const sc_evalue *value) {
    return (uint32_t)(value - m->values);
}

// --- who reads and writes ------------------------------------------------------------------------

static void visit_value(sc_evalue *value, sc_rt_visit visit, void *user) {
    if (value->tag == SC_EVALUE_TENSOR) visit(user, value);
    if (value->tag != SC_EVALUE_TENSOR_LIST && value->tag != SC_EVALUE_OPTIONAL_TENSOR_LIST) return;
    for (uint32_t i = 0; i < value->count; i++) {
        if (value->tensors[i]) visit(user, value->tensors[i]);
    }
}

static uint32_t input_count(const sc_rt_instruction *in) {
    if (in->kind == SC_RT_PRIM) return in->call.arg_count - !sc_op_has(in->call.op, SC_MUTATES);
    return sc_rt_kept_inputs(in->call.op);
}

static bool is_call(const sc_rt_instruction *in) {
    return in->kind == SC_RT_KERNEL || in->kind == SC_RT_PRIM;
}

void sc_rt_each_read(const sc_rt_instruction *in, sc_rt_visit visit, void *user) {
    for (uint32_t i = 0, n = is_call(in) ? input_count(in) : 0; i < n; i++)
        visit_value(in->call.args[i], visit, user);
}

void sc_rt_each_write(const sc_rt_instruction *in, sc_rt_visit visit, void *user) {
    if (!is_call(in)) return;
    if (sc_op_has(in->call.op, SC_MUTATES)) visit_value(in->call.args[0], visit, user);
    for (uint32_t i = input_count(in); i < in->call.arg_count; i++)
        visit_value(in->call.args[i], visit, user);
}

typedef struct counting {
    sc_rt_optimizer *o;
    uint32_t at;
} counting;

static void count_read(void *user, sc_evalue *value) {
    const counting *c = user;
    sc_rt_use *use = &c->o->uses[sc_rt_value_index(c->o->m, value)];
    if (use->reads++ == 0) use->first_read = c->at;
    use->last_read = c->at;
}

static void count_write(void *user, sc_evalue *value) {
    const counting *c = user;
    sc_rt_use *use = &c->o->uses[sc_rt_value_index(c->o->m, value)];
    if (use->writes++ == 0) use->first_write = c->at;
    use->last_write = c->at;
}

// --- views ---------------------------------------------------------------------------------------

bool sc_rt_overlaps(const void *a, uint64_t a_bytes, const void *b, uint64_t b_bytes) {
    uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return a_bytes && b_bytes && x < y + b_bytes && y < x + a_bytes;
}

// Planned, read, and never written: shows what another value holds.
static bool is_view(const sc_rt_optimizer *o, uint32_t index) {
    const sc_rt_place *place = &o->m->places[index];
    return place->memory_id && !o->uses[index].writes && !place->is_input &&
           (o->uses[index].reads || o->uses[index].is_output);
}

// The value whose bytes a view shows is the last one written there before the view is read.
static void attach_view(sc_rt_optimizer *o, uint32_t view) {
    const sc_rt_method *m = o->m;
    const sc_rt_place *at = &m->places[view];
    const sc_rt_use *use = &o->uses[view];
    const uint32_t first = use->reads ? use->first_read : m->code_count;
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < m->value_count; i++) {
        const sc_rt_place *place = &m->places[i];
        if (i == view || place->memory_id != at->memory_id || !o->uses[i].writes ||
            o->uses[i].first_write >= first || place->offset >= at->offset + at->bytes ||
            at->offset >= place->offset + place->bytes)
            continue;
        if (best == UINT32_MAX || o->uses[i].first_write >= o->uses[best].first_write) best = i;
    }
    if (best == UINT32_MAX) return;  // of an input or of state
    const sc_rt_place *base = &m->places[best];
    if (at->offset < base->offset || at->offset + at->bytes > base->offset + base->bytes)
        o->uses[best].is_pinned = true;
    o->uses[view].next_view = o->uses[best].first_view;
    o->uses[best].first_view = view + 1;
    o->uses[best].is_output |= use->is_output;
    if (use->reads && use->last_read > o->uses[best].last_read)
        o->uses[best].last_read = use->last_read;
}

static bool find_uses(sc_rt_optimizer *o) {
    sc_rt_method *m = o->m;
    uint64_t views = 0;
    o->uses = sc_new_array(&m->program->arena, sc_rt_use, m->value_count);
    for (uint32_t i = 0; i < m->code_count; i++) {
        counting c = {o, i};
        sc_rt_each_read(&m->code[i], count_read, &c);
        sc_rt_each_write(&m->code[i], count_write, &c);
    }
    for (uint32_t i = 0; i < m->output_count; i++) o->uses[m->outputs[i]].is_output = true;
    for (uint32_t i = 0; i < m->value_count; i++) views += is_view(o, i);
    if (views * m->value_count > view_work_max) return false;
    for (uint32_t i = 0; i < m->value_count; i++) {
        if (is_view(o, i)) attach_view(o, i);
    }
    return true;
}

// --- questions that rewrites ask -----------------------------------------------------------------

sc_rt_use *sc_rt_plain_use(sc_rt_optimizer *o, const sc_evalue *value) {
    const uint32_t index = sc_rt_value_index(o->m, value);
    const sc_rt_place *place = &o->m->places[index];
    sc_rt_use *use = &o->uses[index];
    if (value->tag != SC_EVALUE_TENSOR || use->writes != 1 || use->is_pinned || place->is_state ||
        place->is_input || place->is_constant || place->is_loose)
        return NULL;
    return use;
}

void sc_rt_move_value(sc_rt_optimizer *o, const sc_evalue *value, void *data, bool is_constant) {
    const uint32_t index = sc_rt_value_index(o->m, value);
    value->tensor->data = data;
    value->tensor->is_constant = is_constant;
    for (uint32_t view = o->uses[index].first_view; view; view = o->uses[view - 1].next_view) {
        sc_tensor *t = o->m->values[view - 1].tensor;
        const int64_t ahead = (int64_t)(o->m->places[view - 1].offset - o->m->places[index].offset);
        t->data = (uint8_t *)data + ahead;
        t->is_constant = is_constant;
    }
}

typedef struct clash {
    const void *data;
    uint64_t bytes;
    bool found;
} clash;

static void look_for_clash(void *user, sc_evalue *value) {
    clash *c = user;
    const sc_tensor *t = value->tensor;
    c->found = c->found || sc_rt_overlaps(c->data, c->bytes, t->data, t->capacity_bytes);
}

bool sc_rt_is_quiet(const sc_rt_optimizer *o, const void *data, uint64_t bytes, uint32_t from,
                    uint32_t to) {
    clash c = {data, bytes, to > from && to - from > SCAN_MAX};
    for (uint32_t i = from + 1; i <= to && i < o->m->code_count && !c.found; i++)
        sc_rt_each_write(&o->m->code[i], look_for_clash, &c);
    return !c.found;
}

static bool is_straight(const sc_rt_method *m) {
    for (uint32_t i = 0; i < m->code_count; i++) {
        const uint8_t kind = m->code[i].kind;
        if (kind == SC_RT_JUMP_FALSE || kind == SC_RT_MOVE || kind == SC_RT_FREE) return false;
    }
    return true;
}

static void drop_skipped(sc_rt_method *m) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < m->code_count; i++) {
        if (m->code[i].kind != SC_RT_SKIP) m->code[kept++] = m->code[i];
    }
    m->code_count = kept;
}

sc_status sc_rt_optimize(sc_ctx *ctx, sc_rt_method *m) {
    sc_rt_optimizer o = {.ctx = ctx, .m = m};
    if (!is_straight(m) || !find_uses(&o)) return SC_OK;
    SC_TRY(sc_rt_fold_constants(&o));
    SC_TRY(sc_rt_elide_copies(&o));
    SC_TRY(sc_rt_fuse(&o));
    drop_skipped(m);
    return SC_OK;
}
