// Does a program with delegates still compute the same? It runs next to itself without delegates,
// made again from the opened files, and every result is compared. So is every delegate, on its
// inputs in that run.
#include <math.h>

#include "api/compile/dynamic_shapes.h"
#include "api/compile/executable.h"
#include "api/compiling.h"
#include "api/job/options.h"
#include "api/verify/delegate_check.h"
#include "api/verify/examples.h"

typedef struct verifying {
    sc_job *job;
    sc_ctx *ctx;
    sc_version *version;
    sc_delegate_check *watch;
    sc_rt_program *plain, *delegated;
    sc_json_writer *w;
} verifying;

// --- The two programs ----------------------------------------------------------------------------

static sc_status make_plain(verifying *v, sc_source **pte) {
    sc_ctx *ctx = v->ctx;
    sc_options options = sc_options_here();
    sc_pipeline pipeline = {.arena = ctx->arena, .env = {.options = &options}};
    sc_program *program = NULL;
    sc_executable made;
    options.share_mutable_buffers = v->version->shares_state;
    SC_TRY(sc_program_clone(sc_job_compiling(v->job)->versions.data[v->version->source].program,
                            &program));
    SC_TRY(sc_bound_sizes(ctx, program, &v->version->sizes));
    SC_TRY(sc_eval_sizes(ctx, program, &v->version->planned_sizes));
    SC_TRY(sc_pipeline_run(ctx, &pipeline, program, SC_STEP_decompose));
    SC_TRY(sc_pipeline_run(ctx, &pipeline, program, SC_STEP_to_edge));
    SC_TRY(sc_make_executable(ctx, &pipeline, program, &made));
    *pte = sc_source_from_cord(ctx->arena, &made.result.program);
    return SC_OK;
}

static sc_status open_plain(verifying *v) {
    const sc_diag_mark mark = sc_diags_mark(v->ctx);
    sc_source *pte = NULL;
    v->ctx->is_hushed = true;
    const sc_status status = make_plain(v, &pte);
    v->ctx->is_hushed = false;
    SC_TRY(status);
    SC_TRY(sc_rt_program_open(v->ctx, pte, NULL, &v->plain));
    sc_diags_rewind(v->ctx, mark);  // its warnings were reported for the program itself
    return SC_OK;
}

static sc_status open_delegated(verifying *v, uint32_t number) {
    sc_arena *arena = v->ctx->arena;
    sc_source **files = sc_new_array(arena, sc_source *, (size_t)v->job->outputs.count + 1);
    sc_source *pte = NULL;
    sc_rt_options options;
    sc_rt_options_default(&options);
    for (uint32_t i = 0; i < v->job->outputs.count; i++) {
        const sc_output *output = &v->job->outputs.data[i];
        if (output->program != number) continue;
        sc_source *source = sc_source_from_cord(arena, &output->cord);
        if (!pte)
            pte = source;
        else
            files[options.data_file_count++] = source;
    }
    options.data_files = files;
    options.backends = sc_delegate_check_backends(v->watch);
    return sc_rt_program_open(v->ctx, pte, &options, &v->delegated);
}

// --- Results -------------------------------------------------------------------------------------

static void put_closeness(sc_json_writer *w, const sc_closeness *c) {
    sc_json_put_finite(w, "difference", c->difference);
    sc_json_put_finite(w, "largest", c->largest);
    sc_json_put_finite(w, "tolerance", c->tolerance);
    sc_json_put_bool(w, "isClose", c->is_close);
}

static const char *HINT = "Leave out this backend, or make sure that the difference is harmless.";

// The run that outputs are compared with is of the program before passes of the caller's own.
static const char *hint_of(const verifying *v) {
    return v->version->is_transformed ? "Look at the delegates, which are compared one by one: "
                                        "passes of your own may change the numbers, too."
                                      : HINT;
}

static const char *without(const verifying *v) {
    return v->version->is_transformed ? "without your passes and without delegates"
                                      : "without delegates";
}

static sc_status add_output(verifying *v, uint32_t index, const sc_name *method,
                            const sc_evalue *right, const sc_evalue *found,
                            sc_quantization_steps quantum) {
    sc_closeness c;
    SC_TRY(sc_compare_values(v->ctx, right, found, quantum, &c));
    sc_json_begin_object(v->w);
    sc_json_put_u64(v->w, "output", index);
    put_closeness(v->w, &c);
    sc_json_end_object(v->w);
    if (c.is_other)
        sc_report(v->ctx, SC_WARNING, SC_ERR_DELEGATE, hint_of(v),
                  "output %u of method '%s' differs in kind, dtype, shape or text from the run %s",
                  index, method->text, without(v));
    else if (!c.is_close)
        sc_report(v->ctx, SC_WARNING, SC_ERR_DELEGATE, hint_of(v),
                  "output %u of method '%s' differs by %g from the run %s, and %g is allowed",
                  index, method->text, c.difference, without(v), c.tolerance);
    return SC_OK;
}

static void warn_delegate(verifying *v, const sc_name *method, const sc_checked_delegate *seen) {
    const sc_closeness *c = &seen->closeness;
    sc_sb what;
    if (seen->why_not || c->is_close) return;
    sc_sb_init(&what, v->ctx->scratch);
    if (c->is_other)
        sc_sb_add_text(&what,
                       "gives a result that differs in kind, dtype, shape or text from that of");
    else
        sc_sb_addf(&what, "differs by %g, and %g is allowed, from", c->difference, c->tolerance);
    sc_report(v->ctx, SC_WARNING, SC_ERR_DELEGATE, HINT,
              "delegate " SC_STR_FMT "%s%s of method '%s' (" SC_STR_FMT ") %s the kernels",
              SC_STR_ARG(seen->graph), seen->graph.size ? "/" : "", seen->part->method->name->text,
              method->text, SC_STR_ARG(seen->part->backend), sc_sb_terminate(&what));
}

static void add_delegate(verifying *v, const sc_name *method, const sc_checked_delegate *seen) {
    sc_json_begin_object(v->w);
    sc_json_put_str(v->w, "name", sc_name_str(seen->part->method->name));
    sc_json_put_str(v->w, "backend", seen->part->backend);
    sc_json_put_str(v->w, "graph", seen->graph);
    if (seen->why_not)
        sc_json_put_text(v->w, "reason", seen->why_not);
    else
        put_closeness(v->w, &seen->closeness);
    sc_json_end_object(v->w);
    warn_delegate(v, method, seen);
}

// Do callers pass the same to both? Passes may change the dtype of an input.
static bool takes_the_same(const sc_rt_method *a, const sc_rt_method *b) {
    const uint32_t count = sc_rt_method_input_count(a);
    if (sc_rt_method_input_count(b) != count) return false;
    for (uint32_t i = 0; i < count; i++) {
        const sc_evalue *x = sc_rt_method_input(a, i), *y = sc_rt_method_input(b, i);
        if (x->tag != y->tag) return false;
        if (x->tag == SC_EVALUE_TENSOR && x->tensor->dtype != y->tensor->dtype) return false;
    }
    return true;
}

// The number of outputs that both have: passes may add more, after the others. None if the inputs
// are not the same.
static uint32_t compared_outputs(const verifying *v, const sc_rt_method *plain,
                                 const sc_rt_method *delegated) {
    const uint32_t a = sc_rt_method_output_count(plain);
    const uint32_t b = sc_rt_method_output_count(delegated);
    if (v->version->is_transformed && !takes_the_same(plain, delegated)) return 0;
    return a < b ? a : b;
}

static sc_status compare_outputs(verifying *v, const sc_name *name, const sc_rt_method *plain,
                                 const sc_rt_method *delegated) {
    const uint32_t shared = compared_outputs(v, plain, delegated);
    const uint32_t count = sc_rt_method_output_count(delegated);
    const sc_method *lowered = sc_program_method(v->version->program, sc_name_str(name));
    const sc_quantization_steps *steps = sc_output_quantization(v->ctx, lowered->graph, count);
    if (shared != count && !v->version->is_transformed)
        return sc_fail(v->ctx, SC_ERR_INTERNAL, NULL,
                       "method '%s' has %u results, but %u without delegates", name->text, count,
                       sc_rt_method_output_count(plain));
    sc_json_put_array(v->w, "outputs");
    for (uint32_t i = 0; i < shared; i++)
        SC_TRY(add_output(v, i, name, sc_rt_method_output(plain, i),
                          sc_rt_method_output(delegated, i), steps[i]));
    sc_json_end_array(v->w);
    return SC_OK;
}

static sc_status verify_method(verifying *v, const sc_method *source) {
    sc_rt_method *both[2] = {NULL, NULL};
    const sc_checked_delegate *seen;
    bool are_examples = false;
    const sc_str name = sc_name_str(source->name);
    SC_TRY(sc_rt_method_load(v->ctx, v->plain, name, &both[0]));
    SC_TRY(sc_rt_method_load(v->ctx, v->delegated, name, &both[1]));
    const uint32_t first = v->version->is_transformed && !takes_the_same(both[0], both[1]) ? 1 : 0;
    SC_TRY(sc_set_examples(v->ctx, source, both + first, 2 - first, &are_examples));
    if (first)
        sc_report(v->ctx, SC_NOTE, SC_ERR_DELEGATE, "Look at the delegates.",
                  "passes changed the inputs of method '%s', so its outputs are not compared",
                  source->name->text);
    for (uint32_t i = first; i < SC_COUNT_OF(both); i++) SC_TRY(sc_rt_method_run(v->ctx, both[i]));
    sc_json_key_str(v->w, name);
    sc_json_begin_object(v->w);
    sc_json_put_text(v->w, "inputs", are_examples ? "example" : "random");
    SC_TRY(compare_outputs(v, source->name, both[0], both[1]));
    sc_json_put_array(v->w, "delegates");
    for (uint32_t i = 0; (seen = sc_delegate_check_at(v->watch, source->name, i)) != NULL; i++)
        add_delegate(v, source->name, seen);
    sc_json_end_array(v->w);
    sc_json_end_object(v->w);
    return sc_delegate_check_end(v->watch, source->name);
}

static sc_status verify(verifying *v, uint32_t number) {
    const sc_program *source = sc_job_compiling(v->job)->versions.data[v->version->source].program;
    SC_TRY(sc_delegate_check_new(v->ctx, v->version->program, &v->watch));
    SC_TRY(open_plain(v));
    SC_TRY(open_delegated(v, number));
    sc_json_begin_object(v->w);
    for (uint32_t i = 0; i < source->methods.count; i++)
        SC_TRY(verify_method(v, source->methods.data[i]));
    sc_json_end_object(v->w);
    return SC_OK;
}

sc_status sc_compile_verify(sc_job *job, uint32_t number, sc_str *json) {
    sc_ctx *ctx = sc_job_begin(job);
    sc_version *version = NULL;
    SC_TRY(sc_job_version(job, number, &version));
    if (version->dialect != SC_DIALECT_executorch)
        return sc_fail(ctx, SC_ERR_STATE, "Give a program that to_executorch returned.",
                       "program %u is not executable, so it cannot be verified", number);
    sc_sb sb = sc_job_text(job);
    sc_json_writer w;
    sc_json_writer_init(&w, &sb, SC_JSON_COMPACT);
    verifying v = {.job = job, .ctx = ctx, .version = version, .w = &w};
    sc_status status = verify(&v, number);
    if (v.delegated) sc_rt_program_close(v.delegated);
    if (v.plain) sc_rt_program_close(v.plain);
    if (status == SC_OK) sc_job_take_diags(job, &sc_job_compiling(job)->versions.data[number]);
    *json = sc_sb_str(&sb);
    return status;
}
