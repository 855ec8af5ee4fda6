// Compares two dumps. A row has all events of both sides that share debug handles: three kernels of
// one side may be one delegate of the other. Events without handles are matched by name, and by
// their number among events of that name.
#include <math.h>
#include <stdlib.h>

#include "base/sets.h"
#include "devtools/inspect/report.h"

typedef struct aligning {
    sc_ctx *ctx;
    sc_inspect_comparison *out;
    uint32_t match;     // the current match
    uint32_t *sets;     // sets of events of both sides, the second after the first
    sc_imap by_handle;  // handle -> its event, plus 1
} aligning;

static const sc_inspect_block *block_of(const aligning *a, uint32_t side) {
    return &a->out->ins[side]->blocks[a->out->matches.data[a->match].blocks[side]];
}

// --- Which blocks --------------------------------------------------------------------------------

static bool has_work(const sc_inspect_block *block) {
    for (uint32_t i = 0; i < block->event_count; i++)
        if (block->events[i].has_time && block->events[i].chain >= 0) return true;
    return false;
}

// The blocks of one side with the most runs, over all and by method, each plus 1; 0: there is no
// block.
typedef struct longest {
    uint32_t any, unknown;
    sc_map by_method;
} longest;

static uint32_t longer(const sc_inspection *in, uint32_t a, uint32_t b) {
    if (!a || !b) return a ? a : b;
    const uint32_t x = in->blocks[a - 1].run_count, y = in->blocks[b - 1].run_count;
    return x == y ? (a < b ? a : b) : x > y ? a : b;
}

static uint32_t of_method(const longest *l, const sc_inspect_block *block) {
    return (uint32_t)(uintptr_t)sc_map_get(&l->by_method, block->method->name);
}

static longest find_longest(const sc_inspection *in, sc_arena *arena) {
    longest l = {0};
    sc_map_init(&l.by_method, arena);
    for (uint32_t i = 0; i < in->block_count; i++) {
        const sc_inspect_block *block = &in->blocks[i];
        if (!has_work(block)) continue;
        l.any = longer(in, l.any, i + 1);
        if (!block->method) {
            l.unknown = longer(in, l.unknown, i + 1);
            continue;
        }
        const uint32_t found = longer(in, of_method(&l, block), i + 1);
        sc_map_set(&l.by_method, block->method->name, (void *)(uintptr_t)found);
    }
    return l;
}

static bool is_wanted(const sc_inspection *in, const sc_inspect_block *block) {
    return has_work(block) && (!in->asked || block->method == in->asked);
}

typedef struct candidate {
    uint32_t blocks[2];
    uint64_t runs;  // product of both numbers; 0: absent
} candidate;

static void consider(const sc_inspect_comparison *c, candidate *best, uint32_t a, uint32_t b) {
    const uint64_t runs =
        b ? (uint64_t)c->ins[0]->blocks[a].run_count * c->ins[1]->blocks[b - 1].run_count : 0;
    if (runs > best->runs) *best = (candidate){{a, b - 1}, runs};
}

static void add_match(sc_ctx *ctx, sc_inspect_comparison *c, const candidate *found) {
    const sc_inspect_method *a = c->ins[0]->blocks[found->blocks[0]].method;
    const sc_inspect_match_of match = {.method = a ? a : c->ins[1]->blocks[found->blocks[1]].method,
                                       .blocks = {found->blocks[0], found->blocks[1]}};
    sc_vec_push(ctx->arena, &c->matches, match);
}

// Matches the two blocks with the most runs of each method that both know, in the order of the
// first dump.
static void match_methods(sc_ctx *ctx, sc_inspect_comparison *c, const longest *l) {
    sc_map places;
    SC_VEC(candidate) found = {0};
    sc_map_init(&places, ctx->scratch);
    for (uint32_t i = 0; i < c->ins[0]->block_count; i++) {
        const sc_inspect_block *a = &c->ins[0]->blocks[i];
        if (!a->method || !is_wanted(c->ins[0], a) || !of_method(l, a)) continue;
        uintptr_t at = (uintptr_t)sc_map_get(&places, a->method->name);
        if (!at) {
            sc_vec_push(ctx->scratch, &found, (candidate){0});
            at = found.count;
            sc_map_set(&places, a->method->name, (void *)at);
        }
        consider(c, &found.data[at - 1], i, of_method(l, a));
    }
    for (uint32_t i = 0; i < found.count; i++) add_match(ctx, c, &found.data[i]);
}

// Matches the two blocks with the most runs of any method, if both know no method in common.
static void match_unknown(sc_ctx *ctx, sc_inspect_comparison *c, const longest *l) {
    candidate best = {0};
    for (uint32_t i = 0; i < c->ins[0]->block_count; i++) {
        const sc_inspect_block *a = &c->ins[0]->blocks[i];
        if (is_wanted(c->ins[0], a)) consider(c, &best, i, a->method ? l->unknown : l->any);
    }
    if (best.runs) add_match(ctx, c, &best);
}

static void choose_blocks(sc_ctx *ctx, sc_inspect_comparison *c) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    const longest l = find_longest(c->ins[1], ctx->scratch);
    match_methods(ctx, c, &l);
    if (!c->matches.count) match_unknown(ctx, c, &l);
    sc_arena_rewind(ctx->scratch, mark);
}

// --- Rows ----------------------------------------------------------------------------------------

// The first event of a set represents it.
static void unite(const aligning *a, uint32_t x, uint32_t y) {
    const uint32_t p = sc_sets_root(a->sets, x), q = sc_sets_root(a->sets, y);
    sc_sets_join(a->sets, p > q ? p : q, p < q ? p : q);
}

// Work that is not reported a second time by a delegate's own events.
static bool is_counted(const sc_inspect_event *e) {
    return sc_inspect_is_work(e) && !e->is_delegated;
}

static void unite_handles(aligning *a, const sc_inspect_event *e, uint32_t at) {
    for (uint32_t h = 0; h < e->handles.count; h++) {
        uint64_t *owner = sc_imap_at(&a->by_handle, (uint64_t)e->handles.data[h]);
        if (*owner)
            unite(a, (uint32_t)*owner - 1, at);
        else
            *owner = at + 1;
    }
}

static void unite_names(aligning *a, uint32_t first, uint32_t side, sc_map *names) {
    sc_map times;
    sc_map_init(&times, a->ctx->scratch);
    const sc_inspect_block *block = block_of(a, side);
    for (uint32_t i = 0; i < block->event_count; i++) {
        const sc_inspect_event *e = &block->events[i];
        if (!is_counted(e) || e->handles.count) continue;
        const uintptr_t before = (uintptr_t)sc_map_get(&times, e->name);
        sc_map_set(&times, e->name, (void *)(before + 1));
        const sc_str key =
            sc_str_format(a->ctx->scratch, "%zu:" SC_STR_FMT, (size_t)before, SC_STR_ARG(e->name));
        if (!sc_map_add(names, key, (void *)(uintptr_t)(first + i + 1)))
            unite(a, (uint32_t)(uintptr_t)sc_map_get(names, key) - 1, first + i);
    }
}

typedef SC_VEC(uint32_t) index_list;

// Each event is in one row only, so times take no more memory than the events' own.
static void fill_side(aligning *a, sc_inspect_compared *row, uint32_t side,
                      const index_list *events) {
    const sc_inspect_block *block = block_of(a, side);
    row->sides[side].block = a->out->matches.data[a->match].blocks[side];
    if (events->count == 0) return;
    double *raw = sc_new_array(a->ctx->arena, double, (size_t)block->run_count + 1);
    for (uint32_t i = 0; i < events->count; i++)
        for (uint32_t r = 0; r < block->run_count; r++)
            raw[r] += block->events[events->data[i]].perf.raw[r];
    row->has[side] = true;
    row->sides[side] =
        (sc_inspect_side){.block = a->out->matches.data[a->match].blocks[side],
                          .events = events->data,
                          .event_count = events->count,
                          .perf = sc_perf_of(a->ctx->scratch, raw, block->run_count)};
}

static void finish_row(sc_inspect_compared *row) {
    if (row->has[0] && row->has[1])
        row->has_noise = sc_perf_noise(&row->sides[0].perf, &row->sides[1].perf, &row->noise);
}

// The handles of both sides, each once, and the first event's name.
static void describe_row(aligning *a, sc_inspect_compared *row) {
    SC_VEC(int64_t) handles = {0};
    sc_imap seen;
    sc_imap_init(&seen, a->ctx->arena);
    for (uint32_t side = 2; side-- > 0;) {
        const sc_inspect_side *s = &row->sides[side];
        for (uint32_t i = 0; i < s->event_count; i++) {
            const sc_inspect_event *e = &block_of(a, side)->events[s->events[i]];
            row->name = i == 0 ? sc_inspect_op_of(e) : row->name;
            for (uint32_t h = 0; h < e->handles.count; h++)
                if (sc_imap_add(&seen, (uint64_t)e->handles.data[h], 1))
                    sc_vec_push(a->ctx->arena, &handles, e->handles.data[h]);
        }
    }
    row->handles = (sc_inspect_handles){handles.data, handles.count};
}

static double distance(const sc_inspect_compared *row) {
    double by_side[2];
    for (uint32_t i = 0; i < 2; i++) by_side[i] = row->has[i] ? row->sides[i].perf.average : 0;
    return fabs(by_side[1] - by_side[0]);
}

static int widest_first(const void *a, const void *b) {
    const double x = distance(a), y = distance(b);
    if (x != y) return x > y ? -1 : 1;
    return sc_str_compare(((const sc_inspect_compared *)a)->name,
                          ((const sc_inspect_compared *)b)->name);
}

static void make_rows(aligning *a, uint32_t first, uint32_t total) {
    index_list *lists[2];
    for (uint32_t side = 0; side < 2; side++)
        lists[side] = sc_new_array(a->ctx->arena, index_list, (size_t)total + 1);
    for (uint32_t at = 0; at < total; at++) {
        const uint32_t side = at >= first, index = at - (side ? first : 0);
        if (is_counted(&block_of(a, side)->events[index]))
            sc_vec_push(a->ctx->arena, &lists[side][sc_sets_root(a->sets, at)], index);
    }
    for (uint32_t root = 0; root < total; root++) {
        if (!lists[0][root].count && !lists[1][root].count) continue;
        sc_inspect_compared row = {.ins = {a->out->ins[0], a->out->ins[1]}, .match = a->match};
        for (uint32_t side = 0; side < 2; side++) fill_side(a, &row, side, &lists[side][root]);
        describe_row(a, &row);
        finish_row(&row);
        sc_vec_push(a->ctx->arena, &a->out->rows, row);
    }
}

static void align(aligning *a) {
    const uint32_t first = block_of(a, 0)->event_count;
    const uint32_t total = first + block_of(a, 1)->event_count;
    sc_mark mark = sc_arena_mark(a->ctx->scratch);
    sc_map names;
    sc_map_init(&names, a->ctx->scratch);
    sc_imap_init(&a->by_handle, a->ctx->arena);
    a->sets = sc_sets_new(a->ctx->arena, total);
    for (uint32_t i = 0; i < total; i++) {
        const sc_inspect_event *e = &block_of(a, i >= first)->events[i - (i >= first ? first : 0)];
        if (is_counted(e)) unite_handles(a, e, i);
    }
    unite_names(a, 0, 0, &names);
    unite_names(a, first, 1, &names);
    sc_arena_rewind(a->ctx->scratch, mark);
    make_rows(a, first, total);
}

static void add_up(aligning *a) {
    sc_inspect_match_of *match = &a->out->matches.data[a->match];
    match->total = (sc_inspect_compared){.ins = {a->out->ins[0], a->out->ins[1]},
                                         .match = a->match,
                                         .name = SC_STR("total"),
                                         .has = {true, true}};
    for (uint32_t side = 0; side < 2; side++)
        match->total.sides[side] =
            (sc_inspect_side){.block = match->blocks[side], .perf = block_of(a, side)->total};
    finish_row(&match->total);
}

sc_status sc_inspect_compare(sc_ctx *ctx, const sc_inspection *a, const sc_inspection *b,
                             sc_inspect_comparison *out) {
    *out = (sc_inspect_comparison){.ins = {a, b}};
    if (a->target_scale != b->target_scale)
        return sc_fail(ctx, SC_ERR_OPTION, "Give both dumps the same target time scale.",
                       "times in %s and in %s cannot be compared",
                       sc_time_scale_name(a->target_scale), sc_time_scale_name(b->target_scale));
    choose_blocks(ctx, out);
    if (!out->matches.count)
        return sc_fail(ctx, SC_ERR_ARGUMENT, "Compare dumps of runs of one method.",
                       "the two dumps have no run of a method in common");
    aligning state = {.ctx = ctx, .out = out};
    for (; state.match < out->matches.count; state.match++) {
        align(&state);
        add_up(&state);
    }
    if (out->rows.count)
        qsort(out->rows.data, out->rows.count, sizeof *out->rows.data, widest_first);
    return SC_OK;
}
