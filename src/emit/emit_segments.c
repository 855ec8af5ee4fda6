#include "emit/emit_segments.h"

#include "program_fbs.h"

static sc_emit_segment *add_segment(sc_emit_state *state, sc_emit_segments *s, uint64_t align) {
    sc_emit_segment segment = {.align = align};
    sc_cord_init(&segment.data, state->arena);
    sc_vec_push(state->arena, &s->list, segment);
    return &sc_vec_last(&s->list);
}

// A segment of many blobs, found by their offsets.
static void add_joint(sc_emit_state *state, sc_emit_segments *s, const sc_store *store,
                      uint64_t **offsets) {
    sc_cord *data = &add_segment(state, s, state->options.segment_alignment)->data;
    *offsets = sc_new_array(state->arena, uint64_t, store->blobs.count);
    sc_store_write(store, data, *offsets);
    // Loaders give no memory for a segment of no bytes, and then cannot find even empty constants.
    if (store->blobs.count > 1 && data->size == 0) sc_cord_append_zeros(data, 1);
}

// The segment of one blob of the store of segments, made on first request. Segment 0 has the
// constants, so 0 means that the blob has no segment yet.
static uint32_t segment_of(sc_emit_state *state, sc_emit_segments *s, uint32_t blob) {
    if (!state->segment_of[blob]) {
        sc_emit_segment *segment = add_segment(state, s, state->segments.blobs.data[blob].align);
        segment->size = state->segments.blobs.data[blob].data.size;
        segment->constant = s->constant_of[blob];
        if (!segment->constant) sc_store_append(&state->segments, blob, &segment->data);
        state->segment_of[blob] = s->list.count - 1;
    }
    return state->segment_of[blob];
}

// Smaller data is not worth the exception.
enum { SHARED_MIN = 64 << 10 };

// Finds the constants that named data repeats. They get the alignment that both want.
static sc_status find_shared(sc_emit_state *state, sc_emit_segments *s) {
    sc_store *constants = &state->constants;
    const sc_store *named = &state->segments;
    s->constant_of = sc_new_array(state->arena, uint32_t, named->blobs.count);
    for (uint32_t i = 1; i < named->blobs.count; i++) {
        const sc_store_blob *blob = &named->blobs.data[i];
        uint32_t *found = &s->constant_of[i];
        if (blob->data.size < SHARED_MIN) continue;
        SC_TRY(sc_store_find_equal(state->ctx, constants, blob, found));
        if (!*found) continue;
        SC_TRY(sc_store_align(state->ctx, &constants->blobs.data[*found].align, blob->align));
        SC_TRY(sc_store_align(state->ctx, &s->constants_align, blob->align));
    }
    return SC_OK;
}

static void add_processed(sc_emit_state *state, sc_emit_segments *s) {
    for (uint32_t i = 0; i < state->processed.count; i++) {
        const sc_emit_processed *processed = &state->processed.data[i];
        if (processed->is_inline) continue;
        sc_fb_patch_u32(&state->fb, processed->reference, SC_PTE_BackendDelegateDataReference_index,
                        segment_of(state, s, processed->blob));
    }
}

static bool is_named_here(const sc_store_entry *entry) { return entry->tag.size == 0; }

// Offsets count from the first segment's place, whose alignment suits all segments. An empty
// segment has an offset, too, which readers want inside the data.
static sc_status place(sc_ctx *ctx, sc_emit_segments *s) {
    for (uint32_t i = 0; i < s->list.count; i++) {
        sc_emit_segment *segment = &s->list.data[i];
        if (segment->constant) {
            segment->offset = s->list.data[0].offset + s->constant_offsets[segment->constant];
            continue;
        }
        segment->size = segment->data.size;
        SC_TRY(sc_store_align(ctx, &s->align, segment->align));
        sc_cord_align(&s->data, segment->align);
        segment->offset = s->data.size;
        sc_cord_append_cord(&s->data, &segment->data);
    }
    return SC_OK;
}

sc_status sc_emit_segments_make(sc_emit_state *state, sc_emit_segments *out) {
    const sc_store *store = &state->segments;
    *out = (sc_emit_segments){.align = 1, .constants_align = state->options.segment_alignment};
    sc_cord_init(&out->data, state->arena);
    state->segment_of = sc_new_array(state->arena, uint32_t, store->blobs.count);
    SC_TRY(find_shared(state, out));
    add_joint(state, out, &state->constants, &out->constant_offsets);
    out->list.data[0].align = out->constants_align;
    if (state->mutables.blobs.count > 1) {
        out->mutable_index = out->list.count;
        add_joint(state, out, &state->mutables, &out->mutable_offsets);
    }
    add_processed(state, out);
    for (uint32_t i = 0; i < store->entries.count; i++)
        if (is_named_here(&store->entries.data[i]))
            segment_of(state, out, store->entries.data[i].blob);
    return place(state->ctx, out);
}

sc_fb_ref sc_emit_directory(sc_emit_state *state, const sc_emit_segments *s) {
    sc_fb_builder *fb = &state->fb;
    sc_fb_ref *refs = sc_new_array(state->arena, sc_fb_ref, s->list.count);
    for (uint32_t i = 0; i < s->list.count; i++) {
        sc_fb_begin(fb);
        sc_pte_DataSegment_set_offset(fb, s->list.data[i].offset);
        sc_pte_DataSegment_set_size(fb, s->list.data[i].size);
        refs[i] = sc_fb_end(fb);
    }
    return sc_fb_add_refs(fb, refs, s->list.count);
}

sc_fb_ref sc_emit_named_data(sc_emit_state *state) {
    sc_fb_builder *fb = &state->fb;
    const sc_store *store = &state->segments;
    sc_fb_ref *refs = sc_new_array(state->arena, sc_fb_ref, store->entries.count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < store->entries.count; i++) {
        const sc_store_entry *entry = &store->entries.data[i];
        if (!is_named_here(entry)) continue;
        sc_fb_ref key = sc_fb_add_string(fb, entry->key);
        sc_fb_begin(fb);
        sc_pte_NamedData_set_key(fb, key);
        sc_pte_NamedData_set_segment_index(fb, state->segment_of[entry->blob]);
        refs[count++] = sc_fb_end(fb);
    }
    return count ? sc_fb_add_refs(fb, refs, count) : 0;
}

// Writes each distinct blob once, in the order in which delegates name them.
sc_status sc_emit_inline_data(sc_emit_state *state, sc_fb_ref *out) {
    sc_fb_builder *fb = &state->fb;
    sc_ctx *ctx = state->ctx;
    sc_fb_ref *refs = sc_new_array(state->arena, sc_fb_ref, state->processed.count + 1);
    uint32_t *index_of = sc_new_array(state->arena, uint32_t, state->segments.blobs.count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < state->processed.count; i++) {
        const sc_emit_processed *processed = &state->processed.data[i];
        if (!processed->is_inline) continue;
        if (!index_of[processed->blob]) {
            const uint8_t *bytes = NULL;
            sc_extent data = state->segments.blobs.data[processed->blob].data;
            SC_TRY(sc_extent_load(ctx, state->arena, data, ctx->limits.constant_bytes_max, &bytes));
            sc_fb_ref vector = sc_fb_add_vector(fb, bytes, (uint32_t)data.size, 1,
                                                state->options.delegate_alignment);
            sc_fb_begin(fb);
            sc_pte_BackendDelegateInlineData_set_data(fb, vector);
            refs[count++] = sc_fb_end(fb);
            index_of[processed->blob] = count;
        }
        sc_fb_patch_u32(fb, processed->reference, SC_PTE_BackendDelegateDataReference_index,
                        index_of[processed->blob] - 1);
    }
    *out = sc_fb_add_refs(fb, refs, count);
    return SC_OK;
}
