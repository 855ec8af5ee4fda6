// Reads archives: first the end records from the back, then the central directory, then every local
// header once to find its data. Layouts are those of APPNOTE.TXT, little-endian:
//
//   end       PK\5\6 disk16 disk16 count16 count16 bytes32 offset32 comment16
//   locator   PK\6\7 disk32 end64_offset64 disks32                 20 bytes before `end`
//   end64     PK\6\6 size64 made16 needed16 disk32 disk32 count64 count64 bytes64 offset64
//   central   PK\1\2 made16 needed16 flags16 method16 time16 date16 crc32 stored32 size32 name16
//             extra16 comment16 disk16 attr16 attr32 local_offset32, name, extra, comment
//   local     PK\3\4 needed16 flags16 method16 time16 date16 crc32 stored32 size32 name16 extra16
//
// A 32-bit field of all ones has its value in extra field 1 ("zip64").
#include "format/zip.h"

#include <stdlib.h>

#include "base/hash.h"
#include "format/zip_layout.h"

enum {
    COMMENT_BYTES_MAX = 0xffff,
    CENTRAL_DIRECTORY_BYTES_MAX = 256 << 20,
    WINDOW_BYTES = 64 << 10,
    DEFLATE_RATIO_MAX = 1000,  // slightly less than deflate reaches for zeros
    FLAG_ENCRYPTED = 1
};

static uint16_t get16(const uint8_t *at) { return (uint16_t)(at[0] | at[1] << 8); }

static uint32_t get32(const uint8_t *at) { return get16(at) | (uint32_t)get16(at + 2) << 16; }

static uint64_t get64(const uint8_t *at) { return get32(at) | (uint64_t)get32(at + 4) << 32; }

static sc_status fail_corrupt(sc_ctx *ctx, const char *what) {
    return sc_fail(ctx, SC_ERR_CORRUPT, "Fetch the file again: it is a damaged zip archive.", "%s",
                   what);
}

// --- The end records ---------------------------------------------------------------------------

static sc_status read_end64(sc_ctx *ctx, sc_extent archive, uint64_t end64_offset,
                            sc_zip_directory *out) {
    uint8_t record[SC_ZIP_END64_BYTES];
    if (archive.size < SC_ZIP_END64_BYTES || end64_offset > archive.size - SC_ZIP_END64_BYTES)
        return fail_corrupt(ctx, "the zip64 end record lies outside the file");
    SC_TRY(sc_extent_read(ctx, archive, end64_offset, record, SC_ZIP_END64_BYTES));
    if (get32(record) != SC_ZIP_END64)
        return fail_corrupt(ctx, "the zip64 locator does not point to a zip64 end record");
    if (get32(record + 16) != 0 || get32(record + 20) != 0 ||
        get64(record + 24) != get64(record + 32))
        return sc_fail(ctx, SC_ERR_UNSUPPORTED, NULL, "the zip archive is split over disks");
    *out = (sc_zip_directory){get64(record + 32), get64(record + 40), get64(record + 48),
                              end64_offset};
    return SC_OK;
}

// The end record is the last part of the file except for a comment, which may contain any bytes. So
// it counts only if its comment ends exactly at the end of the file.
static const uint8_t *find_end(const uint8_t *tail, size_t bytes) {
    for (size_t at = bytes - SC_ZIP_END_BYTES + 1; at-- > 0;)
        if (get32(tail + at) == SC_ZIP_END &&
            get16(tail + at + 20) == bytes - SC_ZIP_END_BYTES - at)
            return tail + at;
    return NULL;
}

static sc_status read_end(sc_ctx *ctx, sc_extent archive, const uint8_t *tail, size_t bytes,
                          sc_zip_directory *out) {
    const uint8_t *end = bytes >= SC_ZIP_END_BYTES ? find_end(tail, bytes) : NULL;
    if (!end)
        return sc_fail(ctx, SC_ERR_TRUNCATED, NULL,
                       "no zip directory at the end: not a zip archive, or cut short");
    uint64_t end_offset = archive.size - (uint64_t)(tail + bytes - end);
    if (end - tail >= SC_ZIP_LOCATOR_BYTES && get32(end - SC_ZIP_LOCATOR_BYTES) == SC_ZIP_LOCATOR) {
        SC_TRY(read_end64(ctx, archive, get64(end - SC_ZIP_LOCATOR_BYTES + 8), out));
    } else {
        if (get16(end + 4) != 0 || get16(end + 6) != 0 || get16(end + 8) != get16(end + 10))
            return sc_fail(ctx, SC_ERR_UNSUPPORTED, NULL, "the zip archive is split over disks");
        *out = (sc_zip_directory){get16(end + 10), get32(end + 12), get32(end + 16), end_offset};
    }
    if (out->end > end_offset || out->offset > out->end || out->bytes > out->end - out->offset)
        return fail_corrupt(ctx, "the zip directory lies outside the file");
    if (out->count > ctx->limits.zip_entry_max)
        return sc_fail(ctx, SC_ERR_LIMIT, NULL, "%llu entries are too many for a zip archive",
                       (unsigned long long)out->count);
    if (out->count > out->bytes / SC_ZIP_CENTRAL_BYTES)
        return fail_corrupt(ctx, "the zip directory is shorter than its entries");
    return SC_OK;
}

static sc_status find_directory(sc_ctx *ctx, sc_extent archive, sc_zip_directory *out) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    size_t bytes = (size_t)sc_min_u64(archive.size,
                                      SC_ZIP_END_BYTES + SC_ZIP_LOCATOR_BYTES + COMMENT_BYTES_MAX);
    uint8_t *tail = sc_arena_alloc(ctx->scratch, bytes);
    sc_status status = sc_extent_read(ctx, archive, archive.size - bytes, tail, bytes);
    if (status == SC_OK) status = read_end(ctx, archive, tail, bytes, out);
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}

// --- The central directory -----------------------------------------------------------------------

typedef struct cursor {
    const uint8_t *at, *end;
} cursor;

// Takes one 64-bit value of the zip64 field, if the 32-bit field is all ones.
static bool take64(cursor *extra, uint64_t *field) {
    if (*field != UINT32_MAX) return true;
    if (extra->end - extra->at < 8) return false;
    *field = get64(extra->at);
    extra->at += 8;
    return true;
}

static bool read_zip64(cursor extra, sc_zip_entry *entry, uint64_t *local_offset) {
    while (extra.end - extra.at >= 4) {
        uint32_t id = get16(extra.at), bytes = get16(extra.at + 2);
        extra.at += 4;
        if ((ptrdiff_t)bytes > extra.end - extra.at) return false;
        if (id == SC_ZIP_EXTRA_ZIP64) {
            cursor field = {extra.at, extra.at + bytes};
            return take64(&field, &entry->size) && take64(&field, &entry->stored_size) &&
                   take64(&field, local_offset);
        }
        extra.at += bytes;
    }
    // Without the field the value itself is all ones.
    return true;
}

typedef struct locals {
    uint64_t offset;  // offset of the local header
    uint32_t index;   // index of the entry
} locals;

static sc_status read_central(sc_ctx *ctx, cursor *at, sc_zip_entry *entry,
                              uint64_t *local_offset) {
    const uint8_t *record = at->at;
    if (at->end - record < SC_ZIP_CENTRAL_BYTES || get32(record) != SC_ZIP_CENTRAL)
        return fail_corrupt(ctx, "the zip directory is damaged");
    uint32_t name_bytes = get16(record + 28), extra_bytes = get16(record + 30);
    uint32_t total = SC_ZIP_CENTRAL_BYTES + name_bytes + extra_bytes + get16(record + 32);
    if (total > (size_t)(at->end - record))
        return fail_corrupt(ctx, "an entry reaches beyond the zip directory");
    at->at += total;
    *entry = (sc_zip_entry){
        .name = {(const char *)record + SC_ZIP_CENTRAL_BYTES, name_bytes},
        .method = get16(record + 10),
        .crc32 = get32(record + 16),
        .stored_size = get32(record + 20),
        .size = get32(record + 24),
    };
    *local_offset = get32(record + 42);
    if (get16(record + 8) & FLAG_ENCRYPTED)
        return sc_fail(ctx, SC_ERR_UNSUPPORTED,
                       "Unpack the archive and pack it again without a password.",
                       "zip entry " SC_STR_FMT " is encrypted", SC_STR_ARG(entry->name));
    const uint8_t *extra = record + SC_ZIP_CENTRAL_BYTES + name_bytes;
    if (!read_zip64((cursor){extra, extra + extra_bytes}, entry, local_offset))
        return fail_corrupt(ctx, "an entry has a damaged zip64 field");
    if (entry->method == SC_ZIP_STORED && entry->stored_size != entry->size)
        return fail_corrupt(ctx, "a stored entry has two sizes");
    return SC_OK;
}

static sc_status read_directory(sc_ctx *ctx, sc_arena *arena, sc_extent archive,
                                const sc_zip_directory *where, sc_zip *zip, locals *order) {
    sc_extent extent;
    const uint8_t *bytes;
    SC_ASSERT(sc_extent_slice(archive, where->offset, where->bytes, &extent));
    SC_TRY(sc_extent_load(ctx, arena, extent, CENTRAL_DIRECTORY_BYTES_MAX, &bytes));
    cursor at = {bytes, bytes + where->bytes};
    for (uint32_t i = 0; i < zip->count; i++) {
        SC_TRY(read_central(ctx, &at, &zip->entries[i], &order[i].offset));
        order[i].index = i;
    }
    return SC_OK;
}

// --- The local headers -----------------------------------------------------------------------

// Local headers are read in file order through one window, so many small entries take few reads.
typedef struct window {
    sc_extent archive;
    uint8_t *bytes;
    uint64_t start, size;
} window;

static sc_status look(sc_ctx *ctx, window *w, uint64_t offset, size_t bytes, const uint8_t **out) {
    SC_ASSERT(bytes <= WINDOW_BYTES);
    if (offset < w->start || offset - w->start > w->size || bytes > w->size - (offset - w->start)) {
        uint64_t size = sc_min_u64(WINDOW_BYTES, w->archive.size - offset);
        SC_TRY(sc_extent_read(ctx, w->archive, offset, w->bytes, (size_t)size));
        w->start = offset;
        w->size = size;
    }
    *out = w->bytes + (offset - w->start);
    return SC_OK;
}

// Sets the entry's extent, and `end`, the end of its data. It must not be after `limit`.
static sc_status read_local(sc_ctx *ctx, window *w, uint64_t offset, uint64_t limit,
                            sc_zip_entry *entry, uint64_t *end) {
    const uint8_t *header;
    uint64_t header_bytes = SC_ZIP_LOCAL_BYTES + entry->name.size;
    if (offset > limit || header_bytes > limit - offset)
        return fail_corrupt(ctx, "an entry lies outside the file");
    // A name has less than 64 KB. So header and name together may be larger than one window.
    SC_TRY(look(ctx, w, offset, SC_ZIP_LOCAL_BYTES, &header));
    uint32_t name_bytes = get16(header + 26), extra_bytes = get16(header + 28);
    if (get32(header) != SC_ZIP_LOCAL || get16(header + 8) != entry->method ||
        name_bytes != entry->name.size)
        return fail_corrupt(ctx, "the directory and an entry contradict each other");
    const uint8_t *name;
    SC_TRY(look(ctx, w, offset + SC_ZIP_LOCAL_BYTES, name_bytes, &name));
    if (name_bytes && memcmp(name, entry->name.data, name_bytes) != 0)
        return fail_corrupt(ctx, "the directory and an entry name different things");
    uint64_t data = offset + header_bytes + extra_bytes;
    if (data > limit || entry->stored_size > limit - data ||
        !sc_extent_slice(w->archive, data, entry->stored_size, &entry->extent))
        return fail_corrupt(ctx, "the data of an entry lies outside the file");
    *end = data + entry->stored_size;
    return SC_OK;
}

static int compare_offsets(const void *a, const void *b) {
    const locals *x = a, *y = b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static sc_status read_locals(sc_ctx *ctx, sc_extent archive, uint64_t limit, sc_zip *zip,
                             locals *order) {
    window w = {.archive = archive, .bytes = sc_arena_alloc(ctx->scratch, WINDOW_BYTES)};
    uint64_t end = 0;
    qsort(order, zip->count, sizeof(*order), compare_offsets);
    for (uint32_t i = 0; i < zip->count; i++) {
        if (order[i].offset < end) return fail_corrupt(ctx, "entries overlap");
        SC_TRY(read_local(ctx, &w, order[i].offset, limit, &zip->entries[order[i].index], &end));
    }
    return SC_OK;
}

// --- Names ---------------------------------------------------------------------------------------

static int compare_names(const void *a, const void *b) {
    const sc_zip_entry *const *x = a, *const *y = b;
    return sc_str_compare((*x)->name, (*y)->name);
}

// The index is sorted, not hashed, so that chosen names cannot make it quadratic.
static sc_status index_names(sc_ctx *ctx, sc_arena *arena, sc_zip *zip) {
    const sc_zip_entry **sorted = sc_new_array(ctx->scratch, const sc_zip_entry *, zip->count);
    for (uint32_t i = 0; i < zip->count; i++) sorted[i] = &zip->entries[i];
    qsort(sorted, zip->count, sizeof(*sorted), compare_names);
    zip->by_name = sc_new_array(arena, uint32_t, zip->count);
    for (uint32_t i = 0; i < zip->count; i++) {
        if (i > 0 && sc_str_equal(sorted[i - 1]->name, sorted[i]->name))
            return sc_fail(ctx, SC_ERR_CORRUPT, NULL, "two zip entries are named " SC_STR_FMT,
                           SC_STR_ARG(sorted[i]->name));
        zip->by_name[i] = (uint32_t)(sorted[i] - zip->entries);
    }
    return SC_OK;
}

sc_status sc_zip_open(sc_ctx *ctx, sc_arena *arena, sc_extent archive, sc_zip *out) {
    sc_zip_directory where = {0};
    *out = (sc_zip){0};
    SC_TRY(find_directory(ctx, archive, &where));
    out->count = (uint32_t)where.count;
    out->entries = sc_new_array(arena, sc_zip_entry, out->count);
    sc_mark mark = sc_arena_mark(ctx->scratch);
    locals *order = sc_new_array(ctx->scratch, locals, out->count);
    sc_status status = read_directory(ctx, arena, archive, &where, out, order);
    if (status == SC_OK) status = read_locals(ctx, archive, where.offset, out, order);
    if (status == SC_OK) status = index_names(ctx, arena, out);
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}

const sc_zip_entry *sc_zip_find(const sc_zip *zip, sc_str name) {
    uint32_t low = 0, high = zip->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const sc_zip_entry *entry = &zip->entries[zip->by_name[middle]];
        int order = sc_str_compare(entry->name, name);
        if (order == 0) return entry;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

void sc_zip_keep(sc_ctx *ctx, sc_zip *zip,
                 bool (*wanted)(const void *user, const sc_zip_entry *entry), const void *user) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    uint32_t *moved = sc_new_array(ctx->scratch, uint32_t, zip->count), count = 0, ordered = 0;
    for (uint32_t i = 0; i < zip->count; i++) {
        moved[i] = count;
        if (wanted(user, &zip->entries[i]))
            zip->entries[count++] = zip->entries[i];
        else
            moved[i] = UINT32_MAX;
    }
    for (uint32_t i = 0; i < zip->count; i++)
        if (moved[zip->by_name[i]] != UINT32_MAX) zip->by_name[ordered++] = moved[zip->by_name[i]];
    zip->count = count;
    sc_arena_rewind(ctx->scratch, mark);
}

sc_status sc_zip_extent(sc_ctx *ctx, const sc_zip_entry *entry, sc_extent *out) {
    if (entry->method != SC_ZIP_STORED)
        return sc_fail(ctx, SC_ERR_UNSUPPORTED, "Pack the archive again without compression.",
                       "zip entry " SC_STR_FMT " is compressed (method %u)",
                       SC_STR_ARG(entry->name), entry->method);
    *out = entry->extent;
    if (entry->crc32) sc_zip_know_sum(ctx, *out, entry->crc32);  // 0: PyTorch left it out
    return SC_OK;
}

sc_status sc_zip_load(sc_ctx *ctx, sc_arena *arena, const sc_zip_entry *entry, uint64_t bytes_max,
                      sc_str *out) {
    sc_extent extent;
    const uint8_t *bytes;
    SC_TRY(sc_zip_extent(ctx, entry, &extent));
    SC_TRY(sc_extent_load(ctx, arena, extent, bytes_max, &bytes));
    *out = (sc_str){(const char *)bytes, (size_t)extent.size};
    if (entry->crc32 && sc_crc32(0, bytes, out->size) != entry->crc32)
        sc_report(ctx, SC_WARNING, SC_ERR_CORRUPT, "Fetch the file again: it may be damaged.",
                  "the checksum of zip entry " SC_STR_FMT " is wrong", SC_STR_ARG(entry->name));
    return SC_OK;
}

bool sc_zip_is_compressed(const sc_zip *zip) {
    for (uint32_t i = 0; i < zip->count; i++)
        if (zip->entries[i].method != SC_ZIP_STORED) return true;
    return false;
}

sc_status sc_zip_check_compressed(sc_ctx *ctx, const sc_zip *zip) {
    uint64_t room = ctx->limits.inflated_bytes_max;
    for (uint32_t i = 0; i < zip->count; i++) {
        const sc_zip_entry *entry = &zip->entries[i];
        if (entry->method == SC_ZIP_STORED) continue;
        if (entry->method != SC_ZIP_DEFLATED)
            return sc_fail(ctx, SC_ERR_UNSUPPORTED, "Pack the archive again without compression.",
                           "zip entry " SC_STR_FMT " is compressed by method %u, not by deflate",
                           SC_STR_ARG(entry->name), entry->method);
        if (entry->size > entry->stored_size * DEFLATE_RATIO_MAX)
            return sc_fail(ctx, SC_ERR_LIMIT, "Pack the archive again without compression.",
                           "%llu bytes of zip entry " SC_STR_FMT
                           " inflate to %llu, more than %d times as many",
                           (unsigned long long)entry->stored_size, SC_STR_ARG(entry->name),
                           (unsigned long long)entry->size, DEFLATE_RATIO_MAX);
        if (entry->size > room)
            return sc_fail(ctx, SC_ERR_LIMIT, "Pack the archive again without compression.",
                           "the archive inflates to more than %llu bytes",
                           (unsigned long long)ctx->limits.inflated_bytes_max);
        room -= entry->size;
    }
    return SC_OK;
}
