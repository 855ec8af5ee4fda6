// The FlatBuffer layer: what the builder writes, the verifier passes and the accessors read; what
// others wrote; and that damage never gets past the verifier.
#include <stdlib.h>

#include "flat_tensor_fbs.h"
#include "harness.h"
#include "program_fbs.h"

typedef struct fixture {
    sc_arena arena, scratch;
    sc_ctx ctx;
    sc_fb_builder builder;
} fixture;

static void begin(fixture *f) {
    sc_arena_init(&f->arena);
    sc_arena_init(&f->scratch);
    sc_ctx_init(&f->ctx, &f->arena, &f->scratch);
    sc_fb_builder_init(&f->builder, &f->arena);
}

static void end(fixture *f) {
    sc_arena_deinit(&f->arena);
    sc_arena_deinit(&f->scratch);
}

static sc_str dump(fixture *f, const sc_fb_schema *schema, const uint8_t *data,
                   sc_json_style style) {
    sc_sb sb;
    sc_json_writer writer;
    sc_sb_init(&sb, &f->arena);
    sc_json_writer_init(&writer, &sb, style);
    sc_fb_dump(&writer, schema, data, 64);
    return sc_sb_str(&sb);
}

static sc_fb_ref add_int_value(sc_fb_builder *b, int64_t value) {
    sc_fb_begin(b);
    sc_pte_Int_set_int_val(b, value);
    sc_fb_ref number = sc_fb_end(b);
    sc_fb_begin(b);
    sc_pte_EValue_set_val(b, SC_PTE_KernelTypes_Int, number);
    return sc_fb_end(b);
}

TEST(every_kind_of_field_survives_a_round_trip) {
    fixture f;
    begin(&f);
    sc_fb_builder *b = &f.builder;
    static const uint64_t offsets[] = {0, 1ull << 40};
    static const uint8_t blob[] = {1, 2, 3};
    sc_fb_ref offsets_ref = sc_fb_add_vector(b, offsets, 2, 8, 8);
    sc_fb_ref blob_ref = sc_fb_add_vector(b, blob, 3, 1, 16);
    sc_fb_begin(b);
    sc_pte_Buffer_set_storage(b, blob_ref);
    sc_fb_ref buffer = sc_fb_end(b);
    sc_fb_ref buffers = sc_fb_add_refs(b, &buffer, 1);
    sc_fb_ref name = sc_fb_add_string(b, SC_STR("forward"));
    sc_fb_ref values[3] = {add_int_value(b, -7), add_int_value(b, 0), 0};
    sc_fb_begin(b);
    sc_pte_Double_set_double_val(b, -0.0);
    sc_fb_ref number = sc_fb_end(b);
    sc_fb_begin(b);
    sc_pte_EValue_set_val(b, SC_PTE_KernelTypes_Double, number);
    values[2] = sc_fb_end(b);
    sc_fb_ref values_ref = sc_fb_add_refs(b, values, 3);
    sc_fb_ref empty = sc_fb_add_vector(b, NULL, 0, 4, 4);
    sc_fb_begin(b);
    sc_pte_ExecutionPlan_set_name(b, name);
    sc_pte_ExecutionPlan_set_values(b, values_ref);
    sc_pte_ExecutionPlan_set_inputs(b, empty);
    sc_fb_ref plan = sc_fb_end(b);
    sc_fb_ref plans = sc_fb_add_refs(b, &plan, 1);
    sc_fb_begin(b);
    sc_pte_SubsegmentOffsets_set_segment_index(b, 3);
    sc_pte_SubsegmentOffsets_set_offsets(b, offsets_ref);
    sc_fb_ref constants = sc_fb_end(b);
    sc_fb_begin(b);
    sc_pte_Program_set_version(b, 0);
    sc_pte_Program_set_execution_plan(b, plans);
    sc_pte_Program_set_constant_buffer(b, buffers);
    sc_pte_Program_set_constant_segment(b, constants);
    sc_fb_ref root = sc_fb_end(b);
    const uint8_t *data = NULL;
    size_t size = 0;
    REQUIRE_OK(sc_fb_finish(&f.ctx, b, root, SC_PTE_IDENTIFIER, &data, &size));
    REQUIRE_OK(sc_fb_verify(&f.ctx, &sc_pte_schema, data, size));

    sc_fb_table program = sc_fb_root(data);
    CHECK(sc_pte_Program_segments(program).items == NULL);
    sc_fb_vec storage =
        sc_pte_Buffer_storage(sc_fb_vec_table(sc_pte_Program_constant_buffer(program), 0));
    CHECK_EQ_UINT((size_t)(storage.items - data) % 16, 0);
    CHECK_EQ_UINT(size % 16, 0);
    sc_fb_vec read_offsets =
        sc_pte_SubsegmentOffsets_offsets(sc_pte_Program_constant_segment(program));
    CHECK_EQ_UINT((size_t)(read_offsets.items - data) % 8, 0);
    CHECK_EQ_UINT(sc_fb_vec_u64(read_offsets, 1), 1ull << 40);
    sc_str text = dump(&f, &sc_pte_schema, data, SC_JSON_COMPACT);
    CHECK_EQ_TEXT(text.data, text.size,
                  "{\"execution_plan\":[{\"name\":\"forward\",\"values\":["
                  "{\"val_type\":\"Int\",\"val\":{\"int_val\":-7}},"
                  "{\"val_type\":\"Int\",\"val\":{}},"
                  "{\"val_type\":\"Double\",\"val\":{\"double_val\":-0.0}}],\"inputs\":[]}],"
                  "\"constant_buffer\":[{\"storage\":[1,2,3]}],"
                  "\"constant_segment\":{\"segment_index\":3,\"offsets\":[0,1099511627776]}}");
    end(&f);
}

TEST(equal_vtables_are_stored_once) {
    fixture f;
    begin(&f);
    enum { COUNT = 60000 };
    sc_fb_ref *values = sc_new_array(&f.arena, sc_fb_ref, COUNT);
    for (int i = 0; i < COUNT; i++) values[i] = add_int_value(&f.builder, i + 1);
    CHECK_EQ_UINT(f.builder.vtable_count, 2);
    CHECK(f.builder.used < COUNT * 28 + 64);
    sc_fb_ref values_ref = sc_fb_add_refs(&f.builder, values, COUNT);
    sc_fb_begin(&f.builder);
    sc_pte_ExecutionPlan_set_values(&f.builder, values_ref);
    sc_fb_ref plan = sc_fb_end(&f.builder);
    sc_fb_ref plans = sc_fb_add_refs(&f.builder, &plan, 1);
    sc_fb_begin(&f.builder);
    sc_pte_Program_set_execution_plan(&f.builder, plans);
    sc_fb_ref root = sc_fb_end(&f.builder);
    const uint8_t *data = NULL;
    size_t size = 0;
    REQUIRE_OK(sc_fb_finish(&f.ctx, &f.builder, root, SC_PTE_IDENTIFIER, &data, &size));
    REQUIRE_OK(sc_fb_verify(&f.ctx, &sc_pte_schema, data, size));
    sc_fb_vec read = sc_pte_ExecutionPlan_values(
        sc_fb_vec_table(sc_pte_Program_execution_plan(sc_fb_root(data)), 0));
    CHECK_EQ_UINT(read.count, COUNT);
    CHECK_EQ_INT(sc_pte_Int_int_val(sc_pte_EValue_val(sc_fb_vec_table(read, COUNT - 1))), COUNT);
    end(&f);
}

// The FlatBuffer of a file: all bytes before the segments.
static const uint8_t *program_part(const char *bytes, size_t *size) {
    const uint8_t *data = (const uint8_t *)bytes;
    if (memcmp(data + 8, "eh00", 4) == 0) *size = (size_t)sc_fb_load_u64(data + 16);
    if (memcmp(data + 8, "FH01", 4) == 0)
        *size = (size_t)(sc_fb_load_u64(data + 16) + sc_fb_load_u64(data + 24));
    return data;
}

TEST_CASES(files_of_others_are_read_as_they_are) {
    static const char *const suffixes[] = {".pte", ".ptd"};
    for (int kind = 0; kind < 2; kind++) {
        size_t count = 0;
        const char **files = test_list("data/pte", suffixes[kind], &count);
        CHECK(count > 0);
        for (size_t i = 0; i < count; i++) {
            if (!test_case("%s", files[i])) continue;
            fixture f;
            begin(&f);
            const sc_fb_schema *schema = kind ? &sc_ptd_schema : &sc_pte_schema;
            size_t size = 0;
            const char *bytes = test_read(files[i], &size);
            const uint8_t *data = program_part(bytes, &size);
            if (CHECK_OK(sc_fb_verify(&f.ctx, schema, data, size))) {
                sc_str text = dump(&f, schema, data, SC_JSON_PRETTY);
                const char *golden = test_format("%.*s.json", (int)strlen(files[i]) - 4, files[i]);
                CHECK_GOLDEN(golden, text.data, text.size);
            }
            end(&f);
        }
    }
}

TEST(another_kind_of_file_is_no_damaged_one) {
    fixture f;
    begin(&f);
    size_t size = 0;
    char *bytes = test_read("data/pte/linear.portable.pte", &size);
    program_part(bytes, &size);
    CHECK_STATUS(sc_fb_verify(&f.ctx, &sc_ptd_schema, (uint8_t *)bytes, size), SC_ERR_FORMAT);
    bytes[7] = '9';
    CHECK_STATUS(sc_fb_verify(&f.ctx, &sc_pte_schema, (uint8_t *)bytes, size), SC_ERR_VERSION);
    end(&f);
}

static void check_damaged(sc_ctx *ctx, const uint8_t *data, size_t size) {
    // An exact copy, so that a read past the end is a finding of the address sanitizer.
    uint8_t *copy = malloc(size ? size : 1);
    memcpy(copy, data, size);
    sc_status status = sc_fb_verify(ctx, &sc_pte_schema, copy, size);
    if (status == SC_OK) {
        sc_mark mark = sc_arena_mark(ctx->arena);
        sc_sb sb;
        sc_json_writer writer;
        sc_sb_init(&sb, ctx->arena);
        sc_json_writer_init(&writer, &sb, SC_JSON_COMPACT);
        sc_fb_dump(&writer, &sc_pte_schema, copy, 0);
        sc_arena_rewind(ctx->arena, mark);
    }
    free(copy);
    sc_diags_clear(ctx);
}

TEST(truncations_and_mutations_never_reach_the_accessors) {
    fixture f;
    begin(&f);
    size_t size = 0;
    char *bytes = test_read("data/pte/cond.portable.pte", &size);
    uint8_t *data = (uint8_t *)program_part(bytes, &size);
    for (size_t cut = 0; cut < size; cut += 3) check_damaged(&f.ctx, data, cut);
    uint32_t random = 12345;
    for (int i = 0; i < 5000; i++) {
        random = random * 1664525u + 1013904223u;
        size_t at = (random >> 8) % size;
        uint8_t old = data[at];
        data[at] = (uint8_t)(random >> 3);
        check_damaged(&f.ctx, data, size);
        data[at] = old;
    }
    end(&f);
}

// Chains -> instructions that all share one vector of calls would cost count * count visits.
TEST(shared_offsets_cannot_multiply_the_work) {
    fixture f;
    begin(&f);
    sc_fb_builder *b = &f.builder;
    enum { COUNT = 20000 };
    sc_fb_ref *refs = sc_new_array(&f.arena, sc_fb_ref, COUNT);
    sc_fb_begin(b);
    sc_fb_ref instruction = sc_fb_end(b);
    for (int i = 0; i < COUNT; i++) refs[i] = instruction;
    sc_fb_ref instructions = sc_fb_add_refs(b, refs, COUNT);
    for (int i = 0; i < COUNT; i++) {
        sc_fb_begin(b);
        sc_pte_Chain_set_instructions(b, instructions);
        refs[i] = sc_fb_end(b);
    }
    sc_fb_ref chains = sc_fb_add_refs(b, refs, COUNT);
    sc_fb_begin(b);
    sc_pte_ExecutionPlan_set_chains(b, chains);
    sc_fb_ref plan = sc_fb_end(b);
    sc_fb_ref plans = sc_fb_add_refs(b, &plan, 1);
    sc_fb_begin(b);
    sc_pte_Program_set_execution_plan(b, plans);
    sc_fb_ref root = sc_fb_end(b);
    const uint8_t *data = NULL;
    size_t size = 0;
    REQUIRE_OK(sc_fb_finish(&f.ctx, b, root, SC_PTE_IDENTIFIER, &data, &size));
    CHECK_STATUS(sc_fb_verify(&f.ctx, &sc_pte_schema, data, size), SC_ERR_CORRUPT);
    end(&f);
}
