// Advice for names that no operator has.
#include "harness.h"
#include "ops/suggest.h"

TEST(a_name_gets_its_overloads_or_the_nearest_name) {
    static const char *const rows[][2] = {
        {"aten::add", "Write it with its overload: aten::add.Tensor, aten::add.Scalar"},
        {"aten::geluu", "Did you mean aten::gelu?"},
        {"aten::rel", "Did you mean aten::relu?"},
        {"demo::something", "`sconce operators` lists all operators."},
        {"", "`sconce operators`"},
    };
    sc_arena arena;
    sc_arena_init(&arena);
    REQUIRE_OK(sc_ops_init());
    for (size_t i = 0; i < SC_COUNT_OF(rows); i++) {
        const char *found = sc_op_suggest(&arena, sc_str_from(rows[i][0]));
        if (!strstr(found, rows[i][1])) FAIL("%s: %s", rows[i][0], found);
    }
    sc_arena_deinit(&arena);
}
