// Cords: what goes in comes out, flat, in pieces and through the source made of them.
#include "base/cord.h"
#include "setup.h"

static sc_status collect(void *user, const void *bytes, size_t size) {
    sc_sb_add(user, (sc_str){bytes, size});
    return SC_OK;
}

static void fill(setup *s, sc_cord *cord) {
    sc_cord part;
    sc_cord_init(cord, &s->arena);
    sc_cord_init(&part, &s->arena);
    sc_cord_append_copy(cord, "abc", 3);
    sc_cord_append_copy(cord, "de", 2);
    sc_cord_align(cord, 8);
    sc_cord_append_zeros(cord, 1);
    sc_source *source = sc_source_from_memory(&s->arena, "0123456789", 10);
    sc_cord_append_extent(&part, (sc_extent){source, 2, 3});
    sc_cord_append_extent(&part, (sc_extent){source, 5, 1});
    sc_cord_append_bytes(&part, "xy", 2);
    sc_cord_append_cord(cord, &part);
    sc_cord_append_extent(cord, (sc_extent){0});
}

TEST(cord_keeps_bytes_in_order) {
    setup s;
    setup_begin(&s);
    sc_cord cord;
    fill(&s, &cord);
    const char *expected = "abcde\0\0\0\0"
                           "2345xy";
    CHECK_EQ_UINT(cord.size, 15);
    CHECK_EQ_UINT(cord.chunks.count, 4);  // neighbours merge
    const uint8_t *flat;
    REQUIRE_OK(sc_cord_flatten(&s.ctx, &cord, &s.arena, 15, &flat));
    CHECK_EQ_MEM(flat, expected, 15);
    CHECK_STATUS(sc_cord_flatten(&s.ctx, &cord, &s.arena, 14, &flat), SC_ERR_LIMIT);
    sc_sb sb;
    sc_sb_init(&sb, &s.arena);
    CHECK_OK(sc_cord_write(&s.ctx, &cord, collect, &sb));
    CHECK(sb.size == 15 && memcmp(sb.data, expected, 15) == 0);
    sc_extent whole = sc_extent_whole(sc_source_from_cord(&s.arena, &cord));
    for (size_t begin = 0; begin <= 15; begin++)
        for (size_t end = begin; end <= 15; end++) {
            char out[15];
            CHECK_OK(sc_extent_read(&s.ctx, whole, begin, out, end - begin));
            CHECK_EQ_MEM(out, expected + begin, end - begin);
        }
    setup_end(&s);
}

TEST(cord_takes_the_chunks_of_a_cord) {
    setup s;
    setup_begin(&s);
    sc_cord cord;
    fill(&s, &cord);
    sc_source *whole = sc_source_from_cord(&s.arena, &cord);
    for (uint64_t begin = 0; begin < 15; begin++) {
        const char *expected = "abcde\0\0\0\0"
                               "2345xy";
        sc_cord copy;
        const uint8_t *flat;
        sc_cord_init(&copy, &s.arena);
        sc_cord_append_extent(&copy, (sc_extent){whole, begin, 15 - begin});
        REQUIRE_OK(sc_cord_flatten(&s.ctx, &copy, &s.arena, 15, &flat));
        CHECK_EQ_MEM(flat, expected + begin, 15 - begin);
        for (uint32_t i = 0; i < copy.chunks.count; i++)
            CHECK(copy.chunks.data[i].extent.source != whole);
    }
    setup_end(&s);
}

TEST(cord_writes_large_extents_in_blocks) {
    setup s;
    setup_begin(&s);
    sc_cord cord;
    sc_cord_init(&cord, &s.arena);
    sc_cord_append_zeros(&cord, (5 << 20) + 3);
    sc_cord_append_copy(&cord, "end", 3);
    sc_sb sb;
    sc_sb_init(&sb, &s.arena);
    CHECK_OK(sc_cord_write(&s.ctx, &cord, collect, &sb));
    CHECK_EQ_UINT(sb.size, (5 << 20) + 6);
    CHECK(sc_str_ends_with(sc_sb_str(&sb), "end"));
    setup_end(&s);
}

TEST(cord_gathers_small_copies) {
    setup s;
    setup_begin(&s);
    sc_cord cord;
    sc_cord_init(&cord, &s.arena);
    for (uint32_t i = 0; i < 10000; i++) sc_cord_append_copy(&cord, &i, 4);
    CHECK(cord.chunks.count <= 10);
    const uint8_t *flat;
    REQUIRE_OK(sc_cord_flatten(&s.ctx, &cord, &s.arena, 1 << 20, &flat));
    for (uint32_t i = 0; i < 10000; i++)
        if (memcmp(flat + 4 * i, &i, 4) != 0) FAIL("item %u is wrong", i);
    setup_end(&s);
}
