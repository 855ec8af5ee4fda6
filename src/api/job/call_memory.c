// Memory of single calls. Memory that a query needs is freed with its answer, and files that a call
// leaves are freed when they have no reader left. All other memory of a job stays until the job is
// closed.
#include "api/job/call_memory.h"

#include "api/job/job.h"

#include "format/zip.h"

// --- Asides --------------------------------------------------------------------------------------

sc_aside sc_job_step_aside(sc_job *job, sc_arena *own) {
    sc_ctx *ctx = &job->ctx;
    const sc_aside aside = {ctx->arena, sc_arena_mark(ctx->scratch), ctx->gathered, ctx->summed};
    ctx->arena = own;
    // Both caches identify sources by address, so they must not outlive the arena of the sources.
    // Sources of the job outlive the call, and so do their entries.
    ctx->gathered = NULL;
    ctx->summed = sc_zip_sums_inside(own, aside.summed);
    return aside;
}

void sc_job_step_back(sc_job *job, const sc_aside *aside) {
    sc_ctx *ctx = &job->ctx;
    sc_strided_forget(ctx);
    sc_arena_rewind(ctx->scratch, aside->scratch);
    ctx->arena = aside->arena;
    ctx->gathered = aside->gathered;
    ctx->summed = aside->summed;
    ctx->where = (sc_where){.instruction = -1};
}

// --- Shared memory -------------------------------------------------------------------------------

sc_call_memory *sc_call_memory_new(void) {
    sc_arena arena;
    sc_arena_init(&arena);
    sc_call_memory *memory = sc_new(&arena, sc_call_memory);
    *memory = (sc_call_memory){arena, 1};
    return memory;
}

sc_call_memory *sc_call_memory_share(sc_call_memory *memory) {
    if (memory) memory->users++;
    return memory;
}

void sc_call_memory_drop(sc_job *job, sc_call_memory *memory) {
    if (!memory || --memory->users) return;
    // The cached bytes of its sources are dropped, too: other sources may get the same addresses.
    sc_strided_forget(&job->ctx);
    sc_arena arena = memory->arena;
    sc_arena_deinit(&arena);
}
