// Bump allocation in chunks. Freeing is one call for everything, so nothing inside tracks
// ownership. The only file besides the public handles that calls malloc, and the only place that
// decides what running out of memory means: small allocations panic (the host discards the engine),
// large or user-sized ones go through sc_try_alloc and return NULL.
// Prefixes: sc_arena_ is the allocator and its marks; sc_new and sc_new_array allocate by type.
// sc_pool_ allocates items of one size. Elsewhere sc_pool_ is pooling of images
// (compute/pool_window.h).
#ifndef SC_ARENA_H
#define SC_ARENA_H

#include "base/base.h"

typedef struct sc_arena_chunk sc_arena_chunk;

typedef struct sc_arena {
    sc_arena_chunk *chunk;  // newest, linked to older ones
    sc_arena_chunk *large;  // blocks with a chunk of their own, newest first
    sc_arena_chunk *spare;  // one rewound chunk, kept against thrashing
    uint8_t *next;          // first free byte of `chunk`
    uint8_t *end;
    uint64_t large_serial;  // large blocks made so far
    uint64_t used_bytes;    // handed out since init, alignment included
    uint64_t held_bytes;    // taken from malloc and not given back
} sc_arena;

// A point to go back to. Valid until an older mark is rewound to.
typedef struct sc_mark {
    sc_arena_chunk *chunk;
    uint8_t *next;
    uint64_t large_serial;
    uint64_t used_bytes;
} sc_mark;

void sc_arena_init(sc_arena *arena);
void sc_arena_deinit(sc_arena *arena);

// Zeroed, 16-byte aligned, never NULL.
void *sc_arena_alloc(sc_arena *arena, size_t bytes);

// Makes a block of `old_bytes` larger: in place when it is the newest one or has a chunk of its own
// that can grow, else by copying. Added bytes are zero; the old address is dead. NULL is an empty
// block.
void *sc_arena_grow(sc_arena *arena, void *block, size_t old_bytes, size_t new_bytes);

// A large block that can go before its arena does: not zeroed, NULL when there is no memory.
void *sc_arena_try_alloc(sc_arena *arena, size_t bytes);
// Gives back a block of sc_arena_try_alloc; NULL is fine.
void sc_arena_release(sc_arena *arena, void *block);

// Scratch discipline: everything allocated since the mark is gone after the rewind.
sc_mark sc_arena_mark(const sc_arena *arena);
void sc_arena_rewind(sc_arena *arena, sc_mark mark);

#define sc_new(arena, type) ((type *)sc_arena_alloc((arena), sizeof(type)))
#define sc_new_array(arena, type, count) \
    ((type *)sc_arena_alloc_array((arena), sizeof(type), (count)))
// Panics if the product overflows: counts that come from input are bounded before they get here.
void *sc_arena_alloc_array(sc_arena *arena, size_t item_bytes, size_t count);

// Items of one size that are walked together live together: blocks of them double up to
// SC_POOL_BLOCK. A zeroed struct is an empty pool; use it with one size and one arena only.
#define SC_POOL_BLOCK 256
typedef struct sc_pool {
    uint8_t *next;
    uint32_t left;   // in the newest block
    uint32_t block;  // its size, in items
} sc_pool;
// Zeroed, aligned as the type's size allows.
void *sc_pool_alloc(sc_arena *arena, sc_pool *pool, size_t item_bytes);
#define sc_pool_new(arena, pool, type) ((type *)sc_pool_alloc((arena), (pool), sizeof(type)))

// User-sized memory (planned buffers, whole entries): 64-byte aligned, not zeroed, NULL when there
// is none. Freed one by one with sc_free.
void *sc_try_alloc(uint64_t bytes);
void sc_free(void *memory);
// More than this there never is: sizes of objects have to fit a ptrdiff_t.
#define SC_BLOCK_BYTES_MAX (sizeof(size_t) < 8 ? (uint64_t)PTRDIFF_MAX : UINT64_C(1) << 40)
// How much memory there is for everything, and how much of it was taken from the host. False where
// nobody can tell.
bool sc_memory_extent(uint64_t *taken, uint64_t *most);

#endif
