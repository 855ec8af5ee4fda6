// Times on a line, gaps and comparisons as JSON.
#include "devtools/inspect/report.h"

static void put_f64(sc_json_writer *w, const char *key, double value) {
    sc_json_key(w, key);
    sc_json_add_f64(w, value);
}

static void put_i64(sc_json_writer *w, const char *key, int64_t value) {
    sc_json_key(w, key);
    sc_json_add_i64(w, value);
}

static void put_null(sc_json_writer *w, const char *key) {
    sc_json_key(w, key);
    sc_json_add_null(w);
}

// --- On a line -----------------------------------------------------------------------------------

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
        put_null(w, "backend");
    put_f64(w, "start", span->start);
    put_f64(w, "duration", span->duration);
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
    sc_json_key(w, "spans");
    sc_json_begin_array(w);
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
    sc_json_key(w, "args");
    sc_json_begin_object(w);
    sc_json_put_str(w, "name", name);
    sc_json_end_object(w);
    sc_json_end_object(w);
}

static void put_arguments(sc_json_writer *w, const sc_inspection *in, const sc_inspect_span *span) {
    const sc_inspect_event *e = event_of(in, span);
    sc_json_key(w, "args");
    sc_json_begin_object(w);
    sc_json_put_u64(w, "run", span->run);
    if (e->chain >= 0) {
        put_i64(w, "chain", e->chain);
        put_i64(w, "instruction", e->instruction);
    }
    if (e->handles.count) sc_inspect_put_handles(w, "handles", e->handles);
    if (e->node_count) {
        sc_inspect_put_ops(w, in->ctx->scratch, e);
        sc_json_put_str(w, "source", e->nodes[0]->source);
    }
    if (e->backend.size) sc_json_put_str(w, "backend", e->backend);
    sc_json_end_object(w);
}

// Times of a trace are microseconds; cycles stand for as many.
static void put_slice(sc_json_writer *w, const sc_inspection *in, const sc_inspect_span *span,
                      double per_unit) {
    const sc_inspect_event *e = event_of(in, span);
    sc_json_begin_object(w);
    sc_json_put_str(w, "name", e->name);
    sc_json_put_text(w, "cat", e->is_delegated ? "delegate" : e->chain < 0 ? "method" : "operator");
    sc_json_put_text(w, "ph", "X");
    sc_json_put_u64(w, "pid", 1);
    sc_json_put_u64(w, "tid", span->block + 1);
    put_f64(w, "ts", span->start * per_unit);
    put_f64(w, "dur", span->duration * per_unit);
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
    sc_json_key(w, "traceEvents");
    sc_json_begin_array(w);
    for (uint32_t i = 0; i < in->block_count; i++)
        put_thread(w, i, "thread_name", thread_name(in, &in->blocks[i]));
    for (uint32_t i = 0; status == SC_OK && i < line.count; i++)
        put_slice(w, in, &line.spans[i], microseconds(in->target_scale));
    sc_json_end_array(w);
    sc_json_end_object(w);
    sc_arena_deinit(&arena);
    return status;
}

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

// --- Gaps ----------------------------------------------------------------------------------------

static void put_pair(sc_json_writer *w, const sc_inspect_pair *pair, bool is_placed) {
    sc_json_begin_object(w);
    sc_json_key(w, "reference");
    sc_numbers_put(w, pair->reference, is_placed);
    sc_json_key(w, "found");
    sc_numbers_put(w, pair->found, is_placed);
    sc_json_key(w, "gap");
    sc_gap_put(w, &pair->gap);
    sc_json_end_object(w);
}

static void put_names(sc_json_writer *w, const char *key, const sc_str *names, uint32_t count) {
    sc_json_key(w, key);
    sc_json_begin_array(w);
    for (uint32_t i = 0; i < count; i++) sc_json_add_str(w, names[i]);
    sc_json_end_array(w);
}

typedef SC_VEC(const sc_inspect_node *) node_list;

static node_list nodes_of(sc_arena *arena, const sc_inspect_method *method,
                          sc_inspect_handles handles) {
    node_list nodes = {0};
    for (uint32_t h = 0; h < handles.count; h++) {
        const sc_inspect_node *n = NULL;
        while ((n = sc_inspect_node_of(method, handles.data[h], n))) sc_vec_push(arena, &nodes, n);
    }
    return nodes;
}

static void put_gap_row(sc_json_writer *w, const sc_inspection *in, const sc_inspect_gap_row *row,
                        bool is_placed) {
    sc_mark mark = sc_arena_mark(in->ctx->scratch);
    const node_list nodes = nodes_of(in->ctx->scratch, row->method, row->aot);
    sc_json_begin_object(w);
    sc_json_put_str(w, "method", row->method->name);
    sc_json_put_u64(w, "block", row->block);
    sc_json_put_u64(w, "event", row->event);
    sc_inspect_put_handles(w, "aotHandles", row->aot);
    sc_json_key(w, "aotOps");
    sc_json_begin_array(w);
    for (uint32_t i = 0; i < nodes.count; i++) sc_json_add_str(w, nodes.data[i]->name);
    sc_json_end_array(w);
    sc_inspect_put_handles(w, "runtimeHandles", row->runtime);
    put_names(w, "runtimeOps", row->runtime_ops, row->runtime_op_count);
    sc_inspect_put_nodes(w, nodes.data, nodes.count);
    sc_json_key(w, "outputs");
    sc_json_begin_array(w);
    for (uint32_t i = 0; i < row->pair_count; i++) put_pair(w, &row->pairs[i], is_placed);
    sc_json_end_array(w);
    sc_json_end_object(w);
    sc_arena_rewind(in->ctx->scratch, mark);
}

void sc_inspect_put_gaps(sc_json_writer *w, const sc_inspection *in, const sc_inspect_gaps *gaps) {
    sc_json_key(w, "rows");
    sc_json_begin_array(w);
    for (uint32_t i = 0; i < gaps->rows.count; i++)
        put_gap_row(w, in, &gaps->rows.data[i], gaps->are_placed);
    sc_json_end_array(w);
    sc_json_key(w, "skipped");
    sc_json_begin_array(w);
    for (uint32_t i = 0; i < gaps->skipped.count; i++) {
        const sc_inspect_skip *skip = &gaps->skipped.data[i];
        sc_json_begin_object(w);
        sc_json_put_str(w, "method", skip->method->name);
        sc_json_put_u64(w, "block", skip->block);
        sc_json_put_u64(w, "event", skip->event);
        sc_json_put_str(w, "name", in->blocks[skip->block].events[skip->event].name);
        sc_json_put_text(w, "reason", skip->reason);
        sc_json_end_object(w);
    }
    sc_json_end_array(w);
}

// --- Two dumps -----------------------------------------------------------------------------------

static void put_side(sc_json_writer *w, const char *key, const sc_inspection *in, bool has,
                     const sc_inspect_side *side) {
    if (!has) {
        put_null(w, key);
        return;
    }
    sc_json_key(w, key);
    sc_json_begin_object(w);
    sc_json_put_u64(w, "block", side->block);
    sc_json_key(w, "events");
    sc_json_begin_array(w);
    for (uint32_t i = 0; i < side->event_count; i++) sc_json_add_u64(w, side->events[i]);
    sc_json_end_array(w);
    sc_json_key(w, "names");
    sc_json_begin_array(w);
    for (uint32_t i = 0; i < side->event_count; i++)
        sc_json_add_str(w, in->blocks[side->block].events[side->events[i]].name);
    sc_json_end_array(w);
    sc_inspect_put_perf(w, "perf", &side->perf);
    sc_json_end_object(w);
}

static void put_difference(sc_json_writer *w, const sc_inspect_compared *row) {
    const double a = row->sides[0].perf.average, b = row->sides[1].perf.average;
    const bool has_both = row->has[0] && row->has[1];
    if (has_both)
        put_f64(w, "difference", b - a);
    else
        put_null(w, "difference");
    if (has_both && a > 0)
        put_f64(w, "ratio", b / a);
    else
        put_null(w, "ratio");
    if (row->has_noise) {
        put_f64(w, "noise", row->noise);
        sc_json_put_bool(w, "isSignificant", b - a > row->noise || a - b > row->noise);
    } else {
        put_null(w, "noise");
        put_null(w, "isSignificant");
    }
}

// The operators of both sides, each once, and the first line of the user's code.
static void put_origins(sc_json_writer *w, const sc_inspect_compared *row) {
    sc_arena *scratch = row->ins[0]->ctx->scratch;
    sc_mark mark = sc_arena_mark(scratch);
    sc_str source = {0};
    sc_map seen;
    sc_map_init(&seen, scratch);
    sc_json_key(w, "ops");
    sc_json_begin_array(w);
    for (uint32_t side = 0; side < 2; side++)
        for (uint32_t i = 0; i < row->sides[side].event_count; i++) {
            const sc_inspect_event *e =
                &row->ins[side]->blocks[row->sides[side].block].events[row->sides[side].events[i]];
            for (uint32_t n = 0; n < e->node_count; n++) {
                if (!source.size) source = e->nodes[n]->source;
                if (sc_map_add(&seen, e->nodes[n]->op, scratch))
                    sc_json_add_str(w, e->nodes[n]->op);
            }
        }
    sc_json_end_array(w);
    sc_json_put_str(w, "source", source);
    sc_arena_rewind(scratch, mark);
}

static void put_method(sc_json_writer *w, const sc_inspect_method *method) {
    if (method)
        sc_json_put_str(w, "method", method->name);
    else
        put_null(w, "method");
}

static void put_compared(sc_json_writer *w, const sc_inspect_comparison *c,
                         const sc_inspect_compared *row) {
    sc_json_begin_object(w);
    put_method(w, c->matches.data[row->match].method);
    sc_json_put_str(w, "name", row->name);
    sc_json_put_text(w, "by", row->handles.count ? "handles" : "name");
    sc_inspect_put_handles(w, "handles", row->handles);
    put_origins(w, row);
    put_side(w, "a", row->ins[0], row->has[0], &row->sides[0]);
    put_side(w, "b", row->ins[1], row->has[1], &row->sides[1]);
    put_difference(w, row);
    sc_json_end_object(w);
}

static bool is_compared(const sc_inspect_comparison *c, sc_str method) {
    for (uint32_t i = 0; i < c->matches.count; i++)
        if (c->matches.data[i].method && sc_str_equal(c->matches.data[i].method->name, method))
            return true;
    return false;
}

// Methods that only one of the dumps has runs of.
static void put_left_out(sc_json_writer *w, const sc_inspect_comparison *c, uint32_t side) {
    const sc_inspection *in = c->ins[side];
    for (uint32_t m = 0; !in->asked && m < in->method_count; m++) {
        bool has_runs = false;
        for (uint32_t i = 0; i < in->block_count && !has_runs; i++)
            has_runs = in->blocks[i].method == &in->methods[m];
        if (has_runs && !is_compared(c, in->methods[m].name))
            sc_json_add_str(w, sc_str_format(in->ctx->scratch,
                                             "%s: runs of method '" SC_STR_FMT
                                             "' are left out: %s has none",
                                             side ? "b" : "a", SC_STR_ARG(in->methods[m].name),
                                             side ? "a" : "b"));
    }
}

static void put_warnings(sc_json_writer *w, const sc_inspect_comparison *c) {
    sc_json_key(w, "warnings");
    sc_json_begin_array(w);
    for (uint32_t side = 0; side < 2; side++)
        for (uint32_t i = 0; i < c->ins[side]->warnings.count; i++)
            sc_json_add_str(w, sc_str_format(c->ins[0]->ctx->scratch, "%s: " SC_STR_FMT,
                                             side ? "b" : "a",
                                             SC_STR_ARG(c->ins[side]->warnings.data[i])));
    for (uint32_t side = 0; side < 2; side++) put_left_out(w, c, side);
    sc_json_end_array(w);
}

static void put_match(sc_json_writer *w, const sc_inspect_comparison *c,
                      const sc_inspect_match_of *match) {
    sc_json_begin_object(w);
    put_method(w, match->method);
    sc_json_put_u64(w, "runsA", c->ins[0]->blocks[match->blocks[0]].run_count);
    sc_json_put_u64(w, "runsB", c->ins[1]->blocks[match->blocks[1]].run_count);
    sc_json_key(w, "total");
    put_compared(w, c, &match->total);
    sc_json_end_object(w);
}

void sc_inspect_put_comparison(sc_json_writer *w, const sc_inspect_comparison *c) {
    sc_json_begin_object(w);
    sc_json_put_text(w, "scale", sc_time_scale_name(c->ins[0]->target_scale));
    put_warnings(w, c);
    sc_json_key(w, "methods");
    sc_json_begin_array(w);
    for (uint32_t i = 0; i < c->matches.count; i++) put_match(w, c, &c->matches.data[i]);
    sc_json_end_array(w);
    sc_json_key(w, "rows");
    sc_json_begin_array(w);
    for (uint32_t i = 0; i < c->rows.count; i++) put_compared(w, c, &c->rows.data[i]);
    sc_json_end_array(w);
    sc_json_end_object(w);
}
