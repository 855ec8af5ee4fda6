// Reports of an inspection: totals, timelines, gaps, and the comparison of two dumps. The JSON of
// each has the shape of types/inspector.ts.
// Prefixes: sc_inspect_ computes one report; sc_inspect_put_ writes one as JSON.
#ifndef SC_INSPECT_REPORT_H
#define SC_INSPECT_REPORT_H

#include "devtools/inspect/inspect.h"
#include "devtools/inspect/values.h"

// --- Totals (totals.c) -------------------------------------------------------------------

typedef struct sc_inspect_total {
    uint32_t block;
    sc_str name, class_name;
    uint64_t events;
    double time, self, delegated, share;
} sc_inspect_total;

// Lists totals by block, longest first.
uint32_t sc_inspect_totals(const sc_inspection *in, sc_arena *arena, bool by_module,
                           const sc_inspect_total **out);
// True if the event is the work of an instruction or of a part of it, not a scope of the runtime.
bool sc_inspect_is_work(const sc_inspect_event *event);

// --- On a line (timeline.c) --------------------------------------------------------------

typedef struct sc_inspect_span {
    uint32_t run, block, event;
    double start, duration;
    uint32_t depth;
} sc_inspect_span;

typedef struct sc_inspect_timeline {
    const sc_inspect_span *spans;
    uint32_t count;
    uint64_t unplaced;
} sc_inspect_timeline;

// Lists when each event of all blocks and runs was, in the target scale, on `arena`. Events without
// a start are counted.
sc_status sc_inspect_timeline_of(const sc_inspection *in, sc_arena *arena,
                                 sc_inspect_timeline *out);

// --- Gaps (gap.c) ------------------------------------------------------------------------

// The last value of the reference for a handle.
typedef struct sc_inspect_reference {
    int64_t handle;
    const sc_numbers_list *values;
} sc_inspect_reference;

typedef struct sc_inspect_pair {
    const sc_numbers *reference, *found;
    sc_gap gap;
} sc_inspect_pair;

typedef struct sc_inspect_gap_row {
    const sc_inspect_method *method;
    uint32_t block, event;
    sc_inspect_handles runtime, aot;
    const sc_str *runtime_ops;  // names of events
    uint32_t runtime_op_count;
    const sc_inspect_pair *pairs;
    uint32_t pair_count;
} sc_inspect_gap_row;

typedef struct sc_inspect_skip {
    const sc_inspect_method *method;
    uint32_t block, event;
    const char *reason;
} sc_inspect_skip;

typedef struct sc_inspect_gaps {
    sc_arena *values;  // memory for elements; NULL: the context's arena
    bool are_placed;   // events are named by their places
    SC_VEC(sc_inspect_gap_row) rows;
    SC_VEC(sc_inspect_skip) skipped;
} sc_inspect_gaps;

// Appends the gaps of every block of `method`. There is one reference for each handle.
sc_status sc_inspect_gaps_of(const sc_inspection *in, const sc_inspect_method *method,
                             const sc_inspect_reference *references, uint32_t count,
                             sc_inspect_gaps *out);

// --- Two dumps (compare.c) ---------------------------------------------------------------

typedef struct sc_inspect_side {
    uint32_t block;
    const uint32_t *events;
    uint32_t event_count;
    sc_perf perf;  // sum over the events
} sc_inspect_side;

typedef struct sc_inspect_compared {
    const sc_inspection *ins[2];
    uint32_t match;              // index among the matches of the comparison
    sc_inspect_handles handles;  // empty: matched by name
    sc_str name;
    bool has[2];
    sc_inspect_side sides[2];
    bool has_noise;
    double noise;
} sc_inspect_compared;

// Runs that are compared: of one method, or of an unknown one.
typedef struct sc_inspect_match_of {
    const sc_inspect_method *method;  // NULL: unknown
    uint32_t blocks[2];
    sc_inspect_compared total;
} sc_inspect_match_of;

typedef struct sc_inspect_comparison {
    const sc_inspection *ins[2];
    SC_VEC(sc_inspect_match_of) matches;  // at least one
    SC_VEC(sc_inspect_compared) rows;     // rows of all matches
} sc_inspect_comparison;

// Compares every method of which both dumps have runs, or the one that was named. SC_ERR_OPTION if
// the scales differ. SC_ERR_ARGUMENT if the dumps have no method in common.
sc_status sc_inspect_compare(sc_ctx *ctx, const sc_inspection *a, const sc_inspection *b,
                             sc_inspect_comparison *out);

// --- As JSON (json.c, json_timeline.c, json_gaps.c, json_comparison.c) -------------------

// A function without a key writes a value. A function that has a key, or names one below, adds a
// member to the current object.

// A list of blocks with their events and logged values. Reading a value may fail.
sc_status sc_inspect_put_events(sc_json_writer *w, const sc_inspection *in);
// A list of totals, by operator or by module.
void sc_inspect_put_totals(sc_json_writer *w, const sc_inspection *in, bool by_module);
// An object with the spans.
sc_status sc_inspect_put_timeline(sc_json_writer *w, const sc_inspection *in);
// A list of the delegates' events with times, in the order of the dump: [name, start, end] in
// ticks.
void sc_inspect_put_ticks(sc_json_writer *w, const sc_inspection *in);
// The file that Perfetto and chrome://tracing open.
sc_status sc_inspect_put_trace(sc_json_writer *w, const sc_inspection *in);
// A member: the times of each run and their statistics, in the target scale.
void sc_inspect_put_perf(sc_json_writer *w, const char *key, const sc_perf *perf);
// The member "ops": each operator once.
void sc_inspect_put_ops(sc_json_writer *w, sc_arena *scratch, const sc_inspect_event *event);
// The member "nodes".
void sc_inspect_put_nodes(sc_json_writer *w, const sc_inspect_node *const *nodes, uint32_t count);
// A member: a list of debug handles.
void sc_inspect_put_handles(sc_json_writer *w, const char *key, sc_inspect_handles handles);
// The members "rows" and "skipped".
void sc_inspect_put_gaps(sc_json_writer *w, const sc_inspection *in, const sc_inspect_gaps *gaps);
// An object: methods with their totals, and row by row.
void sc_inspect_put_comparison(sc_json_writer *w, const sc_inspect_comparison *comparison);

#endif
