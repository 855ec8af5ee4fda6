// First fit through time: places items in order of their start, each in the lowest gap between the
// items alive by then. Items that have ended leave before the next one comes.
//
// Only the gaps are kept, by address: they are few, however many items are alive.
#include "base/vec.h"
#include "plan/order.h"
#include "plan/plan.h"

typedef struct gap {
    uint64_t begin, end;
} gap;

typedef struct sweep {
    sc_arena *arena;
    sc_plan_item *items;
    uint64_t align;
    SC_VEC(gap) gaps;  // never adjacent, the last one without end
} sweep;

static uint64_t size_of(const sweep *s, uint32_t index) {
    return sc_align_up(s->items[index].bytes, s->align);
}

// The number of gaps that begin at `address` or below.
static uint32_t gaps_below(const sweep *s, uint64_t address) {
    uint32_t low = 0, high = s->gaps.count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (s->gaps.data[middle].begin <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void close_gap(sweep *s, uint32_t at) {
    gap *first = &s->gaps.data[at];
    memmove(first, first + 1, (--s->gaps.count - at) * sizeof(*first));
}

static void leave(sweep *s, uint32_t index) {
    uint64_t begin = s->items[index].offset, end = begin + size_of(s, index);
    uint32_t above = gaps_below(s, begin);  // a gap always exists
    bool joins_below = above > 0 && s->gaps.data[above - 1].end == begin;
    bool joins_above = s->gaps.data[above].begin == end;
    if (joins_below) {
        s->gaps.data[above - 1].end = joins_above ? s->gaps.data[above].end : end;
        if (joins_above) close_gap(s, above);
    } else if (joins_above) {
        s->gaps.data[above].begin = begin;
    } else {
        sc_vec_push(s->arena, &s->gaps, (gap){0, 0});
        gap *at = &s->gaps.data[above];
        memmove(at + 1, at, (s->gaps.count - 1 - above) * sizeof(*at));
        *at = (gap){begin, end};
    }
}

static uint64_t enter(sweep *s, uint32_t index) {
    uint64_t size = size_of(s, index);
    uint32_t at = 0;
    while (s->gaps.data[at].end - s->gaps.data[at].begin < size) at++;
    gap *found = &s->gaps.data[at];
    s->items[index].offset = found->begin;
    found->begin += size;
    if (found->begin == found->end) close_gap(s, at);
    return s->items[index].offset + size;
}

sc_status sc_plan_by_start(sc_ctx *ctx, sc_plan_item *items, uint32_t count, uint32_t align,
                           uint64_t start, uint64_t *total) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sweep s = {.arena = ctx->scratch, .items = items, .align = align};
    sc_vec_push(ctx->scratch, &s.gaps, (gap){start, UINT64_MAX});
    uint64_t *keys = sc_new_array(ctx->scratch, uint64_t, (size_t)count + 1);
    uint32_t *by_last = sc_order_new(ctx->scratch, count);
    uint32_t *by_first = sc_order_new(ctx->scratch, count);
    for (uint32_t i = 0; i < count; i++) keys[i] = items[i].last;
    sc_order_by(ctx->scratch, by_last, count, keys);
    for (uint32_t i = 0; i < count; i++) keys[i] = ~keys[i];  // of equal starts the longest first
    sc_order_by(ctx->scratch, by_first, count, keys);
    for (uint32_t i = 0; i < count; i++) keys[i] = items[i].first;
    sc_order_by(ctx->scratch, by_first, count, keys);

    *total = start;
    for (uint32_t i = 0, ended = 0; i < count; i++) {
        sc_plan_item *item = &items[by_first[i]];
        for (; items[by_last[ended]].last < item->first; ended++)
            if (items[by_last[ended]].bytes) leave(&s, by_last[ended]);
        item->offset = start;
        if (item->bytes) *total = sc_max_u64(*total, enter(&s, by_first[i]));
    }
    sc_arena_rewind(ctx->scratch, mark);
    return SC_OK;
}
