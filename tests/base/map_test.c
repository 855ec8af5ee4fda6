// Maps keep insertion order through growth; keys may hold any byte.
#include "base/map.h"
#include "harness.h"

TEST(map_finds_what_was_added_in_order) {
    enum { COUNT = 5000 };
    sc_arena arena;
    sc_arena_init(&arena);
    sc_map map = {.arena = &arena};
    static int values[COUNT];
    CHECK(sc_map_get(&map, SC_STR("k")) == NULL);
    for (int i = 0; i < COUNT; i++)
        CHECK(sc_map_add(&map, sc_str_format(&arena, "key%d", i), &values[i]));
    for (int i = 0; i < COUNT; i++) {
        CHECK(sc_map_get(&map, sc_str_format(&arena, "key%d", i)) == &values[i]);
        CHECK(map.entries[i].value == &values[i]);
    }
    CHECK(!sc_map_add(&map, SC_STR("key7"), NULL));
    CHECK(sc_map_get(&map, SC_STR("key7")) == &values[7]);
    sc_map_set(&map, SC_STR("key7"), &values[8]);
    CHECK(sc_map_get(&map, SC_STR("key7")) == &values[8]);
    CHECK_EQ_UINT(map.count, COUNT);
    sc_arena_deinit(&arena);
}

TEST(map_takes_empty_and_binary_keys) {
    sc_arena arena;
    sc_arena_init(&arena);
    sc_map map;
    sc_map_init(&map, &arena);
    int a, b, c;
    CHECK(sc_map_add(&map, SC_STR(""), &a));
    CHECK(sc_map_add(&map, SC_STR("x\0y"), &b));
    CHECK(sc_map_add(&map, SC_STR("x\0z"), &c));
    CHECK(sc_map_get(&map, (sc_str){NULL, 0}) == &a);
    CHECK(sc_map_get(&map, SC_STR("x\0z")) == &c);
    CHECK(sc_map_add(&map, SC_STR("none"), NULL));
    CHECK(sc_map_find(&map, SC_STR("none")) && !sc_map_find(&map, SC_STR("nope")));
    sc_arena_deinit(&arena);
}

TEST(imap_takes_any_number) {
    sc_arena arena;
    sc_arena_init(&arena);
    sc_imap map;
    sc_imap_init(&map, &arena);
    CHECK(!sc_imap_find(&map, 0));
    for (uint64_t i = 0; i < 10000; i++) CHECK(sc_imap_add(&map, i << 32, i));
    CHECK(!sc_imap_add(&map, 0, 9));
    sc_imap_set(&map, UINT64_MAX, 3);
    CHECK_EQ_UINT(*sc_imap_find(&map, UINT64_C(9999) << 32), 9999);
    CHECK_EQ_UINT(*sc_imap_find(&map, UINT64_MAX), 3);
    CHECK_EQ_UINT(map.entries[5].value, 5);
    sc_arena_deinit(&arena);
}
