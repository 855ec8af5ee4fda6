// The inspector on made-up dumps: how runs become blocks, and what times come to.
#include <math.h>

#include "devtools/made_inspection.h"

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

TEST(runs_that_logged_different_values_are_reported) {
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

TEST(times_are_given_in_the_scale_that_is_asked_for) {
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

// A delegate's events by a clock of its own; the kernel's are by the factor, as ever.
TEST(times_of_delegates_may_be_converted) {
    static const double TIMES[] = {2, 5, 7, 7.5, 9, 8, 1, NAN};
    static const made_place a = {.instruction = 1, .id = "a"}, b = {.instruction = 1, .number = 8};
    static const made_place c = {.instruction = 1, .id = "c"}, d_ = {.instruction = 1, .id = "d"};
    sc_inspect_options options = {
        .target_scale = SC_TIME_US, .delegate_times = TIMES, .delegate_time_count = 8};
    setup s;
    made_dump d;
    sc_inspect_timeline line;
    setup_begin(&s);
    made_begin(&d, &s);
    made_profile(&d, "x", at(0), 1000, 3000);
    made_profile(&d, NULL, a, 4000, 4001);
    made_profile(&d, NULL, b, 4001, 4002);
    made_profile(&d, NULL, c, 4002, 4003);
    made_profile(&d, NULL, d_, 4003, 4004);
    made_run(&d, "Execute", -1);
    const sc_inspection *in = inspect_with(&s, &d, NULL, &options);
    const sc_inspect_event *e = in->blocks[0].events;
    CHECK_CLOSE(e[0].perf.average, 2, 1e-12);
    CHECK_CLOSE(e[1].perf.average, 3, 1e-12);
    CHECK_CLOSE(e[2].perf.average, 0.5, 1e-12);
    CHECK(!e[3].has_time && !e[4].has_time);
    CHECK_EQ_UINT(in->warnings.count, 1);
    REQUIRE_OK(sc_inspect_timeline_of(in, &s.arena, &line));
    CHECK(line.count == 3 && line.unplaced == 2);
    CHECK_CLOSE(line.spans[1].duration, 3, 1e-12);
    setup_end(&s);
}

TEST(times_of_delegates_are_as_many_as_the_dump_has) {
    static const double TIMES[] = {1, 2, 3, 4};
    setup s;
    made_dump d;
    sc_dump *dump;
    sc_inspection *in;
    setup_begin(&s);
    made_begin(&d, &s);
    made_profile(&d, NULL, (made_place){.id = "a"}, 1, 2);
    made_run(&d, "Execute", -1);
    REQUIRE_OK(sc_dump_read(&s.ctx, made_file(&d, &s, true), NULL, &dump));
    for (uint64_t count = 0; count <= 4; count++) {
        const sc_inspect_options options = {.delegate_times = TIMES, .delegate_time_count = count};
        CHECK_STATUS(sc_inspect(&s.ctx, dump, &options, &in), count == 2 ? SC_OK : SC_ERR_ARGUMENT);
    }
    setup_end(&s);
}

TEST(the_timeline_nests_by_instruction_where_clocks_are_coarse) {
    setup s;
    made_dump d;
    sc_inspect_timeline line;
    uint32_t depths[3] = {0};
    setup_begin(&s);
    made_begin(&d, &s);
    // Three instructions between two ticks, the last of which takes one.
    for (int32_t i = 0; i < 3; i++) {
        made_profile(&d, "native_call_add.out", at(i), 10, i == 2 ? 15 : 10);
        made_profile(&d, "OPERATOR_CALL", at(i), 10, i == 2 ? 15 : 10);
    }
    made_profile(&d, "Method::execute", OUTSIDE, 10, 15);
    made_run(&d, "Execute", -1);
    const sc_inspection *in = inspect_made(&s, &d, NULL, 0);
    REQUIRE_OK(sc_inspect_timeline_of(in, &s.arena, &line));
    REQUIRE(line.count == 7);
    for (uint32_t i = 0; i < line.count; i++) {
        const uint32_t depth = line.spans[i].depth;
        REQUIRE(depth < 3);
        depths[depth]++;
        const sc_str name = in->blocks[0].events[line.spans[i].event].name;
        CHECK_EQ_UINT(depth, sc_str_is(name, "Method::execute") ? 0
                             : sc_str_is(name, "OPERATOR_CALL") ? 1
                                                                : 2);
    }
    CHECK(depths[0] == 1 && depths[1] == 3 && depths[2] == 3);
    setup_end(&s);
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
