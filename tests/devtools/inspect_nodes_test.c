// The inspector on made-up dumps: which nodes events stand for, which method they are of, and where
// the time goes.
#include "devtools/made_inspection.h"

// --- Nodes behind events -------------------------------------------------------------------------

TEST(handles_lead_to_nodes) {
    setup s;
    made_dump d;
    const sc_str *ops;
    setup_begin(&s);
    made_begin(&d, &s);
    add_forward(&d, 0);
    const sc_inspect_method m = forward(&s);
    const sc_inspect_block *block = inspect_made(&s, &d, &m, 1)->blocks;
    CHECK_EQ_INT(block->choice, SC_CHOICE_ONLY);
    const sc_inspect_event *e = find(block, "native_call_addmm.out");
    CHECK_EQ_UINT(e->node_count, 2);
    CHECK_EQ_UINT(sc_inspect_ops(&s.arena, e, &ops), 2);
    CHECK_EQ_STR(name_of(&s, sc_inspect_op_of(e)), "aten.addmm.default");
    e = find(block, "DELEGATE_CALL");
    CHECK_EQ_UINT(e->node_count, 2);
    CHECK_EQ_STR(name_of(&s, e->backend), "B");
    CHECK_EQ_UINT(find(block, "Method::execute")->node_count, 0);
    setup_end(&s);
}

TEST(delegates_events_are_found_by_the_whole_of_their_id) {
    static const struct {
        made_place place;
        uint32_t nodes;
        const char *node;
    } CASES[] = {
        {{.instruction = 2, .id = "fc_1"}, 1, "mul"},
        {{.instruction = 2, .id = "fc_12"}, 1, "add"},  // fc_1 is in it, but not as a word
        {{.instruction = 2, .id = "fc_1: gemm"}, 1, "mul"},
        {{.instruction = 2, .id = "fc_123"}, 0, NULL},
        {{.instruction = 2, .number = 8}, 2, "mul"},  // 7, as a number
        {{.instruction = 2, .number = 1}, 0, NULL},
    };
    for (size_t i = 0; i < SC_COUNT_OF(CASES); i++) {
        setup s;
        made_dump d;
        setup_begin(&s);
        made_begin(&d, &s);
        made_profile(&d, NULL, CASES[i].place, 1, 2);
        add_kernel(&d, "native_call_permute_copy.out", 0, 3, 1);
        add_kernel(&d, "native_call_addmm.out", 1, 6, 1);
        made_run(&d, "Execute", -1);
        const sc_inspect_method m = forward(&s);
        const sc_inspect_event *e = inspect_made(&s, &d, &m, 1)->blocks[0].events;
        CHECK_EQ_UINT(e->node_count, CASES[i].nodes);
        if (e->node_count) CHECK_EQ_STR(name_of(&s, e->nodes[0]->name), CASES[i].node);
        CHECK(e->is_delegated && sc_str_is(e->backend, "B"));
        setup_end(&s);
    }
}

TEST(a_delegate_without_a_map_stands_for_all_of_it) {
    setup s;
    made_dump d;
    sc_inspect_instruction alone = INSTRUCTIONS[2];
    setup_begin(&s);
    made_begin(&d, &s);
    made_profile(&d, NULL, (made_place){.instruction = 2, .id = "fc_1"}, 1, 2);
    made_run(&d, "Execute", -1);
    sc_inspect_method m = forward(&s);
    alone.has_ids = false;
    m.instructions = &alone;
    m.instruction_count = 1;
    const sc_inspection *in = inspect_made(&s, &d, &m, 1);
    CHECK_EQ_UINT(in->blocks[0].events[0].node_count, 2);
    CHECK_EQ_UINT(in->warnings.count, 1);
    setup_end(&s);
}

// --- Several methods -----------------------------------------------------------------------------

static const sc_inspect_node OTHER_NODES[] = {
    {.name = OP("mm"), .op = OP("aten.mm.default"), .handle = 1},
    {.name = OP("tanh"), .op = OP("aten.tanh.default"), .handle = 2},
};
static const sc_inspect_instruction OTHER_INSTRUCTIONS[] = {{.index = 0, .handles = {ONE, 1}},
                                                            {.index = 1, .handles = {TWO, 1}}};

static sc_inspect_method other(setup *s, const char *name) {
    sc_inspect_method m = {.name = sc_str_from(name),
                           .instructions = OTHER_INSTRUCTIONS,
                           .instruction_count = 2,
                           .nodes = OTHER_NODES,
                           .node_count = 2};
    sc_inspect_index_nodes(&s->arena, &m);
    return m;
}

TEST(a_block_is_of_the_method_whose_instructions_it_has) {
    setup s;
    made_dump d;
    setup_begin(&s);
    made_begin(&d, &s);
    add_forward(&d, 0);
    add_kernel(&d, "native_call_mm.out", 0, 100, 10);
    add_kernel(&d, "native_call_tanh.out", 1, 120, 10);
    made_run(&d, "Execute", -1);
    made_profile(&d, "Program::load_method", OUTSIDE, 1, 2);
    made_run(&d, "Default", -1);
    const sc_inspect_method methods[] = {forward(&s), other(&s, "decode")};
    const sc_inspection *in = inspect_made(&s, &d, methods, 2);
    CHECK(in->blocks[0].method == &methods[0] && in->blocks[0].choice == SC_CHOICE_MATCHED);
    CHECK(in->blocks[1].method == &methods[1] && in->blocks[1].choice == SC_CHOICE_MATCHED);
    CHECK(!in->blocks[2].method && in->blocks[2].choice == SC_CHOICE_UNKNOWN);
    CHECK_EQ_UINT(in->warnings.count, 0);
    setup_end(&s);
}

TEST(where_several_methods_fit_one_has_to_be_named) {
    setup s;
    made_dump d;
    setup_begin(&s);
    made_begin(&d, &s);
    add_kernel(&d, "native_call_mm.out", 0, 100, 10);
    add_kernel(&d, "native_call_tanh.out", 1, 120, 10);
    made_run(&d, "Execute", -1);
    const sc_inspect_method methods[] = {other(&s, "encode"), other(&s, "decode")};
    sc_inspect_options options = {.methods = methods, .method_count = 2};
    sc_inspection *in = inspect_with(&s, &d, NULL, &options);
    CHECK(!in->blocks[0].method);
    CHECK_EQ_UINT(in->warnings.count, 1);
    options.method = SC_STR("decode");
    CHECK_OK(sc_inspect(&s.ctx, in->dump, &options, &in));
    CHECK(in->blocks[0].method == &methods[1] && in->blocks[0].choice == SC_CHOICE_ASKED);
    CHECK_EQ_UINT(in->blocks[0].events[0].node_count, 1);
    options.method = SC_STR("none");
    CHECK_STATUS(sc_inspect(&s.ctx, in->dump, &options, &in), SC_ERR_NOT_FOUND);
    setup_end(&s);
}

TEST(a_dump_of_another_program_is_reported_and_not_associated) {
    setup s;
    made_dump d;
    setup_begin(&s);
    made_begin(&d, &s);
    add_forward(&d, 0);
    const sc_inspect_method m = other(&s, "decode");
    const sc_inspection *in = inspect_made(&s, &d, &m, 1);
    CHECK(!in->blocks[0].method);
    CHECK_EQ_UINT(in->blocks[0].events[0].node_count, 0);
    CHECK_EQ_UINT(in->warnings.count, 1);
    setup_end(&s);
}

// --- Totals --------------------------------------------------------------------------------------

static void check_total(setup *s, const sc_inspect_total *row, const char *name, double time,
                        double self) {
    CHECK_EQ_STR(name_of(s, row->name), name);
    CHECK_CLOSE(row->time, time, 1e-12);
    CHECK_CLOSE(row->self, self, 1e-12);
}

TEST(each_moment_counts_once_in_totals) {
    setup s;
    made_dump d;
    const sc_inspect_total *rows;
    setup_begin(&s);
    made_begin(&d, &s);
    for (uint64_t i = 0; i < 2; i++) add_forward(&d, 100 * i);
    const sc_inspect_method m = forward(&s);
    const sc_inspection *in = inspect_made(&s, &d, &m, 1);
    REQUIRE(sc_inspect_totals(in, &s.arena, false, &rows) == 4);
    check_total(&s, &rows[0], "aten.addmm.default", 30, 30);
    check_total(&s, &rows[1], "aten.permute_copy.default", 10, 10);
    check_total(&s, &rows[2], "B", 6, 6);
    check_total(&s, &rows[3], "aten.add.Tensor", 4, 4);
    CHECK_CLOSE(rows[0].share, 0.6, 1e-12);
    CHECK_CLOSE(rows[3].delegated, 4, 1e-12);
    REQUIRE(sc_inspect_totals(in, &s.arena, true, &rows) == 2);
    check_total(&s, &rows[0], "", 50, 10);
    check_total(&s, &rows[1], "fc", 40, 40);
    CHECK_EQ_STR(name_of(&s, rows[1].class_name), "Linear");
    setup_end(&s);
}

TEST(modules_share_the_time_of_an_event_by_their_nodes) {
    static const int64_t ACROSS[] = {1, 3};
    static const sc_inspect_instruction CALL = {.index = 0, .handles = {ACROSS, 2}};
    setup s;
    made_dump d;
    const sc_inspect_total *rows;
    setup_begin(&s);
    made_begin(&d, &s);
    add_kernel(&d, "native_call_addmm.out", 0, 0, 30);
    made_run(&d, "Execute", -1);
    sc_inspect_method m = forward(&s);
    m.instructions = &CALL;
    m.instruction_count = 1;
    const sc_inspection *in = inspect_made(&s, &d, &m, 1);
    REQUIRE(sc_inspect_totals(in, &s.arena, true, &rows) == 2);
    check_total(&s, &rows[0], "", 30, 10);  // two of the three nodes are in fc
    check_total(&s, &rows[1], "fc", 20, 20);
    CHECK(rows[0].events == 1 && rows[1].events == 1);
    setup_end(&s);
}

// A run of kernels, NULL where it calls a delegate.
static void add_calls(made_dump *d, const char *const *kernels, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (kernels[i])
            add_kernel(d, kernels[i], (int32_t)i, 10 * i, 5);
        else
            made_profile(d, "DELEGATE_CALL", at((int32_t)i), 10 * i, 10 * i + 5);
    made_run(d, "Execute", -1);
}

#define PERMUTE "native_call_permute_copy.out"
#define ADDMM   "native_call_addmm.out"

TEST(records_of_other_programs_are_reported) {
    static const struct {
        const char *kernels[8];
        uint32_t count;
        bool fits;
    } CASES[] = {
        {{PERMUTE, ADDMM, NULL}, 3, true},
        {{PERMUTE, ADDMM, NULL, "native_call_copy_.out"}, 4, true},  // a write-back
        {{PERMUTE, "native_call_relu.out", NULL}, 3, false},
        {{PERMUTE, ADDMM, "native_call_mul.out"}, 3, false},  // not by the delegate
        {{PERMUTE, NULL, NULL}, 3, false},
        {{PERMUTE, ADDMM, NULL, "native_call_mul.out", "native_call_mul.out"}, 5, false},
        {{PERMUTE}, 1, false},  // and no more
    };
    for (size_t i = 0; i < SC_COUNT_OF(CASES); i++) {
        setup s;
        made_dump d;
        setup_begin(&s);
        made_begin(&d, &s);
        add_calls(&d, CASES[i].kernels, CASES[i].count);
        const sc_inspect_method m = forward(&s);
        const sc_inspection *in = inspect_made(&s, &d, &m, 1);
        CHECK_EQ_INT(in->blocks[0].choice, CASES[i].fits ? SC_CHOICE_ONLY : SC_CHOICE_UNKNOWN);
        CHECK((in->blocks[0].method != NULL) == CASES[i].fits);
        if (!CASES[i].fits) {
            CHECK_EQ_UINT(in->blocks[0].events[0].node_count, 0);
            REQUIRE(in->warnings.count == 1);
            CHECK(sc_str_starts_with(in->warnings.data[0], "block 'Execute' has other instruc"));
        }
        setup_end(&s);
    }
}

// The requested method selects: runs of another method stay that one's.
TEST(an_asked_method_takes_the_runs_that_may_be_its) {
    static const char *const FORWARD[] = {PERMUTE, ADDMM, NULL};
    static const char *const OTHER[] = {PERMUTE, ADDMM};
    for (uint32_t asked = 0; asked < 2; asked++) {
        setup s;
        made_dump d;
        setup_begin(&s);
        made_begin(&d, &s);
        made_profile(&d, "Method::init", OUTSIDE, 0, 1);
        made_run(&d, "Default", -1);
        add_calls(&d, FORWARD, 3);
        add_calls(&d, OTHER, 2);
        add_calls(&d, FORWARD, 1);  // broke off: may be either's, if it is said
        sc_inspect_method methods[] = {forward(&s), forward(&s)};
        methods[1].name = SC_STR("other");
        methods[1].instruction_count = 2;
        const sc_inspect_options options = {
            .method = methods[asked].name, .methods = methods, .method_count = 2};
        const sc_inspect_block *blocks = inspect_with(&s, &d, NULL, &options)->blocks;
        const sc_inspect_method *own = &methods[asked];
        CHECK(blocks[0].method == own && blocks[0].choice == SC_CHOICE_ASKED);
        CHECK(blocks[1].method == &methods[0]);
        CHECK_EQ_INT(blocks[1].choice, asked ? SC_CHOICE_MATCHED : SC_CHOICE_ASKED);
        CHECK(blocks[2].method == &methods[1]);
        CHECK_EQ_INT(blocks[2].choice, asked ? SC_CHOICE_ASKED : SC_CHOICE_MATCHED);
        CHECK(blocks[3].method == own && blocks[3].choice == SC_CHOICE_ASKED);
        setup_end(&s);
    }
}
