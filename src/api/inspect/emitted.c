// An emitted program as JSON, field by field as in the schema.
#include "api/compiling.h"
#include "emit/emit.h"
#include "format/flatbuf.h"

#include "program_fbs.h"

enum { INLINE_MAX = 256 };  // longer vectors of bytes are shown by their length

sc_status sc_compile_executorch_json(sc_job *job, uint32_t executorch, sc_str *json) {
    sc_ctx *ctx = sc_job_begin(job);
    sc_version *version = NULL;
    SC_TRY(sc_job_version(job, executorch, &version));
    if (!version->emitted)
        return sc_fail(ctx, SC_ERR_STATE, "Give what to_executorch made.",
                       "program %u is not an executorch program", executorch);
    const sc_emit_result *emitted = version->emitted;
    const sc_extent file = sc_extent_whole(sc_source_from_cord(ctx->arena, &emitted->program));
    uint8_t *program = sc_arena_alloc(ctx->arena, (size_t)emitted->program_bytes);
    SC_TRY(sc_extent_read(ctx, file, 0, program, (size_t)emitted->program_bytes));
    sc_sb text = sc_job_text(job);
    sc_json_writer w;
    sc_json_writer_init(&w, &text, SC_JSON_COMPACT);
    sc_fb_dump(&w, &sc_pte_schema, program, INLINE_MAX);
    *json = sc_sb_str(&text);
    return SC_OK;
}
