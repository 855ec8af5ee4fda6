// The inspector on dumps and records that lie, and on those that are only odd: nothing is mixed up,
// nothing is read where it is not, and no small file takes much memory or time.
#include <math.h>

#include "core/spec.h"
#include "devtools/inspect/etdump_read_internal.h"
#include "devtools/inspect/report.h"
#include "devtools/made_dump.h"

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
    // The name of one event of the second run reads as all names of the first run, joined.
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

// --- Files that refer to one thing over and over -------------------------------------------------

TEST(tables_that_are_shared_do_not_multiply_memory) {
    setup s;
    made_dump d;
    sc_dump *dump;
    int64_t sizes[SC_RANK_MAX];
    sc_fb_ref same[12];
    setup_begin(&s);
    made_begin(&d, &s);
    for (uint32_t i = 0; i < SC_RANK_MAX; i++) sizes[i] = 1;
    const sc_fb_ref tensor = made_tensor(&d, SC_DTYPE_F32, sizes, NULL, SC_RANK_MAX, 0);
    for (uint32_t i = 0; i < SC_COUNT_OF(same); i++) same[i] = tensor;
    const sc_fb_ref items = sc_fb_add_refs(&d.b, same, SC_COUNT_OF(same));
    sc_fb_begin(&d.b);
    sc_etdp_TensorList_set_tensors(&d.b, items);
    const sc_fb_ref list = sc_fb_end(&d.b);
    made_value(
        &d, 0, (made_place){0},
        made_entry(&d, SC_ETDP_ValueType_TensorList, SC_ETDP_Value_tensor_list, list, false));
    made_run(&d, "Execute", -1);
    CHECK_STATUS(sc_dump_read(&s.ctx, made_file(&d, &s, true), NULL, &dump), SC_ERR_CORRUPT);
    setup_end(&s);
}

TEST(events_that_share_a_long_name_are_refused) {
    enum { BYTES = 1 << 14 };
    setup s;
    made_dump d;
    sc_dump *dump;
    setup_begin(&s);
    made_begin(&d, &s);
    char *name = sc_arena_alloc(&s.arena, BYTES + 1);
    memset(name, 'x', BYTES);
    made_profile(&d, name, (made_place){0}, 1, 2);
    while (d.event_count < 40) {
        d.events[d.event_count] = d.events[0];
        d.event_count++;
    }
    made_run(&d, "Execute", -1);
    CHECK_STATUS(sc_dump_read(&s.ctx, made_file(&d, &s, true), NULL, &dump), SC_ERR_LIMIT);
    setup_end(&s);
}

TEST(what_no_memory_holds_is_an_error) {
    static const uint64_t COUNTS[] = {UINT64_MAX, UINT64_MAX / 8, SIZE_MAX / 64, 0};
    setup s;
    setup_begin(&s);
    sc_dump_reader r = {.ctx = &s.ctx};
    for (size_t i = 0; i < SC_COUNT_OF(COUNTS); i++) {
        void *made;
        const sc_status status =
            sc_dump_alloc(&r, COUNTS[i], sizeof(sc_dump_event), "events", &made);
        CHECK_EQ_INT(status, COUNTS[i] ? SC_ERR_MEMORY : SC_OK);
        CHECK((made != NULL) == (status == SC_OK));
    }
    setup_end(&s);
}

// --- Records -------------------------------------------------------------------------------------

#define OP(text) \
    { text, sizeof(text) - 1 }

TEST(a_handle_stands_for_its_nodes_once) {
    static const uint32_t HANDLES[] = {3, 1, 3, 3, 2, 1};
    static const int64_t RIGHT[] = {3, 1, 2};
    setup s;
    setup_begin(&s);
    const sc_inspect_handles found = sc_inspect_handles_of(&s.arena, HANDLES, SC_COUNT_OF(HANDLES));
    REQUIRE(found.count == 3);
    CHECK_EQ_MEM(found.data, RIGHT, sizeof RIGHT);
    setup_end(&s);
}

TEST(events_of_one_instruction_share_their_nodes) {
    static const int64_t ONE[] = {1};
    static const sc_inspect_node NODES[] = {
        {.name = OP("a"), .op = OP("aten.add.Tensor"), .handle = 1},
        {.name = OP("b"), .op = OP("aten.add.Tensor"), .handle = 1}};
    static const sc_inspect_instruction ROWS[] = {{.index = 0, .handles = {ONE, 1}}};
    setup s;
    made_dump d;
    setup_begin(&s);
    made_begin(&d, &s);
    made_profile(&d, "native_call_add.out", (made_place){0}, 1, 2);
    made_profile(&d, "OPERATOR_CALL", (made_place){0}, 1, 3);
    made_run(&d, "Execute", -1);
    sc_inspect_method m = {
        .instructions = ROWS, .instruction_count = 1, .nodes = NODES, .node_count = 2};
    sc_inspect_index_nodes(&s.arena, &m);
    const sc_inspect_block *block = inspect_made(&s, &d, &m)->blocks;
    REQUIRE(block->event_count == 2 && block->events[0].node_count == 2);
    CHECK(block->events[0].nodes == block->events[1].nodes);
    setup_end(&s);
}

// A method of `ids` delegated events, each of `handles` handles, all of them of the same node.
static sc_inspect_method wide_method(setup *s, uint32_t ids, uint32_t handles) {
    sc_inspect_method m = {.instruction_count = 1, .node_count = handles};
    sc_inspect_instruction *row = sc_new(&s->arena, sc_inspect_instruction);
    sc_inspect_node *nodes = sc_new_array(&s->arena, sc_inspect_node, handles);
    int64_t *list = sc_new_array(&s->arena, int64_t, handles);
    sc_inspect_delegate_id *names = sc_new_array(&s->arena, sc_inspect_delegate_id, ids);
    for (uint32_t i = 0; i < handles; i++) nodes[i].handle = list[i] = 1;
    for (uint32_t i = 0; i < ids; i++)
        names[i] = (sc_inspect_delegate_id){sc_str_format(&s->arena, "%u", i), {list, handles}};
    *row = (sc_inspect_instruction){
        .is_delegate = true, .has_ids = true, .ids = names, .id_count = ids};
    m.instructions = row;
    m.nodes = nodes;
    sc_inspect_index_nodes(&s->arena, &m);
    return m;
}

TEST(nodes_times_handles_are_bounded) {
    setup s;
    made_dump d;
    sc_dump *dump;
    sc_inspection *in;
    setup_begin(&s);
    made_begin(&d, &s);
    made_profile(&d, NULL, (made_place){.id = "0"}, 1, 2);
    made_run(&d, "Execute", -1);
    const sc_inspect_method m = wide_method(&s, 1, 1 << 12);  // 2^24 nodes of one event
    const sc_inspect_options options = {.methods = &m, .method_count = 1};
    REQUIRE_OK(sc_dump_read(&s.ctx, made_file(&d, &s, true), NULL, &dump));
    CHECK_STATUS(sc_inspect(&s.ctx, dump, &options, &in), SC_ERR_LIMIT);
    setup_end(&s);
}

TEST(only_the_first_of_very_many_warnings_are_reported) {
    sc_inspection in = {0};
    setup s;
    setup_begin(&s);
    in.ctx = &s.ctx;
    sc_map_init(&in.warned, &s.arena);
    for (uint32_t i = 0; i < 200; i++) sc_inspect_warn(&in, sc_str_format(&s.arena, "%u", i % 100));
    CHECK_EQ_UINT(in.warnings.count, 64);
    CHECK(in.warnings_left > 0);
    setup_end(&s);
}

TEST(inspections_say_how_many_warnings_are_left) {
    static const int64_t ONE[] = {1};
    static const sc_inspect_node NODE = {.name = OP("a"), .op = OP("aten.mul.Tensor"), .handle = 1};
    static const sc_inspect_instruction ROW = {.index = 0, .handles = {ONE, 1}};
    setup s;
    made_dump d;
    setup_begin(&s);
    made_begin(&d, &s);
    sc_inspect_method m = {
        .instructions = &ROW, .instruction_count = 1, .nodes = &NODE, .node_count = 1};
    sc_inspect_index_nodes(&s.arena, &m);
    // Blocks that are not of the method; of one more there is no time.
    for (uint32_t i = 0; i < MADE_MAX; i++) {
        made_profile(&d, "native_call_add.out", (made_place){0}, 1, 2);
        if (i == 0) made_profile(&d, "x", (made_place){0}, UINT64_C(1) << 40, 1);
        made_run(&d, sc_str_dup(&s.arena, sc_str_format(&s.arena, "run %u", i)), -1);
    }
    const sc_inspection *in = inspect_made(&s, &d, &m);
    REQUIRE(in->warnings.count == 65);
    CHECK(sc_str_is(in->warnings.data[64], "and 1 more warnings like these"));
    setup_end(&s);
}

// --- Two dumps -----------------------------------------------------------------------------------

TEST(a_side_without_events_has_no_times) {
    setup s;
    made_dump d[2];
    sc_inspect_comparison c;
    const sc_inspection *ins[2];
    setup_begin(&s);
    for (int i = 0; i < 2; i++) {
        made_begin(&d[i], &s);
        made_profile(&d[i], i ? "a" : "b", (made_place){0}, 1, 2);
        made_run(&d[i], "Execute", -1);
        ins[i] = inspect_made(&s, &d[i], NULL);
    }
    REQUIRE_OK(sc_inspect_compare(&s.ctx, ins[0], ins[1], &c));
    REQUIRE(c.rows.count == 2);
    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t side = 0; side < 2; side++)
            CHECK((c.rows.data[i].sides[side].perf.raw != NULL) == c.rows.data[i].has[side]);
    setup_end(&s);
}
