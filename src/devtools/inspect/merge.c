// Merges runs into blocks. Events at one place (an instruction and a delegate's id) belong
// together. Runs with the same events become one block. A place that a loop reaches several times
// is one event. Its times are added up, so that its share of the run is right.
#include "devtools/inspect/internal.h"

// The events at one place in a run.
typedef struct place {
    const sc_dump_event *first;
    uint32_t timed;  // distinct events with times
    SC_VEC(const sc_dump_value *) values;
} place;

typedef struct moment {
    const sc_dump_event *first;
    uint32_t place;
    bool has_time;
    uint32_t calls, threads;
    double elapsed;
} moment;

typedef struct sketch {
    sc_arena *arena;
    sc_map keys;  // keys of places and of moments
    SC_VEC(place) places;
    SC_VEC(moment) moments;
    SC_VEC(const sc_dump_value *) outputs;
} sketch;

// Names may contain any bytes, so they come last, or after their length.
static sc_str key_of(sc_arena *arena, const sc_dump_event *e) {
    sc_sb text;
    sc_sb_init(&text, arena);
    sc_sb_addf(&text, "%lld/%d/%d/%c", (long long)e->chain, e->instruction, e->delegate_int,
               e->delegate_str.data ? 's' : '-');
    sc_sb_add(&text, e->delegate_str);
    return sc_sb_str(&text);
}

static void add_sized(sc_sb *text, sc_str part) {
    sc_sb_addf(text, "%zu:", part.size);
    sc_sb_add(text, part);
}

// Adds a key. True if it is new, else `at` is its value.
static bool add_key(sketch *s, sc_str key, uint32_t next, uint32_t *at) {
    void **found = sc_map_find(&s->keys, key);
    *at = found ? (uint32_t)(uintptr_t)*found - 1 : next;
    if (!found) sc_map_set(&s->keys, key, (void *)(uintptr_t)(next + 1));
    return !found;
}

static uint32_t place_of(sketch *s, const sc_dump_event *e) {
    uint32_t at;
    if (add_key(s, key_of(s->arena, e), s->places.count, &at))
        sc_vec_push(s->arena, &s->places, (place){.first = e});
    return at;
}

static moment *moment_of(sketch *s, const sc_dump_event *e, uint32_t at) {
    uint32_t index;
    sc_sb key;
    sc_sb_init(&key, s->arena);
    sc_sb_addf(&key, "%u:", at);
    sc_sb_add(&key, e->name);
    if (add_key(s, sc_sb_str(&key), s->moments.count, &index))
        sc_vec_push(s->arena, &s->moments, (moment){.first = e, .place = at});
    return &s->moments.data[index];
}

static void add_time(const sc_inspection *in, sketch *s, const sc_dump_event *e) {
    const uint32_t at = place_of(s, e);
    moment *m = moment_of(s, e, at);
    double elapsed = 0;
    if (m->calls++ == 0) s->places.data[at].timed++;
    m->has_time = sc_inspect_elapsed(in, e, &elapsed) && (m->has_time || m->calls == 1);
    m->elapsed += elapsed;
    if (e->threads > m->threads) m->threads = e->threads;
}

static void add_value(sketch *s, const sc_dump_event *e) {
    if (e->value->is_output) {
        sc_vec_push(s->arena, &s->outputs, e->value);
        return;
    }
    const uint32_t at = place_of(s, e);
    sc_vec_push(s->arena, &s->places.data[at].values, e->value);
}

// Adds places that only have values, in a moment of their own.
static void add_timeless(sketch *s) {
    for (uint32_t i = 0; i < s->places.count; i++)
        if (s->places.data[i].timed == 0) moment_of(s, s->places.data[i].first, i)->calls = 1;
}

// Sorts stably. Most of the list is in order already; loops cause the rest.
static void sort_moments(sketch *s) {
    sc_arena *arena = s->arena;
    uint32_t *counts = sc_new_array(arena, uint32_t, (size_t)s->places.count + 2);
    moment *sorted = sc_new_array(arena, moment, (size_t)s->moments.count + 1);
    for (uint32_t i = 0; i < s->moments.count; i++) counts[s->moments.data[i].place + 1]++;
    for (uint32_t i = 0; i < s->places.count; i++) counts[i + 1] += counts[i];
    for (uint32_t i = 0; i < s->moments.count; i++)
        sorted[counts[s->moments.data[i].place]++] = s->moments.data[i];
    s->moments.data = sorted;
    s->moments.capacity = s->moments.count;
}

static void sketch_run(const sc_inspection *in, const sc_dump_run *run, sc_arena *arena,
                       sketch *s) {
    *s = (sketch){.arena = arena};
    sc_map_init(&s->keys, arena);
    for (uint32_t i = 0; i < run->event_count; i++) {
        const sc_dump_event *e = &run->events[i];
        if (e->kind == SC_DUMP_PROFILE) add_time(in, s, e);
        if (e->kind == SC_DUMP_VALUE) add_value(s, e);
    }
    add_timeless(s);
    sort_moments(s);
}

// --- Which runs did the same ---------------------------------------------------------------------

static sc_str signature_of(const sc_dump_run *run, const sketch *s) {
    sc_sb text;
    sc_sb_init(&text, s->arena);
    sc_sb_addf(&text, "%d %u ", run->bundled_index, s->moments.count);
    add_sized(&text, run->name);
    for (uint32_t i = 0; i < s->moments.count; i++) {
        const moment *m = &s->moments.data[i];
        sc_sb_addf(&text, "%u ", m->calls);
        add_sized(&text, m->first->name);
        add_sized(&text, key_of(s->arena, m->first));
    }
    return sc_sb_str(&text);
}

typedef struct group {
    SC_VEC(uint32_t) runs;
} group;

typedef SC_VEC(group *) groups;

static void assign_run(sc_inspection *in, sc_map *known, groups *list, uint32_t index) {
    sc_arena *arena = in->ctx->arena;
    sc_mark mark = sc_arena_mark(in->ctx->scratch);
    sketch s;
    sketch_run(in, &in->dump->runs[index], in->ctx->scratch, &s);
    const sc_str signature = signature_of(&in->dump->runs[index], &s);
    group *found = sc_map_get(known, signature);
    if (!found) {
        found = sc_new(arena, group);
        sc_map_set(known, sc_str_copy(arena, signature), found);
        sc_vec_push(arena, list, found);
    }
    sc_vec_push(arena, &found->runs, index);
    sc_arena_rewind(in->ctx->scratch, mark);
}

// --- Values --------------------------------------------------------------------------------------

static sc_status same_tensor(sc_ctx *ctx, const sc_dump_tensor *a, const sc_dump_tensor *b,
                             bool *same) {
    const size_t bytes = a->rank * sizeof(int64_t);
    *same = a->dtype == b->dtype && a->rank == b->rank && memcmp(a->sizes, b->sizes, bytes) == 0;
    if (!*same || memcmp(a->strides, b->strides, bytes) != 0) return SC_OK;
    if (a->data.size == 0 || b->data.size == 0) return SC_OK;
    return sc_extent_equal(ctx, a->data, b->data, same);
}

static sc_status same_value(sc_ctx *ctx, const sc_dump_value *a, const sc_dump_value *b,
                            bool *same) {
    *same = a->kind == b->kind && a->i == b->i && a->tensor_count == b->tensor_count &&
            memcmp(&a->d, &b->d, sizeof a->d) == 0;
    for (uint32_t i = 0; *same && i < a->tensor_count; i++)
        SC_TRY(same_tensor(ctx, &a->tensors[i], &b->tensors[i], same));
    return SC_OK;
}

static sc_status check_values(sc_inspection *in, const sc_inspect_block *block,
                              const sc_dump_value *const *a, uint32_t a_count,
                              const sc_dump_value *const *b, uint32_t b_count) {
    bool same = a_count == b_count;
    for (uint32_t i = 0; same && i < a_count; i++) SC_TRY(same_value(in->ctx, a[i], b[i], &same));
    if (!same)
        sc_inspect_warn(in, sc_str_format(in->ctx->arena,
                                          "the runs of block '" SC_STR_FMT
                                          "' logged different values: those of run %u are shown",
                                          SC_STR_ARG(block->name), block->runs[0]));
    return SC_OK;
}

// --- Blocks --------------------------------------------------------------------------------------

static void make_event(const sc_inspect_block *block, const sketch *s, const moment *m,
                       sc_inspect_event *out) {
    const sc_dump_event *e = m->first;
    const place *p = &s->places.data[m->place];
    *out = (sc_inspect_event){.name = e->name,
                              .chain = e->chain,
                              .instruction = e->instruction,
                              .delegate_int = e->delegate_int,
                              .delegate_str = e->delegate_str,
                              .has_time = m->has_time,
                              .calls = m->calls,
                              .start = e->start,
                              .metadata = e->metadata,
                              .values = p->values.data,
                              .value_count = p->values.count,
                              .parent = SC_INSPECT_NONE};
    out->is_delegated = sc_inspect_is_delegated(e);
    out->is_wrapper = p->timed > 1 && sc_str_is(e->name, "OPERATOR_CALL");
    if (out->is_delegated)
        out->name =
            e->delegate_str.data ? e->delegate_str : sc_str_format(s->arena, "%d", e->delegate_int);
    out->perf.raw = sc_new_array(s->arena, double, (size_t)block->run_count + 1);
}

static sc_status add_times(sc_inspection *in, sc_inspect_block *block, uint32_t run) {
    sc_mark mark = sc_arena_mark(in->ctx->scratch);
    sc_status status = SC_OK;
    sketch s;
    sketch_run(in, &in->dump->runs[block->runs[run]], in->ctx->scratch, &s);
    for (uint32_t i = 0; i < block->event_count && status == SC_OK; i++) {
        sc_inspect_event *e = &block->events[i];
        const moment *m = &s.moments.data[i];
        const place *p = &s.places.data[m->place];
        ((double *)e->perf.raw)[run] = m->elapsed;
        e->has_time = e->has_time && m->has_time;
        if (m->threads > e->threads) e->threads = m->threads;
        // Events of one place are adjacent, and share its values.
        if (run > 0 && (i == 0 || m[-1].place != m->place))
            status =
                check_values(in, block, e->values, e->value_count, p->values.data, p->values.count);
    }
    if (run > 0 && status == SC_OK)
        status = check_values(in, block, block->outputs, block->output_count, s.outputs.data,
                              s.outputs.count);
    sc_arena_rewind(in->ctx->scratch, mark);
    return status;
}

// The scopes of a runtime by name. For each instruction, the scopes around kernels and delegates'
// events.
typedef struct scopes {
    sc_imap calls;  // place -> index, plus 1
    uint32_t run, load;
} scopes;

static uint64_t place_key(const sc_inspect_event *e) {
    return (uint64_t)e->chain << 32 | (uint32_t)e->instruction;
}

static bool is_call(const sc_inspect_event *e) {
    return sc_str_is(e->name, "OPERATOR_CALL") || sc_str_is(e->name, "DELEGATE_CALL");
}

static scopes find_scopes(const sc_inspect_block *block, sc_arena *scratch) {
    scopes found = {.run = SC_INSPECT_NONE, .load = SC_INSPECT_NONE};
    sc_imap_init(&found.calls, scratch);
    for (uint32_t i = 0; i < block->event_count; i++) {
        const sc_inspect_event *e = &block->events[i];
        if (e->is_delegated) continue;
        if (e->chain >= 0 && is_call(e)) sc_imap_set(&found.calls, place_key(e), i + 1);
        if (e->chain >= 0) continue;
        if (sc_str_is(e->name, "Program::load_method")) found.load = i;
        if (sc_str_is(e->name, "Method::execute") || sc_str_is(e->name, "Method::step"))
            found.run = i;
    }
    return found;
}

static uint32_t parent_of(const scopes *s, const sc_inspect_event *e) {
    if (e->chain < 0 && !e->is_delegated)
        return sc_str_is(e->name, "Method::init") ? s->load : SC_INSPECT_NONE;
    const uint64_t *call = sc_imap_find(&s->calls, place_key(e));
    bool is_inside = call && (e->is_delegated || !is_call(e));
    return is_inside ? (uint32_t)*call - 1 : s->run;
}

static void finish_block(sc_inspection *in, sc_inspect_block *block) {
    double *total = sc_new_array(in->ctx->arena, double, (size_t)block->run_count + 1);
    sc_mark mark = sc_arena_mark(in->ctx->scratch);
    const scopes found = find_scopes(block, in->ctx->scratch);
    for (uint32_t i = 0; i < block->event_count; i++) {
        sc_inspect_event *e = &block->events[i];
        e->parent = parent_of(&found, e);
        if (e->has_time) e->perf = sc_perf_of(in->ctx->scratch, e->perf.raw, block->run_count);
        for (uint32_t r = 0; e->has_time && e->parent == SC_INSPECT_NONE && r < block->run_count;
             r++)
            total[r] += e->perf.raw[r];
    }
    sc_arena_rewind(in->ctx->scratch, mark);
    block->total = sc_perf_of(in->ctx->scratch, total, block->run_count);
}

static sc_status make_block(sc_inspection *in, const group *g, sc_inspect_block *block) {
    const sc_dump_run *run = &in->dump->runs[g->runs.data[0]];
    sketch s;
    sketch_run(in, run, in->ctx->arena, &s);
    *block = (sc_inspect_block){.name = run->name,
                                .bundled_index = run->bundled_index,
                                .runs = g->runs.data,
                                .run_count = g->runs.count,
                                .event_count = s.moments.count,
                                .outputs = s.outputs.data,
                                .output_count = s.outputs.count};
    block->events = sc_new_array(in->ctx->arena, sc_inspect_event, (size_t)s.moments.count + 1);
    for (uint32_t i = 0; i < s.moments.count; i++)
        make_event(block, &s, &s.moments.data[i], &block->events[i]);
    for (uint32_t r = 0; r < block->run_count; r++) SC_TRY(add_times(in, block, r));
    finish_block(in, block);
    return SC_OK;
}

sc_status sc_inspect_merge(sc_inspection *in) {
    sc_map known;
    groups list = {0};
    sc_map_init(&known, in->ctx->arena);
    for (uint32_t i = 0; i < in->dump->run_count; i++) assign_run(in, &known, &list, i);
    in->blocks = sc_new_array(in->ctx->arena, sc_inspect_block, (size_t)list.count + 1);
    in->block_count = list.count;
    for (uint32_t i = 0; i < list.count; i++) SC_TRY(make_block(in, list.data[i], &in->blocks[i]));
    return SC_OK;
}
