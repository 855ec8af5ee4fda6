// Lays events out as a flame chart: each event is inside those around it. Clocks may be coarse, so
// many events begin and end at the same tick. An event of an instruction is then inside its call,
// and never inside another instruction. Some backends report how long an event took without its
// start. Such events are counted, and not drawn.
#include <stdlib.h>

#include "devtools/inspect/report.h"

typedef struct laid {
    const sc_dump_event *from;
    uint32_t event;
} laid;

// Among events that start together the longest comes first.
static int by_start(const void *a, const void *b) {
    const sc_dump_event *x = ((const laid *)a)->from, *y = ((const laid *)b)->from;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    if (x->end != y->end) return x->end > y->end ? -1 : 1;
    return x > y ? -1 : x < y;  // an event that is logged later ends later, and is around the
                                // others
}

// Finds an event by the members that identify it within a block.
typedef struct lookup {
    sc_arena *arena;
    sc_map events;
} lookup;

static sc_str key_of(sc_arena *arena, int64_t chain, int32_t instruction, int32_t id, sc_str name) {
    sc_sb text;
    sc_sb_init(&text, arena);
    sc_sb_addf(&text, "%lld/%d/%d/", (long long)chain, instruction, id);
    sc_sb_add(&text, name);
    return sc_sb_str(&text);
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

// SC_INSPECT_NONE if the block has no such event.
static uint32_t event_of(const lookup *l, const sc_dump_event *e) {
    const sc_str name = sc_inspect_is_delegated(e) ? e->delegate_str : e->name;
    const sc_str key = key_of(l->arena, e->chain, e->instruction, e->delegate_int, name);
    const uintptr_t found = (uintptr_t)sc_map_get(&l->events, key);
    return found ? (uint32_t)found - 1 : SC_INSPECT_NONE;
}

static bool is_drawn(const sc_inspection *in, const sc_dump_event *e) {
    double elapsed;
    return sc_inspect_elapsed(in, e, &elapsed) && e->end >= e->start && sc_inspect_is_placed(e);
}

typedef struct line {
    const sc_inspection *in;
    sc_arena *arena;
    SC_VEC(sc_inspect_span) spans;
    uint64_t unplaced;
} line;

// The open events of one kind: scopes outside of instructions, or events in a delegate's call.
typedef struct nest {
    const laid **open;
    uint32_t depth;
} nest;

static uint64_t length_of(const laid *l) { return l->from->end - l->from->start; }

// Two events that begin and end together are next to each other, unless one is known to contain the
// other.
static bool is_around(const laid *outer, const laid *inner, const sc_inspect_block *block) {
    if (outer->from->end < inner->from->end) return false;
    if (block->events[inner->event].parent == outer->event) return true;
    // An event of no length at the edge of another one is next to it.
    const uint64_t at = inner->from->start;
    const bool is_adjacent =
        !length_of(inner) && (at == outer->from->start || at == outer->from->end);
    return length_of(outer) > length_of(inner) && !is_adjacent;
}

static uint32_t depth_in(nest *n, const laid *item, const sc_inspect_block *block) {
    while (n->depth && !is_around(n->open[n->depth - 1], item, block)) n->depth--;
    return n->depth;
}

static bool is_of_instruction(const sc_inspect_event *e) {
    return e->chain >= 0 || e->is_delegated;
}

static bool same_place(const laid *a, const laid *b) {
    return a->from->chain == b->from->chain && a->from->instruction == b->from->instruction;
}

// The number of scopes around it below those of its instruction.
static uint32_t level_of(nest *inside, const laid *item, const sc_inspect_block *block) {
    const sc_inspect_event *e = &block->events[item->event];
    if (!is_of_instruction(e)) return 0;
    const bool has_call = e->parent != SC_INSPECT_NONE && block->events[e->parent].chain >= 0 &&
                          block->events[e->parent].has_time;
    if (!e->is_delegated) return has_call;
    if (inside->depth && !same_place(inside->open[0], item)) inside->depth = 0;
    const uint32_t level = has_call + depth_in(inside, item, block);
    inside->open[inside->depth++] = item;
    return level;
}

// Counts the scopes around an event. An instruction is below all scopes that end no
// earlier.
static uint32_t scopes_around(nest *scopes, const laid *item, const sc_inspect_block *block) {
    if (!is_of_instruction(&block->events[item->event])) {
        const uint32_t depth = depth_in(scopes, item, block);
        scopes->open[scopes->depth++] = item;
        return depth;
    }
    uint32_t around = scopes->depth;
    while (around && scopes->open[around - 1]->from->end < item->from->end) around--;
    return around;
}

// Lists the events with a start in order, and gives their number.
static uint32_t list_placed(line *l, const sc_dump_run *run, const lookup *names, laid *items) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < run->event_count; i++) {
        if (run->events[i].kind != SC_DUMP_PROFILE) continue;
        const uint32_t event = event_of(names, &run->events[i]);
        if (event != SC_INSPECT_NONE && is_drawn(l->in, &run->events[i]))
            items[count++] = (laid){&run->events[i], event};
        else
            l->unplaced++;
    }
    qsort(items, count, sizeof *items, by_start);
    return count;
}

static void lay_run(line *l, uint32_t block_index, uint32_t run_index, const lookup *names) {
    const sc_dump_run *run = &l->in->dump->runs[run_index];
    const sc_inspect_block *block = &l->in->blocks[block_index];
    const size_t room = (size_t)run->event_count + 1;
    laid *items = sc_new_array(names->arena, laid, room);
    nest scopes = {.open = sc_new_array(names->arena, const laid *, room)};
    nest inside = {.open = sc_new_array(names->arena, const laid *, room)};
    const uint32_t count = list_placed(l, run, names, items);
    for (uint32_t i = 0; i < count; i++) {
        const sc_dump_event *e = items[i].from;
        double elapsed;
        (void)sc_inspect_elapsed(l->in, e, &elapsed);
        const uint32_t depth =
            scopes_around(&scopes, &items[i], block) + level_of(&inside, &items[i], block);
        sc_inspect_span span = {.run = run_index,
                                .block = block_index,
                                .event = items[i].event,
                                .start = (double)(e->start - l->in->origin) / l->in->factor,
                                .duration = elapsed,
                                .depth = depth};
        sc_vec_push(l->arena, &l->spans, span);
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
