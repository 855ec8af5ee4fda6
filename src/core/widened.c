#include "core/widened.h"

enum { HALVES = 512, HALF = sizeof(uint16_t), WHOLE = sizeof(float) };  // of a block

typedef struct widened {
    sc_extent base;
    sc_dtype dtype;
} widened;

// The elements [first, first + count), at most a block.
static sc_status read_block(const widened *w, sc_ctx *ctx, uint64_t first, size_t count,
                            float *out) {
    uint16_t halves[HALVES];
    SC_TRY(sc_extent_read(ctx, w->base, first * HALF, halves, count * HALF));
    for (size_t i = 0; i < count; i++)
        out[i] = w->dtype == SC_DTYPE_F16 ? sc_f16_to_f32(halves[i]) : sc_bf16_to_f32(halves[i]);
    return SC_OK;
}

// Reads may begin and end inside an element.
static sc_status read_widened(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out,
                              size_t bytes) {
    const widened *w = source->user;
    uint8_t *to = out;
    while (bytes > 0) {
        float block[HALVES];
        const size_t skip = (size_t)(offset % WHOLE);
        const size_t count = (size_t)sc_min_u64((skip + bytes + WHOLE - 1) / WHOLE, HALVES);
        const size_t taken = (size_t)sc_min_u64(count * WHOLE - skip, bytes);
        SC_TRY(read_block(w, ctx, offset / WHOLE, count, block));
        memcpy(to, (const uint8_t *)block + skip, taken);
        to += taken;
        offset += taken;
        bytes -= taken;
    }
    return SC_OK;
}

sc_source *sc_source_widened(sc_arena *arena, sc_extent base, sc_dtype dtype) {
    SC_ASSERT(sc_dtype_is_half(dtype) && base.size % HALF == 0);
    widened *w = sc_new(arena, widened);
    *w = (widened){base, dtype};
    sc_source *source = sc_new(arena, sc_source);
    *source = (sc_source){.read = read_widened, .size = base.size / HALF * WHOLE, .user = w};
    source->is_slow = base.source && base.source->is_slow;
    return source;
}
