// Stable, linear sorting by integer keys, the only sorting that planners need.
// Prefix: sc_order_, which sorts indices.
#ifndef SC_PLAN_ORDER_H
#define SC_PLAN_ORDER_H

#include "base/arena.h"

// Indices 0..count-1.
uint32_t *sc_order_new(sc_arena *arena, uint32_t count);
// Brings `order` into ascending order of keys[index]; equal ones stay as they are. For several keys
// call once for each, the most important last.
void sc_order_by(sc_arena *scratch, uint32_t *order, uint32_t count, const uint64_t *keys);

#endif
