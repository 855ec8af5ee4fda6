// Writes the times of events as JSON: spans for our own views, and the trace that other viewers
// open.
#include "devtools/inspect/report.h"

static const sc_inspect_event *event_of(const sc_inspection *in, const sc_inspect_span *span) {
    return &in->blocks[span->block].events[span->event];
}

static void put_span(sc_json_writer *w, const sc_inspection *in, const sc_inspect_span *span) {
    const sc_inspect_event *e = event_of(in, span);
    sc_json_begin_object(w);
    sc_json_put_u64(w, "run", span->run);
    sc_json_put_u64(w, "block", span->block);
    sc_json_put_u64(w, "event", span->event);
    sc_json_put_str(w, "name", e->name);
    sc_inspect_put_ops(w, in->ctx->scratch, e);
    if (e->backend.size)
        sc_json_put_str(w, "backend", e->backend);
    else
        sc_json_put_null(w, "backend");
    sc_json_put_f64(w, "start", span->start);
    sc_json_put_f64(w, "duration", span->duration);
    sc_json_put_u64(w, "depth", span->depth);
    sc_json_end_object(w);
}

sc_status sc_inspect_put_timeline(sc_json_writer *w, const sc_inspection *in) {
    sc_inspect_timeline line;
    sc_arena arena;
    sc_arena_init(&arena);
    const sc_status status = sc_inspect_timeline_of(in, &arena, &line);
    sc_json_begin_object(w);
    sc_json_put_text(w, "scale", sc_time_scale_name(in->target_scale));
    sc_json_put_array(w, "spans");
    for (uint32_t i = 0; status == SC_OK && i < line.count; i++) put_span(w, in, &line.spans[i]);
    sc_json_end_array(w);
    sc_json_put_u64(w, "unplaced", status == SC_OK ? line.unplaced : 0);
    sc_json_end_object(w);
    sc_arena_deinit(&arena);
    return status;
}

// --- Trace ---------------------------------------------------------------------------------------

static void put_thread(sc_json_writer *w, uint32_t block, const char *what, sc_str name) {
    sc_json_begin_object(w);
    sc_json_put_text(w, "ph", "M");
    sc_json_put_text(w, "name", what);
    sc_json_put_u64(w, "pid", 1);
    sc_json_put_u64(w, "tid", block + 1);
    sc_json_put_object(w, "args");
    sc_json_put_str(w, "name", name);
    sc_json_end_object(w);
    sc_json_end_object(w);
}

static void put_arguments(sc_json_writer *w, const sc_inspection *in, const sc_inspect_span *span) {
    const sc_inspect_event *e = event_of(in, span);
    sc_json_put_object(w, "args");
    sc_json_put_u64(w, "run", span->run);
    if (e->chain >= 0) {
        sc_json_put_i64(w, "chain", e->chain);
        sc_json_put_i64(w, "instruction", e->instruction);
    }
    if (e->threads) sc_json_put_u64(w, "threads", e->threads);
    if (e->handles.count) sc_inspect_put_handles(w, "handles", e->handles);
    if (e->node_count) {
        sc_inspect_put_ops(w, in->ctx->scratch, e);
        sc_json_put_str(w, "source", e->nodes[0]->source);
    }
    if (e->backend.size) sc_json_put_str(w, "backend", e->backend);
    sc_json_end_object(w);
}

// Times of a trace are microseconds. A cycle is written as one microsecond.
static void put_slice(sc_json_writer *w, const sc_inspection *in, const sc_inspect_span *span,
                      double per_unit) {
    const sc_inspect_event *e = event_of(in, span);
    sc_json_begin_object(w);
    sc_json_put_str(w, "name", e->name);
    sc_json_put_text(w, "cat", e->is_delegated ? "delegate" : e->chain < 0 ? "method" : "operator");
    sc_json_put_text(w, "ph", "X");
    sc_json_put_u64(w, "pid", 1);
    sc_json_put_u64(w, "tid", span->block + 1);
    sc_json_put_f64(w, "ts", span->start * per_unit);
    sc_json_put_f64(w, "dur", span->duration * per_unit);
    put_arguments(w, in, span);
    sc_json_end_object(w);
}

static double microseconds(sc_time_scale scale) {
    static const double PER_UNIT[] = {1e-3, 1, 1e3, 1e6, 1};
    return PER_UNIT[scale];
}

static sc_str thread_name(const sc_inspection *in, const sc_inspect_block *block) {
    if (!block->method) return block->name;
    return sc_str_format(in->ctx->scratch, SC_STR_FMT ": " SC_STR_FMT,
                         SC_STR_ARG(block->method->name), SC_STR_ARG(block->name));
}

sc_status sc_inspect_put_trace(sc_json_writer *w, const sc_inspection *in) {
    sc_inspect_timeline line;
    sc_arena arena;
    sc_arena_init(&arena);
    const sc_status status = sc_inspect_timeline_of(in, &arena, &line);
    sc_json_begin_object(w);
    sc_json_put_text(w, "displayTimeUnit", "ns");
    sc_json_put_array(w, "traceEvents");
    for (uint32_t i = 0; i < in->block_count; i++)
        put_thread(w, i, "thread_name", thread_name(in, &in->blocks[i]));
    for (uint32_t i = 0; status == SC_OK && i < line.count; i++)
        put_slice(w, in, &line.spans[i], microseconds(in->target_scale));
    sc_json_end_array(w);
    sc_json_end_object(w);
    sc_arena_deinit(&arena);
    return status;
}

// --- Events of delegates -------------------------------------------------------------------------

static void put_ticks(sc_json_writer *w, sc_arena *scratch, const sc_dump_event *e) {
    sc_mark mark = sc_arena_mark(scratch);
    sc_json_begin_array(w);
    sc_json_add_str(w, e->delegate_str.data ? e->delegate_str
                                            : sc_str_format(scratch, "%d", e->delegate_int));
    sc_json_add_u64(w, e->start);
    sc_json_add_u64(w, e->end);
    sc_json_end_array(w);
    sc_arena_rewind(scratch, mark);
}

void sc_inspect_put_ticks(sc_json_writer *w, const sc_inspection *in) {
    sc_json_begin_array(w);
    for (uint32_t r = 0; r < in->dump->run_count; r++)
        for (uint32_t i = 0; i < in->dump->runs[r].event_count; i++)
            if (sc_inspect_is_converted(&in->dump->runs[r].events[i]))
                put_ticks(w, in->ctx->scratch, &in->dump->runs[r].events[i]);
    sc_json_end_array(w);
}
