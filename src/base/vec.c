// The growth of typed arrays.
#include "base/vec.h"

void *sc_vec_grow(sc_arena *arena, void *data, uint32_t *capacity, uint32_t wanted,
                  size_t item_bytes, uint32_t count) {
    SC_ASSERT(wanted <= (UINT32_C(1) << 31) && wanted > *capacity);
    uint64_t grown = sc_max_u64(sc_max_u64(wanted, 2 * (uint64_t)*capacity), 4);
    size_t old_bytes, new_bytes;
    if (__builtin_mul_overflow((size_t)grown, item_bytes, &new_bytes))
        sc_panic(__FILE__, __LINE__, "out of memory");
    old_bytes = (size_t)*capacity * item_bytes;
    SC_ASSERT(count <= *capacity && grown <= UINT32_MAX);
    *capacity = (uint32_t)grown;
    return sc_arena_grow(arena, data, old_bytes, new_bytes);
}
