// The records of small programs, as files: order, names and places of events, values and their
// bytes, what is dropped and what is said about it.
#include "devtools/etdump/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "etdump_fbs.h"
#include "harness.h"
#include "rt/setup.h"
#include "rt/tiny.h"

// A clock that moves by a thousandth of a millisecond each time that somebody looks.
typedef struct stopwatch {
    double ms, step;
} stopwatch;

static double read_stopwatch(void *user) {
    stopwatch *watch = user;
    return watch->ms += watch->step;
}

typedef struct recording {
    tiny t;
    setup s;
    stopwatch watch;
    sc_etdump dump;
    sc_etdump_counts counts;
    const uint8_t *bytes;
    size_t size;
    sc_rt_options options;
} recording;

static const int64_t square[] = {2, 2};
static const float ones[] = {1, -2, 3, 4};

static void begin(recording *r) {
    memset(r, 0, sizeof *r);
    r->watch = (stopwatch){1, 0.001};
    tiny_init(&r->t);
    r->t.input.sizes[1] = r->t.constant.sizes[1] = r->t.out.sizes[1] = 2;
    r->t.extra = r->t.more[0] = r->t.more[1] = r->t.more[2] = r->t.out;
    r->t.extra.offset_low = 64;
    r->t.memory_size = 192;
    sc_rt_options_default(&r->options);
    r->options.optimize = false;
}

static bool open(recording *r, uint64_t bytes_max) {
    tiny_build(&r->t);
    setup_begin(&r->s);
    r->s.ctx.host.now_ms = read_stopwatch;
    r->s.ctx.host.user = &r->watch;
    sc_etdump_init(&r->dump, &r->s.ctx, bytes_max);
    return setup_open(&r->s, r->t.data, r->t.size, &r->options);
}

static void listen(recording *r, sc_etdump_level level, int32_t index) {
    sc_rt_program_listen(r->s.program, sc_etdump_listen(&r->dump, level, index));
}

static bool load(recording *r) {
    return setup_load(&r->s, "forward") &&
           CHECK_OK(setup_set(&r->s, 0, setup_floats(ones, 2, square)));
}

static void run(recording *r) { CHECK_OK(sc_rt_method_run(&r->s.ctx, r->s.method)); }

// The dump as JSON.
static const char *written(recording *r) {
    CHECK_OK(sc_etdump_finish(&r->dump));
    if (!CHECK_OK(
            sc_etdump_write(&r->s.ctx, &r->dump, &r->s.arena, &r->bytes, &r->size, &r->counts)))
        return "";
    CHECK_EQ_UINT(sc_fb_load_u32(r->bytes), r->size - 4);
    if (!CHECK_OK(sc_fb_verify(&r->s.ctx, &sc_etdp_schema, r->bytes + 4, r->size - 4))) return "";
    sc_sb sb;
    sc_json_writer w;
    sc_sb_init(&sb, &r->s.arena);
    sc_json_writer_init(&w, &sb, SC_JSON_COMPACT);
    sc_fb_dump(&w, &sc_etdp_schema, r->bytes + 4, 0);
    return sc_sb_terminate(&sb);
}

static void end(recording *r) {
    sc_etdump_clear(&r->dump);
    setup_end(&r->s);
    free(r->t.data);
}

// The events of block `block`, one a line: scopes with place and time, values with place.
static const char *listed(recording *r, uint32_t block) {
    sc_sb sb;
    sc_sb_init(&sb, &r->s.arena);
    (void)written(r);
    const sc_fb_vec blocks = sc_etdp_ETDump_run_data(sc_fb_root(r->bytes + 4));
    if (!CHECK(block < blocks.count)) return "";
    const sc_fb_table run_data = sc_fb_vec_table(blocks, block);
    sc_sb_add(&sb, sc_etdp_RunData_name(run_data));
    sc_sb_addf(&sb, " %d\n", sc_etdp_RunData_bundled_input_index(run_data));
    const sc_fb_vec events = sc_etdp_RunData_events(run_data);
    for (uint32_t i = 0; i < events.count; i++) {
        const sc_fb_table scope = sc_etdp_Event_profile_event(sc_fb_vec_table(events, i));
        const sc_fb_table value = sc_etdp_Event_debug_event(sc_fb_vec_table(events, i));
        if (value.at)
            sc_sb_addf(&sb, "%lld:%d value\n", (long long)sc_etdp_DebugEvent_chain_index(value),
                       sc_etdp_DebugEvent_instruction_id(value));
        else
            sc_sb_addf(&sb, "%d:%d " SC_STR_FMT " %d\n", sc_etdp_ProfileEvent_chain_index(scope),
                       sc_etdp_ProfileEvent_instruction_id(scope),
                       SC_STR_ARG(sc_etdp_ProfileEvent_name(scope)),
                       (int)(sc_etdp_ProfileEvent_end_time(scope) -
                             sc_etdp_ProfileEvent_start_time(scope)));
    }
    return sc_sb_terminate(&sb);
}

// Values whose records the test has put there, as the JSON of the run that holds them.
static const char *values(recording *r) {
    const char *text = written(r);
    const char *from = strstr(text, "\"debug_event\"");
    return from ? from : "";
}

TEST(a_dump_has_loading_and_runs_with_their_values) {
    recording r;
    begin(&r);
    if (open(&r, 1 << 20)) {
        listen(&r, SC_ETDUMP_INTERMEDIATES, 3);
        if (load(&r)) run(&r);
        CHECK_EQ_STR(written(&r),
                     "{\"run_data\":[{\"name\":\"Default\",\"events\":["
                     "{\"profile_event\":{\"name\":\"Method::init\",\"chain_index\":-1,"
                     "\"instruction_id\":0,\"start_time\":1001000,\"end_time\":1002000}},"
                     "{\"profile_event\":{\"name\":\"Program::load_method\",\"chain_index\":-1,"
                     "\"instruction_id\":0,\"start_time\":1001000,\"end_time\":1002000}}]},"
                     "{\"name\":\"Execute\",\"bundled_input_index\":3,\"events\":["
                     "{\"debug_event\":{\"instruction_id\":0,\"debug_entry\":{\"val\":\"Tensor\","
                     "\"tensor\":{\"scalar_type\":\"FLOAT\",\"sizes\":[2,2],\"strides\":[2,1]}}}},"
                     "{\"profile_event\":{\"name\":\"native_call_add.out\",\"instruction_id\":0,"
                     "\"start_time\":1004000,\"end_time\":1005000}},"
                     "{\"profile_event\":{\"name\":\"OPERATOR_CALL\",\"instruction_id\":0,"
                     "\"start_time\":1004000,\"end_time\":1005000}},"
                     "{\"profile_event\":{\"name\":\"Method::execute\",\"chain_index\":-1,"
                     "\"instruction_id\":0,\"start_time\":1003000,\"end_time\":1006000}},"
                     "{\"debug_event\":{\"chain_index\":18446744073709551615,"
                     "\"instruction_id\":0,\"debug_entry\":{\"val\":\"Tensor\","
                     "\"tensor\":{\"scalar_type\":\"FLOAT\",\"sizes\":[2,2],\"strides\":[2,1],"
                     "\"offset\":64},\"output\":{\"bool_val\":true}}}}]}]}");
        static const float sum[] = {2, 0, 6, 8};
        const sc_etdump_piece *piece = sc_etdump_piece_at(&r.dump, 0);
        CHECK_EQ_UINT(piece->size, 128);
        CHECK_EQ_MEM(piece->data, sum, sizeof sum);
        CHECK_EQ_MEM(piece->data + 64, sum, sizeof sum);
        CHECK_EQ_UINT(r.counts.blocks, 2);
        CHECK_EQ_UINT(r.counts.events, 7);
        CHECK_EQ_UINT(r.counts.values, 2);
        CHECK_EQ_UINT(r.counts.clock_step, 1000);
    }
    end(&r);
}

// Numbers of eight bytes lie at multiples of eight of the file, with its first four bytes.
TEST(a_dump_is_aligned_with_its_prefix) {
    recording r;
    begin(&r);
    if (open(&r, 1 << 20)) {
        listen(&r, SC_ETDUMP_INTERMEDIATES, -1);
        if (load(&r)) run(&r);
        (void)written(&r);
        CHECK_EQ_MEM(r.bytes + 8, "ED00", 4);
        const sc_fb_vec blocks = sc_etdp_ETDump_run_data(sc_fb_root(r.bytes + 4));
        for (uint32_t i = 0; i < blocks.count; i++) {
            const sc_fb_vec events = sc_etdp_RunData_events(sc_fb_vec_table(blocks, i));
            for (uint32_t k = 0; k < events.count; k++) {
                const sc_fb_table scope = sc_etdp_Event_profile_event(sc_fb_vec_table(events, k));
                if (!scope.at) continue;
                const uint8_t *at = sc_fb_field_at(scope, SC_ETDP_ProfileEvent_start_time);
                CHECK_EQ_UINT((uint64_t)(at - r.bytes) % 8, 0);
            }
        }
    }
    end(&r);
}

TEST(levels_decide_which_values_are_there) {
    static const struct {
        sc_etdump_level level;
        uint64_t values;
    } rows[] = {{SC_ETDUMP_TIMES, 0}, {SC_ETDUMP_OUTPUTS, 1}, {SC_ETDUMP_INTERMEDIATES, 2}};
    for (size_t i = 0; i < SC_COUNT_OF(rows); i++) {
        recording r;
        begin(&r);
        if (open(&r, 1 << 20)) {
            listen(&r, rows[i].level, -1);
            if (load(&r)) run(&r);
            (void)written(&r);
            CHECK_EQ_UINT(r.counts.values, rows[i].values);
            CHECK_EQ_UINT(r.dump.debug_bytes, 64 * rows[i].values);
            CHECK_EQ_UINT(r.counts.unseen, 0);
        }
        end(&r);
    }
}

TEST(runs_add_up_until_they_are_cleared) {
    recording r;
    begin(&r);
    if (open(&r, 1 << 20)) {
        listen(&r, SC_ETDUMP_TIMES, -1);
        if (load(&r)) {
            run(&r);
            run(&r);
            (void)written(&r);
            CHECK_EQ_UINT(r.counts.blocks, 3);
            const char *once = "Execute -1\n0:0 native_call_add.out 1000\n"
                               "0:0 OPERATOR_CALL 1000\n-1:0 Method::execute 3000\n";
            CHECK_EQ_STR(listed(&r, 1), once);
            CHECK_EQ_STR(listed(&r, 2), once);
            sc_etdump_clear(&r.dump);
            (void)written(&r);
            CHECK_EQ_UINT(r.counts.blocks, 0);
            run(&r);
            CHECK_EQ_STR(listed(&r, 0), once);
            CHECK_EQ_UINT(r.counts.blocks, 1);
        }
    }
    end(&r);
}

// Kind 5 is free, 4 a jump, 3 a move: as the schema counts them.
TEST(every_kind_of_instruction_has_its_name_and_place) {
    recording r;
    begin(&r);
    r.t.code[1] = tiny_code(4, TINY_EXTRA, 2);
    r.t.code[2] = tiny_code(5, TINY_OUT, 0);
    r.t.code[3] = r.t.code[0];
    r.t.code_count = 4;
    r.t.second_chain = 1;
    r.t.extra_kind = 3;
    if (open(&r, 1 << 20)) {
        listen(&r, SC_ETDUMP_TIMES, -1);
        if (load(&r)) run(&r);
        CHECK_EQ_STR(listed(&r, 1), "Execute -1\n"
                                    "0:0 native_call_add.out 1000\n"
                                    "0:0 OPERATOR_CALL 1000\n"
                                    "1:0 JF_CALL 1000\n"
                                    "1:2 native_call_add.out 1000\n"
                                    "1:2 OPERATOR_CALL 1000\n"
                                    "-1:0 Method::execute 7000\n");
    }
    end(&r);
}

TEST(what_fails_is_in_the_dump_up_to_there) {
    recording r;
    begin(&r);
    r.t.code[1] = tiny_code(5, TINY_INPUT, 0);
    r.t.code[2] = r.t.code[0];
    r.t.code_count = 3;
    if (open(&r, 1 << 20)) {
        listen(&r, SC_ETDUMP_INTERMEDIATES, -1);
        if (load(&r)) CHECK_STATUS(sc_rt_method_run(&r.s.ctx, r.s.method), SC_ERR_STATE);
        CHECK_EQ_STR(listed(&r, 1), "Execute -1\n"
                                    "0:0 value\n"
                                    "0:0 native_call_add.out 1000\n"
                                    "0:0 OPERATOR_CALL 1000\n"
                                    "0:1 FREE_CALL 1000\n"
                                    "0:2 native_call_add.out 1000\n"
                                    "0:2 OPERATOR_CALL 1000\n"
                                    "-1:0 Method::execute 7000\n");
    }
    end(&r);
}

// relu(x @ c): the relu moves into its product, and both share what that takes.
TEST(instructions_that_loading_merged_are_all_there) {
    enum { PRODUCT = TINY_MORE };
    recording r;
    begin(&r);
    r.options.optimize = true;
    r.t.more_op[0] = "aten::mm";
    r.t.more_op[1] = "aten::relu";
    r.t.more_overload[0] = r.t.more_overload[1] = "out";
    r.t.more[0].offset_low = 96;
    r.t.more_count = 1;
    r.t.code[0] = (tiny_instruction){1, 1, 0, {TINY_INPUT, TINY_CONSTANT, PRODUCT, PRODUCT}, 4};
    r.t.code[1] = (tiny_instruction){1, 2, 0, {PRODUCT, TINY_OUT, TINY_OUT}, 3};
    r.t.code_count = 2;
    if (open(&r, 1 << 20)) {
        listen(&r, SC_ETDUMP_INTERMEDIATES, -1);
        if (load(&r)) run(&r);
        CHECK_EQ_STR(listed(&r, 1), "Execute -1\n"
                                    "0:0 native_call_mm.out 500\n"
                                    "0:0 OPERATOR_CALL 500\n"
                                    "0:1 value\n"
                                    "0:1 native_call_relu.out 500\n"
                                    "0:1 OPERATOR_CALL 500\n"
                                    "-1:0 Method::execute 3000\n"
                                    "-1:0 value\n");
        CHECK_EQ_UINT(r.counts.unseen, 1);
    }
    end(&r);
}

TEST(a_clock_that_stands_still_is_reported) {
    recording r;
    begin(&r);
    if (open(&r, 1 << 20)) {
        r.watch.step = 0;
        listen(&r, SC_ETDUMP_TIMES, -1);
        if (load(&r)) run(&r);
        (void)written(&r);
        CHECK_EQ_UINT(r.counts.instants, 1);
        CHECK_EQ_UINT(r.counts.clock_step, 0);
    }
    end(&r);
}

// --- Bounds --------------------------------------------------------------------------------------

TEST(a_block_that_does_not_fit_is_dropped_whole_and_reported) {
    recording r;
    begin(&r);
    if (open(&r, 600)) {
        listen(&r, SC_ETDUMP_INTERMEDIATES, -1);
        if (load(&r)) run(&r);
        const char *first = listed(&r, 1);
        run(&r);
        CHECK_STATUS(sc_etdump_finish(&r.dump), SC_ERR_LIMIT);
        const sc_diag *diag = &sc_vec_last(&r.s.ctx.diags);
        CHECK(strstr(diag->message.data, "600 bytes") != NULL);
        CHECK(strstr(diag->hint.data, "eventBytesMax") != NULL);
        CHECK_EQ_UINT(sc_etdump_piece_at(&r.dump, 0)->size, 128);
        CHECK_EQ_STR(listed(&r, 1), first);
        CHECK_EQ_UINT(r.counts.blocks, 2);
        // There is room for one more event with times alone.
        listen(&r, SC_ETDUMP_TIMES, -1);
        run(&r);
        CHECK_OK(sc_etdump_finish(&r.dump));
        (void)written(&r);
        CHECK_EQ_UINT(r.counts.blocks, 3);
    }
    end(&r);
}

// A block of a run whose delegate gives all that it does a name that was not there before.
static sc_status record_names(sc_etdump *dump, uint32_t block, uint32_t count) {
    sc_rt_sink *sink = sc_etdump_listen(dump, SC_ETDUMP_TIMES, -1);
    sc_rt_event run = {.kind = SC_RT_EVENT_RUN}, node = {.kind = SC_RT_EVENT_DELEGATE};
    char name[64];
    sink->begin(sink, &run);
    for (uint32_t i = 0; i < count; i++) {
        node.delegate_id = (sc_str){name, (size_t)snprintf(name, sizeof name, "%u.%u", block, i)};
        sink->begin(sink, &node);
        sink->end(sink, &node, SC_OK);
    }
    sink->end(sink, &run, SC_OK);
    return sc_etdump_finish(dump);
}

TEST(names_of_dropped_blocks_are_bounded) {
    enum { BYTES_MAX = 1 << 14 };
    setup s;
    sc_etdump dump;
    setup_begin(&s);
    sc_etdump_init(&dump, &s.ctx, BYTES_MAX);
    for (uint32_t i = 0; i < 10; i++) CHECK_STATUS(record_names(&dump, i, 1000), SC_ERR_LIMIT);
    CHECK_EQ_UINT(dump.names.count, 0);
    CHECK_OK(record_names(&dump, 10, 4));
    for (uint32_t i = 11; i < 300; i++) CHECK_STATUS(record_names(&dump, i, 1000), SC_ERR_LIMIT);
    CHECK(dump.names.count * sizeof(sc_map_entry) + dump.held_bytes <= BYTES_MAX);
    CHECK_EQ_UINT(sc_etdump_count(&dump), 6);
    sc_etdump_clear(&dump);
    CHECK_OK(record_names(&dump, 0, 4));
    sc_etdump_clear(&dump);
    setup_end(&s);
}

TEST(values_that_no_piece_has_room_for_get_one) {
    static int64_t sizes[] = {300000}, strides[] = {1};
    static float data[300000];
    sc_tensor t = {data, sizes, strides, NULL, sizeof data, 300000, SC_DTYPE_F32, 1, false, false};
    const sc_evalue value = {.tag = SC_EVALUE_TENSOR, .tensor = &t};
    recording r;
    begin(&r);
    if (open(&r, 8 << 20)) {
        listen(&r, SC_ETDUMP_OUTPUTS, -1);
        if (load(&r)) run(&r);
        for (int i = 0; i < 3; i++) sc_etdump_add_value(&r.dump, &value);
        CHECK_EQ_UINT(sc_etdump_piece_count(&r.dump), 4);
        CHECK_EQ_UINT(r.dump.debug_bytes, 64 + 3 * 1200000);
        CHECK(strstr(values(&r), "\"offset\":2400064") != NULL);
    }
    end(&r);
}

// --- Values --------------------------------------------------------------------------------------

// The fate of a value, and the beginning of the debug buffer then.
static void check_value(const sc_evalue *value, const char *json, const void *bytes, size_t size) {
    recording r;
    begin(&r);
    if (open(&r, 1 << 20) && load(&r)) {
        listen(&r, SC_ETDUMP_TIMES, -1);
        run(&r);
        sc_etdump_add_value(&r.dump, value);
        const char *text = values(&r);
        if (!CHECK(strstr(text, json) != NULL)) FAIL("%s is not in %s", json, text);
        if (size) CHECK_EQ_MEM(sc_etdump_piece_at(&r.dump, 0)->data, bytes, size);
        CHECK_EQ_UINT(r.dump.debug_bytes, sc_align_up(size, 64));
    }
    end(&r);
}

TEST(numbers_are_values) {
    check_value(&(sc_evalue){.tag = SC_EVALUE_INT, .i = INT64_MIN},
                "\"val\":\"Int\",\"int_value\":{\"int_val\":-9223372036854775808}", NULL, 0);
    check_value(&(sc_evalue){.tag = SC_EVALUE_DOUBLE, .d = 0.5},
                "\"val\":\"Double\",\"double_value\":{\"double_val\":0.5}", NULL, 0);
    check_value(&(sc_evalue){.tag = SC_EVALUE_BOOL, .b = true},
                "\"val\":\"Bool\",\"bool_value\":{\"bool_val\":true}", NULL, 0);
    check_value(&(sc_evalue){.tag = SC_EVALUE_BOOL, .b = false},
                "\"val\":\"Bool\",\"bool_value\":{}", NULL, 0);
    // Null is the default, and its name is not written.
    check_value(&(sc_evalue){.tag = SC_EVALUE_NONE}, "\"debug_entry\":{\"output\"", NULL, 0);
    check_value(&(sc_evalue){.tag = SC_EVALUE_STRING, .str = SC_STR("s")}, "\"val\":\"String\"",
                NULL, 0);
}

TEST(doubles_without_a_place_in_json_are_tensors) {
    static const double odd[] = {INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < SC_COUNT_OF(odd); i++)
        check_value(&(sc_evalue){.tag = SC_EVALUE_DOUBLE, .d = odd[i]},
                    "\"scalar_type\":\"DOUBLE\",\"sizes\":[],\"strides\":[]", &odd[i], 8);
}

TEST(lists_of_numbers_are_tensors) {
    sc_evalue one = {.tag = SC_EVALUE_INT, .i = 7}, two = {.tag = SC_EVALUE_INT, .i = -1};
    sc_evalue *const boxes[] = {&one, &two};
    static const int64_t ints[] = {7, -1};
    static const double doubles[] = {1.5, -2};
    static const uint8_t bools[] = {1, 0, 1};
    check_value(&(sc_evalue){.tag = SC_EVALUE_INT_LIST, .count = 2, .ints = boxes},
                "\"scalar_type\":\"LONG\",\"sizes\":[2],\"strides\":[1]", ints, 16);
    check_value(&(sc_evalue){.tag = SC_EVALUE_DOUBLE_LIST, .count = 2, .doubles = doubles},
                "\"scalar_type\":\"DOUBLE\",\"sizes\":[2],\"strides\":[1]", doubles, 16);
    check_value(&(sc_evalue){.tag = SC_EVALUE_BOOL_LIST, .count = 3, .bools = bools},
                "\"scalar_type\":\"BOOL\",\"sizes\":[3],\"strides\":[1]", bools, 3);
}

static sc_tensor row_of(sc_dtype dtype, void *data, int64_t *sizes) {
    static int64_t strides[] = {1};
    return (sc_tensor){.data = data,
                       .sizes = sizes,
                       .strides = strides,
                       .numel = sizes[0],
                       .dtype = (uint8_t)dtype,
                       .rank = 1};
}

static void check_row(sc_dtype dtype, const void *elements, int64_t count, const char *json,
                      const void *bytes, size_t size) {
    uint8_t data[64];
    memcpy(data, elements, sizeof data);
    sc_tensor t = row_of(dtype, data, &count);
    check_value(&(sc_evalue){.tag = SC_EVALUE_TENSOR, .tensor = &t}, json, bytes, size);
}

TEST(tensors_keep_their_dtype_or_get_a_wider_one) {
    static const uint8_t some[64] = {1, 0x3c, 3, 0x40, 5, 0xbf, 0x80, 0x3f, 0x80, 0xff};
    static const int64_t longs[] = {0x40033c01, 0x3f80bf05};
    check_row(SC_DTYPE_F16, some, 4, "\"scalar_type\":\"HALF\",\"sizes\":[4]", some, 8);
    check_row(SC_DTYPE_U16, some, 4, "\"scalar_type\":\"UINT16\"", some, 8);
    check_row(SC_DTYPE_I8, some, 4, "\"scalar_type\":\"CHAR\"", some, 4);
    float read[4];
    for (int i = 0; i < 4; i++) {
        uint16_t bits;
        memcpy(&bits, some + 2 * i, sizeof bits);
        read[i] = sc_bf16_to_f32(bits);
    }
    check_row(SC_DTYPE_BF16, some, 4, "\"scalar_type\":\"FLOAT\",\"sizes\":[4]", read, 16);
    check_row(SC_DTYPE_U32, some, 2, "\"scalar_type\":\"LONG\",\"sizes\":[2]", longs, 16);
    check_row(SC_DTYPE_U64, some, 2, "\"debug_entry\":{\"output\"", NULL, 0);
    check_row(SC_DTYPE_C64, some, 2, "\"debug_entry\":{\"output\"", NULL, 0);
    check_row(SC_DTYPE_F8E5M2, some, 2, "\"debug_entry\":{\"output\"", NULL, 0);
    check_row(SC_DTYPE_F32, some, 0, "\"sizes\":[0],\"strides\":[1],\"offset\":-1", NULL, 0);
}

TEST(tensors_become_row_major) {
    float data[] = {1, 4, 2, 5, 3, 6};
    int64_t sizes[] = {2, 3}, strides[] = {1, 2};
    static const float dense[] = {1, 2, 3, 4, 5, 6};
    sc_tensor t = {.data = data,
                   .sizes = sizes,
                   .strides = strides,
                   .numel = 6,
                   .dtype = SC_DTYPE_F32,
                   .rank = 2};
    check_value(&(sc_evalue){.tag = SC_EVALUE_TENSOR, .tensor = &t},
                "\"sizes\":[2,3],\"strides\":[3,1]", dense, sizeof dense);
    t.data = NULL;
    check_value(&(sc_evalue){.tag = SC_EVALUE_TENSOR, .tensor = &t}, "\"debug_entry\":{\"output\"",
                NULL, 0);
}

TEST(lists_of_tensors_are_one_value) {
    float a[16] = {1, 2}, b[16] = {3};
    int64_t two = 2, one = 1;
    sc_tensor first = row_of(SC_DTYPE_F32, a, &two), second = row_of(SC_DTYPE_F32, b, &one);
    sc_evalue items[] = {{.tag = SC_EVALUE_TENSOR, .tensor = &first},
                         {.tag = SC_EVALUE_TENSOR, .tensor = &second}};
    sc_evalue *const list[] = {&items[0], &items[1]}, *const holed[] = {&items[0], NULL};
    uint8_t bytes[128] = {0};
    memcpy(bytes, a, 8);
    memcpy(bytes + 64, b, 4);
    check_value(&(sc_evalue){.tag = SC_EVALUE_TENSOR_LIST, .count = 2, .tensors = list},
                "\"val\":\"TensorList\",\"tensor_list\":{\"tensors\":["
                "{\"scalar_type\":\"FLOAT\",\"sizes\":[2],\"strides\":[1]},"
                "{\"scalar_type\":\"FLOAT\",\"sizes\":[1],\"strides\":[1],\"offset\":64}]}",
                bytes, 128);
    check_value(&(sc_evalue){.tag = SC_EVALUE_OPTIONAL_TENSOR_LIST, .count = 2, .tensors = holed},
                "\"debug_entry\":{\"output\"", NULL, 0);
}

// --- Delegates -----------------------------------------------------------------------------------

static void tell_node(recording *r, sc_rt_event *event, const char *id, int64_t number) {
    event->kind = SC_RT_EVENT_DELEGATE;
    event->delegate_id = id ? sc_str_from(id) : (sc_str){0};
    event->delegate_number = number;
    r->dump.sink.begin(&r->dump.sink, event);
    r->dump.sink.end(&r->dump.sink, event, SC_OK);
    const sc_evalue value = {.tag = SC_EVALUE_INT, .i = 5};
    r->dump.sink.output(&r->dump.sink, event, &value);
}

TEST(what_delegates_do_comes_before_their_calls_last_value_first) {
    static const sc_rt_origin origin = {2, 9, {"NullBackend", 11}};
    recording r;
    begin(&r);
    if (open(&r, 1 << 20)) {
        sc_rt_sink *sink = sc_etdump_listen(&r.dump, SC_ETDUMP_INTERMEDIATES, -1);
        const sc_rt_event run_event = {.kind = SC_RT_EVENT_RUN};
        sc_rt_event call = {.kind = SC_RT_EVENT_INSTRUCTION,
                            .work = SC_RT_DELEGATE,
                            .origins = &origin,
                            .origin_count = 1};
        sc_rt_event node = call;
        sink->begin(sink, &run_event);
        sink->begin(sink, &call);
        tell_node(&r, &node, "Add #0", 0);
        tell_node(&r, &node, NULL, 7);
        tell_node(&r, &node, NULL, INT64_C(1) << 40);
        sink->end(sink, &call, SC_OK);
        sink->output(sink, &call, &(sc_evalue){.tag = SC_EVALUE_INT, .i = 6});
        sink->end(sink, &run_event, SC_OK);
#define PLACE "\"chain_index\":2,\"instruction_id\":9,"
#define SCOPE(id, from, to)                                                                \
    "{\"profile_event\":{" PLACE id ",\"delegate_debug_metadata\":[],\"start_time\":" from \
    ",\"end_time\":" to "}},"
#define NODE_VALUE(id)         \
    "{\"debug_event\":{" PLACE \
    "\"debug_entry\":{\"val\":\"Int\",\"int_value\":{\"int_val\":5}}," id "}},"
#define TEXT(id) "\"delegate_debug_id_str\":\"" id "\""
        CHECK_EQ_STR(
            written(&r),
            "{\"run_data\":[{\"name\":\"Execute\",\"events\":[" SCOPE(
                TEXT("1099511627776"), "1007000", "1008000") NODE_VALUE(TEXT("1099511627776"))
                SCOPE("\"delegate_debug_id_int\":7", "1005000", "1006000")
                    NODE_VALUE("\"delegate_debug_id_int\":7")
                        SCOPE(TEXT("Add #0"), "1003000", "1004000") NODE_VALUE(
                            TEXT("Add #0")) "{\"debug_event\":{" PLACE
                                            "\"debug_entry\":{\"val\":\"Int\",\"int_value\":{\"int_"
                                            "val\":6}}}},"
                                            "{\"profile_event\":{\"name\":\"DELEGATE_CALL\"," PLACE
                                            "\"start_time\":1002000,\"end_time\":1009000}},"
                                            "{\"profile_event\":{\"name\":\"Method::execute\","
                                            "\"chain_index\":-1,"
                                            "\"instruction_id\":0,\"start_time\":1001000,\"end_"
                                            "time\":1010000}}]}]}");
    }
    end(&r);
}
