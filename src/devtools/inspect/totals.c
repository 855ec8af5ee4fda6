// Sums times by operator and by module. Each moment of a run counts once. Kernels count by
// themselves. So do the events that delegates report; their calls count for the rest of the time.
#include <stdlib.h>

#include "devtools/inspect/report.h"

static double average_of(const sc_inspect_event *e) { return e->has_time ? e->perf.average : 0; }

// The time of an event without the delegate's events inside it.
static double own_time(const sc_inspect_block *block, const double *inside, uint32_t index) {
    const double left = average_of(&block->events[index]) - inside[index];
    return left > 0 ? left : 0;
}

// For each event the time that delegates reported inside it.
static double *times_inside(sc_arena *arena, const sc_inspect_block *block) {
    double *inside = sc_new_array(arena, double, (size_t)block->event_count + 1);
    for (uint32_t i = 0; i < block->event_count; i++) {
        const sc_inspect_event *e = &block->events[i];
        if (e->is_delegated && e->parent != SC_INSPECT_NONE) inside[e->parent] += average_of(e);
    }
    return inside;
}

// True for the work of an instruction. Scopes around it and events outside of instructions are not
// work.
bool sc_inspect_is_work(const sc_inspect_event *e) {
    return e->has_time && e->chain >= 0 && !e->is_wrapper;
}

static bool is_call(const sc_inspect_event *e) { return sc_str_is(e->name, "DELEGATE_CALL"); }

typedef struct tally {
    sc_arena *arena;
    sc_map known;
    SC_VEC(sc_inspect_total) rows;
    SC_VEC(const sc_inspect_event *) counted;  // for each row the last event that it counted
    uint32_t block;
} tally;

static sc_inspect_total *row_of(tally *t, sc_str name, sc_str class_name) {
    void *found = sc_map_get(&t->known, name);
    uint32_t at = found ? (uint32_t)(uintptr_t)found - 1 : t->rows.count;
    if (!found) {
        sc_map_set(&t->known, name, (void *)(uintptr_t)(at + 1));
        sc_inspect_total row = {.block = t->block, .name = name, .class_name = class_name};
        sc_vec_push(t->arena, &t->rows, row);
        sc_vec_push(t->arena, &t->counted, NULL);
    }
    if (!t->rows.data[at].class_name.size) t->rows.data[at].class_name = class_name;
    return &t->rows.data[at];
}

static int longest_first(const void *a, const void *b) {
    const sc_inspect_total *x = a, *y = b;
    if (x->block != y->block) return x->block < y->block ? -1 : 1;
    if (x->time < y->time) return 1;
    return x->time > y->time ? -1 : sc_str_compare(x->name, y->name);
}

static void add_op(tally *t, const sc_inspect_event *e, double time) {
    const bool is_backend = is_call(e) && e->backend.size;
    sc_inspect_total *row = row_of(t, is_backend ? e->backend : sc_inspect_op_of(e), (sc_str){0});
    row->events += e->calls;
    row->time += time;
    row->self += time;
    if (e->backend.size) row->delegated += time;
}

static void add_module(tally *t, const sc_inspect_event *e, const sc_inspect_module *m, double time,
                       bool is_innermost) {
    sc_inspect_total *row = row_of(t, m->path, m->class_name);
    const uint32_t at = (uint32_t)(row - t->rows.data);
    if (t->counted.data[at] != e) row->events += e->calls;
    t->counted.data[at] = e;
    row->time += time;
    if (is_innermost) row->self += time;
    if (e->backend.size) row->delegated += time;
}

// The times of the nodes of one event are unknown. So each node has an equal share, and all modules
// around the node count that share. A node outside of all modules counts for the root, so that
// totals add up.
static void add_modules(tally *t, const sc_inspect_event *e, double time) {
    static const sc_inspect_module ROOT = {{"", 0}, {"", 0}};
    const double share = e->node_count ? time / e->node_count : time;
    for (uint32_t i = 0; i < e->node_count; i++) {
        const sc_inspect_node *n = e->nodes[i];
        for (uint32_t d = 0; d < n->module_count; d++)
            add_module(t, e, &n->modules[d], share, d + 1 == n->module_count);
        if (!n->module_count) add_module(t, e, &ROOT, share, true);
    }
    if (!e->node_count) add_module(t, e, &ROOT, share, true);
}

static void add_block(const sc_inspection *in, tally *t, bool by_module) {
    const sc_inspect_block *block = &in->blocks[t->block];
    const uint32_t first = t->rows.count;
    double whole = 0;
    sc_map_init(&t->known, t->arena);
    const double *inside = times_inside(t->arena, block);
    for (uint32_t i = 0; i < block->event_count; i++) {
        const sc_inspect_event *e = &block->events[i];
        if (!sc_inspect_is_work(e)) continue;
        const double time = is_call(e) ? own_time(block, inside, i) : average_of(e);
        whole += time;
        if (!by_module)
            add_op(t, e, time);
        else if (block->method)
            add_modules(t, e, time);
    }
    for (uint32_t i = first; i < t->rows.count; i++)
        t->rows.data[i].share = whole > 0 ? t->rows.data[i].time / whole : 0;
}

uint32_t sc_inspect_totals(const sc_inspection *in, sc_arena *arena, bool by_module,
                           const sc_inspect_total **out) {
    tally t = {.arena = arena};
    for (; t.block < in->block_count; t.block++) add_block(in, &t, by_module);
    if (t.rows.count) qsort(t.rows.data, t.rows.count, sizeof *t.rows.data, longest_first);
    *out = t.rows.data;
    return t.rows.count;
}
