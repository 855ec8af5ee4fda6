// Joins numbers into sets (a union-find). Each number refers to another one of its set, or to
// itself. One number of each set represents it.
// Prefix: sc_sets_ makes and joins sets.
#ifndef SC_SETS_H
#define SC_SETS_H

#include "base/arena.h"

// Makes `count` sets of one number each.
static inline uint32_t *sc_sets_new(sc_arena *arena, uint32_t count) {
    uint32_t *sets = sc_new_array(arena, uint32_t, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++) sets[i] = i;
    return sets;
}

// The number that represents the set of `at`.
static inline uint32_t sc_sets_root(uint32_t *sets, uint32_t at) {
    while (sets[at] != at) at = sets[at] = sets[sets[at]];
    return at;
}

// Joins two sets. The number that represents the set of `into` represents both.
static inline void sc_sets_join(uint32_t *sets, uint32_t from, uint32_t into) {
    const uint32_t root = sc_sets_root(sets, into);
    sets[sc_sets_root(sets, from)] = root;
}

#endif
