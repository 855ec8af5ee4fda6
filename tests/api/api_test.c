// The public interface as a host uses it: telling files apart, values that no declaration
// speaks about, outputs of odd layout, and options that are not what their rows say.
#include <stdio.h>

#include "harness.h"
#include "passes/pass.h"
#include "sconce.h"

// The sanitizer's own functions, where there is one.
__attribute__((weak)) size_t __sanitizer_get_current_allocated_bytes(void);

static sc_job *open_job(void) {
    sc_job *job = sc_job_open(NULL);
    SC_ASSERT(job);
    return job;
}

static const sc_diag *last_diag(sc_job *job) {
    sc_ctx *ctx = sc_job_ctx(job);
    return ctx->diags.count ? &sc_vec_last(&ctx->diags) : NULL;
}

static sc_source *file_source(sc_job *job, const char *path) {
    size_t bytes = 0;
    const char *data = test_read(path, &bytes);
    return sc_source_from_memory(sc_job_ctx(job)->arena, data, bytes);
}

// --- Numbers -------------------------------------------------------------------------------------

TEST(only_whole_doubles_in_range_become_integers) {
    static const double wrong[] = {-1, 1.5, 1e30, -1e30, 0.0 / 0.0, 1.0 / 0.0, 101};
    uint64_t value = 7;
    for (size_t i = 0; i < SC_COUNT_OF(wrong); i++) CHECK(!sc_u64_from_f64(wrong[i], 100, &value));
    CHECK(sc_u64_from_f64(100, 100, &value) && value == 100);
    CHECK(sc_u64_from_f64(-0.0, 100, &value) && value == 0);
    CHECK(sc_u64_from_f64(9007199254740992.0, UINT64_C(1) << 53, &value));
    CHECK_EQ_UINT(value, UINT64_C(1) << 53);
}

// --- Options -------------------------------------------------------------------------------------

static void check_option(sc_job *job, const char *json, const char *message) {
    uint32_t number = 0;
    CHECK_EQ_INT(sc_compile_to_executorch(job, 0, sc_str_from(json), &number), SC_ERR_OPTION);
    const sc_diag *diag = last_diag(job);
    CHECK(diag && strstr(diag->message.data, message));
}

TEST(options_are_what_their_rows_say) {
    sc_job *job = open_job();
    check_option(job, "{\"snapshots\": true}", "'snapshots'; the known ones are target, ");
    check_option(job, "[1]", "must be a JSON object");
    check_option(job, "{\"alloc_graph_input\": 1}", "'alloc_graph_input' must be true or false");
    check_option(job, "{\"segment_alignment\": 14}", "must be a power of two up to 2^24");
    check_option(job, "{\"segment_alignment\": 33554432}", "must be a power of two up to 2^24");
    check_option(job, "{\"segment_alignment\": -16}", "must be a power of two up to 2^24");
    check_option(job, "{\"segment_alignment\": \"16\"}", "must be a power of two up to 2^24");
    check_option(job, "{\"memory_planning\": \"greedy naive\"}", "one of: best greedy naive");
    check_option(job, "{\"memory_planning\": \"\"}", "must be one of: best greedy naive");
    check_option(job, "{\"memory_planning\": -1}", "must be one of: best greedy naive");
    check_option(job, "{\"memory_planning\": 1.5}", "or a planner of the host, or these by method");
    check_option(job, "{\"memory_planning\": {\"a\": \"\"}}", "must be one of: best greedy");
    check_option(job, "{\"memory_planning\": {\"a\": {}}}", "must be one of: best greedy");
    static const char *const bounds[] = {"4",
                                         "[]",
                                         "{\"a\": 4}",
                                         "{\"a\": {}}",
                                         "{\"a\": {\"max\": 0}}",
                                         "{\"a\": {\"max\": 1.5}}",
                                         "{\"a\": {\"max\": \"4\"}}",
                                         "{\"a\": {\"min\": 4}}",
                                         "{\"a\": {\"max\": 9223372036854775807}}",
                                         "{\"a\": {\"max\": 9223372036854775808}}",
                                         "{\"a\": {\"max\": 4}, \"b\": {\"max\": 4, \"min\": 1}}"};
    for (size_t i = 0; i < SC_COUNT_OF(bounds); i++) {
        uint32_t number = 0;
        const char *json = test_format("{\"dynamic_shapes\": %s}", bounds[i]);
        CHECK_EQ_INT(sc_compile_to_edge(job, 0, sc_str_from(json), &number), SC_ERR_OPTION);
        CHECK(strstr(last_diag(job)->message.data, "'dynamic_shapes' must be positive whole num"));
    }
    const sc_str never = SC_STR("{\"instruction_max\": 0}");
    CHECK_EQ_INT(sc_run_open(job, NULL, NULL, 0, never), SC_ERR_OPTION);
    CHECK(strstr(last_diag(job)->message.data, "must be a positive whole number"));
    const sc_str negative = SC_STR("{\"seed\": -1}");
    CHECK_EQ_INT(sc_run_open(job, NULL, NULL, 0, negative), SC_ERR_OPTION);
    CHECK(strstr(last_diag(job)->message.data, "'seed' must be a whole number, 0 or more"));
    sc_job_close(job);
}

// --- Telling files apart -------------------------------------------------------------------------

static void check_kind(const char *head, size_t bytes, const char *kind, sc_status reason) {
    sc_job *job = open_job();
    sc_ctx *ctx = sc_job_ctx(job);
    sc_str found = {0};
    ctx->where.node = SC_STR("of an earlier call");
    CHECK_OK(sc_detect(job, sc_source_from_memory(ctx->arena, head, bytes), &found));
    CHECK_EQ_TEXT(found.data, found.size, kind);
    const sc_diag *diag = last_diag(job);
    CHECK((diag != NULL) == (reason != SC_OK));
    if (diag) {
        CHECK_EQ_INT(diag->code, reason);
        CHECK_EQ_INT(diag->severity, SC_NOTE);
        CHECK_EQ_UINT(diag->where.node.size, 0);
    }
    sc_job_close(job);
}

TEST(files_are_known_by_their_exact_marks) {
    check_kind("\x1c\0\0\0ET12", 8, "pte", SC_OK);
    check_kind("\x1c\0\0\0FT01", 8, "ptd", SC_OK);
    check_kind("\x1c\0\0\0BP08", 8, "bpte", SC_OK);
    check_kind("\x1c\0\0\0BP07", 8, "unknown", SC_ERR_VERSION);
    check_kind("PK\3\4\0\0\0\0", 8, "pt2", SC_OK);
    check_kind("\x1c\0\0\0ET13", 8, "unknown", SC_ERR_VERSION);
    check_kind("\x1c\0\0\0FT\xff\n", 8, "unknown", SC_ERR_VERSION);
    check_kind("\x1c\0\0\0ET1", 7, "unknown", SC_ERR_TRUNCATED);
    check_kind("", 0, "unknown", SC_ERR_TRUNCATED);
    check_kind("some text", 9, "unknown", SC_ERR_FORMAT);
}

// --- Running -------------------------------------------------------------------------------------

// Lowers a model and opens what comes out in a job of its own.
static sc_job *open_lowered(const char *path) {
    sc_job *compile = open_job(), *run = open_job();
    uint32_t edge = 0, executorch = 0;
    sc_source *model = file_source(compile, path);
    CHECK_OK(sc_compile_open(compile, model, (sc_str){0}, (sc_str){0}));
    CHECK_OK(sc_compile_to_edge(compile, 0, (sc_str){0}, &edge));
    CHECK_OK(sc_compile_to_executorch(compile, edge, (sc_str){0}, &executorch));
    sc_arena *arena = sc_job_ctx(run)->arena;
    size_t size = (size_t)sc_output_bytes(compile, 0), at = 0;
    uint8_t *bytes = sc_arena_alloc(arena, size);
    for (uint32_t c = 0; c < sc_output_chunk_count(compile, 0); c++) {
        size_t part = (size_t)sc_output_chunk_at(compile, 0, c).size;
        CHECK_OK(sc_output_read(compile, 0, c, 0, bytes + at, part));
        at += part;
    }
    sc_job_close(compile);
    sc_source *program = sc_source_from_memory(arena, bytes, size);
    CHECK_OK(sc_run_open(run, program, NULL, 0, (sc_str){0}));
    CHECK_OK(sc_run_select(run, SC_STR("forward")));
    return run;
}

// A float32 matrix as an input.
static sc_io matrix(const int64_t *sizes, const float *data) {
    return (sc_io){.kind = SC_KIND_TENSOR,
                   .dtype = 6,
                   .rank = 2,
                   .sizes = sizes,
                   .data = data,
                   .bytes = (uint64_t)(sizes[0] * sizes[1]) * sizeof *data};
}

TEST(values_that_no_program_can_declare_are_refused) {
    static const float data[6] = {0};
    static const int64_t sizes[40] = {2, 3};
    sc_job *job = open_lowered("models/add_mul.pt2");
    sc_io io = matrix(sizes, data);
    io.dtype = 256 + 6;  // whose low byte is float32
    CHECK_EQ_INT(sc_run_set_input(job, 0, &io), SC_ERR_INPUT);
    io.dtype = 6;
    io.rank = 256 + 2;
    CHECK_EQ_INT(sc_run_set_input(job, 0, &io), SC_ERR_INPUT);
    sc_job_close(job);
}

TEST(a_report_tells_how_many_diagnostics_it_leaves_out) {
    sc_job *job = open_job();
    for (int i = 0; i < 1000; i++)
        (void)sc_fail(sc_job_ctx(job), SC_ERR_SHAPE, NULL, "wrong %d", i);
    sc_str report = sc_job_report(job, SC_ERR_SHAPE);
    CHECK(strstr(report.data, "wrong 999") && !strstr(report.data, "not listed"));
    for (int i = 0; i < 7; i++) (void)sc_fail(sc_job_ctx(job), SC_ERR_SHAPE, NULL, "too much");
    report = sc_job_report(job, SC_ERR_SHAPE);
    CHECK(strstr(report.data, "7 more were found and are not listed"));
    CHECK(!strstr(report.data, "too much"));
    sc_job_close(job);
}

// Two methods of one archive with the same weights: as many bytes as one of them alone.
TEST(weights_that_methods_share_count_once) {
    sc_job *job = open_job();
    sc_str one, two;
    sc_source *source = file_source(job, "models/linear.pt2");
    REQUIRE_OK(sc_compile_open(job, source, SC_STR("a"), (sc_str){0}));
    REQUIRE_OK(sc_compile_inspect(job, &one));
    const char *before = strstr(one.data, "\"constant_bytes\":");
    if (!CHECK(before)) return;
    char bytes[40];
    snprintf(bytes, sizeof bytes, "%.*s", (int)strcspn(before, ","), before);
    CHECK(!strstr(bytes, ":0"));
    REQUIRE_OK(sc_compile_open(job, source, SC_STR("b"), (sc_str){0}));
    REQUIRE_OK(sc_compile_inspect(job, &two));
    CHECK(strstr(two.data, bytes));
    sc_job_close(job);
}

// Output 1 of this model is channels_last.
TEST(outputs_of_odd_layout_use_one_block_again) {
    float x[48];
    static const int64_t sizes[2] = {6, 8};
    for (int i = 0; i < 48; i++) x[i] = (float)i;
    sc_job *job = open_lowered("models/weight_layouts.pt2");
    sc_io in = matrix(sizes, x);
    sc_io first = {0}, out = {0};
    size_t held = 0;
    for (int run = 0; run < 1000; run++) {
        REQUIRE_OK(sc_run_set_input(job, 0, &in));
        REQUIRE_OK(sc_run_execute(job, false));
        REQUIRE_OK(sc_run_output(job, 1, &out));
        if (run == 0) {
            CHECK_EQ_INT(out.dim_order[1], 2);
            first = out;
            // Any other text result leaves the output alone.
            CHECK(sc_job_report(job, SC_OK).size > 0);
            float sum = 0;
            for (size_t i = 0; i < out.bytes / 4; i++) sum += ((const float *)out.data)[i];
            CHECK(sum == sum);
            if (__sanitizer_get_current_allocated_bytes)
                held = __sanitizer_get_current_allocated_bytes();
        }
        CHECK(out.data == first.data && out.bytes == first.bytes);
    }
    if (__sanitizer_get_current_allocated_bytes)
        CHECK_EQ_UINT(__sanitizer_get_current_allocated_bytes(), held);
    sc_job_close(job);
}

// --- Transforming --------------------------------------------------------------------------------

static void check_last(sc_job *job, const char *message, const char *hint) {
    const sc_diag *diag = last_diag(job);
    if (!CHECK(diag)) return;
    if (!strstr(diag->message.data, message)) FAIL("'%s' in '%s'", message, diag->message.data);
    if (!strstr(diag->hint.data, hint)) FAIL("'%s' in '%s'", hint, diag->hint.data);
}

static uint32_t open_edge(sc_job *job, const char *path) {
    uint32_t edge = 0;
    CHECK_OK(sc_compile_open(job, file_source(job, path), (sc_str){0}, (sc_str){0}));
    CHECK_OK(sc_compile_to_edge(job, 0, (sc_str){0}, &edge));
    return edge;
}

static sc_status transform(sc_job *job, uint32_t edge, const char *passes, uint32_t *out) {
    return sc_compile_transform(job, edge, (sc_str){0}, sc_str_from(passes), out);
}

TEST(transform_takes_the_passes_of_to_edge_only) {
    uint32_t made = 0;
    sc_job *job = open_job();
    uint32_t edge = open_edge(job, "import/mutation.pt2");
    CHECK_STATUS(transform(job, edge, "[\"mutation\"]", &made), SC_ERR_ARGUMENT);
    check_last(job, "mutation is a pass of to_executorch", "noops, ");
    CHECK_STATUS(transform(job, edge, "[\"decompose\"]", &made), SC_ERR_ARGUMENT);
    check_last(job, "decompose cannot run on an edge program", "noops, ");
    CHECK_STATUS(transform(job, edge, "[\"view_copies\"]", &made), SC_ERR_ARGUMENT);
    check_last(job, "view_copies cannot run alone", "noops, ");
    CHECK_STATUS(transform(job, edge, "[\"nope\"]", &made), SC_ERR_NOT_FOUND);
    check_last(job, "no pass 'nope'", "Use passes of to_edge: assertions, pairs, ");
    CHECK(!strstr(last_diag(job)->hint.data, "mutation"));
    sc_job_close(job);
}

TEST(transform_checks_what_a_pass_needs) {
    uint32_t made = 0;
    sc_job *job = open_job();
    uint32_t edge = open_edge(job, "import/mutation.pt2");
    CHECK_STATUS(transform(job, edge, "[\"noops\", \"unused\"]", &made), SC_ERR_STATE);
    check_last(job, "unused cannot run", "Run dce first.");
    CHECK_OK(transform(job, edge, "[\"noops\", \"dce\", \"unused\"]", &made));
    // The passes that follow know what one transform breaks.
    CHECK_OK(transform(job, edge, "[\"noops\"]", &made));
    CHECK_STATUS(transform(job, made, "[\"unused\"]", &edge), SC_ERR_STATE);
    check_last(job, "unused cannot run", "Run dce first.");
    sc_job_close(job);
}

// The .pte of a program that was lowered with one edge pass run again, or with none (NULL).
static sc_str lowered_again(const char *path, const char *pass) {
    uint32_t made = 0, lowered = 0;
    size_t size = 0;
    sc_job *job = open_job();
    uint32_t edge = open_edge(job, path);
    CHECK_OK(transform(job, edge, pass ? test_format("[\"%s\"]", pass) : "[]", &made));
    CHECK_OK(sc_compile_to_executorch(job, made, (sc_str){0}, &lowered));
    CHECK(sc_output_count(job) == 1);
    char *bytes = test_alloc((size_t)sc_output_bytes(job, 0));
    for (uint32_t i = 0; i < sc_output_chunk_count(job, 0); i++) {
        size_t chunk = (size_t)sc_output_chunk_at(job, 0, i).size;
        CHECK_OK(sc_output_read(job, 0, i, 0, bytes + size, chunk));
        size += chunk;
    }
    CHECK_EQ_UINT(size, sc_output_bytes(job, 0));
    sc_job_close(job);
    return (sc_str){bytes, size};
}

TEST_CASES(an_edge_pass_has_no_effect_the_second_time) {
    static const char *const files[] = {"import/mutation.pt2", "import/arguments.pt2",
                                        "import/weights.pt2",  "import/symbols.pt2",
                                        "import/control.pt2",  "models/cnn.pt2"};
    for (size_t f = 0; f < SC_COUNT_OF(files); f++) {
        sc_str wanted = lowered_again(files[f], NULL);
        for (uint32_t i = 0; i < sc_pass_count(); i++) {
            const sc_pass *pass = sc_pass_at(i);
            if (!sc_pass_is_offered(pass) || !test_case("%s %s", files[f], pass->name)) continue;
            CHECK(sc_str_equal(lowered_again(files[f], pass->name), wanted));
        }
    }
}

TEST(programs_that_are_not_there_are_not_found) {
    sc_str text = {0};
    uint32_t made = 0;
    sc_job *job = open_job();
    uint32_t edge = open_edge(job, "import/mutation.pt2");
    CHECK_STATUS(sc_compile_text(job, 9, (sc_str){0}, &text), SC_ERR_NOT_FOUND);
    CHECK_STATUS(transform(job, 9, "[]", &made), SC_ERR_NOT_FOUND);
    CHECK_STATUS(sc_compile_to_executorch(job, 9, (sc_str){0}, &made), SC_ERR_NOT_FOUND);
    CHECK_STATUS(sc_compile_to_executorch(job, 0, (sc_str){0}, &made), SC_ERR_STATE);
    CHECK_OK(sc_compile_to_executorch(job, edge, SC_STR("{\"consume\": true}"), &made));
    CHECK_STATUS(sc_compile_text(job, edge, (sc_str){0}, &text), SC_ERR_STATE);
    CHECK_STATUS(transform(job, edge, "[]", &made), SC_ERR_STATE);
    sc_job_close(job);
}
