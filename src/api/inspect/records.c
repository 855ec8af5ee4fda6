// A record in the host's form: its programs, their text and nodes, and its maps.
#include "api/record/records.h"
#include "api/inspect/inspector.h"
#include "backend/node_json.h"
#include "devtools/etrecord/maps.h"

static void add_program(sc_json_writer *w, const sc_etrecord_program *program) {
    sc_json_begin_object(w);
    sc_json_put_str(w, "stage", program->stage);
    sc_json_put_str(w, "method", program->method_name);
    sc_json_put_u64(w, "nodes", sc_stage_count(program));
    sc_json_put_bool(w, "has_weights", program->has_weights);
    sc_json_end_object(w);
}

static void add_programs(sc_json_writer *w, const sc_etrecord *record) {
    sc_json_put_array(w, "programs");
    if (record->exported.method) add_program(w, &record->exported);
    for (uint32_t i = 0; i < record->edge.count; i++) add_program(w, &record->edge.data[i]);
    for (uint32_t i = 0; i < record->graph_map.count; i++)
        add_program(w, &record->graph_map.data[i]);
    sc_json_end_array(w);
}

static void add_methods(sc_json_writer *w, const sc_etrecord *record) {
    sc_json_put_array(w, "methods");
    for (uint32_t i = 0; i < record->edge.count; i++)
        sc_json_add_str(w, record->edge.data[i].method_name);
    sc_json_end_array(w);
}

static void add_unknown(sc_json_writer *w, const sc_etrecord *record) {
    sc_json_put_array(w, "unknown_entries");
    for (uint32_t i = 0; i < record->unknown.count; i++)
        sc_json_add_str(w, record->unknown.data[i]);
    sc_json_end_array(w);
}

void sc_record_put_unread(sc_json_writer *w, const char *key, const sc_etrecord *record) {
    sc_json_put_array(w, key);
    for (uint32_t i = 0; i < record->unread.count; i++) {
        sc_json_begin_object(w);
        sc_json_put_str(w, "name", record->unread.data[i].entry);
        sc_json_put_str(w, "reason", record->unread.data[i].reason);
        sc_json_end_object(w);
    }
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
    sc_json_put_u64(&w, "export_graph_id", from->has_graph_id ? from->graph_id : 0);
    sc_json_put_bool(&w, "has_reference_outputs", from->reference_outputs != NULL);
    sc_json_put_bool(&w, "has_representative_inputs", from->representative_inputs != NULL);
    add_unknown(&w, from);
    sc_record_put_unread(&w, "unread_entries", from);
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
                              const sc_etrecord_program **out) {
    sc_etrecord *from = NULL;
    SC_TRY(sc_job_record(job, record, &from));
    const sc_etrecord_program *found = sc_etrecord_find(from, stage, method);
    if (!found)
        return sc_fail(&job->ctx, SC_ERR_NOT_FOUND, NULL,
                       "the record has no program '" SC_STR_FMT "' of a method '" SC_STR_FMT "'",
                       SC_STR_ARG(stage), SC_STR_ARG(method));
    *out = found;
    return SC_OK;
}

sc_status sc_record_text(sc_job *job, uint32_t record, sc_str stage, sc_str method, sc_str *text) {
    const sc_etrecord_program *found = NULL;
    SC_TRY(find_program(job, record, stage, method, &found));
    sc_sb sb = sc_job_text(job);
    sc_stage_put_text(found, &sb);
    *text = sc_sb_str(&sb);
    return SC_OK;
}

sc_status sc_record_nodes(sc_job *job, uint32_t record, sc_str stage, sc_str method, sc_str *json) {
    const sc_etrecord_program *found = NULL;
    SC_TRY(find_program(job, record, stage, method, &found));
    sc_sb sb = sc_job_text(job);
    sc_json_writer w;
    sc_json_writer_init(&w, &sb, SC_JSON_COMPACT);
    SC_TRY(sc_stage_put_nodes(found, &w, sc_node_add_json));
    *json = sc_sb_str(&sb);
    return SC_OK;
}
