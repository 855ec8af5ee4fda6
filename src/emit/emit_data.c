// Weights by content: every distinct run of bytes is stored once, whoever uses it, in whatever
// shape and method. Candidates are found by size and first 32 bytes; only when those agree are
// whole contents looked at: side by side while there is one candidate, by SHA-256 when there are
// more.
#include "emit/emit_state.h"

#include "base/hash.h"

#define FINGERPRINT_BYTES 32
#define PIECE_BYTES       (64u * 1024)

void sc_emit_store_init(sc_emit_store *store, sc_arena *arena) {
    *store = (sc_emit_store){0};
    sc_imap_init(&store->by_fingerprint, arena);
    sc_vec_push(arena, &store->blobs, (sc_emit_blob){.next = 0});
}

static sc_status fingerprint(sc_ctx *ctx, sc_extent data, uint64_t *out) {
    uint8_t first[FINGERPRINT_BYTES];
    size_t bytes = data.size < sizeof first ? (size_t)data.size : sizeof first;
    if (bytes) SC_TRY(sc_extent_read(ctx, data, 0, first, bytes));
    *out = sc_hash64_mix(sc_hash64(first, bytes), data.size);
    return SC_OK;
}

static sc_status same_bytes(sc_ctx *ctx, sc_extent a, sc_extent b, bool *out) {
    *out = a.size == b.size;
    if (!*out || (a.source == b.source && a.offset == b.offset)) return SC_OK;
    sc_mark mark = sc_arena_mark(ctx->scratch);
    size_t piece = (size_t)sc_min_u64(PIECE_BYTES, a.size);
    uint8_t *pieces = sc_arena_alloc(ctx->scratch, 2 * piece);
    sc_status status = SC_OK;
    for (uint64_t at = 0; at < a.size && *out && status == SC_OK; at += piece) {
        size_t bytes = (size_t)sc_min_u64(piece, a.size - at);
        status = sc_extent_read(ctx, a, at, pieces, bytes);
        if (status == SC_OK) status = sc_extent_read(ctx, b, at, pieces + piece, bytes);
        *out = status == SC_OK && memcmp(pieces, pieces + piece, bytes) == 0;
    }
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}

static sc_status digest(sc_ctx *ctx, sc_emit_blob *blob) {
    if (blob->has_digest) return SC_OK;
    blob->has_digest = true;
    return sc_extent_sha256(ctx, blob->data, blob->digest);
}

// Looks for `blob` along the chain from `first`; 0 when it is not there.
static sc_status find_in_chain(sc_ctx *ctx, sc_emit_store *store, uint32_t first,
                               sc_emit_blob *blob, uint32_t *found) {
    *found = 0;
    bool same = false;
    if (!store->blobs.data[first].next) {
        SC_TRY(same_bytes(ctx, store->blobs.data[first].data, blob->data, &same));
        *found = same ? first : 0;
        return SC_OK;
    }
    SC_TRY(digest(ctx, blob));
    for (uint32_t i = first; i && !*found; i = store->blobs.data[i].next) {
        sc_emit_blob *other = &store->blobs.data[i];
        if (other->data.size != blob->data.size) continue;
        SC_TRY(digest(ctx, other));
        if (memcmp(other->digest, blob->digest, sizeof blob->digest) == 0) *found = i;
    }
    return SC_OK;
}

sc_status sc_emit_store_add(sc_ctx *ctx, sc_emit_store *store, sc_extent data, uint32_t *index) {
    sc_emit_blob blob = {.data = data};
    uint64_t key = 0;
    SC_TRY(fingerprint(ctx, data, &key));
    uint64_t *first = sc_imap_find(&store->by_fingerprint, key);
    if (first) {
        SC_TRY(find_in_chain(ctx, store, (uint32_t)*first, &blob, index));
        if (*index) return SC_OK;
        // Behind the first one, so that the chain keeps its head.
        blob.next = store->blobs.data[*first].next;
        store->blobs.data[*first].next = store->blobs.count;
    } else {
        sc_imap_add(&store->by_fingerprint, key, store->blobs.count);
    }
    *index = store->blobs.count;
    sc_vec_push(store->by_fingerprint.arena, &store->blobs, blob);
    return SC_OK;
}

void sc_emit_store_write(sc_arena *arena, const sc_emit_store *store, uint32_t align, sc_cord *cord,
                         uint64_t **offsets) {
    *offsets = sc_new_array(arena, uint64_t, store->blobs.count);
    uint64_t start = cord->size;
    for (uint32_t i = 1; i < store->blobs.count; i++) {
        if (i > 1 && store->blobs.data[i].data.size) sc_cord_align(cord, align);
        (*offsets)[i] = cord->size - start;
        sc_cord_append_extent(cord, store->blobs.data[i].data);
    }
    // Loaders give no memory for a segment of no bytes, and then cannot find even empty constants.
    if (store->blobs.count > 1 && cord->size == start) sc_cord_append_zeros(cord, 1);
}
