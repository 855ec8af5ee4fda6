// Sources: derived ones answer any range as if they were in memory; ranges outside fail.
#include "setup.h"

// Not in memory, and refuses ranges outside: what a file is.
static sc_status read_guarded(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out,
                              size_t bytes) {
    (void)ctx;
    SC_ASSERT(offset <= source->size && bytes <= source->size - offset);
    memcpy(out, (const uint8_t *)source->user + offset, bytes);
    return SC_OK;
}

static sc_extent guarded(setup *s, const void *bytes, uint64_t size) {
    sc_source *source = sc_new(&s->arena, sc_source);
    *source = (sc_source){.read = read_guarded, .size = size, .user = (void *)(uintptr_t)bytes};
    return sc_extent_whole(source);
}

// Every range of `extent` against the bytes it should have.
static void check_ranges(setup *s, sc_extent extent, const void *expected, size_t size) {
    uint8_t out[256];
    CHECK_EQ_UINT(extent.size, size);
    for (size_t begin = 0; begin <= size; begin++)
        for (size_t end = begin; end <= size; end++) {
            if (!CHECK_OK(sc_extent_read(&s->ctx, extent, begin, out, end - begin))) return;
            if (!CHECK_EQ_MEM(out, (const uint8_t *)expected + begin, end - begin)) return;
        }
}

TEST(strided_source_is_the_dense_tensor) {
    setup s;
    setup_begin(&s);
    int16_t base[24];
    for (int i = 0; i < 24; i++) base[i] = (int16_t)(i * 1000);
    static const struct {
        uint32_t rank;
        int64_t sizes[3], strides[3], offset;
    } rows[] = {
        {2, {3, 4}, {1, 3}, 0},         // transposed
        {2, {4, 6}, {6, 1}, 0},         // dense
        {2, {2, 3}, {12, 2}, 1},        // every other
        {2, {3, 5}, {0, 1}, 2},         // expanded
        {3, {2, 3, 4}, {12, 4, 1}, 0},  // dense
        {3, {4, 1, 3}, {1, 99, 8}, 0},  // permuted, with a dim of one
        {0, {0}, {0}, 23},              // a number
        {2, {0, 3}, {3, 1}, 0},         // nothing
    };
    for (size_t r = 0; r < SC_COUNT_OF(rows); r++) {
        int16_t dense[64];
        size_t count = 0;
        int64_t n[3] = {1, 1, 1}, t[3] = {0, 0, 0};
        for (uint32_t d = 0; d < rows[r].rank; d++) {
            n[d] = rows[r].sizes[d];
            t[d] = rows[r].strides[d];
        }
        for (int64_t i = 0; i < n[0]; i++)
            for (int64_t j = 0; j < n[1]; j++)
                for (int64_t k = 0; k < n[2]; k++)
                    dense[count++] = base[rows[r].offset + i * t[0] + j * t[1] + k * t[2]];
        sc_source *source =
            sc_source_strided(&s.arena, guarded(&s, base, sizeof(base)), 2, rows[r].rank,
                              rows[r].sizes, rows[r].strides, rows[r].offset);
        check_ranges(&s, sc_extent_whole(source), dense, count * 2);
    }
    setup_end(&s);
}

TEST(swapped_source_reverses_items) {
    setup s;
    setup_begin(&s);
    const uint8_t bytes[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const uint8_t by4[16] = {3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12};
    const uint8_t by8[16] = {7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8};
    sc_extent base = guarded(&s, bytes, 16);
    check_ranges(&s, sc_extent_whole(sc_source_swapped(&s.arena, base, 4)), by4, 16);
    check_ranges(&s, sc_extent_whole(sc_source_swapped(&s.arena, base, 8)), by8, 16);
    check_ranges(&s, sc_extent_whole(sc_source_swapped(&s.arena, base, 1)), bytes, 16);
    setup_end(&s);
}

TEST(extents_stay_inside) {
    setup s;
    setup_begin(&s);
    char out[8];
    sc_extent part, whole = sc_extent_whole(sc_source_from_memory(&s.arena, "0123456789", 10));
    CHECK(sc_extent_slice(whole, 2, 5, &part) && part.offset == 2 && part.size == 5);
    CHECK(!sc_extent_slice(whole, 2, 9, &part));
    CHECK(!sc_extent_slice(whole, 11, 0, &part));
    CHECK(!sc_extent_slice(whole, UINT64_MAX, 2, &part));
    CHECK_STATUS(sc_extent_read(&s.ctx, whole, 5, out, 6), SC_ERR_TRUNCATED);
    CHECK_STATUS(sc_extent_read(&s.ctx, whole, UINT64_MAX, out, 6), SC_ERR_TRUNCATED);
    CHECK_OK(sc_extent_read(&s.ctx, (sc_extent){0}, 0, out, 0));
    setup_end(&s);
}

TEST(extents_load_and_hash) {
    setup s;
    setup_begin(&s);
    const uint8_t *loaded;
    uint8_t digest[32];
    char *text = test_alloc(100000);
    memset(text, 'a', 100000);
    sc_extent in_memory = sc_extent_whole(sc_source_from_memory(&s.arena, text, 100000));
    CHECK_OK(sc_extent_load(&s.ctx, &s.arena, in_memory, 100000, &loaded));
    CHECK(loaded == (const uint8_t *)text);
    sc_extent file = guarded(&s, text, 100000);
    CHECK_OK(sc_extent_load(&s.ctx, &s.arena, file, 100000, &loaded));
    CHECK_EQ_MEM(loaded, text, 100000);
    CHECK_STATUS(sc_extent_load(&s.ctx, &s.arena, file, 99999, &loaded), SC_ERR_LIMIT);
    CHECK_OK(sc_extent_sha256(&s.ctx, file, digest));
    const uint8_t head[4] = {0x6d, 0x1c, 0xf2, 0x2d};
    CHECK_EQ_MEM(digest, head, 4);
    check_ranges(&s, sc_extent_whole(sc_source_zeros(&s.arena, 9)), "\0\0\0\0\0\0\0\0", 9);
    setup_end(&s);
}
