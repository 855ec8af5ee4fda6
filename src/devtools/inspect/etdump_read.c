// Reads runs and their events from the FlatBuffer. Events are small, and a hostile file may refer
// to the same ones many times. So the size of the file bounds their number.
#include "devtools/dump_threads.h"
#include "devtools/inspect/etdump_read_internal.h"
#include "etdump_fbs.h"

enum {
    PREFIX_BYTES = 4,
    // The least size of an event: a reference, its table, and the table of its content. Runs,
    // allocators, and tensors of four dimensions are not smaller.
    EVENT_BYTES_MIN = 16,
    // Events may share names. All names together may be this many times the size of the file.
    TEXTS_PER_FILE = 8,
    TEXT_BYTES_FREE = 1 << 16
};

#define DUMP_BYTES_MAX (UINT64_C(1) << 30)

static bool has_identifier(const uint8_t *at) {
    return memcmp(at, sc_etdp_schema.identifier, 4) == 0;
}

bool sc_dump_is(const uint8_t *head, size_t size) {
    return (size >= SC_DUMP_HEAD_BYTES && has_identifier(head + 8)) ||
           (size >= 8 && has_identifier(head + 4));
}

static sc_status take_text(sc_dump_reader *r, size_t bytes) {
    if (bytes > r->text_left)
        return sc_fail(r->ctx, SC_ERR_LIMIT, "Write the dump again: it repeats itself.",
                       "the names in the dump are longer than the dump itself");
    r->text_left -= bytes;
    return SC_OK;
}

// --- Events --------------------------------------------------------------------------------------

static void read_profile(sc_fb_table t, sc_dump_event *out) {
    const sc_fb_vec metadata = sc_etdp_ProfileEvent_delegate_debug_metadata(t);
    *out = (sc_dump_event){
        .kind = SC_DUMP_PROFILE,
        .name = sc_etdp_ProfileEvent_name(t),
        .chain = sc_etdp_ProfileEvent_chain_index(t),
        .instruction = sc_etdp_ProfileEvent_instruction_id(t),
        .delegate_int = sc_etdp_ProfileEvent_delegate_debug_id_int(t),
        .delegate_str = sc_etdp_ProfileEvent_delegate_debug_id_str(t),
        .start = sc_etdp_ProfileEvent_start_time(t),
        .end = sc_etdp_ProfileEvent_end_time(t),
        .metadata = {(const char *)metadata.items, metadata.count},
    };
    uint64_t threads;
    const sc_str mark = SC_STR(SC_DUMP_THREADS);
    if (!sc_str_starts_with(out->metadata, SC_DUMP_THREADS) ||
        !sc_parse_u64(sc_str_slice(out->metadata, mark.size, out->metadata.size), &threads) ||
        threads > UINT32_MAX)
        return;
    out->threads = (uint32_t)threads;
    out->metadata = (sc_str){0};
}

// The chain of a value is an unsigned 64-bit number, all others are signed 32-bit numbers. Outside
// of instructions all bits are ones in both.
static int64_t chain_of_value(uint64_t chain) {
    return chain > INT64_MAX || chain == UINT32_MAX ? -1 : (int64_t)chain;
}

static sc_status read_debug(sc_dump_reader *r, sc_fb_table t, sc_dump_event *out) {
    *out = (sc_dump_event){
        .kind = SC_DUMP_VALUE,
        .name = sc_etdp_DebugEvent_name(t),
        .chain = chain_of_value(sc_etdp_DebugEvent_chain_index(t)),
        .instruction = sc_etdp_DebugEvent_instruction_id(t),
        .delegate_int = sc_etdp_DebugEvent_delegate_debug_id_int(t),
        .delegate_str = sc_etdp_DebugEvent_delegate_debug_id_str(t),
    };
    return sc_dump_read_value(r, sc_etdp_DebugEvent_debug_entry(t), &out->value);
}

static void read_allocation(sc_fb_table t, sc_dump_event *out) {
    *out = (sc_dump_event){.kind = SC_DUMP_ALLOCATION,
                           .chain = -1,
                           .instruction = -1,
                           .delegate_int = SC_DUMP_NO_ID,
                           .allocator = (uint32_t)sc_etdp_AllocationEvent_allocator_id(t),
                           .bytes = sc_etdp_AllocationEvent_allocation_size(t)};
}

static sc_status read_event(sc_dump_reader *r, sc_fb_table t, sc_dump_event *out) {
    const sc_fb_table profile = sc_etdp_Event_profile_event(t);
    const sc_fb_table debug = sc_etdp_Event_debug_event(t);
    const sc_fb_table allocation = sc_etdp_Event_allocation_event(t);
    *out = (sc_dump_event){.kind = SC_DUMP_NOTHING};
    if (profile.at)
        read_profile(profile, out);
    else if (debug.at)
        return read_debug(r, debug, out);
    else if (allocation.at)
        read_allocation(allocation, out);
    if (out->chain < 0) out->chain = -1;
    return take_text(r, out->name.size + out->delegate_str.size + out->metadata.size);
}

// --- Runs ----------------------------------------------------------------------------------------

static sc_status read_allocators(sc_dump_reader *r, sc_fb_vec list, sc_dump_run *run) {
    SC_TRY(sc_dump_take(r, &r->events, list.count, "allocators"));
    void *made;
    SC_TRY(sc_dump_alloc(r, list.count, sizeof(sc_str), "allocators", &made));
    sc_str *names = made;
    for (uint32_t i = 0; i < list.count; i++)
        names[i] = sc_etdp_Allocator_name(sc_fb_vec_table(list, i));
    run->allocators = names;
    run->allocator_count = list.count;
    return SC_OK;
}

static sc_status read_events(sc_dump_reader *r, sc_fb_vec list, sc_dump_run *run) {
    SC_TRY(sc_dump_take(r, &r->events, list.count, "events"));
    void *made;
    SC_TRY(sc_dump_alloc(r, list.count, sizeof(sc_dump_event), "events", &made));
    sc_dump_event *events = made;
    for (uint32_t i = 0; i < list.count; i++)
        SC_TRY(read_event(r, sc_fb_vec_table(list, i), &events[i]));
    run->events = events;
    run->event_count = list.count;
    return SC_OK;
}

static sc_status read_run(sc_dump_reader *r, sc_fb_table t, sc_dump_run *out) {
    *out = (sc_dump_run){.name = sc_etdp_RunData_name(t),
                         .bundled_index = sc_etdp_RunData_bundled_input_index(t)};
    SC_TRY(take_text(r, out->name.size));
    SC_TRY(read_allocators(r, sc_etdp_RunData_allocators(t), out));
    return read_events(r, sc_etdp_RunData_events(t), out);
}

static sc_status read_runs(sc_dump_reader *r, sc_fb_table root, sc_dump *out) {
    const sc_fb_vec list = sc_etdp_ETDump_run_data(root);
    SC_TRY(sc_dump_take(r, &r->events, list.count, "runs"));
    void *made;
    SC_TRY(sc_dump_alloc(r, list.count, sizeof(sc_dump_run), "runs", &made));
    sc_dump_run *runs = made;
    for (uint32_t i = 0; i < list.count; i++)
        SC_TRY(read_run(r, sc_fb_vec_table(list, i), &runs[i]));
    out->runs = runs;
    out->run_count = list.count;
    return SC_OK;
}

// --- The file ------------------------------------------------------------------------------------

// Finds the FlatBuffer after the prefix that states its length.
static sc_status find_flat(sc_ctx *ctx, const uint8_t *data, size_t size, const uint8_t **flat,
                           size_t *flat_size) {
    if (!sc_dump_is(data, size))
        return sc_fail(ctx, SC_ERR_FORMAT,
                       "Pass a file that ExecuTorch's event tracer has written.",
                       "this is not an ETDump: its identifier is missing");
    *flat = data;
    *flat_size = size;
    if (size < SC_DUMP_HEAD_BYTES || !has_identifier(data + 8) || has_identifier(data + 4))
        return SC_OK;
    const uint32_t bytes = sc_fb_load_u32(data);
    if (bytes > size - PREFIX_BYTES)
        return sc_fail(ctx, SC_ERR_TRUNCATED, "Write the dump again: the file ends too early.",
                       "this ETDump should have %u bytes, but the file has %zu", bytes, size);
    *flat = data + PREFIX_BYTES;
    *flat_size = bytes;
    return SC_OK;
}

sc_status sc_dump_read(sc_ctx *ctx, sc_source *source, sc_source *buffer, sc_dump **out) {
    const uint8_t *data, *flat;
    size_t size;
    SC_TRY(sc_extent_load(ctx, ctx->arena, sc_extent_whole(source), DUMP_BYTES_MAX, &data));
    SC_TRY(find_flat(ctx, data, (size_t)source->size, &flat, &size));
    SC_TRY(sc_fb_verify(ctx, &sc_etdp_schema, flat, size));
    const sc_fb_table root = sc_fb_root(flat);
    sc_dump *dump = sc_new(ctx->arena, sc_dump);
    sc_dump_reader r = {.ctx = ctx,
                        .dump = dump,
                        .buffer = buffer,
                        .most = size / EVENT_BYTES_MIN,
                        .text_left = (uint64_t)size * TEXTS_PER_FILE + TEXT_BYTES_FREE};
    dump->version = sc_etdp_ETDump_version(root);
    dump->has_buffer = buffer != NULL;
    dump->buffer_bytes = buffer ? buffer->size : 0;
    SC_TRY(read_runs(&r, root, dump));
    for (uint32_t i = 0; i < dump->run_count; i++) dump->event_count += dump->runs[i].event_count;
    dump->value_count = r.values;
    *out = dump;
    return SC_OK;
}
