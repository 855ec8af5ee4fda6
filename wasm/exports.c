// Jobs and what every one of them has: sources, compiling, outputs, backends of the host.
#include "exports.h"

#include "base/parallel.h"

static bool on_progress(void *user, const char *phase, uint64_t done, uint64_t total) {
    (void)user;
    return host_progress(phase, (double)done, (double)total) != 0;
}

static void on_log(void *user, sc_severity severity, sc_str text) {
    (void)user;
    host_log((int32_t)severity, text.data, (uint32_t)text.size);
}

static double on_now(void *user) {
    (void)user;
    return host_now();
}

static bool on_keeps_value(void *user, sc_str id, int64_t number) {
    (void)user;
    return host_keeps_value(id.data, (uint32_t)id.size, (double)number) != 0;
}

static bool on_pass(void *user, uint32_t pass, sc_str method) {
    (void)user;
    return host_pass(pass, method.data, (uint32_t)method.size) != 0;
}

// The version of this build; zero-terminated.
EXPORT(version) const char *wasm_version(void) { return SC_VERSION; }

// Memory for the host to write into; NULL when there is none.
EXPORT(memory_alloc) void *wasm_memory_alloc(uint32_t bytes) { return sc_try_alloc(bytes); }

EXPORT(memory_free) void wasm_memory_free(void *memory) { sc_free(memory); }

// The flavour of this build: 1 with relaxed SIMD, 2 with threads, 3 with both.
EXPORT(flavour) uint32_t wasm_flavour(void) {
#ifdef SC_RELAXED_SIMD
    const uint32_t relaxed = 1;
#else
    const uint32_t relaxed = 0;
#endif
#ifdef __wasm_atomics__
    return relaxed | 2;
#else
    return relaxed;
#endif
}

// The number of threads that may work on one call, this one included.
EXPORT(parallel_set_width) void wasm_parallel_set_width(uint32_t width) {
    sc_parallel_set_width(width);
}

// Serves as thread `thread` until parallel_end, in an instance of its own with the same memory.
EXPORT(parallel_serve) void wasm_parallel_serve(uint32_t thread) { sc_parallel_serve(thread); }

EXPORT(parallel_end) void wasm_parallel_end(void) { sc_parallel_end(); }

// Says that the calling thread broke in the middle of its work.
EXPORT(parallel_fail) void wasm_parallel_fail(void) { sc_parallel_fail(); }

// The number of ranges of work, some microseconds each, that threads would have taken.
EXPORT(parallel_missed) double wasm_parallel_missed(void) { return sc_parallel_missed(); }

// NULL when there is no memory.
EXPORT(job_open) sc_job *wasm_job_open(void) {
    sc_host host = {
        .progress = on_progress, .log = on_log, .now_ms = on_now, .keeps_value = on_keeps_value};
    sc_job *job = sc_job_open(&host);
    if (job) sc_job_set_host_functions(job, (sc_host_functions){.run = on_pass});
    return job;
}

EXPORT(job_close) void wasm_job_close(sc_job *job) {
    check(job);
    sc_job_close(job);
}

EXPORT(text_data) const char *wasm_text_data(sc_job *job) {
    check(job);
    return sc_job_kept_text(job).data;
}

EXPORT(text_size) uint32_t wasm_text_size(sc_job *job) {
    check(job);
    return (uint32_t)sc_job_kept_text(job).size;
}

EXPORT(report) int32_t wasm_report(sc_job *job, int32_t status) {
    check(job);
    int32_t result = keep_text(job, SC_OK, sc_job_report(job, (sc_status)status));
    sc_job_forget_diagnostics(job);
    return result;
}

EXPORT(meta) int32_t wasm_meta(sc_job *job) {
    check(job);
    return keep_text(job, SC_OK, sc_meta_json(job));
}

// --- Sources -------------------------------------------------------------------------------------

static sc_status read_from_host(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out,
                                size_t bytes) {
    if (host_read(source->host_id, (double)offset, out, (uint32_t)bytes) != 0)
        return sc_fail(ctx, SC_ERR_IO, NULL, "cannot read %zu bytes at offset %llu of the file",
                       bytes, (unsigned long long)offset);
    return SC_OK;
}

// Makes a source of bytes that the host reads on request, under its own number. Each read of a slow
// one is a round trip. NULL for a size that is not valid. The call that gets the NULL fails, and
// its report says why.
EXPORT(source_host)
sc_source *wasm_source_host(sc_job *job, uint32_t id, double bytes, bool is_slow) {
    check(job);
    uint64_t size = 0;
    if (!sc_u64_from_f64(bytes, EXACT_MAX, &size)) {
        sc_ctx *ctx = sc_job_ctx(job);
        (void)sc_fail(ctx, SC_ERR_IO, "Pass a source whose size is a whole number of bytes.",
                      "a file of %g bytes cannot be read", bytes);
        return NULL;
    }
    sc_source *source = sc_new(sc_job_ctx(job)->arena, sc_source);
    *source = (sc_source){.read = read_from_host, .size = size, .host_id = id, .is_slow = is_slow};
    return source;
}

EXPORT(source_memory) sc_source *wasm_source_memory(sc_job *job, const void *data, uint32_t bytes) {
    check(job);
    return sc_source_from_memory(sc_job_ctx(job)->arena, data, bytes);
}

// --- Compiling -----------------------------------------------------------------------------------

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

// --- Outputs -------------------------------------------------------------------------------------

EXPORT(output_count) uint32_t wasm_output_count(sc_job *job) {
    check(job);
    return sc_output_count(job);
}

EXPORT(output_name) int32_t wasm_output_name(sc_job *job, uint32_t output) {
    check(job);
    return keep_text(job, SC_OK, sc_output_name(job, output));
}

EXPORT(output_bytes) double wasm_output_bytes(sc_job *job, uint32_t output) {
    check(job);
    return (double)sc_output_bytes(job, output);
}

// The host has read a file that belongs to no program.
EXPORT(output_free) void wasm_output_free(sc_job *job, uint32_t output) {
    check(job);
    sc_output_free(job, output);
}

EXPORT(output_chunk_count) uint32_t wasm_output_chunk_count(sc_job *job, uint32_t output) {
    check(job);
    return sc_output_chunk_count(job, output);
}

// Five numbers: kind (0 bytes, 1 extent, 2 zeros), address, host source number, offset in that
// source, size.
EXPORT(output_chunk)
int32_t wasm_output_chunk(sc_job *job, uint32_t output, uint32_t chunk, double *five) {
    check(job);
    sc_output_chunk c = sc_output_chunk_at(job, output, chunk);
    five[0] = c.kind;
    five[1] = (double)(uintptr_t)c.bytes;
    five[2] = c.host_id;
    five[3] = (double)c.source_offset;
    five[4] = (double)c.size;
    return SC_OK;
}

EXPORT(output_read)
int32_t wasm_output_read(sc_job *job, uint32_t output, uint32_t chunk, double offset, void *out,
                         uint32_t bytes) {
    check(job);
    uint64_t at = 0;
    if (!sc_u64_from_f64(offset, EXACT_MAX, &at))
        return (int32_t)sc_fail(sc_job_ctx(job), SC_ERR_ARGUMENT, NULL,
                                "there is no byte %g in a chunk", offset);
    return (int32_t)sc_output_read(job, output, chunk, at, out, bytes);
}

// --- Backends of the host ------------------------------------------------------------------------

static bool ask_host(uint32_t number, sc_host_question *question, sc_host_question_kind kind,
                     uint32_t delegate, sc_str json) {
    return host_backend(number, question, kind, delegate, json.data, (uint32_t)json.size) != 0;
}

// A backend of the host, for all jobs from now on.
EXPORT(backend_register)
int32_t wasm_backend_register(sc_job *job, const char *id, uint32_t id_bytes, uint32_t number,
                              bool keeps) {
    check(job);
    sc_host_backend backend = {
        .id = text_of(id, id_bytes), .number = number, .keeps = keeps, .ask = ask_host};
    return (int32_t)sc_backend_register(job, &backend);
}

// Answers the import `backend`: memory of memory_alloc, which is the module's from here on, with
// JSON first and then the bytes that its ranges mean.
EXPORT(backend_answer)
void wasm_backend_answer(sc_host_question *question, void *answer, uint32_t json_bytes,
                         uint32_t bytes) {
    sc_host_question_answer(question, answer, json_bytes, bytes);
}

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

// Named data, while a delegate is started: its address, or 0.
EXPORT(backend_named)
const uint8_t *wasm_backend_named(sc_host_question *question, const char *key, uint32_t key_bytes) {
    uint64_t bytes;
    return sc_host_question_named(question, text_of(key, key_bytes), &bytes);
}

// The names and sizes of all named data, while a delegate is started: JSON, zero-terminated, until
// the question is answered.
EXPORT(backend_names)
const char *wasm_backend_names(sc_host_question *question) {
    return sc_host_question_names(question);
}

EXPORT(backend_constant)
int32_t wasm_backend_constant(sc_host_question *question, uint32_t part, uint32_t constant,
                              void *out, uint32_t bytes) {
    return (int32_t)sc_host_question_read_constant(question, part, constant, out, bytes);
}
