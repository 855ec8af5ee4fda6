// A pass, sc_pass_<name>, rewrites one method in place. The table (passes.def) gives the order and,
// for each pass, the facts that it needs, makes and breaks. A method carries its facts
// (sc_method.facts). pipeline.c checks and updates them, and it times, verifies and cancels passes.
// Prefixes: sc_pass_ is one pass, sc_pipeline_ the running of several, sc_facts_ what is true of a
// method.
#ifndef SC_PASS_H
#define SC_PASS_H

#include "core/options.h"
#include "passes/evaluator.h"
#include "trace/decompose.h"

// Context from the pipeline's caller, for passes that request it (PASS_ENV) and for the planning
// after them.
typedef struct sc_pass_env {
    const sc_keep *keep;            // which operators decomposition keeps whole; NULL: no operator
    const sc_options *options;      // NULL: the defaults
    const sc_evaluator *evaluator;  // NULL: no constants are computed
    const struct sc_host_planners *planners;  // NULL: the options have no number of a planner
} sc_pass_env;

typedef sc_status (*sc_pass_fn)(sc_ctx *ctx, sc_method *method);
typedef sc_status (*sc_pass_env_fn)(sc_ctx *ctx, sc_method *method, const sc_pass_env *env);

typedef struct sc_pass {
    const char *name;
    const char *summary;  // one line
    sc_pass_fn run;       // this or run_env; the other is NULL
    sc_pass_env_fn run_env;
    uint32_t needs, makes, breaks;
    sc_phase step;  // the step that runs it
} sc_pass;

typedef struct sc_pass_timing {
    sc_str pass;  // its name
    const sc_name *method;
    double ms;
    uint32_t node_count;  // after the pass
} sc_pass_timing;

typedef SC_VEC(sc_pass_timing) sc_pass_timings;

typedef struct sc_pipeline {
    sc_pass_timings timings;
    sc_pass_env env;
    bool verify;  // after every pass; builds with SC_CHECKS always do
    sc_arena *arena;
} sc_pipeline;

uint32_t sc_pass_count(void);
const sc_pass *sc_pass_at(uint32_t index);
const sc_pass *sc_pass_find(sc_str name);
// May callers name it? It runs on an edge program and leaves one behind.
bool sc_pass_is_offered(const sc_pass *pass);

// Runs the pass alone, whatever facts the method has.
sc_status sc_pass_run(sc_ctx *ctx, const sc_pass *pass, sc_method *method, const sc_pass_env *env);

// Runs the rows of a step over every method.
sc_status sc_pipeline_run(sc_ctx *ctx, sc_pipeline *pipeline, sc_program *program, sc_phase step);
// Runs one pass over one method, and the passes that passes.def runs again after it. If the method
// lacks a fact that the pass needs: SC_ERR_STATE, which names the pass to run first.
sc_status sc_pipeline_pass(sc_ctx *ctx, sc_pipeline *pipeline, const sc_pass *pass,
                           sc_method *method);

// Clears those of `facts`, a sum of sc_fact, that a node of the method contradicts. SPECS is not
// checked.
sc_status sc_facts_find(sc_ctx *ctx, const sc_method *method, uint32_t *facts);

#endif
