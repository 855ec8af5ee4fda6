// The zip layout of torch.save. All entries are below one root folder. <root>/data.pkl is the
// pickle, and <root>/data/<key> has the bytes of a storage. <root>/byteorder is "little" or "big";
// if it is absent, "little".
#include "format/torch_save.h"

enum { PICKLE_BYTES_MAX = 256 << 20, BYTEORDER_BYTES_MAX = 16 };

static const sc_zip_entry *find_below(sc_ctx *ctx, const sc_zip *zip, sc_str root,
                                      const char *folder, sc_str name) {
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_str path = sc_str_format(ctx->scratch, SC_STR_FMT "/%s" SC_STR_FMT, SC_STR_ARG(root), folder,
                                SC_STR_ARG(name));
    const sc_zip_entry *entry = sc_zip_find(zip, path);
    sc_arena_rewind(ctx->scratch, mark);
    return entry;
}

static sc_status read_byteorder(sc_ctx *ctx, sc_arena *arena, sc_str root, sc_torch_save *out) {
    const sc_zip_entry *entry = find_below(ctx, &out->zip, root, "", SC_STR("byteorder"));
    sc_str text;
    if (!entry) return SC_OK;
    SC_TRY(sc_zip_load(ctx, arena, entry, BYTEORDER_BYTES_MAX, &text));
    out->big_endian = sc_str_is(text, "big");
    if (!out->big_endian && !sc_str_is(text, "little"))
        return sc_fail(ctx, SC_ERR_UNSUPPORTED, NULL, "unknown byte order in a torch.save file");
    return SC_OK;
}

static sc_status resolve_storage(sc_ctx *ctx, sc_arena *arena, sc_str root, sc_torch_save *save,
                                 sc_pickle_storage *storage) {
    const sc_zip_entry *entry = find_below(ctx, &save->zip, root, "data/", storage->key);
    storage->missing = !entry || sc_str_is(storage->location, "meta");
    if (storage->missing) {
        storage->extent = sc_extent_whole(sc_source_zeros(arena, storage->bytes));
        return SC_OK;
    }
    SC_TRY(sc_zip_extent(ctx, entry, &storage->extent));
    if (storage->extent.size < storage->bytes)
        return sc_fail(ctx, SC_ERR_TRUNCATED, NULL,
                       "storage " SC_STR_FMT " has %llu bytes instead of %llu",
                       SC_STR_ARG(storage->key), (unsigned long long)storage->extent.size,
                       (unsigned long long)storage->bytes);
    storage->extent.size = storage->bytes;
    if (save->big_endian && storage->swap_bytes > 1)
        storage->extent =
            sc_extent_whole(sc_source_swapped(arena, storage->extent, storage->swap_bytes));
    return SC_OK;
}

sc_status sc_torch_save_open(sc_ctx *ctx, sc_arena *arena, sc_extent file, sc_torch_save *out) {
    *out = (sc_torch_save){0};
    if (file.size == 0) return SC_OK;
    SC_TRY(sc_zip_open(ctx, arena, file, &out->zip));
    ptrdiff_t slash = out->zip.count ? sc_str_find(out->zip.entries[0].name, '/') : -1;
    sc_str root = slash < 0 ? SC_STR("") : sc_str_slice(out->zip.entries[0].name, 0, (size_t)slash);
    const sc_zip_entry *entry = find_below(ctx, &out->zip, root, "", SC_STR("data.pkl"));
    if (!entry)
        return sc_fail(ctx, SC_ERR_FORMAT, NULL, "not a torch.save file: it has no data.pkl");
    SC_TRY(read_byteorder(ctx, arena, root, out));
    sc_str pickle;
    SC_TRY(sc_zip_load(ctx, arena, entry, PICKLE_BYTES_MAX, &pickle));
    SC_TRY(sc_pickle_load(ctx, arena, (const uint8_t *)pickle.data, pickle.size, &out->pickle));
    for (uint32_t i = 0; i < out->pickle.storages.count; i++)
        SC_TRY(resolve_storage(ctx, arena, root, out, out->pickle.storages.data[i]));
    out->root = out->pickle.root;
    return SC_OK;
}

// --- Writing -------------------------------------------------------------------------------------

// Storages start at multiples of 64, as in the files of torch.save, so that they can be mapped into
// memory.
enum { STORAGE_ALIGN = 64 };

static sc_status add_storages(sc_ctx *ctx, sc_zip_writer *zip, const sc_pickle_storages *storages) {
    for (uint32_t i = 0; i < storages->count; i++) {
        sc_str name = sc_str_format(ctx->scratch, "archive/data/%u", i);
        SC_TRY(sc_zip_add_extent(ctx, zip, name, storages->data[i]->extent));
    }
    return SC_OK;
}

static sc_status write_entries(sc_ctx *ctx, const sc_pickle_value *root, sc_cord *out) {
    sc_zip_writer zip;
    sc_sb pickle;
    sc_pickle_storages storages = {0};
    sc_sb_init(&pickle, ctx->scratch);
    SC_TRY(sc_pickle_write(ctx, ctx->scratch, root, &pickle, &storages));
    sc_zip_writer_init(&zip, out, STORAGE_ALIGN);
    SC_TRY(sc_zip_add_bytes(ctx, &zip, SC_STR("archive/data.pkl"), pickle.data, pickle.size));
    SC_TRY(sc_zip_add_bytes(ctx, &zip, SC_STR("archive/byteorder"), "little", 6));
    SC_TRY(add_storages(ctx, &zip, &storages));
    SC_TRY(sc_zip_add_bytes(ctx, &zip, SC_STR("archive/version"), "3\n", 2));
    sc_zip_finish(&zip);
    return SC_OK;
}

sc_status sc_torch_save_write(sc_ctx *ctx, const sc_pickle_value *root, sc_cord *out) {
    SC_ASSERT(out->arena != ctx->scratch);
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_status status = write_entries(ctx, root, out);
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}
