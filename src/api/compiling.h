// The compiling part of a job: the versions of its program, its records, and the calls into the
// host that are under way. Private to src/api.
// Prefix: sc_job_ gets the part of one job.
#ifndef SC_API_COMPILING_H
#define SC_API_COMPILING_H

#include "api/job/job.h"
#include "api/job_records.h"
#include "api/version.h"
#include "format/pickle.h"

// The memory that a planner of the host is planning (host_planner.c).
typedef struct sc_planning {
    sc_plan_request *request;  // NULL: no planner runs
    bool is_answered;
} sc_planning;

typedef struct sc_inspector sc_inspector;
typedef struct sc_edit sc_edit;

typedef struct sc_compiling {
    SC_VEC(sc_version) versions;
    SC_VEC(sc_method_plan) plans;
    sc_constant_methods constants;  // for the next to_edge (constant_method.c)
    sc_job_records records;
    sc_inspector *inspector;           // NULL: not opened (inspector.c)
    sc_edit *edit;                     // NULL: no pass of the host runs (edit.c)
    sc_planning planning;              // by a planner of the host
    struct sc_quantizing *quantizing;  // NULL: no quantization is under way (quantize.c)
} sc_compiling;

// The part of this job. The first call that asks for it makes it, empty, also for a reader.
sc_compiling *sc_job_compiling(const sc_job *job);

#endif
