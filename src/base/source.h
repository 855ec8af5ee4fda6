// Random-access bytes that are usually not in memory: a File, a Blob, a descriptor, or something
// computed from another source. Weights travel through the compiler as extents of sources.
// Prefix: sc_source_ reads; sc_extent_ is a run of bytes in a source.
#ifndef SC_SOURCE_H
#define SC_SOURCE_H

#include "base/diag.h"

typedef struct sc_source sc_source;

struct sc_source {
    // Reads exactly `bytes` bytes at `offset`; the caller has checked the range against `size`.
    sc_status (*read)(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out, size_t bytes);
    uint64_t size;
    const uint8_t *memory;  // all of it, when it is in memory anyway; else NULL
    void *user;
    uint32_t host_id;  // non-zero when the host can slice the source itself (File, Blob)
    bool is_slow;      // each read is a round trip, so that few long ones are better
};

typedef struct sc_extent {
    sc_source *source;  // NULL with size 0 is the empty extent
    uint64_t offset;
    uint64_t size;
} sc_extent;

// Borrows `bytes`.
sc_source *sc_source_from_memory(sc_arena *arena, const void *bytes, uint64_t size);
// All zeros, without holding them.
sc_source *sc_source_zeros(sc_arena *arena, uint64_t size);
// A strided view of `base` as dense bytes: gathered when they are read, in blocks of about
// ctx->limits.gathered_bytes_max (up to 16 times that where reads are slow), or a part of `base`
// where they lie there as they are. Rank <= 64; sizes and strides are in items, strides >= 0; the
// caller has checked that the view stays inside `base`. Views in which items share bytes load
// `base` when they are read, up to a limit.
sc_extent sc_extent_strided(sc_arena *arena, sc_extent base, uint32_t item_bytes, uint32_t rank,
                            const int64_t *sizes, const int64_t *strides, int64_t storage_offset);
// Forgets what was read last of such views, which may go then.
void sc_strided_forget(sc_ctx *ctx);
// The bytes of which the extent is a permutation, each once and as they lie in the file; the extent
// itself when it is none.
sc_extent sc_extent_unpermuted(sc_extent extent);
// Makes two extents that are the same permutation of other bytes, or none, those bytes, which are
// equal if and only if the extents are. False when they are permuted in different ways, or one of
// them is not at all.
bool sc_extents_unpermute(sc_extent *a, sc_extent *b);
// Reverses the bytes of every item (a big-endian record).
sc_source *sc_source_swapped(sc_arena *arena, sc_extent base, uint32_t item_bytes);

static inline sc_extent sc_extent_whole(sc_source *source) {
    return (sc_extent){source, 0, source->size};
}
// False when [offset, offset + size) leaves `extent`.
bool sc_extent_slice(sc_extent extent, uint64_t offset, uint64_t size, sc_extent *out);

// Range-checked read; SC_ERR_TRUNCATED when it leaves the extent.
sc_status sc_extent_read(sc_ctx *ctx, sc_extent extent, uint64_t offset, void *out, size_t bytes);
// The whole extent in memory: a view if the source is in memory, else a copy on `arena`.
// SC_ERR_LIMIT above `bytes_max`.
sc_status sc_extent_load(sc_ctx *ctx, sc_arena *arena, sc_extent extent, uint64_t bytes_max,
                         const uint8_t **out);
// The very same bytes of the very same source.
static inline bool sc_extent_is(sc_extent a, sc_extent b) {
    return a.source == b.source && a.offset == b.offset && a.size == b.size;
}
// Equal contents, read in pieces unless size or place tell already.
sc_status sc_extent_equal(sc_ctx *ctx, sc_extent a, sc_extent b, bool *out);
// SHA-256 of the bytes, read in pieces.
sc_status sc_extent_sha256(sc_ctx *ctx, sc_extent extent, uint8_t digest[32]);

#endif
