// The inspector: what a dump tells, run by run and merged, and what of a program each event belongs
// to. Knows dumps and plain tables of nodes; no graphs. Times are in the target scale.
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
    sc_str source;                     // its last line, as the project shows lines; empty: unknown
    const sc_inspect_module *modules;  // outermost first
    uint32_t module_count;
    int64_t handle;  // 0: absent
} sc_inspect_node;

typedef struct sc_inspect_handles {
    const int64_t *data;
    uint32_t count;
} sc_inspect_handles;

// Each of them once, where it stands first.
sc_inspect_handles sc_inspect_handles_of(sc_arena *arena, const uint32_t *handles, uint32_t count);

// A delegate's name for one of its own events, and the nodes that it stands for.
typedef struct sc_inspect_delegate_id {
    sc_str id;  // numbers as text
    sc_inspect_handles handles;
} sc_inspect_delegate_id;

// An instruction of chain 0, as the maps of a record have it.
typedef struct sc_inspect_instruction {
    int64_t index;
    sc_inspect_handles handles;
    uint32_t out_count;  // of a delegate's call; 0: the map has none
    bool is_delegate;
    sc_str backend;
    bool has_ids;  // the delegate came with a map, though it may be empty
    const sc_inspect_delegate_id *ids;
    uint32_t id_count;
} sc_inspect_instruction;

typedef struct sc_inspect_method {
    sc_str name;
    const sc_inspect_instruction *instructions;  // ascending
    uint32_t instruction_count;
    const sc_inspect_node *nodes;  // in the order of the graph
    uint32_t node_count;
    sc_imap first;         // by handle: place of its first node, plus 1
    const uint32_t *next;  // by node: place of the next one with its handle, plus 1; 0: absent
} sc_inspect_method;

// Fills `first` and `next`, on `arena`, of a method whose nodes are set.
void sc_inspect_index_nodes(sc_arena *arena, sc_inspect_method *method);

// Nodes with a handle, one after the other, the first one after NULL; NULL behind the last.
const sc_inspect_node *sc_inspect_node_of(const sc_inspect_method *method, int64_t handle,
                                          const sc_inspect_node *after);

// Whether a program's method may be the one that a record knows as `method`: its instructions call
// what the record says. `ops`: of kernels "aten::add.out", of delegates their backend, else empty.
// `work`: what looking has cost so far, 0 at first; once it is too much, nothing fits any more.
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
// False when there is no such scale.
bool sc_time_scale_from(sc_str name, sc_time_scale *out);
// Ticks of `source` in one unit of `target`. SC_ERR_OPTION when only one of them is cycles.
sc_status sc_time_scale_factor(sc_ctx *ctx, sc_time_scale source, sc_time_scale target,
                               double *out);

typedef struct sc_perf {
    const double *raw;  // by run
    uint32_t count;
    double p10, p50, p90, average, min, max;
} sc_perf;

// `raw` stays the caller's; percentiles are interpolated linearly. A count of 0 leaves zeros.
sc_perf sc_perf_of(sc_arena *scratch, const double *raw, uint32_t count);

// Is the difference of two averages more than chance? Half the width of its 95 % interval after
// Welch; false when one of the two was measured only once.
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
    bool is_wrapper;  // another event of the instruction is what it wraps
    bool has_time;
    uint32_t calls;  // in each run; their times are added up
    sc_perf perf;
    uint64_t start;   // of the first run, in ticks
    uint32_t parent;  // index, or SC_INSPECT_NONE
    sc_str metadata;
    const sc_dump_value *const *values;  // of the first run
    uint32_t value_count;
    // From the record:
    sc_str backend;
    sc_inspect_handles handles;
    uint32_t out_count;
    const sc_inspect_node *const *nodes;
    uint32_t node_count;
} sc_inspect_event;

// Why a block is of its method.
typedef enum sc_inspect_choice {
    SC_CHOICE_UNKNOWN,
    SC_CHOICE_ASKED,
    SC_CHOICE_ONLY,
    SC_CHOICE_MATCHED
} sc_inspect_choice;

// Runs that did the same.
typedef struct sc_inspect_block {
    sc_str name;
    int32_t bundled_index;
    const uint32_t *runs;  // places in the dump
    uint32_t run_count;
    sc_inspect_event *events;
    uint32_t event_count;
    const sc_dump_value *const *outputs;  // of the first run
    uint32_t output_count;
    const sc_inspect_method *method;  // NULL: unknown
    sc_inspect_choice choice;
    sc_perf total;  // of what it does at its outermost level
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
    const sc_inspect_method *asked;  // NULL: not named
    const double *delegate_times;    // NULL: by the factor, as all others
    sc_imap delegate_places;         // by event: place of its start among them, plus 1
    SC_VEC(sc_str) warnings;
    sc_map warned;           // texts of `warnings`
    uint64_t warnings_left;  // reported by their number only
} sc_inspection;

typedef struct sc_inspect_options {
    sc_time_scale source_scale, target_scale;
    sc_str method;  // empty: to be found out
    const sc_inspect_method *methods;
    uint32_t method_count;
    // When delegates' events began and ended, in the target scale: two for each of those with
    // times, in the order of the dump. NULL: these are ticks like all others.
    const double *delegate_times;
    uint64_t delegate_time_count;
} sc_inspect_options;

// Whether it is an event that `delegate_times` has two of.
bool sc_inspect_is_converted(const sc_dump_event *event);

// Merges the runs of a dump and associates its events with the methods' nodes. All of it lies on
// the context's arena. SC_ERR_NOT_FOUND for a method that is none of them, SC_ERR_LIMIT where
// events, instructions and nodes are too many for each other, SC_ERR_ARGUMENT where times of
// delegates are not as many as the dump has.
sc_status sc_inspect(sc_ctx *ctx, const sc_dump *dump, const sc_inspect_options *options,
                     sc_inspection **out);
// Something that the reader of results should know; each text once, and of very many only the
// first.
void sc_inspect_warn(sc_inspection *in, sc_str text);
// Whether the delegate reported it by itself.
bool sc_inspect_is_delegated(const sc_dump_event *event);
// Whether an event says when it was; backends that only measure do not.
bool sc_inspect_is_placed(const sc_dump_event *event);
// How long an event took; false when its two times contradict each other.
bool sc_inspect_elapsed(const sc_inspection *in, const sc_dump_event *event, double *out);
// The operator that an event is counted as: the one that its kernel's name says, or else its first
// one; without a record the kernel's name.
sc_str sc_inspect_op_of(const sc_inspect_event *event);
// Each operator of its nodes once, on `arena`.
uint32_t sc_inspect_ops(sc_arena *arena, const sc_inspect_event *event, const sc_str **out);

#endif
