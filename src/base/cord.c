// The list of chunks. Small copies share pages and extend the last chunk, so a writer of a few
// bytes at a time does not make a chunk each.
#include "base/cord.h"

enum { PAGE_BYTES = 4096, BLOCK_BYTES = 1 << 20 };

void sc_cord_init(sc_cord *cord, sc_arena *arena) { *cord = (sc_cord){.arena = arena}; }

static void push(sc_cord *cord, sc_chunk chunk) {
    SC_ASSERT(sc_add_u64(cord->size, chunk.size, &cord->size));
    sc_vec_push(cord->arena, &cord->chunks, chunk);
}

// Extends the last chunk by `size` bytes if `chunk` begins where it ends.
static bool merge(sc_cord *cord, const sc_chunk *chunk) {
    if (cord->chunks.count == 0) return false;
    sc_chunk *last = &sc_vec_last(&cord->chunks);
    if (last->kind != chunk->kind) return false;
    bool adjacent = chunk->kind == SC_CHUNK_ZEROS;
    if (chunk->kind == SC_CHUNK_BYTES) adjacent = last->bytes + last->size == chunk->bytes;
    if (chunk->kind == SC_CHUNK_EXTENT)
        adjacent = last->extent.source == chunk->extent.source &&
                   last->extent.offset + last->extent.size == chunk->extent.offset;
    if (!adjacent) return false;
    SC_ASSERT(sc_add_u64(cord->size, chunk->size, &cord->size));
    last->size += chunk->size;
    last->extent.size += chunk->extent.size;
    return true;
}

void sc_cord_append_bytes(sc_cord *cord, const void *bytes, uint64_t size) {
    if (size == 0) return;
    push(cord, (sc_chunk){.kind = SC_CHUNK_BYTES, .bytes = bytes, .size = size});
}

void sc_cord_append_copy(sc_cord *cord, const void *bytes, uint64_t size) {
    size_t count;
    SC_ASSERT(sc_size_from_u64(size, &count));
    if (count == 0) return;
    if (count >= PAGE_BYTES / 2) {
        uint8_t *copy = sc_arena_alloc(cord->arena, count);
        memcpy(copy, bytes, count);
        sc_cord_append_bytes(cord, copy, size);
        return;
    }
    if (!cord->page || (size_t)(cord->page_end - cord->page) < count) {
        cord->page = sc_arena_alloc(cord->arena, PAGE_BYTES);
        cord->page_end = cord->page + PAGE_BYTES;
    }
    memcpy(cord->page, bytes, count);
    sc_chunk chunk = {.kind = SC_CHUNK_BYTES, .bytes = cord->page, .size = size};
    cord->page += count;
    if (!merge(cord, &chunk)) push(cord, chunk);
}

static void append_view(sc_cord *cord, const sc_extent *extent);
static sc_status read_cord(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out,
                           size_t bytes);

void sc_cord_append_extent(sc_cord *cord, sc_extent extent) {
    if (extent.size == 0) return;
    if (extent.source->read == read_cord) {
        append_view(cord, &extent);
        return;
    }
    sc_chunk chunk = {.kind = SC_CHUNK_EXTENT, .extent = extent, .size = extent.size};
    if (!merge(cord, &chunk)) push(cord, chunk);
}

void sc_cord_append_zeros(sc_cord *cord, uint64_t size) {
    if (size == 0) return;
    sc_chunk chunk = {.kind = SC_CHUNK_ZEROS, .size = size};
    if (!merge(cord, &chunk)) push(cord, chunk);
}

void sc_cord_append_cord(sc_cord *cord, const sc_cord *other) {
    SC_ASSERT(cord != other);
    for (uint32_t i = 0; i < other->chunks.count; i++) push(cord, other->chunks.data[i]);
}

void sc_cord_align(sc_cord *cord, uint64_t align) {
    sc_cord_append_zeros(cord, sc_round_up(cord->size, align) - cord->size);
}

// Reads [skip, skip + bytes) of one chunk.
static sc_status read_chunk(sc_ctx *ctx, const sc_chunk *chunk, uint64_t skip, uint8_t *out,
                            size_t bytes) {
    switch (chunk->kind) {
    case SC_CHUNK_BYTES: memcpy(out, chunk->bytes + skip, bytes); return SC_OK;
    case SC_CHUNK_ZEROS: memset(out, 0, bytes); return SC_OK;
    case SC_CHUNK_EXTENT: break;
    }
    return sc_extent_read(ctx, chunk->extent, skip, out, bytes);
}

sc_status sc_cord_flatten(sc_ctx *ctx, const sc_cord *cord, sc_arena *arena, uint64_t bytes_max,
                          const uint8_t **out) {
    size_t size;
    if (cord->size > bytes_max || !sc_size_from_u64(cord->size, &size))
        return sc_fail(ctx, SC_ERR_LIMIT, NULL, "output of %llu bytes exceeds the %llu allowed",
                       (unsigned long long)cord->size, (unsigned long long)bytes_max);
    uint8_t *to = sc_arena_alloc(arena, size);
    *out = to;
    for (uint32_t i = 0; i < cord->chunks.count; i++) {
        const sc_chunk *chunk = &cord->chunks.data[i];
        SC_TRY(read_chunk(ctx, chunk, 0, to, (size_t)chunk->size));
        to += chunk->size;
    }
    return SC_OK;
}

// Writes a chunk in blocks through a buffer. Extents are not in memory, and zeros are not stored.
static sc_status write_blocks(sc_ctx *ctx, const sc_chunk *chunk,
                              sc_status (*write)(void *, const void *, size_t), void *user) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    size_t block = (size_t)sc_min_u64(chunk->size, BLOCK_BYTES);
    uint8_t *buffer = sc_arena_alloc(ctx->scratch, block);
    sc_status status = SC_OK;
    for (uint64_t at = 0; at < chunk->size && status == SC_OK; at += block) {
        size_t part = (size_t)sc_min_u64(block, chunk->size - at);
        status = read_chunk(ctx, chunk, at, buffer, part);
        if (status == SC_OK) status = write(user, buffer, part);
    }
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}

sc_status sc_cord_write(sc_ctx *ctx, const sc_cord *cord,
                        sc_status (*write)(void *user, const void *bytes, size_t size),
                        void *user) {
    for (uint32_t i = 0; i < cord->chunks.count; i++) {
        const sc_chunk *chunk = &cord->chunks.data[i];
        if (chunk->kind == SC_CHUNK_BYTES)
            SC_TRY(write(user, chunk->bytes, (size_t)chunk->size));
        else
            SC_TRY(write_blocks(ctx, chunk, write, user));
    }
    return SC_OK;
}

typedef struct cord_view {
    const sc_chunk *chunks;
    uint64_t *starts;
    uint32_t count;
} cord_view;

// The index of the chunk that contains byte `offset`.
static uint32_t find_chunk(const cord_view *view, uint64_t offset) {
    uint32_t low = 0, high = view->count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (view->starts[middle] <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static sc_status read_cord(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out,
                           size_t bytes) {
    cord_view *view = source->user;
    uint8_t *to = out;
    for (uint32_t i = find_chunk(view, offset); bytes; i++) {
        uint64_t skip = offset - view->starts[i];
        size_t part = (size_t)sc_min_u64(view->chunks[i].size - skip, bytes);
        SC_TRY(read_chunk(ctx, &view->chunks[i], skip, to, part));
        to += part;
        offset += part;
        bytes -= part;
    }
    return SC_OK;
}

// Appends the chunks of a range of a cord, so that extents of files stay extents.
static void append_view(sc_cord *cord, const sc_extent *extent) {
    const cord_view *view = extent->source->user;
    uint64_t offset = extent->offset, left = extent->size;
    for (uint32_t i = find_chunk(view, offset); left; i++) {
        sc_chunk chunk = view->chunks[i];
        const uint64_t skip = offset - view->starts[i];
        chunk.size = sc_min_u64(chunk.size - skip, left);
        if (chunk.kind == SC_CHUNK_BYTES) chunk.bytes += skip;
        if (chunk.kind == SC_CHUNK_EXTENT)
            chunk.extent = (sc_extent){chunk.extent.source, chunk.extent.offset + skip, chunk.size};
        if (chunk.kind == SC_CHUNK_BYTES || !merge(cord, &chunk)) push(cord, chunk);
        offset += chunk.size;
        left -= chunk.size;
    }
}

sc_source *sc_source_from_cord(sc_arena *arena, const sc_cord *cord) {
    cord_view *view = sc_new(arena, cord_view);
    view->count = cord->chunks.count;
    sc_chunk *chunks = sc_new_array(arena, sc_chunk, view->count);
    view->chunks = chunks;
    view->starts = sc_new_array(arena, uint64_t, view->count);
    sc_source *source = sc_new(arena, sc_source);
    *source = (sc_source){.read = read_cord, .size = cord->size, .user = view};
    uint64_t start = 0;
    for (uint32_t i = 0; i < view->count; i++) {
        chunks[i] = cord->chunks.data[i];
        view->starts[i] = start;
        start += chunks[i].size;
        if (chunks[i].kind == SC_CHUNK_EXTENT) source->is_slow |= chunks[i].extent.source->is_slow;
    }
    return source;
}
