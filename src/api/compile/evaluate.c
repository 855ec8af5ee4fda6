// The evaluator for the compiler. It lowers the program in memory like any other and runs it by
// this build's own runtime. So its results are those that a run would have computed.
#include "api/compile/evaluate.h"

#include "api/compile/executable.h"
#include "api/compiling.h"
#include "api/job/options.h"
#include "rt/rt.h"

static sc_status copy_outputs(sc_ctx *ctx, const sc_rt_method *method, sc_arena *arena,
                              sc_extent *outputs) {
    for (uint32_t i = 0; i < sc_rt_method_output_count(method); i++) {
        const sc_evalue *value = sc_rt_method_output(method, i);
        if (value->tag != SC_EVALUE_TENSOR)
            return sc_fail(ctx, SC_ERR_INTERNAL, NULL, "result %u is not a tensor", i);
        size_t bytes =
            (size_t)value->tensor->numel * sc_dtype_bytes((sc_dtype)value->tensor->dtype);
        uint8_t *data = sc_arena_alloc(arena, bytes + 1);
        sc_rt_tensor_read(value->tensor, data, bytes);
        outputs[i] = sc_extent_whole(sc_source_from_memory(arena, data, bytes));
    }
    return SC_OK;
}

static sc_status run_method(sc_ctx *ctx, sc_rt_program *running, sc_arena *arena,
                            sc_extent *outputs) {
    sc_rt_method *method = NULL;
    SC_TRY(sc_rt_method_load(ctx, running, sc_rt_program_method_name(running, 0), &method));
    SC_TRY(sc_rt_method_run(ctx, method));
    return copy_outputs(ctx, method, arena, outputs);
}

static sc_status evaluate(void *user, sc_program *program, sc_arena *arena, sc_extent *outputs) {
    (void)user;
    sc_ctx *ctx = program->ctx;
    const sc_options options = sc_options_here();
    sc_pipeline pipeline = {.env = {.options = &options}};
    sc_executable made;
    sc_rt_program *running = NULL;
    sc_rt_options as_written;
    sc_rt_options_default(&as_written);
    as_written.optimize = false;
    SC_TRY(sc_make_executable(ctx, &pipeline, program, &made));
    sc_source *pte = sc_source_from_cord(ctx->arena, &made.result.program);
    SC_TRY(sc_rt_program_open(ctx, pte, &as_written, &running));
    sc_status status = run_method(ctx, running, arena, outputs);
    sc_rt_program_close(running);
    return status;
}

const sc_evaluator sc_own_evaluator = {evaluate, NULL};
