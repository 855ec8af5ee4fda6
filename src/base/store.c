// Finds equal bytes. Candidates have the same size and the same first 32 bytes. One candidate is
// compared side by side. Several are compared by samples and, if these agree, by SHA-256. Contents
// that are permuted alike are compared as they lie in the file.
#include "base/store.h"

#include "base/hash.h"

#define FINGERPRINT_BYTES 32

enum { SAMPLES = 16, SAMPLE_BYTES = 1 << 10 };

void sc_store_init(sc_store *store, sc_arena *arena) {
    *store = (sc_store){0};
    sc_imap_init(&store->by_fingerprint, arena);
    sc_map_init(&store->by_key, arena);
    sc_vec_push(arena, &store->blobs, (sc_store_blob){.next = 0});
}

// --- Alignment -----------------------------------------------------------------------------------

static uint64_t gcd(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

sc_status sc_store_align(sc_ctx *ctx, uint64_t *align, uint64_t wanted) {
    if (wanted == 0)
        return sc_fail(ctx, SC_ERR_ARGUMENT, "Use an alignment of 1 if any place will do.",
                       "data cannot be aligned to 0 bytes");
    uint64_t common = *align / gcd(*align, wanted);
    if (wanted > SC_STORE_ALIGN_MAX || !sc_mul_u64(common, wanted, &common) ||
        common > SC_STORE_ALIGN_MAX)
        return sc_fail(ctx, SC_ERR_LIMIT, "Use a smaller alignment.",
                       "no alignment up to %llu is a multiple of both %llu and %llu",
                       (unsigned long long)SC_STORE_ALIGN_MAX, (unsigned long long)*align,
                       (unsigned long long)wanted);
    *align = common;
    return SC_OK;
}

// --- Content -------------------------------------------------------------------------------------

static sc_status fingerprint(sc_ctx *ctx, sc_extent data, uint64_t *out) {
    uint8_t first[FINGERPRINT_BYTES];
    size_t bytes = data.size < sizeof first ? (size_t)data.size : sizeof first;
    if (bytes) SC_TRY(sc_extent_read(ctx, data, 0, first, bytes));
    *out = sc_hash64_mix(sc_hash64(first, bytes), data.size);
    return SC_OK;
}

static bool same_piece(const sc_chunk *a, const sc_chunk *b) {
    return a->kind == b->kind && a->size == b->size && a->bytes == b->bytes &&
           a->extent.source == b->extent.source && a->extent.offset == b->extent.offset;
}

// True for the same pieces of the same sources, which need not be read.
static bool same_place(const sc_store_blob *a, const sc_store_blob *b) {
    if (!a->cord || !b->cord) return sc_extent_is(a->data, b->data);
    if (a->cord->chunks.count != b->cord->chunks.count) return false;
    for (uint32_t i = 0; i < a->cord->chunks.count; i++)
        if (!same_piece(&a->cord->chunks.data[i], &b->cord->chunks.data[i])) return false;
    return true;
}

// Hashes a few bytes at places all over the blob.
static sc_status sample(sc_ctx *ctx, sc_store_blob *blob) {
    const sc_extent data = sc_extent_unpermuted(blob->data);
    uint8_t bytes[SAMPLE_BYTES];
    if (blob->has_sample || data.size < SAMPLES * SAMPLE_BYTES) return SC_OK;
    for (uint64_t i = 1; i <= SAMPLES; i++) {
        SC_TRY(sc_extent_read(ctx, data, (data.size - SAMPLE_BYTES) / SAMPLES * i, bytes,
                              sizeof bytes));
        blob->sample = sc_hash64_mix(blob->sample, sc_hash64(bytes, sizeof bytes));
    }
    blob->has_sample = true;
    return SC_OK;
}

static sc_status digest(sc_ctx *ctx, sc_store_blob *blob) {
    if (blob->has_digest) return SC_OK;
    SC_TRY(sc_extent_sha256(ctx, sc_extent_unpermuted(blob->data), blob->digest));
    blob->has_digest = true;
    return SC_OK;
}

// Contents that are permuted in different ways must be gathered, which takes long for large
// weights. A few items here and there distinguish nearly all of them first.
static sc_status equal_after_all(sc_ctx *ctx, sc_extent a, sc_extent b, bool *out) {
    uint8_t x[FINGERPRINT_BYTES], y[FINGERPRINT_BYTES];
    const uint64_t step = a.size < SAMPLES * sizeof x ? 0 : (a.size - sizeof x) / SAMPLES;
    for (uint64_t i = 1; step && i <= SAMPLES; i++) {
        SC_TRY(sc_extent_read(ctx, a, step * i, x, sizeof x));
        SC_TRY(sc_extent_read(ctx, b, step * i, y, sizeof y));
        if (memcmp(x, y, sizeof x) != 0) return SC_OK;
    }
    return sc_extent_equal(ctx, a, b, out);
}

static sc_status same_bytes(sc_ctx *ctx, bool is_only, sc_store_blob *a, sc_store_blob *b,
                            bool *out) {
    *out = false;
    if (a->data.size != b->data.size) return SC_OK;
    *out = same_place(a, b);
    if (*out) return SC_OK;
    sc_extent x = a->data, y = b->data;
    if (!sc_extents_unpermute(&x, &y)) return equal_after_all(ctx, x, y, out);
    if (is_only) return sc_extent_equal(ctx, x, y, out);
    SC_TRY(sample(ctx, a));
    SC_TRY(sample(ctx, b));
    if (a->sample != b->sample) return SC_OK;
    SC_TRY(digest(ctx, a));
    SC_TRY(digest(ctx, b));
    *out = memcmp(a->digest, b->digest, sizeof a->digest) == 0;
    return SC_OK;
}

// Looks for `blob` along the chain from `first`. Gives 0 if it is not in the chain.
static sc_status find_in_chain(sc_ctx *ctx, sc_store *store, uint32_t first, sc_store_blob *blob,
                               uint32_t *found) {
    bool same = false, is_only = !store->blobs.data[first].next;
    *found = 0;
    for (uint32_t i = first; i && !same; i = store->blobs.data[i].next) {
        SC_TRY(same_bytes(ctx, is_only, &store->blobs.data[i], blob, &same));
        if (same) *found = i;
    }
    return SC_OK;
}

static sc_status add(sc_ctx *ctx, sc_store *store, sc_store_blob blob, uint64_t align,
                     uint32_t *index) {
    uint64_t key = 0;
    blob.align = 1;
    SC_TRY(sc_store_align(ctx, &blob.align, align));
    SC_TRY(fingerprint(ctx, blob.data, &key));
    uint64_t *first = sc_imap_find(&store->by_fingerprint, key);
    if (first) {
        SC_TRY(find_in_chain(ctx, store, (uint32_t)*first, &blob, index));
        if (*index) return sc_store_align(ctx, &store->blobs.data[*index].align, align);
        // Inserts after the first one, so that the chain keeps its head.
        blob.next = store->blobs.data[*first].next;
        store->blobs.data[*first].next = store->blobs.count;
    } else {
        sc_imap_add(&store->by_fingerprint, key, store->blobs.count);
    }
    *index = store->blobs.count;
    sc_vec_push(store->by_fingerprint.arena, &store->blobs, blob);
    return SC_OK;
}

sc_status sc_store_add(sc_ctx *ctx, sc_store *store, sc_extent data, uint64_t align,
                       uint32_t *blob) {
    return add(ctx, store, (sc_store_blob){.data = data}, align, blob);
}

sc_status sc_store_add_cord(sc_ctx *ctx, sc_store *store, const sc_cord *data, uint64_t align,
                            uint32_t *blob) {
    sc_source *source = sc_source_from_cord(store->by_fingerprint.arena, data);
    return add(ctx, store, (sc_store_blob){.data = sc_extent_whole(source), .cord = data}, align,
               blob);
}

sc_status sc_store_find_equal(sc_ctx *ctx, sc_store *store, const sc_store_blob *blob,
                              uint32_t *found) {
    sc_store_blob own = *blob;
    uint64_t key = 0;
    *found = 0;
    SC_TRY(fingerprint(ctx, own.data, &key));
    const uint64_t *first = sc_imap_find(&store->by_fingerprint, key);
    return first ? find_in_chain(ctx, store, (uint32_t)*first, &own, found) : SC_OK;
}

// --- Keys ----------------------------------------------------------------------------------------

const sc_store_entry *sc_store_find(const sc_store *store, sc_str key) {
    uintptr_t known = (uintptr_t)sc_map_get(&store->by_key, key);
    return known ? &store->entries.data[known - 1] : NULL;
}

void sc_store_retag(sc_store *store, sc_str key, sc_str tag) {
    const uintptr_t known = (uintptr_t)sc_map_get(&store->by_key, key);
    SC_ASSERT(known);
    store->entries.data[known - 1].tag = tag;
}

static const char *file_of(const sc_store *store, const sc_store_entry *entry) {
    return entry->tag.size ? sc_str_dup(store->by_key.arena, entry->tag) : "the program";
}

sc_status sc_store_name(sc_ctx *ctx, sc_store *store, const sc_store_entry *entry) {
    const sc_store_entry *known = sc_store_find(store, entry->key);
    if (known && known->blob != entry->blob)
        return sc_fail(ctx, SC_ERR_MISMATCH, "Give different data different names.",
                       "two different blobs are named '" SC_STR_FMT "', of %llu and %llu bytes",
                       SC_STR_ARG(entry->key),
                       (unsigned long long)store->blobs.data[known->blob].data.size,
                       (unsigned long long)store->blobs.data[entry->blob].data.size);
    if (known && !sc_str_equal(known->tag, entry->tag))
        return sc_fail(ctx, SC_ERR_MISMATCH, "Put all data of one name into one file.",
                       "'" SC_STR_FMT "' should go into both '%s' and '%s'", SC_STR_ARG(entry->key),
                       file_of(store, known), file_of(store, entry));
    if (known) return SC_OK;
    sc_vec_push(store->by_key.arena, &store->entries, *entry);
    sc_map_add(&store->by_key, entry->key, (void *)(uintptr_t)store->entries.count);
    return SC_OK;
}

// --- Writing -------------------------------------------------------------------------------------

void sc_store_append(const sc_store *store, uint32_t blob, sc_cord *cord) {
    const sc_store_blob *from = &store->blobs.data[blob];
    if (from->cord)
        sc_cord_append_cord(cord, from->cord);
    else
        sc_cord_append_extent(cord, from->data);
}

void sc_store_write(const sc_store *store, sc_cord *cord, uint64_t *offsets) {
    SC_ASSERT(cord->size == 0);
    offsets[0] = 0;
    for (uint32_t i = 1; i < store->blobs.count; i++) {
        if (store->blobs.data[i].data.size) sc_cord_align(cord, store->blobs.data[i].align);
        offsets[i] = cord->size;
        sc_store_append(store, i, cord);
    }
}
