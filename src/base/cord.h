// Output as a list of chunks, so that a file with gigabytes of weights is described, not copied.
// Prefix: sc_cord_ appends to a cord, or reads it.
#ifndef SC_CORD_H
#define SC_CORD_H

#include "base/source.h"

typedef enum sc_chunk_kind { SC_CHUNK_BYTES, SC_CHUNK_EXTENT, SC_CHUNK_ZEROS } sc_chunk_kind;

typedef struct sc_chunk {
    sc_chunk_kind kind;
    const uint8_t *bytes;  // SC_CHUNK_BYTES
    sc_extent extent;      // SC_CHUNK_EXTENT
    uint64_t size;
} sc_chunk;

typedef struct sc_cord {
    sc_arena *arena;
    SC_VEC(sc_chunk) chunks;
    uint64_t size;
    uint8_t *page, *page_end;  // free part of the block that small copies gather in
} sc_cord;

void sc_cord_init(sc_cord *cord, sc_arena *arena);
void sc_cord_append_bytes(sc_cord *cord, const void *bytes, uint64_t size);  // borrows
void sc_cord_append_copy(sc_cord *cord, const void *bytes, uint64_t size);
// Appends an extent; of a source that is a cord itself, its chunks.
void sc_cord_append_extent(sc_cord *cord, sc_extent extent);
void sc_cord_append_zeros(sc_cord *cord, uint64_t size);
void sc_cord_append_cord(sc_cord *cord, const sc_cord *other);
void sc_cord_align(sc_cord *cord, uint64_t align);  // zeros up to the next multiple
// Everything in one block on `arena`: for tests and small files. SC_ERR_LIMIT above `bytes_max`.
sc_status sc_cord_flatten(sc_ctx *ctx, const sc_cord *cord, sc_arena *arena, uint64_t bytes_max,
                          const uint8_t **out);
// Calls `write` for each piece in order, extents in blocks of at most 1 MB.
sc_status sc_cord_write(sc_ctx *ctx, const sc_cord *cord,
                        sc_status (*write)(void *user, const void *bytes, size_t size), void *user);
// The cord as random-access bytes, as of now: later appends do not show. Borrows the chunks.
sc_source *sc_source_from_cord(sc_arena *arena, const sc_cord *cord);

#endif
