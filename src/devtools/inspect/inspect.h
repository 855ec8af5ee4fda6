// The inspector merges the runs of a dump, and finds the nodes of the program that each event
// belongs to. It knows dumps and plain tables of nodes, but no graphs. Times are in the target
// scale.
// Prefixes: sc_inspect_ merges a dump and asks about its events; sc_time_ converts times, sc_perf_
// sums them.
#ifndef SC_INSPECT_H
#define SC_INSPECT_H

#include "base/map.h"
#include "devtools/inspect/etdump_read.h"

// --- Facts from a record -------------------------------------------------------------------------

typedef struct sc_inspect_module {
    sc_str path, class_name;
} sc_inspect_module;

// A node of the graph that events are associated with.
typedef struct sc_inspect_node {
    sc_str name, op;
    sc_str stack_trace;
    sc_str source;  // the last line of the trace, as all tools here show it; empty: unknown
    const sc_inspect_module *modules;  // outermost first
    uint32_t module_count;
    int64_t handle;  // 0: absent
} sc_inspect_node;

typedef struct sc_inspect_handles {
    const int64_t *data;
    uint32_t count;
} sc_inspect_handles;

// Gives each handle once, at its first place.
sc_inspect_handles sc_inspect_handles_of(sc_arena *arena, const uint32_t *handles, uint32_t count);

// A delegate's name for one of its own events, and the nodes of that event.
typedef struct sc_inspect_delegate_id {
    sc_str id;  // numbers as text
    sc_inspect_handles handles;
} sc_inspect_delegate_id;

// An instruction of chain 0, with the facts of the record's maps.
typedef struct sc_inspect_instruction {
    int64_t index;
    sc_inspect_handles handles;
    uint32_t out_count;  // results of a delegate's call; 0: the map has no number
    bool is_delegate;
    sc_str backend;
    bool has_ids;  // the delegate has a map, which may be empty
    const sc_inspect_delegate_id *ids;
    uint32_t id_count;
} sc_inspect_instruction;

typedef struct sc_inspect_method {
    sc_str name;
    const sc_inspect_instruction *instructions;  // ascending
    uint32_t instruction_count;
    const sc_inspect_node *nodes;  // in the order of the graph
    uint32_t node_count;
    sc_imap first;         // handle -> place of its first node, plus 1
    const uint32_t *next;  // for each node the place of the next one with its handle, plus 1; 0:
                           // absent
} sc_inspect_method;

// Fills in `first` and `next` of a method whose nodes are set. They are on `arena`.
void sc_inspect_index_nodes(sc_arena *arena, sc_inspect_method *method);

// Gives the nodes with a handle one after the other. `after` is NULL for the first one. The result
// is NULL after the last one.
const sc_inspect_node *sc_inspect_node_of(const sc_inspect_method *method, int64_t handle,
                                          const sc_inspect_node *after);

// True if a method of a program may be the record's `method`: its instructions call the same
// operators and delegates. `ops` has "aten::add.out" for a kernel, the backend for a delegate, else
// an empty text. `work` counts the work over several calls and is 0 at first. If it is too much,
// the result is false.
bool sc_inspect_is_program(sc_ctx *ctx, const sc_inspect_method *method, const sc_str *ops,
                           uint32_t count, uint64_t *work);

// --- Times ---------------------------------------------------------------------------------------

typedef enum sc_time_scale {
    SC_TIME_NS,
    SC_TIME_US,
    SC_TIME_MS,
    SC_TIME_S,
    SC_TIME_CYCLES
} sc_time_scale;

// "ns", "us", "ms", "s" or "cycles".
const char *sc_time_scale_name(sc_time_scale scale);
// False if there is no scale of that name.
bool sc_time_scale_from(sc_str name, sc_time_scale *out);
// Gives the ticks of `source` in one unit of `target`. SC_ERR_OPTION if only one of them is cycles.
sc_status sc_time_scale_factor(sc_ctx *ctx, sc_time_scale source, sc_time_scale target,
                               double *out);

typedef struct sc_perf {
    const double *raw;  // one for each run
    uint32_t count;
    double p10, p50, p90, average, min, max;
} sc_perf;

// Computes the statistics. The caller keeps `raw`. Percentiles are interpolated linearly. A count
// of 0 gives zeros.
sc_perf sc_perf_of(sc_arena *scratch, const double *raw, uint32_t count);

// Computes half the width of the 95 % interval (Welch) of the difference of two averages. A smaller
// difference may be chance. False if one of the two was measured only once.
bool sc_perf_noise(const sc_perf *a, const sc_perf *b, double *half_width);

// --- Blocks --------------------------------------------------------------------------------------

#define SC_INSPECT_NONE UINT32_MAX

typedef struct sc_inspect_event {
    sc_str name;
    int64_t chain;
    int32_t instruction;
    int32_t delegate_int;
    sc_str delegate_str;
    bool is_delegated;
    bool is_wrapper;  // it wraps another event of the same instruction
    bool has_time;
    uint32_t calls;    // calls in each run; their times are added up
    uint32_t threads;  // the most that worked on one call; 0: unknown
    sc_perf perf;
    uint64_t start;   // of the first run, in ticks
    uint32_t parent;  // index, or SC_INSPECT_NONE
    sc_str metadata;
    const sc_dump_value *const *values;  // values of the first run
    uint32_t value_count;
    // From the record:
    sc_str backend;
    sc_inspect_handles handles;
    uint32_t out_count;
    const sc_inspect_node *const *nodes;
    uint32_t node_count;
} sc_inspect_event;

// The reason for the method of a block.
typedef enum sc_inspect_choice {
    SC_CHOICE_UNKNOWN,
    SC_CHOICE_ASKED,
    SC_CHOICE_ONLY,
    SC_CHOICE_MATCHED
} sc_inspect_choice;

// Runs with the same events.
typedef struct sc_inspect_block {
    sc_str name;
    int32_t bundled_index;
    const uint32_t *runs;  // places in the dump
    uint32_t run_count;
    sc_inspect_event *events;
    uint32_t event_count;
    const sc_dump_value *const *outputs;  // results of the first run
    uint32_t output_count;
    const sc_inspect_method *method;  // NULL: unknown
    sc_inspect_choice choice;
    sc_perf total;  // sum over its outermost events
} sc_inspect_block;

typedef struct sc_inspection {
    sc_ctx *ctx;
    const sc_dump *dump;
    sc_time_scale source_scale, target_scale;
    double factor;
    uint64_t origin;  // the first start in the dump, in ticks
    sc_inspect_block *blocks;
    uint32_t block_count;
    const sc_inspect_method *methods;
    uint32_t method_count;
    const sc_inspect_method *asked;  // the method that the user named, or NULL
    const double *delegate_times;    // NULL: delegates' times are converted by the factor, too
    sc_imap delegate_places;         // event -> place of its start in `delegate_times`, plus 1
    SC_VEC(sc_str) warnings;
    sc_map warned;           // texts of `warnings`
    uint64_t warnings_left;  // number of warnings that are not in the list
} sc_inspection;

typedef struct sc_inspect_options {
    sc_time_scale source_scale, target_scale;
    sc_str method;  // empty: the inspector finds the method
    const sc_inspect_method *methods;
    uint32_t method_count;
    // Start and end of delegates' events in the target scale, for each such event with times, in
    // the order of the dump. NULL: these times are ticks, like all others.
    const double *delegate_times;
    uint64_t delegate_time_count;
} sc_inspect_options;

// True if `delegate_times` has the start and end of the event.
bool sc_inspect_is_converted(const sc_dump_event *event);

// Merges the runs of a dump, and finds the nodes of its events. The result is on the context's
// arena. SC_ERR_NOT_FOUND if the method is not in `methods`. SC_ERR_LIMIT if events, instructions
// and nodes make too much work. SC_ERR_ARGUMENT if the number of delegates' times is not that of
// the dump.
sc_status sc_inspect(sc_ctx *ctx, const sc_dump *dump, const sc_inspect_options *options,
                     sc_inspection **out);
// Adds a warning for readers of the results. Each text is added once. Beyond a limit, warnings are
// only counted.
void sc_inspect_warn(sc_inspection *in, sc_str text);
// True if a delegate reported the event.
bool sc_inspect_is_delegated(const sc_dump_event *event);
// True if the event has a start. Some backends only measure how long events take.
bool sc_inspect_is_placed(const sc_dump_event *event);
// Gives how long an event took. False if its two times contradict each other.
bool sc_inspect_elapsed(const sc_inspection *in, const sc_dump_event *event, double *out);
// The operator that an event counts for: the one in its kernel's name, or else that of its first
// node. Without a record it is the kernel's name.
sc_str sc_inspect_op_of(const sc_inspect_event *event);
// Lists each operator of an event's nodes once, on `arena`.
uint32_t sc_inspect_ops(sc_arena *arena, const sc_inspect_event *event, const sc_str **out);

#endif
