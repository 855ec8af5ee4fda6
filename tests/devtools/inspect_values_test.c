// The inspector on made-up dumps: how far values are apart, and two dumps side by side.
#include <math.h>

#include "devtools/made_inspection.h"

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

TEST(gaps_of_scalars_are_those_of_one_number) {
    static const double RIGHT = 1.5, OFF = -1, ODD = NAN, NONE = 0;
    static const int64_t SINGLE[] = {1};
    sc_gap gap;
    sc_numbers a = numbers(&RIGHT, NULL, 0), b = numbers(&OFF, NULL, 0);
    REQUIRE(sc_gap_of(&a, &b, &gap));
    CHECK_CLOSE(gap.l1, 2.5, 1e-12);
    CHECK_CLOSE(gap.mse, 6.25, 1e-12);
    CHECK_CLOSE(gap.max, 2.5, 1e-12);
    CHECK_CLOSE(gap.snr, 10 * log10(2.25 / 6.25), 1e-12);
    CHECK_CLOSE(gap.cosine, -1, 1e-12);
    REQUIRE(sc_gap_of(&a, &a, &gap));
    CHECK(isinf(gap.snr) && gap.snr > 0 && gap.l1 == 0 && gap.mse == 0);
    b = numbers(&ODD, NULL, 0);  // counts as 0
    REQUIRE(sc_gap_of(&a, &b, &gap));
    CHECK_CLOSE(gap.l1, 1.5, 1e-12);
    b = numbers(&NONE, NULL, 0);
    REQUIRE(sc_gap_of(&a, &b, &gap));
    CHECK_CLOSE(gap.mse, 2.25, 1e-12);
    b = numbers(&RIGHT, SINGLE, 1);  // a list of one number is no scalar
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

TEST(events_without_a_reference_are_reported) {
    static const double REFERENCE[] = {1, 2, 3, 4};
    sc_inspect_instruction rows[] = {{.index = 0, .handles = {ONE, 1}},
                                     {.index = 1, .handles = {TWO, 1}}};
    for (uint32_t known = 0; known <= 2; known++) {
        setup s;
        made_dump d;
        setup_begin(&s);
        made_begin(&d, &s);
        for (int32_t i = 0; i < 2; i++) {
            made_floats(&d, at(i), 2, 8 * i);
            made_profile(&d, "x", at(i), 10 * (uint64_t)i, 10 * (uint64_t)i + 1);
        }
        made_run(&d, "Execute", -1);
        const sc_inspect_gaps gaps = gaps_of(&s, &d, rows, 2, REFERENCE, known);
        CHECK_EQ_UINT(gaps.rows.count, known);
        REQUIRE(gaps.skipped.count == 2 - known);
        for (uint32_t i = 0; i < gaps.skipped.count; i++)
            CHECK_EQ_STR(gaps.skipped.data[i].reason, "the reference has no value for it");
        setup_end(&s);
    }
}

TEST(without_values_of_the_run_no_node_is_compared) {
    static const double REFERENCE[] = {1, 2, 3, 4};
    sc_inspect_instruction rows[] = {{.index = 0, .handles = {ONE, 1}},
                                     {.index = 1, .handles = {TWO, 1}}};
    for (int32_t events = 0; events <= 2; events++)  // times alone, or no event at all
        for (uint32_t known = 0; known <= 2; known++) {
            setup s;
            made_dump d;
            setup_begin(&s);
            made_begin(&d, &s);
            for (int32_t i = 0; i < events; i++)
                made_profile(&d, "x", at(i), 10 * (uint64_t)i, 10 * (uint64_t)i + 1);
            made_run(&d, "Execute", -1);
            const sc_inspect_gaps gaps = gaps_of(&s, &d, rows, 2, REFERENCE, known);
            CHECK_EQ_UINT(gaps.rows.count, 0);
            CHECK_EQ_UINT(gaps.skipped.count, 0);
            setup_end(&s);
        }
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

TEST(kernels_here_stand_next_to_their_delegate_there) {
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
