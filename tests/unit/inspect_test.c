// The inspector on made-up dumps: how runs become blocks, what events stand for, what times come
// to, how far values are apart, and two dumps side by side.
#include <math.h>

#include "devtools/inspect/report.h"
#include "made_dump.h"

static const made_place OUTSIDE = {.chain = -1};

static made_place at(int32_t instruction) { return (made_place){.instruction = instruction}; }

// A kernel with its scopes, from `start` on.
static void add_kernel(made_dump *d, const char *name, int32_t instruction, uint64_t start,
                       uint64_t ticks) {
    made_profile(d, name, at(instruction), start + 1, start + 1 + ticks);
    made_profile(d, "OPERATOR_CALL", at(instruction), start, start + 2 + ticks);
}

static sc_inspection *inspect_with(setup *s, made_dump *d, sc_source *buffer,
                                   const sc_inspect_options *options) {
    sc_dump *dump;
    sc_inspection *in = NULL;
    CHECK_OK(sc_dump_read(&s->ctx, made_file(d, s, true), buffer, &dump));
    CHECK_OK(sc_inspect(&s->ctx, dump, options, &in));
    return in;
}

static sc_inspection *inspect_made(setup *s, made_dump *d, const sc_inspect_method *methods,
                                   uint32_t count) {
    const sc_inspect_options options = {.methods = methods, .method_count = count};
    return inspect_with(s, d, NULL, &options);
}

static const char *name_of(setup *s, sc_str name) { return sc_str_dup(&s->arena, name); }

static const sc_inspect_event *find(const sc_inspect_block *block, const char *name) {
    for (uint32_t i = 0; i < block->event_count; i++)
        if (sc_str_is(block->events[i].name, name)) return &block->events[i];
    return NULL;
}

// --- Blocks --------------------------------------------------------------------------------------

TEST(runs_that_did_the_same_are_one_block) {
    static const uint64_t TICKS[] = {10, 30, 20, 40};
    setup s;
    made_dump d;
    setup_begin(&s);
    made_begin(&d, &s);
    for (uint32_t i = 0; i < 4; i++) {
        add_kernel(&d, "native_call_add.out", 0, 100 * i, TICKS[i]);
        made_profile(&d, "Method::execute", OUTSIDE, 100 * i, 100 * i + 60);
        made_run(&d, "Execute", -1);
    }
    add_kernel(&d, "native_call_mul.out", 0, 500, 1);
    made_run(&d, "Execute", -1);
    const sc_inspection *in = inspect_made(&s, &d, NULL, 0);
    CHECK_EQ_UINT(in->block_count, 2);
    const sc_inspect_block *block = &in->blocks[0];
    CHECK_EQ_UINT(block->run_count, 4);
    CHECK_EQ_UINT(block->event_count, 3);
    const sc_perf *perf = &find(block, "native_call_add.out")->perf;
    for (uint32_t i = 0; i < 4; i++) CHECK_SAME_FLOAT(perf->raw[i], (double)TICKS[i]);
    CHECK_CLOSE(perf->p10, 13, 1e-12);
    CHECK_CLOSE(perf->p50, 25, 1e-12);
    CHECK_CLOSE(perf->p90, 37, 1e-12);
    CHECK_CLOSE(perf->average, 25, 1e-12);
    CHECK_SAME_FLOAT(perf->min, 10.0);
    CHECK_SAME_FLOAT(perf->max, 40.0);
    CHECK_SAME_FLOAT(block->total.p50, 60.0);
    setup_end(&s);
}

TEST(runs_of_different_cases_are_different_blocks) {
    setup s;
    made_dump d;
    setup_begin(&s);
    made_begin(&d, &s);
    for (int32_t i = 0; i < 2; i++) {
        made_profile(&d, "Method::execute", OUTSIDE, 0, 1);
        made_run(&d, "Execute", i);
    }
    made_run(&d, "Execute", 1);
    CHECK_EQ_UINT(inspect_made(&s, &d, NULL, 0)->block_count, 3);
    setup_end(&s);
}

TEST(a_loop_is_one_event_whose_times_are_added_up) {
    setup s;
    made_dump d;
    setup_begin(&s);
    made_begin(&d, &s);
    for (uint64_t i = 0; i < 3; i++) {
        add_kernel(&d, "native_call_add.out", 0, 100 * i, 5);
        add_kernel(&d, "native_call_mul.out", 1, 100 * i + 50, 7);
    }
    made_run(&d, "Execute", -1);
    const sc_inspect_block *block = inspect_made(&s, &d, NULL, 0)->blocks;
    CHECK_EQ_UINT(block->event_count, 4);
    CHECK_EQ_UINT(find(block, "native_call_add.out")->calls, 3);
    CHECK_SAME_FLOAT(find(block, "native_call_add.out")->perf.average, 15.0);
    CHECK_SAME_FLOAT(find(block, "native_call_mul.out")->perf.average, 21.0);
    setup_end(&s);
}

TEST(events_of_an_instruction_share_its_values) {
    static const float BYTES[] = {1, 2};
    setup s;
    made_dump d;
    setup_begin(&s);
    made_begin(&d, &s);
    made_floats(&d, at(0), 2, 0);
    add_kernel(&d, "native_call_add.out", 0, 0, 5);
    made_floats(&d, at(4), 2, 0);  // only a value
    made_floats(&d, OUTSIDE, 2, 0);
    made_run(&d, "Execute", -1);
    const sc_inspect_options options = {0};
    const sc_inspect_block *block =
        inspect_with(&s, &d, sc_source_from_memory(&s.arena, BYTES, 8), &options)->blocks;
    REQUIRE(block->event_count == 3);
    CHECK_EQ_UINT(block->events[0].value_count, 1);
    CHECK(block->events[0].values == block->events[1].values);
    CHECK(!block->events[2].has_time && block->events[2].value_count == 1);
    CHECK_EQ_UINT(block->output_count, 1);
    setup_end(&s);
}

TEST(runs_that_logged_different_values_are_told) {
    static const float BYTES[] = {1, 2, 1, 2, 1, 3};
    for (int64_t other = 8; other <= 16; other += 8) {
        setup s;
        made_dump d;
        const sc_inspect_options options = {0};
        setup_begin(&s);
        made_begin(&d, &s);
        for (int64_t i = 0; i < 2; i++) {
            made_floats(&d, at(0), 2, i * other);
            made_run(&d, "Execute", -1);
        }
        const sc_inspection *in =
            inspect_with(&s, &d, sc_source_from_memory(&s.arena, BYTES, 24), &options);
        CHECK_EQ_UINT(in->block_count, 1);
        CHECK_EQ_UINT(in->warnings.count, other == 16);
        setup_end(&s);
    }
}

TEST(scopes_are_around_what_happens_in_them) {
    setup s;
    made_dump d;
    setup_begin(&s);
    made_begin(&d, &s);
    add_kernel(&d, "native_call_add.out", 0, 10, 5);
    made_profile(&d, "OPERATOR_CALL", at(2), 30, 33);
    made_profile(&d, NULL, (made_place){.instruction = 1, .id = "op"}, 20, 22);
    made_profile(&d, "DELEGATE_CALL", at(1), 20, 25);
    made_profile(&d, "Method::execute", OUTSIDE, 0, 60);
    made_run(&d, "Execute", -1);
    const sc_inspect_block *block = inspect_made(&s, &d, NULL, 0)->blocks;
    const sc_inspect_event *e = block->events;
    REQUIRE(block->event_count == 6);
    CHECK(sc_str_is(e[5].name, "Method::execute") && e[5].parent == SC_INSPECT_NONE);
    CHECK(e[0].parent == 1 && e[1].parent == 5 && e[1].is_wrapper);
    CHECK(sc_str_is(e[2].name, "OPERATOR_CALL") && !e[2].is_wrapper);  // of a primitive
    CHECK(sc_str_is(e[3].name, "op") && e[3].is_delegated && e[3].parent == 4);
    setup_end(&s);
}

// --- Times ---------------------------------------------------------------------------------------

TEST(times_are_told_in_the_scale_that_is_asked_for) {
    static const struct {
        sc_time_scale source, target;
        double factor;
    } CASES[] = {{SC_TIME_NS, SC_TIME_MS, 1e6},
                 {SC_TIME_US, SC_TIME_S, 1e6},
                 {SC_TIME_S, SC_TIME_NS, 1e-9},
                 {SC_TIME_CYCLES, SC_TIME_CYCLES, 1}};
    setup s;
    double factor;
    setup_begin(&s);
    for (size_t i = 0; i < SC_COUNT_OF(CASES); i++) {
        CHECK_OK(sc_time_scale_factor(&s.ctx, CASES[i].source, CASES[i].target, &factor));
        CHECK_CLOSE(factor, CASES[i].factor, 1e-15);
    }
    CHECK_STATUS(sc_time_scale_factor(&s.ctx, SC_TIME_CYCLES, SC_TIME_MS, &factor), SC_ERR_OPTION);
    setup_end(&s);
}

TEST(a_counter_of_32_bits_may_start_again) {
    static const struct {
        uint64_t start, end;
        bool has_time;
        double ticks;
    } CASES[] = {{UINT32_MAX - 4, 5, true, 10}, {UINT64_C(1) << 40, 5, false, 0}, {7, 7, true, 0}};
    for (size_t i = 0; i < SC_COUNT_OF(CASES); i++) {
        setup s;
        made_dump d;
        setup_begin(&s);
        made_begin(&d, &s);
        made_profile(&d, "x", OUTSIDE, CASES[i].start, CASES[i].end);
        made_run(&d, "Execute", -1);
        const sc_inspection *in = inspect_made(&s, &d, NULL, 0);
        CHECK(in->blocks[0].events[0].has_time == CASES[i].has_time);
        CHECK_SAME_FLOAT(in->blocks[0].events[0].perf.average, CASES[i].ticks);
        CHECK_EQ_UINT(in->warnings.count, !CASES[i].has_time);
        setup_end(&s);
    }
}

TEST(the_timeline_nests_by_time) {
    static const struct {
        const char *name;
        uint32_t depth;
    } RIGHT[] = {{"Method::execute", 0},
                 {"OPERATOR_CALL", 1},
                 {"native_call_add.out", 2},
                 {"DELEGATE_CALL", 1}};
    setup s;
    made_dump d;
    sc_inspect_timeline line;
    setup_begin(&s);
    made_begin(&d, &s);
    add_kernel(&d, "native_call_add.out", 0, 110, 5);
    made_profile(&d, NULL, (made_place){.instruction = 1, .id = "only measured"}, 0, 22);
    made_profile(&d, "DELEGATE_CALL", at(1), 120, 125);
    made_profile(&d, "Method::execute", OUTSIDE, 100, 160);
    made_run(&d, "Execute", -1);
    const sc_inspection *in = inspect_made(&s, &d, NULL, 0);
    REQUIRE_OK(sc_inspect_timeline_of(in, &s.arena, &line));
    CHECK_EQ_UINT(line.unplaced, 1);
    REQUIRE(line.count == SC_COUNT_OF(RIGHT));
    for (uint32_t i = 0; i < line.count; i++) {
        const sc_inspect_span *span = &line.spans[i];
        CHECK_EQ_STR(name_of(&s, in->blocks[0].events[span->event].name), RIGHT[i].name);
        CHECK_EQ_UINT(span->depth, RIGHT[i].depth);
    }
    CHECK_SAME_FLOAT(line.spans[0].start, 0.0);
    CHECK_SAME_FLOAT(line.spans[2].start, 11.0);
    setup_end(&s);
}

TEST(a_coarse_clock_nests_no_neighbours) {
    static const uint32_t RIGHT[] = {0, 1, 1, 2};  // Method::execute, and each instruction
    setup s;
    made_dump d;
    sc_inspect_timeline line;
    setup_begin(&s);
    made_begin(&d, &s);
    made_profile(&d, "native_call_add.out", at(0), 100, 100);
    made_profile(&d, "native_call_mul.out", at(1), 100, 105);
    made_profile(&d, NULL, (made_place){.instruction = 2, .id = "copy"}, 105, 105);
    made_profile(&d, NULL, (made_place){.instruction = 2, .id = "gemm"}, 105, 110);
    made_profile(&d, "DELEGATE_CALL", at(2), 105, 110);
    made_profile(&d, "Method::execute", OUTSIDE, 100, 110);
    made_run(&d, "Execute", -1);
    const sc_inspection *in = inspect_made(&s, &d, NULL, 0);
    REQUIRE_OK(sc_inspect_timeline_of(in, &s.arena, &line));
    CHECK_EQ_UINT(line.count, 6);
    uint32_t deepest[SC_COUNT_OF(RIGHT)] = {0};
    for (uint32_t i = 0; i < line.count; i++) {
        const sc_inspect_event *e = &in->blocks[0].events[line.spans[i].event];
        const int32_t place = e->chain < 0 ? 0 : e->instruction + 1;
        if (deepest[place] < line.spans[i].depth) deepest[place] = line.spans[i].depth;
    }
    for (uint32_t i = 0; i < SC_COUNT_OF(RIGHT); i++) CHECK_EQ_UINT(deepest[i], RIGHT[i]);
    setup_end(&s);
}

// --- What events stand for -----------------------------------------------------------------------

#define OP(text) \
    { text, sizeof(text) - 1 }

// forward: 0 and 1 are the same linear layer, 2 is a delegate of a mul and an add.
static const int64_t ONE[] = {1}, TWO[] = {2}, THREE[] = {3}, BOTH[] = {2, 3};
static const sc_inspect_delegate_id IDS[] = {
    {OP("fc_1"), {TWO, 1}}, {OP("fc_12"), {THREE, 1}}, {OP("7"), {BOTH, 2}}};
static const sc_inspect_module ROOT[] = {{OP(""), OP("M")}, {OP("fc"), OP("Linear")}};
static const sc_inspect_node NODES[] = {
    {.name = OP("permute"),
     .op = OP("aten.permute_copy.default"),
     .handle = 1,
     .modules = ROOT,
     .module_count = 2},
    {.name = OP("addmm"),
     .op = OP("aten.addmm.default"),
     .handle = 1,
     .modules = ROOT,
     .module_count = 2},
    {.name = OP("mul"),
     .op = OP("aten.mul.Tensor"),
     .handle = 2,
     .modules = ROOT,
     .module_count = 1},
    {.name = OP("add"),
     .op = OP("aten.add.Tensor"),
     .handle = 3,
     .modules = ROOT,
     .module_count = 1},
};
static const sc_inspect_instruction INSTRUCTIONS[] = {
    {.index = 0, .handles = {ONE, 1}},
    {.index = 1, .handles = {ONE, 1}},
    {.index = 2,
     .handles = {BOTH, 2},
     .out_count = 1,
     .is_delegate = true,
     .backend = OP("B"),
     .has_ids = true,
     .ids = IDS,
     .id_count = 3},
};

static sc_inspect_method forward(setup *s) {
    sc_inspect_method m = {.name = SC_STR("forward"),
                           .instructions = INSTRUCTIONS,
                           .instruction_count = 3,
                           .nodes = NODES,
                           .node_count = 4};
    sc_inspect_index_nodes(&s->arena, &m);
    return m;
}

static void add_forward(made_dump *d, uint64_t start) {
    add_kernel(d, "native_call_permute_copy.out", 0, start, 10);
    add_kernel(d, "native_call_addmm.out", 1, start + 20, 30);
    made_profile(d, NULL, (made_place){.instruction = 2, .id = "fc_12"}, start + 61, start + 65);
    made_profile(d, "DELEGATE_CALL", at(2), start + 60, start + 70);
    made_profile(d, "Method::execute", OUTSIDE, start, start + 80);
    made_run(d, "Execute", -1);
}

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

TEST(a_dump_of_another_program_is_told_and_not_associated) {
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

// --- Gaps ----------------------------------------------------------------------------------------

static sc_numbers numbers(const double *data, const int64_t *sizes, uint32_t rank) {
    sc_numbers n = {.kind = SC_DUMP_TENSOR,
                    .dtype = SC_DTYPE_F32,
                    .rank = rank,
                    .sizes = sizes,
                    .count = 1,
                    .data = data};
    for (uint32_t i = 0; i < rank; i++) n.count *= (uint64_t)sizes[i];
    return n;
}

TEST(gaps_are_those_of_their_formulas) {
    static const double A[] = {1, 2, 3, 4}, B[] = {1, 2.5, 3, 3},
                        WITH_NAN[] = {NAN, 2, INFINITY, 4}, ZERO[4] = {0};
    static const int64_t FLAT[] = {4}, SQUARE[] = {2, 2};
    sc_gap gap;
    sc_numbers a = numbers(A, SQUARE, 2), b = numbers(B, SQUARE, 2);
    REQUIRE(sc_gap_of(&a, &b, &gap));
    CHECK_CLOSE(gap.l1, 1.5, 1e-12);
    CHECK_CLOSE(gap.mse, 1.25 / 4, 1e-12);
    CHECK_CLOSE(gap.max, 1, 1e-12);
    CHECK_CLOSE(gap.snr, 10 * log10(30 / 1.25), 1e-12);
    CHECK_CLOSE(gap.cosine, 27 / sqrt(30 * 25.25), 1e-12);
    REQUIRE(sc_gap_of(&a, &a, &gap));
    CHECK(isinf(gap.snr) && gap.snr > 0 && gap.l1 == 0 && gap.max == 0);
    CHECK_CLOSE(gap.cosine, 1, 1e-12);
    sc_numbers odd = numbers(WITH_NAN, SQUARE, 2), zero = numbers(ZERO, SQUARE, 2);
    REQUIRE(sc_gap_of(&a, &odd, &gap));  // the NaN counts as 0, the infinity as the largest number
    CHECK(isfinite(gap.max) && gap.max > 1e300);
    REQUIRE(sc_gap_of(&zero, &zero, &gap));
    CHECK_CLOSE(gap.cosine, 1, 1e-12);
    b = numbers(B, FLAT, 1);
    CHECK(!sc_gap_of(&a, &b, &gap));
    b = numbers(NULL, SQUARE, 2);
    CHECK(!sc_gap_of(&a, &b, &gap));
}

static sc_inspect_gaps gaps_of(setup *s, made_dump *d, sc_inspect_instruction *rows, uint32_t count,
                               const double *reference, uint32_t handles) {
    static const int64_t SIZES[] = {2};
    static const float BYTES[] = {1, 2, 3, 4, 5, 6};
    sc_inspect_reference *references = sc_new_array(&s->arena, sc_inspect_reference, handles);
    sc_numbers *values = sc_new_array(&s->arena, sc_numbers, handles);
    sc_numbers_list *lists = sc_new_array(&s->arena, sc_numbers_list, handles);
    for (uint32_t i = 0; i < handles; i++) {
        values[i] = numbers(reference + 2 * i, SIZES, 1);
        lists[i] = (sc_numbers_list){&values[i], 1};
        references[i] = (sc_inspect_reference){i + 1, &lists[i]};
    }
    sc_inspect_method *m = sc_new(&s->arena, sc_inspect_method);
    *m = forward(s);
    m->instructions = rows;
    m->instruction_count = count;
    const sc_inspect_options options = {.methods = m, .method_count = 1};
    const sc_inspection *in =
        inspect_with(s, d, sc_source_from_memory(&s->arena, BYTES, sizeof BYTES), &options);
    sc_inspect_gaps gaps = {0};
    CHECK_OK(sc_inspect_gaps_of(in, m, references, handles, &gaps));
    return gaps;
}

TEST(events_that_share_handles_are_one) {
    static const double REFERENCE[] = {0, 0, 3, 4, 5, 6};
    sc_inspect_instruction rows[] = {{.index = 0, .handles = {ONE, 1}},
                                     {.index = 1, .handles = {TWO, 1}},
                                     {.index = 2, .handles = {BOTH, 2}}};
    setup s;
    made_dump d;
    setup_begin(&s);
    made_begin(&d, &s);
    for (int32_t i = 0; i < 3; i++) {
        made_floats(&d, at(i), 2, 8 * i);
        made_profile(&d, "x", at(i), 10 * (uint64_t)i, 10 * (uint64_t)i + 1);
    }
    made_run(&d, "Execute", -1);
    const sc_inspect_gaps gaps = gaps_of(&s, &d, rows, 3, REFERENCE, 3);
    REQUIRE(gaps.rows.count == 2);
    CHECK_EQ_UINT(gaps.rows.data[0].runtime.count, 1);
    CHECK_CLOSE(gaps.rows.data[0].pairs[0].gap.l1, 3, 1e-12);
    const sc_inspect_gap_row *joined = &gaps.rows.data[1];  // 2, then 2 and 3: the value of 3
    CHECK(joined->runtime.count == 2 && joined->runtime.data[0] == 2 &&
          joined->runtime.data[1] == 3);
    CHECK_EQ_UINT(joined->runtime_op_count, 2);
    CHECK_CLOSE(joined->pairs[0].gap.l1, 0, 1e-12);
    setup_end(&s);
}

TEST(merged_handles_keep_the_order_of_instructions) {
    static const int64_t FIRST[] = {1, 10}, SECOND[] = {1, 7, 9}, RIGHT[] = {10, 1, 7, 9};
    static const double REFERENCE[20] = {[16] = 1, 4};
    sc_inspect_instruction rows[] = {{.index = 0, .handles = {FIRST, 2}},
                                     {.index = 1, .handles = {SECOND, 3}}};
    setup s;
    made_dump d;
    setup_begin(&s);
    made_begin(&d, &s);
    for (int32_t i = 0; i < 2; i++) {
        made_floats(&d, at(i), 2, 0);
        made_profile(&d, "x", at(i), 10 * (uint64_t)i, 10 * (uint64_t)i + 1);
    }
    made_run(&d, "Execute", -1);
    const sc_inspect_gaps gaps = gaps_of(&s, &d, rows, 2, REFERENCE, 10);
    REQUIRE(gaps.rows.count == 1 && gaps.rows.data[0].runtime.count == 4);
    CHECK_EQ_MEM(gaps.rows.data[0].runtime.data, RIGHT, sizeof RIGHT);
    CHECK_CLOSE(gaps.rows.data[0].pairs[0].gap.max, 2, 1e-12);  // the value of 9
    setup_end(&s);
}

TEST(a_call_is_left_out_where_its_own_events_have_values) {
    static const double REFERENCE[] = {0, 0, 1, 2, 3, 4};
    sc_inspect_instruction rows[] = {INSTRUCTIONS[2]};
    for (int has_inner = 0; has_inner < 2; has_inner++) {
        setup s;
        made_dump d;
        const made_place inner = {.instruction = 2, .id = "fc_1"};
        setup_begin(&s);
        made_begin(&d, &s);
        if (has_inner) made_floats(&d, inner, 2, 0);
        made_profile(&d, NULL, inner, 1, 2);
        made_floats(&d, at(2), 2, 0);  // an input
        made_floats(&d, at(2), 2, 8);  // the result
        made_profile(&d, "DELEGATE_CALL", at(2), 0, 3);
        made_run(&d, "Execute", -1);
        const sc_inspect_gaps gaps = gaps_of(&s, &d, rows, 1, REFERENCE, 3);
        REQUIRE(gaps.rows.count == 1);
        CHECK_EQ_UINT(gaps.rows.data[0].runtime.count, has_inner ? 1 : 2);
        CHECK_CLOSE(gaps.rows.data[0].pairs[0].gap.l1, 0, 1e-12);
        setup_end(&s);
    }
}

// --- Two dumps -----------------------------------------------------------------------------------

TEST(kernels_here_stand_beside_their_delegate_there) {
    setup s;
    made_dump a, b;
    sc_inspect_comparison c;
    setup_begin(&s);
    const sc_inspect_method portable = forward(&s);
    sc_inspect_method delegated = forward(&s);
    static const int64_t ALL[] = {1, 2, 3};
    sc_inspect_instruction call = INSTRUCTIONS[2];
    call.index = 0;
    call.handles = (sc_inspect_handles){ALL, 3};
    delegated.instructions = &call;
    delegated.instruction_count = 1;
    made_begin(&a, &s);
    for (uint64_t i = 0; i < 3; i++) add_forward(&a, 100 * i);
    made_begin(&b, &s);
    for (uint64_t i = 0; i < 2; i++) {
        made_profile(&b, "DELEGATE_CALL", at(0), 10, 30 + 2 * i);
        made_run(&b, "Execute", -1);
    }
    const sc_inspection *in_a = inspect_made(&s, &a, &portable, 1);
    const sc_inspection *in_b = inspect_made(&s, &b, &delegated, 1);
    REQUIRE_OK(sc_inspect_compare(&s.ctx, in_a, in_b, &c));
    REQUIRE(c.rows.count == 1);
    const sc_inspect_compared *row = &c.rows.data[0];
    CHECK_EQ_UINT(row->sides[0].event_count, 3);
    CHECK_EQ_UINT(row->sides[1].event_count, 1);
    CHECK_CLOSE(row->sides[0].perf.average, 50, 1e-12);
    CHECK_CLOSE(row->sides[1].perf.average, 21, 1e-12);
    CHECK(row->has_noise);
    // All of the noise is of the two runs of b: 12.706 times the root of their variance by two.
    CHECK_CLOSE(row->noise, 12.706, 1e-9);
    setup_end(&s);
}

TEST(without_a_record_events_are_aligned_by_name) {
    setup s;
    made_dump d[2];
    sc_inspect_comparison c;
    const sc_inspection *ins[2];
    setup_begin(&s);
    for (int i = 0; i < 2; i++) {
        made_begin(&d[i], &s);
        add_kernel(&d[i], "native_call_add.out", 0, 0, i ? 4 : 9);
        if (i) add_kernel(&d[i], "native_call_mul.out", 1, 20, 1);
        add_kernel(&d[i], "native_call_add.out", 2, 40, 5);
        made_run(&d[i], "Execute", -1);
        ins[i] = inspect_made(&s, &d[i], NULL, 0);
    }
    REQUIRE_OK(sc_inspect_compare(&s.ctx, ins[0], ins[1], &c));
    REQUIRE(c.rows.count == 3);
    CHECK_EQ_STR(name_of(&s, c.rows.data[0].name), "add.out");
    CHECK_CLOSE(c.rows.data[0].sides[0].perf.average, 9, 1e-12);
    CHECK_CLOSE(c.rows.data[0].sides[1].perf.average, 4, 1e-12);
    CHECK(!c.rows.data[1].has[0] && c.rows.data[1].has[1]);
    CHECK(!c.rows.data[0].has_noise);
    setup_end(&s);
}
