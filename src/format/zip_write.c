// Writes archives of stored entries. Sizes and CRCs are known before an entry starts, so they are
// in the local headers, and no data descriptors are needed. Layouts: see zip_read.c.
#include "base/hash.h"
#include "format/zip.h"
#include "format/zip_layout.h"

enum {
    FLAG_UTF8 = 1 << 11,
    VERSION_PLAIN = 20,
    VERSION_ZIP64 = 45,
    DATE_1980 = 0x21  // the first valid date; output does not depend on the clock
};

typedef struct header {
    uint8_t bytes[80];
    uint32_t size;
} header;

static void put16(header *h, uint32_t value) {
    h->bytes[h->size++] = (uint8_t)value;
    h->bytes[h->size++] = (uint8_t)(value >> 8);
}

static void put32(header *h, uint64_t value) {
    put16(h, (uint32_t)value & 0xffff);
    put16(h, (uint32_t)(value >> 16) & 0xffff);
}

static void put64(header *h, uint64_t value) {
    put32(h, value);
    put32(h, value >> 32);
}

static bool is_big(uint64_t value) { return value >= UINT32_MAX; }

static uint64_t clip32(uint64_t value) { return sc_min_u64(value, UINT32_MAX); }

// Fields that local and central headers share, from "needed" to "size".
static void put_common(header *h, const sc_zip_record *record) {
    put16(h, is_big(record->size) || is_big(record->offset) ? VERSION_ZIP64 : VERSION_PLAIN);
    put16(h, FLAG_UTF8);
    put16(h, SC_ZIP_STORED);
    put16(h, 0);
    put16(h, DATE_1980);
    put32(h, record->crc32);
    put32(h, clip32(record->size));
    put32(h, clip32(record->size));
    put16(h, (uint32_t)record->name.size);
}

static void put_zip64(header *h, const sc_zip_record *record, bool with_offset) {
    bool size = is_big(record->size), offset = with_offset && is_big(record->offset);
    if (!size && !offset) return;
    put16(h, SC_ZIP_EXTRA_ZIP64);
    put16(h, (size ? 16 : 0) + (offset ? 8 : 0));
    if (size) {
        put64(h, record->size);
        put64(h, record->size);
    }
    if (offset) put64(h, record->offset);
}

void sc_zip_writer_init(sc_zip_writer *writer, sc_cord *out, uint32_t align) {
    SC_ASSERT(align > 0 && (align & (align - 1)) == 0 && align <= 4096);
    *writer = (sc_zip_writer){.out = out, .base = out->size, .align = align};
}

static sc_status begin_entry(sc_ctx *ctx, sc_zip_writer *writer, sc_str name, uint64_t size,
                             uint32_t crc32) {
    if (name.size > UINT16_MAX)
        return sc_fail(ctx, SC_ERR_LIMIT, "Shorten the name.", "a zip entry name is too long");
    sc_zip_record record = {
        .name = sc_str_copy(writer->out->arena, name),
        .crc32 = crc32,
        .size = size,
        .offset = writer->out->size - writer->base,
    };
    sc_vec_push(writer->out->arena, &writer->records, record);
    header zip64 = {0}, h = {0};
    put_zip64(&zip64, &record, false);
    uint64_t padding = 0, data = record.offset + SC_ZIP_LOCAL_BYTES + name.size + zip64.size;
    if (writer->align > 1) padding = sc_align_up(data + 4, writer->align) - data;
    put32(&h, SC_ZIP_LOCAL);
    put_common(&h, &record);
    put16(&h, zip64.size + (uint32_t)padding);
    sc_cord_append_copy(writer->out, h.bytes, h.size);
    sc_cord_append_copy(writer->out, name.data, name.size);
    sc_cord_append_copy(writer->out, zip64.bytes, zip64.size);
    if (padding) {
        header pad = {0};
        put16(&pad, SC_ZIP_EXTRA_PADDING);
        put16(&pad, (uint32_t)padding - 4);
        sc_cord_append_copy(writer->out, pad.bytes, pad.size);
        sc_cord_append_zeros(writer->out, padding - 4);
    }
    return SC_OK;
}

sc_status sc_zip_add_bytes(sc_ctx *ctx, sc_zip_writer *writer, sc_str name, const void *bytes,
                           size_t size) {
    SC_TRY(begin_entry(ctx, writer, name, size, sc_crc32(0, bytes, size)));
    sc_cord_append_copy(writer->out, bytes, size);
    return SC_OK;
}

sc_status sc_zip_add_extent(sc_ctx *ctx, sc_zip_writer *writer, sc_str name, sc_extent content) {
    uint32_t crc = 0;
    SC_TRY(sc_zip_sum(ctx, content, &crc));
    SC_TRY(begin_entry(ctx, writer, name, content.size, crc));
    sc_cord_append_extent(writer->out, content);
    return SC_OK;
}

static void put_central(sc_zip_writer *writer, const sc_zip_record *record) {
    header zip64 = {0}, h = {0};
    put_zip64(&zip64, record, true);
    put32(&h, SC_ZIP_CENTRAL);
    put16(&h, VERSION_ZIP64);
    put_common(&h, record);
    put16(&h, zip64.size);
    put16(&h, 0);  // comment
    put16(&h, 0);  // disk
    put16(&h, 0);
    put32(&h, 0);  // attributes
    put32(&h, clip32(record->offset));
    sc_cord_append_copy(writer->out, h.bytes, h.size);
    sc_cord_append_copy(writer->out, record->name.data, record->name.size);
    sc_cord_append_copy(writer->out, zip64.bytes, zip64.size);
}

static void put_end64(header *h, const sc_zip_directory *where) {
    put32(h, SC_ZIP_END64);
    put64(h, SC_ZIP_END64_BYTES - 12);
    put16(h, VERSION_ZIP64);
    put16(h, VERSION_ZIP64);
    put32(h, 0);
    put32(h, 0);
    put64(h, where->count);
    put64(h, where->count);
    put64(h, where->bytes);
    put64(h, where->offset);
    put32(h, SC_ZIP_LOCATOR);
    put32(h, 0);
    put64(h, where->end);
    put32(h, 1);
}

void sc_zip_finish(sc_zip_writer *writer) {
    sc_zip_directory where = {writer->records.count, 0, writer->out->size - writer->base, 0};
    for (uint32_t i = 0; i < writer->records.count; i++)
        put_central(writer, &writer->records.data[i]);
    where.end = writer->out->size - writer->base;
    where.bytes = where.end - where.offset;
    header end64 = {0}, end = {0};
    if (where.count >= UINT16_MAX || is_big(where.bytes) || is_big(where.offset))
        put_end64(&end64, &where);
    put32(&end, SC_ZIP_END);
    put32(&end, 0);  // disks
    put16(&end, (uint32_t)sc_min_u64(where.count, UINT16_MAX));
    put16(&end, (uint32_t)sc_min_u64(where.count, UINT16_MAX));
    put32(&end, clip32(where.bytes));
    put32(&end, clip32(where.offset));
    put16(&end, 0);  // comment
    sc_cord_append_copy(writer->out, end64.bytes, end64.size);
    sc_cord_append_copy(writer->out, end.bytes, end.size);
}

static sc_status check_inflated(sc_ctx *ctx, const sc_zip_entry *entry, sc_extent content) {
    uint32_t crc = 0;
    SC_TRY(sc_zip_sum(ctx, content, &crc));
    if (content.size == entry->size && crc == entry->crc32) return SC_OK;
    return sc_fail(ctx, SC_ERR_CORRUPT, "Fetch the file again: it is a damaged zip archive.",
                   "zip entry " SC_STR_FMT
                   " does not inflate to the size and checksum that it states",
                   SC_STR_ARG(entry->name));
}

sc_status sc_zip_repack(sc_ctx *ctx, const sc_zip *zip, const sc_extent *inflated, sc_cord *out) {
    sc_zip_writer writer;
    sc_zip_writer_init(&writer, out, 64);
    for (uint32_t i = 0; i < zip->count; i++) {
        const sc_zip_entry *entry = &zip->entries[i];
        sc_extent content = entry->method == SC_ZIP_STORED ? entry->extent : inflated[i];
        if (entry->method != SC_ZIP_STORED) SC_TRY(check_inflated(ctx, entry, content));
        SC_TRY(begin_entry(ctx, &writer, entry->name, entry->size, entry->crc32));
        sc_cord_append_extent(out, content);
    }
    sc_zip_finish(&writer);
    return SC_OK;
}
