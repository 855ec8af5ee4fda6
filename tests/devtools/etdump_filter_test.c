// Dumps have more than times: threads, and values of delegates, among which the host chooses.
#include "devtools/etdump/etdump.h"
#include "devtools/inspect/etdump_read.h"
#include "setup.h"
#include "team.h"

// Keeps texts that begin with an "A", and 7.
static bool keeps_some(void *user, sc_str id, int64_t number) {
    (void)user;
    return id.data ? id.size && id.data[0] == 'A' : number == 7;
}

static void tell_node(sc_rt_sink *sink, sc_rt_event node, const char *id, int64_t number) {
    const sc_evalue value = {.tag = SC_EVALUE_INT, .i = 5};
    node.kind = SC_RT_EVENT_DELEGATE;
    node.delegate_id = id ? sc_str_from(id) : (sc_str){0};
    node.delegate_number = number;
    sink->begin(sink, &node);
    sink->end(sink, &node, SC_OK);
    sink->output(sink, &node, &value);
}

// A call of a delegate that does four things.
static void run_nodes(sc_rt_sink *sink) {
    static const sc_rt_origin origin = {0, 0, {"NullBackend", 11}};
    const sc_rt_event run = {.kind = SC_RT_EVENT_RUN};
    const sc_rt_event call = {.kind = SC_RT_EVENT_INSTRUCTION,
                              .work = SC_RT_DELEGATE,
                              .origins = &origin,
                              .origin_count = 1};
    const sc_evalue value = {.tag = SC_EVALUE_INT, .i = 6};
    sink->begin(sink, &run);
    sink->begin(sink, &call);
    tell_node(sink, call, "Add #0", 0);
    tell_node(sink, call, "Mul #1", 0);
    tell_node(sink, call, NULL, 7);
    tell_node(sink, call, NULL, 8);
    sink->end(sink, &call, SC_OK);
    sink->output(sink, &call, &value);
    sink->end(sink, &run, SC_OK);
}

// The ids of what is of a kind, one after the other; that of the call itself is "call".
static const char *ids_of(setup *s, const sc_dump_run *run, sc_dump_event_kind kind) {
    sc_sb text;
    sc_sb_init(&text, &s->arena);
    for (uint32_t i = 0; i < run->event_count; i++) {
        const sc_dump_event *e = &run->events[i];
        if (e->kind != kind || e->chain < 0) continue;
        if (e->delegate_int != SC_DUMP_NO_ID)
            sc_sb_addf(&text, "%d ", e->delegate_int);
        else if (e->delegate_str.data)
            sc_sb_addf(&text, SC_STR_FMT " ", SC_STR_ARG(e->delegate_str));
        else
            sc_sb_addf(&text, "call ");
    }
    return sc_sb_terminate(&text);
}

// --- Threads -------------------------------------------------------------------------------------

// Threads of each event, one after the other.
static const char *threads_of(setup *s, const sc_dump_run *run) {
    sc_sb text;
    sc_sb_init(&text, &s->arena);
    for (uint32_t i = 0; i < run->event_count; i++) {
        const sc_dump_event *e = &run->events[i];
        if (e->kind != SC_DUMP_PROFILE) continue;
        CHECK_EQ_UINT(e->metadata.size, 0);
        sc_sb_addf(&text, "%u ", e->threads);
    }
    return sc_sb_terminate(&text);
}

static void report_threads(sc_rt_sink *sink, sc_rt_event event, uint32_t threads) {
    sink->begin(sink, &event);
    event.threads = threads;
    sink->end(sink, &event, SC_OK);
}

// Dumps say how many threads had a share, in engines that have several.
TEST(events_have_their_threads) {
    static const sc_rt_origin origin = {0, 0, {"aten::add.out", 13}};
    for (uint32_t width = 1; width <= 3; width += 2) {
        const sc_rt_event load = {.kind = SC_RT_EVENT_LOAD};
        sc_rt_event run = {.kind = SC_RT_EVENT_RUN};
        sc_rt_event node = {.kind = SC_RT_EVENT_DELEGATE, .delegate_number = 4};
        const sc_rt_event call = {
            .kind = SC_RT_EVENT_INSTRUCTION, .origins = &origin, .origin_count = 1};
        const uint8_t *data = NULL;
        size_t size = 0;
        sc_etdump_counts counts;
        sc_dump *read;
        setup s;
        setup_begin(&s);
        team_open(width);
        const bool is_known = sc_parallel_width() > 1;  // not in wasm
        sc_etdump *dump = sc_etdump_new(&s.arena, &s.ctx);
        sc_etdump_set_bytes_max(dump, 1 << 20);
        sc_rt_sink *sink = sc_etdump_listen(dump, SC_ETDUMP_TIMES, -1);
        report_threads(sink, load, 1);
        sink->begin(sink, &run);
        report_threads(sink, node, 3);
        report_threads(sink, call, 2);
        run.threads = 3;
        sink->end(sink, &run, SC_OK);
        team_close();
        REQUIRE_OK(sc_etdump_finish(dump));
        REQUIRE_OK(sc_etdump_write(&s.ctx, dump, &s.arena, &data, &size, &counts));
        sc_etdump_clear(dump);
        REQUIRE_OK(sc_dump_read(&s.ctx, sc_source_from_memory(&s.arena, data, size), NULL, &read));
        REQUIRE(read->run_count == 2);
        CHECK_EQ_STR(threads_of(&s, &read->runs[0]), is_known ? "1 1 " : "0 0 ");
        CHECK_EQ_STR(threads_of(&s, &read->runs[1]), is_known ? "3 2 2 3 " : "0 0 0 0 ");
        setup_end(&s);
    }
}

// --- Values --------------------------------------------------------------------------------------

TEST(the_host_chooses_among_values_of_delegates_alone) {
    for (int is_filtered = 0; is_filtered < 2; is_filtered++) {
        setup s;
        sc_dump *read;
        const uint8_t *data = NULL;
        size_t size = 0;
        sc_etdump_counts counts;
        setup_begin(&s);
        s.ctx.host.keeps_value = keeps_some;
        sc_etdump *dump = sc_etdump_new(&s.arena, &s.ctx);
        sc_etdump_set_bytes_max(dump, 1 << 20);
        sc_rt_sink *sink = sc_etdump_listen(dump, SC_ETDUMP_INTERMEDIATES, -1);
        sc_etdump_set_filtered(dump, is_filtered);
        run_nodes(sink);
        REQUIRE_OK(sc_etdump_finish(dump));
        REQUIRE_OK(sc_etdump_write(&s.ctx, dump, &s.arena, &data, &size, &counts));
        sc_etdump_clear(dump);
        REQUIRE_OK(sc_dump_read(&s.ctx, sc_source_from_memory(&s.arena, data, size), NULL, &read));
        REQUIRE(read->run_count == 1);
        CHECK_EQ_STR(ids_of(&s, read->runs, SC_DUMP_VALUE),
                     is_filtered ? "7 Add #0 call " : "8 7 Mul #1 Add #0 call ");
        CHECK_EQ_STR(ids_of(&s, read->runs, SC_DUMP_PROFILE), "8 7 Mul #1 Add #0 call ");
        setup_end(&s);
    }
}
