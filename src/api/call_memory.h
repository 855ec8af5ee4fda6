// Memory of single calls, and the files that calls leave for the host. Private to src/api.
// Prefixes: sc_call_memory_ allocates for one call; sc_job_ counts and frees such memory.
#ifndef SC_API_CALL_MEMORY_H
#define SC_API_CALL_MEMORY_H

#include "api/job.h"

// An arena that lives as long as it has a user.
struct sc_call_memory {
    sc_arena arena;
    uint32_t users;
};

// The state of a context before a call took memory of its own.
typedef struct sc_aside {
    sc_arena *arena;
    sc_mark scratch;
    struct sc_gathered *gathered;
    struct sc_summed *summed;
} sc_aside;

// From here on the call's results are on `own`, which may be freed any time after stepping back.
sc_aside sc_job_step_aside(sc_job *job, sc_arena *own);
void sc_job_step_back(sc_job *job, const sc_aside *aside);

// Makes one with one user, who drops it.
sc_call_memory *sc_call_memory_new(void);
// Adds one user; NULL stays NULL.
sc_call_memory *sc_call_memory_share(sc_call_memory *held);
// Drops one user. The last one frees it; NULL has no effect.
void sc_call_memory_drop(sc_job *job, sc_call_memory *held);
// Frees the memory that is left.
void sc_job_free_call_memory(sc_job *job);

// Adds a file that belongs to no program; its number is the result.
uint32_t sc_job_add_output(sc_job *job, const sc_output *output);

#endif
