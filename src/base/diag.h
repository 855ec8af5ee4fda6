// The context, which every function that can fail takes first. It has memory, names, diagnostics,
// the current place, and the host's hooks. There are no globals, so several jobs can exist side by
// side.
//
// The function that detects a failure records it, and returns its code. The place in the record
// comes from ctx->where. The importer, the pass pipeline, the emitter and the runtime keep it
// current.
// Prefixes: sc_fail_ records an error, sc_diags_ is the list of errors, sc_ctx_ the context.
#ifndef SC_DIAG_H
#define SC_DIAG_H

#include "base/name.h"
#include "base/steps.h"
#include "base/vec.h"

// The place in the user's model that is being worked on. Unknown members are empty. `instruction`
// is -1 unless a program runs.
typedef struct sc_where {
    sc_str method;
    sc_str pass;
    sc_str node;
    sc_str op;
    sc_str stack_trace;  // the user's own source lines, as the export recorded them
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

// Bounds on input, which may be hostile. The defaults suit real models.
typedef struct sc_limits {
    uint64_t zip_entry_max;       // 1 M
    uint64_t inflated_bytes_max;  // 1 GB: the size of an archive's compressed entries once inflated
    uint64_t json_bytes_max;      // 1 GB
    uint32_t json_depth_max;      // 256
    uint64_t json_string_bytes_max;  // 16 MB
    uint64_t pickle_opcode_max;      // 16 M
    uint64_t pickle_memo_max;        // 4 M
    uint64_t pickle_stack_max;       // 1 M
    uint32_t pickle_depth_max;       // 512
    uint32_t rank_max;               // 16, as in the runtime
    uint32_t expr_depth_max;         // 200
    uint64_t expr_node_max;          // 100 k per expression text
    uint32_t graph_depth_max;        // 32
    uint64_t node_max;               // 5 M nodes per program
    uint64_t planned_bytes_max;      // 4 GB - 64 KB
    uint64_t instruction_max;        // 10 M per run
    uint64_t constant_bytes_max;  // 256 MB: bytes of constants that lowering may compute in memory
    uint64_t
        deferred_bytes_min;  // 8 KB: smaller weights are read at once, and packed files keep them
    uint64_t gathered_bytes_max;  // 16 MB: bytes of a permuted weight in memory while it is read
} sc_limits;

// Functions of the host. Any of them may be NULL.
typedef struct sc_host {
    void *user;
    // Reports progress. True cancels the work. `phase` is a static string, and done <= total. A
    // total of 0 is unknown.
    bool (*progress)(void *user, const char *phase, uint64_t done, uint64_t total);
    void (*log)(void *user, sc_severity severity, sc_str text);
    double (*now_ms)(void *user);
    // True to record a value that a delegate computed. Its id is a text, or `number` if `id` has no
    // data.
    bool (*keeps_value)(void *user, sc_str id, int64_t number);
} sc_host;

typedef struct sc_ctx {
    sc_arena *arena;    // lives as long as the job
    sc_arena *scratch;  // freed at the next rewind; results never live here
    sc_names *names;
    sc_where where;
    sc_limits limits;
    sc_host host;
    sc_arena *diag_arena;  // for diagnostics; `arena` unless the owner gives another
    struct sc_gathered
        *gathered;  // the parts of strided views that were read last; NULL: no view was read
    struct sc_summed *summed;  // checksums of extents that are known; NULL: no checksum is known
    SC_VEC(sc_diag) diags;
    uint32_t error_count;
    uint32_t diag_dropped;         // diagnostics beyond the first 1000, which are only counted
    uint32_t run_depth;            // runs in progress; a run inside a delegate counts in addition
    uint64_t instructions_left;    // for the outermost run and all runs inside it
    uint64_t run_done, run_total;  // instructions of the outermost run, if it reports progress
    bool tells_runs;               // each instruction reports progress, and may be cancelled
    bool is_hushed;  // notes and warnings are recorded, but the host's log does not get them
    bool strict;     // for tests: metadata that differs from the file's is an error
} sc_ctx;

// The caller keeps `arena` and `scratch`. Limits are the defaults, and there are no hooks.
void sc_ctx_init(sc_ctx *ctx, sc_arena *arena, sc_arena *scratch);

// Records an error and gives `code`. A NULL hint means the default of status.def. This is a macro
// so that the compiler sees that the result is never SC_OK. Then it gives no false warnings of
// uninitialised results.
#define sc_fail(ctx, code, hint, ...) \
    (sc_fail_record((ctx), (code), (hint), __VA_ARGS__), (sc_status)(code))
void sc_fail_record(sc_ctx *ctx, sc_status code, const char *hint, const char *format, ...)
    SC_PRINTF(4, 5);
// Records a diagnostic without failing, for checks that list all that they find.
void sc_report(sc_ctx *ctx, sc_severity severity, sc_status code, const char *hint,
               const char *format, ...) SC_PRINTF(5, 6);
// A place in the list of errors. An attempt may fail silently: a rewind forgets the errors since
// the mark.
typedef struct sc_diag_mark {
    uint32_t count, errors, dropped;
} sc_diag_mark;
sc_diag_mark sc_diags_mark(const sc_ctx *ctx);
void sc_diags_rewind(sc_ctx *ctx, sc_diag_mark mark);
// Gives `trace` to all diagnostics since the mark that have no trace. It must live as long as
// `diag_arena`.
void sc_diags_trace(sc_ctx *ctx, sc_diag_mark since, sc_str trace);
// Forgets all diagnostics. The owner of `diag_arena` may then reset it.
void sc_diags_clear(sc_ctx *ctx);

// The time of the host's clock, or 0 without a clock.
double sc_now_ms(const sc_ctx *ctx);
// Reports progress to the host. SC_ERR_CANCELLED if the host asks for it.
sc_status sc_progress(sc_ctx *ctx, sc_phase phase, uint64_t done, uint64_t total);
// The same during a run, before a step of any size. It costs no time if runs do not report
// progress.
sc_status sc_progress_of_run(sc_ctx *ctx);

// True if the model asks for something unsupported. The caller may go on, to report all such
// places.
static inline bool sc_status_is_refusal(sc_status status) {
    return status == SC_ERR_UNSUPPORTED || status == SC_ERR_UNSUPPORTED_OP ||
           status == SC_ERR_UNBOUNDED;
}

#endif
