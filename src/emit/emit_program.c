// The .pte file: a FlatBuffer, an extended header inserted behind its identifier, then segments.
//
//   0   u32  root offset, counted from here, header included
//   4   "ET12"
//   8   "eh00", u32 header bytes (32), u64 program bytes, u64 base of segments, u64 their bytes
//   40  the rest of the FlatBuffer
//   base (aligned): constants, then the initial state of mutable buffers
//
// The header is there only when segments hold bytes. Offsets of segments count from their base.
#include "emit/emit_plan.h"
#include "format/magic.h"

#include "program_fbs.h"

#define HEADER_BYTES 32u

static void begin_program(sc_ctx *ctx, sc_emit_state *state, const sc_emit_options *options) {
    *state = (sc_emit_state){.ctx = ctx, .arena = ctx->arena, .options = *options};
    sc_fb_builder_init(&state->fb, ctx->arena);
    sc_emit_store_init(&state->constants, ctx->arena);
    sc_emit_store_init(&state->mutables, ctx->arena);
    sc_emit_store_init(&state->externals, ctx->arena);
    sc_map_init(&state->external_names, ctx->arena);
    sc_imap_init(&state->starts, ctx->arena);
    sc_map_init(&state->vectors, ctx->arena);
}

static bool is_power_of_two(uint32_t value) { return value && (value & (value - 1)) == 0; }

static sc_status check_options(sc_ctx *ctx, const sc_emit_options *options) {
    if (is_power_of_two(options->segment_alignment) && is_power_of_two(options->constant_alignment))
        return SC_OK;
    return sc_fail(ctx, SC_ERR_OPTION, "Give 16, 128 or another power of two.",
                   "alignments are powers of two, not %u and %u", options->segment_alignment,
                   options->constant_alignment);
}

// --- Methods -------------------------------------------------------------------------------------

static sc_status check_names(sc_ctx *ctx, const sc_program *program) {
    sc_map names;
    sc_map_init(&names, ctx->arena);
    for (uint32_t i = 0; i < program->methods.count + program->constant_methods.count; i++) {
        const sc_name *name = i < program->methods.count
                                  ? program->methods.data[i]->name
                                  : program->constant_methods.data[i - program->methods.count].name;
        if (!sc_map_add(&names, sc_name_str(name), &names))
            return sc_fail(ctx, SC_ERR_ARGUMENT, "Give each method a name of its own.",
                           "two methods are called '%s'", name->text);
    }
    return SC_OK;
}

// Storage tables by method name; few, so insertion is enough.
static const sc_storage_table **sort_methods(sc_arena *arena, const sc_program *program,
                                             const sc_storage_table *tables) {
    uint32_t count = program->methods.count;
    const sc_storage_table **sorted = sc_new_array(arena, const sc_storage_table *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        SC_ASSERT(tables[i].method == program->methods.data[i]);
        sc_str name = sc_name_str(tables[i].method->name);
        uint32_t at = i;
        for (; at > 0 && sc_str_compare(name, sc_name_str(sorted[at - 1]->method->name)) < 0; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = &tables[i];
    }
    return sorted;
}

static sc_status emit_plans(sc_emit_state *state, const sc_program *program,
                            const sc_storage_table *tables, sc_fb_ref *plans, sc_emit_result *out) {
    sc_ctx *ctx = state->ctx;
    const sc_storage_table **sorted = sort_methods(ctx->arena, program, tables);
    uint32_t count = program->methods.count, total = count + program->constant_methods.count;
    for (uint32_t i = 0; i < total; i++) {
        sc_emit_plan plan;
        SC_TRY(sc_progress(ctx, "emit", i, total));
        if (i < count)
            SC_TRY(sc_emit_plan_method(state, sorted[i], &plans[i], &plan));
        else
            SC_TRY(sc_emit_plan_constant(state, &program->constant_methods.data[i - count],
                                         &plans[i], &plan));
        sc_vec_push(ctx->arena, &out->plans, plan);
    }
    return SC_OK;
}

// --- Segments ------------------------------------------------------------------------------------

typedef struct segments {
    sc_cord data;  // all of them, from the first one's beginning
    uint64_t offsets[2], sizes[2];
    uint32_t count;
    uint64_t *blob_offsets[2];
} segments;

static void write_segment(sc_emit_state *state, segments *s, const sc_emit_store *store,
                          uint32_t blob_align) {
    sc_cord blobs;
    sc_cord_init(&blobs, state->arena);
    sc_emit_store_write(state->arena, store, blob_align, &blobs, &s->blob_offsets[s->count]);
    if (blobs.size) sc_cord_align(&s->data, state->options.segment_alignment);
    s->offsets[s->count] = sc_align_up(s->data.size, state->options.segment_alignment);
    s->sizes[s->count++] = blobs.size;
    sc_cord_append_cord(&s->data, &blobs);
}

static sc_fb_ref write_subsegments(sc_fb_builder *fb, uint32_t segment, const uint64_t *offsets,
                                   uint32_t count) {
    sc_fb_ref vector = sc_fb_add_vector(fb, offsets, count, 8, 8);
    sc_fb_begin(fb);
    sc_pte_SubsegmentOffsets_set_segment_index(fb, segment);
    sc_pte_SubsegmentOffsets_set_offsets(fb, vector);
    return sc_fb_end(fb);
}

static sc_fb_ref write_directory(sc_fb_builder *fb, const segments *s) {
    sc_fb_ref refs[2];
    for (uint32_t i = 0; i < s->count; i++) {
        sc_fb_begin(fb);
        sc_pte_DataSegment_set_offset(fb, s->offsets[i]);
        sc_pte_DataSegment_set_size(fb, s->sizes[i]);
        refs[i] = sc_fb_end(fb);
    }
    return sc_fb_add_refs(fb, refs, s->count);
}

// --- The file ------------------------------------------------------------------------------------

static sc_status write_root(sc_emit_state *state, const segments *s, const sc_fb_ref *plans,
                            uint32_t plan_count, const uint8_t **data, size_t *size) {
    sc_fb_builder *fb = &state->fb;
    sc_fb_ref none = sc_emit_vector(state, NULL, 0, 4);
    sc_fb_ref mutables = 0;
    if (s->count > 1) {
        sc_fb_ref offsets =
            write_subsegments(fb, 1, s->blob_offsets[1], state->mutables.blobs.count);
        mutables = sc_fb_add_refs(fb, &offsets, 1);
    }
    sc_fb_ref constants =
        write_subsegments(fb, 0, s->blob_offsets[0], state->constants.blobs.count);
    sc_fb_ref directory = write_directory(fb, s);
    sc_fb_ref plans_ref = sc_fb_add_refs(fb, plans, plan_count);
    sc_fb_begin(fb);
    sc_pte_Program_set_execution_plan(fb, plans_ref);
    sc_pte_Program_set_constant_buffer(fb, none);
    sc_pte_Program_set_backend_delegate_data(fb, none);
    sc_pte_Program_set_segments(fb, directory);
    sc_pte_Program_set_constant_segment(fb, constants);
    sc_pte_Program_set_mutable_data_segments(fb, mutables);
    return sc_fb_finish(state->ctx, fb, sc_fb_end(fb), SC_PTE_IDENTIFIER, data, size);
}

static void write_file(const sc_emit_state *state, const segments *s, const uint8_t *data,
                       size_t size, sc_emit_result *out) {
    sc_cord *cord = &out->program;
    out->program_bytes = size;
    if (s->data.size == 0) {
        sc_cord_append_bytes(cord, data, size);
        return;
    }
    uint8_t head[8 + HEADER_BYTES] = {0};
    out->program_bytes += HEADER_BYTES;
    uint64_t base = sc_align_up(out->program_bytes, state->options.segment_alignment);
    memcpy(head, data, 8);
    sc_fb_store_u32(head, sc_fb_load_u32(data) + HEADER_BYTES);
    memcpy(head + 8, SC_PTE_HEADER_MARK, 4);
    sc_fb_store_u32(head + 12, HEADER_BYTES);
    sc_fb_store_u64(head + 16, out->program_bytes);
    sc_fb_store_u64(head + 24, base);
    sc_fb_store_u64(head + 32, s->data.size);
    sc_cord_append_copy(cord, head, sizeof head);
    sc_cord_append_bytes(cord, data + 8, size - 8);
    sc_cord_align(cord, state->options.segment_alignment);
    sc_cord_append_cord(cord, &s->data);
}

static sc_status emit_files(sc_emit_state *state, sc_emit_result *out) {
    if (!state->external_tensors.count) return SC_OK;
    sc_emit_file file = {.tag = state->options.external_tag};
    sc_cord_init(&file.cord, state->arena);
    SC_TRY(sc_emit_ptd(state, &file.cord));
    sc_vec_push(state->arena, &out->files, file);
    return SC_OK;
}

sc_status sc_emit_program(sc_ctx *ctx, const sc_program *program, const sc_storage_table *tables,
                          const sc_emit_options *options, sc_emit_result *out) {
    sc_emit_state state;
    *out = (sc_emit_result){0};
    sc_cord_init(&out->program, ctx->arena);
    ctx->where.pass = SC_STR("emit");
    SC_TRY(check_options(ctx, options));
    SC_TRY(check_names(ctx, program));
    begin_program(ctx, &state, options);
    uint32_t plan_count = program->methods.count + program->constant_methods.count;
    sc_fb_ref *plans = sc_new_array(ctx->arena, sc_fb_ref, plan_count + 1);
    SC_TRY(emit_plans(&state, program, tables, plans, out));

    segments s = {0};
    sc_cord_init(&s.data, ctx->arena);
    write_segment(&state, &s, &state.constants, options->constant_alignment);
    if (state.mutables.blobs.count > 1) write_segment(&state, &s, &state.mutables, 1);
    out->constant_bytes = s.sizes[0];
    out->mutable_bytes = s.sizes[1];
    const uint8_t *data = NULL;
    size_t size = 0;
    SC_TRY(write_root(&state, &s, plans, plan_count, &data, &size));
    write_file(&state, &s, data, size, out);
    return emit_files(&state, out);
}
