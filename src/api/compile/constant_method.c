// Constant methods, which the host gives before it lowers. They wait with the job until the next
// to_edge, which adds them to its own copy of the program.
#include "api/compile/steps.h"
#include "api/constant_method_json.h"

static bool is_waiting(const sc_job *job, sc_str name) {
    for (uint32_t i = 0; i < sc_job_compiling(job)->constants.count; i++)
        if (sc_str_equal(sc_name_str(sc_job_compiling(job)->constants.data[i].name), name))
            return true;
    return false;
}

static sc_status read_method(sc_job *job, sc_str name, sc_str value_json, sc_str elements,
                             sc_constant_method *out) {
    sc_ctx *ctx = &job->ctx;
    const sc_json *json = NULL;
    sc_program *program;
    SC_TRY(sc_compile_source(job, 0, &program));
    SC_TRY(sc_json_parse(ctx, ctx->arena, sc_str_copy(ctx->arena, value_json), &json));
    if (is_waiting(job, name))
        return sc_fail(ctx, SC_ERR_ARGUMENT, "Give each method a different name.",
                       "constant method '" SC_STR_FMT "' is given twice", SC_STR_ARG(name));
    return sc_constant_method_read(ctx, program, name, json, elements, out);
}

sc_status sc_compile_constant_method(sc_job *job, sc_str name, sc_str value_json, const void *data,
                                     size_t bytes) {
    sc_constant_method method;
    sc_ctx *ctx = sc_job_begin(job);
    const sc_status status = read_method(job, name, value_json, (sc_str){data, bytes}, &method);
    if (status != SC_OK)
        sc_job_compiling(job)->constants.count = 0;
    else
        sc_vec_push(ctx->arena, &sc_job_compiling(job)->constants, method);
    return status;
}

sc_constant_methods sc_take_constant_methods(sc_job *job) {
    const sc_constant_methods taken = sc_job_compiling(job)->constants;
    sc_job_compiling(job)->constants = (sc_constant_methods){0};
    return taken;
}
