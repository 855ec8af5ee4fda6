// Lowering as hosts call it: opens files as methods, and runs steps on them. The steps themselves
// are in steps.c.
#include "api/compile/named_passes.h"
#include "api/compile/steps.h"
#include "api/options.h"
#include "api/record/records.h"
#include "pt2/import.h"

// --- Opening -------------------------------------------------------------------------------------

sc_status sc_compile_open(sc_job *job, sc_source *source, sc_str method, sc_str model) {
    sc_ctx *ctx = sc_job_begin(job);
    double begin_ms = sc_now_ms(&job->ctx);
    SC_TRY(sc_ops_init());
    if (job->versions.count > 1)
        return sc_fail(ctx, SC_ERR_STATE, "Add every method first, then lower.",
                       "no method can be added after lowering has begun");
    if (job->versions.count == 0)
        sc_job_add_version(job, SC_DIALECT_source, sc_program_new(ctx), begin_ms);
    sc_version *version = &job->versions.data[0];
    sc_import_options options = {.method = sc_str_copy(ctx->arena, method),
                                 .model = sc_str_copy(ctx->arena, model)};
    SC_TRY(sc_import_pt2(ctx, source, &options, version->program));
    version->ms += sc_now_ms(&job->ctx) - begin_ms;
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
                       "a constant method cannot return this value");
    }
    return SC_OK;
}

static bool has_method(const sc_program *program, sc_str name) {
    for (uint32_t i = 0; i < program->constant_methods.count; i++)
        if (sc_str_equal(sc_name_str(program->constant_methods.data[i].name), name)) return true;
    return sc_program_method(program, name) != NULL;
}

static bool has_only_sources(const sc_job *job) {
    for (uint32_t i = 0; i < job->versions.count; i++)
        if (job->versions.data[i].dialect != SC_DIALECT_source) return false;
    return job->versions.count != 0;
}

sc_status sc_compile_constant_method(sc_job *job, sc_str name, sc_str value_json) {
    sc_ctx *ctx = sc_job_begin(job);
    const sc_json *json = NULL;
    if (!has_only_sources(job))
        return sc_fail(
            ctx, SC_ERR_STATE, "Open the .pt2 files, add constant methods, then lower.",
            "a constant method can be added only after a .pt2 is open and before lowering begins");
    if (name.size == 0 || has_method(job->versions.data[0].program, name))
        return sc_fail(ctx, SC_ERR_ARGUMENT, "Give each method a different name.",
                       "there is already a method named '" SC_STR_FMT "'", SC_STR_ARG(name));
    SC_TRY(sc_json_parse(ctx, ctx->arena, sc_str_copy(ctx->arena, value_json), &json));
    sc_constant_method method = {.name = sc_name_intern(ctx->names, name)};
    SC_TRY(constant_value(ctx, json, 0, &method.value));
    for (uint32_t i = 0; i < job->versions.count; i++)
        sc_vec_push(ctx->arena, &job->versions.data[i].program->constant_methods, method);
    return SC_OK;
}

// --- Steps ---------------------------------------------------------------------------------------

static sc_status begin(sc_job *job, sc_option_call call, sc_str options_json, sc_work *out) {
    *out = (sc_work){.job = job};
    return sc_options_read(sc_job_begin(job), call, options_json, &out->options);
}

sc_status sc_compile_source(sc_job *job, uint32_t number, sc_program **out) {
    sc_version *version = NULL;
    if (!job->versions.count || !job->versions.data[0].program->methods.count)
        return sc_fail(&job->ctx, SC_ERR_STATE, NULL, "open a .pt2 before lowering");
    SC_TRY(sc_job_version(job, number, &version));
    SC_TRY(sc_check_dialect(&job->ctx, number, version->dialect, SC_DIALECT_source));
    *out = version->program;
    return SC_OK;
}

sc_status sc_compile_to_edge(sc_job *job, uint32_t from, sc_str options_json, uint32_t *edge) {
    static const sc_phase STEPS[] = {SC_STEP_decompose, SC_STEP_to_edge};
    const uint32_t record = sc_job_take_generating(job);
    sc_program *source;
    sc_work work;
    SC_TRY(begin(job, SC_OPTIONS_TO_EDGE, options_json, &work));
    SC_TRY(sc_compile_source(job, from, &source));
    SC_TRY(sc_steps_run(&work, STEPS, SC_COUNT_OF(STEPS), from, edge));
    return sc_job_fill_record(job, record, *edge, *edge);
}

// A source program stays a source program: the passes are those that run before decomposition.
sc_status sc_compile_transform_source(sc_job *job, uint32_t from, sc_str method, sc_str passes_json,
                                      uint32_t *transformed) {
    sc_ctx *ctx = sc_job_begin(job);
    const double begin_ms = sc_now_ms(ctx);
    const sc_options options = sc_options_default();
    sc_pipeline pipeline = {.arena = ctx->arena, .env = {.options = &options}};
    const sc_json *names;
    sc_program *program;
    SC_TRY(sc_compile_source(job, from, &program));
    SC_TRY(sc_json_parse(ctx, ctx->arena, sc_str_copy(ctx->arena, passes_json), &names));
    SC_TRY(sc_program_clone(program, &program));
    sc_method *found = sc_program_method(program, method);
    if (!found)
        return sc_fail(ctx, SC_ERR_NOT_FOUND, NULL, "there is no method '" SC_STR_FMT "'",
                       SC_STR_ARG(method));
    SC_TRY(sc_early_passes_run(job, &pipeline, found, names));
    SC_TRY(sc_verify(ctx, program));
    *transformed = sc_job_add_version(job, SC_DIALECT_source, program, begin_ms);
    job->versions.data[*transformed].source = *transformed;
    return SC_OK;
}

sc_status sc_compile_transform(sc_job *job, uint32_t edge, sc_str method, sc_str passes_json,
                               uint32_t *transformed) {
    static const sc_phase STEPS[] = {SC_STEP_transform};
    sc_ctx *ctx = sc_job_begin(job);
    sc_work work = {.job = job, .options = sc_options_default(), .method = method};
    SC_TRY(sc_json_parse(ctx, ctx->arena, sc_str_copy(ctx->arena, passes_json), &work.passes));
    return sc_steps_run(&work, STEPS, SC_COUNT_OF(STEPS), edge, transformed);
}

sc_status sc_compile_to_backend(sc_job *job, uint32_t edge, sc_str partitioners_json,
                                sc_str options_json, uint32_t *delegated) {
    static const sc_phase STEPS[] = {SC_STEP_to_backend};
    sc_work work;
    SC_TRY(begin(job, SC_OPTIONS_TO_BACKEND, options_json, &work));
    sc_ctx *ctx = &job->ctx;
    SC_TRY(sc_json_parse(ctx, ctx->arena, sc_str_copy(ctx->arena, partitioners_json),
                         &work.partitioners));
    return sc_steps_run(&work, STEPS, SC_COUNT_OF(STEPS), edge, delegated);
}

sc_status sc_compile_to_executorch(sc_job *job, uint32_t edge, sc_str options_json,
                                   uint32_t *executorch) {
    static const sc_phase STEPS[] = {SC_STEP_to_executorch};
    sc_work work;
    SC_TRY(begin(job, SC_OPTIONS_TO_EXECUTORCH, options_json, &work));
    return sc_steps_run(&work, STEPS, SC_COUNT_OF(STEPS), edge, executorch);
}
