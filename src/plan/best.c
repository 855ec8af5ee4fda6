// Tries every algorithm, keeps the smallest plan and checks it.
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

uint64_t sc_plan_live_bytes(sc_ctx *ctx, const sc_plan_item *items, uint32_t count,
                            uint32_t align) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    uint32_t last = 0;
    for (uint32_t i = 0; i < count; i++)
        if (items[i].last > last) last = items[i].last;
    // The growth of the sum from one moment to the next; differences wrap, sums do not.
    uint64_t *steps = sc_new_array(ctx->scratch, uint64_t, (size_t)last + 2);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t size = sc_align_up(items[i].bytes, align);
        steps[items[i].first] += size;
        steps[items[i].last + 1] -= size;
    }
    uint64_t live = 0, most = 0;
    for (uint32_t moment = 0; moment <= last; moment++) {
        live += steps[moment];
        most = sc_max_u64(most, live);
    }
    sc_arena_rewind(ctx->scratch, mark);
    return most;
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
