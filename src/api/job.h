// The memory, programs and results that a job owns: one compilation or one loaded program. Private
// to src/api.
// Prefix: sc_job_ is one lowering or one run with all that it owns.
#ifndef SC_JOB_H
#define SC_JOB_H

#include "api/job_records.h"
#include "api/open_bundle.h"
#include "api/output.h"
#include "api/running.h"
#include "api/version.h"
#include "core/options.h"
#include "format/json.h"
#include "format/pickle.h"

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
    // A function of the host runs in the middle of a call: the diagnostics of that call, which stay
    // when the host reads those of its own calls. Else NULL.
    const sc_diag_mark *kept_diags;
    uint32_t taken_diags;  // the number of those that versions have
    sc_arena text_arena;   // the latest text result
    sc_str kept_text;
    SC_VEC(sc_version) versions;
    SC_VEC(sc_method_plan) plans;
    SC_VEC(sc_output) outputs;
    sc_constant_methods constants;  // for the next to_edge (constant_method.c)
    sc_job_records records;
    sc_running running;
    sc_job_tracer tracer;
    sc_open_bundle bundle;
    sc_inspector *inspector;           // NULL: not opened (inspector.c)
    sc_host_functions passes;          // no function: the host has no passes of its own
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
    if (job->running.program) return SC_OK;
    return sc_fail(&job->ctx, SC_ERR_STATE, NULL, "open a .pte first");
}
// A fresh builder for a text result; the text of the last one is freed.
sc_sb sc_job_text(sc_job *job);
// Writes the member "diagnostics" of an object: those that were recorded and not forgotten.
void sc_job_put_diagnostics(sc_json_writer *w, const sc_job *job);
// The same for those of one version.
void sc_version_put_diagnostics(sc_json_writer *w, const sc_job *job, const sc_version *version);

#endif
