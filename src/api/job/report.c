// Diagnostics as JSON.
#include "api/job/job.h"
#include "core/stack_trace.h"

void sc_job_put_diag(sc_json_writer *w, sc_arena *scratch, const sc_diag *diag) {
    static const char *const SEVERITIES[] = {"note", "warning", "error"};
    sc_json_begin_object(w);
    sc_json_put_text(w, "severity", SEVERITIES[diag->severity]);
    sc_json_put_text(w, "code", sc_status_slug(diag->code));
    sc_json_put_str(w, "message", diag->message);
    sc_json_put_str(w, "hint", diag->hint);
    sc_json_put_str(w, "method", diag->where.method);
    sc_json_put_str(w, "pass", diag->where.pass);
    sc_json_put_str(w, "node", diag->where.node);
    sc_json_put_str(w, "op", diag->where.op);
    sc_json_put_str(w, "source", sc_stack_trace_source(scratch, diag->where.stack_trace));
    sc_json_put_str(w, "stack_trace", diag->where.stack_trace);
    if (diag->where.instruction >= 0)
        sc_json_put_i64(w, "instruction", diag->where.instruction);
    else
        sc_json_put_null(w, "instruction");
    sc_json_end_object(w);
}

// The last item counts the rows that the list has no room for.
static void add_dropped(sc_json_writer *w, const sc_ctx *ctx) {
    sc_diag diag = {.severity = ctx->error_count ? SC_ERROR : SC_WARNING,
                    .code = SC_ERR_LIMIT,
                    .message = sc_str_format(ctx->scratch, "%u more were found and are not listed",
                                             (unsigned)ctx->diag_dropped),
                    .hint = SC_STR("Fix the ones that are listed, then try again."),
                    .where = {.instruction = -1}};
    sc_job_put_diag(w, ctx->scratch, &diag);
}

void sc_job_put_diagnostics(sc_json_writer *w, const sc_job *job) {
    sc_arena *scratch = job->ctx.scratch;
    sc_mark mark = sc_arena_mark(scratch);
    sc_json_put_array(w, "diagnostics");
    for (uint32_t i = job->kept_diags ? job->kept_diags->count : 0; i < job->ctx.diags.count; i++)
        sc_job_put_diag(w, scratch, &job->ctx.diags.data[i]);
    if (job->ctx.diag_dropped) add_dropped(w, &job->ctx);
    sc_json_end_array(w);
    sc_arena_rewind(scratch, mark);
}

sc_str sc_job_report(sc_job *job, sc_status status) {
    sc_sb sb = sc_job_text(job);
    sc_json_writer w;
    sc_json_writer_init(&w, &sb, SC_JSON_COMPACT);
    sc_json_begin_object(&w);
    sc_json_put_text(&w, "status", sc_status_slug(status));
    sc_job_put_diagnostics(&w, job);
    sc_json_end_object(&w);
    return sc_sb_str(&sb);
}

void sc_job_forget_diagnostics(sc_job *job) {
    if (job->kept_diags) {
        sc_diags_rewind(&job->ctx, *job->kept_diags);
        return;
    }
    job->taken_diags = 0;
    sc_diags_clear(&job->ctx);
    sc_arena_deinit(&job->diag_arena);
    sc_arena_init(&job->diag_arena);
}
