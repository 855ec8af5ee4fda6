// The event tracer. Private to src/api.
// Prefix: sc_job_ begins and ends the events of one job.
#ifndef SC_API_ETDUMP_H
#define SC_API_ETDUMP_H

#include "sconce.h"

// Called before loading or running: data that was fetched is dropped.
void sc_job_begin_events(sc_job *job);
// Called after it: stores the result, and whether its events could be kept.
sc_status sc_job_end_events(sc_job *job, sc_status status);

#endif
