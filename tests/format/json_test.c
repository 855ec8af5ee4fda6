// JSON: the flat tree, exact integers, strings and escapes, limits, malformed text, and the writer.
#include <math.h>

#include "format/json.h"
#include "setup.h"

static const sc_json *parse(setup *s, const char *text) {
    const sc_json *root = NULL;
    return CHECK_OK(sc_json_parse(&s->ctx, &s->arena, sc_str_from(text), &root)) ? root : NULL;
}

TEST(json_tree_is_flat_and_walkable) {
    setup s;
    setup_begin(&s);
    const sc_json *root =
        parse(&s, " {\"a\": [1, [2, {}], 3], \"b\": {\"c\": null}, \"d\": true} ");
    REQUIRE(root && root->kind == SC_JSON_OBJECT);
    CHECK_EQ_UINT(root->size, 3);
    const sc_json *a = sc_json_get(root, "a");
    REQUIRE(a && a->kind == SC_JSON_ARRAY);
    CHECK_EQ_UINT(a->size, 3);
    const sc_json *item = sc_json_first(a);
    CHECK_EQ_INT(item->integer, 1);
    item = sc_json_next(item);
    CHECK(item->kind == SC_JSON_ARRAY && item->size == 2);
    item = sc_json_next(item);
    CHECK_EQ_INT(item->integer, 3);
    CHECK(sc_json_next(item) == sc_json_next(a));
    CHECK(sc_json_get(sc_json_get(root, "b"), "c")->kind == SC_JSON_NULL);
    bool d = false;
    CHECK(sc_json_bool(sc_json_get(root, "d"), &d) && d);
    CHECK(!sc_json_get(root, "x") && !sc_json_get(a, "x") && !sc_json_get(NULL, "x"));
    setup_end(&s);
}

TEST(json_numbers_are_exact) {
    setup s;
    setup_begin(&s);
    const sc_json *root = parse(&s, "[9223372036854775807, -9223372036854775808, "
                                    "18446744073709551615, 18446744073709551616, -0, 1.5, 1e-05, "
                                    "Infinity, -Infinity, NaN, \"Infinity\", \"x\"]");
    REQUIRE(root != NULL);
    const sc_json *v = sc_json_first(root);
    int64_t i;
    double f;
    CHECK(sc_json_i64(&v[0], &i) && i == INT64_MAX);
    CHECK(sc_json_i64(&v[1], &i) && i == INT64_MIN);
    CHECK(v[2].kind == SC_JSON_UINT && v[2].natural == UINT64_MAX && !sc_json_i64(&v[2], &i));
    CHECK(v[3].kind == SC_JSON_FLOAT && sc_json_f64(&v[3], &f) && f == 18446744073709551616.0);
    CHECK(sc_json_i64(&v[4], &i) && i == 0);
    CHECK(sc_json_f64(&v[5], &f) && f == 1.5 && !sc_json_i64(&v[5], &i));
    CHECK(sc_json_f64(&v[6], &f) && f == 1e-05);
    CHECK(sc_json_f64(&v[7], &f) && isinf(f) && f > 0);
    CHECK(sc_json_f64(&v[8], &f) && isinf(f) && f < 0);
    CHECK(sc_json_f64(&v[9], &f) && isnan(f));
    CHECK(sc_json_f64(&v[10], &f) && isinf(f));
    CHECK(!sc_json_f64(&v[11], &f) && !sc_json_f64(NULL, &f));
    setup_end(&s);
}

TEST(json_strings_are_views_until_escaped) {
    setup s;
    setup_begin(&s);
    const char *text = "[\"plain caf\xc3\xa9 text that is long\", "
                       "\"\\u00e9\\n\\\"\\/\\\\ \\ud83d\\ude00 \\u0000!\", \"\"]";
    const sc_json *root = parse(&s, text);
    REQUIRE(root != NULL);
    const sc_json *v = sc_json_first(root);
    CHECK(!v[0].escaped && sc_json_str(&s.arena, &v[0]).data == text + 2);
    CHECK(v[1].escaped);
    sc_str decoded = sc_json_str(&s.arena, &v[1]);
    const char expected[] = "\xc3\xa9\n\"/\\ \xf0\x9f\x98\x80 \0!";
    CHECK_EQ_UINT(decoded.size, sizeof(expected) - 1);
    CHECK_EQ_MEM(decoded.data, expected, sizeof(expected) - 1);
    CHECK_EQ_UINT(sc_json_str(&s.arena, &v[2]).size, 0);
    CHECK(sc_json_is_str(&v[2], "") && !sc_json_is_str(&v[1], "x"));
    setup_end(&s);
}

TEST_CASES(json_refuses_malformed_text) {
    static const char *const rows[] = {
        "",
        " ",
        "{",
        "}",
        "[",
        "]",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{\"a\" 1}",
        "{1:2}",
        "1 2",
        "[1]]",
        "nul",
        "truee",
        "+1",
        "01",
        "-",
        "1.",
        ".5",
        "1e",
        "1e+",
        "-01",
        "--1",
        "-Inf",
        "Infinit",
        "\"",
        "\"abc",
        "\"\\\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\\ud800\"",
        "\"\\ud800x\"",
        "\"\\ud800\\u0041\"",
        "\"\\udc00\"",
        "\"\n\"",
        "\"\x80\"",
        "\"\xc0\x80\"",
        "\"\xed\xa0\x80\"",
        "\"\xf4\x90\x80\x80\"",
        "\"\xe2\x82\"",
        "\"\x1f\"",
        "[1}",
        "{\"a\":1]",
        "/**/1",
        "\xef\xbb\xbf 1",
        "11111111111111111111111111111111111111111111111111111111111111111",
    };
    for (size_t i = 0; i < SC_COUNT_OF(rows); i++) {
        if (!test_case("%zu", i)) continue;
        setup s;
        setup_begin(&s);
        const sc_json *root;
        if (sc_json_parse(&s.ctx, &s.arena, sc_str_from(rows[i]), &root) == SC_OK)
            FAIL("accepted: %s", rows[i]);
        setup_end(&s);
    }
}

TEST(json_says_where_it_stopped) {
    setup s;
    setup_begin(&s);
    const sc_json *root;
    CHECK_STATUS(sc_json_parse(&s.ctx, &s.arena, SC_STR("{\"a\": [1, x]}"), &root), SC_ERR_FORMAT);
    CHECK_EQ_STR(setup_message(&s), "JSON, byte 10: expected a value");
    setup_end(&s);
}

TEST(json_keeps_within_limits) {
    setup s;
    setup_begin(&s);
    const sc_json *root;
    char deep[514];
    memset(deep, '[', 257);
    memset(deep + 257, ']', 257);
    CHECK_STATUS(sc_json_parse(&s.ctx, &s.arena, (sc_str){deep, 514}, &root), SC_ERR_LIMIT);
    CHECK_OK(sc_json_parse(&s.ctx, &s.arena, (sc_str){deep + 1, 512}, &root));
    s.ctx.limits.json_string_bytes_max = 3;
    CHECK_STATUS(sc_json_parse(&s.ctx, &s.arena, SC_STR("\"abcd\""), &root), SC_ERR_LIMIT);
    s.ctx.limits.json_bytes_max = 3;
    CHECK_STATUS(sc_json_parse(&s.ctx, &s.arena, SC_STR("1234"), &root), SC_ERR_LIMIT);
    setup_end(&s);
}

TEST(json_picks_fields_in_any_order) {
    setup s;
    setup_begin(&s);
    sc_json_field f[] = {{.name = "x"}, {.name = "y"}, {.name = "z"}};
    const sc_json *root = parse(&s, "{\"z\": 3, \"other\": {}, \"x\": 1, \"y\": null}");
    REQUIRE_OK(sc_json_pick(&s.ctx, root, "point", f, 3));
    CHECK(f[0].value && f[0].value->integer == 1 && !f[1].value && f[2].value->integer == 3);
    root = parse(&s, "{\"x\": 1, \"x\": 2}");
    CHECK_STATUS(sc_json_pick(&s.ctx, root, "point", f, 3), SC_ERR_FORMAT);
    CHECK_EQ_STR(setup_message(&s), "point has two fields \"x\"");
    CHECK_STATUS(sc_json_pick(&s.ctx, parse(&s, "[]"), "point", f, 3), SC_ERR_FORMAT);
    sc_str tag;
    const sc_json *value;
    REQUIRE_OK(sc_json_union(&s.ctx, parse(&s, "{\"as_int\": 5}"), "argument", &tag, &value));
    CHECK(sc_str_is(tag, "as_int") && value->integer == 5);
    CHECK_STATUS(sc_json_union(&s.ctx, root, "argument", &tag, &value), SC_ERR_FORMAT);
    CHECK_STATUS(sc_json_union(&s.ctx, parse(&s, "{}"), "argument", &tag, &value), SC_ERR_FORMAT);
    setup_end(&s);
}

static const char *write_sample(setup *s, sc_json_style style) {
    sc_sb sb;
    sc_json_writer w;
    sc_sb_init(&sb, &s->arena);
    sc_json_writer_init(&w, &sb, style);
    sc_json_begin_object(&w);
    sc_json_key(&w, "list");
    sc_json_begin_array(&w);
    sc_json_add_i64(&w, INT64_MIN);
    sc_json_add_u64(&w, UINT64_MAX);
    sc_json_add_f64(&w, 1e-05);
    sc_json_add_f64(&w, -INFINITY);
    sc_json_add_null(&w);
    sc_json_end_array(&w);
    sc_json_key(&w, "empty");
    sc_json_begin_object(&w);
    sc_json_end_object(&w);
    sc_json_key(&w, "text");
    sc_json_add_str(&w, SC_STR("caf\xc3\xa9\n\"\\\x01\x7f \xf0\x9f\x98\x80 \xff\xc3"));
    sc_json_key(&w, "yes");
    sc_json_add_bool(&w, true);
    sc_json_end_object(&w);
    return sc_sb_terminate(&sb);
}

TEST(json_writes_three_styles) {
    setup s;
    setup_begin(&s);
    CHECK_EQ_STR(write_sample(&s, SC_JSON_COMPACT),
                 "{\"list\":[-9223372036854775808,18446744073709551615,1e-05,\"-Infinity\",null],"
                 "\"empty\":{},\"text\":\"caf\xc3\xa9\\n\\\"\\\\\\u0001\x7f \xf0\x9f\x98\x80 "
                 "\xef\xbf\xbd\xef\xbf\xbd\",\"yes\":true}");
    CHECK_EQ_STR(
        write_sample(&s, SC_JSON_PYTHON),
        "{\"list\": [-9223372036854775808, 18446744073709551615, 1e-05, \"-Infinity\", "
        "null], \"empty\": {}, \"text\": \"caf\\u00e9\\n\\\"\\\\\\u0001\\u007f \\ud83d\\ude00 "
        "\\ufffd\\ufffd\", \"yes\": true}");
    CHECK_EQ_STR(write_sample(&s, SC_JSON_PRETTY),
                 "{\n  \"list\": [\n    -9223372036854775808,\n    18446744073709551615,\n"
                 "    1e-05,\n    \"-Infinity\",\n    null\n  ],\n  \"empty\": {},\n"
                 "  \"text\": \"caf\xc3\xa9\\n\\\"\\\\\\u0001\x7f \xf0\x9f\x98\x80 "
                 "\xef\xbf\xbd\xef\xbf\xbd\",\n  \"yes\": true\n}");
    CHECK(parse(&s, write_sample(&s, SC_JSON_COMPACT)) != NULL);
    CHECK(parse(&s, write_sample(&s, SC_JSON_PRETTY)) != NULL);
    setup_end(&s);
}
