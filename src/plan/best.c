// Tries every algorithm, keeps the smallest plan and checks it. The check always runs, in release
// builds too: it is cheap, and a planner's defects are silent wrong numbers.
#include <stdlib.h>

#include "plan/plan.h"

static const struct {
    const char *name;
    sc_plan_fn run;
    bool square;  // cost grows with the square of the item count
} ALGORITHMS[] = {
    {"greedy", sc_plan_greedy, false},
    {"by_size", sc_plan_by_size, true},
    {"by_start", sc_plan_by_start, false},
    {"by_lifetime", sc_plan_by_lifetime, true},
};

typedef struct moment {
    uint32_t at;
    bool ends;  // ends count after the starts of the same moment
    uint32_t index;
} moment;

static int by_time(const void *a, const void *b) {
    const moment *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    if (x->ends != y->ends) return x->ends ? 1 : -1;
    return x->index < y->index ? -1 : x->index > y->index;
}

// Starts and ends of all items that hold bytes, in order of time.
static moment *moments_sorted(sc_ctx *ctx, const sc_plan_item *items, uint32_t count,
                              uint32_t *moment_count) {
    moment *moments = sc_new_array(ctx->scratch, moment, 2 * (size_t)count + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (items[i].bytes == 0) continue;
        moments[n++] = (moment){items[i].first, false, i};
        moments[n++] = (moment){items[i].last, true, i};
    }
    qsort(moments, n, sizeof(moment), by_time);
    *moment_count = n;
    return moments;
}

uint64_t sc_plan_live_bytes(sc_ctx *ctx, const sc_plan_item *items, uint32_t count,
                            uint32_t align) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    uint32_t n = 0;
    moment *moments = moments_sorted(ctx, items, count, &n);
    uint64_t live = 0, most = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t size = sc_align_up(items[moments[i].index].bytes, align);
        live = moments[i].ends ? live - size : live + size;
        most = sc_max_u64(most, live);
    }
    sc_arena_rewind(ctx->scratch, mark);
    return most;
}

// --- Verification --------------------------------------------------------------------------------

// A border of an item in memory, for a sweep over addresses.
typedef struct border {
    uint64_t at;
    bool begins;  // what ends at an address makes room for what begins there
    uint32_t index;
} border;

static int by_address(const void *a, const void *b) {
    const border *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    if (x->begins != y->begins) return x->begins ? 1 : -1;
    return x->index < y->index ? -1 : x->index > y->index;
}

// Over a bitmap of moments: are all bits of [first, last] clear? Sets or clears them on the way.
static bool claim(uint64_t *taken, uint32_t first, uint32_t last, bool set) {
    bool was_clear = true;
    for (uint32_t w = first / 64; w <= last / 64; w++) {
        uint64_t mask = ~UINT64_C(0);
        if (w == first / 64) mask &= ~UINT64_C(0) << (first % 64);
        if (w == last / 64) mask &= ~UINT64_C(0) >> (63 - last % 64);
        was_clear &= (taken[w] & mask) == 0;
        taken[w] = set ? taken[w] | mask : taken[w] & ~mask;
    }
    return was_clear;
}

// Sweeps through memory with a bitmap of the moments at which the current address is taken.
sc_status sc_plan_verify(sc_ctx *ctx, const sc_plan_item *items, uint32_t count, uint32_t align,
                         uint64_t start, uint64_t total) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    border *borders = sc_new_array(ctx->scratch, border, 2 * (size_t)count + 1);
    uint32_t n = 0, last = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (items[i].bytes == 0) continue;
        borders[n++] = (border){items[i].offset, true, i};
        borders[n++] = (border){items[i].offset + items[i].bytes, false, i};
        if (items[i].last > last) last = items[i].last;
    }
    qsort(borders, n, sizeof(border), by_address);
    uint64_t *taken = sc_new_array(ctx->scratch, uint64_t, last / 64 + 1);
    sc_status status = SC_OK;
    for (uint32_t i = 0; i < n && status == SC_OK; i++) {
        const sc_plan_item *item = &items[borders[i].index];
        bool fits = claim(taken, item->first, item->last, borders[i].begins) || !borders[i].begins;
        if (!fits || item->offset < start || item->offset % align ||
            item->offset + item->bytes > total)
            status = sc_fail(ctx, SC_ERR_INTERNAL, NULL, "memory plan: item %u is misplaced",
                             borders[i].index);
    }
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}

sc_status sc_plan_best(sc_ctx *ctx, sc_plan_item *items, uint32_t count, uint32_t align,
                       uint64_t start, uint64_t *total, const char **algorithm) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_plan_item *trial = sc_new_array(ctx->scratch, sc_plan_item, count + 1);
    uint64_t bound = start + sc_plan_live_bytes(ctx, items, count, align), best = UINT64_MAX;
    sc_status status = SC_OK;
    for (size_t a = 0; a < SC_COUNT_OF(ALGORITHMS) && best > bound && status == SC_OK; a++) {
        if (ALGORITHMS[a].square && count > SC_PLAN_SQUARE_MAX) continue;
        memcpy(trial, items, count * sizeof(*items));
        uint64_t size = 0;
        status = ALGORITHMS[a].run(ctx, trial, count, align, start, &size);
        if (status != SC_OK || size >= best) continue;
        best = size;
        if (algorithm) *algorithm = ALGORITHMS[a].name;
        for (uint32_t i = 0; i < count; i++) items[i].offset = trial[i].offset;
    }
    if (status == SC_OK) status = sc_plan_verify(ctx, items, count, align, start, best);
    *total = best;
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}
