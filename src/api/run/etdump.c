// The event tracer of a job, which makes dumps. The kept data is fetched as two outputs of the job.
#include "api/run/etdump.h"

#include "api/job/call_memory.h"
#include "api/run/running.h"

sc_status sc_run_event_tracer(sc_job *job, sc_event_tracer what, int32_t bundled_input_index,
                              bool is_filtered) {
    static const sc_etdump_level LEVELS[] = {[SC_EVENT_TRACER_EVENTS] = SC_ETDUMP_TIMES,
                                             [SC_EVENT_TRACER_OUTPUTS] = SC_ETDUMP_OUTPUTS,
                                             [SC_EVENT_TRACER_INTERMEDIATES] =
                                                 SC_ETDUMP_INTERMEDIATES};
    (void)sc_job_begin(job);
    SC_TRY(sc_job_require_program(job));
    SC_ASSERT((unsigned)what < SC_COUNT_OF(LEVELS));
    sc_rt_sink *sink =
        sc_etdump_listen(sc_job_running(job)->tracer.dump, LEVELS[what], bundled_input_index);
    sc_etdump_set_filtered(sc_job_running(job)->tracer.dump, is_filtered);
    sc_job_running(job)->tracer.is_on = what != SC_EVENT_TRACER_OFF;
    sc_rt_program_listen(sc_job_running(job)->program,
                         sc_job_running(job)->tracer.is_on ? sink : NULL);
    return SC_OK;
}

void sc_job_begin_events(sc_job *job) {
    if (sc_job_running(job)->tracer.is_on && sc_job_running(job)->tracer.is_fetched)
        sc_run_etdump_free(job);
}

sc_status sc_job_end_events(sc_job *job, sc_status status) {
    const sc_status kept = sc_etdump_finish(sc_job_running(job)->tracer.dump);
    return status == SC_OK ? kept : status;
}

static void put_counts(sc_job *job, const sc_etdump_counts *counts, sc_str *json) {
    sc_sb sb = sc_job_text(job);
    sc_json_writer w;
    sc_json_writer_init(&w, &sb, SC_JSON_COMPACT);
    sc_json_begin_object(&w);
    sc_json_put_u64(&w, "blocks", counts->blocks);
    sc_json_put_u64(&w, "events", counts->events);
    sc_json_put_u64(&w, "values", counts->values);
    sc_json_put_u64(&w, "unseen", counts->unseen);
    sc_json_put_u64(&w, "omitted", counts->omitted);
    sc_json_put_u64(&w, "widened", counts->widened);
    sc_json_put_u64(&w, "instants", counts->instants);
    sc_json_put_u64(&w, "clock_step", counts->clock_step);
    sc_json_end_object(&w);
    *json = sc_sb_str(&sb);
}

static uint32_t add_file(sc_job *job, const char *name, const sc_cord *cord) {
    const sc_output output = {.program = SC_NO_PROGRAM, .name = sc_str_from(name), .cord = *cord};
    return sc_job_add_output(job, &output);
}

static void add_files(sc_job *job, const uint8_t *data, size_t size) {
    sc_cord cord;
    sc_cord_init(&cord, &sc_job_running(job)->tracer.fetched);
    sc_cord_append_bytes(&cord, data, size);
    sc_job_running(job)->tracer.outputs[0] = add_file(job, "etdump", &cord);
    sc_cord_init(&cord, &sc_job_running(job)->tracer.fetched);
    sc_etdump_put_debug_buffer(sc_job_running(job)->tracer.dump, &cord);
    sc_job_running(job)->tracer.outputs[1] = add_file(job, "debug_buffer", &cord);
}

sc_status sc_run_etdump(sc_job *job, sc_str *json, uint32_t *etdump, uint32_t *debug_buffer) {
    sc_ctx *ctx = sc_job_begin(job);
    SC_TRY(sc_job_require_program(job));
    if (sc_job_running(job)->tracer.is_fetched) sc_run_etdump_free(job);
    if (sc_etdump_is_empty(sc_job_running(job)->tracer.dump))
        return sc_fail(ctx, SC_ERR_STATE, "Run a method with { events: true } first.",
                       "no run was recorded since the last dump");
    const uint8_t *data = NULL;
    size_t size = 0;
    sc_etdump_counts counts;
    SC_TRY(sc_etdump_write(ctx, sc_job_running(job)->tracer.dump,
                           &sc_job_running(job)->tracer.fetched, &data, &size, &counts));
    add_files(job, data, size);
    *etdump = sc_job_running(job)->tracer.outputs[0];
    *debug_buffer = sc_job_running(job)->tracer.outputs[1];
    sc_job_running(job)->tracer.is_fetched = true;
    put_counts(job, &counts, json);
    return SC_OK;
}

void sc_run_etdump_free(sc_job *job) {
    if (!sc_job_running(job)->tracer.is_fetched) return;
    sc_job_running(job)->tracer.is_fetched = false;
    for (uint32_t i = 0; i < SC_COUNT_OF(sc_job_running(job)->tracer.outputs); i++)
        sc_output_free(job, sc_job_running(job)->tracer.outputs[i]);
    sc_etdump_clear(sc_job_running(job)->tracer.dump);
    sc_arena_deinit(&sc_job_running(job)->tracer.fetched);
    sc_arena_init(&sc_job_running(job)->tracer.fetched);
}
