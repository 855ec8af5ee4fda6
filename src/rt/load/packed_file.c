// Opens packed files. Everything in one is checked here, but its sums: each is compared when its
// weights are read.
#include "rt/load/packed_file.h"

#include "base/hash.h"
#include "compute/layout.h"
#include "rt/load/segments.h"

static const uint64_t directory_max = UINT64_C(1) << 28;

static const char *const save_again = "Load the .pte, and save it again with savePacked().";

typedef struct opening {
    sc_ctx *ctx;
    sc_arena *arena;
    sc_source *source;
    uint64_t directory_bytes, base;  // base: where offsets count from
    sc_fb_table root;
    sc_source *missing;
    sc_rt_packed_file *file;
} opening;

static sc_status bad(sc_ctx *ctx, const char *what) {
    return sc_fail(ctx, SC_ERR_CORRUPT, save_again, "this packed program is not valid: %s", what);
}

sc_str sc_rt_packed_version(void) { return SC_STR(SC_VERSION); }
sc_str sc_rt_packed_layout(void) { return sc_str_from(sc_compute_layout()); }

// --- Header --------------------------------------------------------------------------------------

static sc_status read_head(opening *o, uint64_t *sum) {
    uint8_t head[SC_RT_PACKED_HEAD];
    sc_ctx *ctx = o->ctx;
    if (o->source->size < sizeof head)
        return sc_fail(ctx, SC_ERR_TRUNCATED, save_again, "this packed program ends too early");
    SC_TRY(o->source->read(o->source, ctx, 0, head, sizeof head));
    if (sc_fb_load_u32(head + 8) != SC_RT_PACKED_FORMAT)
        return sc_fail(ctx, SC_ERR_VERSION, save_again,
                       "this packed program has format %u, and this build reads %d",
                       sc_fb_load_u32(head + 8), (int)SC_RT_PACKED_FORMAT);
    const uint64_t bytes = sc_fb_load_u64(head + 24);
    o->directory_bytes = sc_fb_load_u64(head + 16);
    *sum = sc_fb_load_u64(head + 32);
    if (bytes != o->source->size)
        return sc_fail(ctx, SC_ERR_TRUNCATED, save_again,
                       "this packed program should have %llu bytes, but the file has %llu",
                       (unsigned long long)bytes, (unsigned long long)o->source->size);
    if (o->directory_bytes > directory_max || o->directory_bytes > bytes - sizeof head)
        return bad(ctx, "its directory is too large");
    o->base = sc_align_up(sizeof head + o->directory_bytes, SC_RT_PACKED_ALIGN);
    return SC_OK;
}

static sc_status read_directory(opening *o, uint64_t sum) {
    sc_ctx *ctx = o->ctx;
    uint8_t *bytes = sc_arena_try_alloc(o->arena, (size_t)o->directory_bytes + 16);
    if (!bytes)
        return sc_fail(ctx, SC_ERR_MEMORY, NULL, "no memory for the directory of a packed program");
    SC_TRY(o->source->read(o->source, ctx, SC_RT_PACKED_HEAD, bytes, (size_t)o->directory_bytes));
    if (sc_hash64_wide(bytes, (size_t)o->directory_bytes) != sum)
        return bad(ctx, "its directory is damaged");
    SC_TRY(sc_fb_verify(ctx, &sc_packed_schema, bytes, (size_t)o->directory_bytes));
    o->root = sc_fb_root(bytes);
    return SC_OK;
}

static sc_status check_build(const opening *o) {
    const sc_str version = sc_packed_Packed_version(o->root);
    const sc_str layout = sc_packed_Packed_layout(o->root);
    const sc_str own = sc_rt_packed_version(), wanted = sc_rt_packed_layout();
    if (!version.data || !layout.data) return bad(o->ctx, "it does not say what saved it");
    if (!sc_str_equal(version, own))
        return sc_fail(o->ctx, SC_ERR_VERSION, save_again,
                       "this packed program was saved by version " SC_STR_FMT
                       ", and this is version " SC_STR_FMT,
                       SC_STR_ARG(version), SC_STR_ARG(own));
    if (!sc_str_equal(layout, wanted))
        return sc_fail(o->ctx, SC_ERR_VERSION, save_again,
                       "this packed program was saved for weights of layout " SC_STR_FMT
                       ", and this module reads " SC_STR_FMT,
                       SC_STR_ARG(layout), SC_STR_ARG(wanted));
    return SC_OK;
}

// --- Files ---------------------------------------------------------------------------------------

static sc_status read_missing(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out,
                              size_t bytes) {
    (void)source, (void)offset, (void)out, (void)bytes;
    return sc_fail(
        ctx, SC_ERR_CORRUPT, save_again,
        "a packed program lacks weights that it needs, or it is loaded with options that "
        "need the original ones");
}

static bool is_inside(const opening *o, uint64_t offset, uint64_t size) {
    const uint64_t room = o->source->size - sc_min_u64(o->base, o->source->size);
    return offset <= room && size <= room - offset;
}

// Bytes that the file has, and between them bytes that it has not.
static sc_status read_file(const opening *o, sc_fb_table table, sc_source **out) {
    const sc_fb_vec ranges = sc_packed_File_ranges(table);
    const uint64_t size = sc_packed_File_size(table);
    sc_cord cord;
    uint64_t at = 0;
    sc_cord_init(&cord, o->arena);
    if (size > UINT64_C(1) << 53) return bad(o->ctx, "one of its files has an impossible size");
    for (uint32_t i = 0; i < ranges.count; i++) {
        const sc_fb_table range = sc_fb_vec_table(ranges, i);
        const uint64_t begin = sc_packed_Range_begin(range), bytes = sc_packed_Range_size(range);
        const uint64_t offset = sc_packed_Range_offset(range);
        if (begin < at || begin > size || bytes > size - begin || !is_inside(o, offset, bytes))
            return bad(o->ctx, "one of its ranges lies outside the file");
        sc_cord_append_extent(&cord, (sc_extent){o->missing, at, begin - at});
        sc_cord_append_extent(&cord, (sc_extent){o->source, o->base + offset, bytes});
        at = begin + bytes;
    }
    sc_cord_append_extent(&cord, (sc_extent){o->missing, at, size - at});
    *out = sc_source_from_cord(o->arena, &cord);
    return SC_OK;
}

static sc_status read_files(opening *o) {
    const sc_fb_vec files = sc_packed_Packed_files(o->root);
    sc_rt_packed_file *file = o->file;
    if (!files.count) return bad(o->ctx, "it has no program");
    file->files = sc_new_array(o->arena, sc_source *, files.count);
    file->file_count = files.count;
    for (uint32_t i = 0; i < files.count; i++)
        SC_TRY(read_file(o, sc_fb_vec_table(files, i), &file->files[i]));
    return SC_OK;
}

// --- Packings ------------------------------------------------------------------------------------

static sc_status read_packings(opening *o) {
    const sc_fb_vec packings = sc_packed_Packed_packings(o->root);
    sc_rt_packed_file *file = o->file;
    file->saved = sc_new_array(o->arena, sc_rt_saved, packings.count);
    file->saved_count = packings.count;
    for (uint32_t i = 0; i < packings.count; i++) {
        const sc_fb_table table = sc_fb_vec_table(packings, i);
        const uint64_t offset = sc_packed_Packing_offset(table);
        sc_rt_saved *saved = &file->saved[i];
        *saved =
            (sc_rt_saved){.key = {sc_packed_Packing_method(table),
                                  sc_packed_Packing_delegate(table), sc_packed_Packing_call(table)},
                          .variant = sc_packed_Packing_variant(table),
                          .size = sc_packed_Packing_size(table),
                          .sum = sc_packed_Packing_sum(table)};
        if (!saved->variant.data || !is_inside(o, offset, saved->size))
            return bad(o->ctx, "some of its weights lie outside the file");
        if (i && sc_rt_saved_compare(&saved[-1].key, &saved->key) >= 0)
            return bad(o->ctx, "its weights are not in order");
        saved->offset = o->base + offset;
    }
    return SC_OK;
}

// --- Opening -------------------------------------------------------------------------------------

static sc_status open(opening *o) {
    uint64_t sum;
    SC_TRY(read_head(o, &sum));
    SC_TRY(read_directory(o, sum));
    SC_TRY(check_build(o));
    o->file->source = o->source;
    o->file->channels_last = (sc_rt_when)sc_packed_Packed_channels_last(o->root);
    SC_TRY(read_files(o));
    return read_packings(o);
}

sc_status sc_rt_packed_file_open(sc_ctx *ctx, sc_arena *arena, sc_source *source,
                                 sc_rt_packed_file **out) {
    char magic[sizeof SC_PACKED_MARK - 1] = {0};
    *out = NULL;
    if (source->size < sizeof magic) return SC_OK;
    SC_TRY(source->read(source, ctx, 0, magic, sizeof magic));
    if (memcmp(magic, SC_PACKED_MARK, sizeof magic) != 0) return SC_OK;
    opening o = {.ctx = ctx, .arena = arena, .source = source};
    o.file = sc_new(arena, sc_rt_packed_file);
    o.missing = sc_new(arena, sc_source);
    *o.missing = (sc_source){.read = read_missing, .size = UINT64_MAX};
    SC_TRY(open(&o));
    *out = o.file;
    return SC_OK;
}
