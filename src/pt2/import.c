// Decides which models of a file become which methods. Memory that only the import needs is on an
// arena of its own, which is freed whenever the import returns.
#include "pt2/import.h"

#include "pt2/pt2.h"

static sc_status import_model(sc_ctx *ctx, const sc_pt2_archive *archive, sc_str model,
                              sc_str method_name, sc_program *program) {
    sc_arena work;
    sc_method *method;
    SC_TRY(sc_program_add_method(program, method_name, &method));
    sc_where_set_method(ctx, method);
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_arena_init(&work);
    sc_status status = sc_pt2_read_model(ctx, &work, archive, model, method);
    sc_arena_deinit(&work);
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}

static sc_str default_name(sc_str model) {
    return sc_str_is(model, "model") ? SC_STR("forward") : model;
}

static sc_status import_all(sc_ctx *ctx, const sc_pt2_archive *archive,
                            const sc_import_options *options, sc_program *program) {
    if (options->method.size && archive->models.count > 1)
        return sc_fail(ctx, SC_ERR_OPTION, "Name the model to import.",
                       "one method name is given, but the file holds %u models",
                       archive->models.count);
    for (uint32_t i = 0; i < archive->models.count; i++) {
        sc_str model = archive->models.data[i];
        sc_str name = options->method.size ? options->method : default_name(model);
        SC_TRY(import_model(ctx, archive, model, name, program));
    }
    return SC_OK;
}

static sc_status import_one(sc_ctx *ctx, const sc_pt2_archive *archive,
                            const sc_import_options *options, sc_program *program) {
    sc_str name = options->method.size ? options->method : default_name(options->model);
    for (uint32_t i = 0; i < archive->models.count; i++)
        if (sc_str_equal(archive->models.data[i], options->model))
            return import_model(ctx, archive, options->model, name, program);
    return sc_fail(ctx, SC_ERR_NOT_FOUND, NULL, "the file has no model '" SC_STR_FMT "'",
                   SC_STR_ARG(options->model));
}

sc_status sc_import_pt2(sc_ctx *ctx, sc_source *source, const sc_import_options *options,
                        sc_program *program) {
    sc_arena work;
    sc_pt2_archive archive;
    SC_TRY(sc_ops_init());
    sc_where outer = ctx->where;
    ctx->where.pass = SC_STR("import");
    sc_arena_init(&work);
    sc_status status = sc_pt2_open(ctx, &work, source, &archive);
    if (status == SC_OK)
        status = options->model.size ? import_one(ctx, &archive, options, program)
                                     : import_all(ctx, &archive, options, program);
    sc_arena_deinit(&work);
    ctx->where = outer;
    return status;
}
