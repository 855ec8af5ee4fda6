// Compares values of a dump with those of a reference, by debug handles. Decomposition may give
// several nodes one handle, and backends put many nodes into one call. Events that share handles
// become one entry. It has the handles of all, and the value of the last instruction. Result i from
// the end of that value belongs to handle i from the end.
#include "devtools/inspect/report.h"

// Bounds the work of merging: handles that are looked at.
#define WORK_MAX (UINT64_C(1) << 30)

typedef SC_VEC(int64_t) handle_list;
typedef SC_VEC(sc_str) name_list;

// Events that share handles, merged.
typedef struct entry {
    uint32_t event;
    int32_t instruction;
    handle_list handles;
    name_list names;
    bool is_gone;  // merged into another entry
} entry;

typedef struct merging {
    const sc_inspection *in;
    sc_arena *arena;
    SC_VEC(entry) entries;
    sc_imap owner;  // handle -> its entry, plus 1
    sc_map keys;    // handles -> the entry with exactly these, plus 1
    uint64_t work;
} merging;

static sc_status add_work(merging *m, uint64_t work) {
    m->work += work;
    if (m->work > WORK_MAX)
        return sc_fail(m->in->ctx, SC_ERR_LIMIT, "Log fewer events, or use a smaller model.",
                       "the dump's events share too many debug handles");
    return SC_OK;
}

// --- Events --------------------------------------------------------------------------------------

static bool is_candidate(const sc_inspect_event *e) {
    return e->node_count > 0 && e->value_count > 0 && e->handles.count > 0 && !e->is_wrapper;
}

// The handles for which delegates' own events have values.
static sc_imap inner_handles(const sc_inspect_block *block, sc_arena *arena) {
    sc_imap inner;
    sc_imap_init(&inner, arena);
    for (uint32_t i = 0; i < block->event_count; i++) {
        const sc_inspect_event *e = &block->events[i];
        if (!e->is_delegated || !is_candidate(e)) continue;
        for (uint32_t h = 0; h < e->handles.count; h++)
            sc_imap_set(&inner, (uint64_t)e->handles.data[h], 1);
    }
    return inner;
}

static bool is_covered(const sc_imap *inner, const sc_inspect_event *e) {
    if (!sc_str_is(e->name, "DELEGATE_CALL") || e->is_delegated) return false;
    for (uint32_t h = 0; h < e->handles.count; h++)
        if (sc_imap_find(inner, (uint64_t)e->handles.data[h])) return true;
    return false;
}

// --- Merging -------------------------------------------------------------------------------------

// The handles of `first` that `second` lacks, then those of `second`, each once.
static void join(merging *m, const handle_list *first, const handle_list *second,
                 handle_list *out) {
    sc_imap seen;
    handle_list joined = {0};
    sc_imap_init(&seen, m->arena);
    for (uint32_t i = 0; i < second->count; i++) sc_imap_set(&seen, (uint64_t)second->data[i], 1);
    for (uint32_t i = 0; i < first->count; i++)
        if (!sc_imap_find(&seen, (uint64_t)first->data[i]))
            sc_vec_push(m->arena, &joined, first->data[i]);
    for (uint32_t i = 0; i < second->count; i++) {
        uint64_t *times = sc_imap_at(&seen, (uint64_t)second->data[i]);
        if ((*times)++ == 1) sc_vec_push(m->arena, &joined, second->data[i]);
    }
    *out = joined;
}

static void take_names(merging *m, entry *into, const entry *from) {
    for (uint32_t i = 0; i < from->names.count; i++)
        sc_vec_push(m->arena, &into->names, from->names.data[i]);
}

static sc_status absorb(merging *m, entry *into, entry *other) {
    SC_TRY(add_work(m, (uint64_t)into->handles.count + other->handles.count));
    const bool is_later = other->instruction < into->instruction;
    entry joined = is_later ? *into : *other;
    join(m, is_later ? &other->handles : &into->handles,
         is_later ? &into->handles : &other->handles, &joined.handles);
    joined.names = other->names;
    take_names(m, &joined, into);
    *into = joined;
    other->is_gone = true;
    return SC_OK;
}

// The oldest entry that shares a handle with the new one.
static entry *oldest_overlap(const merging *m, const entry *one) {
    uint64_t oldest = UINT64_MAX;
    for (uint32_t h = 0; h < one->handles.count; h++) {
        const uint64_t *owner = sc_imap_find(&m->owner, (uint64_t)one->handles.data[h]);
        if (owner && *owner < oldest && !m->entries.data[*owner - 1].is_gone) oldest = *owner;
    }
    return oldest == UINT64_MAX ? NULL : &m->entries.data[oldest - 1];
}

static sc_status merge_entry(merging *m, entry one) {
    entry *other;
    while ((other = oldest_overlap(m, &one))) SC_TRY(absorb(m, &one, other));
    sc_vec_push(m->arena, &m->entries, one);
    for (uint32_t h = 0; h < one.handles.count; h++)
        sc_imap_set(&m->owner, (uint64_t)one.handles.data[h], m->entries.count);
    return add_work(m, one.handles.count);
}

// Collects the entries. Among events with the same handles, that of the last instruction stays.
static sc_status collect(merging *m, const sc_inspect_block *block, entry **out, uint32_t *count) {
    SC_VEC(entry) found = {0};
    const sc_imap inner = inner_handles(block, m->arena);
    for (uint32_t i = 0; i < block->event_count; i++) {
        const sc_inspect_event *e = &block->events[i];
        if (!is_candidate(e) || is_covered(&inner, e)) continue;
        SC_TRY(add_work(m, e->handles.count));
        const sc_str key = {(const char *)e->handles.data, e->handles.count * sizeof(int64_t)};
        const uintptr_t at = (uintptr_t)sc_map_get(&m->keys, key);
        if (at && found.data[at - 1].instruction >= e->instruction) continue;
        entry one = {.event = i, .instruction = e->instruction};
        for (uint32_t h = 0; h < e->handles.count; h++)
            sc_vec_push(m->arena, &one.handles, e->handles.data[h]);
        sc_vec_push(m->arena, &one.names, e->name);
        if (at) {
            found.data[at - 1] = one;
            continue;
        }
        sc_vec_push(m->arena, &found, one);
        sc_map_set(&m->keys, key, (void *)(uintptr_t)found.count);
    }
    *out = found.data;
    *count = found.count;
    return SC_OK;
}

// --- Pairs ---------------------------------------------------------------------------------------

typedef struct pairing {
    const sc_inspection *in;
    sc_inspect_gaps *out;
    const sc_inspect_reference *references;
    sc_imap by_handle;  // place among the references, plus 1
    const sc_inspect_method *method;
    uint32_t block;
} pairing;

static const sc_inspect_reference *reference_of(const pairing *p, int64_t handle) {
    const uint64_t *at = sc_imap_find(&p->by_handle, (uint64_t)handle);
    return at ? &p->references[*at - 1] : NULL;
}

// Picks the reference for a result. Kernels also log results that the reference does not have, such
// as a mask. So the shape decides, then the dtype, and then the last one is taken.
static const sc_numbers *pick(const sc_numbers_list *values, const sc_numbers *like) {
    const sc_numbers *by_shape = NULL, *by_dtype = NULL;
    uint32_t shapes = 0, dtypes = 0;
    for (uint32_t i = 0; i < values->count; i++) {
        const sc_numbers *v = &values->items[i];
        if (!sc_numbers_same_shape(v, like)) continue;
        shapes++;
        by_shape = v;
        if (v->dtype != like->dtype) continue;
        dtypes++;
        by_dtype = v;
    }
    if (shapes == 1) return by_shape;
    return dtypes == 1 ? by_dtype : &values->items[values->count - 1];
}

typedef SC_VEC(sc_inspect_pair) pair_list;

static const char *add_pair(pairing *p, const sc_numbers *reference, const sc_numbers *found,
                            pair_list *pairs) {
    sc_inspect_pair pair = {.reference = reference, .found = found};
    if (!sc_numbers_same_shape(reference, found))
        return reference->rank == found->rank ? "its shape is not that of the reference; perhaps "
                                                "the run had other inputs than the record's"
                                              : "its shape is not that of the reference";
    if (!found->data && found->count) return "its bytes are missing";
    if (!reference->data && reference->count) return "the bytes of the reference are missing";
    if (!sc_gap_of(reference, found, &pair.gap)) return "it has no elements";
    sc_vec_push(p->in->ctx->arena, pairs, pair);
    return NULL;
}

// Compares result `from_end` of an event. Gives the reason if that is not possible, else NULL.
static const char *pair_result(pairing *p, const entry *e, const sc_numbers_list *values,
                               uint32_t out_count, uint32_t from_end, pair_list *pairs) {
    if (from_end >= e->handles.count || from_end >= values->count)
        return "it has fewer values than results";
    const int64_t handle = e->handles.data[e->handles.count - 1 - from_end];
    const sc_inspect_reference *r = reference_of(p, handle);
    if (!r) return "the reference has no value for it";
    const sc_numbers_list *wanted = r->values;
    if (wanted->count == 1 && out_count == 1)
        return add_pair(p, wanted->items, pick(values, wanted->items), pairs);
    if (wanted->count == 1)
        return add_pair(p, wanted->items, &values->items[values->count - 1 - from_end], pairs);
    if (out_count > 1 || values->count < wanted->count)
        return "it has different results than the reference";
    const char *reason = NULL;
    const uint32_t before = pairs->count;
    for (uint32_t i = 0; i < wanted->count; i++)
        reason = add_pair(p, &wanted->items[i], &values->items[values->count - wanted->count + i],
                          pairs);
    return pairs->count > before ? NULL : reason;
}

static sc_inspect_handles compared_handles(const pairing *p, const entry *e) {
    handle_list found = {0};
    for (uint32_t i = 0; i < e->handles.count; i++)
        if (reference_of(p, e->handles.data[i]))
            sc_vec_push(p->in->ctx->arena, &found, e->handles.data[i]);
    return (sc_inspect_handles){found.data, found.count};
}

static sc_status pair_entry(pairing *p, const entry *e) {
    sc_ctx *ctx = p->in->ctx;
    const sc_inspect_event *event = &p->in->blocks[p->block].events[e->event];
    sc_numbers_list values;
    pair_list pairs = {0};
    const char *reason = NULL;
    sc_arena *arena = p->out->values ? p->out->values : ctx->arena;
    SC_TRY(sc_numbers_of_all(ctx, arena, event->values, event->value_count, &values));
    for (uint32_t i = 0; i < event->out_count && (i == 0 || i < e->handles.count); i++) {
        const char *why = pair_result(p, e, &values, event->out_count, i, &pairs);
        if (why) reason = why;
    }
    if (reason)
        sc_vec_push(ctx->arena, &p->out->skipped,
                    (sc_inspect_skip){p->method, p->block, e->event, reason});
    if (pairs.count == 0) return SC_OK;
    const sc_inspect_gap_row row = {.method = p->method,
                                    .block = p->block,
                                    .event = e->event,
                                    .runtime = {e->handles.data, e->handles.count},
                                    .aot = compared_handles(p, e),
                                    .runtime_ops = e->names.data,
                                    .runtime_op_count = e->names.count,
                                    .pairs = pairs.data,
                                    .pair_count = pairs.count};
    sc_vec_push(ctx->arena, &p->out->rows, row);
    return SC_OK;
}

static sc_status pair_block(pairing *p) {
    merging m = {.in = p->in, .arena = p->in->ctx->arena};
    entry *found;
    uint32_t count;
    sc_imap_init(&m.owner, m.arena);
    sc_map_init(&m.keys, m.arena);
    SC_TRY(collect(&m, &p->in->blocks[p->block], &found, &count));
    for (uint32_t i = 0; i < count; i++) SC_TRY(merge_entry(&m, found[i]));
    for (uint32_t i = 0; i < m.entries.count; i++)
        if (!m.entries.data[i].is_gone) SC_TRY(pair_entry(p, &m.entries.data[i]));
    return SC_OK;
}

sc_status sc_inspect_gaps_of(const sc_inspection *in, const sc_inspect_method *method,
                             const sc_inspect_reference *references, uint32_t count,
                             sc_inspect_gaps *out) {
    pairing p = {.in = in, .out = out, .references = references, .method = method};
    sc_imap_init(&p.by_handle, in->ctx->arena);
    for (uint32_t i = 0; i < count; i++)
        sc_imap_set(&p.by_handle, (uint64_t)references[i].handle, i + 1);
    for (; p.block < in->block_count; p.block++)
        if (in->blocks[p.block].method == method) SC_TRY(pair_block(&p));
    return SC_OK;
}
