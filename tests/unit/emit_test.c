// Emission end to end: IR text in executable form, placed and emitted, is compared with the bytes
// and the JSON dump that are committed beside it (tests/emit/NAME.ir, .pte, .json). Constants hold
// small numbers made from their names, so that an official runtime can run the files too.
#include "emit/emit.h"

#include "harness.h"
#include "plan/place.h"
#include "program_fbs.h"

typedef struct session {
    sc_arena arena, scratch;
    sc_ctx ctx;
    sc_program *program;
    sc_storage_table *tables;
    sc_emit_options options;
    sc_emit_result result;
    const uint8_t *bytes;
    size_t size;
} session;

static void begin(session *s) {
    memset(s, 0, sizeof *s);
    sc_arena_init(&s->arena);
    sc_arena_init(&s->scratch);
    sc_ctx_init(&s->ctx, &s->arena, &s->scratch);
    s->options = sc_emit_options_default();
    CHECK_OK(sc_ops_init());
}

static void end(session *s) {
    sc_arena_deinit(&s->arena);
    sc_arena_deinit(&s->scratch);
}

static const char *last_message(session *s) {
    return s->ctx.diags.count ? sc_vec_last(&s->ctx.diags).message.data : "";
}

static float sample(sc_str name, uint64_t i) {
    uint64_t seed = name.size ? (uint8_t)name.data[name.size - 1] : 0;
    return (float)((int64_t)((i * 7 + seed) % 11) - 5) / 4;
}

static void fill(session *s, sc_constant *constant) {
    if (constant->lifted_scalar || constant->spec.dtype != SC_DTYPE_F32) return;
    uint64_t count = constant->data.size / 4;
    float *values = sc_new_array(&s->arena, float, count + 1);
    for (uint64_t i = 0; i < count; i++) values[i] = sample(constant->name, i);
    constant->data = sc_extent_whole(sc_source_from_memory(&s->arena, values, constant->data.size));
}

static sc_status emit(session *s, sc_str text) {
    static const sc_place_options place = {
        .plan_inputs = true, .plan_outputs = true, .align = 16, .share_mutable_buffers = true};
    sc_place_report *reports = NULL;
    SC_TRY(sc_program_parse(&s->ctx, text, &s->program));
    SC_TRY(sc_verify(&s->ctx, s->program));
    for (uint32_t m = 0; m < s->program->methods.count; m++) {
        sc_method *method = s->program->methods.data[m];
        for (uint32_t i = 0; i < method->inputs.count; i++)
            if (method->inputs.data[i].constant) fill(s, method->inputs.data[i].constant);
    }
    SC_TRY(sc_place_program(&s->ctx, s->program, &place, &s->tables, &reports));
    SC_TRY(sc_emit_program(&s->ctx, s->program, s->tables, &s->options, &s->result));
    return sc_cord_flatten(&s->ctx, &s->result.program, &s->arena, 1 << 20, &s->bytes);
}

static sc_status emit_file(session *s, const char *path) {
    size_t size = 0;
    const char *text = test_read(path, &size);
    sc_status status = emit(s, (sc_str){text, size});
    s->size = (size_t)s->result.program.size;
    if (status != SC_OK) FAIL("%s: %s", path, last_message(s));
    return status;
}

static void check_bytes(const char *path, const uint8_t *bytes, size_t size) {
    if (test_updating()) {
        test_write(path, bytes, size);
        return;
    }
    size_t wanted = 0;
    const char *golden = test_read(path, &wanted);
    if (CHECK_EQ_UINT(size, wanted)) CHECK_EQ_MEM(bytes, golden, size);
}

static void check_dump(session *s, const char *path) {
    sc_sb sb;
    sc_json_writer writer;
    REQUIRE_OK(sc_fb_verify(&s->ctx, &sc_pte_schema, s->bytes, (size_t)s->result.program_bytes));
    sc_sb_init(&sb, &s->arena);
    sc_json_writer_init(&writer, &sb, SC_JSON_PRETTY);
    sc_fb_dump(&writer, &sc_pte_schema, s->bytes, 64);
    CHECK_GOLDEN(path, sb.data, sb.size);
}

TEST_CASES(emitted_files_are_byte_for_byte_what_they_were) {
    size_t count = 0;
    const char **files = test_list("emit", ".ir", &count);
    CHECK(count > 0);
    for (size_t i = 0; i < count; i++) {
        if (!test_case("%s", files[i])) continue;
        int stem = (int)strlen(files[i]) - 3;
        session s;
        begin(&s);
        if (CHECK_OK(emit_file(&s, files[i]))) {
            check_dump(&s, test_format("%.*s.json", stem, files[i]));
            check_bytes(test_format("%.*s.pte", stem, files[i]), s.bytes, s.size);
        }
        end(&s);
    }
}
