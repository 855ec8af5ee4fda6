// The lifetime of every tensor of a method, in one numbering over the whole method. Graph inputs
// are at moment 0, nodes follow in order, bodies of control flow lie between the moments of their
// node, and the end is `moment_count - 1`. The planner sees only these numbers.
// Prefix: sc_liveness_, which computes lifetimes.
#ifndef SC_LIVENESS_H
#define SC_LIVENESS_H

#include "plan/storage.h"

typedef struct sc_interval {
    uint32_t first, last;  // inclusive; first > last: never in use
} sc_interval;

typedef struct sc_liveness {
    sc_interval *intervals;  // by sc_value.mark; complete for values that are storage roots
    uint32_t moment_count;
} sc_liveness;

// `table` says which values share storage; uses of all of them count for their root. The result is
// on `arena`.
sc_status sc_liveness_compute(sc_ctx *ctx, sc_arena *arena, const sc_storage_table *table,
                              sc_liveness *out);

#endif
