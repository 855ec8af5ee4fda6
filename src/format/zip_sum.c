// Checksums of extents, each computed once.
#include "base/hash.h"
#include "base/map.h"
#include "format/zip.h"

static sc_status add_to_crc(void *user, const void *bytes, size_t size) {
    uint32_t *crc = user;
    *crc = sc_crc32(*crc, bytes, size);
    return SC_OK;
}

// Extents with known checksums. A weight may be written several times. A file inside a file is
// summed once for both. An entry of an archive has a checksum there.
typedef struct sum {
    sc_extent extent;
    uint32_t crc;
} sum;

typedef struct sc_summed {
    const struct sc_summed *outer;  // sums that are known, too; NULL: absent
    sc_imap by_place;               // hash of the extent -> index
    SC_VEC(sum) items;
} sc_summed;

sc_summed *sc_zip_sums_inside(sc_arena *arena, const sc_summed *outer) {
    sc_summed *summed = sc_new(arena, sc_summed);
    summed->outer = outer;
    sc_imap_init(&summed->by_place, arena);
    return summed;
}

static sc_summed *summed_of(sc_ctx *ctx) {
    if (!ctx->summed) ctx->summed = sc_zip_sums_inside(ctx->arena, NULL);
    return ctx->summed;
}

static sc_status read_crc(sc_ctx *ctx, const sc_chunk *chunk, uint32_t *crc) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_cord cord;
    sc_cord_init(&cord, ctx->scratch);
    *crc = 0;
    if (chunk->kind == SC_CHUNK_EXTENT)
        sc_cord_append_extent(&cord, chunk->extent);
    else
        sc_cord_append_zeros(&cord, chunk->size);
    sc_status status = sc_cord_write(ctx, &cord, add_to_crc, crc);
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}

static uint64_t key_of(const sc_extent *e) {
    return sc_hash64_mix(sc_hash64_mix(SC_PTR_KEY(e->source), e->offset + 1), e->size);
}

static const sum *find_sum(const sc_summed *known, const sc_extent *e) {
    const uint64_t key = key_of(e);
    for (; known; known = known->outer) {
        const uint64_t *found = sc_imap_find(&known->by_place, key);
        const sum *one = found ? &known->items.data[*found] : NULL;
        if (one && sc_extent_is(one->extent, *e)) return one;
    }
    return NULL;
}

void sc_zip_know_sum(sc_ctx *ctx, sc_extent extent, uint32_t crc) {
    sc_summed *known = summed_of(ctx);
    const sum one = {extent, crc};
    if (find_sum(known, &extent)) return;
    sc_vec_push(ctx->arena, &known->items, one);
    sc_imap_set(&known->by_place, key_of(&extent), known->items.count - 1);
}

static sc_status chunk_crc(sc_ctx *ctx, const sc_chunk *chunk, uint32_t *crc) {
    if (chunk->kind == SC_CHUNK_BYTES) {
        *crc = sc_crc32(0, chunk->bytes, (size_t)chunk->size);
        return SC_OK;
    }
    if (chunk->kind == SC_CHUNK_ZEROS) return read_crc(ctx, chunk, crc);
    const sum *found = find_sum(summed_of(ctx), &chunk->extent);
    if (found) {
        *crc = found->crc;
        return SC_OK;
    }
    SC_TRY(read_crc(ctx, chunk, crc));
    sc_zip_know_sum(ctx, chunk->extent, *crc);
    return SC_OK;
}

static sc_status cord_crc(sc_ctx *ctx, const sc_cord *cord, uint32_t *crc) {
    *crc = 0;
    for (uint32_t i = 0; i < cord->chunks.count; i++) {
        uint32_t next = 0;
        SC_TRY(chunk_crc(ctx, &cord->chunks.data[i], &next));
        *crc = sc_crc32_join(*crc, next, cord->chunks.data[i].size);
    }
    return SC_OK;
}

sc_status sc_zip_sum(sc_ctx *ctx, sc_extent content, uint32_t *crc) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_cord cord;
    sc_cord_init(&cord, ctx->scratch);
    sc_cord_append_extent(&cord, content);
    sc_status status = cord_crc(ctx, &cord, crc);
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}
