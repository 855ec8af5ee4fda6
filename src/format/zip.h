// Reads zip archives as tables of extents, and writes archives of stored entries onto a cord.
//
// The central directory decides. PyTorch leaves sizes out of local headers, and nests whole zips
// inside entries, so no search for signatures goes forward. Stored entries are read in place.
// Deflated entries keep their method and compressed extent: PyTorch compresses no entry, and no
// code here inflates. sc_zip_repack stores them if the caller gives their content.
// Prefix: sc_zip_ reads and writes zip archives.
#ifndef SC_ZIP_H
#define SC_ZIP_H

#include "base/cord.h"

enum { SC_ZIP_STORED = 0, SC_ZIP_DEFLATED = 8 };

typedef struct sc_zip_entry {
    sc_str name;  // a key, never a path of a file system
    uint16_t method;
    uint32_t crc32;
    uint64_t stored_size;  // bytes in the archive
    uint64_t size;         // bytes after inflating; equal to stored_size for a stored entry
    sc_extent extent;      // the stored bytes
} sc_zip_entry;

typedef struct sc_zip {
    sc_zip_entry *entries;  // in the order of the central directory
    uint32_t count;
    uint32_t *by_name;  // indices of entries, ordered by name
} sc_zip;

// Reads the directory and checks it against the local headers: names, ranges and overlaps. The
// table is on `arena`.
sc_status sc_zip_open(sc_ctx *ctx, sc_arena *arena, sc_extent archive, sc_zip *out);
const sc_zip_entry *sc_zip_find(const sc_zip *zip, sc_str name);  // NULL when absent
// Removes the entries for which `wanted` is false.
void sc_zip_keep(sc_ctx *ctx, sc_zip *zip,
                 bool (*wanted)(const void *user, const sc_zip_entry *entry), const void *user);
// Gives the bytes of an entry. SC_ERR_UNSUPPORTED if it is compressed. If they are written to
// another archive, the entry keeps its checksum, so that damage stays visible.
sc_status sc_zip_extent(sc_ctx *ctx, const sc_zip_entry *entry, sc_extent *out);
// Gives the bytes in memory, at most `bytes_max`. A wrong CRC gives a warning. A CRC of 0 is
// absent: PyTorch may leave it out, and does not check it.
sc_status sc_zip_load(sc_ctx *ctx, sc_arena *arena, const sc_zip_entry *entry, uint64_t bytes_max,
                      sc_str *out);
// True if an entry must be inflated before use.
bool sc_zip_is_compressed(const sc_zip *zip);
// Checks that the host may inflate the entries. Each must be deflated, and grow to at most a
// thousand times its size. All together may have limits.inflated_bytes_max.
sc_status sc_zip_check_compressed(sc_ctx *ctx, const sc_zip *zip);

// Gives the CRC-32 of an extent. Parts whose sums are known are not read again (zip_sum.c). For an
// extent of a cord these are the pieces of the cord.
sc_status sc_zip_sum(sc_ctx *ctx, sc_extent extent, uint32_t *crc);
void sc_zip_know_sum(sc_ctx *ctx, sc_extent extent, uint32_t crc);
// Makes a table of sums on `arena`, for a context that works there. New sums go into it. Sums of
// `outer`, which may be NULL, are found, too.
struct sc_summed *sc_zip_sums_inside(sc_arena *arena, const struct sc_summed *outer);

typedef struct sc_zip_record {
    sc_str name;
    uint32_t crc32;
    uint64_t size;
    uint64_t offset;  // offset of the local header from the start of the archive
} sc_zip_record;

// Writes entries one after another. The same input gives the same bytes.
typedef struct sc_zip_writer {
    sc_cord *out;
    uint64_t base;   // the start of the archive in `out`
    uint32_t align;  // the data of every entry starts at a multiple of it, counted from `base`
    SC_VEC(sc_zip_record) records;
} sc_zip_writer;

// `align` is a power of two: 1 packs tightly, 64 is PyTorch's.
void sc_zip_writer_init(sc_zip_writer *writer, sc_cord *out, uint32_t align);
// `name` and `bytes` are copied. `content` is borrowed, and read once for the CRC unless that is
// known.
sc_status sc_zip_add_bytes(sc_ctx *ctx, sc_zip_writer *writer, sc_str name, const void *bytes,
                           size_t size);
sc_status sc_zip_add_extent(sc_ctx *ctx, sc_zip_writer *writer, sc_str name, sc_extent content);
void sc_zip_finish(sc_zip_writer *writer);

// Writes the archive again with every entry stored. inflated[i] replaces entry i if that is
// compressed; otherwise it is ignored. SC_ERR_CORRUPT unless its size and CRC are the entry's.
sc_status sc_zip_repack(sc_ctx *ctx, const sc_zip *zip, const sc_extent *inflated, sc_cord *out);

#endif
