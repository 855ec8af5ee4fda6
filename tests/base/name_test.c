// Interned names: same text, same pointer, however many there are.
#include "base/name.h"
#include "harness.h"

TEST(equal_names_are_one_record) {
    sc_arena arena;
    sc_arena_init(&arena);
    sc_names *names = sc_names_new(&arena);
    const sc_name *first[3000];
    for (int i = 0; i < 3000; i++)
        first[i] = sc_name_intern(names, sc_str_format(&arena, "conv_%d", i));
    for (int i = 0; i < 3000; i++) {
        const sc_name *again = sc_name_intern(names, sc_str_format(&arena, "conv_%d", i));
        if (!CHECK(again == first[i])) break;
    }
    CHECK_EQ_STR(first[42]->text, "conv_42");
    CHECK(sc_name_intern(names, SC_STR("")) == sc_name_intern(names, (sc_str){NULL, 0}));
    CHECK(sc_name_intern(names, SC_STR("a\0b")) != sc_name_intern(names, SC_STR("a\0c")));
    sc_arena_deinit(&arena);
}
