// The writers and readers of each value. They are counted before rewrites, which query them.
#include "rt/rewrite/uses.h"

enum { SCAN_MAX = 1024 };                         // instructions that one lifetime check looks at
static const uint64_t view_work_max = 50u << 20;  // view values times values

// --- Jumps ---------------------------------------------------------------------------------------

static bool has_jumps(const sc_rt_method *m) {
    for (uint32_t i = 0; i < m->code_count; i++)
        if (m->code[i].kind == SC_RT_JUMP_FALSE) return true;
    return false;
}

// The instructions that a jump skips or repeats, the jump included.
static sc_rt_stretch stretch_of(const sc_rt_instruction *jump, uint32_t at) {
    if (jump->target <= at) return (sc_rt_stretch){jump->target, at};
    return (sc_rt_stretch){at, jump->target - 1};
}

// Merges stretches that overlap. First finds the end of the longest stretch from each instruction,
// then the ends of stretches that begin inside it.
static void find_stretches(sc_rt_optimizer *o) {
    const sc_rt_method *m = o->m;
    if (!has_jumps(m)) return;
    sc_rt_stretch *s = sc_new_array(&m->program->arena, sc_rt_stretch, m->code_count);
    for (uint32_t i = 0; i < m->code_count; i++) s[i] = (sc_rt_stretch){i, i};
    for (uint32_t i = 0; i < m->code_count; i++) {
        if (m->code[i].kind != SC_RT_JUMP_FALSE) continue;
        const sc_rt_stretch jumped = stretch_of(&m->code[i], i);
        s[jumped.first].last = sc_max_u32(s[jumped.first].last, jumped.last);
    }
    for (uint32_t i = 1; i < m->code_count; i++) {
        if (s[i - 1].last < i) continue;
        s[i] = (sc_rt_stretch){s[i - 1].first, sc_max_u32(s[i].last, s[i - 1].last)};
    }
    for (uint32_t i = m->code_count - 1; i-- > 0;)
        if (s[i].first == s[i + 1].first) s[i].last = s[i + 1].last;
    o->stretches = s;
}

static sc_rt_stretch stretch_at(const sc_rt_optimizer *o, uint32_t at) {
    return o->stretches ? o->stretches[at] : (sc_rt_stretch){at, at};
}

bool sc_rt_runs_once(const sc_rt_optimizer *o, uint32_t at) {
    return o->m->code[at].kind != SC_RT_JUMP_FALSE &&
           stretch_at(o, at).first == stretch_at(o, at).last;
}

// --- Views ---------------------------------------------------------------------------------------

bool sc_rt_overlaps(const void *a, uint64_t a_bytes, const void *b, uint64_t b_bytes) {
    uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return a_bytes && b_bytes && x < y + b_bytes && y < x + a_bytes;
}

// Planned, read, and never written: the value shows another value's content.
static bool is_view(const sc_rt_optimizer *o, uint32_t index) {
    const sc_rt_place *place = &o->m->places[index];
    return place->memory_id && !o->uses[index].writes && !place->is_input &&
           (o->uses[index].reads || o->uses[index].is_output);
}

// The planned values that instructions write: a small part of all the values of a file.
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

// Is the part of another value's memory that a view shows written while the view is still needed?
static bool is_torn(const sc_rt_use *written, uint32_t first, uint32_t last) {
    if (written->first_write == written->last_write && written->writes == 1)
        return first <= written->first_write && written->first_write < last;
    return first <= written->last_write && written->first_write <= last;
}

// The last write before an instruction, among the known writes of several values.
static uint32_t write_before(const sc_rt_use *use, uint32_t at) {
    return use->last_write < at ? use->last_write : use->first_write;
}

static bool share_bytes(const sc_rt_place *a, const sc_rt_place *b) {
    return a->memory_id == b->memory_id && a->offset < b->offset + b->bytes &&
           b->offset < a->offset + a->bytes;
}

static bool is_inside(const sc_rt_place *a, const sc_rt_place *b) {
    return a->offset >= b->offset && a->offset + a->bytes <= b->offset + b->bytes;
}

// A view shows the bytes of the value that was written there last before the view is read.
static uint32_t base_of(sc_rt_optimizer *o, const written_values *w, uint32_t view) {
    const sc_rt_method *m = o->m;
    const sc_rt_use *use = &o->uses[view];
    const uint32_t first = use->reads ? use->first_read : m->code_count;
    const uint32_t last = use->is_output ? m->code_count : use->last_read;
    uint32_t best = UINT32_MAX, torn = UINT32_MAX;
    for (uint32_t k = 0; k < w->count; k++) {
        const uint32_t i = w->values[k];
        if (i == view || !share_bytes(&m->places[i], &m->places[view])) continue;
        if (is_torn(&o->uses[i], first, last)) torn = i;
        if (o->uses[i].first_write >= first) continue;
        if (best == UINT32_MAX ||
            write_before(&o->uses[i], first) >= write_before(&o->uses[best], first))
            best = i;
    }
    if (torn == UINT32_MAX) return best;
    o->uses[torn].is_pinned = true;
    if (best != UINT32_MAX) o->uses[best].is_pinned = true;
    return torn;
}

static void attach_view(sc_rt_optimizer *o, const written_values *w, uint32_t view) {
    const sc_rt_use *use = &o->uses[view];
    const uint32_t base = base_of(o, w, view);
    if (base == UINT32_MAX) return;  // of an input or of state
    sc_rt_use *of = &o->uses[base];
    of->is_pinned |= use->is_pinned || !is_inside(&o->m->places[view], &o->m->places[base]);
    of->is_output |= use->is_output;
    o->uses[view].next_view = of->first_view;
    of->first_view = view + 1;
    if (use->reads) of->last_read = sc_max_u32(of->last_read, use->last_read);
}

static void count_uses(sc_rt_optimizer *o, uint32_t at) {
    const sc_rt_stretch when = stretch_at(o, at);
    const uint32_t times = sc_rt_runs_once(o, at) ? 1 : 2;
    sc_rt_operands taken = sc_rt_operands_of(o->m, &o->m->code[at], SC_RT_TAKES);
    while (sc_rt_operands_next(&taken)) {
        sc_rt_use *use = &o->uses[sc_rt_value_index(o->m, taken.value)];
        if (use->reads == 0) use->first_read = when.first;
        use->reads_old |= !use->writes;
        use->reads += times;
        use->last_read = when.last;
    }
    sc_rt_operands written = sc_rt_operands_of(o->m, &o->m->code[at], SC_RT_WRITES);
    while (sc_rt_operands_next(&written)) {
        sc_rt_use *use = &o->uses[sc_rt_value_index(o->m, written.value)];
        if (use->writes == 0) use->first_write = when.first;
        use->writes += times;
        use->last_write = when.last;
    }
}

// A value that a run's view shows must stay in place: the file decides where the view's record
// points.
static void pin_shown(sc_rt_optimizer *o, uint32_t at) {
    const sc_rt_instruction *in = &o->m->code[at];
    sc_rt_operands views = sc_rt_operands_of(o->m, in, SC_RT_REPOINTS);
    if (in->kind != SC_RT_PRIM || !sc_rt_operands_next(&views)) return;
    sc_rt_operands shown = sc_rt_operands_of(o->m, in, SC_RT_READS);
    while (sc_rt_operands_next(&shown))
        o->uses[sc_rt_value_index(o->m, shown.value)].is_pinned = true;
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
    for (uint32_t i = 0; i < m->code_count; i++) {
        count_uses(o, i);
        pin_shown(o, i);
    }
    for (uint32_t i = 0; i < m->output_count; i++) note_output(o, &m->values[m->outputs[i]]);
}

bool sc_rt_find_uses(sc_rt_optimizer *o) {
    sc_rt_method *m = o->m;
    uint64_t views = 0;
    o->is_stale = false;
    if (!o->stretches) find_stretches(o);
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
