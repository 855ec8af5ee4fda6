// Compares the contents of extents, and computes their digests. Contents are read in pieces.
#include "base/hash.h"
#include "base/source.h"

enum { BLOCK_BYTES = 64 << 10, SLOW_BLOCK_BYTES = 4 << 20 };

// Allocates as many blocks as requested. They are large if each read is a round trip and there is
// memory.
static uint8_t *take_blocks(sc_ctx *ctx, sc_extent extent, uint32_t count, size_t *block) {
    const bool is_slow = extent.source && extent.source->is_slow;
    const size_t small = (size_t)sc_min_u64(BLOCK_BYTES, extent.size);
    *block = is_slow ? (size_t)sc_min_u64(SLOW_BLOCK_BYTES, extent.size) : small;
    uint8_t *blocks = *block > small ? sc_arena_try_alloc(ctx->scratch, count * *block) : NULL;
    if (blocks) return blocks;
    *block = small;
    return sc_arena_alloc(ctx->scratch, count * small);
}

sc_status sc_extent_equal(sc_ctx *ctx, sc_extent a, sc_extent b, bool *out) {
    *out = a.size == b.size;
    sc_extents_unpermute(&a, &b);
    if (!*out || sc_extent_is(a, b)) return SC_OK;
    sc_mark mark = sc_arena_mark(ctx->scratch);
    size_t block;
    uint8_t *blocks = take_blocks(ctx, a, 2, &block);
    sc_status status = SC_OK;
    for (uint64_t at = 0; at < a.size && *out && status == SC_OK; at += block) {
        size_t part = (size_t)sc_min_u64(block, a.size - at);
        status = sc_extent_read(ctx, a, at, blocks, part);
        if (status == SC_OK) status = sc_extent_read(ctx, b, at, blocks + block, part);
        *out = status == SC_OK && memcmp(blocks, blocks + block, part) == 0;
    }
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}

sc_status sc_extent_sha256(sc_ctx *ctx, sc_extent extent, uint8_t digest[32]) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    size_t block;
    uint8_t *buffer = take_blocks(ctx, extent, 1, &block);
    sc_sha256 sha;
    sc_sha256_init(&sha);
    sc_status status = SC_OK;
    for (uint64_t at = 0; at < extent.size && status == SC_OK; at += block) {
        size_t part = (size_t)sc_min_u64(block, extent.size - at);
        status = sc_extent_read(ctx, extent, at, buffer, part);
        sc_sha256_update(&sha, buffer, part);
    }
    sc_sha256_final(&sha, digest);
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}
