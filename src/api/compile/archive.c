// Archives that the host must inflate: the list of entries to inflate, and the archive with the
// results in place. This file decides which bytes belong to which entry, which sizes are allowed,
// and whether the result is right. The host only inflates.
#include "api/compiling.h"
#include "pt2/import.h"

// All entries of a record; of a .pt2 only the entries that are read.
static sc_status open_compressed(sc_job *job, sc_source *archive, sc_zip *out) {
    sc_ctx *ctx = &job->ctx;
    SC_TRY(sc_zip_open(ctx, ctx->arena, sc_extent_whole(archive), out));
    if (!sc_etrecord_is(out)) SC_TRY(sc_import_directory(ctx, ctx->arena, archive, out));
    return sc_zip_check_compressed(ctx, out);
}

sc_status sc_archive_compressed(sc_job *job, sc_source *archive, sc_str *json) {
    sc_zip zip;
    SC_TRY(open_compressed(job, archive, &zip));
    sc_sb sb = sc_job_text(job);
    sc_json_writer w;
    sc_json_writer_init(&w, &sb, SC_JSON_COMPACT);
    sc_json_begin_array(&w);
    for (uint32_t i = 0; i < zip.count; i++) {
        const sc_zip_entry *entry = &zip.entries[i];
        if (entry->method == SC_ZIP_STORED) continue;
        sc_json_begin_object(&w);
        sc_json_put_str(&w, "name", entry->name);
        sc_json_put_u64(&w, "offset", entry->extent.offset);
        sc_json_put_u64(&w, "stored", entry->stored_size);
        sc_json_put_u64(&w, "size", entry->size);
        sc_json_end_object(&w);
    }
    sc_json_end_array(&w);
    *json = sc_sb_str(&sb);
    return SC_OK;
}

sc_status sc_archive_inflated(sc_job *job, sc_source *archive, sc_source *const *entries,
                              uint32_t count, sc_source **out) {
    sc_ctx *ctx = &job->ctx;
    sc_zip zip;
    SC_TRY(open_compressed(job, archive, &zip));
    sc_extent *inflated = sc_new_array(ctx->arena, sc_extent, zip.count);
    uint32_t next = 0;
    for (uint32_t i = 0; i < zip.count; i++)
        if (zip.entries[i].method != SC_ZIP_STORED && next++ < count)
            inflated[i] = sc_extent_whole(entries[next - 1]);
    if (next != count)
        return sc_fail(ctx, SC_ERR_ARGUMENT, NULL, "the archive has %u compressed entries, not %u",
                       next, count);
    sc_cord cord;
    sc_cord_init(&cord, ctx->arena);
    SC_TRY(sc_zip_repack(ctx, &zip, inflated, &cord));
    *out = sc_source_from_cord(ctx->arena, &cord);
    return SC_OK;
}
