// The versions of a program: adding, finding and dropping them, and their diagnostics.
#include "api/version.h"

#include "api/compiling.h"

uint32_t sc_job_add_version(sc_job *job, sc_dialect dialect, sc_program *program, double begin_ms) {
    const uint32_t number = sc_job_compiling(job)->versions.count;
    sc_version version = {.dialect = dialect, .program = program, .from = number, .users = 1};
    version.ms = sc_now_ms(&job->ctx) - begin_ms;
    sc_job_take_diags(job, &version);
    sc_vec_push(&job->arena, &sc_job_compiling(job)->versions, version);
    return number;
}

// Files and plans are on the memory of the version.
static void drop_files(sc_job *job, uint32_t number) {
    for (uint32_t i = 0; i < job->outputs.count; i++)
        if (job->outputs.data[i].program == number) job->outputs.data[i].cord = (sc_cord){0};
    uint32_t kept = 0;
    for (uint32_t i = 0; i < sc_job_compiling(job)->plans.count; i++)
        if (sc_job_compiling(job)->plans.data[i].program != number)
            sc_job_compiling(job)->plans.data[kept++] = sc_job_compiling(job)->plans.data[i];
    sc_job_compiling(job)->plans.count = kept;
}

// A version holds a use of the one that it was made from, so the walk goes on there.
void sc_job_drop_version(sc_job *job, uint32_t number) {
    while (number < sc_job_compiling(job)->versions.count) {
        sc_version *version = &sc_job_compiling(job)->versions.data[number];
        const uint32_t from = version->from;
        if (!version->users || --version->users || !version->memory || version->is_recorded) return;
        drop_files(job, number);
        version->program = NULL;
        version->emitted = NULL;
        version->timings = (sc_pass_timings){0};
        version->delegation = (sc_delegation){0};
        sc_call_memory_drop(job, version->memory);
        version->memory = NULL;
        if (from == number) return;
        number = from;
    }
}

void sc_job_take_diags(sc_job *job, sc_version *version) {
    sc_arena *arena = &job->arena;
    const uint32_t count = job->ctx.diags.count;
    for (uint32_t i = sc_min_u32(job->taken_diags, count); i < count; i++) {
        sc_diag copy = job->ctx.diags.data[i];
        sc_str *const texts[] = {&copy.message,          &copy.hint,       &copy.where.method,
                                 &copy.where.pass,       &copy.where.node, &copy.where.op,
                                 &copy.where.stack_trace};
        for (size_t k = 0; k < SC_COUNT_OF(texts); k++) *texts[k] = sc_str_copy(arena, *texts[k]);
        sc_vec_push(arena, &version->diags, copy);
    }
    job->taken_diags = count;
}

sc_status sc_job_version(sc_job *job, uint32_t number, sc_version **out) {
    sc_ctx *ctx = &job->ctx;
    if (number >= sc_job_compiling(job)->versions.count)
        return sc_fail(ctx, SC_ERR_NOT_FOUND, "Use the number of a program that a step returned.",
                       "there is no program %u", number);
    *out = &sc_job_compiling(job)->versions.data[number];
    if (!(*out)->program)
        return sc_fail(ctx, SC_ERR_STATE, "Lower it again, or leave out the option consume.",
                       "program %u was consumed or disposed of", number);
    return SC_OK;
}

void sc_version_put_diagnostics(sc_json_writer *w, const sc_job *job, const sc_version *version) {
    sc_json_put_array(w, "diagnostics");
    for (uint32_t i = 0; i < version->diags.count; i++)
        sc_job_put_diag(w, job->ctx.scratch, &version->diags.data[i]);
    sc_json_end_array(w);
}
