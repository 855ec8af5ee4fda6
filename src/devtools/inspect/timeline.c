// Events on a line of time, as a flame chart has them: each within those that last around it.
// Backends that only measure give lengths without a place; these are counted, and not drawn.
#include <stdlib.h>

#include "devtools/inspect/report.h"

typedef struct laid {
    const sc_dump_event *from;
    uint32_t event;
} laid;

// Longer ones first among those that start together.
static int by_start(const void *a, const void *b) {
    const sc_dump_event *x = ((const laid *)a)->from, *y = ((const laid *)b)->from;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    if (x->end != y->end) return x->end > y->end ? -1 : 1;
    return x > y ? -1 : x < y;  // what ends later is logged later, and lies around the others
}

static bool is_delegates(const sc_dump_event *e) {
    return e->delegate_str.data || e->delegate_int != SC_DUMP_NO_ID;
}

// Looks events up by what tells them apart within a block.
typedef struct lookup {
    sc_arena *arena;
    sc_map events;
} lookup;

static sc_str key_of(sc_arena *arena, int64_t chain, int32_t instruction, int32_t id, sc_str name) {
    return sc_str_format(arena, "%lld/%d/%d/" SC_STR_FMT, (long long)chain, instruction, id,
                         SC_STR_ARG(name));
}

static lookup look_up(sc_arena *arena, const sc_inspect_block *block) {
    lookup l = {.arena = arena};
    sc_map_init(&l.events, arena);
    for (uint32_t i = 0; i < block->event_count; i++) {
        const sc_inspect_event *e = &block->events[i];
        const sc_str name = e->is_delegated ? e->delegate_str : e->name;
        sc_str key = key_of(arena, e->chain, e->instruction, e->delegate_int, name);
        sc_map_add(&l.events, key, (void *)(uintptr_t)(i + 1));
    }
    return l;
}

static uint32_t event_of(const lookup *l, const sc_dump_event *e) {
    const sc_str name = is_delegates(e) ? e->delegate_str : e->name;
    const sc_str key = key_of(l->arena, e->chain, e->instruction, e->delegate_int, name);
    return (uint32_t)(uintptr_t)sc_map_get(&l->events, key) - 1;
}

// Backends that only measure give a start of 0.
static bool is_placed(const sc_inspection *in, const sc_dump_run *run, uint32_t index) {
    const sc_dump_event *e = &run->events[index];
    double elapsed;
    if (!sc_inspect_elapsed(in, e, &elapsed) || e->end < e->start) return false;
    return e->start > 0 || !is_delegates(e);
}

typedef struct line {
    const sc_inspection *in;
    sc_arena *arena;
    SC_VEC(sc_inspect_span) spans;
    uint64_t unplaced;
} line;

// A coarse clock gives neighbours the same ticks. Whatever it says, an instruction is never within
// another one, and what a backend did in no time is beside what else it did.
static bool is_within(const sc_dump_event *e, const sc_dump_event *around) {
    if (around->end < e->end) return false;
    if (is_delegates(e) && is_delegates(around))
        return e->end > e->start && around->end - around->start > e->end - e->start;
    const bool are_both_placed = e->chain >= 0 && around->chain >= 0;
    return !are_both_placed || (e->chain == around->chain && e->instruction == around->instruction);
}

static void lay_run(line *l, uint32_t block, uint32_t run_index, const lookup *names) {
    const sc_dump_run *run = &l->in->dump->runs[run_index];
    laid *items = sc_new_array(names->arena, laid, (size_t)run->event_count + 1);
    const sc_dump_event **around =
        sc_new_array(names->arena, const sc_dump_event *, (size_t)run->event_count + 1);
    uint32_t count = 0, depth = 0;
    for (uint32_t i = 0; i < run->event_count; i++) {
        if (run->events[i].kind != SC_DUMP_PROFILE) continue;
        if (is_placed(l->in, run, i))
            items[count++] = (laid){&run->events[i], event_of(names, &run->events[i])};
        else
            l->unplaced++;
    }
    qsort(items, count, sizeof *items, by_start);
    for (uint32_t i = 0; i < count; i++) {
        const sc_dump_event *e = items[i].from;
        while (depth > 0 && !is_within(e, around[depth - 1])) depth--;
        sc_inspect_span span = {.run = run_index,
                                .block = block,
                                .event = items[i].event,
                                .start = (double)(e->start - l->in->origin) / l->in->factor,
                                .duration = (double)(e->end - e->start) / l->in->factor,
                                .depth = depth};
        sc_vec_push(l->arena, &l->spans, span);
        around[depth++] = e;
    }
}

static int by_run(const void *a, const void *b) {
    const sc_inspect_span *x = a, *y = b;
    if (x->run != y->run) return x->run < y->run ? -1 : 1;
    if (x->start < y->start) return -1;
    if (x->start > y->start) return 1;
    return (x->depth > y->depth) - (x->depth < y->depth);
}

sc_status sc_inspect_timeline_of(const sc_inspection *in, sc_arena *arena,
                                 sc_inspect_timeline *out) {
    line l = {.in = in, .arena = arena};
    for (uint32_t b = 0; b < in->block_count; b++) {
        const sc_inspect_block *block = &in->blocks[b];
        sc_mark mark = sc_arena_mark(in->ctx->scratch);
        const lookup names = look_up(in->ctx->scratch, block);
        for (uint32_t r = 0; r < block->run_count; r++) lay_run(&l, b, block->runs[r], &names);
        sc_arena_rewind(in->ctx->scratch, mark);
    }
    if (l.spans.count) qsort(l.spans.data, l.spans.count, sizeof *l.spans.data, by_run);
    *out = (sc_inspect_timeline){l.spans.data, l.spans.count, l.unplaced};
    return SC_OK;
}
