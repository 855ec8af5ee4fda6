// Sources in memory, sources computed from others, and checked reads of extents. The code that
// talks to the host makes the host's sources (files, blobs).
#include "base/source.h"

enum { ITEM_BYTES_MAX = 16 };

static sc_status read_memory(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out,
                             size_t bytes) {
    (void)ctx;
    if (bytes) memcpy(out, source->memory + offset, bytes);
    return SC_OK;
}

sc_source *sc_source_from_memory(sc_arena *arena, const void *bytes, uint64_t size) {
    sc_source *source = sc_new(arena, sc_source);
    *source = (sc_source){.read = read_memory, .size = size, .memory = bytes};
    return source;
}

static sc_status read_zeros(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out,
                            size_t bytes) {
    (void)source, (void)ctx, (void)offset;
    if (bytes) memset(out, 0, bytes);
    return SC_OK;
}

sc_source *sc_source_zeros(sc_arena *arena, uint64_t size) {
    sc_source *source = sc_new(arena, sc_source);
    *source = (sc_source){.read = read_zeros, .size = size};
    return source;
}

typedef struct swapped {
    sc_extent base;
    uint32_t item_bytes;
} swapped;

static void reverse_items(uint8_t *bytes, size_t size, uint32_t item_bytes) {
    for (; size; size -= item_bytes, bytes += item_bytes)
        for (uint32_t i = 0; i < item_bytes / 2; i++) {
            uint8_t byte = bytes[i];
            bytes[i] = bytes[item_bytes - 1 - i];
            bytes[item_bytes - 1 - i] = byte;
        }
}

// Reads a part of one item: [skip, skip + bytes) of its reversed bytes.
static sc_status read_swapped_part(swapped *view, sc_ctx *ctx, uint64_t item, uint32_t skip,
                                   uint8_t *out, size_t bytes) {
    uint8_t buffer[ITEM_BYTES_MAX];
    SC_TRY(sc_extent_read(ctx, view->base, item * view->item_bytes, buffer, view->item_bytes));
    reverse_items(buffer, view->item_bytes, view->item_bytes);
    memcpy(out, buffer + skip, bytes);
    return SC_OK;
}

static sc_status read_swapped(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out,
                              size_t bytes) {
    swapped *view = source->user;
    uint8_t *to = out;
    uint32_t skip = (uint32_t)(offset % view->item_bytes);
    uint64_t item = offset / view->item_bytes;
    if (skip) {
        size_t part = (size_t)sc_min_u64(view->item_bytes - skip, bytes);
        SC_TRY(read_swapped_part(view, ctx, item++, skip, to, part));
        to += part;
        bytes -= part;
    }
    size_t whole = bytes - bytes % view->item_bytes;
    if (whole) {
        SC_TRY(sc_extent_read(ctx, view->base, item * view->item_bytes, to, whole));
        reverse_items(to, whole, view->item_bytes);
    }
    if (bytes == whole) return SC_OK;
    item += whole / view->item_bytes;
    return read_swapped_part(view, ctx, item, 0, to + whole, bytes - whole);
}

sc_source *sc_source_swapped(sc_arena *arena, sc_extent base, uint32_t item_bytes) {
    SC_ASSERT(item_bytes >= 1 && item_bytes <= ITEM_BYTES_MAX && base.size % item_bytes == 0);
    swapped *view = sc_new(arena, swapped);
    *view = (swapped){base, item_bytes};
    sc_source *source = sc_new(arena, sc_source);
    *source = (sc_source){.read = read_swapped, .size = base.size, .user = view};
    source->is_slow = base.source->is_slow;
    return source;
}

bool sc_extent_slice(sc_extent extent, uint64_t offset, uint64_t size, sc_extent *out) {
    if (offset > extent.size || size > extent.size - offset) return false;
    *out = (sc_extent){extent.source, extent.offset + offset, size};
    return true;
}

sc_status sc_extent_read(sc_ctx *ctx, sc_extent extent, uint64_t offset, void *out, size_t bytes) {
    sc_extent part;
    uint64_t end;
    if (!sc_extent_slice(extent, offset, bytes, &part) || !sc_add_u64(part.offset, bytes, &end) ||
        (extent.source && end > extent.source->size))
        return sc_fail(ctx, SC_ERR_TRUNCATED, NULL,
                       "bytes %llu to %llu are out of range: there are only %llu bytes",
                       (unsigned long long)offset, (unsigned long long)offset + bytes,
                       (unsigned long long)extent.size);
    if (bytes == 0) return SC_OK;
    return part.source->read(part.source, ctx, part.offset, out, bytes);
}

sc_status sc_extent_load(sc_ctx *ctx, sc_arena *arena, sc_extent extent, uint64_t bytes_max,
                         const uint8_t **out) {
    size_t bytes;
    if (extent.size > bytes_max || !sc_size_from_u64(extent.size, &bytes))
        return sc_fail(ctx, SC_ERR_LIMIT, NULL, "%llu bytes exceed the %llu allowed here",
                       (unsigned long long)extent.size, (unsigned long long)bytes_max);
    if (extent.source && extent.source->memory && extent.offset <= extent.source->size &&
        extent.size <= extent.source->size - extent.offset) {
        *out = extent.source->memory + extent.offset;
        return SC_OK;
    }
    uint8_t *copy = sc_arena_alloc(arena, bytes);
    *out = copy;
    return sc_extent_read(ctx, extent, 0, copy, bytes);
}
