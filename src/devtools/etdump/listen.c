// Turns events into entries. A block is kept whole or not at all.
#include "base/parallel.h"
#include "base/print.h"
#include "devtools/etdump/internal.h"

void sc_etdump_init(sc_etdump *dump, sc_ctx *ctx, uint64_t bytes_max) {
    *dump = (sc_etdump){.ctx = ctx, .bytes_max = bytes_max};
    sc_arena_init(&dump->name_arena);
    sc_map_init(&dump->names, &dump->name_arena);
}

sc_etdump *sc_etdump_new(sc_arena *arena, sc_ctx *ctx) {
    sc_etdump *dump = sc_new(arena, sc_etdump);
    sc_etdump_init(dump, ctx, 0);
    return dump;
}

void sc_etdump_set_bytes_max(sc_etdump *dump, uint64_t bytes_max) { dump->bytes_max = bytes_max; }

// --- Blocks --------------------------------------------------------------------------------------

static void set_mark(sc_etdump *dump) {
    const uint32_t pieces = sc_etdump_piece_count(dump);
    dump->mark = (sc_etdump_mark){
        .entries = dump->entries.size,
        .sizes = dump->sizes.size,
        .pieces = pieces,
        .piece_size = pieces ? sc_etdump_piece_at(dump, pieces - 1)->size : 0,
        .debug_bytes = dump->debug_bytes,
        .held_bytes = dump->held_bytes,
        .written_bytes = dump->written_bytes,
        .widened = dump->widened,
        .omitted = dump->omitted,
    };
}

static void drop_names(sc_etdump *dump) {
    sc_arena_deinit(&dump->name_arena);
    sc_arena_init(&dump->name_arena);
    sc_map_init(&dump->names, &dump->name_arena);
    dump->name_bytes = 0;
    dump->name_written_bytes = 0;
}

// Names stay and count until the dump is fetched, because other blocks may use them.
static void drop_block(sc_etdump *dump) {
    const sc_etdump_mark *mark = &dump->mark;
    sc_etdump_drop_pieces(dump, (uint32_t)mark->pieces);
    if (mark->pieces) sc_etdump_piece_at(dump, (uint32_t)mark->pieces - 1)->size = mark->piece_size;
    dump->entries.size = mark->entries;
    dump->sizes.size = mark->sizes;
    dump->debug_bytes = mark->debug_bytes;
    dump->held_bytes = mark->held_bytes;
    dump->written_bytes = mark->written_bytes;
    dump->widened = mark->widened;
    dump->omitted = mark->omitted;
    if (!mark->entries) drop_names(dump);
}

sc_status sc_etdump_finish(sc_etdump *dump) {
    const sc_status status = dump->status;
    if (status == SC_OK) return SC_OK;
    drop_block(dump);
    dump->status = SC_OK;
    if (status == SC_ERR_MEMORY)
        return sc_fail(
            dump->ctx, status, "Fetch the records with etdump() more often, or record no values.",
            "no memory to record the events of this call; the call ran, but was not recorded");
    return sc_fail(
        dump->ctx, status, "Fetch the records with etdump() first, or raise eventBytesMax in load.",
        "the events of this call exceed the limits of a dump, %llu bytes in all and "
        "%llu MB of times; the call ran, but was not recorded",
        (unsigned long long)dump->bytes_max, (unsigned long long)SC_ETDUMP_WRITTEN_MAX >> 20);
}

// --- The listener --------------------------------------------------------------------------------

static uint64_t look_at_clock(sc_etdump *dump) {
    const double ms = sc_now_ms(dump->ctx);
    const uint64_t now = ms > 0 ? (uint64_t)(ms * 1e6 + 0.5) : 0;
    const uint64_t step = now - dump->last;
    if (dump->last && now > dump->last && (step < dump->step || !dump->step)) dump->step = step;
    dump->last = now;
    return now;
}

// Dumps of an engine with one thread do not tell the number.
static uint8_t threads_of(const sc_rt_event *event) {
    return sc_parallel_width() > 1 ? (uint8_t)event->threads : 0;
}

static void begin_block(sc_etdump *dump, bool is_run) {
    set_mark(dump);
    sc_etdump_entry *block = sc_etdump_add(dump, is_run ? SC_ETDUMP_RUN : SC_ETDUMP_LOAD);
    if (!block) return;
    dump->block = sc_etdump_count(dump) - 1;
    block->what = (uint8_t)dump->level;
    block->bundled_input_index = is_run ? dump->bundled_input_index : -1;
    block->begin = look_at_clock(dump);
}

static void on_begin(sc_rt_sink *sink, const sc_rt_event *event) {
    sc_etdump *dump = sink->user;
    switch (event->kind) {
    case SC_RT_EVENT_LOAD: begin_block(dump, false); return;
    case SC_RT_EVENT_RUN: begin_block(dump, true); return;
    case SC_RT_EVENT_INSTRUCTION: dump->begin = look_at_clock(dump); return;
    case SC_RT_EVENT_DELEGATE: dump->node_begin = look_at_clock(dump); return;
    }
}

static void end_instruction(sc_etdump *dump, const sc_rt_event *event) {
    const uint64_t now = look_at_clock(dump);
    sc_etdump_entry *entry = sc_etdump_add(dump, SC_ETDUMP_INSTRUCTION);
    if (!entry) return;
    // Each origin is written in two scopes.
    if (!sc_etdump_charge(dump, 0, UINT64_C(2) * event->origin_count * SC_ETDUMP_WRITTEN)) return;
    entry->what = (uint8_t)event->work;
    entry->threads = threads_of(event);
    entry->count = event->origin_count;
    entry->origins = event->origins;
    entry->begin = dump->begin;
    entry->end = now;
}

// Delegates that count get their number as text, too, because the format's numbers have 32 bits.
static sc_str id_of(const sc_rt_event *event, char text[24]) {
    if (event->delegate_id.data) return event->delegate_id;
    const size_t size = sc_print(text, 24, "%lld", (long long)event->delegate_number);
    return (sc_str){text, size};
}

static bool is_small(int64_t number) { return number >= 0 && number <= INT32_MAX; }

static void end_node(sc_etdump *dump, const sc_rt_event *event) {
    const uint64_t now = look_at_clock(dump);
    const bool is_number = !event->delegate_id.data && is_small(event->delegate_number);
    char text[24];
    const sc_str *id = is_number ? NULL : sc_etdump_keep_name(dump, id_of(event, text));
    sc_etdump_entry *entry = sc_etdump_add(dump, SC_ETDUMP_NODE);
    if (!entry) return;
    entry->threads = threads_of(event);
    entry->id = id;
    entry->count = is_number ? (uint32_t)event->delegate_number : 0;
    entry->begin = dump->node_begin;
    entry->end = now;
}

static void end_block(sc_etdump *dump, const sc_rt_event *event) {
    if (dump->status != SC_OK) return;
    sc_etdump_entry *block = sc_etdump_at(dump, dump->block);
    block->end = look_at_clock(dump);
    block->threads = threads_of(event);
    if (event->kind == SC_RT_EVENT_RUN) (void)sc_etdump_add(dump, SC_ETDUMP_RETURN);
}

static void on_end(sc_rt_sink *sink, const sc_rt_event *event, sc_status status) {
    (void)status;
    sc_etdump *dump = sink->user;
    switch (event->kind) {
    case SC_RT_EVENT_LOAD:
    case SC_RT_EVENT_RUN: end_block(dump, event); return;
    case SC_RT_EVENT_INSTRUCTION: end_instruction(dump, event); return;
    case SC_RT_EVENT_DELEGATE: end_node(dump, event); return;
    }
}

static bool is_kept(const sc_etdump *dump, const sc_rt_event *event) {
    const sc_host *host = &dump->ctx->host;
    if (event->kind != SC_RT_EVENT_DELEGATE || !dump->is_filtered || !host->keeps_value)
        return true;
    return host->keeps_value(host->user, event->delegate_id, event->delegate_number);
}

static bool is_wanted(const sc_etdump *dump, const sc_rt_event *event) {
    if (event->kind == SC_RT_EVENT_RUN) return true;
    return dump->level == SC_ETDUMP_INTERMEDIATES &&
           sc_etdump_is_shown(event->work, &event->origins[event->origin_count - 1]) &&
           is_kept(dump, event);
}

static void on_output(sc_rt_sink *sink, const sc_rt_event *event, const sc_evalue *value) {
    sc_etdump *dump = sink->user;
    if (is_wanted(dump, event)) sc_etdump_add_value(dump, value);
}

void sc_etdump_set_filtered(sc_etdump *dump, bool is_filtered) { dump->is_filtered = is_filtered; }

sc_rt_sink *sc_etdump_listen(sc_etdump *dump, sc_etdump_level level, int32_t bundled_input_index) {
    dump->level = level;
    dump->bundled_input_index = bundled_input_index;
    dump->sink = (sc_rt_sink){on_begin, on_end, level == SC_ETDUMP_TIMES ? NULL : on_output, dump};
    return &dump->sink;
}

void sc_etdump_clear(sc_etdump *dump) {
    sc_etdump_drop_pieces(dump, 0);
    sc_free(dump->entries.data);
    sc_free(dump->sizes.data);
    sc_free(dump->pieces.data);
    sc_arena_deinit(&dump->name_arena);
    const sc_etdump old = *dump;
    sc_etdump_init(dump, old.ctx, old.bytes_max);
    (void)sc_etdump_listen(dump, old.level, old.bundled_input_index);
    dump->is_filtered = old.is_filtered;
}
