// The .ptd file: tensors by name, with their layout, each distinct run of bytes in a segment of its
// own.
//
//   0   u32  root offset, counted from here
//   4   "FT01"
//   8   "FH01", u32 header bytes (40), u64 offset of the FlatBuffer's rest (48), u64 FlatBuffer
//       bytes, u64 base of segments, u64 their bytes
//   56  the rest of the FlatBuffer
//   base (aligned): segments
#include "emit/emit_state.h"
#include "format/magic.h"

#include "flat_tensor_fbs.h"

#define HEADER_BYTES   40u
#define INSERTED_BYTES 48u  // the header, padded to keep the FlatBuffer aligned

static sc_status write_layout(sc_emit_state *state, const sc_constant *constant, sc_fb_ref *out) {
    sc_fb_builder *fb = &state->fb;
    int32_t sizes[SC_RANK_MAX];
    uint8_t order[SC_RANK_MAX];
    const sc_spec *spec = &constant->spec;
    for (uint32_t i = 0; i < spec->rank; i++) {
        if (spec->sizes[i].value > INT32_MAX)
            return sc_fail(state->ctx, SC_ERR_LIMIT, "Make the tensor smaller.",
                           "dimension %u of '" SC_STR_FMT "' is larger than 2^31 - 1", i,
                           SC_STR_ARG(constant->name));
        sizes[i] = (int32_t)spec->sizes[i].value;
    }
    if (!sc_storage_spec_order(NULL, spec, order))
        return sc_fail(state->ctx, SC_ERR_INTERNAL, NULL, "'" SC_STR_FMT "' is not dense",
                       SC_STR_ARG(constant->name));
    sc_fb_ref sizes_ref = sc_emit_vector(state, sizes, spec->rank, 4);
    sc_fb_ref order_ref = sc_emit_vector(state, order, spec->rank, 1);
    sc_fb_begin(fb);
    sc_ptd_TensorLayout_set_scalar_type(fb, (int8_t)spec->dtype);
    sc_ptd_TensorLayout_set_sizes(fb, sizes_ref);
    sc_ptd_TensorLayout_set_dim_order(fb, order_ref);
    *out = sc_fb_end(fb);
    return SC_OK;
}

static sc_status write_names(sc_emit_state *state, sc_fb_ref *out) {
    sc_fb_builder *fb = &state->fb;
    uint32_t count = state->external_tensors.count;
    sc_fb_ref *refs = sc_new_array(state->arena, sc_fb_ref, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const sc_emit_external *tensor = &state->external_tensors.data[i];
        sc_fb_ref layout = 0;
        SC_TRY(write_layout(state, tensor->constant, &layout));
        sc_fb_ref key = sc_fb_add_string(fb, tensor->constant->name);
        sc_fb_begin(fb);
        sc_ptd_NamedData_set_key(fb, key);
        sc_ptd_NamedData_set_segment_index(fb, tensor->blob - 1);
        sc_ptd_NamedData_set_tensor_layout(fb, layout);
        refs[i] = sc_fb_end(fb);
    }
    *out = sc_fb_add_refs(fb, refs, count);
    return SC_OK;
}

static sc_fb_ref write_segments(sc_emit_state *state, sc_cord *data) {
    sc_fb_builder *fb = &state->fb;
    uint32_t count = state->externals.blobs.count - 1;
    sc_fb_ref *refs = sc_new_array(state->arena, sc_fb_ref, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        sc_extent extent = state->externals.blobs.data[i + 1].data;
        sc_cord_align(data, state->options.segment_alignment);
        sc_fb_begin(fb);
        sc_ptd_DataSegment_set_offset(fb, data->size);
        sc_ptd_DataSegment_set_size(fb, extent.size);
        refs[i] = sc_fb_end(fb);
        sc_cord_append_extent(data, extent);
    }
    return sc_fb_add_refs(fb, refs, count);
}

static sc_status write_flatbuffer(sc_emit_state *state, sc_cord *segments, const uint8_t **data,
                                  size_t *size) {
    sc_fb_builder *fb = &state->fb;
    sc_fb_builder_init(fb, state->arena);
    sc_map_init(&state->vectors, state->arena);
    sc_fb_ref names = 0;
    SC_TRY(write_names(state, &names));
    sc_fb_ref directory = write_segments(state, segments);
    sc_fb_begin(fb);
    sc_ptd_FlatTensor_set_segments(fb, directory);
    sc_ptd_FlatTensor_set_named_data(fb, names);
    return sc_fb_finish(state->ctx, fb, sc_fb_end(fb), SC_PTD_IDENTIFIER, data, size);
}

sc_status sc_emit_ptd(sc_emit_state *state, sc_cord *out) {
    sc_cord segments;
    const uint8_t *data = NULL;
    size_t size = 0;
    sc_cord_init(&segments, state->arena);
    SC_TRY(write_flatbuffer(state, &segments, &data, &size));
    uint64_t base = sc_align_up(INSERTED_BYTES + size, state->options.segment_alignment);
    uint8_t head[8 + INSERTED_BYTES] = {0};
    memcpy(head, data, 8);
    sc_fb_store_u32(head, sc_fb_load_u32(data) + INSERTED_BYTES);
    memcpy(head + 8, SC_PTD_HEADER_MARK, 4);
    sc_fb_store_u32(head + 12, HEADER_BYTES);
    sc_fb_store_u64(head + 16, INSERTED_BYTES);
    sc_fb_store_u64(head + 24, size);
    sc_fb_store_u64(head + 32, base);
    sc_fb_store_u64(head + 40, segments.size);
    sc_cord_append_copy(out, head, sizeof head);
    sc_cord_append_bytes(out, data + 8, size - 8);
    sc_cord_align(out, state->options.segment_alignment);
    sc_cord_append_cord(out, &segments);
    return SC_OK;
}
