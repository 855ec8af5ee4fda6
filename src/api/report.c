// Diagnostics and the tables as JSON, which hosts show and need not repeat.
#include "api/backends.h"
#include "api/job.h"
#include "ir/stack_trace.h"
#include "ops/library.h"
#include "trace/coverage.h"

static void add_diag(sc_json_writer *w, sc_arena *scratch, const sc_diag *diag) {
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
    add_diag(w, ctx->scratch, &diag);
}

void sc_version_put_diagnostics(sc_json_writer *w, const sc_job *job, const sc_version *version) {
    sc_json_put_array(w, "diagnostics");
    for (uint32_t i = 0; i < version->diags.count; i++)
        add_diag(w, job->ctx.scratch, &version->diags.data[i]);
    sc_json_end_array(w);
}

void sc_job_put_diagnostics(sc_json_writer *w, const sc_job *job) {
    sc_arena *scratch = job->ctx.scratch;
    sc_mark mark = sc_arena_mark(scratch);
    sc_json_put_array(w, "diagnostics");
    for (uint32_t i = job->kept_diags ? job->kept_diags->count : 0; i < job->ctx.diags.count; i++)
        add_diag(w, scratch, &job->ctx.diags.data[i]);
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

static void add_statuses(sc_json_writer *w) {
    sc_json_put_array(w, "statuses");
    for (int s = 0; s < SC_STATUS_COUNT; s++) sc_json_add_text(w, sc_status_slug((sc_status)s));
    sc_json_end_array(w);
}

static void add_dtype(sc_json_writer *w, int code, const char *name, const char *short_name,
                      int item_bytes) {
    sc_json_begin_object(w);
    sc_json_put_i64(w, "code", code);
    sc_json_put_text(w, "name", name);
    sc_json_put_text(w, "short", short_name);
    sc_json_put_i64(w, "bytes", item_bytes);
    sc_json_end_object(w);
}

static void add_dtypes(sc_json_writer *w) {
    static const struct {
        int code, item_bytes;
        const char *name, *short_name;
    } rows[] = {
#define DTYPE(id, pte, pt2, serde, dtype_name, short_name, item_bytes, ...) \
    {pte, item_bytes, dtype_name, short_name},
#include "core/dtype.def"
#undef DTYPE
    };
    sc_json_put_array(w, "dtypes");
    for (uint32_t i = 0; i < SC_COUNT_OF(rows); i++)
        add_dtype(w, rows[i].code, rows[i].name, rows[i].short_name, rows[i].item_bytes);
    sc_json_end_array(w);
}

static const char *const HOW[] = {[SC_COVERED_NOT] = "no",
                                  [SC_COVERED_KERNEL] = "kernel",
                                  [SC_COVERED_MENDED] = "mended",
                                  [SC_COVERED_EXPANDED] = "expanded"};

static void add_limits(sc_json_writer *w, uint32_t limits) {
    sc_json_put_array(w, "limits");
    for (int limit = 1; limit < SC_LIMIT_COUNT; limit++)
        if (limits >> limit & 1) sc_json_add_text(w, sc_limit_calls((sc_limit)limit));
    sc_json_end_array(w);
}

static void add_ops(sc_json_writer *w) {
    static const char *const FAMILIES[] = {
        [SC_FAMILY_OTHER] = "other", [SC_FAMILY_MATRIX] = "matrix",
        [SC_FAMILY_CONV] = "conv",   [SC_FAMILY_REDUCE] = "reduce",
        [SC_FAMILY_SHAPE] = "shape", [SC_FAMILY_POINTWISE] = "pointwise",
        [SC_FAMILY_INDEX] = "index", [SC_FAMILY_CREATE] = "create"};
    sc_json_put_array(w, "ops");
    for (int id = 1; id < SC_OP_COUNT; id++) {
        const sc_op *op = sc_op_get((sc_op_id)id);
        sc_json_begin_object(w);
        sc_json_put_text(w, "name", op->name);
        sc_json_put_text(w, "out", op->out_name ? op->out_name : "");
        sc_json_put_text(w, "family", FAMILIES[op->family]);
        const sc_coverage covered = sc_op_coverage(op);
        sc_json_put_text(w, "here", HOW[covered.here]);
        sc_json_put_text(w, "official", HOW[covered.official]);
        sc_json_put_bool(w, "lowers", sc_coverage_lowers(&covered));
        sc_json_put_text(w, "lacks", covered.lacks ? covered.lacks->name : "");
        add_limits(w, covered.limits);
        sc_json_put_bool(w, "pytorch", sc_op_is_pytorch(op));
        sc_json_put_text(w, "library", sc_op_library(op) ? sc_op_library(op) : "");
        sc_json_end_object(w);
    }
    sc_json_end_array(w);
}

typedef struct pytorch_counts {
    uint32_t lowers, here, official, limited;
} pytorch_counts;

static pytorch_counts count_pytorch(void) {
    pytorch_counts n = {0};
    for (int id = 1; id < SC_OP_COUNT; id++) {
        const sc_op *op = sc_op_get((sc_op_id)id);
        const sc_coverage c = sc_op_coverage(op);
        if (!sc_op_is_pytorch(op)) continue;
        n.lowers += sc_coverage_lowers(&c);
        n.here += c.here != SC_COVERED_NOT;
        n.official += c.official != SC_COVERED_NOT;
        n.limited += c.limits != 0;
    }
    return n;
}

// The number of PyTorch's operators that are covered, and the list of those that are not in the
// table.
static void add_pytorch(sc_json_writer *w) {
    const pytorch_counts n = count_pytorch();
    sc_json_put_object(w, "pytorch");
    sc_json_put_text(w, "version", sc_pytorch_version());
    sc_json_put_i64(w, "operators", sc_pytorch_count());
    sc_json_put_i64(w, "lowers", n.lowers);
    sc_json_put_i64(w, "here", n.here);
    sc_json_put_i64(w, "official", n.official);
    sc_json_put_i64(w, "limited", n.limited);
    sc_json_put_array(w, "missing");
    for (uint32_t i = 0; i < sc_pytorch_count(); i++)
        if (!sc_op_find(sc_str_from(sc_pytorch_name(i)))) sc_json_add_text(w, sc_pytorch_name(i));
    sc_json_end_array(w);
    sc_json_end_object(w);
}

// Rows that are not operators count the operators that go through them.
static void add_features(sc_json_writer *w) {
    const sc_feature_counts n = sc_count_features();
    sc_json_put_object(w, "features");
    sc_json_put_i64(w, "vmap", n.vmap);
    sc_json_put_i64(w, "vmapSamples", n.vmap_samples);
    sc_json_put_i64(w, "jvp", n.jvp);
    sc_json_put_i64(w, "float8", n.float8);
    sc_json_end_object(w);
}

static void add_passes(sc_json_writer *w) {
    sc_json_put_array(w, "passes");
    for (uint32_t i = 0; i < sc_pass_count(); i++) {
        const sc_pass *pass = sc_pass_at(i);
        sc_json_begin_object(w);
        sc_json_put_text(w, "name", pass->name);
        sc_json_put_text(w, "summary", pass->summary);
        sc_json_put_text(w, "stage", pass->step == SC_STEP_to_executorch ? "executorch" : "edge");
        sc_json_put_bool(w, "named", sc_pass_is_offered(pass));
        sc_json_end_object(w);
    }
    sc_json_end_array(w);
}

static void add_backends(sc_json_writer *w) {
    static const char *const SUMMARIES[] = {
#define BACKEND(name, summary) summary,
#include "backends/backends.def"
#undef BACKEND
    };
    sc_json_put_array(w, "backends");
    for (uint32_t i = 0; i < SC_COUNT_OF(SUMMARIES); i++) {
        const sc_backend *backend = sc_all_backends.at(sc_all_backends.user, i);
        sc_json_begin_object(w);
        sc_json_put_text(w, "name", backend->name);
        sc_json_put_text(w, "id", backend->id);
        sc_json_put_text(w, "summary", SUMMARIES[i]);
        sc_json_end_object(w);
    }
    sc_json_end_array(w);
}

sc_str sc_meta_json(sc_job *job) {
    sc_sb sb = sc_job_text(job);
    sc_json_writer w;
    sc_json_writer_init(&w, &sb, SC_JSON_COMPACT);
    sc_json_begin_object(&w);
    add_statuses(&w);
    add_dtypes(&w);
    if (sc_ops_init() == SC_OK) add_ops(&w);
    add_pytorch(&w);
    add_features(&w);
    add_passes(&w);
    add_backends(&w);
    sc_json_end_object(&w);
    return sc_sb_str(&sb);
}
