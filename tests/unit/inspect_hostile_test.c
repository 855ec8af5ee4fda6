// The inspector on dumps and records that lie, and on those that are only odd: nothing is mixed up,
// nothing is read where it is not, and no small file takes much memory or time.
#include <math.h>

#include "devtools/inspect/etdump_read.h"
#include "devtools/inspect/report.h"
#include "made_dump.h"

static sc_inspection *inspect_made(setup *s, made_dump *d, const sc_inspect_method *method) {
    const sc_inspect_options options = {.methods = method, .method_count = method != NULL};
    sc_dump *dump;
    sc_inspection *in = NULL;
    CHECK_OK(sc_dump_read(&s->ctx, made_file(d, s, true), NULL, &dump));
    CHECK_OK(sc_inspect(&s->ctx, dump, &options, &in));
    return in;
}

// --- Names ---------------------------------------------------------------------------------------

TEST(names_that_hold_separators_keep_runs_apart) {
    // What one event of the second run is called reads as all of the first run's, joined.
    static const char *const JOINED = "a\t0/0/-1/-\n1 b";
    setup s;
    made_dump d;
    sc_inspect_timeline line;
    setup_begin(&s);
    made_begin(&d, &s);
    made_profile(&d, "a", (made_place){0}, 1, 2);
    made_profile(&d, "b", (made_place){0}, 2, 3);
    made_run(&d, "Execute", -1);
    made_profile(&d, JOINED, (made_place){0}, 4, 5);
    made_run(&d, "Execute", -1);
    const sc_inspection *in = inspect_made(&s, &d, NULL);
    REQUIRE(in->block_count == 2);
    CHECK_EQ_UINT(in->blocks[0].event_count, 2);
    CHECK_EQ_UINT(in->blocks[1].event_count, 1);
    REQUIRE_OK(sc_inspect_timeline_of(in, &s.arena, &line));
    CHECK_EQ_UINT(line.count, 3);
    for (uint32_t i = 0; i < line.count; i++)
        CHECK(line.spans[i].event < in->blocks[line.spans[i].block].event_count);
    setup_end(&s);
}

// --- Times ---------------------------------------------------------------------------------------

TEST(delegates_that_only_measure_do_not_say_when_a_dump_begins) {
    static const made_place INNER[] = {{.instruction = 1, .id = "x"},
                                       {.instruction = 1, .number = 8}};
    for (size_t i = 0; i < SC_COUNT_OF(INNER); i++) {
        setup s;
        made_dump d;
        sc_inspect_timeline line;
        setup_begin(&s);
        made_begin(&d, &s);
        made_profile(&d, NULL, INNER[i], 0, 22);
        made_profile(&d, "DELEGATE_CALL", (made_place){.instruction = 1}, 1000000000000,
                     1000000000050);
        made_run(&d, "Execute", -1);
        const sc_inspection *in = inspect_made(&s, &d, NULL);
        REQUIRE_OK(sc_inspect_timeline_of(in, &s.arena, &line));
        REQUIRE(line.count == 1 && line.unplaced == 1);
        CHECK_SAME_FLOAT(line.spans[0].start, 0.0);
        setup_end(&s);
    }
}

TEST(an_instruction_of_minus_one_is_written_with_its_sign) {
    setup s;
    made_dump d;
    sc_sb text;
    sc_json_writer w;
    setup_begin(&s);
    made_begin(&d, &s);
    made_profile(&d, "x", (made_place){.instruction = -1}, 1, 2);
    made_run(&d, "Execute", -1);
    const sc_inspection *in = inspect_made(&s, &d, NULL);
    sc_sb_init(&text, &s.arena);
    sc_json_writer_init(&w, &text, SC_JSON_COMPACT);
    REQUIRE_OK(sc_inspect_put_trace(&w, in));
    CHECK(strstr(sc_str_dup(&s.arena, sc_sb_str(&text)), "\"instruction\":-1"));
    setup_end(&s);
}

TEST(equal_zeros_have_no_noise) {
    static const double ZEROS[2] = {0};
    static const int64_t SIZES[] = {2};
    const sc_numbers zero = {SC_DUMP_TENSOR, SC_DTYPE_F32, 1, SIZES, 2, ZEROS};
    sc_gap gap;
    REQUIRE(sc_gap_of(&zero, &zero, &gap));
    CHECK(isinf(gap.snr) && gap.snr > 0);
}
