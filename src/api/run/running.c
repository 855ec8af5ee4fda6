// Makes and closes the running part of a job.
#include "api/run/running.h"

static void close_running(sc_job *job) {
    sc_running *running = sc_job_running(job);
    if (running->program) sc_rt_program_close(running->program);
    sc_open_bundle_close(&running->bundle);
    sc_etdump_clear(running->tracer.dump);
    sc_arena_deinit(&running->tracer.fetched);
    for (uint32_t i = 0; i < running->dense.count; i++) sc_free(running->dense.data[i].data);
}

sc_running *sc_job_running(const sc_job *reader) {
    sc_job *job = (sc_job *)(uintptr_t)reader;
    if (job->running.state) return job->running.state;
    sc_running *running = sc_new(&job->arena, sc_running);
    *running = (sc_running){.tracer.dump = sc_etdump_new(&job->arena, &job->ctx)};
    sc_arena_init(&running->tracer.fetched);
    job->running = (sc_job_part){.state = running, .close = close_running};
    return running;
}

sc_status sc_job_require_program(sc_job *job) {
    if (sc_job_running(job)->program) return SC_OK;
    return sc_fail(&job->ctx, SC_ERR_STATE, NULL, "open a .pte first");
}
