// Memory planning on flat arrays: items with sizes and lifetimes in, offsets out. Knows no graphs:
// values that share storage have become one item before they get here (liveness.h).
// Prefix: sc_plan_, the planners of memory.
#ifndef SC_PLAN_H
#define SC_PLAN_H

#include "base/diag.h"

typedef struct sc_plan_item {
    uint64_t bytes;
    uint32_t first, last;  // inclusive instruction positions
    uint64_t offset;       // result
} sc_plan_item;

// An algorithm: sets item offsets from `start` on, and `total`, the end of the highest item.
// `align` is a power of two. Scratch comes from ctx->scratch and is given back.
typedef sc_status (*sc_plan_fn)(sc_ctx *ctx, sc_plan_item *items, uint32_t count, uint32_t align,
                                uint64_t start, uint64_t *total);

// One after the other, no reuse.
sc_status sc_plan_naive(sc_ctx *ctx, sc_plan_item *items, uint32_t count, uint32_t align,
                        uint64_t start, uint64_t *total);
// The official planner's result, offset for offset.
sc_status sc_plan_greedy(sc_ctx *ctx, sc_plan_item *items, uint32_t count, uint32_t align,
                         uint64_t start, uint64_t *total);
// Lowest gap that fits, items in order of decreasing size / decreasing lifetime / start.
sc_status sc_plan_by_size(sc_ctx *ctx, sc_plan_item *items, uint32_t count, uint32_t align,
                          uint64_t start, uint64_t *total);
sc_status sc_plan_by_lifetime(sc_ctx *ctx, sc_plan_item *items, uint32_t count, uint32_t align,
                              uint64_t start, uint64_t *total);
sc_status sc_plan_by_start(sc_ctx *ctx, sc_plan_item *items, uint32_t count, uint32_t align,
                           uint64_t start, uint64_t *total);

// The smallest of all algorithms, verified; stops early at the live-bytes bound. Orderings whose
// cost grows with the square of the item count are left out above SC_PLAN_SQUARE_MAX items.
// `algorithm` (may be NULL) receives the winner's name, a static string.
#define SC_PLAN_SQUARE_MAX 4096
sc_status sc_plan_best(sc_ctx *ctx, sc_plan_item *items, uint32_t count, uint32_t align,
                       uint64_t start, uint64_t *total, const char **algorithm);

// The most bytes alive at once: no plan can be smaller.
uint64_t sc_plan_live_bytes(sc_ctx *ctx, const sc_plan_item *items, uint32_t count, uint32_t align);
// A fault of a plan: two items that overlap in time and in space, or one that is not aligned or
// leaves [start, total); then `other` is `item`.
typedef struct sc_plan_fault {
    bool is_there;
    uint32_t item, other;
} sc_plan_fault;
sc_plan_fault sc_plan_find_fault(sc_ctx *ctx, const sc_plan_item *items, uint32_t count,
                                 uint32_t align, uint64_t start, uint64_t total);
// A fault is an internal error.
sc_status sc_plan_verify(sc_ctx *ctx, const sc_plan_item *items, uint32_t count, uint32_t align,
                         uint64_t start, uint64_t total);

#endif
