// Lowering: opening, steps, quantizing, and the questions of backends of the host about their
// parts.
#include "exports.h"

EXPORT(meta) int32_t wasm_meta(sc_job *job) {
    check(job);
    return keep_text(job, SC_OK, sc_meta_json(job));
}

EXPORT(detect) int32_t wasm_detect(sc_job *job, sc_source *source) {
    check(job);
    if (!source) return SC_ERR_IO;
    sc_str kind = {0};
    sc_status status = sc_detect(job, source, &kind);
    return keep_text(job, status, kind);
}

// Archives with compressed entries, which the host inflates; a text result.
EXPORT(archive_compressed) int32_t wasm_archive_compressed(sc_job *job, sc_source *archive) {
    check(job);
    if (!archive) return SC_ERR_IO;
    sc_str json = {0};
    sc_status status = sc_archive_compressed(job, archive, &json);
    return keep_text(job, status, json);
}

EXPORT(archive_inflated)
int32_t wasm_archive_inflated(sc_job *job, sc_source *archive, sc_source *const *entries,
                              uint32_t count, sc_source **inflated) {
    check(job);
    if (!archive) return SC_ERR_IO;
    return (int32_t)sc_archive_inflated(job, archive, entries, count, inflated);
}

EXPORT(compile_open)
int32_t wasm_compile_open(sc_job *job, sc_source *source, const char *method, uint32_t method_bytes,
                          const char *model, uint32_t model_bytes) {
    check(job);
    if (!source) return SC_ERR_IO;
    return (int32_t)sc_compile_open(job, source, text_of(method, method_bytes),
                                    text_of(model, model_bytes));
}

EXPORT(compile_drop) void wasm_compile_drop(sc_job *job, uint32_t program) {
    check(job);
    sc_compile_drop(job, program);
}

EXPORT(compile_constant_method)
int32_t wasm_compile_constant_method(sc_job *job, const char *name, uint32_t name_bytes,
                                     const char *value, uint32_t value_bytes, const void *data,
                                     uint32_t bytes) {
    check(job);
    return (int32_t)sc_compile_constant_method(job, text_of(name, name_bytes),
                                               text_of(value, value_bytes), data, bytes);
}

EXPORT(compile_to_edge)
int32_t wasm_compile_to_edge(sc_job *job, uint32_t from, const char *options,
                             uint32_t options_bytes, uint32_t *edge) {
    check(job);
    return (int32_t)sc_compile_to_edge(job, from, text_of(options, options_bytes), edge);
}

EXPORT(compile_transform_source)
int32_t wasm_compile_transform_source(sc_job *job, uint32_t from, const char *method,
                                      uint32_t method_bytes, const char *passes,
                                      uint32_t passes_bytes, uint32_t *transformed) {
    check(job);
    return (int32_t)sc_compile_transform_source(job, from, text_of(method, method_bytes),
                                                text_of(passes, passes_bytes), transformed);
}

EXPORT(compile_transform)
int32_t wasm_compile_transform(sc_job *job, uint32_t edge, const char *method,
                               uint32_t method_bytes, const char *passes, uint32_t passes_bytes,
                               uint32_t *transformed) {
    check(job);
    return (int32_t)sc_compile_transform(job, edge, text_of(method, method_bytes),
                                         text_of(passes, passes_bytes), transformed);
}

// Partitioners by method as JSON (sc_compile_to_backend in sconce.h).
EXPORT(compile_to_backend)
int32_t wasm_compile_to_backend(sc_job *job, uint32_t edge, const char *partitioners,
                                uint32_t partitioners_bytes, const char *options,
                                uint32_t options_bytes, uint32_t *delegated) {
    check(job);
    return (int32_t)sc_compile_to_backend(job, edge, text_of(partitioners, partitioners_bytes),
                                          text_of(options, options_bytes), delegated);
}

// to_edge, passes and to_backend in one: what backends want whole is not decomposed.
EXPORT(compile_to_edge_transform_and_lower)
int32_t wasm_compile_to_edge_transform_and_lower(
    sc_job *job, uint32_t from, const char *passes, uint32_t passes_bytes, const char *partitioners,
    uint32_t partitioners_bytes, const char *edge_options, uint32_t edge_options_bytes,
    const char *backend_options, uint32_t backend_options_bytes, uint32_t *delegated) {
    check(job);
    return (int32_t)sc_compile_to_edge_transform_and_lower(
        job, from, text_of(passes, passes_bytes), text_of(partitioners, partitioners_bytes),
        text_of(edge_options, edge_options_bytes), text_of(backend_options, backend_options_bytes),
        delegated);
}

// --- Quantizing ----------------------------------------------------------------------------------

EXPORT(quantize_begin)
int32_t wasm_quantize_begin(sc_job *job, uint32_t from, const char *config, uint32_t config_bytes,
                            const char *edge_options, uint32_t edge_options_bytes,
                            const char *executorch_options, uint32_t executorch_options_bytes) {
    check(job);
    return (int32_t)sc_quantize_begin(job, from, text_of(config, config_bytes),
                                      text_of(edge_options, edge_options_bytes),
                                      text_of(executorch_options, executorch_options_bytes));
}

// The number of a version whose observers are nodes, at `shown`.
EXPORT(quantize_show) int32_t wasm_quantize_show(sc_job *job, uint32_t *shown) {
    check(job);
    return (int32_t)sc_quantize_show(job, shown);
}

EXPORT(quantize_transform)
int32_t wasm_quantize_transform(sc_job *job, const char *method, uint32_t method_bytes,
                                const char *passes, uint32_t passes_bytes) {
    check(job);
    return (int32_t)sc_quantize_transform(job, text_of(method, method_bytes),
                                          text_of(passes, passes_bytes));
}

EXPORT(quantize_hide) int32_t wasm_quantize_hide(sc_job *job, bool is_before) {
    check(job);
    return (int32_t)sc_quantize_hide(job, is_before);
}

EXPORT(quantize_takes_batches)
bool wasm_quantize_takes_batches(sc_job *job, const char *method, uint32_t method_bytes) {
    check(job);
    return sc_quantize_takes_batches(job, text_of(method, method_bytes));
}

EXPORT(quantize_batch) int32_t wasm_quantize_batch(sc_job *job) {
    check(job);
    return (int32_t)sc_quantize_batch(job);
}

EXPORT(quantize_convert) int32_t wasm_quantize_convert(sc_job *job, uint32_t *quantized) {
    check(job);
    return (int32_t)sc_quantize_convert(job, quantized);
}

EXPORT(quantize_compare) int32_t wasm_quantize_compare(sc_job *job) {
    check(job);
    return (int32_t)sc_quantize_compare(job);
}

// A text result.
EXPORT(quantize_report) int32_t wasm_quantize_report(sc_job *job) {
    check(job);
    sc_str json = {0};
    sc_status status = sc_quantize_report(job, &json);
    return keep_text(job, status, json);
}

EXPORT(quantize_end) void wasm_quantize_end(sc_job *job) {
    check(job);
    sc_quantize_end(job);
}

// Reports the fate of each node; a text result.
EXPORT(compile_delegation)
int32_t wasm_compile_delegation(sc_job *job, uint32_t program) {
    check(job);
    sc_str json = {0};
    sc_status status = sc_compile_delegation(job, program, &json);
    return keep_text(job, status, json);
}

EXPORT(compile_executorch_json)
int32_t wasm_compile_executorch_json(sc_job *job, uint32_t executorch) {
    check(job);
    sc_str json = {0};
    sc_status status = sc_compile_executorch_json(job, executorch, &json);
    return keep_text(job, status, json);
}

EXPORT(compile_to_executorch)
int32_t wasm_compile_to_executorch(sc_job *job, uint32_t edge, const char *options,
                                   uint32_t options_bytes, uint32_t *executorch) {
    check(job);
    return (int32_t)sc_compile_to_executorch(job, edge, text_of(options, options_bytes),
                                             executorch);
}

// Runs an executorch program with and without delegates, and compares; a text result.
EXPORT(compile_verify) int32_t wasm_compile_verify(sc_job *job, uint32_t executorch) {
    check(job);
    sc_str json = {0};
    sc_status status = sc_compile_verify(job, executorch, &json);
    return keep_text(job, status, json);
}

EXPORT(compile_inspect) int32_t wasm_compile_inspect(sc_job *job) {
    check(job);
    sc_str json = {0};
    sc_status status = sc_compile_inspect(job, &json);
    return keep_text(job, status, json);
}

EXPORT(compile_text)
int32_t wasm_compile_text(sc_job *job, uint32_t program, const char *method,
                          uint32_t method_bytes) {
    check(job);
    sc_str text = {0};
    sc_status status = sc_compile_text(job, program, text_of(method, method_bytes), &text);
    return keep_text(job, status, text);
}

EXPORT(compile_nodes)
int32_t wasm_compile_nodes(sc_job *job, uint32_t program, const char *method,
                           uint32_t method_bytes) {
    check(job);
    sc_str json = {0};
    sc_status status = sc_compile_nodes(job, program, text_of(method, method_bytes), &json);
    return keep_text(job, status, json);
}

EXPORT(compile_weights) int32_t wasm_compile_weights(sc_job *job, uint32_t program) {
    check(job);
    sc_str json = {0};
    sc_status status = sc_compile_weights(job, program, &json);
    return keep_text(job, status, json);
}

// Inputs that a method was exported with; a text result, and the number of the output with the
// bytes.
EXPORT(compile_examples)
int32_t wasm_compile_examples(sc_job *job, const char *method, uint32_t method_bytes,
                              uint32_t *output) {
    check(job);
    sc_str json = {0};
    sc_status status = sc_compile_examples(job, text_of(method, method_bytes), &json, output);
    return keep_text(job, status, json);
}

// --- Parts for backends of the host --------------------------------------------------------------

// Zero-terminated, until the question is answered.
EXPORT(backend_part_text)
const char *wasm_backend_part_text(sc_host_question *question, uint32_t part) {
    return sc_host_question_part_text(question, part);
}

// That a part is begun; anything but success: the call was cancelled.
EXPORT(backend_progress)
int32_t wasm_backend_progress(sc_host_question *question, uint32_t part) {
    return (int32_t)sc_host_question_progress(question, part);
}

EXPORT(backend_constant)
int32_t wasm_backend_constant(sc_host_question *question, uint32_t part, uint32_t constant,
                              void *out, uint32_t bytes) {
    return (int32_t)sc_host_question_read_constant(question, part, constant, out, bytes);
}
