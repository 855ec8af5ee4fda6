// Constant methods, which the host adds after it has opened a file and before it lowers.
#include "api/answer_json.h"
#include "api/job.h"

static bool has_only_sources(const sc_job *job) {
    for (uint32_t i = 0; i < job->versions.count; i++)
        if (job->versions.data[i].dialect != SC_DIALECT_source) return false;
    return job->versions.count != 0;
}

sc_status sc_compile_constant_method(sc_job *job, sc_str name, sc_str value_json, const void *data,
                                     size_t bytes) {
    sc_ctx *ctx = sc_job_begin(job);
    const sc_json *json = NULL;
    sc_constant_method method;
    if (!has_only_sources(job))
        return sc_fail(
            ctx, SC_ERR_STATE, "Open the .pt2 files, add constant methods, then lower.",
            "a constant method can be added only after a .pt2 is open and before lowering begins");
    SC_TRY(sc_json_parse(ctx, ctx->arena, sc_str_copy(ctx->arena, value_json), &json));
    SC_TRY(sc_constant_method_read(ctx, job->versions.data[0].program, name, json,
                                   (sc_str){data, bytes}, &method));
    for (uint32_t i = 0; i < job->versions.count; i++)
        sc_vec_push(ctx->arena, &job->versions.data[i].program->constant_methods, method);
    return SC_OK;
}
