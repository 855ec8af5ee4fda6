// Sources are random-access bytes, usually not in memory: a File, a Blob, a descriptor, or bytes
// computed from another source. Weights stay extents of sources throughout the compiler.
// Prefixes: sc_source_ makes a source; sc_extent_ reads a run of bytes in one.
#ifndef SC_SOURCE_H
#define SC_SOURCE_H

#include "base/diag.h"

typedef struct sc_source sc_source;

struct sc_source {
    // Reads exactly `bytes` bytes at `offset`. The caller has checked the range against `size`.
    sc_status (*read)(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out, size_t bytes);
    uint64_t size;
    const uint8_t *memory;  // all bytes, if they are in memory; else NULL
    void *user;
    uint32_t host_id;  // not 0 if the host can slice the source itself (File, Blob)
    bool is_slow;      // each read is a round trip, so a few long reads are better
};

typedef struct sc_extent {
    sc_source *source;  // NULL with size 0: the empty extent
    uint64_t offset;
    uint64_t size;
} sc_extent;

// Makes a source of bytes in memory, which it borrows.
sc_source *sc_source_from_memory(sc_arena *arena, const void *bytes, uint64_t size);
// Makes a source of zeros, which are not stored.
sc_source *sc_source_zeros(sc_arena *arena, uint64_t size);
// Views the items of `base` in another order, as dense bytes. A read gathers them in blocks of
// about ctx->limits.gathered_bytes_max, or of up to 16 times that if reads are slow. If the items
// are adjacent already, the result is a part of `base`. Rank is at most 64. Sizes and strides are
// in items, and strides are not negative. The caller has checked that the view stays inside `base`.
// If items share bytes, a read loads `base` up to a limit.
sc_extent sc_extent_strided(sc_arena *arena, sc_extent base, uint32_t item_bytes, uint32_t rank,
                            const int64_t *sizes, const int64_t *strides, int64_t storage_offset);
// Forgets the blocks of views that were read last. The views may then be freed.
void sc_strided_forget(sc_ctx *ctx);
// If the extent is a permutation of other bytes, gives these as they lie in the file. Otherwise
// gives the extent itself.
sc_extent sc_extent_unpermuted(sc_extent extent);
// If two extents permute other bytes in the same way, replaces both by the bytes before the
// permutation. Extents that are not permuted stay. In both cases the new extents are equal exactly
// if the old ones are. False if the permutations differ, or only one is permuted.
bool sc_extents_unpermute(sc_extent *a, sc_extent *b);
// Reverses the bytes of every item, for big-endian records.
sc_source *sc_source_swapped(sc_arena *arena, sc_extent base, uint32_t item_bytes);

static inline sc_extent sc_extent_whole(sc_source *source) {
    return (sc_extent){source, 0, source->size};
}
// False if [offset, offset + size) is not inside `extent`.
bool sc_extent_slice(sc_extent extent, uint64_t offset, uint64_t size, sc_extent *out);

// Reads bytes of an extent. SC_ERR_TRUNCATED if they are not inside it.
sc_status sc_extent_read(sc_ctx *ctx, sc_extent extent, uint64_t offset, void *out, size_t bytes);
// Gives the whole extent in memory: a view if the source is in memory, else a copy on `arena`.
// SC_ERR_LIMIT above `bytes_max`.
sc_status sc_extent_load(sc_ctx *ctx, sc_arena *arena, sc_extent extent, uint64_t bytes_max,
                         const uint8_t **out);
// True for the same bytes of the same source.
static inline bool sc_extent_is(sc_extent a, sc_extent b) {
    return a.source == b.source && a.offset == b.offset && a.size == b.size;
}
// Compares contents. They are read in pieces, unless sizes or places decide.
sc_status sc_extent_equal(sc_ctx *ctx, sc_extent a, sc_extent b, bool *out);
// Computes the SHA-256 of the bytes, which are read in pieces.
sc_status sc_extent_sha256(sc_ctx *ctx, sc_extent extent, uint8_t digest[32]);

#endif
