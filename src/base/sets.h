// Which of some numbers belong together, as they come to be joined (a union-find): of each number,
// another one of its set, or itself. One of each set stands for all.
// Prefix: sc_sets_ makes and joins sets.
#ifndef SC_SETS_H
#define SC_SETS_H

#include "base/arena.h"

// Each of `count` numbers in a set of its own.
static inline uint32_t *sc_sets_new(sc_arena *arena, uint32_t count) {
    uint32_t *sets = sc_new_array(arena, uint32_t, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++) sets[i] = i;
    return sets;
}

// The one that stands for the set of `at`.
static inline uint32_t sc_sets_root(uint32_t *sets, uint32_t at) {
    while (sets[at] != at) at = sets[at] = sets[sets[at]];
    return at;
}

// Joins two sets; what stands for that of `into` stands for both.
static inline void sc_sets_join(uint32_t *sets, uint32_t from, uint32_t into) {
    const uint32_t root = sc_sets_root(sets, into);
    sets[sc_sets_root(sets, from)] = root;
}

#endif
