// The context every fallible function takes first: memory, names, diagnostics, where we are, and
// the host's hooks. There are no globals, so several jobs live side by side.
//
// A failure is recorded where it is detected and returned as a code. Location comes from
// ctx->where, which the drivers (importer, pass pipeline, emitter, runtime step) keep up to date.
// Prefix: sc_fail_ records an error, sc_diags_ is the list of errors, sc_ctx_ the context.
#ifndef SC_DIAG_H
#define SC_DIAG_H

#include "base/name.h"
#include "base/steps.h"
#include "base/vec.h"

// The place that is being worked on. Unknown parts are empty; `instruction` is -1 when not running.
typedef struct sc_where {
    sc_str method;
    sc_str pass;
    sc_str node;
    sc_str op;
    sc_str stack_trace;  // the user's own source lines, as recorded at export
    int64_t instruction;
} sc_where;

typedef enum sc_severity { SC_NOTE, SC_WARNING, SC_ERROR } sc_severity;

typedef struct sc_diag {
    sc_severity severity;
    sc_status code;
    sc_str message;
    sc_str hint;
    sc_where where;
} sc_diag;

// Bounds on hostile input; the defaults suit real models.
typedef struct sc_limits {
    uint64_t zip_entry_max;          // 1 M
    uint64_t inflated_bytes_max;     // 1 GB: what the compressed entries of an archive come to
    uint64_t json_bytes_max;         // 1 GB
    uint32_t json_depth_max;         // 256
    uint64_t json_string_bytes_max;  // 16 MB
    uint64_t pickle_opcode_max;      // 16 M
    uint64_t pickle_memo_max;        // 4 M
    uint64_t pickle_stack_max;       // 1 M
    uint32_t pickle_depth_max;       // 512
    uint32_t rank_max;               // 16, what the runtime accepts
    uint32_t expr_depth_max;         // 200
    uint64_t expr_node_max;          // 100 k per expression text
    uint32_t graph_depth_max;        // 32
    uint64_t node_max;               // 5 M nodes per program
    uint64_t planned_bytes_max;      // 4 GB - 64 KB
    uint64_t instruction_max;        // 10 M per run
    uint64_t constant_bytes_max;     // 256 MB: most bytes that lowering may materialise in memory
    uint64_t gathered_bytes_max;     // 16 MB: of a permuted weight while it is read
} sc_limits;

// Hooks of the host. Any hook may be NULL.
typedef struct sc_host {
    void *user;
    // Returns true to cancel. `phase` is a static string; done <= total, total 0 when unknown.
    bool (*progress)(void *user, const char *phase, uint64_t done, uint64_t total);
    void (*log)(void *user, sc_severity severity, sc_str text);
    double (*now_ms)(void *user);
    // Whether to record what a delegate has computed under an id, a text or, without data, a
    // number.
    bool (*keeps_value)(void *user, sc_str id, int64_t number);
} sc_host;

typedef struct sc_ctx {
    sc_arena *arena;    // lives as long as the job
    sc_arena *scratch;  // between marks; results that escape never live here
    sc_names *names;
    sc_where where;
    sc_limits limits;
    sc_host host;
    sc_arena *diag_arena;  // where diagnostics live; `arena` unless the owner gives another
    struct sc_gathered
        *gathered;             // parts of derived sources that were read last; NULL: not there yet
    struct sc_summed *summed;  // checksums of what was read for them; NULL: not there yet
    SC_VEC(sc_diag) diags;
    uint32_t error_count;
    uint32_t diag_dropped;         // diagnostics beyond the cap of 1000, counted and not kept
    uint32_t run_depth;            // runs under way: that of a delegate may be inside another one
    uint64_t instructions_left;    // for the outermost run and all that is inside it
    uint64_t run_done, run_total;  // instructions of the outermost run, if runs are reported
    bool tells_runs;               // every instruction is progress, and may be cancelled
    bool is_hushed;                // notes and warnings are recorded only: the host's log is spared
    bool strict;  // tests: where derived metadata differs from a file's is an error
} sc_ctx;

// `arena` and `scratch` stay the caller's. Limits are the defaults, hooks are empty.
void sc_ctx_init(sc_ctx *ctx, sc_arena *arena, sc_arena *scratch);

// Records an error and is `code`. A NULL hint means the default of status.def. A macro, so that the
// compiler sees that the result is never SC_OK, and no out parameter looks used uninitialised.
#define sc_fail(ctx, code, hint, ...) \
    (sc_fail_record((ctx), (code), (hint), __VA_ARGS__), (sc_status)(code))
void sc_fail_record(sc_ctx *ctx, sc_status code, const char *hint, const char *format, ...)
    SC_PRINTF(4, 5);
// Records without being the function's result: for checks that list everything they find.
void sc_report(sc_ctx *ctx, sc_severity severity, sc_status code, const char *hint,
               const char *format, ...) SC_PRINTF(5, 6);
// A place in the list of errors, for an attempt that may fail silently: later errors are forgotten.
typedef struct sc_diag_mark {
    uint32_t count, errors, dropped;
} sc_diag_mark;
sc_diag_mark sc_diags_mark(const sc_ctx *ctx);
void sc_diags_rewind(sc_ctx *ctx, sc_diag_mark mark);
// Gives the trace to all since the mark that have no trace. It must live as long as `diag_arena`.
void sc_diags_trace(sc_ctx *ctx, sc_diag_mark since, sc_str trace);
// The owner of `diag_arena` may then reset it.
void sc_diags_clear(sc_ctx *ctx);

// The host's clock; 0 without one.
double sc_now_ms(const sc_ctx *ctx);
// SC_ERR_CANCELLED when the host asks for it.
sc_status sc_progress(sc_ctx *ctx, sc_phase phase, uint64_t done, uint64_t total);
// The same inside of a run, before a step of any size; free where nobody wants to hear of runs.
sc_status sc_progress_of_run(sc_ctx *ctx);

// The model asks for something that is not supported: the rest of it may give more such reports.
static inline bool sc_status_is_refusal(sc_status status) {
    return status == SC_ERR_UNSUPPORTED || status == SC_ERR_UNSUPPORTED_OP ||
           status == SC_ERR_UNBOUNDED;
}

#endif
