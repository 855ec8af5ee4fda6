// Packs bytes in blocks. A packed byte depends on its place only, so the pieces in which a source
// is read do not matter.
// In wasm: -O3
#include "base/nibbles.h"

enum {
    BLOCK_BYTES = 64 << 10,     // integers in a block
    SLOW_BLOCK_BYTES = 1 << 20  // the same if each read is a round trip
};

static size_t block_bytes(const sc_source *source) {
    return source->is_slow ? SLOW_BLOCK_BYTES : BLOCK_BYTES;
}

static sc_status take_block(sc_ctx *ctx, size_t bytes, int8_t **out) {
    *out = sc_arena_try_alloc(ctx->scratch, bytes + 1);
    if (*out) return SC_OK;
    return sc_fail(ctx, SC_ERR_MEMORY, NULL, "no memory to read %llu bytes of a weight",
                   (unsigned long long)bytes);
}

// --- Packing -------------------------------------------------------------------------------------

static void pack(uint8_t *to, const int8_t *integers, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        to[i] = (uint8_t)((integers[2 * i] + 8) << 4 | (integers[2 * i + 1] + 8));
}

static sc_status read_nibbles(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out,
                              size_t bytes) {
    const sc_extent *integers = source->user;
    const size_t step = (size_t)sc_min_u64(block_bytes(source) / 2, bytes);
    int8_t *block;
    SC_TRY(take_block(ctx, 2 * step, &block));
    sc_status status = SC_OK;
    for (size_t done = 0, part; done < bytes && status == SC_OK; done += part) {
        part = (size_t)sc_min_u64(step, bytes - done);
        status = sc_extent_read(ctx, *integers, 2 * (offset + done), block, 2 * part);
        if (status == SC_OK) pack((uint8_t *)out + done, block, part);
    }
    sc_arena_release(ctx->scratch, block);
    return status;
}

sc_extent sc_extent_nibbles(sc_arena *arena, sc_extent integers) {
    SC_ASSERT(integers.size % 2 == 0);
    if (integers.size == 0) return integers;
    sc_extent *base = sc_new(arena, sc_extent);
    sc_source *source = sc_new(arena, sc_source);
    *base = integers;
    *source = (sc_source){.read = read_nibbles, .user = base, .size = integers.size / 2};
    source->is_slow = integers.source->is_slow;
    return sc_extent_whole(source);
}

// --- Looking -------------------------------------------------------------------------------------

static bool is_within(const int8_t *integers, size_t count, int8_t low, int8_t high) {
    int8_t least = low, most = high;
    for (size_t i = 0; i < count; i++) {
        least = integers[i] < least ? integers[i] : least;
        most = integers[i] > most ? integers[i] : most;
    }
    return least == low && most == high;
}

sc_status sc_extent_is_within(sc_ctx *ctx, sc_extent integers, int8_t low, int8_t high, bool *out) {
    int8_t *block;
    sc_status status = SC_OK;
    *out = true;
    if (integers.size == 0) return SC_OK;
    const uint64_t step = sc_min_u64(block_bytes(integers.source), integers.size);
    SC_TRY(take_block(ctx, (size_t)step, &block));
    for (uint64_t done = 0; done < integers.size && *out && status == SC_OK; done += step) {
        const size_t part = (size_t)sc_min_u64(step, integers.size - done);
        status = sc_extent_read(ctx, integers, done, block, part);
        if (status == SC_OK) *out = is_within(block, part, low, high);
    }
    sc_arena_release(ctx->scratch, block);
    return status;
}
