// Memory planners of the host. Private to src/api.
#ifndef SC_HOST_PLANNER_H
#define SC_HOST_PLANNER_H

#include "api/compiling.h"

// The planners whose numbers the options name, on the job's arena. They run by its
// sc_host_functions.
const sc_host_planners *sc_planners_of_host(sc_job *job);

#endif
