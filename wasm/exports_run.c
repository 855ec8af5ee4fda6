// Programs that run: opening, inputs, outputs, bundled calls, dumps, backends of the host.
#include "core/spec.h"
#include "exports.h"
#include "numbers.h"

EXPORT(run_open)
int32_t wasm_run_open(sc_job *job, sc_source *pte, sc_source *const *ptds, uint32_t ptd_count,
                      const char *options, uint32_t options_bytes) {
    check(job);
    if (!pte) return SC_ERR_IO;
    for (uint32_t i = 0; i < ptd_count; i++)
        if (!ptds[i]) return SC_ERR_IO;
    return (int32_t)sc_run_open(job, pte, ptds, ptd_count, text_of(options, options_bytes));
}

// Appends an output: the program as a packed file.
EXPORT(run_save_packed) int32_t wasm_run_save_packed(sc_job *job, uint32_t *output) {
    check(job);
    return (int32_t)sc_run_save_packed(job, output);
}

EXPORT(run_inspect) int32_t wasm_run_inspect(sc_job *job) {
    check(job);
    sc_str json = {0};
    sc_status status = sc_run_inspect(job, &json);
    return keep_text(job, status, json);
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

EXPORT(run_execute) int32_t wasm_run_execute(sc_job *job, bool reports_progress) {
    check(job);
    return (int32_t)sc_run_execute(job, reports_progress);
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
    if (status == SC_OK) put_io(&io, numbers);
    return (int32_t)status;
}

EXPORT(run_reset) int32_t wasm_run_reset(sc_job *job) {
    check(job);
    return (int32_t)sc_run_reset(job);
}

// --- Bundled programs ----------------------------------------------------------------------------

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

// --- Dumps ---------------------------------------------------------------------------------------

// Chooses what is kept of runs from here on (sc_event_tracer in sconce.h), and whether keeps_value
// is asked.
EXPORT(run_event_tracer)
int32_t wasm_run_event_tracer(sc_job *job, uint32_t what, int32_t bundled_input_index,
                              bool is_filtered) {
    check(job);
    return (int32_t)sc_run_event_tracer(job, (sc_event_tracer)what, bundled_input_index,
                                        is_filtered);
}

// Writes the kept events as two outputs, whose numbers these are; a text result counts what is in
// them.
EXPORT(run_etdump) int32_t wasm_run_etdump(sc_job *job, uint32_t *outputs) {
    check(job);
    sc_str json = {0};
    sc_status status = sc_run_etdump(job, &json, &outputs[0], &outputs[1]);
    return keep_text(job, status, json);
}

EXPORT(run_etdump_free) void wasm_run_etdump_free(sc_job *job) {
    check(job);
    sc_run_etdump_free(job);
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

// An operator of the host, likewise. Its number is one of the operators' own.
EXPORT(operator_register)
int32_t wasm_operator_register(sc_job *job, const char *schema, uint32_t schema_bytes,
                               const char *overload, uint32_t overload_bytes, uint32_t number,
                               bool runs, bool infers) {
    check(job);
    sc_host_operator op = {.schema = text_of(schema, schema_bytes),
                           .overload = text_of(overload, overload_bytes),
                           .number = number,
                           .runs = runs,
                           .infers = infers,
                           .ask = ask_host};
    return (int32_t)sc_operator_register(job, &op);
}

// Answers the import `backend`: memory of memory_alloc, which is the module's from here on, with
// JSON first and then the bytes that its ranges mean.
EXPORT(backend_answer)
void wasm_backend_answer(sc_host_question *question, void *answer, uint32_t json_bytes,
                         uint32_t bytes) {
    sc_host_question_answer(question, answer, json_bytes, bytes);
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
