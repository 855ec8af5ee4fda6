// The inspector: opens a dump and a record, and answers queries about them as JSON.
#include "api/inspect/inspector.h"

#include "api/job/call_memory.h"
#include "api/run/running.h"

// --- Options -------------------------------------------------------------------------------------

static sc_status read_scale(sc_ctx *ctx, const sc_json *object, const char *key,
                            sc_time_scale *out) {
    const sc_json *value = sc_json_get(object, key);
    if (!value) return SC_OK;
    if (value->kind == SC_JSON_STRING && sc_time_scale_from(sc_json_str(ctx->scratch, value), out))
        return SC_OK;
    return sc_fail(ctx, SC_ERR_OPTION, "Use one of: ns, us, ms, s, cycles.",
                   "'%s' is not a time scale", key);
}

static sc_str text_at(sc_ctx *ctx, const sc_json *object, const char *key) {
    const sc_json *value = sc_json_get(object, key);
    return value && value->kind == SC_JSON_STRING ? sc_json_str(ctx->arena, value) : (sc_str){0};
}

static sc_status parse_object(sc_ctx *ctx, sc_str json, const sc_json **out) {
    *out = NULL;
    if (!json.size) return SC_OK;
    SC_TRY(sc_json_parse(ctx, ctx->arena, sc_str_copy(ctx->arena, json), out));
    if ((*out)->kind == SC_JSON_OBJECT) return SC_OK;
    return sc_fail(ctx, SC_ERR_ARGUMENT, NULL,
                   "the options of the inspector are not a JSON object");
}

// --- Opening -------------------------------------------------------------------------------------

static sc_status read_times(sc_ctx *ctx, const sc_json *list, sc_inspect_options *out) {
    if (!list) return SC_OK;
    double *times = list->kind == SC_JSON_ARRAY
                        ? sc_new_array(ctx->arena, double, (size_t)list->size + 1)
                        : NULL;
    const sc_json *item = times ? sc_json_first(list) : NULL;
    for (uint32_t i = 0; times && i < list->size; i++, item = sc_json_next(item))
        if (!sc_json_f64(item, &times[i])) times = NULL;
    out->delegate_times = times;
    out->delegate_time_count = times ? list->size : 0;
    if (times) return SC_OK;
    return sc_fail(ctx, SC_ERR_OPTION, NULL, "times of delegates must be a list of numbers");
}

static sc_status open_dump(sc_ctx *ctx, sc_inspector *inspector, sc_source *etdump,
                           sc_source *buffer, const sc_json *json) {
    sc_dump *dump;
    SC_TRY(sc_dump_read(ctx, etdump, buffer, &dump));
    inspector->dump = dump;
    sc_inspect_options options = {.source_scale = inspector->source_scale,
                                  .target_scale = inspector->target_scale,
                                  .method = text_at(ctx, json, "method"),
                                  .methods = inspector->methods,
                                  .method_count = inspector->method_count};
    SC_TRY(read_times(ctx, sc_json_get(json, "delegateTimes"), &options));
    return sc_inspect(ctx, dump, &options, &inspector->found);
}

// No method is loaded, so neither data files nor backends are needed.
static sc_status open_program(sc_job *job, sc_source *file, const sc_rt_program **out) {
    if (sc_job_running(job)->program)
        return sc_fail(&job->ctx, SC_ERR_STATE, "Open it in another job.",
                       "this job already has a program open");
    SC_TRY(sc_open_bundle_read(&job->ctx, &sc_job_running(job)->bundle, file,
                               &sc_job_running(job)->file));
    SC_TRY(sc_rt_program_open(&job->ctx, sc_job_running(job)->file, NULL,
                              &sc_job_running(job)->program));
    *out = sc_job_running(job)->program;
    return SC_OK;
}

sc_status sc_inspector_open(sc_job *job, sc_source *etdump, sc_source *etrecord,
                            sc_source *debug_buffer, sc_source *program, sc_str options_json) {
    sc_ctx *ctx = sc_job_begin(job);
    const sc_json *options;
    sc_inspector *inspector = sc_new(ctx->arena, sc_inspector);
    double factor;
    if (sc_job_compiling(job)->inspector)
        return sc_fail(ctx, SC_ERR_STATE, NULL, "this job has an inspector already");
    if (!etdump && !etrecord && !program)
        return sc_fail(ctx, SC_ERR_ARGUMENT, "Pass an .etdp, an .etrecord, a .pte or several.",
                       "an inspector needs a dump, a record or a program");
    inspector->target_scale = SC_TIME_MS;
    SC_TRY(parse_object(ctx, options_json, &options));
    SC_TRY(read_scale(ctx, options, "sourceTimeScale", &inspector->source_scale));
    if (inspector->source_scale == SC_TIME_CYCLES) inspector->target_scale = SC_TIME_CYCLES;
    SC_TRY(read_scale(ctx, options, "targetTimeScale", &inspector->target_scale));
    SC_TRY(sc_time_scale_factor(ctx, inspector->source_scale, inspector->target_scale, &factor));
    if (etrecord) {
        SC_TRY(sc_etrecord_read(ctx, etrecord, &inspector->record));
        inspector->has_record = true;
        SC_TRY(sc_inspector_tables(ctx, inspector));
    }
    if (etdump) SC_TRY(open_dump(ctx, inspector, etdump, debug_buffer, options));
    if (program) SC_TRY(open_program(job, program, &inspector->program));
    sc_job_compiling(job)->inspector = inspector;
    return SC_OK;
}

// --- Report --------------------------------------------------------------------------------------

static void put_dump(sc_json_writer *w, const sc_inspector *inspector) {
    const sc_dump *dump = inspector->dump;
    sc_json_key(w, "etdump");
    if (!dump) {
        sc_json_add_null(w);
        return;
    }
    sc_json_begin_object(w);
    sc_json_put_u64(w, "version", dump->version);
    sc_json_put_u64(w, "runs", dump->run_count);
    sc_json_put_u64(w, "blocks", inspector->found->block_count);
    sc_json_put_u64(w, "events", dump->event_count);
    sc_json_put_u64(w, "values", dump->value_count);
    if (dump->has_buffer)
        sc_json_put_u64(w, "debugBufferBytes", dump->buffer_bytes);
    else
        sc_json_put_null(w, "debugBufferBytes");
    sc_json_end_object(w);
}

static void put_cases(sc_json_writer *w, const sc_pickle_value *outputs) {
    sc_json_put_object(w, "referenceOutputs");
    for (uint32_t i = 0; outputs && outputs->kind == SC_PICKLE_DICT && i < outputs->count; i++) {
        const sc_pickle_value *key = outputs->items[2 * i], *cases = outputs->items[2 * i + 1];
        if (key->kind != SC_PICKLE_STR) continue;
        sc_json_key_str(w, sc_pickle_str(key));
        sc_json_add_u64(w, sc_pickle_is_sequence(cases) ? cases->count : 0);
    }
    sc_json_end_object(w);
}

static void put_record(sc_json_writer *w, const sc_inspector *inspector) {
    const sc_etrecord *record = &inspector->record;
    sc_json_key(w, "etrecord");
    if (!inspector->has_record) {
        sc_json_add_null(w);
        return;
    }
    sc_json_begin_object(w);
    sc_json_put_array(w, "methods");
    for (uint32_t i = 0; i < inspector->method_count; i++)
        sc_json_add_str(w, inspector->methods[i].name);
    sc_json_end_array(w);
    sc_inspector_put_stages(w, inspector);
    sc_json_put_bool(w, "hasHandles", record->has_debug_handle_map);
    put_cases(w, record->reference_outputs);
    if (record->representative_inputs)
        sc_json_put_u64(w, "representativeInputs", record->representative_inputs->count);
    else
        sc_json_put_null(w, "representativeInputs");
    sc_json_put_array(w, "unknownEntries");
    for (uint32_t i = 0; i < record->unknown.count; i++)
        sc_json_add_str(w, record->unknown.data[i]);
    sc_json_end_array(w);
    sc_record_put_unread(w, "unreadEntries", record);
    sc_json_end_object(w);
}

static void put_report(sc_ctx *ctx, sc_json_writer *w, const sc_inspector *inspector) {
    sc_json_begin_object(w);
    sc_json_put_text(w, "sourceTimeScale", sc_time_scale_name(inspector->source_scale));
    sc_json_put_text(w, "targetTimeScale", sc_time_scale_name(inspector->target_scale));
    put_dump(w, inspector);
    put_record(w, inspector);
    sc_json_put_array(w, "warnings");
    for (uint32_t i = 0; inspector->found && i < inspector->found->warnings.count; i++)
        sc_json_add_str(w, inspector->found->warnings.data[i]);
    sc_inspector_put_misfits(ctx, inspector, w);
    sc_json_end_array(w);
    sc_json_end_object(w);
}

// --- Queries -------------------------------------------------------------------------------------

typedef struct asked {
    sc_ctx *ctx;
    const sc_inspector *inspector;
    sc_inspector_query_args args;
    sc_sb *text;
    sc_json_writer *w;
} asked;

static sc_status answer_report(asked *a) {
    put_report(a->ctx, a->w, a->inspector);
    return SC_OK;
}
static sc_status answer_events(asked *a) {
    return sc_inspect_put_events(a->w, a->inspector->found);
}
static sc_status answer_ops(asked *a) {
    sc_inspect_put_totals(a->w, a->inspector->found, false);
    return SC_OK;
}
static sc_status answer_modules(asked *a) {
    sc_inspect_put_totals(a->w, a->inspector->found, true);
    return SC_OK;
}
static sc_status answer_timeline(asked *a) {
    return sc_inspect_put_timeline(a->w, a->inspector->found);
}
static sc_status answer_trace(asked *a) { return sc_inspect_put_trace(a->w, a->inspector->found); }
static sc_status answer_ticks(asked *a) {
    sc_inspect_put_ticks(a->w, a->inspector->found);
    return SC_OK;
}
static sc_status answer_delegation(asked *a) {
    return sc_inspector_put_delegation(a->ctx, a->inspector, a->w);
}
static sc_status answer_gap(asked *a) {
    return sc_inspector_put_gap(a->ctx, a->inspector, &a->args, a->w);
}
static sc_status answer_nodes(asked *a) {
    return sc_inspector_put_nodes(a->ctx, a->inspector, &a->args, a->w);
}
static sc_status answer_text(asked *a) {
    return sc_inspector_put_text(a->ctx, a->inspector, &a->args, a->text);
}
static sc_status answer_diff(asked *a) {
    return sc_inspector_put_diff(a->ctx, a->inspector, &a->args, a->w);
}

static sc_status answer_memory(asked *a) {
    return sc_inspector_put_memory(a->ctx, a->inspector, a->w);
}

static const struct {
    const char *name;
    sc_status (*answer)(asked *a);
    bool needs_dump, needs_record, needs_program;
} QUERIES[] = {
    {"report", answer_report, false, false, false},
    {"events", answer_events, true, false, false},
    {"ops", answer_ops, true, false, false},
    {"modules", answer_modules, true, false, false},
    {"timeline", answer_timeline, true, false, false},
    {"trace", answer_trace, true, false, false},
    {"ticks", answer_ticks, true, false, false},
    {"delegation", answer_delegation, false, true, false},
    {"gap", answer_gap, true, true, false},
    {"nodes", answer_nodes, false, true, false},
    {"text", answer_text, false, true, false},
    {"diff", answer_diff, false, true, false},
    {"memory", answer_memory, false, false, true},
};

static sc_status check_files(sc_ctx *ctx, const sc_inspector *inspector, size_t query) {
    if (QUERIES[query].needs_dump && !inspector->dump)
        return sc_fail(ctx, SC_ERR_STATE, "Pass an .etdp to the inspector, too.",
                       "the query '%s' needs a dump, but this inspector has no dump",
                       QUERIES[query].name);
    if (QUERIES[query].needs_record && !inspector->has_record)
        return sc_fail(ctx, SC_ERR_STATE, "Pass the .etrecord of the program, too.",
                       "the query '%s' needs a record, but this inspector has no record",
                       QUERIES[query].name);
    if (QUERIES[query].needs_program && !inspector->program)
        return sc_fail(ctx, SC_ERR_STATE, "Pass the .pte to the inspector, too.",
                       "the query '%s' needs a program, but this inspector has no program",
                       QUERIES[query].name);
    return SC_OK;
}

static sc_status answer(asked *a) {
    for (size_t i = 0; i < SC_COUNT_OF(QUERIES); i++) {
        if (!sc_str_is(a->args.what, QUERIES[i].name)) continue;
        SC_TRY(check_files(a->ctx, a->inspector, i));
        return QUERIES[i].answer(a);
    }
    return sc_fail(a->ctx, SC_ERR_ARGUMENT, NULL, "the inspector has no query '" SC_STR_FMT "'",
                   SC_STR_ARG(a->args.what));
}

static sc_status opened(sc_ctx *ctx, const sc_job *job) {
    if (sc_job_compiling(job)->inspector) return SC_OK;
    return sc_fail(ctx, SC_ERR_STATE, "Open a dump or a record first.",
                   "this job has no inspector");
}

static sc_status ask(sc_job *job, sc_str query_json, sc_str *json) {
    sc_ctx *ctx = &job->ctx;
    const sc_json *query;
    SC_TRY(opened(ctx, job));
    SC_TRY(parse_object(ctx, query_json, &query));
    sc_sb sb = sc_job_text(job);
    sc_json_writer w;
    sc_json_writer_init(&w, &sb, SC_JSON_COMPACT);
    asked a = {.ctx = ctx, .inspector = sc_job_compiling(job)->inspector, .text = &sb, .w = &w};
    a.args = (sc_inspector_query_args){.what = text_at(ctx, query, "what"),
                                       .method = text_at(ctx, query, "method"),
                                       .stage = text_at(ctx, query, "stage"),
                                       .from = text_at(ctx, query, "from"),
                                       .to = text_at(ctx, query, "to"),
                                       .reference = text_at(ctx, query, "reference")};
    (void)sc_json_bool(sc_json_get(query, "values"), &a.args.values);
    SC_TRY(answer(&a));
    *json = sc_sb_str(&sb);
    return SC_OK;
}

static sc_status compare(sc_job *job, const sc_job *other, sc_str *json) {
    sc_ctx *ctx = &job->ctx;
    sc_inspect_comparison comparison;
    SC_TRY(opened(ctx, job));
    SC_TRY(opened(ctx, other));
    if (!sc_job_compiling(job)->inspector->found || !sc_job_compiling(other)->inspector->found)
        return sc_fail(ctx, SC_ERR_STATE, "Pass two .etdp files.", "a comparison needs two dumps");
    SC_TRY(sc_inspect_compare(ctx, sc_job_compiling(job)->inspector->found,
                              sc_job_compiling(other)->inspector->found, &comparison));
    sc_sb sb = sc_job_text(job);
    sc_json_writer w;
    sc_json_writer_init(&w, &sb, SC_JSON_COMPACT);
    sc_inspect_put_comparison(&w, &comparison);
    *json = sc_sb_str(&sb);
    return SC_OK;
}

// --- Calls ---------------------------------------------------------------------------------------

// Answers are text; all other memory of a query is freed with it.
sc_status sc_inspector_query(sc_job *job, sc_str query_json, sc_str *json) {
    sc_arena own;
    sc_arena_init(&own);
    (void)sc_job_begin(job);
    const sc_aside aside = sc_job_step_aside(job, &own);
    const sc_status status = ask(job, query_json, json);
    sc_job_step_back(job, &aside);
    sc_arena_deinit(&own);
    return status;
}

sc_status sc_inspector_compare(sc_job *job, sc_job *other, sc_str *json) {
    sc_arena own;
    sc_arena_init(&own);
    (void)sc_job_begin(job);
    const sc_aside aside = sc_job_step_aside(job, &own);
    const sc_status status = compare(job, other, json);
    sc_job_step_back(job, &aside);
    sc_arena_deinit(&own);
    return status;
}
