// Makes and closes the compiling part of a job.
#include "api/compiling.h"

static void close_compiling(sc_job *job) {
    sc_compiling *compiling = sc_job_compiling(job);
    for (uint32_t i = 0; i < compiling->versions.count; i++)
        sc_call_memory_drop(job, compiling->versions.data[i].memory);
    for (uint32_t i = 0; i < compiling->records.memories.count; i++)
        for (uint32_t k = 0; k < SC_RECORD_VALUES; k++)
            sc_call_memory_drop(job, compiling->records.memories.data[i].of_values[k]);
}

sc_compiling *sc_job_compiling(const sc_job *reader) {
    sc_job *job = (sc_job *)(uintptr_t)reader;
    if (job->compiling.state) return job->compiling.state;
    job->compiling =
        (sc_job_part){.state = sc_new(&job->arena, sc_compiling), .close = close_compiling};
    return job->compiling.state;
}
