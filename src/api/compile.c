// The whole of lowering, to be read first: open, decompose and rewrite to the edge dialect, make
// the graph executable, plan memory, emit. Every step works on a copy, so earlier programs stay as
// they were for those who look at them.
#include "api/job.h"
#include "emit/emit.h"
#include "import/import.h"

static sc_version *add_version(sc_job *job, const char *name, sc_program *program, double begin_ms,
                               uint32_t *number) {
    sc_version version = {.name = name, .program = program};
    version.ms = sc_job_now_ms(job) - begin_ms;
    sc_vec_push(&job->arena, &job->versions, version);
    if (number) *number = job->versions.count - 1;
    return &job->versions.data[job->versions.count - 1];
}

// Timings number `first` up to before `end`.
static void keep_timings(sc_job *job, sc_version *version, const sc_pipeline *pipeline,
                         uint32_t first, uint32_t end) {
    for (uint32_t i = first; i < end; i++)
        sc_vec_push(&job->arena, &version->timings, pipeline->timings.data[i]);
}

// --- Opening -------------------------------------------------------------------------------------

sc_status sc_compile_open(sc_job *job, sc_source *source, sc_str method, sc_str model) {
    sc_ctx *ctx = sc_job_begin(job);
    double begin_ms = sc_job_now_ms(job);
    SC_TRY(sc_ops_init());
    if (job->versions.count > 1)
        return sc_fail(ctx, SC_ERR_STATE, "Add every method first, then lower.",
                       "methods are added before lowering begins");
    if (job->versions.count == 0) add_version(job, "source", sc_program_new(ctx), begin_ms, NULL);
    sc_version *version = &job->versions.data[0];
    sc_import_options options = {.method = sc_str_copy(ctx->arena, method),
                                 .model = sc_str_copy(ctx->arena, model)};
    SC_TRY(sc_import_pt2(ctx, source, &options, version->program));
    version->ms += sc_job_now_ms(job) - begin_ms;
    return SC_OK;
}

// --- Constant methods ----------------------------------------------------------------------------

static sc_status constant_value(sc_ctx *ctx, const sc_json *json, uint32_t depth, sc_arg *out) {
    double number = 0;
    if (json->kind == SC_JSON_INT) {
        *out = sc_arg_int(json->integer);
    } else if (json->kind == SC_JSON_BOOL) {
        *out = sc_arg_bool(json->boolean);
    } else if (json->kind == SC_JSON_STRING) {
        *out = sc_arg_str(sc_str_copy(ctx->arena, sc_json_str(ctx->arena, json)));
    } else if (json->kind == SC_JSON_FLOAT && sc_json_f64(json, &number)) {
        *out = sc_arg_float(number);
    } else if (json->kind == SC_JSON_ARRAY && depth < 8) {
        sc_arg *items = sc_new_array(ctx->arena, sc_arg, (size_t)json->size + 1);
        const sc_json *item = sc_json_first(json);
        for (uint32_t i = 0; i < json->size; i++, item = sc_json_next(item))
            SC_TRY(constant_value(ctx, item, depth + 1, &items[i]));
        *out = sc_arg_list(items, json->size);
    } else {
        return sc_fail(ctx, SC_ERR_ARGUMENT,
                       "Use a number, true, false, a string, or a list of them.",
                       "a constant method cannot answer this value");
    }
    return SC_OK;
}

static bool has_method(const sc_program *program, sc_str name) {
    for (uint32_t i = 0; i < program->constant_methods.count; i++)
        if (sc_str_equal(sc_name_str(program->constant_methods.data[i].name), name)) return true;
    return sc_program_method(program, name) != NULL;
}

sc_status sc_compile_constant_method(sc_job *job, sc_str name, sc_str value_json) {
    sc_ctx *ctx = sc_job_begin(job);
    const sc_json *json = NULL;
    if (job->versions.count != 1)
        return sc_fail(ctx, SC_ERR_STATE, "Open the .pt2 files, add constant methods, then lower.",
                       "constant methods are added after opening and before lowering");
    sc_program *program = job->versions.data[0].program;
    if (name.size == 0 || has_method(program, name))
        return sc_fail(ctx, SC_ERR_ARGUMENT, "Give each method its own name.",
                       "there is a method named '" SC_STR_FMT "' already", SC_STR_ARG(name));
    SC_TRY(sc_json_parse(ctx, ctx->arena, sc_str_copy(ctx->arena, value_json), &json));
    sc_constant_method method = {.name = sc_name_intern(ctx->names, name)};
    SC_TRY(constant_value(ctx, json, 0, &method.value));
    sc_vec_push(ctx->arena, &program->constant_methods, method);
    return SC_OK;
}

// --- To edge -------------------------------------------------------------------------------------

// Collects each method as it leaves decomposition, and where in time that was.
typedef struct snapshot {
    const sc_job *job;
    const sc_pipeline *pipeline;
    sc_program *core;
    sc_status status;
    double done_ms;
    uint32_t timing_count;
} snapshot;

static void keep_core(void *user, const sc_pass *pass, sc_method *method) {
    snapshot *s = user;
    if (!(pass->makes & SC_FACT_CORE) || s->status != SC_OK) return;
    s->timing_count = s->pipeline->timings.count;
    s->done_ms = sc_job_now_ms(s->job);
    s->status = sc_method_clone(method, s->core);
}

static sc_pipeline pipeline_for(sc_job *job) {
    sc_pipeline pipeline = {.arena = &job->arena};
#ifdef SC_CHECKS
    pipeline.verify = true;
#endif
    return pipeline;
}

sc_status sc_compile_to_edge(sc_job *job, sc_str options_json, uint32_t *edge) {
    sc_ctx *ctx = sc_job_begin(job);
    sc_options options;
    SC_TRY(sc_options_read(ctx, SC_OPTIONS_TO_EDGE, options_json, &options));
    sc_version *source = NULL;
    SC_TRY(sc_job_version(job, 0, "source", &source));
    if (source->program->methods.count == 0)
        return sc_fail(ctx, SC_ERR_STATE, NULL, "open a .pt2 before lowering");

    double begin_ms = sc_job_now_ms(job);
    sc_program *program = NULL;
    SC_TRY(sc_program_clone(source->program, &program));
    sc_pipeline pipeline = pipeline_for(job);
    snapshot core = {job, &pipeline, sc_program_new(ctx), SC_OK, begin_ms, 0};
    if (options.snapshots) {
        pipeline.after = keep_core;
        pipeline.user = &core;
    }
    SC_TRY(sc_pipeline_run(ctx, &pipeline, program, true));
    SC_TRY(core.status);
    if (options.snapshots) {
        sc_version *version = add_version(job, "core", core.core, begin_ms, NULL);
        version->ms = core.done_ms - begin_ms;
        keep_timings(job, version, &pipeline, 0, core.timing_count);
    }
    sc_version *version = add_version(job, "edge", program, core.done_ms, edge);
    keep_timings(job, version, &pipeline, core.timing_count, pipeline.timings.count);
    return SC_OK;
}

static const char *edge_passes_hint(sc_arena *arena) {
    sc_sb hint;
    sc_sb_init(&hint, arena);
    sc_sb_add_text(&hint, "Use passes of to_edge:");
    for (uint32_t i = 0; i < sc_pass_count(); i++)
        if (sc_pass_at(i)->edge) sc_sb_addf(&hint, "%s %s", i ? "," : "", sc_pass_at(i)->name);
    sc_sb_add_text(&hint, ".");
    return sc_sb_terminate(&hint);
}

// The result is an edge program, and so only passes that leave one behind may be named.
static sc_status edge_pass(sc_ctx *ctx, sc_str name, const sc_pass **out) {
    *out = sc_pass_find(name);
    if (!*out)
        return sc_fail(ctx, SC_ERR_NOT_FOUND, edge_passes_hint(ctx->arena),
                       "there is no pass '" SC_STR_FMT "'", SC_STR_ARG(name));
    if (!(*out)->edge)
        return sc_fail(ctx, SC_ERR_ARGUMENT, edge_passes_hint(ctx->arena),
                       "%s is a pass of to_executorch, which runs it itself", (*out)->name);
    return SC_OK;
}

static sc_status run_named(sc_ctx *ctx, sc_pipeline *pipeline, sc_program *program, sc_str only,
                           sc_str name) {
    const sc_pass *pass = NULL;
    SC_TRY(edge_pass(ctx, name, &pass));
    for (uint32_t i = 0; i < program->methods.count; i++) {
        sc_method *method = program->methods.data[i];
        if (only.size && !sc_str_equal(only, sc_name_str(method->name))) continue;
        SC_TRY(sc_pipeline_pass(ctx, pipeline, pass, method));
    }
    return sc_verify(ctx, program);
}

sc_status sc_compile_transform(sc_job *job, uint32_t edge, sc_str method, sc_str passes_json,
                               uint32_t *transformed) {
    sc_ctx *ctx = sc_job_begin(job);
    double begin_ms = sc_job_now_ms(job);
    sc_version *version = NULL;
    sc_program *program = NULL;
    const sc_json *names = NULL;
    SC_TRY(sc_job_version(job, edge, "edge", &version));
    SC_TRY(sc_json_parse(ctx, ctx->arena, sc_str_copy(ctx->arena, passes_json), &names));
    if (names->kind != SC_JSON_ARRAY)
        return sc_fail(ctx, SC_ERR_ARGUMENT, NULL, "passes must be a JSON array of names");
    if (method.size && !sc_program_method(version->program, method))
        return sc_fail(ctx, SC_ERR_NOT_FOUND, NULL, "there is no method '" SC_STR_FMT "'",
                       SC_STR_ARG(method));
    SC_TRY(sc_program_clone(version->program, &program));
    sc_pipeline pipeline = pipeline_for(job);
    const sc_json *name = sc_json_first(names);
    for (uint32_t n = names->size; n--; name = sc_json_next(name))
        SC_TRY(run_named(ctx, &pipeline, program, method, sc_json_str(ctx->arena, name)));
    sc_version *made = add_version(job, "edge", program, begin_ms, transformed);
    keep_timings(job, made, &pipeline, 0, pipeline.timings.count);
    return SC_OK;
}

// --- To executorch -------------------------------------------------------------------------------

static void keep_outputs(sc_job *job, uint32_t number, const sc_emit_result *result) {
    sc_output program = {number, SC_STR("program.pte"), result->program};
    sc_vec_push(&job->arena, &job->outputs, program);
    for (uint32_t i = 0; i < result->files.count; i++) {
        const sc_emit_file *file = &result->files.data[i];
        sc_output output = {.program = number, .cord = file->cord};
        output.name = sc_str_format(&job->arena, SC_STR_FMT ".ptd", SC_STR_ARG(file->tag));
        sc_vec_push(&job->arena, &job->outputs, output);
    }
}

static void keep_plans(sc_job *job, uint32_t number, const sc_program *program,
                       const sc_place_report *reports) {
    for (uint32_t i = 0; i < program->methods.count; i++) {
        sc_method_plan plan = {number, program->methods.data[i]->name, reports[i]};
        sc_vec_push(&job->arena, &job->plans, plan);
    }
}

sc_status sc_compile_to_executorch(sc_job *job, uint32_t edge, sc_str options_json,
                                   uint32_t *executorch) {
    sc_ctx *ctx = sc_job_begin(job);
    double begin_ms = sc_job_now_ms(job);
    sc_options options;
    sc_version *version = NULL;
    sc_program *program = NULL;
    SC_TRY(sc_options_read(ctx, SC_OPTIONS_TO_EXECUTORCH, options_json, &options));
    SC_TRY(sc_job_version(job, edge, "edge", &version));
    if (options.consume) {
        program = version->program;
        version->program = NULL;
    } else {
        SC_TRY(sc_program_clone(version->program, &program));
    }
    sc_pipeline pipeline = pipeline_for(job);
    SC_TRY(sc_pipeline_run(ctx, &pipeline, program, false));

    sc_storage_table *tables = NULL;
    sc_place_report *reports = NULL;
    sc_emit_result result = {0};
    ctx->where = (sc_where){.pass = SC_STR("memory_planning"), .instruction = -1};
    SC_TRY(sc_progress(ctx, "plan", 0, 0));
    SC_TRY(sc_place_program(ctx, program, &options, &tables, &reports));
    ctx->where = (sc_where){.pass = SC_STR("emit"), .instruction = -1};
    SC_TRY(sc_progress(ctx, "emit", 0, 0));
    double emit_ms = sc_job_now_ms(job);
    SC_TRY(sc_emit_program(ctx, program, tables, &options, &result));
    uint32_t number = job->versions.count;
    keep_outputs(job, number, &result);
    keep_plans(job, number, program, reports);
    sc_version *made = add_version(job, "executorch", program, begin_ms, executorch);
    made->emit_ms = sc_job_now_ms(job) - emit_ms;
    keep_timings(job, made, &pipeline, 0, pipeline.timings.count);
    return SC_OK;
}
