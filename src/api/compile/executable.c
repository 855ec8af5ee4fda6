// From the edge dialect to the bytes of a file, for to_executorch and for small programs that the
// evaluator runs.
#include "api/compile/executable.h"

#include "ir/weights.h"

static sc_status enter(sc_ctx *ctx, sc_phase phase, sc_str pass) {
    ctx->where = (sc_where){.pass = pass, .instruction = -1};
    return sc_progress(ctx, phase, 0, 0);
}

sc_status sc_make_executable(sc_ctx *ctx, sc_pipeline *pipeline, sc_program *program,
                             sc_executable *out) {
    const sc_options *options = pipeline->env.options;
    sc_storage_table *tables = NULL;
    *out = (sc_executable){0};
    SC_TRY(sc_weights_check(program, options));
    SC_TRY(sc_pipeline_run(ctx, pipeline, program, SC_STEP_to_executorch));
    SC_TRY(enter(ctx, SC_PHASE_plan, SC_STR("memory_planning")));
    SC_TRY(sc_place_program(ctx, program, options, pipeline->env.planners, &tables, &out->reports));
    SC_TRY(enter(ctx, SC_PHASE_emit, SC_STR("emit")));
    double begin_ms = sc_now_ms(ctx);
    sc_emit_training_methods(program);
    SC_TRY(sc_emit_program(ctx, program, tables, options, &out->result));
    out->emit_ms = sc_now_ms(ctx) - begin_ms;
    return SC_OK;
}
