// Combines a dump with the facts of a record.
#include "devtools/inspect/internal.h"

static uint64_t first_start(const sc_dump *dump) {
    uint64_t first = UINT64_MAX;
    for (uint32_t r = 0; r < dump->run_count; r++)
        for (uint32_t i = 0; i < dump->runs[r].event_count; i++) {
            const sc_dump_event *e = &dump->runs[r].events[i];
            if (sc_inspect_is_placed(e)) first = sc_min_u64(first, e->start);
        }
    return first == UINT64_MAX ? 0 : first;
}

static void warn_of_events(sc_inspection *in) {
    uint64_t backwards = 0, empty = 0;
    for (uint32_t r = 0; r < in->dump->run_count; r++)
        for (uint32_t i = 0; i < in->dump->runs[r].event_count; i++) {
            const sc_dump_event *e = &in->dump->runs[r].events[i];
            double elapsed;
            empty += e->kind == SC_DUMP_NOTHING;
            backwards += e->kind == SC_DUMP_PROFILE && !sc_inspect_elapsed(in, e, &elapsed);
        }
    if (backwards)
        sc_inspect_warn(in, sc_str_format(in->ctx->arena,
                                          "%llu events end before they start, and have no time",
                                          (unsigned long long)backwards));
    if (empty)
        sc_inspect_warn(in, sc_str_format(in->ctx->arena, "%llu events of the dump are empty",
                                          (unsigned long long)empty));
}

static void warn_of_values(sc_inspection *in) {
    if (in->dump->value_count && !in->dump->has_buffer)
        sc_inspect_warn(in, SC_STR("the dump has values: pass its debug buffer to see them"));
    if (in->dump->beyond_buffer)
        sc_inspect_warn(in, sc_str_format(in->ctx->arena,
                                          "%llu values lie outside of the debug buffer, which may "
                                          "be another dump's",
                                          (unsigned long long)in->dump->beyond_buffer));
}

// Reads the times that the caller has converted, by event.
static sc_status take_times(sc_inspection *in, const sc_inspect_options *options) {
    uint64_t count = 0;
    if (!options->delegate_times) return SC_OK;
    in->delegate_times = options->delegate_times;
    sc_imap_init(&in->delegate_places, in->ctx->arena);
    for (uint32_t r = 0; r < in->dump->run_count; r++)
        for (uint32_t i = 0; i < in->dump->runs[r].event_count; i++) {
            const sc_dump_event *e = &in->dump->runs[r].events[i];
            if (!sc_inspect_is_converted(e)) continue;
            sc_imap_set(&in->delegate_places, SC_PTR_KEY(e), count + 1);
            count += 2;
        }
    if (count == options->delegate_time_count) return SC_OK;
    return sc_fail(in->ctx, SC_ERR_ARGUMENT, NULL,
                   "there are %llu times of delegates, and the dump has %llu",
                   (unsigned long long)options->delegate_time_count, (unsigned long long)count);
}

sc_status sc_inspect(sc_ctx *ctx, const sc_dump *dump, const sc_inspect_options *options,
                     sc_inspection **out) {
    sc_inspection *in = sc_new(ctx->arena, sc_inspection);
    *in = (sc_inspection){.ctx = ctx,
                          .dump = dump,
                          .source_scale = options->source_scale,
                          .target_scale = options->target_scale,
                          .methods = options->methods,
                          .method_count = options->method_count};
    sc_map_init(&in->warned, ctx->arena);
    SC_TRY(sc_time_scale_factor(ctx, in->source_scale, in->target_scale, &in->factor));
    SC_TRY(take_times(in, options));
    in->origin = first_start(dump);
    warn_of_events(in);
    warn_of_values(in);
    SC_TRY(sc_inspect_merge(in));
    sc_inspect_correlating c = {.in = in};
    sc_map_init(&c.found, ctx->arena);
    SC_TRY(sc_inspect_match(&c, options->method));
    SC_TRY(sc_inspect_correlate(&c));
    if (in->warnings_left)
        sc_vec_push(ctx->arena, &in->warnings,
                    sc_str_format(ctx->arena, "and %llu more warnings like these",
                                  (unsigned long long)in->warnings_left));
    *out = in;
    return SC_OK;
}
