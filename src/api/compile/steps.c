// The whole of lowering, to be read first. A step takes a version of the program and options, and
// gives the next version: decompose, rewrite to the edge dialect, make executable, plan memory,
// emit. Every step works on a copy, so earlier versions stay unchanged for their readers.
#include "api/compile/steps.h"

#include "api/compile/backends.h"
#include "api/compile/dynamic_shapes.h"
#include "api/compile/evaluate.h"
#include "api/compile/executable.h"
#include "api/compile/host_planner.h"
#include "api/compile/named_passes.h"
#include "api/compile/preserved.h"
#include "api/compile/shared_state.h"
#include "api/compile/split.h"
#include "api/edit/edit.h"

static sc_status run_passes(sc_work *work, sc_phase step) {
    return sc_pipeline_run(&work->job->ctx, &work->pipeline, work->program, step);
}

static sc_status step_decompose(sc_work *work) {
    sc_preserved preserved;
    for (uint32_t i = 0; i < work->constants.count; i++)
        sc_vec_push(work->job->ctx.arena, &work->program->constant_methods,
                    work->constants.data[i]);
    SC_TRY(sc_split_program(&work->job->ctx, work->program, &work->options.split));
    SC_TRY(sc_preserved_init(&work->job->ctx, &work->options, work->keep, &preserved));
    if (work->early)
        SC_TRY(sc_partitioner_passes_run(work->job, &work->pipeline, work->program, work->early));
    work->sizes = work->options.dynamic_shapes;
    work->pipeline.env.keep = &preserved.keep;
    SC_TRY(sc_bound_sizes(&work->job->ctx, work->program, &work->options.dynamic_shapes));
    sc_status status = run_passes(work, SC_STEP_decompose);
    work->pipeline.env.keep = NULL;
    return status;
}

// Every later step of the method respects these choices.
static void choose_dialect(const sc_options *options, sc_method *method) {
    if (options->skip_dim_order) method->facts |= SC_FACT_FORMATS;
    if (options->skip_type_promotion) method->facts |= SC_FACT_MIXED;
}

static sc_status step_to_edge(sc_work *work) {
    for (uint32_t i = 0; i < work->program->methods.count; i++)
        choose_dialect(&work->options, work->program->methods.data[i]);
    return run_passes(work, SC_STEP_to_edge);
}

// --- Passes that callers list -------------------------------------------------------------------

static sc_status run_entry(sc_work *work, const sc_json *entry, sc_method *method) {
    sc_ctx *ctx = &work->job->ctx;
    const sc_pass *pass = NULL;
    uint32_t number;
    if (sc_pass_entry_number(entry, &number))
        return sc_edit_run(work->job, &work->pipeline, method, number, true);
    if (entry->kind != SC_JSON_STRING)
        return sc_fail(ctx, SC_ERR_ARGUMENT, NULL,
                       "a pass must be a name, or the number of a pass of the host");
    SC_TRY(sc_edge_pass(ctx, sc_json_str(ctx->arena, entry), &pass));
    return sc_pipeline_pass(ctx, &work->pipeline, pass, method);
}

// For one method, or for all if `only` is empty.
static sc_status run_list(sc_work *work, const sc_json *list, sc_str only) {
    sc_ctx *ctx = &work->job->ctx;
    if (only.size && !sc_program_method(work->program, only))
        return sc_fail(ctx, SC_ERR_NOT_FOUND, NULL, "there is no method '" SC_STR_FMT "'",
                       SC_STR_ARG(only));
    if (list->kind != SC_JSON_ARRAY)
        return sc_fail(ctx, SC_ERR_ARGUMENT, NULL, "passes must be a JSON array");
    const sc_json *entry = sc_json_first(list);
    for (uint32_t n = list->size; n--; entry = sc_json_next(entry))
        for (uint32_t i = 0; i < work->program->methods.count; i++) {
            sc_method *method = work->program->methods.data[i];
            if (only.size && !sc_str_equal(only, sc_name_str(method->name))) continue;
            SC_TRY(run_entry(work, entry, method));
        }
    return sc_verify(ctx, work->program);
}

static sc_status step_transform(sc_work *work) {
    const sc_json *passes = work->passes;
    work->is_transformed |= passes->size > 0;
    if (passes->kind != SC_JSON_OBJECT) return run_list(work, passes, work->method);
    const sc_json *key = sc_json_first(passes);
    for (uint32_t n = passes->size; n--; key = sc_json_next(key + 1))
        SC_TRY(run_list(work, key + 1, sc_json_str(work->job->ctx.arena, key)));
    return SC_OK;
}

// --- Backends ------------------------------------------------------------------------------------

static sc_status step_to_backend(sc_work *work) {
    return sc_delegate_program(&work->job->ctx, work->job, work->program, work->partitioners,
                               &work->options, &sc_all_backends, work->early != NULL,
                               &work->delegation);
}

// --- Planning and emission -----------------------------------------------------------------------

// The number that the version will have after the step.
static uint32_t next_number(const sc_job *job) { return sc_job_compiling(job)->versions.count; }

static void keep_outputs(sc_job *job, const sc_emit_result *result) {
    sc_output program = {
        .program = next_number(job), .name = SC_STR("program.pte"), .cord = result->program};
    sc_vec_push(&job->arena, &job->outputs, program);
    for (uint32_t i = 0; i < result->files.count; i++) {
        const sc_emit_file *file = &result->files.data[i];
        sc_output output = {.program = next_number(job), .cord = file->cord};
        output.name = sc_str_format(&job->arena, SC_STR_FMT ".ptd", SC_STR_ARG(file->tag));
        sc_vec_push(&job->arena, &job->outputs, output);
    }
}

static void keep_plans(sc_job *job, const sc_program *program, const sc_place_report *reports) {
    for (uint32_t i = 0; i < program->methods.count; i++) {
        sc_method_plan plan = {next_number(job), program->methods.data[i]->name, reports[i]};
        sc_vec_push(&job->arena, &sc_job_compiling(job)->plans, plan);
    }
}

static sc_status step_to_executorch(sc_work *work) {
    sc_executable made;
    work->options.share_mutable_buffers |= work->program->is_split;
    SC_TRY(sc_eval_sizes(&work->job->ctx, work->program, &work->options.sym_shape_eval));
    if (work->options.share_mutable_buffers)
        SC_TRY(sc_check_shared_state(&work->job->ctx, work->program));
    work->pipeline.env.planners = sc_planners_of_host(work->job);
    SC_TRY(sc_make_executable(&work->job->ctx, &work->pipeline, work->program, &made));
    sc_emit_result *emitted = sc_new(work->job->ctx.arena, sc_emit_result);
    *emitted = made.result;
    work->emitted = emitted;
    keep_outputs(work->job, emitted);
    keep_plans(work->job, work->program, made.reports);
    work->emit_ms = made.emit_ms;
    return SC_OK;
}

// --- Versions ------------------------------------------------------------------------------------

typedef sc_status (*step_fn)(sc_work *work);

static const step_fn STEPS[] = {
#define DIALECT(...)
#define STEP(name, ...) step_##name,
#define PHASE(...)
#include "base/steps.def"
#undef PHASE
#undef STEP
#undef DIALECT
};

static sc_status check_dialect(sc_ctx *ctx, uint32_t number, sc_dialect found, sc_dialect needed) {
    if (found == needed) return SC_OK;
    return sc_fail(ctx, SC_ERR_STATE, "Give the program of the previous step.",
                   "program %u is the %s program, but this needs the %s program", number,
                   sc_dialect_name(found), sc_dialect_name(needed));
}

sc_status sc_compile_source(sc_job *job, uint32_t number, sc_program **out) {
    sc_version *version = NULL;
    if (!sc_job_compiling(job)->versions.count ||
        !sc_job_compiling(job)->versions.data[0].program->methods.count)
        return sc_fail(&job->ctx, SC_ERR_STATE, NULL, "open a .pt2 before lowering");
    SC_TRY(sc_job_version(job, number, &version));
    SC_TRY(check_dialect(&job->ctx, number, version->dialect, SC_DIALECT_source));
    *out = version->program;
    return SC_OK;
}

// The program from which the steps begin.
static sc_status take(sc_work *work, uint32_t from, sc_dialect dialect) {
    sc_version *version = NULL;
    SC_TRY(sc_job_version(work->job, from, &version));
    SC_TRY(check_dialect(&work->job->ctx, from, version->dialect, dialect));
    for (uint32_t i = 0; i < version->delegation.rows.count; i++)
        sc_vec_push(work->job->ctx.arena, &work->delegation.rows, version->delegation.rows.data[i]);
    work->sizes = version->sizes;
    work->source = version->source;
    work->is_transformed = version->is_transformed;
    if (!work->options.consume || version->is_recorded)
        return sc_program_clone(version->program, &work->program);
    work->program = version->program;
    version->program = NULL;
    return SC_OK;
}

static uint32_t keep(sc_work *work, sc_dialect dialect, uint32_t from, bool is_last,
                     double begin_ms) {
    uint32_t number = sc_job_add_version(work->job, dialect, work->program, begin_ms);
    sc_version *version = &sc_job_compiling(work->job)->versions.data[number];
    version->from = from;
    version->memory = sc_call_memory_share(work->memory);
    version->users = is_last;  // the host gets no other number of this call
    if (from != number) sc_job_compiling(work->job)->versions.data[from].users++;
    version->emit_ms = work->emit_ms;
    version->source = work->source;
    version->is_transformed = work->is_transformed;
    version->delegation = work->delegation;
    version->sizes = work->sizes;
    version->emitted = work->emitted;
    version->planned_sizes = work->options.sym_shape_eval;
    version->shares_state = work->options.share_mutable_buffers;
    version->timings = work->pipeline.timings;
    work->pipeline.timings = (sc_pass_timings){0};
    return number;
}

static sc_status run_steps(sc_work *work, const sc_phase *steps, uint32_t count, uint32_t from,
                           uint32_t *made) {
    double begin_ms = sc_now_ms(&work->job->ctx);
    SC_TRY(take(work, from, sc_phase_get(steps[0])->from));
    for (uint32_t i = 0; i < count; i++) {
        SC_TRY(STEPS[steps[i]](work));
        const bool is_last = i + 1 == count;
        const bool is_kept =
            work->options.snapshots || (work->keeps_edge && steps[i] == SC_STEP_to_edge);
        if (!is_last && !is_kept) continue;
        from = *made = keep(work, sc_phase_get(steps[i])->to, from, is_last, begin_ms);
        begin_ms = sc_now_ms(&work->job->ctx);
        if (!is_last) SC_TRY(sc_program_clone(work->program, &work->program));
    }
    return SC_OK;
}

// A version shares symbols, names and constants with those that it was made from. It has the rest
// of its memory to itself, and with the versions of the same call.
sc_status sc_steps_run(sc_work *work, const sc_phase *steps, uint32_t count, uint32_t from,
                       uint32_t *made) {
    sc_job *job = work->job;
    const bool is_own = !work->memory;
    if (is_own) work->memory = sc_call_memory_new();
    const sc_aside aside = sc_job_step_aside(job, &work->memory->arena);
    work->pipeline.arena = &work->memory->arena;
    work->pipeline.env.options = &work->options;
    work->pipeline.env.evaluator = &sc_own_evaluator;
    const sc_status status = run_steps(work, steps, count, from, made);
    sc_job_step_back(job, &aside);
    if (is_own) sc_call_memory_drop(job, work->memory);  // the versions have it now
    return status;
}
