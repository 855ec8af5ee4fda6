// Memory of single calls. Private to src/api.
// Prefixes: sc_call_memory_ allocates for one call; sc_job_ lets a call use it.
#ifndef SC_API_CALL_MEMORY_H
#define SC_API_CALL_MEMORY_H

#include "base/diag.h"
#include "sconce.h"

// An arena that lives as long as it has a user.
typedef struct sc_call_memory {
    sc_arena arena;
    uint32_t users;
} sc_call_memory;

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
sc_call_memory *sc_call_memory_share(sc_call_memory *memory);
// Drops one user. The last one frees it; NULL has no effect.
void sc_call_memory_drop(sc_job *job, sc_call_memory *memory);

#endif
