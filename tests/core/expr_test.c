// Expressions: the canonical form, ranges, evaluation, both spellings, and hostile text. Properties
// are checked on random expressions against direct evaluation.
#include "core/dim.h"
#include "harness.h"
#include "setup.h"

typedef struct fixture {
    setup setup;
    sc_exprs *exprs;
} fixture;

static void fixture_begin(fixture *f) {
    setup_begin(&f->setup);
    f->exprs = sc_exprs_new(&f->setup.arena, f->setup.ctx.names);
}

static sc_dim parse(fixture *f, const char *text) {
    sc_dim d = {0, NULL};
    CHECK_OK(sc_dim_parse(&f->setup.ctx, f->exprs, sc_str_from(text), &d));
    return d;
}

static const char *print(fixture *f, sc_dim d) {
    sc_sb sb;
    sc_sb_init(&sb, &f->setup.arena);
    sc_dim_print(&sb, d);
    return sc_sb_terminate(&sb);
}

static void set_range(fixture *f, const char *name, int64_t min, int64_t max) {
    sc_exprs_symbol(f->exprs, sc_str_from(name))->range = (sc_range){min, max};
}

TEST(expr_canonical_form) {
    static const char *const same[][2] = {
        {"s0 + s1", "s1 + s0"},
        {"2*(s0 + 1)", "2*s0 + 2"},
        {"s0*s1*s0", "s0**2*s1"},
        {"(s0 + s1)*(s0 - s1)", "s0**2 - s1**2"},
        {"s0 - s0 + 3", "3"},
        {"(2*s0 + 2)//2", "s0 + 1"},
        {"(2*s0 + 3)//2", "s0 + 1"},
        {"(s0//2)//3", "s0//6"},
        {"((s0 + 1)//2 + 1)//2", "(s0 + 3)//4"},
        {"(s0 - 1)//2 + 1", "(s0 + 1)//2"},
        {"(s0*s1)//s0", "s1"},
        {"(s0*s1 + s0)//(s1 + 1)", "s0"},
        {"(6*s0)//4", "(3*s0)//2"},
        {"Mod(4*s0 + 5, 4)", "1"},
        {"Mod(s0 + 6, 4)", "Mod(s0 + 2, 4)"},
        {"Max(s0, s1, s0)", "Max(s1, s0)"},
        {"Max(s0, s0 + 1)", "s0 + 1"},
        {"Max(1, Max(u0, 1))", "Max(u0, 1)"},
        {"u0 >= 0", "-u0 <= 0"},
        {"u0 > 5", "u0 >= 6"},
        {"2*u0 <= 7", "u0 <= 3"},
        {"Eq(2*u0, 7)", "0"},
        {"u0 < u0 + 1", "1"},
        {"Where(s0 < s0, 4, 5)", "5"},
        {"CeilDiv(s0, 2)", "(s0 + 1)//2"},
        {"TruncToInt(IntTrueDiv(4*s0, 2))", "2*s0"},
        {"FloorToInt(IntTrueDiv(s0, 2))", "s0//2"},
        {"TruncToInt(Float('1.5', precision=53)*ToFloat(2*s0))", "3*s0"},
        {"Rational(1, 2)*(2*s0)", "s0"},
        {"Pow(s0, Integer(-1))*s0*s1", "s1"},
        {"s0/2 + s0/2", "s0"},
        {"-s0**2", "-(s0*s0)"},
        {"Add(Symbol('s0', positive=True, integer=True), Integer(1))", "s0 + 1"},
        {"Mul(Integer(-1), FloorDiv(Symbol('s0', integer=True), Integer(2)))", "-(s0//2)"},
        {"ModularIndexing(s0, 2, 3)", "Mod(s0//2, 3)"},
        {"(s0 > 1) & (s0 > 1)", "s0 > 1"},
        {"-s0//2", "(-s0)//2"},
        {"7 - 2 - 1", "4"},
        {"2**3**2", "512"},
        {"-7//2", "-4"},
        {"-7 % 3", "2"},
        {"PowByNatural(s0, 2)", "s0*s0"},
        {"LShift(s0, 3)", "8*s0"},
        {"Abs(-3)", "3"},
    };
    fixture f;
    fixture_begin(&f);
    for (size_t i = 0; i < SC_COUNT_OF(same); i++) {
        sc_dim a = parse(&f, same[i][0]), b = parse(&f, same[i][1]);
        if (!sc_dim_equal(a, b))
            FAIL("%s is %s, but %s is %s", same[i][0], print(&f, a), same[i][1], print(&f, b));
    }
    setup_end(&f.setup);
}

TEST(expr_prints_canonically) {
    static const char *const texts[] = {
        "s0 + 1",         "2*s77",        "(s0//2)",
        "Mod(s0, 8)",     "Max(u0, 1)",   "s0*s1 - 2",
        "-s0 + 1",        "s0**2*s1",     "((s0 + 3)//4)",
        "(u0 >= 6)",      "Eq(u0, 4)",    "Ne(u0, 4)",
        "(u0 - u1 <= 3)", "Min(u0, u1)",  "Where((u0 <= 2), s0, s1)",
        "(2**u0)",        "3*(s0//2)*s1", "((s0*s1)//(s2 + 1))",
        "s9 + s10",
    };
    fixture f;
    fixture_begin(&f);
    for (size_t i = 0; i < SC_COUNT_OF(texts); i++) {
        const char *once = print(&f, parse(&f, texts[i]));
        CHECK_EQ_STR(print(&f, parse(&f, once)), once);
        if (i != 16)  // factors have an order of their own
            CHECK_EQ_STR(once, texts[i]);
    }
    setup_end(&f.setup);
}

TEST(expr_order_does_not_depend_on_history) {
    fixture a, b;
    fixture_begin(&a);
    fixture_begin(&b);
    parse(&b, "s5//3 + s2*s1 + Mod(s1, 7)");
    const char *text = "Mod(s1, 7) + s2*s1 + s5//3 + s1 + 4";
    CHECK_EQ_STR(print(&a, parse(&a, text)), print(&b, parse(&b, text)));
    setup_end(&a.setup);
    setup_end(&b.setup);
}

TEST(expr_ranges) {
    static const struct {
        const char *text;
        int64_t min, max;
    } cases[] = {
        {"s0 + 1", 3, 65},       {"2*s0 - s1", 4 - 10, 128 - 1},
        {"s0//2", 1, 32},        {"(s0 + 1)//4", 0, 16},
        {"Mod(s0, 8)", 0, 7},    {"Mod(u0, 8)", 0, 7},
        {"Max(s0, 10)", 10, 64}, {"Min(s0, 10)", 2, 10},
        {"s0*s1", 2, 640},       {"u1**2", 0, SC_DIM_INF},
        {"u0", 0, SC_DIM_INF},   {"-u0", SC_DIM_NEG_INF, 0},
        {"s0 <= 64", 1, 1},      {"s0 <= 1", 0, 0},
        {"s0 <= 5", 0, 1},       {"Where(s1 <= 5, s0, 1)", 1, 64},
        {"2**s1", 2, 1024},      {"0*u0", 0, 0},
    };
    fixture f;
    fixture_begin(&f);
    set_range(&f, "s0", 2, 64);
    set_range(&f, "s1", 1, 10);
    set_range(&f, "u0", 0, SC_DIM_INF);
    for (size_t i = 0; i < SC_COUNT_OF(cases); i++) {
        sc_range range = sc_dim_range(parse(&f, cases[i].text));
        if (range.min != cases[i].min || range.max != cases[i].max)
            FAIL("%s ranges over [%lld, %lld]", cases[i].text, (long long)range.min,
                 (long long)range.max);
    }
    setup_end(&f.setup);
}

TEST(expr_known_relations) {
    fixture f;
    fixture_begin(&f);
    set_range(&f, "s0", 2, 64);
    sc_dim s0 = parse(&f, "s0"), next = parse(&f, "s0 + 1");
    CHECK(sc_dim_known_equal(s0, next) == SC_TRI_FALSE);
    CHECK(sc_dim_known_le(s0, next) == SC_TRI_TRUE);
    CHECK(sc_dim_known_le(next, s0) == SC_TRI_FALSE);
    CHECK(sc_dim_known_equal(s0, sc_dim_int(5)) == SC_TRI_UNKNOWN);
    CHECK(sc_dim_known_equal(s0, sc_dim_int(1)) == SC_TRI_FALSE);
    CHECK(sc_dim_known_le(s0, sc_dim_int(64)) == SC_TRI_TRUE);
    setup_end(&f.setup);
}

TEST(expr_symbols_and_hints) {
    fixture f;
    fixture_begin(&f);
    sc_dim expr = parse(&f, "2*s0 + s1");
    int64_t hint;
    CHECK(!sc_dim_hint(expr, &hint));
    for (uint32_t i = 0; i < sc_exprs_symbol_count(f.exprs); i++) {
        sc_symbol *symbol = sc_exprs_symbol_at(f.exprs, i);
        symbol->has_hint = true;
        symbol->hint = 10 + i;
    }
    CHECK(sc_dim_hint(expr, &hint));
    CHECK_EQ_INT(hint, 31);
    CHECK(!sc_exprs_symbol(f.exprs, SC_STR("u0"))->is_fresh);
    sc_dim fresh = sc_exprs_fresh(f.exprs, (sc_range){0, 9});
    CHECK_EQ_STR(print(&f, fresh), "u1");
    CHECK(sc_dim_symbol(fresh) && !sc_dim_symbol(expr));
    CHECK_EQ_INT(sc_dim_range(fresh).max, 9);
    CHECK(sc_dim_symbol(fresh)->is_fresh);
    // Assumptions narrow ranges.
    parse(&f, "Symbol('s9', positive=True, integer=True)");
    CHECK_EQ_INT(sc_exprs_symbol(f.exprs, SC_STR("s9"))->range.min, 1);
    setup_end(&f.setup);
}

static void add_name(void *user, sc_symbol *symbol) { sc_sb_addf(user, "%s ", symbol->name->text); }

TEST(expr_symbols_and_what_is_linear_in_one) {
    static const char *const others[] = {"7", "s0 + s1", "s0*s1", "s0**2", "s0//2", "Max(s0, 3)"};
    fixture f;
    fixture_begin(&f);
    sc_symbol *symbol = NULL;
    int64_t scale = 0, offset = 0;
    CHECK(sc_dim_linear(parse(&f, "s4"), &symbol, &scale, &offset));
    CHECK(symbol == sc_dim_symbol(parse(&f, "s4")) && scale == 1 && offset == 0);
    CHECK(sc_dim_linear(parse(&f, "7 - 3*s5"), &symbol, &scale, &offset));
    CHECK(symbol == sc_dim_symbol(parse(&f, "s5")) && scale == -3 && offset == 7);
    for (size_t i = 0; i < SC_COUNT_OF(others); i++)
        CHECK(!sc_dim_linear(parse(&f, others[i]), &symbol, &scale, &offset));
    sc_sb names;
    sc_sb_init(&names, &f.setup.arena);
    sc_dim_visit_symbols(parse(&f, "Max(s0, 3*s1*s2 + 1)//(s3 + 2) - s0"), add_name, &names);
    CHECK_EQ_STR(sc_sb_terminate(&names), "s0 s0 s1 s2 s3 ");
    setup_end(&f.setup);
}

// --- Random expressions against direct evaluation ------------------------------------------------

static uint64_t random_state;

static int64_t pick(int64_t count) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((random_state >> 33) % (uint64_t)count);
}

static int64_t floordiv(int64_t a, int64_t b) {
    int64_t q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

static sc_dim grow(fixture *f, const int64_t *values, int depth, int64_t *value) {
    if (depth == 0 || pick(5) == 0) {
        if (pick(2)) {
            *value = pick(9) - 4;
            return sc_dim_int(*value);
        }
        uint32_t symbol = (uint32_t)pick(3);
        *value = values[symbol];
        return sc_dim_from_symbol(f->exprs, sc_exprs_symbol_at(f->exprs, symbol));
    }
    int64_t x, y;
    sc_dim a = grow(f, values, depth - 1, &x), b = grow(f, values, depth - 1, &y);
    switch (pick(8)) {
    case 0: *value = x + y; return sc_dim_add(f->exprs, a, b);
    case 1: *value = x - y; return sc_dim_sub(f->exprs, a, b);
    case 2: *value = x * y; return sc_dim_mul(f->exprs, a, b);
    case 3:
        b = sc_dim_int(y = pick(5) + 1);
        *value = floordiv(x, y);
        return sc_dim_floordiv(f->exprs, a, b);
    case 4:
        b = sc_dim_int(y = pick(5) + 1);
        *value = x - y * floordiv(x, y);
        return sc_dim_mod(f->exprs, a, b);
    case 5: *value = x < y ? x : y; return sc_dim_min(f->exprs, a, b);
    case 6: *value = x > y ? x : y; return sc_dim_max(f->exprs, a, b);
    default: {
        sc_cmp cmp = (sc_cmp)pick(6);
        *value = cmp == SC_CMP_EQ   ? x == y
                 : cmp == SC_CMP_NE ? x != y
                 : cmp == SC_CMP_LT ? x < y
                 : cmp == SC_CMP_LE ? x <= y
                 : cmp == SC_CMP_GT ? x > y
                                    : x >= y;
        return sc_dim_compare(f->exprs, cmp, a, b);
    }
    }
}

// The value of the tree that the emitter walks.
static int64_t run_view(fixture *f, sc_dim d, const int64_t *values) {
    sc_expr_view v = sc_dim_view(f->exprs, d);
    if (v.op == SC_EXPR_INT) return v.value;
    if (v.op == SC_EXPR_SYMBOL) return values[sc_symbol_index(v.symbol)];
    int64_t a = run_view(f, v.args[0], values), b = run_view(f, v.args[1], values);
    switch (v.op) {
    case SC_EXPR_ADD: return a + b;
    case SC_EXPR_SUB: return a - b;
    case SC_EXPR_MUL: return a * b;
    case SC_EXPR_FLOORDIV: return floordiv(a, b);
    case SC_EXPR_MOD: return a - b * floordiv(a, b);
    case SC_EXPR_MIN: return a < b ? a : b;
    case SC_EXPR_MAX: return a > b ? a : b;
    case SC_EXPR_COMPARE: return v.cmp == SC_CMP_LE ? a <= b : v.cmp == SC_CMP_EQ ? a == b : a != b;
    default: FAIL("unexpected node %d", (int)v.op); return 0;
    }
}

TEST(expr_random_trees_keep_their_value) {
    for (int round = 0; round < 2000; round++) {
        fixture f;
        fixture_begin(&f);
        int64_t values[3] = {pick(20) + 1, pick(20) + 1, pick(20) + 1}, expected;
        random_state = (uint64_t)round * 77 + 5;
        set_range(&f, "s0", 1, 20);
        set_range(&f, "s1", 1, 20);
        set_range(&f, "s2", 1, 20);
        sc_dim d = grow(&f, values, 5, &expected);
        // Trees that became symbols of their own say nothing about their parts.
        if (sc_exprs_symbol_count(f.exprs) == 3) {
            sc_range range = sc_dim_range(d);
            sc_dim again = parse(&f, print(&f, d));
            if (sc_dim_eval(f.exprs, d, values) != expected || range.min > expected ||
                range.max < expected || !sc_dim_equal(again, d) ||
                run_view(&f, d, values) != expected)
                FAIL("round %d: %s is %lld, not %lld", round, print(&f, d),
                     (long long)sc_dim_eval(f.exprs, d, values), (long long)expected);
        }
        setup_end(&f.setup);
    }
}

// --- Bounds --------------------------------------------------------------------------------------

TEST(expr_refuses_bad_text) {
    static const struct {
        const char *text;
        sc_status status;
    } cases[] = {
        {"", SC_ERR_FORMAT},
        {"s0 +", SC_ERR_FORMAT},
        {"(s0", SC_ERR_FORMAT},
        {"s0)", SC_ERR_FORMAT},
        {"Add()", SC_ERR_FORMAT},
        {"Mod(s0)", SC_ERR_FORMAT},
        {"Mod(s0, 1, 2)", SC_ERR_FORMAT},
        {"Mod(s0, 0)", SC_ERR_FORMAT},
        {"s0//0", SC_ERR_FORMAT},
        {"Symbol(s0)", SC_ERR_FORMAT},
        {"Symbol('", SC_ERR_FORMAT},
        {"s0/2", SC_ERR_UNSUPPORTED},
        {"OpaqueUnaryFn_sqrt(s0)", SC_ERR_UNSUPPORTED},
        {"Float('0.1', precision=53)*s0", SC_ERR_UNSUPPORTED},
        {"s0**(1/2)", SC_ERR_UNSUPPORTED},
        {"\x01", SC_ERR_FORMAT},
    };
    fixture f;
    fixture_begin(&f);
    sc_dim d;
    for (size_t i = 0; i < SC_COUNT_OF(cases); i++)
        if (!CHECK_STATUS(sc_dim_parse(&f.setup.ctx, f.exprs, sc_str_from(cases[i].text), &d),
                          cases[i].status))
            FAIL("text %s", cases[i].text);
    setup_end(&f.setup);
}

TEST(expr_is_bounded) {
    fixture f;
    fixture_begin(&f);
    char deep[2000];
    memset(deep, '(', sizeof deep);
    sc_dim d;
    CHECK_STATUS(sc_dim_parse(&f.setup.ctx, f.exprs, (sc_str){deep, sizeof deep}, &d),
                 SC_ERR_LIMIT);
    // Growth beyond the bounds becomes a symbol with the right range; nothing blows up.
    set_range(&f, "s0", 1, 4);
    d = parse(&f, "s0");
    for (int i = 0; i < 500; i++)
        d = sc_dim_max(
            f.exprs,
            sc_dim_mod(f.exprs, sc_dim_mul(f.exprs, d, parse(&f, "s0 + 1")), sc_dim_int(1000)),
            parse(&f, "s0"));
    CHECK(sc_dim_range(d).max <= 999 && sc_dim_range(d).min >= 0);
    d = parse(&f, "s0 + 1");
    for (int i = 0; i < 8; i++) d = sc_dim_mul(f.exprs, d, d);
    CHECK(sc_dim_range(d).max > 0);
    CHECK_EQ_INT(parse(&f, "9223372036854775807*9223372036854775807").value, SC_DIM_INF);
    CHECK_EQ_INT(parse(&f, "-99999999999999999999").value, SC_DIM_NEG_INF);
    CHECK_EQ_INT(parse(&f, "-int_oo").value, SC_DIM_NEG_INF);
    setup_end(&f.setup);
}
