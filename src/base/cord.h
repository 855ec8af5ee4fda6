// A cord is output as a list of chunks. Weights in it are extents of input files, so that gigabytes
// are never copied.
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
    uint8_t *page, *page_end;  // the free part of the block that small copies are put in
} sc_cord;

void sc_cord_init(sc_cord *cord, sc_arena *arena);
void sc_cord_append_bytes(sc_cord *cord, const void *bytes, uint64_t size);  // borrows `bytes`
void sc_cord_append_copy(sc_cord *cord, const void *bytes, uint64_t size);
// Appends an extent. If its source is a cord, the chunks of that cord are appended.
void sc_cord_append_extent(sc_cord *cord, sc_extent extent);
void sc_cord_append_zeros(sc_cord *cord, uint64_t size);
void sc_cord_append_cord(sc_cord *cord, const sc_cord *other);
void sc_cord_align(sc_cord *cord, uint64_t align);  // appends zeros up to the next multiple
// Gives all bytes in one block on `arena`, for tests and small files. SC_ERR_LIMIT above
// `bytes_max`.
sc_status sc_cord_flatten(sc_ctx *ctx, const sc_cord *cord, sc_arena *arena, uint64_t bytes_max,
                          const uint8_t **out);
// Calls `write` for each piece in order. Extents come in blocks of at most 1 MB.
sc_status sc_cord_write(sc_ctx *ctx, const sc_cord *cord,
                        sc_status (*write)(void *user, const void *bytes, size_t size), void *user);
// Makes a source of the cord's bytes. It borrows the chunks. Bytes that are appended later are not
// in it.
sc_source *sc_source_from_cord(sc_arena *arena, const sc_cord *cord);

#endif
