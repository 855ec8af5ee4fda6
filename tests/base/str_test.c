// Text: number parsing and printing at the edges of their ranges, slicing, the builder.
#include <math.h>

#include "base/str.h"
#include "harness.h"

TEST(parse_integers_exactly) {
    int64_t i;
    uint64_t u;
    CHECK(sc_parse_i64(SC_STR("-9223372036854775808"), &i) && i == INT64_MIN);
    CHECK(sc_parse_i64(SC_STR("9223372036854775807"), &i) && i == INT64_MAX);
    CHECK(!sc_parse_i64(SC_STR("9223372036854775808"), &i));
    CHECK(!sc_parse_i64(SC_STR("-9223372036854775809"), &i));
    CHECK(sc_parse_u64(SC_STR("18446744073709551615"), &u) && u == UINT64_MAX);
    CHECK(!sc_parse_u64(SC_STR("18446744073709551616"), &u));
    CHECK(!sc_parse_u64(SC_STR(""), &u) && !sc_parse_u64(SC_STR("-1"), &u));
    CHECK(!sc_parse_i64(SC_STR("-"), &i) && !sc_parse_i64(SC_STR("1 "), &i));
    CHECK(sc_parse_i64(SC_STR("+5"), &i) && i == 5);
}

TEST(parse_floats_correctly_rounded) {
    static const struct {
        const char *text;
        double value;
    } rows[] = {
        {"0", 0.0},
        {"-0.0", -0.0},
        {"1e-05", 1e-05},
        {"-3.4028234663852886e+38", -3.4028234663852886e+38},
        {"9007199254740993", 9007199254740992.0},  // a tie, to even
        {"5e-324", 5e-324},
        {"2.2250738585072011e-308", 2.2250738585072011e-308},
        {"1e999", INFINITY},
        {".5", 0.5},
        {"5.", 5.0},
        {"Infinity", INFINITY},
        {"-inf", -INFINITY},
        {"nan", NAN},
    };
    for (size_t i = 0; i < SC_COUNT_OF(rows); i++) {
        double value;
        if (CHECK(sc_parse_f64(sc_str_from(rows[i].text), &value)))
            CHECK_SAME_FLOAT(value, rows[i].value);
    }
    static const char *const bad[] = {"",     "-",   ".",  "e5", "1e",   "1e+",
                                      "0x10", "1_0", " 1", "1 ", "infin"};
    for (size_t i = 0; i < SC_COUNT_OF(bad); i++) {
        double value;
        if (sc_parse_f64(sc_str_from(bad[i]), &value))
            FAIL("\"%s\" was taken for a number", bad[i]);
    }
}

static const char *print_f64(sc_arena *arena, double value) {
    sc_sb sb;
    sc_sb_init(&sb, arena);
    sc_sb_add_f64(&sb, value);
    return sc_sb_terminate(&sb);
}

TEST(print_floats_as_python_does) {
    sc_arena arena;
    sc_arena_init(&arena);
    CHECK_EQ_STR(print_f64(&arena, 0.1), "0.1");
    CHECK_EQ_STR(print_f64(&arena, -0.0), "-0.0");
    CHECK_EQ_STR(print_f64(&arena, 1e15), "1000000000000000.0");
    CHECK_EQ_STR(print_f64(&arena, 1e16), "1e+16");
    CHECK_EQ_STR(print_f64(&arena, 0.0001), "0.0001");
    CHECK_EQ_STR(print_f64(&arena, 0.00001), "1e-05");
    CHECK_EQ_STR(print_f64(&arena, 5e-324), "5e-324");
    CHECK_EQ_STR(print_f64(&arena, 1.0 / 3.0), "0.3333333333333333");
    CHECK_EQ_STR(print_f64(&arena, 1.7976931348623157e308), "1.7976931348623157e+308");
    CHECK_EQ_STR(print_f64(&arena, 123456.789), "123456.789");
    CHECK_EQ_STR(print_f64(&arena, -INFINITY), "-inf");
    CHECK_EQ_STR(print_f64(&arena, NAN), "nan");
    sc_arena_deinit(&arena);
}

TEST(floats_survive_printing) {
    sc_arena arena;
    sc_arena_init(&arena);
    uint64_t bits = 1;
    for (int i = 0; i < 20000; i++) {
        bits = bits * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        double value, back;
        memcpy(&value, &bits, 8);
        sc_mark mark = sc_arena_mark(&arena);
        if (isfinite(value) &&
            (!sc_parse_f64(sc_str_from(print_f64(&arena, value)), &back) || back != value))
            FAIL("%a does not survive", value);
        sc_arena_rewind(&arena, mark);
    }
    sc_arena_deinit(&arena);
}

TEST(views_compare_and_slice) {
    sc_str s = SC_STR("aten.add.Tensor");
    CHECK(sc_str_starts_with(s, "aten.") && !sc_str_starts_with(s, "aten.add.Tensors"));
    CHECK(sc_str_ends_with(s, ".Tensor") && sc_str_ends_with(s, ""));
    CHECK_EQ_INT(sc_str_find(s, '.'), 4);
    CHECK_EQ_INT(sc_str_find_last(s, '.'), 8);
    CHECK_EQ_INT(sc_str_find(s, 'x'), -1);
    CHECK(sc_str_is(sc_str_slice(s, 5, 8), "add"));
    CHECK_EQ_UINT(sc_str_slice(s, 9, 1000).size, 6);
    CHECK_EQ_UINT(sc_str_slice(s, 20, 30).size, 0);
    CHECK(sc_str_compare(SC_STR("ab"), SC_STR("abc")) < 0);
    CHECK(sc_str_compare(SC_STR("b"), SC_STR("abc")) > 0);
    CHECK(sc_str_equal((sc_str){NULL, 0}, SC_STR("")));
    CHECK(!sc_str_equal(SC_STR("a\0b"), SC_STR("a\0c")));
    CHECK(sc_str_equal_any_case(SC_STR("XNNpack_9"), SC_STR("xnnPACK_9")));
    CHECK(!sc_str_equal_any_case(SC_STR("[a"), SC_STR("{a")));
    CHECK(!sc_str_equal_any_case(SC_STR("ab"), SC_STR("abc")));
}

TEST(builder_grows) {
    sc_arena arena;
    sc_arena_init(&arena);
    sc_sb sb;
    sc_sb_init(&sb, &arena);
    for (int i = 0; i < 10000; i++) sc_sb_addf(&sb, "%d,", i);
    sc_sb_add_i64(&sb, INT64_MIN);
    CHECK(sc_str_ends_with(sc_sb_str(&sb), "9998,9999,-9223372036854775808"));
    CHECK_EQ_UINT(sb.size, 48890 + 20);
    CHECK_EQ_STR(sc_str_format(&arena, "%s-%d", "a", 5).data, "a-5");
    sc_arena_deinit(&arena);
}

TEST(sizes_have_three_digits_and_a_unit) {
    static const struct {
        uint64_t bytes;
        const char *text;
    } rows[] = {{0, "0 bytes"},
                {999, "999 bytes"},
                {1000, "1.00 KB"},
                {9994, "9.99 KB"},
                {9995, "10.0 KB"},
                {99950, "100 KB"},
                {999499, "999 KB"},
                {999500, "1.00 MB"},
                {2147483648, "2.15 GB"},
                {5370000000, "5.37 GB"},
                {UINT64_MAX, "18446744074 GB"}};
    sc_arena arena;
    sc_arena_init(&arena);
    for (size_t i = 0; i < SC_COUNT_OF(rows); i++) {
        sc_sb sb;
        sc_sb_init(&sb, &arena);
        sc_sb_add_bytes(&sb, rows[i].bytes);
        CHECK_EQ_STR(sc_sb_terminate(&sb), rows[i].text);
    }
    sc_arena_deinit(&arena);
}
