// The textual IR prints back to the same bytes (tests/ir/*.ir), every named check of the verifier
// has a graph that fails it, and edits keep names and use lists right.
#include "ir/ir.h"

#include <stdio.h>

#include "setup.h"

static const sc_print_options all = {.meta = true, .signature = true};

static sc_program *parse(setup *s, const char *text) {
    sc_program *program = NULL;
    CHECK_OK(sc_ops_init());
    if (!CHECK_OK(sc_program_parse(&s->ctx, sc_str_from(text), &program)))
        FAIL("%s", setup_message(s));
    return program;
}

static char *print(setup *s, const sc_program *program, sc_print_options options) {
    sc_sb sb;
    sc_sb_init(&sb, &s->arena);
    sc_program_print(&sb, program, options);
    return sc_sb_terminate(&sb);
}

// --- Text ----------------------------------------------------------------------------------------

TEST_CASES(ir_text_round_trips) {
    size_t count;
    const char **files = test_list("ir", ".ir", &count);
    for (size_t i = 0; i < count; i++) {
        setup s;
        size_t bytes;
        if (!test_case("%s", files[i])) continue;
        setup_begin(&s);
        const char *text = test_read(files[i], &bytes);
        sc_program *program = parse(&s, text);
        CHECK_EQ_STR(print(&s, program, all), text);
        CHECK_OK(sc_verify(&s.ctx, program));
        setup_end(&s);
    }
}

TEST_CASES(ir_text_errors_are_typed) {
    static const struct {
        const char *name, *text, *message;
    } cases[] = {
        {"nothing", "hello", "expected a method or a constant"},
        {"unknown value", "method f {\n  return %x\n}\n", "line 2: expected a value defined above"},
        {"name twice", "method f {\n  input %x: f32[]\n  input %x: f32[]\n  return\n}\n",
         "line 3: expected a name that is not taken"},
        {"bad dtype", "method f {\n  input %x: f33[]\n  return\n}\n", "expected a dtype"},
        {"negative size", "method f {\n  input %x: f32[-1]\n  return\n}\n", "not negative"},
        {"open list", "method f {\n  input %x: f32[2]\n  %a: f32[2] = aten::view(%x, [2",
         "expected ','"},
        {"missing argument",
         "method f {\n  input %x: f32[2]\n  %a: f32[2] = aten::mul.Tensor(%x)\n"
         "  return\n}\n",
         "all arguments without default"},
        {"too many arguments",
         "method f {\n  input %x: f32[2]\n"
         "  %a: f32[2] = aten::relu(%x, 1, 2)\n  return\n}\n",
         "arguments that the operator takes"},
        {"empty range", "method f {\n  symbol s0 [4, 2]\n  return\n}\n",
         "a range that is not empty"},
        {"method twice", "method f {\n  return\n}\nmethod f {\n  return\n}\n", "two methods"},
        {"deep list", "constant c = [[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]", "nested less deeply"},
        {"end in a string", "constant c = \"abc\\", "a closing quote"},
        {"lifted bytes",
         "method f {\n  input %c: f32[] constant_tensor \"c\" const f32[] 4 lifted "
         "00\n  return\n}\n",
         "the bytes of the constant"},
    };
    for (size_t i = 0; i < SC_COUNT_OF(cases); i++) {
        setup s;
        sc_program *program;
        if (!test_case("%s", cases[i].name)) continue;
        setup_begin(&s);
        CHECK_OK(sc_ops_init());
        sc_status status = sc_program_parse(&s.ctx, sc_str_from(cases[i].text), &program);
        CHECK(status == SC_ERR_FORMAT || status == SC_ERR_ARGUMENT);
        if (!strstr(setup_message(&s), cases[i].message))
            FAIL("'%s' is not in '%s'", cases[i].message, setup_message(&s));
        setup_end(&s);
    }
}

// --- Names, uses, edits --------------------------------------------------------------------------

static const char *small = "method forward {\n"
                           "  input %x: f32[2, 3]\n"
                           "  input %y: f32[2, 3]\n"
                           "  %add: f32[2, 3] = aten::add.Tensor(%x, %y)\n"
                           "  %mul: f32[2, 3] = aten::mul.Tensor(%add, %x)\n"
                           "  return %mul, %x\n"
                           "}\n";

TEST(ir_names_are_unique) {
    setup s;
    setup_begin(&s);
    sc_graph *graph = parse(&s, small)->methods.data[0]->graph;
    CHECK_EQ_STR(sc_graph_unique_name(graph, SC_STR("add"))->text, "add_1");
    CHECK_EQ_STR(sc_graph_unique_name(graph, SC_STR("add_1"))->text, "add_2");
    CHECK_EQ_STR(sc_graph_unique_name(graph, SC_STR("add_7"))->text, "add_7");
    CHECK_EQ_STR(sc_graph_unique_name(graph, SC_STR("x_1"))->text, "x_1");
    CHECK_EQ_STR(sc_graph_unique_name(graph, SC_STR("_1"))->text, "_1");
    CHECK_EQ_STR(sc_graph_unique_name(graph, SC_STR("_1"))->text, "_1_1");
    setup_end(&s);
}

TEST(ir_many_names_stay_cheap) {
    setup s;
    setup_begin(&s);
    sc_graph *graph = parse(&s, small)->methods.data[0]->graph;
    char text[24];
    for (int i = 1; i <= 20000; i++) {
        snprintf(text, sizeof(text), "add_%d", i);
        sc_graph_unique_name(graph, sc_str_from(text));
    }
    for (int i = 1; i <= 20000; i++) sc_graph_unique_name(graph, SC_STR("add"));
    CHECK_EQ_STR(sc_graph_unique_name(graph, SC_STR("add"))->text, "add_40001");
    setup_end(&s);
}

TEST(ir_uses_follow_edits) {
    setup s;
    setup_begin(&s);
    sc_program *program = parse(&s, small);
    sc_graph *graph = program->methods.data[0]->graph;
    sc_value *x = graph->inputs.data[0], *y = graph->inputs.data[1];
    sc_node *add = graph->first, *mul = graph->last;
    CHECK_EQ_UINT(x->use_count, 3);
    sc_replace_uses(x, y);
    CHECK_EQ_UINT(x->use_count, 0);
    CHECK_EQ_UINT(y->use_count, 4);
    CHECK_OK(sc_verify(&s.ctx, program));
    sc_arg_set(&mul->args[0], sc_arg_value(x));
    CHECK_EQ_UINT(add->outs[0]->use_count, 0);
    sc_node_erase(add);
    CHECK_EQ_UINT(y->use_count, 2);
    CHECK_EQ_UINT(graph->node_count, 1);
    CHECK_OK(sc_verify(&s.ctx, program));
    setup_end(&s);
}

TEST(ir_lists_may_be_made_of_their_own_items) {
    setup s;
    setup_begin(&s);
    sc_program *program = parse(&s, "method f {\n  input %a: f32[1]\n  input %b: f32[1]\n"
                                    "  %cat: f32[2] = aten::cat([%a, %b])\n  return %cat\n}\n");
    sc_graph *graph = program->methods.data[0]->graph;
    sc_arg *list = &graph->first->args[0];
    sc_arg_set(list, sc_arg_list(list->items + 1, 1));
    CHECK_EQ_UINT(graph->inputs.data[0]->use_count, 0);
    CHECK_EQ_UINT(graph->inputs.data[1]->use_count, 1);
    CHECK_OK(sc_verify(&s.ctx, program));
    setup_end(&s);
}

TEST(ir_build_fills_in_defaults) {
    setup s;
    setup_begin(&s);
    sc_program *program = parse(&s, small);
    sc_graph *graph = program->methods.data[0]->graph;
    sc_arg args[2] = {sc_arg_value(graph->inputs.data[0]), sc_arg_value(graph->inputs.data[1])};
    sc_node *node = NULL;
    REQUIRE_OK(
        sc_build(graph, graph->last, sc_op_find(SC_STR("aten::add.Tensor")), args, 2, NULL, &node));
    CHECK_EQ_STR(node->name->text, "add_1");
    CHECK(node->next == graph->last);
    CHECK_EQ_UINT(node->arg_count, 3);
    CHECK_EQ_INT(sc_node_arg(node, "alpha")->i, 1);
    CHECK(sc_spec_equal(&node->outs[0]->spec, &graph->inputs.data[0]->spec));
    CHECK_STATUS(sc_build(graph, NULL, sc_op_find(SC_STR("aten::add.Tensor")), args, 1, NULL, NULL),
                 SC_ERR_ARGUMENT);
    args[1] = sc_arg_str(SC_STR("no"));
    CHECK_STATUS(sc_build(graph, NULL, sc_op_find(SC_STR("aten::add.Tensor")), args, 2, NULL, NULL),
                 SC_ERR_ARGUMENT);
    CHECK_OK(sc_verify(&s.ctx, program));
    setup_end(&s);
}

// --- Copies and comparison -----------------------------------------------------------------------

TEST(ir_clones_are_isomorphic) {
    setup s;
    setup_begin(&s);
    sc_program *program = parse(&s, test_read("ir/cond.ir", NULL));
    sc_method *other;
    sc_graph *copy;
    sc_sb why;
    sc_sb_init(&why, &s.arena);
    REQUIRE_OK(sc_program_add_method(program, SC_STR("copy"), &other));
    REQUIRE_OK(sc_graph_clone(program->methods.data[0]->graph, other, NULL, &copy));
    if (!CHECK(sc_graph_isomorphic(program->methods.data[0]->graph, copy, &why)))
        FAIL("%s", sc_sb_terminate(&why));
    CHECK_OK(sc_verify_graph(&s.ctx, program->methods.data[0]->graph));
    setup_end(&s);
}

TEST_CASES(ir_comparison_sees_differences) {
    static const struct {
        const char *name, *a, *b;
        bool same;
    } cases[] = {
        {"order of independent nodes",
         "%a: f32[2] = aten::relu(%x)\n%b: f32[2] = aten::neg(%x)\n"
         "return %a, %b",
         "%b: f32[2] = aten::neg(%x)\n%a: f32[2] = aten::relu(%x)\nreturn %a, %b", true},
        {"swapped outputs",
         "%a: f32[2] = aten::relu(%x)\n%b: f32[2] = aten::neg(%x)\nreturn %a, %b",
         "%a: f32[2] = aten::relu(%x)\n%b: f32[2] = aten::neg(%x)\nreturn %b, %a", false},
        {"operator", "%a: f32[2] = aten::relu(%x)\nreturn %a",
         "%a: f32[2] = aten::neg(%x)\nreturn %a", false},
        {"argument", "%a: f32[2] = aten::mul.Scalar(%x, 2)\nreturn %a",
         "%a: f32[2] = aten::mul.Scalar(%x, 2.0)\nreturn %a", false},
        {"shared or not", "%a: f32[2] = aten::relu(%x)\nreturn %a, %a",
         "%a: f32[2] = aten::relu(%x)\n%b: f32[2] = aten::relu(%x)\nreturn %a, %b", false},
        {"dead node", "%a: f32[2] = aten::relu(%x)\nreturn %x", "return %x", false},
        {"type", "%a: f32[2] = aten::relu(%x)\nreturn %a", "%a: f64[2] = aten::relu(%x)\nreturn %a",
         false},
    };
    for (size_t i = 0; i < SC_COUNT_OF(cases); i++) {
        setup s;
        if (!test_case("%s", cases[i].name)) continue;
        setup_begin(&s);
        sc_program *a =
            parse(&s, test_format("method f {\ninput %%x: f32[2]\n%s\n}\n", cases[i].a));
        sc_program *b =
            parse(&s, test_format("method f {\ninput %%x: f32[2]\n%s\n}\n", cases[i].b));
        sc_sb why;
        sc_sb_init(&why, &s.arena);
        bool same = sc_graph_isomorphic(a->methods.data[0]->graph, b->methods.data[0]->graph, &why);
        CHECK_EQ_INT(same, cases[i].same);
        CHECK_EQ_INT(why.size > 0, !cases[i].same);
        setup_end(&s);
    }
}

// --- The verifier --------------------------------------------------------------------------------

static void break_names(sc_method *m) { m->graph->last->name = m->graph->first->name; }
static void break_registration(sc_method *m) {
    m->graph->last->name = sc_name_intern(m->graph->ctx->names, SC_STR("ghost"));
}
static void break_specs(sc_method *m) { m->graph->first->outs[0]->spec.dtype = 99; }
static void break_sizes(sc_method *m) { m->graph->first->outs[0]->spec.sizes[0].value = -2; }
static void break_results(sc_method *m) { m->graph->first->outs[0]->index = 3; }
static void break_result_count(sc_method *m) { m->graph->last->out_count = 0; }
static void break_order(sc_method *m) {
    sc_graph *graph = m->graph;
    sc_node *node = graph->last;
    graph->last = node->prev;
    graph->last->next = NULL;
    node->next = graph->first;
    node->prev = NULL;
    graph->first = graph->first->prev = node;
}
static void break_use_count(sc_method *m) { m->graph->inputs.data[0]->use_count++; }
static void break_use_list(sc_method *m) { m->graph->inputs.data[0]->first_use->next_use = NULL; }
static void break_attachment(sc_method *m) { m->graph->first->args[0].user = m->graph->last; }
static void break_arity(sc_method *m) { m->graph->first->arg_count = 2; }
static void break_kinds(sc_method *m) {
    sc_arg_set(&m->graph->first->args[0], sc_arg_str(SC_STR("x")));
}
static void break_nodes(sc_method *m) { m->graph->node_count = 7; }
static void break_links(sc_method *m) { m->graph->last->prev = NULL; }
static void break_inputs(sc_method *m) { m->inputs.count = 1; }
static void break_constant(sc_method *m) { m->inputs.data[0].kind = SC_INPUT_PARAMETER; }
static void break_outputs(sc_method *m) { m->outputs.count = 1; }
static void break_target(sc_method *m) { m->outputs.data[0].kind = SC_OUTPUT_BUFFER_MUTATION; }
static void break_body(sc_method *m) {
    sc_arg arg = sc_arg_graph(sc_graph_new(m, NULL, SC_STR("lost")));
    sc_arg_set(&m->graph->first->args[0], arg);
}

TEST_CASES(ir_verifier_names_what_is_broken) {
    static const struct {
        const char *name, *check;
        void (*damage)(sc_method *method);
    } cases[] = {
        {"two nodes of one name", "names", break_names},
        {"a name nobody registered", "names", break_registration},
        {"unknown dtype", "specs", break_specs},
        {"negative size", "specs", break_sizes},
        {"result at another index", "results", break_results},
        {"missing result", "results", break_result_count},
        {"use before definition", "order", break_order},
        {"wrong number of uses", "uses", break_use_count},
        {"cut use list", "uses", break_use_list},
        {"argument of another node", "uses", break_attachment},
        {"missing argument", "arity", break_arity},
        {"string for a tensor", "kinds", break_kinds},
        {"wrong number of nodes", "nodes", break_nodes},
        {"broken node list", "nodes", break_links},
        {"undescribed input", "signature", break_inputs},
        {"parameter without bytes", "signature", break_constant},
        {"undescribed output", "signature", break_outputs},
        {"write to nothing", "signature", break_target},
        {"body of another graph", "bodies", break_body},
    };
    for (size_t i = 0; i < SC_COUNT_OF(cases); i++) {
        setup s;
        if (!test_case("%s", cases[i].name)) continue;
        setup_begin(&s);
        sc_program *program = parse(&s, small);
        CHECK_OK(sc_verify(&s.ctx, program));
        cases[i].damage(program->methods.data[0]);
        CHECK_STATUS(sc_verify(&s.ctx, program), SC_ERR_INTERNAL);
        if (!strstr(setup_message(&s), test_format("check '%s'", cases[i].check)))
            FAIL("check '%s' should have failed: %s", cases[i].check, setup_message(&s));
        setup_end(&s);
    }
}
