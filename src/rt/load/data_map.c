// .ptd files: named tensors that a program keeps outside itself. Several files make one map; a name
// that two of them have is an error. Bytes are read with the methods that need them.
//
// Layout: u32 root, "FT01", "FH01", u32 header bytes (40 or more), then u64 offset and bytes of the
// FlatBuffer, u64 offset and bytes of the segments, to which segment offsets are relative.
#include "rt/load/data_map.h"

#include "flat_tensor_fbs.h"
#include "format/magic.h"
#include "rt/allocate.h"
#include "rt/program.h"

enum { HEAD_BYTES = 64, HEADER_MIN = 40 };

typedef struct ptd {
    sc_source *source;
    uint32_t number;
    uint64_t flat_end, segment_base, segment_bytes;
    sc_fb_table root;
} ptd;

static sc_status bad(sc_ctx *ctx, const char *what) {
    return sc_fail(ctx, SC_ERR_CORRUPT, NULL, "this .ptd is not valid: %s", what);
}

static sc_status read_head(sc_ctx *ctx, ptd *file) {
    uint8_t bytes[HEAD_BYTES];
    const uint64_t size = file->source->size;
    if (size < HEAD_BYTES)
        return sc_fail(ctx, SC_ERR_TRUNCATED, NULL,
                       "a .ptd has at least %d bytes, but this file has %llu", HEAD_BYTES,
                       (unsigned long long)size);
    SC_TRY(file->source->read(file->source, ctx, 0, bytes, sizeof bytes));
    if (memcmp(bytes + 4, SC_PTD_IDENTIFIER, 4) != 0 ||
        memcmp(bytes + 8, SC_PTD_HEADER_MARK, 4) != 0)
        return sc_fail(ctx, SC_ERR_FORMAT, "Pass the .ptd files that were made with the .pte.",
                       "this is not an ExecuTorch data file: its identifiers are missing");
    if (sc_fb_load_u32(bytes + 12) < HEADER_MIN) return bad(ctx, "its header is too short");
    uint64_t flat_offset = sc_fb_load_u64(bytes + 16), flat_bytes = sc_fb_load_u64(bytes + 24);
    uint64_t end;
    file->segment_base = sc_fb_load_u64(bytes + 32);
    file->segment_bytes = sc_fb_load_u64(bytes + 40);
    if (!sc_add_u64(flat_offset, flat_bytes, &file->flat_end) ||
        !sc_add_u64(file->segment_base, file->segment_bytes, &end))
        return bad(ctx, "the sizes in its header overflow");
    if (file->flat_end > size || end > size)
        return sc_fail(ctx, SC_ERR_TRUNCATED, NULL, "this .ptd ends too early");
    return SC_OK;
}

static sc_status load_flat(sc_ctx *ctx, sc_rt_data_map *map, sc_arena *arena, ptd *file) {
    size_t size;
    const uint8_t *flat = file->source->memory;
    if (!sc_size_from_u64(file->flat_end, &size)) return bad(ctx, "its directory is too large");
    if (!flat || (uintptr_t)flat % 16 != 0) {
        uint8_t *copy;
        SC_TRY(sc_rt_allocate(ctx, file->flat_end, "the directory of a .ptd", &copy));
        sc_vec_push(arena, &map->owned, copy);
        SC_TRY(file->source->read(file->source, ctx, 0, copy, size));
        flat = copy;
    }
    SC_TRY(sc_fb_verify(ctx, &sc_ptd_schema, flat, size));
    file->root = sc_fb_root(flat);
    uint32_t version = sc_ptd_FlatTensor_version(file->root);
    if (version > 0)
        return sc_fail(ctx, SC_ERR_VERSION, "Update Sconce, or export with an older release.",
                       "this .ptd has schema version %u; only 0 is supported", version);
    if (!sc_ptd_FlatTensor_segments(file->root).items ||
        !sc_ptd_FlatTensor_named_data(file->root).items)
        return bad(ctx, "it has no data");
    return SC_OK;
}

static sc_status read_layout(sc_ctx *ctx, sc_fb_table entry, sc_rt_datum *datum) {
    sc_fb_table layout = sc_ptd_NamedData_tensor_layout(entry);
    if (!layout.at) return SC_OK;
    datum->sizes = sc_ptd_TensorLayout_sizes(layout);
    datum->dim_order = sc_ptd_TensorLayout_dim_order(layout);
    int8_t dtype = sc_ptd_TensorLayout_scalar_type(layout);
    if (datum->sizes.count != datum->dim_order.count || datum->sizes.count > SC_RANK_MAX ||
        dtype < 0 || !sc_dtype_is_known((unsigned)dtype))
        return bad(ctx, "one of its tensors has an impossible layout");
    datum->has_layout = true;
    datum->dtype = (uint8_t)dtype;
    datum->rank = (uint8_t)datum->sizes.count;
    return SC_OK;
}

static sc_status add_entries(sc_ctx *ctx, sc_rt_data_map *map, sc_arena *arena, const ptd *file) {
    sc_fb_vec segments = sc_ptd_FlatTensor_segments(file->root);
    sc_fb_vec named = sc_ptd_FlatTensor_named_data(file->root);
    for (uint32_t i = 0; i < named.count; i++) {
        sc_fb_table entry = sc_fb_vec_table(named, i);
        uint32_t index = sc_ptd_NamedData_segment_index(entry);
        sc_str key = sc_ptd_NamedData_key(entry);
        if (!key.data || index >= segments.count)
            return bad(ctx, "an entry has no name or no data");
        sc_fb_table segment = sc_fb_vec_table(segments, index);
        uint64_t offset = sc_ptd_DataSegment_offset(segment);
        uint64_t size = sc_ptd_DataSegment_size(segment), end;
        if (!sc_add_u64(offset, size, &end) || end > file->segment_bytes)
            return bad(ctx, "a segment lies outside the file");
        sc_rt_datum *datum = sc_new(arena, sc_rt_datum);
        datum->key = key;
        datum->file = file->number;
        datum->extent = (sc_extent){file->source, file->segment_base + offset, size};
        SC_TRY(read_layout(ctx, entry, datum));
        if (!sc_map_add(&map->by_key, key, datum))
            return sc_fail(ctx, SC_ERR_CORRUPT, "Pass each .ptd file once.",
                           "the data files hold '" SC_STR_FMT "' twice", SC_STR_ARG(key));
        sc_vec_push(arena, &map->data, datum);
    }
    return SC_OK;
}

sc_status sc_rt_data_map_open(sc_ctx *ctx, sc_arena *arena, sc_source *const *files, uint32_t count,
                              sc_rt_data_map *map) {
    sc_map_init(&map->by_key, arena);
    for (uint32_t i = 0; i < count; i++) {
        ptd file = {.source = files[i], .number = i};
        SC_TRY(read_head(ctx, &file));
        SC_TRY(load_flat(ctx, map, arena, &file));
        SC_TRY(add_entries(ctx, map, arena, &file));
    }
    return SC_OK;
}

void sc_rt_data_map_close(sc_rt_data_map *map) {
    for (uint32_t i = 0; i < map->owned.count; i++) sc_free(map->owned.data[i]);
}

sc_rt_datum *sc_rt_data_map_find(const sc_rt_data_map *map, sc_str key) {
    return sc_map_get(&map->by_key, key);
}
