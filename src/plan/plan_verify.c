// Checks finished plans. The check always runs, in release builds too: it is cheap, and a planner's
// defects are silent wrong numbers.
#include "plan/order.h"
#include "plan/plan.h"

// The lifetimes of the items at one address, no two of which overlap. It is a set of first moments:
// a word for every 64 moments, a word for every 64 of those words, and so on. It also knows which
// item begins at each.
#define LEVELS 6
typedef struct lifetimes {
    uint64_t *words[LEVELS];
    uint32_t *item_at;
} lifetimes;

static lifetimes lifetimes_new(sc_arena *arena, uint32_t moment_count) {
    lifetimes l = {.item_at = sc_new_array(arena, uint32_t, moment_count)};
    for (uint32_t level = 0; level < LEVELS; level++) {
        moment_count = moment_count / 64 + 1;
        l.words[level] = sc_new_array(arena, uint64_t, moment_count);
    }
    return l;
}

static void add(lifetimes *l, uint32_t moment, uint32_t item) {
    l->item_at[moment] = item;
    for (uint32_t level = 0; level < LEVELS; level++, moment /= 64)
        l->words[level][moment / 64] |= UINT64_C(1) << moment % 64;
}

static void drop(lifetimes *l, uint32_t moment) {
    for (uint32_t level = 0; level < LEVELS; level++, moment /= 64)
        if (l->words[level][moment / 64] &= ~(UINT64_C(1) << moment % 64)) return;
}

// The last lifetime that begins at `moment` or before; its item, or -1.
static int64_t last_begun(const lifetimes *l, uint32_t moment) {
    for (uint32_t level = 0; level < LEVELS; level++) {
        uint32_t word = moment / 64;
        uint64_t bits = l->words[level][word] & ~UINT64_C(0) >> (63 - moment % 64);
        if (bits) {
            moment = word * 64 + 63 - (uint32_t)__builtin_clzll(bits);
            while (level-- > 0)
                moment = moment * 64 + 63 - (uint32_t)__builtin_clzll(l->words[level][moment]);
            return l->item_at[moment];
        }
        if (word == 0) return -1;
        moment = word - 1;
    }
    return -1;
}

// Goes through memory from the lowest address up. Lifetimes at one address never overlap, so
// whether another item may begin there depends on one neighbour in time.
static sc_plan_fault sweep(const sc_plan_item *items, uint32_t count, const uint32_t *begins,
                           const uint32_t *ends, lifetimes *alive) {
    for (uint32_t b = 0, e = 0; b < count; b++) {
        const sc_plan_item *item = &items[begins[b]];
        if (item->bytes == 0) continue;
        for (; items[ends[e]].offset + items[ends[e]].bytes <= item->offset; e++)
            if (items[ends[e]].bytes) drop(alive, items[ends[e]].first);
        int64_t other = last_begun(alive, item->last);
        if (other >= 0 && items[other].last >= item->first)
            return (sc_plan_fault){true, begins[b], (uint32_t)other};
        add(alive, item->first, begins[b]);
    }
    return (sc_plan_fault){0};
}

static bool is_inside(const sc_plan_item *item, uint32_t align, uint64_t start, uint64_t total) {
    uint64_t end;
    return item->offset >= start && item->offset % align == 0 && item->first <= item->last &&
           sc_add_u64(item->offset, item->bytes, &end) && end <= total;
}

sc_plan_fault sc_plan_find_fault(sc_ctx *ctx, const sc_plan_item *items, uint32_t count,
                                 uint32_t align, uint64_t start, uint64_t total) {
    uint32_t last = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (items[i].bytes == 0) continue;
        if (!is_inside(&items[i], align, start, total)) return (sc_plan_fault){true, i, i};
        if (items[i].last > last) last = items[i].last;
    }
    sc_mark mark = sc_arena_mark(ctx->scratch);
    uint64_t *keys = sc_new_array(ctx->scratch, uint64_t, (size_t)count + 1);
    uint32_t *begins = sc_order_new(ctx->scratch, count), *ends = sc_order_new(ctx->scratch, count);
    for (uint32_t i = 0; i < count; i++) keys[i] = items[i].offset;
    sc_order_by(ctx->scratch, begins, count, keys);
    for (uint32_t i = 0; i < count; i++) keys[i] += items[i].bytes;
    sc_order_by(ctx->scratch, ends, count, keys);
    lifetimes alive = lifetimes_new(ctx->scratch, last + 1);
    const sc_plan_fault fault = sweep(items, count, begins, ends, &alive);
    sc_arena_rewind(ctx->scratch, mark);
    return fault;
}

sc_status sc_plan_verify(sc_ctx *ctx, const sc_plan_item *items, uint32_t count, uint32_t align,
                         uint64_t start, uint64_t total) {
    const sc_plan_fault fault = sc_plan_find_fault(ctx, items, count, align, start, total);
    if (!fault.is_there) return SC_OK;
    return sc_fail(ctx, SC_ERR_INTERNAL, NULL, "memory plan: item %u is misplaced", fault.item);
}
