// A typed array that grows, on an arena: SC_VEC(int) v = {0}; sc_vec_push(arena, &v, 3);
// A push may move the array. Do not keep a pointer to an element across it.
// Prefix: sc_vec_ grows an array, or reads its last element.
#ifndef SC_VEC_H
#define SC_VEC_H

#include "base/arena.h"

#define SC_VEC(type)       \
    struct {               \
        type *data;        \
        uint32_t count;    \
        uint32_t capacity; \
    }

#define sc_vec_reserve(arena, vec, wanted)                                              \
    do {                                                                                \
        if ((vec)->capacity < (wanted))                                                 \
            (vec)->data = sc_vec_grow((arena), (vec)->data, &(vec)->capacity, (wanted), \
                                      sizeof(*(vec)->data), (vec)->count);              \
    } while (0)

#define sc_vec_push(arena, vec, ...)                      \
    do {                                                  \
        sc_vec_reserve((arena), (vec), (vec)->count + 1); \
        (vec)->data[(vec)->count++] = (__VA_ARGS__);      \
    } while (0)

#define sc_vec_last(vec) ((vec)->data[(vec)->count - 1])

// At least doubles the capacity, so pushing takes linear time in all. Panics past 2^31 elements.
void *sc_vec_grow(sc_arena *arena, void *data, uint32_t *capacity, uint32_t wanted,
                  size_t item_bytes, uint32_t count);

#endif
