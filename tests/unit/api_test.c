// The public interface as a host uses it: telling files apart, values that no declaration
// speaks about, outputs of odd layout, and that sconce.h names every option there is.
#include <stdio.h>

#include "harness.h"
#include "sconce.h"

// Of the sanitizer, where there is one.
__attribute__((weak)) size_t __sanitizer_get_current_allocated_bytes(void);

static sc_session *open_session(void) {
    sc_session *session = sc_session_open(NULL);
    SC_ASSERT(session);
    return session;
}

static const sc_diag *last_diag(sc_session *session) {
    sc_ctx *ctx = sc_session_ctx(session);
    return ctx->diags.count ? &sc_vec_last(&ctx->diags) : NULL;
}

static sc_source *file_source(sc_session *session, const char *path) {
    size_t bytes = 0;
    const char *data = test_read(path, &bytes);
    return sc_source_from_memory(sc_session_ctx(session)->arena, data, bytes);
}

// --- numbers -------------------------------------------------------------------------------------

TEST(only_whole_doubles_in_range_become_integers) {
    static const double wrong[] = {-1, 1.5, 1e30, -1e30, 0.0 / 0.0, 1.0 / 0.0, 101};
    uint64_t value = 7;
    for (size_t i = 0; i < SC_COUNT_OF(wrong); i++) CHECK(!sc_u64_from_f64(wrong[i], 100, &value));
    CHECK(sc_u64_from_f64(100, 100, &value) && value == 100);
    CHECK(sc_u64_from_f64(-0.0, 100, &value) && value == 0);
    CHECK(sc_u64_from_f64(9007199254740992.0, UINT64_C(1) << 53, &value));
    CHECK_EQ_UINT(value, UINT64_C(1) << 53);
}

// --- options -------------------------------------------------------------------------------------

// Every name that the message about an unknown option lists stands in the header, in quotes.
static void check_documented(sc_session *session, const char *header) {
    const sc_diag *diag = last_diag(session);
    const char *at = diag ? strstr(diag->message.data, "known are ") : NULL;
    if (!CHECK(at)) return;
    for (at += strlen("known are "); *at;) {
        size_t size = strcspn(at, ",");
        char quoted[64];
        snprintf(quoted, sizeof quoted, "\"%.*s\"", (int)size, at);
        if (!strstr(header, quoted)) FAIL("sconce.h does not mention %s", quoted);
        at += size;
        at += strspn(at, ", ");
    }
}

TEST(the_header_names_every_option) {
    const sc_str wrong = SC_STR("{\"no such option\": 1}");
    size_t bytes = 0;
    uint32_t number = 0;
    const char *header = test_read("../src/sconce.h", &bytes);
    sc_session *session = open_session();
    CHECK_EQ_INT(sc_compile_to_edge(session, wrong, &number), SC_ERR_OPTION);
    check_documented(session, header);
    CHECK_EQ_INT(sc_compile_to_executorch(session, 0, wrong, &number), SC_ERR_OPTION);
    check_documented(session, header);
    CHECK_EQ_INT(sc_run_open(session, NULL, NULL, 0, wrong), SC_ERR_OPTION);
    check_documented(session, header);
    sc_session_close(session);
}

// --- telling files apart -------------------------------------------------------------------------

static void check_kind(const char *head, size_t bytes, const char *kind, sc_status reason) {
    sc_session *session = open_session();
    sc_ctx *ctx = sc_session_ctx(session);
    sc_str found = {0};
    ctx->where.node = SC_STR("of an earlier call");
    CHECK_OK(sc_detect(session, sc_source_from_memory(ctx->arena, head, bytes), &found));
    CHECK_EQ_TEXT(found.data, found.size, kind);
    const sc_diag *diag = last_diag(session);
    CHECK((diag != NULL) == (reason != SC_OK));
    if (diag) {
        CHECK_EQ_INT(diag->code, reason);
        CHECK_EQ_INT(diag->severity, SC_NOTE);
        CHECK_EQ_UINT(diag->where.node.size, 0);
    }
    sc_session_close(session);
}

TEST(files_are_known_by_their_exact_marks) {
    check_kind("\x1c\0\0\0ET12", 8, "pte", SC_OK);
    check_kind("\x1c\0\0\0FT01", 8, "ptd", SC_OK);
    check_kind("PK\3\4\0\0\0\0", 8, "pt2", SC_OK);
    check_kind("\x1c\0\0\0ET13", 8, "unknown", SC_ERR_VERSION);
    check_kind("\x1c\0\0\0FT\xff\n", 8, "unknown", SC_ERR_VERSION);
    check_kind("\x1c\0\0\0ET1", 7, "unknown", SC_ERR_TRUNCATED);
    check_kind("", 0, "unknown", SC_ERR_TRUNCATED);
    check_kind("some text", 9, "unknown", SC_ERR_FORMAT);
}

// --- running -------------------------------------------------------------------------------------

// Lowers a model and opens what comes out in a session of its own.
static sc_session *open_lowered(const char *path) {
    sc_session *compile = open_session(), *run = open_session();
    uint32_t edge = 0, executorch = 0;
    sc_source *model = file_source(compile, path);
    CHECK_OK(sc_compile_open(compile, model, (sc_str){0}, (sc_str){0}));
    CHECK_OK(sc_compile_to_edge(compile, (sc_str){0}, &edge));
    CHECK_OK(sc_compile_to_executorch(compile, edge, (sc_str){0}, &executorch));
    sc_arena *arena = sc_session_ctx(run)->arena;
    size_t size = (size_t)sc_output_bytes(compile, 0), at = 0;
    uint8_t *bytes = sc_arena_alloc(arena, size);
    for (uint32_t c = 0; c < sc_output_chunk_count(compile, 0); c++) {
        size_t part = (size_t)sc_output_chunk_at(compile, 0, c).size;
        CHECK_OK(sc_output_read(compile, 0, c, 0, bytes + at, part));
        at += part;
    }
    sc_session_close(compile);
    sc_source *program = sc_source_from_memory(arena, bytes, size);
    CHECK_OK(sc_run_open(run, program, NULL, 0, (sc_str){0}));
    CHECK_OK(sc_run_select(run, SC_STR("forward")));
    return run;
}

TEST(values_that_nothing_can_declare_are_refused) {
    static const float data[6] = {0};
    static const int64_t sizes[40] = {2, 3};
    sc_session *session = open_lowered("models/add_mul.pt2");
    sc_io io = {.kind = SC_KIND_TENSOR,
                .dtype = 6,
                .rank = 2,
                .sizes = sizes,
                .data = data,
                .bytes = sizeof data};
    io.dtype = 256 + 6;  // whose low byte is float32
    CHECK_EQ_INT(sc_run_set_input(session, 0, &io), SC_ERR_INPUT);
    io.dtype = 6;
    io.rank = 256 + 2;
    CHECK_EQ_INT(sc_run_set_input(session, 0, &io), SC_ERR_INPUT);
    sc_session_close(session);
}

// Output 1 of this model is channels_last.
TEST(outputs_of_odd_layout_use_one_block_again) {
    float x[48];
    static const int64_t sizes[2] = {6, 8};
    for (int i = 0; i < 48; i++) x[i] = (float)i;
    sc_session *session = open_lowered("models/weight_layouts.pt2");
    sc_io in = {.kind = SC_KIND_TENSOR,
                .dtype = 6,
                .rank = 2,
                .sizes = sizes,
                .data = x,
                .bytes = sizeof x};
    sc_io first = {0}, out = {0};
    size_t held = 0;
    for (int run = 0; run < 1000; run++) {
        REQUIRE_OK(sc_run_set_input(session, 0, &in));
        REQUIRE_OK(sc_run_execute(session));
        REQUIRE_OK(sc_run_output(session, 1, &out));
        if (run == 0) {
            CHECK_EQ_INT(out.dim_order[1], 2);
            first = out;
            // Any other text result leaves the output alone.
            CHECK(sc_session_report(session, SC_OK).size > 0);
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
    sc_session_close(session);
}
