// Lowering as hosts call it: opens files as methods, and runs steps on them. The steps themselves
// are in steps.c.
#include "api/compile/named_passes.h"
#include "api/compile/steps.h"
#include "api/job/options.h"
#include "api/record/records.h"
#include "pt2/import.h"

// --- Opening -------------------------------------------------------------------------------------

sc_status sc_compile_open(sc_job *job, sc_source *source, sc_str method, sc_str model) {
    sc_ctx *ctx = sc_job_begin(job);
    double begin_ms = sc_now_ms(&job->ctx);
    SC_TRY(sc_ops_init());
    if (sc_job_compiling(job)->versions.count > 1)
        return sc_fail(ctx, SC_ERR_STATE, "Add every method first, then lower.",
                       "no method can be added after lowering has begun");
    if (sc_job_compiling(job)->versions.count == 0)
        sc_job_add_version(job, SC_DIALECT_source, sc_program_new(ctx), begin_ms);
    sc_version *version = &sc_job_compiling(job)->versions.data[0];
    sc_import_options options = {.method = sc_str_copy(ctx->arena, method),
                                 .model = sc_str_copy(ctx->arena, model)};
    SC_TRY(sc_import_pt2(ctx, source, &options, version->program));
    version->ms += sc_now_ms(&job->ctx) - begin_ms;
    sc_job_take_diags(job, version);
    return SC_OK;
}

void sc_compile_drop(sc_job *job, uint32_t program) { sc_job_drop_version(job, program); }

// --- Steps ---------------------------------------------------------------------------------------

static sc_status begin(sc_job *job, sc_option_call call, sc_str options_json, sc_work *out) {
    *out = (sc_work){.job = job};
    return sc_options_read(sc_job_begin(job), call, options_json, &out->options);
}

sc_status sc_compile_to_edge(sc_job *job, uint32_t from, sc_str options_json, uint32_t *edge) {
    static const sc_phase STEPS[] = {SC_STEP_decompose, SC_STEP_to_edge};
    const uint32_t record = sc_job_take_generating(job);
    const sc_constant_methods constants = sc_take_constant_methods(job);
    sc_program *source;
    sc_work work;
    SC_TRY(begin(job, SC_OPTIONS_TO_EDGE, options_json, &work));
    work.constants = constants;
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
    sc_job_compiling(job)->versions.data[*transformed].source = *transformed;
    sc_job_compiling(job)->versions.data[*transformed].from = from;
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
