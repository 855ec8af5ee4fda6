// The running part of a job: its program, and the events of its runs. Private to src/api.
// Prefix: sc_job_ gets the part of one job.
#ifndef SC_API_RUNNING_H
#define SC_API_RUNNING_H

#include "api/job/job.h"
#include "api/run/open_bundle.h"
#include "devtools/etdump/etdump.h"
#include "rt/rt.h"

// An output rewritten row-major. The block is used again while it is large enough.
typedef struct sc_dense {
    void *data;
    uint64_t capacity;
} sc_dense;

typedef struct sc_job_tracer {
    sc_etdump *dump;      // the records
    sc_arena fetched;     // the dump that was fetched last
    uint32_t outputs[2];  // numbers of its files
    bool is_on, is_fetched;
} sc_job_tracer;

typedef struct sc_running {
    sc_source *file;
    sc_open_bundle bundle;
    sc_rt_program *program;  // NULL: not opened
    sc_rt_method *method;    // NULL: not selected
    SC_VEC(sc_dense) dense;  // by output
    sc_job_tracer tracer;
} sc_running;

// The part of this job. The first call that asks for it makes it, empty, also for a reader.
sc_running *sc_job_running(const sc_job *job);
// SC_ERR_STATE if the job has no program open.
sc_status sc_job_require_program(sc_job *job);

#endif
