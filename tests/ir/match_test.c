// Patterns find what passes, annotation and partitioning look for: chains and diamonds, by
// operator, trait and predicate; and refuse nodes that something outside the match needs.
#include "ir/match.h"

#include "setup.h"

static bool is_flat(const sc_node *node) { return node->outs[0]->spec.rank == 1; }

// relu(a + b), where `a` comes from a product.
static const sc_pattern_node fused_nodes[] = {
    {.name = "relu", .op = SC_OP_relu, .operands = {"sum"}},
    {.name = "sum", .op = SC_OP_add_Tensor, .operands = {"product"}},
    {.name = "product", .op = SC_OP_mm},
};
static const sc_pattern fused = {fused_nodes, SC_COUNT_OF(fused_nodes)};

// x * f(x), where x is computed and stays.
static const sc_pattern_node gate_nodes[] = {
    {.name = "gated", .op = SC_OP_mul_Tensor, .operands = {"x", "gate"}},
    {.name = "gate", .traits = SC_POINTWISE, .fits = is_flat, .operands = {"x"}},
    {.name = "x", .is_shared = true},
};
static const sc_pattern gate = {gate_nodes, SC_COUNT_OF(gate_nodes)};

typedef struct found {
    setup s;
    sc_graph *graph;
    sc_match match;
    bool matches;  // at the graph's last node
} found;

static void find(found *f, const sc_pattern *pattern, const char *body) {
    sc_program *program = NULL;
    setup_begin(&f->s);
    CHECK_OK(sc_ops_init());
    char *text = test_format("method f {\ninput %%x: f32[2, 2]\ninput %%v: f32[4]\n%s\n}\n", body);
    if (!CHECK_OK(sc_program_parse(&f->s.ctx, sc_str_from(text), &program)))
        FAIL("%s", setup_message(&f->s));
    f->graph = program->methods.data[0]->graph;
    f->matches = sc_match_at(pattern, f->graph->last, &f->match);
}

// Matches a stack of two along the last dim, and not a value that only looks like one.
TEST(a_stack_gives_what_went_into_it) {
    static const struct {
        const char *name, *body;
        int64_t dim, index;
        bool is_stack;
    } cases[] = {
        {"the last dim", "%s: f32[4, 2] = aten::cat([%a, %b], 1)", 1, 1, true},
        {"from the end", "%s: f32[4, 2] = aten::cat([%a, %b], -1)", -1, -1, true},
        {"another dim", "%s: f32[8, 1] = aten::cat([%a, %b], 0)", 0, 1, false},
        {"beyond the end", "%s: f32[4, 2] = aten::cat([%a, %b], 1)", 1, 2, false},
        {"what has the dim itself", "%s: f32[4, 3] = aten::cat([%a, %x2], 1)", 1, 0, false},
    };
    for (size_t i = 0; i < SC_COUNT_OF(cases); i++) {
        found f;
        find(&f, &fused,
             test_format("%%n: f32[4] = aten::neg(%%v)\n%%a: f32[4, 1] = aten::unsqueeze(%%v, 1)\n"
                         "%%x2: f32[4, 2] = aten::expand(%%a, [4, 2])\n"
                         "%%b: f32[4, 1] = aten::unsqueeze_copy(%%n, -1)\n%s\nreturn %%s",
                         cases[i].body));
        const sc_value *stack = f.graph->last->outs[0];
        const sc_value *made = sc_match_stacked(stack, cases[i].dim, cases[i].index);
        if (made != (cases[i].is_stack ? f.graph->first->outs[0] : NULL))
            FAIL("%s: another value", cases[i].name);
        CHECK(sc_match_made_of(made, SC_OP_neg) ==
              (cases[i].is_stack ? f.graph->inputs.data[1] : NULL));
        CHECK(!sc_match_made_of(made, SC_OP_abs));
        setup_end(&f.s);
    }
}

#define PRODUCT "%a: f32[2, 2] = aten::mm(%x, %x)\n"
#define SUM     "%b: f32[2, 2] = aten::add.Tensor(%a, %x)\n"
#define RELU    "%c: f32[2, 2] = aten::relu(%b)\n"

TEST(a_match_gives_nodes_by_name) {
    found f;
    find(&f, &fused, PRODUCT SUM RELU "return %c");
    REQUIRE(f.matches);
    CHECK(sc_match_node(&f.match, "relu") == f.graph->last);
    CHECK(sc_match_node(&f.match, "sum") == f.graph->first->next);
    CHECK(sc_match_node(&f.match, "product") == f.graph->first);
    setup_end(&f.s);
}

TEST(a_node_may_be_met_on_two_ways) {
    found f;
    find(&f, &gate,
         "%a: f32[4] = aten::neg(%v)\n%g: f32[4] = aten::sigmoid(%a)\n"
         "%m: f32[4] = aten::mul.Tensor(%a, %g)\nreturn %m, %a");
    REQUIRE(f.matches);
    CHECK_EQ_STR(sc_match_node(&f.match, "x")->name->text, "a");
    CHECK_EQ_STR(sc_match_node(&f.match, "gate")->name->text, "g");
    setup_end(&f.s);
}

TEST_CASES(patterns_refuse_what_differs) {
    static const struct {
        const char *name;
        const sc_pattern *pattern;
        const char *body;
    } cases[] = {
        {"another operator", &fused, PRODUCT SUM "%c: f32[2, 2] = aten::neg(%b)\nreturn %c"},
        {"another argument", &fused,
         PRODUCT "%b: f32[2, 2] = aten::add.Tensor(%x, %a)\n" RELU "return %c"},
        {"an input in the place of a node", &fused,
         "%b: f32[2, 2] = aten::add.Tensor(%x, %x)\n" RELU "return %c"},
        {"an inner result with another user", &fused,
         PRODUCT SUM "%d: f32[2, 2] = aten::neg(%a)\n" RELU "return %c, %d"},
        {"an inner result that is returned", &fused, PRODUCT SUM RELU "return %c, %b"},
        {"a predicate", &gate,
         "%a: f32[2, 2] = aten::neg(%x)\n%g: f32[2, 2] = aten::sigmoid(%a)\n"
         "%m: f32[2, 2] = aten::mul.Tensor(%a, %g)\nreturn %m"},
        {"a trait", &gate,
         "%a: f32[4] = aten::neg(%v)\n%g: f32[4] = aten::cumsum(%a, 0)\n"
         "%m: f32[4] = aten::mul.Tensor(%a, %g)\nreturn %m"},
        {"two nodes where one is met twice", &gate,
         "%a: f32[4] = aten::neg(%v)\n%e: f32[4] = aten::neg(%v)\n"
         "%g: f32[4] = aten::sigmoid(%e)\n"
         "%m: f32[4] = aten::mul.Tensor(%a, %g)\nreturn %m"},
        {"another result than the first", &gate,
         "split: (%p: f32[4], %a: f32[4]) = aten::split_copy.Tensor(%v, 4)\n"
         "%g: f32[4] = aten::sigmoid(%a)\n"
         "%m: f32[4] = aten::mul.Tensor(%a, %g)\nreturn %m"},
    };
    for (size_t i = 0; i < SC_COUNT_OF(cases); i++) {
        found f;
        if (!test_case("%s", cases[i].name)) continue;
        find(&f, cases[i].pattern, cases[i].body);
        CHECK(!f.matches);
        setup_end(&f.s);
    }
}
