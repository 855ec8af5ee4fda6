// Zip archives: what Python and PyTorch write, what we write ourselves, and damaged files.
#include "format/zip.h"

#include "base/hash.h"
#include "setup.h"

static sc_str entry_text(setup *s, const sc_zip *zip, const char *name) {
    const sc_zip_entry *entry = sc_zip_find(zip, sc_str_from(name));
    sc_extent extent;
    const uint8_t *bytes;
    if (!CHECK(entry != NULL) || !CHECK_OK(sc_zip_extent(&s->ctx, entry, &extent)) ||
        !CHECK_OK(sc_extent_load(&s->ctx, &s->arena, extent, 1 << 20, &bytes)))
        return SC_STR("?");
    CHECK_EQ_UINT(sc_crc32(0, bytes, (size_t)extent.size), entry->crc32);
    return (sc_str){(const char *)bytes, (size_t)extent.size};
}

TEST(zip_reads_stored_entries) {
    setup s;
    setup_begin(&s);
    sc_zip zip;
    REQUIRE_OK(sc_zip_open(&s.ctx, &s.arena, setup_file(&s, "data/zip/stored.zip"), &zip));
    CHECK_EQ_UINT(zip.count, 3);
    CHECK(sc_str_is(zip.entries[2].name, "dir/b\xc3\xa9.bin"));
    CHECK(sc_str_is(entry_text(&s, &zip, "a.txt"), "hello"));
    CHECK_EQ_UINT(entry_text(&s, &zip, "empty").size, 0);
    CHECK_EQ_UINT(entry_text(&s, &zip, "dir/b\xc3\xa9.bin").size, 256);
    CHECK(!sc_zip_find(&zip, SC_STR("a.tx")) && !sc_zip_find(&zip, SC_STR("zzz")));
    CHECK(!sc_zip_is_compressed(&zip));
    setup_end(&s);
}

TEST(zip_reads_what_pytorch_writes) {
    setup s;
    setup_begin(&s);
    sc_zip zip;
    REQUIRE_OK(sc_zip_open(&s.ctx, &s.arena, setup_file(&s, "data/pickle/state.pt"), &zip));
    CHECK(sc_str_is(entry_text(&s, &zip, "state/byteorder"), "little"));
    const sc_zip_entry *data = sc_zip_find(&zip, SC_STR("state/data/0"));
    REQUIRE(data != NULL);
    CHECK_EQ_UINT(data->extent.offset % 64, 0);
    CHECK_EQ_UINT(data->size, 48);
    setup_end(&s);
}

TEST(zip_warns_of_a_wrong_checksum_but_not_of_an_absent_one) {
    setup s;
    setup_begin(&s);
    sc_zip zip;
    sc_str text;
    REQUIRE_OK(sc_zip_open(&s.ctx, &s.arena, setup_file(&s, "data/zip/stored.zip"), &zip));
    sc_zip_entry entry = *sc_zip_find(&zip, SC_STR("a.txt"));
    entry.crc32 = 0;
    REQUIRE_OK(sc_zip_load(&s.ctx, &s.arena, &entry, 5, &text));
    CHECK_EQ_TEXT(text.data, text.size, "hello");
    CHECK_EQ_UINT(s.ctx.diags.count, 0);
    entry.crc32 = 1;
    REQUIRE_OK(sc_zip_load(&s.ctx, &s.arena, &entry, 5, &text));
    CHECK_EQ_STR(setup_message(&s), "the checksum of zip entry a.txt is wrong");
    CHECK_STATUS(sc_zip_load(&s.ctx, &s.arena, &entry, 4, &text), SC_ERR_LIMIT);
    setup_end(&s);
}

TEST(zip_finds_the_end_record_before_a_comment) {
    setup s;
    setup_begin(&s);
    sc_zip zip;
    REQUIRE_OK(sc_zip_open(&s.ctx, &s.arena, setup_file(&s, "data/zip/comment.zip"), &zip));
    CHECK(sc_str_is(entry_text(&s, &zip, "a.txt"), "hello"));
    REQUIRE_OK(sc_zip_open(&s.ctx, &s.arena, setup_file(&s, "data/zip/zip64.zip"), &zip));
    CHECK(sc_str_is(entry_text(&s, &zip, "a.txt"), "hello"));
    setup_end(&s);
}

TEST(zip_hands_compressed_entries_to_the_host) {
    setup s;
    setup_begin(&s);
    sc_zip zip;
    sc_extent extent;
    REQUIRE_OK(sc_zip_open(&s.ctx, &s.arena, setup_file(&s, "data/zip/deflated.zip"), &zip));
    CHECK(sc_zip_is_compressed(&zip));
    const sc_zip_entry *zeros = sc_zip_find(&zip, SC_STR("zeros"));
    REQUIRE(zeros && zeros->method == SC_ZIP_DEFLATED && zeros->size == 1000);
    CHECK(zeros->stored_size < 1000 && zeros->extent.size == zeros->stored_size);
    CHECK_STATUS(sc_zip_extent(&s.ctx, zeros, &extent), SC_ERR_UNSUPPORTED);

    sc_extent inflated[2] = {{0}, sc_extent_whole(sc_source_zeros(&s.arena, 1000))};
    sc_cord cord;
    sc_cord_init(&cord, &s.arena);
    REQUIRE_OK(sc_zip_repack(&s.ctx, &zip, inflated, &cord));
    sc_extent repacked = sc_extent_whole(sc_source_from_cord(&s.arena, &cord));
    REQUIRE_OK(sc_zip_open(&s.ctx, &s.arena, repacked, &zip));
    CHECK(sc_str_is(entry_text(&s, &zip, "a.txt"), "hello"));
    CHECK_EQ_UINT(entry_text(&s, &zip, "zeros").size, 1000);
    CHECK_EQ_UINT(sc_zip_find(&zip, SC_STR("zeros"))->extent.offset % 64, 0);
    setup_end(&s);
}

TEST(zip_bounds_what_the_host_inflates) {
    setup s;
    setup_begin(&s);
    sc_zip zip;
    REQUIRE_OK(sc_zip_open(&s.ctx, &s.arena, setup_file(&s, "data/zip/deflated.zip"), &zip));
    CHECK_OK(sc_zip_check_compressed(&s.ctx, &zip));
    sc_zip_entry *zeros = &zip.entries[1];
    s.ctx.limits.inflated_bytes_max = 999;
    CHECK_STATUS(sc_zip_check_compressed(&s.ctx, &zip), SC_ERR_LIMIT);
    s.ctx.limits.inflated_bytes_max = UINT64_MAX;
    zeros->size = 1000 * zeros->stored_size;
    CHECK_OK(sc_zip_check_compressed(&s.ctx, &zip));
    zeros->size++;
    CHECK_STATUS(sc_zip_check_compressed(&s.ctx, &zip), SC_ERR_LIMIT);
    zeros->size = UINT64_C(1) << 40;
    CHECK_STATUS(sc_zip_check_compressed(&s.ctx, &zip), SC_ERR_LIMIT);
    zeros->size = 1000;
    zeros->method = 12;
    CHECK_STATUS(sc_zip_check_compressed(&s.ctx, &zip), SC_ERR_UNSUPPORTED);
    CHECK_EQ_STR(setup_message(&s), "zip entry zeros is compressed by method 12, not by deflate");
    setup_end(&s);
}

TEST(zip_repack_wants_the_declared_size_and_crc) {
    setup s;
    setup_begin(&s);
    sc_zip zip;
    sc_cord cord;
    REQUIRE_OK(sc_zip_open(&s.ctx, &s.arena, setup_file(&s, "data/zip/deflated.zip"), &zip));
    sc_extent inflated[2] = {{0}, sc_extent_whole(sc_source_zeros(&s.arena, 999))};
    sc_cord_init(&cord, &s.arena);
    CHECK_STATUS(sc_zip_repack(&s.ctx, &zip, inflated, &cord), SC_ERR_CORRUPT);
    inflated[1] = sc_extent_whole(sc_source_zeros(&s.arena, 1000));
    zip.entries[1].crc32++;
    CHECK_STATUS(sc_zip_repack(&s.ctx, &zip, inflated, &cord), SC_ERR_CORRUPT);
    setup_end(&s);
}

// Counts the reads of an entry's source.
typedef struct counted {
    sc_source base;
    sc_source *file;
    int reads;
} counted;

static sc_status counted_read(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out,
                              size_t bytes) {
    counted *c = source->user;
    c->reads++;
    return sc_extent_read(ctx, sc_extent_whole(c->file), offset, out, bytes);
}

TEST(zip_takes_over_checksums_of_entries_that_have_one) {
    setup s;
    setup_begin(&s);
    sc_zip zip, again;
    sc_cord cord;
    sc_zip_writer writer;
    sc_extent whole;
    counted c = {.file = setup_file(&s, "data/zip/stored.zip").source};
    c.base = (sc_source){.read = counted_read, .size = c.file->size, .user = &c};
    REQUIRE_OK(sc_zip_open(&s.ctx, &s.arena, sc_extent_whole(&c.base), &zip));
    sc_zip_entry *known = &zip.entries[2], *unknown = &zip.entries[0];
    const uint32_t crc = unknown->crc32;
    known->crc32++;  // damage goes on to show
    unknown->crc32 = 0;
    c.reads = 0;
    sc_cord_init(&cord, &s.arena);
    sc_zip_writer_init(&writer, &cord, 1);
    REQUIRE_OK(sc_zip_extent(&s.ctx, known, &whole));
    CHECK_OK(sc_zip_add_extent(&s.ctx, &writer, SC_STR("known"), whole));
    CHECK_EQ_INT(c.reads, 0);
    REQUIRE_OK(sc_zip_extent(&s.ctx, unknown, &whole));
    CHECK_OK(sc_zip_add_extent(&s.ctx, &writer, SC_STR("unknown"), whole));
    CHECK(c.reads > 0);
    sc_zip_finish(&writer);
    whole = sc_extent_whole(sc_source_from_cord(&s.arena, &cord));
    REQUIRE_OK(sc_zip_open(&s.ctx, &s.arena, whole, &again));
    CHECK_EQ_UINT(again.entries[0].crc32, known->crc32);
    CHECK_EQ_UINT(again.entries[1].crc32, crc);
    setup_end(&s);
}

static void check_written(uint32_t align) {
    setup s;
    setup_begin(&s);
    sc_cord cord, part;
    sc_cord_init(&cord, &s.arena);
    sc_cord_init(&part, &s.arena);
    sc_cord_append_copy(&cord, "before", 6);  // a nested archive does not start at 0
    sc_zip_writer writer;
    sc_zip_writer_init(&writer, &cord, align);
    CHECK_OK(sc_zip_add_bytes(&s.ctx, &writer, SC_STR("a.txt"), "hello", 5));
    CHECK_OK(sc_zip_add_bytes(&s.ctx, &writer, SC_STR("empty"), "", 0));
    sc_extent zeros = sc_extent_whole(sc_source_zeros(&s.arena, 100));
    CHECK_OK(sc_zip_add_extent(&s.ctx, &writer, SC_STR("zeros"), zeros));
    sc_cord_append_copy(&part, "one", 3);
    sc_cord_append_zeros(&part, 2);
    sc_extent content = sc_extent_whole(sc_source_from_cord(&s.arena, &part));
    CHECK_OK(sc_zip_add_extent(&s.ctx, &writer, SC_STR("cord"), content));
    sc_zip_finish(&writer);

    sc_zip zip;
    sc_extent whole = sc_extent_whole(sc_source_from_cord(&s.arena, &cord)), archive;
    REQUIRE(sc_extent_slice(whole, 6, whole.size - 6, &archive));
    REQUIRE_OK(sc_zip_open(&s.ctx, &s.arena, archive, &zip));
    CHECK_EQ_UINT(zip.count, 4);
    CHECK(sc_str_is(entry_text(&s, &zip, "a.txt"), "hello"));
    CHECK_EQ_UINT(entry_text(&s, &zip, "cord").size, 5);
    CHECK_EQ_UINT(entry_text(&s, &zip, "zeros").size, 100);
    for (uint32_t i = 0; i < zip.count; i++)
        CHECK_EQ_UINT((zip.entries[i].extent.offset - 6) % align, 0);
    CHECK_EQ_UINT(s.ctx.diags.count, 0);
    setup_end(&s);
}

TEST(zip_reads_what_it_wrote) {
    check_written(1);
    check_written(64);
}

TEST(zip_writes_zip64_when_sizes_or_counts_ask_for_it) {
    setup s;
    setup_begin(&s);
    sc_extent big = sc_extent_whole(sc_source_zeros(&s.arena, UINT64_C(5) << 30));
    sc_zip_entry entries[3] = {
        {.name = SC_STR("a"), .size = 3, .stored_size = 3, .extent = {big.source, 0, 3}},
        {.name = SC_STR("b"), .size = big.size, .stored_size = big.size, .extent = big},
        {.name = SC_STR("c"), .size = 7, .stored_size = 7, .extent = {big.source, 0, 7}},
    };
    sc_zip zip = {.entries = entries, .count = 3};
    sc_cord cord;
    sc_cord_init(&cord, &s.arena);
    REQUIRE_OK(sc_zip_repack(&s.ctx, &zip, NULL, &cord));
    CHECK(cord.size > big.size);
    sc_extent archive = sc_extent_whole(sc_source_from_cord(&s.arena, &cord));
    REQUIRE_OK(sc_zip_open(&s.ctx, &s.arena, archive, &zip));
    CHECK_EQ_UINT(zip.entries[1].size, big.size);
    CHECK(zip.entries[2].extent.offset > big.size && zip.entries[2].size == 7);

    sc_zip_writer writer;
    sc_cord_init(&cord, &s.arena);
    sc_zip_writer_init(&writer, &cord, 1);
    for (int i = 0; i < 70000; i++)
        CHECK_OK(sc_zip_add_bytes(&s.ctx, &writer, sc_str_format(&s.arena, "%d", i), "", 0));
    sc_zip_finish(&writer);
    archive = sc_extent_whole(sc_source_from_cord(&s.arena, &cord));
    REQUIRE_OK(sc_zip_open(&s.ctx, &s.arena, archive, &zip));
    CHECK_EQ_UINT(zip.count, 70000);
    CHECK(sc_zip_find(&zip, SC_STR("69999")) == &zip.entries[69999]);
    s.ctx.limits.zip_entry_max = 69999;
    CHECK_STATUS(sc_zip_open(&s.ctx, &s.arena, archive, &zip), SC_ERR_LIMIT);
    setup_end(&s);
}

// The bytes of an archive, changed at one place.
static sc_status open_patched(setup *s, const char *data, size_t bytes, size_t at, int value) {
    char *copy = test_alloc(bytes);
    sc_zip zip;
    memcpy(copy, data, bytes);
    if (at < bytes) copy[at] = (char)value;
    sc_extent archive = sc_extent_whole(sc_source_from_memory(&s->arena, copy, bytes));
    return sc_zip_open(&s->ctx, &s->arena, archive, &zip);
}

TEST(zip_refuses_damaged_archives) {
    setup s;
    setup_begin(&s);
    size_t bytes;
    char *data = test_read("data/zip/stored.zip", &bytes);
    CHECK_STATUS(open_patched(&s, data, bytes, bytes, 0), SC_OK);
    for (size_t size = 0; size < bytes; size++)  // cut short anywhere
        CHECK(open_patched(&s, data, size, size, 0) != SC_OK);
    CHECK_STATUS(open_patched(&s, data, bytes, 0, 'X'), SC_ERR_CORRUPT);   // local signature
    CHECK_STATUS(open_patched(&s, data, bytes, 8, 8), SC_ERR_CORRUPT);     // local method
    CHECK_STATUS(open_patched(&s, data, bytes, 30, 'b'), SC_ERR_CORRUPT);  // local name
    size_t central = bytes - 22 - (46 + 5) - (46 + 5) - (46 + 11 + 7);
    REQUIRE(memcmp(data + central, "PK\1\2", 4) == 0);
    CHECK_STATUS(open_patched(&s, data, bytes, central, 'X'), SC_ERR_CORRUPT);
    CHECK_STATUS(open_patched(&s, data, bytes, central + 8, 1), SC_ERR_UNSUPPORTED);  // encrypted
    CHECK_STATUS(open_patched(&s, data, bytes, central + 20, 90), SC_ERR_CORRUPT);    // one size
    CHECK_STATUS(open_patched(&s, data, bytes, central + 45, 127), SC_ERR_CORRUPT);   // offset
    CHECK_STATUS(open_patched(&s, data, bytes, bytes - 12, 4), SC_ERR_UNSUPPORTED);   // count
    setup_end(&s);
}

TEST(zip_refuses_duplicate_names_and_overlaps) {
    setup s;
    setup_begin(&s);
    sc_cord cord;
    sc_cord_init(&cord, &s.arena);
    sc_zip_writer writer;
    sc_zip zip;
    sc_zip_writer_init(&writer, &cord, 1);
    CHECK_OK(sc_zip_add_bytes(&s.ctx, &writer, SC_STR("a"), "1", 1));
    CHECK_OK(sc_zip_add_bytes(&s.ctx, &writer, SC_STR("b"), "22", 2));
    CHECK_OK(sc_zip_add_bytes(&s.ctx, &writer, SC_STR("a"), "3", 1));
    sc_zip_finish(&writer);
    sc_extent archive = sc_extent_whole(sc_source_from_cord(&s.arena, &cord));
    CHECK_STATUS(sc_zip_open(&s.ctx, &s.arena, archive, &zip), SC_ERR_CORRUPT);
    CHECK_EQ_STR(setup_message(&s), "two zip entries are named a");

    // The first entry's record with a size that swallows the second entry.
    size_t bytes;
    char *data = test_read("data/zip/stored.zip", &bytes);
    size_t central = bytes - 22 - (46 + 5) - (46 + 5) - (46 + 11 + 7);
    data[central + 20] = data[central + 24] = 60;
    archive = sc_extent_whole(sc_source_from_memory(&s.arena, data, bytes));
    CHECK_STATUS(sc_zip_open(&s.ctx, &s.arena, archive, &zip), SC_ERR_CORRUPT);
    CHECK_EQ_STR(setup_message(&s), "entries overlap");
    setup_end(&s);
}
