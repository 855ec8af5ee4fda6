// Chunks start small and double up to a megabyte, so a small job stays small. A request that would
// waste most of a chunk gets a chunk of its own. Every allocation is cleared, because memory before
// a rewind is dirty. Under AddressSanitizer the free bytes of an arena are poisoned.
// In wasm: -Os
#include "base/arena.h"

#include <stdlib.h>
#if defined(__wasm32__)
#include <malloc.h>
#endif

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SC_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define SC_ASAN 1
#endif
#if defined(SC_ASAN)
#include <sanitizer/asan_interface.h>
#define POISON(memory, bytes)   ASAN_POISON_MEMORY_REGION((memory), (bytes))
#define UNPOISON(memory, bytes) ASAN_UNPOISON_MEMORY_REGION((memory), (bytes))
#else
#define POISON(memory, bytes)   ((void)(memory), (void)(bytes))
#define UNPOISON(memory, bytes) ((void)(memory), (void)(bytes))
#endif

enum {
    ALIGN = 16,
    CHUNK_BYTES_MIN = 16 << 10,
    CHUNK_BYTES_MAX = 1 << 20,
    USER_ALIGN = 64,
    // The number of large blocks, newest first, that sc_arena_grow searches for its block.
    LARGE_SEARCH_MAX = 32
};

// The largest request. Headers and rounding can be added to it without overflow.
#define REQUEST_MAX (SIZE_MAX / 2)

struct sc_arena_chunk {
    sc_arena_chunk *older;
    size_t bytes;     // bytes of the payload after this header
    uint64_t serial;  // large blocks only
};

// The payload starts at the first multiple of 16 after the header, and there is room for that.
// malloc aligns only to 8 on wasm.
#define HEADER_BYTES (sizeof(sc_arena_chunk) + ALIGN)

static uint8_t *payload(sc_arena_chunk *chunk) {
    uintptr_t behind = (uintptr_t)chunk + sizeof(sc_arena_chunk);
    return (uint8_t *)chunk + (sc_align_up(behind, ALIGN) - (uintptr_t)chunk);
}

static void out_of_memory(void) { sc_panic(__FILE__, __LINE__, "out of memory"); }

static sc_arena_chunk *chunk_try(sc_arena *arena, size_t bytes) {
    sc_arena_chunk *chunk = malloc(HEADER_BYTES + bytes);
    if (!chunk) return NULL;
    *chunk = (sc_arena_chunk){.bytes = bytes};
    arena->held_bytes += HEADER_BYTES + bytes;
    POISON(payload(chunk), bytes);
    return chunk;
}

static sc_arena_chunk *chunk_new(sc_arena *arena, size_t bytes) {
    sc_arena_chunk *chunk = chunk_try(arena, bytes);
    if (!chunk) out_of_memory();
    return chunk;
}

static void chunk_free(sc_arena *arena, sc_arena_chunk *chunk) {
    arena->held_bytes -= HEADER_BYTES + chunk->bytes;
    UNPOISON(payload(chunk), chunk->bytes);
    free(chunk);
}

void sc_arena_init(sc_arena *arena) { *arena = (sc_arena){0}; }

static void free_list(sc_arena *arena, sc_arena_chunk *chunk) {
    while (chunk) {
        sc_arena_chunk *older = chunk->older;
        chunk_free(arena, chunk);
        chunk = older;
    }
}

void sc_arena_deinit(sc_arena *arena) {
    free_list(arena, arena->chunk);
    free_list(arena, arena->large);
    free_list(arena, arena->spare);
    SC_ASSERT(arena->held_bytes == 0);
    sc_arena_init(arena);
}

static size_t next_chunk_bytes(const sc_arena *arena) {
    size_t bytes = arena->chunk ? arena->chunk->bytes * 2 : CHUNK_BYTES_MIN;
    return bytes < CHUNK_BYTES_MAX ? bytes : CHUNK_BYTES_MAX;
}

static void *keep_large(sc_arena *arena, sc_arena_chunk *chunk) {
    chunk->serial = ++arena->large_serial;
    chunk->older = arena->large;
    arena->large = chunk;
    UNPOISON(payload(chunk), chunk->bytes);
    return payload(chunk);
}

static void add_chunk(sc_arena *arena, size_t bytes) {
    sc_arena_chunk *chunk = arena->spare;
    if (chunk && chunk->bytes >= bytes)
        arena->spare = NULL;
    else
        chunk = chunk_new(arena, bytes);
    chunk->older = arena->chunk;
    arena->chunk = chunk;
    arena->next = payload(chunk);
    arena->end = arena->next + chunk->bytes;
}

static size_t round_up(size_t bytes) {
    return bytes == 0 ? ALIGN : (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

static void *alloc_dirty(sc_arena *arena, size_t bytes) {
    if (bytes > REQUEST_MAX) out_of_memory();
    size_t rounded = round_up(bytes);
    arena->used_bytes += rounded;
    if (rounded > (size_t)(arena->end - arena->next)) {
        size_t chunk_bytes = next_chunk_bytes(arena);
        if (rounded > chunk_bytes / 4) return keep_large(arena, chunk_new(arena, rounded));
        add_chunk(arena, chunk_bytes);
    }
    uint8_t *memory = arena->next;
    arena->next += rounded;
    UNPOISON(memory, bytes);
    return memory;
}

void *sc_arena_alloc(sc_arena *arena, size_t bytes) {
    void *memory = alloc_dirty(arena, bytes);
    memset(memory, 0, bytes);
    return memory;
}

void *sc_arena_alloc_array(sc_arena *arena, size_t item_bytes, size_t count) {
    size_t bytes;
    if (__builtin_mul_overflow(item_bytes, count, &bytes)) out_of_memory();
    return sc_arena_alloc(arena, bytes);
}

// The link to the large block at `block`, or NULL. Only the newest blocks are searched. A miss
// costs a copy.
static sc_arena_chunk **find_large(sc_arena *arena, const void *block) {
    sc_arena_chunk **link = &arena->large;
    for (int i = 0; *link && i < LARGE_SEARCH_MAX; i++) {
        if (payload(*link) == (const uint8_t *)block) return link;
        link = &(*link)->older;
    }
    return NULL;
}

static void *grow_large(sc_arena *arena, sc_arena_chunk **link, size_t old_bytes,
                        size_t new_bytes) {
    size_t rounded = round_up(new_bytes);
    size_t old_rounded = (*link)->bytes;
    size_t offset = (size_t)(payload(*link) - (uint8_t *)*link);
    sc_arena_chunk *chunk = realloc(*link, HEADER_BYTES + rounded);
    if (!chunk) out_of_memory();
    *link = chunk;
    // The new address may be off by 8.
    if (payload(chunk) != (uint8_t *)chunk + offset)
        memmove(payload(chunk), (uint8_t *)chunk + offset, old_bytes);
    chunk->bytes = rounded;
    arena->held_bytes += rounded - old_rounded;
    arena->used_bytes += rounded - old_rounded;
    memset(payload(chunk) + old_bytes, 0, rounded - old_bytes);
    return payload(chunk);
}

void *sc_arena_grow(sc_arena *arena, void *block, size_t old_bytes, size_t new_bytes) {
    if (!block || old_bytes == 0) return sc_arena_alloc(arena, new_bytes);
    if (new_bytes > REQUEST_MAX) out_of_memory();
    SC_ASSERT(new_bytes >= old_bytes);
    size_t old_rounded = round_up(old_bytes), rounded = round_up(new_bytes);
    bool newest = (uint8_t *)block + old_rounded == arena->next;
    if (newest && rounded - old_rounded <= (size_t)(arena->end - arena->next)) {
        arena->next += rounded - old_rounded;
        arena->used_bytes += rounded - old_rounded;
        UNPOISON(block, new_bytes);
        memset((uint8_t *)block + old_bytes, 0, new_bytes - old_bytes);
        return block;
    }
    sc_arena_chunk **link = newest ? NULL : find_large(arena, block);
    if (link && rounded >= (*link)->bytes) return grow_large(arena, link, old_bytes, new_bytes);
    uint8_t *memory = alloc_dirty(arena, new_bytes);
    memcpy(memory, block, old_bytes);
    memset(memory + old_bytes, 0, new_bytes - old_bytes);
    return memory;
}

void *sc_arena_try_alloc(sc_arena *arena, size_t bytes) {
    if (bytes > REQUEST_MAX) return NULL;
    sc_arena_chunk *chunk = chunk_try(arena, round_up(bytes));
    if (!chunk) return NULL;
    arena->used_bytes += chunk->bytes;
    return keep_large(arena, chunk);
}

void sc_arena_release(sc_arena *arena, void *block) {
    sc_arena_chunk **link = &arena->large;
    if (!block) return;
    while (*link && payload(*link) != (const uint8_t *)block) link = &(*link)->older;
    SC_ASSERT(*link);
    sc_arena_chunk *chunk = *link;
    *link = chunk->older;
    arena->used_bytes -= chunk->bytes;
    chunk_free(arena, chunk);
}

sc_mark sc_arena_mark(const sc_arena *arena) {
    return (sc_mark){arena->chunk, arena->next, arena->large_serial, arena->used_bytes};
}

// Keeps the larger one of `chunk` and the spare chunk.
static void retire(sc_arena *arena, sc_arena_chunk *chunk) {
    POISON(payload(chunk), chunk->bytes);
    sc_arena_chunk *spare = arena->spare;
    if (spare && spare->bytes >= chunk->bytes) {
        chunk_free(arena, chunk);
        return;
    }
    if (spare) chunk_free(arena, spare);
    chunk->older = NULL;
    arena->spare = chunk;
}

void sc_arena_rewind(sc_arena *arena, sc_mark mark) {
    while (arena->chunk != mark.chunk) {
        SC_ASSERT(arena->chunk);
        sc_arena_chunk *older = arena->chunk->older;
        retire(arena, arena->chunk);
        arena->chunk = older;
    }
    while (arena->large && arena->large->serial > mark.large_serial) {
        sc_arena_chunk *older = arena->large->older;
        chunk_free(arena, arena->large);
        arena->large = older;
    }
    arena->next = mark.next;
    arena->end = mark.chunk ? payload(mark.chunk) + mark.chunk->bytes : NULL;
    arena->used_bytes = mark.used_bytes;
    if (arena->next) POISON(arena->next, (size_t)(arena->end - arena->next));
}

void *sc_pool_alloc(sc_arena *arena, sc_pool *pool, size_t item_bytes) {
    if (pool->left == 0) {
        if (pool->block < SC_POOL_BLOCK) pool->block = pool->block ? pool->block * 2 : 4;
        pool->next = sc_arena_alloc_array(arena, item_bytes, pool->block);
        pool->left = pool->block;
    }
    void *item = pool->next;
    pool->next += item_bytes;
    pool->left--;
    return item;
}

void *sc_try_alloc(uint64_t bytes) {
    // Requests above a terabyte cannot succeed, and sanitizers abort on them instead of giving
    // NULL.
    if (bytes > SC_BLOCK_BYTES_MAX) return NULL;
    size_t rounded = ((size_t)bytes + USER_ALIGN - 1) & ~(size_t)(USER_ALIGN - 1);
    return aligned_alloc(USER_ALIGN, rounded ? rounded : USER_ALIGN);
}

void sc_free(void *memory) { free(memory); }

uint64_t sc_memory_in_use(void) {
#if defined(__wasm32__)
    return (uint64_t)(size_t)mallinfo().uordblks;
#else
    return 0;
#endif
}

bool sc_memory_extent(uint64_t *taken, uint64_t *most) {
#if defined(__wasm32__)
    *taken = (uint64_t)__builtin_wasm_memory_size(0) * (64 << 10);
    *most = UINT64_C(1) << 32;  // the most that a module can address, and the most that it is
                                // linked to use
    return true;
#else
    (void)taken, (void)most;
    return false;
#endif
}
