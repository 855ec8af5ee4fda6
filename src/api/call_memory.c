// Memory of single calls. Memory that a query needs is freed with its answer, and files that a call
// leaves are freed when they have no reader left. All other memory of a job stays until the job is
// closed.
#include "api/call_memory.h"

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

// --- Held memory ---------------------------------------------------------------------------------

sc_call_memory *sc_call_memory_new(void) {
    sc_arena arena;
    sc_arena_init(&arena);
    sc_call_memory *held = sc_new(&arena, sc_call_memory);
    *held = (sc_call_memory){arena, 1};
    return held;
}

sc_call_memory *sc_call_memory_share(sc_call_memory *held) {
    if (held) held->users++;
    return held;
}

void sc_call_memory_drop(sc_job *job, sc_call_memory *held) {
    if (!held || --held->users) return;
    // The cached bytes of its sources are dropped, too: other sources may get the same addresses.
    sc_strided_forget(&job->ctx);
    sc_arena arena = held->arena;
    sc_arena_deinit(&arena);
}

// --- Files for the host --------------------------------------------------------------------------

uint32_t sc_job_add_output(sc_job *job, const sc_output *output) {
    for (uint32_t i = 0; i < job->outputs.count; i++)
        if (job->outputs.data[i].is_free) {
            job->outputs.data[i] = *output;
            return i;
        }
    sc_vec_push(&job->arena, &job->outputs, *output);
    return job->outputs.count - 1;
}

void sc_output_free(sc_job *job, uint32_t number) {
    sc_output *output = number < job->outputs.count ? &job->outputs.data[number] : NULL;
    if (!output || output->is_free || output->program != SC_NO_PROGRAM) return;
    for (uint32_t i = 0; i < SC_COUNT_OF(output->held); i++)
        sc_call_memory_drop(job, output->held[i]);
    *output = (sc_output){.program = SC_NO_PROGRAM, .is_free = true};
}

void sc_job_free_call_memory(sc_job *job) {
    for (uint32_t i = 0; i < job->outputs.count; i++) sc_output_free(job, i);
    for (uint32_t i = 0; i < job->record_values.count; i++)
        for (uint32_t k = 0; k < SC_RECORD_VALUES; k++)
            sc_call_memory_drop(job, job->record_values.data[i].held[k]);
}
