// Allocates by moving a pointer through chunks of memory. One call frees everything, so objects on
// an arena have no owners. No other file calls malloc. This file also decides how a shortage of
// memory is met. A small allocation panics, and the host discards the engine. Large allocations,
// and those whose size the user decides, use sc_try_alloc and may give NULL.
// Prefixes: sc_arena_ is the allocator and its marks; sc_new and sc_new_array allocate by type.
// sc_pool_ allocates items of one size; in compute/pool_window.h it is pooling of images.
#ifndef SC_ARENA_H
#define SC_ARENA_H

#include "base/base.h"

typedef struct sc_arena_chunk sc_arena_chunk;

typedef struct sc_arena {
    sc_arena_chunk *chunk;  // the newest, linked to older ones
    sc_arena_chunk *large;  // blocks with a chunk of their own, newest first
    sc_arena_chunk *spare;  // one chunk that a rewind emptied, kept for the next allocation
    uint8_t *next;          // first free byte of `chunk`
    uint8_t *end;
    uint64_t large_serial;  // number of large blocks made so far
    uint64_t used_bytes;    // bytes handed out since init, alignment included
    uint64_t held_bytes;    // bytes taken from malloc and not given back
} sc_arena;

// A state of the arena to go back to. It is valid until the arena goes back to an older mark.
typedef struct sc_mark {
    sc_arena_chunk *chunk;
    uint8_t *next;
    uint64_t large_serial;
    uint64_t used_bytes;
} sc_mark;

void sc_arena_init(sc_arena *arena);
void sc_arena_deinit(sc_arena *arena);

// Allocates zeroed memory, 16-byte aligned. Never gives NULL.
void *sc_arena_alloc(sc_arena *arena, size_t bytes);

// Enlarges a block of `old_bytes`. It stays in place if it is the newest one, or if it has a chunk
// of its own that can grow. Otherwise it is copied. Added bytes are zero. The old address is
// invalid afterwards. NULL is an empty block.
void *sc_arena_grow(sc_arena *arena, void *block, size_t old_bytes, size_t new_bytes);

// Allocates a large block that can be freed before its arena. It is not zeroed. NULL if there is no
// memory.
void *sc_arena_try_alloc(sc_arena *arena, size_t bytes);
// Frees a block of sc_arena_try_alloc. NULL is allowed.
void sc_arena_release(sc_arena *arena, void *block);

// For scratch memory: a rewind frees everything that was allocated since the mark.
sc_mark sc_arena_mark(const sc_arena *arena);
void sc_arena_rewind(sc_arena *arena, sc_mark mark);

#define sc_new(arena, type) ((type *)sc_arena_alloc((arena), sizeof(type)))
#define sc_new_array(arena, type, count) \
    ((type *)sc_arena_alloc_array((arena), sizeof(type), (count)))
// Panics if the product overflows. Callers bound counts that come from input.
void *sc_arena_alloc_array(sc_arena *arena, size_t item_bytes, size_t count);

// A pool keeps items of one size next to each other, for code that walks over them. Its blocks
// double in size up to SC_POOL_BLOCK items. A zeroed struct is an empty pool. Use a pool with one
// item size and one arena only.
#define SC_POOL_BLOCK 256
typedef struct sc_pool {
    uint8_t *next;
    uint32_t left;   // free items in the newest block
    uint32_t block;  // items in the newest block
} sc_pool;
// Allocates zeroed memory, aligned as the type's size allows.
void *sc_pool_alloc(sc_arena *arena, sc_pool *pool, size_t item_bytes);
#define sc_pool_new(arena, pool, type) ((type *)sc_pool_alloc((arena), (pool), sizeof(type)))

// Allocates memory whose size the user decides, such as planned buffers or whole entries. It is
// 64-byte aligned and not zeroed. NULL if there is no memory. Each block is freed by sc_free.
void *sc_try_alloc(uint64_t bytes);
void sc_free(void *memory);
// The largest block. The size of an object must fit a ptrdiff_t.
#define SC_BLOCK_BYTES_MAX (sizeof(size_t) < 8 ? (uint64_t)PTRDIFF_MAX : UINT64_C(1) << 40)
// Gives the memory that was taken from the host, and the most that it can give. False if neither is
// known.
bool sc_memory_extent(uint64_t *taken, uint64_t *most);
// The bytes that are allocated now. Walks over all of them. Zero if that is not known.
uint64_t sc_memory_in_use(void);

#endif
