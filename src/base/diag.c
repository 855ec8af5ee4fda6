// The context and its list of diagnostics. All texts of a diagnostic are copied, so it outlives its
// file, pass or graph.
#include "base/diag.h"

enum { DIAG_MAX = 1000, MESSAGE_BYTES_MAX = 4096 };

static void set_limits(sc_limits *limits) {
    *limits = (sc_limits){
        .zip_entry_max = 1 << 20,
        .inflated_bytes_max = 1 << 30,
        .json_bytes_max = 1 << 30,
        .json_depth_max = 256,
        .json_string_bytes_max = 16 << 20,
        .pickle_opcode_max = 16 << 20,
        .pickle_memo_max = 4 << 20,
        .pickle_stack_max = 1 << 20,
        .pickle_depth_max = 512,
        .rank_max = 16,
        .expr_depth_max = 200,
        .expr_node_max = 100 * 1000,
        .graph_depth_max = 32,
        .node_max = 5 * 1000 * 1000,
        .planned_bytes_max = (UINT64_C(1) << 32) - (64 << 10),
        .instruction_max = 10 * 1000 * 1000,
        .constant_bytes_max = 256 << 20,
        .deferred_bytes_min = 8 << 10,
        .gathered_bytes_max = 16 << 20,
    };
}

void sc_ctx_init(sc_ctx *ctx, sc_arena *arena, sc_arena *scratch) {
    *ctx = (sc_ctx){
        .arena = arena, .diag_arena = arena, .scratch = scratch, .names = sc_names_new(arena)};
    ctx->where.instruction = -1;
    set_limits(&ctx->limits);
}

static sc_where copy_where(sc_arena *arena, const sc_where *where) {
    return (sc_where){
        .method = sc_str_copy(arena, where->method),
        .pass = sc_str_copy(arena, where->pass),
        .node = sc_str_copy(arena, where->node),
        .op = sc_str_copy(arena, where->op),
        .stack_trace = sc_str_copy(arena, where->stack_trace),
        .instruction = where->instruction,
    };
}

static void record(sc_ctx *ctx, sc_severity severity, sc_status code, const char *hint,
                   const char *format, va_list args) {
    if (severity == SC_ERROR) ctx->error_count++;
    // At the cap a new error replaces no older one, because the first errors say most.
    if (ctx->diags.count >= DIAG_MAX) {
        ctx->diag_dropped++;
        return;
    }
    sc_sb message;
    sc_sb_init(&message, ctx->diag_arena);
    sc_sb_vaddf(&message, format, args);
    sc_str text = sc_str_slice(sc_sb_str(&message), 0, MESSAGE_BYTES_MAX);
    sc_diag diag = {
        .severity = severity,
        .code = code,
        .message = text,
        .hint = sc_str_copy(ctx->diag_arena, sc_str_from(hint ? hint : sc_status_hint(code))),
        .where = copy_where(ctx->diag_arena, &ctx->where),
    };
    sc_vec_push(ctx->diag_arena, &ctx->diags, diag);
    const bool is_logged = severity == SC_ERROR || !ctx->is_hushed;
    if (ctx->host.log && is_logged) ctx->host.log(ctx->host.user, severity, text);
}

void sc_fail_record(sc_ctx *ctx, sc_status code, const char *hint, const char *format, ...) {
    SC_ASSERT(code != SC_OK);
    va_list args;
    va_start(args, format);
    record(ctx, SC_ERROR, code, hint, format, args);
    va_end(args);
}

void sc_report(sc_ctx *ctx, sc_severity severity, sc_status code, const char *hint,
               const char *format, ...) {
    va_list args;
    va_start(args, format);
    record(ctx, severity, code, hint, format, args);
    va_end(args);
}

sc_diag_mark sc_diags_mark(const sc_ctx *ctx) {
    return (sc_diag_mark){ctx->diags.count, ctx->error_count, ctx->diag_dropped};
}

void sc_diags_rewind(sc_ctx *ctx, sc_diag_mark mark) {
    ctx->diags.count = mark.count;
    ctx->error_count = mark.errors;
    ctx->diag_dropped = mark.dropped;
}

void sc_diags_trace(sc_ctx *ctx, sc_diag_mark since, sc_str trace) {
    for (uint32_t i = since.count; i < ctx->diags.count; i++)
        if (!ctx->diags.data[i].where.stack_trace.size)
            ctx->diags.data[i].where.stack_trace = trace;
}

void sc_diags_clear(sc_ctx *ctx) {
    // The storage is freed with the arena, which may be reset before the next diagnostic.
    memset(&ctx->diags, 0, sizeof ctx->diags);
    ctx->error_count = 0;
    ctx->diag_dropped = 0;
}

double sc_now_ms(const sc_ctx *ctx) {
    return ctx->host.now_ms ? ctx->host.now_ms(ctx->host.user) : 0.0;
}

sc_status sc_progress(sc_ctx *ctx, sc_phase phase, uint64_t done, uint64_t total) {
    const char *name = sc_phase_get(phase)->name;
    if (ctx->host.progress && ctx->host.progress(ctx->host.user, name, done, total))
        return sc_fail(ctx, SC_ERR_CANCELLED, NULL, "cancelled during %s", name);
    return SC_OK;
}

sc_status sc_progress_of_run(sc_ctx *ctx) {
    if (!ctx->tells_runs) return SC_OK;
    return sc_progress(ctx, SC_PHASE_run, ctx->run_done, ctx->run_total);
}
