// The developer tools: records of what was lowered, writing bundled programs, and the inspector.
#include "exports.h"

// --- Records -------------------------------------------------------------------------------------

EXPORT(record_new) int32_t wasm_record_new(sc_job *job, uint32_t *record) {
    check(job);
    return (int32_t)sc_record_new(job, record);
}

// An empty one, which the next to_edge fills.
EXPORT(record_generate) int32_t wasm_record_generate(sc_job *job, uint32_t *record) {
    check(job);
    return (int32_t)sc_record_generate(job, record);
}

EXPORT(record_open)
int32_t wasm_record_open(sc_job *job, sc_source *source, uint32_t *record) {
    check(job);
    if (!source) return SC_ERR_IO;
    return (int32_t)sc_record_open(job, source, record);
}

EXPORT(record_copy)
int32_t wasm_record_copy(sc_job *job, uint32_t record, uint32_t *copy) {
    check(job);
    return (int32_t)sc_record_copy(job, record, copy);
}

// A copy with what is known of an executorch program.
EXPORT(record_complete)
int32_t wasm_record_complete(sc_job *job, uint32_t record, uint32_t executorch,
                             uint32_t *complete) {
    check(job);
    return (int32_t)sc_record_complete(job, record, executorch, complete);
}

EXPORT(record_add_exported_program)
int32_t wasm_record_add_exported_program(sc_job *job, uint32_t record, uint32_t program) {
    check(job);
    return (int32_t)sc_record_add_exported_program(job, record, program);
}

EXPORT(record_add_edge_dialect_program)
int32_t wasm_record_add_edge_dialect_program(sc_job *job, uint32_t record, uint32_t program) {
    check(job);
    return (int32_t)sc_record_add_edge_dialect_program(job, record, program);
}

EXPORT(record_add_executorch_program)
int32_t wasm_record_add_executorch_program(sc_job *job, uint32_t record, uint32_t program) {
    check(job);
    return (int32_t)sc_record_add_executorch_program(job, record, program);
}

EXPORT(record_add_extra_export_module)
int32_t wasm_record_add_extra_export_module(sc_job *job, uint32_t record, const char *name,
                                            uint32_t name_bytes, uint32_t program) {
    check(job);
    return (int32_t)sc_record_add_extra_export_module(job, record, text_of(name, name_bytes),
                                                      program);
}

// Inputs or outputs as JSON, with the bytes of tensors (sc_record_update in sconce.h).
EXPORT(record_update)
int32_t wasm_record_update(sc_job *job, uint32_t record, const char *json, uint32_t json_bytes,
                           const void *data, uint32_t bytes) {
    check(job);
    return (int32_t)sc_record_update(job, record, text_of(json, json_bytes), data, bytes);
}

// The same back; a text result, and the number of the output with the bytes.
EXPORT(record_values)
int32_t wasm_record_values(sc_job *job, uint32_t record, bool are_outputs, uint32_t *output) {
    check(job);
    sc_str json = {0};
    sc_status status = sc_record_values(job, record, are_outputs, &json, output);
    return keep_text(job, status, json);
}

// The inputs that a method was exported with, in the same way.
EXPORT(record_examples)
int32_t wasm_record_examples(sc_job *job, uint32_t record, const char *method,
                             uint32_t method_bytes, uint32_t *output) {
    check(job);
    sc_str json = {0};
    const sc_str name = text_of(method, method_bytes);
    sc_status status = sc_record_examples(job, record, name, &json, output);
    return keep_text(job, status, json);
}

EXPORT(record_save)
int32_t wasm_record_save(sc_job *job, uint32_t record, const char *options, uint32_t options_bytes,
                         uint32_t *output) {
    check(job);
    return (int32_t)sc_record_save(job, record, text_of(options, options_bytes), output);
}

EXPORT(record_inspect) int32_t wasm_record_inspect(sc_job *job, uint32_t record) {
    check(job);
    sc_str json = {0};
    sc_status status = sc_record_inspect(job, record, &json);
    return keep_text(job, status, json);
}

// Map 0, 1 or 2 (sc_record_map in sconce.h); a text result.
EXPORT(record_map) int32_t wasm_record_map(sc_job *job, uint32_t record, uint32_t map) {
    check(job);
    sc_str json = {0};
    sc_status status = sc_record_map(job, record, map, &json);
    return keep_text(job, status, json);
}

EXPORT(record_text)
int32_t wasm_record_text(sc_job *job, uint32_t record, const char *stage, uint32_t stage_bytes,
                         const char *method, uint32_t method_bytes) {
    check(job);
    sc_str text = {0};
    sc_status status = sc_record_text(job, record, text_of(stage, stage_bytes),
                                      text_of(method, method_bytes), &text);
    return keep_text(job, status, text);
}

EXPORT(record_nodes)
int32_t wasm_record_nodes(sc_job *job, uint32_t record, const char *stage, uint32_t stage_bytes,
                          const char *method, uint32_t method_bytes) {
    check(job);
    sc_str json = {0};
    sc_status status = sc_record_nodes(job, record, text_of(stage, stage_bytes),
                                       text_of(method, method_bytes), &json);
    return keep_text(job, status, json);
}

// --- Bundled programs ----------------------------------------------------------------------------

// Test suites as JSON, and the bytes of their tensors; the number of the output that is the file.
EXPORT(bundle_write)
int32_t wasm_bundle_write(sc_job *job, const char *suites, uint32_t suites_bytes, const void *data,
                          uint32_t bytes, uint32_t *output) {
    check(job);
    return (int32_t)sc_bundle_write(job, text_of(suites, suites_bytes), data, bytes, output);
}

// --- Inspecting ----------------------------------------------------------------------------------

// A dump, a record, a program, and the dump's values; NULL for what is not there.
EXPORT(inspector_open)
int32_t wasm_inspector_open(sc_job *job, sc_source *etdump, sc_source *etrecord,
                            sc_source *debug_buffer, sc_source *program, const char *options,
                            uint32_t options_bytes) {
    check(job);
    return (int32_t)sc_inspector_open(job, etdump, etrecord, debug_buffer, program,
                                      text_of(options, options_bytes));
}

// A text result.
EXPORT(inspector_query)
int32_t wasm_inspector_query(sc_job *job, const char *query, uint32_t query_bytes) {
    check(job);
    sc_str json = {0};
    sc_status status = sc_inspector_query(job, text_of(query, query_bytes), &json);
    return keep_text(job, status, json);
}

// A text result of `job`: its dump compared with that of another one.
EXPORT(inspector_compare) int32_t wasm_inspector_compare(sc_job *job, sc_job *other) {
    check(job);
    check(other);
    sc_str json = {0};
    sc_status status = sc_inspector_compare(job, other, &json);
    return keep_text(job, status, json);
}

// --- Delegates -----------------------------------------------------------------------------------

// Describes the bytes of a delegate; a text result.
EXPORT(run_part_text)
int32_t wasm_run_part_text(sc_job *job, const char *method, uint32_t method_bytes, uint32_t part) {
    check(job);
    sc_str text = {0};
    sc_status status = sc_run_part_text(job, text_of(method, method_bytes), part, &text);
    return keep_text(job, status, text);
}
