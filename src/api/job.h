// What a job owns: the memory, programs and results of one compilation or of one loaded program.
// Private to src/api.
#ifndef SC_JOB_H
#define SC_JOB_H

#include "backend/lower.h"
#include "core/options.h"
#include "devtools/bundled/bundled.h"
#include "devtools/etdump/etdump.h"
#include "devtools/etrecord.h"
#include "emit/emit.h"
#include "format/json.h"
#include "format/pickle.h"
#include "passes/pass.h"
#include "plan/place.h"
#include "rt/rt.h"
#include "sconce.h"

// One version of the program that is compiled, never changed once it is here.
typedef struct sc_version {
    sc_dialect dialect;
    uint32_t source;                // number of the source program that it was lowered from
    sc_program *program;            // NULL once a later step has consumed it
    sc_pass_timings timings;        // of the passes that made it
    double ms;                      // all of it: passes, planning, emission
    double emit_ms;                 // the part of it that wrote the program
    sc_delegation delegation;       // of programs that were lowered to backends
    sc_bounds sizes;                // largest ones, that decomposition was told
    bool shares_state;              // executorch: methods share buffers of equal name
    bool is_recorded;               // records name it, so that no step may take it
    const sc_emit_result *emitted;  // executorch: what was written
} sc_version;

typedef struct sc_method_plan {
    uint32_t program;  // number of the version it belongs to
    const sc_name *method;
    sc_place_report report;
} sc_method_plan;

enum { SC_NO_PROGRAM = UINT32_MAX };

// An arena for as long as somebody uses what is on it (call_memory.c).
typedef struct sc_held {
    sc_arena arena;
    uint32_t users;
} sc_held;

enum { SC_RECORD_VALUES = 2 };  // inputs, outputs

// What the values of a record are on, where the host has given them; NULL: not here.
typedef struct sc_record_held {
    sc_held *held[SC_RECORD_VALUES];
} sc_record_held;

typedef struct sc_output {
    uint32_t program;  // SC_NO_PROGRAM: no file of a program, but of a record or of a run
    sc_str name;
    sc_cord cord;
    bool is_free;                         // nobody's: the next such file takes the number
    sc_held *held[1 + SC_RECORD_VALUES];  // what its bytes are on; NULL: the job's own memory
} sc_output;

// An output rewritten row-major. The block is used again for as long as it is large enough.
typedef struct sc_dense {
    void *data;
    uint64_t capacity;
} sc_dense;

typedef struct sc_inspector sc_inspector;

struct sc_job {
    uint32_t tag;  // SC_JOB_TAG while open
    sc_arena arena, scratch;
    sc_ctx ctx;
    sc_arena diag_arena;  // diagnostics, until the host has read them
    sc_arena text_arena;  // the latest text result
    sc_str kept_text;
    SC_VEC(sc_version) versions;
    SC_VEC(sc_method_plan) plans;
    SC_VEC(sc_output) outputs;
    SC_VEC(sc_etrecord *) records;
    SC_VEC(sc_record_held) record_values;  // of each
    uint32_t generating;  // number of the record that is filled by the next to_edge + 1; 0: none
    sc_rt_program *running;
    sc_rt_method *selected;
    SC_VEC(sc_dense) dense;    // by output
    sc_etdump *etdump;         // what the event tracer keeps
    sc_arena etdump_arena;     // the dump that was fetched last
    uint32_t etdump_files[2];  // numbers of its outputs
    bool is_tracing_events, is_etdump_fetched;
    sc_source *program;       // that runs
    sc_bundled bundled;       // of a bundled program; no suites of any other
    void *bundled_file;       // its bytes
    void *bundled_program;    // those of the program, when they were not aligned; else NULL
    sc_inspector *inspector;  // NULL: none was opened (inspector.c)
    struct sc_quantizing *quantizing;  // NULL: nothing is being quantized (quantize.c)
};

// A fresh call: no method, pass or node yet.
static inline sc_ctx *sc_job_begin(sc_job *job) {
    job->ctx.where = (sc_where){.instruction = -1};
    return &job->ctx;
}
static inline sc_status sc_job_require_program(sc_job *job) {
    if (job->running) return SC_OK;
    return sc_fail(&job->ctx, SC_ERR_STATE, NULL, "open a .pte first");
}
// A fresh builder for a text result; what the last one built is gone.
sc_sb sc_job_text(sc_job *job);
// The member "diagnostics" of an object: what was recorded and not forgotten.
void sc_job_put_diagnostics(sc_json_writer *w, const sc_job *job);
// Program `number`: SC_ERR_NOT_FOUND when there is none, SC_ERR_STATE when it was consumed.
sc_status sc_job_version(sc_job *job, uint32_t number, sc_version **out);
// Makes `program` the next version, whose number is the result. `begin_ms` is when work on it
// began.
uint32_t sc_job_add_version(sc_job *job, sc_dialect dialect, sc_program *program, double begin_ms);

// --- Computing at compile time (evaluate.c) ------------------------------------------------------

// Lowers for the runtime of this build and runs there.
extern const sc_evaluator sc_own_evaluator;

// --- Backends (backends.c, host_backends.c, to_backend.c) ----------------------------------------

// The backends of this build, and those that the host has registered: both halves.
extern const sc_backends sc_all_backends;
extern const sc_rt_backends sc_all_rt_backends;
// Both halves of a backend of the host.
typedef struct sc_hosted {
    sc_backend aot;
    sc_rt_backend run;
} sc_hosted;

// NULL behind the last.
const sc_hosted *sc_hosted_at(uint32_t index);
// SC_ERR_ARGUMENT when its id is none; that nobody has it is for the caller to see to.
sc_status sc_hosted_add(sc_ctx *ctx, const sc_host_backend *backend);

// The partitioners of each method, as they take part in rounds.
typedef struct sc_partitioners {
    sc_method_partitioners *methods;
    uint32_t count;
} sc_partitioners;

// Reads what sc_compile_to_backend takes; `backends` are those that it may name.
sc_status sc_partitioners_read(sc_ctx *ctx, const sc_program *program, const sc_json *json,
                               const sc_backends *backends, sc_partitioners *out);
// The part as a program with one method, `forward`, whose inputs are all of the part's, its weights
// too, but for state that it keeps.
sc_status sc_part_program(sc_ctx *ctx, const sc_part *part, sc_program **out);
// Hands the parts of `program` that its methods' partitioners ask for to backends; for a draft no
// further than cutting them out.
sc_status sc_delegate_parts(sc_ctx *ctx, sc_program *program, const sc_partitioners *partitioners,
                            const sc_options *options, bool is_draft, sc_delegation *delegation);
// Reads the partitioners and hands over what they ask for. SC_ERR_ARGUMENT when one has passes for
// the time before decomposition, unless they have run.
sc_status sc_delegate_program(sc_ctx *ctx, sc_program *program, const sc_json *json,
                              const sc_options *options, const sc_backends *backends,
                              bool passes_have_run, sc_delegation *delegation);

// --- Files (executable.c) ------------------------------------------------------------------------

// What a program comes to when it is made executable.
typedef struct sc_executable {
    sc_place_report *reports;  // a method each
    sc_emit_result result;
    double emit_ms;  // that writing it took
} sc_executable;

// Makes an edge program executable with the options of the pipeline, plans its memory and writes
// it.
sc_status sc_make_executable(sc_ctx *ctx, sc_pipeline *pipeline, sc_program *program,
                             sc_executable *out);

// --- Records (records.c, values.c) ---------------------------------------------------------------

// Record `number`; SC_ERR_NOT_FOUND when there is none.
sc_status sc_job_record(sc_job *job, uint32_t number, sc_etrecord **out);
// Fills the record that the job generates, if it does: with what was opened, the edge program
// `edge`, and `transformed`, which is `edge` where no pass ran on it.
sc_status sc_job_fill_record(sc_job *job, uint32_t record, uint32_t edge, uint32_t transformed);
// The number + 1 of the record that the job generates, which it forgets with this.
uint32_t sc_job_take_generating(sc_job *job);

// --- Memory of single calls (call_memory.c) ------------------------------------------------------

// Where a context was before a call took memory of its own.
typedef struct sc_aside {
    sc_arena *arena;
    sc_mark scratch;
    struct sc_gathered *gathered;
    struct sc_summed *summed;
} sc_aside;

// From here on the call's results live on `own`, which may go any time after stepping back.
sc_aside sc_job_step_aside(sc_job *job, sc_arena *own);
void sc_job_step_back(sc_job *job, const sc_aside *aside);

// With one user, who drops it.
sc_held *sc_held_new(void);
// With one user more; NULL stays NULL.
sc_held *sc_held_share(sc_held *held);
// The last one frees it; NULL is fine.
void sc_held_drop(sc_job *job, sc_held *held);
// Frees what is left of it.
void sc_job_close_held(sc_job *job);

// A file of a record: on memory of its own, and on that of the record's values.
sc_output sc_job_record_output(const sc_job *job, uint32_t record, sc_str name);
// Adds the file if `status` is SC_OK, else lets go of it; `status` is the result.
sc_status sc_job_keep_output(sc_job *job, sc_status status, sc_output *output, uint32_t *number);
// Adds a file that belongs to no program; its number is the result.
uint32_t sc_job_add_output(sc_job *job, const sc_output *output);

// --- Steps (steps.c) -----------------------------------------------------------------------------

// What steps work on, and what they are told.
typedef struct sc_work {
    sc_job *job;
    sc_options options;
    sc_str method;                  // transform: the method whose passes these are; empty: all
    const sc_json *passes;          // transform: a list of names, or lists by method
    const sc_json *partitioners;    // to_backend: by method
    const sc_keep *keep;            // decompose: what stays whole; NULL: nothing
    const sc_partitioners *wishes;  // whose passes run, or ran, before decompose; NULL: none
    sc_program *program;            // theirs to change
    sc_delegation delegation;
    sc_bounds sizes;
    uint32_t source;  // number of the source program that all began with
    sc_pipeline pipeline;
    double emit_ms;   // that writing the program took
    bool keeps_edge;  // keeps what to_edge makes as a version, whatever comes after it
    const sc_emit_result *emitted;
} sc_work;

// Runs steps one after the other, the first on a copy of version `from`. What the last one makes is
// kept as a version with the number `made`; what the others make, if the option snapshots says so.
sc_status sc_steps_run(sc_work *work, const sc_phase *steps, uint32_t count, uint32_t from,
                       uint32_t *made);

// SC_ERR_STATE when program `number` is of another dialect than is needed.
sc_status sc_check_dialect(sc_ctx *ctx, uint32_t number, sc_dialect found, sc_dialect needed);
// The methods of source program `number`; SC_ERR_STATE when nothing was opened (compile.c).
sc_status sc_compile_source(sc_job *job, uint32_t number, sc_program **out);

// --- Passes by name (named_passes.c) -------------------------------------------------------------

// A pass that callers may name. SC_ERR_NOT_FOUND when there is no such pass, SC_ERR_ARGUMENT for
// one that only runs at its own place.
sc_status sc_edge_pass(sc_ctx *ctx, sc_str name, const sc_pass **out);
// A pass that runs on programs as they were exported; SC_ERR_ARGUMENT when it works on what
// decomposition makes.
sc_status sc_early_pass(sc_ctx *ctx, sc_str name, const sc_pass **out);
// Runs passes by name, ["noops"], on a method of a source program. SC_ERR_ARGUMENT when the method
// writes in place.
sc_status sc_early_passes_run(sc_ctx *ctx, sc_pipeline *pipeline, sc_method *method,
                              const sc_json *names);
// Runs the early passes of the partitioners of each method, in order. SC_ERR_ARGUMENT when the
// method writes in place.
sc_status sc_wishes_run(sc_ctx *ctx, sc_pipeline *pipeline, sc_program *program,
                        const sc_partitioners *wishes);

// --- State (shared_state.c) ----------------------------------------------------------------------

// SC_ERR_ARGUMENT when a part keeps a buffer that another method has, too.
sc_status sc_check_shared_state(sc_ctx *ctx, const sc_program *program);

// --- Verifying (verify.c) ------------------------------------------------------------------------

// How far a value is from what it should be.
typedef struct sc_closeness {
    double difference;  // largest of all elements; infinity where only one of two is a number
    double largest;     // magnitude of what it should be
    double tolerance;   // of the precision, and of the quantization if there is one
    bool is_close;
    bool is_other;  // not of one kind, dtype and shape, or another text: `difference` is infinity
} sc_closeness;

// How quantization bears on a value.
typedef struct sc_quantum {
    uint32_t times;  // that it was quantized, one after the other
    double step;     // the scale of the last one; 0: not a constant
} sc_quantum;

// Of the last `count` results of a graph, a method's own or a part's, in the context's arena
// (quantization_steps.c).
sc_quantum *sc_output_quanta(sc_ctx *ctx, const sc_graph *graph, uint32_t count);

// Quantized values may be some steps further apart. SC_ERR_DTYPE and SC_ERR_UNSUPPORTED for what
// cannot be compared, SC_ERR_MEMORY (compare.c).
sc_status sc_compare_values(sc_ctx *ctx, const sc_evalue *right, const sc_evalue *found,
                            sc_quantum quantum, sc_closeness *out);

// Values for the inputs of a loaded method: the example inputs of the file that `source` was read
// from, or else random ones, the same each time (examples.c).
sc_status sc_set_examples(sc_ctx *ctx, const sc_method *source, sc_rt_method *const *methods,
                          uint32_t count, bool *are_examples);

// The same from such values themselves, in one container; `are_set` is false where they do not fit.
sc_status sc_set_values(sc_ctx *ctx, const sc_pickle_value *values, sc_rt_method *const *methods,
                        uint32_t count, bool *are_set);

// Looks on while the delegates of a program run, and runs what each of them stands for on the
// kernels (delegate_check.c).
typedef struct sc_watch sc_watch;
sc_status sc_watch_new(sc_ctx *ctx, const sc_program *program, sc_watch **out);
const sc_rt_backends *sc_watch_backends(sc_watch *watch);
// A method has run: progress tells of it, as of each delegate.
sc_status sc_watch_end(sc_watch *watch, const sc_name *method);
// What was seen of a delegate, which the watch keeps.
typedef struct sc_watched {
    const sc_part *part;
    sc_str graph;  // path of the body that calls it; empty: the method's own graph
    bool was_compared;
    const char *why_not;       // NULL when it was
    const sc_quantum *quanta;  // of its results; NULL until they are asked for
    sc_closeness closeness;
} sc_watched;
// Of delegate `index` of a method, in the order of its calls; NULL behind the last.
const sc_watched *sc_watch_at(const sc_watch *watch, const sc_name *method, uint32_t index);

// --- Bundled programs (bundle.c) -----------------------------------------------------------------

// The program in a file, which is the file itself unless that is a bundle; closing frees it.
sc_status sc_job_open_bundle(sc_job *job, sc_source *file, sc_source **program);
void sc_job_close_bundle(sc_job *job);

// --- The event tracer (etdump.c) -----------------------------------------------------------------

// Before loading or running: what was fetched is not what is kept now.
void sc_job_begin_events(sc_job *job);
// After it: what it has come to, and whether its events could be kept.
sc_status sc_job_end_events(sc_job *job, sc_status status);

// --- Largest sizes (dynamic_shapes.c) ------------------------------------------------------------

// Bounds the symbols that `bounds` names, as if the file had said so: their methods are replaced by
// copies with symbols of their own, since other versions share the ones they have. A name is a
// symbol ("s77") or a dimension of an input ("tokens.1") of every method that has it, or of one,
// "METHOD:NAME". SC_ERR_NOT_FOUND for a name that no method has; SC_ERR_OPTION for one that says no
// size of one symbol, and for a value that contradicts the file or another bound.
sc_status sc_bound_sizes(sc_ctx *ctx, sc_program *program, const sc_bounds *bounds);

// --- Options (options.c) -------------------------------------------------------------------------

typedef enum sc_option_call {
    SC_OPTIONS_TO_EDGE,
    SC_OPTIONS_TO_BACKEND,
    SC_OPTIONS_TO_EXECUTORCH,
    SC_OPTIONS_LOAD
} sc_option_call;

// Of programs that are lowered to be run at once, by this build's own runtime.
sc_options sc_options_here(void);
// Reads a JSON object (empty text: no options) over the defaults. SC_ERR_OPTION for a key that is
// not one of the call, naming those that are, or a value that its row does not take.
sc_status sc_options_read(sc_ctx *ctx, sc_option_call call, sc_str json, sc_options *out);

#endif
