// Any bytes as a zip archive: open, look every entry up; write a repacked copy and open that. Then
// as a torch.save file.
#include "format/torch_save.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(sc_ctx *ctx, const sc_zip *zip) {
    sc_cord copy;
    sc_zip again;
    for (uint32_t i = 0; i < zip->count; i++)
        SC_ASSERT(sc_zip_find(zip, zip->entries[i].name) == &zip->entries[i]);
    bool is_stored = !sc_zip_is_compressed(zip);
    SC_ASSERT(sc_zip_check_compressed(ctx, zip) == SC_OK || !is_stored);
    if (!is_stored) return;
    sc_cord_init(&copy, ctx->arena);
    SC_ASSERT(sc_zip_repack(ctx, zip, NULL, &copy) == SC_OK);
    sc_extent archive = sc_extent_whole(sc_source_from_cord(ctx->arena, &copy));
    SC_ASSERT(sc_zip_open(ctx, ctx->arena, archive, &again) == SC_OK);
    SC_ASSERT(again.count == zip->count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sc_arena arena, scratch;
    sc_ctx ctx;
    sc_zip zip;
    sc_torch_save save;
    sc_arena_init(&arena);
    sc_arena_init(&scratch);
    sc_ctx_init(&ctx, &arena, &scratch);
    sc_extent file = sc_extent_whole(sc_source_from_memory(&arena, data, size));
    if (sc_zip_open(&ctx, &arena, file, &zip) == SC_OK)
        use(&ctx, &zip);
    else
        SC_ASSERT(ctx.error_count > 0);
    if (sc_torch_save_open(&ctx, &arena, file, &save) == SC_OK && save.root)
        for (uint32_t i = 0; i < save.pickle.storages.count; i++) {
            const sc_pickle_storage *storage = save.pickle.storages.data[i];
            SC_ASSERT(storage->extent.size == storage->bytes);
        }
    sc_arena_deinit(&arena);
    sc_arena_deinit(&scratch);
    return 0;
}
