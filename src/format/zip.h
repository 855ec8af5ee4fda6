// Zip archives as a table of extents, and a writer of stored entries onto a cord.
//
// The central directory is authoritative (PyTorch leaves sizes out of local headers, and nests
// whole zips inside entries, so signatures are never searched for going forward). Stored entries
// are read in place. Deflated ones keep their method and compressed extent: nothing here inflates
// them, and PyTorch compresses nothing. Given their content, sc_zip_repack stores them.
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
    uint64_t size;         // bytes once inflated; equal to stored_size when stored
    sc_extent extent;      // the stored bytes
} sc_zip_entry;

typedef struct sc_zip {
    sc_zip_entry *entries;  // in central-directory order
    uint32_t count;
    uint32_t *by_name;  // indices of entries, ordered by name
} sc_zip;

// Reads the directory and checks it against the local headers: names, ranges and overlaps. The
// table lives on `arena`.
sc_status sc_zip_open(sc_ctx *ctx, sc_arena *arena, sc_extent archive, sc_zip *out);
const sc_zip_entry *sc_zip_find(const sc_zip *zip, sc_str name);  // NULL when absent
// Forgets the entries that are not wanted.
void sc_zip_keep(sc_ctx *ctx, sc_zip *zip,
                 bool (*wanted)(const void *user, const sc_zip_entry *entry), const void *user);
// The bytes of an entry; SC_ERR_UNSUPPORTED when it is compressed. Archives that they are written
// to take over the entry's checksum, so that damage goes on to show.
sc_status sc_zip_extent(sc_ctx *ctx, const sc_zip_entry *entry, sc_extent *out);
// The same in memory, at most `bytes_max`. A wrong CRC gives a warning, 0 means none: PyTorch
// can leave it out, and does not look at it either.
sc_status sc_zip_load(sc_ctx *ctx, sc_arena *arena, const sc_zip_entry *entry, uint64_t bytes_max,
                      sc_str *out);
// Whether some entry has to be inflated before use.
bool sc_zip_is_compressed(const sc_zip *zip);
// Whether the host may inflate it: everything compressed is deflated, grows to at most a thousand
// times its size, and comes to at most limits.inflated_bytes_max in all.
sc_status sc_zip_check_compressed(sc_ctx *ctx, const sc_zip *zip);

// The CRC-32 of an extent; what is known of it, or of extents that a cord behind it is made of, is
// not read again (zip_sum.c).
sc_status sc_zip_sum(sc_ctx *ctx, sc_extent extent, uint32_t *crc);
void sc_zip_know_sum(sc_ctx *ctx, sc_extent extent, uint32_t crc);
// Sums learned from here on are kept on `arena`, for a context that works there. They add to those
// of `outer`, which may be NULL.
struct sc_summed *sc_zip_sums_inside(sc_arena *arena, const struct sc_summed *outer);

typedef struct sc_zip_record {
    sc_str name;
    uint32_t crc32;
    uint64_t size;
    uint64_t offset;  // of the local header, from the start of the archive
} sc_zip_record;

// Writes entries one after another; the same input gives the same bytes.
typedef struct sc_zip_writer {
    sc_cord *out;
    uint64_t base;   // where the archive starts in `out`
    uint32_t align;  // data of every entry starts on a multiple of it, counted from `base`
    SC_VEC(sc_zip_record) records;
} sc_zip_writer;

// `align` is a power of two; 1 packs tightly, 64 is what PyTorch does.
void sc_zip_writer_init(sc_zip_writer *writer, sc_cord *out, uint32_t align);
// `name` and `bytes` are copied; `content` is borrowed and read once for the CRC
// unless that is known.
sc_status sc_zip_add_bytes(sc_ctx *ctx, sc_zip_writer *writer, sc_str name, const void *bytes,
                           size_t size);
sc_status sc_zip_add_extent(sc_ctx *ctx, sc_zip_writer *writer, sc_str name, sc_extent content);
void sc_zip_finish(sc_zip_writer *writer);

// The same archive with every entry stored: inflated[i] replaces entry i where that is compressed
// and is ignored elsewhere. SC_ERR_CORRUPT unless its size and CRC are the entry's.
sc_status sc_zip_repack(sc_ctx *ctx, const sc_zip *zip, const sc_extent *inflated, sc_cord *out);

#endif
