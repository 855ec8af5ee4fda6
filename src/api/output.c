// The files that a compilation made, chunk by chunk, and the kinds of files by their first bytes.
#include "api/job.h"
#include "bundled_program_fbs.h"
#include "devtools/inspect/etdump_read.h"
#include "flat_tensor_fbs.h"
#include "format/magic.h"
#include "program_fbs.h"

uint32_t sc_output_count(const sc_job *job) { return job->outputs.count; }

// Indices come from the host, so an absent item is empty.
static const sc_output *output_at(const sc_job *job, uint32_t output) {
    return output < job->outputs.count ? &job->outputs.data[output] : NULL;
}

sc_str sc_output_name(const sc_job *job, uint32_t output) {
    const sc_output *found = output_at(job, output);
    return found ? found->name : (sc_str){0};
}

uint64_t sc_output_bytes(const sc_job *job, uint32_t output) {
    const sc_output *found = output_at(job, output);
    return found ? found->cord.size : 0;
}

uint32_t sc_output_chunk_count(const sc_job *job, uint32_t output) {
    const sc_output *found = output_at(job, output);
    return found ? found->cord.chunks.count : 0;
}

static const sc_chunk *chunk_at(const sc_job *job, uint32_t output, uint32_t chunk) {
    if (chunk >= sc_output_chunk_count(job, output)) return NULL;
    return &job->outputs.data[output].cord.chunks.data[chunk];
}

sc_output_chunk sc_output_chunk_at(const sc_job *job, uint32_t output, uint32_t chunk) {
    const sc_chunk *c = chunk_at(job, output, chunk);
    if (!c) return (sc_output_chunk){.kind = SC_CHUNK_ZEROS};
    sc_output_chunk out = {.kind = c->kind, .size = c->size};
    if (c->kind == SC_CHUNK_BYTES) out.bytes = c->bytes;
    if (c->kind == SC_CHUNK_EXTENT) {
        out.host_id = c->extent.source->host_id;
        out.source_offset = c->extent.offset;
    }
    return out;
}

sc_status sc_output_read(sc_job *job, uint32_t output, uint32_t chunk, uint64_t offset, void *out,
                         size_t bytes) {
    const sc_chunk *c = chunk_at(job, output, chunk);
    if (!c || offset > c->size || bytes > c->size - offset)
        return sc_fail(&job->ctx, SC_ERR_ARGUMENT, NULL, "the range reaches beyond the chunk");
    if (c->kind == SC_CHUNK_EXTENT) return sc_extent_read(&job->ctx, c->extent, offset, out, bytes);
    if (c->kind == SC_CHUNK_BYTES)
        memcpy(out, c->bytes + offset, bytes);
    else
        memset(out, 0, bytes);
    return SC_OK;
}

// --- Files without a program ---------------------------------------------------------------------

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
    for (uint32_t i = 0; i < SC_COUNT_OF(output->memories); i++)
        sc_call_memory_drop(job, output->memories[i]);
    *output = (sc_output){.program = SC_NO_PROGRAM, .is_free = true};
}

// --- Telling files apart -------------------------------------------------------------------------

// The identifier that a FlatBuffer file has at byte 4, or NULL.
static const char *identifier_of(sc_file_kind kind) {
    switch (kind) {
    case SC_FILE_PTE: return SC_PTE_IDENTIFIER;
    case SC_FILE_PTD: return SC_PTD_IDENTIFIER;
    case SC_FILE_BPTE: return SC_BPTE_IDENTIFIER;
    default: return NULL;
    }
}

static void note_unknown(sc_ctx *ctx, sc_file_kind kind, const uint8_t *head, size_t bytes) {
    const char *hint = "Pass a .pt2 of torch.export.save, or a .pte or .ptd of ExecuTorch.";
    const char *known = identifier_of(kind);
    char found[5] = {0};
    for (size_t i = 0; i < 4; i++)
        found[i] = head[4 + i] > ' ' && head[4 + i] < 127 ? (char)head[4 + i] : '?';
    if (bytes < SC_FILE_HEAD_BYTES)
        sc_report(ctx, SC_NOTE, SC_ERR_TRUNCATED, hint, "the file has only %zu bytes", bytes);
    else if (known)
        sc_report(ctx, SC_NOTE, SC_ERR_VERSION, "Lower the model again with a current release.",
                  "the file is marked %s, but this build reads %s", found, known);
    else
        sc_report(ctx, SC_NOTE, SC_ERR_FORMAT, hint,
                  "the file does not begin as a .pt2, .pte or .ptd does");
}

// Both are zips; only a record has its identifier among the entries.
static bool is_record(sc_ctx *ctx, sc_source *source) {
    const sc_diag_mark diags = sc_diags_mark(ctx);
    sc_arena arena;
    sc_zip zip;
    sc_arena_init(&arena);
    const bool is = sc_zip_open(ctx, &arena, sc_extent_whole(source), &zip) == SC_OK &&
                    sc_etrecord_is_like(&zip);
    sc_arena_deinit(&arena);
    sc_diags_rewind(ctx, diags);
    return is;
}

sc_status sc_detect(sc_job *job, sc_source *source, sc_str *kind) {
    sc_ctx *ctx = &job->ctx;
    uint8_t head[SC_DUMP_HEAD_BYTES] = {0};
    size_t bytes = (size_t)sc_min_u64(source->size, sizeof(head));
    ctx->where = (sc_where){.instruction = -1};
    *kind = SC_STR("unknown");
    SC_TRY(sc_extent_read(ctx, sc_extent_whole(source), 0, head, bytes));
    sc_file_kind found = sc_file_kind_of(head);
    const char *identifier = identifier_of(found);
    if (found == SC_FILE_ZIP)
        *kind = is_record(ctx, source) ? SC_STR("etrecord") : SC_STR("pt2");
    else if (sc_dump_is(head, bytes))
        *kind = SC_STR("etdump");
    else if (identifier && memcmp(head + 4, identifier, 4) == 0)
        *kind = found == SC_FILE_PTE   ? SC_STR("pte")
                : found == SC_FILE_PTD ? SC_STR("ptd")
                                       : SC_STR("bpte");
    else
        note_unknown(ctx, found, head, bytes);
    return SC_OK;
}
