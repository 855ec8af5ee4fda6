// Bytes stored once: equal bytes are one blob whatever they come from, different ones never are,
// also when their size and first bytes agree; keys name blobs and never two different ones.
#include "base/store.h"

#include "setup.h"

typedef struct shop {
    setup s;
    sc_store store;
} shop;

static void begin(shop *t) {
    setup_begin(&t->s);
    sc_store_init(&t->store, &t->s.arena);
}

static void end(shop *t) { setup_end(&t->s); }

// `size` bytes of `fill`, the last one `last`, in memory of their own.
static sc_extent data(shop *t, size_t size, uint8_t fill, uint8_t last) {
    uint8_t *bytes = sc_arena_alloc(&t->s.arena, size + 1);
    memset(bytes, fill, size);
    if (size) bytes[size - 1] = last;
    return sc_extent_whole(sc_source_from_memory(&t->s.arena, bytes, size));
}

static uint32_t add(shop *t, size_t size, uint8_t fill, uint8_t last, uint64_t align) {
    uint32_t blob = 0;
    CHECK_OK(sc_store_add(&t->s.ctx, &t->store, data(t, size, fill, last), align, &blob));
    return blob;
}

// Text in pieces of `step` bytes.
static const sc_cord *cord(shop *t, const char *text, size_t step) {
    sc_cord *made = sc_new(&t->s.arena, sc_cord);
    sc_cord_init(made, &t->s.arena);
    for (size_t at = 0, size = strlen(text); at < size; at += step)
        sc_cord_append_bytes(made, text + at, size - at < step ? size - at : step);
    return made;
}

static sc_status name(shop *t, const char *key, const char *tag, uint32_t blob) {
    sc_store_entry entry = {sc_str_from(key), sc_str_from(tag), blob, NULL};
    return sc_store_name(&t->s.ctx, &t->store, &entry);
}

static void check_message(shop *t, const char *part) {
    if (!strstr(setup_message(&t->s), part))
        FAIL("\"%s\" is not in \"%s\"", part, setup_message(&t->s));
}

TEST(equal_bytes_are_one_blob) {
    shop t;
    begin(&t);
    CHECK_EQ_UINT(add(&t, 100000, 1, 1, 1), 1);
    CHECK_EQ_UINT(add(&t, 100000, 1, 1, 1), 1);
    CHECK_EQ_UINT(add(&t, 100000, 1, 2, 1), 2);
    CHECK_EQ_UINT(add(&t, 100000, 1, 3, 1), 3);
    CHECK_EQ_UINT(add(&t, 100000, 1, 2, 1), 2);
    CHECK_EQ_UINT(add(&t, 100000, 1, 1, 1), 1);
    CHECK_EQ_UINT(add(&t, 100001, 1, 1, 1), 4);
    CHECK_EQ_UINT(add(&t, 3, 1, 1, 1), 5);
    CHECK_EQ_UINT(add(&t, 0, 0, 0, 1), 6);
    CHECK_EQ_UINT(add(&t, 0, 0, 0, 1), 6);
    end(&t);
}

TEST(a_cord_is_the_blob_of_the_same_bytes) {
    shop t;
    begin(&t);
    const char *text = "what a backend made of a part of the program";
    sc_extent whole = sc_extent_whole(sc_source_from_memory(&t.s.arena, text, strlen(text)));
    uint32_t first = 0, second = 0, third = 0, other = 0;
    CHECK_OK(sc_store_add_cord(&t.s.ctx, &t.store, cord(&t, text, 7), 1, &first));
    CHECK_OK(sc_store_add_cord(&t.s.ctx, &t.store, cord(&t, text, 5), 1, &second));
    CHECK_OK(sc_store_add(&t.s.ctx, &t.store, whole, 1, &third));
    CHECK_OK(sc_store_add_cord(&t.s.ctx, &t.store, cord(&t, "something else", 5), 1, &other));
    CHECK_EQ_UINT(first, 1);
    CHECK_EQ_UINT(second, 1);
    CHECK_EQ_UINT(third, 1);
    CHECK_EQ_UINT(other, 2);
    end(&t);
}

// Fails when more than the first bytes are read.
static sc_status read_first(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out,
                            size_t bytes) {
    if (offset + bytes > 32) return sc_fail(ctx, SC_ERR_IO, NULL, "gone");
    memset(out, (int)(uintptr_t)source->user, bytes);
    return SC_OK;
}

static sc_extent weight(shop *t, uint64_t size, uintptr_t fill) {
    sc_source *source = sc_new(&t->s.arena, sc_source);
    *source = (sc_source){.read = read_first, .size = size, .user = (void *)fill};
    return sc_extent_whole(source);
}

TEST(weights_are_read_only_to_compare_those_that_may_be_equal) {
    shop t;
    begin(&t);
    uint32_t blob = 0;
    sc_extent one = weight(&t, UINT64_C(1) << 40, 1);
    sc_cord twice;
    sc_cord_init(&twice, &t.s.arena);
    sc_cord_append_extent(&twice, one);
    sc_cord_append_extent(&twice, one);
    sc_cord copy = twice;
    CHECK_OK(sc_store_add(&t.s.ctx, &t.store, one, 1, &blob));
    CHECK_OK(sc_store_add(&t.s.ctx, &t.store, weight(&t, UINT64_C(1) << 40, 2), 1, &blob));
    CHECK_OK(sc_store_add(&t.s.ctx, &t.store, weight(&t, UINT64_C(1) << 39, 1), 1, &blob));
    CHECK_OK(sc_store_add(&t.s.ctx, &t.store, one, 1, &blob));
    CHECK_EQ_UINT(blob, 1);
    CHECK_OK(sc_store_add_cord(&t.s.ctx, &t.store, &twice, 1, &blob));
    CHECK_OK(sc_store_add_cord(&t.s.ctx, &t.store, &copy, 1, &blob));
    CHECK_EQ_UINT(blob, 4);
    CHECK_STATUS(sc_store_add(&t.s.ctx, &t.store, weight(&t, UINT64_C(1) << 40, 1), 1, &blob),
                 SC_ERR_IO);
    end(&t);
}

// Fails when more than first bytes and samples is read out of order.
typedef struct tape {
    const uint8_t *bytes;
    uint64_t at, read;
} tape;

static sc_status read_on(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out, size_t bytes) {
    tape *t = source->user;
    const bool is_long = bytes > 1 << 10;
    if (is_long && offset && offset != t->at) return sc_fail(ctx, SC_ERR_IO, NULL, "out of order");
    if (is_long) t->at = offset + bytes;
    t->read += bytes;
    memcpy(out, t->bytes + offset, bytes);
    return SC_OK;
}

// A matrix of 512 rows and 1024 columns whose last item is `last`, transposed.
static sc_extent transposed(shop *t, uint8_t last, tape **out) {
    enum { ROWS = 512, COLUMNS = 1024, BYTES = ROWS * COLUMNS * 4 };
    sc_extent bytes = data(t, BYTES, 1, last);
    tape *made = *out = sc_new(&t->s.arena, tape);
    made->bytes = bytes.source->memory;
    sc_source *source = sc_new(&t->s.arena, sc_source);
    *source = (sc_source){.read = read_on, .size = BYTES, .user = made};
    return sc_extent_strided(&t->s.arena, sc_extent_whole(source), 4, 2,
                             (const int64_t[]){COLUMNS, ROWS}, (const int64_t[]){1, COLUMNS}, 0);
}

TEST(what_is_permuted_alike_is_compared_as_it_lies_in_the_file) {
    shop t;
    begin(&t);
    static const uint8_t lasts[] = {1, 2, 3, 1, 3};
    tape *tapes[SC_COUNT_OF(lasts)];
    for (uint32_t i = 0; i < SC_COUNT_OF(lasts); i++) {
        uint32_t blob = 0;
        CHECK_OK(sc_store_add(&t.s.ctx, &t.store, transposed(&t, lasts[i], &tapes[i]), 1, &blob));
        CHECK_EQ_UINT(blob, lasts[i]);
    }
    end(&t);
}

// Samples tell them apart: nobody reads them whole.
TEST(many_weights_with_the_same_beginning_are_hardly_read) {
    shop t;
    begin(&t);
    tape *tapes[9];
    for (uint8_t i = 0; i < 9; i++) {
        uint32_t blob = 0;
        sc_extent weight = transposed(&t, i, &tapes[i]);
        memset((uint8_t *)(uintptr_t)tapes[i]->bytes + 70000, i, 1 << 20);
        CHECK_OK(sc_store_add(&t.s.ctx, &t.store, weight, 1, &blob));
        CHECK_EQ_UINT(blob, i + 1);
    }
    for (int i = 0; i < 9; i++) CHECK(tapes[i]->read < 1 << 18);
    end(&t);
}

TEST(a_blob_is_aligned_to_the_least_common_multiple_of_all_wishes) {
    shop t;
    begin(&t);
    uint32_t blob = add(&t, 8, 1, 1, 4);
    add(&t, 8, 1, 1, 6);
    CHECK_EQ_UINT(t.store.blobs.data[blob].align, 12);
    add(&t, 8, 1, 1, 1);
    CHECK_OK(sc_store_align(&t.s.ctx, &t.store.blobs.data[blob].align, 16));
    CHECK_EQ_UINT(t.store.blobs.data[blob].align, 48);
    sc_extent same = data(&t, 8, 1, 1);
    CHECK_STATUS(sc_store_add(&t.s.ctx, &t.store, same, 0, &blob), SC_ERR_ARGUMENT);
    CHECK_STATUS(sc_store_add(&t.s.ctx, &t.store, same, SC_STORE_ALIGN_MAX, &blob), SC_ERR_LIMIT);
    CHECK_STATUS(sc_store_add(&t.s.ctx, &t.store, same, UINT64_MAX, &blob), SC_ERR_LIMIT);
    CHECK_EQ_UINT(t.store.blobs.data[1].align, 48);
    end(&t);
}

TEST(many_keys_may_name_one_blob) {
    shop t;
    begin(&t);
    uint32_t a = add(&t, 8, 1, 1, 1), b = add(&t, 16, 1, 1, 1);
    CHECK_OK(name(&t, "first", "", a));
    CHECK_OK(name(&t, "second", "weights", b));
    CHECK_OK(name(&t, "third", "", a));
    CHECK_OK(name(&t, "first", "", a));
    CHECK_EQ_UINT(t.store.entries.count, 3);
    const sc_store_entry *found = sc_store_find(&t.store, SC_STR("second"));
    REQUIRE(found != NULL);
    CHECK_EQ_UINT(found->blob, b);
    CHECK_EQ_TEXT(found->tag.data, found->tag.size, "weights");
    CHECK(!sc_store_find(&t.store, SC_STR("fourth")));
    CHECK(!sc_store_find(&t.store, SC_STR("")));
    end(&t);
}

TEST(a_key_names_one_blob_in_one_file) {
    shop t;
    begin(&t);
    uint32_t a = add(&t, 8, 1, 1, 1), b = add(&t, 16, 1, 1, 1);
    CHECK_OK(name(&t, "w", "", a));
    CHECK_STATUS(name(&t, "w", "", b), SC_ERR_MISMATCH);
    check_message(&t, "two different blobs are named 'w', of 8 and 16 bytes");
    CHECK_STATUS(name(&t, "w", "weights", a), SC_ERR_MISMATCH);
    check_message(&t, "'w' should go into both 'the program' and 'weights'");
    CHECK_EQ_UINT(t.store.entries.count, 1);
    end(&t);
}

// Offsets that the official writer gives for the same sizes at alignment 16.
TEST(blobs_are_written_in_order_aligned_but_not_padded_at_the_end) {
    shop t;
    begin(&t);
    add(&t, 0, 0, 0, 16);
    add(&t, 8, 1, 1, 16);
    add(&t, 15, 2, 2, 16);
    add(&t, 16, 3, 3, 16);
    add(&t, 17, 4, 4, 16);
    sc_cord out;
    uint64_t offsets[6];
    const uint8_t *bytes = NULL;
    static const uint64_t wanted[] = {0, 0, 0, 16, 32, 48};
    sc_cord_init(&out, &t.s.arena);
    sc_store_write(&t.store, &out, offsets);
    CHECK_EQ_UINT(t.store.blobs.count, 6);
    for (uint32_t i = 0; i < 6; i++) CHECK_EQ_UINT(offsets[i], wanted[i]);
    CHECK_EQ_UINT(out.size, 65);
    REQUIRE_OK(sc_cord_flatten(&t.s.ctx, &out, &t.s.arena, 100, &bytes));
    for (uint32_t i = 2; i < 6; i++) CHECK_EQ_UINT(bytes[offsets[i]], i - 1);
    CHECK_EQ_UINT(bytes[8], 0);
    CHECK_EQ_UINT(bytes[64], 4);
    end(&t);
}

TEST(each_blob_is_written_at_its_own_alignment) {
    shop t;
    begin(&t);
    uint32_t blob = 0;
    add(&t, 5, 1, 1, 1);
    add(&t, 5, 2, 2, 3);
    CHECK_OK(sc_store_add_cord(&t.s.ctx, &t.store, cord(&t, "in pieces", 4), 7, &blob));
    sc_cord out;
    uint64_t offsets[4];
    const uint8_t *bytes = NULL;
    sc_cord_init(&out, &t.s.arena);
    sc_store_write(&t.store, &out, offsets);
    CHECK_EQ_UINT(offsets[1], 0);
    CHECK_EQ_UINT(offsets[2], 6);
    CHECK_EQ_UINT(offsets[3], 14);
    REQUIRE_OK(sc_cord_flatten(&t.s.ctx, &out, &t.s.arena, 100, &bytes));
    CHECK_EQ_MEM(bytes + 14, "in pieces", 9);
    end(&t);
}

static sc_status refuse(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out, size_t bytes) {
    (void)source, (void)offset, (void)out, (void)bytes;
    return sc_fail(ctx, SC_ERR_IO, NULL, "gone");
}

TEST(a_source_that_cannot_be_read_is_an_error) {
    shop t;
    begin(&t);
    sc_source source = {.read = refuse, .size = 8};
    uint32_t blob = 0;
    CHECK_STATUS(sc_store_add(&t.s.ctx, &t.store, sc_extent_whole(&source), 1, &blob), SC_ERR_IO);
    end(&t);
}

// A name stands for bytes, however two files keep them.
TEST(what_is_permuted_in_one_file_only_is_still_the_same) {
    static float rows[64 * 64], columns[64 * 64];
    static const int64_t sizes[2] = {64, 64}, strides[2] = {1, 64};
    shop t;
    uint32_t a = 0, b = 0, c = 0;
    begin(&t);
    for (int i = 0; i < 64; i++)
        for (int j = 0; j < 64; j++) rows[i * 64 + j] = columns[j * 64 + i] = (float)(i * 64 + j);
    sc_extent of_rows = sc_extent_whole(sc_source_from_memory(&t.s.arena, rows, sizeof rows));
    sc_extent transposed = sc_extent_strided(&t.s.arena, of_rows, 4, 2, sizes, strides, 0);
    sc_extent as_is = sc_extent_whole(sc_source_from_memory(&t.s.arena, columns, sizeof columns));
    CHECK_OK(sc_store_add(&t.s.ctx, &t.store, transposed, 1, &a));
    CHECK_OK(sc_store_add(&t.s.ctx, &t.store, as_is, 1, &b));
    CHECK_EQ_UINT(a, b);
    CHECK_OK(name(&t, "w", "ptd", a));
    CHECK_OK(name(&t, "w", "ptd", b));
    columns[4000]++;
    sc_extent other = sc_extent_whole(sc_source_from_memory(&t.s.arena, columns, sizeof columns));
    CHECK_OK(sc_store_add(&t.s.ctx, &t.store, other, 1, &c));
    CHECK(c != a);
    end(&t);
}
