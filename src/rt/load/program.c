// Opens a .pte: header, FlatBuffer, segments, constants. After sc_rt_program_open every reference
// inside the FlatBuffer is sound, and every segment lies inside the file. Values and instructions
// are checked when a method is loaded.
//
// The layout is little-endian: u32 root, "ET12", then in newer files at 8 a header. The header is
// "eh00", u32 header bytes, u64 bytes of the FlatBuffer part, u64 file offset of the first segment
// (0: no segments), and, if it has 32 bytes or more, u64 bytes of all segments. Without a header
// the whole file is the FlatBuffer.
#include "format/magic.h"
#include "rt/allocate.h"
#include "rt/deferred.h"
#include "rt/load/constants.h"
#include "rt/load/data_map.h"
#include "rt/load/memory.h"
#include "rt/load/named.h"
#include "rt/load/room.h"
#include "rt/load/segments.h"

enum { HEAD_BYTES = 64, HEADER_MIN = 24 };

typedef struct head {
    uint64_t program_bytes, segment_base, segment_bytes;
    bool has_header;
} head;

void sc_rt_options_default(sc_rt_options *options) { *options = (sc_rt_options){.optimize = true}; }

// --- Header --------------------------------------------------------------------------------------

static sc_status read_identifier(sc_ctx *ctx, const uint8_t *bytes) {
    if (memcmp(bytes + 4, SC_PTE_IDENTIFIER, 4) == 0) return SC_OK;
    if (sc_file_kind_of(bytes) == SC_FILE_PTE)
        return sc_fail(ctx, SC_ERR_VERSION, "Lower the model again with a current release.",
                       "this .pte has format %.4s; only " SC_PTE_IDENTIFIER " is supported",
                       (const char *)bytes + 4);
    const bool is_zip = sc_file_kind_of(bytes) == SC_FILE_ZIP;
    return sc_fail(ctx, SC_ERR_FORMAT,
                   is_zip ? "If this is a .pt2, lower it first: lower() of createEngine()."
                          : "Check that this is a .pte file.",
                   "this is not an ExecuTorch program: its identifier is missing");
}

static sc_status read_head(sc_ctx *ctx, sc_source *source, head *out) {
    uint8_t bytes[HEAD_BYTES];
    if (source->size < HEAD_BYTES)
        return sc_fail(ctx, SC_ERR_TRUNCATED, NULL,
                       "a .pte has at least %d bytes, but this file has %llu", HEAD_BYTES,
                       (unsigned long long)source->size);
    SC_TRY(source->read(source, ctx, 0, bytes, sizeof bytes));
    SC_TRY(read_identifier(ctx, bytes));
    *out = (head){.program_bytes = source->size};
    if (memcmp(bytes + 8, SC_PTE_HEADER_MARK, 4) != 0) return SC_OK;
    uint32_t length = sc_fb_load_u32(bytes + 12);
    if (length < HEADER_MIN) return sc_rt_bad_pte(ctx, "its header is too short");
    out->has_header = true;
    out->program_bytes = sc_fb_load_u64(bytes + 16);
    out->segment_base = sc_fb_load_u64(bytes + 24);
    out->segment_bytes = length >= 32 ? sc_fb_load_u64(bytes + 32) : 0;
    uint64_t end = out->program_bytes;
    if (out->segment_base && !sc_add_u64(out->segment_base, out->segment_bytes, &end))
        return sc_rt_bad_pte(ctx, "the end of its segments overflows");
    if (out->segment_base && out->segment_base < out->program_bytes)
        return sc_rt_bad_pte(ctx, "its segments begin inside the program");
    if (end > source->size || out->program_bytes > source->size)
        return sc_fail(ctx, SC_ERR_TRUNCATED, NULL,
                       "this .pte should have %llu bytes, but the file ends after %llu",
                       (unsigned long long)end, (unsigned long long)source->size);
    return SC_OK;
}

// --- The FlatBuffer part -------------------------------------------------------------------------

// A view when the source is in memory and aligned, else a copy.
static sc_status read_flat(sc_ctx *ctx, sc_rt_program *p, uint64_t bytes) {
    p->flat = p->source->memory;
    if (p->flat && (uintptr_t)p->flat % 16 == 0) return SC_OK;
    SC_TRY(sc_rt_allocate(ctx, bytes, "the program part of the file", &p->flat_owned));
    p->flat = p->flat_owned;
    return p->source->read(p->source, ctx, 0, p->flat_owned, (size_t)bytes);
}

static sc_status load_flat(sc_ctx *ctx, sc_rt_program *p, const head *h) {
    size_t size;
    if (!sc_size_from_u64(h->program_bytes, &size) || size < 8)
        return sc_rt_bad_pte(ctx, "its program part has an impossible size");
    SC_TRY(read_flat(ctx, p, h->program_bytes));
    SC_TRY(sc_fb_verify(ctx, &sc_pte_schema, p->flat, size));
    p->flat_bytes = h->program_bytes;
    p->root = sc_fb_root(p->flat);
    uint32_t version = sc_pte_Program_version(p->root);
    if (version > 0)
        return sc_fail(ctx, SC_ERR_VERSION,
                       "Update Sconce, or lower the model with an older release.",
                       "this .pte has schema version %u; only 0 is supported", version);
    p->plans = sc_pte_Program_execution_plan(p->root);
    if (!p->plans.items) return sc_rt_bad_pte(ctx, "it has no methods");
    return SC_OK;
}

// --- Constants, initial state --------------------------------------------------------------------

static sc_status check_offsets(sc_ctx *ctx, sc_fb_vec offsets, uint64_t room) {
    for (uint32_t i = 0; i < offsets.count; i++) {
        if (sc_fb_vec_u64(offsets, i) > room)
            return sc_rt_bad_pte(ctx, "a constant lies outside its segment");
    }
    return SC_OK;
}

static sc_status find_constants(sc_ctx *ctx, sc_rt_program *p) {
    sc_fb_table where = sc_pte_Program_constant_segment(p->root);
    sc_fb_vec inline_buffers = sc_pte_Program_constant_buffer(p->root);
    sc_fb_vec offsets = {NULL, 0};
    if (where.at) offsets = sc_pte_SubsegmentOffsets_offsets(where);
    if (offsets.count == 0) {
        p->constants_inline = inline_buffers.count > 0;
        return SC_OK;
    }
    if (offsets.count == 1) return SC_OK;
    if (inline_buffers.count > 0) return sc_rt_bad_pte(ctx, "it keeps constants in two places");
    p->constant_offsets = offsets;
    SC_TRY(sc_rt_segment_at(ctx, p, sc_pte_SubsegmentOffsets_segment_index(where),
                            &p->constant_extent));
    return check_offsets(ctx, offsets, p->constant_extent.size);
}

static sc_status find_initial_state(sc_ctx *ctx, sc_rt_program *p) {
    sc_fb_vec all = sc_pte_Program_mutable_data_segments(p->root);
    if (all.count == 0) return SC_OK;
    if (all.count > 1) return sc_rt_bad_pte(ctx, "it has more than one segment of initial state");
    sc_fb_table where = sc_fb_vec_table(all, 0);
    p->mutable_offsets = sc_pte_SubsegmentOffsets_offsets(where);
    SC_TRY(sc_rt_segment_at(ctx, p, sc_pte_SubsegmentOffsets_segment_index(where),
                            &p->mutable_extent));
    return check_offsets(ctx, p->mutable_offsets, p->mutable_extent.size);
}

// --- Open and close ------------------------------------------------------------------------------

static sc_status check_plans(sc_ctx *ctx, sc_rt_program *p) {
    sc_map names;
    sc_map_init(&names, &p->arena);
    for (uint32_t i = 0; i < p->plans.count; i++) {
        sc_fb_table plan = sc_rt_plan(p, i);
        sc_str name = sc_pte_ExecutionPlan_name(plan);
        if (!name.data || !sc_pte_ExecutionPlan_inputs(plan).items ||
            !sc_pte_ExecutionPlan_outputs(plan).items || !sc_pte_ExecutionPlan_values(plan).items ||
            !sc_pte_ExecutionPlan_non_const_buffer_sizes(plan).items)
            return sc_rt_bad_pte(
                ctx, "a method lacks its name, inputs, outputs, values or memory sizes");
        if (!sc_map_add(&names, name, p))
            return sc_rt_bad_pte(ctx, "two of its methods have the same name");
    }
    return SC_OK;
}

static sc_status open_parts(sc_ctx *ctx, sc_rt_program *p) {
    head h = {0};
    SC_TRY(sc_ops_init());
    SC_TRY(read_head(ctx, p->source, &h));
    p->segment_base = h.segment_base;
    p->segment_end = h.segment_bytes ? h.segment_base + h.segment_bytes : p->source->size;
    SC_TRY(load_flat(ctx, p, &h));
    p->segments = sc_pte_Program_segments(p->root);
    SC_TRY(sc_rt_segments_check(ctx, p));
    SC_TRY(find_constants(ctx, p));
    SC_TRY(find_initial_state(ctx, p));
    SC_TRY(check_plans(ctx, p));
    SC_TRY(sc_rt_data_map_open(ctx, &p->arena, p->options.data_files, p->options.data_file_count,
                               &p->data_map));
    SC_TRY(sc_rt_named_open(ctx, p));
    sc_imap_init(&p->deferred_by_mark, &p->arena);
    sc_imap_init(&p->deferred_by_place, &p->arena);
    SC_TRY(sc_rt_pools_declare(ctx, p));
    p->methods = sc_new_array(&p->arena, sc_rt_method *, p->plans.count);
    return sc_rt_room_check(ctx, p);
}

sc_status sc_rt_program_open(sc_ctx *ctx, sc_source *source, const sc_rt_options *options,
                             sc_rt_program **out) {
    *out = NULL;
    sc_rt_program *p = sc_try_alloc(sizeof *p);
    if (!p) return sc_fail(ctx, SC_ERR_MEMORY, NULL, "no memory to open a program");
    memset(p, 0, sizeof *p);
    p->ctx = ctx;
    p->source = source;
    if (options)
        p->options = *options;
    else
        sc_rt_options_default(&p->options);
    sc_arena_init(&p->arena);
    sc_status status = open_parts(ctx, p);
    if (status != SC_OK) {
        sc_rt_program_close(p);
        return status;
    }
    *out = p;
    return SC_OK;
}

void sc_rt_program_close(sc_rt_program *p) {
    for (uint32_t i = 0; p->methods && i < p->plans.count; i++) {
        if (p->methods[i]) sc_rt_memory_free(p->methods[i]);
    }
    for (uint32_t i = 0; i < p->shared.count; i++) {
        const sc_rt_shared *shared = p->shared.data[i];
        if (shared->data && shared->backend->release) shared->backend->release(shared->data);
    }
    for (uint32_t i = 0; p->pools && i < p->pool_count; i++) sc_free(p->pools[i].data);
    sc_rt_named_close(p);
    sc_rt_data_map_close(&p->data_map);
    sc_rt_constants_free(p);
    sc_rt_deferred_free(p);
    sc_free(p->flat_owned);
    sc_arena_deinit(&p->arena);
    sc_free(p);
}

uint32_t sc_rt_program_method_count(const sc_rt_program *p) { return p->plans.count; }

sc_str sc_rt_program_method_name(const sc_rt_program *p, uint32_t index) {
    return sc_pte_ExecutionPlan_name(sc_rt_plan(p, index));
}
