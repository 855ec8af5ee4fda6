// Records of a job: which versions of the program they name, and what hosts ask of them. A version
// never changes once a record names it, so records share programs and nothing else.
#include "api/job.h"
#include "backend/node_json.h"
#include "devtools/etrecord/maps.h"
#include "ir/print.h"

// --- Which record --------------------------------------------------------------------------------

sc_status sc_job_record(sc_job *job, uint32_t number, sc_etrecord **out) {
    if (number >= job->records.count)
        return sc_fail(&job->ctx, SC_ERR_NOT_FOUND, NULL, "there is no record %u", number);
    *out = job->records.data[number];
    return SC_OK;
}

static sc_etrecord *new_record(sc_job *job, uint32_t *number) {
    sc_etrecord *record = sc_new(&job->arena, sc_etrecord);
    *number = job->records.count;
    sc_vec_push(&job->arena, &job->records, record);
    return record;
}

sc_status sc_record_new(sc_job *job, uint32_t *record) {
    sc_job_begin(job);
    new_record(job, record);
    return SC_OK;
}

sc_status sc_record_open(sc_job *job, sc_source *source, uint32_t *record) {
    sc_etrecord read;
    sc_ctx *ctx = sc_job_begin(job);
    SC_TRY(sc_ops_init());
    SC_TRY(sc_etrecord_read(ctx, source, &read));
    *new_record(job, record) = read;
    return SC_OK;
}

sc_status sc_record_copy(sc_job *job, uint32_t record, uint32_t *copy) {
    sc_etrecord *from = NULL;
    sc_ctx *ctx = sc_job_begin(job);
    SC_TRY(sc_job_record(job, record, &from));
    sc_etrecord_copy(ctx, from, new_record(job, copy));
    return SC_OK;
}

// --- While lowering ------------------------------------------------------------------------------

sc_status sc_record_generate(sc_job *job, uint32_t *record) {
    sc_job_begin(job);
    new_record(job, record);
    job->generating = *record + 1;
    return SC_OK;
}

uint32_t sc_job_take_generating(sc_job *job) {
    const uint32_t taken = job->generating;
    job->generating = 0;
    return taken;
}

// Of a dialect that fits, and from now on not to be changed.
static sc_status name_version(sc_job *job, uint32_t number, uint32_t dialects, const char *wanted,
                              sc_version **out) {
    SC_TRY(sc_job_version(job, number, out));
    if (!(dialects >> (*out)->dialect & 1))
        return sc_fail(&job->ctx, SC_ERR_ARGUMENT, NULL, "program %u is the %s program, not %s",
                       number, sc_dialect_name((*out)->dialect), wanted);
    (*out)->is_recorded = true;
    return SC_OK;
}

enum {
    IS_SOURCE = 1u << SC_DIALECT_source,
    IS_EDGE = 1u << SC_DIALECT_edge,
    IS_EXECUTORCH = 1u << SC_DIALECT_executorch,
    IS_STAGE = IS_SOURCE | 1u << SC_DIALECT_core | IS_EDGE
};

sc_status sc_record_add_exported_program(sc_job *job, uint32_t record, uint32_t program) {
    sc_etrecord *to = NULL;
    sc_version *version = NULL;
    sc_ctx *ctx = sc_job_begin(job);
    SC_TRY(sc_job_record(job, record, &to));
    SC_TRY(name_version(job, program, IS_SOURCE, "what was opened", &version));
    return sc_etrecord_add_exported(ctx, to, version->program);
}

sc_status sc_record_add_edge_dialect_program(sc_job *job, uint32_t record, uint32_t program) {
    sc_etrecord *to = NULL;
    sc_version *version = NULL;
    sc_ctx *ctx = sc_job_begin(job);
    SC_TRY(sc_job_record(job, record, &to));
    SC_TRY(name_version(job, program, IS_EDGE, "an edge program", &version));
    return sc_etrecord_add_edge(ctx, to, version->program);
}

sc_status sc_record_add_extra_export_module(sc_job *job, uint32_t record, sc_str name,
                                            uint32_t program) {
    sc_etrecord *to = NULL;
    sc_version *version = NULL;
    sc_ctx *ctx = sc_job_begin(job);
    SC_TRY(sc_job_record(job, record, &to));
    SC_TRY(
        name_version(job, program, IS_STAGE, "one that was exported or an edge program", &version));
    return sc_etrecord_add_stage(ctx, to, name, version->program,
                                 version->dialect == SC_DIALECT_edge);
}

sc_status sc_record_add_executorch_program(sc_job *job, uint32_t record, uint32_t program) {
    sc_etrecord *to = NULL;
    sc_version *version = NULL;
    sc_ctx *ctx = sc_job_begin(job);
    SC_TRY(sc_job_record(job, record, &to));
    SC_TRY(name_version(job, program, IS_EXECUTORCH, "an executorch program", &version));
    return sc_etrecord_add_emitted(ctx, to, version->emitted);
}

sc_status sc_job_fill_record(sc_job *job, uint32_t taken, uint32_t edge, uint32_t transformed) {
    if (!taken) return SC_OK;
    const uint32_t record = taken - 1;
    SC_TRY(sc_record_add_exported_program(job, record, 0));
    SC_TRY(sc_record_add_edge_dialect_program(job, record, edge));
    if (transformed == edge) return SC_OK;
    return sc_record_add_extra_export_module(job, record, SC_STR("edge_after_transform"),
                                             transformed);
}

// Of `forward`, or of the only method.
static sc_status add_examples(sc_ctx *ctx, sc_etrecord *record) {
    const sc_etrecord_program *of = record->edge.count == 1 ? &record->edge.data[0] : NULL;
    if (!of) of = sc_etrecord_find(record, SC_STR(SC_ETRECORD_EDGE), SC_STR("forward"));
    return of ? sc_etrecord_examples(ctx, of->method, &record->representative_inputs) : SC_OK;
}

sc_status sc_record_complete(sc_job *job, uint32_t record, uint32_t executorch,
                             uint32_t *complete) {
    SC_TRY(sc_record_copy(job, record, complete));
    SC_TRY(sc_record_add_executorch_program(job, *complete, executorch));
    return add_examples(&job->ctx, job->records.data[*complete]);
}

// --- Writing -------------------------------------------------------------------------------------

static sc_status read_save_options(sc_ctx *ctx, const sc_json *json, sc_etrecord_options *out) {
    *out = (sc_etrecord_options){0};
    if (json->kind != SC_JSON_OBJECT)
        return sc_fail(ctx, SC_ERR_OPTION, NULL, "options of a record are not an object");
    const sc_json *key = sc_json_first(json);
    for (uint32_t n = json->size; n--; key = sc_json_next(key + 1)) {
        const sc_json *value = key + 1;
        bool is_taken = false;
        if (sc_json_is_str(key, "light")) is_taken = sc_json_bool(value, &out->light);
        if (sc_json_is_str(key, "method")) {
            is_taken = value->kind == SC_JSON_STRING;
            out->as_forward = sc_json_str(ctx->arena, value);
        }
        if (!is_taken)
            return sc_fail(ctx, SC_ERR_OPTION, "There are light, a flag, and method, a name.",
                           "'" SC_STR_FMT "' is not an option of a record, or not of its kind",
                           SC_STR_ARG(sc_json_str(ctx->scratch, key)));
    }
    return SC_OK;
}

uint32_t sc_job_add_output(sc_job *job, sc_str name, const sc_cord *cord) {
    const sc_output output = {SC_NO_PROGRAM, name, *cord};
    sc_vec_push(&job->arena, &job->outputs, output);
    return job->outputs.count - 1;
}

sc_status sc_record_save(sc_job *job, uint32_t record, sc_str options_json, uint32_t *output) {
    sc_etrecord *from = NULL;
    sc_etrecord_options options;
    const sc_json *json = NULL;
    sc_cord cord;
    sc_ctx *ctx = sc_job_begin(job);
    SC_TRY(sc_job_record(job, record, &from));
    SC_TRY(sc_json_parse(ctx, ctx->arena, sc_str_copy(ctx->arena, options_json), &json));
    SC_TRY(read_save_options(ctx, json, &options));
    sc_cord_init(&cord, &job->arena);
    SC_TRY(sc_etrecord_write(ctx, from, &options, &cord));
    *output = sc_job_add_output(job, SC_STR("etrecord"), &cord);
    return SC_OK;
}

// --- Looking -------------------------------------------------------------------------------------

static void add_program(sc_json_writer *w, const sc_etrecord_program *program) {
    sc_json_begin_object(w);
    sc_json_put_str(w, "stage", program->stage);
    sc_json_put_str(w, "method", program->method_name);
    sc_json_put_u64(w, "nodes", program->method->graph->node_count);
    sc_json_put_bool(w, "has_weights", program->has_weights);
    sc_json_end_object(w);
}

static void add_programs(sc_json_writer *w, const sc_etrecord *record) {
    sc_json_key(w, "programs");
    sc_json_begin_array(w);
    if (record->exported.method) add_program(w, &record->exported);
    for (uint32_t i = 0; i < record->edge.count; i++) add_program(w, &record->edge.data[i]);
    for (uint32_t i = 0; i < record->graph_map.count; i++)
        add_program(w, &record->graph_map.data[i]);
    sc_json_end_array(w);
}

static void add_methods(sc_json_writer *w, const sc_etrecord *record) {
    sc_json_key(w, "methods");
    sc_json_begin_array(w);
    for (uint32_t i = 0; i < record->edge.count; i++)
        sc_json_add_str(w, record->edge.data[i].method_name);
    sc_json_end_array(w);
}

static void add_unknown(sc_json_writer *w, const sc_etrecord *record) {
    sc_json_key(w, "unknown_entries");
    sc_json_begin_array(w);
    for (uint32_t i = 0; i < record->unknown.count; i++)
        sc_json_add_str(w, record->unknown.data[i]);
    sc_json_end_array(w);
}

sc_status sc_record_inspect(sc_job *job, uint32_t record, sc_str *json) {
    sc_etrecord *from = NULL;
    SC_TRY(sc_job_record(job, record, &from));
    sc_sb sb = sc_job_text(job);
    sc_json_writer w;
    sc_json_writer_init(&w, &sb, SC_JSON_COMPACT);
    sc_json_begin_object(&w);
    add_methods(&w, from);
    add_programs(&w, from);
    sc_json_key(&w, "export_graph_id");
    if (from->has_graph_id)
        sc_json_add_u64(&w, from->graph_id);
    else
        sc_json_add_null(&w);
    sc_json_put_bool(&w, "has_reference_outputs", from->reference_outputs != NULL);
    sc_json_put_bool(&w, "has_representative_inputs", from->representative_inputs != NULL);
    add_unknown(&w, from);
    sc_job_put_diagnostics(&w, job);
    sc_json_end_object(&w);
    *json = sc_sb_str(&sb);
    return SC_OK;
}

sc_status sc_record_map(sc_job *job, uint32_t record, uint32_t map, sc_str *json) {
    sc_etrecord *from = NULL;
    SC_TRY(sc_job_record(job, record, &from));
    if (map >= SC_ETRECORD_MAP_COUNT)
        return sc_fail(&job->ctx, SC_ERR_ARGUMENT, NULL, "a record has no map %u", map);
    sc_sb sb = sc_job_text(job);
    if (sc_etrecord_has_map(from, (sc_etrecord_map)map))
        sc_etrecord_put_map(&sb, from, (sc_etrecord_map)map, (sc_str){0});
    else
        sc_sb_add_text(&sb, "null");
    *json = sc_sb_str(&sb);
    return SC_OK;
}

static sc_status find_program(sc_job *job, uint32_t record, sc_str stage, sc_str method,
                              const sc_graph **out) {
    sc_etrecord *from = NULL;
    SC_TRY(sc_job_record(job, record, &from));
    const sc_etrecord_program *found = sc_etrecord_find(from, stage, method);
    if (!found)
        return sc_fail(&job->ctx, SC_ERR_NOT_FOUND, NULL,
                       "the record has no program '" SC_STR_FMT "' of a method '" SC_STR_FMT "'",
                       SC_STR_ARG(stage), SC_STR_ARG(method));
    *out = found->method->graph;
    return SC_OK;
}

sc_status sc_record_text(sc_job *job, uint32_t record, sc_str stage, sc_str method, sc_str *text) {
    const sc_graph *graph = NULL;
    SC_TRY(find_program(job, record, stage, method, &graph));
    sc_sb sb = sc_job_text(job);
    sc_graph_print(&sb, graph, (sc_print_options){.signature = true});
    *text = sc_sb_str(&sb);
    return SC_OK;
}

sc_status sc_record_nodes(sc_job *job, uint32_t record, sc_str stage, sc_str method, sc_str *json) {
    const sc_graph *graph = NULL;
    SC_TRY(find_program(job, record, stage, method, &graph));
    sc_sb sb = sc_job_text(job);
    sc_json_writer w;
    sc_json_writer_init(&w, &sb, SC_JSON_COMPACT);
    sc_json_begin_array(&w);
    for (const sc_node *node = graph->first; node; node = node->next)
        sc_node_add_json(&w, job->ctx.scratch, node);
    sc_json_end_array(&w);
    *json = sc_sb_str(&sb);
    return SC_OK;
}
