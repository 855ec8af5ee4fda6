// Any bytes as a .pt2 archive; bytes that are not a zip, as the model document of an archive with
// one weight, "w". A program that imports must pass the verifier, print, and parse back to the same
// text.
#include "format/zip.h"
#include "pt2/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char config[] =
    "{\"config\": {\"w\": {\"path_name\": \"weight_0\", \"is_param\": true, \"use_pickle\": false, "
    "\"tensor_meta\": {\"dtype\": 7, \"sizes\": [{\"as_int\": 3}, {\"as_int\": 2}], "
    "\"strides\": [{\"as_int\": 1}, {\"as_int\": 3}], \"storage_offset\": {\"as_int\": 0}}}}}";

static sc_source *wrap(sc_ctx *ctx, const uint8_t *data, size_t size) {
    if (size >= 2 && memcmp(data, "PK", 2) == 0)
        return sc_source_from_memory(ctx->arena, data, size);
    sc_cord *cord = sc_new(ctx->arena, sc_cord);
    sc_zip_writer writer;
    sc_cord_init(cord, ctx->arena);
    sc_zip_writer_init(&writer, cord, 1);
    const char *path = "r/data/weights/model_weights_config.json";
    sc_status status = sc_zip_add_bytes(ctx, &writer, SC_STR("r/archive_format"), "pt2", 3);
    if (status == SC_OK)
        status = sc_zip_add_bytes(ctx, &writer, SC_STR("r/models/model.json"), data, size);
    if (status == SC_OK)
        status = sc_zip_add_bytes(ctx, &writer, sc_str_from(path), config, sizeof(config) - 1);
    if (status == SC_OK)
        status = sc_zip_add_bytes(ctx, &writer, SC_STR("r/data/weights/weight_0"), config, 24);
    SC_ASSERT(status == SC_OK);
    sc_zip_finish(&writer);
    return sc_source_from_cord(ctx->arena, cord);
}

static sc_str print(sc_ctx *ctx, const sc_program *program) {
    sc_sb text;
    sc_sb_init(&text, ctx->arena);
    sc_program_print(&text, program, (sc_print_options){.meta = true, .signature = true});
    return sc_sb_str(&text);
}

static void use(sc_ctx *ctx, const sc_program *program) {
    SC_ASSERT(sc_verify(ctx, program) == SC_OK);
    sc_program *again;
    sc_str text = print(ctx, program);
    SC_ASSERT(sc_program_parse(ctx, text, &again) == SC_OK);
    SC_ASSERT(sc_str_equal(print(ctx, again), text));
    for (uint32_t m = 0; m < program->methods.count; m++) {
        const sc_method *method = program->methods.data[m];
        for (uint32_t i = 0; i < method->inputs.count; i++) {
            const sc_constant *constant = method->inputs.data[i].constant;
            uint8_t digest[32];
            uint64_t bytes;
            if (!constant) continue;
            SC_ASSERT(sc_spec_bytes_max(&constant->spec, &bytes) && bytes == constant->data.size);
            if (bytes < 1 << 20) SC_ASSERT(sc_extent_sha256(ctx, constant->data, digest) == SC_OK);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sc_arena arena, scratch;
    sc_ctx ctx;
    sc_import_options options = {0};
    sc_arena_init(&arena);
    sc_arena_init(&scratch);
    sc_ctx_init(&ctx, &arena, &scratch);
    sc_program *program = sc_program_new(&ctx);
    if (sc_import_pt2(&ctx, wrap(&ctx, data, size), &options, program) == SC_OK)
        use(&ctx, program);
    else
        SC_ASSERT(ctx.error_count > 0);
    sc_arena_deinit(&arena);
    sc_arena_deinit(&scratch);
    return 0;
}
