// The program in a file, which may be a bundle. A bundle is read whole: its program takes little
// memory compared with a run.
#include "api/run/open_bundle.h"

#include "api/run/running.h"
#include "bundled_program_fbs.h"

enum { HEAD_BYTES = 8, PROGRAM_ALIGN = 64 };

static sc_status read_whole(sc_ctx *ctx, sc_source *source, void **out) {
    *out = sc_try_alloc(source->size);
    if (!*out)
        return sc_fail(ctx, SC_ERR_MEMORY, NULL, "no memory for the %llu bytes of the file",
                       (unsigned long long)source->size);
    return sc_extent_read(ctx, sc_extent_whole(source), 0, *out, (size_t)source->size);
}

// The program's own alignment is right in place, unless the file is damaged.
static sc_status align_program(sc_job *job) {
    sc_bundled *bundled = &sc_job_running(job)->bundle.suites;
    if ((uintptr_t)bundled->program % 16 == 0) return SC_OK;
    sc_job_running(job)->bundle.program = sc_try_alloc(bundled->program_bytes);
    if (!sc_job_running(job)->bundle.program)
        return sc_fail(&job->ctx, SC_ERR_MEMORY, NULL, "no memory for the %u bytes of the program",
                       bundled->program_bytes);
    memcpy(sc_job_running(job)->bundle.program, bundled->program, bundled->program_bytes);
    bundled->program = sc_job_running(job)->bundle.program;
    return SC_OK;
}

sc_status sc_job_open_bundle(sc_job *job, sc_source *file, sc_source **program) {
    sc_ctx *ctx = &job->ctx;
    uint8_t head[HEAD_BYTES] = {0};
    *program = file;
    const size_t bytes = (size_t)sc_min_u64(file->size, sizeof head);
    SC_TRY(sc_extent_read(ctx, sc_extent_whole(file), 0, head, bytes));
    if (memcmp(head + 4, SC_BPTE_IDENTIFIER, 4) != 0) return SC_OK;
    size_t size = 0;
    if (!sc_size_from_u64(file->size, &size) || size > INT32_MAX)
        return sc_fail(ctx, SC_ERR_LIMIT, NULL, "a bundled program must be smaller than 2 GB");
    SC_TRY(read_whole(ctx, file, &sc_job_running(job)->bundle.file));
    SC_TRY(sc_bundled_read(ctx, ctx->arena, sc_job_running(job)->bundle.file, size,
                           &sc_job_running(job)->bundle.suites));
    SC_TRY(align_program(job));
    const sc_bundled *bundled = &sc_job_running(job)->bundle.suites;
    *program = sc_source_from_memory(ctx->arena, bundled->program, bundled->program_bytes);
    return SC_OK;
}

void sc_job_close_bundle(sc_job *job) {
    sc_free(sc_job_running(job)->bundle.file);
    sc_free(sc_job_running(job)->bundle.program);
}
