// Opens and closes jobs. A job is one block of memory with two arenas inside. Closing it frees all
// memory of its calls.
#include "api/job.h"

#include "api/call_memory.h"
#include "api/open_bundle.h"

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
    sc_arena_init(&job->tracer.fetched);
    job->tracer.dump = sc_etdump_new(&job->arena, &job->ctx);
    return job;
}

static void free_call_memory(sc_job *job) {
    for (uint32_t i = 0; i < job->versions.count; i++)
        sc_call_memory_drop(job, job->versions.data[i].memory);
    for (uint32_t i = 0; i < job->outputs.count; i++) sc_output_free(job, i);
    for (uint32_t i = 0; i < job->records.memories.count; i++)
        for (uint32_t k = 0; k < SC_RECORD_VALUES; k++)
            sc_call_memory_drop(job, job->records.memories.data[i].of_values[k]);
}

void sc_job_close(sc_job *job) {
    for (uint32_t i = 0; i < job->running.optimizers.count; i++)
        if (job->running.optimizers.data[i]) sc_rt_sgd_close(job->running.optimizers.data[i]);
    for (uint32_t i = 0; i < job->running.trainers.count; i++)
        sc_rt_trainer_close(job->running.trainers.data[i]);
    if (job->running.program) sc_rt_program_close(job->running.program);
    sc_job_close_bundle(job);
    free_call_memory(job);
    sc_etdump_clear(job->tracer.dump);
    sc_arena_deinit(&job->tracer.fetched);
    for (uint32_t i = 0; i < job->running.dense.count; i++)
        sc_free(job->running.dense.data[i].data);
    sc_arena_deinit(&job->text_arena);
    sc_arena_deinit(&job->diag_arena);
    sc_arena_deinit(&job->scratch);
    sc_arena_deinit(&job->arena);
    job->tag = 0;
    sc_free(job);
}

sc_ctx *sc_job_ctx(sc_job *job) { return &job->ctx; }

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

uint32_t sc_job_add_version(sc_job *job, sc_dialect dialect, sc_program *program, double begin_ms) {
    const uint32_t number = job->versions.count;
    sc_version version = {.dialect = dialect, .program = program, .from = number, .users = 1};
    version.ms = sc_now_ms(&job->ctx) - begin_ms;
    sc_job_take_diags(job, &version);
    sc_vec_push(&job->arena, &job->versions, version);
    return number;
}

// Files and plans are on the memory of the version.
static void drop_files(sc_job *job, uint32_t number) {
    for (uint32_t i = 0; i < job->outputs.count; i++)
        if (job->outputs.data[i].program == number) job->outputs.data[i].cord = (sc_cord){0};
    uint32_t kept = 0;
    for (uint32_t i = 0; i < job->plans.count; i++)
        if (job->plans.data[i].program != number) job->plans.data[kept++] = job->plans.data[i];
    job->plans.count = kept;
}

// A version holds a use of the one that it was made from, so the walk goes on there.
void sc_job_drop_version(sc_job *job, uint32_t number) {
    while (number < job->versions.count) {
        sc_version *version = &job->versions.data[number];
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
    if (number >= job->versions.count)
        return sc_fail(ctx, SC_ERR_NOT_FOUND, "Use the number of a program that a step returned.",
                       "there is no program %u", number);
    *out = &job->versions.data[number];
    if (!(*out)->program)
        return sc_fail(ctx, SC_ERR_STATE, "Lower it again, or leave out the option consume.",
                       "program %u was consumed or disposed of", number);
    return SC_OK;
}
