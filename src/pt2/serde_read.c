// Reads programs of records, by the importer of .pt2 documents, with their files.
#include "pt2/pt2.h"

static sc_status parse(sc_ctx *ctx, sc_arena *work, sc_extent file, const sc_json **out) {
    const uint8_t *text;
    SC_TRY(sc_extent_load(ctx, work, file, ctx->limits.json_bytes_max, &text));
    return sc_json_parse(ctx, work, (sc_str){(const char *)text, (size_t)file.size}, out);
}

static sc_status read_files(sc_pt2_importer *imp, const sc_serde_files *files) {
    sc_ctx *ctx = imp->ctx;
    const sc_json *json;
    imp->is_record = true;
    imp->is_light = files->state_dict.size == 0 && files->constants.size == 0;
    SC_TRY(parse(ctx, imp->work, files->program, &json));
    SC_TRY(sc_pt2_read_saved(ctx, imp->work, SC_STR("state_dict"), files->state_dict,
                             &imp->payloads.weights));
    SC_TRY(sc_pt2_read_saved(ctx, imp->work, SC_STR("constants"), files->constants,
                             &imp->payloads.constants));
    imp->method->examples = files->example_inputs;
    return sc_pt2_read_document(imp, json);
}

// A delegate is one string that includes its weights. The weights inside that text are one string,
// too.
static sc_status read_with_long_strings(sc_pt2_importer *imp, const sc_serde_files *files) {
    sc_ctx *ctx = imp->ctx;
    const uint64_t string_bytes_max = ctx->limits.json_string_bytes_max;
    ctx->limits.json_string_bytes_max = ctx->limits.json_bytes_max;
    const sc_status status = read_files(imp, files);
    ctx->limits.json_string_bytes_max = string_bytes_max;
    return status;
}

sc_status sc_serde_read(sc_ctx *ctx, const sc_serde_files *files, sc_str name, sc_program *program,
                        sc_serde_info *info) {
    sc_arena work;
    sc_method *method;
    sc_pt2_importer imp;
    SC_TRY(sc_ops_init());
    SC_TRY(sc_program_add_method(program, name, &method));
    sc_where outer = ctx->where;
    sc_mark mark = sc_arena_mark(ctx->scratch);
    ctx->where.pass = SC_STR("import");
    sc_where_set_method(ctx, method);
    sc_arena_init(&work);
    sc_pt2_importer_init(&imp, ctx, &work, method);
    sc_status status = read_with_long_strings(&imp, files);
    sc_arena_deinit(&work);
    sc_arena_rewind(ctx->scratch, mark);
    ctx->where = outer;
    if (info)
        *info = (sc_serde_info){.is_edge = imp.is_edge,
                                .has_weights = !imp.lacks_data,
                                .graph_id = imp.graph_votes ? imp.graph_id : 0};
    return status;
}
