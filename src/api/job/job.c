// Opens and closes jobs. A job is one block of memory with two arenas inside. Closing it frees all
// memory of its calls.
#include "api/job/job.h"

#include "api/job/call_memory.h"

// Set while open, cleared on close: tells a stale or foreign pointer from a job.
#define SC_JOB_TAG 0x53434f4eu

sc_job *sc_job_open(const sc_host *host) {
    sc_job *job = sc_try_alloc(sizeof(*job));
    if (!job) return NULL;
    memset(job, 0, sizeof(*job));
    job->tag = SC_JOB_TAG;
    sc_arena_init(&job->arena);
    sc_arena_init(&job->scratch);
    sc_arena_init(&job->diag_arena);
    sc_arena_init(&job->text_arena);
    sc_ctx_init(&job->ctx, &job->arena, &job->scratch);
    job->ctx.diag_arena = &job->diag_arena;
    if (host) job->ctx.host = *host;
    return job;
}

static void close_part(sc_job *job, const sc_job_part *part) {
    if (part->close) part->close(job);
}

void sc_job_close(sc_job *job) {
    close_part(job, &job->training);  // of a program that runs
    close_part(job, &job->running);
    close_part(job, &job->compiling);
    for (uint32_t i = 0; i < job->outputs.count; i++) sc_output_free(job, i);
    sc_arena_deinit(&job->text_arena);
    sc_arena_deinit(&job->diag_arena);
    sc_arena_deinit(&job->scratch);
    sc_arena_deinit(&job->arena);
    job->tag = 0;
    sc_free(job);
}

sc_ctx *sc_job_ctx(sc_job *job) { return &job->ctx; }

void sc_job_set_host_functions(sc_job *job, sc_host_functions functions) {
    job->functions = functions;
}

bool sc_job_is_open(const sc_job *job) { return job && job->tag == SC_JOB_TAG; }

void sc_job_keep_text(sc_job *job, sc_str text) { job->kept_text = text; }

sc_str sc_job_kept_text(const sc_job *job) { return job->kept_text; }

sc_sb sc_job_text(sc_job *job) {
    sc_arena_deinit(&job->text_arena);
    sc_arena_init(&job->text_arena);
    sc_sb sb;
    sc_sb_init(&sb, &job->text_arena);
    return sb;
}
