// The kinds of files by their first bytes.
#include "api/job/job.h"
#include "bundled_program_fbs.h"
#include "devtools/etrecord.h"
#include "devtools/inspect/etdump_read.h"
#include "flat_tensor_fbs.h"
#include "format/magic.h"
#include "program_fbs.h"

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
    else if (found == SC_FILE_PACKED)
        *kind = SC_STR("packed");
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
