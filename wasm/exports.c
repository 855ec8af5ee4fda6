// The whole surface of the module: each function unpacks its arguments, calls the core and hands
// the result back. wasm_<name> is <name> in JavaScript; wasm/abigen.mjs turns the heads of the
// functions and the comments above them into TypeScript. Job pointers come from outside and are
// checked; other pointers lie in memory that the host got from memory_alloc.
//
// Types: void, bool, int32_t, uint32_t, double, pointers. Anything 64-bit travels as a double
// (exact to 2^53), because JS numbers are doubles; text is a pointer and a length in bytes.
// Functions that return int32_t return a status (0 is success; report says the rest). Text results
// wait in the job: text_data, text_size.
#include "core/spec.h"
#include "sconce.h"

// Nobody in C calls these, so nothing but their definition declares them.
#pragma clang diagnostic ignored "-Wmissing-prototypes"
#define EXPORT(name) __attribute__((export_name(#name)))

// Panics go to the host straight from base.c; the other imports are called from here.
#define IMPORT(result, name, parameters)                                 \
    __attribute__((import_module("sconce"), import_name(#name), unused)) \
    result host_##name parameters;
#include "imports.def"
#undef IMPORT

// The largest of the whole numbers that doubles count without gaps.
#define EXACT_MAX (UINT64_C(1) << 53)

enum { NUMBERS_SIZES = 8, NUMBERS_DIM_ORDER = NUMBERS_SIZES + SC_RANK_MAX };

static sc_str text_of(const char *data, uint32_t bytes) { return (sc_str){data, bytes}; }

// The text result that waits for text_data and text_size.
static int32_t keep_text(sc_job *job, sc_status status, sc_str text) {
    sc_job_keep_text(job, status == SC_OK ? text : (sc_str){NULL, 0});
    return (int32_t)status;
}

static void check(const sc_job *job) { SC_ASSERT(sc_job_is_open(job)); }

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

// What this build is; zero-terminated.
EXPORT(version) const char *wasm_version(void) { return SC_VERSION; }

// Memory for the host to write into; NULL when there is none.
EXPORT(memory_alloc) void *wasm_memory_alloc(uint32_t bytes) { return sc_try_alloc(bytes); }

EXPORT(memory_free) void wasm_memory_free(void *memory) { sc_free(memory); }

// NULL when there is no memory.
EXPORT(job_open) sc_job *wasm_job_open(void) {
    sc_host host = {.progress = on_progress, .log = on_log, .now_ms = on_now};
    return sc_job_open(&host);
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

// Bytes that the host reads on request, under its own number; of a slow one each read is a round
// trip. NULL for a size that is none; the call that is given the NULL fails, and its report says
// why.
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

EXPORT(compile_constant_method)
int32_t wasm_compile_constant_method(sc_job *job, const char *name, uint32_t name_bytes,
                                     const char *value, uint32_t value_bytes) {
    check(job);
    return (int32_t)sc_compile_constant_method(job, text_of(name, name_bytes),
                                               text_of(value, value_bytes));
}

EXPORT(compile_to_edge)
int32_t wasm_compile_to_edge(sc_job *job, const char *options, uint32_t options_bytes,
                             uint32_t *edge) {
    check(job);
    return (int32_t)sc_compile_to_edge(job, text_of(options, options_bytes), edge);
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
    sc_job *job, const char *passes, uint32_t passes_bytes, const char *partitioners,
    uint32_t partitioners_bytes, const char *edge_options, uint32_t edge_options_bytes,
    const char *backend_options, uint32_t backend_options_bytes, uint32_t *delegated) {
    check(job);
    return (int32_t)sc_compile_to_edge_transform_and_lower(
        job, text_of(passes, passes_bytes), text_of(partitioners, partitioners_bytes),
        text_of(edge_options, edge_options_bytes), text_of(backend_options, backend_options_bytes),
        delegated);
}

// What has become of each node; a text result.
EXPORT(compile_delegation)
int32_t wasm_compile_delegation(sc_job *job, uint32_t program) {
    check(job);
    sc_str json = {0};
    sc_status status = sc_compile_delegation(job, program, &json);
    return keep_text(job, status, json);
}

EXPORT(compile_to_executorch)
int32_t wasm_compile_to_executorch(sc_job *job, uint32_t edge, const char *options,
                                   uint32_t options_bytes, uint32_t *executorch) {
    check(job);
    return (int32_t)sc_compile_to_executorch(job, edge, text_of(options, options_bytes),
                                             executorch);
}

// Runs an executorch program beside what it would be without delegates; a text result.
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

// --- Backends of the host ------------------------------------------------------------------------

static bool ask_host(uint32_t number, sc_ask *ask, sc_ask_kind kind, uint32_t delegate,
                     sc_str json) {
    return host_backend(number, ask, kind, delegate, json.data, (uint32_t)json.size) != 0;
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

// What the import `backend` was asked: memory of memory_alloc, which is the module's from here on,
// with JSON first and then the bytes that its ranges mean.
EXPORT(backend_answer)
void wasm_backend_answer(sc_ask *ask, void *answer, uint32_t json_bytes, uint32_t bytes) {
    sc_ask_answer(ask, answer, json_bytes, bytes);
}

// Zero-terminated, until the question is answered.
EXPORT(backend_part_text) const char *wasm_backend_part_text(sc_ask *ask, uint32_t part) {
    return sc_ask_part_text(ask, part);
}

// That a part is begun; anything but success: the call was cancelled.
EXPORT(backend_progress)
int32_t wasm_backend_progress(sc_ask *ask, uint32_t part) {
    return (int32_t)sc_ask_progress(ask, part);
}

EXPORT(backend_constant)
int32_t wasm_backend_constant(sc_ask *ask, uint32_t part, uint32_t constant, void *out,
                              uint32_t bytes) {
    return (int32_t)sc_ask_read_constant(ask, part, constant, out, bytes);
}

// --- Running -------------------------------------------------------------------------------------

EXPORT(run_open)
int32_t wasm_run_open(sc_job *job, sc_source *pte, sc_source *const *ptds, uint32_t ptd_count,
                      const char *options, uint32_t options_bytes) {
    check(job);
    if (!pte) return SC_ERR_IO;
    for (uint32_t i = 0; i < ptd_count; i++)
        if (!ptds[i]) return SC_ERR_IO;
    return (int32_t)sc_run_open(job, pte, ptds, ptd_count, text_of(options, options_bytes));
}

EXPORT(run_inspect) int32_t wasm_run_inspect(sc_job *job) {
    check(job);
    sc_str json = {0};
    sc_status status = sc_run_inspect(job, &json);
    return keep_text(job, status, json);
}

EXPORT(run_part_text)
int32_t wasm_run_part_text(sc_job *job, const char *method, uint32_t method_bytes, uint32_t part) {
    check(job);
    sc_str text = {0};
    sc_status status = sc_run_part_text(job, text_of(method, method_bytes), part, &text);
    return keep_text(job, status, text);
}

EXPORT(run_select) int32_t wasm_run_select(sc_job *job, const char *method, uint32_t method_bytes) {
    check(job);
    return (int32_t)sc_run_select(job, text_of(method, method_bytes));
}

// Sizes cross as doubles; bytes are row-major.
EXPORT(run_set_tensor)
int32_t wasm_run_set_tensor(sc_job *job, uint32_t index, uint32_t dtype, uint32_t rank,
                            const double *sizes, const void *data, uint32_t bytes) {
    check(job);
    int64_t whole[SC_RANK_MAX] = {0};
    // A rank that is too large is refused behind this border, before anybody reads the sizes.
    for (uint32_t d = 0; d < rank && d < SC_RANK_MAX; d++) {
        uint64_t size = 0;
        if (!sc_u64_from_f64(sizes[d], EXACT_MAX, &size))
            return (int32_t)sc_fail(sc_job_ctx(job), SC_ERR_INPUT, NULL,
                                    "dimension %u of input %u is %g, which is not a size", d, index,
                                    sizes[d]);
        whole[d] = (int64_t)size;
    }
    sc_io io = {.kind = SC_KIND_TENSOR,
                .dtype = dtype,
                .rank = rank,
                .sizes = whole,
                .data = data,
                .bytes = bytes};
    return (int32_t)sc_run_set_input(job, index, &io);
}

EXPORT(run_set_int)
int32_t wasm_run_set_int(sc_job *job, uint32_t index, uint32_t low, int32_t high) {
    check(job);
    int64_t value = (int64_t)((uint64_t)(uint32_t)high << 32 | low);
    sc_io io = {.kind = SC_KIND_INT, .i = value};
    return (int32_t)sc_run_set_input(job, index, &io);
}

EXPORT(run_set_double) int32_t wasm_run_set_double(sc_job *job, uint32_t index, double value) {
    check(job);
    sc_io io = {.kind = SC_KIND_DOUBLE, .d = value};
    return (int32_t)sc_run_set_input(job, index, &io);
}

EXPORT(run_set_bool) int32_t wasm_run_set_bool(sc_job *job, uint32_t index, bool value) {
    check(job);
    sc_io io = {.kind = SC_KIND_BOOL, .i = value};
    return (int32_t)sc_run_set_input(job, index, &io);
}

EXPORT(run_set_string)
int32_t wasm_run_set_string(sc_job *job, uint32_t index, const char *text, uint32_t bytes) {
    check(job);
    sc_io io = {.kind = SC_KIND_STRING, .str = text_of(text, bytes)};
    return (int32_t)sc_run_set_input(job, index, &io);
}

EXPORT(run_set_none) int32_t wasm_run_set_none(sc_job *job, uint32_t index) {
    check(job);
    sc_io io = {.kind = SC_KIND_NONE};
    return (int32_t)sc_run_set_input(job, index, &io);
}

EXPORT(run_execute) int32_t wasm_run_execute(sc_job *job) {
    check(job);
    return (int32_t)sc_run_execute(job);
}

EXPORT(run_output_count) uint32_t wasm_run_output_count(sc_job *job) {
    check(job);
    return sc_run_output_count(job);
}

// 40 numbers: kind, int low (unsigned), int high (signed), double, dtype, rank, address, bytes,
// then 16 sizes and 16 places of the dim order, the first `rank` of each in use.
EXPORT(run_output) int32_t wasm_run_output(sc_job *job, uint32_t index, double *numbers) {
    check(job);
    sc_io io = {.kind = SC_KIND_NONE};
    sc_status status = sc_run_output(job, index, &io);
    if (status != SC_OK) return (int32_t)status;
    bool is_text = io.kind == SC_KIND_STRING;
    numbers[0] = io.kind;
    numbers[1] = (double)(uint32_t)io.i;
    numbers[2] = (double)(int32_t)(io.i >> 32);
    numbers[3] = io.d;
    numbers[4] = io.dtype;
    numbers[5] = io.rank;
    numbers[6] = (double)(uintptr_t)(is_text ? (const void *)io.str.data : io.data);
    numbers[7] = (double)(is_text ? io.str.size : io.bytes);
    for (uint32_t d = 0; d < io.rank; d++) {
        numbers[NUMBERS_SIZES + d] = (double)io.sizes[d];
        numbers[NUMBERS_DIM_ORDER + d] = io.dim_order[d];
    }
    return SC_OK;
}

EXPORT(run_reset) int32_t wasm_run_reset(sc_job *job) {
    check(job);
    return (int32_t)sc_run_reset(job);
}

// Test suites as JSON, and the bytes of their tensors; the file is output 0.
EXPORT(bundle_write)
int32_t wasm_bundle_write(sc_job *job, const char *suites, uint32_t suites_bytes, const void *data,
                          uint32_t bytes) {
    check(job);
    return (int32_t)sc_bundle_write(job, text_of(suites, suites_bytes), data, bytes);
}

// Test suites of the program that is open; a text result.
EXPORT(bundle_read) int32_t wasm_bundle_read(sc_job *job) {
    check(job);
    sc_str json = {0};
    sc_status status = sc_bundle_read(job, &json);
    return keep_text(job, status, json);
}

// Runs a test case and compares; a text result.
EXPORT(bundle_verify)
int32_t wasm_bundle_verify(sc_job *job, uint32_t suite, uint32_t test_case, double rtol,
                           double atol) {
    check(job);
    sc_str json = {0};
    sc_status status = sc_bundle_verify(job, suite, test_case, rtol, atol, &json);
    return keep_text(job, status, json);
}

// What runs record from here on (sc_recording in sconce.h).
EXPORT(run_record)
int32_t wasm_run_record(sc_job *job, uint32_t what, int32_t bundled_input_index) {
    check(job);
    return (int32_t)sc_run_record(job, (sc_recording)what, bundled_input_index);
}

// What was recorded, as outputs 0 and 1; a text result says what is in them.
EXPORT(run_etdump) int32_t wasm_run_etdump(sc_job *job) {
    check(job);
    sc_str json = {0};
    sc_status status = sc_run_etdump(job, &json);
    return keep_text(job, status, json);
}

EXPORT(run_etdump_free) void wasm_run_etdump_free(sc_job *job) {
    check(job);
    sc_run_etdump_free(job);
}

// --- Inspecting ----------------------------------------------------------------------------------

// A dump, a record or both, and the dump's values; NULL for what is not there.
EXPORT(inspector_open)
int32_t wasm_inspector_open(sc_job *job, sc_source *etdump, sc_source *etrecord,
                            sc_source *debug_buffer, const char *options, uint32_t options_bytes) {
    check(job);
    return (int32_t)sc_inspector_open(job, etdump, etrecord, debug_buffer,
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

// A text result of `job`: its dump beside that of another one.
EXPORT(inspector_compare) int32_t wasm_inspector_compare(sc_job *job, sc_job *other) {
    check(job);
    check(other);
    sc_str json = {0};
    sc_status status = sc_inspector_compare(job, other, &json);
    return keep_text(job, status, json);
}
