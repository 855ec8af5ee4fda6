// Integers of 4 bits, made from bytes as they are read.
#include "base/nibbles.h"

#include <string.h>

#include "setup.h"

// In pieces that begin and end anywhere.
TEST(tables_of_4_bits_have_two_integers_a_byte) {
    static const int8_t integers[] = {-8, 7, 0, 1, -1, 5, 3, -4};
    static const uint8_t packed[] = {0x0f, 0x89, 0x7d, 0xb4};
    setup s;
    setup_begin(&s);
    const sc_extent whole = sc_extent_nibbles(
        &s.arena, sc_extent_whole(sc_source_from_memory(&s.arena, integers, sizeof integers)));
    CHECK_EQ_INT(whole.size, sizeof packed);
    for (uint64_t from = 0; from < sizeof packed; from++)
        for (uint64_t bytes = 1; from + bytes <= sizeof packed; bytes++) {
            uint8_t found[sizeof packed];
            CHECK_OK(sc_extent_read(&s.ctx, whole, from, found, (size_t)bytes));
            CHECK(memcmp(found, packed + from, (size_t)bytes) == 0);
        }
    CHECK_EQ_INT(sc_extent_nibbles(&s.arena, (sc_extent){0}).size, 0);
    setup_end(&s);
}

TEST(bytes_are_found_that_are_outside_of_a_range) {
    static int8_t integers[200000];
    setup s;
    bool is_within = false;
    setup_begin(&s);
    sc_source *source = sc_source_from_memory(&s.arena, integers, sizeof integers);
    const size_t places[] = {0, 70000, sizeof integers - 1};
    for (int slow = 0; slow < 2; slow++)
        for (size_t i = 0; i < SC_COUNT_OF(places); i++) {
            source->is_slow = slow;
            for (int value = -128; value < 128; value++) {
                integers[places[i]] = (int8_t)value;
                CHECK_OK(sc_extent_is_within(&s.ctx, sc_extent_whole(source), -8, 7, &is_within));
                CHECK(is_within == (value >= -8 && value <= 7));
            }
            integers[places[i]] = 0;
        }
    CHECK_OK(sc_extent_is_within(&s.ctx, (sc_extent){0}, 0, 0, &is_within));
    CHECK(is_within);
    setup_end(&s);
}
