// Writes a comparison of two dumps as JSON.
#include "devtools/inspect/report.h"

static void put_side(sc_json_writer *w, const char *key, const sc_inspection *in, bool has,
                     const sc_inspect_side *side) {
    if (!has) {
        sc_json_put_null(w, key);
        return;
    }
    sc_json_put_object(w, key);
    sc_json_put_u64(w, "block", side->block);
    sc_json_put_array(w, "events");
    for (uint32_t i = 0; i < side->event_count; i++) sc_json_add_u64(w, side->events[i]);
    sc_json_end_array(w);
    sc_json_put_array(w, "names");
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
        sc_json_put_f64(w, "difference", b - a);
    else
        sc_json_put_null(w, "difference");
    if (has_both && a > 0)
        sc_json_put_f64(w, "ratio", b / a);
    else
        sc_json_put_null(w, "ratio");
    if (row->has_noise) {
        sc_json_put_f64(w, "noise", row->noise);
        sc_json_put_bool(w, "isSignificant", b - a > row->noise || a - b > row->noise);
    } else {
        sc_json_put_null(w, "noise");
        sc_json_put_null(w, "isSignificant");
    }
}

// Writes the operators of both sides, each once, and the first line of the user's code.
static void put_origins(sc_json_writer *w, const sc_inspect_compared *row) {
    sc_arena *scratch = row->ins[0]->ctx->scratch;
    sc_mark mark = sc_arena_mark(scratch);
    sc_str source = {0};
    sc_map seen;
    sc_map_init(&seen, scratch);
    sc_json_put_array(w, "ops");
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
        sc_json_put_null(w, "method");
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

// Writes the methods of which only one dump has runs.
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
    sc_json_put_array(w, "warnings");
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
    sc_json_put_array(w, "methods");
    for (uint32_t i = 0; i < c->matches.count; i++) put_match(w, c, &c->matches.data[i]);
    sc_json_end_array(w);
    sc_json_put_array(w, "rows");
    for (uint32_t i = 0; i < c->rows.count; i++) put_compared(w, c, &c->rows.data[i]);
    sc_json_end_array(w);
    sc_json_end_object(w);
}
