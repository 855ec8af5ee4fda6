#include "rt/optimize.h"

enum { SCAN_MAX = 1024 };                         // instructions that one lifetime check looks at
static const uint64_t view_work_max = 50u << 20;  // view values times values

uint32_t sc_rt_value_index(const sc_rt_method *m, const sc_evalue *value) {
    return (uint32_t)(value - m->values);
}

// --- Views ---------------------------------------------------------------------------------------

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

// The planned values that instructions write: of all the values of a file a small part.
typedef struct written_values {
    uint32_t *values, count;
} written_values;

static written_values find_written(const sc_rt_optimizer *o) {
    const sc_rt_method *m = o->m;
    written_values w = {sc_new_array(o->ctx->scratch, uint32_t, m->value_count + 1), 0};
    for (uint32_t i = 0; i < m->value_count; i++)
        if (m->places[i].memory_id && o->uses[i].writes) w.values[w.count++] = i;
    return w;
}

// The value whose bytes a view shows is the last one written there before the view is read.
static void attach_view(sc_rt_optimizer *o, const written_values *w, uint32_t view) {
    const sc_rt_method *m = o->m;
    const sc_rt_place *at = &m->places[view];
    const sc_rt_use *use = &o->uses[view];
    const uint32_t first = use->reads ? use->first_read : m->code_count;
    uint32_t best = UINT32_MAX;
    for (uint32_t k = 0; k < w->count; k++) {
        const uint32_t i = w->values[k];
        const sc_rt_place *place = &m->places[i];
        if (i == view || place->memory_id != at->memory_id || o->uses[i].first_write >= first ||
            place->offset >= at->offset + at->bytes || at->offset >= place->offset + place->bytes)
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

static void count_uses(sc_rt_optimizer *o, uint32_t at) {
    sc_rt_operands taken = sc_rt_operands_of(o->m, &o->m->code[at], SC_RT_TAKES);
    while (sc_rt_operands_next(&taken)) {
        sc_rt_use *use = &o->uses[sc_rt_value_index(o->m, taken.value)];
        if (use->reads++ == 0) use->first_read = at;
        use->last_read = at;
    }
    sc_rt_operands written = sc_rt_operands_of(o->m, &o->m->code[at], SC_RT_WRITES);
    while (sc_rt_operands_next(&written)) {
        sc_rt_use *use = &o->uses[sc_rt_value_index(o->m, written.value)];
        if (use->writes++ == 0) use->first_write = at;
        use->last_write = at;
    }
}

static void note_output(sc_rt_optimizer *o, const sc_evalue *value) {
    const bool is_list =
        value->tag == SC_EVALUE_TENSOR_LIST || value->tag == SC_EVALUE_OPTIONAL_TENSOR_LIST;
    o->uses[sc_rt_value_index(o->m, value)].is_output = true;
    for (uint32_t i = 0; is_list && i < value->count; i++) {
        if (value->tensors[i]) o->uses[sc_rt_value_index(o->m, value->tensors[i])].is_output = true;
    }
}

void sc_rt_count_uses(sc_rt_optimizer *o) {
    const sc_rt_method *m = o->m;
    memset(o->uses, 0, m->value_count * sizeof *o->uses);
    for (uint32_t i = 0; i < m->code_count; i++) count_uses(o, i);
    for (uint32_t i = 0; i < m->output_count; i++) note_output(o, &m->values[m->outputs[i]]);
}

static bool find_uses(sc_rt_optimizer *o) {
    sc_rt_method *m = o->m;
    uint64_t views = 0;
    o->uses = sc_new_array(&m->program->arena, sc_rt_use, m->value_count);
    sc_rt_count_uses(o);
    for (uint32_t i = 0; i < m->value_count; i++) views += is_view(o, i);
    if (views * m->value_count > view_work_max) return false;
    const written_values w = find_written(o);
    for (uint32_t i = 0; i < m->value_count; i++) {
        if (is_view(o, i)) attach_view(o, &w, i);
    }
    return true;
}

// --- Questions that rewrites ask -----------------------------------------------------------------

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

sc_status sc_rt_keep_memory(sc_rt_optimizer *o, uint64_t bytes, uint8_t **out) {
    sc_rt_folded *folded = sc_new(&o->m->program->arena, sc_rt_folded);
    *out = sc_try_alloc(bytes);
    if (!*out) return sc_fail(o->ctx, SC_ERR_MEMORY, NULL, "no memory for rewritten results");
    folded->memory = *out;
    folded->next = o->m->folded;
    o->m->folded = folded;
    return SC_OK;
}

bool sc_rt_touches(const sc_rt_optimizer *o, uint32_t at, uint32_t access, const void *data,
                   uint64_t bytes) {
    sc_rt_operands w = sc_rt_operands_of(o->m, &o->m->code[at], access);
    while (sc_rt_operands_next(&w)) {
        const sc_tensor *t = w.tensor;
        if (t && sc_rt_overlaps(data, bytes, t->data, t->capacity_bytes)) return true;
    }
    return false;
}

bool sc_rt_is_quiet(const sc_rt_optimizer *o, const void *data, uint64_t bytes, uint32_t from,
                    uint32_t to) {
    if (to > from && to - from > SCAN_MAX) return false;
    for (uint32_t i = from + 1; i <= to && i < o->m->code_count; i++) {
        if (sc_rt_touches(o, i, SC_RT_WRITES, data, bytes)) return false;
    }
    return true;
}

static bool is_straight(const sc_rt_method *m) {
    for (uint32_t i = 0; i < m->code_count; i++) {
        const uint8_t kind = m->code[i].kind;
        if (kind == SC_RT_JUMP_FALSE || kind == SC_RT_MOVE || kind == SC_RT_FREE) return false;
    }
    return true;
}

sc_status sc_rt_optimize(sc_ctx *ctx, sc_rt_method *m) {
    sc_rt_optimizer o = {.ctx = ctx, .m = m};
    bool changed = false;
    if (!is_straight(m) || !find_uses(&o)) return SC_OK;
    SC_TRY(sc_rt_recognise(&o, &changed));
    if (changed && !find_uses(&o)) {
        sc_rt_code_link(m);
        return SC_OK;
    }
    SC_TRY(sc_rt_fold_constants(&o));
    SC_TRY(sc_rt_elide_copies(&o));
    SC_TRY(sc_rt_fuse(&o));
    if (m->program->options.channels_last != SC_RT_NEVER) SC_TRY(sc_rt_relayout(&o));
    sc_rt_code_link(m);
    return SC_OK;
}
