// Reports of an inspection: totals, times on a line, gaps, two dumps side by side; and all of it as
// JSON, in the shapes that the interface has (types/inspector.ts).
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

// By block, longest first.
uint32_t sc_inspect_totals(const sc_inspection *in, sc_arena *arena, bool by_module,
                           const sc_inspect_total **out);
// The work of an instruction, or of a part of it: no scope of the runtime around it.
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

// When each event was, of all blocks and runs, in the target scale; on `arena`. Those that say no
// time are counted.
sc_status sc_inspect_timeline_of(const sc_inspection *in, sc_arena *arena,
                                 sc_inspect_timeline *out);

// --- Gaps (gap.c) ------------------------------------------------------------------------

// The reference's last value under a handle.
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
    sc_arena *values;  // where elements go; NULL: the context's
    bool are_placed;   // whether they are named by their places
    SC_VEC(sc_inspect_gap_row) rows;
    SC_VEC(sc_inspect_skip) skipped;
} sc_inspect_gaps;

// Appends the gaps of every block of `method`. References are one for each handle.
sc_status sc_inspect_gaps_of(const sc_inspection *in, const sc_inspect_method *method,
                             const sc_inspect_reference *references, uint32_t count,
                             sc_inspect_gaps *out);

// --- Two dumps (compare.c) ---------------------------------------------------------------

typedef struct sc_inspect_side {
    uint32_t block;
    const uint32_t *events;
    uint32_t event_count;
    sc_perf perf;  // of all of them together
} sc_inspect_side;

typedef struct sc_inspect_compared {
    const sc_inspection *ins[2];
    uint32_t match;              // among the comparison's
    sc_inspect_handles handles;  // empty: aligned by name
    sc_str name;
    bool has[2];
    sc_inspect_side sides[2];
    bool has_noise;
    double noise;
} sc_inspect_compared;

// Runs that are compared with each other: of one method, or of one that is not known.
typedef struct sc_inspect_match_of {
    const sc_inspect_method *method;  // NULL: unknown
    uint32_t blocks[2];
    sc_inspect_compared total;
} sc_inspect_match_of;

typedef struct sc_inspect_comparison {
    const sc_inspection *ins[2];
    SC_VEC(sc_inspect_match_of) matches;  // one at least
    SC_VEC(sc_inspect_compared) rows;     // of all of them
} sc_inspect_comparison;

// Every method that both have runs of, or the one that was asked for. SC_ERR_OPTION when the two
// have other scales, SC_ERR_ARGUMENT when they have no run of a method in common.
sc_status sc_inspect_compare(sc_ctx *ctx, const sc_inspection *a, const sc_inspection *b,
                             sc_inspect_comparison *out);

// --- As JSON (json.c, json_timeline.c, json_gaps.c, json_comparison.c) -------------------

// Shapes are those of types/inspector.ts. A function without a key writes a value; one that takes a
// key, or names one, adds a member to the object that is open.

// A list of blocks with their events, logged values read: fails as reading these does.
sc_status sc_inspect_put_events(sc_json_writer *w, const sc_inspection *in);
// A list, by operator or by module.
void sc_inspect_put_totals(sc_json_writer *w, const sc_inspection *in, bool by_module);
// An object with the spans.
sc_status sc_inspect_put_timeline(sc_json_writer *w, const sc_inspection *in);
// Writes the delegates' events with times, in the order of the dump: [name, start, end] in ticks.
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
