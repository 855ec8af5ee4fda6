// Compares a program's delegates with the kernels. Each call of a delegate is repeated on a program
// of its part, with the same inputs, on the kernels of this build. The program is opened with
// backends that are placed in front of the real ones.
#include "api/verify/delegate_check.h"

#include <math.h>

#include "api/compile/delegate.h"
#include "api/compile/executable.h"
#include "api/compiling.h"
#include "api/job/options.h"
#include "api/run/backends.h"

typedef struct guard {
    sc_rt_backend backend;  // `user` is the guard
    const sc_rt_backend *real;
    sc_delegate_check *watch;
} guard;

// One delegate of a method.
typedef struct post {
    sc_checked_delegate seen;
    const sc_name *method;
    bool is_taken;
} post;

struct sc_delegate_check {
    sc_ctx *ctx;
    SC_VEC(post) posts;    // in the order of their calls in the graphs
    uint64_t done, total;  // the number of started delegates, and of methods that have run
    SC_VEC(guard *) guards;
    sc_rt_backends backends;
};

typedef struct watched_state {
    sc_delegate_check *watch;
    const sc_rt_backend *real;
    void *real_state;
    uint32_t post;  // index, or UINT32_MAX
    sc_rt_program *program;
    sc_rt_method *method;
    bool has_failed;  // failed in an earlier call, whose reason stays
} watched_state;

// --- Which part it is ----------------------------------------------------------------------------

static sc_status add_posts(sc_ctx *ctx, sc_graph *graph, void *user) {
    sc_delegate_check *watch = user;
    const sc_str path = sc_graph_path(ctx->arena, graph);
    for (const sc_node *node = graph->first; node; node = node->next) {
        const sc_part *part = sc_node_part(node);
        if (!part) continue;
        post one = {.seen = {.part = part, .graph = path, .why_not = "it was not called"},
                    .method = graph->method->name};
        sc_vec_push(ctx->arena, &watch->posts, one);
    }
    return SC_OK;
}

static bool has_specs(const sc_part *part, const sc_rt_start *start) {
    if (part->specs.count != start->spec_count) return false;
    for (uint32_t i = 0; i < start->spec_count; i++)
        if (!sc_str_equal(part->specs.data[i].key, start->specs[i].key) ||
            !sc_str_equal(part->specs.data[i].value, start->specs[i].value))
            return false;
    return true;
}

// Parts with the same bytes and compile specs are the same for a backend.
static sc_status is_post(sc_ctx *ctx, const post *p, const sc_rt_start *start, bool *out) {
    const sc_part *part = p->seen.part;
    *out = !p->is_taken && sc_str_equal(sc_name_str(p->method), start->method) &&
           sc_str_equal(part->backend, start->id) &&
           part->processed->size == start->processed_bytes && has_specs(part, start);
    if (!*out) return SC_OK;
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_status status =
        sc_extent_equal(ctx, sc_extent_whole(sc_source_from_cord(ctx->scratch, part->processed)),
                        sc_extent_whole(sc_source_from_memory(ctx->scratch, start->processed,
                                                              start->processed_bytes)),
                        out);
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}

// The next delegate of the method; UINT32_MAX if there is none.
static sc_status take_post(sc_ctx *ctx, sc_delegate_check *watch, const sc_rt_start *start,
                           uint32_t *out) {
    bool is_it = false;
    *out = UINT32_MAX;
    for (uint32_t i = 0; i < watch->posts.count && !is_it; i++) {
        SC_TRY(is_post(ctx, &watch->posts.data[i], start, &is_it));
        if (is_it) *out = i;
    }
    if (!is_it) return SC_OK;
    watch->posts.data[*out].is_taken = true;
    watch->done++;
    return SC_OK;
}

static sc_status tell(const sc_delegate_check *watch) {
    return sc_progress(watch->ctx, SC_PHASE_verify, watch->done, watch->total);
}

// --- The part on kernels -------------------------------------------------------------------------

static sc_status find_kept(sc_ctx *ctx, sc_graph *graph, void *user) {
    (void)ctx;
    for (const sc_node *node = graph->first; node; node = node->next)
        *(bool *)user |= node->is_kept;
    return SC_OK;
}

static sc_status clear_kept(sc_ctx *ctx, sc_graph *graph, void *user) {
    (void)ctx;
    (void)user;
    for (sc_node *node = graph->first; node; node = node->next) node->is_kept = false;
    return SC_OK;
}

// An operator that was kept whole for the backend is expanded here.
static sc_status decompose(sc_ctx *ctx, sc_pipeline *pipeline, sc_program *program) {
    sc_graph *graph = program->methods.data[0]->graph;
    bool has_kept = false;
    SC_TRY(sc_graphs_visit(ctx, graph, find_kept, &has_kept));
    if (!has_kept) return SC_OK;
    SC_TRY(sc_graphs_visit(ctx, graph, clear_kept, NULL));
    program->methods.data[0]->facts = SC_FACT_SPECS;
    SC_TRY(sc_pipeline_run(ctx, pipeline, program, SC_STEP_decompose));
    return sc_pipeline_run(ctx, pipeline, program, SC_STEP_to_edge);
}

static sc_status set_weight(sc_ctx *ctx, const watched_state *s, uint32_t index, sc_extent extent) {
    uint8_t *data = sc_try_alloc(extent.size + 1);
    if (!data) return sc_fail(ctx, SC_ERR_MEMORY, NULL, "no memory for a weight");
    sc_status status = sc_extent_read(ctx, extent, 0, data, (size_t)extent.size);
    const post *p = &s->watch->posts.data[s->post];
    const sc_rt_weight weight = {data, extent.size, sc_name_str(p->method), p->seen.part->backend};
    if (status == SC_OK) status = sc_rt_method_set_weight(ctx, s->method, index, &weight);
    sc_free(data);
    return status;
}

static sc_status set_weights(sc_ctx *ctx, const watched_state *s, const sc_part *part) {
    uint32_t index = 0;
    for (uint32_t i = 0; i < part->method->inputs.count; i++) {
        const sc_input_sig *sig = &part->method->inputs.data[i];
        if (sig->constant && sc_part_writes(part, sig->target)) continue;
        if (sig->constant) SC_TRY(set_weight(ctx, s, index, sig->constant->data));
        index++;
    }
    return SC_OK;
}

static sc_status open_part(sc_ctx *ctx, watched_state *s, const sc_part *part) {
    const sc_options options = sc_options_here();
    sc_pipeline pipeline = {.arena = ctx->arena, .env = {.options = &options}};
    sc_program *program = NULL;
    sc_executable made;
    SC_TRY(sc_part_program(ctx, part, &program));
    SC_TRY(decompose(ctx, &pipeline, program));
    SC_TRY(sc_make_executable(ctx, &pipeline, program, &made));
    sc_source *pte = sc_source_from_cord(ctx->arena, &made.result.program);
    SC_TRY(sc_rt_program_open(ctx, pte, NULL, &s->program));
    SC_TRY(sc_rt_method_load(ctx, s->program, SC_STR("forward"), &s->method));
    return set_weights(ctx, s, part);
}

static sc_status set_passed(sc_ctx *ctx, sc_rt_method *method, uint32_t index,
                            const sc_evalue *value) {
    if (value->tag == SC_EVALUE_TENSOR)
        return sc_rt_method_set_tensor(ctx, method, index, value->tensor);
    const sc_rt_input input = {.tag = value->tag, .i = value->i, .d = value->d, .b = value->b};
    return sc_rt_method_set_input(ctx, method, index, &input);
}

static sc_status run_part(sc_ctx *ctx, const watched_state *s, const sc_part *part,
                          const sc_rt_delegate_call *call) {
    uint32_t index = 0, passed = 0;
    for (uint32_t i = 0; i < part->method->inputs.count; i++) {
        const sc_input_sig *sig = &part->method->inputs.data[i];
        if (sig->constant && sc_part_writes(part, sig->target)) continue;
        if (!sig->constant && passed < call->input_count)
            SC_TRY(set_passed(ctx, s->method, index, call->args[passed++]));
        index++;
    }
    return sc_rt_method_run(ctx, s->method);
}

// The worst of several calls and results, in relation to the limit.
static void widen(sc_checked_delegate *seen, const sc_closeness *one) {
    const sc_closeness *all = &seen->closeness;
    const double tiny = 1e-300;  // if the limit is 0
    bool is_worse =
        one->difference / fmax(one->tolerance, tiny) > all->difference / fmax(all->tolerance, tiny);
    if (!seen->was_compared || is_worse) seen->closeness = *one;
    seen->was_compared = true;
}

static sc_status compare_part(sc_ctx *ctx, const watched_state *s, sc_checked_delegate *seen,
                              const sc_rt_delegate_call *call) {
    const uint32_t outputs = call->arg_count - call->input_count;
    const uint32_t total = sc_rt_method_output_count(s->method);
    if (total < outputs) return sc_fail(ctx, SC_ERR_SHAPE, NULL, "it has different results");
    if (!seen->steps) seen->steps = sc_output_quantization(ctx, seen->part->method->graph, outputs);
    for (uint32_t i = 0; i < outputs; i++) {
        sc_closeness one;
        const sc_evalue *right = sc_rt_method_output(s->method, total - outputs + i);
        SC_TRY(
            sc_compare_values(ctx, right, call->args[call->input_count + i], seen->steps[i], &one));
        widen(seen, &one);
    }
    return SC_OK;
}

// --- As a backend --------------------------------------------------------------------------------

// Errors of the host and of this machine, which the part did not cause, end the run.
static bool is_fatal(sc_status status) {
    return status == SC_ERR_MEMORY || status == SC_ERR_IO || status == SC_ERR_CANCELLED ||
           status == SC_ERR_INTERNAL;
}

typedef struct trial {
    sc_diag_mark diags;
    sc_where where;
} trial;

static trial begin_trial(const sc_ctx *ctx) { return (trial){sc_diags_mark(ctx), ctx->where}; }

// An error on this side is reported for the delegate, not for the run.
static sc_status end_trial(sc_ctx *ctx, sc_checked_delegate *seen, sc_status status, trial t,
                           const char *what) {
    if (status != SC_OK && is_fatal(status)) return status;
    if (status != SC_OK) {
        bool is_known = ctx->diags.count > t.diags.count;
        sc_str cause = is_known ? sc_vec_last(&ctx->diags).message : sc_str_from("no reason given");
        seen->why_not = sc_str_format(ctx->arena, "%s: " SC_STR_FMT, what, SC_STR_ARG(cause)).data;
        sc_diags_rewind(ctx, t.diags);
    }
    ctx->where = t.where;
    return SC_OK;
}

static sc_status begin_post(sc_ctx *ctx, watched_state *s) {
    if (s->post == UINT32_MAX) return SC_OK;
    const trial t = begin_trial(ctx);
    sc_checked_delegate *seen = &s->watch->posts.data[s->post].seen;
    sc_status status = open_part(ctx, s, seen->part);
    if (status != SC_OK && s->program) {
        sc_rt_program_close(s->program);
        s->program = NULL;
    }
    return end_trial(ctx, seen, status, t, "its part cannot be run without its backend");
}

static void destroy(void *state) {
    watched_state *s = state;
    s->real->destroy(s->real_state);
    if (s->program) sc_rt_program_close(s->program);
    sc_free(s);
}

static sc_status init(sc_ctx *ctx, const sc_rt_start *start, void **state, uint32_t *input_count) {
    const guard *g = start->backend->user;
    sc_rt_start inner = *start;
    inner.backend = g->real;
    uint32_t index;
    SC_TRY(tell(g->watch));
    SC_TRY(take_post(ctx, g->watch, start, &index));
    watched_state *s = sc_try_alloc(sizeof *s);
    if (!s) return sc_fail(ctx, SC_ERR_MEMORY, NULL, "no memory to watch a delegate");
    *s = (watched_state){.watch = g->watch, .real = g->real, .post = index};
    sc_status status = g->real->init(ctx, &inner, &s->real_state, input_count);
    if (status != SC_OK) {
        sc_free(s);
        return status;
    }
    status = begin_post(ctx, s);
    if (status != SC_OK) {
        destroy(s);
        return status;
    }
    *state = s;
    return SC_OK;
}

static sc_status execute(sc_ctx *ctx, void *state, const sc_rt_delegate_call *call) {
    watched_state *s = state;
    SC_TRY(tell(s->watch));
    SC_TRY(s->real->execute(ctx, s->real_state, call));
    if (!s->program || s->has_failed) return SC_OK;
    const trial t = begin_trial(ctx);
    sc_checked_delegate *seen = &s->watch->posts.data[s->post].seen;
    sc_status status = run_part(ctx, s, seen->part, call);
    seen->why_not = NULL;
    if (status == SC_OK) status = compare_part(ctx, s, seen, call);
    s->has_failed = status != SC_OK;
    return end_trial(ctx, seen, status, t, "its part failed without its backend");
}

// Resets state that survives calls, on both sides.
static sc_status reset(sc_ctx *ctx, void *state) {
    watched_state *s = state;
    if (s->real->reset) SC_TRY(s->real->reset(ctx, s->real_state));
    return s->program ? sc_rt_program_reset(ctx, s->program) : SC_OK;
}

static const sc_rt_backend *find(void *user, sc_str id) {
    sc_delegate_check *watch = user;
    const sc_rt_backend *real = sc_all_rt_backends.find(sc_all_rt_backends.user, id);
    if (!real) return NULL;
    for (uint32_t i = 0; i < watch->guards.count; i++)
        if (watch->guards.data[i]->real == real) return &watch->guards.data[i]->backend;
    guard *g = sc_new(watch->ctx->arena, guard);
    *g = (guard){.real = real, .watch = watch};
    g->backend = (sc_rt_backend){.init = init,
                                 .execute = execute,
                                 .destroy = destroy,
                                 .release = real->release,
                                 .reset = reset,
                                 .user = g};
    sc_vec_push(watch->ctx->arena, &watch->guards, g);
    return &g->backend;
}

// --- Looking -------------------------------------------------------------------------------------

sc_status sc_delegate_check_new(sc_ctx *ctx, const sc_program *program, sc_delegate_check **out) {
    sc_delegate_check *watch = sc_new(ctx->arena, sc_delegate_check);
    watch->ctx = ctx;
    watch->backends = (sc_rt_backends){.find = find, .user = watch};
    for (uint32_t i = 0; i < program->methods.count; i++)
        SC_TRY(sc_graphs_visit(ctx, program->methods.data[i]->graph, add_posts, watch));
    watch->total = (uint64_t)watch->posts.count + program->methods.count;
    *out = watch;
    return tell(watch);
}

// Delegates that no call has started count as well.
sc_status sc_delegate_check_end(sc_delegate_check *watch, const sc_name *method) {
    watch->done++;
    for (uint32_t i = 0; i < watch->posts.count; i++) {
        post *p = &watch->posts.data[i];
        if (p->method != method || p->is_taken) continue;
        p->is_taken = true;
        watch->done++;
    }
    return tell(watch);
}

const sc_rt_backends *sc_delegate_check_backends(sc_delegate_check *watch) {
    return &watch->backends;
}

const sc_checked_delegate *sc_delegate_check_at(const sc_delegate_check *watch,
                                                const sc_name *method, uint32_t index) {
    for (uint32_t i = 0; i < watch->posts.count; i++)
        if (watch->posts.data[i].method == method && index-- == 0)
            return &watch->posts.data[i].seen;
    return NULL;
}
