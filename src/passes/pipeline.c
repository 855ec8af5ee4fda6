// Runs the rows of passes.def over the methods of a program, with verification, times and progress.
// It keeps the facts of a method: no pass runs without those that it needs. It knows no pass by
// name.
#include "passes/facts.h"
#include "passes/passes.h"

static const sc_pass passes[] = {
#define PASS(id, step, needs, makes, breaks, summary) \
    {#id, summary, sc_pass_##id, NULL, needs, makes, breaks, SC_STEP_##step},
#define PASS_ENV(id, step, needs, makes, breaks, summary) \
    {#id, summary, NULL, sc_pass_##id, needs, makes, breaks, SC_STEP_##step},
#define AGAIN(...)
#include "passes/passes.def"
#undef AGAIN
#undef PASS_ENV
#undef PASS
};

// Indices of `passes`.
enum {
#define PASS(id, ...)     AT_##id,
#define PASS_ENV(id, ...) AT_##id,
#define AGAIN(...)
#include "passes/passes.def"
#undef AGAIN
#undef PASS_ENV
#undef PASS
    NO_MORE
};

enum { AGAIN_MAX = 5 };

static const struct {
    uint8_t after;
    uint32_t lacking;
    uint8_t runs[AGAIN_MAX];  // up to NO_MORE
} again[] = {
#define PASS(...)
#define PASS_ENV(...)
#define RUN(id)                  AT_##id,
#define AGAIN(after, fact, runs) {AT_##after, fact, {runs NO_MORE}},
#include "passes/passes.def"
#undef AGAIN
#undef RUN
#undef PASS_ENV
#undef PASS
};

uint32_t sc_pass_count(void) { return SC_COUNT_OF(passes); }

const sc_pass *sc_pass_at(uint32_t index) {
    SC_ASSERT(index < SC_COUNT_OF(passes));
    return &passes[index];
}

const sc_pass *sc_pass_find(sc_str name) {
    for (uint32_t i = 0; i < SC_COUNT_OF(passes); i++)
        if (sc_str_is(name, passes[i].name)) return &passes[i];
    return NULL;
}

bool sc_pass_is_offered(const sc_pass *pass) {
    return pass->step == SC_STEP_to_edge && !(pass->breaks & (SPECS | CORE | IS_EDGE));
}

sc_status sc_pass_run(sc_ctx *ctx, const sc_pass *pass, sc_method *method, const sc_pass_env *env) {
    return pass->run ? pass->run(ctx, method) : pass->run_env(ctx, method, env);
}

// Builds that check themselves always verify.
#ifdef SC_CHECKS
enum { VERIFIES = true };
#else
enum { VERIFIES = false };
#endif

// The pass to run for one of the lacking facts, of the same step if possible.
static const sc_pass *maker_of(uint32_t lacking, sc_phase step) {
    const sc_pass *maker = NULL;
    for (uint32_t i = 0; i < SC_COUNT_OF(passes); i++)
        if ((passes[i].makes & lacking) &&
            (!maker || (maker->step != step && passes[i].step == step)))
            maker = &passes[i];
    SC_ASSERT(maker);
    return maker;
}

static sc_status check_needs(sc_ctx *ctx, const sc_pass *pass, const sc_method *method) {
    uint32_t lacking = pass->needs & ~method->facts;
    if (!lacking) return SC_OK;
    const char *first = maker_of(lacking & (0u - lacking), pass->step)->name;
    sc_str hint = sc_str_format(ctx->arena, "Run %s first.", first);
    return sc_fail(ctx, SC_ERR_STATE, hint.data,
                   "%s cannot run on the result of the passes before it", pass->name);
}

static sc_status run_one(sc_ctx *ctx, sc_pipeline *pipeline, const sc_pass *pass,
                         sc_method *method) {
    double start = sc_now_ms(ctx);
    ctx->where.pass = sc_str_from(pass->name);
    sc_where_set_method(ctx, method);
    SC_TRY(check_needs(ctx, pass, method));
    SC_TRY(sc_pass_run(ctx, pass, method, &pipeline->env));
    method->facts = (method->facts & ~pass->breaks) | pass->makes;
    sc_where_set_method(ctx, method);
    if (pipeline->arena)
        sc_vec_push(pipeline->arena, &pipeline->timings,
                    ((sc_pass_timing){sc_str_from(pass->name), method->name, sc_now_ms(ctx) - start,
                                      method->graph->node_count}));
    if (VERIFIES || pipeline->verify) {
        SC_TRY(sc_verify_graph(ctx, method->graph));
        SC_TRY(sc_facts_verify(ctx, method));
        sc_where_set_method(ctx, method);
    }
    return SC_OK;
}

sc_status sc_pipeline_pass(sc_ctx *ctx, sc_pipeline *pipeline, const sc_pass *pass,
                           sc_method *method) {
    SC_TRY(run_one(ctx, pipeline, pass, method));
    for (size_t i = 0; i < SC_COUNT_OF(again); i++) {
        if (pass != &passes[again[i].after] || !(again[i].lacking & ~method->facts)) continue;
        for (const uint8_t *run = again[i].runs; *run != NO_MORE; run++)
            SC_TRY(run_one(ctx, pipeline, &passes[*run], method));
    }
    return SC_OK;
}

// All methods go through a pass before the next one begins, so that a report covers all of them.
static sc_status run_rows(sc_ctx *ctx, sc_pipeline *pipeline, sc_program *program, sc_phase step) {
    uint64_t done = 0, total = 0;
    for (uint32_t i = 0; i < SC_COUNT_OF(passes); i++)
        total += passes[i].step == step ? program->methods.count : 0;
    for (uint32_t i = 0; i < SC_COUNT_OF(passes); i++) {
        if (passes[i].step != step) continue;
        sc_status worst = SC_OK;
        for (uint32_t m = 0; m < program->methods.count; m++) {
            SC_TRY(sc_progress(ctx, step, done++, total));
            sc_status status =
                sc_pipeline_pass(ctx, pipeline, &passes[i], program->methods.data[m]);
            if (sc_status_is_refusal(status) || status == SC_ERR_DTYPE)
                worst = status;  // the user should see the other methods' problems too
            else
                SC_TRY(status);
        }
        SC_TRY(worst);
    }
    return sc_progress(ctx, step, total, total);
}

sc_status sc_pipeline_run(sc_ctx *ctx, sc_pipeline *pipeline, sc_program *program, sc_phase step) {
    sc_where before = ctx->where;
    sc_status status = run_rows(ctx, pipeline, program, step);
    if (status == SC_OK) ctx->where = before;
    return status;
}
