// The program in a file, which may be a bundle. A bundle is read whole: its program takes little
// memory compared with a run.
#include "api/run/open_bundle.h"

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
static sc_status align_program(sc_ctx *ctx, sc_open_bundle *bundle) {
    sc_bundled *bundled = &bundle->calls;
    if ((uintptr_t)bundled->program % 16 == 0) return SC_OK;
    bundle->program = sc_try_alloc(bundled->program_bytes);
    if (!bundle->program)
        return sc_fail(ctx, SC_ERR_MEMORY, NULL, "no memory for the %u bytes of the program",
                       bundled->program_bytes);
    memcpy(bundle->program, bundled->program, bundled->program_bytes);
    bundled->program = bundle->program;
    return SC_OK;
}

sc_status sc_open_bundle_read(sc_ctx *ctx, sc_open_bundle *bundle, sc_source *file,
                              sc_source **program) {
    uint8_t head[HEAD_BYTES] = {0};
    *program = file;
    const size_t bytes = (size_t)sc_min_u64(file->size, sizeof head);
    SC_TRY(sc_extent_read(ctx, sc_extent_whole(file), 0, head, bytes));
    if (memcmp(head + 4, SC_BPTE_IDENTIFIER, 4) != 0) return SC_OK;
    size_t size = 0;
    if (!sc_size_from_u64(file->size, &size) || size > INT32_MAX)
        return sc_fail(ctx, SC_ERR_LIMIT, NULL, "a bundled program must be smaller than 2 GB");
    SC_TRY(read_whole(ctx, file, &bundle->file));
    SC_TRY(sc_bundled_read(ctx, ctx->arena, bundle->file, size, &bundle->calls));
    SC_TRY(align_program(ctx, bundle));
    const sc_bundled *bundled = &bundle->calls;
    *program = sc_source_from_memory(ctx->arena, bundled->program, bundled->program_bytes);
    return SC_OK;
}

void sc_open_bundle_close(const sc_open_bundle *bundle) {
    sc_free(bundle->file);
    sc_free(bundle->program);
}
