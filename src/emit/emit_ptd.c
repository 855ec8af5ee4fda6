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

static sc_status write_layout(sc_emit_state *state, sc_str key, const sc_spec *spec,
                              sc_fb_ref *out) {
    sc_fb_builder *fb = &state->fb;
    int32_t sizes[SC_RANK_MAX];
    uint8_t order[SC_RANK_MAX];
    for (uint32_t i = 0; i < spec->rank; i++) {
        if (spec->sizes[i].value > INT32_MAX)
            return sc_fail(state->ctx, SC_ERR_LIMIT, "Make the tensor smaller.",
                           "dimension %u of '" SC_STR_FMT "' is larger than 2^31 - 1", i,
                           SC_STR_ARG(key));
        sizes[i] = (int32_t)spec->sizes[i].value;
    }
    if (!sc_storage_spec_order(NULL, spec, order))
        return sc_fail(state->ctx, SC_ERR_INTERNAL, NULL, "'" SC_STR_FMT "' is not dense",
                       SC_STR_ARG(key));
    sc_fb_ref sizes_ref = sc_emit_vector(state, sizes, spec->rank, 4);
    sc_fb_ref order_ref = sc_emit_vector(state, order, spec->rank, 1);
    sc_fb_begin(fb);
    sc_ptd_TensorLayout_set_scalar_type(fb, (int8_t)spec->dtype);
    sc_ptd_TensorLayout_set_sizes(fb, sizes_ref);
    sc_ptd_TensorLayout_set_dim_order(fb, order_ref);
    *out = sc_fb_end(fb);
    return SC_OK;
}

typedef struct ptd {
    sc_emit_state *state;
    sc_cord data;
    uint64_t align;  // offset of the place where `data` goes
    SC_VEC(const sc_store_entry *) entries;
    SC_VEC(uint32_t) blobs;  // one segment each
    uint32_t *segment_of;    // by blob, + 1
} ptd;

static void collect(ptd *f, sc_str tag) {
    const sc_store *store = &f->state->segments;
    f->segment_of = sc_new_array(f->state->arena, uint32_t, store->blobs.count);
    for (uint32_t i = 0; i < store->entries.count; i++) {
        const sc_store_entry *entry = &store->entries.data[i];
        if (!sc_str_equal(entry->tag, tag)) continue;
        sc_vec_push(f->state->arena, &f->entries, entry);
        if (f->segment_of[entry->blob]) continue;
        sc_vec_push(f->state->arena, &f->blobs, entry->blob);
        f->segment_of[entry->blob] = f->blobs.count;
    }
}

// Named data of a backend has a layout if the backend gave one.
static sc_status write_names(ptd *f, sc_fb_ref *out) {
    sc_fb_builder *fb = &f->state->fb;
    sc_fb_ref *refs = sc_new_array(f->state->arena, sc_fb_ref, f->entries.count + 1);
    for (uint32_t i = 0; i < f->entries.count; i++) {
        const sc_store_entry *entry = f->entries.data[i];
        sc_fb_ref layout = 0;
        if (entry->about) SC_TRY(write_layout(f->state, entry->key, entry->about, &layout));
        sc_fb_ref key = sc_fb_add_string(fb, entry->key);
        sc_fb_begin(fb);
        sc_ptd_NamedData_set_key(fb, key);
        sc_ptd_NamedData_set_segment_index(fb, f->segment_of[entry->blob] - 1);
        sc_ptd_NamedData_set_tensor_layout(fb, layout);
        refs[i] = sc_fb_end(fb);
    }
    *out = sc_fb_add_refs(fb, refs, f->entries.count);
    return SC_OK;
}

static sc_status write_segments(ptd *f, sc_fb_ref *out) {
    sc_fb_builder *fb = &f->state->fb;
    sc_fb_ref *refs = sc_new_array(f->state->arena, sc_fb_ref, f->blobs.count + 1);
    for (uint32_t i = 0; i < f->blobs.count; i++) {
        const sc_store_blob *blob = &f->state->segments.blobs.data[f->blobs.data[i]];
        SC_TRY(sc_store_align(f->state->ctx, &f->align, blob->align));
        sc_cord_align(&f->data, blob->align);
        sc_fb_begin(fb);
        sc_ptd_DataSegment_set_offset(fb, f->data.size);
        sc_ptd_DataSegment_set_size(fb, blob->data.size);
        refs[i] = sc_fb_end(fb);
        sc_store_append(&f->state->segments, f->blobs.data[i], &f->data);
    }
    *out = sc_fb_add_refs(fb, refs, f->blobs.count);
    return SC_OK;
}

static sc_status write_flatbuffer(ptd *f, const uint8_t **data, size_t *size) {
    sc_fb_builder *fb = &f->state->fb;
    sc_fb_builder_init(fb, f->state->arena);
    sc_map_init(&f->state->vectors, f->state->arena);
    sc_fb_ref names = 0, directory = 0;
    SC_TRY(write_names(f, &names));
    SC_TRY(write_segments(f, &directory));
    sc_fb_begin(fb);
    sc_ptd_FlatTensor_set_segments(fb, directory);
    sc_ptd_FlatTensor_set_named_data(fb, names);
    return sc_fb_finish(f->state->ctx, fb, sc_fb_end(fb), SC_PTD_IDENTIFIER, data, size);
}

sc_status sc_emit_ptd(sc_emit_state *state, sc_str tag, sc_cord *out) {
    ptd f = {.state = state, .align = 1};
    const uint8_t *data = NULL;
    size_t size = 0;
    sc_cord_init(&f.data, state->arena);
    collect(&f, tag);
    SC_TRY(write_flatbuffer(&f, &data, &size));
    uint64_t base = sc_round_up(INSERTED_BYTES + size, f.align);
    uint8_t head[8 + INSERTED_BYTES] = {0};
    memcpy(head, data, 8);
    sc_fb_store_u32(head, sc_fb_load_u32(data) + INSERTED_BYTES);
    memcpy(head + 8, SC_PTD_HEADER_MARK, 4);
    sc_fb_store_u32(head + 12, HEADER_BYTES);
    sc_fb_store_u64(head + 16, INSERTED_BYTES);
    sc_fb_store_u64(head + 24, size);
    sc_fb_store_u64(head + 32, base);
    sc_fb_store_u64(head + 40, f.data.size);
    sc_cord_append_copy(out, head, sizeof head);
    sc_cord_append_bytes(out, data + 8, size - 8);
    sc_cord_align(out, f.align);
    sc_cord_append_cord(out, &f.data);
    return SC_OK;
}
