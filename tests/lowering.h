// Programs lowered without a job, by the pipeline alone.
#ifndef LOWERING_H
#define LOWERING_H

#include "api/compile/evaluate.h"
#include "api/compiling.h"
#include "passes/passes.h"
#include "setup.h"

// The passes of that step, with the options that users get.
static inline sc_status lower_step(setup *s, sc_program *program, sc_phase step) {
    const sc_options options = sc_options_default();
    sc_pipeline pipeline = {.arena = &s->arena,
                            .env = {.options = &options, .evaluator = &sc_own_evaluator}};
    return sc_pipeline_run(&s->ctx, &pipeline, program, step);
}

static inline sc_status lower_to_edge(setup *s, sc_program *program) {
    SC_TRY(lower_step(s, program, SC_STEP_decompose));
    return lower_step(s, program, SC_STEP_to_edge);
}

static inline sc_status lower_whole(setup *s, sc_program *program) {
    SC_TRY(lower_to_edge(s, program));
    return lower_step(s, program, SC_STEP_to_executorch);
}

#endif
