// Calls of delegated parts. A method lists one delegate for every call, also if two have the same
// bytes: runtimes start each on its own. The call's values are its operands and then its results.
#include "emit/emit_state.h"

#include "program_fbs.h"

static sc_fb_ref write_specs(sc_emit_state *state, const sc_part *part) {
    sc_fb_builder *fb = &state->fb;
    sc_fb_ref *refs = sc_new_array(state->arena, sc_fb_ref, part->specs.count + 1);
    for (uint32_t i = 0; i < part->specs.count; i++) {
        const sc_compile_spec *spec = &part->specs.data[i];
        sc_fb_ref key = sc_emit_string(state, spec->key);
        sc_fb_ref value = sc_emit_vector(state, spec->value.data, (uint32_t)spec->value.size, 1);
        sc_fb_begin(fb);
        sc_pte_CompileSpec_set_key(fb, key);
        sc_pte_CompileSpec_set_value(fb, value);
        refs[i] = sc_fb_end_shared(fb);
    }
    return sc_fb_add_refs(fb, refs, part->specs.count);
}

// The index of the segment is known when all methods are emitted. Runtimes load no empty segment.
static sc_status write_reference(sc_emit_state *state, const sc_part *part, sc_fb_ref *out) {
    sc_fb_builder *fb = &state->fb;
    sc_emit_processed processed = {.is_inline = !state->options.extract_delegate_segments ||
                                                part->processed->size == 0};
    SC_TRY(sc_store_add_cord(state->ctx, &state->segments, part->processed,
                             state->options.segment_alignment, &processed.blob));
    uint64_t *align = &state->segments.blobs.data[processed.blob].align;
    SC_TRY(sc_store_align(state->ctx, align, state->options.delegate_alignment));
    sc_fb_begin(fb);
    sc_pte_BackendDelegateDataReference_set_location(
        fb, processed.is_inline ? SC_PTE_DataLocation_INLINE : SC_PTE_DataLocation_SEGMENT);
    sc_pte_BackendDelegateDataReference_set_index(fb, UINT32_MAX);
    *out = processed.reference = sc_fb_end(fb);
    sc_vec_push(state->arena, &state->processed, processed);
    return SC_OK;
}

// The file for bytes that the backend made of weights; without such weights, that for their key.
static sc_status choose_file(sc_emit_state *state, const sc_part *part, const sc_part_data *data,
                             sc_str *file) {
    const sc_weight_files *files = &state->options.external_constants;
    sc_str first = data->key;
    *file = data->weights.count ? (sc_str){0} : sc_weight_files_of(files, data->key);
    for (uint32_t i = 0; i < data->weights.count; i++) {
        const sc_str weight = data->weights.data[i], other = sc_weight_files_of(files, weight);
        if (!other.size || sc_str_equal(*file, other)) continue;
        if (file->size)
            return sc_fail(
                state->ctx, SC_ERR_ARGUMENT, "Choose the same file for both.",
                "weights '" SC_STR_FMT "' and '" SC_STR_FMT "' of method '" SC_STR_FMT
                "' have the same bytes, which backend '" SC_STR_FMT
                "' stores once, but they are for the files '" SC_STR_FMT "' and '" SC_STR_FMT "'",
                SC_STR_ARG(first), SC_STR_ARG(weight), SC_STR_ARG(state->ctx->where.method),
                SC_STR_ARG(part->backend), SC_STR_ARG(*file), SC_STR_ARG(other));
        first = weight;
        *file = other;
    }
    return SC_OK;
}

// Equal bytes have one place. A file wins over the program: others may need its weight there.
static sc_str shared_file(sc_store *store, const sc_store_entry *known, sc_str file) {
    if (!file.size) return known->tag;
    if (!known->tag.size) sc_store_retag(store, known->key, file);
    return file;
}

static sc_status add_data(sc_emit_state *state, const sc_part *part, const sc_part_data *data) {
    sc_ctx *ctx = state->ctx;
    sc_store *store = &state->segments;
    if (!sc_str_is_file_name(data->tag))
        return sc_fail(ctx, SC_ERR_DELEGATE,
                       "Let the backend name the file without a folder or control characters.",
                       "backend '" SC_STR_FMT "' puts '" SC_STR_FMT
                       "' into a .ptd with the tag '" SC_STR_FMT
                       "', which is not a valid file name",
                       SC_STR_ARG(part->backend), SC_STR_ARG(data->key), SC_STR_ARG(data->tag));
    sc_store_entry entry = {.key = data->key, .tag = data->tag, .about = data->layout};
    if (!entry.tag.size) SC_TRY(choose_file(state, part, data, &entry.tag));
    SC_TRY(
        sc_store_add_cord(ctx, store, data->bytes, state->options.segment_alignment, &entry.blob));
    SC_TRY(sc_store_align(ctx, &store->blobs.data[entry.blob].align, data->align));
    const sc_store_entry *known = sc_store_find(store, data->key);
    if (known && known->blob != entry.blob)
        return sc_fail(ctx, SC_ERR_DELEGATE, "Let the backend give different data different names.",
                       "backend '" SC_STR_FMT "' gives named data '" SC_STR_FMT
                       "' of %llu bytes, but other data of %llu bytes has that name",
                       SC_STR_ARG(part->backend), SC_STR_ARG(data->key),
                       (unsigned long long)store->blobs.data[entry.blob].data.size,
                       (unsigned long long)store->blobs.data[known->blob].data.size);
    if (known && !data->tag.size) entry.tag = shared_file(store, known, entry.tag);
    if (known && !sc_str_equal(known->tag, entry.tag))
        return sc_fail(
            ctx, SC_ERR_DELEGATE, "Let the backend put all data of one name into one file.",
            "backend '" SC_STR_FMT "' puts named data '" SC_STR_FMT "' into two different files",
            SC_STR_ARG(part->backend), SC_STR_ARG(data->key));
    return sc_store_name(ctx, store, &entry);
}

static sc_status add_delegate(sc_emit_method *m, const sc_part *part) {
    sc_emit_state *state = m->state;
    sc_fb_builder *fb = &state->fb;
    for (uint32_t i = 0; i < part->data.count; i++)
        SC_TRY(add_data(state, part, &part->data.data[i]));
    sc_fb_ref reference = 0;
    SC_TRY(write_reference(state, part, &reference));
    sc_fb_ref specs = write_specs(state, part);
    sc_fb_ref id = sc_emit_string(state, part->backend);
    sc_fb_begin(fb);
    sc_pte_BackendDelegate_set_id(fb, id);
    sc_pte_BackendDelegate_set_processed(fb, reference);
    sc_pte_BackendDelegate_set_compile_specs(fb, specs);
    sc_vec_push(state->arena, &m->delegates, sc_fb_end(fb));
    return SC_OK;
}

static sc_status emit_values(sc_emit_method *m, const sc_node *node, int32_t *ids) {
    const sc_arg *operands = &node->args[1];
    for (uint32_t i = 0; i < operands->count; i++)
        SC_TRY(sc_emit_plain(m, &operands->items[i], ids++));
    for (uint32_t i = 0; i < node->out_count; i++) SC_TRY(sc_emit_value(m, node->outs[i], ids++));
    return SC_OK;
}

sc_status sc_emit_delegate(sc_emit_method *m, const sc_node *node) {
    sc_arena *scratch = m->state->ctx->scratch;
    sc_mark mark = sc_arena_mark(scratch);
    uint32_t count = node->args[1].count + node->out_count;
    int32_t *ids = sc_new_array(scratch, int32_t, count + 1);
    sc_status status = add_delegate(m, sc_node_part(node));
    if (status == SC_OK) status = emit_values(m, node, ids);
    if (status == SC_OK)
        sc_emit_delegate_call(m, (int32_t)m->delegates.count - 1, ids, count, node);
    sc_arena_rewind(scratch, mark);
    return status;
}
