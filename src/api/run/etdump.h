// The event tracer. Private to src/api. Prefix: sc_job_, one job.
#ifndef SC_API_ETDUMP_H
#define SC_API_ETDUMP_H

#include "api/job.h"

// Before loading or running: what was fetched is not what is kept now.
void sc_job_begin_events(sc_job *job);
// After it: what it has come to, and whether its events could be kept.
sc_status sc_job_end_events(sc_job *job, sc_status status);

#endif
