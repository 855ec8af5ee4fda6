// Memory planning on flat arrays: items with sizes and lifetimes in, offsets out. Knows no graphs.
#ifndef SC_PLAN_H
#define SC_PLAN_H

#include "base/diag.h"

#define SC_PLAN_NO_BASE UINT32_MAX

typedef struct sc_plan_item {
    uint64_t bytes;
    uint32_t first, last;   // inclusive instruction positions
    uint32_t base;          // index of the item whose storage this one lives in, or SC_PLAN_NO_BASE
    uint64_t base_offset;   // bytes into the base
    uint64_t offset;        // out
} sc_plan_item;

// `align` is a power of two. Sets item offsets from `start` on and `total` (end of the highest item).
typedef sc_status (*sc_plan_fn)(sc_ctx *ctx, sc_plan_item *items, uint32_t count, uint32_t align,
                                uint64_t start, uint64_t *total);

sc_status sc_plan_naive(sc_ctx *ctx, sc_plan_item *items, uint32_t count, uint32_t align,
                        uint64_t start, uint64_t *total);
// The official planner's result, offset for offset, in O(n log n)-like time.
sc_status sc_plan_greedy(sc_ctx *ctx, sc_plan_item *items, uint32_t count, uint32_t align,
                         uint64_t start, uint64_t *total);
// Offset packing by decreasing size / lifetime / start: lowest gap that fits.
sc_status sc_plan_by_size(sc_ctx *ctx, sc_plan_item *items, uint32_t count, uint32_t align,
                          uint64_t start, uint64_t *total);
sc_status sc_plan_by_lifetime(sc_ctx *ctx, sc_plan_item *items, uint32_t count, uint32_t align,
                              uint64_t start, uint64_t *total);
sc_status sc_plan_by_start(sc_ctx *ctx, sc_plan_item *items, uint32_t count, uint32_t align,
                           uint64_t start, uint64_t *total);

// The smallest of all algorithms; stops at the live-bytes bound. Verified before it returns.
// `algorithm` (may be NULL) receives the winner's name.
sc_status sc_plan_best(sc_ctx *ctx, sc_plan_item *items, uint32_t count, uint32_t align,
                       uint64_t start, uint64_t *total, const char **algorithm);

// Most bytes alive at once: no plan can be smaller.
uint64_t sc_plan_live_bytes(const sc_plan_item *items, uint32_t count, uint32_t align);
// Items that overlap in time and in space, or leave [start, total), are an internal error.
sc_status sc_plan_verify(sc_ctx *ctx, const sc_plan_item *items, uint32_t count, uint32_t align,
                         uint64_t start, uint64_t total);

#endif
