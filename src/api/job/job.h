// The memory, programs and results that a job owns: one compilation or one loaded program. Private
// to src/api.
// Prefix: sc_job_ is one lowering or one run with all that it owns.
#ifndef SC_JOB_H
#define SC_JOB_H

#include "api/job/output.h"
#include "core/options.h"
#include "format/json.h"

// A part of a job: compiling, running or training. The rest of a job knows only how to close it, so
// a build may leave a part out.
typedef struct sc_job_part {
    void *state;  // NULL: not begun
    void (*close)(sc_job *job);
} sc_job_part;

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
    SC_VEC(sc_output) outputs;
    sc_host_functions functions;               // no function: the host has none of its own
    sc_job_part compiling, running, training;  // compiling.h, run/running.h, train/training.c
};

// Begins a call: no method, pass or node yet.
static inline sc_ctx *sc_job_begin(sc_job *job) {
    job->ctx.where = (sc_where){.instruction = -1};
    return &job->ctx;
}
// A fresh builder for a text result; the text of the last one is freed.
sc_sb sc_job_text(sc_job *job);
// Writes the member "diagnostics" of an object: those that were recorded and not forgotten.
void sc_job_put_diagnostics(sc_json_writer *w, const sc_job *job);
// Writes one diagnostic as an item of a list. `scratch` is for the text of its source line.
void sc_job_put_diag(sc_json_writer *w, sc_arena *scratch, const sc_diag *diag);
// Writes the members "statuses" and "dtypes" of an object.
void sc_job_put_tables(sc_json_writer *w);

#endif
