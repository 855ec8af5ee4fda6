// Records through the public interface, and their maps as text.
#include <stdio.h>

#include "api/job/job.h"
#include "api/record/records.h"
#include "devtools/etrecord/maps.h"
#include "sconce.h"
#include "setup.h"

// --- Maps ----------------------------------------------------------------------------------------

static void check_text(setup *s, sc_etrecord_map map, const char *text, const char *expected) {
    sc_etrecord record = {0};
    sc_sb out;
    sc_sb_init(&out, &s->arena);
    REQUIRE_OK(sc_etrecord_read_map(&s->ctx, &record, map, sc_str_from(text)));
    sc_etrecord_put_map(&out, &record, map, (sc_str){0});
    CHECK_EQ_STR(sc_sb_terminate(&out), expected);
}

TEST(maps_come_back_in_order_of_instructions) {
    setup s;
    setup_begin(&s);
    check_text(&s, SC_ETRECORD_HANDLES, "{\"b\": {\"10\": [3, 4], \"2\": 1}, \"a\": {}}",
               "{\"b\": {\"2\": 1, \"10\": [3, 4]}, \"a\": {}}");
    check_text(&s, SC_ETRECORD_OUTS, "{\"forward\": {\"0\": 2}}", "{\"forward\": {\"0\": 2}}");
    check_text(&s, SC_ETRECORD_DELEGATES,
               "{\"f\": {\"1\": {\"name\": \"X\", \"delegate_map\": {\"7\": [1], \"x\": []}}, "
               "\"0\": {\"name\": \"Y\", \"delegate_map\": null}}}",
               "{\"f\": {\"0\": {\"name\": \"Y\", \"delegate_map\": null}, "
               "\"1\": {\"name\": \"X\", \"delegate_map\": {\"7\": [1], \"x\": []}}}}");
    setup_end(&s);
}

TEST(events_are_numbers_or_names) {
    setup s;
    setup_begin(&s);
    sc_etrecord record = {0};
    const char *text = "{\"f\": {\"3\": {\"name\": \"X\", \"delegate_map\": "
                       "{\"7\": [1, 2], \"07\": [3], \"conv\": []}}}}";
    REQUIRE_OK(sc_etrecord_read_map(&s.ctx, &record, SC_ETRECORD_DELEGATES, sc_str_from(text)));
    const sc_etrecord_maps *maps = sc_etrecord_maps_of(&record, SC_STR("f"));
    CHECK(maps && !sc_etrecord_maps_of(&record, SC_STR("g")));
    const sc_etrecord_delegate *delegate = sc_etrecord_delegate_of(maps, 3);
    REQUIRE(delegate && delegate->events.count == 3);
    CHECK(!sc_etrecord_delegate_of(maps, 2));
    const sc_etrecord_event *events = delegate->events.data;
    CHECK(events[0].is_number && events[0].id == 7 && events[0].count == 2);
    CHECK(!events[1].is_number && sc_str_is(events[1].name, "07"));
    CHECK(!events[2].is_number && sc_str_is(events[2].name, "conv"));
    setup_end(&s);
}

TEST(maps_that_make_no_sense_are_refused) {
    static const char *const WRONG[] = {"[]",
                                        "{\"f\": 1}",
                                        "{\"f\": {\"-1\": 1}}",
                                        "{\"f\": {\"0\": -1}}",
                                        "{\"f\": {\"0\": 1.5}}",
                                        "{\"f\": {\"0\": [1, \"2\"]}}",
                                        "{\"f\": {\"4294967296\": 1}}",
                                        "{\"f\": {\"0\": 4294967296}}",
                                        "{\"f\": {}, \"f\": {}}",
                                        "{\"f\": {\"1\": 1, \"1\": 2}}"};
    setup s;
    setup_begin(&s);
    for (size_t i = 0; i < SC_COUNT_OF(WRONG); i++) {
        sc_etrecord record = {0};
        CHECK_STATUS(
            sc_etrecord_read_map(&s.ctx, &record, SC_ETRECORD_HANDLES, sc_str_from(WRONG[i])),
            SC_ERR_CORRUPT);
    }
    setup_end(&s);
}

// --- The public interface ------------------------------------------------------------------------

static sc_job *open_model(const char *path) {
    sc_job *job = sc_job_open(NULL);
    SC_ASSERT(job);
    size_t bytes = 0;
    const char *data = test_read(path, &bytes);
    sc_source *source = sc_source_from_memory(sc_job_ctx(job)->arena, data, bytes);
    CHECK_EQ_INT(sc_compile_open(job, source, SC_STR(""), SC_STR("")), SC_OK);
    return job;
}

static const uint8_t *saved(sc_job *job, uint32_t record, const char *options, size_t *size) {
    uint32_t output = 0;
    SC_ASSERT(sc_record_save(job, record, sc_str_from(options), &output) == SC_OK);
    *size = (size_t)sc_output_bytes(job, output);
    uint8_t *bytes = test_alloc(*size);
    size_t at = 0;
    for (uint32_t i = 0; i < sc_output_chunk_count(job, output); i++) {
        const sc_output_chunk chunk = sc_output_chunk_at(job, output, i);
        CHECK_EQ_INT(sc_output_read(job, output, i, 0, bytes + at, (size_t)chunk.size), SC_OK);
        at += (size_t)chunk.size;
    }
    CHECK_EQ_UINT(at, *size);
    return bytes;
}

static void check_refused(sc_job *job, uint32_t record, const char *options, sc_status status) {
    uint32_t output = 0;
    CHECK_EQ_INT(sc_record_save(job, record, sc_str_from(options), &output), status);
}

TEST(a_record_is_made_while_lowering_and_read_back) {
    sc_job *job = open_model("models/mlp.pt2"), *other = sc_job_open(NULL);
    uint32_t record = 0, edge = 0, program = 0, complete = 0, read = 0;
    sc_str kind, json, again;
    CHECK_EQ_INT(sc_record_generate(job, &record), SC_OK);
    REQUIRE(sc_compile_to_edge(job, 0, SC_STR(""), &edge) == SC_OK);
    check_refused(job, record, "{}", SC_ERR_STATE);
    REQUIRE(sc_compile_to_executorch(job, edge, SC_STR("{\"consume\": true}"), &program) == SC_OK);
    CHECK_EQ_INT(sc_record_complete(job, record, program, &complete), SC_OK);
    check_refused(job, complete, "{\"heavy\": true}", SC_ERR_OPTION);
    check_refused(job, complete, "{\"light\": 1}", SC_ERR_OPTION);
    check_refused(job, complete, "{\"method\": \"other\"}", SC_ERR_NOT_FOUND);
    check_refused(job, 99, "{}", SC_ERR_NOT_FOUND);
    CHECK_EQ_INT(sc_record_add_exported_program(job, record, edge), SC_ERR_ARGUMENT);
    size_t size = 0, same = 0;
    const uint8_t *bytes = saved(job, complete, "{}", &size);
    sc_source *source = sc_source_from_memory(sc_job_ctx(other)->arena, bytes, size);
    CHECK_EQ_INT(sc_detect(other, source, &kind), SC_OK);
    CHECK(sc_str_is(kind, "etrecord"));
    REQUIRE(sc_record_open(other, source, &read) == SC_OK);
    for (uint32_t map = 0; map < 3; map++) {
        CHECK_EQ_INT(sc_record_map(job, complete, map, &json), SC_OK);
        CHECK_EQ_INT(sc_record_map(other, read, map, &again), SC_OK);
        CHECK(sc_str_equal(json, again));
    }
    CHECK_EQ_INT(sc_record_map(other, read, 3, &again), SC_ERR_ARGUMENT);
    const uint8_t *twice = saved(other, read, "{}", &same);
    CHECK(same == size && memcmp(twice, bytes, size) == 0);
    sc_job_close(other);
    sc_job_close(job);
}

TEST(values_of_a_record_are_checked) {
#define SIZED(sizes) \
    "{\"representative_inputs\": [{\"tensor\": \"float32\", \"sizes\": " sizes ", \"at\": 0}]}"
    static const char *const WRONG[] = {
        "[]",
        "{\"other\": []}",
        "{\"representative_inputs\": {}}",
        "{\"representative_inputs\": [1]}",
        "{\"representative_inputs\": [{}]}",
        "{\"representative_inputs\": [{\"int\": \"x\"}]}",
        "{\"representative_inputs\": [{\"tensor\": \"float31\", \"sizes\": [1], \"at\": 0}]}",
        "{\"representative_inputs\": [{\"tensor\": \"float32\", \"sizes\": [2], \"at\": 0}]}",
        "{\"representative_inputs\": [{\"tensor\": \"float32\", \"sizes\": [1], \"at\": -1}]}",
        "{\"representative_inputs\": [{\"tensor\": \"float32\", \"sizes\": [-1], \"at\": 0}]}",
        SIZED("[4e9, 4e9]"),
        SIZED("[4294967296, 4294967296]"),
        SIZED("[0, 1099511627776, 1099511627776]"),
        "{\"reference_outputs\": []}",
        "{\"reference_outputs\": {\"forward\": 1}}"};
    sc_job *job = sc_job_open(NULL);
    uint32_t record = 0, output = 0;
    const float one = 1;
    sc_str json;
    CHECK_EQ_INT(sc_record_new(job, &record), SC_OK);
    for (size_t i = 0; i < SC_COUNT_OF(WRONG); i++)
        CHECK(sc_record_update(job, record, sc_str_from(WRONG[i]), &one, sizeof(one)) != SC_OK);
    const char *right =
        "{\"representative_inputs\": [{\"tensor\": \"float32\", \"sizes\": [1], \"at\": 0}]}";
    CHECK_EQ_INT(sc_record_update(job, record, sc_str_from(right), &one, sizeof(one)), SC_OK);
    CHECK_EQ_INT(sc_record_values(job, record, false, &json, &output), SC_OK);
    CHECK(sc_str_is(json, "[{\"tensor\":\"float32\",\"sizes\":[1],\"at\":0,\"bytes\":4}]"));
    CHECK_EQ_UINT(sc_output_bytes(job, output), 4);
    sc_job_close(job);
}

TEST(values_of_a_record_are_bounded_by_what_they_come_to) {
    static const int64_t SIZES[] = {INT64_C(1) << 31}, STRIDES[] = {0};
    static const uint8_t BYTE[] = {7};
    sc_job *job = sc_job_open(NULL);
    uint32_t record = 0, output = 0;
    sc_etrecord *made = NULL;
    sc_str json;
    CHECK_EQ_INT(sc_record_new(job, &record), SC_OK);
    REQUIRE(sc_job_record(job, record, &made) == SC_OK);
    const sc_extent data = sc_extent_whole(sc_source_from_memory(&job->arena, BYTE, 1));
    const sc_pickle_view view = {
        .code = sc_dtype_to_pt2(SC_DTYPE_U8), .rank = 1, .sizes = SIZES, .strides = STRIDES};
    sc_pickle_storage *storage = sc_pickle_make_storage(&job->arena, data);
    sc_pickle_value *inputs = sc_pickle_make_container(&job->arena, SC_PICKLE_LIST);
    made->representative_inputs = inputs;
    for (int i = 0; i < 2; i++) {
        sc_pickle_add(&job->arena, inputs, sc_pickle_make_tensor(&job->arena, storage, &view));
        CHECK_EQ_INT(sc_record_values(job, record, false, &json, &output),
                     i ? SC_ERR_LIMIT : SC_OK);
    }
    sc_job_close(job);
}

static void update(sc_job *job, uint32_t record, const float *values, uint32_t count) {
    char json[128];
    snprintf(json, sizeof(json),
             "{\"representative_inputs\": [{\"tensor\": \"float32\", \"sizes\": [%u], \"at\": 0}]}",
             count);
    CHECK_EQ_INT(sc_record_update(job, record, sc_str_from(json), values, count * sizeof(*values)),
                 SC_OK);
}

// The sources of a file stay for as long as the file does, and no longer.
TEST(values_and_files_of_records_give_their_memory_back) {
    enum { COUNT = 1 << 16 };
    sc_job *job = sc_job_open(NULL);
    float *values = test_alloc(COUNT * sizeof(*values)), first = 0;
    uint32_t record = 0, output = 0, next = 0;
    sc_str json;
    CHECK_EQ_INT(sc_record_new(job, &record), SC_OK);
    for (uint32_t i = 0; i < COUNT; i++) values[i] = 5;
    update(job, record, values, COUNT);
    CHECK_EQ_INT(sc_record_values(job, record, false, &json, &output), SC_OK);
    const uint64_t held = sc_job_ctx(job)->arena->held_bytes;
    for (uint32_t i = 0; i < 100; i++) {
        values[0] = (float)i;
        update(job, record, values, COUNT);
        CHECK_EQ_INT(sc_record_values(job, record, false, &json, &next), SC_OK);
        CHECK_EQ_UINT(next, output + 1);
        CHECK_EQ_INT(sc_output_read(job, next, 0, 0, &first, sizeof(first)), SC_OK);
        CHECK(first == (float)i);
        sc_output_free(job, next);
        sc_output_free(job, next);
    }
    CHECK_EQ_UINT(sc_job_ctx(job)->arena->held_bytes, held);
    CHECK_EQ_INT(sc_output_read(job, output, 0, 0, &first, sizeof(first)), SC_OK);
    CHECK(first == 5);
    CHECK_EQ_UINT(sc_output_bytes(job, next), 0);
    sc_output_free(job, 99);
    sc_job_close(job);
}

// --- Inspecting ----------------------------------------------------------------------------------

static sc_source *data_file(sc_job *job, const char *name) {
    size_t bytes = 0;
    const char *data = test_read(name, &bytes);
    return sc_source_from_memory(sc_job_ctx(job)->arena, data, bytes);
}

// Also those that fail, and what was answered is what is answered the next time.
TEST(questions_take_no_memory_with_them) {
#define DIFF                                                \
    "{\"what\": \"diff\", \"from\": \"exported_program\", " \
    "\"to\": \"edge_dialect_exported_program\"}"
    static const char *const QUERIES[] = {
        "{\"what\": \"gap\"}",
        "{\"what\": \"gap\", \"reference\": \"exported_program\"}",
        "{\"what\": \"gap\", \"reference\": \"none\"}",
        "{\"what\": \"nodes\", \"stage\": \"edge_dialect_exported_program\"}",
        "{\"what\": \"nodes\", \"stage\": \"none\"}",
        DIFF,
        "{\"what\": \"delegation\"}",
        "{\"what\": \"events\"}",
        "{\"what\": \"report\"}"};
    sc_job *job = sc_job_open(NULL);
    REQUIRE_OK(sc_inspector_open(job, data_file(job, "data/etdump/conv.debug.etdp"),
                                 data_file(job, "data/etdump/conv.etrecord"),
                                 data_file(job, "data/etdump/conv.debug.bin"), NULL, SC_STR("{}")));
    for (size_t i = 0; i < SC_COUNT_OF(QUERIES); i++) {
        sc_str json = {0}, first = {0};
        const sc_status status = sc_inspector_query(job, sc_str_from(QUERIES[i]), &json);
        first = sc_str_copy(sc_job_ctx(job)->arena, json);
        const uint64_t used = sc_job_ctx(job)->arena->used_bytes;
        for (uint32_t n = 0; n < 20; n++) {
            CHECK_EQ_INT(sc_inspector_query(job, sc_str_from(QUERIES[i]), &json), status);
            CHECK(status != SC_OK || sc_str_equal(json, first));
            sc_job_forget_diagnostics(job);
        }
        CHECK_EQ_UINT(sc_job_ctx(job)->arena->used_bytes, used);
    }
    sc_job_close(job);
}

// Its edge program contains operators that lowering would have decomposed. The record says that it
// is an edge program, not that it is core.
TEST(gaps_of_operators_that_a_backend_kept_whole_are_computed) {
    sc_job *job = sc_job_open(NULL);
    sc_str json = {0};
    REQUIRE_OK(sc_inspector_open(job, data_file(job, "data/etdump/mlp_xnnpack.debug.etdp"),
                                 data_file(job, "data/etdump/mlp_xnnpack.etrecord"),
                                 data_file(job, "data/etdump/mlp_xnnpack.debug.bin"), NULL,
                                 SC_STR("{}")));
    if (CHECK_OK(sc_inspector_query(job, SC_STR("{\"what\": \"gap\"}"), &json)))
        CHECK(strstr(sc_str_dup(sc_job_ctx(job)->arena, json), "\"aotHandles\":[1") != NULL);
    sc_job_close(job);
}

// Bodies count and are listed, in both reports.
TEST(records_and_inspectors_say_the_same_of_a_program) {
    static const char *const STAGES[] = {"exported_program", "edge_dialect_exported_program"};
    sc_job *job = open_model("models/cond.pt2"), *other = sc_job_open(NULL);
    uint32_t record = 0, edge = 0, program = 0, complete = 0;
    size_t size = 0;
    sc_str text, nodes, reported;
    CHECK_EQ_INT(sc_record_generate(job, &record), SC_OK);
    REQUIRE(sc_compile_to_edge(job, 0, SC_STR(""), &edge) == SC_OK);
    REQUIRE(sc_compile_to_executorch(job, edge, SC_STR(""), &program) == SC_OK);
    CHECK_EQ_INT(sc_record_complete(job, record, program, &complete), SC_OK);
    const uint8_t *bytes = saved(job, complete, "{}", &size);
    sc_source *file = sc_source_from_memory(sc_job_ctx(other)->arena, bytes, size);
    REQUIRE_OK(sc_record_open(other, file, &record));
    REQUIRE_OK(sc_inspector_open(other, NULL, file, NULL, NULL, SC_STR("{}")));
    for (size_t i = 0; i < SC_COUNT_OF(STAGES); i++) {
        const sc_str stage = sc_str_from(STAGES[i]);
        char query[128];
        uint32_t count = 0, asked = 0;
        const sc_json *a, *b;
        sc_arena *arena = sc_job_ctx(other)->arena;
        CHECK_OK(sc_record_text(other, record, stage, SC_STR(""), &text));
        text = sc_str_copy(arena, text);
        CHECK_OK(sc_record_nodes(other, record, stage, SC_STR(""), &nodes));
        CHECK_OK(sc_json_parse(sc_job_ctx(other), arena, sc_str_copy(arena, nodes), &a));
        snprintf(query, sizeof(query), "{\"what\": \"nodes\", \"stage\": \"%s\"}", STAGES[i]);
        CHECK_OK(sc_inspector_query(other, sc_str_from(query), &reported));
        CHECK_OK(sc_json_parse(sc_job_ctx(other), arena, sc_str_copy(arena, reported), &b));
        count = a->size;
        asked = b->size;
        CHECK_EQ_UINT(count, asked);
        CHECK(count > 3);
        snprintf(query, sizeof(query), "{\"what\": \"text\", \"stage\": \"%s\"}", STAGES[i]);
        CHECK_OK(sc_inspector_query(other, sc_str_from(query), &reported));
        CHECK(sc_str_equal(text, reported));
        CHECK_OK(sc_record_inspect(other, record, &reported));
        snprintf(query, sizeof(query), "\"nodes\":%u", count);
        CHECK(strstr(sc_str_dup(arena, reported), query) != NULL);
    }
    sc_job_close(other);
    sc_job_close(job);
}
