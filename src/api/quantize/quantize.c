// Quantization as hosts call it. Methods of a source program are prepared. A program that observes
// them runs on the caller's inputs. With the observations the methods are converted, which makes
// the next source program. After that both programs may run side by side, to compare each result
// with the float one.
#include "api/quantize/quantize.h"
#include "api/run/running.h"

#include "api/compile/dynamic_shapes.h"
#include "api/compile/evaluate.h"
#include "api/compile/executable.h"
#include "api/compile/named_passes.h"
#include "api/compile/steps.h"
#include "api/job/options.h"
#include "passes/passes.h"

static sc_status require(sc_job *job, sc_quantizing **out) {
    *out = sc_job_compiling(job)->quantizing;
    if (!*out)
        return sc_fail(&job->ctx, SC_ERR_STATE, "Call sc_quantize_begin first.",
                       "no quantization has begun");
    if ((*out)->stage != SC_QUANTIZING_FAILED) return SC_OK;
    return sc_fail(&job->ctx, SC_ERR_STATE, "End this quantization, and begin a new one.",
                   "this quantization failed while it was converted");
}

static sc_status require_stage(sc_job *job, sc_quantizing_stage stage, sc_quantizing **out) {
    static const char *const WORDS[] = {"observe", "convert", "compare"};
    SC_TRY(require(job, out));
    if ((*out)->stage == stage) return SC_OK;
    return sc_fail(&job->ctx, SC_ERR_STATE, "Observe, convert, compare: in this order, once each.",
                   "this quantization cannot %s now", WORDS[stage]);
}

static sc_status require_hidden(sc_ctx *ctx, const sc_quantizing *q) {
    if (!q->shows) return SC_OK;
    return sc_fail(ctx, SC_ERR_STATE, "Call sc_quantize_hide first.",
                   "the observers are nodes, for passes");
}

static void close_running(sc_job *job) {
    if (sc_job_running(job)->program) sc_rt_program_close(sc_job_running(job)->program);
    sc_job_running(job)->program = NULL;
    sc_job_running(job)->method = NULL;
}

// --- Programs that run the batches ---------------------------------------------------------------

// Takes over the only method of `from`.
static void add_method(sc_program *program, sc_program *from) {
    sc_method *method = from->methods.data[0];
    method->program = program;
    sc_vec_push(program->ctx->arena, &program->methods, method);
}

// Lowers like the program that the caller will make, for this build's own runtime.
static sc_status make_running(sc_job *job, const sc_quantizing *q, sc_program *program,
                              sc_executable *made) {
    static const sc_phase STEPS[] = {SC_STEP_decompose, SC_STEP_to_edge};
    sc_ctx *ctx = &job->ctx;
    sc_options options = q->executorch;
    options.target = sc_options_here().target;
    sc_pipeline pipeline = {.arena = ctx->arena,
                            .env = {.options = &options, .evaluator = &sc_own_evaluator}};
    SC_TRY(sc_bound_sizes(ctx, program, &q->edge.dynamic_shapes));
    for (size_t i = 0; i < SC_COUNT_OF(STEPS); i++)
        SC_TRY(sc_pipeline_run(ctx, &pipeline, program, STEPS[i]));
    return sc_make_executable(ctx, &pipeline, program, made);
}

// Opens it as the job's program. Its warnings are reported for the program that the caller makes.
static sc_status run_program(sc_job *job, const sc_quantizing *q, sc_program *program) {
    sc_ctx *ctx = &job->ctx;
    const sc_diag_mark mark = sc_diags_mark(ctx);
    sc_rt_options runtime;
    sc_executable made;
    ctx->is_hushed = true;
    const sc_status status = make_running(job, q, program, &made);
    ctx->is_hushed = false;
    SC_TRY(status);
    sc_diags_rewind(ctx, mark);
    sc_rt_options_default(&runtime);
    sc_job_running(job)->file = sc_source_from_cord(ctx->arena, &made.result.program);
    return sc_rt_program_open(ctx, sc_job_running(job)->file, &runtime,
                              &sc_job_running(job)->program);
}

// Is it in the running program? An unobserved value is not.
static bool takes_batches(const sc_quantizing *q, const sc_quantized_method *m) {
    if (!m->plan) return false;
    if (q->stage == SC_QUANTIZING_OBSERVES) return sc_quant_observer_count(m->plan) != 0;
    return q->stage == SC_QUANTIZING_COMPARES;
}

static sc_status open_observed(sc_job *job, sc_quantizing *q) {
    sc_program *all = sc_program_new(&job->ctx);
    for (uint32_t i = 0; i < q->count; i++) {
        sc_program *one;
        if (!takes_batches(q, &q->methods[i])) continue;
        SC_TRY(sc_quant_observed(&job->ctx, q->methods[i].plan, &one));
        add_method(all, one);
    }
    return all->methods.count ? run_program(job, q, all) : SC_OK;
}

static sc_status open_compared(sc_job *job, sc_quantizing *q) {
    sc_program *all = sc_program_new(&job->ctx);
    for (uint32_t i = 0; i < q->count; i++) {
        sc_quantized_method *m = &q->methods[i];
        sc_program *one;
        if (!m->plan) continue;
        m->compared = sc_new(&job->arena, sc_compared);
        SC_TRY(sc_quant_compared(&job->ctx, m->prepared, m->method, &one, m->compared));
        add_method(all, one);
    }
    return all->methods.count ? run_program(job, q, all) : SC_OK;
}

// --- Beginning -----------------------------------------------------------------------------------

typedef struct unquantized {
    const char *why, *hint;
} unquantized;

#define CONVOLUTIONS \
    "For convolutions take sconce_fp16_weights, or a recipe of XNNPACK's with 8 bits."
// The reason why no node of a method is quantized, and what to do, by mode.
static const unquantized UNQUANTIZED[] = {
    [SC_QUANT_STATIC] = {"no operator fits a pattern of the quantizer",
                         "Leave the quantization of this method out."},
    [SC_QUANT_DYNAMIC] = {"it has no linear layer, or convolution of images, that can be",
                          "Take a static recipe."},
    [SC_QUANT_WEIGHT_ONLY] = {"it has no linear layer or embedding whose weight can be",
                              CONVOLUTIONS},
    [SC_QUANT_DYNAMIC_INT4] = {"it has no linear layer whose weight can be", CONVOLUTIONS},
    [SC_QUANT_HALF_WEIGHTS] = {"it has no layer whose weight can be",
                               "Leave the quantization of this method out."}};

static bool is_other_float(const sc_quant_row *row) {
    return sc_str_is(row->why_not, SC_QUANT_OTHER_WEIGHT) ||
           sc_str_is(row->why_not, SC_QUANT_OTHER_INPUT) ||
           sc_str_is(row->why_not, SC_QUANT_HALF_ALREADY);
}

// The reason for one method, and if `skip` is a part of it.
static unquantized reason_of(const sc_quantized_method *m, sc_quant_mode mode, bool *is_skipped) {
    unquantized found = UNQUANTIZED[mode];
    *is_skipped = false;
    for (uint32_t i = 0; i < sc_quant_row_count(m->plan); i++) {
        const sc_quant_row *row = sc_quant_row_at(m->plan, i);
        *is_skipped |= row->is_skipped;
        if (row->is_skipped) found.why = "`skip` leaves out every node that could be";
        if (row->is_skipped || !is_other_float(row)) continue;
        found.why =
            "the weights of its layers, or their inputs, have another dtype than this takes";
        found.hint = "Export the model in float32, of model.float().";
    }
    return found;
}

static bool is_quantized(const sc_quantized_method *m) {
    for (uint32_t i = 0; i < sc_quant_row_count(m->plan); i++)
        if (sc_quant_row_at(m->plan, i)->is_quantized) return true;
    return false;
}

// The layers of a method that are not quantized, behind a reason.
static const char *found_in(sc_ctx *ctx, const sc_quantized_method *m) {
    const sc_str layers = sc_quant_layers_text(m->plan);
    sc_sb sb;
    sc_sb_init(&sb, ctx->arena);
    if (layers.size) sc_sb_addf(&sb, "; its layers: " SC_STR_FMT, SC_STR_ARG(layers));
    for (uint32_t i = 0; i < sc_quant_remark_count(m->plan); i++)
        sc_sb_addf(&sb, "; " SC_STR_FMT, SC_STR_ARG(sc_quant_remark_at(m->plan, i)));
    return sc_sb_terminate(&sb);
}

// Reports the methods of which no node is quantized. A recipe that quantizes none of its methods is
// a mistake, unless the user has skipped what it would quantize.
static sc_status report_unquantized(sc_ctx *ctx, const sc_quantizing *q,
                                    const sc_quant_configs *configs) {
    const sc_quantized_method *first = NULL;
    uint32_t at = 0;
    bool is_wanted = false, is_skipped;
    for (uint32_t i = 0; i < q->count; i++) {
        if (!q->methods[i].plan) continue;
        if (!first) at = i;
        first = first ? first : &q->methods[i];
        (void)reason_of(&q->methods[i], configs[i].items[0].mode, &is_skipped);
        is_wanted |= is_quantized(&q->methods[i]) || is_skipped;
    }
    for (uint32_t i = 0; is_wanted && i < q->count; i++) {
        const sc_quantized_method *m = &q->methods[i];
        if (!m->plan || is_quantized(m)) continue;
        const unquantized n = reason_of(m, configs[i].items[0].mode, &is_skipped);
        sc_where_set_method(ctx, m->method);
        sc_report(ctx, SC_WARNING, SC_ERR_UNSUPPORTED,
                  sc_str_format(ctx->arena, "%s The report has each node's reason.", n.hint).data,
                  "no node of method '%s' is quantized: %s", m->method->name->text, n.why);
    }
    if (is_wanted || !first) return SC_OK;
    const unquantized n = reason_of(first, configs[at].items[0].mode, &is_skipped);
    sc_where_set_method(ctx, first->method);
    return sc_fail(ctx, SC_ERR_UNSUPPORTED, n.hint, "no node of method '%s' is quantized: %s%s",
                   first->method->name->text, n.why, found_in(ctx, first));
}

static void make_states(sc_job *job, sc_quantized_method *m) {
    const uint32_t count = sc_quant_observer_count(m->plan);
    m->states = sc_new_array(&job->arena, float *, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const size_t floats = (size_t)sc_quant_state_floats(m->plan, i);
        m->states[i] = sc_new_array(&job->arena, float, floats + 1);
        memset(m->states[i], 0, floats * sizeof(float));
    }
}

static sc_status prepare_method(sc_job *job, sc_quantized_method *m,
                                const sc_quant_configs *configs) {
    SC_TRY(sc_quant_prepare(&job->ctx, m->method, configs->items, configs->count, &m->plan));
    make_states(job, m);
    return SC_OK;
}

static sc_status prepare(sc_job *job, sc_quantizing *q, sc_str config_json) {
    const sc_program *source = sc_job_compiling(job)->versions.data[q->from].program;
    sc_quant_configs *configs = sc_new_array(&job->arena, sc_quant_configs, (size_t)q->count + 1);
    memset(configs, 0, q->count * sizeof *configs);
    SC_TRY(sc_quant_configs_read(&job->ctx, source, config_json, configs));
    q->methods = sc_new_array(&job->arena, sc_quantized_method, (size_t)q->count + 1);
    for (uint32_t i = 0; i < q->count; i++) {
        sc_quantized_method *m = &q->methods[i];
        *m = (sc_quantized_method){.source = source->methods.data[i],
                                   .method = q->program->methods.data[i]};
        SC_TRY(sc_pass_last_logits(&job->ctx, m->method, &(sc_pass_env){.options = &q->edge}));
        if (configs[i].count) SC_TRY(prepare_method(job, m, &configs[i]));
    }
    return report_unquantized(&job->ctx, q, configs);
}

sc_status sc_quantize_begin(sc_job *job, uint32_t from, sc_str config_json,
                            sc_str edge_options_json, sc_str executorch_options_json) {
    sc_ctx *ctx = sc_job_begin(job);
    sc_program *source = NULL;
    if (sc_job_compiling(job)->quantizing || sc_job_running(job)->program)
        return sc_fail(ctx, SC_ERR_STATE, "End it first, or use another job.",
                       "this job quantizes or runs a program already");
    SC_TRY(sc_compile_source(job, from, &source));
    sc_quantizing *q = sc_new(&job->arena, sc_quantizing);
    *q = (sc_quantizing){.from = from, .count = source->methods.count};
    SC_TRY(sc_options_read(ctx, SC_OPTIONS_TO_EDGE, edge_options_json, &q->edge));
    SC_TRY(sc_options_read(ctx, SC_OPTIONS_TO_EXECUTORCH, executorch_options_json, &q->executorch));
    SC_TRY(sc_program_clone(source, &q->program));
    SC_TRY(prepare(job, q, config_json));
    SC_TRY(open_observed(job, q));
    sc_job_compiling(job)->quantizing = q;
    return SC_OK;
}

// --- Passes over observers -----------------------------------------------------------------------

sc_status sc_quantize_show(sc_job *job, uint32_t *shown) {
    sc_quantizing *q;
    sc_ctx *ctx = sc_job_begin(job);
    const double begin_ms = sc_now_ms(ctx);
    sc_program *copy;
    SC_TRY(require_stage(job, SC_QUANTIZING_OBSERVES, &q));
    if (q->shows)
        return sc_fail(ctx, SC_ERR_STATE, "Call sc_quantize_hide first.",
                       "the observers are nodes already");
    q->shows = true;
    for (uint32_t i = 0; i < q->count; i++)
        if (q->methods[i].plan) SC_TRY(sc_quant_show_observers(ctx, q->methods[i].plan));
    SC_TRY(sc_verify(ctx, q->program));
    SC_TRY(sc_program_clone(q->program, &copy));
    *shown = sc_job_add_version(job, SC_DIALECT_source, copy, begin_ms);
    sc_job_compiling(job)->versions.data[*shown].source = *shown;
    sc_job_compiling(job)->versions.data[*shown].from = q->from;
    return SC_OK;
}

static sc_status require_shown(sc_job *job, sc_quantizing **out) {
    SC_TRY(require_stage(job, SC_QUANTIZING_OBSERVES, out));
    if ((*out)->shows) return SC_OK;
    return sc_fail(&job->ctx, SC_ERR_STATE, "Call sc_quantize_show first.",
                   "the observers are no nodes");
}

sc_status sc_quantize_transform(sc_job *job, sc_str method, sc_str passes_json) {
    sc_quantizing *q;
    sc_ctx *ctx = sc_job_begin(job);
    const sc_options options = sc_options_default();
    sc_pipeline pipeline = {.arena = ctx->arena, .env = {.options = &options}};
    const sc_json *list;
    SC_TRY(require_shown(job, &q));
    sc_method *found = sc_program_method(q->program, method);
    if (!found)
        return sc_fail(ctx, SC_ERR_NOT_FOUND, NULL, "there is no method '" SC_STR_FMT "'",
                       SC_STR_ARG(method));
    SC_TRY(sc_json_parse(ctx, ctx->arena, sc_str_copy(ctx->arena, passes_json), &list));
    SC_TRY(sc_early_passes_run(job, &pipeline, found, list));
    return sc_verify(ctx, q->program);
}

static bool is_calibrated(const sc_quantizing *q) {
    for (uint32_t i = 0; i < q->count; i++)
        if (q->methods[i].batches) return true;
    return false;
}

static sc_status observe_anew(sc_job *job, sc_quantizing *q) {
    close_running(job);
    for (uint32_t i = 0; i < q->count; i++)
        if (q->methods[i].plan) make_states(job, &q->methods[i]);
    return open_observed(job, q);
}

sc_status sc_quantize_hide(sc_job *job, bool is_before) {
    sc_quantizing *q;
    sc_ctx *ctx = sc_job_begin(job);
    SC_TRY(require_shown(job, &q));
    if (is_before && is_calibrated(q))
        return sc_fail(ctx, SC_ERR_STATE, "Hide observers before the first batch.",
                       "observers have seen values already");
    for (uint32_t i = 0; i < q->count; i++)
        if (q->methods[i].plan)
            SC_TRY(sc_quant_hide_observers(ctx, q->methods[i].plan, !is_before));
    SC_TRY(sc_verify(ctx, q->program));
    q->shows = false;
    return is_before ? observe_anew(job, q) : SC_OK;
}

// --- Batches -------------------------------------------------------------------------------------

static sc_status method_at(sc_job *job, const sc_quantizing *q, sc_quantized_method **out) {
    for (uint32_t i = 0; i < q->count && sc_job_running(job)->method; i++) {
        sc_rt_method *loaded = NULL;
        *out = &q->methods[i];
        if (!takes_batches(q, *out)) continue;
        SC_TRY(sc_rt_method_load(&job->ctx, sc_job_running(job)->program,
                                 sc_name_str((*out)->method->name), &loaded));
        if (loaded == sc_job_running(job)->method) return SC_OK;
    }
    return sc_fail(&job->ctx, SC_ERR_STATE, NULL, "select a method first");
}

// Copied from the arena of the program, which its other methods write to.
static void keep_states(const sc_job *job, sc_quantized_method *m, sc_quantizing_stage stage) {
    const uint32_t outputs = sc_rt_method_output_count(sc_job_running(job)->method);
    const uint32_t count =
        stage == SC_QUANTIZING_COMPARES ? m->compared->count : sc_quant_observer_count(m->plan);
    for (uint32_t i = 0; i < count; i++) {
        const sc_tensor *state =
            sc_rt_method_output(sc_job_running(job)->method, outputs - count + i)->tensor;
        void *to = stage == SC_QUANTIZING_COMPARES ? (void *)m->compared->rows[i].error
                                                   : (void *)m->states[i];
        sc_rt_tensor_read(state, to, (size_t)state->numel * sc_dtype_bytes((sc_dtype)state->dtype));
    }
}

static sc_status run_batch(sc_job *job, const sc_quantizing *q, sc_quantized_method *m) {
    SC_TRY(sc_rt_method_run(&job->ctx, sc_job_running(job)->method));
    keep_states(job, m, q->stage);
    if (q->stage != SC_QUANTIZING_OBSERVES) return SC_OK;
    m->batches++;
    return sc_quant_check_numbers(m->plan, (const float *const *)m->states);
}

static sc_status require_running(sc_job *job, sc_quantizing **q, sc_quantized_method **method) {
    SC_TRY(require(job, q));
    if (!sc_job_running(job)->program)
        return sc_fail(&job->ctx, SC_ERR_STATE, "Convert right away.",
                       "this quantization takes no batches");
    return method_at(job, *q, method);
}

bool sc_quantize_takes_batches(const sc_job *job, sc_str method) {
    const sc_quantizing *q = sc_job_compiling(job)->quantizing;
    for (uint32_t i = 0; q && i < q->count; i++) {
        const sc_quantized_method *m = &q->methods[i];
        if (sc_str_equal(method, sc_name_str(m->method->name))) return takes_batches(q, m);
    }
    return false;
}

sc_status sc_quantize_batch(sc_job *job) {
    sc_quantizing *q;
    sc_quantized_method *m;
    sc_job_begin(job);
    SC_TRY(require_running(job, &q, &m));
    SC_TRY(require_hidden(&job->ctx, q));
    return run_batch(job, q, m);
}

// --- Converting ----------------------------------------------------------------------------------

static sc_status copy_prepared(sc_quantizing *q) {
    sc_program *copy;
    SC_TRY(sc_program_clone(q->program, &copy));
    for (uint32_t i = 0; i < q->count; i++) q->methods[i].prepared = copy->methods.data[i];
    return SC_OK;
}

static sc_status check_calibrated(sc_ctx *ctx, const sc_quantized_method *m) {
    const uint32_t observers = sc_quant_observer_count(m->plan);
    if (!observers || m->batches) return SC_OK;
    return sc_fail(ctx, SC_ERR_STATE, "Give inputs that are like those it will run on.",
                   "method '%s' was not calibrated: its %u observers saw no values",
                   m->method->name->text, observers);
}

// Checks all methods before one of them changes. Further batches may correct a failure here.
static sc_status choose_scales(sc_ctx *ctx, sc_quantizing *q) {
    for (uint32_t i = 0; i < q->count; i++)
        if (q->methods[i].plan) SC_TRY(check_calibrated(ctx, &q->methods[i]));
    for (uint32_t i = 0; i < q->count; i++) {
        sc_quantized_method *m = &q->methods[i];
        if (m->plan) SC_TRY(sc_quant_choose_scales(ctx, m->plan, (const float *const *)m->states));
    }
    return SC_OK;
}

static sc_status convert(sc_ctx *ctx, sc_quantizing *q) {
    SC_TRY(copy_prepared(q));
    for (uint32_t i = 0; i < q->count; i++)
        if (q->methods[i].plan)
            SC_TRY(sc_quant_convert(ctx, q->methods[i].plan, &sc_own_evaluator));
    return sc_verify(ctx, q->program);
}

sc_status sc_quantize_convert(sc_job *job, uint32_t *quantized) {
    sc_quantizing *q;
    sc_ctx *ctx = sc_job_begin(job);
    const double begin_ms = sc_now_ms(ctx);
    SC_TRY(require_stage(job, SC_QUANTIZING_OBSERVES, &q));
    SC_TRY(require_hidden(ctx, q));
    SC_TRY(choose_scales(ctx, q));
    close_running(job);
    q->stage = SC_QUANTIZING_FAILED;  // until all methods succeed
    SC_TRY(convert(ctx, q));
    q->stage = SC_QUANTIZING_CONVERTED;
    q->made = *quantized = sc_job_add_version(job, SC_DIALECT_source, q->program, begin_ms);
    sc_job_compiling(job)->versions.data[q->made].source = q->made;
    sc_job_compiling(job)->versions.data[q->made].from = q->from;
    return SC_OK;
}

// --- Afterwards ----------------------------------------------------------------------------------

sc_status sc_quantize_compare(sc_job *job) {
    sc_quantizing *q;
    sc_job_begin(job);
    SC_TRY(require_stage(job, SC_QUANTIZING_CONVERTED, &q));
    SC_TRY(open_compared(job, q));
    q->stage = SC_QUANTIZING_COMPARES;
    return SC_OK;
}

sc_status sc_quantize_report(sc_job *job, sc_str *json) {
    sc_quantizing *q;
    sc_ctx *ctx = sc_job_begin(job);
    SC_TRY(require(job, &q));
    if (q->stage == SC_QUANTIZING_OBSERVES)
        return sc_fail(ctx, SC_ERR_STATE, "Convert first.", "no scales are chosen yet");
    sc_sb sb = sc_job_text(job);
    sc_json_writer w;
    sc_json_writer_init(&w, &sb, SC_JSON_COMPACT);
    sc_quantizing_report(ctx, q, &w);
    *json = sc_sb_str(&sb);
    return SC_OK;
}

void sc_quantize_end(sc_job *job) {
    if (!sc_job_compiling(job)->quantizing) return;
    close_running(job);
    sc_job_compiling(job)->quantizing = NULL;
}
