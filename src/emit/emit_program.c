// The .pte file: a FlatBuffer, an extended header inserted behind its identifier, then segments.
//
//   0   u32  root offset, counted from here, header included
//   4   "ET12"
//   8   "eh00", u32 header bytes (32), u64 program bytes, u64 base of segments, u64 their bytes
//   40  the rest of the FlatBuffer
//   base (aligned): constants, the initial state of mutable buffers, what delegates get, named data
//
// The header exists only if segments have bytes. Offsets of segments count from their base.
#include "emit/emit_plan.h"
#include "emit/emit_segments.h"
#include "format/magic.h"

#include "program_fbs.h"

#define HEADER_BYTES 32u

static void begin_program(sc_ctx *ctx, sc_emit_state *state, const sc_options *options) {
    *state = (sc_emit_state){.ctx = ctx, .arena = ctx->arena, .options = *options};
    sc_fb_builder_init(&state->fb, ctx->arena);
    sc_store_init(&state->constants, ctx->arena);
    sc_store_init(&state->mutables, ctx->arena);
    sc_store_init(&state->segments, ctx->arena);
    sc_imap_init(&state->starts, ctx->arena);
    sc_map_init(&state->vectors, ctx->arena);
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
            return sc_fail(ctx, SC_ERR_ARGUMENT, "Give each method a different name.",
                           "two methods are called '%s'", name->text);
    }
    return SC_OK;
}

static sc_status emit_plans(sc_emit_state *state, const sc_program *program,
                            const sc_storage_table *tables, sc_fb_ref *plans, sc_emit_result *out) {
    sc_ctx *ctx = state->ctx;
    uint32_t count = program->methods.count, total = count + program->constant_methods.count;
    for (uint32_t i = 0; i < total; i++) {
        sc_emit_plan plan;
        SC_TRY(sc_progress(ctx, SC_PHASE_emit, i, total));
        SC_ASSERT(i >= count || tables[i].method == program->methods.data[i]);
        if (i < count)
            SC_TRY(sc_emit_plan_method(state, &tables[i], &plans[i], &plan));
        else
            SC_TRY(sc_emit_plan_constant(state, &program->constant_methods.data[i - count],
                                         &plans[i], &plan));
        sc_vec_push(ctx->arena, &out->plans, plan);
    }
    return SC_OK;
}

// --- The file ------------------------------------------------------------------------------------

static sc_fb_ref write_subsegments(sc_fb_builder *fb, uint32_t segment, const uint64_t *offsets,
                                   uint32_t count) {
    sc_fb_ref vector = sc_fb_add_vector(fb, offsets, count, 8, 8);
    sc_fb_begin(fb);
    sc_pte_SubsegmentOffsets_set_segment_index(fb, segment);
    sc_pte_SubsegmentOffsets_set_offsets(fb, vector);
    return sc_fb_end(fb);
}

static sc_fb_ref write_mutables(sc_emit_state *state, const sc_emit_segments *s) {
    if (!s->mutable_index) return 0;
    sc_fb_ref offsets = write_subsegments(&state->fb, s->mutable_index, s->mutable_offsets,
                                          state->mutables.blobs.count);
    return sc_fb_add_refs(&state->fb, &offsets, 1);
}

static sc_status write_root(sc_emit_state *state, const sc_emit_segments *s, const sc_fb_ref *plans,
                            uint32_t plan_count, const uint8_t **data, size_t *size) {
    sc_fb_builder *fb = &state->fb;
    sc_fb_ref empty = sc_emit_vector(state, NULL, 0, 4);
    sc_fb_ref inline_data = empty;
    if (state->processed.count) SC_TRY(sc_emit_inline_data(state, &inline_data));
    sc_fb_ref named_data = sc_emit_named_data(state);
    sc_fb_ref mutables = write_mutables(state, s);
    sc_fb_ref constants =
        write_subsegments(fb, 0, s->constant_offsets, state->constants.blobs.count);
    sc_fb_ref directory = sc_emit_directory(state, s);
    sc_fb_ref plans_ref = sc_fb_add_refs(fb, plans, plan_count);
    sc_fb_begin(fb);
    sc_pte_Program_set_execution_plan(fb, plans_ref);
    sc_pte_Program_set_constant_buffer(fb, empty);
    sc_pte_Program_set_backend_delegate_data(fb, inline_data);
    sc_pte_Program_set_segments(fb, directory);
    sc_pte_Program_set_constant_segment(fb, constants);
    sc_pte_Program_set_mutable_data_segments(fb, mutables);
    sc_pte_Program_set_named_data(fb, named_data);
    return sc_fb_finish(state->ctx, fb, sc_fb_end(fb), SC_PTE_IDENTIFIER, data, size);
}

static void write_file(const sc_emit_segments *s, const uint8_t *data, size_t size,
                       sc_emit_result *out) {
    sc_cord *cord = &out->program;
    out->program_bytes = size;
    if (s->data.size == 0) {
        sc_cord_append_bytes(cord, data, size);
        return;
    }
    uint8_t head[8 + HEADER_BYTES] = {0};
    out->program_bytes += HEADER_BYTES;
    uint64_t base = sc_round_up(out->program_bytes, s->align);
    memcpy(head, data, 8);
    sc_fb_store_u32(head, sc_fb_load_u32(data) + HEADER_BYTES);
    memcpy(head + 8, SC_PTE_HEADER_MARK, 4);
    sc_fb_store_u32(head + 12, HEADER_BYTES);
    sc_fb_store_u64(head + 16, out->program_bytes);
    sc_fb_store_u64(head + 24, base);
    sc_fb_store_u64(head + 32, s->data.size);
    sc_cord_append_copy(cord, head, sizeof head);
    sc_cord_append_bytes(cord, data + 8, size - 8);
    sc_cord_align(cord, s->align);
    sc_cord_append_cord(cord, &s->data);
}

static bool has_file(const sc_emit_result *result, sc_str tag) {
    for (uint32_t i = 0; i < result->files.count; i++)
        if (sc_str_equal(result->files.data[i].tag, tag)) return true;
    return false;
}

// Writes a file for every tag, in the order in which the tags were first named.
static sc_status emit_files(sc_emit_state *state, sc_emit_result *out) {
    for (uint32_t i = 0; i < state->segments.entries.count; i++) {
        sc_emit_file file = {.tag = state->segments.entries.data[i].tag};
        if (!file.tag.size || has_file(out, file.tag)) continue;
        sc_cord_init(&file.cord, state->arena);
        SC_TRY(sc_emit_ptd(state, file.tag, &file.cord));
        sc_vec_push(state->arena, &out->files, file);
    }
    return SC_OK;
}

sc_status sc_emit_program(sc_ctx *ctx, const sc_program *program, const sc_storage_table *tables,
                          const sc_options *options, sc_emit_result *out) {
    sc_emit_state state;
    *out = (sc_emit_result){0};
    sc_cord_init(&out->program, ctx->arena);
    ctx->where.pass = SC_STR("emit");
    SC_TRY(check_names(ctx, program));
    begin_program(ctx, &state, options);
    uint32_t plan_count = program->methods.count + program->constant_methods.count;
    sc_fb_ref *plans = sc_new_array(ctx->arena, sc_fb_ref, plan_count + 1);
    SC_TRY(emit_plans(&state, program, tables, plans, out));

    sc_emit_segments s;
    SC_TRY(sc_emit_segments_make(&state, &s));
    out->constant_bytes = s.list.data[0].data.size;
    if (s.mutable_index) out->mutable_bytes = s.list.data[s.mutable_index].data.size;
    const uint8_t *data = NULL;
    size_t size = 0;
    SC_TRY(write_root(&state, &s, plans, plan_count, &data, &size));
    write_file(&s, data, size, out);
    return emit_files(&state, out);
}
