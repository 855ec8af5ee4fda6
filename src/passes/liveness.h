// When every tensor of a method is alive, for the memory planner.
//
// Positions count nodes in the order in which they are written to a program, bodies of control flow
// in place: a conditional's node, its first body, its second body, then what follows. So the bodies
// may share memory with each other, and never with what is alive around them.
#ifndef SC_PASSES_LIVENESS_H
#define SC_PASSES_LIVENESS_H

#include "passes/views.h"

typedef struct sc_life {
    uint64_t bytes;        // upper bound
    uint32_t first, last;  // inclusive; first > last: never alive (not a tensor, or a view)
} sc_life;

// Fills `lives`, indexed by sc_value.mark like `views`, whose bases live as long as what is inside
// them (a base with offset 0 may also say "the very same tensor"). Inputs live from the start,
// outputs to the end, written inputs and buffers all the time; what a body returns lives as long as
// the result of its node. `position_count` (may be NULL) receives the number of positions.
sc_status sc_liveness_find(sc_ctx *ctx, sc_method *method, uint32_t value_count,
                           const sc_view *views, sc_life *lives, uint32_t *position_count);

#endif
