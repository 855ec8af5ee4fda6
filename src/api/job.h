// The memory, programs and results that a job owns: one compilation or one loaded program. Private
// to src/api.
// Prefixes: sc_job_ is one lowering or one run with all that it owns; sc_record_ is one of its
// ETRecords.
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
#include "rt/train.h"
#include "sconce.h"

// One version of the program that is being compiled. It never changes once it is stored.
typedef struct sc_version {
    sc_dialect dialect;
    uint32_t source;                // number of the source program that it was lowered from
    sc_program *program;            // NULL once a later step has consumed it
    sc_pass_timings timings;        // time of the passes that made it
    double ms;                      // time of all of it: passes, planning, emission
    double emit_ms;                 // time of the part that wrote the program
    sc_delegation delegation;       // for programs that were lowered to backends
    sc_bounds sizes;                // maxima that decomposition was given
    sc_shape_eval planned_sizes;    // executorch: the sizes that memory was planned for
    bool shares_state;              // executorch: methods share buffers of equal name
    bool is_transformed;            // passes that the caller listed have run on it
    bool is_recorded;               // a record names it, so no step may consume it
    const sc_emit_result *emitted;  // executorch: the program that was written
} sc_version;

typedef struct sc_method_plan {
    uint32_t program;  // number of the version it belongs to
    const sc_name *method;
    sc_place_report report;
} sc_method_plan;

enum { SC_NO_PROGRAM = UINT32_MAX };

// Memory of single calls (call_memory.h).
typedef struct sc_call_memory sc_call_memory;

enum { SC_RECORD_VALUES = 2 };  // inputs, outputs

// The memory of a record's values, if the host has given them; else NULL.
typedef struct sc_record_memory {
    sc_call_memory *held[SC_RECORD_VALUES];
} sc_record_memory;

typedef struct sc_output {
    uint32_t program;  // SC_NO_PROGRAM: the file belongs to a record or to a run
    sc_str name;
    sc_cord cord;
    bool is_free;  // has no owner: the next such file takes the number
    sc_call_memory
        *held[1 + SC_RECORD_VALUES];  // the memory of its bytes; NULL: the job's own memory
} sc_output;

// An output rewritten row-major. The block is used again while it is large enough.
typedef struct sc_dense {
    void *data;
    uint64_t capacity;
} sc_dense;

// The memory that a planner of the host is planning (host_planner.c).
typedef struct sc_planning {
    sc_plan_request *request;  // NULL: no planner runs
    bool is_answered;
} sc_planning;

typedef struct sc_inspector sc_inspector;
typedef struct sc_edit sc_edit;

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
    SC_VEC(sc_record_memory) record_values;  // sizes of each
    uint32_t generating;  // number + 1 of the record that the next to_edge fills; 0: no record
    sc_rt_program *running;
    sc_rt_method *selected;
    SC_VEC(sc_dense) dense;            // by output
    SC_VEC(sc_rt_trainer *) trainers;  // of methods of the running program
    SC_VEC(sc_rt_sgd *) optimizers;    // NULL: closed
    sc_etdump *etdump;                 // the records of the event tracer
    sc_arena etdump_arena;             // the dump that was fetched last
    uint32_t etdump_files[2];          // numbers of its outputs
    bool is_tracing_events, is_etdump_fetched;
    sc_source *program;                // that runs
    sc_bundled bundled;                // for a bundled program; other programs have no suites
    void *bundled_file;                // its bytes
    void *bundled_program;             // the program's bytes, if they were not aligned; else NULL
    sc_inspector *inspector;           // NULL: not opened (inspector.c)
    sc_host_passes passes;             // no function: the host has no passes of its own
    sc_edit *edit;                     // NULL: no pass of the host runs (edit.c)
    sc_planning planning;              // by a planner of the host
    struct sc_quantizing *quantizing;  // NULL: no quantization is under way (quantize.c)
};

// Begins a call: no method, pass or node yet.
static inline sc_ctx *sc_job_begin(sc_job *job) {
    job->ctx.where = (sc_where){.instruction = -1};
    return &job->ctx;
}
static inline sc_status sc_job_require_program(sc_job *job) {
    if (job->running) return SC_OK;
    return sc_fail(&job->ctx, SC_ERR_STATE, NULL, "open a .pte first");
}
// A fresh builder for a text result; the text of the last one is freed.
sc_sb sc_job_text(sc_job *job);
// Writes the member "diagnostics" of an object: those that were recorded and not forgotten.
void sc_job_put_diagnostics(sc_json_writer *w, const sc_job *job);
// Program `number`: SC_ERR_NOT_FOUND if there is none, SC_ERR_STATE if it was consumed.
sc_status sc_job_version(sc_job *job, uint32_t number, sc_version **out);
// Makes `program` the next version, whose number is the result. `begin_ms` is the time at which
// work on it began.
uint32_t sc_job_add_version(sc_job *job, sc_dialect dialect, sc_program *program, double begin_ms);

#endif
