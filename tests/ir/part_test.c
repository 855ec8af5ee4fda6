// Delegated parts in the IR: what copies share, what the builder derives, what comparison and the
// verifier see, what the text refuses. The text itself is in tests/ir/part.ir, files in tests/emit.
#include "ir/part.h"

#include "setup.h"

static const char *const wrapper = "method f {\n"
                                   "symbol s0 [1, 8]\n"
                                   "input %%x: f32[s0]\n"
                                   "%%y: f32[s0] = higher_order::executorch_call_delegate(\n"
                                   "part p \"TestBackend\" {\n%s}, [%%x])\n"
                                   "return %%y\n}\n";

static const char *const plain = "input %a: f32[s0]\n%b: f32[s0] = aten::neg(%a)\nreturn %b\n";

// A method that calls a part with this body.
static sc_program *parse(setup *s, const char *body) {
    sc_program *program = NULL;
    CHECK_OK(sc_ops_init());
    char *text = test_format(wrapper, body);
    if (!CHECK_OK(sc_program_parse(&s->ctx, sc_str_from(text), &program)))
        FAIL("%s", setup_message(s));
    return program;
}

static sc_graph *graph_of(const sc_program *program) { return program->methods.data[0]->graph; }

static const sc_part *part_of(const sc_program *program) {
    return sc_node_part(graph_of(program)->first);
}

// --- Copies --------------------------------------------------------------------------------------

TEST(versions_of_a_program_share_parts) {
    setup s;
    setup_begin(&s);
    sc_program *program = parse(&s, plain), *copy = NULL;
    REQUIRE_OK(sc_program_clone(program, &copy));
    CHECK(part_of(copy) == part_of(program));
    CHECK_OK(sc_verify(&s.ctx, copy));
    setup_end(&s);
}

TEST(a_method_with_other_symbols_gets_parts_of_its_own) {
    setup s;
    setup_begin(&s);
    sc_program *program =
        parse(&s, "processed \"abc\"\ninput %a: f32[s0]\n%b: f32[s0] = aten::neg(%a)\nreturn %b\n");
    sc_method *other = NULL;
    REQUIRE_OK(sc_program_add_method(program, SC_STR("other"), &other));
    REQUIRE_OK(sc_graph_clone(graph_of(program), other, NULL, &other->graph));
    other->inputs = program->methods.data[0]->inputs;
    other->outputs = program->methods.data[0]->outputs;
    const sc_part *part = sc_node_part(other->graph->first);
    CHECK(part != part_of(program));
    CHECK(part->processed == part_of(program)->processed);
    CHECK(sc_graph_isomorphic(graph_of(program), other->graph, NULL));
    CHECK_OK(sc_verify(&s.ctx, program));
    setup_end(&s);
}

// --- Building ------------------------------------------------------------------------------------

// The work of lowering to a backend: the part is made, filled, and called.
TEST(a_call_returns_what_its_part_does) {
    setup s;
    setup_begin(&s);
    sc_program *program = parse(&s, plain);
    sc_graph *graph = graph_of(program);
    sc_part *part = sc_part_new(program->methods.data[0], SC_STR("lowered_module_0"));
    part->backend = SC_STR("TestBackend");
    sc_graph *inner = part->method->graph;
    sc_value *a = sc_graph_add_input(inner, SC_STR("a"), SC_VALUE_TENSOR);
    a->spec = graph->inputs.data[0]->spec;
    sc_arg size[] = {sc_arg_value(a), sc_arg_int(0)};
    sc_node *neg = NULL, *count = NULL, *call = NULL;
    REQUIRE_OK(sc_build(inner, NULL, sc_op_find(SC_STR("aten::neg")), size, 1, NULL, &neg));
    REQUIRE_OK(
        sc_build(inner, NULL, sc_op_find(SC_STR("aten::sym_size.int")), size, 2, NULL, &count));
    sc_arg outputs[] = {sc_arg_value(neg->outs[0]), sc_arg_value(count->outs[0])};
    sc_graph_set_outputs(inner, outputs, 2);
    sc_vec_push(&s.arena, &part->method->inputs, (sc_input_sig){.kind = SC_INPUT_USER});
    for (int i = 0; i < 2; i++)
        sc_vec_push(&s.arena, &part->method->outputs, (sc_output_sig){.kind = SC_OUTPUT_USER});
    sc_arg operand = sc_arg_value(graph->inputs.data[0]);
    sc_arg args[] = {sc_arg_part(part), sc_arg_list(&operand, 1)};
    const sc_op *op = graph->first->op;
    REQUIRE_OK(sc_build(graph, NULL, op, args, 2, NULL, &call));
    REQUIRE(call->out_count == 2);
    CHECK_EQ_STR(call->outs[0]->name->text, "executorch_call_delegate_0");
    CHECK(sc_spec_equal(&call->outs[0]->spec, &graph->inputs.data[0]->spec));
    CHECK_EQ_INT(call->outs[1]->type, SC_VALUE_INT);
    CHECK(sc_dim_equal(call->outs[1]->dim, graph->inputs.data[0]->spec.sizes[0]));
    CHECK(!sc_node_has_effect(call));
    CHECK_OK(sc_node_infer(call));
    CHECK_OK(sc_verify(&s.ctx, program));
    args[0] = sc_arg_graph(inner);
    CHECK_STATUS(sc_build(graph, NULL, op, args, 2, NULL, NULL), SC_ERR_ARGUMENT);
    setup_end(&s);
}

TEST(a_part_with_state_has_an_effect) {
    setup s;
    setup_begin(&s);
    sc_program *program = parse(&s, "input %k: f32[1] buffer \"k\" persistent const f32[1] 4\n"
                                    "input %a: f32[s0]\n"
                                    "%n: f32[1] = aten::neg(%k)\n"
                                    "return %n buffer_mutation \"k\", %a\n");
    CHECK_OK(sc_verify(&s.ctx, program));
    CHECK(sc_node_has_effect(graph_of(program)->first));
    CHECK(!sc_node_has_effect(graph_of(parse(&s, plain))->first));
    setup_end(&s);
}

// --- Comparison ----------------------------------------------------------------------------------

TEST_CASES(comparison_looks_into_parts) {
    static const struct {
        const char *name, *a, *b;
        bool same;
    } cases[] = {
        {"pieces of equal bytes", "processed \"abc\"", "processed \"a\" \"bc\"", true},
        {"bytes", "processed \"abc\"", "processed \"abd\"", false},
        {"number of bytes", "processed \"abc\"", "processed zeros 1", false},
        {"compile spec", "spec \"k\" \"1\"", "spec \"k\" \"2\"", false},
        {"number of compile specs", "spec \"k\" \"1\"", "", false},
        {"no events", "events", "", false},
        {"an event by number", "events 1 [2]", "events 2 [2]", false},
        {"an event by name", "events \"a\" [2]", "events \"b\" [2]", false},
        {"handles of an event", "events 1 [2]", "events 1 [3]", false},
        {"data", "data \"d\" align 4 \"1\"", "data \"d\" align 4 \"2\"", false},
        {"a name of data", "data \"d\" align 4", "data \"e\" align 4", false},
        {"a file of data", "data \"d\" align 4 file \"x\"", "data \"d\" align 4", false},
        {"an alignment of data", "data \"d\" align 4", "data \"d\" align 8", false},
    };
    for (size_t i = 0; i < SC_COUNT_OF(cases); i++) {
        setup s;
        if (!test_case("%s", cases[i].name)) continue;
        setup_begin(&s);
        char *first = test_format("%s\n%s", cases[i].a, plain);
        char *second = test_format("%s\n%s", cases[i].b, plain);
        sc_program *a = parse(&s, first), *b = parse(&s, second);
        CHECK_EQ_INT(sc_graph_isomorphic(graph_of(a), graph_of(b), NULL), cases[i].same);
        setup_end(&s);
    }
}

TEST(comparison_sees_another_body) {
    setup s;
    setup_begin(&s);
    sc_program *a = parse(&s, plain);
    sc_program *b = parse(&s, "input %a: f32[s0]\n%b: f32[s0] = aten::relu(%a)\nreturn %b\n");
    CHECK(!sc_graph_isomorphic(graph_of(a), graph_of(b), NULL));
    setup_end(&s);
}

// --- Layouts of named data -----------------------------------------------------------------------

TEST(a_layout_has_each_dim_once_and_sizes_that_files_hold) {
    static const struct {
        uint32_t rank;
        int64_t sizes[SC_RANK_MAX + 1], order[SC_RANK_MAX + 1];
        bool is_one;
    } cases[] = {
        {0, {0}, {0}, true},
        {1, {0}, {0}, true},
        {3, {2, 3, 4}, {2, 0, 1}, true},
        {2, {INT32_MAX, INT32_MAX}, {0, 1}, false},
        {2, {2, 3}, {0, 0}, false},
        {2, {2, 3}, {0, 2}, false},
        {2, {2, 3}, {-1, 0}, false},
        {2, {-1, 3}, {0, 1}, false},
        {1, {INT64_C(1) << 31}, {0}, false},
        {SC_RANK_MAX + 1, {0}, {0}, false},
    };
    setup s;
    setup_begin(&s);
    const sc_part *part = part_of(parse(&s, plain));
    for (size_t i = 0; i < SC_COUNT_OF(cases); i++) {
        const sc_spec *layout =
            sc_part_layout(part, SC_DTYPE_F32, cases[i].rank, cases[i].sizes, cases[i].order);
        CHECK((layout != NULL) == cases[i].is_one);
    }
    const int64_t sizes[] = {2, 3, 4}, order[] = {2, 0, 1};
    const sc_spec *permuted = sc_part_layout(part, SC_DTYPE_F32, 3, sizes, order);
    CHECK(sc_dim_is(permuted->strides[2], 6) && sc_dim_is(permuted->strides[1], 1));
    setup_end(&s);
}

// --- The verifier --------------------------------------------------------------------------------

// Tests may break what nothing else changes.
static sc_part *own(sc_method *m) { return (sc_part *)(uintptr_t)sc_node_part(m->graph->first); }

static void break_symbols(sc_method *m) {
    own(m)->method->exprs = sc_exprs_new(m->graph->ctx->arena, m->graph->ctx->names);
}
static void break_backend(sc_method *m) { own(m)->backend.size = 0; }
static void break_operand(sc_method *m) { m->graph->inputs.data[0]->spec.dtype = SC_DTYPE_F16; }
static void break_operands(sc_method *m) {
    sc_arg_set(&m->graph->first->args[1], sc_arg_list(NULL, 0));
}
static void break_more_operands(sc_method *m) {
    sc_arg two[] = {sc_arg_value(m->graph->inputs.data[0]), sc_arg_int(1)};
    sc_arg_set(&m->graph->first->args[1], sc_arg_list(two, 2));
}
static void break_input(sc_method *m) { own(m)->method->inputs.data[0].kind = SC_INPUT_TOKEN; }
static void break_result(sc_method *m) { m->graph->first->outs[0]->type = SC_VALUE_INT; }
static void break_output(sc_method *m) {
    own(m)->method->outputs.data[0].kind = SC_OUTPUT_INPUT_MUTATION;
    own(m)->method->outputs.data[0].target = SC_STR("a");
}
static void break_signature(sc_method *m) { own(m)->method->outputs.count = 2; }
static void break_align(sc_method *m) {
    sc_vec_push(m->graph->ctx->arena, &own(m)->data,
                ((sc_part_data){.bytes = own(m)->processed, .align = 0}));
}
static void break_layout(sc_method *m) {
    sc_spec *open = sc_new(m->graph->ctx->arena, sc_spec);
    *open = m->graph->inputs.data[0]->spec;
    sc_vec_push(m->graph->ctx->arena, &own(m)->data,
                ((sc_part_data){.bytes = own(m)->processed, .align = 1, .layout = open}));
}
static void break_nesting(sc_method *m) {
    sc_graph *inner = own(m)->method->graph;
    sc_arg list = sc_arg_value(inner->inputs.data[0]);
    sc_arg args[] = {sc_arg_part(own(m)), sc_arg_list(&list, 1)};
    SC_ASSERT(sc_build(inner, NULL, m->graph->first->op, args, 2, NULL, NULL) == SC_OK);
}
static void break_repermuted(sc_method *m) {
    sc_arg part = sc_arg_part(own(m));
    sc_graph_set_outputs(m->graph, &part, 1);
}
static void break_inside(sc_method *m) { own(m)->method->graph->node_count = 7; }

TEST_CASES(the_verifier_checks_calls_against_parts) {
    static const struct {
        const char *name, *check;
        void (*damage)(sc_method *method);
    } cases[] = {
        {"symbols of another method", "parts", break_symbols},
        {"no backend", "parts", break_backend},
        {"operand of another type", "parts", break_operand},
        {"missing operand", "parts", break_operands},
        {"operand too many", "parts", break_more_operands},
        {"input that is neither weight nor operand", "parts", break_input},
        {"result of another type", "parts", break_result},
        {"part that writes what it is given", "parts", break_output},
        {"undescribed output", "parts", break_signature},
        {"data aligned to nothing", "parts", break_align},
        {"data laid out with sizes that are not known", "parts", break_layout},
        {"part within a part", "parts", break_nesting},
        {"part as a result", "parts", break_repermuted},
        {"damage inside", "nodes", break_inside},
    };
    for (size_t i = 0; i < SC_COUNT_OF(cases); i++) {
        setup s;
        if (!test_case("%s", cases[i].name)) continue;
        setup_begin(&s);
        sc_program *program = parse(&s, plain);
        CHECK_OK(sc_verify(&s.ctx, program));
        cases[i].damage(program->methods.data[0]);
        CHECK_STATUS(sc_verify(&s.ctx, program), SC_ERR_INTERNAL);
        if (!strstr(setup_message(&s), test_format("check '%s'", cases[i].check)))
            FAIL("check '%s' should have failed: %s", cases[i].check, setup_message(&s));
        setup_end(&s);
    }
}

// --- Text ----------------------------------------------------------------------------------------

TEST_CASES(text_of_parts_is_bounded_and_typed) {
    static const struct {
        const char *body, *message;
    } cases[] = {
        {"return %x\n", "a value defined above"},
        {"spec \"k\"\nreturn\n", "expected '\"'"},
        {"events 1\nreturn\n", "expected '['"},
        {"events 1 [-1]\nreturn\n", "a number in range"},
        {"events 1 [4294967296]\nreturn\n", "a number in range"},
        {"processed zeros 1099511627777\nreturn\n", "a number in range"},
        {"processed extent -1\nreturn\n", "a number in range"},
        {"data \"d\" \"bytes\"\nreturn\n", "an alignment"},
        {"data \"d\" align -1\nreturn\n", "a number in range"},
        {"processed \"late\"\nspec \"k\" \"v\"\nreturn\n", "expected"},
    };
    for (size_t i = 0; i < SC_COUNT_OF(cases); i++) {
        setup s;
        sc_program *program;
        if (!test_case("%s", cases[i].body)) continue;
        setup_begin(&s);
        CHECK_OK(sc_ops_init());
        char *text = test_format(wrapper, cases[i].body);
        CHECK_STATUS(sc_program_parse(&s.ctx, sc_str_from(text), &program), SC_ERR_FORMAT);
        if (!strstr(setup_message(&s), cases[i].message))
            FAIL("'%s' is not in '%s'", cases[i].message, setup_message(&s));
        setup_end(&s);
    }
}

TEST(parts_nest_as_deep_as_bodies_may) {
    setup s;
    setup_begin(&s);
    sc_sb text;
    sc_program *program;
    sc_sb_init(&text, &s.arena);
    sc_sb_add_text(&text, "method f {\n");
    for (int i = 0; i < 40; i++)
        sc_sb_addf(&text, "n%d: () = higher_order::executorch_call_delegate(part p \"B\" {\n", i);
    CHECK_OK(sc_ops_init());
    CHECK_STATUS(sc_program_parse(&s.ctx, sc_sb_str(&text), &program), SC_ERR_LIMIT);
    setup_end(&s);
}
